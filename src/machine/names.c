/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The names of a text, each stored once. A name has the numbers of what it names,
 * so a row with thousands of events costs one lookup for each of them. Steps along
 * hash chains count as work (text.h): a text whose names were chosen to collide is
 * refused.
 */
#include <string.h>

#include "machine/tree.h"

uint32_t ink_fnv(uint32_t hash, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)bytes[i]) * 16777619u;
	return hash;
}

static struct ink_name *add(struct ink_machine *m, struct ink_name **chain, const char *bytes,
			    uint32_t length)
{
	struct ink_name *name = ink_arena_get(m->arena, sizeof *name + length + 1);

	if (!name)
		return NULL;
	memcpy(name->text, bytes, length);
	name->length = length;
	name->next = *chain;
	*chain = name;
	return name;
}

const struct ink_name *ink_name_find(const struct ink_machine *m, struct ink_text *text,
				     const struct ink_token *token)
{
	const char *bytes = text->bytes + token->at;
	const struct ink_name *n = m->names[ink_fnv(INK_FNV, bytes, token->length) % INK_NAME_CHAINS];

	for (; n; n = n->next) {
		if (n->length == token->length && !memcmp(n->text, bytes, n->length))
			return n;
		if (ink_text_work(text, token->at, 1))
			return NULL;
	}
	return NULL;
}

struct ink_name *ink_name_of(struct ink_machine *m, struct ink_text *text, const char *bytes, uint32_t length,
			     uint32_t at)
{
	struct ink_name **chain = &m->names[ink_fnv(INK_FNV, bytes, length) % INK_NAME_CHAINS];

	for (struct ink_name *n = *chain; n; n = n->next) {
		if (n->length == length && !memcmp(n->text, bytes, n->length))
			return n;
		if (ink_text_work(text, at, 1))
			return NULL;
	}
	return add(m, chain, bytes, length);
}

struct ink_name *ink_name_at(struct ink_machine *m, struct ink_text *text, const struct ink_token *token)
{
	return ink_name_of(m, text, text->bytes + token->at, token->length, token->at);
}
