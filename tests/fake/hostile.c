/* SPDX-License-Identifier: Apache-2.0 */
/* hostile WHAT ...: a watched process that makes it hard. Says "ready", waits for a line, does it,
 * says "done" and stays until its standard input ends.
 *
 *   bomb N FILE    N children, some at a time, each maps FILE executable and ends
 *   signals N      sends itself a signal that it handles, N times
 *   maps N FILE    maps FILE executable, N times
 *   sprawl N FILE  has as many mappings as it may, then maps FILE executable N times, under another
 * name each time orphans N      N children end and are not waited for lock N FILE    waits for a
 * page of FILE in one thread, maps FILE N times in another rewrite N      writes over its arguments
 * and environment, N times swap N A B     maps A and B at one address in turn, N times */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define AT_ONCE 32
#define LENGTH	4096
#define SPRAWL	65000

extern char **environ;

static void fail(const char *what)
{
	fprintf(stderr, "hostile: %s: %s\n", what, strerror(errno));
	exit(3);
}

static int file_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail(path);
	return fd;
}

static void *map_at(void *at, int fd)
{
	void *p = mmap(at, LENGTH, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0), fd,
		       0);

	if (p == MAP_FAILED)
		fail("mmap");
	return p;
}

static void reap(int n)
{
	while (n-- > 0)
		if (wait(NULL) < 0)
			fail("wait");
}

static void bomb(long n, char **argv)
{
	int fd = file_open(argv[0]), alive = 0;
	pid_t pid;

	for (long i = 0; i < n; i++, alive++) {
		if (alive == AT_ONCE) {
			reap(1);
			alive--;
		}
		pid = fork();
		if (pid < 0)
			fail("fork");
		if (!pid) {
			map_at(NULL, fd);
			_exit(0);
		}
	}
	reap(alive);
}

static void on_signal(int sig)
{
	(void)sig;
}

static void signals(long n, char **argv)
{
	(void)argv;
	signal(SIGUSR1, on_signal);
	for (long i = 0; i < n; i++)
		kill(getpid(), SIGUSR1);
}

static void maps(long n, char **argv)
{
	int fd = file_open(argv[0]);

	for (long i = 0; i < n; i++)
		munmap(map_at(NULL, fd), LENGTH);
	close(fd);
}

static void sprawl(long n, char **argv)
{
	char name[32];
	void *all = mmap(NULL, (size_t)SPRAWL * LENGTH, PROT_READ,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (all == MAP_FAILED)
		fail("mmap");
	for (long i = 0; i < SPRAWL; i += 2)
		if (mprotect((char *)all + i * LENGTH, LENGTH, PROT_NONE))
			fail("mprotect");
	for (long i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "python%ld", i);
		prctl(PR_SET_NAME, name);
		maps(1, argv);
	}
}

static void orphans(long n, char **argv)
{
	(void)argv;
	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (!pid)
			_exit(0);
	}
}

static void words_fill(char **words, unsigned int seed)
{
	for (; *words; words++)
		for (char *at = *words; *at; at++)
			*at = (char)(1 + (seed = seed * 1103515245u + 12345u) / 65536 % 255);
}

static void rewrite(long n, char **argv)
{
	for (long i = 0; i < n; i++) {
		words_fill(argv, (unsigned int)i);
		words_fill(environ, (unsigned int)i);
	}
}

/* The file system went in the end. */
static void on_bus(int sig)
{
	(void)sig;
	_exit(0);
}

static void *touch(void *page)
{
	return (void *)(uintptr_t) * (volatile char *)page;
}

/* One thread waits for a page, and the other, from then on, for it: who asks for the address space
 * waits for both. */
static void lock(long n, char **argv)
{
	int fd = file_open(argv[0]);
	pthread_t thread;

	signal(SIGBUS, on_bus);
	if (pthread_create(&thread, NULL, touch, map_at(NULL, fd)))
		fail("thread");
	for (long i = 0; i < n; i++)
		munmap(map_at(NULL, fd), LENGTH);
}

static void swap(long n, char **argv)
{
	int fds[2] = {file_open(argv[0]), file_open(argv[1])};
	void *at = map_at(NULL, fds[0]);

	for (long i = 0; i < n; i++)
		map_at(at, fds[i & 1]);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int args;
		void (*go)(long n, char **argv);
	} all[] = {{"bomb", 1, bomb},	    {"signals", 0, signals}, {"maps", 1, maps},
		   {"sprawl", 1, sprawl},   {"orphans", 0, orphans}, {"lock", 1, lock},
		   {"rewrite", 0, rewrite}, {"swap", 2, swap}};
	char line[64];

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; argc > 2 && i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(argv[1], all[i].name) != 0 || argc != 3 + all[i].args)
			continue;
		puts("ready");
		if (!fgets(line, sizeof(line), stdin))
			return 1;
		all[i].go(atol(argv[2]), argv + 3);
		puts("done");
		while (fgets(line, sizeof(line), stdin))
			;
		return 0;
	}
	fprintf(stderr, "hostile: no such thing to do\n");
	return 2;
}
