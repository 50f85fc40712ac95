/* SPDX-License-Identifier: Apache-2.0 */
/* marker_program_name.c - decides which programs are the same: usually those with the same name. */
#include "userspace/model/signal/marker_private.h"

void program_text(char *out, const char *text)
{
	size_t len = strnlen(text, PROGRAM_NAME_MAX - 1);

	memcpy(out, text, len);
	out[len] = '\0';
}

struct program *program_by_name(struct programs *ps, const char *name)
{
	for (uint32_t i = 0; i < ps->count; i++) {
		if (!strcmp(ps->item[i].name, name))
			return &ps->item[i];
	}
	return NULL;
}

/* Returns true if both programs have the same name, unless it is known that one of them computes a
 * gradient and the other does not. */
static bool program_same(const struct program *a, const struct program *b)
{
	return !strcmp(a->name, b->name) &&
	       (!a->content || !b->content || a->content == b->content);
}

static struct program *program_like(struct programs *ps, const struct program *p)
{
	for (uint32_t i = 0; i < ps->count; i++) {
		if (&ps->item[i] != p && program_same(&ps->item[i], p))
			return &ps->item[i];
	}
	return NULL;
}

void program_content(struct programs *ps, struct program *p, uint32_t content)
{
	const struct program *like;
	bool other = false;

	p->content = content;
	for (uint32_t i = 0; *p->name && content && i < ps->count; i++)
		other |= ps->item[i].ident == p->ident && !program_same(&ps->item[i], p);
	if (!other)
		return;
	like = program_like(ps, p);
	p->ident = like && like->content == content ? like->ident : ++ps->idents;
}

uint64_t program_name(struct programs *ps, struct program *p, const char *name)
{
	const struct program *same;
	uint64_t before = p->ident;

	if (!strcmp(p->name, name))
		return 0;
	program_text(p->name, name);
	same = *name ? program_like(ps, p) : NULL;
	if (!same)
		return 0;
	p->ident = same->ident;
	return before == p->ident ? 0 : before;
}

/* Returns true if the name is that of a TensorFlow function. The call that runs functions also runs
 * operators. function.cc and polymorphic_function.py give the names of functions. */
bool program_is_function(const char *name)
{
	return !strncmp(name, "__inference_", 12) || !strncmp(name, "__forward_", 10) ||
	       !strncmp(name, "__backward_", 11);
}

/* Returns true for generic names: those that JAX gives to functions without a name, and those that
 * authors give to wrappers. */
static bool name_nobodys(const char *name)
{
	static const char *const names[] = {"_lambda", "_lambda_", "_fun",    "f",	 "fn",
					    "fun",     "func",	   "wrapped", "wrapper", "inner"};
	const char *rest = !strncmp(name, "jit_", 4)		? name + 4
			   : !strncmp(name, "__inference_", 12) ? name + 12
								: "";

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(rest, names[i]))
			return true;
	}
	return false;
}

/* Writes the name of a TensorFlow function without the number at its end. TensorFlow traces a
 * function again for other shapes and gives each trace a number. Functions without a name keep the
 * number, and so do steps of Keras, which uses one name for training and evaluation. */
void program_function_name(char *out, const char *text)
{
	size_t len;

	program_text(out, text);
	len = strlen(out);
	while (len && out[len - 1] >= '0' && out[len - 1] <= '9')
		len--;
	if (len < 2 || !out[len] || out[len - 1] != '_' || strstr(out, "_step_on_") ||
	    strchr(out, '<') || strncmp(out, "__inference_", 12) != 0)
		return;
	out[len - 1] = '\0';
	if (name_nobodys(out))
		program_text(out, text);
}

void program_takes(struct programs *ps, struct program *p, uint32_t inputs)
{
	uint64_t same = 0;
	bool others = false;

	if (!inputs || p->inputs == inputs)
		return;
	p->inputs = inputs;
	if (!name_nobodys(p->name))
		return;
	for (uint32_t i = 0; i < ps->count; i++) {
		const struct program *q = &ps->item[i];

		if (q == p || !q->inputs || strcmp(q->name, p->name) != 0)
			continue;
		others |= q->ident == p->ident && q->inputs != inputs;
		same = q->inputs == inputs ? q->ident : same;
	}
	if (others || same)
		p->ident = same ? same : ++ps->idents;
}
