/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/model/signal/operation.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Words of a tensor's object, from the number of dimensions on: sizes and strides of up to
 * DIMENSIONS dimensions, the offset in the storage, the number of elements. With more dimensions,
 * the sizes are elsewhere. */
#define DIMENSIONS    5
#define ELEMENTS_AT   12
#define TYPE_AT	      13
#define PROOFS	      8
#define MISFIT_SHARE  100
#define SPATIAL_FIRST 2 /* dimensions before it: batch and channels */

_Static_assert(TENSOR_PLACES + TYPE_AT <= GP_TENSOR_WORDS, "all places are in the window");

#define X(name) #name,
const char *const operation_type_name[] = {OPERATION_TYPES(X)};
const char *const operation_kind_name[] = {OPERATION_KINDS(X)};
#undef X

enum factor_kind { FACTOR_NUMBER, FACTOR_SIZE, FACTOR_SIZES_FROM, FACTOR_OUT, FACTOR_VALUE };

struct tensor { /* sizes of a tensor */
	uint32_t dims;
	uint64_t size[DIMENSIONS];
};

/* ---- parsing --------------------------------------------------------------------------------- */

static bool formula_integer(const char **at, long least, long most, long *ret)
{
	char *end;

	if (strspn(*at, "-0123456789") == 0)
		return false;
	errno = 0;
	*ret = strtol(*at, &end, 10);
	if (end == *at || errno || *ret < least || *ret > most)
		return false;
	*at = end;
	return true;
}

static bool formula_read_size(const char **at, struct formula_factor *f)
{
	long dim;

	f->kind = FACTOR_SIZE;
	f->which = (uint8_t)(*(*at)++ - 'a');
	if (!formula_integer(at, -DIMENSIONS, DIMENSIONS - 1, &dim))
		return false;
	f->dim = (int8_t)dim;
	if (strncmp(*at, "..", 2) != 0)
		return true;
	f->kind = FACTOR_SIZES_FROM;
	*at += 2;
	return true;
}

static bool formula_read_value(const char **at, struct formula_factor *f)
{
	long number;

	f->kind = FACTOR_VALUE;
	f->negated = **at == '!';
	*at += f->negated;
	if (*(*at)++ != 'v' || !formula_integer(at, 0, GP_ARGS - 1, &number))
		return false;
	f->which = (uint8_t)number;
	f->byte = UINT8_MAX; /* all of it */
	if (**at != '.')
		return true;
	++*at;
	if (!formula_integer(at, 0, 7, &number))
		return false;
	f->byte = (uint8_t)number;
	return true;
}

static bool formula_read_factor(const char **at, struct formula_factor *f)
{
	long number;

	if (**at >= 'a' && **at < 'a' + GP_TENSORS)
		return formula_read_size(at, f);
	if (**at == 'v' || **at == '!')
		return formula_read_value(at, f);
	if (!strncmp(*at, "out", 3)) {
		f->kind = FACTOR_OUT;
		f->which = 1; /* uses the tensors a and b */
		*at += 3;
		return true;
	}
	f->kind = FACTOR_NUMBER;
	if (!formula_integer(at, 0, LONG_MAX, &number))
		return false;
	f->number = (uint64_t)number;
	return true;
}

static bool formula_read_kind(const char **at, uint8_t *kind)
{
	size_t len = strcspn(*at, ":");

	if (!(*at)[len])
		return true;
	for (int k = 0; k < OPERATION_KIND_COUNT; k++) {
		if (strlen(operation_kind_name[k]) != len ||
		    strncmp(operation_kind_name[k], *at, len) != 0)
			continue;
		*kind = (uint8_t)k;
		*at += len + 1;
		*at += strspn(*at, " ");
		return true;
	}
	return false;
}

static int formula_read(struct formula *f, const char *at)
{
	bool begins = true;

	f->grad_mode = !strcmp(at, "grad_mode");
	if (f->grad_mode)
		return 0;
	if (!formula_read_kind(&at, &f->kind))
		return -EINVAL;
	f->bound = !strncmp(at, ">=", 2);
	at += f->bound ? 2 : 0;
	for (;;) {
		struct formula_factor *factor = &f->factor[f->count];

		at += strspn(at, " ");
		if (*at == '+' && !begins) {
			begins = true;
			at++;
			continue;
		}
		if (!*at)
			return begins ? -EINVAL : 0;
		if (f->count == FORMULA_FACTORS || !formula_read_factor(&at, factor) ||
		    !strchr(" +", *at))
			return -EINVAL;
		factor->begins = begins;
		begins = false;
		f->count++;
		if (factor->kind != FACTOR_NUMBER && factor->kind != FACTOR_VALUE &&
		    f->tensors <= factor->which)
			f->tensors = (uint8_t)(factor->which + 1);
	}
}

int formula_parse(struct formula *ret, const char text[GP_FORMULA_MAX])
{
	char copy[GP_FORMULA_MAX];
	int err;

	*ret = (struct formula){0};
	memcpy(copy, text, sizeof(copy) - 1);
	copy[sizeof(copy) - 1] = '\0';
	err = formula_read(ret, copy);
	if (err)
		*ret = (struct formula){0};
	else
		memcpy(ret->text, copy, strlen(copy));
	return err;
}

/* ---- tensors --------------------------------------------------------------------------------- */

/* Reads the sizes if the words from `place` on can be those of a tensor. */
static bool tensor_read(const __u64 word[GP_TENSOR_WORDS], int place, struct tensor *ret)
{
	uint64_t elements = 1;

	word += place;
	if (!word[0] || word[0] > DIMENSIONS)
		return false;
	ret->dims = (uint32_t)word[0];
	for (uint32_t i = 0; i < ret->dims; i++) {
		ret->size[i] = word[1 + i];
		if (ret->size[i] > INT64_MAX ||
		    __builtin_mul_overflow(elements, ret->size[i], &elements))
			return false;
	}
	return elements == word[ELEMENTS_AT];
}

void tensor_places_learn(struct tensor_places *p, const struct formula *f,
			 const struct gp_operation *op)
{
	struct tensor t;

	for (int i = 0; i < f->tensors; i++) {
		if (p->tensors == UINT32_MAX)
			return;
		p->tensors++;
		for (int place = 0; place < TENSOR_PLACES; place++)
			p->fits[place] += tensor_read(op->tensor[i], place, &t) && t.dims > 1 &&
					  op->tensor[i][place + ELEMENTS_AT] > 1;
	}
}

int tensor_place(const struct tensor_places *p)
{
	int best = 0;

	for (int place = 1; place < TENSOR_PLACES; place++)
		if (p->fits[place] > p->fits[best])
			best = place;
	if (p->fits[best] < PROOFS || p->tensors - p->fits[best] > p->tensors / MISFIT_SHARE)
		return -1;
	return best;
}

enum operation_type tensor_type(const struct formula *f, const struct gp_operation *op, int place)
{
	/* PyTorch's numbers of types, which are the same in all versions */
	static const uint8_t types[] = {
		[1] = OPERATION_TYPE_int8, [5] = OPERATION_TYPE_fp16,  [6] = OPERATION_TYPE_fp32,
		[7] = OPERATION_TYPE_fp64, [15] = OPERATION_TYPE_bf16, [23] = OPERATION_TYPE_fp8,
		[24] = OPERATION_TYPE_fp8, [25] = OPERATION_TYPE_fp8,  [26] = OPERATION_TYPE_fp8,
	};
	uint16_t number;

	if (!f->tensors || place < 0 || place >= TENSOR_PLACES)
		return OPERATION_TYPE_other;
	number = (uint16_t)op->tensor[0][place + TYPE_AT];
	return number < sizeof(types) ? (enum operation_type)types[number] : OPERATION_TYPE_other;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

struct call { /* a call whose operations are counted */
	const struct gp_operation *op;
	struct tensor tensor[GP_TENSORS];
};

static bool formula_multiply(uint64_t *product, uint64_t by)
{
	return !__builtin_mul_overflow(*product, by, product);
}

static bool formula_size(const struct call *c, const struct formula_factor *f, uint64_t *product)
{
	const struct tensor *t = &c->tensor[f->which];
	int dim = f->dim < 0 ? (int)t->dims + f->dim : f->dim;
	bool ok = true;

	if (f->kind == FACTOR_SIZE)
		return dim >= 0 && (uint32_t)dim < t->dims &&
		       formula_multiply(product, t->size[dim]);
	for (uint32_t i = dim > 0 ? (uint32_t)dim : 0; i < t->dims && ok; i++)
		ok = formula_multiply(product, t->size[i]);
	return ok;
}

/* Multiplies by the output size of a convolution in one dimension. */
static bool formula_out_one(uint64_t in, uint64_t kernel, const __u64 setting[3], uint64_t *product)
{
	__int128 stride = (int64_t)setting[0], padding = (int64_t)setting[1];
	__int128 dilation = (int64_t)setting[2], kernel_span, out;

	if (stride <= 0 || padding < 0 || dilation <= 0 || stride > INT32_MAX ||
	    padding > INT32_MAX || dilation > INT32_MAX || kernel > INT32_MAX || in > INT32_MAX)
		return false;
	kernel_span = dilation * ((__int128)kernel - 1) + 1;
	out = (__int128)in + 2 * padding - kernel_span;
	return out >= 0 && formula_multiply(product, (uint64_t)(out / stride + 1));
}

static bool formula_out(const struct call *c, uint64_t *product)
{
	const struct tensor *in = &c->tensor[0], *weight = &c->tensor[1];

	if (in->dims != weight->dims || in->dims <= SPATIAL_FIRST)
		return false;
	for (uint32_t i = SPATIAL_FIRST; i < in->dims; i++) {
		__u64 setting[3];

		for (int k = 0; k < 3; k++)
			setting[k] = c->op->list[2 + k][i - SPATIAL_FIRST];
		if (!formula_out_one(in->size[i], weight->size[i], setting, product))
			return false;
	}
	return true;
}

static bool formula_factor(const struct call *c, const struct formula_factor *f, uint64_t *product)
{
	uint64_t value;

	switch ((enum factor_kind)f->kind) {
	case FACTOR_NUMBER:
		return formula_multiply(product, f->number);
	case FACTOR_SIZE:
	case FACTOR_SIZES_FROM:
		return formula_size(c, f, product);
	case FACTOR_OUT:
		/* A term that a value before it has made 0 need not be computable. */
		return !*product || formula_out(c, product);
	case FACTOR_VALUE:
		value = c->op->value[f->which];
		if (f->byte != UINT8_MAX)
			value = value >> 8 * f->byte & 0xff;
		if (value > 1) /* not a bool: the row is not for this version of the library */
			return false;
		if (value == f->negated)
			*product = 0;
		return true;
	}
	return false;
}

int formula_operations(const struct formula *f, const struct gp_operation *op, int place,
		       uint64_t *ret)
{
	uint64_t sum = 0, product = 0;
	struct call c = {.op = op};

	if (f->tensors && (place < 0 || place >= TENSOR_PLACES))
		return -EDOM;
	for (int i = 0; i < f->tensors; i++)
		if (!tensor_read(op->tensor[i], place, &c.tensor[i]))
			return -EDOM;
	for (int i = 0; i < f->count; i++) {
		if (f->factor[i].begins) {
			if (__builtin_add_overflow(sum, product, &sum))
				return -EDOM;
			product = 1;
		}
		if (!formula_factor(&c, &f->factor[i], &product))
			return -EDOM;
	}
	if (__builtin_add_overflow(sum, product, &sum))
		return -EDOM;
	*ret = sum;
	return 0;
}

/* ---- sums ------------------------------------------------------------------------------------ */

double operations_sum(const struct operations *o)
{
	double sum = 0;

	for (int t = 0; o && t < OPERATION_TYPE_COUNT; t++)
		sum += o->type[t];
	return sum;
}

double operations_again(const struct operations *o)
{
	double sum = 0;

	for (int t = 0; !(o->again_unknown > 0) && t < OPERATION_TYPE_COUNT; t++)
		sum += o->again[t];
	return sum;
}

void operations_add(struct operations *to, const struct operations *from, double factor)
{
	for (int t = 0; from && t < OPERATION_TYPE_COUNT; t++)
		to->type[t] += from->type[t] * factor;
	for (int t = 0; from && t < OPERATION_TYPE_COUNT; t++)
		to->again[t] += from->again[t] * factor;
	to->again_unknown += from ? from->again_unknown * factor : 0;
	for (int k = 0; from && k < OPERATION_KIND_COUNT; k++)
		to->kind[k] += from->kind[k] * factor;
}

void operations_archive(struct archive *a, struct operations *o)
{
	archive_struct(a, sizeof(*o));
	archive_fields(a, o, type, kind, again, again_unknown);
	archive_require(a, isfinite(o->again_unknown) && o->again_unknown >= 0);
	for (int t = 0; t < OPERATION_TYPE_COUNT; t++)
		archive_require(a, isfinite(o->type[t]) && o->type[t] >= 0 &&
					   isfinite(o->again[t]) && o->again[t] >= 0);
	for (int k = 0; k < OPERATION_KIND_COUNT; k++)
		archive_require(a, isfinite(o->kind[k]) && o->kind[k] >= 0);
}
