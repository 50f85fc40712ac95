/* SPDX-License-Identifier: Apache-2.0 */
/* JSON lines: --export json[:FILE|-]. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "userspace/export/exporter.h"
#include "userspace/export/json_line.h"
#include "userspace/export/sink.h"

struct json_export {
	struct sink *sink;
	bool ended; /* the end was told, but its sums come with the last snapshot */
	struct fact end_fact;
	struct gp_end end;
};

static int export_json_open(void **ret_state, const char *arg, const struct export_options *opt)
{
	struct json_export *j = calloc(1, sizeof(*j));
	int err;

	(void)opt;
	if (!j)
		return -ENOMEM;
	err = sink_open(&j->sink, arg && *arg ? arg : "-");
	if (err) {
		free(j);
		return err;
	}
	*ret_state = j;
	return 0;
}

static void export_json_line(struct json_export *j, const struct fact *f, const struct snapshot *last)
{
	json_line(sink_buffer(j->sink), f, last);
	sink_line(j->sink);
}

static void export_json_end(struct json_export *j, const struct snapshot *last)
{
	if (!j->ended)
		return;
	j->ended = false;
	j->end_fact.end = &j->end;
	j->end_fact.job = "";
	export_json_line(j, &j->end_fact, last);
}

static void export_json_fact(void *state, const struct fact *f)
{
	struct json_export *j = state;

	if (f->type != FACT_END) {
		export_json_line(j, f, NULL);
		return;
	}
	j->end_fact = *f;
	j->end = *f->end;
	j->ended = true;
}

static void export_json_snapshot(void *state, struct snapshot *s)
{
	struct json_export *j = state;

	export_json_end(j, s);
	sink_flush(j->sink);
}

static int export_json_close(void *state)
{
	struct json_export *j = state;
	int err;

	export_json_end(j, NULL);
	err = sink_close(j->sink);
	free(j);
	return err;
}

const struct exporter export_json = {
	.name = "json",
	.help = "every fact as a line of JSON, to FILE or - (standard output); gp-bpf schema describes them",
	.open = export_json_open,
	.fact = export_json_fact,
	.snapshot = export_json_snapshot,
	.close = export_json_close,
};
