/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inkling run: what its files share.
 *
 *     options.c     from the command line to a struct wishes
 *     session.c     opens what is wished for, and passes packets through it
 *     cautious.c    the rules of the first of two passes, and what it may miss
 *     candidates.c  the flows that it finds
 *     verify.c      what the table answered beside what an exact one did
 *     record.c      NDJSON, a line for each report
 *     summary.c     what it all came to, for people and as the last record
 */
#ifndef INKLING_CLI_RUN_RUN_H
#define INKLING_CLI_RUN_RUN_H

#include <stdio.h>

#include <inkling/machine.h>
#include <inkling/packet.h>
#include <inkling/track.h>

#include "cli/cli.h"

enum { DEFAULT_FLOWS = 1000000 };

/* ------------------------------------------------------------------ wishes */

struct wishes {
	const char *machine;
	const char *file;           /* -r */
	const char *interface;      /* -i */
	const char *write;          /* -w */
	const char *output;         /* -o */
	char *filter;               /* the rest of the line */
	const char *file_in_filter; /* a word of it that is the name of a file, or NULL */
	uint64_t packets;           /* -c; 0: all */
	struct ink_options table;
	int verify;
	int two_pass;
	int exact_for_unsure;
	int no_timeouts;
	int community_id;
	int outermost;
	int quiet;
};

/* CLI_DONE: all is read. CLI_HELPED: only help was asked for. Else what to exit with. */
int run_options(int argc, char **argv, struct wishes *w);

/* ------------------------------------------------------------------ verify */

/* What can be different between the table's answer and the truth. */
enum difference {
	FALSE_POSITIVE, /* a state, and there is no such flow */
	EXPIRED_LATE,   /* a state, and the flow's time was over */
	FALSE_NEGATIVE, /* absent, and there is such a flow */
	EXPIRED_EARLY,  /* absent, though its time was not over and it had been there */
	WRONG_STATE,    /* a state that is not the flow's */
	UNSURE,         /* don't know */
	REFUSED,        /* there was no room for it */
	DIFFERENCES
};

/* The name for people, and for records. */
const char *difference_text(enum difference d);
const char *difference_name(enum difference d);

struct tally {
	uint64_t events[DIFFERENCES], flows[DIFFERENCES];
	uint64_t steps;
	uint64_t all_flows;
	uint64_t settled; /* times that a flow came to be in a state that is not expendable, in both tables */
	uint64_t lost;    /* of these, those that the table then did not have, and the exact one had */
	uint64_t changed; /* or had in another state */
};

struct verifier;

struct verifier *verifier_make(uint64_t seed, int timeouts, struct ink_why *why);
void verifier_free(struct verifier *v);
void verifier_see(struct verifier *v, const struct ink_moved *m, const struct ink_rules *rules);
const struct tally *verifier_tally(const struct verifier *v);

/* -------------------------------------------------------------- two passes */

struct candidates;

struct candidates *candidates_make(uint64_t seed, struct ink_why *why);
void candidates_free(struct candidates *c);

/* 0, also if it is there already; or -errno. */
int candidates_add(struct candidates *c, uint64_t id);

/* Non-zero: it was added, or looks like one that was. */
int candidates_have(const struct candidates *c, uint64_t id);
void candidates_size(const struct candidates *c, uint64_t *flows, uint64_t *bytes);

struct cautious;

/*
 * Changes the options, which have the machine's rules, to those of a first pass, as
 * long as this lives. NULL: why.
 */
struct cautious *cautious_make(struct ink_options *o, struct ink_why *why);
void cautious_free(struct cautious *c);
void cautious_see(struct cautious *c, const struct ink_moved *m);

/* The most flows whose reports may be missing, with 99.9 %. 0: it is not known for this kind of table. */
int cautious_misses(const struct cautious *c, uint64_t *flows);

/* ----------------------------------------------------------------- session */

/* One pass over the input. */
struct session {
	const struct wishes *w;
	const struct ink_machine_view *view;
	struct ink_machine *machine;
	struct ink_table *table;
	struct ink_table *beside;      /* exact; --verify */
	struct ink_table *slow;        /* exact; --exact-for unsure */
	struct candidates *candidates; /* the flows of the second pass, or those found by the first */
	struct cautious *cautious;     /* the first pass */
	struct verifier *verifier;
	struct ink_capture *capture; /* NULL: an interrupt came while it was being opened */
	struct ink_track *track;
	struct ink_dump *dump;
	FILE *records;
	int second;       /* the second of two passes */
	int told;         /* the first has said that the input cannot be read to its end */
	int endless;      /* the table cannot go through its flows: rows for the end did not fire */
	uint64_t most;    /* packets to read; 0: all */
	uint64_t read;    /* packets, so far */
	uint64_t reports; /* made */
	uint64_t saved;   /* packets written */
	uint64_t dropped; /* packets whose verdict was so */
	int trouble;      /* errno of what went wrong in a callback, or 0 */
	const char *trouble_with;
};

/* Flows by written state. */
struct written {
	uint64_t state[INK_MAX_STATES];
	uint64_t unsure;
};

/* 0, or -ENOTSUP: this kind of table cannot tell. */
int session_census(const struct session *s, struct written *census);

/* Would rows for the end, which did not fire, have raised this counter? */
int session_lacks(const struct session *s, unsigned counter);

/* What was read; nothing, if an interrupt came before the input began. */
struct ink_capture_stats session_input(const struct session *s);

/* Runs the machine as wished; an exit code. */
int run_session(const struct wishes *w);

/* --------------------------------------------------------- what comes out */

void record_report(struct session *s, const struct ink_moved *m);
void record_summary(FILE *to, struct session *s, const struct session *first);

/* `first`: the first pass, if this is the second; or NULL. */
void summary_show(FILE *to, struct session *s, const struct session *first);

#endif
