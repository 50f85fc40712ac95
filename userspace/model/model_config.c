/* SPDX-License-Identifier: Apache-2.0 */
/* model_config.c - reads the settings of a model from records, in which they have the form
 * NAME=VALUE. */
#include <stdio.h>

#include "userspace/model/model_private.h"

/* Sets the lengths of windows from a text such as "3600000000000,86400000000000" (ns). Invalid
 * lengths are skipped. */
static void config_windows(struct model *m, char *value)
{
	uint64_t ns;
	int n = 0;

	memset(m->env.windows_ns, 0, sizeof(m->env.windows_ns));
	for (; *value && n < WINDOWS_MAX; value += *value == ',') {
		ns = strtoull(value, &value, 10);
		if (ns >= WINDOW_LEAST_NS && ns <= WINDOW_MOST_NS)
			m->env.windows_ns[n++] = ns;
		if (*value && *value != ',')
			break;
	}
}

static void config_exclude(struct model *m, const char *value, uint64_t now_ns)
{
	int64_t real_ns = anchors_real(&m->env.anchors, now_ns);

	if (!exclusion_say(&m->env.excluded, value) && real_ns)
		exclusion_place(&m->env.excluded, now_ns, real_ns);
}

/* Sets the marker from the name of a kind of marker, or from the id of a probe, which contains a
 * dot. */
static void config_marker(struct model *m, const char *value)
{
	m->env.step.probe = 0;
	m->env.step.probe_id[0] = '\0';
	m->env.step.force = BOUNDARY_NONE;
	for (int b = BOUNDARY_NONE + 1; b < BOUNDARY_MARKER_END; b++) {
		if (!strcmp(value, boundary_name[b]))
			m->env.step.force = (enum step_boundary)b;
	}
	if (!strchr(value, '.'))
		return;
	m->env.step.force = BOUNDARY_PROBE;
	m->env.step.probe = gp_probe_hash(value);
	snprintf(m->env.step.probe_id, sizeof(m->env.step.probe_id), "%s", value);
}

void model_config(struct model *m, const struct event *ev)
{
	char text[sizeof(ev->config->text)], *value;

	event_copy(text, ev->config->text);
	value = strchr(text, '=');
	if (!value)
		return;
	*value++ = '\0';
	if (program_config_set(&m->env.program, text, value))
		return;
	if (!strcmp(text, "multiply"))
		m->env.step.multiply = (uint32_t)strtoul(value, NULL, 10);
	else if (!strcmp(text, "overhead_budget_ppm"))
		m->env.budget_ppm = strtoull(value, NULL, 10);
	else if (!strcmp(text, "ideal_ns"))
		m->env.ideal_ns = strtoull(value, NULL, 10);
	else if (!strcmp(text, "hang_ns"))
		m->env.hang_ns = strtoull(value, NULL, 10);
	else if (!strcmp(text, "slow_ns"))
		m->env.slow_ns = strtoull(value, NULL, 10);
	else if (!strcmp(text, "slow_ppm"))
		m->env.slow_ppm = strtoull(value, NULL, 10);
	/* a new list of ranges follows: remove the earlier ones */
	else if (!strcmp(text, "ranges"))
		m->env.ranges.count = 0;
	else if (!strcmp(text, "range"))
		range_rules_add(&m->env.ranges,
				/* A range that is invalid was already reported by the command that
				 * wrote the setting. */
				value);
	else if (!strcmp(text, "job_uid"))
		snprintf(m->env.job_uid, sizeof(m->env.job_uid), "%s", value);
	/* a new list of excluded times follows: remove the earlier ones */
	else if (!strcmp(text, "excludes"))
		exclusion_forget(&m->env.excluded);
	else if (!strcmp(text, "exclude"))
		config_exclude(m, value, ev->rec->ts_ns);
	else if (!strcmp(text, "windows_ns"))
		config_windows(m, value);
	else if (!strcmp(text, "marker"))
		config_marker(m, value);
	else if (!strcmp(text, "marker_if_hit")) {
		config_marker(m, value);
		m->env.step.force = BOUNDARY_NONE;
	}
}
