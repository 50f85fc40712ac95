/* SPDX-License-Identifier: Apache-2.0 */
/* train OPERATION...: a training process without torch. It calls the probed functions of the
 * stand-in libraries as torch does, and runs its operations in order:
 *
 *   load[=DIR]  maps the libraries (of DIR, else those beside this program)
 *   memory      from here on load maps copies that are in memory only (memfd)
 *   wait        until each function that a step calls is probed, and gp-bpf (what started us, or
 *               whose PID is in the file TRAIN_WATCHER) rests; exits with 4 after 30 s without that
 *   sites       prints "sites N": how many of those functions are probed now
 *   rest=MS     does nothing for so many milliseconds, under a second
 *   steps=N     takes N steps, then prints "steps N"
 *   until       takes steps until a line, or the end, can be read; then prints "steps N"
 *   hot=N       from here on each step also launches N times and waits N times for the device
 *   pace=US     from here on a backward pass takes that many microseconds
 *   work=US     from here on a step also uses a CPU for that many microseconds
 *   ask=FD      from here on a step also writes a byte to that descriptor, and reads one
 *   read=PATH   from here on a step also opens that file and reads it
 *   half        the end of a step, from its backward pass on
 *   storm=N     N times zero_grad, as fast as can be
 *   crowd=N     N children that wait for this process's end, all at once; prints "crowd N"
 *   save=PATH   a checkpoint
 *   file=PATH   writes a file of 1 MiB; prints "closed N", N being the error of close(2), or 0
 *   range=NAME  a range of that name
 *   say=TEXT    prints TEXT
 *   pid         prints "pid N"
 *   pause       until a line, or the end, is read from standard input
 *   fork        a child goes on with the rest; this process ends as the child does
 *   children=N  N children, one after the other, each go on with the rest; so does fork, N times
 *   workers=N   N children, all at once, each go on with the rest; this process ends as the last
 *               one did
 *   exec        replaces itself by itself, for the rest
 *   kill=N      sends itself that signal
 *   exit=N      ends */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake/torch.h"

#define WAIT_ROUNDS 30000  /* of a millisecond */
#define SITE_BYTES  16	   /* a probe sits within a function's first instructions */
#define BACKWARD_NS 400000 /* and a checkpoint */

struct text { /* as std::string begins */
	const char *at;
	size_t len;
	char small[16];
};

enum site_id {
	RANGE_BEGIN,
	BACKWARD,
	REDUCER,
	FUSED_ADAM,
	SAVE_BEGIN,
	SAVE_END,
	LAUNCH,
	SYNC,
	RANGE_END,
	SITES
};

static const struct {
	const char *symbol;
	int library;
	bool step; /* called in every step */
} sites[SITES] = {
	[RANGE_BEGIN] = {TORCH_RANGE_BEGIN, 0, true}, [BACKWARD] = {TORCH_BACKWARD, 0, true},
	[REDUCER] = {TORCH_REDUCER, 0, true},	      [FUSED_ADAM] = {TORCH_FUSED_ADAM, 0, true},
	[SAVE_BEGIN] = {TORCH_SAVE_BEGIN, 0, false},  [SAVE_END] = {TORCH_SAVE_END, 0, false},
	[LAUNCH] = {FAKE_LAUNCH, 0, false},	      [SYNC] = {FAKE_SYNC, 0, false},
	[RANGE_END] = {TORCH_RANGE_END, 1, true},
};

static void *function[SITES];
static unsigned char
	original[SITES][SITE_BYTES]; /* as the file has them: a probe is seen in memory only */
static const char *const library[] = {"libtorch_cpu.so", "libtorch_python.so"};

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "train: %s: %s\n", what, why);
	exit(3);
}

static void read_original(int i, int fd)
{
	Dl_info info;
	off_t offset;

	if (!dladdr(function[i], &info))
		fail(sites[i].symbol, "no address");
	/* The linker lays these small libraries out as they are in the file. */
	offset = (off_t)((uintptr_t)function[i] - (uintptr_t)info.dli_fbase);
	if (pread(fd, original[i], SITE_BYTES, offset) != SITE_BYTES)
		fail(info.dli_fname, strerror(errno));
}

static bool in_memory;

/* path becomes that of the copy, which stays open. */
static void copy_to_memory(char *path, size_t cap)
{
	int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("copy", 0);

	if (from < 0 || to < 0)
		fail(path, strerror(errno));
	while (sendfile(to, from, NULL, 1 << 20) > 0)
		;
	close(from);
	snprintf(path, cap, "/proc/self/fd/%d", to);
}

static void load(const char *dir)
{
	char path[PATH_MAX + 32], self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n <= 0)
		fail("/proc/self/exe", strerror(errno));
	self[n] = 0;
	*strrchr(self, '/') = 0;
	for (int l = 0; l < 2; l++) {
		void *handle;
		int fd;

		snprintf(path, sizeof(path), "%s/%s", dir ? dir : self, library[l]);
		if (in_memory)
			copy_to_memory(path, sizeof(path));
		handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		if (!handle)
			fail("load", dlerror());
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			fail(path, strerror(errno));
		for (int i = 0; i < SITES; i++) {
			if (sites[i].library != l)
				continue;
			function[i] = dlsym(handle, sites[i].symbol);
			if (!function[i])
				fail("load", dlerror());
			read_original(i, fd);
		}
		close(fd);
	}
}

static int sites_probed(int *ret_wanted)
{
	int n = 0, wanted = 0;

	for (int i = 0; i < SITES; i++) {
		if (!sites[i].step)
			continue;
		wanted++;
		n += function[i] && memcmp(function[i], original[i], SITE_BYTES) != 0;
	}
	if (ret_wanted)
		*ret_wanted = wanted;
	return n;
}

static void pause_ns(long ns)
{
	struct timespec ts = {0, ns};

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

/* The nearest ancestor that is gp-bpf, or 0. */
static int watcher_above(void)
{
	char path[32], text[512], state;
	int pid = getpid();
	const char *end;
	size_t len;
	FILE *f;

	while (pid > 1) {
		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		f = fopen(path, "re");
		if (!f)
			return 0;
		len = fread(text, 1, sizeof(text) - 1, f);
		text[len] = 0;
		fclose(f);
		if (strstr(text, "(gp-bpf)"))
			return pid;
		end = strrchr(text, ')');
		if (!end || sscanf(end, ") %c %d", &state, &pid) != 2)
			return 0;
	}
	return 0;
}

static int watcher_find(void)
{
	const char *path = getenv("TRAIN_WATCHER");
	int pid = watcher_above();
	FILE *f;

	if (pid || !path)
		return pid;
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%d", &pid) != 1)
		pid = 0;
	fclose(f);
	return pid;
}

/* A probe can be seen in memory before a program is behind it, where each has a link of its own.
 * Once gp-bpf waits for events again all of them are in place. */
static bool watcher_rests(int pid)
{
	char path[32];
	long call = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	f = fopen(path, "re");
	if (!f)
		return true; /* not ours to see */
	if (fscanf(f, "%ld", &call) != 1)
		call = -1; /* running */
	fclose(f);
#ifdef SYS_epoll_wait
	if (call == SYS_epoll_wait)
		return true;
#endif
	return call == SYS_epoll_pwait;
}

/* All are heard together, which may be a turn of gp-bpf's loop (10 ms) after the last is in place:
 * it has to rest twice. */
static void wait_probed(void)
{
	int wanted, watcher, rested = 0;

	for (int i = 0; i < WAIT_ROUNDS; i++) {
		watcher = watcher_find();
		if (sites_probed(&wanted) == wanted && (!watcher || watcher_rests(watcher)))
			rested++;
		if (rested == 2)
			return;
		pause_ns(rested ? 25000000 : 1000000);
	}
	fprintf(stderr, "train: not probed\n");
	exit(4);
}

static void range_begin(const char *name)
{
	struct text text = {name, strlen(name), ""};
	void *result = NULL;

	((void (*)(void **, struct text *))function[RANGE_BEGIN])(&result, &text);
}

static void range_end(void)
{
	((void (*)(void))function[RANGE_END])();
}

static void range(const char *name)
{
	range_begin(name);
	range_end();
}

static long backward_ns = BACKWARD_NS, work_ns;

/* Runs until this thread has used a CPU for so long, most of that outside of the kernel. */
static void work(long ns)
{
	static volatile unsigned spin;
	struct timespec t;
	int64_t until;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	until = t.tv_sec * 1000000000ll + t.tv_nsec + ns;
	while (t.tv_sec * 1000000000ll + t.tv_nsec < until) {
		for (int i = 0; i < 5000; i++) /* some 10 us */
			spin++;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	}
}

static void half_step(void)
{
	static void *tensor, *list[] = {&tensor};
	void *result = NULL;

	((void (*)(void **))function[BACKWARD])(&result);
	pause_ns(backward_ns);
	if (work_ns)
		work(work_ns);
	((void (*)(void))function[REDUCER])();
	range_begin("Optimizer.step#AdamW.step");
	((void (*)(void **))function[FUSED_ADAM])(list);
	range_end();
}

static long hot;
static int ask_fd = -1;
static const char *read_path;

/* Reads a batch from a server, and from a file. */
static void fetch(void)
{
	char bytes[4096] = "";
	int fd;

	if (ask_fd >= 0 && (write(ask_fd, bytes, 1) != 1 || read(ask_fd, bytes, 1) != 1))
		fail("ask", strerror(errno));
	if (!read_path)
		return;
	fd = open(read_path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, bytes, sizeof(bytes)) < 0)
		fail(read_path, strerror(errno));
	close(fd);
}

static void step(void)
{
	fetch();
	for (long i = 0; i < hot; i++) {
		((void (*)(void))function[LAUNCH])();
		((void (*)(void))function[SYNC])();
	}
	range("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
	range("Optimizer.zero_grad#AdamW.zero_grad");
	half_step();
}

static void steps(long n)
{
	for (long i = 0; i < n; i++)
		step();
	printf("steps %ld\n", n);
}

static void steps_until_read(void)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	char line[64];
	long n = 0;

	while (poll(&in, 1, 0) == 0) {
		step();
		n++;
	}
	(void)!fgets(line, sizeof(line), stdin);
	printf("steps %ld\n", n);
}

static void write_file(const char *path)
{
	static const char text[1 << 20];
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, sizeof(text)) != (ssize_t)sizeof(text))
		fail(path, strerror(errno));
	printf("closed %d\n", close(fd) ? errno : 0);
}

static void save(const char *path)
{
	struct text text = {path, strlen(path), ""};
	void *writer = NULL;

	((void (*)(void **, struct text *))function[SAVE_BEGIN])(&writer, &text);
	pause_ns(BACKWARD_NS);
	((void (*)(void **))function[SAVE_END])(&writer);
}

static void storm(long n)
{
	while (n-- > 0)
		range("Optimizer.zero_grad#AdamW.zero_grad");
}

static void crowd(long n)
{
	pid_t parent = getpid();
	long made = 0;

	for (; made < n; made++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork", strerror(errno));
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			pause();
		_exit(0);
	}
	printf("crowd %ld\n", made);
}

/* Returns in the child; the parent ends as the last child did. */
static void children(long n)
{
	int status = 0;
	pid_t pid;

	for (long i = 0; i < n; i++) {
		pid = fork();
		if (pid < 0)
			fail("fork", strerror(errno));
		if (!pid)
			return;
		if (waitpid(pid, &status, 0) != pid)
			fail("waitpid", strerror(errno));
		if (status)
			break;
	}
	exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/* Returns in each child. */
static void workers(long n)
{
	int status, worst = 0;
	pid_t pid;

	for (long i = 0; i < n; i++) {
		pid = fork();
		if (pid < 0)
			fail("fork", strerror(errno));
		if (!pid)
			return;
	}
	while (wait(&status) > 0)
		worst = status ? status : worst;
	exit(WIFSIGNALED(worst) ? 128 + WTERMSIG(worst) : WEXITSTATUS(worst));
}

static void run(char **op)
{
	const char *arg = strchr(*op, '=');
	size_t len = arg ? (size_t)(arg++ - *op) : strlen(*op);
	char line[64];

#define IS(name) (len == sizeof(name) - 1 && !strncmp(*op, name, len))
	if (IS("load"))
		load(arg);
	else if (IS("memory"))
		in_memory = true;
	else if (IS("wait"))
		wait_probed();
	else if (IS("sites"))
		printf("sites %d\n", sites_probed(NULL));
	else if (IS("steps"))
		steps(atol(arg));
	else if (IS("until"))
		steps_until_read();
	else if (IS("hot"))
		hot = atol(arg);
	else if (IS("rest"))
		pause_ns(1000000 * atol(arg));
	else if (IS("pace"))
		backward_ns = 1000 * atol(arg);
	else if (IS("work"))
		work_ns = 1000 * atol(arg);
	else if (IS("ask"))
		ask_fd = atoi(arg);
	else if (IS("read"))
		read_path = arg;
	else if (IS("half"))
		half_step();
	else if (IS("storm"))
		storm(atol(arg));
	else if (IS("crowd"))
		crowd(atol(arg));
	else if (IS("workers"))
		workers(atol(arg));
	else if (IS("save"))
		save(arg);
	else if (IS("file"))
		write_file(arg);
	else if (IS("range"))
		range(arg);
	else if (IS("say"))
		puts(arg);
	else if (IS("pid"))
		printf("pid %d\n", getpid());
	else if (IS("pause"))
		(void)!fgets(line, sizeof(line), stdin);
	else if (IS("fork"))
		children(1);
	else if (IS("children"))
		children(atol(arg));
	else if (IS("kill"))
		kill(getpid(), atoi(arg));
	else if (IS("exit"))
		exit(atoi(arg));
	else
		fail(*op, "no such operation");
#undef IS
}

int main(int argc, char **argv)
{
	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int i = 1; argv[i]; i++) {
		if (strcmp(argv[i], "exec")) {
			run(argv + i);
			continue;
		}
		argv[i] = argv[0];
		execv("/proc/self/exe", argv + i);
		fail("exec", strerror(errno));
	}
	return 0;
}
