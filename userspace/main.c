/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf: measures, without changing the job, how much of the time of its accelerators becomes
 * training progress. This file chooses the command. */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "userspace/base/log.h"
#include "userspace/command/command.h"
#include "userspace/option/option.h"
#include "userspace/watch/child.h"

#define LARGE_BYTES (256 << 10)
#define TRIM_BYTES  (1 << 20)

static int (*const runs[])(int argc, char **argv) = {
	cmd_pid,     cmd_run,	  cmd_record, cmd_node,	   cmd_top,    cmd_replay,
	cmd_account, cmd_explain, cmd_check,  cmd_probes,  cmd_schema, cmd_detach,
	cmd_jobs,    cmd_report,  cmd_mark,   cmd_exclude, cmd_bundle, cmd_completion};
_Static_assert(sizeof(runs) / sizeof(runs[0]) == COMMANDS, "a function for each command");

static void main_usage(FILE *out, bool all)
{
	fputs("gp-bpf - measures how much of a training job's time becomes progress, and where\n"
	      "the rest goes, from outside the job\n\n",
	      out);
	if (all)
		options_help_commands(out);
	else
		fputs("  sudo gp-bpf --pid 4242                  watch a running job; report at the end\n"
		      "  sudo gp-bpf run -- python train.py      start a job and watch it\n"
		      "  sudo gp-bpf --pid 4242 -e prometheus    also serve 127.0.0.1:9847/metrics\n"
		      "  sudo gp-bpf top                         show all jobs of this machine live\n"
		      "  sudo gp-bpf explain --pid 4242          say what limits a job, and what to try\n"
		      "  sudo gp-bpf check --pid 4242            show what can be observed of a job\n"
		      "  sudo gp-bpf report llama                report a job of the history (--store)\n"
		      "\n"
		      "watch:    --pid, run, node (service), top, record, replay\n"
		      "history:  jobs, report, explain, mark, exclude\n"
		      "host:     check, probes, detach, bundle\n"
		      "other:    account, schema, completion, version\n",
		      out);
	fputs("\ngp-bpf --help=all lists every command; gp-bpf COMMAND --help lists the options of\n"
	      "a command, and gp-bpf --pid 1 --help those of --pid. The manual is man gp-bpf.\n"
	      "Exit status: 0 ok, 1 failure, 2 usage, 3 a kernel feature or privilege is missing,\n"
	      "4 slower than --max-regression allows.\n",
	      out);
}

/* Returns the index of a command in the tables; -1: there is no such command. */
static int main_find_command(const char *word)
{
	for (int i = 0; i < COMMANDS; i++)
		if (!strcmp(word, command_rows[i].name))
			return i;
	return -1;
}

static bool main_is_one_of(const char *word, const char *a, const char *b, const char *c)
{
	return !strcmp(word, a) || !strcmp(word, b) || !strcmp(word, c);
}

/* Opens /dev/null for each of the descriptors 0 to 2 that is closed. Otherwise the next file would
 * get this number, and output would be written to it. Standard input and output get the wrong
 * direction, so that their use still fails; standard error is writable, so that logging works. */
static void main_secure_descriptors(void)
{
	static const int mode[] = {O_WRONLY, O_RDONLY, O_WRONLY};

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", mode[fd]) < 0)
			_exit(EXIT_RUNTIME);
}

/* Makes free() return large blocks to the kernel at once; they are snapshots, pages and requests,
 * which are soon freed. By default, the C library raises its limit to the largest block freed, and
 * keeps such memory. */
static void main_bound_memory(void)
{
#ifdef M_MMAP_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
	mallopt(M_TRIM_THRESHOLD, TRIM_BYTES);
#endif
}

static int main_flush_stdout(int code)
{
	if (!fflush(stdout) && !ferror(stdout))
		return code;
	log_error("standard output: cannot write: %s", strerror(errno));
	return code ? code : EXIT_RUNTIME;
}

int main(int argc, char **argv)
{
	int c;

	main_secure_descriptors();
	main_bound_memory();
	child_ignore();
	if (argc < 2) {
		main_usage(stderr, false);
		return EXIT_USAGE;
	}
	if (main_is_one_of(argv[1], "--help", "-h", "help") || !strcmp(argv[1], "--help=all")) {
		main_usage(stdout, !strcmp(argv[1], "--help=all"));
		return main_flush_stdout(EXIT_OK);
	}
	if (main_is_one_of(argv[1], "--version", "-V", "version")) {
		puts("gp-bpf " GP_VERSION);
		return main_flush_stdout(EXIT_OK);
	}
	/* A command line that begins with an option is a watch: `gp-bpf --json --pid 1`. */
	c = *argv[1] == '-' ? 0 : main_find_command(argv[1]);
	if (c >= 0)
		return main_flush_stdout(c ? runs[c](argc - 1, argv + 1)
					   : runs[0](argc, argv)); /* without a command name, the
								      options begin at argv[1] */
	option_command_unknown(argv[1]);
	return EXIT_USAGE;
}
