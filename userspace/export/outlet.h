/* SPDX-License-Identifier: Apache-2.0 */
/* outlet.h - a file of lines that a process of its own writes (base/aside.h): whoever gives it text
 * never waits for the disk, and the program's end not for one that is dead. One text is on its way
 * at a time. What could be written in part only is cut off again: the file ends with a whole line,
 * whatever a disk does. A process that somebody killed is replaced, and goes on where it was. Of
 * the main thread: the process ends with the thread that opened it. */
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
};

/* Made 0644 where it is missing; keep: behind what it holds, else emptied. -ENOTSUP: it is no
 * regular file, or one that only this process can name (/dev/fd/3); -ETIMEDOUT: the disk does not
 * answer; -errno. No line is written. */
int outlet_open(struct outlet **ret, const char *path, bool keep);
/* Takes a copy of as much as goes at once, up to the end of a line. Bytes; 0: not now. Only where
 * what was given before has been answered. */
size_t outlet_give(struct outlet *o, const char *text, size_t len);
/* Waits so long at most. 0: what was given is answered; -EAGAIN: not yet. */
int outlet_take(struct outlet *o, int wait_ms, struct outlet_told *ret);
/* Of the file, as it was told last: nothing that is on its way. */
uint64_t outlet_bytes(const struct outlet *o);
/* Closes the file and frees o. wait_ms: for that, and for what is on its way. 0; -errno of the
 * close, which may tell of what was written before; -ETIMEDOUT: what is on its way was given up.
 * NULL is fine. */
int outlet_close(struct outlet *o, int wait_ms);

#endif
