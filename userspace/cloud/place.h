/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - gets the location of this machine from the metadata server, for google_place(). */
#ifndef CLOUD_PLACE_H
#define CLOUD_PLACE_H

#include "userspace/cloud/google.h"
#include "userspace/cloud/web.h"

/* See google_place(). */
int place_ask(struct web *web, struct google_place *ret);

#endif
