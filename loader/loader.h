/* SPDX-License-Identifier: Apache-2.0 */
/* loader.h - everything user space may ask of the kernel side. With probe_file.h the only header of
 * loader/ that other stages include; libbpf does not show through it.
 *
 * One loader per process. Not thread-safe: one thread owns it (it starts threads of its own to
 * close links and joins them before the call returns, and processes of its own to read libraries).
 * Errors: 0 or -errno; the one line for the user is logged where the name is known (base/log.h),
 * the caller only decides what to do next.
 */
#ifndef LOADER_LOADER_H
#define LOADER_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

struct ahead;
struct aside;
struct loader;
struct probe_table; /* loader/probe_file.h */

struct loader_config {
	const struct probe_table *probes; /* borrowed, must outlive the loader */
	const char *features_off;	  /* comma-separated names of --feature NAME=off, or NULL */
	const char *cache_dir;		  /* symbol cache; NULL: none */
	size_t ring_call_bytes;		  /* 0: default (8 MiB); rounded up to a power of two */
	size_t ring_life_bytes;		  /* 0: default (256 KiB) */
	/* Absolute path of the state directory: links and maps get names there and outlive us, and
	 * those of a predecessor are taken over when its version, its probes and the boot are ours.
	 * NULL: nothing outlives us. The caller holds the directory's lock. */
	const char *durable;
	uint64_t overhead_ns; /* that probes beyond the marker may cost a process in a second; 0: no
				 bound */
	bool meet;	      /* also tell of processes that nobody watches: records of kind met */
	struct ahead *ahead;  /* borrowed, of loader_ahead(); or NULL */
	uint64_t overhead_pause_ns; /* before what was given up is tried again, at first */
};

/* What the kernel and our privileges allow; rows of the feature table, in order of importance. */
struct feature {
	const char
		*name; /* as in --feature NAME=off: bpf, cookie, btf, tp_btf, task_vma, multi... */
	const char *purpose; /* what it gives */
	const char *how;     /* it was tested */
	const char *without; /* what is lost without it */
	bool have;	     /* usable (and not switched off) */
	bool off;	     /* switched off by the user */
	bool required;
	int error;	 /* why not, -errno of the test; 0 */
	bool kernel_has; /* all that is known to lack is a privilege */
};

/* Tests each feature for real (never by kernel version). Returns the count; the array is static,
 * filled once. Needs no loader. */
int loader_features(const char *features_off, const struct feature **ret);
/* Of the i-th, without a test; NULL beyond the last. */
const char *loader_feature_name(size_t i);

/* 0, or what loader_open() would refuse with, after the same line. */
int loader_able(const char *features_off);
/* Mounts what loader_open(), and whoever ends the loader, would need CAP_SYS_ADMIN for: with
 * feature multi it may be given up then. durable: loader_config has one. -errno after a line. */
int loader_prepare(const char *features_off, bool durable);
/* What one that takes over can have ready before it asks its predecessor to go, so that nobody
 * reads the rings for as short as can be: its programs, loaded, and the price of a hit. Touches
 * nothing of the predecessor's in that state directory. After loader_able(). NULL: loader_open()
 * does it all. */
struct ahead *loader_ahead(const char *state_dir);
void loader_ahead_free(struct ahead *a); /* NULL is fine */
/* 0, or -EPERM/-ENOSYS...: what is missing is logged in one line that names it and the remedy. The
 * caller exits 3. Also refuses a foreign pid namespace (recipe I). */
int loader_open(struct loader **ret, const struct loader_config *cfg);
/* Who asks the kernel about processes that may hold their address space locked; the loader's. */
struct aside *loader_aside(struct loader *l);
/* Processes that nobody watches are told of. false: that was not asked for, or the kernel cannot.
 */
bool loader_meets(const struct loader *l);
void loader_close(struct loader *l); /* detaches everything; NULL is fine */
/* Everything stays attached, for a successor. */
void loader_leave(struct loader *l);
/* The kernel side is a predecessor's: it has watched on, and its rings hold what waited. */
bool loader_adopted(const struct loader *l);
/* Every watched process was looked at again: what else the predecessor had attached is given up. */
void loader_taken_over(struct loader *l);
/* Replaces every link by a new one that runs our programs, without missing a hit or counting one
 * twice. -errno, after a line: all links are as they were. */
int loader_relink(struct loader *l);
/* Call at least once a second, while the rings are read. When nobody did for GP_SILENT_NS the
 * kernel side has gone silent: it speaks again, and *ret_from_ns is when that began; else 0. */
void loader_heartbeat(struct loader *l, uint64_t *ret_from_ns);
/* Removes every pin, link and map that instances with durable state left. ask is told whose each
 * folder is (state_dir "": unknown; user: a process that uses it, 0: none) and says whether it may
 * go. Returns how many are gone, or -errno. */
typedef bool loader_detach_fn(void *ctx, const char *folder, const char *state_dir, uint32_t user);
int loader_detach(loader_detach_fn *ask, void *ctx);

/* Ring buffers, for ingest/ring.h: map fd and size in bytes. */
struct loader_ring {
	int fd;
	size_t bytes;
	const char *name; /* "life", "call" */
	enum gp_loss_cause loss;
};
int loader_rings(const struct loader *l, const struct loader_ring **ret); /* returns 2 */

/* Starts to watch a process (its future children follow by themselves in the kernel). start_ns is
 * its CLOCK_BOOTTIME start. ret_slot may be NULL. -ESRCH, -ENOSPC. */
int loader_watch(struct loader *l, pid_t pid, uint64_t start_ns, uint32_t *ret_slot);
void loader_unwatch(struct loader *l, pid_t pid);
void loader_unwatch_dead(struct loader *l,
			 pid_t pid); /* ... if it ended, and the kernel could not tell */
bool loader_watched(const struct loader *l, pid_t pid);
/* for (pid_t pid = 0; (pid = loader_watched_next(l, pid));) ... each watched process; 0: no more.
 */
pid_t loader_watched_next(const struct loader *l, pid_t pid);
/* The exit record of a process was read: its slot may be used again, and its libraries have one
 * user less. The kernel ended the watch; an entry of that pid by now is another process's. */
void loader_gone(struct loader *l, pid_t pid, uint32_t slot);

/* Looks at the executable mappings of one process; a library that some row names and that is not
 * attached yet is read, elsewhere, and attached by a later loader_poll(). Returns how many files it
 * found that it had not met in this process before (so that another look is due), or -errno
 * (-ESRCH: it is gone; -ETIMEDOUT: its address space is locked, see base/aside.h). Never waits for
 * a file. Cheap when nothing is new (0.1 ms).
 */
int loader_scan(struct loader *l, pid_t pid);
/* That look ran out of time with files left: another one is due at once. */
bool loader_unfinished(const struct loader *l);
/* Attaches what was read since, a few libraries at a time. Returns how many are still being read.
 */
size_t loader_poll(struct loader *l);
/* Polls until nothing is being read. -ETIMEDOUT: something still is. */
int loader_settle(struct loader *l, uint64_t timeout_ns);
/* A watched process was forked: the child has its parent's libraries. */
void loader_forked(struct loader *l, pid_t parent, pid_t child);

/* One probe in one library. Called from loader_poll(); key (probe, a.dev, a.ino, a.offset); a later
 * call with the same key replaces the state. */
typedef void loader_attach_fn(void *ctx, uint32_t probe, const struct gp_attach *a);
/* Why it is not attached, for people; "" when it is. */
const char *loader_attach_text(const struct gp_attach *a);
void loader_on_attach(struct loader *l, loader_attach_fn *fn, void *ctx);

/* Hot counters, hits that were not sent (over a bound; slot GP_SLOT_NONE), and losses, since the
 * last call.
 */
typedef void loader_count_fn(void *ctx, pid_t pid, uint32_t probe, const struct gp_counter *c);
typedef void loader_loss_fn(void *ctx, enum gp_loss_cause cause, uint64_t count, uint64_t total);
int loader_sample(struct loader *l, loader_count_fn *count, loader_loss_fn *loss, void *ctx);
/* Records that were read from a ring, for the budget; loader_sample() acts on it (loader/budget.h),
 * and tells on_attach what changed. */
void loader_spent(struct loader *l, const void *records, size_t len);
/* Roles (bit 1ull << enum gp_role) by which steps are found now, and the row (its hash; 0: none)
 * that the user named: no budget takes them. */
void loader_protect(struct loader *l, uint64_t roles, uint32_t chosen);
/* Those of a process that ended, for the last time. */
void loader_sample_process(struct loader *l, pid_t pid, uint32_t slot, loader_count_fn *count,
			   void *ctx);

/* What was sampled so far is safe (on the tape): a successor goes on from there. */
void loader_commit(struct loader *l);
/* The same, soon after an exit: what the dead counted in is given back. */
void loader_settled(struct loader *l);
/* From a predecessor's tape: what it told last. */
void loader_resume(struct loader *l, pid_t pid, uint32_t probe, const struct gp_counter *last);
void loader_resume_loss(struct loader *l, const struct gp_loss *last);
/* Exits may have been missed: gives back what the dead held. Twice, a tick apart. */
void loader_sweep(struct loader *l);

/* Calls of watched processes that were entered at least age_ns before now_ns and have not returned;
 * those of rows marked may_block first, the oldest first, at most 256. Returns how many, or -errno.
 */
struct open_call {
	uint64_t since_ns;
	uint64_t arg[GP_ARGS];
	uint32_t probe;
	pid_t pid, tid;
	bool may_block;
};
typedef void loader_open_call_fn(void *ctx, const struct open_call *c);
int loader_open_calls(struct loader *l, uint64_t now_ns, uint64_t age_ns, loader_open_call_fn *fn,
		      void *ctx);

/* Price of one empty hit on this host, ns, by instruction class and shape; measured once, at open,
 * on a function of our own (about 20 ms). 0: could not be measured. */
uint32_t loader_price_ns(const struct loader *l, enum gp_insn insn, bool returns);

/* `check --library FILE` and `check --pid`: what would be attached, without attaching. */
typedef void loader_plan_fn(void *ctx, const char *probe_id, const struct gp_attach *a);
int loader_plan(const struct probe_table *t, const char *path, loader_plan_fn *fn, void *ctx);

#endif
