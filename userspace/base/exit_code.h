/* SPDX-License-Identifier: Apache-2.0 */
/* exit_code.h - the exit codes of gp-bpf. */
#ifndef BASE_EXIT_CODE_H
#define BASE_EXIT_CODE_H

enum {
	EXIT_OK = 0,
	EXIT_RUNTIME = 1,
	EXIT_USAGE = 2,
	EXIT_LACKING = 3, /* a kernel feature or a privilege is missing */
	EXIT_SLOWER = 4,  /* report --max-regression: the run is slower than allowed */
};

#endif
