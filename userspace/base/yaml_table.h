/* SPDX-License-Identifier: Apache-2.0 */
/* yaml_table.h - reads a YAML text into C structs, which are described by tables of keys. Structure
 * and types are checked; whether values make sense is left to the caller. The first member of each
 * struct is `const int *lines`, so that the caller can name the line of an error. */
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
	YAML_CHOICE,	/* an int: the value of one of the `choices` */
	YAML_STRUCTURE, /* a mapping */
};

struct yaml_choice {
	const char *name; /* NULL: the end of the table */
	int value;
};

/* Describes one key. The struct's member is unchanged if the file does not have the key. */
struct yaml_field {
	const char *key; /* NULL: the end of the table */
	enum yaml_type type;
	bool required;
	size_t at; /* offset of the member in the struct */
	/* size of the object that the member points to; 0: the member is the value itself */
	size_t size;
	/* limit of entries of the list to which the member points; 0: the value is not a list */
	unsigned max;
	size_t count_at; /* offset of the member (unsigned) for the number of entries of the list */
	union {
		const struct yaml_field *fields; /* of YAML_STRUCTURE */
		const struct yaml_choice *choices;
	};
};

/* All memory that members of the structs point to. Zeroed: none. */
struct yaml_memory {
	void **piece;
	size_t count, cap;
};

/* Reads a text that is one mapping into object, a zeroed struct that fields describes. name: of the
 * file, for messages. Returns 0; -EINVAL after logging the first error as "NAME:LINE: KEY: reason";
 * or -ENOMEM. In each case the caller frees m after the last use of object. */
int yaml_table_read(struct yaml_memory *m, const char *name, const char *text, size_t len,
		    const struct yaml_field *fields, void *object);
void yaml_memory_free(struct yaml_memory *m);

/* Returns the line of a key in the file. If the struct has no such key there, or key is NULL,
 * returns the line of the struct. */
int yaml_table_line(const struct yaml_field *fields, const int *lines, const char *key);

#endif
