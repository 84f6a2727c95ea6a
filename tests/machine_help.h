/* SPDX-License-Identifier: BSD-2-Clause */
/* For the tests of machines: texts become machines, complaints are noted, packets are made up and given to a tracker. */
#ifndef INKLING_TESTS_MACHINE_HELP_H
#define INKLING_TESTS_MACHINE_HELP_H

#include <math.h>
#include <unistd.h>

#include <inkling/track.h>

#include "machine/tree.h"
#include "packet/classify.h"
#include "packet/video.h"
#include "tests/random.h"
#include "tests/test.h"

/* ------------------------------------------------------------ complaints */

enum { TOLD_MOST = 32 };

static struct {
	enum ink_severity severity;
	unsigned line, column;
	char text[300];
	char shown[800];
} told[TOLD_MOST];

static unsigned n_told;

static inline void note(const struct ink_complaint *c, void *user)
{
	assert_true(n_told < TOLD_MOST);
	told[n_told].severity = c->severity;
	told[n_told].line = c->line;
	told[n_told].column = c->column;
	snprintf(told[n_told].text, sizeof told[0].text, "%s", c->text);
	ink_complaint_show(c, told[n_told++].shown, sizeof told[0].shown);
}

static inline struct ink_machine *make_of(const char *text)
{
	struct ink_machine_options o = {.size = sizeof o, .file = "x.fsm", .complain = note};

	n_told = 0;
	return ink_machine_make(text, strlen(text), &o);
}

/* A machine that must be right. */
static inline struct ink_machine *made(const char *text)
{
	struct ink_machine *m = make_of(text);

	if (!m)
		fail_msg("%s", n_told ? told[0].shown : "no machine, and no reason");
	return m;
}

/* A text that is put together piece by piece. */
static struct {
	char text[INK_TEXT_MAX + 1];
	size_t n;
} draft;

__attribute__((format(printf, 1, 2))) static inline void add(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	draft.n += (size_t)vsnprintf(draft.text + draft.n, sizeof draft.text - draft.n, format, values);
	va_end(values);
	assert_true(draft.n < sizeof draft.text);
}

static inline void begin(const char *head)
{
	draft.n = 0;
	add("%s", head);
}

/* The least that is a machine, in front of what is tested. */
#define HEAD "machine m\nkey connection\nevent e = tcp\nabsent: e -> a\na: timeout 1s -> absent\n"

enum { HEAD_LINES = 5 };

/* A text with '^' at a place: a complaint about that place has these words. */
static inline void assert_complaint(const char *marked, const char *words)
{
	size_t before = strcspn(marked, "^");
	unsigned line = 1, column = 1, found = 0;

	assert_int_equal(marked[before], '^');
	for (size_t i = 0; i < before; i++) {
		line += marked[i] == '\n';
		column = marked[i] == '\n' ? 1 : column + 1;
	}
	begin("");
	add("%.*s%s", (int)before, marked, marked + before + 1);
	ink_machine_free(make_of(draft.text));
	for (unsigned i = 0; i < n_told; i++)
		found |= told[i].line == line && told[i].column == column && strstr(told[i].text, words);
	if (!found)
		fail_msg("of\n%s\nexpected '%s', got %s", marked, words, n_told ? told[0].shown : "nothing");
}

static inline void assert_error(const char *more, const char *words)
{
	char text[2000];

	snprintf(text, sizeof text, HEAD "%s", more);
	assert_complaint(text, words);
	assert_int_equal(told[0].severity, INK_ERROR);
	errno = 0;
	assert_null(make_of(draft.text));
	assert_int_equal(errno, EINVAL);
}

/* ----------------------------------------------------------------- rules */

/* Both machines test the same of a packet. */
static inline void assert_same_tests(const struct ink_machine *a, const struct ink_machine *b)
{
	assert_int_equal(a->n_tests, b->n_tests);
	for (unsigned i = 0; i < a->n_tests; i++) {
		const struct ink_test *t = &a->tests[i], *u = &b->tests[i];

		assert_int_equal(t->field, u->field);
		assert_int_equal(t->threshold, u->threshold);
		assert_int_equal(t->n_ranges, u->n_ranges);
		if (t->n_ranges)
			assert_memory_equal(t->ranges, u->ranges, t->n_ranges * sizeof *t->ranges);
	}
}

/* Both machines have the same states, events and actions, and the same rules, byte for byte. */
static inline void assert_same_rules(const struct ink_machine *a, const struct ink_machine *b)
{
	const struct ink_rules *x = ink_machine_view(a)->rules, *y = ink_machine_view(b)->rules;
	const struct ink_machine_view *v = ink_machine_view(a), *w = ink_machine_view(b);

	assert_int_equal(x->states, y->states);
	assert_int_equal(x->events, y->events);
	assert_memory_equal(x->rows, y->rows, (size_t)(x->states + 2) * x->events * sizeof *x->rows);
	assert_memory_equal(x->timings, y->timings, (x->states + 1) * sizeof *x->timings);
	assert_memory_equal(x->starts, y->starts, x->events);
	assert_int_equal(v->tick, w->tick);
	assert_int_equal(v->actions, w->actions);
	assert_memory_equal(v->on_timeout, w->on_timeout, (x->states + 1) * sizeof *v->on_timeout);
	assert_memory_equal(v->on_end, w->on_end, (x->states + 1) * sizeof *v->on_end);
	assert_int_equal(a->decision.n_nodes, b->decision.n_nodes);
	assert_int_equal(a->decision.first, b->decision.first);
	assert_memory_equal(a->decision.nodes, b->decision.nodes,
			    a->decision.n_nodes * sizeof *a->decision.nodes);
	assert_same_tests(a, b);
}

/* Two texts compile to the same rules. */
static inline void assert_same(const char *text, const char *other)
{
	struct ink_machine *a = made(text), *b = made(other);

	assert_same_rules(a, b);
	ink_machine_free(a);
	ink_machine_free(b);
}

/* Every other chance always holds, and the others never do, whoever draws. */
static inline void fix_chances(const struct ink_machines *set)
{
	for (unsigned i = 0; i < ink_machines_count(set); i++) {
		const struct ink_machine *m = ink_machines_at(set, i);

		for (unsigned t = 0; t < m->n_tests; t++)
			if (m->tests[t].field == INK_FIELD_CHANCE)
				m->tests[t].threshold = m->tests[t].length % 2 ? UINT64_MAX : 0;
	}
}

/* -------------------------------------------------------------- tracking */

static inline const char *state_name(const struct ink_machine_view *v, int state)
{
	return state == INK_ABSENT ? "absent" : v->state_names[v->state_of[state]];
}

/* A table of the machine, and a tracker. */
static struct ink_table *table;
static struct ink_track *track;
static struct ink_machine *machine;

/* Of the table, what is not given is as below. */
static inline void track_in(const char *text, struct ink_options o, struct ink_track_options k)
{
	struct ink_why why = {""};

	machine = made(text);
	o.size = sizeof o;
	o.age_bits = o.age_bits ? o.age_bits : 1;
	o.seed = 1;
	o.rules = ink_machine_view(machine)->rules;
	o.states = o.states ? o.states : o.rules->states;
	k.size = sizeof k;
	k.machine = machine;
	k.table = table = ink_create(&o, &why);
	track = table ? ink_track_open(&k, &why) : NULL;
	if (!track)
		fail_msg("%s", why.text);
}

static inline void track_with(const char *text, const struct ink_track_options *more)
{
	struct ink_track_options k = {.link = INK_LINK_ETHERNET, .seed = 1};

	track_in(text, (struct ink_options){.kind = INK_EXACT, .flows = 100}, more ? *more : k);
}

static inline int untrack(void **state)
{
	ink_track_close(track);
	ink_free(table);
	ink_machine_free(machine);
	track = NULL;
	table = NULL;
	machine = NULL;
	return 0;
}

/* Two hosts, 10.0.0.1 and 10.0.0.2; ports 1000 and 80. */
static inline struct ink_packet packet(uint8_t protocol, unsigned flags, int from_high)
{
	struct ink_packet p = {
		.version = 4, .protocol = protocol, .tcp_flags = (uint16_t)flags, .wire = 60, .captured = 60};
	static const uint8_t low[4] = {10, 0, 0, 1}, high[4] = {10, 0, 0, 2};

	memcpy(p.source, from_high ? high : low, 4);
	memcpy(p.destination, from_high ? low : high, 4);
	p.sport = from_high ? 80 : 1000;
	p.dport = from_high ? 1000 : 80;
	p.flags = from_high ? INK_FROM_HIGH : 0;
	p.ttl = 64;
	return p;
}

static inline void give(struct ink_packet p)
{
	struct ink_packets one = {.at = &p, .n = 1};

	assert_int_equal(ink_track_packets(track, &one), 0);
}

static inline void give_tcp(unsigned flags, int from_high)
{
	give(packet(INK_PROTOCOL_TCP, flags, from_high));
}

static inline void give_udp(const void *payload, size_t length)
{
	struct ink_packet p = packet(INK_PROTOCOL_UDP, 0, 0);

	p.payload = payload;
	p.payload_captured = p.payload_wire = (uint32_t)length;
	give(p);
}

/* The written state of the one flow that there is. */
static inline const char *state_now(void)
{
	const struct ink_machine_view *v = ink_machine_view(machine);
	struct ink_counts counts;

	ink_census(table, &counts);
	for (unsigned i = 0; i < v->rules->states; i++)
		if (counts.state[i])
			return state_name(v, (int)i);
	return "absent";
}

/* Packets of the one flow, and the state after each; `turned`: the other end sends. */
struct step {
	unsigned flags;
	int from_high;
	const char *state;
};

static inline void take_steps(int turned, const struct step *steps)
{
	for (; steps->state; steps++) {
		give_tcp(steps->flags, steps->from_high ^ turned);
		assert_string_equal(state_now(), steps->state);
	}
}

#define STEPS(...) take_steps(0, (const struct step[]){__VA_ARGS__, {0, 0, NULL}})

static inline uint64_t counted(const char *name)
{
	const struct ink_machine_view *v = ink_machine_view(machine);

	for (unsigned i = 0; i < v->counters; i++)
		if (!strcmp(v->counter_names[i], name))
			return ink_track_counters(track)[i];
	fail_msg("no counter %s", name);
	return 0;
}

static const char handshake[] =
	"machine m\nkey connection\nremember initiator\n"
	"start event syn = tcp and syn and not ack\nevent synack = syn and ack\nevent ack = ack\n"
	"absent: syn -> opening\n"
	"opening: syn | synack from responder -> answered | end, timeout 10s -> absent / count unanswered\n"
	"answered: ack from initiator -> done / count done | timeout 10s -> absent\n"
	"done: * | timeout 1h -> absent\n";

enum { SYN = INK_TCP_SYN, ACK = INK_TCP_ACK, FIN = INK_TCP_FIN, RST = INK_TCP_RST };

#endif
