/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - the tables of a store, as a list of migrations from version to version. A released
 * migration is never changed; a change of the tables is a new migration. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

/* "gpBP" in the header of the file: marks the SQLite file as a store of gp-bpf. */
#define STORE_APPLICATION_ID 0x67704250
#define STORE_VERSION	     8

/* SQL that migrates from version n to n + 1, for each n. */
extern const char *const store_steps[STORE_VERSION];

#endif
