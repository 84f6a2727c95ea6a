/* SPDX-License-Identifier: BSD-2-Clause */
/* For the tests of sets of machines: a text becomes machines with their tables, and packets are given to them. */
#ifndef INKLING_TESTS_SET_HELP_H
#define INKLING_TESTS_SET_HELP_H

#include "tests/machine_help.h"

enum { MACHINES_MOST = 4 };

static struct {
	struct ink_machines *machines;
	unsigned n;
	struct ink_table *tables[MACHINES_MOST], *besides[MACHINES_MOST];
	struct ink_track *track;
} set;

static inline struct ink_table *table_for(unsigned i, struct ink_options o)
{
	struct ink_why why = {""};
	struct ink_table *t;

	o.size = sizeof o;
	o.rules = ink_machine_view(ink_machines_at(set.machines, i))->rules;
	o.states = o.rules->states;
	o.flows = o.flows ? o.flows : 1000;
	o.age_bits = o.age_bits ? o.age_bits : 1;
	o.seed = 1;
	t = ink_create(&o, &why);
	if (!t)
		fail_msg("%s", why.text);
	return t;
}

static inline void make_set(const char *text)
{
	struct ink_machine_options o = {.size = sizeof o, .file = "x.fsm", .complain = note};

	n_told = 0;
	set.machines = ink_machines_make(text, strlen(text), &o);
	if (!set.machines)
		fail_msg("%s", n_told ? told[0].shown : "no machines, and no reason");
	set.n = ink_machines_count(set.machines);
}

static inline void open_set(const char *text, struct ink_options o, struct ink_track_options k, int beside)
{
	struct ink_why why = {""};

	make_set(text);
	for (unsigned i = 0; i < set.n; i++) {
		set.tables[i] = table_for(i, o);
		if (beside)
			set.besides[i] = table_for(i, (struct ink_options){.kind = INK_EXACT});
	}
	k.size = sizeof k;
	k.machines = set.machines;
	k.tables = set.tables;
	k.besides = beside ? set.besides : NULL;
	k.seed = 1;
	set.track = ink_track_open(&k, &why);
	if (!set.track)
		fail_msg("%s", why.text);
}

static const struct ink_options exact = {.kind = INK_EXACT};

static inline int close_set(void **state)
{
	ink_track_close(set.track);
	for (unsigned i = 0; i < set.n; i++) {
		ink_free(set.tables[i]);
		ink_free(set.besides[i]);
	}
	ink_machines_free(set.machines);
	memset(&set, 0, sizeof set);
	return 0;
}

static inline uint64_t counted_by(unsigned i, const char *name)
{
	const struct ink_machine_view *v = ink_machine_view(ink_machines_at(set.machines, i));

	for (unsigned j = 0; j < v->counters; j++)
		if (!strcmp(v->counter_names[j], name))
			return ink_track_counters_of(set.track, i)[j];
	fail_msg("machine %u counts no %s", i, name);
	return 0;
}

static inline void give_set(struct ink_packet *p, size_t n, size_t portion)
{
	for (size_t i = 0; i < n; i += portion) {
		struct ink_packets some = {.at = p + i, .n = n - i < portion ? n - i : portion};

		assert_int_equal(ink_track_packets(set.track, &some), 0);
	}
}

#endif
