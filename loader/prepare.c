/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of the kernel before there is a loader. */
#include "loader/feature.h"
#include "loader/linger.h"
#include "loader/loader.h"
#include "loader/pin.h"

int loader_able(const char *features_off)
{
	return feature_able(features_off);
}

int loader_prepare(const char *features_off, bool durable)
{
	const struct feature *list;

	loader_features(features_off, &list);
	linger_prepare();
	return durable && feature_have(FEATURE_BPFFS) ? pins_mount() : 0;
}
