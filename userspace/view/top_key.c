/* SPDX-License-Identifier: Apache-2.0 */
/* top_key.c - handles the keys of gp-bpf top. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/view/top.h"

#define PAGE 10

enum {
	KEY_ESC = 0x1b,
	KEY_UP = 0x100,
	KEY_DOWN,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_OTHER
};

int top_ui_init(struct top_ui *ui, const char *sort, const char *filter)
{
	int by = 0;

	*ui = (struct top_ui){0};
	while (sort && by < TOP_JOB_SORT_COUNT && strcmp(sort, top_job_sorts[by].name) != 0)
		by++;
	if (by == TOP_JOB_SORT_COUNT)
		return -EINVAL;
	if (filter && strlen(filter) >= sizeof(ui->filter)) {
		log_error("--filter: too long; at most %zu bytes", sizeof(ui->filter) - 1);
		return -EINVAL;
	}
	ui->sort = (enum top_job_sort)by;
	snprintf(ui->filter, sizeof(ui->filter), "%s", filter ? filter : "");
	return 0;
}

void top_ui_note(struct top_ui *ui, bool bad, const char *text)
{
	log_escape(ui->note, sizeof(ui->note), text, strlen(text));
	ui->bad = bad;
}

/* ---- actions --------------------------------------------------------------------------------- */

static uint32_t top_key_moved(uint32_t at, uint32_t n, int key)
{
	switch (key) {
	case KEY_UP:
		return at ? at - 1 : 0;
	case KEY_DOWN:
		return at + 1 < n ? at + 1 : at;
	case KEY_PAGE_UP:
		return at > PAGE ? at - PAGE : 0;
	case KEY_PAGE_DOWN:
		return at + PAGE < n ? at + PAGE : n - 1;
	case KEY_HOME:
		return 0;
	default:
		return n - 1;
	}
}

static void top_key_move_rank(struct top_ui *ui, const struct top_state *s, const struct top_job *j,
			      int key)
{
	uint32_t *order = malloc(TOP_RANKS * sizeof(*order)), n;

	if (!order)
		return;
	n = top_ranks_order(s, j, ui, order);
	if (n) {
		ui->pid = s->ranks[order[top_key_moved(top_rank_at(s, ui, order, n), n, key)]].pid;
		ui->any_pid = true;
	}
	free(order);
}

static void top_key_choose_job(struct top_ui *ui, const struct top_state *s, int key)
{
	uint32_t order[TOP_JOBS], n = s ? top_jobs_order(s, ui, order) : 0, at;

	if (!n)
		return;
	at = top_job_at(s, ui, order, n);
	if (key != '\n')
		at = top_key_moved(at, n, key);
	memcpy(ui->job, s->jobs[order[at]].key, sizeof(ui->job));
	ui->any = true;
}

static void top_key_open_job(struct top_ui *ui, const struct top_state *s)
{
	top_key_choose_job(ui, s, '\n');
	ui->open = ui->any && s && s->njobs;
	ui->any_pid = false;
}

static void top_key_move(struct top_ui *ui, const struct top_state *s, int key)
{
	const struct top_job *j = s ? top_job_open(s, ui) : NULL;

	if (j)
		top_key_move_rank(ui, s, j, key);
	else if (!ui->open)
		top_key_choose_job(ui, s, key);
}

static void top_key_sort_next(struct top_ui *ui, int by)
{
	if (ui->open)
		ui->rank_sort = (enum top_rank_sort)(
			((int)ui->rank_sort + by + TOP_RANK_SORT_COUNT) % TOP_RANK_SORT_COUNT);
	else
		ui->sort = (enum top_job_sort)(((int)ui->sort + by + TOP_JOB_SORT_COUNT) %
					       TOP_JOB_SORT_COUNT);
}

static void top_key_sort_by(struct top_ui *ui, int key)
{
	for (int i = 0; ui->open && i < TOP_RANK_SORT_COUNT; i++)
		if (top_rank_sorts[i].key == key)
			ui->rank_sort = (enum top_rank_sort)i;
	for (int i = 0; !ui->open && i < TOP_JOB_SORT_COUNT; i++)
		if (top_job_sorts[i].key == key)
			ui->sort = (enum top_job_sort)i;
}

/* Closes help, or the job with its ranks, or removes the filter. Returns true to quit: 'q' was
 * pressed in the list of jobs. */
static bool top_key_back(struct top_ui *ui, int key)
{
	if (ui->help)
		ui->help = false;
	else if (ui->open)
		ui->open = false;
	else if (key == 'q')
		return true;
	else
		*ui->filter = '\0';
	return false;
}

static void top_key_type(struct top_ui *ui, int key)
{
	size_t len = strlen(ui->filter);

	if (key == '\n' || key == '\r') {
		ui->typing = false;
	} else if (key == KEY_ESC) {
		ui->typing = false;
		*ui->filter = '\0';
	} else if (key == 0x7f || key == '\b') {
		while (len && ((unsigned char)ui->filter[len - 1] & 0xc0) == 0x80)
			len--;
		ui->filter[len ? len - 1 : 0] = '\0';
	} else if (key >= ' ' && key < 0x100 && len + 1 < sizeof(ui->filter)) {
		ui->filter[len] = (char)key;
		ui->filter[len + 1] = '\0';
	}
}

static bool top_key_act(struct top_ui *ui, const struct top_state *s, int key)
{
	if (ui->typing) {
		top_key_type(ui, key);
		return false;
	}
	switch (key) {
	case 'q':
	case KEY_ESC:
		return top_key_back(ui, key);
	case '?':
	case 'h':
		ui->help = !ui->help;
		break;
	case '/':
		ui->typing = !ui->open && !ui->help;
		break;
	case '\n':
	case '\r':
		if (!ui->open && !ui->help)
			top_key_open_job(ui, s);
		break;
	case 'r':
		*(ui->open ? &ui->rank_reverse : &ui->reverse) ^= true;
		break;
	case '<':
	case '>':
		top_key_sort_next(ui, key == '<' ? -1 : 1);
		break;
	case 'k':
	case 'j':
		top_key_move(ui, s, key == 'k' ? KEY_UP : KEY_DOWN);
		break;
	default:
		if (key >= KEY_UP && key < KEY_OTHER)
			top_key_move(ui, s, key);
		else
			top_key_sort_by(ui, key);
	}
	return false;
}

/* ---- bytes from a terminal ------------------------------------------------------------------- */

static int top_key_final_key(unsigned char c, unsigned number)
{
	static const struct {
		unsigned char final;
		unsigned number;
		int key;
	} rows[] = {
		{'A', 0, KEY_UP},   {'B', 0, KEY_DOWN},	   {'H', 0, KEY_HOME},
		{'F', 0, KEY_END},  {'~', 5, KEY_PAGE_UP}, {'~', 6, KEY_PAGE_DOWN},
		{'~', 1, KEY_HOME}, {'~', 7, KEY_HOME},	   {'~', 4, KEY_END},
		{'~', 8, KEY_END},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].final == c && (rows[i].number == number || c != '~'))
			return rows[i].key;
	return KEY_OTHER;
}

/* Decodes the first key in the input; returns its number of bytes. */
static size_t top_key_decode(const unsigned char *in, size_t len, int *ret_key)
{
	unsigned number = 0;
	size_t at = 2;

	*ret_key = in[0];
	if (in[0] != KEY_ESC || len < 3 || (in[1] != '[' && in[1] != 'O'))
		return 1;
	for (; at < len && (in[at] < 0x40 || in[at] > 0x7e); at++)
		if (in[at] >= '0' && in[at] <= '9' && number < 1000)
			number = number * 10 + (in[at] - '0');
	*ret_key = at < len ? top_key_final_key(in[at], number) : KEY_OTHER;
	return at < len ? at + 1 : len;
}

bool top_ui_keys(struct top_ui *ui, const struct top_state *s, const unsigned char *in, size_t len)
{
	int key;

	while (len) {
		size_t n = top_key_decode(in, len, &key);

		if (top_key_act(ui, s, key))
			return true;
		in += n;
		len -= n;
	}
	return false;
}
