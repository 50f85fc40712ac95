/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/identity/filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/base/log.h"

#define RULE_MAX 256

/* One rule given by the user */
struct rule {
	enum filter_key key;
	bool deny;
	char glob[RULE_MAX];
	char text[RULE_MAX + 32]; /* the rule as the user wrote it */
};

struct filter {
	struct rule *rules;
	size_t count;
	/* For each key: the text for a process that matches no allow rule of the key. */
	char why[FILTER_KEY_COUNT][48];
};

static const char *const key_name[] = {
#define X(name) #name,
	FILTER_KEYS(X)
#undef X
};

static int filter_rule_parse(struct rule *r, const char *text, bool deny)
{
	const char *eq = strchr(text, '=');

	*r = (struct rule){.deny = deny};
	for (r->key = 0; eq && r->key < FILTER_KEY_COUNT; r->key++)
		if (strlen(key_name[r->key]) == (size_t)(eq - text) &&
		    !strncmp(key_name[r->key], text, (size_t)(eq - text)))
			break;
	if (!eq || r->key == FILTER_KEY_COUNT || !eq[1] || strlen(eq + 1) >= sizeof(r->glob)) {
		log_error(
			"--%s: '%s': expected KEY=GLOB with the key namespace, user, command or cgroup, such as namespace=ml-*",
			deny ? "deny" : "allow", text);
		return -EINVAL;
	}
	snprintf(r->glob, sizeof(r->glob), "%s", eq + 1);
	snprintf(r->text, sizeof(r->text), "%s %s=%s", deny ? "deny" : "allow", key_name[r->key],
		 r->glob);
	return 0;
}

int filter_new(struct filter **ret, char *const *allow, int nallow, char *const *deny, int ndeny)
{
	struct filter *f = calloc(1, sizeof(*f));
	int err = f ? 0 : -ENOMEM;

	if (!err) {
		f->rules = calloc((size_t)nallow + (size_t)ndeny + 1, sizeof(*f->rules));
		err = f->rules ? 0 : -ENOMEM;
	}
	for (int i = 0; !err && i < nallow; i++)
		err = filter_rule_parse(&f->rules[f->count++], allow[i], false);
	for (int i = 0; !err && i < ndeny; i++)
		err = filter_rule_parse(&f->rules[f->count++], deny[i], true);
	if (err) {
		filter_free(f);
		return err;
	}
	for (int k = 0; k < FILTER_KEY_COUNT; k++)
		snprintf(f->why[k], sizeof(f->why[k]), "no allow rule matches its %s", key_name[k]);
	*ret = f;
	return 0;
}

void filter_free(struct filter *f)
{
	if (!f)
		return;
	free(f->rules);
	free(f);
}

bool filter_asks(const struct filter *f, enum filter_key key)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->rules[i].key == key)
			return true;
	return false;
}

/* Returns true if a path in lines such as "0::/system.slice/a.service" matches. The path begins
 * after the second colon. */
static bool filter_cgroup_matches(const char *glob, const char *lines)
{
	char path[FILTER_CGROUPS];

	for (const char *at = lines; *at; at += *at == '\n') {
		size_t len = strcspn(at, "\n");
		const char *begin = memchr(at, ':', len);

		begin = begin ? memchr(begin + 1, ':', len - (size_t)(begin + 1 - at)) : NULL;
		if (begin) {
			size_t n = len - (size_t)(begin + 1 - at);

			snprintf(path, sizeof(path), "%.*s",
				 (int)(n < sizeof(path) ? n : sizeof(path) - 1), begin + 1);
			if (!fnmatch(glob, path, 0))
				return true;
		}
		at += len;
	}
	return false;
}

static bool filter_rule_matches(const struct rule *r, const struct filter_facts *facts)
{
	switch (r->key) {
	case FILTER_namespace:
		return facts->namespace && !fnmatch(r->glob, facts->namespace, 0);
	case FILTER_user:
		return (*facts->user && !fnmatch(r->glob, facts->user, 0)) ||
		       (*facts->uid && !fnmatch(r->glob, facts->uid, 0));
	case FILTER_command:
		return !fnmatch(r->glob, facts->command, 0) || !fnmatch(r->glob, facts->comm, 0);
	case FILTER_cgroup:
		return filter_cgroup_matches(r->glob, facts->cgroups);
	default:
		return false;
	}
}

enum filter_verdict filter_classify(const struct filter *f, const struct filter_facts *facts,
				    const char **ret_why)
{
	bool asked[FILTER_KEY_COUNT] = {0}, met[FILTER_KEY_COUNT] = {0}, waits = false;

	*ret_why = "";
	for (size_t i = 0; i < f->count; i++) {
		const struct rule *r = &f->rules[i];
		bool matches = filter_rule_matches(r, facts);

		waits |= r->key == FILTER_namespace && !facts->namespace;
		if (r->deny && matches) {
			*ret_why = r->text;
			return FILTER_DENIED;
		}
		asked[r->key] |= !r->deny;
		met[r->key] |= !r->deny && matches;
	}
	for (int k = 0; k < FILTER_KEY_COUNT; k++) {
		if (!asked[k] || met[k] || (k == FILTER_namespace && waits))
			continue;
		*ret_why = f->why[k];
		return FILTER_DENIED;
	}
	return waits ? FILTER_UNKNOWN : FILTER_ALLOWED;
}
