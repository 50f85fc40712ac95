/* SPDX-License-Identifier: Apache-2.0 */
/* bundle_mask.c - removes secrets and names from the texts of a bug report. */
#include "userspace/command/bundle_mask.h"

#include <ctype.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pwd.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MASKED	  "[masked]"
#define MARK	  '\001' /* stands for the text "[masked]" while a line is processed */
#define NAMES_MAX 512
/* Shorter names (in bytes) are not replaced in free text, where they would match within words. */
#define NAME_LEAST 4
#define HASH_BYTES 5
/* lowest user ID of a person; lower IDs belong to system accounts */
#define PEOPLE_FROM 1000
#define NOBODY	    65534

/* ---- secrets in free text -------------------------------------------------------------------- */

#define SECRET                                                                                               \
	"(token|secret|passw|pwd|passphrase|api[-_]?key|access[-_]?key|private[-_]?key|credential|signature" \
	"|auth|cookie|session[-_]?(id|key))"
#define VALUE "(\"[^\"]*\"?|'[^']*'?|[^[:space:]\"',;&)}\001]+)"

/* Patterns of secrets, applied in this order. before, after: regex groups that are kept before and
 * after the mask; 0: none. */
static const struct {
	const char *pattern;
	int before, after;
} secrets[] = {
	{"-----BEGIN.*", 0, 0},
	{"((authorization|cookie|x-[a-z-]*(key|token))[\"']?[[:space:]]*[:=][[:space:]]*).*", 1, 0},
	{"([a-z][a-z0-9+.-]*://)[^/?#[:space:]\"']*@", 1, 0},
	{"([a-z][a-z0-9+.-]*://[^]/?#[:space:]\"',;)]*)[/?#][^[:space:]\"']+", 1, 0},
	{"([a-z0-9_.-]*" SECRET "[a-z0-9_.-]*[\"']?[[:space:]]*[=:][[:space:]]*)" VALUE, 1, 0},
	{"((^|[[:space:]\"'])--?[a-z0-9_-]*" SECRET "[a-z0-9_-]*[[:space:]]+)" VALUE, 1, 0},
	{"((bearer|basic|digest|negotiate)[[:space:]]+)[a-z0-9._~+/=-]{6,}", 1, 0},
	{"\\$(2[abxy]|[1-7]|argon2[a-z]*|y|scrypt)\\$[^[:space:]\"']+", 0, 0},
	{"(gh[pousr]_|github_pat_|glpat-|xox[a-z]-|sk-|hf_|AKIA|ASIA|AIza|ya29\\.|eyJ)[a-z0-9_./+-]{8,}",
	 0, 0},
	{"[^[:space:]:@/\"']+:[^[:space:]@/\"']+@", 0, 0},
	{"[a-z0-9_+=]{32,}", 0, 0},
};
#define SECRETS (sizeof(secrets) / sizeof(secrets[0]))

struct mask {
	regex_t patterns[SECRETS];
	size_t ready;
	bool anonymize;
	char key[64];
	size_t key_len;
	/* names that are replaced by hashes wherever they occur in free text */
	char *names[NAMES_MAX];
	size_t nnames;
};

static void mask_remember(struct mask *m, const char *name, size_t len)
{
	if (len < NAME_LEAST || m->nnames == NAMES_MAX)
		return;
	for (size_t i = 0; i < m->nnames; i++)
		if (strlen(m->names[i]) == len && !memcmp(m->names[i], name, len))
			return;
	m->names[m->nnames] = strndup(name, len);
	m->nnames += m->names[m->nnames] != NULL;
}

/* Collects user names for replacement. Reads only /etc/passwd, because a name service might not
 * answer. */
static void mask_remember_users(struct mask *m)
{
	FILE *f = fopen("/etc/passwd", "re");
	const struct passwd *p;

	while (f && (p = fgetpwent(f)))
		if (p->pw_uid >= PEOPLE_FROM && p->pw_uid != NOBODY)
			mask_remember(m, p->pw_name, strlen(p->pw_name));
	if (f)
		fclose(f);
}

struct mask *mask_new(bool anonymize)
{
	struct mask *m = calloc(1, sizeof(*m));
	int fd = open("/etc/machine-id", O_RDONLY | O_CLOEXEC);
	ssize_t n = m && fd >= 0 ? read(fd, m->key, sizeof(m->key)) : 0;

	if (fd >= 0)
		close(fd);
	if (!m)
		return NULL;
	m->anonymize = anonymize;
	m->key_len = n > 0 ? (size_t)n : 0;
	if (anonymize)
		mask_remember_users(m);
	for (; m->ready < SECRETS; m->ready++)
		if (regcomp(&m->patterns[m->ready], secrets[m->ready].pattern,
			    REG_EXTENDED | REG_ICASE)) {
			mask_free(m);
			return NULL;
		}
	return m;
}

void mask_free(struct mask *m)
{
	if (!m)
		return;
	while (m->ready)
		regfree(&m->patterns[--m->ready]);
	while (m->nnames)
		free(m->names[--m->nnames]);
	free(m);
}

/* Returns true if a text may be a secret key: it is long, and has other characters than letters. */
static bool mask_looks_random(const char *text, size_t len)
{
	bool digit = false, letter = false;

	for (size_t i = 0; i < len; i++) {
		digit |= isdigit((unsigned char)text[i]) != 0;
		letter |= isalpha((unsigned char)text[i]) != 0;
	}
	return digit && letter;
}

/* Replaces the matches of pattern i in one line. Returns their number. */
static size_t mask_secret_line(const struct mask *m, size_t i, struct buffer *out, const char *line)
{
	static const char mark = MARK;
	regmatch_t at[4];
	size_t masked = 0;
	int flags = 0;

	while (*line && !regexec(&m->patterns[i], line, 4, at, flags)) {
		size_t from = (size_t)at[0].rm_so, to = (size_t)at[0].rm_eo;

		if (from == to)
			break;
		buffer_add(out, line, from);
		if (i == SECRETS - 1 && !mask_looks_random(line + from, to - from)) {
			buffer_add(out, line + from, to - from);
		} else {
			if (secrets[i].before)
				buffer_add(out, line + at[1].rm_so,
					   (size_t)(at[1].rm_eo - at[1].rm_so));
			buffer_add(out, &mark, 1);
			if (line[to - 1] == '@')
				buffer_add(out, "@", 1);
			masked++;
		}
		line += to;
		flags = REG_NOTBOL;
	}
	buffer_add(out, line, strlen(line));
	return masked;
}

static size_t mask_names_line(const struct mask *m, struct buffer *out, const char *line);

/* Returns true for a word that names a state or kind. Such a word is not a secret. */
static bool mask_plain_word(const char *line, size_t len)
{
	return strspn(line, "abcdefghijklmnopqrstuvwxyz_") >= len && len < 24;
}

static size_t mask_line(const struct mask *m, struct buffer *out, const char *line, size_t len)
{
	struct buffer from = {0}, to = {0};
	size_t masked = 0;

	if (!m->nnames && mask_plain_word(line, len)) {
		buffer_add(out, line, len);
		return 0;
	}
	buffer_add(&from, line, len);
	for (size_t i = 0; from.data && i < from.len; i++)
		if (!from.data[i] || from.data[i] == MARK)
			from.data[i] = '?'; /* Replace bytes that could be mistaken for the end of a
					       text or for a mask. */
	for (size_t i = 0; i < SECRETS && from.data; i++) {
		struct buffer was = from;

		buffer_clear(&to);
		masked += mask_secret_line(m, i, &to, from.data);
		from = to;
		to = was;
	}
	if (from.data)
		masked += mask_names_line(m, out, from.data);
	out->failed |= from.failed || to.failed;
	buffer_free(&from);
	buffer_free(&to);
	return masked;
}

size_t mask_text(struct mask *m, struct buffer *out, const char *text, size_t len)
{
	size_t masked = 0;

	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;

		masked += mask_line(m, out, text, n);
		if (end)
			buffer_add(out, "\n", 1);
		n += end != NULL;
		text += n;
		len -= n;
	}
	return masked;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void mask_put_hash(const struct mask *m, struct buffer *out, const char *name, size_t len)
{
	unsigned char hash[EVP_MAX_MD_SIZE];
	unsigned n = 0;

	if (!HMAC(EVP_sha256(), m->key, (int)m->key_len, (const unsigned char *)name, len, hash,
		  &n) ||
	    n < HASH_BYTES) {
		buffer_printf(out, MASKED);
		return;
	}
	buffer_printf(out, "anon-");
	for (unsigned i = 0; i < HASH_BYTES; i++)
		buffer_printf(out, "%02x", hash[i]);
}

/* Returns the length of the user name at `begin` if it follows "/home/" or "/Users/"; otherwise
 * 0. */
static size_t mask_home_of(const char *begin, const char *line)
{
	static const char *const homes[] = {"/home/", "/Users/"};

	for (size_t i = 0; i < sizeof(homes) / sizeof(homes[0]); i++) {
		size_t n = strlen(homes[i]);

		if ((size_t)(line - begin) >= n && !memcmp(line - n, homes[i], n))
			return strcspn(line, "/ \t\"',;:)]}\001");
	}
	return 0;
}

static size_t mask_names_line(const struct mask *m, struct buffer *out, const char *line)
{
	const char *begin = line;
	size_t masked = 0, len;

	for (; *line; line += len) {
		len = m->anonymize ? mask_home_of(begin, line) : 0;
		for (size_t i = 0; i < m->nnames; i++) {
			size_t n = strlen(m->names[i]);

			if (n > len && !strncmp(line, m->names[i], n))
				len = n; /* several names match here: use the longest */
		}
		masked += len != 0;
		if (len) {
			mask_put_hash(m, out, line, len);
		} else {
			len = 1;
			buffer_add(out, *line == MARK ? MASKED : line,
				   *line == MARK ? strlen(MASKED) : 1);
		}
	}
	return masked;
}

size_t mask_name(struct mask *m, struct buffer *out, const char *name, size_t len)
{
	if (!len || !m->anonymize)
		return mask_text(m, out, name, len);
	mask_remember(m, name, len);
	mask_put_hash(m, out, name, len);
	return 1;
}

/* ---- texts with keys ------------------------------------------------------------------------- */

/* JSON keys whose values are kept, because the values come from gp-bpf or the machine, not from the
 * user. */
static const char *const own_keys[] = {
	"accelerator",	 "against",   "aggregation", "boundary",   "bucket",   "by",
	"cause",	 "class",     "currency",    "error",	   "evidence", "exporter",
	"fate",		 "fault",     "group",	     "history",	   "how",      "job_from",
	"kernel",	 "kind",      "le",	     "loop",	   "marker",   "mode",
	"nothing_found", "numbering", "op",	     "origin",	   "over",     "part",
	"phase",	 "probe",     "purpose",     "quantile",   "ratios",   "reason",
	"role",		 "runtime",   "series",	     "source",	   "state",    "tier",
	"trouble",	 "type",      "unit",	     "verdict",	   "version",  "version_from",
	"versions",	 "what",      "why",	     "window",	   "without",  "insn",
	"percentile",	 "pid",	      "rank",	     "world_size", "features", "name",
};
static const char *const name_keys[] = {
	"job",	"key",	     "job_key",	  "uid",      "job_uid",     "job_id",	"pod",
	"node", "namespace", "container", "perf_tag", "session_tag", "boot_id", "user"};
/* Texts of events that begin like this are kept, because gp-bpf wrote them. cut: keep only the text
 * before the first ": ", because a file name follows. */
static const struct {
	const char *begin;
	bool cut;
} event_texts[] = {
	{"slow ", false},
	{"fast again ", false},
	{"step ", false},
	{"steps found: ", false},
	{"suspect: ", false},
	{"hangs for ", false},
	{"hung ", false},
	{"straggler ", false},
	{"no straggler ", false},
	{"evaluation of ", false},
	{"not watched for ", false},
	{"was suspended for ", false},
	{"its device's ", false},
	{"ended ", false},
	{"exited with ", false},
	{"replaced by ", false},
	{"checkpoint read: ", false},
	{"checkpoint saved ", true},
	{"checkpoint begun, ", true},
	{"its pod: ", true},
	{"its node: ", true},
};
static const char *const program_keys[] = {"command", "comm", "sender_comm", "library"};

static bool mask_is_of(const char *const *keys, size_t n, const char *key, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(keys[i]) == len && !memcmp(keys[i], key, len))
			return true;
	return false;
}
#define IS_OF(keys, key, len) mask_is_of(keys, sizeof(keys) / sizeof((keys)[0]), key, len)

/* Returns true if the text is a time or a number. */
static bool mask_is_figures(const char *text, size_t len)
{
	return strspn(text, "0123456789.:+-TZeE") >= len;
}

/* Appends the program of a command line, without its folder. */
static size_t mask_program_of(struct mask *m, struct buffer *out, const char *text, size_t len)
{
	size_t word = 0, from = 0;

	while (word < len && text[word] != ' ' && text[word] != '\\')
		from = text[word++] == '/' ? word : from;
	return mask_text(m, out, text + from, word - from) + (from || word < len);
}

/* Masks the text of an event. It may contain file names, and reasons that the Kubernetes API gave
 * for a pod. */
static size_t mask_event(struct mask *m, struct buffer *out, const char *text, size_t len)
{
	size_t from, stays = 0;

	for (size_t i = 0; !stays && i < sizeof(event_texts) / sizeof(event_texts[0]); i++) {
		from = strlen(event_texts[i].begin);
		if (from > len || memcmp(text, event_texts[i].begin, from) != 0)
			continue;
		for (stays = event_texts[i].cut ? from : len; stays < len; stays++)
			if (text[stays - 1] == ':' && text[stays] == ' ' && stays++)
				break;
	}
	if (stays >= len)
		return mask_text(m, out, text, len);
	from = mask_text(m, out, text, stays);
	buffer_add(out, MASKED, strlen(MASKED));
	return from + 1;
}

static size_t mask_value(struct mask *m, struct buffer *out, const char *key, size_t key_len,
			 const char *text, size_t len, bool names)
{
	if (!len || mask_is_figures(text, len)) {
		buffer_add(out, text, len);
		return 0;
	}
	if (IS_OF(name_keys, key, key_len) || (names && key_len == 4 && !memcmp(key, "name", 4)))
		return mask_name(m, out, text, len);
	if (IS_OF(program_keys, key, key_len))
		return mask_program_of(m, out, text, len);
	if (IS_OF(own_keys, key, key_len))
		return mask_text(m, out, text, len);
	if (!names && key_len == 4 && !memcmp(key, "text", 4))
		return mask_event(m, out, text, len);
	buffer_add(out, MASKED, strlen(MASKED));
	return 1;
}

/* Returns the length of a quoted text, from the character after its first quote to its last quote.
 * An escape sequence counts as many bytes as it is written with. */
static size_t mask_quoted_len(const char *text, size_t len)
{
	size_t i = 0;

	while (i < len && text[i] != '"')
		i += text[i] == '\\' && i + 1 < len ? 2 : 1;
	return i;
}

size_t mask_json(struct mask *m, struct buffer *out, const char *text, size_t len, bool names)
{
	const char *key = "";
	size_t key_len = 0, masked = 0, n, next;

	for (size_t i = 0; i < len; i++) {
		buffer_add(out, text + i, 1);
		if (text[i] != '"')
			continue;
		n = mask_quoted_len(text + i + 1, len - i - 1);
		for (next = i + n + 2; next < len && isspace((unsigned char)text[next]); next++)
			;
		if (next < len && text[next] == ':') {
			key = text + i + 1;
			key_len = n;
			masked += mask_text(m, out, key, n);
		} else {
			masked += mask_value(m, out, key, key_len, text + i + 1, n, names);
		}
		buffer_add(out, "\"", 1);
		i += n + 1;
	}
	return masked;
}

static size_t mask_metric_line(struct mask *m, struct buffer *out, const char *line, size_t len)
{
	size_t masked = 0, key = 0, n;

	for (size_t i = 0; i < len; i++) {
		buffer_add(out, line + i, 1);
		if (line[i] == '{' || line[i] == ',')
			key = i + 1;
		if (line[i] != '"')
			continue;
		n = mask_quoted_len(line + i + 1, len - i - 1);
		masked += mask_value(m, out, line + key, i > key ? i - 1 - key : 0, line + i + 1, n,
				     true);
		buffer_add(out, "\"", 1);
		i += n + 1;
	}
	return masked;
}

size_t mask_metrics(struct mask *m, struct buffer *out, const char *text, size_t len)
{
	size_t masked = 0;

	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;

		if (*text == '#')
			buffer_add(out, text, n);
		else
			masked += mask_metric_line(m, out, text, n);
		buffer_add(out, "\n", 1);
		n += end != NULL;
		text += n;
		len -= n;
	}
	return masked;
}
