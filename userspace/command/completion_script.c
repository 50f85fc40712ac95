/* SPDX-License-Identifier: Apache-2.0 */
/* completion_script.c - the completion scripts that shells load, made from userspace/shell/. They
 * contain no options or commands, but ask completion_answer() for these. */
#include <stddef.h>
#include <string.h>

#include "userspace/command/completion.h"

static const struct {
	const char *shell, *text;
} scripts[] = {
	{
		"bash",
#include <shell/gp-bpf.bash.h>
	},
	{
		"zsh",
#include <shell/gp-bpf.zsh.h>
	},
	{
		"fish",
#include <shell/gp-bpf.fish.h>
	},
};

const char *completion_script(const char *shell)
{
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		if (!strcmp(scripts[i].shell, shell))
			return scripts[i].text;
	return NULL;
}
