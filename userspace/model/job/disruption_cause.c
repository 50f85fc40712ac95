/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/job/disruption_cause.h"

#include <stdint.h>
#include <string.h>

#include "bpf/gp_abi.h"

const char *const disruption_cause_name[CAUSE_COUNT] = {[CAUSE_none] = "",
#define X(id, attributes) [CAUSE_##id] = #id,
							DISRUPTION_CAUSES(X)
#undef X
};

#define X(id, attributes)                                                                          \
	_Static_assert(sizeof(#id) <= DISRUPTION_CAUSE_MAX, "the name has room where it is read");
DISRUPTION_CAUSES(X)
#undef X

bool disruption_cause_is(enum disruption_cause c, unsigned attribute)
{
	static const uint8_t causes[CAUSE_COUNT] = {
#define X(id, attributes) [CAUSE_##id] = (attributes),
		DISRUPTION_CAUSES(X)
#undef X
	};

	return causes[c] & attribute;
}

enum disruption_cause disruption_cause_find(const char *name)
{
	unsigned c = CAUSE_none;

	while (c < CAUSE_COUNT && strcmp(name, disruption_cause_name[c]) != 0)
		c++;
	return (enum disruption_cause)c;
}

enum disruption_cause disruption_cause_of_fault(enum fault_kind kind)
{
	static const enum disruption_cause causes[FAULT_COUNT] = {
#define X(id, name) [FAULT_##id] = CAUSE_##name,
		FAULT_KINDS(X)
#undef X
	};

	return causes[kind];
}

enum disruption_cause disruption_cause_of_notice(unsigned what)
{
	static const enum disruption_cause causes[GP_NOTICE_COUNT] = {
#define X(id, name) [GP_NOTICE_##name] = CAUSE_##name,
		GP_NOTICES(X)
#undef X
	};

	return what < GP_NOTICE_COUNT ? causes[what] : CAUSE_none;
}
