/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - the tables, as a list of migrations. A released migration never changes; a change of
 * the tables is a new migration. */
#ifndef STORE_SCHEMA_H
#define STORE_SCHEMA_H

/* In the header of the file: "gpBP". */
#define STORE_APPLICATION_ID 0x67704250
#define STORE_VERSION	     7

extern const char *const store_steps[STORE_VERSION]; /* [n] migrates version n to n + 1 */

#endif
