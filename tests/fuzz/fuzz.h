/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.h - what the targets share: input in pieces, input as a file, and what is asked of every
 * output. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
int LLVMFuzzerInitialize(int *argc, char ***argv);

static inline void fuzz_require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "fuzz: does not hold: %s\n", what);
	abort();
}
#define REQUIRE(what) fuzz_require(what, #what)

/* Valid UTF-8 with nothing in it that drives a terminal, newline as told. */
static inline bool fuzz_printable(const char *text, size_t len, bool newlines)
{
	uint32_t c;
	size_t n;

	for (size_t i = 0; i < len; i += n) {
		n = utf8_decode(text + i, len - i, &c);
		if (!n || ((utf8_columns(c) < 0) && !(newlines && c == '\n')))
			return false;
	}
	return true;
}

static inline void fuzz_log(void *ctx, enum log_level level, const char *line)
{
	(void)ctx;
	(void)level;
	REQUIRE(fuzz_printable(line, strlen(line), false));
}

/* Messages are looked at, not shown. */
static inline void fuzz_quiet(void)
{
	log_setup(LOG_DEBUG, LOG_TEXT);
	log_sink(fuzz_log, NULL);
}

/* ---- input in pieces: zeros, and nothing, when it is used up --------------------------------- */

struct input {
	const uint8_t *at, *end;
};

static inline size_t input_left(const struct input *in)
{
	return (size_t)(in->end - in->at);
}

static inline void input_bytes(struct input *in, void *out, size_t len)
{
	size_t n = len < input_left(in) ? len : input_left(in);

	memset(out, 0, len);
	memcpy(out, in->at, n);
	in->at += n;
}

static inline uint8_t input_byte(struct input *in)
{
	return in->at < in->end ? *in->at++ : 0;
}

/* A piece whose length comes first, one or two bytes of it. */
static inline struct input input_piece(struct input *in)
{
	size_t len = input_byte(in);
	struct input piece;

	if (len & 0x80)
		len = (len & 0x7f) << 8 | input_byte(in);
	len = len < input_left(in) ? len : input_left(in);
	piece = (struct input){in->at, in->at + len};
	in->at += len;
	return piece;
}

/* ---- input as a file: of memory, with a path for those that want one ------------------------- */

struct fuzz_file {
	int fd;
	char path[32];
};

static inline void fuzz_file_open(struct fuzz_file *f)
{
	f->fd = memfd_create("fuzz", MFD_CLOEXEC);
	REQUIRE(f->fd >= 0);
	snprintf(f->path, sizeof(f->path), "/proc/self/fd/%d", f->fd);
}

static inline void fuzz_file_fill(const struct fuzz_file *f, const void *data, size_t len)
{
	REQUIRE(!ftruncate(f->fd, 0));
	REQUIRE(pwrite(f->fd, data, len, 0) == (ssize_t)len);
}

/* A folder that goes with the process. */
static inline void fuzz_folder_remove(void)
{
	char command[64];
	const char *folder = getenv("FUZZ_FOLDER");

	if (!folder)
		return;
	snprintf(command, sizeof(command), "rm -rf '%.40s'", folder);
	(void)!system(command);
}

static inline const char *fuzz_folder(void)
{
	static char folder[] = "/tmp/gp-fuzz-XXXXXX";

	REQUIRE(mkdtemp(folder));
	setenv("FUZZ_FOLDER", folder, 1);
	atexit(fuzz_folder_remove);
	return folder;
}

#endif
