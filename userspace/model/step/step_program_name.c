/* SPDX-License-Identifier: Apache-2.0 */
/* step_program_name.c - finds out what a compiled program does from its name. JAX names a program
 * "jit_" and the function; TensorFlow names it "__inference_", the function and a number. */
#include "userspace/model/step/step_program.h"

#include <ctype.h>

/* Functions of jax.numpy and primitives of JAX (jax/_src/lax, jax/_src/numpy, jax/_src/random.py).
 * JAX compiles each call of one outside of jit as a program of its own. */
static const char *const jax_own[] = {
	"abs",	      "absolute", "add",       "all",	      "amax",	     "amin",
	"and",	      "any",	  "append",    "arange",      "argmax",	     "argmin",
	"argsort",    "array",	  "asarray",   "atleast_1d",  "bitwise",     "broadcast",
	"cast",	      "ceil",	  "clip",      "clamp",	      "concatenate", "conj",
	"convert",    "convolve", "copy",      "cos",	      "cumsum",	     "diag",
	"div",	      "divide",	  "dot",       "dynamic",     "einsum",	     "equal",
	"erf_inv",    "exp",	  "expand",    "eye",	      "fill",	     "flip",
	"floor",      "fold",	  "full",      "gather",      "ge",	     "greater",
	"gt",	      "identity", "iota",      "isfinite",    "isnan",	     "le",
	"less",	      "linspace", "log",       "log1p",	      "logical",     "lt",
	"matmul",     "max",	  "maximum",   "mean",	      "min",	     "minimum",
	"mod",	      "moveaxis", "mul",       "multiply",    "ne",	     "neg",
	"negative",   "not",	  "not_equal", "ones",	      "or",	     "pad",
	"pow",	      "power",	  "prod",      "random_bits", "ravel",	     "real",
	"reciprocal", "reduce",	  "remainder", "repeat",      "reshape",     "reverse",
	"roll",	      "round",	  "rsqrt",     "scatter",     "scatter-add", "select",
	"sign",	      "sin",	  "slice",     "sort",	      "split",	     "sqrt",
	"square",     "squeeze",  "stack",     "std",	      "sub",	     "subtract",
	"sum",	      "swapaxes", "take",      "tanh",	      "tile",	     "transpose",
	"tree_map",   "tri",	  "tril",      "triu",	      "true_divide", "unstack",
	"var",	      "vdot",	  "where",     "xor",	      "zeros",	     "zeros_like",
	"ones_like",
};

static const char *const jax_own_prefix[] = {
	"broadcast_in_dim", "convert_element_type",
	"dynamic_slice",    "dynamic_update_slice",
	"reduce_",	    "random_",
	"threefry",	    "rng_",
	"logical_",	    "bitwise_",
	"dot_general",	    "concatenate",
	"scatter",	    "gather",
	"full_like",	    "expand_dims",
};

static const char *const word_eval[] = {"eval", "valid", "test"};
static const char *const word_serve[] = {"pred",  "infer", "generat", "decod",
					 "sampl", "serv",  "prefill"};
static const char *const word_aside[] = {"log",	 "metric", "summar", "save",   "checkpoint",
					 "ckpt", "restor", "ema",    "target", "polyak",
					 "swa",	 "plot",   "print",  "copy",   "norm"};
static const char *const word_begin[] = {"init", "creat", "setup", "make"};
static const char *const word_update[] = {"updat", "optim", "fit", "learn", "sgd", "adam"};
/* Words for actions of a reinforcement learning agent between two updates. */
static const char *const word_act[] = {"act",  "policy",  "rollout", "env",    "simul",
				       "play", "collect", "explor",  "q_value"};
static const char *const word_step[] = {"step"};
static const char *const word_micro[] = {"accum", "micro", "minibatch"};
static const char *const word_part[] = {"grad", "loss", "backward", "bwd"};
static const char *const word_grad[] = {"grad", "backward", "bwd"};
static const char *const word_train[] = {"train"};
static const char *const word_and[] = {"and", "with", "then"};

/* Returns where in the name a word begins that starts with one of `words`, or NULL. */
static const char *name_at(const char *name, const char *const *words, size_t n)
{
	bool start = true;

	for (; *name; name++) {
		for (size_t i = 0; start && i < n; i++) {
			if (!strncasecmp(name, words[i], strlen(words[i])))
				return name;
		}
		start = !isalpha((unsigned char)*name);
	}
	return NULL;
}
#define AT(name, words)	 name_at(name, words, sizeof(words) / sizeof(*(words)))
#define HAS(name, words) (AT(name, words) != NULL)

/* Returns true if a program trains and also evaluates: "train_and_eval". False for
 * "eval_of_training" and "train_eval_step". */
static bool name_trains_and_evaluates(const char *name)
{
	const char *train = AT(name, word_train), *eval = AT(name, word_eval),
		   *and = AT(name, word_and);

	return train && eval && and&&train < and&&and < eval;
}

static bool name_own(const char *rest)
{
	for (size_t i = 0; i < sizeof(jax_own) / sizeof(*jax_own); i++) {
		if (!strcmp(rest, jax_own[i]))
			return true;
	}
	for (size_t i = 0; i < sizeof(jax_own_prefix) / sizeof(*jax_own_prefix); i++) {
		if (!strncmp(rest, jax_own_prefix[i], strlen(jax_own_prefix[i])))
			return true;
	}
	return false;
}

static enum program_class name_words(const char *name)
{
	if (HAS(name, word_eval))
		return name_trains_and_evaluates(name) ? PROGRAM_STEP : PROGRAM_EVAL;
	/* Keras 3: predict() runs "_step_on_data"; fit() and evaluate() run a step on an
	 * iterator */
	if (HAS(name, word_serve) || strstr(name, "_step_on_data"))
		return PROGRAM_SERVE;
	if (HAS(name, word_begin))
		return PROGRAM_ASIDE;
	if (HAS(name, word_micro))
		return PROGRAM_PART;
	if (HAS(name, word_train))
		return PROGRAM_STEP;
	if (HAS(name, word_aside))
		return PROGRAM_ASIDE;
	if (HAS(name, word_update) || strstr(name, "apply_grad"))
		return PROGRAM_STEP;
	if (HAS(name, word_act) && !HAS(name, word_part))
		return PROGRAM_SERVE;
	if (HAS(name, word_step))
		return PROGRAM_STEP;
	return HAS(name, word_part) ? PROGRAM_PART : PROGRAM_OTHER;
}

enum program_class program_classify(const char *name)
{
	static const char *const prefixes[] = {"jit_", "pmap_", "pjit_", "xla_"};
	enum program_class class;

	if (!strncmp(name, "__backward_", 11))
		return PROGRAM_PART;
	if (!strncmp(name, "__inference_", 12) || !strncmp(name, "__forward_", 10)) {
		name = strchr(name + 2, '_');
		class = name_words(name);
		/* A loss alone is not a part of a step in TensorFlow, which computes its gradient
		 * in a separate function. */
		if (class == PROGRAM_PART && !HAS(name, word_micro) && !HAS(name, word_grad))
			return PROGRAM_OTHER;
		return class;
	}
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		const char *rest = name + strlen(prefixes[i]);

		if (strncmp(name, prefixes[i], strlen(prefixes[i])) != 0)
			continue;
		if (name_own(rest + (*rest == '_')))
			return PROGRAM_INTERNAL;
		class = name_words(rest);
		/* Names of JAX's own functions begin with "_". The author's functions may, too: if
		 * their names contain no known word, they count as JAX's. Exceptions are lambdas
		 * and the name "_fun" that pmap() gives. */
		if (*rest == '_' && (class == PROGRAM_OTHER || class == PROGRAM_ASIDE) &&
		    strncmp(rest, "_lambda", 7) != 0 && strcmp(rest, "_fun") != 0)
			return PROGRAM_INTERNAL;
		return class;
	}
	return name_words(name);
}

bool program_says_train(const char *name)
{
	return HAS(name, word_train) || HAS(name, word_update) || strstr(name, "apply_grad");
}

enum program_class program_judge(const char *name, uint32_t content)
{
	enum program_class class = program_classify(name);
	bool trains = program_says_train(name);

	if (content == CONTENT_NONE) {
		bool part = class == PROGRAM_PART && !HAS(name, word_micro);

		return part || (class == PROGRAM_STEP && !trains) ? PROGRAM_OTHER : class;
	}
	if (content == CONTENT_GRADIENT && class != PROGRAM_INTERNAL && class != PROGRAM_PART &&
	    (trains || (class == PROGRAM_ASIDE && HAS(name, word_step))))
		return PROGRAM_STEP;
	return class;
}

static size_t name_stem(const char *name)
{
	size_t len = strlen(name), n = len;

	while (n && isdigit((unsigned char)name[n - 1]))
		n--;
	return n && n < len && (name[n - 1] == '.' || name[n - 1] == '_') ? n - 1 : len;
}

bool program_akin(const char *a, const char *b)
{
	size_t n = name_stem(a);

	return *a && n == name_stem(b) && !strncmp(a, b, n);
}
