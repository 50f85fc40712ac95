/* SPDX-License-Identifier: Apache-2.0 */
/* bundle.h - collects the files of a bug report (gp-bpf bundle) in memory. Each file is masked when
 * it is added. */
#ifndef COMMAND_BUNDLE_H
#define COMMAND_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "userspace/base/buffer.h"
#include "userspace/command/bundle_mask.h"

/* size limit in bytes of all files of a bug report together, before compression */
#define BUNDLE_BYTES	  (16u << 20)
#define BUNDLE_FILE_BYTES (6u << 20)
#define BUNDLE_FILES	  24

enum bundle_kind {
	BUNDLE_OWN /* masked already */,
	BUNDLE_TEXT,
	BUNDLE_JSON,
	BUNDLE_JOBS /* JSON in which "name" is the name of a job */,
	BUNDLE_METRICS,
	BUNDLE_CONFIG
};

struct bundle_file {
	const char *name;
	char from[160]; /* origin of the text, as shown to users */
	char note[200]; /* why the file is empty or incomplete; "": it is complete */
	size_t masked;	/* number of texts that were masked */
	struct buffer text;
};

struct bundle {
	struct mask *mask;
	struct bundle_file files[BUNDLE_FILES];
	int count;
	size_t bytes;
};

/* Masks text, which may be empty, and adds it as a file. note: why the file is incomplete; NULL: it
 * is complete. */
void bundle_put(struct bundle *b, const char *name, enum bundle_kind kind, const char *from,
		const char *note, const struct buffer *text);
void bundle_free(struct bundle *b);

/* Runs a program without standard input and collects its output, at most BUNDLE_FILE_BYTES of each
 * stream. Searches /usr/sbin:/usr/bin:/sbin:/bin unless argv[0] is a path. Kills the program after
 * limit_ms milliseconds. Returns its exit status; -ETIME: it was killed; -ENOENT: there is no such
 * program; another -errno. */
int bundle_run(struct buffer *out, struct buffer *err, char *const argv[], unsigned limit_ms);

/* Appends a description of this machine as JSON: the kernel with its configuration and settings,
 * and the mounts of control groups. */
void bundle_host(struct mask *m, struct buffer *out);
/* Appends a description of the process that watches this node as JSON: memory, descriptors, how it
 * was started. pid 0: there is no such process. */
void bundle_service(struct mask *m, struct buffer *out, pid_t pid);
/* Finds the path of the configuration file on the command line of process pid. Returns false if the
 * command line has no such path or cannot be read. */
bool bundle_service_config(pid_t pid, char *path, size_t len);
/* Appends a listing of the state folder as JSON. Returns 0 or -errno. */
int bundle_folder(struct mask *m, struct buffer *out, const char *dir);

#endif
