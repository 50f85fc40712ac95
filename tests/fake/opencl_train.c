/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_train STEPS KERNELS [HOLD]: fits a line by gradient descent on the first OpenCL device. A step
 * enqueues KERNELS gradients of one part of the data each and one update, then waits with clFinish. After
 * HOLD steps the device waits for a line of input. At the end it prints what it did, as it counted itself:
 * {"steps": .., "enqueued": .., "finish_ns": .., "slope": ..}. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

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
	uint64_t enqueued, finish_ns;
};

static void check(cl_int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "opencl_train: %s: error %d\n", what, err);
	exit(err == CL_DEVICE_NOT_FOUND || err == -1001 /* no platform, cl_khr_icd */ ? 77 : 3);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
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

static void read_line(void)
{
	int c;

	do {
		c = getchar();
		if (c == EOF)
			exit(3);
	} while (c != '\n');
}

static void *release(void *event)
{
	read_line();
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
	check(clEnqueueBarrierWithWaitList(d->queue, 1, &event, NULL), "clEnqueueBarrierWithWaitList");
	puts("held");
	fflush(stdout);
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
	before = now_ns();
	check(clFinish(d->queue), "clFinish");
	d->finish_ns += now_ns() - before;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 0, kernels = argc > 2 ? atoi(argv[2]) : 1;
	int held = argc > 3 ? atoi(argv[3]) : 0;
	struct device d = {0};
	float w[2];

	open_device(&d);
	make_data(&d);
	puts("loaded");
	fflush(stdout);
	read_line();
	for (int i = 0; i < steps; i++) {
		if (i && i == held)
			hold(&d);
		step(&d, kernels);
	}
	check(clEnqueueReadBuffer(d.queue, d.w, CL_TRUE, 0, sizeof(w), w, 0, NULL, NULL),
	      "clEnqueueReadBuffer");
	printf("{\"steps\": %d, \"enqueued\": %llu, \"finish_ns\": %llu, \"slope\": %.3f}\n", steps,
	       (unsigned long long)d.enqueued, (unsigned long long)d.finish_ns, (double)w[0]);
	return 0;
}
