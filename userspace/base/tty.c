/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/tty.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool tty_escapes(int fd)
{
	const char *term = getenv("TERM");

	return isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

bool tty_color(int fd)
{
	const char *no_color = getenv("NO_COLOR");

	return tty_escapes(fd) && !(no_color && *no_color);
}

int tty_cols(int fd)
{
	struct winsize size = {0};

	return isatty(fd) && !ioctl(fd, TIOCGWINSZ, &size) ? size.ws_col : 0;
}
