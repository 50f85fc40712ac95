/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - google_place() without the rest: what the metadata server says of this machine. */
#ifndef CLOUD_PLACE_H
#define CLOUD_PLACE_H

#include "userspace/cloud/google.h"
#include "userspace/cloud/web.h"

/* As google_place(). */
int place_ask(struct web *web, struct google_place *ret);

#endif
