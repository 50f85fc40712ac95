/* SPDX-License-Identifier: Apache-2.0 */
/* journal.c - writes every record to the tape, if there is one, then passes it to the output. */
#include "userspace/output/journal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "loader/probe/probe_file.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/identity/accelerator.h"
#include "userspace/ingest/event.h"
#include "userspace/model/signal/device_code.h"
#include "userspace/option/option_probe.h"

#define CLOCK_STEP_NS	10000000ll
#define CLOCK_PERIOD_NS 60000000000ull
#define SAVE_TAPE_BYTES (64ull << 20)
#define RETRY_NS	5000000000ull
#ifndef JOURNAL_SAVE_NS
#define JOURNAL_SAVE_NS 30000000000ull
#endif

struct journal {
	struct output *out;
	struct tape_writer *tape;
	const char *tape_path; /* path of the tape file that the user named */
	struct durable *durable;
	struct durable_state state; /* buffers that are reused for saving the state */
	uint64_t saved_ns;
	/* Number of records that are missing on the tape in the state directory and were not
	 * reported yet. */
	uint64_t unkept;
	struct buffer own; /* records made by this process that wait for journal_flush() */
	uint64_t clock_ns; /* time (ns) at which the wall clock was last recorded */
	int64_t clock_offset_ns;
	bool stopped;
	int error;
};

int journal_open(struct journal **ret, struct output *out, const char *tape, struct durable *d)
{
	struct journal *j = calloc(1, sizeof(*j));
	int err;

	if (!j)
		return -ENOMEM;
	j->out = out;
	j->durable = d;
	j->tape_path = tape && !strcmp(tape, "-") ? "standard output" : tape;
	j->saved_ns = clock_mono_ns();
	err = tape && strcmp(tape, "-") != 0 ? path_answers(tape) : 0;
	if (err)
		log_error("cannot create tape %s: %s", tape, path_why(err));
	else if (tape)
		err = tape_create(&j->tape, tape);
	if (err) {
		free(j);
		return err;
	}
	*ret = j;
	return 0;
}

static const char *journal_tape_why(int err)
{
	return err == -ETIMEDOUT ? "the reader of the pipe does not read" : strerror(-err);
}

int journal_close(struct journal *j)
{
	int err, last;

	if (!j)
		return 0;
	journal_flush(j);
	err = j->error;
	last = j->tape ? tape_close(j->tape) : 0;
	if (last)
		log_error("tape %s: incomplete: cannot write the last records: %s", j->tape_path,
			  journal_tape_why(last));
	buffer_free(&j->own);
	buffer_free(&j->state.stream);
	buffer_free(&j->state.model);
	buffer_free(&j->state.exports);
	free(j);
	return err ? err : last;
}

void *journal_record(struct journal *j, unsigned kind, uint32_t pid, uint32_t probe)
{
	size_t len = (event_length(kind) + 7) & ~(size_t)7;
	char *at = buffer_reserve(&j->own, len);

	if (!at)
		return NULL;
	memset(at, 0, len);
	j->own.len += len;
	return event_init(at, kind, clock_mono_ns(), pid, probe);
}

static uint64_t journal_records_count(const struct buffer *b)
{
	uint64_t n = 0;

	for (size_t at = 0; gp_rec_next(b->data, b->len, &at);)
		n++;
	return n;
}

int journal_batch(struct journal *j, enum tape_source source, const struct buffer *b, uint64_t from,
		  uint64_t to)
{
	struct tape_frame frame = {source, from, to, b->data, b->len};
	int err = j->tape ? tape_append(j->tape, &frame) : 0;

	if (err && !j->error) {
		log_error("tape %s: cannot be written: %s; recording has stopped", j->tape_path,
			  journal_tape_why(err));
		j->error = err;
		tape_close(j->tape);
		j->tape = NULL;
	}
	if (j->durable && !j->stopped && durable_append(j->durable, &frame))
		j->unkept += journal_records_count(b);
	return output_feed(j->out, b->data, b->len);
}

/* Reports records that are missing on the tape in the state directory. The loss is passed to the
 * output only: the user's tape has these records, so the loss is not recorded on the user's
 * tape. */
static void journal_report_unkept(struct journal *j)
{
	_Alignas(struct gp_rec) char buf[GP_RECORD_MAX];
	struct gp_loss *loss;

	if (!j->unkept)
		return;
	loss = event_init(buf, GP_KIND_loss, clock_mono_ns(), 0, 0);
	loss->cause = GP_LOSS_tape;
	loss->count = j->unkept;
	j->unkept = 0;
	output_feed(j->out, buf, event_length(GP_KIND_loss));
}

int journal_save(struct journal *j)
{
	int err;

	if (!j->durable)
		return 0;
	journal_flush(j);
	err = output_save(j->out, &j->state);
	if (!err)
		err = durable_save(j->durable, &j->state);
	j->saved_ns = clock_mono_ns();
	return err;
}

void journal_stop(struct journal *j)
{
	struct gp_gap *gap = journal_record(j, GP_KIND_gap, 0, 0);

	if (gap) /* a gap begins: from now on, gp-bpf does not see when processes end */
		*gap = (struct gp_gap){.from_ns = ((struct gp_rec *)gap - 1)->ts_ns,
				       .cause = GP_GAP_AWAY};
	journal_flush(j);
	output_finish(j->out);
	journal_save(j);
	j->stopped = true;
}

void journal_stopped(struct journal *j)
{
	journal_flush(j);
	output_finish(j->out);
	output_save_exports(j->out, &j->state);
	durable_save(j->durable, &j->state);
}

void journal_keep(struct journal *j)
{
	uint64_t now_ns = clock_mono_ns();

	if (!j->durable)
		return;
	journal_report_unkept(j);
	if (durable_whole(j->durable) ? now_ns - j->saved_ns >= JOURNAL_SAVE_NS ||
						durable_tape_bytes(j->durable) > SAVE_TAPE_BYTES
				      : now_ns - j->saved_ns >= RETRY_NS)
		journal_save(j);
}

struct replaying {
	struct journal *journal;
	durable_frame_fn *fn;
	void *ctx;
};

static void journal_replay_frame(void *ctx, const struct tape_frame *f)
{
	struct replaying *r = ctx;

	if (r->fn)
		r->fn(r->ctx, f);
	output_feed(r->journal->out, f->records, f->len);
}

int journal_replay(struct journal *j, durable_frame_fn *fn, void *ctx)
{
	struct replaying r = {j, fn, ctx};
	int err;

	output_replaying(j->out, true);
	err = durable_replay(j->durable, journal_replay_frame, &r);
	output_replaying(j->out, false);
	return err;
}

void journal_flush(struct journal *j)
{
	if (j->own.len)
		journal_batch(j, TAPE_USER, &j->own, 0, 0);
	buffer_clear(&j->own);
}

static void journal_record_session(struct journal *j, bool run, const char *command)
{
	struct gp_session *s = journal_record(j, GP_KIND_session, 0, 0);
	struct utsname un;

	if (!s)
		return;
	s->abi = GP_ABI_VERSION;
	s->flags = run ? GP_SESSION_RUN : 0;
	snprintf(s->version, sizeof(s->version), "%s", GP_VERSION);
	if (!uname(&un))
		snprintf(s->kernel, sizeof(s->kernel), "%.40s %.20s", un.release, un.machine);
	log_escape(s->command, sizeof(s->command), command, strlen(command));
	clock_boot_id(s->boot_id);
}

void journal_clock(struct journal *j)
{
	uint64_t mono = clock_mono_ns();
	int64_t real = clock_real_ns(), drift = real - (int64_t)mono - j->clock_offset_ns;
	struct gp_clock *c;

	if (j->clock_ns && mono - j->clock_ns < CLOCK_PERIOD_NS && llabs(drift) < CLOCK_STEP_NS)
		return;
	c = journal_record(j, GP_KIND_clock, 0, 0);
	if (!c)
		return;
	c->real_ns = real;
	c->suspended_ns = clock_suspended_ns();
	j->clock_ns = mono;
	j->clock_offset_ns = real - (int64_t)mono;
}

static void journal_record_config(struct journal *j, const char *key, const char *value)
{
	struct gp_config *c = journal_record(j, GP_KIND_config, 0, 0);

	if (c)
		snprintf(c->text, sizeof(c->text), "%s=%s", key, value);
}

static void journal_record_program(void *ctx, const char *key, const char *value)
{
	journal_record_config(ctx, key, value);
}

/* Records the value of --marker: the name of a step boundary, or the id of a probe. With `node`, a
 * probe is used as marker only for jobs that call it. */
static void journal_record_marker(struct journal *j, const struct options *o,
				  const struct probe_table *probes, bool node)
{
	const struct probe_row *r = option_marker(probes, o->marker);

	journal_record_config(j, r && node ? "marker_if_hit" : "marker", r ? r->id : o->marker);
}

static void journal_record_settings(struct journal *j, const struct options *o,
				    const struct probe_table *probes, bool node)
{
	char number[32], windows[128], model[128];

	if (o->marker)
		journal_record_marker(j, o, probes, node);
	if (o->job_uid)
		journal_record_config(j, "job_uid", o->job_uid);
	if (o->multiply > 1) {
		snprintf(number, sizeof(number), "%lld", (long long)o->multiply);
		journal_record_config(j, "multiply", number);
	}
	snprintf(number, sizeof(number), "%lld", (long long)o->overhead_ppm);
	journal_record_config(j, "overhead_budget_ppm", number);
	if (o->ideal_ns) {
		snprintf(number, sizeof(number), "%lld", (long long)o->ideal_ns);
		journal_record_config(j, "ideal_ns", number);
	}
	if (o->hang_after_ns) {
		snprintf(number, sizeof(number), "%lld", (long long)o->hang_after_ns);
		journal_record_config(j, "hang_ns", number);
	}
	if (o->slow_after_ns) {
		snprintf(number, sizeof(number), "%lld", (long long)o->slow_after_ns);
		journal_record_config(j, "slow_ns", number);
	}
	if (o->slow_loss_ppm) {
		snprintf(number, sizeof(number), "%lld", (long long)o->slow_loss_ppm);
		journal_record_config(j, "slow_ppm", number);
	}
	if (!options_windows(o, windows, sizeof(windows)) && *windows)
		journal_record_config(j, "windows_ns", windows);
	options_ranges_say(o, journal_record_program, j);
	options_excludes_say(o, journal_record_program, j);
	options_program_say(
		o, accelerator_model(o->root ? o->root : "", model, sizeof(model)) ? NULL : model,
		journal_record_program, j);
}

void journal_settings(struct journal *j, const struct options *o)
{
	options_ranges_say(o, journal_record_program, j);
	options_excludes_say(o, journal_record_program, j);
}

static bool journal_record_formula(struct journal *j, const struct probe_row *r)
{
	struct gp_formula *f = journal_record(j, GP_KIND_formula, 0, r->hash);

	if (f)
		probe_row_formula(r, f);
	return f;
}

static void journal_record_probes(struct journal *j, const struct probe_table *probes)
{
	for (size_t i = 0; i < probe_table_count(probes); i++) {
		const struct probe_row *r = probe_table_row(probes, i);
		struct gp_probe *p = journal_record(j, GP_KIND_probe, 0, r->hash);

		if (!p)
			return;
		probe_row_record(r, p);
		if (r->operations && !journal_record_formula(j, r))
			return;
	}
	if (probe_table_codes(probes) > DEVICE_CODES)
		log_warn(
			"probe files: too many error codes (%zu): only the first %d are used; other errors are shown without a name",
			probe_table_codes(probes), DEVICE_CODES);
	for (size_t i = 0; i < probe_table_codes(probes); i++) {
		struct gp_code *c = journal_record(j, GP_KIND_code, 0, 0);

		if (!c)
			return;
		*c = *probe_table_code(probes, i);
	}
}

void journal_begin(struct journal *j, const struct options *o, const struct probe_table *probes,
		   const struct journal_session *session)
{
	journal_record_session(j, session->run, session->command);
	journal_clock(j);
	journal_record_settings(j, o, probes, session->node);
	journal_record_probes(j, probes);
	journal_flush(j);
}
