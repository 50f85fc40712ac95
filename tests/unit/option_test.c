/* SPDX-License-Identifier: Apache-2.0 */
/* A setting that is wrong is one line: where it is, its name there, and what is allowed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "userspace/base/log.h"
#include "userspace/command/settings.h"
#include "userspace/option/option.h"

static char path[] = "/tmp/gp-bpf-option-XXXXXX";
static char said[2048];
static int lines;

static void hear(void *ctx, enum log_level level, const char *line)
{
	(void)ctx;
	(void)level;
	lines++;
	snprintf(said, sizeof(said), "%s", line);
}

static int setup(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	log_sink(hear, NULL);
	setenv("GP_BPF_PROBES", "probes", 1); /* there are none beside the test */
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	log_sink(NULL, NULL);
	return unlink(path);
}

static int parse(unsigned command, char *const *words)
{
	char *argv[16] = {"gp-bpf"};
	struct options o;
	int argc = 1, code;

	lines = 0;
	*said = '\0';
	while (words && *words)
		argv[argc++] = *words++;
	code = options_parse(&o, command, argc, argv);
	if (code >= 0)
		return code;
	code = settings_check(&o) ? 2 : 0;
	options_free(&o);
	return code;
}

static int parse_file(unsigned command, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	return parse(command, (char *[]){"--config", path, NULL});
}

static void has(const char *what)
{
	if (lines != 1 || !strstr(said, what))
		fail_msg("%d lines, the last: %s; expected: %s", lines, said, what);
}

static void wrong_lines_of_a_file(void **state)
{
	static const struct {
		const char *text;
		int line;
		const char *says;
	} all[] = {
		{"", 1, "version: missing; begin the file with the line 'version: 1'"},
		{"price: 2.50\n", 1, "version: missing"},
		{"version: 2\n", 1, "unknown version 2; this gp-bpf reads version 1"},
		{"version: 1\nnonsense: 1\n", 2, "unknown key 'nonsense'"},
		{"version: 1\nprice:\n", 2, "price: missing value"},
		{"version: 1\nprice: 1\nprice: 2\n", 3, "price: set twice; line 2 sets it already"},
		{"version: 1\nprice: [1, 2]\n", 2, "price: set twice"},
		{"version: 1\nprice: free\n", 2,
		 "price: 'free': expected a price above 0, like 2.50"},
		{"version: 1\nsteps:\n  multiply: 0\n", 3,
		 "steps.multiply: '0' is not a whole number from 1 to 1000000"},
		{"version: 1\nsteps: {ideal: soon}\n", 2, "steps.ideal: 'soon' is not a duration"},
		{"version: 1\nsteps: {marker: nothing}\n", 2,
		 "steps.marker: unknown marker or probe 'nothing'"},
		{"version: 1\nlog: {level: loud}\n", 2,
		 "log.level: 'loud' is not one of error, warning, info, debug"},
		{"version: 1\nsandbox: maybe\n", 2, "sandbox: 'maybe' is not one of on, off"},
		{"version: 1\nfeatures: [multi=off,\n  tape=off]\n", 3,
		 "features: 'tape=off' is not one of"},
		{"version: 1\ntargets:\n  - allow: user=bob\n  - deny: team=x\n", 4,
		 "targets.deny: 'team=x': expected KEY=GLOB"},
		{"version: 1\ntargets:\n  - allow: user=bob\n  - allow: user\n", 4,
		 "targets.allow: 'user': expected KEY=GLOB"},
		{"version: 1\nexports: [json:/tmp/x,\n  nothing]\n", 3,
		 "exports nothing: no such exporter; use one of: json"},
		{"version: 1\nexports:\n - csv:/tmp/y\n - trace:/tmp/x,size=1\n", 4,
		 "exports trace: size=1: expected a size from 1M"},
		{"version: 1\nexports: [\"json:/tmp/x,size=1\"]\n", 2,
		 "exports json: size=1: expected a size from 1M"},
		{"version: 1\nhooks:\n - hang=/bin/true\n - fall=/bin/true\n", 4,
		 "hooks fall: no such event; use disruption"},
		{"version: 1\nlisten: nowhere\n", 2, "listen nowhere: expected ADDR:PORT"},
		{"version: 1\ncarry: configmap:NO\n", 2,
		 "carry: 'NO': expected the name of a Kubernetes namespace"},
		{"version: 1\nwindows: [1h, 1y]\n", 2,
		 "windows: '1y' is not a duration of 1m to 7d"},
		{"version: 1\nranges: [{match: a, bucket: NOTHING}]\n", 2,
		 "ranges: 'a=NOTHING': expected MATCH=BUCKET"},
		{"version: 1\naccelerator: abacus\n", 2,
		 "accelerator: the peak of 'abacus' is unknown"},
		{"version: 1\nexports: [cloud-monitoring]\ngcm:\n  prefix: own\n", 4,
		 "gcm.prefix: 'own' is not one of custom, workload"},
		{"version: 1\nexports: [cloud-monitoring]\ngcm: {interval: 1s}\n", 3,
		 "gcm.interval: shorter than 5 s"},
		{"version: 1\nweb_config: /x\n", 2,
		 "web_config /x: has no effect without --listen"},
	};
	char where[64];

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		unsigned command = strstr(all[i].text, "web_config") ? CMD_RUN : CMD_NODE;

		assert_int_equal(parse_file(command, all[i].text), 2);
		has(all[i].says);
		snprintf(where, sizeof(where), "%s:%d: ", path, all[i].line);
		has(where);
		assert_null(strstr(said, "--price"));
	}
}

static void a_file_that_is_right(void **state)
{
	(void)state;
	assert_int_equal(
		parse_file(CMD_NODE,
			   "version: 1\ntargets: [{allow: user=a}, {allow: user=b}]\nsandbox: off\n"
			   "features: [multi=off]\nexports: [\"json:/tmp/x\"]\n"),
		0);
	assert_int_equal(lines, 0);
	/* The same key of two commands. */
	assert_int_equal(parse_file(CMD_PID, "version: 1\ndurable: true\n"), 0);
	assert_int_equal(lines, 0);
}

static void variables_and_options(void **state)
{
	static const struct {
		const char *name, *value, *says;
	} all[] = {
		{"GP_BPF_MULTIPLY", "x", "environment GP_BPF_MULTIPLY: 'x' is not a whole number"},
		{"GP_BPF_PRICE", "x",
		 "environment GP_BPF_PRICE: 'x': expected a price above 0, like 2.50 or $2.50"},
		{"GP_BPF_DENY", "x", "environment GP_BPF_DENY: 'x': expected KEY=GLOB"},
		{"GP_BPF_LOG_LEVEL", "x", "environment GP_BPF_LOG_LEVEL: 'x' is not one of error"},
		{"GP_BPF_EXPORT", "x", "environment GP_BPF_EXPORT x: no such exporter"},
		{"GP_BPF_LISTEN", "x", "environment GP_BPF_LISTEN x: expected ADDR:PORT"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		setenv(all[i].name, all[i].value, 1);
		assert_int_equal(parse(CMD_NODE, NULL), 2);
		has(all[i].says);
		unsetenv(all[i].name);
	}
	assert_int_equal(parse(CMD_NODE, (char *[]){"--price", "x", NULL}), 2);
	has("gp-bpf: --price: 'x': expected a price");
	assert_int_equal(parse(CMD_NODE, (char *[]){"--deny", "x", NULL}), 2);
	has("gp-bpf: --deny: 'x': expected KEY=GLOB");
	assert_int_equal(parse(CMD_PID, (char *[]){"--pid", "x", NULL}), 2);
	has("gp-bpf: --pid: 'x' is not a process id");
	setenv("GP_BPF_PRICE", "x", 1); /* which the command line overrides */
	assert_int_equal(parse(CMD_NODE, (char *[]){"--price", "1", NULL}), 0);
	unsetenv("GP_BPF_PRICE");
}

/* An error that is met later, in a file that one of several values names. */
static void named_when_it_is_met(void **state)
{
	(void)state;
	assert_int_equal(
		parse_file(CMD_NODE,
			   "version: 1\nhooks:\n - hang=/bin/true\n - hang=@/no/such/file\n"),
		0);
	lines = 0;
	log_error("--on: %s: gone", "/no/such/file");
	has(":4: hooks: /no/such/file: gone");
	lines = 0;
	log_error("--overhead-budget: told by nobody");
	has("gp-bpf: --overhead-budget: told by nobody");
	lines = 0;
	log_error("process 7: --on: is no option here");
	has("gp-bpf: process 7: --on: is no option here");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrong_lines_of_a_file),
		cmocka_unit_test(a_file_that_is_right),
		cmocka_unit_test(named_when_it_is_met),
		cmocka_unit_test(variables_and_options),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
