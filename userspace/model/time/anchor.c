/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/anchor.h"
#include "userspace/base/number.h"

void anchors_add(struct anchors *a, uint64_t mono_ns, int64_t real_ns)
{
	a->at[a->count % ANCHORS].mono_ns = mono_ns;
	a->at[a->count % ANCHORS].real_ns = real_ns;
	a->count++;
}

int64_t anchors_real(const struct anchors *a, uint64_t mono_ns)
{
	uint64_t oldest = more_than(a->count, ANCHORS), i = a->count;

	if (!a->count)
		return 0;
	while (i - 1 > oldest && a->at[(i - 1) % ANCHORS].mono_ns > mono_ns)
		i--;
	i = (i - 1) % ANCHORS;
	return (int64_t)((uint64_t)a->at[i].real_ns + mono_ns - a->at[i].mono_ns);
}

void anchors_archive(struct archive *a, struct anchors *as)
{
	archive_struct(a, sizeof(*as));
	archive_field(a, as->count);
	for (uint64_t i = 0; i < ANCHORS && i < as->count; i++)
		archive_fields(a, &as->at[i], mono_ns, real_ns);
}
