/* SPDX-License-Identifier: Apache-2.0 */
/* crowd - processes that come and go, for the torture test. Says "ready" and waits for a line.
 *
 * crowd victims N SEED
 *
 *   N processes of four threads each, one after the other, each killed by SIGKILL, SIGTERM or
 * SIGSEGV; a line "victim PID SIGNAL" for each, then "done"
 *
 * crowd births RATE SECONDS -- TRAINER...
 *
 *   RATE processes a second that end as soon as they are born, and once a second the trainer beside
 * them; goes on until the last of those ended, prints "born N trainers N failed N" and waits for a
 * line */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS	  3
#define SLOT_NS	  1000000ull
#define SECOND_NS 1000000000ull

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec ts = {(time_t)(at_ns / SECOND_NS), (long)(at_ns % SECOND_NS)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

static void wait_line(void)
{
	char line[64];

	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(1);
}

/* ---- victims --------------------------------------------------------------------------------- */

static void *stand(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

static void victim(int ready)
{
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread, NULL, stand, NULL);
	if (write(ready, "r", 1) == 1)
		stand(NULL);
	_exit(9);
}

/* 0, or the victim's end was another one. */
static int victim_kill(int signo)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	if (pipe(ready))
		return 1;
	pid = fork();
	if (!pid)
		victim(ready[1]);
	close(ready[1]);
	if (pid < 0 || read(ready[0], &byte, 1) != 1)
		return 1;
	close(ready[0]);
	kill(pid, signo);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status) || WTERMSIG(status) != signo)
		return 1;
	printf("victim %d %d\n", (int)pid, signo);
	return 0;
}

static int victims(long n, unsigned int seed)
{
	static const int signals[] = {SIGKILL, SIGTERM, SIGSEGV};

	wait_line();
	for (long i = 0; i < n; i++)
		if (victim_kill(signals[rand_r(&seed) % 3]))
			return 1;
	puts("done");
	return 0;
}

/* ---- births ---------------------------------------------------------------------------------- */

struct births {
	long born, trainers, failed;
	long running; /* trainers that have not ended */
	pid_t *trainer;
};

static void reap(struct births *b)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (long i = 0; i < b->trainers; i++)
			if (b->trainer[i] == pid) {
				b->trainer[i] = 0; /* the number is another's soon */
				b->running--;
				b->failed += status != 0;
			}
}

static void bear(struct births *b)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	b->born += pid > 0;
}

static void train(struct births *b, char **argv)
{
	pid_t pid = fork();

	if (!pid) {
		execv(argv[0], argv);
		_exit(127);
	}
	b->trainer[b->trainers++] = pid;
	b->running += pid > 0;
}

static int births(long rate, long seconds, char **argv)
{
	struct births b = {.trainer = calloc((size_t)seconds + 1, sizeof(*b.trainer))};
	uint64_t at_ns, end_ns, next_trainer_ns;

	if (!b.trainer)
		return 1;
	wait_line();
	at_ns = next_trainer_ns = now_ns();
	end_ns = at_ns + (uint64_t)seconds * SECOND_NS;
	while (at_ns < end_ns || b.running) {
		if (at_ns >= next_trainer_ns && b.trainers < seconds) {
			train(&b, argv);
			next_trainer_ns += SECOND_NS;
		}
		for (long i = 0; i < rate / (long)(SECOND_NS / SLOT_NS); i++)
			bear(&b);
		reap(&b);
		/* What a slow machine is behind is not made up for. */
		at_ns = at_ns + SLOT_NS > now_ns() ? at_ns + SLOT_NS : now_ns();
		sleep_until(at_ns);
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	printf("born %ld trainers %ld failed %ld\n", b.born, b.trainers, b.failed);
	free(b.trainer);
	return getchar() == EOF;
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 4 && !strcmp(argv[1], "victims"))
		return victims(strtol(argv[2], NULL, 10), (unsigned int)strtoul(argv[3], NULL, 10));
	if (argc > 5 && !strcmp(argv[1], "births") && !strcmp(argv[4], "--"))
		return births(strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10), argv + 5);
	fprintf(stderr, "usage: crowd victims N SEED | births RATE SECONDS -- TRAINER...\n");
	return 2;
}
