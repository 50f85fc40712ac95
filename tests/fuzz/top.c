/* SPDX-License-Identifier: Apache-2.0 */
/* What answers gp-bpf top, and what is typed meanwhile: frames are as wide and as long as the
 * terminal, and hold nothing that it obeys. Keys up to the first NUL, then the answer. */
#include "tests/fuzz/fuzz.h"
#include "userspace/text/canvas.h"
#include "userspace/view/top.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	fuzz_quiet();
	return 0;
}

static void frame_is_sound(const struct top_state *s, const struct top_ui *ui, int cols, int rows)
{
	struct top_frame_options o = {.cols = cols, .rows = rows};
	struct buffer b = {0};
	int lines = 0;

	top_frame(&b, s, ui, &o);
	REQUIRE(!b.failed && b.len == strlen(b.data));
	for (char *at = b.data, *end; *at; at = end + 1) {
		end = strchr(at, '\n');
		REQUIRE(end);
		*end = '\0';
		REQUIRE(fuzz_printable(at, (size_t)(end - at), true));
		REQUIRE(canvas_width(at) <= cols);
		lines++;
	}
	REQUIRE(!rows || lines <= rows);
	buffer_free(&b);
}

static void state_is_sound(const struct top_state *s)
{
	uint32_t ranks = 0;

	for (uint32_t i = 0; i < s->njobs; i++) {
		const struct top_job *j = &s->jobs[i];

		REQUIRE(j->first + j->ranks <= s->nranks && j->alive <= j->ranks);
		REQUIRE(j->shown == TOP_RANKS ||
			(j->shown >= j->first && j->shown < j->first + j->ranks));
		REQUIRE(top_goodput(&j->time) <= 1);
		ranks += j->ranks;
	}
	REQUIRE(ranks <= s->nranks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	size_t keys = strnlen((const char *)data, len);
	struct top_state s = {0};
	struct top_ui ui;
	int cols;

	if (keys == len || keys > 200)
		return 0;
	cols = len % 3 ? 80 + (int)(len % 3) * 40 : 1 + (int)(len % 100);
	REQUIRE(!top_ui_init(&ui, NULL, NULL));
	if (!top_state_parse(&s, (const char *)data + keys + 1, len - keys - 1)) {
		state_is_sound(&s);
		frame_is_sound(&s, &ui, cols, 0);
	}
	for (size_t i = 0; i < keys; i += 8) {
		if (top_ui_keys(&ui, s.ranks ? &s : NULL, data + i, keys - i < 8 ? keys - i : 8))
			break;
		frame_is_sound(&s, &ui, cols, 1 + (int)(len % 50));
	}
	top_state_free(&s);
	return 0;
}
