/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/http/http_auth.h"

#include <crypt.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/base/worker.h"

/* After a wrong password the thread pauses for AUTH_REST times the checking time, at most
 * AUTH_REST_MAX_NS, to save CPU. */
#define AUTH_REST	 4
#define AUTH_REST_MAX_NS 1000000000ull
#define AUTH_NICE	 19
#define AUTH_BLAME_BITS	 12
/* Number of counters of wrong passwords. Addresses can share a counter. Each counter is halved
 * every AUTH_FORGIVE_NS. */
#define AUTH_BLAMES	(1 << AUTH_BLAME_BITS)
#define AUTH_FORGIVE_NS 60000000000ull

struct http_auth {
	struct worker thread; /* checks passwords; its lock protects all members below, except key
				 and crypt */
	struct http_auth_ask *first;
	struct {
		unsigned char digest[HTTP_AUTH_DIGEST];
		bool is;
	} known[WEB_USERS];
	uint32_t wrong[AUTH_BLAMES]; /* counters of wrong passwords, see http_auth_wrong_of() */
	uint64_t halved_ns;
	unsigned char key[HTTP_AUTH_DIGEST]; /* random key for digests and `wrong` */
	struct crypt_data crypt;	     /* used only by the thread that checks passwords */
};

/* Checks a password. crypt_r() only computes the hash, which is compared here in constant time. */
static bool http_auth_password_is(struct crypt_data *data, const struct http_auth_ask *q)
{
	const char *made = crypt_r(q->password, q->hash, data);

	return made && strlen(made) == WEB_HASH_LEN &&
	       !gnutls_memcmp(made, q->hash, WEB_HASH_LEN) && q->user >= 0;
}

/* ---- order of the queue ---------------------------------------------------------------------- */

/* Returns the counter of an address. The choice depends on a secret key, so that a client cannot
 * find an address that shares the counter of another client. */
static uint32_t *http_auth_wrong_of(struct http_auth *a, uint64_t address)
{
	uint64_t key;

	memcpy(&key, a->key, sizeof(key));
	return &a->wrong[(address ^ key) * 0x9e3779b97f4a7c15ull >> (64 - AUTH_BLAME_BITS)];
}

static void http_auth_wrong_forgive(struct http_auth *a, uint64_t now_ns)
{
	if (now_ns - a->halved_ns < AUTH_FORGIVE_NS)
		return;
	a->halved_ns = now_ns;
	for (size_t i = 0; i < AUTH_BLAMES; i++)
		a->wrong[i] /= 2;
}

/* Returns the priority of a request; lower values are served first. Requests are ordered by the
 * number of wrong passwords from the client's address, then by the number of earlier requests from
 * this address in the queue. */
static uint64_t http_auth_turn_of(struct http_auth *a, const struct http_auth_ask *q)
{
	uint64_t before = 0;

	if (q->taken)
		return 0;
	for (const struct http_auth_ask *one = a->first; one != q; one = one->next)
		before += one->address == q->address;
	return (uint64_t)*http_auth_wrong_of(a, q->address) * HTTP_AUTH_WAITING + before;
}

/* Returns the position in the queue of the request to answer next; if `last` is set, of the request
 * to answer last. Requests of equal priority are answered in the order of arrival. */
static struct http_auth_ask **http_auth_turn_find(struct http_auth *a, bool last)
{
	struct http_auth_ask **found = NULL;
	uint64_t best = 0;

	for (struct http_auth_ask **at = &a->first; *at; at = &(*at)->next) {
		uint64_t turn = http_auth_turn_of(a, *at);

		if (!found || (last ? turn >= best : turn < best)) {
			found = at;
			best = turn;
		}
	}
	return found;
}

/* Removes q and all requests with the same user and password from the queue, and returns them as a
 * list. */
static struct http_auth_ask *http_auth_take_same(struct http_auth *a, const struct http_auth_ask *q)
{
	struct http_auth_ask **at = &a->first, *same = NULL;

	while (*at) {
		struct http_auth_ask *one = *at;

		if (memcmp(one->digest, q->digest, sizeof(q->digest)) != 0) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		one->next = same;
		same = one;
	}
	return same;
}

static void http_auth_answer_all(struct http_auth_ask *q, enum http_auth_answer answer)
{
	while (q) {
		struct http_auth_ask *next = q->next;

		explicit_bzero(q->password, sizeof(q->password));
		q->answer = answer;
		q->done(q); /* q may be freed now */
		q = next;
	}
}

/* The queue is full: refuses the request with the lowest priority. */
static void http_auth_turn_refuse(struct http_auth *a)
{
	struct http_auth_ask **at = http_auth_turn_find(a, true), *q = *at;

	*at = q->next;
	q->next = NULL;
	http_auth_answer_all(q, HTTP_AUTH_BUSY);
}

static void http_auth_rest(struct http_auth *a, uint64_t took_ns)
{
	uint64_t ns = AUTH_REST * took_ns, until_ns;

	until_ns = clock_mono_ns() + (ns < AUTH_REST_MAX_NS ? ns : AUTH_REST_MAX_NS);
	while (!a->thread.stop && worker_wait(&a->thread, until_ns))
		;
}

static void http_auth_run(void *arg)
{
	struct http_auth *a = arg;

	setpriority(PRIO_PROCESS, (id_t)gettid(), AUTH_NICE);
	worker_lock(&a->thread);
	while (!a->thread.stop) {
		struct http_auth_ask **next = http_auth_turn_find(a, false), one, *same;
		uint64_t began;
		bool right;

		if (!next) {
			worker_wait(&a->thread, WORKER_FOREVER);
			continue;
		}
		(*next)->taken = true;
		one = **next; /* copy, because http_auth_stop() may answer the request during the
				 check */
		worker_unlock(&a->thread);
		began = clock_mono_ns();
		right = http_auth_password_is(&a->crypt, &one);
		began = clock_mono_ns() - began;
		explicit_bzero(one.password, sizeof(one.password));
		worker_lock(&a->thread);
		if (right) {
			memcpy(a->known[one.user].digest, one.digest, sizeof(one.digest));
			a->known[one.user].is = true;
		}
		same = http_auth_take_same(a, &one);
		http_auth_wrong_forgive(a, clock_mono_ns());
		for (const struct http_auth_ask *q = same; q; q = q->next)
			*http_auth_wrong_of(a, q->address) += !right;
		http_auth_answer_all(same, right ? HTTP_AUTH_YES : HTTP_AUTH_NO);
		if (!right)
			http_auth_rest(a, began);
	}
	worker_unlock(&a->thread);
}

int http_auth_open(struct http_auth **ret)
{
	struct http_auth *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return -ENOMEM;
	worker_init(&a->thread);
	err = gnutls_rnd(GNUTLS_RND_KEY, a->key, sizeof(a->key)) ? -EIO : 0;
	if (!err)
		err = worker_start(&a->thread, "auth", http_auth_run, a);
	if (err) {
		log_error("basic auth: cannot start its thread: %s", strerror(-err));
		http_auth_close(a);
		return err;
	}
	*ret = a;
	return 0;
}

/* Decodes "Basic dXNlcjpwYXNz" to name (HTTP_AUTH_TEXT bytes) and q->password. Returns false if the
 * header is malformed. */
static bool http_auth_header_read(const char *header, struct http_auth_ask *q, char *name)
{
	gnutls_datum_t text, plain = {0};
	char *colon = NULL;

	if (!header || strncasecmp(header, "Basic ", 6) != 0 || strlen(header) >= HTTP_AUTH_TEXT)
		return false;
	header += 6 + strspn(header + 6, " ");
	text = (gnutls_datum_t){(unsigned char *)(uintptr_t)header, (unsigned)strlen(header)};
	if (gnutls_base64_decode2(&text, &plain))
		return false;
	/* Refuse a password with a NUL: crypt_r() would ignore the rest of it. */
	if (plain.size < HTTP_AUTH_TEXT && !memchr(plain.data, '\0', plain.size))
		colon = memchr(plain.data, ':', plain.size);
	if (colon) {
		size_t len = (size_t)(colon - (char *)plain.data);

		memcpy(name, plain.data, len);
		name[len] = '\0';
		memcpy(q->password, colon + 1, plain.size - len - 1);
		q->password[plain.size - len - 1] = '\0';
	}
	explicit_bzero(plain.data, plain.size);
	gnutls_free(plain.data);
	return colon;
}

/* Computes a digest of hash, name and password, by which a password that was checked before is
 * recognised. The hash is included, so that the password is checked again when the user's hash has
 * changed. */
static bool http_auth_digest_make(const struct http_auth *a, struct http_auth_ask *q,
				  const char *name)
{
	unsigned char text[2 * HTTP_AUTH_TEXT + WEB_HASH_LEN + 2];
	size_t name_len = strlen(name) + 1, password_len = strlen(q->password);
	int err;

	memcpy(text, q->hash, WEB_HASH_LEN);
	memcpy(text + WEB_HASH_LEN, name, name_len);
	memcpy(text + WEB_HASH_LEN + name_len, q->password, password_len);
	err = gnutls_hmac_fast(GNUTLS_MAC_SHA256, a->key, sizeof(a->key), text,
			       WEB_HASH_LEN + name_len + password_len, q->digest);
	explicit_bzero(text, sizeof(text));
	return !err;
}

enum http_auth_answer http_auth_ask(struct http_auth *a, const struct web_config *c,
				    const char *header, struct http_auth_ask *q)
{
	char name[HTTP_AUTH_TEXT];
	bool known = false;

	if (!c->users || !http_auth_header_read(header, q, name))
		return HTTP_AUTH_NO;
	q->user = -1;
	for (size_t i = 0; i < c->users; i++)
		if (!strcmp(c->user[i].name, name))
			q->user = (int)i;
	/* Check a password for an unknown name, too, so that the answer takes as long as for a
	 * known one. */
	memcpy(q->hash, c->user[q->user < 0 ? 0 : q->user].hash, sizeof(q->hash));
	if (!http_auth_digest_make(a, q, name))
		return HTTP_AUTH_BUSY;
	worker_lock(&a->thread);
	for (size_t i = 0; i < WEB_USERS;
	     i++) /* compare with all users: their order changes when the config is edited */
		known |= a->known[i].is &&
			 !gnutls_memcmp(a->known[i].digest, q->digest, sizeof(q->digest));
	known &= q->user >= 0;
	worker_unlock(&a->thread);
	if (known)
		explicit_bzero(q->password, sizeof(q->password));
	return known ? HTTP_AUTH_YES : HTTP_AUTH_LATER;
}

void http_auth_wait(struct http_auth *a, struct http_auth_ask *q)
{
	struct http_auth_ask **at = &a->first;
	int waiting = 0, same = 0;

	q->next = NULL;
	q->taken = false;
	worker_lock(&a->thread);
	for (; *at; at = &(*at)->next) {
		waiting++;
		same += (*at)->address == q->address;
	}
	if (a->thread.stop || same >= HTTP_AUTH_ADDRESS) {
		http_auth_answer_all(q, HTTP_AUTH_BUSY);
	} else {
		*at = q;
		if (waiting >= HTTP_AUTH_WAITING)
			http_auth_turn_refuse(a);
		worker_wake(&a->thread);
	}
	worker_unlock(&a->thread);
}

void http_auth_stop(struct http_auth *a)
{
	struct http_auth_ask *left;

	if (!a)
		return;
	worker_stop(&a->thread);
	worker_lock(&a->thread);
	left = a->first;
	a->first = NULL;
	http_auth_answer_all(left, HTTP_AUTH_BUSY);
	worker_unlock(&a->thread);
	worker_join(&a->thread); /* waits until the check in progress has ended */
}

void http_auth_close(struct http_auth *a)
{
	if (!a)
		return;
	http_auth_stop(a);
	worker_free(&a->thread);
	explicit_bzero(a, sizeof(*a));
	free(a);
}
