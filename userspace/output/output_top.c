/* SPDX-License-Identifier: Apache-2.0 */
/* output_top.c - shows the view of gp-bpf top with data from probes of this process, if no gp-bpf
 * service is running. */
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
	struct top *view;	/* the live view; NULL: only one frame is printed, at the end */
	struct top_ui ui;	/* how to print the frame at the end */
	struct top_state state; /* the latest state, which the frame at the end shows */
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
	/* Print no frame if no process was ever seen: a log line has said so. */
	if (t->view)
		log_show(NULL, NULL);
	else if (!out->json && *t->state.version)
		top_frame(&frame, &t->state, &t->ui, top_once_options());
	if (frame.data && write(STDOUT_FILENO, frame.data, frame.len) < 0)
		log_error("standard output: cannot write the view: %s", strerror(errno));
	buffer_free(&frame);
	top_close(t->view);
	top_state_free(&t->state);
	buffer_free(&t->json);
	free(t);
	out->top = NULL;
}
