/* SPDX-License-Identifier: Apache-2.0 */
/* outlet.h - a file of lines that a process of its own writes (base/aside.h): whoever gives it text
 * never waits for the disk, and the program's end not for one that is dead. One text is on its way
 * at a time. What could be written in part only is cut off again: the file ends with a whole line,
 * whatever a disk does. A process that somebody killed is replaced, and goes on where it was. For
 * the main thread: the helper process ends with the thread that opened it. */
#ifndef EXPORT_OUTLET_H
#define EXPORT_OUTLET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OUTLET_OPEN_MS	5000 /* a disk that takes longer is taken for dead */
#define OUTLET_TEXT_MAX (512u << 10)

struct outlet;
struct outlet_told {
	size_t bytes; /* from the text's beginning: in the file, whole lines where it is not all of
			 them */
	int err;      /* why it is not more: -errno; else 0 */
	uint64_t removed; /* lines of the oldest file, which was removed to make room */
};

/* A file that would grow beyond `bytes` is renamed to FILE.1, FILE.1 to FILE.2 and so on, up to the
 * first number that is free; where none is, FILE.keep is removed. What cannot be renamed is not
 * written any more: -EXDEV. bytes is at least OUTLET_BOUND_LEAST. */
#define OUTLET_BOUND_LEAST (1u << 20)
struct outlet_bound {
	uint64_t bytes; /* 0: no bound */
	uint32_t keep;
	uint64_t (*lines)(int fd); /* lines of a file, for `removed` */
};

/* The file that is renamed: path, or where it is a symbolic link, its target. May wait for the
 * disk. */
void outlet_target(const char *path, char *ret, size_t len);

/* Made 0644 where it is missing; keep: behind what it holds, else emptied. -ENOTSUP: it is no
 * regular file, or one that only this process can name (/dev/fd/3); -ETIMEDOUT: the disk does not
 * answer; -errno. No line is written. */
int outlet_open(struct outlet **ret, const char *path, bool keep);
/* To be called before the first outlet_give(). */
void outlet_limit(struct outlet *o, const struct outlet_bound *bound);
/* Takes a copy of as much as goes at once, up to the end of a line. Bytes; 0: not now. Only where
 * what was given before has been answered. */
size_t outlet_give(struct outlet *o, const char *text, size_t len);
/* Waits so long at most. 0: what was given is answered; -EAGAIN: not yet. */
int outlet_take(struct outlet *o, int wait_ms, struct outlet_told *ret);
/* Text for -errno of the functions here. */
const char *outlet_why(int err);
/* Whether outlet_open() made the file. */
bool outlet_made(const struct outlet *o);
/* State of the file as reported last, without lines that are on their way. */
uint64_t outlet_bytes(const struct outlet *o);
/* Closes the file and frees o. wait_ms: for that, and for what is on its way. 0; -errno of the
 * close, which may tell of what was written before; -ETIMEDOUT: what is on its way was given up.
 * NULL is fine. */
int outlet_close(struct outlet *o, int wait_ms);

#endif
