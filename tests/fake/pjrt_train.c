/* SPDX-License-Identifier: Apache-2.0 */
/* pjrt_train PLUGIN OPERATION...: a training loop on a PJRT plugin (tests/fake/pjrt_plugin.cc), as
 * JAX makes its calls: one Execute a step, the completion of each asked for by OnReady, nothing
 * awaited. Operations, in order:
 *
 *   load         maps the plugin
 *   api          asks it for its table of functions
 *   open         ... and makes a client, and the programs jit_init (run once), jit_train_step and
 * jit_eval_step journal=FILE from here on a line a step: "step N START END", CLOCK_MONOTONIC in ns:
 * Execute called, completion eval=M:K     from here on K batches of evaluation behind every Mth
 * step recompile=R jit_train_step is compiled anew (another handle, the same name) before step R
 * fetch=F      the loss is copied to the host behind every Fth step ahead=A      at most A steps
 * are under way at once (default 1: each is waited for) steps=N      N steps; prints "steps N"
 * until        steps until a line, or the end, can be read; prints "steps N" say=TEXT     prints
 * TEXT pause        until a line, or the end, is read wait=SLOT until the function at that offset
 * of the table is probed; exits with 4 after 30 s without that count prints "executions N
 * completions N compilations N", by its own count exit=N       ends */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake/pjrt.h"

#define WAIT_ROUNDS 30000 /* of a millisecond */
#define SITE_BYTES  16
#define CODE_BYTES  12000 /* of a program */
#define NAME_AT	    10000 /* in it */
#define CLIENT	    PJRT_AT_CLIENT_CREATE

typedef void *call_fn(void *args);

struct pending {	    /* one execution under way */
	unsigned long step; /* 0: none to tell of */
	uint64_t start_ns;
	void *event;
};

static const char *path;
static void *library, *client;
static char *table;
static struct {
	void *init, *train, *eval;
} program;
static long eval_every, eval_batches, recompile_at, fetch_every, ahead = 1;
static unsigned long step_number, executions, compilations;
static FILE *journal;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned long completions, under_way, failures;

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "pjrt_train: %s: %s\n", what, why);
	exit(3);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Its error, for the caller to look at. */
static void *call(size_t slot, void *args)
{
	call_fn *fn;

	memcpy(&fn, table + slot, sizeof(fn));
	return fn(args);
}

static void check(const char *what, void *error)
{
	if (error)
		fail(what, "an error");
}

static void load(void)
{
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail("load", dlerror());
}

static void api(void)
{
	void *symbol = library ? dlsym(library, "GetPjrtApi") : NULL;
	void *(*get)(void);

	if (!symbol)
		fail("GetPjrtApi", "not there");
	memcpy(&get, &symbol, sizeof(get));
	table = get();
}

static void *compile(const char *name)
{
	static const char before[] = "num_replicas";
	char *code = calloc(1, CODE_BYTES);
	struct PJRT_Program p = {
		.head = {sizeof(p), NULL}, .code = code, .code_size = CODE_BYTES, "mlir", 4};
	struct PJRT_Compile a = {.head = {sizeof(a), NULL}, .client = client, .program = &p};

	if (!code)
		fail("compile", strerror(errno));
	memcpy(code, "ML\xefR", 4);
	memcpy(code + NAME_AT, before, sizeof(before));
	strcpy(code + NAME_AT + sizeof(before), name);
	check("compile", call(PJRT_AT_CLIENT_COMPILE, &a));
	free(code);
	compilations++;
	return a.executable;
}

/* What JAX's own callback is: called by the plugin's thread when an execution is over. */
void pjrt_train_completed(void *error, void *user_arg);
void pjrt_train_completed(void *error, void *user_arg)
{
	struct pending *p = user_arg;

	pthread_mutex_lock(&lock);
	if (p->step && journal)
		fprintf(journal, "step %lu %llu %llu\n", p->step, (unsigned long long)p->start_ns,
			(unsigned long long)now_ns());
	completions++;
	under_way--;
	failures += error != NULL;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	free(p);
}

static void execute(void *executable, size_t arguments, unsigned long step)
{
	static int32_t launch;
	struct pending *p = calloc(1, sizeof(*p));
	struct PJRT_Options options = {.head = {sizeof(options), NULL}, .launch_id = ++launch};
	struct PJRT_Execute a = {.head = {sizeof(a), NULL},
				 .executable = executable,
				 .options = &options,
				 .devices = 1,
				 .arguments_count = arguments,
				 .events = &p->event};
	struct PJRT_OnReady ready = {
		.head = {sizeof(ready), NULL}, .callback = pjrt_train_completed, .user_arg = p};

	pthread_mutex_lock(&lock);
	under_way++;
	pthread_mutex_unlock(&lock);
	p->step = step;
	p->start_ns = now_ns();
	executions++;
	if (call(PJRT_AT_EXECUTE, &a)) {
		pjrt_train_completed(&a, p);
		return;
	}
	ready.event = p->event;
	check("on_ready", call(112, &ready));
}

static void wait_under_way(unsigned long most)
{
	pthread_mutex_lock(&lock);
	while (under_way > most)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
}

static void fetch(void)
{
	char loss[4];
	struct PJRT_ToHost a = {.head = {sizeof(a), NULL}, .to = loss, .to_size = sizeof(loss)};
	struct PJRT_OneArg await = {.head = {sizeof(await), NULL}};

	check("to_host", call(600, &a));
	await.it = a.event;
	check("await", call(104, &await));
	check("destroy", call(80, &await));
}

static void step(void)
{
	unsigned long n = ++step_number;

	if (recompile_at && n == (unsigned long)recompile_at)
		program.train = compile("jit_train_step");
	execute(program.train, 22, n);
	wait_under_way((unsigned long)ahead - 1);
	if (fetch_every && n % (unsigned long)fetch_every == 0)
		fetch();
	for (long i = 0; eval_every && n % (unsigned long)eval_every == 0 && i < eval_batches;
	     i++) {
		execute(program.eval, 8, 0);
		wait_under_way(0);
	}
}

static void open_client(void)
{
	struct PJRT_ClientCreate a = {.head = {sizeof(a), NULL}};

	api();
	check("client", call(CLIENT, &a));
	client = a.client;
	program.init = compile("jit_init");
	program.train = compile("jit_train_step");
	program.eval = compile("jit_eval_step");
	execute(program.init, 1, 0);
	wait_under_way(0);
}

static void until(void)
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	unsigned long n = 0;
	char line[64];

	for (; poll(&in, 1, 0) == 0; n++)
		step();
	wait_under_way(0);
	(void)!fgets(line, sizeof(line), stdin);
	printf("steps %lu\n", n);
}

/* A probe is seen in memory only: what the function begins with changes. */
static void wait_probed(size_t slot)
{
	unsigned char before[SITE_BYTES];
	Dl_info info;
	void *fn;
	FILE *f;

	memcpy(&fn, table + slot, sizeof(fn));
	if (!dladdr(fn, &info) || !(f = fopen(path, "re")))
		fail("wait", "no such function");
	/* The linker lays these small libraries out as they are in the file. */
	fseek(f, (char *)fn - (char *)info.dli_fbase, SEEK_SET);
	if (fread(before, 1, sizeof(before), f) != sizeof(before))
		fail("wait", "cannot be read");
	fclose(f);
	for (int i = 0; i < WAIT_ROUNDS; i++) {
		if (memcmp(fn, before, sizeof(before)) != 0)
			return;
		usleep(1000);
	}
	exit(4);
}

static void steps(long n)
{
	for (long i = 0; i < n; i++)
		step();
	wait_under_way(0);
	printf("steps %ld\n", n);
}

static void run(const char *op)
{
	const char *arg = strchr(op, '=');
	size_t len = arg ? (size_t)(arg++ - op) : strlen(op);
	char line[64];

#define IS(name) (len == sizeof(name) - 1 && !strncmp(op, name, len))
	if (IS("load"))
		load();
	else if (IS("api"))
		api();
	else if (IS("open"))
		open_client();
	else if (IS("journal"))
		journal = fopen(arg, "we");
	else if (IS("eval"))
		sscanf(arg, "%ld:%ld", &eval_every, &eval_batches);
	else if (IS("recompile"))
		recompile_at = atol(arg);
	else if (IS("fetch"))
		fetch_every = atol(arg);
	else if (IS("ahead"))
		ahead = atol(arg);
	else if (IS("steps"))
		steps(atol(arg));
	else if (IS("until"))
		until();
	else if (IS("say"))
		puts(arg);
	else if (IS("pause"))
		(void)!fgets(line, sizeof(line), stdin);
	else if (IS("wait"))
		wait_probed(strtoul(arg, NULL, 10));
	else if (IS("count"))
		printf("executions %lu completions %lu compilations %lu failures %lu\n", executions,
		       completions, compilations, failures);
	else if (IS("exit"))
		exit(atoi(arg));
	else
		fail(op, "no such operation");
#undef IS
}

int main(int argc, char **argv)
{
	if (argc < 2)
		fail("usage", "pjrt_train PLUGIN OPERATION...");
	setvbuf(stdout, NULL, _IOLBF, 0);
	path = argv[1];
	for (int i = 2; i < argc; i++)
		run(argv[i]);
	if (journal)
		fclose(journal);
	return 0;
}
