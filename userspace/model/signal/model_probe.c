/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/signal/model_probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/ingest/event.h"
#include "userspace/ingest/tape_probe.h"
#include "userspace/base/number.h"

int model_probes_init(struct model_probes *ps)
{
	*ps = (struct model_probes){.table = table_new()};
	return ps->table ? 0 : -ENOMEM;
}

static void model_probe_free(void *probe)
{
	struct model_probe *mp = probe;

	free(mp->formula);
	free(mp);
}

void model_probes_clear(struct model_probes *ps)
{
	table_free(ps->table, model_probe_free);
	free(ps->attach);
	device_codes_clear(&ps->codes);
}

struct model_probe *model_probe_find(struct model_probes *ps, uint32_t hash)
{
	uint32_t slot = hash % MODEL_PROBE_CACHE;

	if (!hash)
		return NULL;
	if (ps->cached[slot] != hash || !ps->cache[slot]) {
		ps->cache[slot] = table_get(ps->table, hash);
		ps->cached[slot] = hash;
	}
	return ps->cache[slot];
}

int model_probe_define(struct model_probes *ps, uint32_t hash, const struct gp_probe *p)
{
	struct model_probe *mp = table_get(ps->table, hash);

	if (!mp && table_count(ps->table) >= MODEL_PROBES)
		return 0;
	if (!mp) {
		mp = calloc(1, sizeof(*mp));
		if (!mp || table_put(ps->table, hash, mp)) {
			free(mp);
			return -ENOMEM;
		}
	}
	mp->def = *p;
	mp->def.noks = smaller_of(p->noks, GP_OKS);
	event_copy(mp->def.id, p->id);
	event_copy(mp->def.runtime, p->runtime);
	tape_probe_complete(&mp->def);
	return 0;
}

int model_probe_formula(struct model_probes *ps, uint32_t hash, const struct gp_formula *f)
{
	struct model_probe *mp = model_probe_find(ps, hash);
	struct formula parsed;

	if (!mp || formula_parse(&parsed, f->text))
		return 0;
	if (!mp->formula)
		mp->formula = malloc(sizeof(*mp->formula));
	if (!mp->formula)
		return -ENOMEM;
	*mp->formula = parsed;
	return 0;
}

const struct formula *model_probe_formula_find(const struct model_probes *ps, uint32_t hash)
{
	const struct model_probe *mp = table_get(ps->table, hash);

	return mp ? mp->formula : NULL;
}

static struct attach_view *model_attach_find(struct model_probes *ps, uint32_t hash,
					     const struct gp_attach *a)
{
	for (uint32_t i = 0; i < ps->nattach; i++) {
		struct attach_view *v = &ps->attach[i];

		if (v->probe == hash && v->at.dev == a->dev && v->at.ino == a->ino)
			return v;
	}
	return NULL;
}

static struct attach_view *model_attach_new(struct model_probes *ps)
{
	uint32_t cap = ps->cap ? 2 * ps->cap : 32;
	struct attach_view *attach;

	if (ps->nattach == ps->cap) {
		attach = realloc(ps->attach, cap * sizeof(*attach));
		if (!attach)
			return NULL;
		ps->attach = attach;
		ps->cap = cap;
	}
	return &ps->attach[ps->nattach++];
}

static bool model_probe_state_sits(unsigned state)
{
	return state == GP_ATTACH_attached || state == GP_ATTACH_counted;
}

static bool model_probe_state_taken(unsigned state)
{
	return state == GP_ATTACH_counted || state == GP_ATTACH_given_up;
}

/* Makes room for a site: removes the oldest site that has no probe and lost none to the overhead
 * budget. Its file may have been removed long ago. */
static void model_attach_make_room(struct model_probes *ps)
{
	for (uint32_t i = 0; i < ps->nattach; i++) {
		unsigned state = ps->attach[i].at.state;

		if (model_probe_state_sits(state) || model_probe_state_taken(state))
			continue;
		memmove(&ps->attach[i], &ps->attach[i + 1],
			(--ps->nattach - i) * sizeof(*ps->attach));
		return;
	}
}

/* Collects the roles that lack a probe at any site. It is not known which process uses which
 * library, so a missing probe counts for all processes. */
static void model_probe_unseen_update(struct model_probes *ps)
{
	ps->buffers_unseen = ps->collectives_taken = false;
	ps->roles_taken = 0;
	for (uint32_t i = 0; i < ps->nattach; i++) {
		const struct attach_view *v = &ps->attach[i];
		unsigned state = v->at.state;

		if (model_probe_state_taken(state) && v->role < 64)
			ps->roles_taken |= 1ull << v->role;
		ps->collectives_taken |= state == GP_ATTACH_given_up &&
					 v->role == GP_ROLE_collective &&
					 !(v->flags & GP_PROBE_PAIR);
		ps->buffers_unseen |= ps->attach[i].role == GP_ROLE_buffer_in &&
				      (model_probe_state_taken(state) ||
				       state == GP_ATTACH_failed || state == GP_ATTACH_refused);
	}
}

int model_probe_attach(struct model_probes *ps, uint32_t hash, const struct gp_attach *a,
		       uint64_t now_ns, const struct attach_view **ret_reported)
{
	struct model_probe *mp = model_probe_find(ps, hash);
	struct attach_view *v = model_attach_find(ps, hash, a);
	uint32_t given_up = v ? v->given_up : 0;
	uint64_t since_ns = v && v->since_ns ? v->since_ns : now_ns;
	bool reported = v && v->at.state != a->state &&
			(model_probe_state_taken(v->at.state) || model_probe_state_taken(a->state));

	*ret_reported = NULL;

	if (mp && a->hit_cost_ns)
		mp->hit_cost_ns = a->hit_cost_ns;
	if (!v) {
		if (ps->nattach == MODEL_ATTACH)
			model_attach_make_room(ps);
		if (ps->nattach == MODEL_ATTACH)
			return 0;
		v = model_attach_new(ps);
		if (!v)
			return -ENOMEM;
	}
	*v = (struct attach_view){.probe = hash,
				  .at = *a,
				  .since_ns = model_probe_state_sits(a->state) ? since_ns : 0,
				  .given_up = given_up + model_probe_state_taken(a->state)};
	event_copy(v->at.library, a->library);
	if (!mp)
		return 0;
	memcpy(v->id, mp->def.id, sizeof(v->id));
	memcpy(v->runtime, mp->def.runtime, sizeof(v->runtime));
	v->role = mp->def.role;
	v->group = mp->def.group;
	v->flags = mp->def.flags;
	if (reported || model_probe_state_taken(a->state) || v->role == GP_ROLE_buffer_in)
		model_probe_unseen_update(ps);
	if (reported)
		*ret_reported = v;
	return 0;
}

uint64_t model_probe_since(const struct model_probes *ps, uint32_t hash, uint64_t hit_ns)
{
	uint64_t last_ns = 0, first_ns = 0;

	for (uint32_t i = 0; i < ps->nattach; i++) {
		uint64_t ns = ps->attach[i].probe == hash ? ps->attach[i].since_ns : 0;

		if (ns && ns <= hit_ns && ns > last_ns)
			last_ns = ns;
		if (ns && (!first_ns || ns < first_ns))
			first_ns = ns;
	}
	return last_ns ? last_ns : first_ns;
}

int model_probes_view(const struct model_probes *ps, struct attach_view **ret)
{
	struct attach_view *views = NULL;

	if (ps->nattach) {
		views = malloc(ps->nattach * sizeof(*views));
		if (!views)
			return -ENOMEM;
		memcpy(views, ps->attach, ps->nattach * sizeof(*views));
	}
	for (uint32_t i = 0; i < ps->nattach; i++) {
		const struct model_probe *mp = table_get(ps->table, views[i].probe);

		views[i].hits = mp ? mp->hits : 0;
		views[i].unsent = mp ? mp->unsent : 0;
	}
	*ret = views;
	return 0;
}

/* ---- state ----------------------------------------------------------------------------------- */

/* Saves the text of a formula, from which a restored model parses it again. */
static void model_formula_archive(struct archive *a, struct model_probe *mp)
{
	char text[GP_FORMULA_MAX];

	mp->formula = archive_object(a, mp->formula, sizeof(*mp->formula));
	if (!mp->formula)
		return;
	archive_field(a, mp->formula->text);
	memcpy(text, mp->formula->text, sizeof(text));
	if (archive_reads(a))
		archive_require(a, !formula_parse(mp->formula, text));
}

static void model_probe_archive(struct archive *a, struct model_probe *mp)
{
	archive_fields(a, mp, def.role, def.group, def.flags, def.id, def.runtime, def.returns);
	archive_below(a, &mp->def.noks, GP_OKS + 1);
	for (int i = 0; i < GP_OKS; i++)
		archive_field(a, mp->def.ok[i]);
	archive_fields(a, mp, hits, unsent, hit_cost_ns);
	model_formula_archive(a, mp);
}

static void model_table_archive(struct archive *a, struct model_probes *ps)
{
	uint32_t n = (uint32_t)table_count(ps->table);
	size_t at = 0;

	archive_count(a, &n, MODEL_PROBES, sizeof(struct model_probe));
	for (uint32_t i = 0; i < n && !a->error; i++) {
		uint64_t hash = 0;
		struct model_probe *mp = archive_reads(a) ? archive_alloc(a, 1, sizeof(*mp))
							  : table_next(ps->table, &at, &hash);

		if (!mp)
			return;
		archive_below(a, &hash, (uint64_t)UINT32_MAX + 1);
		model_probe_archive(a, mp);
		if (!archive_reads(a))
			continue;
		archive_require(a, !table_get(ps->table, hash));
		if (a->error || table_put(ps->table, hash, mp)) {
			archive_require(a, false);
			model_probe_free(mp);
		}
	}
}

static void model_attach_archive(struct archive *a, struct attach_view *v)
{
	archive_fields(a, v, probe, id, runtime, role, group, flags, at.dev, at.ino, at.offset,
		       at.hit_cost_ns, at.error, at.insn, at.state, at.library, since_ns, given_up);
}

void model_probes_archive(struct archive *a, struct model_probes *ps)
{
	model_table_archive(a, ps);
	device_codes_archive(a, &ps->codes);
	archive_items(a, ps->attach, ps->nattach, ps->cap, MODEL_ATTACH);
	for (uint32_t i = 0; i < ps->nattach; i++)
		model_attach_archive(a, &ps->attach[i]);
	if (archive_reads(a) && !a->error)
		model_probe_unseen_update(ps);
}
