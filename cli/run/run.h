/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inkling run: what its files share.
 *
 *     options.c   from the command line to a struct wishes
 *     session.c   opens what is wished for, and passes packets through it
 *     verify.c    what the table answered beside what an exact one did
 *     record.c    NDJSON, a line for each report
 *     summary.c   what it all came to, for people and as the last record
 */
#ifndef INKLING_CLI_RUN_H
#define INKLING_CLI_RUN_H

#include <stdio.h>

#include <inkling/machine.h>
#include <inkling/packet.h>
#include <inkling/track.h>

#include "../cli.h"

enum { DEFAULT_FLOWS = 1000000 };

/* ------------------------------------------------------------------ wishes */

struct wishes {
	const char *machine;
	const char *file;      /* -r */
	const char *interface; /* -i */
	const char *write;     /* -w */
	const char *output;    /* -o */
	char *filter;          /* the rest of the line */
	uint64_t packets;      /* -c; 0: all */
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
};

struct verifier;

struct verifier *verifier_make(uint64_t seed, int timeouts, struct ink_why *why);
void verifier_free(struct verifier *v);
void verifier_see(struct verifier *v, const struct ink_moved *m);
const struct tally *verifier_tally(const struct verifier *v);

/* ----------------------------------------------------------------- session */

/* One pass over the input. */
struct session {
	const struct wishes *w;
	const struct ink_machine_view *view;
	struct ink_machine *machine;
	struct ink_table *table;
	struct ink_table *beside;     /* exact; --verify */
	struct ink_table *slow;       /* exact; --exact-for unsure */
	struct ink_table *candidates; /* exact; the flows of the second pass, or those found by the first */
	struct verifier *verifier;
	struct ink_capture *capture;
	struct ink_track *track;
	struct ink_dump *dump;
	FILE *records;
	int second;       /* the second of two passes */
	int told;         /* the first has said that the input cannot be read to its end */
	uint64_t reports; /* made */
	uint64_t saved;   /* packets written */
	uint64_t dropped; /* packets whose verdict was so */
	int trouble;      /* errno of what went wrong in a callback, or 0 */
	const char *trouble_with;
};

/* Runs the machine as wished; an exit code. */
int run_session(const struct wishes *w);

/* --------------------------------------------------------- what comes out */

void record_report(struct session *s, const struct ink_moved *m);
void record_summary(FILE *to, struct session *s, const struct session *first);

/* `first`: the first pass, if this is the second; or NULL. */
void summary_show(FILE *to, struct session *s, const struct session *first);

#endif
