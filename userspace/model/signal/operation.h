/* SPDX-License-Identifier: Apache-2.0 */
/* operation.h - how many floating-point operations a call of an operator has: a formula from a
 * probe file, applied to the sizes of tensors that were copied from the process. Pure; all input is
 * hostile. docs/operations.md explains the formulas. */
#ifndef MODEL_OPERATION_H
#define MODEL_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/gp_abi.h"
#include "userspace/base/archive.h"

#define FORMULA_FACTORS 32
/* places at which the number of dimensions may be: words of the window, from its first one */
#define TENSOR_PLACES 5

/* Types of numbers that accelerators have peaks for. tf32 is not a type of tensors: it is how the
 * matrix units of an accelerator compute products of fp32. */
#define OPERATION_TYPES(X) X(other) X(bf16) X(fp16) X(tf32) X(fp32) X(fp64) X(fp8) X(int8)
enum operation_type {
#define X(name) OPERATION_TYPE_##name,
	OPERATION_TYPES(X)
#undef X
		OPERATION_TYPE_COUNT
};
extern const char *const operation_type_name[];

/* Kinds of operators; the text of a formula begins with the kind. */
#define OPERATION_KINDS(X) X(other) X(matmul) X(attention) X(convolution)
enum operation_kind {
#define X(name) OPERATION_KIND_##name,
	OPERATION_KINDS(X)
#undef X
		OPERATION_KIND_COUNT
};
extern const char *const operation_kind_name[];

/* Floating-point operations, counted twice: by the type of the operands, and by kind. */
struct operations {
	double type[OPERATION_TYPE_COUNT], kind[OPERATION_KIND_COUNT];
	/* The part of `type` that a backward pass computed again (activation checkpointing); it is
	 * complete if again_unknown is 0. */
	double again[OPERATION_TYPE_COUNT], again_unknown;
};

/* A parsed formula: a sum of products. */
struct formula {
	struct formula_factor {
		uint8_t kind; /* private */
		uint8_t which, byte;
		int8_t dim;
		bool negated;
		bool begins; /* first factor of a term */
		uint64_t number;
	} factor[FORMULA_FACTORS];
	uint8_t count;	 /* number of factors; 0: no formula */
	uint8_t tensors; /* number of tensors that it uses: the first one to the last one used */
	uint8_t kind;	 /* enum operation_kind */
	bool bound;	 /* its result is a lower bound */
	bool grad_mode;	 /* no operator: value 0 says whether gradients are on from here on */
	char text[GP_FORMULA_MAX]; /* as it was parsed; with a NUL */
};

/* Which words of a tensor's object are its sizes: found by the tensors of one process. */
struct tensor_places {
	uint32_t tensors;	      /* number of tensors that could be examined */
	uint32_t fits[TENSOR_PLACES]; /* number of them that fit each place */
};

/* Parses a text of at most GP_FORMULA_MAX bytes, which need not end with NUL. Returns 0, or
 * -EINVAL: it is not a formula, and *ret has no factors. */
int formula_parse(struct formula *ret, const char text[GP_FORMULA_MAX]);

/* Examines the tensors of a call that the formula uses. */
void tensor_places_learn(struct tensor_places *p, const struct formula *f,
			 const struct gp_operation *op);
/* Returns the proven place, or -1. */
int tensor_place(const struct tensor_places *p);

/* Computes the number of operations of a call. place: from tensor_place(). Returns 0, or -EDOM: a
 * tensor does not fit the place or lacks a dimension, or the number exceeds 64 bits. */
int formula_operations(const struct formula *f, const struct gp_operation *op, int place,
		       uint64_t *ret);
/* Returns the type of the elements of a call's first tensor. place: from tensor_place(). */
enum operation_type tensor_type(const struct formula *f, const struct gp_operation *op, int place);

double operations_sum(const struct operations *o);   /* NULL: 0 */
double operations_again(const struct operations *o); /* sum of `again`; 0: none, or unknown */
/* Adds `from` (NULL: nothing), multiplied by a factor. */
void operations_add(struct operations *to, const struct operations *from, double factor);
void operations_archive(struct archive *a, struct operations *o);

#endif
