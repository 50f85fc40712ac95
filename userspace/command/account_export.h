/* SPDX-License-Identifier: Apache-2.0 */
/* account_export.h - gp-bpf account --export cloud-monitoring --dry-run: prints the requests that
 * the goodput library would have made of a log at an instant, without those that the service
 * refuses. For tensorboard see account_tensorboard.h. */
#ifndef COMMAND_ACCOUNT_EXPORT_H
#define COMMAND_ACCOUNT_EXPORT_H

#include "userspace/command/account.h"
#include "userspace/export/gcm/rows.h"
#include "userspace/option/option.h"

struct account_export {
	bool wanted;
	const char *board; /* folder of --export tensorboard; points into the options; NULL: none */
	struct gcm_identity id;
	struct gcm_options options;
};

/* Reads the options. Fills in the windows of q, and its instant if the clock gives it. clock: --now
 * now was given. Returns 0; -EINVAL after one line, -ENOMEM. */
int account_export_read(struct account_export *x, const struct options *o, struct goodput_query *q,
			bool *clock);
/* Prints all jobs, one request a line. Returns 0 or -errno. */
int account_export_print(const struct account_export *x, struct account *a);

#endif
