/* SPDX-License-Identifier: Apache-2.0 */
/* option.h - the values of all options. They can be set as flags, as environment variables
 * (GP_BPF_*) and in the configuration file, all by one table. A flag takes precedence over the
 * environment, and the environment over the file. */
#ifndef OPTION_OPTION_H
#define OPTION_OPTION_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#define OPTION_LIST_MAX 512
/* limit of an item of --range in bytes, so that a struct gp_config has room for its key and the
 * item */
#define OPTION_RANGE_MAX     180
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
	struct option_list hooks;    /* values of --on: EVENT[,EVENT...]=ACTION */
	struct option_list features; /* values of --feature: NAME=off */
	struct option_list windows;  /* values of --window-length: durations */
	struct option_list ranges;   /* values of --range: MATCH=BUCKET */
	struct option_list spans, excludes, ats;
	struct option_list allow, deny; /* KEY=GLOB */
	char *since, *until, *html;
	char *listen, *job, *config, *probes, *marker, *root, *state_dir;
	char *carry, *job_uid;
	char *output; /* output file of CMD (run), tape (record), or archive (bundle) */
	char *service_config;
	struct option_list libraries;
	char *user, *store;
	char *semantics, *calculator, *now;
	char *gcm_project, *gcm_location, *gcm_accelerator, *gcm_cluster, *gcm_replica,
		*gcm_endpoint, *gcm_prefix;
	char *rolling; /* --rolling: lengths of windows in seconds, separated by commas */
	char *web_config, *hook_user;
	char *kubelet, *api_server, *node_name;
	char *accelerator, *compare, *price, *perf_tag, *session_tag;
	char *log_level, *log_format;
	char *sandbox; /* on, off; NULL: on */
	char *sort, *filter;
	int64_t interval_ns;
	/* work done in one step (FLOP, samples, tokens); 0: the option is not given, as for the
	 * numbers below */
	double flops, samples, tokens;
	double peak_tflops;
	int64_t accelerators;
	int64_t multiply, ready_fd;
	int64_t gcm_interval_ns; /* 0: use the exporter's default */
	int64_t for_ns, ideal_ns, hang_after_ns, slow_after_ns, slow_loss_ppm, max_regression_ppm,
		keep_ns;
	int64_t state_bytes;
	/* limit of the time that probes may cost, in millionths of a process's time; 0: no limit */
	int64_t overhead_ppm;
	int64_t overhead_pause_ns;
	int64_t remove; /* id of the mark or exclusion to remove; 0: remove none */
	bool durable, handover, takeover, list, wide;
	bool gcm_workload_metrics, dry_run, metrics, kubelet_insecure, once;
	bool replay, service, explain; /* set by the command that runs, not by options */
	bool anonymize;
	char *help; /* "": common options, "all": all options; NULL: --help was not given */
	bool quiet, json, live, follow, best_effort, print_config, version;
	char **argv; /* what follows the options: CMD with its arguments, or files */
	int argc;
};

/* A bit for each command. The row of an option has the bits of the commands that accept the
 * option. */
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

enum operand { /* The arguments that may follow the options of a command. */
	       OPERAND_NONE,
	       OPERAND_COMMAND, /* a command line of another program */
	       OPERAND_FILE,
	       OPERAND_FILES,
	       OPERAND_JOB, /* the name of at most one job of a store */
	       OPERAND_SHELL,
};

struct command_row {
	const char *name, *args, *help;
	unsigned bit;
	enum operand operand;
};
#define COMMANDS 18
extern const struct command_row
	command_rows[COMMANDS]; /* main.c has the commands' functions in the same order */

/* Parses the arguments of one command, up to the first that is not an option; argv[0] is skipped.
 * Returns -1 to continue, or else the exit code: 0 after --help or --version, 2 after logging an
 * error. */
int options_parse(struct options *o, unsigned command, int argc, char **argv);
void options_free(struct options *o);
/* Prints the usage of a command and its options by group: all options, or the common ones. Lines
 * are as wide as the terminal, or 80 columns if out is not a terminal. */
void options_help(FILE *out, unsigned command, bool all);
/* Prints the usage of every command. */
void options_help_commands(FILE *out);
/* Logs that the command is unknown, and suggests the one that the user may have meant. */
void option_command_unknown(const char *word);
/* Returns how many bytes at the beginning of a command line word may be shown, because they have no
 * secrets (URLs: see web_public_len()). previous: the word before; NULL: none. */
size_t option_public_len(const char *previous, const char *word);
/* For --print-config: prints a configuration file with the effective settings and the source of
 * each. Options that are not set, and URLs that may have secrets, are written as comments. */
void options_print(FILE *out, const struct options *o, unsigned command);

/* Calls changed() for each option of the command whose value differs between a and b. */
typedef void option_changed_fn(void *ctx, const char *name);
void options_compare(const struct options *a, const struct options *b, unsigned command,
		     option_changed_fn *changed, void *ctx);

/* Writes the names of all --feature NAME=off, separated by commas. Returns 0, or -EINVAL after
 * logging one line. */
int options_features_off(const struct options *o, char *out, size_t len);

/* Writes the windows of --window-length and --rolling: their lengths in nanoseconds, separated by
 * commas; "" if there are none. Returns 0, or -EINVAL after logging one line. */
int options_windows(const struct options *o, char *out, size_t len);

/* Checks the values of --price, --accelerator, --perf-tag and --session-tag. Returns 0, or -EINVAL
 * after logging one line. */
int options_program(const struct options *o);
/* Calls say() with each setting about steps and accelerators, which the caller passes to the model
 * (model/time/program.h). model: name of the machine's accelerators, used if no option gives it;
 * NULL: unknown. */
typedef void option_say_fn(void *ctx, const char *key, const char *value);
void options_program_say(const struct options *o, const char *model, option_say_fn *say, void *ctx);
/* Parses a number above 0, such as "3.2e15", "1.5P", "4096" or "32k". Returns 0 or -EINVAL. */
int option_real(const char *text, double *ret);
/* Parses a price, such as "2.50" or "$2.50"; any name of a currency may precede the number. Returns
 * 0 or -EINVAL. */
#define OPTION_CURRENCY_MAX 8
int option_price(const char *text, char currency[OPTION_CURRENCY_MAX], double *ret);

/* Checks the values of --range. Returns 0, or -EINVAL after logging one line. */
int options_ranges(const struct options *o);
/* Calls say() with each --range, which the caller passes to the model (model/time/range.h). */
void options_ranges_say(const struct options *o, option_say_fn *say, void *ctx);
/* Collects an item {match: M, bucket: B} of the configuration file, key by key. Returns 1 if the
 * item is complete, as M=B; 0: it is not yet complete; -EINVAL. */
struct option_range_file {
	char match[OPTION_RANGE_MAX / 2], bucket[OPTION_RANGE_MAX / 2];
};
int options_range_file(struct option_range_file *f, const char *key, const char *value, char *ret,
		       size_t len);

/* Checks the values FROM,TO,WHY of --exclude for a watch, and replaces relative times by absolute
 * ones. Returns 0, or -EINVAL after logging one line. */
int options_excludes(struct options *o);
/* Calls say() with each --exclude, which the caller passes to the model
 * (model/time/exclusion.h). */
void options_excludes_say(const struct options *o, option_say_fn *say, void *ctx);
/* Parses one value of --exclude. Times are UTC ns; *ret_why points into item. Returns 0 or
 * -EINVAL. */
int option_exclude(const char *item, int64_t now_ns, int64_t *ret_from_ns, int64_t *ret_to_ns,
		   const char **ret_why);
/* Collects an item {from: F, to: T, why: W} of the configuration file, key by key. Returns 1 if the
 * item is complete, as F,T,W; 0: it is not yet complete; -EINVAL. */
#define OPTION_EXCLUDE_MAX 360
struct option_exclude_file {
	char from[48], to[48], why[256];
};
int options_exclude_file(struct option_exclude_file *f, const char *key, const char *value,
			 char *ret, size_t len);

/* Parses "1500ms", "10s", "5m", "2h" or "1d"; a number without unit is in seconds. Returns 0 or
 * -EINVAL. */
int option_duration(const char *text, int64_t *ret_ns);
/* Writes a duration (ns) or a size (bytes) in its largest whole unit, as an option accepts it: 30d,
 * 90s, 256M; "-" for 0, which means not set. Returns out. */
const char *option_scaled(char *out, size_t len, int64_t value, bool duration);
/* Parses a time: RFC 3339, seconds since the epoch, "now", or a duration before now ("2h").
 * *ret_ns: UTC ns, from 1970 to 2116. Returns 0 or -EINVAL. */
int option_instant(const char *text, int64_t now_ns, int64_t *ret_ns);
/* Parses a percentage to millionths: "0.1" and "0.1%" give 1000. Returns 0 or -EINVAL. */
int option_percent(const char *text, int64_t *ret_ppm);
/* Parses "256M", "1G" or "65536" to bytes. Returns 0 or -EINVAL. */
int option_size(const char *text, int64_t *ret_bytes);
/* Parses a whole number within [min, max]. Returns 0 or -EINVAL. */
int option_number(const char *text, int64_t min, int64_t max, int64_t *ret);

#endif
