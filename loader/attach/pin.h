/* SPDX-License-Identifier: Apache-2.0 */
/* pin.h - pins: names of links and maps in a folder of the BPF file system. Pinned links and maps
 * outlive this process.
 *
 * The name of a pin is made from what its object does. A successor claims the pins of objects that
 * it would otherwise create, and removes all others. Not thread-safe. */
#ifndef LOADER_PIN_H
#define LOADER_PIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PIN_ROOT     "/sys/fs/bpf/gp-bpf"
#define PIN_NAME_MAX 96

/* Prefix of the pins of functions whose addresses are reported by calls (followed functions): a
 * successor can claim such a pin only after a call has reported the address. */
#define PIN_FOLLOWED "follow-"

struct pins;

/* Makes sure that a BPF file system is mounted at /sys/fs/bpf. Returns 0, or -errno after logging
 * the reason. */
int pins_mount(void);
/* Opens the folder of pins for a state directory (any path; the folder is named by the hash of the
 * path): mounts the BPF file system if it is missing, lists the existing pins, and locks the
 * folder. Returns 0, or -errno after logging the reason; -EBUSY: another process holds the lock. */
int pins_open(struct pins **ret, const char *state_dir);
/* Frees p; all pins stay. NULL is allowed. */
void pins_close(struct pins *p);

/* Marks a pin as claimed. Returns a descriptor of the pinned object, or -ENOENT if there is no such
 * pin. */
int pins_claim(struct pins *p, const char *name);
/* Pins an object; replaces one of the same name. Returns 0 or -errno. */
int pins_put(struct pins *p, const char *name, int fd);
void pins_remove(struct pins *p, const char *name);
/* Like pins_claim(), but in the folder of a state directory that another process uses, and without
 * claiming the pin. */
int pins_peek(const char *state_dir, const char *name);
/* Returns the number of pins with this prefix that existed at the start and were not claimed. */
size_t pins_waiting(const struct pins *p, const char *prefix);
/* Removes the pins that pins_waiting() counts. A link without another pin or descriptor ends. */
void pins_drop_waiting(struct pins *p, const char *prefix);
/* Removes unclaimed pins without this prefix. */
void pins_drop_waiting_but(struct pins *p, const char *prefix);
/* Removes all pins and the folder. */
void pins_clear(struct pins *p);

/* Call from the callback of pins_each(). Returns true when another process uses the folder; locks
 * the folder otherwise. */
bool pins_busy(const struct pins *p);

/* Calls fn for each folder of PIN_ROOT. Returns their number, or -errno (-ENOENT: no PIN_ROOT). */
typedef void pins_each_fn(void *ctx, struct pins *p, const char *folder);
int pins_each(pins_each_fn *fn, void *ctx);

#endif
