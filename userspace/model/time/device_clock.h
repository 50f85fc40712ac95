/* SPDX-License-Identifier: Apache-2.0 */
/* device_clock.h - the accelerator of a training process, second by second: clock rate, reasons for
 * a lower rate, errors. Also computes how much longer the process waited for the accelerator
 * because of a lower clock rate.
 *
 * Pure; 9 KiB. Times in ns, CLOCK_MONOTONIC. */
#ifndef MODEL_DEVICE_CLOCK_H
#define MODEL_DEVICE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"

#define DEVICE_CLOCK_SECONDS 180 /* number of last seconds that are kept */

extern const char *const device_reason_name[GP_DEVICE_REASON_COUNT]; /* "power_brake" */
extern const char *const device_reason_text[GP_DEVICE_REASON_COUNT]; /* "power brake" */

/* The accelerator as of the last second. Figures that are 0 are unknown. */
struct device_view {
	bool known; /* false: there is no record */
	uint64_t at_ns;
	char name[40]; /* "GPU 3", escaped */
	uint32_t clock_mhz, clock_max_mhz, power_mw, celsius;
	bool reasons_known, busy_known, errors_known;
	uint32_t reasons;		    /* bits 1 << enum gp_device_reason */
	uint32_t busy;			    /* percent */
	uint64_t memory_used, memory_total; /* bytes */
	uint64_t errors;		    /* uncorrected errors since the driver was loaded */
	uint64_t new_errors;		    /* uncorrected errors while gp-bpf watched */
};

/* Sums over a span of time. Seconds in which the device was idle, or its clock rate is unknown,
 * count only in wait_ns, step_ns and errors. */
struct device_sums {
	uint32_t seconds; /* seconds with a known clock rate */
	uint32_t slowed;  /* seconds of `seconds` with a reason for a lower clock rate */
	uint32_t busies;  /* seconds with a known load */
	uint64_t mhz;	  /* sum of the clock rates in MHz */
	uint64_t busy;	  /* sum of the loads in percent */
	uint32_t hottest; /* highest temperature (°C); 0: unknown */
	uint32_t reasons; /* reasons (bits) that applied in at least a quarter of the seconds */
	uint64_t wait_ns; /* time in which steps waited for the device */
	uint64_t step_ns; /* total time of these steps; 0: not known what they waited for */
	uint64_t errors;  /* new uncorrected errors */
};

struct device_clock;
struct device_clock *device_clock_new(void); /* NULL: no memory */
void device_clock_free(struct device_clock *c);
/* Adds a record of time ts_ns. Ignores a record with impossible times. If the record is of another
 * device than the previous one, forgets all earlier figures. Returns the number of new uncorrected
 * errors. */
uint64_t device_clock_take(struct device_clock *c, uint64_t ts_ns, const struct gp_device *d);
/* Adds a finished step of step_ns that waited for the device for wait_ns. */
void device_clock_step(struct device_clock *c, uint64_t wait_ns, uint64_t step_ns);
void device_clock_view(const struct device_clock *c, struct device_view *ret);
/* Sums the kept seconds that end within a span. */
void device_clock_between(const struct device_clock *c, uint64_t from_ns, uint64_t to_ns,
			  struct device_sums *ret);
/* Returns by how much the wait for the device grew in each step (ns): steps took before_ns, and now
 * take after_ns. If it is not known what steps wait for, returns by how much the busy time of the
 * device grew instead. 0: neither is known. */
uint64_t device_clock_grown(const struct device_sums *before, uint64_t before_ns,
			    const struct device_sums *after, uint64_t after_ns);
/* Returns the part of device_clock_grown() that a lower clock rate explains: at most the time that
 * the device would save in a step at its former rate. 0 unless the rate is 5 % lower, and in at
 * least half of the seconds a reason other than idleness and settings lowered it. */
uint64_t device_clock_explains(const struct device_sums *before, uint64_t before_ns,
			       const struct device_sums *after, uint64_t after_ns);
/* Writes "GPU 3 runs at 1005 of 1980 MHz (thermal), 87 °C" to out and returns out. */
const char *device_clock_text(char *out, size_t len, const struct device_clock *c,
			      const struct device_sums *s);
void device_clock_archive(struct archive *a, struct device_clock **c);
void device_sums_archive(struct archive *a, struct device_sums *s);

#endif
