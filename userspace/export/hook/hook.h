/* SPDX-License-Identifier: Apache-2.0 */
/* hook.h - hooks: actions when a job is disrupted, hangs or becomes slow (--on
 * EVENT[,EVENT...]=ACTION). Files of this folder:
 *
 *   hook.c          finds the event of a fact; parses the option
 *   hook_file.c     checks whether a file may be trusted
 *   hook_queue.c    queues messages and limits their rate
 *   hook_command.c  runs a command with minimal privileges
 *   hooks.c         runs each hook on its own thread, so that a blocked hook delays nothing else
 *
 * An ACTION is a command (an absolute path and its arguments, without a shell), a URL, or @FILE: a
 * file whose first line is a URL and whose other lines are headers. The part of a URL after the
 * host is never logged, because it may be a secret. */
#ifndef EXPORT_HOOK_H
#define EXPORT_HOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/model/job/fact.h"

/* HOOK_RECOVERED to HOOK_STRAGGLER have the names of health facts: hook_event_of() finds them by
 * name. */
enum hook_event {
	HOOK_DISRUPTION,   /* a job was disrupted */
	HOOK_RECOVERED,	   /* first step after a disruption, or the end of a slowdown */
	HOOK_HANG,	   /* a hang began or ended */
	HOOK_FAIL_SLOW,	   /* steps became lastingly slower */
	HOOK_STRAGGLER,	   /* a rank became a straggler, or is no longer one */
	HOOK_DEVICE_ERROR, /* error of a device, its memory, or a communicator */
	HOOK_EVENTS,
};
extern const char *const hook_event_name[HOOK_EVENTS];

/* Returns the event of a fact, or HOOK_EVENTS if it has none. */
enum hook_event hook_event_of(const struct fact *f);

#define HOOKS_MAX	16
#define HOOK_WORDS	32   /* limit of the words of a command: path and arguments */
#define HOOK_HEADERS	8    /* limit of HTTP headers in the file of an action @FILE */
#define HOOK_ACTION_MAX 4096 /* limit of an action, or of its file, in bytes */

struct hook {
	unsigned int events;		       /* one bit for each enum hook_event */
	char label[128];		       /* shown in logs: the path, or scheme and host */
	char *words[HOOK_WORDS + 1];	       /* path and arguments; [0] NULL: not a command */
	char *url;			       /* NULL: a command */
	const char *headers[HOOK_HEADERS + 2]; /* headers of the request, NULL-terminated */
	char *text;			       /* memory that words, url and headers point into */
};

/* Checks a value of --on without reading a file. Returns 0, or -EINVAL after logging the error. */
int hook_check(const char *spec);
/* Parses a value of --on. h must be zeroed or freed; call hook_free() also after an error. Returns
 * 0, or -errno after logging the error. */
int hook_parse(struct hook *h, const char *spec);
void hook_free(struct hook *h);

#endif
