/* SPDX-License-Identifier: Apache-2.0 */
/* stand_in.h - a server of tests/servers as a child, for one program of tests. It ends with us. */
#ifndef TESTS_UNIT_STAND_IN_H
#define TESTS_UNIT_STAND_IN_H

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/cloud/web.h"

#define STAND_IN_ARGS 16

struct stand_in {
	pid_t pid;
	char dir[64];  /* "/tmp/...": its files; "port" is one */
	char base[64]; /* "http://127.0.0.1:PORT" */
};

static inline char *stand_in_path(const struct stand_in *s, const char *name)
{
	static char path[4][160];
	static unsigned at;
	char *out = path[at++ % 4];

	snprintf(out, sizeof(path[0]), "%s/%s", s->dir, name);
	return out;
}

static inline void stand_in_child(pid_t parent, const char *script, const char *const *args,
				  const char *dir)
{
	const char *argv[STAND_IN_ARGS + 6] = {"python3", script, "--port-file", "port"};
	char whole[512];
	int n = 4;

	if (!realpath(script, whole) || chdir(dir))
		_exit(126);
	argv[1] = whole;
	while (*args && n < STAND_IN_ARGS + 4)
		argv[n++] = *args++;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent)
		execvp(argv[0], (char *const *)argv);
	_exit(127);
}

/* args: NULL-terminated; files are named from its directory. 0: it listens; else it does not
 * run. */
static inline int stand_in_start(struct stand_in *s, const char *script, const char *const *args)
{
	pid_t parent = getpid();
	int port = 0, status;
	FILE *f;

	snprintf(s->dir, sizeof(s->dir), "/tmp/stand-in.XXXXXX");
	if (!mkdtemp(s->dir))
		return -1;
	s->pid = fork();
	if (!s->pid)
		stand_in_child(parent, script, args, s->dir);
	while (!port) {
		f = fopen(stand_in_path(s, "port"), "re");
		if (f) {
			if (fscanf(f, "%d", &port) != 1)
				port = 0;
			fclose(f);
		} else if (waitpid(s->pid, &status, WNOHANG)) {
			return -1;
		}
		usleep(5000);
	}
	snprintf(s->base, sizeof(s->base), "http://127.0.0.1:%d", port);
	return 0;
}

static inline void stand_in_stop(struct stand_in *s)
{
	char command[128];
	int status;

	if (s->pid > 0) {
		kill(s->pid, SIGTERM);
		waitpid(s->pid, &status, 0);
	}
	snprintf(command, sizeof(command), "rm -rf %s", s->dir);
	if (system(command)) // NOLINT(cert-env33-c)
		fprintf(stderr, "%s stays behind\n", s->dir);
}

/* Knobs, as JSON. 0: set. */
static inline int stand_in_set(const struct stand_in *s, const char *knobs)
{
	struct web_reply r = {0};
	struct web *w;
	char url[128];
	int err;

	snprintf(url, sizeof(url), "%s/control", s->base);
	if (web_open(&w))
		return -1;
	err = web_send(w,
		       &(struct web_request){.method = "POST",
					     .url = url,
					     .body = knobs,
					     .len = strlen(knobs),
					     .timeout_ms = 60000,
					     .direct = true},
		       &r);
	if (!err && r.status != 200)
		err = -1;
	web_reply_free(&r);
	web_close(w);
	return err;
}

/* Lines of its journal so far that hold all of these texts; NULL ends them. */
static inline int stand_in_count(const struct stand_in *s, const char *const *texts)
{
	FILE *f = fopen(stand_in_path(s, "journal"), "re");
	char *line = NULL;
	size_t cap = 0, i;
	int n = 0;

	while (f && getline(&line, &cap, f) > 0) {
		for (i = 0; texts[i] && strstr(line, texts[i]); i++)
			;
		n += !texts[i];
	}
	free(line);
	if (f)
		fclose(f);
	return n;
}

#endif
