/* SPDX-License-Identifier: Apache-2.0 */
/* option.h - options, environment (GP_BPF_*) and configuration file, from one table. A flag takes
 * precedence over the environment, and the environment over the file. */
#ifndef OPTION_OPTION_H
#define OPTION_OPTION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define OPTION_LIST_MAX	     512
#define OPTION_RANGE_MAX     180 /* bytes; with its key a range fits into gp_config */
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
	struct option_list names, cgroups, containers,
		pods; /* patterns that select processes (select.h) */
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
	char *output; /* of CMD (run); the tape (record); the archive (bundle) */
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
	double flops, samples, tokens; /* of a step; 0: not given, like the numbers below */
	double peak_tflops;
	int64_t accelerators;
	int64_t multiply, ready_fd;
	int64_t gcm_interval_ns; /* 0: default of the exporter */
	int64_t for_ns, ideal_ns, hang_after_ns, slow_after_ns, slow_loss_ppm, max_regression_ppm, keep_ns;
	int64_t state_bytes;
	/* limit of the probes' cost, in millionths of a process's time; 0: no limit */
	int64_t overhead_ppm;
	int64_t overhead_pause_ns;
	int64_t remove; /* id of the mark or exclusion to remove; 0: none */
	bool durable, handover, takeover, list, wide;
	bool gcm_workload_metrics, dry_run, metrics, kubelet_insecure, once;
	bool replay, service, explain; /* set by the command, not by options */
	bool anonymize;
	char *help; /* "" or "all"; NULL: --help was not given */
	bool quiet, json, live, follow, best_effort, print_config, version;
	char **argv; /* arguments after the options: CMD and its arguments, or files */
	int argc;
};

/* Bits of commands: an option's row has the bits of the commands that have the option. */
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
	CMD_EXPLAIN = 131072,
	CMD_ALL = 262143,
};

enum operand { /* the arguments after the options */
	       OPERAND_NONE,
	       OPERAND_COMMAND, /* with arguments of its own */
	       OPERAND_FILE,
	       OPERAND_FILES,
	       OPERAND_JOB, /* at most one job of a store */
	       OPERAND_SHELL,
};

struct command_row {
	const char *name, *args, *help;
	unsigned bit;
	enum operand operand;
};
#define COMMANDS 18
extern const struct command_row
	command_rows[COMMANDS]; /* main.c has their functions, in this order */

/* Parses argv[1..] for one command (argv[0] is skipped), up to the first non-option. Returns -1 to
 * continue; otherwise the exit code: 0 after --help or --version, 2 after logging an error. */
int options_parse(struct options *o, unsigned command, int argc, char **argv);
void options_free(struct options *o);
/* Prints the command's usage and its options by group: the common ones, or all. Lines fit the
 * terminal of out, or 80 columns. */
void options_help(FILE *out, unsigned command, bool all);
/* Prints the usage of every command. */
void options_help_commands(FILE *out);
/* Logs that the command is unknown, and which one the user may have meant. */
void option_command_unknown(const char *word);
/* Returns the length of the part of a command line word that holds no secret; of an option's URL
 * see web_public_len(). previous: the word before this one; NULL: none. */
size_t option_public_len(const char *previous, const char *word);
/* --print-config: prints a file that --config reads back to the same settings, with the origin of
 * each; unset options, and URLs that may hold secrets, are comments. */
void options_print(FILE *out, const struct options *o, unsigned command);

/* Calls changed for each option of the command whose value differs. */
typedef void option_changed_fn(void *ctx, const char *name);
void options_compare(const struct options *a, const struct options *b, unsigned command,
		     option_changed_fn *changed, void *ctx);

/* Writes the items of --feature NAME=off as one comma-separated list of names. Returns 0, or
 * -EINVAL after logging one line. */
int options_features_off(const struct options *o, char *out, size_t len);

/* Writes the lengths of --window-length and --rolling in nanoseconds, separated by commas; "" if
 * there are none. Returns 0, or -EINVAL after logging one line. */
int options_windows(const struct options *o, char *out, size_t len);

/* Checks --price, --accelerator, --perf-tag and --session-tag. Returns 0, or -EINVAL after logging
 * one line. */
int options_program(const struct options *o);
/* Passes the settings about steps and accelerators on to the model (model/time/program.h). model:
 * name of the machine's accelerators, used if no option names them; NULL: unknown. */
typedef void option_say_fn(void *ctx, const char *key, const char *value);
void options_program_say(const struct options *o, const char *model, option_say_fn *say, void *ctx);
/* Parses "3.2e15", "1.5P", "4096" or "32k"; must be above 0. Returns 0 or -EINVAL. */
int option_real(const char *text, double *ret);
/* Parses a price: "2.50", or "$2.50" with any name of a currency in front. Returns 0 or -EINVAL. */
#define OPTION_CURRENCY_MAX 8
int option_price(const char *text, char currency[OPTION_CURRENCY_MAX], double *ret);

/* Checks the items of --range. Returns 0, or -EINVAL after logging one line. */
int options_ranges(const struct options *o);
/* Passes the items of --range on to the model (model/time/range.h). */
void options_ranges_say(const struct options *o, option_say_fn *say, void *ctx);
/* Collects items {match: M, bucket: B} of the configuration file. Returns 1 when an item is
 * complete, as M=B; 0: incomplete; -EINVAL. */
struct option_range_file {
	char match[OPTION_RANGE_MAX / 2], bucket[OPTION_RANGE_MAX / 2];
};
int options_range_file(struct option_range_file *f, const char *key, const char *value, char *ret,
		       size_t len);

/* Checks the items FROM,TO,WHY of --exclude of a watch, and makes relative times absolute. Returns
 * 0, or -EINVAL after logging one line. */
int options_excludes(struct options *o);
/* Passes the items of --exclude on to the model (model/time/exclusion.h). */
void options_excludes_say(const struct options *o, option_say_fn *say, void *ctx);
/* Parses one item of --exclude: UTC ns; *ret_why points into the item. Returns 0 or -EINVAL. */
int option_exclude(const char *item, int64_t now_ns, int64_t *ret_from_ns, int64_t *ret_to_ns,
		   const char **ret_why);
/* Collects items {from: F, to: T, why: W} of the configuration file. Returns 1 when an item is
 * complete, as F,T,W; 0: incomplete; -EINVAL. */
#define OPTION_EXCLUDE_MAX 360
struct option_exclude_file {
	char from[48], to[48], why[256];
};
int options_exclude_file(struct option_exclude_file *f, const char *key, const char *value,
			 char *ret, size_t len);

/* Parses "1500ms", "10s", "5m", "2h" or "1d"; a number without unit is in seconds. Returns 0 or
 * -EINVAL. */
int option_duration(const char *text, int64_t *ret_ns);
/* Writes a duration (ns) or a size (bytes) in its largest whole unit, like an option's value: 30d,
 * 90s, 256M; "-" for 0, which means not set. */
const char *option_scaled(char *out, size_t len, int64_t value, bool duration);
/* Parses RFC 3339, epoch seconds, "now" or "2h" (before now) to UTC ns, from 1970 to 2116. Returns
 * 0 or -EINVAL. */
int option_instant(const char *text, int64_t now_ns, int64_t *ret_ns);
/* Parses a percentage to millionths: "0.1" and "0.1%" are 1000. Returns 0 or -EINVAL. */
int option_percent(const char *text, int64_t *ret_ppm);
/* Parses "256M", "1G" or "65536" to bytes. Returns 0 or -EINVAL. */
int option_size(const char *text, int64_t *ret_bytes);
/* Parses a whole number within [min, max]. Returns 0 or -EINVAL. */
int option_number(const char *text, int64_t min, int64_t max, int64_t *ret);

#endif
