/* SPDX-License-Identifier: Apache-2.0 */
/* library_budget.c - detaches and attaches probes of one library as the budget decides. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loader/library/library.h"
#include "loader/library/library_private.h"
#include "loader/library/library_report.h"
#include "userspace/base/log.h"

static bool library_budget_site_governed(const struct site *site)
{
	return site_linked(site) || site_paused(site);
}

static enum gp_attach_state library_budget_site_wants(const struct library_deps *d,
						      const struct site *site,
						      const struct cost *cost)
{
	static const enum gp_attach_state states[] = {
		[COST_SENT] = GP_ATTACH_attached,
		[COST_COUNTED] = GP_ATTACH_counted,
		[COST_DETACHED] = GP_ATTACH_given_up,
		[COST_IDLE] = GP_ATTACH_idle,
	};

	return states[cost_row(cost, probe_table_row(d->probes, site->row))];
}

static bool library_budget_site_returns(const struct library_deps *d, const struct site *site,
					enum gp_group group, const struct cost *cost)
{
	enum gp_attach_state wants = library_budget_site_wants(d, site, cost);

	return site_paused(site) && probe_table_row(d->probes, site->row)->group == group &&
	       (wants == GP_ATTACH_attached || wants == GP_ATTACH_counted);
}

static int library_budget_group_attach(const struct library_deps *d, struct library *lib,
				       enum gp_group group, const struct cost *cost)
{
	struct gp_vma file = {.dev = lib->dev, .ino = lib->ino, .generation = lib->generation};
	struct site *again = calloc(lib->site_count + 1, sizeof(*again));
	size_t n = 0;

	if (!again)
		return -ENOMEM;
	for (size_t i = 0; i < lib->site_count; i++) {
		if (!library_budget_site_returns(d, &lib->sites[i], group, cost))
			continue;
		again[n] = lib->sites[i];
		again[n++].state = GP_ATTACH_attached;
	}
	sites_attach(again, n, d->probes, d->rows, d->kernel, d->attach, &file, lib->tag, lib->fd);
	for (size_t i = lib->site_count; i > 0; i--)
		if (library_budget_site_returns(d, &lib->sites[i - 1], group, cost))
			lib->sites[i - 1] = again[--n];
	free(again);
	return 0;
}

/* Links belong to groups: detaches the whole group, then attaches the probes that the budget still
 * allows. */
static void library_budget_group_settle(const struct library_deps *d, struct library *lib,
					enum gp_group group, const struct cost *cost)
{
	bool drop = false;
	int err;

	for (size_t i = 0; i < lib->site_count; i++) {
		const struct site *site = &lib->sites[i];
		enum gp_attach_state wants = library_budget_site_wants(d, site, cost);

		drop |= site_linked(site) &&
			probe_table_row(d->probes, site->row)->group == group &&
			(wants == GP_ATTACH_given_up || wants == GP_ATTACH_idle);
	}
	if (drop)
		attach_drop_group(d->attach, lib->tag, group);
	for (size_t i = 0; drop && i < lib->site_count; i++)
		if (library_budget_site_governed(&lib->sites[i]) &&
		    probe_table_row(d->probes, lib->sites[i].row)->group == group)
			lib->sites[i].state = GP_ATTACH_given_up;
	err = library_budget_group_attach(d, lib, group, cost);
	if (err)
		log_warn(
			"%s: probes that were detached because of their overhead cannot be attached again: %s",
			lib->name, strerror(-err));
}

void library_leave_idle(const struct library_deps *d, struct site *sites, size_t n)
{
	for (size_t i = 0; d->cost && i < n; i++)
		if (site_linked(&sites[i]) &&
		    probe_table_row(d->probes, sites[i].row)->group == GP_GROUP_measure)
			sites[i].state = GP_ATTACH_idle;
}

void library_settle(const struct library_deps *d, struct library *lib, const struct cost *cost)
{
	enum gp_attach_state *was = calloc(lib->site_count + 1, sizeof(*was));

	if (!was)
		return;
	for (size_t i = 0; i < lib->site_count; i++)
		was[i] = lib->sites[i].state;
	library_budget_group_settle(d, lib, GP_GROUP_bulk, cost);
	library_budget_group_settle(d, lib, GP_GROUP_confirm, cost);
	library_budget_group_settle(d, lib, GP_GROUP_measure, cost);
	for (size_t i = 0; i < lib->site_count; i++) {
		struct site *site = &lib->sites[i];

		if (site_linked(site)) {
			site->state = library_budget_site_wants(d, site, cost);
			rows_set_unsent(d->rows, site->row, site->state == GP_ATTACH_counted);
		} else if (site_paused(site)) {
			site->state = library_budget_site_wants(d, site, cost);
		}
		if (site->state != was[i])
			library_report_site(d, lib, site);
	}
	free(was);
}
