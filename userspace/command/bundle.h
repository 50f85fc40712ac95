/* SPDX-License-Identifier: Apache-2.0 */
/* bundle.h - the content of a bug report while it is collected: files in memory, each masked when
 * it is added. */
#ifndef COMMAND_BUNDLE_H
#define COMMAND_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/base/buffer.h"
#include "userspace/command/bundle_mask.h"

#define BUNDLE_BYTES	  (16u << 20) /* limit for all files together, before compression */
#define BUNDLE_FILE_BYTES (6u << 20)
#define BUNDLE_FILES	  24

enum bundle_kind {
	BUNDLE_OWN /* masked already */,
	BUNDLE_TEXT,
	BUNDLE_JSON,
	BUNDLE_JOBS /* JSON with names of jobs */,
	BUNDLE_METRICS,
	BUNDLE_CONFIG
};

struct bundle_file {
	const char *name;
	char from[160]; /* where the text is from, for people */
	char note[200]; /* why the file is empty or incomplete; "" */
	size_t masked;	/* number of masked texts */
	struct buffer text;
};

struct bundle {
	struct mask *mask;
	struct bundle_file files[BUNDLE_FILES];
	int count;
	size_t bytes;
};

/* Masks text, which may be empty, and adds it as a file. note may be NULL. */
void bundle_put(struct bundle *b, const char *name, enum bundle_kind kind, const char *from,
		const char *note, const struct buffer *text);
void bundle_free(struct bundle *b);

/* Runs a program without input (searched in /usr/sbin:/usr/bin:/sbin:/bin unless its path is given)
 * and collects its output: at most BUNDLE_FILE_BYTES of each stream. Kills the program after
 * limit_ms. Returns its exit status; -ETIME, -ENOENT, -errno. */
int bundle_run(struct buffer *out, struct buffer *err, char *const argv[], unsigned limit_ms);

/* Describes this machine as JSON: kernel, its configuration and settings, mounts of control
 * groups. */
void bundle_host(struct mask *m, struct buffer *out);
/* Describes the watching process as JSON: memory, descriptors, how it was started. pid 0: no such
 * process. */
void bundle_service(struct mask *m, struct buffer *out, pid_t pid);
/* Finds the configuration file on the command line of process pid. Returns false if the command
 * line names none, or cannot be read. */
bool bundle_service_config(pid_t pid, char *path, size_t len);
/* Lists the state folder as JSON. Returns 0 or -errno. */
int bundle_folder(struct mask *m, struct buffer *out, const char *dir);

#endif
