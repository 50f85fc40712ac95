/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf bundle: writes an archive for a bug report, without secrets. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "userspace/base/file.h"
#include "userspace/base/clock.h"
#include "userspace/base/config_file.h"
#include "userspace/base/json_text.h"
#include "userspace/base/log.h"
#include "userspace/base/path.h"
#include "userspace/base/tar.h"
#include "userspace/command/bundle.h"
#include "userspace/cloud/web.h"
#include "userspace/command/command.h"
#include "userspace/ingest/durable.h"
#include "userspace/option/option.h"
#include "userspace/command/top_fetch.h"

#define BUNDLE_SCHEMA 1
#define SELF	      "/proc/self/exe"
#define UNIT	      "gp-bpf.service"
#define UNIT_CONFIG   "/etc/gp-bpf/config.yaml"
#define LOG_LINES     "1000"
#define SERVICE_MS    5000
#define PROGRAM_MS    10000
#define CHECK_MS      30000
#define NS_PER_S      1000000000

/* ---- the parts ------------------------------------------------------------------------------- */

static void cmd_bundle_why_of(char why[160], int code, unsigned limit_ms)
{
	if (code == -ETIME)
		snprintf(why, 160, "did not end within %u s", limit_ms / 1000);
	else if (code < 0)
		snprintf(why, 160, "cannot run: %s", strerror(-code));
	else if (code)
		snprintf(why, 160, "exited with status %d", code);
	else
		*why = 0;
}

/* Adds the standard output of a program as names[0], and its standard error as names[1]. */
static void cmd_bundle_put_program(struct bundle *b, const char *const names[2],
				   enum bundle_kind kind, const char *from, char *const argv[],
				   unsigned limit_ms)
{
	struct buffer out = {0}, err = {0};
	char why[160];

	cmd_bundle_why_of(why, bundle_run(&out, &err, argv, limit_ms), limit_ms);
	bundle_put(b, names[0], kind, from, why, &out);
	if (err.len)
		bundle_put(b, names[1], BUNDLE_TEXT, from, "what it complained of", &err);
	buffer_free(&out);
	buffer_free(&err);
}

static bool cmd_bundle_take(void *ctx, const char *data, size_t len)
{
	struct buffer *body = ctx;

	if (len)
		buffer_add(body, data, len);
	return !body->failed && body->len <= BUNDLE_FILE_BYTES;
}

static void cmd_bundle_put_page(struct bundle *b, struct web *w, const struct top_source *src,
				const char *name, enum bundle_kind kind, const char *path)
{
	struct buffer body = {0};
	struct web_reply r = {0};
	char url[64], from[160], why[160] = "";
	struct web_request rq = {.method = "GET",
				 .url = url,
				 .timeout_ms = SERVICE_MS,
				 .direct = true,
				 .socket = src->socket,
				 .take = cmd_bundle_take,
				 .ctx = &body};
	int err;

	snprintf(url, sizeof(url), "http://localhost%s", path);
	snprintf(from, sizeof(from), "%s of the service at %.100s", path, src->name);
	err = top_source_check(src);
	if (err)
		snprintf(why, sizeof(why), "%s",
			 err == -EACCES ? "only root may read the service's state"
					: "no service is running");
	else if (web_send(w, &rq, &r))
		snprintf(why, sizeof(why), "no answer: %.120s", r.why);
	else if (r.status != 200)
		snprintf(why, sizeof(why), "HTTP status %ld", r.status);
	bundle_put(b, name, kind, from, why, &body);
	web_reply_free(&r);
	buffer_free(&body);
}

static void cmd_bundle_put_service(struct bundle *b, const char *state_dir)
{
	struct buffer text = {0};
	struct top_source src;
	struct web *w;

	bundle_service(b->mask, &text, durable_owner(state_dir));
	bundle_put(b, "service.json", BUNDLE_OWN,
		   "the process that holds the lock of the state folder", NULL, &text);
	buffer_free(&text);
	if (top_source(&src, NULL, state_dir) || web_open(&w))
		return;
	cmd_bundle_put_page(b, w, &src, "state.json", BUNDLE_JSON, "/debug/state");
	cmd_bundle_put_page(b, w, &src, "metrics.txt", BUNDLE_METRICS, "/metrics");
	web_close(w);
}

static void cmd_bundle_put_folder(struct bundle *b, const char *state_dir)
{
	struct buffer text = {0};
	int err = bundle_folder(b->mask, &text, state_dir);

	bundle_put(b, "folder.json", BUNDLE_OWN, "the state folder", err ? strerror(-err) : NULL,
		   &text);
	buffer_free(&text);
}

/* Appends the settings that gp-bpf node would have with this configuration file; config NULL:
 * without a file. */
static int cmd_bundle_settings(struct buffer *out, struct buffer *err, const char *config)
{
	char *argv[] = {SELF,		"node", "--print-config", config ? "--config" : NULL,
			(char *)config, NULL};

	return bundle_run(out, err, argv, PROGRAM_MS);
}

static void cmd_bundle_put_settings(struct bundle *b, const char *config)
{
	struct buffer out = {0}, err = {0};
	char from[160], why[160];

	snprintf(from, sizeof(from),
		 "gp-bpf node --print-config%s%.80s, with the environment of this command",
		 config ? " --config " : "", config ? config : "");
	cmd_bundle_why_of(why, cmd_bundle_settings(&out, &err, config), PROGRAM_MS);
	bundle_put(b, "config.txt", BUNDLE_CONFIG, from, why, &out);
	if (err.len)
		bundle_put(b, "config.err", BUNDLE_TEXT, from, "what it complained of", &err);
	buffer_free(&out);
	buffer_free(&err);
}

/* Paths in the settings of the service; "": not set. */
struct places {
	char state_dir[PATH_MAX], store[PATH_MAX];
};

static int cmd_bundle_take_place(void *ctx, const char *file, int line, const char *key,
				 const char *value)
{
	struct places *p = ctx;

	(void)file;
	(void)line;
	if (!strcmp(key, "state_dir"))
		snprintf(p->state_dir, sizeof(p->state_dir), "%s", value);
	else if (!strcmp(key, "store.path"))
		snprintf(p->store, sizeof(p->store), "%s", value);
	return 0;
}

static void cmd_bundle_places_read(struct places *p, const char *config)
{
	struct buffer out = {0}, err = {0};

	*p = (struct places){0};
	if (config && !cmd_bundle_settings(&out, &err, config) && out.data)
		config_read_text("settings", out.data, out.len, cmd_bundle_take_place, p);
	buffer_free(&out);
	buffer_free(&err);
}

/* Makes a relative path from the service's settings absolute. It is relative to the working
 * directory of process pid. If pid is 0, it is taken from our working directory if the file exists
 * there, and otherwise from /, where systemd starts services. */
static void cmd_bundle_place_from(char place[PATH_MAX], pid_t pid)
{
	char at[PATH_MAX], link[64], dir[1024] = "";
	ssize_t n;

	if (!*place || *place == '/')
		return;
	snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
	n = pid ? readlink(link, dir, sizeof(dir) - 1) : -1;
	if (n <= 0 && (!access(place, F_OK) || !getcwd(dir, sizeof(dir))))
		return;
	dir[n > 0 ? n : 0] = 0;
	if (snprintf(at, sizeof(at), "%s/%s", strcmp(dir, "/") != 0 ? dir : "", place) <
	    (int)sizeof(at))
		snprintf(place, PATH_MAX, "%s", at);
}

/* Sets the arguments of gp-bpf jobs so that it reads the service's store. */
static void cmd_bundle_jobs_of(char *args[2], const struct options *o, struct places *p, pid_t pid,
			       const char *dir)
{
	bool named = *p->store && strcmp(p->store, "default") != 0 && strcmp(p->store, "none") != 0;

	if (named)
		cmd_bundle_place_from(p->store, pid);
	if (o->store || named) {
		args[0] = "--store";
		args[1] = o->store ? o->store : p->store;
	} else if (strcmp(dir, DURABLE_DIR) != 0) {
		args[0] = "--state-dir";
		args[1] = (char *)dir;
	}
}

static void cmd_bundle_collect(struct bundle *b, const struct options *o)
{
	const char *config = o->service_config, *dir;
	char *check[] = {SELF, "check", "--json", NULL},
	     *jobs[] = {SELF, "jobs", "--json", NULL, NULL, NULL},
	     *logs[] = {"journalctl", "-u",	   UNIT,	 "-n", LOG_LINES,
			"-o",	      "short-iso", "--no-pager", NULL};
	char its[PATH_MAX], from[160];
	struct places at, its_at;
	struct buffer text = {0};
	pid_t pid;

	if (!config && !access(UNIT_CONFIG, R_OK))
		config = UNIT_CONFIG;
	cmd_bundle_places_read(&at, config);
	cmd_bundle_place_from(at.state_dir, 0);
	dir = o->state_dir ? o->state_dir : *at.state_dir ? at.state_dir : DURABLE_DIR;
	pid = durable_owner(dir);
	/* If the service runs, use the configuration file of its command line, not that of the
	 * systemd unit. */
	if (!o->service_config && bundle_service_config(pid, its, sizeof(its)))
		config = its;
	cmd_bundle_places_read(&its_at, config);
	cmd_bundle_jobs_of(jobs + 3, o, &its_at, pid, dir);
	snprintf(from, sizeof(from), "gp-bpf jobs --json%s%s%s%.100s", jobs[3] ? " " : "",
		 jobs[3] ? jobs[3] : "", jobs[3] ? " " : "", jobs[3] ? jobs[4] : "");
	bundle_host(b->mask, &text);
	bundle_put(b, "host.json", BUNDLE_OWN,
		   "uname, /etc/os-release, /proc, /sys, the kernel's configuration", NULL, &text);
	buffer_free(&text);
	cmd_bundle_put_program(b, (const char *const[]){"check.json", "check.err"}, BUNDLE_JSON,
			       "gp-bpf check --json", check, CHECK_MS);
	cmd_bundle_put_service(b, dir);
	cmd_bundle_put_folder(b, dir);
	cmd_bundle_put_program(b, (const char *const[]){"jobs.json", "jobs.err"}, BUNDLE_JOBS, from,
			       jobs, PROGRAM_MS);
	cmd_bundle_put_settings(b, config);
	/* Add the log last, so that the names in the other files are masked in the log, too. */
	cmd_bundle_put_program(b, (const char *const[]){"log.txt", "log.err"}, BUNDLE_TEXT,
			       "journalctl -u " UNIT " -n " LOG_LINES, logs, PROGRAM_MS);
}

/* ---- the archive ----------------------------------------------------------------------------- */

static void cmd_bundle_manifest(const struct bundle *b, struct buffer *out, bool anonymize)
{
	buffer_printf(
		out,
		"A bug report of gp-bpf " GP_VERSION ".\n\n"
		"Masked, as [masked]: what looks like a token, a password, a key, a header of authorization;\n"
		"of URLs user, path and query; of command lines all but the program; values of the\n"
		"environment but GP_BPF_*; texts of users. Not looked at: files of jobs, the files that settings name.\n");
	buffer_printf(
		out,
		"Names of jobs, pods, users, hosts: %s.\nLook at each file before you send this.\n\n",
		anonymize ? "hashes (anon-...), the same in every bundle of this machine"
			  : "as they are (--anonymize)");
	for (int i = 0; i < b->count; i++) {
		const struct bundle_file *f = &b->files[i];

		buffer_printf(out, "%-13s %8zu bytes  %4zu masked  ", f->name, f->text.len,
			      f->masked);
		mask_text(b->mask, out, f->from, strlen(f->from));
		buffer_printf(out, "%s", *f->note ? ": " : "");
		mask_text(b->mask, out, f->note, strlen(f->note));
		buffer_add(out, "\n", 1);
	}
}

static int cmd_bundle_pack(const struct bundle *b, bool anonymize, struct buffer *out)
{
	int64_t now_s = clock_real_ns() / NS_PER_S;
	struct buffer tar = {0}, text = {0};
	char name[TAR_NAME_MAX + 1];
	int err = 0;

	cmd_bundle_manifest(b, &text, anonymize);
	err = tar_add(&tar, "gp-bpf-bundle/MANIFEST", text.data, text.len, now_s);
	for (int i = 0; !err && i < b->count; i++) {
		const struct bundle_file *f = &b->files[i];

		snprintf(name, sizeof(name), "gp-bpf-bundle/%s", f->name);
		if (f->text.failed)
			err = -ENOMEM;
		else if (f->text.len)
			err = tar_add(&tar, name, f->text.data, f->text.len, now_s);
	}
	tar_end(&tar);
	if (!err)
		err = tar.failed || text.failed ? -ENOMEM : tar_compress(out, &tar);
	buffer_free(&tar);
	buffer_free(&text);
	return err;
}

static int bundle_write_all(const char *path, const struct buffer *data)
{
	int fd = path_open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600),
	    err = fd < 0 ? fd : 0;

	if (err)
		return err;
	err = file_write_all(fd, data->data, data->len);
	if (!err && fsync(fd) && errno != EINVAL)
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (err)
		unlink(path);
	return err;
}

static void bundle_report(const struct bundle *b, const char *path, size_t bytes, bool json)
{
	struct buffer out = {0};

	if (!json) {
		printf("%s (%zu KiB): versions, checks, settings, state, metrics, jobs and log of gp-bpf, without secrets and command lines as far as they can be recognised; look at it before you send it: tar xzf, MANIFEST\n",
		       path, (bytes + 1023) / 1024);
		return;
	}
	json_open(&out, NULL, '{');
	json_uint(&out, "schema", BUNDLE_SCHEMA);
	json_string(&out, "file", path);
	json_uint(&out, "bytes", bytes);
	json_open(&out, "files", '[');
	for (int i = 0; i < b->count; i++) {
		const struct bundle_file *f = &b->files[i];

		json_open(&out, NULL, '{');
		json_string(&out, "name", f->name);
		json_string(&out, "from", f->from);
		json_uint(&out, "bytes", f->text.len);
		json_uint(&out, "masked", f->masked);
		json_known(&out, "note", f->note);
		json_close(&out, '}');
	}
	json_close(&out, ']');
	json_close(&out, '}');
	printf("%s\n", out.data ? out.data : "");
	buffer_free(&out);
}

static int cmd_bundle_run(const struct options *o)
{
	time_t now = time(NULL);
	struct buffer packed = {0};
	struct bundle b = {.mask = mask_new(o->anonymize)};
	char name[64];
	const char *path = o->output ? o->output : name;
	int err;

	strftime(name, sizeof(name), "gp-bpf-bundle-%Y%m%dT%H%M%SZ.tar.gz", gmtime(&now));
	if (!access(path, F_OK)) {
		log_error("%s: exists already; name another file: -o FILE", path);
		bundle_free(&b);
		return EXIT_RUNTIME;
	}
	if (b.mask)
		cmd_bundle_collect(&b, o);
	err = b.mask ? cmd_bundle_pack(&b, o->anonymize, &packed) : -ENOMEM;
	if (!err && packed.failed)
		err = -ENOMEM;
	if (!err)
		err = bundle_write_all(path, &packed);
	if (err)
		log_error("%s: %s", path, path_why(err));
	else
		bundle_report(&b, path, packed.len, o->json);
	buffer_free(&packed);
	bundle_free(&b);
	return err ? EXIT_RUNTIME : EXIT_OK;
}

int cmd_bundle(int argc, char **argv)
{
	struct options o;
	int code = options_parse(&o, CMD_BUNDLE, argc, argv);

	if (code >= 0)
		return code;
	if (o.argc) {
		log_error("bundle: unexpected argument '%s'; did you mean -o?", o.argv[0]);
		code = EXIT_USAGE;
	} else {
		code = cmd_bundle_run(&o);
	}
	options_free(&o);
	return code;
}
