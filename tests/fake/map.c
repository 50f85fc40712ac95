/* SPDX-License-Identifier: Apache-2.0 */
/* map FILE...: maps each file executable, as a loader would, whatever is in it; prints "mapped" and
 * stays until its standard input ends. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY | O_CLOEXEC);

		if (fd < 0 ||
		    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) {
			fprintf(stderr, "map: %s: %s\n", argv[i], strerror(errno));
			return 3;
		}
		close(fd);
	}
	puts("mapped");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
