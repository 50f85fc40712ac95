/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/watch/code_runs.h"

#include <string.h>

#define SECOND_NS 1000000000ull

static size_t code_run_find(const struct code_runs *rs, pid_t pid, uint64_t handle)
{
	size_t i = 0;

	while (i < rs->count && (rs->run[i].handle != handle || rs->run[i].pid != pid))
		i++;
	return i;
}

static void run_remove(struct code_runs *rs, size_t i)
{
	memmove(rs->run + i, rs->run + i + 1, (--rs->count - i) * sizeof(*rs->run));
}

static void run_first(struct code_runs *rs, pid_t pid, uint64_t handle)
{
	memmove(rs->run + 1, rs->run, rs->count * sizeof(*rs->run));
	rs->run[0] = (struct code_run){pid, handle};
	rs->count++;
}

static void code_runs_room_make(struct code_runs *rs, pid_t pid)
{
	size_t own = 0, last = 0;

	for (size_t i = 0; i < rs->count; i++) {
		if (rs->run[i].pid != pid)
			continue;
		own++;
		last = i;
	}
	if (own >= CODE_RUNS_OF)
		run_remove(rs, last);
	else if (rs->count == CODE_RUNS_MAX)
		rs->count--;
}

static bool code_runs_question_left(struct code_runs *rs, uint64_t now_ns)
{
	if (now_ns < rs->second_ns || now_ns - rs->second_ns >= SECOND_NS) {
		rs->second_ns = now_ns;
		rs->asked = 0;
	}
	return rs->asked < CODE_RUNS_SECOND;
}

bool code_runs_new(struct code_runs *rs, pid_t pid, uint64_t handle, uint64_t now_ns)
{
	size_t i = code_run_find(rs, pid, handle);
	bool fresh = i == rs->count;

	if (fresh && !code_runs_question_left(rs, now_ns))
		return false;
	if (fresh) {
		rs->asked++;
		code_runs_room_make(rs, pid);
	} else {
		run_remove(rs, i);
	}
	run_first(rs, pid, handle);
	return fresh;
}

void code_runs_forget(struct code_runs *rs, pid_t pid, uint64_t handle)
{
	size_t i = code_run_find(rs, pid, handle);

	if (i < rs->count)
		run_remove(rs, i);
}

void code_runs_gone(struct code_runs *rs, pid_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < rs->count; i++)
		if (rs->run[i].pid != pid)
			rs->run[kept++] = rs->run[i];
	rs->count = kept;
}
