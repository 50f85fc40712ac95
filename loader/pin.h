/* SPDX-License-Identifier: Apache-2.0 */
/* pin.h - what outlives this process: links and maps under names in a folder of the BPF file
 * system.
 *
 * Names are made by those who pin and say what is in them, so that a successor asks for exactly
 * what it would make itself; what nobody asks for is given up. Not thread-safe. */
#ifndef LOADER_PIN_H
#define LOADER_PIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PIN_ROOT     "/sys/fs/bpf/gp-bpf"
#define PIN_NAME_MAX 96

/* What names begin with that a successor may not ask for before it has seen the call that tells of
 * it. */
#define PIN_FOLLOWED "follow-"

struct pins;

/* A BPF file system is at /sys/fs/bpf, or comes there. 0 or -errno after one line. */
int pins_mount(void);
/* The folder of one state directory (any path; its hash is the folder's name). Mounts the BPF file
 * system at /sys/fs/bpf when nothing is there. Notes what is pinned already, and locks the folder;
 * -EBUSY: another process has it. 0 or -errno after one line. */
int pins_open(struct pins **ret, const char *state_dir);
void pins_close(struct pins *p); /* what is pinned stays; NULL is fine */

/* Descriptor of what is pinned under a name, which counts as asked for from now on; -ENOENT. */
int pins_claim(struct pins *p, const char *name);
int pins_put(struct pins *p, const char *name, int fd); /* replaces what has that name */
void pins_remove(struct pins *p, const char *name);
/* The same of the folder of a state directory that another process has open, without asking for it.
 */
int pins_peek(const char *state_dir, const char *name);
/* How many names with this prefix were there at the start and nobody asked for yet. */
size_t pins_waiting(const struct pins *p, const char *prefix);
/* Gives those up. The last reference to a link may go with it. */
void pins_drop_waiting(struct pins *p, const char *prefix);
void pins_drop_waiting_but(struct pins *p, const char *prefix); /* all others */
/* Everything goes, the folder too. */
void pins_clear(struct pins *p);

/* Of pins_each(): another process has the folder. Locks it otherwise. */
bool pins_busy(const struct pins *p);

/* Calls fn for each folder of PIN_ROOT. Returns how many, or -errno (-ENOENT: there is no
 * PIN_ROOT). */
typedef void pins_each_fn(void *ctx, struct pins *p, const char *folder);
int pins_each(pins_each_fn *fn, void *ctx);

#endif
