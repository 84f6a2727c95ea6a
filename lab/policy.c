/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/runner.h"

/* Not a bundled machine, since it needs no state. */
static const char packets_text[] =
	"machine video-packets\n"
	"key flow\n"
	"event lost = udp and chance 5%\n"
	"event rest = udp\n"
	"absent, on : lost -> on / drop, count bytes by payload, count lost_bytes by payload\n"
	"           | rest -> on / pass, count bytes by payload\n"
	"* : timeout 10s -> absent\n"
	"unsure : * / pass\n";

static const struct {
	const char *name, *machine;
} policies[POLICIES] = {{"random packets", NULL},
			{"random frames", "video-random"},
			{"B frames", "video-b"},
			{"I tails", "video-itail"},
			{"combined", "video-combined"}};

const char *policy_name(enum policy policy)
{
	return policies[policy].name;
}

/* A copy; NULL: the library has no such machine. */
static char *text_of(enum policy policy)
{
	const struct ink_bundled *b;

	if (!policies[policy].machine)
		return strdup(packets_text);
	for (unsigned i = 0; (b = ink_bundled(i)); i++)
		if (!strcmp(b->name, policies[policy].machine))
			return strndup(b->text, b->length);
	return NULL;
}

/* A copy of the text with the change made, or NULL: there is nothing to change. Frees the text. */
static char *changed(char *text, const struct policy_change *change)
{
	size_t from = strlen(change->from), to = strlen(change->to), length = strlen(text);
	char *result = lab_alloc(length / from * (to > from ? to - from : 0) + length + 1, 1), *end = result;
	const char *at = text;

	for (const char *found; (found = strstr(at, change->from)); at = found + from) {
		end = mempcpy(end, at, (size_t)(found - at));
		end = mempcpy(end, change->to, to);
	}
	if (at == text) {
		free(result);
		result = NULL;
	} else {
		strcpy(end, at);
	}
	free(text);
	return result;
}

static void note(const struct ink_complaint *complaint, void *user)
{
	struct ink_why *why = user;

	snprintf(why->text, sizeof why->text, "line %u: %s", complaint->line, complaint->text);
}

struct ink_machine *policy_machine(enum policy policy, const struct policy_change *changes, unsigned count,
				   struct ink_why *why)
{
	struct ink_machine_options o = {
		.size = sizeof o, .file = policies[policy].name, .complain = note, .user = why};
	char *text = text_of(policy);
	struct ink_machine *machine = NULL;
	unsigned i;

	for (i = 0; text && i < count; i++)
		text = changed(text, &changes[i]);
	if (text)
		machine = ink_machine_make(text, strlen(text), &o);
	else
		snprintf(why->text, sizeof why->text, "policy %s: no '%s' in its machine",
			 policies[policy].name, i ? changes[i - 1].from : "text");
	free(text);
	return machine;
}
