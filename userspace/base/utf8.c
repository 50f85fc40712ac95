/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/utf8.h"

#include <stdbool.h>

struct span {
	uint32_t first, last;
};

size_t utf8_decode(const char *s, size_t len, uint32_t *ret_c)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	unsigned char lead;
	uint32_t c;
	size_t n;

	if (!len)
		return 0;
	lead = (unsigned char)s[0];
	n = lead < 0x80	  ? 1
	    : lead < 0xc2 ? 0
	    : lead < 0xe0 ? 2
	    : lead < 0xf0 ? 3
	    : lead < 0xf5 ? 4
			  : 0;
	if (!n || n > len)
		return 0;
	c = n == 1 ? lead : lead & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (n > 1 && (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)))
		return 0;
	*ret_c = c;
	return n;
}

static bool utf8_within(uint32_t c, const struct span *spans, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c >= spans[i].first && c <= spans[i].last)
			return true;
	return false;
}

int utf8_columns(uint32_t c)
{
	static const struct span unsafe[] = {
		{0, 0x1f},	  {0x7f, 0x9f},	    {0x61c, 0x61c},
		{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
		{0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};
	/* Characters that take two columns: coarse blocks of EastAsianWidth.txt. If a character is
	 * narrower than assumed, the line only becomes shorter. */
	static const struct span wide[] = {
		{0x1100, 0x115f},   {0x2e80, 0xa4cf},	{0xa960, 0xa97f},   {0xac00, 0xd7a3},
		{0xf900, 0xfaff},   {0xfe30, 0xfe6f},	{0xff00, 0xff60},   {0xffe0, 0xffe6},
		{0x16fe0, 0x18fff}, {0x1b000, 0x1b2ff}, {0x1f000, 0x1faff}, {0x20000, 0x3fffd}};
	static const struct span combining[] = {
		{0x300, 0x36f},	  {0x483, 0x489},   {0x591, 0x5bd},   {0x610, 0x61a},
		{0x64b, 0x65f},	  {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x20d0, 0x20ff},
		{0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}};

	if (c >= 0x20 && c < 0x7f)
		return 1;
	if (utf8_within(c, unsafe, sizeof(unsafe) / sizeof(unsafe[0])))
		return -1;
	if (utf8_within(c, combining, sizeof(combining) / sizeof(combining[0])))
		return 0;
	return utf8_within(c, wide, sizeof(wide) / sizeof(wide[0])) ? 2 : 1;
}
