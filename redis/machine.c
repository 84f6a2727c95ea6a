/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis/machine.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "redis/api.h"
#include "redis/bytes.h"

/* -------------------------------------------------------------- compiling, bounded */

/*
 * A command must not stop the server. A machine that compiles on the master must compile on its replicas, which
 * may be slower, so only what a client sends is bounded.
 */
enum { COMPILE_MS = 40 };

struct compiling {
	struct timespec end;
	int patient;
	struct ink_why *why;
};

static int too_long(void *user)
{
	const struct compiling *c = user;
	struct timespec now;

	if (c->patient)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > c->end.tv_sec || (now.tv_sec == c->end.tv_sec && now.tv_nsec > c->end.tv_nsec);
}

static void keep_first(const struct ink_complaint *complaint, void *user)
{
	struct compiling *c = user;

	if (c->why && !c->why->text[0] && complaint->severity == INK_ERROR)
		snprintf(c->why->text, sizeof c->why->text, "machine:%u:%u: %s", complaint->line,
			 complaint->column, complaint->text);
}

static struct compiling compiling_from_now(int patient, struct ink_why *why)
{
	struct compiling c = {.patient = patient, .why = why};

	clock_gettime(CLOCK_MONOTONIC, &c.end);
	c.end.tv_nsec += COMPILE_MS * 1000000;
	c.end.tv_sec += c.end.tv_nsec / 1000000000;
	c.end.tv_nsec %= 1000000000;
	return c;
}

static struct ink_machines *compile(const struct machine_text *t, struct ink_why *why)
{
	struct compiling c = compiling_from_now(t->patient, why);
	struct ink_machine_options o = {
		.size = sizeof o, .complain = keep_first, .cancelled = too_long, .user = &c};
	struct ink_machines *set;

	if (why)
		why->text[0] = 0;
	set = ink_machines_make(t->text, t->text_length, &o);
	if (!set && why && !why->text[0])
		snprintf(why->text, sizeof why->text, "machine: %s",
			 errno == ECANCELED ? "it takes more than 40 ms to compile" : strerror(errno));
	return set;
}

/* ------------------------------------------------------------------ one of the text */

static const struct ink_machine_view *find_named(const struct ink_machines *set, const char *name,
						 size_t length)
{
	for (unsigned i = 0; i < ink_machines_count(set); i++) {
		const struct ink_machine_view *v = ink_machine_view(ink_machines_at(set, i));

		if (strlen(v->name) == length && !memcmp(v->name, name, length))
			return v;
	}
	return NULL;
}

static const struct ink_machine_view *choose(const struct ink_machines *set, const struct machine_text *t,
					     struct ink_why *why)
{
	const struct ink_machine_view *v = NULL;

	if (t->name_length)
		v = find_named(set, t->name, t->name_length);
	else if (ink_machines_count(set) == 1)
		v = ink_machine_view(ink_machines_at(set, 0));
	if (!v && why)
		snprintf(why->text, sizeof why->text, "%s",
			 t->name_length ? "the text has no machine of that name"
					: "the text has several machines: say which by NAME");
	return v;
}

/* ------------------------------------------------------------------------- the rules */

static uint64_t sum_number(uint64_t sum, uint64_t n)
{
	uint8_t bytes[8];

	put64(bytes, n);
	return fnv(sum, bytes, sizeof bytes);
}

static uint64_t sum_timings(uint64_t sum, const struct ink_rules *r)
{
	for (unsigned i = 0; r->timings && i <= r->states; i++) {
		sum = sum_number(sum, r->timings[i].period);
		sum = sum_number(sum, (uint16_t)r->timings[i].timeout);
		sum = sum_number(sum, r->timings[i].expendable);
	}
	for (unsigned i = 0; r->windows && i < r->states; i++)
		sum = sum_number(sum, r->windows[i]);
	return sum;
}

uint64_t rules_sum(const struct ink_rules *r)
{
	uint64_t sum = sum_number(sum_number(FNV_BEGIN, r->states), r->events);

	for (uint64_t i = 0; i < (uint64_t)(r->states + 2) * r->events; i++)
		sum = sum_number(sum, (uint16_t)r->rows[i].next | (uint64_t)r->rows[i].action << 16);
	for (unsigned i = 0; r->starts && i < r->events; i++)
		sum = sum_number(sum, r->starts[i]);
	return sum_timings(sum, r);
}

/* ------------------------------------------------------------------------- sharing */

static struct machine *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* values are freed in the background */

static int is(const struct machine *m, const struct machine_text *t)
{
	return m->text_length == t->text_length && !memcmp(m->text, t->text, t->text_length) &&
	       (t->name_length ? m->name_length == t->name_length && !memcmp(m->name, t->name, t->name_length)
			       : m->several == 1);
}

static struct machine *known(const struct machine_text *t)
{
	struct machine *m;

	pthread_mutex_lock(&lock);
	for (m = all; m && !is(m, t); m = m->next)
		;
	if (m)
		m->users++;
	pthread_mutex_unlock(&lock);
	return m;
}

static struct machine *add(struct ink_machines *set, const struct ink_machine_view *v,
			   const struct machine_text *t)
{
	size_t name = strlen(v->name);
	struct machine *m = server.Alloc(sizeof *m + t->text_length + name + 2);
	char *text = (char *)(m + 1);

	memcpy(text, t->text, t->text_length);
	text[t->text_length] = 0;
	memcpy(text + t->text_length + 1, v->name, name + 1);
	*m = (struct machine){.view = v,
			      .text = text,
			      .name = text + t->text_length + 1,
			      .text_length = (uint32_t)t->text_length,
			      .name_length = (uint32_t)name,
			      .rules_sum = rules_sum(v->rules),
			      .several = ink_machines_count(set),
			      .set = set,
			      .users = 1};
	pthread_mutex_lock(&lock);
	m->next = all;
	all = m;
	pthread_mutex_unlock(&lock);
	return m;
}

struct machine *machine_take(const struct machine_text *t, struct ink_why *why)
{
	const struct ink_machine_view *v;
	struct machine *m = known(t);
	struct ink_machines *set;

	if (m)
		return m;
	set = compile(t, why);
	v = set ? choose(set, t, why) : NULL;
	if (v)
		return add(set, v, t);
	ink_machines_free(set);
	return NULL;
}

struct machine *machine_share(struct machine *m)
{
	pthread_mutex_lock(&lock);
	if (m)
		m->users++;
	pthread_mutex_unlock(&lock);
	return m;
}

/* Whether that was the last user; then it is no longer in the list. */
static int leave(struct machine *m)
{
	struct machine **at = &all;
	int last;

	pthread_mutex_lock(&lock);
	last = --m->users == 0;
	while (last && *at != m)
		at = &(*at)->next;
	if (last)
		*at = m->next;
	pthread_mutex_unlock(&lock);
	return last;
}

void machine_drop(struct machine *m)
{
	if (!m || !leave(m))
		return;
	ink_machines_free(m->set);
	server.Free(m);
}

const struct ink_machine_view *machine_of_set(const struct machine *m, unsigned number)
{
	return ink_machine_view(ink_machines_at(m->set, number));
}

const struct ink_bundled *machine_bundled(const char *name, size_t length)
{
	const struct ink_bundled *b;

	for (unsigned i = 0; (b = ink_bundled(i)); i++)
		if (strlen(b->name) == length && !memcmp(b->name, name, length))
			return b;
	return NULL;
}
