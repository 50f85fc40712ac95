/* SPDX-License-Identifier: Apache-2.0 */
/* loader.h - the kernel side of gp-bpf, as used by the rest of user space. With probe_file.h this
 * is the only header of loader/ that other stages include; libbpf is not visible through it.
 *
 * Each gp-bpf process has one loader. Not thread-safe: one thread owns it. It starts threads of its
 * own to close links, which it joins before the call returns, and processes of its own to read
 * libraries. Functions return 0 or -errno. An error is logged in one line where the name of the
 * object is known (base/log.h); the caller only decides what to do next. Times in ns,
 * CLOCK_MONOTONIC unless stated otherwise. */
#ifndef LOADER_LOADER_H
#define LOADER_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/gp_abi.h"

struct preload;
struct helper;
struct loader;
struct probe_table; /* loader/probe/probe_file.h */

/* Settings of a loader */
struct loader_config {
	const struct probe_table *probes; /* borrowed, must outlive the loader */
	const char *features_off; /* comma-separated names from --feature NAME=off, or NULL */
	const char *cache_dir;	  /* symbol cache; NULL: none */
	size_t ring_call_bytes;	  /* size of the ring for calls, rounded up to a power of two; 0: 8
				     MiB */
	size_t ring_life_bytes;	  /* size of the ring for process life, rounded up; 0: 256 KiB */
	/* Absolute path of the state directory. Links and maps get names there and outlive this
	 * process; those of a predecessor are taken over when version, probes and boot are the
	 * same. NULL: nothing outlives this process. The caller holds the lock of the directory. */
	const char *durable;
	/* Time that probes other than markers may cost a process per second; 0: no limit. */
	uint64_t overhead_ns;
	/* Also report unwatched processes that map a library named in a probe file: records of kind
	 * unwatched. */
	bool unwatched;
	struct preload *preload; /* borrowed, from loader_preload(); or NULL */
	/* Pause after which probes that the budget has removed are attached again for the first
	 * time. */
	uint64_t overhead_pause_ns;
};

/* A feature of the kernel that gp-bpf uses if the kernel and the privileges allow it: one row of
 * the feature table, whose first row is the most important one */
struct feature {
	/* Name as in --feature NAME=off: bpf, cookie, btf, tp_btf, task_vma, multi... */
	const char *name;
	const char *purpose; /* what gp-bpf uses it for */
	const char *how;     /* how it was tested */
	const char *without; /* what is lost without it */
	bool have;	     /* usable, and not switched off */
	bool off;	     /* switched off by the user */
	bool required;
	int error; /* -errno of the test when not usable; else 0 */
	/* The kernel has the feature: if `have` is false, a privilege is missing */
	bool kernel_has;
};

/* Raises the soft limit of open files to the hard limit, because feature tests and every attached
 * library need descriptors. Call before all other functions of this header; processes started later
 * inherit the limit. */
void loader_raise_descriptors(void);

/* Tests each feature by using it, never by the kernel version. Returns the number of features; the
 * array is static and filled once. Needs no loader. */
int loader_features(const char *features_off, const struct feature **ret);
/* Returns the name of feature i without a test; NULL after the last. */
const char *loader_feature_name(size_t i);

/* Checks what gp-bpf requires of the kernel. Returns 0; or the error with which loader_open() would
 * fail, after logging the same line. */
int loader_able(const char *features_off);
/* Makes the mounts for which opening and closing a loader would need CAP_SYS_ADMIN. With feature
 * multi the caller may drop that capability afterwards. durable: loader_config.durable will be set.
 * Returns 0, or -errno after logging the reason. */
int loader_prepare(const char *features_off, bool durable);
/* Prepares a takeover: loads the programs and measures the cost of a hit before the predecessor is
 * asked to end, so that the rings are unread as briefly as possible. Changes nothing of the
 * predecessor's state. Call after loader_able(). Returns NULL when there is nothing to prepare:
 * loader_open() then does everything. */
struct preload *loader_preload(const char *state_dir);
void loader_preload_free(struct preload *a); /* NULL is allowed */
/* Opens the kernel side. Returns 0, or -EPERM, -ENOSYS...: what is missing and the remedy are
 * logged in one line; the caller exits with status 3. Also refuses a pid namespace other than the
 * initial one. */
int loader_open(struct loader **ret, const struct loader_config *cfg);
/* Returns the helper process that inspects processes whose address space may be locked. It belongs
 * to the loader. */
struct helper *loader_helper(struct loader *l);
/* Returns true when unwatched processes are reported. Returns false when this was not requested
 * (loader_config.unwatched) or the kernel cannot report them. */
bool loader_reports_unwatched(const struct loader *l);
/* Detaches everything. NULL is allowed. */
void loader_close(struct loader *l);
/* Ends the loader; everything stays attached for a successor. */
void loader_hand_over(struct loader *l);
/* Returns true when the kernel side was taken over from a predecessor: the kernel side has kept
 * watching, and the rings hold the records since then. */
bool loader_adopted(const struct loader *l);
/* Call after a takeover, when all watched processes have been scanned again: detaches probes of the
 * predecessor that are not needed any more. */
void loader_taken_over(struct loader *l);
/* Replaces every link by a new one that runs the programs of this version, without losing a hit or
 * counting one twice. Returns 0; or -errno after logging the reason: then the old links stay in
 * use. */
int loader_relink(struct loader *l);
/* Call at least once a second while the rings are read. After GP_SILENT_NS without a call the
 * kernel side stops sending; this call makes it resume, and sets *ret_from_ns to when it had
 * stopped, else to 0. */
void loader_heartbeat(struct loader *l, uint64_t *ret_from_ns);
/* Removes every pin, link and map left by instances with durable state. ask decides whether a
 * folder is removed; state_dir: the state directory of its instance, "": unknown; user: pid of a
 * process that uses the folder, 0: none. Returns the number of folders removed, or -errno. */
typedef bool loader_detach_fn(void *ctx, const char *folder, const char *state_dir, uint32_t user);
int loader_detach(loader_detach_fn *ask, void *ctx);

/* A ring buffer, for ingest/ring.h. */
struct loader_ring {
	int fd;
	size_t bytes;
	const char *name; /* "life", "call" */
	enum gp_loss_cause loss;
};
/* Sets *ret to the rings. Returns their number, 2. */
int loader_rings(const struct loader *l, const struct loader_ring **ret);

/* Starts to watch a process; the kernel side follows its later children. start_ns: its start on
 * CLOCK_BOOTTIME. ret_slot may be NULL. Returns 0, -ESRCH or -ENOSPC. */
int loader_watch(struct loader *l, pid_t pid, uint64_t start_ns, uint32_t *ret_slot);
void loader_unwatch(struct loader *l, pid_t pid);
/* Like loader_unwatch(), for a process whose exit the kernel side could not report. */
void loader_unwatch_dead(struct loader *l, pid_t pid);
bool loader_watched(const struct loader *l, pid_t pid);
/* Iterates over the watched processes: start with pid 0; returns 0 after the last. */
pid_t loader_watched_next(const struct loader *l, pid_t pid);
/* Call when the exit record of a process was read: frees its slot, and removes it from the users of
 * libraries. The kernel side ended the watch itself; an entry of that pid may belong to another
 * process by now. */
void loader_gone(struct loader *l, pid_t pid, uint32_t slot);

/* Scans the executable mappings of one process. A library that some row names and that is not
 * attached yet is read by a reader process, and attached by a later loader_poll(). Returns the
 * number of files that are new in this process (when not 0, scan again), or -errno: -ESRCH: the
 * process is gone; -ETIMEDOUT: its address space is locked, see base/helper.h. Never waits for a
 * file. Takes 0.1 ms when nothing is new. */
int loader_scan(struct loader *l, pid_t pid);
/* Returns true when the last scan ran out of time: scan again at once. */
bool loader_unfinished(const struct loader *l);
/* Attaches libraries that were read since the last call, a few at a time. Returns how many are
 * still being read. */
size_t loader_poll(struct loader *l);
/* Calls loader_poll() until no library is being read. Returns 0, or -ETIMEDOUT. */
int loader_settle(struct loader *l, uint64_t timeout_ns);
/* A watched process was forked: the child starts with the libraries of its parent. */
void loader_forked(struct loader *l, pid_t parent, pid_t child);

/* Receives the state of one probe in one library, from loader_poll() and loader_sample(). (probe,
 * a.dev, a.ino, a.offset) identify the probe: a later call with the same values replaces the
 * state. */
typedef void loader_attach_fn(void *ctx, uint32_t probe, const struct gp_attach *a);
/* Returns the reason why the probe is not attached, for people; "" when it is. */
const char *loader_attach_text(const struct gp_attach *a);
/* Sets the function that receives the states of probes. */
void loader_on_attach(struct loader *l, loader_attach_fn *fn, void *ctx);

/* Reports what was counted since the last call: hits of rows that are only counted (hot rows), hits
 * that were not sent because a limit per second was exceeded (slot GP_SLOT_NONE), and losses. */
typedef void loader_count_fn(void *ctx, pid_t pid, uint32_t probe, const struct gp_counter *c);
typedef void loader_loss_fn(void *ctx, enum gp_loss_cause cause, uint64_t count, uint64_t total);
int loader_sample(struct loader *l, loader_count_fn *count, loader_loss_fn *loss, void *ctx);
/* Passes records read from a ring to the budget, which adds up their cost. The next loader_sample()
 * carries out the budget's decisions (loader/budget/budget.h), and reports changes to the function
 * of loader_on_attach(). */
void loader_spent(struct loader *l, const void *records, size_t len);
/* Exempts probes from the budget. roles: bits 1ull << enum gp_role by which steps are found now;
 * chosen: hash of the row named by the user, 0: none. */
void loader_protect(struct loader *l, uint64_t roles, uint32_t chosen);
/* Reports the counters of a process that ended, for the last time. */
void loader_sample_process(struct loader *l, pid_t pid, uint32_t slot, loader_count_fn *count,
			   void *ctx);

/* Call when everything sampled so far is stored on the tape: a successor then continues from these
 * values. */
void loader_commit(struct loader *l);
/* Call soon after an exit, when everything sampled is stored on the tape: frees the slots of ended
 * processes. */
void loader_settled(struct loader *l);
/* Restore the counts that a predecessor reported last, from its tape. */
void loader_resume(struct loader *l, pid_t pid, uint32_t probe, const struct gp_counter *last);
void loader_resume_loss(struct loader *l, const struct gp_loss *last);
/* Call twice, about a second apart, when exits may have been missed: frees the slots of ended
 * processes. */
void loader_sweep(struct loader *l);

/* A call of a watched process that has not returned. */
struct open_call {
	uint64_t since_ns;
	uint64_t arg[GP_ARGS];
	uint32_t probe;
	pid_t pid, tid;
	bool may_block;
};
/* Reports open calls that were entered at least age_ns before now_ns: first those of rows marked
 * may_block, then the oldest first, at most 256. Returns their number, or -errno. */
typedef void loader_open_call_fn(void *ctx, const struct open_call *c);
int loader_open_calls(struct loader *l, uint64_t now_ns, uint64_t age_ns, loader_open_call_fn *fn,
		      void *ctx);

/* Returns the cost of one empty hit on this host (ns) by instruction class and kind of probe; 0:
 * could not be measured. */
uint32_t loader_hit_cost_ns(struct loader *l, enum gp_insn insn, bool returns);

/* ---- examinations: waits of threads, and the processes that run instead ---------------------- */

#define EXAMINE_THREADS 16  /* limit of threads that are examined at once */
#define EXAMINE_WAITS	64  /* limit of reported wait reasons of a thread */
#define EXAMINE_RAN	32  /* limit of reported processes that ran instead of a thread */
#define EXAMINE_DEVICES 8   /* limit of reported block devices */
#define EXAMINE_CALLS	512 /* system calls below this number are reported separately */
#define EXAMINE_MAX_NS	10000000000ull /* limit of the length of an examination */

/* Kinds of system calls, by the argument that shows what they wait for */
enum examine_call {
	EXAMINE_CALL_OTHER,
	EXAMINE_CALL_FD,   /* the first argument is a descriptor */
	EXAMINE_CALL_POLL, /* the call waits for many descriptors, like poll(2) */
};

struct examine_thread {
	pid_t pid, tid;
};

/* Which threads to examine, and for how long */
struct examine_request {
	uint64_t length_ns; /* at most EXAMINE_MAX_NS */
	int count;	    /* number of threads, 1 to EXAMINE_THREADS */
	struct examine_thread thread[EXAMINE_THREADS];
	uint8_t call[EXAMINE_CALLS]; /* enum examine_call */
};

#define EXAMINE_BEFORE	(-2)
#define EXAMINE_STOPPED (-3) /* set by the caller: the thread was stopped all the time */
/* Sum of the sleeps of a thread for one reason. The texts come from the job and may be hostile. */
struct examine_wait {
	uint64_t ns, worst_ns;
	uint32_t count, slow; /* number of all sleeps; number of sleeps of at least 10 ms */
	/* System call in which the thread slept. -1: none, for example in a page fault;
	 * EXAMINE_BEFORE: the thread slept already when the examination began */
	int32_t syscall;
	int32_t fd;	  /* descriptor that the system call waits for; -1: none */
	bool block;	  /* the thread waited for block I/O */
	bool known;	  /* the type and name of the descriptor's file are valid */
	bool inet;	  /* the file is a socket of IPv4 or IPv6 */
	uint32_t type;	  /* S_IFMT of the file's mode */
	uint32_t address; /* IPv4 address of the peer, in network order; 0: unknown */
	uint16_t port;	  /* port of the peer; 0: unknown */
	char name[40];	  /* last component of the file's path; it may be cut */
};

/* A process that ran while an examined thread waited for a CPU */
struct examine_ran {
	uint64_t ns;   /* time that the process ran while the thread waited for a CPU */
	uint32_t pid;  /* 0: no process ran: the CPU was idle */
	char comm[16]; /* chosen by the process: any bytes; may lack a NUL */
};

/* Requests to a block device of the machine during an examination */
struct examine_device {
	uint64_t ns, worst_ns;
	/* Number of all requests; number of requests that took at least 10 ms */
	uint64_t count, slow;
	uint32_t major, minor;
};

/* Results of an examination, for each thread and for block devices */
struct examine_result {
	int error; /* 0, or -errno: nothing was examined */
	uint64_t from_ns, to_ns;
	uint64_t runs;	  /* number of runs of the BPF programs, on all CPUs */
	uint64_t cost_ns; /* time in the BPF programs, on the busiest CPU */
	bool dear;	  /* ended early, because cost_ns exceeded the overhead budget */
	bool blocks;	  /* block devices were examined */
	int ndevices, count;
	struct examine_device device[EXAMINE_DEVICES]; /* most time first */
	struct examine_done {
		struct examine_thread thread;
		uint64_t runnable_ns;
		/* The thread neither left a CPU nor got one, so it was in the same state all the
		 * time */
		bool still;
		int nwaits, nran;
		struct examine_wait wait[EXAMINE_WAITS]; /* most time first */
		struct examine_ran ran[EXAMINE_RAN];	 /* most time first */
	} done[EXAMINE_THREADS];
};

/* Starts an examination in a separate thread. The thread attaches programs to the context switches
 * of all CPUs, detaches them after length_ns or once they have cost what the overhead budget allows
 * for length_ns, and collects the results. Returns 0; -EBUSY: another examination is not finished;
 * -ENOTSUP: the kernel lacks feature tp_btf; or -errno. */
int loader_examine(struct loader *l, const struct examine_request *r);
/* Returns the results of the last examination, once; NULL: none has finished. Valid until the next
 * loader_examine(). */
const struct examine_result *loader_examined(struct loader *l);
/* Returns true from loader_examine() until loader_examined() returned the results. */
bool loader_examines(const struct loader *l);

/* Reports what would be attached to a file without attaching it, for `check --library FILE` and
 * `check --pid`. Returns 0 or -errno. */
typedef void loader_plan_fn(void *ctx, const char *probe_id, const struct gp_attach *a);
int loader_plan(const struct probe_table *t, const char *path, loader_plan_fn *fn, void *ctx);

/* Finds the soname of a library in memory (memfd_create(2)) from its line of /proc/PID/maps;
 * without a soname, the name given by its creator. Returns 0 or -errno; -ENOENT: not a file in
 * memory, or the name does not fit. May wait for a process that holds its address space locked. */
int loader_memory_name(pid_t pid, const char *line, char *name, size_t len);

#endif
