/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_table.h - reads a YAML text into structs that tables of keys describe. Shape and types are
 * checked, meanings are not. The first member of each struct is `const int *lines`, so that an
 * error found later can name its line. */
#ifndef BASE_YAML_TABLE_H
#define BASE_YAML_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#define YAML_TEXT_MAX 1024 /* bytes of one text */

enum yaml_type {
	YAML_TEXT, /* char *, not empty */
	YAML_INT,
	YAML_UINT,
	YAML_UINT64,
	YAML_CHOICE,	/* int: the value of a choice */
	YAML_STRUCTURE, /* a mapping */
};

struct yaml_choice {
	const char *name; /* NULL: the end */
	int value;
};

/* One key. Its member is left as it is when the key is not given. */
struct yaml_field {
	const char *key; /* NULL: the end */
	enum yaml_type type;
	bool required;
	size_t at;	 /* offset of the member */
	size_t size;	 /* bytes of what the member points to; 0: the member is the value */
	unsigned max;	 /* entries of a list, to which the member points; 0: no list */
	size_t count_at; /* offset of the unsigned number of entries */
	union {
		const struct yaml_field *fields; /* of YAML_STRUCTURE */
		const struct yaml_choice *choices;
	};
};

/* Owns all that the members of the structs point to. Zeroed: empty. */
struct yaml_memory {
	void **piece;
	size_t count, cap;
};

/* Reads the one mapping of a text. object: zeroed, described by fields. name: of the file, for
 * messages. Returns 0, or -EINVAL after logging the first error as "NAME:LINE: KEY: reason", or
 * -ENOMEM; the caller frees m in each case, after its last use of object. */
int yaml_table_read(struct yaml_memory *m, const char *name, const char *text, size_t len,
		    const struct yaml_field *fields, void *object);
void yaml_memory_free(struct yaml_memory *m);

/* Returns the line of a key of a struct; of the struct itself when it has no such key or key is
 * NULL. */
int yaml_table_line(const struct yaml_field *fields, const int *lines, const char *key);

#endif
