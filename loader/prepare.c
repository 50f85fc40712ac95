/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.c - functions of loader.h that check the kernel, and make mounts, before a loader
 * exists. */
#include "loader/kernel/feature.h"
#include "loader/attach/deferred_close.h"
#include "loader/loader.h"
#include "loader/attach/pin.h"

int loader_able(const char *features_off)
{
	return feature_able(features_off);
}

int loader_prepare(const char *features_off, bool durable)
{
	const struct feature *list;

	loader_features(features_off, &list);
	deferred_close_prepare();
	return durable && feature_have(FEATURE_BPFFS) ? pins_mount() : 0;
}
