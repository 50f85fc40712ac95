/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_train STEPS KERNELS [HOLD [JOURNAL [EVERY [PACE]]]]: fits a line by gradient descent on
 * the first OpenCL device. A step enqueues KERNELS gradients of one part of the data each and one
 * update, then waits with clFinish. After HOLD steps the device waits for a line of input. After
 * each EVERY steps the weights are read for a checkpoint, JOURNAL.ck. PACE: it rests that many
 * milliseconds before each step, and is done early once JOURNAL.stop is there. JOURNAL has the
 * steps, by the program's own clock (told.h). At the end it prints what it did, as it counted
 * itself:
 * {"steps": .., "enqueued": .., "finish_ns": .., "slope": .., "reads": ..}. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "tests/fake/told.h"

#define POINTS 4096
#define RATE   0.5f

static const char source[] =
	"kernel void gradient(global const float *x, global const float *y, global const float *w,\n"
	"                     global float *g, int from, int count)\n"
	"{\n"
	"	float slope = 0, offset = 0;\n"
	"	for (int i = from; i < from + count; i++) {\n"
	"		float error = w[0] * x[i] + w[1] - y[i];\n"
	"		slope += error * x[i];\n"
	"		offset += error;\n"
	"	}\n"
	"	g[0] += slope;\n"
	"	g[1] += offset;\n"
	"}\n"
	"kernel void update(global float *w, global float *g, float rate)\n"
	"{\n"
	"	for (int i = 0; i < 2; i++) {\n"
	"		w[i] -= rate * g[i];\n"
	"		g[i] = 0;\n"
	"	}\n"
	"}\n";

struct device {
	cl_context context;
	cl_command_queue queue;
	cl_kernel gradient, update;
	cl_mem x, y, w, g;
	uint64_t enqueued, finish_ns, reads;
};

static void check(cl_int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "opencl_train: %s: error %d\n", what, err);
	exit(err == CL_DEVICE_NOT_FOUND || err == -1001 /* no platform, cl_khr_icd */ ? 77 : 3);
}

static cl_mem buffer(struct device *d, size_t floats, float *from)
{
	cl_int err;
	cl_mem m = clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
				  floats * sizeof(float), from, &err);

	check(err, "clCreateBuffer");
	return m;
}

static void argument(cl_kernel k, cl_uint i, size_t len, const void *value)
{
	check(clSetKernelArg(k, i, len, value), "clSetKernelArg");
}

static void open_device(struct device *d)
{
	const char *text = source;
	cl_platform_id platform;
	cl_device_id id;
	cl_program program;
	cl_int err;

	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &id, NULL), "clGetDeviceIDs");
	d->context = clCreateContext(NULL, 1, &id, NULL, NULL, &err);
	check(err, "clCreateContext");
	d->queue = clCreateCommandQueue(d->context, id, 0, &err);
	check(err, "clCreateCommandQueue");
	program = clCreateProgramWithSource(d->context, 1, &text, NULL, &err);
	check(err, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &id, "", NULL, NULL), "clBuildProgram");
	d->gradient = clCreateKernel(program, "gradient", &err);
	check(err, "clCreateKernel");
	d->update = clCreateKernel(program, "update", &err);
	check(err, "clCreateKernel");
	clReleaseProgram(program);
}

static void make_data(struct device *d)
{
	float x[POINTS], y[POINTS], zero[2] = {0, 0};
	const float rate = RATE / POINTS;

	for (int i = 0; i < POINTS; i++) {
		x[i] = (float)i / POINTS * 2 - 1;
		y[i] = 3 * x[i] + 1;
	}
	d->x = buffer(d, POINTS, x);
	d->y = buffer(d, POINTS, y);
	d->w = buffer(d, 2, zero);
	d->g = buffer(d, 2, zero);
	argument(d->gradient, 0, sizeof(cl_mem), &d->x);
	argument(d->gradient, 1, sizeof(cl_mem), &d->y);
	argument(d->gradient, 2, sizeof(cl_mem), &d->w);
	argument(d->gradient, 3, sizeof(cl_mem), &d->g);
	argument(d->update, 0, sizeof(cl_mem), &d->w);
	argument(d->update, 1, sizeof(cl_mem), &d->g);
	argument(d->update, 2, sizeof(rate), &rate);
}

static void enqueue(struct device *d, cl_kernel k)
{
	const size_t one = 1;

	check(clEnqueueNDRangeKernel(d->queue, k, 1, NULL, &one, NULL, 0, NULL, NULL),
	      "clEnqueueNDRangeKernel");
	d->enqueued++;
}

static void *release(void *event)
{
	told_wait("held");
	check(clSetUserEventStatus(event, CL_COMPLETE), "clSetUserEventStatus");
	return NULL;
}

/* What is queued from here on does not run until a line was read, by another thread. */
static void hold(struct device *d)
{
	pthread_t thread;
	cl_int err;
	cl_event event = clCreateUserEvent(d->context, &err);

	check(err, "clCreateUserEvent");
	check(clEnqueueBarrierWithWaitList(d->queue, 1, &event, NULL),
	      "clEnqueueBarrierWithWaitList");
	if (pthread_create(&thread, NULL, release, event))
		exit(3);
	pthread_detach(thread);
}

static void step(struct device *d, int kernels)
{
	uint64_t before;

	for (int i = 0; i < kernels; i++) {
		const int count = POINTS / kernels, from = i * count;

		argument(d->gradient, 4, sizeof(from), &from);
		argument(d->gradient, 5, sizeof(count), &count);
		enqueue(d, d->gradient);
	}
	enqueue(d, d->update);
	before = told_now();
	check(clFinish(d->queue), "clFinish");
	d->finish_ns += told_now() - before;
}

static void read_weights(struct device *d, float *w)
{
	check(clEnqueueReadBuffer(d->queue, d->w, CL_TRUE, 0, 2 * sizeof(*w), w, 0, NULL, NULL),
	      "clEnqueueReadBuffer");
	d->reads++;
}

static void checkpoint(struct device *d, const char *journal)
{
	char path[4096];
	float w[2];
	FILE *f;

	read_weights(d, w);
	snprintf(path, sizeof(path), "%s.ck", journal);
	f = fopen(path, "w");
	if (!f || fwrite(w, sizeof(w), 1, f) != 1 || fclose(f))
		exit(3);
}

static bool paced(const char *journal, int ms)
{
	const struct timespec rest = {ms / 1000, ms % 1000 * 1000000L};
	char path[4096];

	nanosleep(&rest, NULL);
	snprintf(path, sizeof(path), "%s.stop", journal);
	return access(path, F_OK) != 0;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 0, kernels = argc > 2 ? atoi(argv[2]) : 1;
	int held = argc > 3 ? atoi(argv[3]) : 0, every = argc > 5 ? atoi(argv[5]) : 0;
	int pace = argc > 6 ? atoi(argv[6]) : 0;
	const char *journal = argc > 4 ? argv[4] : NULL;
	struct device d = {0};
	float w[2];
	int done = 0;

	open_device(&d);
	make_data(&d);
	told_wait("loaded");
	told_step_begin();
	for (; done < steps && (!pace || paced(journal, pace)); done++) {
		if (done && done == held)
			hold(&d);
		step(&d, kernels);
		told_step();
		if (every && (done + 1) % every == 0)
			checkpoint(&d, journal);
	}
	read_weights(&d, w);
	printf("{\"steps\": %d, \"enqueued\": %llu, \"finish_ns\": %llu, \"slope\": %.3f, \"reads\": %llu}\n",
	       done, (unsigned long long)d.enqueued, (unsigned long long)d.finish_ns, (double)w[0],
	       (unsigned long long)d.reads);
	return journal && told_write(journal, "opencl") ? 3 : 0;
}
