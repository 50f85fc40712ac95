/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/job/carry.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/base/number.h"

#define MAGIC "gp-bpf carry "

uint64_t carry_elapsed_ns(const struct carry *c)
{
	uint64_t sum_ns = 0;

	for (int b = 0; b < BUCKET_COUNT; b++)
		sum_ns += c->ns[b];
	return sum_ns;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct text {
	char *at;
	size_t len;
};

__attribute__((format(printf, 2, 3))) static void carry_put(struct text *t, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(t->at + t->len, CARRY_MAX + 1 - t->len, fmt, args);
	va_end(args);
	t->len += n > 0 ? (size_t)n : 0;
	t->len = smaller_of(t->len, CARRY_MAX);
}

/* Writes a line "key value". The value comes from outside, so characters that a line must not
 * contain are escaped. */
static void carry_put_word(struct text *t, const char *key, const char *value, size_t cap)
{
	char word[GP_JOB_MAX];

	log_escape(word, smaller_of(cap, sizeof(word)), value, strnlen(value, cap));
	if (*word)
		carry_put(t, "%s %s\n", key, word);
}

static void carry_put_disruption(struct text *t, const struct carry *c)
{
	const struct job_disruption *f = &c->disruption;

	if (!c->disrupted)
		return;
	carry_put(t, "fall %s %lld %lld %d %d %d %llu %u %d %d\n",
		  disruption_cause_name[f->why.cause ? f->why.cause : CAUSE_unseen],
		  (long long)c->disrupted_ns, (long long)f->d.step, f->why.rank, f->why.exit_code,
		  f->why.signal, (unsigned long long)f->d.wasted_ns, f->d.starts, f->d.graceful,
		  c->unreported);
}

static void carry_put_saved(struct text *t, const struct carry_saved *s)
{
	static const char end[] = "end\n", key[] = "path \n";
	const char *path = s->path;
	size_t room;

	carry_put(t, "saved %llu %d %d\n", (unsigned long long)s->step, s->stepped, s->folder);
	if (s->filed)
		carry_put(t, "file %u %llu %llu\n", s->file.name, (unsigned long long)s->file.bytes,
			  (unsigned long long)s->file.mtime_ns);
	room = t->len + sizeof(end) + sizeof(key) < CARRY_MAX
		       ? CARRY_MAX - t->len - sizeof(end) - sizeof(key)
		       : 0;
	while (strlen(path) >
	       /* Removes leading folders from the path until it fits. If the last part alone is too
		* long, no path is sent. */
	       room) {
		path = strchr(path + 1, '/');
		if (!path)
			return;
	}
	carry_put_word(t, "path", path, sizeof(s->path));
}

/* Writes c->excluded, if the text has room for it after the path. */
static void carry_put_excluded(struct text *t, const struct carry *c)
{
	char line[32];
	int n = snprintf(line, sizeof(line), "away %llu\n", (unsigned long long)c->excluded);

	if (c->excluded && t->len + (size_t)n + sizeof("end\n") <= CARRY_MAX)
		carry_put(t, "%s", line);
}

size_t carry_text(char *out, const struct carry *c)
{
	struct text t = {.at = out};

	carry_put(&t, MAGIC "%d\n", CARRY_VERSION);
	carry_put_word(&t, "job", c->job, sizeof(c->job));
	carry_put_word(&t, "uid", c->uid, sizeof(c->uid));
	carry_put_word(&t, "node", c->node, sizeof(c->node));
	carry_put(&t, "attempt %u\nstate %s\n", c->attempt, job_state_name[c->state]);
	carry_put(&t, "until %lld\nrun %lld\n", (long long)c->until_ns, (long long)c->run_ns);
	carry_put(&t, "steps %llu %llu %llu\n", (unsigned long long)c->last_step,
		  (unsigned long long)c->steps, (unsigned long long)c->lost);
	carry_put(&t, "gross %llu %llu\nfalls %llu\n", (unsigned long long)c->gross_ns,
		  (unsigned long long)c->wasted_ns, (unsigned long long)c->disruptions);
	for (int b = 0; b < BUCKET_COUNT; b++)
		if (c->ns[b])
			carry_put(&t, "%s %llu\n", bucket_word[b], (unsigned long long)c->ns[b]);
	carry_put_disruption(&t, c);
	if (c->secures)
		carry_put(&t, "secured %llu %llu\n", (unsigned long long)c->secured_step,
			  (unsigned long long)c->secured_ns);
	if (c->saves)
		carry_put_saved(&t, &c->saved);
	carry_put_excluded(&t, c);
	carry_put(&t, "end\n");
	return t.len;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct line {
	char text[GP_JOB_MAX + 16];
	char *at; /* not read yet */
	bool bad;
};

/* Returns the next word of the line, or "". */
static const char *carry_word(struct line *l)
{
	char *from = l->at, *space = strchr(from, ' ');

	l->at = space ? space + 1 : from + strlen(from);
	if (space)
		*space = '\0';
	return from;
}

static uint64_t carry_number(struct line *l, uint64_t most)
{
	const char *w = carry_word(l);
	uint64_t v = 0;

	l->bad |= !*w || strlen(w) > 20;
	for (; *w && !l->bad; w++) {
		unsigned digit = (unsigned)(*w - '0');

		l->bad |= digit > 9 || v > (UINT64_MAX - digit) / 10;
		v = v * 10 + digit;
	}
	l->bad |= v > most;
	return l->bad ? 0 : v;
}

static int64_t carry_signed_number(struct line *l, int64_t least, int64_t most)
{
	bool minus = *l->at == '-';
	uint64_t v;

	l->at += minus;
	v = carry_number(l, minus ? (uint64_t) - (least + 1) + 1 : (uint64_t)most);
	return minus ? (int64_t)(0 - v) : (int64_t)v;
}

static bool carry_flag(struct line *l)
{
	return carry_number(l, 1);
}

/* Copies the rest of the line to out, escaped. */
static void carry_name(struct line *l, char *out, size_t cap)
{
	l->bad |= !*l->at || strlen(l->at) >= cap;
	log_escape(out, cap, l->at, strlen(l->at));
	l->at += strlen(l->at);
}

static void carry_read_state(struct carry *c, struct line *l)
{
	const char *w = carry_word(l);
	int s = 0;

	while (s <= JOB_ENDED && strcmp(w, job_state_name[s]) != 0)
		s++;
	l->bad |= s > JOB_ENDED;
	c->state = s > JOB_ENDED ? JOB_ENDED : (enum job_state)s;
}

/* Returns the cause that the next word names. An unknown name is accepted, because a newer version
 * may know more causes. */
static enum disruption_cause carry_cause(struct line *l)
{
	const char *w = carry_word(l);
	enum disruption_cause c = disruption_cause_find(w);

	l->bad |= !*w || strlen(w) >= DISRUPTION_CAUSE_MAX;
	return c < CAUSE_COUNT ? c : CAUSE_unseen;
}

static void carry_read_disruption(struct carry *c, struct line *l)
{
	struct job_disruption *f = &c->disruption;

	f->why.cause = carry_cause(l);
	c->disrupted = true;
	c->disrupted_ns = carry_signed_number(l, 0, INT64_MAX);
	f->d.step = carry_signed_number(l, INT64_MIN, CARRY_STEPS_MAX);
	f->why.rank = (int)carry_signed_number(l, -1, CARRY_TIMES_MAX);
	f->why.exit_code = (int)carry_signed_number(l, -1, 255);
	f->why.signal = (int)carry_number(l, 127);
	f->d.wasted_ns = carry_number(l, CARRY_NS_MAX);
	f->d.starts = (uint32_t)carry_number(l, CARRY_TIMES_MAX);
	f->d.graceful = carry_flag(l);
	c->unreported = carry_flag(l);
}

static void carry_read_saved(struct carry *c, struct line *l)
{
	c->saves = true;
	c->saved.step = carry_number(l, CARRY_STEPS_MAX);
	c->saved.stepped = carry_flag(l);
	c->saved.folder = carry_flag(l);
}

static void carry_read_file(struct carry *c, struct line *l)
{
	c->saved.filed = true;
	c->saved.file.name = (uint32_t)carry_number(l, UINT32_MAX);
	c->saved.file.bytes = carry_number(l, CARRY_NS_MAX);
	c->saved.file.mtime_ns = carry_number(l, INT64_MAX);
}

enum seen { SEEN_JOB = 1, SEEN_ATTEMPT = 2, SEEN_UNTIL = 4, SEEN_END = 8 };

static void carry_read_bucket(struct carry *c, struct line *l, const char *key)
{
	for (int b = 0; b < BUCKET_COUNT; b++)
		if (!strcmp(key, bucket_word[b]))
			c->ns[b] = carry_number(l, CARRY_NS_MAX);
}

/* Reads one line, of the format of this or an older version. If the line is a required one, returns
 * its bit, so that the caller can check that none is missing. */
static unsigned carry_read_line(struct carry *c, struct line *l)
{
	const char *key = carry_word(l);

	if (!strcmp(key, "job")) {
		carry_name(l, c->job, sizeof(c->job));
		return SEEN_JOB;
	}
	if (!strcmp(key, "uid")) {
		carry_name(l, c->uid, sizeof(c->uid));
	} else if (!strcmp(key, "node")) {
		carry_name(l, c->node, sizeof(c->node));
	} else if (!strcmp(key, "attempt")) {
		c->attempt = (uint32_t)carry_number(l, CARRY_TIMES_MAX);
		l->bad |= !c->attempt;
		return SEEN_ATTEMPT;
	} else if (!strcmp(key, "state")) {
		carry_read_state(c, l);
	} else if (!strcmp(key, "until")) {
		c->until_ns = carry_signed_number(l, 0, INT64_MAX / 2);
		return SEEN_UNTIL;
	} else if (!strcmp(key, "run")) {
		c->run_ns = carry_signed_number(l, 0, INT64_MAX / 2);
	} else if (!strcmp(key, "steps")) {
		c->last_step = carry_number(l, CARRY_STEPS_MAX);
		c->steps = carry_number(l, CARRY_STEPS_MAX);
		c->lost = carry_number(l, CARRY_STEPS_MAX);
	} else if (!strcmp(key, "away")) {
		c->excluded = carry_number(l, CARRY_STEPS_MAX);
	} else if (!strcmp(key, "gross")) {
		c->gross_ns = carry_number(l, CARRY_NS_MAX);
		c->wasted_ns = carry_number(l, CARRY_NS_MAX);
	} else if (!strcmp(key, "falls")) {
		c->disruptions = carry_number(l, CARRY_TIMES_MAX);
	} else if (!strcmp(key, "fall")) {
		carry_read_disruption(c, l);
	} else if (!strcmp(key, "saved")) {
		carry_read_saved(c, l);
	} else if (!strcmp(key, "secured")) {
		c->secures = true;
		c->secured_step = carry_number(l, CARRY_STEPS_MAX);
		c->secured_ns = carry_number(l, CARRY_NS_MAX);
	} else if (!strcmp(key, "file")) {
		carry_read_file(c, l);
	} else if (!strcmp(key, "path")) {
		carry_name(l, c->saved.path, sizeof(c->saved.path));
	} else if (!strcmp(key, "end")) {
		return SEEN_END;
	} else {
		carry_read_bucket(c, l, key);
	}
	return 0;
}

/* Gets the next line. Returns 1, 0 if there is no further complete line, or -EBADMSG if the line is
 * too long or is not text. */
static int carry_next_line(struct line *ret, const char **at, size_t *len)
{
	const char *end = memchr(*at, '\n', *len);
	size_t n = end ? (size_t)(end - *at) : 0;

	if (!end)
		return 0;
	if (n >= sizeof(ret->text) || memchr(*at, '\0', n))
		return -EBADMSG;
	memcpy(ret->text, *at, n);
	ret->text[n] = '\0';
	ret->at = ret->text;
	ret->bad = false;
	*len -= n + 1;
	*at = end + 1;
	return 1;
}

static bool carry_is_consistent(const struct carry *c)
{
	return carry_elapsed_ns(c) <= CARRY_NS_MAX && (int64_t)carry_elapsed_ns(c) <= c->until_ns &&
	       c->run_ns <= c->until_ns && c->disrupted_ns <= c->until_ns &&
	       (!c->disrupted || c->unreported || c->disruptions) &&
	       (!c->unreported || c->disrupted) && (c->saves || !c->saved.filed);
}

int carry_parse(struct carry *ret, const char *text, size_t len)
{
	struct carry c = {.state = JOB_ENDED};
	unsigned seen = 0;
	struct line l;
	uint64_t version;

	if (len > CARRY_MAX || carry_next_line(&l, &text, &len) != 1 ||
	    strncmp(l.text, MAGIC, strlen(MAGIC)) != 0)
		return -EBADMSG;
	l.at += strlen(MAGIC);
	version = carry_number(&l, UINT32_MAX);
	if (l.bad || !version)
		return -EBADMSG;
	if (version > CARRY_VERSION)
		return -EPROTO;
	while (!(seen & SEEN_END) && carry_next_line(&l, &text, &len) == 1) {
		seen |= carry_read_line(&c, &l);
		if (l.bad)
			return -EBADMSG;
	}
	if (seen != (SEEN_JOB | SEEN_ATTEMPT | SEEN_UNTIL | SEEN_END) || len ||
	    !carry_is_consistent(&c))
		return -EBADMSG;
	*ret = c;
	return 0;
}

/* ---- replacing another text ------------------------------------------------------------------ */

static bool carry_supersedes(const struct carry *there, const struct carry *c)
{
	if (there->attempt != c->attempt)
		return there->attempt > c->attempt;
	return strcmp(there->node, c->node) != 0 && there->run_ns >= c->run_ns;
}

int carry_replaces(const struct carry *c, const char *there, size_t len, struct carry *had)
{
	int err = carry_parse(had, there, len);

	if (err)
		return err == -EPROTO ? err : 0;
	if (strcmp(had->job, c->job) != 0 || strcmp(had->uid, c->uid) != 0)
		return -EEXIST;
	return carry_supersedes(had, c) ? -ESTALE : 0;
}
