// SPDX-License-Identifier: Apache-2.0
// throw N LIBRARY...: loads the libraries (thrown.cc), says "loaded", and on a line of input calls every
// function of each, N times. Each throws through its own frame, which a return probe there would turn into
// std::terminate. Prints how many were caught.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <vector>

#include "tests/fake/thrown.h"

int main(int argc, char **argv)
{
	const Text text = {"Optimizer.step#SGD.step", 23};
	long caught = 0, times = argc > 1 ? atol(argv[1]) : 0;
	std::vector<Thrown> all;

	for (int i = 2; i < argc; i++) {
		void *handle = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		auto *list = handle ? static_cast<const Thrown *>(dlsym(handle, "thrown")) : nullptr;

		if (!list) {
			fprintf(stderr, "throw: %s\n", dlerror());
			return 3;
		}
		for (; list->name; list++)
			all.push_back(*list);
	}
	puts("loaded");
	fflush(stdout);
	if (getchar() == EOF)
		return 3;
	for (long n = 0; n < times; n++)
		for (const Thrown &t : all)
			try {
				// Whichever argument a probe reads, it is a string.
				t.call(&text, &text, &text);
			} catch (const int &) {
				caught++;
			}
	printf("caught %ld\n", caught);
	return 0;
}
