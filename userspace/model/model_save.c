/* SPDX-License-Identifier: Apache-2.0 */
/* model_save.c - saves and restores a model. */
#include "userspace/model/model_private.h"

#define MAGIC  "gp-model"
#define FORMAT 34

static void model_save_session_archive(struct archive *a, struct gp_session *s)
{
	archive_fields(a, s, abi, flags, boot_id, version, kernel, command);
}

/* Saves or restores the shared data, except sink, ctx and probes. */
static void model_save_env_archive(struct archive *a, struct model_env *env)
{
	archive_struct(a, sizeof(*env));
	anchors_archive(a, &env->anchors);
	exclusion_archive(a, &env->excluded);
	step_config_archive(a, &env->step);
	range_rules_archive(a, &env->ranges);
	archive_fields(a, env, ideal_ns, hang_ns, slow_ns, slow_ppm, windows_ns, budget_ppm);
	program_config_archive(a, &env->program);
	archive_fields(a, env, job_uid, ledger_violations, facts, files);
	notices_archive(a, &env->notices);
	jobs_archive(a, &env->jobs, &env->excluded);
}

/* Saves the ranks in the order in which they were added, because facts are sent in that order. */
static void model_save_live_archive(struct archive *a, struct model *m)
{
	uint32_t n = (uint32_t)table_count(m->live), pid;
	size_t at = 0;

	archive_count(a, &n, MODEL_RANKS, rank_size);
	for (uint32_t i = 0; i < n && !a->error; i++) {
		struct rank *r = archive_reads(a) ? NULL : table_next(m->live, &at, NULL);

		rank_archive(a, &r, &m->env, true);
		if (!archive_reads(a) || !r)
			continue;
		pid = rank_member(r)->pid;
		archive_require(a, !table_get(m->live, pid));
		if (a->error || table_put(m->live, pid, r)) {
			archive_require(a, false);
			rank_free(r);
		}
	}
}

static void model_save_dead_archive(struct archive *a, struct model *m)
{
	uint32_t n = m->ndead;

	archive_count(a, &n, MODEL_DEAD, rank_size);
	for (uint32_t i = 0; i < n && !a->error; i++) {
		rank_archive(a, &m->dead[i], &m->env, false);
		m->ndead = archive_reads(a) && m->dead[i] ? i + 1 : m->ndead;
	}
}

static void model_archive(struct archive *a, struct model *m)
{
	archive_struct(a, sizeof(*m));
	model_save_env_archive(a, &m->env);
	model_probes_archive(a, &m->probes);
	model_save_live_archive(a, m);
	model_save_dead_archive(a, m);
	archive_fields(a, m, unfollowed, forgotten, dropped);
	model_save_session_archive(a, &m->session);
	archive_fields(a, m, session_ns, session_real_ns, session_due);
	archive_bytes(a, &m->end, sizeof(m->end));
	archive_fields(a, m, ended, lost, events, now_ns, number);
}

uint64_t model_reported(const struct model *m)
{
	return m->env.facts;
}

void model_reported_upto(struct model *m, uint64_t number)
{
	if (m->env.facts < number)
		m->env.facts = number;
}

int model_save(const struct model *m, struct buffer *out)
{
	struct archive a;

	archive_write(&a, out, MAGIC, FORMAT);
	/* the cast is safe: an archive that writes does not change the model */
	model_archive(&a, (struct model *)m);
	return archive_end(&a);
}

int model_load(struct model **ret, fact_fn *sink, void *ctx, const void *data, size_t len)
{
	struct model *m = model_new(sink, ctx);
	struct archive a;
	int err;

	if (!m)
		return -ENOMEM;
	archive_read(&a, data, len, MAGIC, FORMAT);
	model_archive(&a, m);
	err = archive_end(&a);
	if (err) {
		model_free(m);
		return err;
	}
	*ret = m;
	return 0;
}
