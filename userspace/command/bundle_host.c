/* SPDX-License-Identifier: Apache-2.0 */
/* bundle_host.c - describes the machine and the watching process for a bug report. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zlib.h>

#include "userspace/base/json_text.h"
#include "userspace/base/proc_file.h"
#include "userspace/command/bundle.h"
#include "userspace/option/option.h"

#define FOLDER_ENTRIES 1000
#define FDS_MAX	       100000
#define WORDS_BYTES    65536

/* Returns the first line of a file; NULL if the file cannot be read. */
static const char *host_line_of(const char *path, char line[256])
{
	FILE *f = fopen(path, "re");
	bool got = f && fgets(line, 256, f);

	if (f)
		fclose(f);
	if (!got)
		return NULL;
	line[strcspn(line, "\n")] = 0;
	return line;
}

static void host_put_text(struct mask *m, struct buffer *out, const char *key, const char *text,
			  bool name)
{
	struct buffer masked = {0};

	if (text && name)
		mask_name(m, &masked, text, strlen(text));
	else if (text)
		mask_text(m, &masked, text, strlen(text));
	json_string(out, key, text ? (masked.data ? masked.data : "") : NULL);
	buffer_free(&masked);
}

static void host_settings(struct buffer *out)
{
	static const char *const files[] = {
		"/proc/sys/kernel/perf_event_paranoid",
		"/proc/sys/kernel/kptr_restrict",
		"/proc/sys/kernel/unprivileged_bpf_disabled",
		"/proc/sys/net/core/bpf_jit_enable",
		"/proc/sys/kernel/yama/ptrace_scope",
		"/proc/sys/kernel/kexec_load_disabled",
		"/sys/kernel/security/lockdown",
		"/sys/kernel/security/lsm",
	};
	char line[256];

	json_open(out, "settings", '{');
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		json_string(out, files[i], host_line_of(files[i], line));
	json_close(out, '}');
}

/* Appends those options of the kernel's configuration that gp-bpf depends on, from /proc/config.gz
 * or the distribution's file. */
static void host_kernel(struct buffer *out, const char *release)
{
	static const char *const wanted[] = {"BPF",    "UPROBE",      "KPROBE",
					     "FTRACE", "TRACEPOINTS", "PERF_EVENTS",
					     "CGROUP", "LOCKDOWN",    "DEBUG_INFO_BTF"};
	char path[256], line[512];
	gzFile f = gzopen("/proc/config.gz", "re");

	snprintf(path, sizeof(path), "/boot/config-%s", release);
	f = f ? f : gzopen(path, "re");
	json_bool(out, "btf", !access("/sys/kernel/btf/vmlinux", R_OK));
	if (!f) {
		json_null(out, "config");
		return;
	}
	json_open(out, "config", '[');
	while (gzgets(f, line, sizeof(line))) {
		bool is = false;

		line[strcspn(line, "\n")] = 0;
		for (size_t i = 0; !is && i < sizeof(wanted) / sizeof(wanted[0]); i++)
			is = !strncmp(line, "CONFIG_", 7) && strstr(line, wanted[i]);
		if (is)
			json_string(out, NULL, line);
	}
	json_close(out, ']');
	gzclose(f);
}

/* Appends the mounts of control groups and of bpf. Other mounts are omitted, as they may contain
 * addresses and passwords of file servers. */
static void host_mounts(struct buffer *out)
{
	char line[4096], place[512], type[64], options[512];
	FILE *f = fopen("/proc/self/mounts", "re");

	json_open(out, "mounts", '[');
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*s %511s %63s %511s", place, type, options) != 3 ||
		    (strncmp(type, "cgroup", 6) != 0 && strcmp(type, "bpf") != 0 &&
		     strcmp(type, "tracefs") != 0))
			continue;
		json_open(out, NULL, '{');
		json_string(out, "place", place);
		json_string(out, "type", type);
		json_string(out, "options", options);
		json_close(out, '}');
	}
	if (f)
		fclose(f);
	json_close(out, ']');
}

static void host_release(struct buffer *out)
{
	FILE *f = fopen("/etc/os-release", "re");
	char line[256];

	json_open(out, "os_release", '[');
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "ID=", 3) || !strncmp(line, "VERSION", 7) ||
		    !strncmp(line, "PRETTY", 6)) {
			line[strcspn(line, "\n")] = 0;
			json_string(out, NULL, line);
		}
	if (f)
		fclose(f);
	json_close(out, ']');
}

/* Appends the names of environment variables. Their values are omitted, because many are
 * secrets. */
static void host_environment_names(struct buffer *out, const char *key, const char *at,
				   const char *end)
{
	static const char *const wanted[] = {"GP_BPF_",
					     "OTEL_",
					     "XDG_STATE_HOME",
					     "SSL_CERT",
					     "CURL_CA",
					     "http_",
					     "HTTP_",
					     "https_",
					     "HTTPS_",
					     "no_proxy",
					     "NO_PROXY",
					     "GOOGLE_",
					     "KUBERNETES_SERVICE_HOST",
					     "NODE_NAME"};
	char name[128];

	json_open(out, key, '[');
	for (; at < end; at += strnlen(at, (size_t)(end - at)) + 1) {
		size_t len = strcspn(at, "=");

		for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
			if (strncmp(at, wanted[i], strlen(wanted[i])) || len >= sizeof(name))
				continue;
			snprintf(name, sizeof(name), "%.*s", (int)len, at);
			json_string(out, NULL, name);
			break;
		}
	}
	json_close(out, ']');
}

void bundle_host(struct mask *m, struct buffer *out)
{
	char *words = malloc(WORDS_BYTES), line[256];
	struct utsname u = {0};
	ssize_t n = words ? proc_slurp("", getpid(), "environ", words, WORDS_BYTES) : -1;

	uname(&u);
	json_open(out, NULL, '{');
	json_string(out, "version", GP_VERSION);
	json_string(out, "compiler", __VERSION__);
	json_string(out, "prefix", GP_PREFIX);
	json_string(out, "system", u.sysname);
	json_string(out, "kernel", u.release);
	json_string(out, "kernel_build", u.version);
	json_string(out, "machine", u.machine);
	host_put_text(m, out, "host", u.nodename, true);
	json_int(out, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
	json_uint(out, "uid", geteuid());
	json_string(out, "load", host_line_of("/proc/loadavg", line));
	host_release(out);
	host_settings(out);
	host_kernel(out, u.release);
	host_mounts(out);
	host_environment_names(out, "environment_names", words, n > 0 ? words + n : words);
	json_close(out, '}');
	buffer_add(out, "\n", 1);
	free(words);
}

/* Appends the values of GP_BPF_* variables, masked like the configuration file: URLs are cut to the
 * host, hooks and the reasons of exclusions are omitted. */
static void host_environment_own(struct mask *m, struct buffer *out, const char *at,
				 const char *end)
{
	static const char *const hidden[] = {"--on=", "--exclude="};
	static const char own[] = "GP_BPF_";
	char word[2048];

	json_open(out, "environment", '[');
	for (; at < end; at += strnlen(at, (size_t)(end - at)) + 1) {
		struct buffer shown = {0};
		bool masked = false;

		if (strncmp(at, own, sizeof(own) - 1) || !strchr(at, '=') ||
		    strlen(at) >= sizeof(word) - 8)
			continue;
		snprintf(word, sizeof(word), "--%s", at + sizeof(own) - 1);
		for (char *p = word; *p != '='; p++)
			*p = *p == '_' ? '-' : *p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p;
		for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
			masked |= !strncmp(word, hidden[i], strlen(hidden[i]));
		word[option_public_len(NULL, word)] = 0;
		buffer_printf(&shown, "%.*s", (int)strcspn(at, "=") + 1, at);
		buffer_printf(&shown, "%s",
			      masked		  ? MASKED
			      : strchr(word, '=') ? strchr(word, '=') + 1
						  : "");
		host_put_text(m, out, NULL, shown.data, false);
		buffer_free(&shown);
	}
	json_close(out, ']');
}

/* ---- the watching process -------------------------------------------------------------------- */

static void host_service_words(struct mask *m, struct buffer *out, pid_t pid, char *words)
{
	ssize_t n = proc_slurp("", pid, "cmdline", words, WORDS_BYTES);
	const char *before = NULL;
	/* the word is for gp-bpf; false after "--", where the command line of another program
	 * begins */
	bool own = true;

	json_open(out, "words", '[');
	for (char *at = words; n > 0 && at < words + n; at += strlen(at) + 1) {
		size_t public_len = option_public_len(before, at);
		bool hook = (before && !strcmp(before, "--on")) || !strncmp(at, "--on=", 5);
		char was = at[public_len];

		own &= strcmp(at, "--") != 0;
		if (own && !hook) {
			at[public_len] = 0;
			host_put_text(m, out, NULL, at, false);
			at[public_len] = was;
		} else {
			json_string(out, NULL, MASKED);
		}
		before = at;
	}
	json_close(out, ']');
	n = proc_slurp("", pid, "environ", words, WORDS_BYTES);
	host_environment_names(out, "environment_names", words, n > 0 ? words + n : words);
	host_environment_own(m, out, words, n > 0 ? words + n : words);
}

bool bundle_service_config(pid_t pid, char *path, size_t len)
{
	char *words = malloc(WORDS_BYTES), cwd[64], dir[512];
	const char *given = NULL, *before = "";
	ssize_t n = words && pid ? proc_slurp("", pid, "cmdline", words, WORDS_BYTES) : -1;

	for (const char *at = words; n > 0 && at < words + n && strcmp(at, "--") != 0;
	     at += strlen(at) + 1) {
		if (!strcmp(before, "--config") || !strcmp(before, "-c"))
			given = at;
		else if (!strncmp(at, "--config=", 9))
			given = at + 9;
		before = at;
	}
	snprintf(cwd, sizeof(cwd), "/proc/%d/cwd", (int)pid);
	n = given ? readlink(cwd, dir, sizeof(dir) - 1) : -1;
	dir[n > 0 ? n : 0] = 0;
	if (given && *given == '/')
		snprintf(path, len, "%s", given);
	else if (n > 0)
		snprintf(path, len, "%s/%s", dir, given);
	given = given && (*given == '/' || n > 0) && !access(path, R_OK) ? path : NULL;
	free(words);
	return given;
}

/* Counts the descriptors of process pid for each kind of file. */
static void host_service_descriptors(struct buffer *out, pid_t pid)
{
	static const char *const kinds[] = {"bpf-map",	  "bpf-prog", "bpf_link", "bpf-link",
					    "perf_event", "socket:",  "pipe:",	  "/"};
	uint64_t counts[sizeof(kinds) / sizeof(kinds[0])] = {0}, all = 0;
	char path[64], file[128];
	const struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	if (!d) {
		json_null(out, "descriptors");
		return;
	}
	while ((e = readdir(d)) && all < FDS_MAX) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, file, sizeof(file) - 1);

		if (n <= 0)
			continue;
		file[n] = 0;
		all++;
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			if (strstr(file, kinds[i])) {
				counts[i]++;
				break;
			}
	}
	closedir(d);
	json_open(out, "descriptors", '{');
	json_uint(out, "all", all);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		json_uint(out, strcmp(kinds[i], "/") != 0 ? kinds[i] : "file", counts[i]);
	json_close(out, '}');
}

void bundle_service(struct mask *m, struct buffer *out, pid_t pid)
{
	char *text = malloc(WORDS_BYTES), *rest = NULL;

	json_open(out, NULL, '{');
	json_nonzero(out, "pid", (uint64_t)pid);
	if (pid && text && proc_slurp("", pid, "status", text, WORDS_BYTES) > 0) {
		json_open(out, "status", '{');
		for (char *line = strtok_r(text, "\n", &rest); line;
		     line = strtok_r(NULL, "\n", &rest)) {
			char *colon = strchr(line, ':');

			if (!colon ||
			    (strncmp(line, "Vm", 2) != 0 && strncmp(line, "Cap", 3) != 0 &&
			     strncmp(line, "Threads", 7) != 0 && strncmp(line, "Seccomp", 7) != 0))
				continue;
			*colon = 0;
			json_string(out, line, colon + 1 + strspn(colon + 1, " \t"));
		}
		json_close(out, '}');
		host_service_descriptors(out, pid);
		host_service_words(m, out, pid, text);
	}
	json_close(out, '}');
	buffer_add(out, "\n", 1);
	free(text);
}

/* ---- the state folder ------------------------------------------------------------------------ */

int bundle_folder(struct mask *m, struct buffer *out, const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	struct stat is;
	char mode[8];

	if (!d)
		return -errno;
	json_open(out, NULL, '{');
	host_put_text(m, out, "place", dir, false);
	json_open(out, "files", '[');
	for (int n = 0; n < FOLDER_ENTRIES && (e = readdir(d)); n++) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
		    fstatat(dirfd(d), e->d_name, &is, AT_SYMLINK_NOFOLLOW))
			continue;
		json_open(out, NULL, '{');
		json_string(out, "file", e->d_name);
		json_string(out, "type",
			    S_ISREG(is.st_mode)	   ? "file"
			    : S_ISDIR(is.st_mode)  ? "folder"
			    : S_ISSOCK(is.st_mode) ? "socket"
						   : "other");
		json_int(out, "bytes", is.st_size);
		snprintf(mode, sizeof(mode), "%04o", is.st_mode & 07777);
		json_string(out, "mode", mode);
		json_time(out, "changed", (int64_t)is.st_mtim.tv_sec * 1000000000);
		json_close(out, '}');
	}
	json_close(out, ']');
	json_close(out, '}');
	buffer_add(out, "\n", 1);
	closedir(d);
	return 0;
}
