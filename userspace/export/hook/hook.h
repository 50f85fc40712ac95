/* SPDX-License-Identifier: Apache-2.0 */
/* hook.h - actions when a job is disrupted, hangs or becomes slow: --on EVENT[,EVENT...]=ACTION.
 *
 *   hook.c          events of facts; parses the option
 *   hook_file.c     whether a file may be trusted
 *   hook_queue.c    waiting messages and their rate
 *   hook_command.c  runs a command with minimal privileges
 *   hooks.c         one thread for each hook, so that a blocked one delays nothing
 *
 * An ACTION is a command (an absolute path and its arguments, without a shell), a URL, or @FILE: a
 * file whose first line is a URL and whose other lines are headers. The part of a URL after the
 * host may be a secret: it is never logged. */
#ifndef EXPORT_HOOK_H
#define EXPORT_HOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/model/job/fact.h"

/* Events from RECOVERED up to before DEVICE_ERROR have the names of health facts
 * (hook_event_of()). */
enum hook_event {
	HOOK_DISRUPTION,   /* a job was disrupted */
	HOOK_RECOVERED,	   /* the job made a step again; steps are as fast as before again */
	HOOK_HANG,	   /* began or is over */
	HOOK_FAIL_SLOW,	   /* steps became lastingly slower */
	HOOK_STRAGGLER,	   /* began or is over */
	HOOK_DEVICE_ERROR, /* error of a device, its memory, or a communicator */
	HOOK_EVENTS,
};
extern const char *const hook_event_name[HOOK_EVENTS];

/* Returns the event of a fact, or HOOK_EVENTS if it has none. */
enum hook_event hook_event_of(const struct fact *f);

#define HOOKS_MAX	16
#define HOOK_WORDS	32   /* path and arguments */
#define HOOK_HEADERS	8    /* in a file */
#define HOOK_ACTION_MAX 4096 /* bytes of an action or a file */

struct hook {
	unsigned int events;		       /* bit per event */
	char label[128];		       /* shown in logs: the path, or scheme and host */
	char *words[HOOK_WORDS + 1];	       /* a command; [0] NULL: it is a URL */
	char *url;			       /* NULL: it is a command */
	const char *headers[HOOK_HEADERS + 2]; /* NULL-terminated, with Content-Type */
	char *text;			       /* memory that words, url and headers point into */
};

/* Checks the option without reading a file. Returns 0, or -EINVAL after one line. */
int hook_check(const char *spec);
/* Parses the option. h must be zeroed or freed; call hook_free() in any case. Returns 0, or -errno
 * after one line. */
int hook_parse(struct hook *h, const char *spec);
void hook_free(struct hook *h);

#endif
