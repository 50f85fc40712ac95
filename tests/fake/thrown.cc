// SPDX-License-Identifier: Apache-2.0
// Every C++ function that probes/ knows, by its name or the prefix it is found by; each throws. The list,
// probed.h, is made from the probe files.
#include "tests/fake/thrown.h"

#define PROBED(symbol)                                                                                       \
	extern "C" void symbol(const Text *a, const Text *b, const Text *c)                                  \
	{                                                                                                    \
		if (a != b || b != c)                                                                        \
			throw 0L;                                                                            \
		throw 1;                                                                                     \
	}
#include "probed.h"
#undef PROBED

#define PROBED(symbol) {#symbol, symbol},
extern "C" const Thrown thrown[] = {
#include "probed.h"
	{nullptr, nullptr}};
