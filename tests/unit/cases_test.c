/* SPDX-License-Identifier: Apache-2.0 */
/* cases_test - runs the cases of tests/cases (or the files named): moves in, figures out. After
 * every event the ledgers must add up; every case is run twice, the second time with nobody
 * looking, and must tell the same facts to the byte. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/cases/figures.h"
#include "tests/cases/words.h"
#include "userspace/base/buffer.h"
#include "userspace/export/file/json_line.h"
#include "userspace/model/time/hang.h"
#include "userspace/model/model.h"

#define CASES_MAX 400

/* ---- facts ----------------------------------------------------------------------------------- */

/* In order, within the step, none across another. */
static bool places_fit(const struct step *s, const struct step_piece *p, uint32_t n)
{
	uint64_t until_ns = s->start_ns;

	for (uint32_t i = 0; i < n; until_ns = p[i++].to_ns)
		if (p[i].from_ns < until_ns || p[i].to_ns <= p[i].from_ns)
			return false;
	return until_ns <= s->end_ns;
}

/* Where there was room for all, what blocked adds up. */
static void see_places(struct seen *s, const struct fact_step *fs)
{
	uint64_t ns[PHASE_COUNT] = {0};

	if (!places_fit(&fs->step, fs->piece, fs->npieces) ||
	    !places_fit(&fs->step, fs->blocked, fs->nblocked))
		snprintf(s->error, sizeof(s->error), "step %llu: its pieces do not fit",
			 (unsigned long long)fs->step.number);
	for (uint32_t i = 0; i < fs->nblocked; i++)
		ns[fs->blocked[i].phase] += fs->blocked[i].to_ns - fs->blocked[i].from_ns;
	for (int i = PHASE_SYNC; i < PHASE_COUNT; i++) {
		if (ns[i] > fs->phase_ns[i] ||
		    (fs->nblocked < STEP_PIECES && ns[i] < fs->phase_ns[i]))
			snprintf(s->error, sizeof(s->error),
				 "step %llu: %s of %llu ns, pieces of %llu",
				 (unsigned long long)fs->step.number, phase_name[i],
				 (unsigned long long)fs->phase_ns[i], (unsigned long long)ns[i]);
	}
}

static void see_step(struct seen *s, uint32_t pid, const struct fact_step *fs)
{
	uint64_t *end_ns = &s->end_ns[pid / 1000][fs->step.loop];
	uint64_t *number = &s->number[pid / 1000][fs->step.loop];
	bool skipped = fs->step.flags & STEP_skipped_update;

	s->step = *fs;
	if (fs->step.start_ns < *end_ns || fs->step.end_ns < fs->step.start_ns)
		snprintf(s->error, sizeof(s->error), "step %llu overlaps",
			 (unsigned long long)fs->step.number);
	if (fs->run_step != *number + !skipped)
		snprintf(s->error, sizeof(s->error), "step %llu after %llu",
			 (unsigned long long)fs->run_step, (unsigned long long)*number);
	for (int i = 0; i < PHASE_COUNT; i++) {
		if (fs->phase_ns[i] > fs->step.end_ns - fs->step.start_ns)
			snprintf(s->error, sizeof(s->error), "step %llu: %s is longer than it",
				 (unsigned long long)fs->step.number, phase_name[i]);
	}
	see_places(s, fs);
	*end_ns = fs->step.end_ns;
	*number = fs->run_step;
}

/* Spans are told in order of time; what was written aside is known when it is. */
static void see_span(struct seen *s, uint32_t pid, uint64_t begin_ns)
{
	if (begin_ns < s->span_ns[pid / 1000])
		snprintf(s->error, sizeof(s->error), "a span is told after a later one");
	s->span_ns[pid / 1000] = begin_ns;
}

static void see(void *ctx, const struct fact *f)
{
	struct seen *s = ctx;

	s->count[f->type]++;
	json_line(&s->text, f, NULL);
	buffer_add(&s->text, "\n", 1);
	if (!f->real_ns)
		snprintf(s->error, sizeof(s->error), "a fact without wall time");
	/* A process that begins anew counts anew. */
	if (f->type == FACT_RANK && f->state->state <= STATE_STARTING)
		memset(s->number[f->pid / 1000], 0, sizeof(s->number[0]));
	if (f->type == FACT_STEP)
		see_step(s, f->pid, f->step);
	if (f->type == FACT_RANGE && !strcmp(f->range->name, "evaluation"))
		see_span(s, f->pid, f->range->start_ns);
	if (f->type == FACT_CHECKPOINT && !f->checkpoint->async)
		see_span(s, f->pid, f->checkpoint->start_ns);
	if (f->type == FACT_CHECKPOINT) {
		s->checkpoint = *f->checkpoint;
		if (s->checkpoint.match)
			s->match = *s->checkpoint.match;
		snprintf(s->file, sizeof(s->file), "%s", f->checkpoint->file);
	}
	s->helper += f->type == FACT_RANGE && f->range->async;
	if (f->type == FACT_RANGE && !strcmp(f->range->name, "evaluation")) {
		s->evaluations++;
		s->range = *f->range;
	}
	s->gaps += f->type == FACT_RANGE && f->range->bucket == BUCKET_UNOBSERVED;
	if (f->type == FACT_HEALTH) {
		s->health = *f->health;
		s->causes = f->health->causes ? *f->health->causes : (struct time_causes){0};
		snprintf(s->kind, sizeof(s->kind), "%s", f->health->kind);
		snprintf(s->name, sizeof(s->name), "%s", f->health->name ? f->health->name : "");
		snprintf(s->why, sizeof(s->why), "%s", f->health->why);
		snprintf(s->phase, sizeof(s->phase), "%s", f->health->phase);
		snprintf(s->evidence, sizeof(s->evidence), "%s", f->health->evidence);
	}
	if (f->type == FACT_DISRUPTION) {
		s->disruption = *f->disruption;
		snprintf(s->cause, sizeof(s->cause), "%s",
			 disruption_cause_name[f->disruption->why.cause]);
	}
}

/* ---- figures --------------------------------------------------------------------------------- */

/* A window adds up; one that holds all there is says what the ledger says, but for the rounding of
 * its pieces. */
static void windows_close(const struct run *r, const struct ledger_view *l,
			  const struct window_view *windows, uint32_t pid)
{
	for (int i = 0; i < WINDOWS_MAX && windows[i].length_ns; i++) {
		const struct window_view *w = &windows[i];
		uint64_t sum_ns = 0;

		for (int b = 0; b < BUCKET_COUNT; b++) {
			sum_ns += w->ns[b];
			if (w->whole &&
			    (w->ns[b] > l->ns[b] + 1000000 || w->ns[b] + 1000000 < l->ns[b]))
				fail_msg("%s: window %d of %u: %s %llu, in the ledger %llu",
					 r->path, i, pid, bucket_name[b],
					 (unsigned long long)w->ns[b],
					 (unsigned long long)l->ns[b]);
		}
		if (sum_ns != w->to_ns - w->from_ns)
			fail_msg("%s: window %d of %u does not close", r->path, i, pid);
	}
}

/* What is counted is what each disruption says of itself, once that is settled. */
static void check_story(const struct run *r, const struct job_view *j)
{
	uint32_t counted = 0, told = j->ndisruptions - j->unsettled, n;

	for (uint32_t i = 0; i < j->ncauses; i++) {
		n = 0;
		for (uint32_t f = 0; f < told; f++)
			n += j->disruptions[f].why.cause == j->causes[i].cause;
		if (n != j->causes[i].count)
			fail_msg("%s: %llu disruptions are counted as %s, of which %u are", r->path,
				 (unsigned long long)j->causes[i].count,
				 disruption_cause_name[j->causes[i].cause], n);
		counted += n;
	}
	if (counted != told)
		fail_msg("%s: a disruption is counted for no cause", r->path);
}

/* Each disruption that was seen here has one cause; those of another node have none. */
static void check_causes(const struct run *r, const struct job_view *j)
{
	uint64_t sum = j->unsettled;

	for (uint32_t i = 0; i < j->ncauses; i++) {
		if (!j->causes[i].cause)
			fail_msg("%s: a disruption without a cause", r->path);
		sum += j->causes[i].count;
	}
	if (j->carried ? sum > j->ledger.disruptions : sum != j->ledger.disruptions)
		fail_msg("%s: the causes of disruptions do not add up", r->path);
	if (!j->carried && j->ledger.disruptions <= JOB_DISRUPTIONS)
		check_story(r, j);
}

static void check_jobs(struct run *r, const struct snapshot *s)
{
	for (uint32_t i = 0; i < s->njobs && i < SCRIPT_PIDS; i++) {
		const struct job_view *j = &s->jobs[i];
		uint64_t sum_ns = 0, parts_ns;

		for (int b = 0; b < BUCKET_COUNT; b++)
			sum_ns += j->ledger.ns[b];
		if (sum_ns != j->ledger.now_ns - j->ledger.start_ns ||
		    j->ledger.unsettled_ns > j->ledger.ns[BUCKET_OTHER])
			fail_msg("%s: the ledger of job %u does not close", r->path, i + 1);
		windows_close(r, &j->ledger, j->windows, 0);
		check_causes(r, j);
		if (j->ledger.productive_gross_ns < r->job_gross_ns[i] ||
		    j->wasted_gross_ns < r->wasted_ns[i] || j->ledger.steps < r->job_steps[i])
			fail_msg("%s: what job %u has gained or lost in all fell", r->path, i + 1);
		if (j->ledger.productive_gross_ns > sum_ns)
			fail_msg("%s: job %u has gained more than all of its time", r->path, i + 1);
		r->job_gross_ns[i] = j->ledger.productive_gross_ns;
		r->wasted_ns[i] = j->wasted_gross_ns;
		r->job_steps[i] = j->ledger.steps;
		for (uint32_t n = 0; n < j->ndisruptions; n++) {
			parts_ns = 0;
			for (int b = 0; b < BUCKET_COUNT; b++)
				parts_ns += j->disruptions[n].split_ns[b];
			if (parts_ns != j->disruptions[n].d.recovery_ns)
				fail_msg("%s: the parts of a recovery do not add up", r->path);
		}
	}
}

static void check_ledgers(struct run *r, const struct snapshot *s)
{
	check_jobs(r, s);
	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct ledger_view *l = &s->ranks[i].ledger;
		uint32_t pid = s->ranks[i].pid / 1000;
		uint64_t sum_ns = 0;

		for (int b = 0; b < BUCKET_COUNT; b++)
			sum_ns += l->ns[b];
		if (sum_ns != l->now_ns - l->start_ns || l->unsettled_ns > l->ns[BUCKET_OTHER])
			fail_msg("%s: the ledger of %u does not close", r->path, s->ranks[i].pid);
		windows_close(r, l, s->ranks[i].windows, s->ranks[i].pid);
		if (s->ranks[i].alive && l->productive_gross_ns < r->gross_ns[pid])
			fail_msg("%s: productive time of %u fell", r->path, s->ranks[i].pid);
		if (s->ranks[i].alive)
			r->gross_ns[pid] = l->productive_gross_ns;
		for (uint32_t k = 1; k < s->ranks[i].nevents; k++)
			if (s->ranks[i].events[k].mono_ns < s->ranks[i].events[k - 1].mono_ns)
				fail_msg("%s: '%s' is listed after '%s', which came later", r->path,
					 s->ranks[i].events[k].text,
					 s->ranks[i].events[k - 1].text);
	}
	if (s->ledger_violations)
		fail_msg("%s: the ledger was violated", r->path);
}

static void same_ledger(const struct ledger_view *a, const struct ledger_view *b)
{
	assert_memory_equal(a->ns, b->ns, sizeof(a->ns));
	assert_int_equal(a->now_ns, b->now_ns);
	assert_int_equal(a->steps, b->steps);
}

/* A brief snapshot has all of a whole one but what it leaves out. */
static void check_brief(struct run *r, const struct snapshot *whole)
{
	struct snapshot *s = model_snapshot_brief(r->model);

	assert_non_null(s);
	assert_int_equal(s->nranks, whole->nranks);
	assert_int_equal(s->njobs, whole->njobs);
	for (uint32_t i = 0; i < s->nranks; i++) {
		assert_int_equal(s->ranks[i].pid, whole->ranks[i].pid);
		same_ledger(&s->ranks[i].ledger, &whole->ranks[i].ledger);
		assert_int_equal(s->ranks[i].windows[0].length_ns, 0);
	}
	for (uint32_t i = 0; i < s->njobs; i++) {
		same_ledger(&s->jobs[i].ledger, &whole->jobs[i].ledger);
		assert_int_equal(s->jobs[i].windows[0].length_ns, 0);
	}
	snapshot_unref(s);
}

static void run_block(struct run *r, struct script *s)
{
	script_block(s);
	if (*s->error)
		fail_msg("%s: %s", r->path, s->error);
	for (uint32_t i = 0; i < s->count; i++) {
		const struct gp_rec *rec = (const struct gp_rec *)s->records[i].bytes;
		struct snapshot *snap;
		struct event ev;

		assert_int_equal(event_decode(rec, rec->len, &ev), 0);
		assert_int_equal(model_feed(r->model, &ev), 0);
		if (!r->look)
			continue;
		snap = model_snapshot(r->model);
		assert_non_null(snap);
		check_ledgers(r, snap);
		check_brief(r, snap);
		snapshot_unref(snap);
	}
	if (*r->seen.error)
		fail_msg("%s: %s", r->path, r->seen.error);
	s->count = 0;
}

static void expect_event(const struct figure *f, const char *text)
{
	for (uint32_t i = 0; i < f->rank->nevents; i++) {
		if (strstr(f->rank->events[i].text, text))
			return;
	}
	for (uint32_t i = 0; i < f->rank->nevents; i++)
		print_error("event: %s\n", f->rank->events[i].text);
	fail_msg("%s: no event says: %s", f->run->path, text);
}

static void expect_one(const struct run *run, const struct snapshot *snap, char *text)
{
	struct figure f = {.run = run, .snap = snap};
	unsigned pid = 1, loop = 0, job = 0, number;
	char *key, *value;
	uint64_t got, want;
	int n = 0;

	text += strspn(text, " \t");
	if (sscanf(text, "p%u.%n", &number, &n) == 1 && n) {
		pid = number;
		text += n;
	}
	n = 0;
	if (sscanf(text, "loop%u.%n", &number, &n) == 1 && n) {
		loop = number;
		text += n;
	}
	if (sscanf(text, "job%u.%n", &number, &n) == 1 && n > 0 && text[n - 1] == '.')
		job = number;
	else if (!strncmp(text, "job.", n = 4))
		job = 1;
	if (job) {
		if (job > snap->njobs)
			fail_msg("%s: there is no job %u", run->path, job);
		f.job = &snap->jobs[job - 1];
		text += n;
	}
	key = text;
	value = text + strcspn(text, " ");
	if (*value)
		*value++ = '\0';
	for (uint32_t i = 0; i < snap->nranks; i++) {
		if (snap->ranks[i].pid == 1000 * pid)
			f.rank = &snap->ranks[i]; /* the later one when the pid came again */
	}
	if (f.rank && loop < f.rank->nloops)
		f.loop = &f.rank->loops[loop];
	if (f.rank && !strcmp(key, "event")) {
		expect_event(&f, value);
		return;
	}
	if (figure_text(&f, key)) {
		if (strcmp(figure_text(&f, key), value))
			fail_msg("%s: %s is %s, not %s", run->path, key, figure_text(&f, key),
				 value);
		return;
	}
	if (f.job ? !figure_job(&f, key, &got)
		  : !figure_fact(&f, key, &got) && !(f.rank && figure_rank(&f, key, &got)))
		fail_msg("%s: nothing known of %s", run->path, key);
	if (!strcmp(value, "unknown"))
		want = UINT64_MAX;
	else if (!script_duration(value, &want))
		want = strtoull(value, NULL, 0);
	if (got != want)
		fail_msg("%s: %s is %llu, not %llu (%s)", run->path, key, (unsigned long long)got,
			 (unsigned long long)want, value);
}

static void expect(struct run *r, char *line)
{
	struct snapshot *snap = model_snapshot(r->model);
	char *save = NULL, *one;

	assert_non_null(snap);
	for (one = strtok_r(line, ",\n", &save); one; one = strtok_r(NULL, ",\n", &save))
		expect_one(r, snap, one);
	snapshot_unref(snap);
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void run_case(struct run *r)
{
	struct script s = {.records = calloc(SCRIPT_EVENTS, sizeof(struct record))};
	FILE *file = fopen(r->path, "re");
	unsigned expected = 0;
	char line[2000];

	assert_non_null(s.records);
	if (!file)
		fail_msg("%s cannot be opened", r->path);
	r->model = model_new(see, &r->seen);
	assert_non_null(r->model);
	while (fgets(line, sizeof(line), file)) {
		line[*line == '#' ? 0 : strcspn(line, "\n")] = '\0';
		if (strncmp(line, "=>", 2)) {
			script_line(&s, line);
			continue;
		}
		run_block(r, &s);
		expected++;
		if (r->look)
			expect(r, line + 2);
	}
	if (s.count || !expected)
		fail_msg("%s does not end with =>", r->path);
	model_free(r->model);
	fclose(file);
	free(s.records);
}

static void test_case(void **state)
{
	struct run first = {.path = *state, .look = true}, second = {.path = *state};

	run_case(&first);
	run_case(&second);
	assert_int_equal(first.seen.text.len, second.seen.text.len);
	assert_memory_equal(first.seen.text.data, second.seen.text.data, first.seen.text.len);
	if (getenv("CASES_SHOW"))
		fputs(first.seen.text.data, stderr);
	buffer_free(&first.seen.text);
	buffer_free(&second.seen.text);
}

static int is_case(const struct dirent *d)
{
	const char *dot = strrchr(d->d_name, '.');

	return dot && !strcmp(dot, ".case");
}

int main(int argc, char **argv)
{
	static struct CMUnitTest tests[CASES_MAX];
	static char paths[CASES_MAX][300];
	struct dirent **names = NULL;
	int n = argc > 1 ? argc - 1 : scandir("tests/cases", &names, is_case, alphasort);
	int failed;

	if (n <= 0 || n > CASES_MAX) {
		fprintf(stderr, "no cases in tests/cases (run this from the top of the tree)\n");
		return 1;
	}
	for (int i = 0; i < n; i++) {
		if (argc > 1)
			snprintf(paths[i], sizeof(paths[i]), "%s", argv[i + 1]);
		else
			snprintf(paths[i], sizeof(paths[i]), "tests/cases/%s", names[i]->d_name);
		tests[i] = (struct CMUnitTest){
			.name = paths[i], .test_func = test_case, .initial_state = paths[i]};
	}
	failed = _cmocka_run_group_tests("cases", tests, (size_t)n, NULL, NULL);
	for (int i = 0; names && i < n; i++)
		free(names[i]);
	free(names);
	return failed != 0;
}
