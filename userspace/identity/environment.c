/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/job_name.h"
#include "userspace/identity/environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/proc_file.h"

#define ENVIRON_CHUNK (64 << 10)
/* Limit of bytes read of an environment. Larger ones exist, but launchers set their variables near
 * the beginning. */
#define ENVIRON_BYTES (1 << 20)
#define ENTRY_BYTES   2048 /* limit of bytes kept of one NAME=value; the rest is dropped */
#define HOSTS_MAX     (1 << 20)

/* The variables of each launcher, the most trusted launcher first. Some have two names for the same
 * value. */
enum given { GIVEN_RANK, GIVEN_WORLD, GIVEN_LOCAL, GIVEN_LOCAL_SIZE, GIVEN_COUNT };
static const char *const launchers[][GIVEN_COUNT][2] = {
	/* torchrun and compatible launchers */
	{{"RANK"}, {"WORLD_SIZE"}, {"LOCAL_RANK"}, {"LOCAL_WORLD_SIZE", "LOCAL_SIZE"}},
	{{"OMPI_COMM_WORLD_RANK"},
	 {"OMPI_COMM_WORLD_SIZE"},
	 {"OMPI_COMM_WORLD_LOCAL_RANK"},
	 {"OMPI_COMM_WORLD_LOCAL_SIZE"}},
	{{"JAX_PROCESS_ID", "JAX_PROCESS_INDEX"},
	 {"JAX_NUM_PROCESSES", "JAX_PROCESS_COUNT"},
	 {NULL},
	 {NULL}},
	{{"SLURM_PROCID"}, {"SLURM_NTASKS"}, {"SLURM_LOCALID"}, {"SLURM_NTASKS_PER_NODE"}},
	{{"PMI_RANK"}, {"PMI_SIZE"}, {"MPI_LOCALRANKID"}, {"MPI_LOCALNRANKS"}},
};
#define LAUNCHERS (sizeof(launchers) / sizeof(launchers[0]))

enum number {
	N_INDEX, /* index of the pod within an indexed Job */
	N_WORKER,
	N_SLICE,
	N_SLICES,
	N_TORCH_RESTARTS,
	N_SLURM_RESTARTS,
	N_COUNT
};
static const char *const number_names[N_COUNT] = {
	[N_INDEX] = "JOB_COMPLETION_INDEX",
	[N_WORKER] = "TPU_WORKER_ID",
	[N_SLICE] = "MEGASCALE_SLICE_ID",
	[N_SLICES] = "MEGASCALE_NUM_SLICES",
	[N_TORCH_RESTARTS] = "TORCHELASTIC_RESTART_COUNT",
	[N_SLURM_RESTARTS] = "SLURM_RESTART_COUNT",
};
/* The variable with the host names of a slice, separated by commas. There may be thousands of
 * names, so they are only counted. */
static const char hosts_name[] = "TPU_WORKER_HOSTNAMES";

static const char *const visible_names[ENVIRONMENT_VISIBLE] = {
	"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"};

static const struct {
	const char *name;
	size_t field, size;
} texts[] = {
#define TEXT(name, field)                                                                          \
	{                                                                                          \
		name, offsetof(struct environment, field),                                         \
			sizeof(((struct environment *)0)->field)                                   \
	}
	TEXT("JOBSET_NAME", jobset),
	TEXT("SLURM_JOB_ID", slurm_job),
	TEXT("TORCHELASTIC_RUN_ID", torch_run),
#undef TEXT
};

/* State of reading one environment */
struct parse {
	struct environment *env;
	int32_t given[LAUNCHERS][GIVEN_COUNT], numbers[N_COUNT], hosts; /* -1: not given */
	char entry[ENTRY_BYTES];
	size_t entry_len; /* bytes of the entry so far; bytes beyond ENTRY_BYTES are dropped */
	int32_t commas;	  /* number of commas in the entry, including its dropped part */
};

/* Sets a number unless it is set already. If a name occurs twice, the first value counts, as with
 * getenv(3). */
static void environment_take_number(int32_t *at, const char *value)
{
	if (*at < 0)
		*at = proc_number(value);
}

static void environment_take_given(struct parse *p, const char *name, const char *value)
{
	for (size_t l = 0; l < LAUNCHERS; l++)
		for (int s = 0; s < GIVEN_COUNT; s++)
			for (int i = 0; i < 2; i++)
				if (launchers[l][s][i] && !strcmp(name, launchers[l][s][i]))
					environment_take_number(&p->given[l][s], value);
	for (int n = 0; n < N_COUNT; n++)
		if (!strcmp(name, number_names[n]))
			environment_take_number(&p->numbers[n], value);
}

static void environment_take_text(struct environment *env, const char *name, const char *value)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *to = (char *)env + texts[i].field;

		if (!*to && !strcmp(name, texts[i].name) && strcmp(value, "none") != 0)
			job_name_keep(to, value);
	}
}

static void environment_take_visible(struct environment *env, const char *name, const char *value)
{
	for (int i = 0; i < ENVIRONMENT_VISIBLE; i++) {
		if (*env->visible[i] || strcmp(name, visible_names[i]) != 0)
			continue;
		value = strlen(value) < sizeof(env->visible[i]) ? value : "?";
		memcpy(env->visible[i], value, strlen(value) + 1);
	}
}

/* Handles an entry (NAME=value) that has been read completely. */
static void environment_entry_end(struct parse *p)
{
	bool whole = p->entry_len < ENTRY_BYTES;
	char *value;

	p->entry[whole ? p->entry_len : ENTRY_BYTES - 1] = '\0';
	value = strchr(p->entry, '=');
	if (!value)
		return;
	*value++ = '\0';
	if (!strcmp(p->entry, hosts_name) && p->hosts < 0 && *value)
		p->hosts = p->commas + 1;
	if (!whole)
		return;
	environment_take_given(p, p->entry, value);
	environment_take_text(p->env, p->entry, value);
	environment_take_visible(p->env, p->entry, value);
}

static void environment_feed(struct parse *p, const char *data, size_t len)
{
	const char *end = data + len, *nul, *comma;
	size_t part, room;

	for (; data < end; data = nul + 1) {
		nul = memchr(data, '\0', (size_t)(end - data));
		part = (size_t)((nul ? nul : end) - data);
		room = ENTRY_BYTES - p->entry_len;
		memcpy(p->entry + p->entry_len, data, part < room ? part : room);
		p->entry_len += part < room ? part : room;
		for (comma = data; p->commas < HOSTS_MAX; comma++, p->commas++) {
			comma = memchr(comma, ',', (size_t)(data + part - comma));
			if (!comma)
				break;
		}
		if (!nul)
			break;
		environment_entry_end(p);
		p->entry_len = 0;
		p->commas = 0;
	}
}

static int environment_read_all(struct parse *p, const char *root, pid_t pid)
{
	int fd = proc_open(root, pid, "environ", O_RDONLY);
	size_t total = 0;
	ssize_t n = 0;
	char *chunk;

	if (fd < 0)
		return fd;
	chunk = malloc(ENVIRON_CHUNK);
	if (!chunk) {
		close(fd);
		return -ENOMEM;
	}
	while (total < ENVIRON_BYTES && (n = proc_read(fd, chunk, ENVIRON_CHUNK)) > 0) {
		environment_feed(p, chunk, (size_t)n);
		total += (size_t)n;
	}
	/* a file of a test may lack the NUL at the end */
	if (!n && p->entry_len)
		environment_entry_end(p);
	explicit_bzero(chunk, ENVIRON_CHUNK); /* the environment may contain secrets */
	free(chunk);
	close(fd);
	return n < 0 ? (int)n : 0;
}

/* Returns the value given by the launcher that also gave the rank. If there is none, returns the
 * value of the first launcher that gave one. */
static int32_t environment_given_by(const struct parse *p, size_t launcher, enum given what)
{
	int32_t value = launcher < LAUNCHERS ? p->given[launcher][what] : -1;

	for (size_t l = 0; l < LAUNCHERS && value < 0; l++)
		value = p->given[l][what];
	return value;
}

/* Computes the number of the process as JAX does: TPU_WORKER_ID + slice x hosts of a slice. */
static void environment_place_of(const struct parse *p, struct environment *env)
{
	int64_t hosts = p->hosts > 0 ? p->hosts : 0,
		slices = p->numbers[N_SLICES] > 0 ? p->numbers[N_SLICES] : 1;
	int64_t slice = p->numbers[N_SLICE] > 0 ? p->numbers[N_SLICE] : 0, rank;

	env->place_rank = p->numbers[N_INDEX];
	env->place_index = env->place_rank >= 0;
	if (p->numbers[N_WORKER] < 0 || (slice && !hosts))
		return;
	rank = p->numbers[N_WORKER] + slice * hosts;
	if (rank > INT32_MAX || hosts * slices > INT32_MAX || (hosts && rank >= hosts * slices))
		return;
	env->place_rank = (int32_t)rank;
	env->place_index = 0;
	env->place_world = hosts ? (int32_t)(hosts * slices) : -1;
}

int environment_read(const char *root, pid_t pid, struct environment *ret)
{
	struct parse p = {.env = ret, .hosts = -1};
	size_t launcher = 0;
	int err;

	*ret = (struct environment){.place_rank = -1, .place_world = -1};
	memset(p.given, 0xff, sizeof(p.given));
	memset(p.numbers, 0xff, sizeof(p.numbers));
	err = environment_read_all(&p, root, pid);
	while (launcher < LAUNCHERS && p.given[launcher][GIVEN_RANK] < 0)
		launcher++;
	ret->rank = environment_given_by(&p, launcher, GIVEN_RANK);
	ret->world_size = environment_given_by(&p, launcher, GIVEN_WORLD);
	ret->local_rank = environment_given_by(&p, launcher, GIVEN_LOCAL);
	ret->local_size = environment_given_by(&p, launcher, GIVEN_LOCAL_SIZE);
	environment_place_of(&p, ret);
	ret->torch_restarts = p.numbers[N_TORCH_RESTARTS];
	ret->slurm_restarts = p.numbers[N_SLURM_RESTARTS];
	explicit_bzero(p.entry, sizeof(p.entry));
	return err;
}
