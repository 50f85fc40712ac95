/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever answers at the port of NCCL's RAS service. */
#include "tests/fuzz/fuzz.h"
#include "userspace/identity/nccl_ras.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct nccl_ras_address address;
	char out[200], text[64];
	size_t n = len < sizeof(text) ? len : sizeof(text) - 1;

	nccl_ras_read((const char *)data, len, 7, out, sizeof(out));
	REQUIRE(memchr(out, 0, sizeof(out)));
	for (const char *c = out; *c; c++)
		REQUIRE(*c >= ' ' && *c <= '~');
	memcpy(text, data, n);
	text[n] = '\0';
	REQUIRE(nccl_ras_address(text, &address) == (address.count > 0));
	return 0;
}
