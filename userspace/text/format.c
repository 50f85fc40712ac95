/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/text/format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "userspace/base/clock.h"
#include "userspace/ingest/event.h"
#include "userspace/model/time/hang.h"

#define NS_PER_S 1000000000ll

const struct part_style part_style[PART_COUNT] = {
	[BUCKET_GOODPUT] = {"█", STYLE_GREEN},
	[BUCKET_DATA_LOADING] = {"▓", STYLE_YELLOW},
	[BUCKET_CHECKPOINT_SAVE] = {"▚", STYLE_CYAN},
	[BUCKET_CHECKPOINT_RESTORE] = {"▞", STYLE_CYAN},
	[BUCKET_EVAL] = {"▒", STYLE_BLUE},
	[BUCKET_PROGRAM_STARTUP] = {"░", STYLE_MAGENTA},
	[BUCKET_TRAINING_PREP] = {"▤", STYLE_MAGENTA},
	[BUCKET_ACCELERATOR_INIT] = {"▥", STYLE_MAGENTA},
	[BUCKET_RECOVERY] = {"╱", STYLE_RED},
	[BUCKET_WASTED] = {"╲", STYLE_RED},
	[BUCKET_SLICE_DOWN] = {"╱", STYLE_YELLOW},
	[BUCKET_SCALE_UP] = {"╱", STYLE_CYAN},
	[BUCKET_REINIT] = {"╱", STYLE_MAGENTA},
	[BUCKET_CUSTOM] = {"▒", STYLE_CYAN},
	[BUCKET_HANG] = {"╳", STYLE_RED},
	[BUCKET_OTHER] = {"·", STYLE_DIM},
	[BUCKET_UNOBSERVED] = {"╌", STYLE_DIM},
	[BUCKET_EXCLUDED] = {" ", STYLE_DIM},
	[PART_RUNNING] = {"─", STYLE_PLAIN},
};

const char *text_duration(char out[WORD_MAX], uint64_t ns)
{
	if (!ns)
		return "unknown";
	return clock_duration(out, WORD_MAX, ns);
}

const char *text_percent(char out[WORD_MAX], uint64_t part, uint64_t whole)
{
	double percent;

	if (!whole)
		return "unknown";
	percent = 100.0 * (double)part / (double)whole;
	if (!part)
		return "0 %";
	if (percent < 0.1)
		return "<0.1 %";
	if (part < whole && percent >= 99.95) /* write "100 %" only if part equals whole */
		return ">99.9 %";
	snprintf(out, WORD_MAX, "%.1f %%", percent);
	return out;
}

const char *text_time(char out[WORD_MAX], const struct snapshot *s, uint64_t mono_ns)
{
	time_t t;
	struct tm tm;

	if (!s->real_ns)
		return "--:--:--";
	t = (time_t)((int64_t)((uint64_t)s->real_ns - s->mono_ns + mono_ns) / NS_PER_S);
	localtime_r(&t, &tm);
	strftime(out, WORD_MAX, "%H:%M:%S", &tm);
	return out;
}

const char *text_date(char out[WORD_MAX + 8], int64_t real_ns)
{
	time_t t = (time_t)(real_ns / NS_PER_S);
	struct tm tm;

	if (!real_ns)
		return "";
	gmtime_r(&t, &tm);
	strftime(out, WORD_MAX + 8, "%Y-%m-%d %H:%M:%S UTC", &tm);
	return out;
}

const char *text_rank(char out[WORD_MAX], int rank, int world_size)
{
	if (rank < 0)
		return "";
	if (world_size > 0)
		snprintf(out, WORD_MAX, "rank %d of %d", rank, world_size);
	else
		snprintf(out, WORD_MAX, "rank %d", rank);
	return out;
}

uint64_t text_observed_ns(const struct ledger_view *l)
{
	uint64_t elapsed = ledger_elapsed(l), unseen = l->ns[BUCKET_UNOBSERVED];

	return unseen < elapsed ? elapsed - unseen : 0;
}

static int text_part_order(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if ((x->id == BUCKET_GOODPUT) != (y->id == BUCKET_GOODPUT))
		return x->id == BUCKET_GOODPUT ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return x->id != y->id ? x->id - y->id : strcmp(x->label, y->label);
}

int text_parts(struct part parts[PARTS_MAX], const struct ledger_view *l,
	       const struct type_names *names)
{
	uint64_t custom_ns = 0;
	int n = 0;

	for (uint32_t i = 1; i < l->ntypes; i++) {
		custom_ns += l->types[i].ns;
		if (l->types[i].ns && l->types[i].name < LEDGER_TYPES)
			parts[n++] = (struct part){BUCKET_CUSTOM, l->types[i].ns,
						   names->name[l->types[i].name]};
	}
	for (int i = 0; i < BUCKETS_EXPORTED; i++) {
		uint64_t ns = l->ns[i];

		if (i == BUCKET_OTHER)
			ns -= l->unsettled_ns < ns ? l->unsettled_ns : ns;
		if (i == BUCKET_CUSTOM)
			ns -= custom_ns;
		if (ns)
			parts[n++] = (struct part){i, ns, bucket_label[i]};
	}
	if (l->unsettled_ns)
		parts[n++] = (struct part){PART_RUNNING, l->unsettled_ns, "running now"};
	qsort(parts, (size_t)n, sizeof(*parts), text_part_order);
	return n;
}

void text_apportion(const struct part *parts, int nparts, int cells, int *ret_cells)
{
	uint64_t total = 0;
	int given = 0, step, most;

	for (int i = 0; i < nparts; i++)
		total += parts[i].ns;
	for (int i = 0; i < nparts; i++) {
		double share = total ? (double)parts[i].ns / (double)total : 0;

		ret_cells[i] = (int)(share * cells + 0.5);
		if (!ret_cells[i] && share >= 0.002)
			ret_cells[i] = 1;
		given += ret_cells[i];
	}
	/* The largest part absorbs rounding differences. */
	while (nparts && given != cells) {
		most = 0;
		for (int i = 1; i < nparts; i++)
			if (ret_cells[i] > ret_cells[most])
				most = i;
		step = given < cells ? 1 : -1;
		if (!ret_cells[most] && step < 0)
			break;
		ret_cells[most] += step;
		given += step;
	}
}

const struct loop_view *text_main_loop(const struct rank_view *r)
{
	const struct loop_view *best = NULL;

	for (uint32_t i = 0; i < r->nloops; i++)
		if (!best || r->loops[i].last_end_ns > best->last_end_ns)
			best = &r->loops[i];
	return best;
}

const char *text_fate(char *out, size_t len, const struct rank_view *r)
{
	if (r->alive)
		return "running";
	if (r->status == -1)
		snprintf(out, len, "ended unseen");
	else if (WIFSIGNALED(r->status))
		snprintf(out, len, "killed by signal %d (%s)", WTERMSIG(r->status),
			 strsignal(WTERMSIG(r->status)));
	else if (WEXITSTATUS(r->status))
		snprintf(out, len, "exit status %d", WEXITSTATUS(r->status));
	else
		return "finished";
	return out;
}

/* Names other ranks of the job whose state may explain why this rank waits. */
static void text_culprits(char *out, size_t len, const struct snapshot *s,
			  const struct rank_view *r)
{
	const struct hang_view *h = &r->hang;
	size_t at = strlen(out);

	for (uint32_t i = 0; h->why == GP_WHY_collective && i < s->nranks && at < len; i++) {
		const struct rank_view *o = &s->ranks[i];

		if (o == r || strcmp(o->job, r->job) != 0 || !o->hang.onset_ns ||
		    o->hang.why == GP_WHY_collective || o->hang.why == GP_WHY_unknown ||
		    o->hang.onset_ns >= h->onset_ns + h->size_ns ||
		    o->hang.onset_ns + o->hang.size_ns <= h->onset_ns)
			continue;
		if (o->rank >= 0)
			at += (size_t)snprintf(out + at, len - at, ", rank %d %s", o->rank,
					       hang_why_text[o->hang.why]);
		else
			at += (size_t)snprintf(out + at, len - at, ", pid %u %s", o->pid,
					       hang_why_text[o->hang.why]);
	}
}

const char *text_hang(char *out, size_t len, const struct snapshot *s, const struct rank_view *r)
{
	snprintf(out, len, "%s", hang_why_text[r->hang.why]);
	text_culprits(out, len, s, r);
	return out;
}

const char *text_change(char *out, size_t len, const struct loop_view *l)
{
	const struct change_view *c = &l->change;
	enum time_cause cause = time_cause_main(&l->causes);
	unsigned long long from = c->onset_step, to = c->end_step - 1;
	char period[48];
	double more;

	if (!c->count || !c->before_ns)
		return NULL;
	more = 100 * ((double)c->after_ns / (double)c->before_ns - 1);
	if (c->slow)
		snprintf(out, len, "slow since step %llu: %+.0f %%%s%s", from, more,
			 c->blame < 0 ? "" : ", ", change_part_name(c->blame));
	else
		snprintf(out, len, "slow from step %llu to %llu: %+.0f %%%s%s", from, to, more,
			 c->blame < 0 ? "" : ", ", change_part_name(c->blame));
	if (cause != TIME_CAUSE_unknown)
		snprintf(out + strlen(out), len - strlen(out), ": %s", time_cause_label[cause]);
	if (c->period)
		snprintf(out + strlen(out), len - strlen(out), "; %s",
			 change_period_text(period, sizeof(period), c));
	return out;
}

const char *text_windows(char *out, size_t len, const struct rank_view *r)
{
	char name[16], share[WORD_MAX];
	size_t at = 0;

	*out = '\0';
	for (int i = 0; i < WINDOWS_MAX && r->windows[i].length_ns && at < len; i++) {
		const struct window_view *w = &r->windows[i];

		if (w->whole)
			continue;
		at += (size_t)snprintf(out + at, len - at, "%s%s %s", at ? ", " : "",
				       window_name(name, w->length_ns),
				       text_percent(share, w->ns[BUCKET_GOODPUT],
						    window_elapsed(w) - w->ns[BUCKET_UNOBSERVED]));
	}
	return at ? out : NULL;
}

/* Returns advice for the first process in which gp-bpf finds repeated work (cycles) but no training
 * steps. NULL: there is no such process. */
static const char *text_cycle_hint(const struct snapshot *s)
{
	for (uint32_t i = 0; i < s->nranks; i++) {
		const struct rank_view *r = &s->ranks[i];
		const struct step_state *st = r->nloops ? &r->loops[0].state : NULL;
		const char *hint;

		if (!st || st->tier == TIER_NONE || st->unit != UNIT_CYCLE)
			continue;
		hint = strstr(st->reason, ": ");
		if (hint)
			return hint + 2;
	}
	return NULL;
}

/* Returns the last process that failed. NULL: none failed. */
static const struct rank_view *text_failed_rank(const struct snapshot *s)
{
	const struct rank_view *found = NULL;

	for (uint32_t i = 0; i < s->nranks; i++)
		if (!s->ranks[i].alive && s->ranks[i].status > 0)
			found = &s->ranks[i];
	return found;
}

void text_why_nothing(const struct snapshot *s, char room[TEXT_WHY_MAX], const char **ret_why,
		      const char **ret_hint)
{
	const struct rank_view *ended = text_failed_rank(s);
	char end[64];
	const char *cycle = text_cycle_hint(s);
	uint64_t hits = 0;
	bool attached = false, failed = false;

	for (uint32_t i = 0; i < s->nattach; i++) {
		attached |= s->attach[i].at.state == GP_ATTACH_attached ||
			    s->attach[i].at.state == GP_ATTACH_detached ||
			    s->attach[i].at.state == GP_ATTACH_counted ||
			    s->attach[i].at.state == GP_ATTACH_given_up;
		failed |= s->attach[i].at.state == GP_ATTACH_failed ||
			  s->attach[i].at.state == GP_ATTACH_refused;
		if (s->attach[i].group == GP_GROUP_marker)
			hits += s->attach[i].hits;
	}
	if (cycle) {
		*ret_why =
			"a process waits for its device again and again; whether that trains is not known";
		*ret_hint = cycle;
	} else if (!attached && failed) {
		*ret_why = "a runtime library is there, but no probe could be attached to it";
		*ret_hint = "see why: gp-bpf check --pid PID";
	} else if (!attached) {
		*ret_why =
			"no process mapped a runtime library that gp-bpf knows (libtorch and others)";
		*ret_hint =
			"is it the right process? gp-bpf probes lists the libraries that are known";
	} else if (ended) {
		snprintf(room, TEXT_WHY_MAX, "pid %u ended before it trained: %s", ended->pid,
			 text_fate(end, sizeof(end), ended));
		*ret_why = room;
		*ret_hint = "see what it printed itself";
	} else if (!hits) {
		*ret_why = "probes are attached, but none that marks training was hit";
		*ret_hint =
			"did training run during this time? See what is attached: gp-bpf check --pid PID";
	} else {
		*ret_why =
			"the framework was at work, but no training step was seen: inference only?";
		*ret_hint =
			"training without an optimizer of the framework? Name its marker: --marker NAME";
	}
}

uint64_t text_lost(const struct snapshot *s)
{
	uint64_t lost = 0;

	for (int i = 0; i < GP_LOSS_CAUSE_COUNT; i++)
		if (event_loss_of_data((unsigned)i))
			lost += s->lost[i];
	return lost;
}

const char *text_losses(char *out, size_t len, const struct snapshot *s)
{
	static const char *const words[GP_LOSS_CAUSE_COUNT] = {
		[GP_LOSS_ring_call] = "call ring full",
		[GP_LOSS_ring_life] = "life ring full",
		[GP_LOSS_watch_full] = "child not watched",
		[GP_LOSS_slots_full] = "shared counter slot",
		[GP_LOSS_open_full] = "open calls full",
		[GP_LOSS_unpaired] = "unpaired",
		[GP_LOSS_read_fault] = "unreadable argument",
		[GP_LOSS_rate_limited] = "rate limited",
		[GP_LOSS_late] = "late",
		[GP_LOSS_malformed] = "malformed",
		[GP_LOSS_tape] = "tape not written",
		[GP_LOSS_stack_full] = "range stack full",
		[GP_LOSS_names_full] = "table of names full",
		[GP_LOSS_file_limited] = "files over their bound",
	};
	size_t at = 0;

	for (int i = 0; i < GP_LOSS_CAUSE_COUNT; i++)
		if (event_loss_of_data((unsigned)i) && s->lost[i] && at < len)
			at += (size_t)snprintf(out + at, len - at, "%s%llu %s", at ? ", " : "",
					       (unsigned long long)s->lost[i], words[i]);
	return at ? out : "none";
}

/* Returns true if the overhead limit has switched off probes of this group, now or earlier;
 * *ret_word: how ("detached", "counted, not sent"...). */
static bool text_group_taken(const struct snapshot *s, const struct attach_view *of,
			     const char **ret_word)
{
	bool detached = false, counted = false, was = false;

	for (uint32_t i = 0; i < s->nattach; i++) {
		const struct attach_view *a = &s->attach[i];

		if (a->group != of->group || strcmp(a->runtime, of->runtime))
			continue;
		detached |= a->at.state == GP_ATTACH_given_up;
		counted |= a->at.state == GP_ATTACH_counted;
		was |= a->given_up;
	}
	*ret_word = detached ? "detached" : counted ? "counted, not sent" : "for a while, now back";
	return detached || counted || was;
}

static bool text_group_first(const struct snapshot *s, uint32_t at)
{
	for (uint32_t i = 0; i < at; i++)
		if (s->attach[i].group == s->attach[at].group &&
		    !strcmp(s->attach[i].runtime, s->attach[at].runtime))
			return false;
	return true;
}

const char *text_given_up(char *out, size_t len, const struct snapshot *s)
{
	const char *word;
	size_t at = 0;

	for (uint32_t i = 0; i < s->nattach && at < len; i++) {
		const struct attach_view *a = &s->attach[i];

		if (text_group_first(s, i) && text_group_taken(s, a, &word))
			at += (size_t)snprintf(out + at, len - at, "%s%s of %s %s", at ? "; " : "",
					       event_group_name(a->group), a->runtime, word);
	}
	return at ? out : NULL;
}

bool text_phase_shows(uint64_t ns, uint64_t whole_ns)
{
	return ns && ns >= whole_ns / 2000;
}

uint64_t text_phase_rest_ns(const struct loop_view *l)
{
	uint64_t whole_ns = (uint64_t)(l->time.mean_ns * (double)l->time.count), known_ns = 0;

	for (int i = 0; i < PHASE_COUNT; i++)
		if (l->phases_known & (1u << i))
			known_ns += l->phase_ns[i];
	return whole_ns > known_ns ? whole_ns - known_ns : 0;
}

/* Returns the letters of options after which a program gets code or data instead of a script; NULL:
 * the program does not run scripts. */
static const char *text_code_options(const char *word, size_t len)
{
	static const struct {
		const char *name, *options;
	} shells[] = {{"python", "c"}, {"pypy", "c"},  {"bash", "cs"},
		      {"sh", "cs"},    {"dash", "cs"}, {"zsh", "cs"},
		      {"perl", "eE"},  {"ruby", "eE"}, {"node", "ep"}};
	const char *slash = memrchr(word, '/', len);
	size_t n;

	len -= slash ? (size_t)(slash + 1 - word) : 0;
	word = slash ? slash + 1 : word;
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		n = strlen(shells[i].name);
		if (len >= n && !memcmp(word, shells[i].name, n) &&
		    strspn(word + n, "0123456789.") >= len - n)
			return shells[i].options;
	}
	return NULL;
}

/* Returns true if no script follows this option: -c CODE, -ne CODE, --eval CODE, - (standard
 * input). */
static bool text_option_is_code(const char *word, size_t len, const char *options)
{
	if (word[0] != '-')
		return false;
	if (len > 1 && word[1] == '-')
		return !strncmp(word, "--eval", 6) || !strncmp(word, "--print", 7);
	return len == 1 || strcspn(word, options) < len;
}

/* Returns the script of a command line whose program name has `first` bytes; *ret_len 0: none. */
static const char *text_script_of(const char *text, size_t first, size_t *ret_len)
{
	const char *shell = text_code_options(text, first), *word = text + first;
	bool value = false;

	for (size_t len; *word; word += len) {
		word += strspn(word, " ");
		len = strcspn(word, " ");
		*ret_len = len;
		if (shell && text_option_is_code(word, len, shell))
			break;
		/* skip the value of -W and -X; the value of -m is a module, shown like a script */
		if (*word == '-')
			value = shell && len == 2 && strchr("WX", word[1]);
		else if (value || memchr(word, '=', len))
			value = false;
		else if (len && (shell || (len > 3 && !memcmp(word + len - 3, ".py", 3))))
			return word;
	}
	*ret_len = 0;
	return word;
}

void text_program(char *out, size_t cap, const char *text)
{
	size_t first = strcspn(text, " "), len, shown;
	const char *script = text_script_of(text, first, &len);

	shown = first + (len ? len + 1 : 0);
	snprintf(out, cap, "%.*s%s%.*s%s", (int)first, text, len ? " " : "", (int)len, script,
		 shown < strlen(text) ? " ..." : "");
}
