/* SPDX-License-Identifier: Apache-2.0 */
/* thrown.h - between throw.cc and the libraries it calls. */
#ifndef TESTS_FAKE_THROWN_H
#define TESTS_FAKE_THROWN_H

struct Text { // as std::string begins
	const char *at;
	unsigned long len;
};

struct Thrown { // a list ends with a null name
	const char *name;
	void (*call)(const Text *, const Text *, const Text *);
};

#endif
