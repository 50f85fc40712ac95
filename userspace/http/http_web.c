/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/http/http_web.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"

#define WEB_CHECK_NS 1000000000ull
#define WEB_FILES    4

/* Identifies a version of a file, to detect that the file was changed, or that a symbolic link
 * names another file now. */
struct stamp {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec changed, written;
};

struct http_web {
	char *file;
	struct web_config *config;
	struct http_tls *tls;
	/* stamp of each file when gp-bpf last read it or failed to read it */
	struct stamp stamp[WEB_FILES];
	uint64_t checked_ns;
};

static struct stamp http_web_stamp_of(const char *file)
{
	struct stamp s;
	struct stat st;

	memset(&s, 0, sizeof(s)); /* clears padding, too, for memcmp() */
	if (!file || stat(file, &st))
		return s;
	s.dev = st.st_dev;
	s.ino = st.st_ino;
	s.size = st.st_size;
	s.changed = st.st_ctim;
	s.written = st.st_mtim;
	return s;
}

static void http_web_stamps_of(const struct web_config *c, struct stamp stamp[WEB_FILES])
{
	stamp[1] = http_web_stamp_of(c->cert.file);
	stamp[2] = http_web_stamp_of(c->key.file);
	stamp[3] = http_web_stamp_of(c->client_ca.file);
}

static int web_read(struct http_web *w)
{
	struct stamp stamp[WEB_FILES];
	struct web_config *c = NULL;
	struct http_tls *tls = NULL;
	int err;

	/* Take each stamp before reading the file: a change made in between is then found at the
	 * next check. */
	stamp[0] = http_web_stamp_of(w->file);
	err = web_config_read(&c, w->file);
	if (err)
		return err;
	http_web_stamps_of(c, stamp);
	if (w->config && w->config->tls != c->tls) {
		log_error("%s: TLS %s only after a restart of gp-bpf; file not loaded", w->file,
			  c->tls ? "begins" : "ends");
		err = -EINVAL;
	}
	/* Basic auth must not end because a file is empty for a moment while it is rewritten. */
	if (!err && w->config && w->config->users && !c->users) {
		log_error(
			"%s: basic_auth_users was removed: not applied, the old users stay valid; restart gp-bpf to end basic auth",
			w->file);
		err = -EINVAL;
	}
	if (!err && c->tls)
		err = http_tls_new(&tls, c, w->file);
	if (err) {
		web_config_free(c);
		return err;
	}
	if (c->http2)
		log_info("%s: http_server_config.http2: ignored; only HTTP/1.1 is served", w->file);
	web_config_free(w->config);
	http_tls_unref(w->tls);
	w->config = c;
	w->tls = tls;
	memcpy(w->stamp, stamp, sizeof(stamp));
	return 0;
}

int http_web_open(struct http_web **ret, const char *file)
{
	struct http_web *w = calloc(1, sizeof(*w));
	int err = -ENOMEM;

	if (!w)
		return -ENOMEM;
	if (!file) {
		w->config = calloc(1, sizeof(*w->config));
		err = w->config ? 0 : -ENOMEM;
	} else {
		w->file = strdup(file);
		err = w->file ? web_read(w) : -ENOMEM;
	}
	if (err) {
		http_web_close(w);
		return err;
	}
	w->checked_ns = clock_mono_ns();
	*ret = w;
	return 0;
}

bool http_web_reload(struct http_web *w)
{
	struct stamp now[WEB_FILES];
	uint64_t mono_ns = clock_mono_ns();

	if (!w->file || mono_ns - w->checked_ns < WEB_CHECK_NS)
		return false;
	w->checked_ns = mono_ns;
	now[0] = http_web_stamp_of(w->file);
	http_web_stamps_of(w->config, now);
	if (!memcmp(now, w->stamp, sizeof(now)))
		return false;
	if (web_read(w)) {
		log_error("%s: not loaded; the previous settings stay in use", w->file);
		memcpy(w->stamp, now, sizeof(now));
		return false;
	}
	log_info("%s: changed settings loaded", w->file);
	return true;
}

const struct web_config *http_web_config(const struct http_web *w)
{
	return w->config;
}

struct http_tls *http_web_tls(const struct http_web *w)
{
	return w->tls;
}

void http_web_close(struct http_web *w)
{
	if (!w)
		return;
	web_config_free(w->config);
	http_tls_unref(w->tls);
	free(w->file);
	free(w);
}
