/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the parser makes of a text, and what the compiler makes of that.
 *
 *     text --parse.c--> tree --check.c--> names are known --number.c, compile.c--> rules, actions
 *                         \--------------decide.c-------------------------------> decision program
 *
 * Conditions are trees of tests. Equal tests are stored once and have numbers.
 * The decision program names a test by its number; the packet classifier, which
 * runs the program, knows how to evaluate each of them.
 */
#ifndef INKLING_MACHINE_TREE_H
#define INKLING_MACHINE_TREE_H

#include <inkling/machine.h>

#include "machine/arena.h"
#include "machine/field.h"
#include "machine/text.h"

enum {
	INK_MACHINES_MAX = 16, /* of a file */
	INK_TESTS_MAX = 256,   /* different ones; bit sets of them are four words */
	INK_COUNTERS_MAX = 64,
	INK_LETS_MAX = 4096,
	INK_PARAMS_MAX = 256,       /* of a file */
	INK_LIMITS_MAX = 64,        /* different ones; each is a bucket, or one for each flow */
	INK_STEPS_OF_PACKET = 1024, /* that rows may tell other machines to make, for one packet */

	INK_DEPTH_MAX = 1000, /* conditions joined in one; bounds recursion */
	INK_NESTING_MAX = 64, /* parentheses and nots */
	/*
	 * Bytes of one filter, and of all different ones. libpcap's compiler is cubic: the worst filter of 256 bytes
	 * takes 0.06 s, one of 4 KiB takes 8 s.
	 */
	INK_FILTER_MAX = 256,
	INK_FILTERS_MAX = 2048,
	INK_NAME_CHAINS = 1024,
	INK_TAILS = 6 /* 0 to 5 bytes of a picture's start code */
};

/* A name, stored once, and the numbers of what has it: from 1, 0 is none. */
struct ink_name {
	struct ink_name *next; /* in its chain */
	uint32_t let, event, state, counter, group, param;
	uint32_t length;
	char text[]; /* a 0 behind it */
};

/* ------------------------------------------------------------------ tests */

struct ink_range {
	uint64_t low, high; /* both belong to it */
};

struct ink_prefix {
	uint8_t address[16]; /* IPv4 in the first 4; bits behind the prefix count for nothing */
	uint8_t version, bits;
};

/* A counter beside a number, or beside a share of another counter. */
struct ink_against {
	const struct ink_name *name, *other_name; /* other_name NULL: a number */
	uint32_t at, other_at;                    /* in the text */
	unsigned counter, other;
	enum ink_compare compare;
	uint64_t number;
	double share;
};

struct ink_test {
	enum ink_field field;
	unsigned n_ranges, n_prefixes, length;
	const struct ink_range *ranges; /* sorted, apart from each other */
	const struct ink_prefix *prefixes;
	const char *bytes; /* INK_FIELD_BEGINS, INK_FIELD_FILTER; a 0 behind them */
	const char *place; /* filters, queues: "file:line:column", for errors when it is known what runs it */
	uint64_t threshold; /* INK_FIELD_CHANCE: of 2^64; UINT64_MAX: always. Its number is in length */
	struct ink_against against; /* INK_FIELD_COUNTER */
};

/* ------------------------------------------------------------- conditions */

/* INK_ALWAYS and INK_NEVER stand alone: they are folded into what they would be a part of. */
enum ink_condition_kind { INK_TEST, INK_ALWAYS, INK_NEVER, INK_AND, INK_OR, INK_NOT };

struct ink_condition {
	enum ink_condition_kind kind;
	unsigned test;  /* INK_TEST */
	unsigned depth; /* of the tree below */
	int pictures;   /* a test below is about pictures */
	const struct ink_condition *a, *b;
	const struct ink_condition *copy;     /* in the machine that uses it as part of a let, */
	const struct ink_machine *copied_for; /* which is this one */
};

/* --------------------------------------------------------------- the tree */

struct ink_let {
	const char *name;
	uint32_t at;
	const struct ink_condition *condition;
	const struct ink_machine *machine; /* whose tests the condition is made of */
};

struct ink_param {
	const char *name;
	const char *value; /* as it is written, or set; NULL after a complaint about it */
	uint32_t at;
	uint8_t set, used;
};

struct ink_event {
	const char *name;
	uint32_t at;
	int start, reverse;
	const struct ink_condition *condition; /* NULL after a syntax error; of a told one, never */
	int used;
	int told;   /* only another machine brings it */
	int teller; /* some machine does */
};

enum ink_from { INK_FROM_ANY, INK_FROM_INITIATOR, INK_FROM_RESPONDER, INK_FROM_LOW, INK_FROM_THE_HIGH };

enum ink_trigger_kind { INK_ON_EVENT, INK_ON_ANY, INK_ON_TIMEOUT, INK_ON_END };

struct ink_trigger {
	enum ink_trigger_kind kind;
	enum ink_from from;
	const struct ink_name *name; /* of the event */
	unsigned event;              /* its number, once known */
	int window;    /* INK_ON_TIMEOUT: since the flow entered the states that share the row */
	uint64_t time; /* INK_ON_TIMEOUT: nanoseconds */
	uint32_t at, from_at;
};

/* From INK_TO_NEXT on, the target depends on the state that has the row. */
enum ink_target_kind {
	INK_TO_SAME,
	INK_TO_STATE,
	INK_TO_ABSENT,
	INK_TO_NEXT,
	INK_TO_UP,
	INK_TO_DOWN,
	INK_TO_FIRST,
	INK_TO_LAST
};

struct ink_target {
	enum ink_target_kind kind;
	unsigned number; /* INK_TO_STATE: the state, once known; INK_TO_UP, INK_TO_DOWN: by how many states */
	const struct ink_name *name; /* the word, or behind "first" and "last" that of the repetition */
	uint32_t at;
	int exact; /* a number or a name is behind the word, so it is no state's name */
};

/* "tell MACHINE EVENT"; several rows' actions can share one. */
struct ink_written_tell {
	const struct ink_name *machine, *event;
	uint32_t at, event_at;
	struct ink_tell to; /* once known */
	int checked;
};

struct ink_more {
	struct ink_action_more out; /* its tells are made when all machines are known */
	struct ink_written_tell **tells;
	unsigned n_tells;
	uint32_t priority_at, limit_at; /* where they are written, if it has them */
};

struct ink_deed {
	struct ink_action action;
	struct ink_more *more; /* NULL: nothing more */
	unsigned number;       /* of the action; 0: none */
	uint32_t at;           /* of the last "leaving", if it is one of those */
};

/* What a row can do only with a packet. */
enum ink_packet_action {
	INK_NEEDS_NO_PACKET,
	INK_DOES_REPORT,
	INK_DOES_DROP,
	INK_DOES_PASS,
	INK_DOES_MARK,
	INK_DOES_PRIORITY,
	INK_DOES_CLASS,
	INK_DOES_LIMIT,
	INK_DOES_SAVE,
	INK_DOES_NEW_INITIATOR,
	INK_DOES_TELL,
	INK_DOES_MEASURE,
	INK_PACKET_ACTIONS
};

/* The word of each, or words. */
extern const char *const ink_packet_action_words[INK_PACKET_ACTIONS];

/* A text can have half a million of them, so they are small. */
struct ink_written_row {
	const struct ink_trigger *triggers;
	unsigned n_triggers;
	uint32_t at;
	struct ink_target target;
	uint32_t packet_action_at;
	uint8_t kinds, froms; /* bit sets: what the triggers are, where they come from */
	uint8_t new_initiator, checked, taken;
	uint8_t told;          /* a complaint about it was made for another state */
	uint8_t packet_action; /* enum ink_packet_action: the last one that needs a packet */
	struct ink_deed does;
	struct ink_deed *leaving; /* what it does instead where it leaves its repetition; NULL: the same */
};

_Static_assert(sizeof(struct ink_written_row) <= 112, "1 MiB of rows fits the arena");

/* Rows of a state: its own, then (after checking) those of "*". */
struct ink_state {
	const char *name;
	uint32_t at;
	struct ink_written_row **rows;
	unsigned n_rows, n_own;
	uint8_t *taken; /* n_rows: the row serves some event, time-out or end here */
	struct ink_written_row *on_timeout, *on_end; /* the rows for these, or NULL */
	uint64_t time;                               /* of on_timeout: nanoseconds */
	int window;                                  /* it is a window's */
	int expendable;
	int splits;     /* remembers the initiator */
	int tails;      /* remembers the tail */
	unsigned base;  /* its first compiled state */
	unsigned group; /* the number of its repetition, from 1; 0: none */
};

/* The states of a "repeat": `n` from `first` on. */
struct ink_group {
	const struct ink_name *name;
	uint32_t at;
	unsigned first, n;
	struct ink_target above, below; /* where "up" and "down" lead at the ends */
};

struct ink_named {
	const struct ink_name *name;
	uint32_t at;
};

/* One node: make the test, go on at yes or no. Negative: ~event, where event = events means none. */
struct ink_node {
	uint32_t test;
	int32_t next[2];
};

struct ink_decision {
	const struct ink_node *nodes;
	unsigned n_nodes;
	int32_t first;
};

/* The machines of one text. They share its memory, and live and end together. */
struct ink_unit {
	struct ink_arena arena;
	struct ink_machine *machines[INK_MACHINES_MAX];
	unsigned n;
	unsigned filter_bytes;             /* of different filters in all machines */
	unsigned n_params;                 /* of all machines */
	const struct ink_machines *before; /* the machines of a set that come before this file's, or NULL */
	int one;                           /* the caller takes one machine only */
	int shares_settings;               /* a setting may be for another file of the set */
};

/* The machines of one or several files. */
struct ink_machines {
	struct ink_unit **files;
	unsigned n_files;
	struct ink_machine **machines;
	unsigned n;
};

struct ink_machine {
	struct ink_machine_view view;
	struct ink_rules rules;
	struct ink_unit *unit;
	struct ink_arena *arena; /* the file's */
	unsigned number;         /* in its file */

	struct ink_name *names[INK_NAME_CHAINS];
	const char *name;
	struct ink_key_def key;
	const char *key_text; /* as written, with single blanks */
	uint32_t name_at, key_at, initiator_at, tail_at;
	unsigned line;  /* of its name */
	unsigned chain; /* the most steps that one of its rows causes in other machines */
	int has_name, has_key, remembers_initiator, remembers_tail;
	int tried_name, tried_key, tried_initiator; /* there are lines for them, right or wrong */

	struct ink_test *tests;
	unsigned n_tests, n_chances;
	struct ink_let *lets;
	unsigned n_lets;
	struct ink_param *params;
	unsigned n_params;
	struct ink_event *events;
	unsigned n_events;
	struct ink_state *states;
	unsigned n_states;
	struct ink_state absent, unsure, star;
	struct ink_group *groups;
	unsigned n_groups;
	struct ink_named *expendables;
	unsigned n_expendables;
	struct ink_named *counters;
	unsigned n_counters;
	struct ink_limit *limits;
	unsigned n_limits;

	/* compiled */
	struct ink_decision decision;
	uint32_t *event_base; /* the first compiled event of each */
	uint8_t *event_sides; /* 1, or 2: from the low end, from the high end */
	int all_sides;        /* every event has 2 */
	unsigned tails;       /* 1, or INK_TAILS: compiled events for each side */
	int one_by_one;       /* classifying needs the state, the counters or the queue: no batches */
	uint8_t *tail_of;     /* compiled states: what they remember */
};

/* Where a complaint about the machine as a whole points to: for the only one, the beginning of the text. */
static inline uint32_t ink_machine_at(const struct ink_machine *m)
{
	return m->number ? m->name_at : 0;
}

/* The name that a token is, if the machine has it; or NULL. */
const struct ink_name *ink_name_find(const struct ink_machine *m, struct ink_text *text,
				     const struct ink_token *token);

/* The name that a token is, which may be new. NULL without memory, or if the work is too much. */
struct ink_name *ink_name_at(struct ink_machine *m, struct ink_text *text, const struct ink_token *token);

/* The same for characters that are not in the text; the place is for complaints. */
struct ink_name *ink_name_of(struct ink_machine *m, struct ink_text *text, const char *bytes, uint32_t length,
			     uint32_t at);

/*
 * The file of that name, or the text of the bundled machine; `file` says what it is for. A machine that is
 * made owns its text's memory through its file. NULL with errno, and the reason if it is not a complaint.
 */
struct ink_unit *ink_unit_load(const char *name, const struct ink_machine_options *o,
			       const struct ink_unit *wanted, struct ink_why *why);
struct ink_unit *ink_unit_make(const char *bytes, size_t length, const struct ink_machine_options *o,
			       const struct ink_unit *wanted);
void ink_unit_free(struct ink_unit *file);

/* As ink_machines_load, of texts that have been read, each under the name of its file. */
struct ink_machines *ink_machines_of_texts(const struct ink_bundled *texts, unsigned n,
					   const struct ink_machine_options *options, struct ink_why *why);

/* The caller's options, or the defaults. 0, or -EINVAL. */
int ink_machine_options_read(const struct ink_machine_options *theirs, struct ink_machine_options *o,
			     struct ink_why *why);

/* One more machine of the file; NULL without memory. */
struct ink_machine *ink_unit_add(struct ink_unit *file);

/* Fills the machines of the file from the text; complains. */
void ink_unit_parse(struct ink_unit *file, struct ink_text *text);

/* Are both directions of a connection one flow? */
int ink_key_joins_directions(const struct ink_key_def *key);

/* Complains about settings of the caller that no parameter has, and warns of parameters that nothing uses. */
void ink_check_settings(const struct ink_unit *file, struct ink_text *text);
void ink_warn_params(const struct ink_machine *m, struct ink_text *text);

/* Has the machine a parameter of that name? */
int ink_has_param(const struct ink_machine *m, const char *name);

/* Resolves names and looks for contradictions. */
void ink_check_names(struct ink_machine *m, struct ink_text *text);

/* Resolves what a row tells other machines, once. */
void ink_check_tells(struct ink_machine *m, struct ink_text *text, struct ink_deed *d);

/* Complains if one packet could cause too many steps by what machines tell each other. */
void ink_check_chains(struct ink_unit *unit, struct ink_text *text);

/* Builds the decision program; `happens[e]` is cleared for events that cannot happen. 0 or -errno. */
int ink_decide(struct ink_machine *m, struct ink_text *text, uint8_t *happens);

/* Splits and numbers states and events. 0 or -errno. */
int ink_number(struct ink_machine *m, struct ink_text *text);

/* FNV-1a: continues from `hash`, which is INK_FNV at first. */
#define INK_FNV 2166136261u
uint32_t ink_fnv(uint32_t hash, const char *bytes, size_t length);

/* Makes rules and actions. 0 or -errno. */
int ink_compile(struct ink_machine *m, struct ink_text *text);

/* Warns of states that no flow reaches or leaves, of events and rows without effect, and of names that are hidden. */
void ink_check_flow(struct ink_machine *m, struct ink_text *text, const uint8_t *happens);

/* Where the machine's first condition about the queue is written, "file:line:column"; NULL: it has none. */
const char *ink_asks_queue(const struct ink_machine *m);

/* The burst of a limit that is written without one, in bytes. */
uint32_t ink_limit_burst(uint64_t rate);

/* Are they written alike? */
static inline int ink_limit_same(const struct ink_limit *a, const struct ink_limit *b)
{
	return a->rate == b->rate && a->burst == b->burst && a->each_flow == b->each_flow;
}

/* Offers the words that conditions are made of. */
void ink_offer_tests(struct ink_suggest *near);

/* Is it one of those words? Conditions then do not find a `let` or a counter of that name. */
int ink_begins_condition(const char *name);

/* ---------------------------------------------------- numbers of compiled states */

static inline unsigned ink_tails_of(const struct ink_state *s)
{
	return s->tails ? INK_TAILS : 1;
}

static inline unsigned ink_copies_of(const struct ink_state *s)
{
	return (s->splits ? 2 : 1) * ink_tails_of(s);
}

/* What a flow remembers besides its written state. */
struct ink_memory {
	unsigned initiator, tail;
};

static inline unsigned ink_code_of(const struct ink_state *s, struct ink_memory k)
{
	return s->base + (s->splits ? k.initiator * ink_tails_of(s) : 0) + (s->tails ? k.tail : 0);
}

/* ------------------------------------------------------------- where rows lead */

#define INK_NOWHERE UINT32_MAX /* absent, as the number of a written state */

/* The written state to which a row of state s leads, or INK_NOWHERE; n_states: the row leads behind the last. */
unsigned ink_row_leads(const struct ink_machine *m, const struct ink_state *s,
		       const struct ink_written_row *row);

/* What a row does in state s, besides moving the flow. */
struct ink_deed *ink_row_does(const struct ink_machine *m, const struct ink_state *s,
			      struct ink_written_row *row);

static inline int ink_row_has(const struct ink_written_row *row, enum ink_trigger_kind kind)
{
	return row->kinds >> kind & 1;
}

#endif
