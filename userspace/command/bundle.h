/* SPDX-License-Identifier: Apache-2.0 */
/* bundle.h - what goes into a bug report, while it is collected: files in memory, each masked as it
 * comes. */
#ifndef COMMAND_BUNDLE_H
#define COMMAND_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/base/buffer.h"
#include "userspace/command/bundle_mask.h"

#define BUNDLE_BYTES	  (16u << 20) /* of all files, before they are compressed */
#define BUNDLE_FILE_BYTES (6u << 20)
#define BUNDLE_FILES	  24

enum bundle_kind {
	BUNDLE_OWN /* masked already */,
	BUNDLE_TEXT,
	BUNDLE_JSON,
	BUNDLE_JOBS /* JSON whose names are jobs' */,
	BUNDLE_METRICS,
	BUNDLE_CONFIG
};

struct bundle_file {
	const char *name;
	char from[160]; /* where it is from, for people */
	char note[200]; /* why there is nothing, or not all; "" */
	size_t masked;	/* places */
	struct buffer text;
};

struct bundle {
	struct mask *mask;
	struct bundle_file files[BUNDLE_FILES];
	int count;
	size_t bytes;
};

/* Adds a file of what is left of text, which may be none. note: NULL: none. */
void bundle_put(struct bundle *b, const char *name, enum bundle_kind kind, const char *from,
		const char *note, const struct buffer *text);
void bundle_free(struct bundle *b);

/* Runs a program, of /usr/sbin:/usr/bin:/sbin:/bin unless its path is given, with nothing to read,
 * and takes what it says: at most BUNDLE_FILE_BYTES of each, within limit_ms; then it is killed.
 * Its exit status; -ETIME, -ENOENT, -errno. */
int bundle_run(struct buffer *out, struct buffer *err, char *const argv[], unsigned limit_ms);

/* This machine: kernel, its configuration and settings, mounts of control groups. JSON. */
void bundle_host(struct mask *m, struct buffer *out);
/* The process that watches, pid 0: none; its memory, descriptors, and how it was started. JSON. */
void bundle_service(struct mask *m, struct buffer *out, pid_t pid);
/* The file of settings that it was started with, as its command line says; false: none, or it
 * cannot be read. */
bool bundle_service_config(pid_t pid, char *path, size_t len);
/* What lies in the state folder. JSON; -errno. */
int bundle_folder(struct mask *m, struct buffer *out, const char *dir);

#endif
