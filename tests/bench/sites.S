/* SPDX-License-Identifier: Apache-2.0 */
/* Functions to be probed, whose first instruction is known: a push (trap, then emulated) or a five-byte
 * nop (rewritten into a call since kernel 6.18). One of each for every shape of record, so that all are
 * attached at once and measured one after the other in one process. */
#if defined(__x86_64__)

	.text
	.macro	site name
	.globl	gpbench_push_\name, gpbench_nop5_\name
	.type	gpbench_push_\name, @function
	.type	gpbench_nop5_\name, @function
	.p2align 4
gpbench_push_\name:
	pushq	%rbp
	movq	%rsp, %rbp
	popq	%rbp
	ret
	.size	gpbench_push_\name, . - gpbench_push_\name
	.p2align 4
gpbench_nop5_\name:
	.byte	0x0f, 0x1f, 0x44, 0x00, 0x00
	movq	%rdi, %rax
	ret
	.size	gpbench_nop5_\name, . - gpbench_nop5_\name
	.endm

#elif defined(__aarch64__)

	.text
	.macro	site name
	.globl	gpbench_push_\name, gpbench_nop5_\name
	.type	gpbench_push_\name, %function
	.type	gpbench_nop5_\name, %function
	.p2align 4
gpbench_push_\name:	/* the frame's first store is single-stepped there; a nop is what compilers offer */
gpbench_nop5_\name:
	nop
	ret
	.size	gpbench_push_\name, . - gpbench_push_\name
	.size	gpbench_nop5_\name, . - gpbench_nop5_\name
	.endm

#else
#error "no probe sites for this architecture"
#endif

	site	count
	site	hit
	site	named
	site	begin
	site	end
	site	call
	site	monitor
	site	stream

	.section .note.GNU-stack, "", %progbits
