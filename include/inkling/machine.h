/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Machines: what can happen to a flow and what follows, read from text.
 *
 *     struct ink_machine_options o = { .size = sizeof o, .complain = show };
 *     struct ink_machine *m = ink_machine_load("tcp", &o, NULL);
 *     const struct ink_machine_view *v = ink_machine_view(m);
 *
 *     struct ink_options t = { .size = sizeof t, .states = v->rules->states, .rules = v->rules, ... };
 *     ...
 *     ink_machine_free(m);
 *
 * The language stands in docs/machine-language.md and inkling-machine(5). What
 * is here knows no packets: the conditions of events are run by the library
 * inkling-packet (track.h).
 *
 * Returns and structs are as in inkling.h. A machine does not change once it is
 * made: any number of threads may use it.
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

/* ------------------------------------------------------------- complaints */

enum ink_severity {
	INK_ERROR = 1,  /* there will be no machine */
	INK_WARNING = 2 /* there will be one that may not be what was meant */
};

/* Something that is wrong with a text. All of it lives only during the call of `complain`. */
struct ink_complaint {
	enum ink_severity severity;
	const char *file;      /* as the options had it */
	unsigned line, column; /* from 1; columns are bytes */
	const char *text;      /* what is wrong */
	const char *source;    /* the line of the text, without its end; not terminated */
	size_t source_length;
};

/*
 * Writes a complaint as people know it from compilers, three lines: where and
 * what, the line, a caret. Writes at most `size` bytes, the last of them 0.
 */
void ink_complaint_show(const struct ink_complaint *complaint, char *text, size_t size);

/* ----------------------------------------------------------------- making */

struct ink_machine_options {
	size_t size;
	const char *file; /* for complaints; default: the name given to ink_machine_load, or "machine" */
	int strict;       /* non-zero: warnings are errors */
	const struct ink_machine
		*like; /* states of the same name get the same numbers; see ink_track_exchange */
	void (*complain)(const struct ink_complaint *complaint, void *user); /* or NULL */
	void *user;
	/*
	 * Is this a `filter`? 0, or -errno and the reason, which becomes a complaint. NULL: filters are
	 * not checked until ink_track_open. ink_filter_try (packet.h) is such a function.
	 */
	int (*try_filter)(const char *filter, struct ink_why *why);
	/*
	 * Called every millisecond or so while the text is compiled, with `user`. Non-zero: compiling ends,
	 * NULL with errno ECANCELED. A program that ends on a signal returns its flag here. Or NULL.
	 */
	int (*cancelled)(void *user);
};

/*
 * Makes a machine of a text of `length` bytes. The result belongs to the
 * caller: ink_machine_free it. NULL with errno: EINVAL (there were complaints;
 * the first 20 were reported; or the options' size is wrong), ECANCELED, ENOMEM.
 * `options` may be NULL. Thread-safe.
 *
 * Compiling takes at most 256 MiB and, on an ordinary processor, 2 s for any
 * text: one that would take more is refused with a complaint.
 */
struct ink_machine *ink_machine_make(const char *text, size_t length,
				     const struct ink_machine_options *options);

/*
 * The same from a file, if the name has a slash in it or ends in ".fsm"; else
 * of the bundled machine of that name. Also NULL with what the system said
 * about the file; `why` has the reason if it is not a complaint.
 */
struct ink_machine *ink_machine_load(const char *name, const struct ink_machine_options *options,
				     struct ink_why *why);

/* Frees a machine; NULL is allowed. */
void ink_machine_free(struct ink_machine *machine);

/* A machine that comes with the library. */
struct ink_bundled {
	const char *name;
	const char *text;
	size_t length;
};

/* The i-th of them, in alphabetical order; NULL behind the last. */
const struct ink_bundled *ink_bundled(unsigned i);

/*
 * The machine as a graph, in the language of Graphviz; free() it. NULL with
 * errno ENOMEM.
 */
char *ink_machine_draw(const struct ink_machine *machine);

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
	const char *report; /* NULL: none */
	const struct ink_counting *countings;
	unsigned n_countings;
	enum ink_verdict verdict;
	uint32_t mark;
	uint8_t marks; /* non-zero: the packet gets the mark */
	uint8_t saves; /* non-zero: the packet is to be written */
};

/*
 * What a machine is. Written states and events are those of the text; the
 * compiler makes several of one where something is to be remembered, and the
 * rules have those.
 */
struct ink_machine_view {
	const char *name;
	enum ink_key key;
	uint64_t tick; /* nanoseconds; periods of the rules count these */
	int timeouts;  /* non-zero: a state has one */
	int weighs;    /* non-zero: conditions look at counters */
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
	const struct ink_action *action; /* what the numbers in rows and moves mean; [0] does nothing */
	const uint16_t *on_timeout; /* rules.states + 1: the action, only countings; the last is of unsure */
	const uint16_t *on_end;     /* likewise */
};

/* It lives as long as the machine. */
const struct ink_machine_view *ink_machine_view(const struct ink_machine *machine);

#ifdef __cplusplus
}
#endif

#endif
