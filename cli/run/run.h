/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inkling run: what its files share.
 *
 *     options.c     from the command line to a struct request
 *     open.c        opens and closes the machines, tables, input and outputs of a session
 *     session.c     passes packets through them, answers signals
 *     first_pass.c  the rules of the first of two passes, and how much it may miss
 *     candidates.c  the flows that the first pass finds
 *     verify.c      compares the table's answers with those of an exact one
 *     results.c     reads every number that a summary needs, once
 *     record_summary.c  NDJSON: statistics and the summary; reports are in cli/record/
 *     summary.c     the summary for people
 */
#ifndef INKLING_CLI_RUN_RUN_H
#define INKLING_CLI_RUN_RUN_H

#include <stdio.h>

#include <inkling/machine.h>
#include <inkling/packet.h>
#include <inkling/track.h>

#include "cli/cli.h"
#include "cli/record/record.h"
#include "cli/sizes.h"

/* --------------------------------------------------------------------------- request */

struct request {
	const char *machine; /* as on the command line: one name, or several */
	struct cli_names names;
	struct cli_room room;          /* --flows, --memory */
	struct cli_settings set;       /* --set */
	const char *file;              /* -r */
	const char *interface;         /* -i */
	const char *write;             /* -w */
	const char *output;            /* -o */
	char *filter;                  /* the rest of the line */
	const char *file_in_filter;    /* a word of the filter that names a file, or NULL */
	const char *machine_in_filter; /* one that names a bundled machine, or NULL */
	uint64_t packets;              /* -c; 0: all */
	uint64_t seed;                 /* --seed; 0: none */
	uint64_t chance_seed;          /* of `chance` conditions */
	uint64_t queue_rate;           /* --queue-rate, bits a second; 0: there is no queue */
	struct ink_options table;      /* without flows and bytes; its seed makes the secret */
	int verify;
	int two_pass;
	int exact_for_unsure;
	int no_timeouts;
	int community_id;
	int outermost;
	int quiet;
};

/* CLI_DONE: all is read. CLI_HELPED: the line asked for help. Else the exit code. */
int run_options(int argc, char **argv, struct request *r);

/* ---------------------------------------------------------------------------- verify */

/* How the table's answer can differ from the exact one. */
enum difference {
	FALSE_POSITIVE, /* a state, and there is no such flow */
	EXPIRED_LATE,   /* a state, and the flow has timed out */
	FALSE_NEGATIVE, /* absent, and there is such a flow */
	EXPIRED_EARLY,  /* absent, and the flow, which the table has had, has not timed out */
	WRONG_STATE,    /* another state */
	UNSURE,         /* don't know */
	REFUSED,        /* the table had no room for it */
	DIFFERENCES
};

/* The name for people, and for records. */
const char *difference_text(enum difference d);
const char *difference_name(enum difference d);

struct tally {
	uint64_t events[DIFFERENCES], flows[DIFFERENCES];
	uint64_t steps;
	uint64_t all_flows;
	uint64_t settled;       /* times that a flow entered a state that is not expendable, in both tables */
	uint64_t lost;          /* settled flows that the table then lacked while the exact one had them */
	uint64_t changed;       /* settled flows that it then had in another state */
	uint64_t extra;         /* told steps that the exact machines did not make */
	uint64_t missing;       /* told steps that only they made */
	uint64_t extra_drops;   /* packets that the machine drops, or a limit refuses, with the table only */
	uint64_t missing_drops; /* ... with the exact table only */
};

struct verifier;

struct verifier *verifier_make(uint64_t seed, int timeouts, struct ink_why *why);
void verifier_free(struct verifier *v);
void verifier_see(struct verifier *v, const struct ink_moved *m, const struct ink_machine_view *view);
const struct tally *verifier_tally(struct verifier *v);

/* ------------------------------------------------------------------------ two passes */

struct candidates;

struct candidates *candidates_make(uint64_t seed, struct ink_why *why);
void candidates_free(struct candidates *c);

/* 0, also if it is there already; or -errno. */
int candidates_add(struct candidates *c, uint64_t id);

/* Non-zero: it was added, or has the fingerprint of one that was. */
int candidates_have(const struct candidates *c, uint64_t id);
void candidates_size(const struct candidates *c, uint64_t *flows, uint64_t *bytes);

struct first_pass;

/*
 * Changes the options, which hold the machine's rules, to those of a first pass.
 * They stay valid as long as the result. NULL: why.
 */
struct first_pass *first_pass_make(struct ink_options *o, struct ink_why *why);
void first_pass_free(struct first_pass *p);
void first_pass_see(struct first_pass *p, const struct ink_moved *m);

/* The most flows whose reports may be missing, with 99.9 % confidence. 0: unknown for this kind of table. */
int first_pass_misses(const struct first_pass *p, uint64_t *flows);

/* --------------------------------------------------------------------------- session */

/* A machine of a session, with its tables, and what it has done. */
struct member {
	const struct ink_machine_view *view;
	struct ink_table *table;
	struct ink_table *beside; /* exact; --verify */
	struct ink_table *slow;   /* exact; --exact-for unsure */
	struct verifier *verifier;
	uint64_t reports;      /* made */
	uint64_t saved;        /* packets written */
	uint64_t latest_saved; /* the number of that packet; 0: none yet */
};

/* One pass over the input. Two passes have one machine. */
struct session {
	const struct request *request;
	struct ink_machines *machines;
	unsigned n;
	struct member *members;        /* one for each machine */
	struct ink_table **tables;     /* of all members, as ink_track_open takes them */
	struct candidates *candidates; /* the flows of the second pass, or those found by the first */
	struct first_pass *first_pass; /* non-NULL: this is the first of two passes */
	struct ink_capture *capture;   /* NULL: an interrupt came while it was being opened */
	struct ink_track *track;
	struct ink_dump *dump;
	FILE *records;
	struct record_source source;
	int shows;    /* reports are shown as lines of text, on standard output */
	int second;   /* the second of two passes */
	int reported; /* the first pass has reported that the input is damaged */
	int endless; /* rows for the end did not fire: interrupted, or the table cannot enumerate its flows */
	int interrupted_by; /* the signal that ended the reading of a file, also in the pass before; or 0 */
	uint64_t most;      /* packets to read; 0: all */
	uint64_t read;      /* packets, so far */
	uint64_t latest_written; /* the number of the packet; 0: none yet */
	int failure;             /* -errno of a callback, or 0 */
	const char *failed;      /* what that callback worked on */
};

/* Opens everything that a pass needs; an exit code. In either case, close it. */
int session_open(struct session *s);
void session_close(struct session *s);

/* Closes the outputs. CLI_FAILED: something was not written, and that was reported. */
int session_close_output(struct session *s);

/* The link of the input. If an interrupt came before the input began, any will do. */
enum ink_link session_link(const struct session *s);

/* When time-outs fire: the table that runs the machine decides. */
struct cli_ages session_ages(const struct session *s);

/* Sets flows and bytes of the member's table. */
void session_size(const struct session *s, const struct member *m, struct ink_options *o);

/* For ink_track_open; `user` is the session. */
void session_moved(const struct ink_moved *m, void *user);

/* The signal that was received, SIGINT or SIGTERM; or 0. */
int session_interrupted(void);

/* The exit code of a run that this signal ended too early; 0: none did. */
int session_exit_code(int signal);

/* Runs the machine as requested; an exit code. */
int run_session(const struct request *r);

/* --------------------------------------------------------------------------- results */

/* Flows by written state. */
struct written {
	int known; /* 0: this kind of table has no census */
	uint64_t state[INK_MAX_STATES];
	uint64_t unsure;
};

struct held {
	uint64_t flows, bytes;
};

/* The numbers of a summary, of one machine. ink_stats and ink_census walk a whole table: each is called once. */
struct results {
	const struct session *session;
	const struct member *member;
	const struct session *first; /* the first pass, if this is the second; or NULL */
	struct ink_capture_stats input;
	struct ink_track_stats track;
	struct ink_queue_stats queue; /* which all machines share */
	struct written census;
	struct ink_stats table, first_table, slow, beside; /* zero where there is none */
	struct held candidates;
};

/* Of the i-th machine. `first`: the first pass, if `s` is the second; or NULL. */
void results_read(struct results *r, const struct session *s, unsigned i, const struct session *first);

/* What the machine has counted, and what it would have counted with exact tables. */
const uint64_t *results_counters(const struct results *r);
const uint64_t *results_counters_beside(const struct results *r);

/* The table that the options describe: with two passes, the first one's. */
const struct ink_stats *results_main_table(const struct results *r);

/* Non-zero: rows for the end, which did not fire, would have raised this counter. */
int results_incomplete(const struct results *r, unsigned counter);

/* ---------------------------------------------------------------------------- output */

/* A record of one machine. `type`: "statistics" during the run, "summary" at its end. */
void record_summary(FILE *to, const char *type, const struct results *r);

/* The part of one machine; that of the first begins with what all share, that of the last ends so. */
void summary_show(FILE *to, const struct results *r);

#endif
