#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# An exporter is one file and one row: a copy of the tree gets one, and everything else follows from its row.

# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # programs of awk; tests are subshells; bats sets stderr
load lib

exporter() { # its file
	cat <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "userspace/export/exporter.h"

struct tally {
	char path[4096];
	unsigned long steps;
};

static int tally_open(void **ret_state, const char *arg, const struct export_options *opt)
{
	struct tally *t = calloc(1, sizeof(*t));

	(void)opt;
	if (!t)
		return -12;
	snprintf(t->path, sizeof(t->path), "%s", arg ? arg : "-");
	*ret_state = t;
	return 0;
}

static void tally_fact(void *state, const struct fact *f)
{
	struct tally *t = state;

	t->steps += f->type == FACT_STEP;
}

static int tally_close(void *state)
{
	struct tally *t = state;
	FILE *out = strcmp(t->path, "-") ? fopen(t->path, "w") : stdout;

	fprintf(out, "%lu steps\n", t->steps);
	if (out != stdout)
		fclose(out);
	free(t);
	return 0;
}

static int tally_log_check(const char *arg, const struct export_options *opt, struct export_log *log)
{
	(void)arg;
	(void)opt;
	(void)log;
	return 0;
}

static int tally_log_write(const char *arg, const struct export_options *opt, const struct export_log *log)
{
	FILE *out = fopen(arg, "w");

	(void)opt;
	fprintf(out, "%zu jobs\n", log->jobs);
	fclose(out);
	return 0;
}

const struct exporter export_tally = {
	.name = "tally",
	.help = "how many steps there were, to FILE",
	.spec = {"tally:FILE"},
	.usage = {[EXPORT_EVENTS] = "tally:FILE", [EXPORT_LOG] = "tally:FILE (a word more)"},
	.place = EXPORT_TO_FILE,
	.open = tally_open,
	.fact = tally_fact,
	.close = tally_close,
	.log_check = tally_log_check,
	.log_write = tally_log_write,
	.of_options = (const char *const[]){"rolling", NULL},
};
END
}

setup_file() {
	e2e_setup_file
	local copy=$BATS_FILE_TMPDIR/tree
	mkdir -p "$copy/build"
	(cd "$TOP" && git ls-files -co --exclude-standard -z | grep -zE '^(Makefile|install.mk|bpf/|loader/|probes/|userspace/)' |
		xargs -0 cp -a --parents -t "$copy")
	cp -a "$TOP/build/plain" "$copy/build/"
	rm -rf "$copy/build/plain/tests"
	exporter >"$copy/userspace/export/file/tally.c"
	sed -i 's/^\tX(csv) /\tX(tally) X(csv) /' "$copy/userspace/export/exporter.h"
	make -s -C "$copy" WERROR=1 build/plain/gp-bpf >&2
	[ -n "$NO_PROBES" ] || "$GP_BPF" record --quiet -o "$BATS_FILE_TMPDIR/tape" -- "$TRAIN" load wait steps=23 >/dev/null
}
setup() {
	e2e_setup
	NEW=$BATS_FILE_TMPDIR/tree/build/plain/gp-bpf
}
teardown() { e2e_teardown; }

@test "messages and completion know it" {
	run -2 --separate-stderr "$NEW" --pid $$ --export none
	[[ $stderr == *", tally (how many steps there were, to FILE), "* ]]
	"$NEW" completion words -- --pid 1 --export "" >"$T/words"
	grep -q "^tally:" "$T/words"
}

@test "help names it where it can be used, and so does the message of an unknown one" {
	run -0 "$NEW" replay --help
	[[ $output == *" tally:FILE, "* ]]
	run -0 "$NEW" account --help
	[[ $output == *" tally:FILE (a word more)"* ]]
	run -0 "$NEW" report --help
	[[ $output != *tally* ]]
	"$NEW" completion words -- account --export "" >"$T/words"
	grep -q "^tally:" "$T/words"
	run -2 --separate-stderr "$NEW" account --export none "$T/log"
	[[ $stderr == *"; use "*"tally:FILE (a word more)"* ]]
	run -2 --separate-stderr "$NEW" report --export "tally:$T/a"
	[[ $stderr == "gp-bpf: --export tally:$T/a: not available in this command; use csv:DIR ("* ]]
}

@test "it is written from a log" {
	echo '{"job_name":"llama","job_start_time":1735725600.0}' >"$T/log"
	run -0 --separate-stderr "$NEW" account --quiet --export "tally:$T/jobs" "$T/log"
	equal "1 jobs" "$(cat "$T/jobs")"
}

@test "it gets facts, and writes to a file or to standard output" {
	need_probes
	run -0 --separate-stderr "$NEW" replay --quiet --export "tally:$T/steps" "$BATS_FILE_TMPDIR/tape"
	equal "" "$output$stderr"
	equal "23 steps" "$(cat "$T/steps")"
	run -0 --separate-stderr "$NEW" replay --export tally:- "$BATS_FILE_TMPDIR/tape"
	equal "23 steps" "$output" "no report beside data on standard output"
}

@test "it does not write where another one writes, and an option of its own says that it is missing" {
	run -2 --separate-stderr "$NEW" --pid $$ --export "tally:$T/a" --export "json:$T/./a"
	equal "gp-bpf: --export tally:$T/a and --export json:$T/./a write to the same file or folder" "$stderr"
	need_probes
	run -0 --separate-stderr "$NEW" replay --quiet --rolling 60 "$BATS_FILE_TMPDIR/tape"
	[[ $stderr == *"--rolling: has no effect without --export "* ]]
}
