/* SPDX-License-Identifier: Apache-2.0 */
/* option.h - options, environment (GP_BPF_*) and config file: one table, one spelling. Flag wins
 * over environment, environment over file. */
#ifndef OPTION_OPTION_H
#define OPTION_OPTION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define OPTION_LIST_MAX	     512
#define OPTION_RANGE_MAX     180 /* with its key it fits into gp_config */
#define OVERHEAD_PPM_DEFAULT 1000
#define OVERHEAD_PAUSE_NS    10000000000ll
#define STORE_KEEP_NS	     (30 * 86400000000000ll)
#define STORE_BYTES	     (256ll << 20)

struct option_list {
	char *item[OPTION_LIST_MAX];
	int count;
};

struct options {
	struct option_list pids;
	struct option_list names, cgroups, containers, pods; /* pids by what they are (select.h) */
	struct option_list exports;
	struct option_list hooks;    /* EVENT[,EVENT...]=ACTION */
	struct option_list features; /* NAME=off */
	struct option_list windows;  /* durations */
	struct option_list ranges;   /* MATCH=BUCKET */
	struct option_list spans, excludes, ats;
	struct option_list allow, deny; /* KEY=GLOB */
	char *since, *until, *html;
	char *listen, *job, *config, *probes, *marker, *root, *state_dir;
	char *carry, *job_uid;
	char *output; /* of CMD (run), or the tape (record), or the archive (bundle) */
	char *service_config;
	struct option_list libraries;
	char *user, *store;
	char *semantics, *calculator, *now;
	char *gcm_project, *gcm_location, *gcm_accelerator, *gcm_cluster, *gcm_replica,
		*gcm_endpoint, *gcm_prefix;
	char *rolling; /* windows in seconds, separated by commas */
	char *web_config, *hook_user;
	char *kubelet, *api_server, *node_name;
	char *accelerator, *compare, *price, *perf_tag, *session_tag;
	char *log_level, *log_format;
	char *sandbox; /* on, off; NULL: on */
	char *sort, *filter;
	int64_t interval_ns;
	double flops, samples, tokens; /* of a step; 0: not said, as what follows */
	double peak_tflops;
	int64_t accelerators;
	int64_t multiply, ready_fd;
	int64_t gcm_interval_ns; /* 0: the exporter's */
	int64_t for_ns, ideal_ns, hang_after_ns, keep_ns;
	int64_t state_bytes;
	int64_t overhead_ppm; /* millionths; 0: no bound */
	int64_t overhead_pause_ns;
	int64_t remove; /* id; 0: none */
	bool durable, handover, takeover, list, wide;
	bool gcm_workload_metrics, dry_run, metrics, kubelet_insecure, once;
	bool replay, service; /* the command's, no option */
	bool anonymize;
	bool quiet, json, live, follow, best_effort, print_config, help, version;
	char **argv; /* what follows the options: CMD, or files */
	int argc;
};

/* Commands an option belongs to. */
enum {
	CMD_PID = 1,
	CMD_RUN = 2,
	CMD_RECORD = 4,
	CMD_REPLAY = 8,
	CMD_CHECK = 16,
	CMD_PROBES = 32,
	CMD_SCHEMA = 64,
	CMD_NODE = 8192,
	CMD_WATCH = CMD_PID | CMD_RUN | CMD_RECORD | CMD_NODE,
	CMD_DETACH = 128,
	CMD_ACCOUNT = 256,
	CMD_JOBS = 512,
	CMD_MARK = 1024,
	CMD_EXCLUDE = 2048,
	CMD_REPORT = 4096,
	CMD_STORE = CMD_JOBS | CMD_MARK | CMD_EXCLUDE | CMD_REPORT,
	CMD_GCM = CMD_WATCH | CMD_REPLAY | CMD_ACCOUNT,
	CMD_TOP = 16384,
	CMD_COMPLETION = 32768,
	CMD_BUNDLE = 65536,
	CMD_ALL = 131071,
};

enum operand { /* what stands behind the options */
	       OPERAND_NONE,
	       OPERAND_COMMAND, /* with arguments of its own */
	       OPERAND_FILE,
	       OPERAND_FILES,
	       OPERAND_JOB, /* of a store, the first alone */
	       OPERAND_SHELL,
};

struct command_row {
	const char *name, *args, *help;
	unsigned bit;
	enum operand operand;
};
#define COMMANDS 17
extern const struct command_row
	command_rows[COMMANDS]; /* main.c has their functions, in this order */

/* Parses argv[1..] for one command (argv[0] is skipped), up to the first non-option. -1: go on;
 * else the exit code: 0 after --help or --version, 2 after one line about what is wrong. */
int options_parse(struct options *o, unsigned command, int argc, char **argv);
void options_free(struct options *o);
void options_help(FILE *out, unsigned command);
/* How much of a word of a command line may be told, by the one before it (NULL: none): of an
 * option's URL, see web_told(). */
size_t option_public_len(const char *previous, const char *word);
/* --print-config: a file that --config reads back to the same settings, and where each is from;
 * what is not set is a comment, and so is what of a URL may not be told. */
void options_print(FILE *out, const struct options *o, unsigned command);

/* Calls changed for each option of the command whose value differs. */
typedef void option_changed_fn(void *ctx, const char *name);
void options_compare(const struct options *a, const struct options *b, unsigned command,
		     option_changed_fn *changed, void *ctx);

/* --feature NAME=off items as one comma-separated list. -EINVAL after one line. */
int options_features_off(const struct options *o, char *out, size_t len);

/* --window-length items and --rolling as nanoseconds, separated by commas; "" when there are none.
 * -EINVAL after one line. */
int options_windows(const struct options *o, char *out, size_t len);

/* --price, --accelerator, --perf-tag, --session-tag are fine. -EINVAL after one line. */
int options_program(const struct options *o);
/* What was said of a step and of accelerators, as settings of the model (model/time/program.h).
 * model: of the machine's accelerators, where nobody says; NULL: unknown. */
typedef void option_say_fn(void *ctx, const char *key, const char *value);
void options_program_say(const struct options *o, const char *model, option_say_fn *say, void *ctx);
/* "3.2e15", "1.5P", "4096", "32k": above 0. -EINVAL. */
int option_real(const char *text, double *ret);
/* "2.50", "$2.50": the same, behind what the user calls the currency. -EINVAL. */
#define OPTION_CURRENCY_MAX 8
int option_price(const char *text, char currency[OPTION_CURRENCY_MAX], double *ret);

/* --range items: -EINVAL after one line. */
int options_ranges(const struct options *o);
/* ... as settings of the model (model/time/range.h). */
void options_ranges_say(const struct options *o, option_say_fn *say, void *ctx);
/* The config file's items, {match: M, bucket: B}: 1 when one is whole, as M=B; 0: not yet;
 * -EINVAL. */
struct option_range_file {
	char match[OPTION_RANGE_MAX / 2], bucket[OPTION_RANGE_MAX / 2];
};
int options_range_file(struct option_range_file *f, const char *key, const char *value, char *ret,
		       size_t len);

/* --exclude items of a watch, FROM,TO,WHY: relative ones are made absolute. -EINVAL after one
 * line. */
int options_excludes(struct options *o);
/* ... as settings of the model (model/time/away.h). */
void options_excludes_say(const struct options *o, option_say_fn *say, void *ctx);
/* One item: UTC ns; *ret_why lies in it. -EINVAL: none. */
int option_exclude(const char *item, int64_t now_ns, int64_t *ret_from_ns, int64_t *ret_to_ns,
		   const char **ret_why);
/* The config file's items, {from: F, to: T, why: W}: 1 when one is whole, as F,T,W; 0: not yet;
 * -EINVAL. */
#define OPTION_EXCLUDE_MAX 360
struct option_exclude_file {
	char from[48], to[48], why[256];
};
int options_exclude_file(struct option_exclude_file *f, const char *key, const char *value,
			 char *ret, size_t len);

/* "1500ms", "10s", "5m", "2h", "1d"; plain numbers are seconds. -EINVAL. */
int option_duration(const char *text, int64_t *ret_ns);
/* A duration (ns) or a size (bytes) as it can be given again, in its largest whole unit: 30d, 90s,
 * 256M; 0, not set: "-". */
const char *option_scaled(char *out, size_t len, int64_t value, bool duration);
/* RFC 3339, epoch seconds, "now", "2h" (before now): UTC, of 1970 to 2116. -EINVAL. */
int option_instant(const char *text, int64_t now_ns, int64_t *ret_ns);
/* "0.1" or "0.1%" is 1000 millionths. -EINVAL. */
int option_percent(const char *text, int64_t *ret_ppm);
/* "256M", "1G", "65536": bytes. -EINVAL. */
int option_size(const char *text, int64_t *ret_bytes);
/* Whole number within [min, max]. -EINVAL. */
int option_number(const char *text, int64_t min, int64_t max, int64_t *ret);

#endif
