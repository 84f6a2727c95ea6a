/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs as data: one way to make any call, alone or in a batch, and to compare what two calls gave. */
#ifndef INKLING_TESTS_VERBS_H
#define INKLING_TESTS_VERBS_H

#include <stdint.h>

#include <inkling/inkling.h>

enum verb {
	LOOKUP,
	PEEK,
	INSERT,
	SET,
	MODIFY,
	DELETE,
	STEP,
	VERBS, /* those before it have batches */
	LOOKUP_IN = VERBS,
	MODIFY_FROM,
	DELETE_IN,
	ALL_VERBS
};

/* Or an error. */
static inline int gives_answer(enum verb verb)
{
	return verb == LOOKUP || verb == PEEK || verb == LOOKUP_IN;
}

struct call {
	enum verb verb;
	unsigned flow; /* for the caller: which of its flows */
	unsigned state;
	unsigned event; /* of MODIFY_FROM: the state that it leaves */
};

struct result {
	int error;
	ink_answer answer;
	struct ink_move move;
};

static inline struct result perform(struct ink_table *table, uint64_t id, const struct call *c)
{
	struct result r = {0, 0, {0, 0, 0}};

	switch (c->verb) {
	case LOOKUP:
		r.answer = ink_lookup(table, id);
		break;
	case PEEK:
		r.answer = ink_peek(table, id);
		break;
	case INSERT:
		r.error = ink_insert(table, id, c->state);
		break;
	case SET:
		r.error = ink_set(table, id, c->state);
		break;
	case MODIFY:
		r.error = ink_modify(table, id, c->state);
		break;
	case DELETE:
		r.error = ink_delete(table, id);
		break;
	case STEP:
		r.error = ink_step(table, id, c->event, &r.move);
		break;
	case LOOKUP_IN:
		r.answer = ink_lookup_in(table, id, c->state);
		break;
	case MODIFY_FROM:
		r.error = ink_modify_from(table, id, c->event, c->state);
		break;
	default:
		r.error = ink_delete_in(table, id, c->state);
	}
	return r;
}

static inline int same(const struct result *a, const struct result *b)
{
	return a->error == b->error && a->answer == b->answer && a->move.from == b->move.from &&
	       a->move.to == b->move.to && a->move.action == b->move.action;
}

enum { BATCH = 100 };

struct arrays {
	uint64_t ids[BATCH];
	uint8_t states[BATCH];
	uint16_t events[BATCH];
	ink_answer answers[BATCH];
	struct ink_move moves[BATCH];
	int errors[BATCH];
};

static inline struct ink_batch batch_of(struct arrays *x, size_t n)
{
	return (struct ink_batch){n, x->ids, x->states, x->events, x->answers, x->moves, x->errors};
}

static inline struct result item_of(const struct arrays *x, size_t i)
{
	return (struct result){x->errors[i], x->answers[i], x->moves[i]};
}

static inline int perform_batch(struct ink_table *table, enum verb verb, const struct ink_batch *b)
{
	switch (verb) {
	case LOOKUP:
		ink_lookup_batch(table, b);
		return 0;
	case PEEK:
		ink_peek_batch(table, b);
		return 0;
	case INSERT:
		return ink_insert_batch(table, b);
	case SET:
		return ink_set_batch(table, b);
	case MODIFY:
		return ink_modify_batch(table, b);
	case DELETE:
		return ink_delete_batch(table, b);
	default:
		return ink_step_batch(table, b);
	}
}

#endif
