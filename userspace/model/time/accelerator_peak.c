/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/accelerator_peak.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define TERA 1e12

/* Peak rates for dense matrix products in 1e12 operations per second, in the order of the columns;
 * 0: not published. Some vendors publish only the figure for matrices with 2:4 sparsity; half of
 * that is the dense figure. */
#define ROW(name, bf16, fp16, tf32, fp32, fp64, fp8, int8)                                         \
	{                                                                                          \
		name,                                                                              \
			{                                                                          \
				[OPERATION_TYPE_bf16] = TERA * (bf16),                             \
				[OPERATION_TYPE_fp16] = TERA * (fp16),                             \
				[OPERATION_TYPE_tf32] = TERA * (tf32),                             \
				[OPERATION_TYPE_fp32] = TERA * (fp32),                             \
				[OPERATION_TYPE_fp64] = TERA * (fp64),                             \
				[OPERATION_TYPE_fp8] = TERA * (fp8),                               \
				[OPERATION_TYPE_int8] = TERA * (int8),                             \
			},                                                                         \
	}

/* clang-format off */
static const struct accelerator_peak peaks[] = {
	/*                 bf16    fp16    tf32   fp32   fp64   fp8     int8 */
	/* NVIDIA Tesla V100 data sheet, 2020: tensor performance (fp16) */
	ROW("V100-SXM2",   0,      125,    0,     15.7,  7.8,   0,      0),
	ROW("V100-PCIe",   0,      112,    0,     14,    7,     0,      0),
	/* NVIDIA T4 data sheet, 2019: mixed precision (fp16) */
	ROW("T4",          0,      65,     0,     8.1,   0,     0,      130),
	/* NVIDIA A100 data sheet, 2021: equal for SXM and PCIe, 40 and 80 GB, and the A800; fp64 on
	 * tensor cores */
	ROW("A100",        312,    312,    156,   19.5,  19.5,  0,      624),
	ROW("A800",        312,    312,    156,   19.5,  19.5,  0,      624),
	/* NVIDIA A30, A10, A40 data sheets, 2021 and 2022 */
	ROW("A30",         165,    165,    82,    10.3,  10.3,  0,      330),
	ROW("A10",         125,    125,    62.5,  31.2,  0,     0,      250),
	ROW("A40",         149.7,  149.7,  74.8,  37.4,  0,     0,      299.3),
	/* NVIDIA Ada GPU architecture white paper, tables 2 and 8: with fp32 accumulation */
	ROW("RTX-4090",    165.2,  165.2,  82.6,  82.6,  0,     330.3,  660.6),
	/* NVIDIA L4 data sheet, 2023, with sparsity: tf32 120, bf16 242, fp8 and int8 485 */
	ROW("L4",          121,    121,    60,    30.3,  0,     242.5,  242.5),
	/* NVIDIA L40 and L40S data sheets, 2023 */
	ROW("L40",         181.05, 181.05, 90.5,  90.5,  0,     362,    362),
	ROW("L40S",        362.05, 362.05, 183,   91.6,  0,     733,    733),
	/* NVIDIA Hopper architecture white paper, table 2, dense; fp64 on tensor cores */
	ROW("H100-SXM",    989.4,  989.4,  494.7, 66.9,  66.9,  1978.9, 1978.9),
	ROW("H100-PCIe",   756,    756,    378,   51.2,  51.2,  1513,   1513),
	/* NVIDIA H100 NVL data sheet, with sparsity: tf32 835, bf16 1671, fp8 and int8 3341 */
	ROW("H100-NVL",    835.5,  835.5,  417.5, 60,    60,    1670.5, 1670.5),
	/* as the H100 SXM, except fp64, which no data sheet confirms */
	ROW("H800-SXM",    989.4,  989.4,  494.7, 66.9,  0,     1978.9, 1978.9),
	/* NVIDIA H20 product brief, 2023 */
	ROW("H20",         148,    148,    74,    44,    1,     296,    296),
	/* NVIDIA GH200, H200 and H200 NVL data sheets, 2024: as the H100 SXM and NVL */
	ROW("GH200",       989.4,  989.4,  494.7, 66.9,  66.9,  1978.9, 1978.9),
	ROW("H200-SXM",    989.4,  989.4,  494.7, 66.9,  66.9,  1978.9, 1978.9),
	ROW("H200-NVL",    835.5,  835.5,  417.5, 60,    60,    1670.5, 1670.5),
	/* NVIDIA data sheets, 2024, most with sparsity: HGX B200 for 8 accelerators (tf32 18e15, bf16
	 * 36e15, fp8 and int8 72e15; dense: fp64 296e12, fp32 600e12); GB200 NVL72 for 72 */
	ROW("B200",        2250,   2250,   1125,  75,    37,    4500,   4500),
	ROW("GB200",       2500,   2500,   1250,  80,    40,    5000,   5000),
	/* AMD Instinct data sheets, matrix units; MI250 and MI250X: both dies */
	ROW("MI210",       181,    181,    0,     45.3,  45.3,  0,      181),
	ROW("MI250",       362.1,  362.1,  0,     90.5,  90.5,  0,      362.1),
	ROW("MI250X",      383,    383,    0,     95.7,  95.7,  0,      383),
	ROW("MI300A",      980.6,  980.6,  490.3, 122.6, 122.6, 1961.2, 1961.2),
	ROW("MI300X",      1307.4, 1307.4, 653.7, 163.4, 163.4, 2614.9, 2614.9),
	ROW("MI325X",      1307.4, 1307.4, 653.7, 163.4, 163.4, 2614.9, 2614.9),
	ROW("MI355X",      2516.6, 2516.6, 0,     157.3, 78.6,  5033.2, 5033.2),
	/* Google Cloud, TPU system architecture: peak compute per chip (bf16) */
	ROW("TPU-v3",      123,    0,      0,     0,     0,     0,      0),
	ROW("TPU-v4",      275,    0,      0,     0,     0,     0,      0),
	ROW("TPU-v5e",     197,    0,      0,     0,     0,     0,      0),
	ROW("TPU-v5p",     459,    0,      0,     0,     0,     0,      0),
	ROW("TPU-v6e",     918,    0,      0,     0,     0,     0,      0),
	/* AWS Neuron documentation, Trainium and Trainium2 architecture, per chip */
	ROW("Trainium1",   190,    190,    190,   47.5,  0,     190,    380),
	ROW("Trainium2",   667,    667,    667,   181,   0,     1299,   0),
	/* Intel Gaudi 2 and Gaudi 3 white papers: bf16 matrix engine */
	ROW("Gaudi2",      432,    0,      0,     0,     0,     0,      0),
	ROW("Gaudi3",      1835,   0,      0,     0,     0,     0,      0),
};
/* clang-format on */

/* Names that drivers use instead of the common name. The H100 of 80 GB with HBM3 is the SXM
 * version. */
static const struct {
	const char *driver, *name;
} aliases[] = {
	{"H100 80GB HBM3", "H100-SXM"},
	{"H100", "H100-SXM"},
	{"H800 80GB HBM3", "H800-SXM"},
	{"GH200 480GB", "GH200"},
	{"GH200 120GB", "GH200"},
	{"H200", "H200-SXM"},
	{"H100 SXM5", "H100-SXM"},
	{"A100-SXM4-40GB", "A100"},
	{"A100-SXM4-80GB", "A100"},
	{"A100-PCIE-40GB", "A100"},
	{"A100 80GB PCIe", "A100"},
	{"A100-SXM-80GB", "A100"},
	{"A100-SXM", "A100"},
	{"A100-PCIe", "A100"},
	{"A800-SXM4-80GB", "A800"},
	{"V100-SXM2-16GB", "V100-SXM2"},
	{"V100-SXM2-32GB", "V100-SXM2"},
	{"V100-PCIE-16GB", "V100-PCIe"},
	{"V100-PCIE-32GB", "V100-PCIe"},
	{"H20-3e", "H20"},
	{"B200 180GB", "B200"},
};

/* Returns true if two names are equal, except that blanks, dashes and underscores count as the
 * same. */
static bool accelerator_name_matches(const char *a, const char *b)
{
	for (; *a && *b; a++, b++) {
		int x = strchr(" _", *a) ? '-' : tolower((unsigned char)*a);
		int y = strchr(" _", *b) ? '-' : tolower((unsigned char)*b);

		if (x != y)
			return false;
	}
	return *a == *b;
}

static const struct accelerator_peak *accelerator_peak_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(peaks) / sizeof(peaks[0]); i++)
		if (accelerator_name_matches(peaks[i].name, name))
			return &peaks[i];
	return NULL;
}

const struct accelerator_peak *accelerator_peak_find(const char *name)
{
	static const char *const makers[] = {"NVIDIA ",	  "Tesla ",  "GeForce ", "AMD ",
					     "Instinct ", "Google ", "Intel "};
	const struct accelerator_peak *found;

	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++) {
		size_t len = strlen(makers[i]);

		if (!strncasecmp(name, makers[i], len))
			name += len;
	}
	found = accelerator_peak_by_name(name);
	for (size_t i = 0; !found && i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (accelerator_name_matches(aliases[i].driver, name))
			found = accelerator_peak_by_name(aliases[i].name);
	return found;
}

const struct accelerator_peak *accelerator_peak_at(size_t i)
{
	return i < sizeof(peaks) / sizeof(peaks[0]) ? &peaks[i] : NULL;
}

double accelerator_peak_flops(const struct accelerator_peak *p)
{
	return p->rate[OPERATION_TYPE_bf16] > 0 ? p->rate[OPERATION_TYPE_bf16]
						: p->rate[OPERATION_TYPE_fp16];
}
