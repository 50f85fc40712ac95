/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/time/accelerator_peak.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Peak FLOP/s for dense matrix products. Some vendors publish only the figure for matrices with 2:4
 * sparsity; half of that is the dense figure. */
static const struct accelerator_peak peaks[] = {
	/* NVIDIA Tesla V100 data sheet, 2020: tensor performance (fp16) */
	{"V100-SXM2", 125e12},
	{"V100-PCIe", 112e12},
	/* NVIDIA T4 data sheet, 2019: mixed precision (fp16) */
	{"T4", 65e12},
	/* NVIDIA A100 data sheet, 2021: equal for SXM and PCIe, 40 and 80 GB, and the A800 */
	{"A100", 312e12},
	{"A800", 312e12},
	/* NVIDIA A30, A10, A40 data sheets, 2021 and 2022 */
	{"A30", 165e12},
	{"A10", 125e12},
	{"A40", 149.7e12},
	/* NVIDIA Ada GPU architecture white paper, tables 2 and 8: bf16 with fp32 accumulation */
	{"RTX-4090", 165.2e12},
	/* NVIDIA L4 data sheet, 2023: 242e12 with sparsity; L40 181.05e12 and L40S 362.05e12
	 * dense */
	{"L4", 121e12},
	{"L40", 181.05e12},
	{"L40S", 362.05e12},
	/* NVIDIA Hopper architecture white paper, table 2 (dense: SXM5 989.4e12, PCIe 756e12); data
	 * sheet of the H100 NVL (1671e12 with sparsity) */
	{"H100-SXM", 989.4e12},
	{"H100-PCIe", 756e12},
	{"H100-NVL", 835.5e12},
	{"H800-SXM", 989.4e12},
	/* NVIDIA H20 product brief, 2023 */
	{"H20", 148e12},
	/* NVIDIA GH200 and H200 data sheets, 2024: 1979e12 with sparsity; H200 NVL 1671e12 with
	 * sparsity */
	{"GH200", 989.4e12},
	{"H200-SXM", 989.4e12},
	{"H200-NVL", 835.5e12},
	/* NVIDIA data sheets, 2024, with sparsity: HGX B200, 36e15 for 8 accelerators; GB200 NVL72,
	 * 360e15 for 72 accelerators */
	{"B200", 2250e12},
	{"GB200", 2500e12},
	/* AMD Instinct data sheets: MI210, MI250, MI250X (both dies), MI300A, MI300X, MI325X,
	   MI355X */
	{"MI210", 181e12},
	{"MI250", 362.1e12},
	{"MI250X", 383e12},
	{"MI300A", 980.6e12},
	{"MI300X", 1307.4e12},
	{"MI325X", 1307.4e12},
	{"MI355X", 2516.6e12},
	/* Google Cloud, TPU system architecture: peak compute per chip (bf16) */
	{"TPU-v3", 123e12},
	{"TPU-v4", 275e12},
	{"TPU-v5e", 197e12},
	{"TPU-v5p", 459e12},
	{"TPU-v6e", 918e12},
	/* AWS Neuron documentation, Trainium and Trainium2 architecture: dense bf16 per chip */
	{"Trainium1", 190e12},
	{"Trainium2", 667e12},
	/* Intel Gaudi 2 and Gaudi 3 white papers: bf16 matrix engine */
	{"Gaudi2", 432e12},
	{"Gaudi3", 1835e12},
};

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
