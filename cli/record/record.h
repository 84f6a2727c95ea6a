/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What records and the lines of reports are made of, for `run` and `reports`. docs/records.md describes every field.
 *
 *     flow.c         the key of a report's flow, and its number
 *     report_text.c  the text of a report, and its line on a terminal
 *     record.c       NDJSON: what records share, and reports
 *     fields.c       NDJSON: objects of summaries: skipped packets, states, counters
 */
#ifndef INKLING_CLI_RECORD_RECORD_H
#define INKLING_CLI_RECORD_RECORD_H

#include <stdio.h>

#include <inkling/machine.h>
#include <inkling/packet.h>
#include <inkling/track.h>

/* Where the packets of a record come from, and what of them is written. */
struct record_source {
	const char *file;      /* as in the options; or NULL */
	const char *interface; /* or NULL */
	int nanoseconds;       /* the input's times have nine digits, not six */
	int community_id;      /* non-zero: in reports */
	const char *hook;      /* of a packet that the kernel reports; or NULL */
	unsigned processor;    /* with a hook: the one that numbered the packet */
};

/* ------------------------------------------------------------------------------ flow */

enum { KEY_PARTS_MOST = 5, KEY_NAME = 12, KEY_VALUE = INK_ADDRESS_SIZE + 4 };

/* A part of a key as text. */
struct key_part {
	const char *name;      /* in records: "src_port" */
	char value[KEY_VALUE]; /* "10.1.2.0/24", "22", "TCP" */
	int is_number;
};

/* The packet as the flow's key sees it: turned round, if the flow is of the other direction. */
struct ink_packet flow_packet(const struct ink_moved *m);

/* The parts of the flow's key, in a fixed order; how many there are. */
unsigned flow_key(const struct ink_machine_view *view, const struct ink_moved *m,
		  struct key_part part[KEY_PARTS_MOST]);

/* How the key was taken from the packet: "packet", "reverse", or "both" if it joins both directions. */
const char *flow_key_from(const struct ink_machine_view *view, const struct ink_moved *m);

/* A number below 2^53 of the machine's name and the key: the same in every run. */
uint64_t flow_number(const struct ink_machine_view *view, const struct ink_moved *m);

/* "TCP", "IPv6-ICMP", "047". */
const char *protocol_name(unsigned protocol, char text[4]);
int has_ports(const struct ink_packet *p);
int is_icmp(const struct ink_packet *p);

/* ------------------------------------------------------------------------------ text */

/* Time as "2006-09-10T23:59:59.123456Z" with that separator and ending, with six or nine digits. */
enum { TIME_TEXT = 40 };
const char *time_text(uint64_t time, int nanoseconds, char text[TIME_TEXT]);

/* The report's text with its fields filled in. The caller frees it; NULL: no memory. */
char *report_text(const struct ink_machine_view *view, const struct ink_moved *m);

/* The pieces of a text, filled in. */
void report_fill(FILE *to, const struct ink_text_piece *pieces, unsigned n,
		 const struct ink_machine_view *view, const struct ink_moved *m);

/* The report as a line for people. */
void report_show(FILE *to, const struct ink_machine_view *view, const struct ink_moved *m);

/* --------------------------------------------------------------------------- records */

/* Begins a record; `time` is NULL if there was no packet. */
void record_head(FILE *to, const char *type, const uint64_t *time, const struct record_source *source);
void record_machine(FILE *to, const struct ink_machine_view *view);
void record_report(FILE *to, const struct ink_machine_view *view, const struct ink_moved *m,
		   const struct record_source *source);

/* Fields of summaries, each after a comma. */
void record_skipped(FILE *to, const uint64_t skipped[INK_SKIPS]);

/* Flows by written state; NULL: unknown. */
void record_states(FILE *to, const struct ink_machine_view *view, const uint64_t *states, uint64_t unsure);
void record_counts(FILE *to, const struct ink_machine_view *view, const uint64_t *counters);
void record_table(FILE *to, const char *name, const struct ink_stats *table);

#endif
