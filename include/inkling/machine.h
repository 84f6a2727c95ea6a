/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machines: the events of a flow and what each of them does, read from text.
 *
 *     struct ink_machine_options o = { .size = sizeof o, .complain = show };
 *     struct ink_machine *m = ink_machine_load("tcp", &o, NULL);
 *     const struct ink_machine_view *v = ink_machine_view(m);
 *
 *     struct ink_options t = { .size = sizeof t, .states = v->rules->states, .rules = v->rules, ... };
 *     ...
 *     ink_machine_free(m);
 *
 * A file can have several machines that are linked, and a run can take several
 * files: struct ink_machines is such a set. The calls for one machine refuse a
 * file with several.
 *
 * docs/machine-language.md and inkling-machine(5) describe the language. This
 * part does not depend on packets: the library inkling-packet (track.h)
 * evaluates the conditions of events.
 *
 * Return values and structs are as in inkling.h. A machine is immutable: any
 * number of threads may use it.
 */
#ifndef INKLING_MACHINE_H
#define INKLING_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include <inkling/inkling.h>
#include <inkling/key.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ink_machine;
struct ink_machines;

/* ------------------------------------------------------------- complaints */

enum ink_severity {
	INK_ERROR = 1,  /* no machine is made */
	INK_WARNING = 2 /* a machine is made, but it may not be what was meant */
};

/* An error or a warning. It is valid only during the call of `complain`. */
struct ink_complaint {
	enum ink_severity severity;
	const char *file;      /* as in the options */
	unsigned line, column; /* from 1; columns are bytes */
	const char *text;      /* what is wrong */
	const char *source;    /* the line of the text, without its end; not terminated */
	size_t source_length;
};

/*
 * Formats a complaint as compilers do, in three lines: the place and the text,
 * the source line, a caret. Writes at most `size` bytes, including the final 0.
 */
void ink_complaint_show(const struct ink_complaint *complaint, char *text, size_t size);

/* ----------------------------------------------------------------- making */

/* The value of a `param`, as the text would have it: "20", "5m", "25%". */
struct ink_setting {
	const char *name, *value;
};

struct ink_machine_options {
	size_t size;
	const char *file; /* for complaints; default: the name given to ink_machine_load, or "machine" */
	int strict;       /* non-zero: warnings are errors */
	const struct ink_machine
		*like; /* states of the same name get the same numbers; see ink_track_exchange */
	void (*complain)(const struct ink_complaint *complaint, void *user); /* or NULL */
	void *user;
	/*
	 * Checks the text of a `filter`: 0, or -errno and the reason, which becomes a complaint. NULL:
	 * filters are not checked until ink_track_open. ink_filter_try (packet.h) is such a function.
	 */
	int (*try_filter)(const char *filter, struct ink_why *why);
	/*
	 * Called about every millisecond while the text is compiled, with `user`. Non-zero: compiling stops,
	 * and the result is NULL with errno ECANCELED. A program can return the flag here that its signal
	 * handler sets. Or NULL.
	 */
	int (*cancelled)(void *user);
	/*
	 * Values for params of the text, in place of those that it has; of two with one name, the last. A name that
	 * is no param of the text, and a value that does not fit where the param is used, is a complaint.
	 */
	const struct ink_setting *settings;
	unsigned n_settings;
	/*
	 * For a set: each machine that has a name of this set numbers its states like the machine of that name. `like`
	 * is then not used.
	 */
	const struct ink_machines *like_set;
};

/*
 * Compiles a text of `length` bytes. The result belongs to the
 * caller: ink_machine_free it. NULL with errno: EINVAL (there were complaints;
 * the first 20 were reported; or the options' size or a setting is wrong), ECANCELED,
 * ENOMEM.
 * `options` may be NULL. Thread-safe.
 *
 * Compiling takes at most 256 MiB and, on an ordinary processor, 2 s for any
 * text: one that would take more is refused with a complaint.
 */
struct ink_machine *ink_machine_make(const char *text, size_t length,
				     const struct ink_machine_options *options);

/*
 * The same for a file, if the name contains a slash or ends in ".fsm", or else
 * for the bundled machine of that name. Also NULL with the errno of reading the
 * file; `why` receives the reason if it is not a complaint.
 */
struct ink_machine *ink_machine_load(const char *name, const struct ink_machine_options *options,
				     struct ink_why *why);

/* Frees a machine; NULL is allowed. */
void ink_machine_free(struct ink_machine *machine);

/*
 * All machines of a text, in its order. At most 16; the limits of time and
 * memory are for the text as a whole. Fails as ink_machine_make does. The result
 * belongs to the caller: ink_machines_free it. Thread-safe.
 */
struct ink_machines *ink_machines_make(const char *text, size_t length,
				       const struct ink_machine_options *options);

/*
 * The machines of `n` files or bundled names (at least 1), as for
 * ink_machine_load, in the order of the names: a set. Names of machines are
 * unique in a set, and links lead to machines of the same file. `file` of the
 * options is used only if n is 1. A setting has to be a param of one of the
 * files.
 */
struct ink_machines *ink_machines_load(const char *const *names, unsigned n,
				       const struct ink_machine_options *options, struct ink_why *why);

unsigned ink_machines_count(const struct ink_machines *set);

/* The i-th machine, from 0; it belongs to the set: do not free it. NULL: there are not so many. */
const struct ink_machine *ink_machines_at(const struct ink_machines *set, unsigned i);

/* Frees a set and its machines; NULL is allowed. */
void ink_machines_free(struct ink_machines *set);

/* A machine that comes with the library. */
struct ink_bundled {
	const char *name;
	const char *text;
	size_t length;
};

/* The i-th of them, in alphabetical order; NULL after the last. */
const struct ink_bundled *ink_bundled(unsigned i);

/*
 * The machine as a graph in the language of Graphviz. The caller frees it with
 * free(). NULL with errno: EFBIG (it would have more than 4 MiB), ENOMEM.
 */
char *ink_machine_draw(const struct ink_machine *machine);

/* The same for a set: a cluster for each machine, and dashed arrows for what rows tell other machines. */
char *ink_machines_draw(const struct ink_machines *set);

/* ---------------------------------------------------------------- looking */

enum ink_amount {
	INK_AMOUNT_NUMBER = 0,
	INK_AMOUNT_PAYLOAD = 1,    /* bytes of payload on the wire */
	INK_AMOUNT_LENGTH = 2,     /* bytes of the frame on the wire */
	INK_AMOUNT_PICTURES_I = 3, /* MPEG-2 pictures of that type that start in the packet */
	INK_AMOUNT_PICTURES_P = 4,
	INK_AMOUNT_PICTURES_B = 5
};

/* `count NAME by AMOUNT` */
struct ink_counting {
	unsigned counter;
	enum ink_amount amount;
	uint64_t number; /* INK_AMOUNT_NUMBER */
};

enum ink_verdict { INK_NO_VERDICT = 0, INK_PASS = 1, INK_DROP = 2 };

/* What a row does, besides moving the flow. */
struct ink_action {
	const char *report; /* as it is written, with fields in braces; NULL: none */
	const struct ink_counting *countings;
	unsigned n_countings;
	enum ink_verdict verdict;
	uint32_t mark;
	uint8_t marks; /* non-zero: the packet gets the mark */
	uint8_t saves; /* non-zero: the packet is written to the capture file */
};

/* `tell MACHINE EVENT [reversed]` */
struct ink_tell {
	unsigned machine;      /* its place in the set, behind that of the teller */
	unsigned event;        /* written, of that machine */
	int reversed;          /* non-zero: the told machine takes its key from the other direction */
	unsigned line, column; /* where it is written, from 1 */
};

/* Texts of reports can name what a packet has: "{src} knocks at {dst port}". */
enum ink_text_field {
	INK_TEXT_LITERAL = 0, /* the text of the piece */
	INK_TEXT_SRC = 1,
	INK_TEXT_DST = 2,
	INK_TEXT_SRC_PORT = 3,
	INK_TEXT_DST_PORT = 4,
	INK_TEXT_PROTOCOL = 5,
	INK_TEXT_KEY = 6
};

struct ink_text_piece {
	const char *text; /* INK_TEXT_LITERAL; otherwise the name between the braces */
	int field;        /* enum ink_text_field */
};

/* `limit 1mbit`: a token bucket of all packets of the rows that say so, or one for each flow, which flows may share. */
struct ink_limit {
	uint64_t rate;  /* bits a second, of whole frames */
	uint32_t burst; /* bytes that may pass at once */
	int each_flow;
};

enum ink_priority { INK_NO_PRIORITY = 0, INK_PRIORITY = 1, INK_CLASS = 2 };

/* What a row does, continued. */
struct ink_action_more {
	const struct ink_tell *tells; /* in the order of the row */
	unsigned n_tells;
	unsigned severity;                   /* of the report: 1, the most severe, to 4; 0: none is given */
	const char *id;                      /* of the report, or NULL */
	const struct ink_text_piece *pieces; /* of the report, in order; no two literals follow each other */
	unsigned n_pieces;
	uint32_t priority; /* of the packet; of `class N:M`: N in the upper 16 bits, M in the lower */
	int prioritizes;   /* enum ink_priority: which of them it is */
	unsigned limit;    /* 1 + its number among the machine's limits; 0: none */
};

/* Nanoseconds; 0: none. A state has a time-out or a window, not both. */
struct ink_written_time {
	uint64_t timeout, window;
};

/*
 * The contents of a machine. Written states and events are those of the text.
 * The compiler splits a written state or event into several where flows
 * remember something; the rules contain the split ones.
 */
struct ink_machine_view {
	const char *name;
	enum ink_key key;
	uint64_t tick; /* nanoseconds; periods of the rules count these */
	int timeouts;  /* non-zero: a state has a time-out or a window */
	int weighs;    /* non-zero: conditions depend on counters */
	const struct ink_rules *rules;

	unsigned states; /* written */
	const char *const *state_names;
	const uint16_t *state_of; /* rules.states: the written state of each */

	unsigned events; /* written */
	const char *const *event_names;
	const uint16_t *event_of; /* rules.events: the written event of each */

	unsigned counters;
	const char *const *counter_names;

	unsigned actions;
	const struct ink_action *action; /* by the numbers in rows and moves; [0] does nothing */
	const uint16_t *
		on_timeout; /* of time-outs and windows; rules.states + 1: the action, only countings; the last is of unsure */
	const uint16_t *on_end; /* likewise */

	const struct ink_key_def *key_def; /* `key`, and its parts */
	const char *key_text;              /* what follows the word "key" in the text: "src/24, dst port" */
	unsigned params;
	const struct ink_setting *param; /* with the values that the machine was compiled with */

	const struct ink_action_more *action_more; /* by the number of the action, like `action` */
	const uint8_t *event_told; /* by written event: non-zero = only another machine brings it */
	const char *file;          /* the file or bundled name it comes from */
	/*
	 * FNV-1a (32 bits) of the text that it was made from, of each param as "name=value" and a 0, and of the
	 * machine's name. So it changes with anything that could change the machine.
	 */
	uint32_t hash;
	const struct ink_written_time *state_time; /* by written state */
	const uint8_t *
		counter_global; /* by counter: non-zero = a condition compares it; all flows share its value */
	const struct ink_limit *limit;
	unsigned limits;
	int queues; /* non-zero: conditions depend on the queue of the device that packets leave by */
	const char *queue_at; /* of the first of them: "file:line:column", of a long path the end; NULL: none */
};

/* Valid as long as the machine. */
const struct ink_machine_view *ink_machine_view(const struct ink_machine *machine);

#ifdef __cplusplus
}
#endif

#endif
