/* SPDX-License-Identifier: Apache-2.0 */
/* gp-bpf completion: prints the completion script of a shell. The scripts call it as `gp-bpf
 * completion words -- WORD...` to complete a command line. */
#include <stdio.h>
#include <string.h>

#include "userspace/base/log.h"
#include "userspace/command/command.h"
#include "userspace/command/completion.h"
#include "userspace/option/option.h"

#define WORDS "words"

static int cmd_completion_run(int count, char **words)
{
	struct buffer out = {0};
	int code = EXIT_RUNTIME;

	completion_answer(&out, count, words);
	if (out.failed)
		log_error("completion: no memory");
	else if (fwrite(out.data, 1, out.len, stdout) == out.len)
		code = EXIT_OK;
	buffer_free(&out);
	return code;
}

int cmd_completion(int argc, char **argv)
{
	const char *script;
	struct options o;
	int code;

	/* Do not parse the words after "--" as options: they are the command line to be
	 * completed. */
	if (argc > 3 && !strcmp(argv[1], WORDS) && !strcmp(argv[2], "--"))
		return cmd_completion_run(argc - 3, argv + 3);
	code = options_parse(&o, CMD_COMPLETION, argc, argv);
	if (code >= 0)
		return code;
	script = o.argc == 1 ? completion_script(o.argv[0]) : NULL;
	if (script) {
		code = fputs(script, stdout) >= 0 ? EXIT_OK : EXIT_RUNTIME;
	} else {
		log_error("completion: expected a shell: gp-bpf completion bash, zsh or fish");
		code = EXIT_USAGE;
	}
	options_free(&o);
	return code;
}
