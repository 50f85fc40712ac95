/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake/script.h"

#define ACTIONS_MAX 64

enum act { RET, LATENCY, HANG };

struct action {
	char name[48];
	enum act act;
	long value, from; /* code or ns; the call, 0: every one */
	long calls;
};

static struct action actions[ACTIONS_MAX];
static int count = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void wrong(const char *text)
{
	fprintf(stderr, "script: %s: not understood\n", text);
	exit(3);
}

static void action_parse(const char *name, const char *text)
{
	struct action *a = &actions[count];
	char word[16] = "", unit[4] = "";

	if (count == ACTIONS_MAX || strlen(name) >= sizeof(a->name))
		wrong(name);
	*a = (struct action){0};
	strcpy(a->name, name);
	if (strchr(text, '@'))
		a->from = atol(strchr(text, '@') + 1);
	if (sscanf(text, "ret=%ld", &a->value) == 1) {
		a->act = RET;
	} else if (sscanf(text, "latency=%ld%3[a-z]", &a->value, unit) == 2) {
		a->act = LATENCY;
		a->value *= !strcmp(unit, "us") ? 1000 : !strcmp(unit, "ms") ? 1000000 : 1000000000;
	} else if (sscanf(text, "%15[a-z]", word) == 1 && !strcmp(word, "hang")) {
		a->act = HANG;
	} else {
		wrong(text);
	}
	count++;
}

static void script_read(const char *variable)
{
	char *copy = strdup(getenv(variable) ? getenv(variable) : ""), *next = NULL, *more = NULL;

	count = 0;
	for (char *of = strtok_r(copy, ";", &next); of; of = strtok_r(NULL, ";", &next)) {
		char *colon = strchr(of, ':');

		if (!colon)
			wrong(of);
		*colon = 0;
		for (char *text = strtok_r(colon + 1, ",", &more); text;
		     text = strtok_r(NULL, ",", &more))
			action_parse(of, text);
	}
	free(copy);
}

int script_call(const char *variable, const char *name)
{
	long latency_ns = 0, ret = 0;
	bool hang = false;

	pthread_mutex_lock(&lock);
	if (count < 0)
		script_read(variable);
	for (int i = 0; i < count; i++) {
		struct action *a = &actions[i];

		if (strcmp(a->name, name))
			continue;
		a->calls++;
		if (a->act == RET && (!a->from || a->calls == a->from))
			ret = a->value;
		if (a->act == LATENCY && a->calls >= a->from)
			latency_ns = a->value;
		hang |= a->act == HANG && a->calls >= a->from;
	}
	pthread_mutex_unlock(&lock);
	while (hang)
		pause();
	if (latency_ns)
		nanosleep(&(struct timespec){latency_ns / 1000000000, latency_ns % 1000000000},
			  NULL);
	return (int)ret;
}
