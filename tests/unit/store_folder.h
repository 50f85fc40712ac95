/* SPDX-License-Identifier: Apache-2.0 */
/* store_folder.h - a folder for each test of a store, with nothing in it yet. After cmocka.h. */
#ifndef TESTS_UNIT_STORE_FOLDER_H
#define TESTS_UNIT_STORE_FOLDER_H

#include "tests/unit/store_feed.h"
#include "userspace/base/log.h"

static char dir[64], path[96];

static inline int store_set_up(void **state)
{
	(void)state;
	log_setup(LOG_ERROR, LOG_TEXT);
	snprintf(path, sizeof(path), "%s/store.db", feed_folder(dir));
	return 0;
}

static inline int store_tear_down(void **state)
{
	(void)state;
	feed_remove(dir);
	return 0;
}

static inline struct store *opened(enum store_mode mode)
{
	struct store *st;

	assert_int_equal(store_open(&st, path, mode), 0);
	return st;
}

#endif
