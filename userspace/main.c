/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf: how much of the accelerator time becomes training progress, seen from outside the job. */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/command.h"
#include "userspace/option.h"

struct command {
	const char *name, *args, *help;
	unsigned bit;
	int (*run)(int argc, char **argv);
};

static const struct command commands[] = {
	{"--pid", "PID [--pid PID...]", "watch running processes and their children", CMD_PID, cmd_pid},
	{"run", "[options] -- CMD...", "start CMD and watch it; exits with CMD's status", CMD_RUN, cmd_run},
	{"record", "-o FILE (--pid PID | -- CMD...)", "keep the raw events in a file", CMD_RECORD,
	 cmd_record},
	{"replay", "FILE", "show a recorded run again, without privileges", CMD_REPLAY, cmd_replay},
	{"check", "[--pid PID | --library FILE]", "what works here, and each probe's place and price",
	 CMD_CHECK, cmd_check},
	{"probes", "", "the probes that are known, and why each is there", CMD_PROBES, cmd_probes},
	{"schema", "", "JSON Schema of the JSON lines", CMD_SCHEMA, cmd_schema},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

void command_usage(FILE *out, unsigned command)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		if (commands[i].bit != command)
			continue;
		fprintf(out, "usage: gp-bpf %s %s\n\n%s\n\n", commands[i].name, commands[i].args,
			commands[i].help);
		options_help(out, command);
	}
}

static void usage(FILE *out)
{
	fputs("gp-bpf - training steps and goodput of running jobs, seen from outside\n\nusage:\n", out);
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  gp-bpf %-6s %-32s %s\n", commands[i].name, commands[i].args,
			commands[i].help);
	fputs("\ngp-bpf COMMAND --help lists a command's options; man gp-bpf tells more.\n"
	      "Exit codes: 0 ok, 1 runtime failure, 2 usage, 3 the kernel or a privilege lacks what is "
	      "needed.\n",
	      out);
}

/* Options may stand before a command's name only as --pid does: it is a command by itself. */
static const struct command *find_command(const char *word)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(word, commands[i].name))
			return &commands[i];
	if (!strncmp(word, "--pid=", 6) || (word[0] == '-' && word[1] == 'p'))
		return &commands[0];
	return NULL;
}

static bool names_a_pid(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--pid") || !strcmp(argv[i], "-p") || !strncmp(argv[i], "--pid=", 6))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const struct command *c;

	signal(SIGPIPE, SIG_IGN);
	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	c = find_command(argv[1]);
	/* `gp-bpf --json --pid 1`: the first word is an option of the watch command. */
	if (!c && argv[1][0] == '-' && names_a_pid(argc, argv))
		c = &commands[0];
	/* --pid is command and option at once: its options begin at argv[1]. */
	if (c)
		return c == &commands[0] ? c->run(argc, argv) : c->run(argc - 1, argv + 1);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--version")) {
		puts("gp-bpf " GP_VERSION);
		return EXIT_OK;
	}
	log_error("unknown command '%s'; see gp-bpf --help", argv[1]);
	return EXIT_USAGE;
}
