/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* A run's mean, which is a mean of logarithms, has at least this variance: times are only precise
 * to 1 ns. */
#define LEAST_VARIANCE 1e-12

/* ---- Student's t ----------------------------------------------------------------------------- */

/* Returns the continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's
 * method. */
static double compare_beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), f;

	d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
	f = d;
	for (int m = 1; m < 500; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), step;

		d = 1 + even * d;
		d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
		c = 1 + even / (fabs(c) < 1e-300 ? 1e-300 : c);
		f *= c * d;
		d = 1 + odd * d;
		d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
		c = 1 + odd / (fabs(c) < 1e-300 ? 1e-300 : c);
		step = c * d;
		f *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return f;
}

static double compare_log_gamma(double x)
{
	int sign;

	return lgamma_r(x, &sign);
}

/* Returns the regularized incomplete beta function. Computes whichever of two equivalent continued
 * fractions converges faster. */
static double compare_beta_part(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x >= 1;
	front = exp(compare_log_gamma(a + b) - compare_log_gamma(a) - compare_log_gamma(b) +
		    a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * compare_beta_fraction(a, b, x) / a;
	return 1 - front * compare_beta_fraction(b, a, 1 - x) / b;
}

double compare_within(double t, double freedom)
{
	return 1 - compare_beta_part(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double compare_bound(double part, double freedom)
{
	double low = 0, high = 1;

	while (compare_within(high, freedom) < part && high < 1e9)
		high *= 2;
	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;

		if (compare_within(middle, freedom) < part)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double compare_median(double *sorted, size_t n)
{
	qsort(sorted, n, sizeof(*sorted), compare_doubles);
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* Clips the values of x that are more than COMPARE_OUTLIER robust deviations from the median.
 * scratch: room for n values. */
static void compare_outliers_bound(double *x, size_t n, double *scratch)
{
	double middle, reach;

	for (size_t i = 0; i < n; i++)
		scratch[i] = x[i];
	middle = compare_median(scratch, n);
	for (size_t i = 0; i < n; i++)
		scratch[i] = fabs(x[i] - middle);
	reach = COMPARE_OUTLIER * 1.4826 * compare_median(scratch, n);
	for (size_t i = 0; reach > 0 && i < n; i++)
		x[i] = fmin(fmax(x[i], middle - reach), middle + reach);
}

static int compare_cosine_count(size_t n)
{
	double b = floor(0.2 * pow((double)n, 2.0 / 3));

	return b < 2 ? 2 : b > COMPARE_COSINES ? COMPARE_COSINES : (int)b;
}

/* Returns the component of the series along the cosine with j half turns. Each value of the cosine
 * is computed from the two before it. */
static double compare_cosine_part(const double *x, size_t n, double mean, int j)
{
	double turn = M_PI * j / (double)n, twice = 2 * cos(turn), at = cos(turn / 2), before = at,
	       next, part = 0;

	for (size_t i = 0; i < n; i++) {
		part += (x[i] - mean) * at;
		next = twice * at - before;
		before = at;
		at = next;
	}
	return part * sqrt(2 / (double)n);
}

int compare_reduce(double *minutes, size_t n, struct compare_run *ret)
{
	double mean = 0, sum = 0, part, *scratch;
	int b = compare_cosine_count(n);

	if (n < COMPARE_LEAST)
		return -ERANGE;
	scratch = calloc(n, sizeof(*scratch));
	if (!scratch)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		minutes[i] = log(minutes[i]);
	compare_outliers_bound(minutes, n, scratch);
	free(scratch);
	for (size_t i = 0; i < n; i++)
		mean += minutes[i] / (double)n;
	for (int j = 1; j <= b; j++) {
		part = compare_cosine_part(minutes, n, mean, j);
		sum += part * part;
	}
	*ret = (struct compare_run){
		.minutes = (uint32_t)n,
		.mean = mean,
		.variance = fmax(sum / b / (double)n, LEAST_VARIANCE),
		.freedom = b,
	};
	return 0;
}

/* ---- runs ------------------------------------------------------------------------------------ */

struct spread {
	double difference, variance, freedom;
};

/* Returns the degrees of freedom of the sum of two variances a and b (Welch and Satterthwaite). */
static double compare_freedom_of(double a, double a_freedom, double b, double b_freedom)
{
	double of = a * a / a_freedom + b * b / b_freedom;

	return of > 0 ? (a + b) * (a + b) / of : a_freedom;
}

static struct spread compare_from_one(const struct compare_run *own, const struct compare_run *peer)
{
	return (struct spread){
		.difference = own->mean - peer->mean,
		.variance = own->variance + peer->variance,
		.freedom = compare_freedom_of(own->variance, own->freedom, peer->variance,
					      peer->freedom),
	};
}

/* Compares a run with several peers. The scatter of the peers' means includes differences between
 * runs and the error of each mean. If this run is shorter, its mean has a larger error: adds the
 * difference, estimated from the run's own minutes or from the peers' minutes, whichever is
 * larger. */
static struct spread compare_from_several(const struct compare_run *own,
					  const struct compare_run *peers, uint32_t n)
{
	double mean = 0, within = 0, minute = 0, freedom = 0, between = 0, off = own->variance,
	       more;

	for (uint32_t i = 0; i < n; i++) {
		mean += peers[i].mean / n;
		within += peers[i].variance / n;
		minute += peers[i].variance * peers[i].minutes * peers[i].freedom;
		freedom += peers[i].freedom;
	}
	for (uint32_t i = 0; i < n; i++)
		between += (peers[i].mean - mean) * (peers[i].mean - mean) / (n - 1);
	between = fmax(between, LEAST_VARIANCE) * (1 + 1.0 / n);
	minute /= freedom * own->minutes;
	more = fmax(fmax(off, minute) - within, 0);
	return (struct spread){
		.difference = own->mean - mean,
		.variance = between + more,
		.freedom = compare_freedom_of(between, n - 1, more,
					      off > minute ? own->freedom : freedom),
	};
}

void compare_runs(const struct compare_run *own, const struct compare_run *peers, uint32_t npeers,
		  struct compare_answer *ret)
{
	struct spread s = npeers == 1 ? compare_from_one(own, peers)
				      : compare_from_several(own, peers, npeers);
	double off = sqrt(s.variance), reach = compare_bound(COMPARE_LEVEL, s.freedom) * off;

	*ret = (struct compare_answer){
		.verdict = s.difference > reach	   ? COMPARE_SLOWER
			   : s.difference < -reach ? COMPARE_FASTER
						   : COMPARE_SAME,
		.ratio = exp(s.difference),
		.low = exp(s.difference - reach),
		.high = exp(s.difference + reach),
		.p = 1 - compare_within(s.difference / off, s.freedom),
		.freedom = s.freedom,
		.peers = npeers,
	};
}
