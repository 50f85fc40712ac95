/* SPDX-License-Identifier: Apache-2.0 */
/* pods_stand.h - what programs that test userspace/kubernetes/pods.h share: the stand-in for the
 * API server and the kubelet, and what is waited for. */
#ifndef TESTS_UNIT_PODS_STAND_H
#define TESTS_UNIT_PODS_STAND_H

#include "tests/unit/stand_in.h"
#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/kubernetes/pods_private.h"

#define WAIT_S 60

static struct stand_in s, g;
static struct pods *p;
static struct pods_config cfg;
static struct pods_intervals intervals;
static struct pods_view view;
static char server[64], logged[8192], told[8192];
static unsigned changes;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of logged */

/* Lines of several threads. */
static inline void keep(void *ctx, enum log_level level, const char *text)
{
	size_t at;

	(void)ctx;
	(void)level;
	pthread_mutex_lock(&lock);
	at = strlen(logged);
	snprintf(logged + at, sizeof(logged) - at, "%s\n", text);
	pthread_mutex_unlock(&lock);
}

static inline bool is_logged(const char *text)
{
	bool is;

	pthread_mutex_lock(&lock);
	is = strstr(logged, text) != NULL;
	pthread_mutex_unlock(&lock);
	return is;
}

static int start(void **state)
{
	static const char *const args[] = {"--tls",	"tls",		"--tls-port-file",
					   "tls-port",	"--token-file", "token",
					   "--journal", "journal",	NULL};
	static const char *const google[] = {"--journal", "journal", NULL};
	FILE *f;
	int port = 0;

	(void)state;
	log_sink(keep, NULL);
	unsetenv("KUBERNETES_SERVICE_HOST");
	if (stand_in_start(&s, "tests/servers/kubernetes.py", args) ||
	    stand_in_start(&g, "tests/servers/google.py", google))
		return -1;
	f = fopen(stand_in_path(&s, "tls-port"), "re");
	if (!f || fscanf(f, "%d", &port) != 1)
		return -1;
	fclose(f);
	snprintf(server, sizeof(server), "https://127.0.0.1:%d", port);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	stand_in_stop(&s);
	stand_in_stop(&g);
	return 0;
}

static inline void deed(const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	assert_int_equal(stand_in_set(&s, text), 0);
}

#define NODE "gke-1"

static inline void put(const char *name, const char *uid, const char *node, const char *labels,
		       const char *status)
{
	deed("{'put':{'kind':'Pod','metadata':{'name':'%s','namespace':'ml','uid':'%s','labels':{%s}},"
	     "'spec':{'nodeName':'%s'},'status':{%s}}}",
	     name, uid, labels, node, status);
}

static inline int setup(void **state)
{
	(void)state;
	setenv("METADATA_SERVER_DETECTION", "none", 1);
	intervals = (struct pods_intervals){.backoff = {20000000, 200000000, 2000000, 0},
					    .watch_s = 60,
					    .watch_grace_s = 1,
					    .list_s = 30,
					    .token_s = 60,
					    .kubelet_s = 0.05,
					    .metadata_s = 1};
	cfg = (struct pods_config){.node = NODE,
				   .server = server,
				   .token_file = strdup(stand_in_path(&s, "token")),
				   .ca_file = strdup(stand_in_path(&s, "tls/ca.pem"))};
	logged[0] = told[0] = '\0';
	changes = 0;
	deed("{'fault':{},'page':500,'cache':true}");
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	pods_close(p);
	p = NULL;
	free((char *)cfg.token_file);
	free((char *)cfg.ca_file);
	deed("{'fault':{}}");
	return 0;
}

static inline void open_it(void)
{
	assert_int_equal(pods_open_with_intervals(&p, &cfg, &intervals), 0);
	assert_non_null(p);
}

/* ---- what is waited for */

static inline bool wait_for(bool (*holds)(const char *arg), const char *arg)
{
	uint64_t end = clock_mono_ns() + WAIT_S * UINT64_C(1000000000);

	while (!holds(arg)) {
		if (clock_mono_ns() > end)
			return false;
		usleep(2000);
	}
	return true;
}

static inline bool is_current(const char *arg)
{
	(void)arg;
	pods_get_view(p, &view);
	return view.current;
}

static inline bool is_known(const char *uid)
{
	struct pod pod;

	return !pods_get(p, uid, &pod) && !pod.gone;
}

static inline bool is_gone(const char *uid)
{
	struct pod pod;

	return !pods_get(p, uid, &pod) && pod.gone && pod.deleted_ns;
}

static inline bool has_trouble(const char *text)
{
	pods_get_view(p, &view);
	return strstr(view.trouble, text) != NULL;
}

static inline bool has_lists(const char *n)
{
	pods_get_view(p, &view);
	return view.lists >= (uint64_t)(*n - '0');
}

static inline bool is_well(const char *arg)
{
	return is_current(arg) && !view.trouble[0];
}

static inline void hear(void *ctx, const struct gp_notice *n)
{
	static const char *const names[] = {
#define X(id, name) [id] = #name,
		GP_NOTICES(X)
#undef X
	};
	size_t at = strlen(told);

	(void)ctx;
	snprintf(told + at, sizeof(told) - at, "%s%s %s %s\n", n->over ? "-" : "", names[n->what],
		 n->pod_uid, n->text);
}

static inline bool is_told(const char *text)
{
	pods_notices(p, hear, NULL);
	return strstr(told, text) != NULL;
}

static inline void count(void *ctx, const struct pod *pod)
{
	(void)ctx;
	(void)pod;
	changes++;
}

static inline bool is_changed(const char *arg)
{
	(void)arg;
	pods_changes(p, count, NULL);
	return changes > 0;
}

static inline int asked(const char *what, const char *more)
{
	return stand_in_count(&s, (const char *const[]){what, more, NULL});
}

#define WAIT(what, arg)                                                                            \
	do {                                                                                       \
		const char *about = arg;                                                           \
		if (!wait_for(what, about))                                                        \
			fail_msg("never: %s(%s); log: %s; told: %s; trouble: %s", #what,           \
				 about ? about : "", logged, told, view.trouble);                  \
	} while (0)

#endif
