/* SPDX-License-Identifier: Apache-2.0 */
/* hook.h - what is to be done when a job is disrupted, hangs or becomes slow: --on
 * EVENT[,EVENT...]=ACTION.
 *
 *   hook.c          which event a fact is; what the option says
 *   hook_file.c     whether a file may be trusted
 *   hook_queue.c    what waits, and how often it may go out
 *   hook_command.c  a command, run with as little as can be
 *   hooks.c         a thread for each hook: one that hangs delays nothing
 *
 * An ACTION is a command (an absolute path and its arguments, without a shell), a URL, or @FILE: a
 * file whose first line is a URL, and each other a header. What follows the host in a URL may be a
 * secret: it is never logged. */
#ifndef EXPORT_HOOK_H
#define EXPORT_HOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "userspace/model/job/fact.h"

/* Events from RECOVERED up to before DEVICE_ERROR have the names of kinds of health facts
 * (hook_event_of()). */
enum hook_event {
	HOOK_DISRUPTION,   /* a job was disrupted */
	HOOK_RECOVERED,	   /* it made a step again; slow steps are usual again */
	HOOK_HANG,	   /* began, and is over */
	HOOK_FAIL_SLOW,	   /* steps became lastingly slower */
	HOOK_STRAGGLER,	   /* began, and is over */
	HOOK_DEVICE_ERROR, /* of a device, its memory, or a communicator */
	HOOK_EVENTS,
};
extern const char *const hook_event_name[HOOK_EVENTS];

/* HOOK_EVENTS: the fact is none. */
enum hook_event hook_event_of(const struct fact *f);

#define HOOKS_MAX	16
#define HOOK_WORDS	32   /* path and arguments */
#define HOOK_HEADERS	8    /* of a file */
#define HOOK_ACTION_MAX 4096 /* bytes, of an action or a file */

struct hook {
	unsigned int events;		       /* bit per event */
	char label[128];		       /* for people: the path, or scheme and host */
	char *words[HOOK_WORDS + 1];	       /* of a command; [0] NULL: it is a URL */
	char *url;			       /* NULL: it is a command */
	const char *headers[HOOK_HEADERS + 2]; /* NULL-terminated; Content-Type among them */
	char *text;			       /* what words, url and headers point into */
};

/* What can be said of the option without reading a file: -EINVAL after one line. */
int hook_check(const char *spec);
/* -EINVAL, -errno after one line. h must be zero or freed; hook_free() in any case. */
int hook_parse(struct hook *h, const char *spec);
void hook_free(struct hook *h);

#endif
