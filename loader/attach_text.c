/* SPDX-License-Identifier: Apache-2.0 */
/* attach_text.c - text for the state of a probe, with the reason. */
#include <errno.h>

#include "loader/library/library_report.h"
#include "loader/loader.h"

static const char *attach_text_refused_text(int err)
{
	switch (err) {
	case -EPERM:
		return "a C++ function is never probed at its return";
	case -EOPNOTSUPP:
		return "called too often for an instruction that the kernel single-steps";
	case -EEXIST:
		return "another probe reports the same address";
	default:
		return library_error_text(err);
	}
}

const char *loader_attach_text(const struct gp_attach *a)
{
	switch (a->state) {
	case GP_ATTACH_absent:
		return a->error ? library_error_text(a->error) : "no such function";
	case GP_ATTACH_failed:
		return a->error == -EACCES || a->error == -GP_ERROR_CLOSED
			       ? "its file cannot be read; see the warning in the log"
			       : library_error_text(a->error);
	case GP_ATTACH_refused:
		return attach_text_refused_text(a->error);
	case GP_ATTACH_counted:
		return "over the overhead budget: counted, not sent";
	case GP_ATTACH_given_up:
		return "over the overhead budget: detached for now";
	case GP_ATTACH_idle:
		return "attached only for a short time, to count operations";
	default:
		return "";
	}
}
