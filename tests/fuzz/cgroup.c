/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/cgroup and /proc/PID/environ of a hostile process: the first as a text, both as
 * files. */
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"
#include "userspace/identity/place.h"

static const char *const names[] = {"cgroup", "environ"};
static struct fuzz_file files[2];
static const char *root;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	char path[96];

	(void)argc;
	(void)argv;
	fuzz_quiet();
	root = fuzz_folder();
	snprintf(path, sizeof(path), "%s/proc", root);
	REQUIRE(!mkdir(path, 0700));
	snprintf(path, sizeof(path), "%s/proc/7", root);
	REQUIRE(!mkdir(path, 0700));
	for (int i = 0; i < 2; i++) {
		fuzz_file_open(&files[i]);
		snprintf(path, sizeof(path), "%s/proc/7/%s", root, names[i]);
		REQUIRE(!symlink(files[i].path, path));
	}
	return 0;
}

#define SHOWN(field)                                                                               \
	REQUIRE(fuzz_printable(field, strnlen(field, sizeof(field)), false) &&                     \
		!field[sizeof(field) - 1])

static void check_cgroup(const struct cgroup_place *p)
{
	SHOWN(p->container_id);
	SHOWN(p->pod_uid);
	SHOWN(p->slurm_job);
	SHOWN(p->service);
	REQUIRE(p->container < GP_CONTAINER_COUNT);
	REQUIRE(p->shared == (!*p->container_id && !*p->pod_uid && !*p->slurm_job && !*p->service));
	REQUIRE(!*p->container_id || strlen(p->container_id) == 64);
	REQUIRE(!*p->pod_uid || strlen(p->pod_uid) == 32 || strlen(p->pod_uid) == 36);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct input in = {data, data + len}, piece = input_piece(&in);
	char *text = calloc(1, input_left(&piece) + 1);
	struct cgroup_place c;
	struct gp_place p;

	REQUIRE(text);
	memcpy(text, piece.at, input_left(&piece));
	cgroup_place_of(text, &c);
	check_cgroup(&c);
	cgroup_place_parse(text, &c);
	check_cgroup(&c);
	fuzz_file_fill(&files[0], piece.at, input_left(&piece));
	fuzz_file_fill(&files[1], in.at, input_left(&in));
	free(text);
	if (place_read(root, 7, NULL, NULL, &p))
		return 0;
	SHOWN(p.job);
	SHOWN(p.pod_uid);
	SHOWN(p.container_id);
	REQUIRE(p.job_from < GP_JOB_FROM_COUNT && !*p.job == !p.job_from);
	REQUIRE(p.rank >= -1 && p.world_size >= -1 && p.attempt >= -1);
	REQUIRE(p.rank < 0 || p.world_size < 0 || p.rank < p.world_size);
	return 0;
}
