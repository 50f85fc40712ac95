/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/job_name.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "userspace/base/hash.h"
#include "userspace/base/log.h"

#define WHOLE  253
#define HASHED 17 /* length of "~" and a hash of 16 digits */

char *job_name_keep(char out[JOB_NAME_MAX], const char *name)
{
	static atomic_flag logged = ATOMIC_FLAG_INIT;
	size_t len = strlen(name);

	if (len <= WHOLE)
		return log_escape(out, JOB_NAME_MAX, name, len);
	log_escape(out, WHOLE - HASHED + 1, name, len);
	snprintf(out + strlen(out), HASHED + 1, "~%016" PRIx64, hash_bytes(HASH_START, name, len));
	if (!atomic_flag_test_and_set(&logged))
		log_warn(
			"job %.32s...: the name has %zu bytes and was shortened to %d, with a hash at its end",
			out, len, WHOLE);
	return out;
}
