/* SPDX-License-Identifier: Apache-2.0 */
/* marker_name.c - classifies names of ranges and operators by what they do in a training step. */
#include "userspace/model/signal/marker_private.h"

static uint32_t name_number(struct marker *m, const char *name)
{
	char **names;

	for (uint32_t i = 0; i < m->nnames; i++) {
		if (!strcmp(m->names[i], name))
			return i + 1;
	}
	if (m->nnames == MARKER_NAMES)
		return MARKER_NAMES;
	names = grow_items(m->names, &m->names_cap, m->nnames + 1, MARKER_NAMES, sizeof(char *));
	if (!names)
		return MARKER_NAMES;
	m->names = names;
	m->names[m->nnames] = strdup(name);
	return m->names[m->nnames] ? ++m->nnames : MARKER_NAMES;
}

/* Returns true and replaces text by CLASS if text is "<prefix>CLASS<suffix>". The kernel side may
 * have cut text within CLASS or the suffix. A range of the user that only contains such a text does
 * not match. */
static bool name_class(char *text, const char *prefix, const char *suffix)
{
	size_t len = strlen(text), before = strlen(prefix), after = strlen(suffix);

	if (strncmp(text, prefix, before) != 0)
		return false;
	if (len > before + after && !strcmp(text + len - after, suffix))
		len -= after;
	else if (len < GP_NAME_MAX - 1)
		return false;
	memmove(text, text + before, len - before);
	text[len - before] = '\0';
	return true;
}

static bool name_starts(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Classifies a range by its name. torch/optim/optimizer.py, torch/utils/data/dataloader.py,
 * torch/nn/parallel and torch/distributed/fsdp give these names. */
void marker_classify(struct marker *m, struct range *r)
{
	r->class = RANGE_OTHER;
	if (name_class(r->text, "Optimizer.step#", ".step"))
		r->class = RANGE_STEP;
	else if (name_class(r->text, "Optimizer.zero_grad#", ".zero_grad"))
		r->class = RANGE_ZERO_GRAD;
	else if (name_starts(r->text, "enumerate(DataLoader)#"))
		r->class = RANGE_FETCH;
	else if (!strcmp(r->text, "DistributedDataParallel.forward") ||
		 !strcmp(r->text, "DataParallel.forward") ||
		 name_starts(r->text, "FullyShardedDataParallel.") ||
		 name_starts(r->text, "FSDP::"))
		r->class = RANGE_FORWARD;
	r->name = r->class == RANGE_STEP || r->class == RANGE_ZERO_GRAD ? name_number(m, r->text)
									: 0;
}

/* Returns the role of the call. TensorFlow saves checkpoints by operators
 * (core/kernels/save_restore_v2_ops.cc): some write parts, and one merges the parts when all are
 * written. The record of such a call has the operator's name, but not the path of the
 * checkpoint. */
uint32_t marker_role(const struct call *c)
{
	static const struct {
		const char *name;
		enum gp_role role;
	} operators[] = {
		{"SaveV2", GP_ROLE_save_begin},
		{"MergeV2Checkpoints", GP_ROLE_save_end},
		{"RestoreV2", GP_ROLE_restore},
	};

	for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
		if (c->probe->role == GP_ROLE_execute && c->ev->rec->kind == GP_KIND_named &&
		    !strncmp(c->ev->named->name, operators[i].name, sizeof(c->ev->named->name)))
			return operators[i].role;
	}
	return c->probe->role;
}
