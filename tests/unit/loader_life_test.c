/* SPDX-License-Identifier: Apache-2.0 */
/* Life of watched processes as the kernel side tells it, and what the loader refuses. Needs
 * root. */
#include <bpf/bpf.h>
#include <dirent.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "tests/unit/probed.h"

/* ---- process life ---------------------------------------------------------------------------- */

static void hits(int n)
{
	while (n--) {
		gpt_hit(1, 1);
		gpt_count();
	}
}

static void body_family(void)
{
	pid_t first = fork(), second;
	int status;

	if (!first) {
		hits(11);
		second = fork();
		if (!second) {
			execl(exe, exe, "hits", "13", NULL);
			_exit(99);
		}
		waitpid(second, &status, 0);
		_exit(5);
	}
	waitpid(first, &status, 0);
	hits(7);
	_exit(3);
}

static void children_are_followed(void **state)
{
	pid_t pids[3];
	const int status[3] = {3, 5, 17}, calls[3] = {7, 11, 13};
	struct event ev;
	struct watch *w;
	struct child c;
	size_t pos = 0;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_family);
	assert_int_equal(WEXITSTATUS(child_run(&c)), 3);
	watch_collect(w);
	pids[0] = c.pid;
	for (int i = 1; i < 3; i++) {
		assert_true(record_next(w, &pos, GP_KIND_fork, &ev));
		assert_int_equal(ev.rec->pid, pids[i - 1]);
		assert_int_not_equal(ev.fork->slot, 0);
		assert_int_not_equal(ev.fork->start_ns, 0);
		pids[i] = (pid_t)ev.fork->child;
	}
	assert_int_equal(records_count(w, GP_KIND_exec, NULL, 0), 1);
	assert_int_equal(records_count(w, GP_KIND_exec, NULL, pids[2]), 1);
	assert_true(records_count(w, GP_KIND_map, NULL, pids[2]) > 0);
	assert_int_equal(records_count(w, GP_KIND_exit, NULL, 0), 3);
	pos = 0;
	for (int i = 2; i >= 0; i--) {
		assert_true(record_next(w, &pos, GP_KIND_exit, &ev));
		assert_int_equal(ev.rec->pid, pids[i]);
		assert_int_equal(WEXITSTATUS(ev.exit->status), status[i]);
		assert_int_equal(records_count(w, GP_KIND_hit, "test.hit", pids[i]), calls[i]);
		assert_int_equal(counted(w, "test.count", pids[i]), calls[i]);
		assert_false(loader_watched(w->loader, pids[i]));
	}
	assert_int_equal(ev.exit->start_ns, 77); /* as loader_watch() was told */
	watch_close(w);
}

static void body_hits(void)
{
	hits(5);
}

/* Whoever gets the number of one that ended is nobody's business. */
static void a_number_used_again_is_a_stranger(void **state)
{
	struct clone_args args = {.exit_signal = SIGCHLD, .set_tid_size = 1};
	pid_t pid, again;
	struct watch *w;
	struct child c;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_hits);
	pid = c.pid;
	child_run(&c);
	args.set_tid = (uint64_t)(uintptr_t)&pid;
	again = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (!again) {
		hits(3);
		_exit(0);
	}
	assert_int_equal(again, pid);
	assert_int_equal(waitpid(again, NULL, 0), again);
	watch_collect(w);
	assert_int_equal(records_count(w, GP_KIND_hit, "test.hit", pid), 5);
	assert_int_equal(records_count(w, GP_KIND_exit, NULL, pid), 1);
	watch_close(w);
}

/* Its exit is told before its memory is let go of, which takes a while: who is watched in between
 * would be for ever. */
static void who_is_on_its_way_out_is_not_watched(void **state)
{
	const size_t size = 64 << 20;
	struct watch *w;
	int ready[2];
	pid_t pid;
	char c;

	(void)state;
	need_root();
	w = watch_open(NULL);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(pipe(ready), 0);
		pid = fork();
		if (!pid) {
			char *held = mmap(NULL, size, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

			if (held == MAP_FAILED || write(ready[1], "x", 1) != 1)
				_exit(1);
			pause();
			_exit(0);
		}
		assert_int_equal(read(ready[0], &c, 1), 1);
		kill(pid, SIGKILL);
		while (!waitpid(pid, NULL, WNOHANG))
			loader_watch(w->loader, pid, 77, NULL);
		assert_false(loader_watched(w->loader, pid));
		close(ready[0]);
		close(ready[1]);
	}
	watch_close(w);
}

static void body_waits(void)
{
	for (;;)
		pause();
}

static void signals_name_their_sender(void **state)
{
	struct event ev;
	struct watch *w;
	struct child c;
	size_t pos = 0;
	int status;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_waits);
	kill(c.pid, SIGCHLD); /* harmless: not told */
	kill(c.pid, SIGKILL);
	assert_int_equal(waitpid(c.pid, &status, 0), c.pid);
	assert_int_equal(WTERMSIG(status), SIGKILL);
	close(c.go);
	watch_collect(w);
	assert_int_equal(records_count(w, GP_KIND_signal, NULL, 0), 1);
	assert_true(record_next(w, &pos, GP_KIND_signal, &ev));
	assert_int_equal(ev.rec->pid, c.pid);
	assert_int_equal(ev.signal->signal, SIGKILL);
	assert_int_equal(ev.signal->sender, getpid());
	pos = 0;
	assert_true(record_next(w, &pos, GP_KIND_exit, &ev));
	assert_int_equal(ev.exit->status, SIGKILL);
	watch_close(w);
}

static void on_signal(int sig)
{
	(void)sig;
}

static void body_handles(void)
{
	signal(SIGUSR1, on_signal);
	close(STDIN_FILENO); /* ready */
	for (;;)
		pause();
}

/* Flooded with a signal that it handles, and killed at the end: who killed it is told all the
 * same. */
static void signals_are_bounded(void **state)
{
	char stdin_path[64], link[8];
	struct event ev;
	struct watch *w;
	struct child c;
	size_t pos = 0, flood = 0, last = 0;
	int status;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_handles);
	snprintf(stdin_path, sizeof(stdin_path), "/proc/%d/fd/0", c.pid);
	assert_int_equal(write(c.go, "g", 1), 1);
	while (readlink(stdin_path, link, sizeof(link)) >= 0)
		sched_yield();
	for (int i = 0; i < 10000; i++)
		kill(c.pid, SIGUSR1);
	kill(c.pid, SIGKILL);
	assert_int_equal(waitpid(c.pid, &status, 0), c.pid);
	close(c.go);
	watch_collect(w);
	while (record_next(w, &pos, GP_KIND_signal, &ev)) {
		last = ev.signal->signal;
		flood += last == SIGUSR1;
	}
	assert_int_equal(last, SIGKILL);
	assert_in_range(flood, 8, 100); /* 8 a second, however slow this machine is */
	assert_int_equal(w->losses[GP_LOSS_rate_limited] + flood, 10000);
	assert_int_equal(w->losses[GP_LOSS_ring_life], 0);
	watch_close(w);
}

static void body_maps(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	for (int i = 0; i < 10000; i++)
		munmap(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0), 4096);
}

/* A process that maps all the time tells so a thousand times a second at most, and loses nobody's
 * end. */
static void mappings_are_bounded(void **state)
{
	struct event ev;
	struct watch *w;
	struct child c;
	uint64_t first = 0, last = 0;
	size_t pos = 0, n = 0;

	(void)state;
	need_root();
	w = watch_open(NULL);
	c = child_start(w, body_maps);
	assert_int_equal(WEXITSTATUS(child_run(&c)), 42);
	watch_collect(w);
	while (record_next(w, &pos, GP_KIND_map, &ev)) {
		first = n++ ? first : ev.rec->ts_ns;
		last = ev.rec->ts_ns;
	}
	assert_in_range(n, 1, (last - first) / 1000000 + 2);
	assert_int_equal(records_count(w, GP_KIND_exit, NULL, c.pid), 1);
	watch_close(w);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static void unknown_features_and_processes(void **state)
{
	struct loader_config cfg = {.features_off = "multi,bogus"};
	struct probe_table *probes;
	struct loader *l = NULL;
	struct watch *w;
	uint32_t slot;
	pid_t pid;

	(void)state;
	need_root();
	assert_int_equal(probe_table_load(&probes, probe_folder), 0);
	cfg.probes = probes;
	assert_int_equal(loader_open(&l, &cfg), -EINVAL);
	cfg.features_off = "cookie";
	assert_int_equal(loader_open(&l, &cfg), -ENOSYS);
	assert_null(l);
	probe_table_free(probes);
	w = watch_open(NULL);
	pid = fork();
	if (!pid)
		_exit(0);
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(loader_watch(w->loader, pid, 0, &slot), -ESRCH); /* a zombie */
	waitpid(pid, NULL, 0);
	assert_int_equal(loader_watch(w->loader, pid, 0, &slot), -ESRCH);
	assert_int_equal(loader_scan(w->loader, pid), -ESRCH);
	watch_close(w);
}

static int open_result(void)
{
	struct probe_table *probes = NULL;
	struct loader_config cfg = {0};
	struct loader *l = NULL;
	int err = probe_table_load(&probes, probe_folder);

	cfg.probes = probes;
	if (!err)
		err = loader_open(&l, &cfg);
	loader_close(l);
	probe_table_free(probes);
	return -err;
}

/* In a program of its own: what the kernel allows is asked once. */
static int run_self(const char *mode)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		execl(exe, exe, mode, NULL);
		_exit(99);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void refusals_are_clean(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(run_self("as-nobody"), EPERM);
	assert_int_equal(run_self("in-pid-namespace"), EPERM);
}

/* ---- the end --------------------------------------------------------------------------------- */

#define PROGRAMS_MAX 64

/* Numbers of the programs that this process holds; how many. */
static int programs_held(uint32_t ids[PROGRAMS_MAX])
{
	DIR *d = opendir("/proc/self/fdinfo");
	const struct dirent *e;
	char path[300], line[128];
	int n = 0;
	FILE *f;

	assert_non_null(d);
	while ((e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", e->d_name);
		f = fopen(path, "r");
		while (f && n < PROGRAMS_MAX && fgets(line, sizeof(line), f))
			n += sscanf(line, "prog_id: %u", &ids[n]) == 1;
		if (f)
			fclose(f);
	}
	closedir(d);
	return n;
}

/* Closing some of them is left to the kernel, which takes its time. */
static void no_program_is_left(void **state)
{
	uint32_t ids[PROGRAMS_MAX], held[PROGRAMS_MAX];
	struct watch *w;
	int n;

	(void)state;
	need_root();
	assert_int_equal(programs_held(held), 0);
	w = watch_open(NULL);
	n = programs_held(ids);
	assert_true(n >= 10);
	watch_close(w);
	assert_int_equal(programs_held(held), 0);
	for (int i = 0; i < n; i++) {
		int fd, tries = 1000;

		while ((fd = bpf_prog_get_fd_by_id(ids[i])) >= 0 && --tries) {
			close(fd);
			poll(NULL, 0, 10);
		}
		assert_int_equal(fd, -ENOENT);
	}
}

static int mode_run(char **argv)
{
	int status = 0;
	pid_t pid;

	if (!strcmp(argv[1], "as-nobody"))
		return open_result();
	if (unshare(CLONE_NEWPID))
		return 1;
	pid = fork();
	if (!pid)
		_exit(open_result());
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(children_are_followed),
		cmocka_unit_test(a_number_used_again_is_a_stranger),
		cmocka_unit_test(who_is_on_its_way_out_is_not_watched),
		cmocka_unit_test(signals_name_their_sender),
		cmocka_unit_test(signals_are_bounded),
		cmocka_unit_test(mappings_are_bounded),
		cmocka_unit_test(unknown_features_and_processes),
		cmocka_unit_test(refusals_are_clean),
		cmocka_unit_test(no_program_is_left),
	};

	if (argc > 2 && !strcmp(argv[1], "hits")) {
		hits(atoi(argv[2]));
		_exit(17); /* at once: a sanitizer's own child at exit would be one too many */
	}
	if (argc > 1 && !strcmp(argv[1], "as-nobody") && (setgid(65534) || setuid(65534)))
		return 1;
	if (probed_setup())
		return 1;
	if (argc > 1)
		return mode_run(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
