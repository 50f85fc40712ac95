/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* gp_regs.h - the saved registers of the probed thread. Their layout is user ABI, so no kernel
 * structures are needed. */
#ifndef GP_REGS_H
#define GP_REGS_H

#include <linux/types.h>

#if defined(__TARGET_ARCH_x86)
/* As struct pt_regs in the kernel's arch/x86/include/uapi/asm/ptrace.h. */
struct gp_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
		flags, sp, ss;
};
#define GP_ARG0	     di
#define GP_ARG1	     si
#define GP_ARG2	     dx
#define GP_ARG3	     cx
#define GP_ARG4	     r8
#define GP_ARG5	     r9
#define GP_RET	     ax
#define GP_CALL_ARG3 r10 /* fourth argument of a system call, not of a function */
#elif defined(__TARGET_ARCH_arm64)
/* As struct user_pt_regs in the kernel's arch/arm64/include/uapi/asm/ptrace.h. */
struct gp_regs {
	__u64 regs[31], sp, pc, pstate;
};
#define GP_ARG0	     regs[0]
#define GP_ARG1	     regs[1]
#define GP_ARG2	     regs[2]
#define GP_ARG3	     regs[3]
#define GP_ARG4	     regs[4]
#define GP_ARG5	     regs[5]
#define GP_RET	     regs[0]
#define GP_CALL_ARG3 regs[3]
#else
#error "no register layout for this architecture"
#endif

/* Reads one register. The verifier allows reads only at constant offsets from the context. So each
 * register is read by its own asm, which the compiler cannot merge with another one into a read at
 * a computed address. */
#define GP_LOAD(regs, field)                                                                       \
	({                                                                                         \
		__u64 word;                                                                        \
		asm volatile("%0 = *(u64 *)(%1 + %2)"                                              \
			     : "=r"(word)                                                          \
			     : "r"(regs), "i"(__builtin_offsetof(struct gp_regs, field)));         \
		word;                                                                              \
	})

static __always_inline __u64 gp_register(const struct gp_regs *regs, __u8 number)
{
	switch (number) {
	case 0:
		return GP_LOAD(regs, GP_ARG0);
	case 1:
		return GP_LOAD(regs, GP_ARG1);
	case 2:
		return GP_LOAD(regs, GP_ARG2);
	case 3:
		return GP_LOAD(regs, GP_ARG3);
	case 4:
		return GP_LOAD(regs, GP_ARG4);
	case 5:
		return GP_LOAD(regs, GP_ARG5);
#if defined(__TARGET_ARCH_arm64)
	case 6:
		return GP_LOAD(regs, regs[6]);
	case 7:
		return GP_LOAD(regs, regs[7]);
#endif
	}
	return 0;
}

#endif
