/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf top without a service: frames from our own probes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/output/output_private.h"
#include "userspace/view/terminal.h"
#include "userspace/view/top.h"
#include "userspace/report/report.h"

struct output_top {
	struct top *view;	/* NULL: one frame, at the end */
	struct top_ui ui;	/* for that frame */
	struct top_state state; /* state for that frame, the last one */
	struct buffer json;
};

static void output_top_on_log(void *ctx, enum log_level level, const char *line)
{
	top_note(((struct output_top *)ctx)->view, level == LOG_ERROR, line);
}

int output_top(struct output *out, const struct top_ui *ui, bool live)
{
	struct output_top *t = calloc(1, sizeof(*t));
	int err = t ? 0 : -ENOMEM;

	if (!err && live)
		err = top_open(&t->view, ui, STDIN_FILENO, STDOUT_FILENO);
	if (err) {
		free(t);
		return err;
	}
	t->ui = *ui;
	out->top = t;
	if (t->view)
		log_show(output_top_on_log, t);
	return 0;
}

void output_top_tick(struct output *out, const struct snapshot *s)
{
	struct output_top *t = out->top;
	struct top_state state = {0};

	buffer_clear(&t->json);
	report_json(&t->json, s);
	if (t->json.failed || top_state_parse(&state, t->json.data, t->json.len))
		return;
	if (t->view) {
		top_show(t->view, &state);
		return;
	}
	top_state_free(&t->state);
	t->state = state;
}

int output_top_key(struct output *out)
{
	return out->top->view ? top_key(out->top->view) : 0;
}

void output_top_resize(struct output *out)
{
	if (out->top->view)
		top_resize(out->top->view);
}

bool output_has_keys(const struct output *out)
{
	return out->live || (out->top && out->top->view);
}

void output_top_close(struct output *out)
{
	struct output_top *t = out->top;
	struct buffer frame = {0};

	if (!t)
		return;
	if (t->view)
		log_show(NULL, NULL);
	else if (!out->json && *t->state.version) /* nothing was seen: the reason has been logged */
		top_frame(&frame, &t->state, &t->ui, top_once_options());
	if (frame.data && write(STDOUT_FILENO, frame.data, frame.len) < 0)
		log_error("standard output: %s", strerror(errno));
	buffer_free(&frame);
	top_close(t->view);
	top_state_free(&t->state);
	buffer_free(&t->json);
	free(t);
	out->top = NULL;
}
