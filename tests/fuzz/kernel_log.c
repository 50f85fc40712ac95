/* SPDX-License-Identifier: Apache-2.0 */
/* What a read of the kernel's log gives: its lines hold names that processes chose. */
#include "tests/fuzz/fuzz.h"
#include "userspace/ingest/kernel_log.h"

static void on_fault(void *ctx, uint32_t pid, const struct gp_fault *f)
{
	(void)ctx;
	REQUIRE(pid <= 1000000009u);
	REQUIRE(f->code >= -1);
	REQUIRE(memchr(f->driver, 0, sizeof(f->driver)));
	REQUIRE(memchr(f->device, 0, sizeof(f->device)));
	REQUIRE(memchr(f->text, 0, sizeof(f->text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	kernel_log_read((const char *)data, len, on_fault, NULL);
	return 0;
}
