/* SPDX-License-Identifier: Apache-2.0 */
/* made.h - a made-up runtime, of which gp-bpf knows what tests/fake/made/made.yaml says. Codes: 0
 * and 2 to 4 are no failure. */
#ifndef TESTS_FAKE_MADE_H
#define TESTS_FAKE_MADE_H

#include <stdint.h>

typedef unsigned made_code;
typedef struct made_context *made_context_t;
typedef struct made_comm *made_comm_t;
typedef void (*made_program_t)(void *arg);

made_code madeInit(void);
made_context_t madeContext(void); /* NULL: there is none */
made_code madeSubmit(made_program_t program, void *arg);
made_code madeExecute(made_program_t program, void *arg);
made_code madeWait(void);
made_code madeSum(uint64_t count, int type, made_comm_t comm);
made_code madePost(uint64_t count, int type, made_comm_t comm);
/* Writes the code of the communicator to *ret. */
made_code madeAsyncError(made_comm_t comm, made_code *ret);

#endif
