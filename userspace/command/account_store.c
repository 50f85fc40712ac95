/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/command/account_store.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/clock.h"
#include "userspace/base/log.h"
#include "userspace/output/history.h"
#include "userspace/ingest/goodput_record.h"
#include "userspace/store/import.h"

int account_store_fits(const struct options *o, const struct goodput_query *q)
{
	const char *against = q->semantics == GOODPUT_LIBRARY ? "--semantics library"
			      : o->now			      ? "--now"
							      : NULL;

	if (!o->store || !strcmp(o->store, "none") || !against)
		return 0;
	log_error(
		"--store does not work with %s: the store holds only results of --semantics closed",
		against);
	return -EINVAL;
}

static void command_line(const struct options *o, char *out, size_t len)
{
	size_t used = (size_t)snprintf(out, len, "gp-bpf account");

	for (int i = 0; i < o->argc && used < len; i++)
		used += (size_t)snprintf(out + used, len - used, " %s", o->argv[i]);
}

static int store_job_put(struct account *a, size_t job, struct store *st, const struct options *o)
{
	struct goodput_answer answer = {0};
	struct account_view view;
	enum store_imported fate = STORE_IMPORT_NEW;
	char command[256];
	struct store_import in = {.command = command, .answer = &answer, .now_ns = clock_real_ns()};
	const char *name;
	int64_t number;
	int err = account_answer(a, job, &answer, &view);

	if (err)
		return err;
	command_line(o, command, sizeof(command));
	in.names = view.names;
	name = goodput_name(view.names, answer.job);
	err = store_import(st, &in, &fate, &number);
	if (err == -ENODATA)
		log_warn("job %s: not stored: the log covers no time of this job", name);
	else if (err == -EEXIST)
		log_error(
			"job %s: not stored: %s has a log of this job that overlaps this log, and neither continues the other; name all logs of the job in one command, or use another --store",
			name, store_path(st));
	else if (err)
		log_error("job %s: not stored: store %s: %s", name, store_path(st), store_why(err));
	else if (fate == STORE_IMPORT_KNOWN)
		log_warn(
			"job %s: not stored: job %lld in %s already has more of this job than the log",
			name, (long long)number, store_path(st));
	else if (!o->quiet)
		log_warn("job %s: stored as job %lld in %s%s", name, (long long)number,
			 store_path(st),
			 fate == STORE_IMPORT_REPLACED ? ", replacing an earlier import of this log"
						       : "");
	if (!err && answer.cumulative.disruptions > answer.disruption_count)
		log_warn("job %s: stored only the first %zu of %llu disruptions", name,
			 answer.disruption_count,
			 (unsigned long long)answer.cumulative.disruptions);
	goodput_answer_free(&answer);
	return err == -ENODATA ? 0 : err;
}

int account_store(struct account *a, const struct options *o)
{
	char path[PATH_MAX];
	struct store *st;
	int err, first = 0, kept = history_path(o, path);

	if (kept <= 0)
		return kept;
	err = store_open(&st, path, STORE_WRITE);
	if (err) {
		log_error("store %s: %s", path, store_why(err));
		return err;
	}
	for (size_t i = 0; i < account_jobs(a) && err != -ENOMEM; i++) {
		err = store_job_put(a, i, st, o);
		first = first ? first : err;
	}
	store_close(st);
	return first;
}
