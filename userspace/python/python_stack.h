/* SPDX-License-Identifier: Apache-2.0 */
/* python_stack.h - reads the Python stacks of a process from outside: CPython 3.8 to 3.14, by
 * process_vm_readv(2) alone, so that the process is neither stopped nor signalled. Its memory is
 * hostile and changes meanwhile: every loop, size and string is bounded, pointers are checked, and
 * a stack that changed while it was read is read again. The calls wait while the process's memory
 * map is locked, or a page of it comes from a slow disk: call them in a helper process or a worker.
 * A python_process belongs to one thread at a time. */
#ifndef PYTHON_PYTHON_STACK_H
#define PYTHON_PYTHON_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PYTHON_FRAMES_MAX 128
#define PYTHON_TEXT_MAX	  256 /* bytes of a function's or file's name, terminator included */
#define PYTHON_WHY_MAX	  128

/* A frame of a Python stack. The texts are valid UTF-8 without control characters, cut to
 * PYTHON_TEXT_MAX, "?" if unreadable. They belong to the python_process, and are valid until its
 * next python_dump(). */
struct python_frame {
	/* Name of the function. From CPython 3.11 on it includes the names of the classes and
	 * functions that contain the function */
	const char *function;
	/* Path of the file, as in the code object: may be relative to a folder that the process has
	 * left */
	const char *file;
	int line; /* 0: unknown */
};

/* The Python stack of one thread */
struct python_thread {
	pid_t tid;	  /* the thread's id in our pid namespace; 0: unknown */
	uint64_t pthread; /* its pthread_t */
	bool holds_gil;	  /* the thread held the global interpreter lock just before it was read */
	/* the thread holds the interpreter lock, and the garbage collector runs */
	bool collects;
	/* If the thread does not hold the interpreter lock: memory from lock_at to below lock_end
	 * contains the futexes of the lock. 0: unknown */
	uint64_t lock_at, lock_end;
	/* Address of the PyThreadState of the thread that held the lock, for python_dump_holder();
	 * 0: none did */
	uint64_t holder;
	bool torn;	  /* the stack changed at each attempt: frames may not belong together */
	bool cut;	  /* there are more frames than PYTHON_FRAMES_MAX */
	uint32_t nframes; /* 0: no Python code runs in this thread */
	struct python_frame frames[PYTHON_FRAMES_MAX]; /* innermost first */
};

struct python_process; /* state for reading one process: version, addresses, names of its code */

/* Finds CPython in a process. The result is valid until the process ends or calls execve(2).
 * Returns 0, and the caller passes *ret to python_close(); -ENOENT: no CPython in this process;
 * -ENOTSUP: this CPython cannot be read; -ESRCH: no such process; -EACCES: not permitted; -ENOMEM;
 * other -errno. Except for 0, why holds the reason. */
int python_open(pid_t pid, struct python_process **ret, char why[PYTHON_WHY_MAX]);
void python_close(struct python_process *p); /* NULL: no effect */
/* Returns the version of CPython as PY_VERSION_HEX, such as 0x030b07f0; only the upper 16 bits if
 * no more is known. */
uint32_t python_version(const struct python_process *p);

/* Reads the stacks of up to max threads of all interpreters, oldest first: threads[0] is the main
 * thread as long as it runs. Returns their number, or -EAGAIN: the list of threads changed at each
 * attempt; -ENODATA: the memory of the process makes no sense; -ESRCH: the process ended; -EACCES;
 * -ENOMEM. For an error, why holds the reason. */
int python_dump(struct python_process *p, struct python_thread *threads, size_t max,
		char why[PYTHON_WHY_MAX]);

/* Reads the stack of one thread. Returns 0; -ENOENT: no Python thread has this number; otherwise as
 * python_dump(). */
int python_dump_thread(struct python_process *p, pid_t tid, struct python_thread *ret,
		       char why[PYTHON_WHY_MAX]);

/* Replaces *t, which the last call has read, by the thread that held the global interpreter lock
 * then. Returns false if no other thread held it, or if that thread cannot be read. */
bool python_dump_holder(struct python_process *p, struct python_thread *t);

#endif
