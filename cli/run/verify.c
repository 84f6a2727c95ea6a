/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the table answered, beside what an exact one did on the same steps.
 *
 * Every step has two moves, and where they came from is the answer of each
 * table. A ledger, exact as well, keeps for each flow which differences it has
 * had, so that flows are counted once, and one mark by which time is told from
 * error: "there before", both tables have had this flow in the same state. The
 * ledger's state is that set of bits.
 */
#include <stdlib.h>

#include "run.h"

enum { THERE_BEFORE = DIFFERENCES, LEDGER_BITS };

/* A flow with all marks at once would be no state of the ledger, and keeps those that it had: it is counted twice. */
_Static_assert((1u << LEDGER_BITS) - 1 == INK_MAX_STATES, "any smaller set is a state of the ledger");

struct verifier {
	struct ink_table *ledger;
	struct tally tally;
	int timeouts;
};

const char *difference_text(enum difference d)
{
	static const char *const texts[DIFFERENCES] = {"false positives", "expired late", "false negatives",
						       "expired early",   "wrong states", "don't know",
						       "refused"};

	return texts[d];
}

const char *difference_name(enum difference d)
{
	static const char *const names[DIFFERENCES] = {"false_positives", "expired_late", "false_negatives",
						       "expired_early",   "wrong_states", "dont_know",
						       "refused"};

	return names[d];
}

struct verifier *verifier_make(uint64_t seed, int timeouts, struct ink_why *why)
{
	struct ink_options o = {
		.size = sizeof o, .kind = INK_EXACT, .states = INK_MAX_STATES, .flows = 1, .seed = seed};
	struct verifier *v = calloc(1, sizeof *v);

	if (!v)
		return NULL;
	v->timeouts = timeouts;
	v->ledger = ink_create(&o, why);
	if (v->ledger)
		return v;
	free(v);
	return NULL;
}

void verifier_free(struct verifier *v)
{
	if (!v)
		return;
	ink_free(v->ledger);
	free(v);
}

/* The flow's set; a flow that is not in the ledger yet has the empty one. */
static unsigned set_of(const struct verifier *v, uint64_t id)
{
	ink_answer a = ink_peek(v->ledger, id);

	return a == INK_ABSENT ? 0 : (unsigned)a;
}

/* The difference between the two answers, or DIFFERENCES. */
static enum difference judge(const struct verifier *v, const struct ink_moved *m, unsigned set)
{
	ink_answer ours = m->move.from, truth = m->beside.from;
	int before = set >> THERE_BEFORE & 1;

	if (m->error)
		return REFUSED;
	if (ours == truth)
		return DIFFERENCES;
	if (ours == INK_DONT_KNOW)
		return UNSURE;
	if (truth == INK_ABSENT)
		return before && v->timeouts ? EXPIRED_LATE : FALSE_POSITIVE;
	if (ours == INK_ABSENT)
		return before && v->timeouts && !(set >> REFUSED & 1) ? EXPIRED_EARLY : FALSE_NEGATIVE;
	return WRONG_STATE;
}

void verifier_see(struct verifier *v, const struct ink_moved *m)
{
	unsigned set = set_of(v, m->id), before = set;
	enum difference d = judge(v, m, set);

	v->tally.steps++;
	v->tally.all_flows += ink_peek(v->ledger, m->id) == INK_ABSENT;
	if (d < DIFFERENCES) {
		v->tally.events[d]++;
		v->tally.flows[d] += !(set >> d & 1);
		set |= 1u << d;
	}
	if (m->move.to >= 0 && m->move.to == m->beside.to)
		set |= 1u << THERE_BEFORE;
	if (set != before || ink_peek(v->ledger, m->id) == INK_ABSENT)
		ink_set(v->ledger, m->id, set);
}

const struct tally *verifier_tally(const struct verifier *v)
{
	return &v->tally;
}
