/* SPDX-License-Identifier: Apache-2.0 */
/* hits - the target of the benches: calls the functions of sites.S in a tight loop, at a given
 * rate, or as a training loop would.
 *
 * hits sites            prints "site NAME OFFSET" for each function, then for each line "N" on
 * standard input measures N calls of each: lines "ns NAME NANOSECONDS_PER_CALL", then "done" hits
 * stream RATE S    waits for a line, then makes RATE calls a second for S seconds; prints "sent N"
 * hits steps HZ         that many training steps a second, until it is killed */
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/sites.h"

#define NEST	     60		/* ranges opened before they are closed: under GP_RANGE_DEPTH */
#define SLOT_NS	     1000000ull /* a paced stream is sent in bursts of a millisecond */
#define STEP_RECORDS 7		/* of the markers of one training step */

struct site {
	const char *name;
	site_fn *fn;
};

static const struct site sites[] = {
#define X(name) {"push_" #name, gpbench_push_##name}, {"nop5_" #name, gpbench_nop5_##name},
	SITES(X)
#undef X
};
#define SITE_COUNT (sizeof(sites) / sizeof(sites[0]))

/* What a const std::string & points to, both ABIs: the first word is the pointer to the text. */
struct std_string {
	const char *text;
	size_t len;
};

#define STRING(s)                                                                                  \
	{                                                                                          \
		s, sizeof(s) - 1                                                                   \
	}
static const struct std_string update = STRING("Optimizer.step#AdamW.step");
static const struct std_string zero = STRING("Optimizer.zero_grad#AdamW.zero_grad");
static const struct std_string fetch = STRING(
	"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");

/* An event of torch.monitor as libstdc++ lays it out (bpf/gp_monitor.h), with three entries: those
 * of a Stat. */
struct node {
	const struct node *next;
	struct std_string key;
	uint64_t small[2];
	double value;
	uint64_t rest[3];
	uint8_t type;
};
static const struct node nodes[] = {
	{&nodes[1], STRING("loss.mean"), {0}, 2.0, {0}, 1},
	{&nodes[2], STRING("loss.count"), {0}, 5.0, {0}, 1},
	{NULL, STRING("loss.max"), {0}, 4.0, {0}, 1},
};
static const struct {
	struct std_string name;
	uint64_t small[2];
	int64_t time_ns;
	uint64_t buckets[2];
	const struct node *first;
	uint64_t count;
} stat_event = {STRING("torch.monitor.Stat"), {0}, 1700000000000000000, {0}, nodes, 3};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* A probe runs on its thread's account: what other programs take in between does not count. */
static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- sites ----------------------------------------------------------------------------------- */

struct place {
	uintptr_t address;
	uint64_t offset;
};

static int find_offset(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct place *p = ctx;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD || p->address < start ||
		    p->address >= start + ph->p_memsz)
			continue;
		p->offset = p->address - start + ph->p_offset;
		return 1;
	}
	return 0;
}

static void print_sites(void)
{
	for (size_t i = 0; i < SITE_COUNT; i++) {
		struct place p = {.address = (uintptr_t)sites[i].fn};

		dl_iterate_phdr(find_offset, &p);
		printf("site %s %llu\n", sites[i].name, (unsigned long long)p.offset);
	}
	puts("done");
	fflush(stdout);
}

static void print_ns(const char *name, uint64_t ns, unsigned long calls)
{
	printf("ns %s %.2f\n", name, (double)ns / (double)calls);
}

static void measure_one(const struct site *s, unsigned long n)
{
	bool monitor = strstr(s->name, "_monitor");
	const void *text = monitor ? (const void *)&stat_event : &update;
	uint64_t start;

	if (monitor) /* a hit is three records: the ring has room for so many */
		n = n / 8 + 1;
	start = cpu_ns();
	for (unsigned long i = 0; i < n; i++)
		s->fn((long)i, text, 3, 4);
	print_ns(s->name, cpu_ns() - start, n);
}

/* Begins and ends belong together, and are timed apart: a run of begins, then a run of their
 * ends. */
static void measure_pair(const struct site *begin, const struct site *end, unsigned long n)
{
	uint64_t begin_ns = 0, end_ns = 0, t0, t1;
	unsigned long runs = n / NEST + 1;

	for (unsigned long r = 0; r < runs; r++) {
		t0 = cpu_ns();
		for (int i = 0; i < NEST; i++)
			begin->fn(i, &update, 3, 4);
		t1 = cpu_ns();
		for (int i = 0; i < NEST; i++)
			end->fn(i, &update, 3, 4);
		begin_ns += t1 - t0;
		end_ns += cpu_ns() - t1;
	}
	print_ns(begin->name, begin_ns, runs * NEST);
	print_ns(end->name, end_ns, runs * NEST);
}

static void measure_all(unsigned long n)
{
	for (size_t i = 0; i < SITE_COUNT; i++) {
		const char *shape = strchr(sites[i].name, '_') + 1;

		/* In the table an end of the same class stands two rows after its begin. */
		if (!strcmp(shape, "begin"))
			measure_pair(&sites[i], &sites[i + 2], n);
		else if (strcmp(shape, "end") && strcmp(shape, "stream"))
			measure_one(&sites[i], n);
	}
	puts("done");
	fflush(stdout);
}

static int serve_sites(void)
{
	char line[64];

	print_sites();
	while (fgets(line, sizeof(line), stdin))
		measure_all(strtoul(line, NULL, 10));
	return 0;
}

/* ---- what a training loop looks like --------------------------------------------------------- */

static void step(void)
{
	gpbench_push_begin(0, &fetch, 0, 0);
	gpbench_push_end(0, NULL, 0, 0);
	gpbench_push_hit(0, NULL, 0, 0);
	gpbench_push_begin(0, &update, 0, 0);
	gpbench_push_end(0, NULL, 0, 0);
	gpbench_push_begin(0, &zero, 0, 0);
	gpbench_push_end(0, NULL, 0, 0);
}

static void sleep_until(uint64_t at_ns)
{
	struct timespec ts = {(time_t)(at_ns / 1000000000ull), (long)(at_ns % 1000000000ull)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

/* One step's markers and other recorded calls in each millisecond. */
static int stream(unsigned long rate, unsigned long seconds)
{
	unsigned long slots = seconds * (1000000000ull / SLOT_NS),
		      burst = rate / (1000000000ull / SLOT_NS);
	uint64_t start, sent = 0;
	char line[8];

	puts("ready");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	start = now_ns();
	for (unsigned long s = 0; s < slots; s++) {
		step();
		for (unsigned long i = STEP_RECORDS; i < burst; i++)
			gpbench_push_stream((long)i, NULL, 0, 0);
		sent += burst < STEP_RECORDS ? STEP_RECORDS : burst;
		sleep_until(start + (s + 1) * SLOT_NS);
	}
	printf("sent %llu %.3f\n", (unsigned long long)sent, (double)(now_ns() - start) / 1e9);
	return 0;
}

static void steps(double hz)
{
	uint64_t next = now_ns();

	for (;;) {
		step();
		next += (uint64_t)(1e9 / hz);
		sleep_until(next);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "sites"))
		return serve_sites();
	if (argc == 4 && !strcmp(argv[1], "stream"))
		return stream(strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
	if (argc == 3 && !strcmp(argv[1], "steps") && atof(argv[2]) > 0)
		steps(atof(argv[2]));
	fprintf(stderr, "usage: hits sites | stream RATE SECONDS | steps HZ\n");
	return 2;
}
