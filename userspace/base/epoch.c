/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/epoch.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define US_PER_S 1000000ll
/* last second of the year 9999, which is the limit of RFC 3339 */
#define SECOND_MAX 253402300799ll

struct text {
	const char *at, *end;
};

static bool epoch_digit(const struct text *t)
{
	return t->at < t->end && *t->at >= '0' && *t->at <= '9';
}

static bool epoch_skip_one(struct text *t, const char *of)
{
	for (; t->at < t->end && *of; of++)
		if (*t->at == *of) {
			t->at++;
			return true;
		}
	return false;
}

static bool epoch_read_number(struct text *t, int digits, int min, int max, int *ret)
{
	int v = 0;

	for (int i = 0; i < digits; i++) {
		if (!epoch_digit(t))
			return false;
		v = v * 10 + (*t->at++ - '0');
	}
	*ret = v;
	return v >= min && v <= max;
}

/* Reads the digits after the decimal point of the seconds, rounded: ".5" gives 500000, no digits
 * give 0. */
static bool epoch_read_fraction(struct text *t, int64_t *ret_us)
{
	int64_t us = 0, unit = US_PER_S;

	*ret_us = 0;
	if (!epoch_skip_one(t, "."))
		return true;
	if (!epoch_digit(t))
		return false;
	for (; epoch_digit(t) && unit > 1; t->at++) {
		unit /= 10;
		us += unit * (*t->at - '0');
	}
	us += epoch_digit(t) && *t->at >= '5';
	while (epoch_digit(t))
		t->at++;
	*ret_us = us;
	return true;
}

static bool epoch_read_offset(struct text *t, int64_t *ret_s)
{
	bool west;
	int h, m;

	*ret_s = 0;
	if (epoch_skip_one(t, "Zz"))
		return true;
	west = t->at < t->end && *t->at == '-';
	if (!epoch_skip_one(t, "+-") || !epoch_read_number(t, 2, 0, 23, &h) ||
	    !epoch_skip_one(t, ":") || !epoch_read_number(t, 2, 0, 59, &m))
		return false;
	*ret_s = (west ? -1 : 1) * (h * 3600 + m * 60);
	return true;
}

static bool epoch_read_date(struct text *t, int64_t *ret_s, int64_t *ret_us)
{
	struct tm tm = {0}, given;
	int64_t offset_s;

	if (!epoch_read_number(t, 4, 1970, 9999, &tm.tm_year) || !epoch_skip_one(t, "-") ||
	    !epoch_read_number(t, 2, 1, 12, &tm.tm_mon) || !epoch_skip_one(t, "-") ||
	    !epoch_read_number(t, 2, 1, 31, &tm.tm_mday) || !epoch_skip_one(t, "Tt ") ||
	    !epoch_read_number(t, 2, 0, 23, &tm.tm_hour) || !epoch_skip_one(t, ":") ||
	    !epoch_read_number(t, 2, 0, 59, &tm.tm_min) || !epoch_skip_one(t, ":") ||
	    !epoch_read_number(t, 2, 0, 60, &tm.tm_sec) || !epoch_read_fraction(t, ret_us) ||
	    !epoch_read_offset(t, &offset_s))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	given = tm;
	*ret_s = timegm(&tm) - offset_s;
	/* timegm() turns a date that does not exist, such as June 31, into another day. */
	return tm.tm_mday == given.tm_mday || given.tm_sec == 60;
}

static bool epoch_read_seconds(struct text *t, int64_t *ret_s, int64_t *ret_us)
{
	int64_t s = 0;

	if (!epoch_digit(t))
		return false;
	for (; epoch_digit(t); t->at++) {
		s = s * 10 + (*t->at - '0');
		if (s > SECOND_MAX)
			return false;
	}
	*ret_s = s;
	return epoch_read_fraction(t, ret_us);
}

int epoch_parse(const char *text, size_t len, int64_t *ret_us)
{
	struct text t = {text, text + len};
	int64_t s, us;
	bool date = len > 4 && text[4] == '-';

	if (!(date ? epoch_read_date(&t, &s, &us) : epoch_read_seconds(&t, &s, &us)) ||
	    t.at != t.end || s < 0 || s > SECOND_MAX)
		return -EINVAL;
	*ret_us = s * US_PER_S + us;
	return 0;
}

char *epoch_text(char *out, int64_t us, int decimals)
{
	int64_t rest = us % US_PER_S;
	time_t s = (time_t)(us / US_PER_S) - (rest < 0);
	int fraction = (int)(rest < 0 ? rest + US_PER_S : rest);
	struct tm tm;
	size_t len;

	gmtime_r(&s, &tm);
	for (int i = decimals; i < 6; i++)
		fraction /= 10;
	len = strftime(out, EPOCH_TEXT_MAX, "%Y-%m-%d %H:%M:%S", &tm);
	if (decimals)
		snprintf(out + len, EPOCH_TEXT_MAX - len, ".%0*d", decimals, fraction);
	return out;
}
