/* SPDX-License-Identifier: Apache-2.0 */
/* account_export.h - what gp-bpf account does for --export. Of tensorboard: account_tensorboard.h.
 * Of cloud-monitoring --dry-run: prints the requests that the goodput library would have made of a
 * log at an instant, but for what the service refuses of them. */
#ifndef COMMAND_ACCOUNT_EXPORT_H
#define COMMAND_ACCOUNT_EXPORT_H

#include "userspace/command/account.h"
#include "userspace/export/gcm/rows.h"
#include "userspace/option/option.h"

struct account_export {
	bool wanted;
	const char *board; /* folder of --export tensorboard, the options'; NULL: none */
	struct gcm_identity id;
	struct gcm_options options;
};

/* What the options ask for; of q the windows and an instant that the clock says are filled in.
 * clock: --now now. 0; -EINVAL after one line, -ENOMEM. */
int account_export_read(struct account_export *x, const struct options *o, struct goodput_query *q,
			bool *clock);
/* All jobs, one line a request. 0 or -errno. */
int account_export_print(const struct account_export *x, struct account *a);

#endif
