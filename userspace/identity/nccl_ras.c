/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/identity/nccl_ras.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MAX 4  /* limit of ranks whose numbers are kept */
#define DEPTH_MAX 12 /* limit of nested JSON objects and arrays; NCCL's answer has 7 */
#define HOST_MAX  46
#define HASH_MAX  16

/* Collectives, which all ranks of a communicator launch equally often; Send and other operations
 * are not compared. NCCL 2.24 and 2.25 count all collectives together, as "collectives". */
static const char *const ops[] = {"Broadcast",	   "Reduce",	"AllGather",
				  "ReduceScatter", "AllReduce", "collectives"};
#define OPS    (sizeof(ops) / sizeof(ops[0]))
#define OP_ANY (OPS - 1)

/* Some ranks of a communicator. rank[] lists the first of them; pid and host describe rank[0]. */
struct ras_ranks {
	uint64_t n; /* number of ranks; greater than `known` if some of them are not listed below */
	uint32_t known;
	uint64_t rank[RANKS_MAX];
	uint64_t pid; /* 0: unknown */
	char host[HOST_MAX];
};

struct ras_level {
	uint64_t count; /* number of launches */
	struct ras_ranks ranks;
};

struct ras_comm {
	char hash[HASH_MAX + 1];
	bool own; /* the process that gp-bpf asked is a member of the communicator */
	bool dead;
	struct ras_ranks missing;
	struct {
		uint64_t ranks;
		struct ras_level low, top;
	} op[OPS];
};

/* Findings about all communicators that were read so far */
struct ras_verdict {
	uint32_t pid;
	bool json;
	struct ras_comm missing; /* missing.n 0: no rank is missing */
	/* lag: the communicator with the fewest late ranks; same: one without late ranks */
	struct ras_comm lag, same;
	/* operations of lag and same, as indexes in ops[]; OPS: no such communicator */
	size_t lag_op, same_op;
};

/* One rank, as read from a line of text or a JSON object */
struct ras_rank {
	uint64_t rank, pid;
	char host[HOST_MAX];
	bool known, dead, gone, counted[OPS];
	uint64_t count[OPS];
};

/* ---- address --------------------------------------------------------------------------------- */

static void ras_address_add(struct nccl_ras_address *a, const void *v4, const void *v6,
			    uint16_t port)
{
	if (v4) {
		a->at[a->count].v4 = (struct sockaddr_in){.sin_family = AF_INET,
							  .sin_port = htons(port)};
		memcpy(&a->at[a->count++].v4.sin_addr, v4, sizeof(struct in_addr));
	}
	if (v6) {
		a->at[a->count].v6 = (struct sockaddr_in6){.sin6_family = AF_INET6,
							   .sin6_port = htons(port)};
		memcpy(&a->at[a->count++].v6.sin6_addr, v6, sizeof(struct in6_addr));
	}
}

bool nccl_ras_address(const char *text, struct nccl_ras_address *ret)
{
	const struct in_addr loop = {.s_addr = htonl(INADDR_LOOPBACK)};
	char host[INET6_ADDRSTRLEN], *end;
	struct in6_addr v6;
	struct in_addr v4;
	unsigned long port;
	const char *colon;
	size_t len;
	bool bracket;

	*ret = (struct nccl_ras_address){0};
	text = text ? text : "localhost:28028";
	colon = strrchr(text, ':');
	bracket = *text == '[';
	len = colon ? (size_t)(colon - text) : 0;
	if (!len || colon[1] < '0' || colon[1] > '9' ||
	    (bracket && (len < 2 || colon[-1] != ']')) || len - 2 * bracket >= sizeof(host))
		return false;
	port = strtoul(colon + 1, &end, 10);
	if (*end || !port || port > UINT16_MAX)
		return false;
	memcpy(host, text + bracket, len - 2 * bracket);
	host[len - 2 * bracket] = '\0';
	if (!strcmp(host, "localhost"))
		ras_address_add(ret, &loop, &in6addr_loopback, (uint16_t)port);
	else if (!bracket && inet_pton(AF_INET, host, &v4) == 1)
		ras_address_add(ret, v4.s_addr ? &v4 : &loop, NULL, (uint16_t)port);
	else if (bracket && inet_pton(AF_INET6, host, &v6) == 1)
		ras_address_add(ret, NULL, IN6_IS_ADDR_UNSPECIFIED(&v6) ? &in6addr_loopback : &v6,
				(uint16_t)port);
	return ret->count;
}

/* ---- words of a reply ------------------------------------------------------------------------ */

struct ras_text {
	const char *at, *end;
};

static bool ras_skip(struct ras_text *t, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(t->end - t->at) < len || memcmp(t->at, word, len) != 0)
		return false;
	t->at += len;
	return true;
}

/* Skips the text up to the end of the next `word`. If the text does not contain `word`, skips
 * nothing and returns false. */
static bool ras_find(struct ras_text *t, const char *word)
{
	const char *found = memmem(t->at, (size_t)(t->end - t->at), word, strlen(word));

	if (found)
		t->at = found + strlen(word);
	return found;
}

/* Reads a decimal number; a number that is too large is read as the largest possible one. */
static bool ras_number(struct ras_text *t, uint64_t *ret)
{
	const char *from = t->at;
	uint64_t n = 0;

	for (; t->at < t->end && *t->at >= '0' && *t->at <= '9'; t->at++)
		n = n > UINT64_MAX / 10 - 1 ? UINT64_MAX / 10 : n * 10 + (uint64_t)(*t->at - '0');
	*ret = n;
	return t->at > from;
}

/* Copies the text up to the first character that is not in `allowed`. If that character is not a
 * space, sets out to "". */
static void ras_copy(struct ras_text t, const char *allowed, char *out, size_t cap)
{
	size_t len = 0;

	for (; t.at < t.end && *t.at && strchr(allowed, *t.at); t.at++) {
		if (len + 1 < cap)
			out[len++] = *t.at;
	}
	out[t.at < t.end && *t.at != ' ' ? 0 : len] = '\0';
}

#define HEX    "0123456789abcdefABCDEF"
#define DIGITS "0123456789"
#define HOST   DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.:-_"

static size_t ras_op(struct ras_text t)
{
	size_t op = 0;

	while (op < OP_ANY && !((size_t)(t.end - t.at) == strlen(ops[op]) &&
				!memcmp(t.at, ops[op], strlen(ops[op]))))
		op++;
	return op < OP_ANY ? op : OPS;
}

/* ---- communicators --------------------------------------------------------------------------- */

static void ras_ranks_name(struct ras_ranks *r, const struct ras_rank *k)
{
	if (!r->known) {
		r->pid = k->pid;
		snprintf(r->host, sizeof(r->host), "%s", k->host);
	}
	if (r->known < RANKS_MAX)
		r->rank[r->known++] = k->rank;
}

/* Records that n ranks have launched a collective `count` times. */
static void ras_level_add(struct ras_comm *c, size_t op, uint64_t count, uint64_t n)
{
	struct ras_level *low = &c->op[op].low, *top = &c->op[op].top;
	bool first = !c->op[op].ranks;

	if (!n || n > UINT32_MAX)
		return;
	c->op[op].ranks += n;
	if (first || count < low->count)
		*low = (struct ras_level){.count = count};
	if (first || count > top->count)
		*top = (struct ras_level){.count = count};
	low->ranks.n += count == low->count ? n : 0;
	top->ranks.n += count == top->count ? n : 0;
}

/* Adds rank k to the listed ranks if no rank has launched this collective less often. */
static void ras_level_name(struct ras_comm *c, size_t op, uint64_t count, const struct ras_rank *k)
{
	if (c->op[op].ranks && count == c->op[op].low.count)
		ras_ranks_name(&c->op[op].low.ranks, k);
}

/* Adds a communicator to the verdict, after its last line or object was read. */
static void ras_comm_end(struct ras_verdict *v, const struct ras_comm *c)
{
	bool same = !c->missing.n;

	if (v->json && v->pid && !c->own)
		return;
	if (c->missing.n && !v->missing.missing.n)
		v->missing = *c;
	for (size_t op = 0; op < OPS; op++) {
		const struct ras_level *low = &c->op[op].low;

		if (!c->op[op].ranks || low->count == c->op[op].top.count || !low->ranks.known)
			continue;
		same = false;
		if (v->lag_op < OPS && low->ranks.n >= v->lag.op[v->lag_op].low.ranks.n)
			continue;
		v->lag = *c;
		v->lag_op = op;
	}
	for (size_t op = 0; same && op < OPS; op++) {
		uint64_t count = c->op[op].low.count;

		if (c->op[op].ranks < 2 || !count || count != c->op[op].top.count ||
		    (v->same_op < OPS && count <= v->same.op[v->same_op].low.count))
			continue;
		v->same = *c;
		v->same_op = op;
	}
}

/* ---- JSON ------------------------------------------------------------------------------------ */

enum ras_frame {
	F_OTHER,
	F_TOP,
	F_COMMS,
	F_COMM,
	F_RANKS,
	F_MISSING,
	F_RANK,
	F_GONE,
	F_STATUS,
	F_COUNTS
};

struct ras_json {
	struct ras_text t;
	enum ras_frame frame[DEPTH_MAX];
	int depth;
	struct ras_text key; /* key of the next value; empty: the value has no key */
	struct ras_comm comm;
	struct ras_rank rank;
	struct ras_verdict *verdict;
};

static bool ras_key(const struct ras_json *j, const char *key)
{
	return (size_t)(j->key.end - j->key.at) == strlen(key) &&
	       !memcmp(j->key.at, key, strlen(key));
}

static enum ras_frame ras_json_frame(const struct ras_json *j, bool object)
{
	enum ras_frame in = j->depth ? j->frame[j->depth - 1] : F_OTHER;

	if (!j->depth)
		return object ? F_TOP : F_OTHER;
	if (in == F_TOP && !object && ras_key(j, "communicators"))
		return F_COMMS;
	if (in == F_COMMS && object)
		return F_COMM;
	if (in == F_COMM && !object && ras_key(j, "ranks"))
		return F_RANKS;
	if (in == F_COMM && !object && ras_key(j, "missing_ranks"))
		return F_MISSING;
	if (in == F_RANKS && object)
		return F_RANK;
	if (in == F_MISSING && object)
		return F_GONE;
	if (in == F_GONE && object && ras_key(j, "status"))
		return F_STATUS;
	if (in == F_RANK && object && ras_key(j, "collective_counts"))
		return F_COUNTS;
	return F_OTHER;
}

/* Returns false if the reply is nested too deeply. */
static bool ras_json_open(struct ras_json *j, bool object)
{
	enum ras_frame f = ras_json_frame(j, object);

	if (j->depth == DEPTH_MAX)
		return false;
	j->frame[j->depth++] = f;
	if (f == F_COMM)
		j->comm = (struct ras_comm){0};
	if (f == F_RANK || f == F_GONE)
		j->rank = (struct ras_rank){0};
	return true;
}

static void ras_json_close(struct ras_json *j)
{
	enum ras_frame f = j->depth ? j->frame[--j->depth] : F_OTHER;
	const struct ras_rank *k = &j->rank;
	struct ras_comm *c = &j->comm;

	if (f == F_RANK || f == F_GONE)
		c->own |= k->pid && k->pid == j->verdict->pid;
	if (f == F_RANK && k->known) {
		for (size_t op = 0; op < OPS; op++) {
			if (!k->counted[op])
				continue;
			ras_level_add(c, op, k->count[op], 1);
			ras_level_name(c, op, k->count[op], k);
		}
	}
	/* Count a missing rank only if NCCL calls it unresponsive or dead: otherwise it may have
	 * left the communicator. */
	if (f == F_GONE && k->known && (k->gone || k->dead)) {
		c->missing.n++;
		c->dead |= k->dead;
		ras_ranks_name(&c->missing, k);
	}
	if (f == F_COMM)
		ras_comm_end(j->verdict, c);
}

static void ras_json_number(struct ras_json *j, uint64_t n)
{
	enum ras_frame f = j->depth ? j->frame[j->depth - 1] : F_OTHER;
	size_t op;

	if (f == F_COUNTS) {
		op = ras_op(j->key);
		if (op < OPS) {
			j->rank.counted[op] = true;
			j->rank.count[op] = n;
		}
	} else if ((f == F_RANK || f == F_GONE) && ras_key(j, "rank")) {
		j->rank.known = true;
		j->rank.rank = n;
	} else if ((f == F_RANK || f == F_GONE) && ras_key(j, "pid")) {
		j->rank.pid = n;
	}
}

static void ras_json_string(struct ras_json *j, struct ras_text s)
{
	enum ras_frame f = j->depth ? j->frame[j->depth - 1] : F_OTHER;

	if ((f == F_RANK || f == F_GONE) && ras_key(j, "host"))
		ras_copy(s, HOST, j->rank.host, sizeof(j->rank.host));
	else if (f == F_COMM && ras_key(j, "hash") && ras_skip(&s, "0x"))
		ras_copy(s, HEX, j->comm.hash, sizeof(j->comm.hash));
}

static void ras_json_true(struct ras_json *j)
{
	if (!j->depth || j->frame[j->depth - 1] != F_STATUS)
		return;
	j->rank.gone |= ras_key(j, "unresponsive");
	j->rank.dead |= ras_key(j, "considered_dead");
}

/* Reads a string whose first quote has been read. If a colon follows, the string is the key of the
 * next value. */
static void ras_json_quoted(struct ras_json *j)
{
	struct ras_text s = {j->t.at, j->t.at};

	for (; s.end < j->t.end && *s.end != '"'; s.end++)
		s.end += *s.end == '\\' && s.end + 1 < j->t.end;
	j->t.at = s.end < j->t.end ? s.end + 1 : j->t.end;
	while (j->t.at < j->t.end && (*j->t.at == ' ' || *j->t.at == '\n'))
		j->t.at++;
	if (ras_skip(&j->t, ":")) {
		j->key = s;
		return;
	}
	ras_json_string(j, s);
	j->key = (struct ras_text){0};
}

static void ras_json_read(struct ras_text t, struct ras_verdict *v)
{
	struct ras_json j = {.t = t, .verdict = v};
	uint64_t n;

	while (j.t.at < j.t.end) {
		char c = *j.t.at;

		if (ras_number(&j.t, &n)) {
			ras_json_number(&j, n);
			j.key = (struct ras_text){0};
		} else if (ras_skip(&j.t, "\"")) {
			ras_json_quoted(&j);
		} else if (ras_skip(&j.t, "true")) {
			ras_json_true(&j);
		} else {
			j.t.at++;
			if ((c == '{' || c == '[') && !ras_json_open(&j, c == '{'))
				break;
			if (c == '}' || c == ']')
				ras_json_close(&j);
			if (c != ' ' && c != '\n')
				j.key = (struct ras_text){0};
		}
	}
}

/* ---- text ------------------------------------------------------------------------------------ */

struct ras_lines {
	struct ras_comm comm;
	bool incomplete; /* the following lines name the ranks whose data is missing */
	/* index in ops[] of the operation that the following lines count; OPS: they count none */
	size_t op;
	uint64_t count; /* number of launches of each rank that is listed next */
	struct ras_verdict *verdict;
};

static void ras_lines_title(struct ras_lines *l, struct ras_text t)
{
	struct ras_text hash;

	ras_comm_end(l->verdict, &l->comm);
	l->comm = (struct ras_comm){0};
	l->op = OPS;
	l->incomplete = false;
	if (!ras_find(&t, "("))
		return;
	for (hash = t; t.at < t.end && *t.at != ')'; t.at++)
		;
	hash.end = t.at;
	ras_copy(hash, HEX, l->comm.hash, sizeof(l->comm.hash));
	l->incomplete = ras_find(&t, ") INCOMPLETE");
}

/* Parses a line like "Rank 3 has launched up to operation 41 -- GPU 0 managed by process 7 on node
 * 10.0.0.1". */
static void ras_lines_rank(struct ras_lines *l, struct ras_text t)
{
	struct ras_rank k = {.known = true};
	uint64_t count;
	bool alone = false;

	if (!ras_number(&t, &k.rank))
		return;
	if (ras_skip(&t, " has launched up to operation ") && ras_number(&t, &count)) {
		l->count = count;
		alone = true;
	} else if (ras_skip(&t, " has not launched any operations")) {
		l->count = 0;
		alone = true;
	}
	if (ras_find(&t, " managed by process "))
		ras_number(&t, &k.pid);
	if (ras_skip(&t, " on node "))
		ras_copy(t, HOST, k.host, sizeof(k.host));
	if (l->incomplete) {
		ras_ranks_name(&l->comm.missing, &k);
	} else if (l->op < OPS) {
		if (alone)
			ras_level_add(&l->comm, l->op, l->count, 1);
		ras_level_name(&l->comm, l->op, l->count, &k);
	}
}

static void ras_lines_indented(struct ras_lines *l, struct ras_text t)
{
	uint64_t n;

	if (ras_skip(&t, "Communicator ranks have different ")) {
		struct ras_text op = {t.at, t.at};

		while (op.end < t.end && *op.end != ' ')
			op.end++;
		l->op = ras_skip(&t, "collective operation counts") ? OP_ANY : ras_op(op);
	} else if (ras_skip(&t, "Missing communicator data from ")) {
		if (l->incomplete && ras_number(&t, &n))
			l->comm.missing.n = n;
	} else if (ras_skip(&t, "The missing rank")) {
		if (l->incomplete && ras_find(&t, ": "))
			ras_lines_rank(l, t);
	} else if (ras_skip(&t, "Rank ")) {
		ras_lines_rank(l, t);
	} else if (ras_number(&t, &n) && l->op < OPS) {
		l->count = 0;
		if (ras_skip(&t, " ranks have launched up to operation "))
			ras_number(&t, &l->count);
		else if (!ras_skip(&t, " ranks have not launched any operations"))
			return;
		ras_level_add(&l->comm, l->op, l->count, n);
	}
}

static void ras_lines_read(struct ras_text t, struct ras_verdict *v)
{
	struct ras_lines l = {.op = OPS, .verdict = v};

	while (t.at < t.end) {
		const char *newline = memchr(t.at, '\n', (size_t)(t.end - t.at));
		struct ras_text line = {t.at, newline ? newline : t.end};

		t.at = newline ? newline + 1 : t.end;
		if (ras_skip(&line, "  "))
			ras_lines_indented(&l, line);
		else if (line.at < line.end)
			ras_lines_title(&l, line);
	}
	ras_comm_end(v, &l.comm);
}

/* ---- the clause ------------------------------------------------------------------------------ */

struct ras_out {
	char *at;
	size_t cap, len;
};

__attribute__((format(printf, 2, 3))) static void ras_say(struct ras_out *o, const char *format,
							  ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(o->at + o->len, o->cap - o->len, format, args);
	va_end(args);
	o->len += n > 0 ? (size_t)n : 0;
	if (o->len >= o->cap)
		o->len = o->cap - 1;
}

/* Writes a text like "rank 1 (process 7 on 10.0.0.1)" or "ranks 1, 2, 5, 6 and 3 more". */
static void ras_say_ranks(struct ras_out *o, const struct ras_ranks *r)
{
	ras_say(o, "%s", r->n > 1 ? "ranks" : "rank");
	for (uint32_t i = 0; i < r->known; i++)
		ras_say(o, "%s %llu", i ? "," : "", (unsigned long long)r->rank[i]);
	if (r->n > r->known)
		ras_say(o, " and %llu more", (unsigned long long)(r->n - r->known));
	if (r->n == 1 && r->pid)
		ras_say(o, " (process %llu%s%s)", (unsigned long long)r->pid,
			*r->host ? " on " : "", r->host);
}

static void ras_say_comm(struct ras_out *o, const struct ras_comm *c)
{
	if (*c->hash)
		ras_say(o, " (communicator %s)", c->hash);
}

static void ras_say_lag(struct ras_out *o, const struct ras_comm *c, size_t op)
{
	const struct ras_level *low = &c->op[op].low, *top = &c->op[op].top;

	ras_say_ranks(o, &low->ranks);
	ras_say(o, " %s launched %llu %s, %llu of %llu ranks %llu",
		low->ranks.n > 1 ? "have" : "has", (unsigned long long)low->count, ops[op],
		(unsigned long long)top->ranks.n, (unsigned long long)c->op[op].ranks,
		(unsigned long long)top->count);
	ras_say_comm(o, c);
}

bool nccl_ras_read(const char *reply, size_t len, uint32_t pid, char *out, size_t cap)
{
	struct ras_verdict *v = calloc(1, sizeof(*v));
	struct ras_text t = {reply, reply + len}, json = t;
	struct ras_out o = {.at = out, .cap = cap};

	*out = '\0';
	if (!v)
		return false;
	*v = (struct ras_verdict){.pid = pid, .lag_op = OPS, .same_op = OPS};
	v->json = (len && *reply == '{') || ras_find(&json, "\n");
	while (v->json && *reply != '{' && !ras_skip(&json, "{"))
		v->json = ras_find(&json, "\n");
	if (v->json) {
		json.at -= *reply != '{';
		ras_json_read(json, v);
	} else {
		ras_lines_read(t, v);
	}
	if (v->missing.missing.n && v->missing.missing.known) {
		const struct ras_ranks *r = &v->missing.missing;

		ras_say_ranks(&o, r);
		ras_say(&o, "%s",
			v->missing.dead ? (r->n > 1 ? " are dead" : " is dead")
					: (r->n > 1 ? " do not answer" : " does not answer"));
		ras_say_comm(&o, &v->missing);
	}
	if (v->lag_op < OPS) {
		ras_say(&o, "%s", o.len ? ", " : "");
		ras_say_lag(&o, &v->lag, v->lag_op);
	} else if (!o.len && v->same_op < OPS) {
		ras_say(&o, "all %llu ranks have launched %llu %s",
			(unsigned long long)v->same.op[v->same_op].ranks,
			(unsigned long long)v->same.op[v->same_op].low.count, ops[v->same_op]);
		ras_say_comm(&o, &v->same);
	}
	free(v);
	return o.len;
}
