/* SPDX-License-Identifier: Apache-2.0 */
/* line.h - what the stand-ins' devices train: y = 3x + 1 by gradient descent. */
#ifndef TESTS_FAKE_LINE_H
#define TESTS_FAKE_LINE_H

#define POINTS 1024
#define RATE   0.5f

struct line {
	float x[POINTS], y[POINTS], w[2], g[2], loss;
};

static inline void line_make(struct line *l)
{
	*l = (struct line){.loss = -1};
	for (int i = 0; i < POINTS; i++) {
		l->x[i] = (float)i / POINTS * 2 - 1;
		l->y[i] = 3 * l->x[i] + 1;
	}
}

static inline void line_gradient(struct line *l)
{
	l->loss = 0;
	for (int i = 0; i < POINTS; i++) {
		float error = l->w[0] * l->x[i] + l->w[1] - l->y[i];

		l->g[0] += error * l->x[i];
		l->g[1] += error;
		l->loss += error * error;
	}
}

static inline void line_update(struct line *l)
{
	for (int i = 0; i < 2; i++) {
		l->w[i] -= RATE / POINTS * l->g[i];
		l->g[i] = 0;
	}
}

#endif
