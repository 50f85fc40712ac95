/* SPDX-License-Identifier: Apache-2.0 */
#include "userspace/base/yaml_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <yaml.h>

#include "userspace/base/log.h"

struct yaml_stream {
	const char *name;
	yaml_parser_t parser;
	yaml_event_t event;
	int depth;
};

int yaml_stream_open(struct yaml_stream **ret, const char *name, const char *text, size_t len)
{
	struct yaml_stream *s = calloc(1, sizeof(*s));

	if (!s || !yaml_parser_initialize(&s->parser)) {
		free(s);
		return -ENOMEM;
	}
	s->name = name;
	yaml_parser_set_input_string(&s->parser, (const unsigned char *)text, len);
	*ret = s;
	return 0;
}

static int yaml_stream_error(const struct yaml_stream *s, size_t line, const char *what)
{
	log_error("%s:%zu: %s", s->name, line, what);
	return -EINVAL;
}

int yaml_stream_next(struct yaml_stream *s, struct yaml_part *ret)
{
	for (;;) {
		yaml_event_delete(&s->event);
		if (!yaml_parser_parse(&s->parser, &s->event))
			return yaml_stream_error(s, s->parser.problem_mark.line + 1,
						 s->parser.problem ? s->parser.problem
								   : "no memory");
		*ret = (struct yaml_part){.line = (int)s->event.start_mark.line + 1};
		switch (s->event.type) {
		case YAML_SCALAR_EVENT:
			ret->text = (const char *)s->event.data.scalar.value;
			return 0;
		case YAML_MAPPING_START_EVENT:
		case YAML_SEQUENCE_START_EVENT:
			ret->kind = s->event.type == YAML_MAPPING_START_EVENT ? YAML_PART_MAPPING
									      : YAML_PART_LIST;
			return ++s->depth > YAML_DEPTH_MAX ? yaml_stream_error(s, (size_t)ret->line,
									       "nested too deeply")
							   : 0;
		case YAML_MAPPING_END_EVENT:
		case YAML_SEQUENCE_END_EVENT:
			ret->kind = YAML_PART_CLOSE;
			s->depth--;
			return 0;
		case YAML_STREAM_END_EVENT:
			ret->kind = YAML_PART_END;
			return 0;
		case YAML_ALIAS_EVENT:
			return yaml_stream_error(s, (size_t)ret->line, "aliases are not supported");
		default:
			break;
		}
	}
}

void yaml_stream_close(struct yaml_stream *s)
{
	if (!s)
		return;
	yaml_event_delete(&s->event);
	yaml_parser_delete(&s->parser);
	free(s);
}
