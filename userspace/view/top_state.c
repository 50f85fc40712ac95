/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/view/top_state.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/epoch.h"
#include "userspace/view/top_time.h"

#define DEPTH_MAX 32
/* limit of values in the JSON, each of which takes some hundred bytes while parsing */
#define VALUES_MAX (2u << 20)

/* ---- bounds ---------------------------------------------------------------------------------- */

struct scan {
	uint32_t depth, values;
	bool string, escaped;
};

/* Checks a byte of the JSON: control characters are not allowed in strings, and only white space
 * outside of them. */
static bool top_state_scan_byte(struct scan *s, unsigned char c)
{
	if (s->string) {
		s->string = s->escaped || c != '"';
		s->escaped = !s->escaped && c == '\\';
		return c >= 0x20;
	}
	if (c == '"')
		s->string = true;
	else if (c == '{' || c == '[')
		s->depth++;
	else if (c == '}' || c == ']')
		s->depth -= s->depth > 0;
	s->values += c == ',' || c == '{' || c == '[';
	return (c >= 0x20 || c == '\n' || c == '\r' || c == '\t') && s->depth <= DEPTH_MAX &&
	       s->values <= VALUES_MAX;
}

static bool top_state_bounded(const char *json, size_t len)
{
	struct scan s = {0};
	size_t at = 0;

	if (!json || len > TOP_BYTES)
		return false;
	while (at < len && top_state_scan_byte(&s, (unsigned char)json[at]))
		at++;
	return at == len;
}

/* ---- a process ------------------------------------------------------------------------------- */

/* Returns the loop of a rank with the newest step, as text_main_loop() does for a snapshot. */
static const cJSON *top_state_main_loop(const cJSON *rank)
{
	const cJSON *loops = top_list(rank, "loops"), *best = NULL, *l;
	uint64_t newest = 0, at;

	cJSON_ArrayForEach(l, loops)
	{
		at = top_uint(l, "last_end_ns");
		if (!best || at > newest) {
			best = l;
			newest = at;
		}
	}
	return best;
}

static void top_state_read_recent(struct top_rank *r, const cJSON *loop)
{
	const cJSON *list = top_list(loop, "recent_ns"), *v;
	uint32_t n = 0;

	cJSON_ArrayForEach(v, list)
	{
		if (n == TOP_RECENT) {
			memmove(r->recent_ns, r->recent_ns + 1,
				sizeof(r->recent_ns) - sizeof(*r->recent_ns));
			n--;
		}
		r->recent_ns[n++] = top_number(v);
	}
	r->recent = n;
}

static void top_state_read_loop(struct top_rank *r, const cJSON *loop)
{
	const cJSON *time = top_get(loop, "step_time"), *slow = top_get(loop, "slow"),
		    *wait = top_get(loop, "wait_ns"), *ratio;

	top_text(r->state, sizeof(r->state), loop, "state");
	top_text(r->marker, sizeof(r->marker), loop, "marker");
	r->step = top_uint(loop, "last_step");
	r->last_end_ns = top_uint(loop, "last_end_ns");
	r->count = top_uint(time, "count");
	r->mean_ns = top_uint(time, "mean_ns");
	r->p50_ns = top_uint(time, "p50_ns");
	r->p99_ns = top_uint(time, "p99_ns");
	r->wait_known = cJSON_IsNumber(wait);
	r->wait_ns = top_number(wait);
	if (top_true(slow, "slow")) {
		r->marks |= TOP_SLOW;
		ratio = top_get(slow, "ratio");
		r->slow_ratio = cJSON_IsNumber(ratio) && ratio->valuedouble > 0 &&
						ratio->valuedouble < 1e6
					? ratio->valuedouble
					: 0;
	}
	top_state_read_recent(r, loop);
}

static void top_state_read_marks(struct top_rank *r, const cJSON *rank)
{
	const cJSON *hangs = top_get(rank, "hangs"), *straggler = top_get(rank, "straggler");

	if (!r->alive)
		return;
	if (top_true(hangs, "hung") || top_true(hangs, "silent")) {
		r->marks |= top_true(hangs, "hung") ? TOP_HUNG : TOP_SILENT;
		r->mark_ns = top_uint(hangs, "size");
		top_text(r->why, sizeof(r->why), hangs, "why");
		top_text(r->evidence, sizeof(r->evidence), hangs, "evidence");
	}
	if (!top_true(straggler, "now"))
		return;
	r->marks |= TOP_STRAGGLER;
	if (!r->mark_ns)
		r->mark_ns = top_uint(straggler, "size");
	if (!*r->why)
		top_text(r->why, sizeof(r->why), straggler, "phase");
}

static void top_state_read_events(struct top_rank *r, const cJSON *rank)
{
	const cJSON *list = top_list(rank, "last_events"), *e;

	cJSON_ArrayForEach(e, list)
	{
		if (r->nevents == TOP_EVENTS) {
			memmove(r->events, r->events + 1, sizeof(r->events) - sizeof(*r->events));
			r->nevents--;
		}
		r->events[r->nevents].mono_ns = top_uint(e, "mono_ns");
		top_text(r->events[r->nevents].text, sizeof(r->events->text), e, "text");
		r->nevents++;
	}
}

static void top_state_read_rank(struct top_rank *r, const cJSON *rank)
{
	const cJSON *overhead = top_get(rank, "overhead_ns"), *loop = top_state_main_loop(rank);

	memset(r, 0, sizeof(*r));
	r->of = TOP_JOBS;
	top_text(r->key, sizeof(r->key), rank, "job_key");
	top_text(r->job, sizeof(r->job), rank, "job");
	top_text(r->node, sizeof(r->node), rank, "node");
	top_text(r->pod, sizeof(r->pod), rank, "pod");
	top_text(r->comm, sizeof(r->comm), rank, "comm");
	top_text(r->command, sizeof(r->command), rank, "command");
	r->rank = top_int(rank, "rank");
	r->world_size = top_int(rank, "world_size");
	r->pid = (uint32_t)top_uint(rank, "pid");
	r->alive = top_true(rank, "alive");
	r->exit_code = top_int(rank, "exit_code");
	r->signal = top_int(rank, "signal");
	r->accelerators = top_uint(rank, "accelerators");
	r->hits = top_uint(rank, "hits");
	r->overhead_known = cJSON_IsNumber(overhead);
	r->overhead_ns = top_number(overhead);
	r->elapsed_ns = top_uint(rank, "elapsed_ns");
	if (loop)
		top_state_read_loop(r, loop);
	top_time_read(&r->time, rank);
	top_state_read_marks(r, rank);
	if (!r->alive)
		r->marks = 0;
	top_state_read_events(r, rank);
}

static int top_state_read_ranks(struct top_state *s, const cJSON *state)
{
	const cJSON *list = top_list(state, "ranks"), *r;
	uint64_t n = 0;

	if (!list)
		return -EBADMSG;
	cJSON_ArrayForEach(r, list) n += top_true(r, "trainer");
	s->ranks_beyond = n > TOP_RANKS ? n - TOP_RANKS : 0;
	s->ranks = calloc(n > TOP_RANKS ? TOP_RANKS : n + 1, sizeof(*s->ranks));
	if (!s->ranks)
		return -ENOMEM;
	cJSON_ArrayForEach(r, list)
	{
		if (top_true(r, "trainer") && s->nranks < TOP_RANKS)
			top_state_read_rank(&s->ranks[s->nranks++], r);
	}
	return 0;
}

/* ---- a job ----------------------------------------------------------------------------------- */

static void top_state_read_disruptions(struct top_job *j, const cJSON *job)
{
	const cJSON *list = top_list(job, "last_disruptions"), *f;

	cJSON_ArrayForEach(f, list)
	{
		struct top_disruption *to;

		if (j->nlast_disruptions == TOP_DISRUPTIONS) {
			memmove(j->last_disruptions, j->last_disruptions + 1,
				sizeof(j->last_disruptions) - sizeof(*j->last_disruptions));
			j->nlast_disruptions--;
		}
		to = &j->last_disruptions[j->nlast_disruptions++];
		*to = (struct top_disruption){.over = top_true(f, "over"),
					      .rank = top_int(f, "rank"),
					      .at_ns = top_uint(f, "at_ns"),
					      .step = top_uint(f, "step"),
					      .wasted_ns = top_uint(f, "wasted_ns"),
					      .recovery_ns = top_uint(f, "recovery_ns")};
		top_text(to->cause, sizeof(to->cause), f, "cause");
		top_text(to->fault, sizeof(to->fault), f, "fault");
	}
}

static void top_state_read_windows(struct top_job *j, const cJSON *job)
{
	const cJSON *list = top_list(job, "windows"), *w, *ratio;

	cJSON_ArrayForEach(w, list)
	{
		if (j->nwindows == sizeof(j->windows) / sizeof(*j->windows))
			return;
		ratio = top_get(w, "goodput_ratio");
		top_text(j->windows[j->nwindows].name, sizeof(j->windows->name), w, "window");
		j->windows[j->nwindows++].ratio = cJSON_IsNumber(ratio) &&
								  ratio->valuedouble >= 0 &&
								  ratio->valuedouble <= 1
							  ? ratio->valuedouble
							  : -1;
	}
}

static void top_state_read_job(struct top_job *j, const cJSON *job)
{
	memset(j, 0, sizeof(*j));
	j->shown = TOP_RANKS;
	top_text(j->key, sizeof(j->key), job, "key");
	top_text(j->name, sizeof(j->name), job, "job");
	top_text(j->uid, sizeof(j->uid), job, "uid");
	top_text(j->state, sizeof(j->state), job, "state");
	j->runs = top_uint(job, "runs");
	j->futile = top_uint(job, "futile_runs");
	j->step = top_uint(job, "last_step");
	j->disruptions = top_uint(job, "disruptions");
	top_time_read(&j->time, job);
	top_state_read_windows(j, job);
	top_state_read_disruptions(j, job);
}

static int top_state_read_jobs(struct top_state *s, const cJSON *state)
{
	const cJSON *list = top_list(state, "jobs"), *j;
	int n = list ? cJSON_GetArraySize(list) : 0;

	s->jobs_beyond = n > TOP_JOBS ? (uint64_t)(n - TOP_JOBS) : 0;
	s->jobs = calloc(n > TOP_JOBS ? TOP_JOBS : (size_t)n + 1, sizeof(*s->jobs));
	if (!s->jobs)
		return -ENOMEM;
	cJSON_ArrayForEach(j, list)
	{
		if (s->njobs < TOP_JOBS)
			top_state_read_job(&s->jobs[s->njobs++], j);
	}
	return 0;
}

/* ---- jobs of ranks --------------------------------------------------------------------------- */

static uint32_t top_state_find_job(const struct top_state *s, const struct top_rank *r)
{
	uint32_t i = 0;

	while (i < s->njobs && (!*r->key || strcmp(s->jobs[i].key, r->key) != 0))
		i++;
	return i < s->njobs ? i : TOP_JOBS;
}

static int top_state_rank_order(const void *a, const void *b)
{
	const struct top_rank *x = a, *y = b;

	if (x->of != y->of)
		return x->of < y->of ? -1 : 1;
	if (x->alive != y->alive)
		return x->alive ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void top_state_settle_ranks(struct top_state *s)
{
	for (uint32_t i = 0; i < s->nranks; i++)
		s->ranks[i].of = top_state_find_job(s, &s->ranks[i]);
	qsort(s->ranks, s->nranks, sizeof(*s->ranks), top_state_rank_order);
	for (uint32_t i = 0; i < s->nranks; i++) {
		struct top_rank *r = &s->ranks[i];
		struct top_job *j = r->of < TOP_JOBS ? &s->jobs[r->of] : NULL;

		if (r->alive)
			s->accelerators += r->accelerators;
		if (!j)
			continue;
		if (!j->ranks++)
			j->first = i;
		j->alive += r->alive;
		for (int k = 0; k < TOP_MARKS; k++)
			j->marked[k] += (r->marks & 1u << k) != 0;
		if (r->count && j->shown == TOP_RANKS)
			j->shown = i;
	}
}

/* ---- the node -------------------------------------------------------------------------------- */

static void top_state_read_losses(struct top_state *s, const cJSON *state)
{
	const cJSON *losses = top_get(state, "losses"), *l;
	size_t at = 0;

	if (!cJSON_IsObject(losses))
		return;
	cJSON_ArrayForEach(l, losses)
	{
		uint64_t n = top_number(l);

		s->lost = s->lost + n < n ? UINT64_MAX : s->lost + n;
		if (n && at < sizeof(s->losses))
			at += (size_t)snprintf(s->losses + at, sizeof(s->losses) - at, "%s%llu %s",
					       at ? ", " : "", (unsigned long long)n, l->string);
	}
}

static void top_state_read_node(struct top_state *s, const cJSON *state)
{
	const cJSON *node = top_get(state, "node"), *quiet;
	int64_t us;
	char when[64];

	top_text(when, sizeof(when), state, "time");
	if (!epoch_parse(when, strlen(when), &us) && us < INT64_MAX / 1000)
		s->real_ns = us * 1000;
	s->mono_ns = top_uint(state, "mono_ns");
	top_text(s->version, sizeof(s->version), state, "version");
	top_text(s->nothing, sizeof(s->nothing), state, "nothing_found");
	top_state_read_losses(s, state);
	if (!cJSON_IsObject(node))
		return;
	s->service = true;
	top_text(s->node, sizeof(s->node), node, "name");
	s->watched = top_uint(node, "watched");
	s->denied = top_uint(node, "denied");
	s->gvisor = top_uint(node, "gvisor_sandboxes");
	quiet = top_list(node, "no_training");
	s->no_training = quiet ? (uint64_t)cJSON_GetArraySize(quiet) : 0;
}

int top_state_parse(struct top_state *ret, const char *json, size_t len)
{
	struct top_state s = {0};
	char type[16];
	cJSON *state;
	int err;

	if (!top_state_bounded(json, len))
		return -EBADMSG;
	state = cJSON_ParseWithLength(json, len);
	if (!state)
		return -EBADMSG;
	top_text(type, sizeof(type), state, "type");
	err = strcmp(type, "report") != 0 ? -EBADMSG : top_state_read_ranks(&s, state);
	if (!err)
		err = top_state_read_jobs(&s, state);
	if (!err) {
		top_state_settle_ranks(&s);
		top_state_read_node(&s, state);
		*ret = s;
	} else {
		top_state_free(&s);
	}
	cJSON_Delete(state);
	return err;
}

void top_state_free(struct top_state *s)
{
	free(s->jobs);
	free(s->ranks);
	memset(s, 0, sizeof(*s));
}

unsigned top_job_marks(const struct top_job *j)
{
	unsigned marks = 0;

	for (int k = 0; k < TOP_MARKS; k++)
		marks |= j->marked[k] ? 1u << k : 0;
	return marks;
}
