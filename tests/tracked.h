/* SPDX-License-Identifier: BSD-2-Clause */
/* A bundled machine with an exact table, packets that it tracks, and what it counted. */
#ifndef INKLING_TESTS_TRACKED_H
#define INKLING_TESTS_TRACKED_H

#include <inkling/track.h>

#include "tests/test.h"

static struct {
	struct ink_machine *machine;
	struct ink_table *table;
	struct ink_track *track;
} run;

static inline int end_run(void **state)
{
	ink_track_close(run.track);
	ink_free(run.table);
	ink_machine_free(run.machine);
	memset(&run, 0, sizeof run);
	return 0;
}

/* Ends the run before it. The options lack machine and table. */
static inline void begin_run(const char *name, struct ink_track_options k)
{
	struct ink_options o = {
		.size = sizeof o, .kind = INK_EXACT, .flows = 20000, .age_bits = 1, .seed = 7};

	end_run(NULL);
	k.size = sizeof k;
	k.machine = run.machine = ink_machine_load(name, NULL, NULL);
	assert_non_null(run.machine);
	o.rules = ink_machine_view(run.machine)->rules;
	o.states = o.rules->states;
	k.table = run.table = ink_create(&o, NULL);
	run.track = ink_track_open(&k, NULL);
	assert_non_null(run.track);
}

static inline double counted_one(const char *name, size_t length)
{
	const struct ink_machine_view *v = ink_machine_view(run.machine);

	for (unsigned i = 0; i < v->counters; i++)
		if (strlen(v->counter_names[i]) == length && !memcmp(v->counter_names[i], name, length))
			return (double)ink_track_counters(run.track)[i];
	fail_msg("machine %s has no counter %s", v->name, name);
	return 0;
}

/* A counter, or a sum of them: "a+b". */
static inline double counted(const char *names)
{
	size_t length = strcspn(names, "+");
	double first = counted_one(names, length);

	return names[length] ? first + counted(names + length + 1) : first;
}

#endif
