/* SPDX-License-Identifier: Apache-2.0 */
/* writer_private.h - what writer.c and writer_cycle.c share.
 *
 * Two locks: `lock` guards the intake, for moments; `file` guards the store, for as long as the
 * disk takes, and belongs to the thread but for the question at the beginning what the store has of
 * a session. */
#ifndef STORE_WRITER_PRIVATE_H
#define STORE_WRITER_PRIVATE_H

#include <pthread.h>

#include "userspace/store/intake.h"
#include "userspace/store/store_private.h"
#include "userspace/store/write.h"
#include "userspace/store/writer.h"

#define WRITER_REOPEN_NS 5000000000ull

struct store_writer {
	struct store_writer_options options;
	char path[PATH_MAX];
	pthread_t thread;
	pthread_mutex_t lock, file;
	pthread_cond_t asked, answered;
	bool stop, wanted, started; /* wanted: now, not when the second is over */
	bool handed_over;
	bool idle;		/* the thread waits for something to write, not for time to pass */
	uint64_t asks, answers; /* of store_writer_snapshot(wait) */
	struct intake *intake;
	struct write_session session;
	struct store *store; /* NULL: could not be opened */
	uint32_t typed;	     /* a bit for each type that it was told of */
	bool known;	     /* the session was written into this store */
	int trouble;	     /* of the last transaction; 0: none */
	uint64_t trouble_ns, next_ns, reopen_ns, retain_ns;
	struct store_writer_stats stats;
};

/* Opens the store. 0 or -errno. */
int writer_connect(struct store_writer *w);
enum store_trouble writer_trouble(int err);
/* Writes all that waits, with `file` held. -errno: it waits on. */
int writer_cycle(struct store_writer *w);

#endif
