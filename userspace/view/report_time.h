/* SPDX-License-Identifier: Apache-2.0 */
/* report_time.h - the table that says where the time went. */
#ifndef VIEW_REPORT_TIME_H
#define VIEW_REPORT_TIME_H

#include "userspace/model/ledger.h"
#include "userspace/view/canvas.h"

void report_time(struct canvas *c, const struct ledger_view *l);

#endif
