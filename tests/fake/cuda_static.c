/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_static COUNT: a program that the CUDA runtime is linked into, as nvcc does it. Prints
 * "loaded", waits for a line, and waits COUNT times for the device by the runtime. FAKE_CUDART says
 * what goes wrong (script.h). */
#include <stdio.h>
#include <stdlib.h>

int cudaGetDeviceCount(int *count);
int cudaDeviceSynchronize(void);

int main(int argc, char **argv)
{
	int devices, n = argc > 1 ? atoi(argv[1]) : 0;
	char line[16];

	puts("loaded");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin) || cudaGetDeviceCount(&devices))
		return 3;
	for (int i = 0; i < n; i++)
		cudaDeviceSynchronize();
	return 0;
}
