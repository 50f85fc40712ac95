/* SPDX-License-Identifier: Apache-2.0 */
/* google_stand.h - what programs that test userspace/cloud/google.h share: the stand-in, and an
 * environment that knows nothing else. */
#ifndef TESTS_UNIT_GOOGLE_STAND_H
#define TESTS_UNIT_GOOGLE_STAND_H

#include "tests/unit/stand_in.h"
#include "userspace/base/log.h"
#include "userspace/cloud/google.h"

#define NO_FAULTS                                                                                            \
	"{\"faults\": {}, \"flavor\": \"Google\", \"texts\": {}, \"gke\": false, \"skew\": 0, \"expires\": " \
	"3600}"

static struct stand_in s;
static struct web *w;
static struct google *g;
static struct buffer header;
static char why[512];

static void quiet(void *ctx, enum log_level level, const char *text)
{
	(void)ctx;
	(void)level;
	(void)text;
}

static void forget_environment(void)
{
	static const char *const names[] = {"GOOGLE_APPLICATION_CREDENTIALS",
					    "CLOUDSDK_CONFIG",
					    "GOOGLE_CLOUD_PROJECT",
					    "GOOGLE_CLOUD_QUOTA_PROJECT",
					    "GCE_METADATA_IP",
					    "METADATA_SERVER_DETECTION",
					    "KUBERNETES_SERVICE_HOST",
					    "http_proxy",
					    "all_proxy",
					    "ALL_PROXY",
					    "no_proxy",
					    "NO_PROXY"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	setenv("HOME", s.dir, 1);
	setenv("GCE_METADATA_HOST", s.base + strlen("http://"), 1);
}

static int start(void **state)
{
	static const char *const args[] = {"--journal",	   "journal", "--account",
					   "account.json", "--user",  "user.json",
					   "--tokens",	   "tokens",  NULL};

	(void)state;
	log_sink(quiet, NULL);
	return stand_in_start(&s, "tests/servers/google.py", args);
}

static int stop(void **state)
{
	(void)state;
	stand_in_stop(&s);
	return 0;
}

static int setup(void **state)
{
	(void)state;
	forget_environment();
	if (stand_in_set(&s, NO_FAULTS) || web_open(&w))
		return -1;
	why[0] = '\0';
	return google_open(&g, w);
}

static int teardown(void **state)
{
	(void)state;
	buffer_free(&header);
	google_close(g);
	web_close(w);
	forget_environment();
	return 0;
}

static void use(const char *file)
{
	setenv("GOOGLE_APPLICATION_CREDENTIALS", stand_in_path(&s, file), 1);
}

static int token(void)
{
	return google_token(g, &header, why, sizeof(why));
}

static inline int asked(const char *path)
{
	return stand_in_count(&s, (const char *const[]){path, NULL});
}

static inline void set_fault(const char *path, const char *kind)
{
	char knobs[256];

	snprintf(knobs, sizeof(knobs), "{\"faults\": {\"%s\": \"%s\"}}", path, kind);
	assert_int_equal(stand_in_set(&s, knobs), 0);
}

static void says(const char *text)
{
	if (!strstr(why, text))
		fail_msg("no \"%s\" in: %s", text, why);
	assert_null(strchr(why, '\n'));
}

#endif
