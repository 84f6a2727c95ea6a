/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tool's side of the kernel: what it refuses, what it writes into maps and reads from them, pins, hooks.
 *
 * The test has a network and a bpf file system of its own, which end with it, failed or not.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <inkling/packet.h>

#include "kernel/inside.h"
#include "tests/no_links.h"
#include "tests/scratch.h"

/* --------------------------------------------------------------- machines */

/* Five states, with both initiators of `open`: entries of its table can name seven. */
#define TCP                                                                                                       \
	"machine one\nkey connection\nremember initiator\nstart event syn = tcp and syn and not ack\n"            \
	"event ack = tcp and ack\nabsent : syn -> open / count begun\nopen : ack from responder -> done / count " \
	"answered | timeout 30s -> absent\ndone : ack -> later | timeout 60s -> absent\n"                         \
	"later : ack -> last | timeout 60s -> absent\nlast : ack | timeout 90s -> absent\n"

/* With another state in front, and without the last three. */
#define OTHER                                                                                                \
	"machine one\nkey connection\nremember initiator\nstart event syn = tcp and syn and not ack\n"       \
	"event ack = tcp and ack\nabsent : syn -> fresh / count seen\nfresh : ack -> open / count begun | "  \
	"timeout 30s -> absent\nopen : ack from responder / count answered | timeout 45s -> absent\n"

struct made {
	struct ink_machines *machines;
	struct ink_kernel_source source[2];
	struct ink_options tables[INK_KERNEL_MACHINES];
	struct ink_kernel_place place[4];
	struct ink_kernel_options o;
	int live; /* by the boot clock */
};

static char complaint[300];

static void complain(const struct ink_complaint *c, void *user)
{
	(void)user;
	snprintf(complaint, sizeof complaint, "%s:%u:%u: %s", c->file, c->line, c->column, c->text);
}

/* Options for a machine of that text, attached nowhere. */
static struct made made(const char *text)
{
	struct ink_machine_options mo = {.size = sizeof mo, .file = "test.fsm", .complain = complain};
	struct made m = {.source = {{"test.fsm", text, strlen(text)}}};

	complaint[0] = 0;
	m.machines = ink_machines_make(text, strlen(text), &mo);
	if (!m.machines)
		fail_msg("%s", complaint);
	for (unsigned i = 0; i < INK_KERNEL_MACHINES; i++)
		m.tables[i] = (struct ink_options){.size = sizeof m.tables[i], .flows = 10000, .seed = 7};
	return m;
}

static const struct ink_kernel_options *options(struct made *m)
{
	m->o.machines = m->machines;
	m->o.sources = m->source;
	m->o.n_sources = 1;
	m->o.tables = m->tables;
	m->o.places = m->place;
	m->o.test_clock = !m->live;
	return &m->o;
}

static struct ink_kernel *make(struct made *m)
{
	struct ink_why why = {""};
	struct ink_kernel *k = ink_kernel_make(options(m), &why);

	if (!k)
		fail_msg("%s", why.text);
	return k;
}

/* Attached nowhere, and with the program of one hook: to verify all of them takes long where a kernel is emulated. */
static struct ink_kernel *make_unpinned(struct made *m)
{
	int queues = ink_machine_view(ink_machines_at(m->machines, 0))->queues;

	m->o.dry_run = 1;
	m->o.n_places = 1;
	m->o.queue_rate = queues ? 1000000 : 0;
	m->place[0] = (struct ink_kernel_place){
		.interface = "lo", .index = 1, .hook = queues ? INK_KERNEL_EGRESS : INK_KERNEL_XDP};
	return make(m);
}

static void end(struct made *m, struct ink_kernel *k)
{
	ink_kernel_close(k);
	ink_machines_free(m->machines);
}

static const struct ink_machine_view *view_of(struct ink_kernel *k)
{
	return ink_machine_view(ink_machines_at(ink_kernel_machines(k), 0));
}

static uint64_t packets(struct ink_kernel *k)
{
	struct ink_kernel_counts c;

	assert_int_equal(ink_kernel_counts(k, 0, &c), 0);
	return c.packets;
}

/* --------------------------------------------------------------- refusals */

static void refused(const char *text, int enforce, enum ink_kernel_hook hook, const char *expected)
{
	struct made m = made(text);
	struct ink_why why = {""};

	m.o.enforce = enforce;
	m.o.n_places = 1;
	m.place[0] = (struct ink_kernel_place){.interface = "lo", .hook = hook};
	assert_int_equal(ink_kernel_check(options(&m), &why), expected ? -ENOTSUP : 0);
	if (expected)
		assert_string_equal(why.text, expected);
	ink_machines_free(m.machines);
}

#define HEAD "machine m\nkey flow\nevent e = tcp\n"

static void what_the_kernel_cannot_do_is_refused_with_its_place(void **state)
{
	(void)state;
	refused("machine m\nkey flow\nevent e = udp or\n  filter \"tcp[2] > 3\"\nabsent : e -> s\ns : end -> absent\n",
		0, INK_KERNEL_XDP,
		"test.fsm:4:10: machine m: a filter cannot run in the kernel; use conditions");
	refused(HEAD "absent : e -> s / count c, mark 7\ns : end -> absent\n", 1, INK_KERNEL_XDP,
		"test.fsm:4:28: machine m: XDP cannot mark packets; attach it at ingress or egress");
	refused(HEAD "absent : e -> s / mark 7\ns : end -> absent\n", 1, INK_KERNEL_INGRESS, NULL);
	refused(HEAD "absent : e -> s / mark 7\ns : end -> absent\n", 0, INK_KERNEL_XDP, NULL);
	refused(HEAD "absent : e -> s / drop\ns : end -> absent\n", 1, INK_KERNEL_XDP, NULL);
	refused(HEAD
		"absent : e -> s / count c, count c, count c, count c, count c, count c, count c, count c, "
		"count c, count c, count c, count c, count c, count c, count c, count c, count c\ns : end -> "
		"absent\n",
		0, INK_KERNEL_XDP, "test.fsm:4:10: machine m: a row that counts 17 times; in the kernel 16");
}

static void a_machine_without_filter_is_not_refused(void **state)
{
	(void)state;
	for (unsigned i = 0; ink_bundled(i); i++)
		refused(ink_bundled(i)->text, 1, INK_KERNEL_EGRESS, NULL);
}

/* ------------------------------------------------------------ compilation */

static void rows_and_states_stand_by_their_codes(void **state)
{
	struct made m = made(TCP);
	const struct ink_machine *machine = ink_machines_at(m.machines, 0);
	const struct ink_rules *r = machine->view.rules;
	struct ink_kernel_numbering numbering = {.codes = 7};
	struct ink_kernel_numbers numbers;
	struct ink_kernel_half half;
	const struct ink_kernel_machine *out;
	const struct ink_kernel_row *rows;
	const struct ink_kernel_state *states;
	uint32_t base[INK_KERNEL_PARTS];

	(void)state;
	for (unsigned i = 0; i < INK_KERNEL_PARTS; i++)
		base[i] = 1000 * i;
	/* A flow of a state that is gone has the first code. */
	numbering.code[0].name = strdup("gone");
	assert_int_equal(ink_kernel_number(&numbering, machine, &numbers, NULL), 0);
	ink_kernel_half_init(&half, base);
	assert_int_equal(ink_kernel_compile(&(struct ink_kernel_compiling){&half, machine, 0, &numbers, 7}),
			 0);
	out = (const void *)half.part[INK_PART_MACHINES].at;
	rows = (const void *)half.part[INK_PART_ROWS].at;
	states = (const void *)half.part[INK_PART_STATES].at;
	assert_int_equal(out->rows_at, 1000 * INK_PART_ROWS);
	assert_int_equal(half.part[INK_PART_ROWS].n, 9 * r->events);
	for (unsigned e = 0; e < r->events; e++) {
		assert_int_equal(rows[e].next, INK_NO_ROW);
		for (unsigned s = 0; s < r->states + 2; s++) {
			unsigned line = s < r->states ? numbers.code_of[s] : 7 + s - r->states;
			const struct ink_row *row = &r->rows[s * r->events + e];
			const struct ink_kernel_row *mine = &rows[line * r->events + e];

			assert_int_equal(mine->action, row->action);
			assert_int_equal(mine->next, row->next < 0 ? row->next : numbers.code_of[row->next]);
		}
	}
	assert_int_equal(states[numbers.code_of[0]].period, r->timings[0].period);
	assert_int_equal(states[0].period, r->timings[r->states].period);
	assert_int_equal(states[0].timeout, INK_ABSENT);
	ink_kernel_half_free(&half);
	ink_kernel_numbering_free(&numbering);
	ink_machines_free(m.machines);
}

static void the_first_node_is_known_for_each_protocol(void **state)
{
	struct made m = made(
		"machine m\nkey flow\nevent a = tcp and syn\nevent b = udp and dst port 53\nabsent : a, b -> s\n"
		"s : end -> absent\n");
	const struct ink_machine *machine = ink_machines_at(m.machines, 0);
	struct ink_kernel_numbering numbering = {.codes = 3};
	struct ink_kernel_numbers numbers;
	struct ink_kernel_half half;
	const struct ink_kernel_machine *out;
	const struct ink_kernel_node *nodes;

	(void)state;
	assert_int_equal(ink_kernel_number(&numbering, machine, &numbers, NULL), 0);
	ink_kernel_half_init(&half, NULL);
	assert_int_equal(ink_kernel_compile(&(struct ink_kernel_compiling){&half, machine, 0, &numbers, 3}),
			 0);
	out = (const void *)half.part[INK_PART_MACHINES].at;
	nodes = (const void *)half.part[INK_PART_NODES].at;
	assert_int_equal(out->by_flags[INK_TCP_SYN], ~0);
	assert_int_equal(out->by_flags[INK_TCP_ACK], ~2);
	assert_int_equal(out->by_protocol[INK_PROTOCOL_ICMP], ~2);
	assert_true(out->by_protocol[INK_PROTOCOL_UDP] >= 0);
	assert_int_equal(nodes[out->by_protocol[INK_PROTOCOL_UDP]].field, INK_FIELD_DPORT);
	assert_int_equal(nodes[out->by_protocol[INK_PROTOCOL_UDP]].low, 53);
	ink_kernel_half_free(&half);
	ink_kernel_numbering_free(&numbering);
	ink_machines_free(m.machines);
}

/* --------------------------------------------------------------- numbering */

static void states_keep_their_codes_by_name(void **state)
{
	struct made a = made(TCP), b = made(OTHER);
	struct ink_kernel_numbering n = {.codes = 7};
	struct ink_kernel_numbers x, y, z;
	const struct ink_machine *first = ink_machines_at(a.machines, 0),
				 *second = ink_machines_at(b.machines, 0);

	(void)state;
	assert_int_equal(ink_kernel_number(&n, first, &x, NULL), 0);
	assert_int_equal(ink_kernel_number(&n, second, &y, NULL), 0);
	/* TCP: open for each initiator, done, later, last. OTHER: fresh and open, each twice. */
	assert_int_equal(first->view.rules->states, 5);
	assert_int_equal(second->view.rules->states, 4);
	assert_int_equal(y.code_of[2], x.code_of[0]);
	assert_int_equal(y.code_of[3], x.code_of[1]);
	assert_int_equal(y.number_of[x.code_of[2]], -1);
	assert_string_equal(n.code[x.code_of[2]].name, "done");
	assert_int_equal(ink_kernel_number(&n, first, &z, NULL), 0);
	assert_memory_equal(x.code_of, z.code_of, 5 * sizeof *x.code_of);
	ink_kernel_numbering_free(&n);
	ink_machines_free(a.machines);
	ink_machines_free(b.machines);
}

static void more_states_than_codes_are_refused(void **state)
{
	struct made a = made(TCP), b = made(OTHER);
	struct ink_kernel_numbering n = {.codes = 5};
	struct ink_kernel_numbers x;
	struct ink_why why = {""};

	(void)state;
	assert_int_equal(ink_kernel_number(&n, ink_machines_at(a.machines, 0), &x, NULL), 0);
	assert_int_equal(ink_kernel_number(&n, ink_machines_at(b.machines, 0), &x, &why), -ENOSPC);
	assert_non_null(
		strstr(why.text, "test.fsm:1:1: machine one: its states and those of flows from before"));
	ink_kernel_numbering_free(&n);
	ink_machines_free(a.machines);
	ink_machines_free(b.machines);
}

static void counters_keep_their_slots_and_new_ones_get_unused(void **state)
{
	struct made a = made(TCP), b = made(OTHER);
	struct ink_kernel_numbering n = {.codes = 7};
	struct ink_kernel_numbers x, y;

	(void)state;
	assert_int_equal(ink_kernel_number(&n, ink_machines_at(a.machines, 0), &x, NULL), 0);
	assert_int_equal(ink_kernel_number(&n, ink_machines_at(b.machines, 0), &y, NULL), 0);
	/* begun, answered; seen, begun, answered */
	assert_int_equal(y.slot_of[1], x.slot_of[0]);
	assert_int_equal(y.slot_of[2], x.slot_of[1]);
	assert_int_equal(y.slot_of[0], 2);
	ink_kernel_numbering_free(&n);
	ink_machines_free(a.machines);
	ink_machines_free(b.machines);
}

/* ------------------------------------------------------------------ tables */

/* A table of user space with flows, as the set's own is planned. */
static struct ink_table *filled(struct made *m, unsigned flows)
{
	const struct ink_machine *machine = ink_machines_at(m->machines, 0);
	struct ink_why why = {""};
	struct ink_table *t = ink_kernel_plan(&m->tables[0], machine, 0, &why);

	if (!t)
		fail_msg("%s", why.text);
	for (uint64_t i = 0; i < flows; i++)
		ink_insert(t, ink_id(t, &i, sizeof i), (unsigned)(i % machine->view.rules->states));
	return t;
}

static void save(const struct ink_table *t, struct ink_buffer *b)
{
	b->room = 1 << 22;
	b->bytes = malloc(b->room);
	assert_int_equal(ink_save_buffer(t, b, NULL, NULL), 0);
}

static void assert_same_snapshot(const struct ink_table *a, const struct ink_table *b)
{
	struct ink_buffer x, y;

	save(a, &x);
	save(b, &y);
	assert_int_equal(x.used, y.used);
	assert_memory_equal(x.bytes, y.bytes, x.used);
	free(x.bytes);
	free(y.bytes);
}

static void a_new_table_is_that_of_user_space(void **state)
{
	(void)state;
	for (unsigned i = 0; ink_bundled(i); i += getenv("INK_TEST_SCALE") ? 5 : 1) {
		struct made m = made(ink_bundled(i)->text);
		struct ink_kernel *k = make_unpinned(&m);
		struct ink_table *t = filled(&m, 0), *copy = ink_kernel_copy(k, 0, NULL);

		assert_non_null(copy);
		assert_same_snapshot(t, copy);
		ink_free(t);
		ink_free(copy);
		end(&m, k);
	}
}

static void a_loaded_table_comes_back_as_it_was(void **state)
{
	struct made m = made(TCP);
	struct ink_table *t = filled(&m, 9500), *copy;
	struct ink_kernel *k;

	(void)state;
	ink_tick(t, 40, NULL);
	assert_int_equal(ink_save(t, scratch_file, NULL), 0);
	m.o.load = scratch_file;
	k = make_unpinned(&m);
	copy = ink_kernel_copy(k, 0, NULL);
	assert_non_null(copy);
	assert_int_equal(ink_check(copy, NULL), 0);
	assert_int_equal(ink_now(copy), 40);
	assert_same_snapshot(t, copy);
	assert_int_equal(ink_kernel_snapshot(k, scratch_file, NULL), 0);
	ink_free(copy);
	copy = ink_load(scratch_file, INK_LOAD_READ, NULL);
	assert_non_null(copy);
	ink_free(copy);
	ink_free(t);
	end(&m, k);
}

static void a_snapshot_of_several_is_a_set(void **state)
{
	struct made m =
		made(TCP "machine two\nkey pair\nevent all = tcp\nabsent : all -> s\ns : end -> absent\n");
	struct ink_kernel *k = make_unpinned(&m);
	struct ink_loaded_set *set;

	(void)state;
	assert_int_equal(ink_kernel_snapshot(k, scratch_file, NULL), 0);
	set = ink_load_set(scratch_file, NULL, NULL);
	assert_non_null(set);
	assert_int_equal(ink_loaded_set_count(set), 2);
	assert_string_equal(ink_loaded_set_name(set, 1), "two");
	ink_loaded_set_free(set);
	ink_kernel_close(k);
	m.o.load = scratch_file;
	k = make(&m);
	end(&m, k);
}

static void a_snapshot_with_too_few_states_is_refused(void **state)
{
	struct made m = made(TCP);
	struct ink_options o = {.size = sizeof o, .states = 2, .flows = 1000, .writers = 2, .age_bits = 2};
	struct ink_table *t = ink_create(&o, NULL);
	struct ink_why why = {""};

	(void)state;
	ink_save(t, scratch_file, NULL);
	ink_free(t);
	m.o.load = scratch_file;
	m.o.unpinned = 1;
	assert_null(ink_kernel_make(options(&m), &why));
	assert_non_null(strstr(why.text, "a table with 2 states; machine one has 5"));
	ink_machines_free(m.machines);
}

/* Stores an entry in an empty lane of a part; 0: there is none. */
static int store(const struct ink_line_shape *s, uint64_t *words, uint32_t entry)
{
	for (uint32_t i = 0; i < s->words; i++)
		for (uint32_t lane = 0; lane < s->lanes; lane++)
			if (!ink_line_entry(s, words[i], lane * s->column_bits)) {
				words[i] |= ink_line_spread(s, lane * s->column_bits, entry);
				return 1;
			}
	return 0;
}

/* Two entries that no search can tell apart, as of a flow that moved while it was copied: the copy keeps one. */
static void twins_of_a_copy_are_dropped(void **state)
{
	struct made m = made(TCP);
	struct ink_table *t = filled(&m, 5000), *copy;
	struct ink_kernel *k;
	struct ink_counts before, after;
	struct ink_line_shape s;
	uint64_t *words;
	unsigned twins = 0;

	(void)state;
	assert_int_equal(ink_save(t, scratch_file, NULL), 0);
	ink_census(t, &before);
	m.o.load = scratch_file;
	k = make_unpinned(&m);
	s = ink_kernel_table(k, 0)->shape;
	words = (uint64_t *)(void *)k->map[INK_MAP_BODY].at;
	for (uint32_t part = 0; part < s.parts && twins < 50; part++) {
		uint32_t entry = ink_line_entry(&s, words[(uint64_t)part * s.words], 0);
		uint32_t other = entry ? ink_line_other(&s, part, ink_line_entry_fp(&s, entry)) : 0;

		if (entry)
			twins += (unsigned)store(&s, words + (uint64_t)other * s.words, entry);
	}
	assert_int_equal(twins, 50);
	copy = ink_kernel_copy(k, 0, NULL);
	assert_int_equal(ink_check(copy, NULL), 0);
	ink_census(copy, &after);
	assert_int_equal(before.total, after.total);
	ink_free(copy);
	ink_free(t);
	end(&m, k);
}

/* ------------------------------------------------------------------ reload */

static void a_reload_keeps_flows_by_the_names_of_their_states(void **state)
{
	struct made a = made(TCP), b = made(OTHER);
	struct ink_table *t, *copy;
	struct ink_counts before, after;
	struct ink_kernel *k;
	struct ink_why why = {""};

	(void)state;
	t = filled(&a, 6000);
	ink_census(t, &before);
	assert_int_equal(ink_save(t, scratch_file, NULL), 0);
	a.o.load = scratch_file;
	k = make_unpinned(&a);
	if (ink_kernel_reload(k, options(&b), &why))
		fail_msg("%s", why.text);
	assert_int_equal(ink_kernel_control(k)->generation, 1);
	assert_string_equal(view_of(k)->state_names[0], "fresh");
	copy = ink_kernel_copy(k, 0, &why);
	if (!copy)
		fail_msg("%s", why.text);
	assert_int_equal(ink_check(copy, NULL), 0);
	ink_census(copy, &after);
	/* fresh: 0, 1; open: 2, 3; and behind them those that are gone. */
	assert_int_equal(after.state[0] + after.state[1], 0);
	assert_int_equal(after.state[2], before.state[0]);
	assert_int_equal(after.state[3], before.state[1]);
	for (unsigned i = 2; i < 5; i++)
		assert_int_equal(after.state[i + 2], before.state[i]);
	for (uint64_t i = 0; i < 6000; i++) {
		ink_answer old = ink_peek(t, ink_id(t, &i, sizeof i));

		if (old >= 0)
			assert_int_equal(ink_peek(copy, ink_id(copy, &i, sizeof i)), old + 2);
	}
	ink_free(copy);
	assert_int_equal(ink_kernel_reload(k, options(&a), &why), 0);
	copy = ink_kernel_copy(k, 0, NULL);
	ink_census(copy, &after);
	assert_memory_equal(before.state, after.state, 5 * sizeof *before.state);
	ink_free(copy);
	ink_free(t);
	ink_machines_free(b.machines);
	end(&a, k);
}

static void a_reload_that_is_refused_changes_nothing(void **state)
{
	struct made
		a = made(TCP),
		b = made("machine one\nkey pair\nevent e = tcp\nabsent : e -> s\ns : end -> absent\n"),
		c = made("machine two\nkey connection\nevent e = tcp\nabsent : e -> s\ns : end -> absent\n");
	struct ink_kernel *k = make_unpinned(&a);
	struct ink_why why = {""};

	(void)state;
	assert_int_equal(ink_kernel_reload(k, options(&b), &why), -EINVAL);
	assert_string_equal(why.text, "test.fsm:1:1: machine one: its flows have another key");
	assert_int_equal(ink_kernel_reload(k, options(&c), &why), -EINVAL);
	assert_string_equal(why.text,
			    "test.fsm:1:1: machine two is in the place of one: names and order stay");
	assert_int_equal(ink_kernel_control(k)->generation, 0);
	assert_int_equal(view_of(k)->states, 4);
	ink_machines_free(b.machines);
	ink_machines_free(c.machines);
	end(&a, k);
}

/* The room of a half is twice what the first machines needed, and at least some. */
static void machines_that_need_more_room_are_refused(void **state)
{
	size_t room = 1 << 20, n = 0;
	char *text = malloc(room);
	struct made a = made(TCP), b;
	struct ink_kernel *k = make_unpinned(&a);
	struct ink_why why = {""};

	(void)state;
	n += (size_t)snprintf(text, room, "machine one\nkey connection\n");
	for (unsigned e = 0; e < 9; e++) {
		n += (size_t)snprintf(text + n, room - n, "event e%u = tcp and sport {%u", e, 50000 + e);
		for (unsigned i = 1; i < 20; i++)
			n += (size_t)snprintf(text + n, room - n, ", %u", i * 40 + e);
		n += (size_t)snprintf(text + n, room - n, "}\n");
	}
	snprintf(text + n, room - n, "absent : * -> open\nopen : end -> absent\n");
	b = made(text);
	assert_int_equal(ink_kernel_reload(k, options(&b), &why), -E2BIG);
	assert_non_null(strstr(why.text, "of ports; room for 8 was made"));
	assert_int_equal(ink_kernel_control(k)->generation, 0);
	ink_machines_free(b.machines);
	end(&a, k);
	free(text);
}

static void many_reloads_end_where_they_began(void **state)
{
	struct made a = made(TCP), b = made(OTHER);
	struct ink_kernel *k = make_unpinned(&a);

	(void)state;
	for (unsigned i = 0; i < 50; i++)
		assert_int_equal(ink_kernel_reload(k, options(i % 2 ? &a : &b), NULL), 0);
	assert_int_equal(ink_kernel_control(k)->generation, 50);
	assert_int_equal(view_of(k)->states, 4);
	ink_machines_free(b.machines);
	end(&a, k);
}

/* -------------------------------------------------------------------- pins */

static struct ink_kernel *make_named(struct made *m, const char *name)
{
	m->o.name = name;
	return make(m);
}

static void assert_mode(const char *path, unsigned mode)
{
	struct stat s;

	if (stat(path, &s))
		fail_msg("%s: %s", path, strerror(errno));
	assert_int_equal(s.st_mode & 07777, mode);
}

static void pins_are_for_their_owner_alone(void **state)
{
	struct made m = made(TCP);
	struct ink_kernel *k = make_named(&m, "eth0.100");

	(void)state;
	assert_mode("/sys/fs/bpf/inkling", 0700);
	assert_mode("/sys/fs/bpf/inkling/eth0:100", 0700);
	assert_mode("/sys/fs/bpf/inkling/eth0:100/map_tables", 0600);
	assert_mode("/sys/fs/bpf/inkling/eth0:100/prog_ink_xdp", 0600);
	assert_int_equal(ink_kernel_detach(k, NULL), 0);
	assert_int_equal(access("/sys/fs/bpf/inkling/eth0:100", F_OK), -1);
	end(&m, k);
}

static void a_set_is_opened_by_its_name(void **state)
{
	struct made m = made(TCP), b = made(OTHER);
	struct ink_kernel *k = make_named(&m, "x"), *again, *third;
	char names[4][INK_KERNEL_PATH + 1];
	struct ink_why why = {""};

	(void)state;
	ink_kernel_close(k);
	assert_int_equal(ink_kernel_list(names, 4, NULL), 1);
	assert_string_equal(names[0], "x");
	again = ink_kernel_open("x", &why);
	if (!again)
		fail_msg("%s", why.text);
	assert_string_equal(view_of(again)->state_names[1], "done");
	third = ink_kernel_open("x", NULL);
	assert_int_equal(ink_kernel_reload(third, options(&b), &why), 0);
	/* What another process exchanged is seen. */
	struct ink_table *copy = ink_kernel_copy(again, 0, &why);
	assert_non_null(copy);
	assert_string_equal(view_of(again)->state_names[0], "fresh");
	ink_free(copy);
	ink_kernel_close(third);
	third = ink_kernel_open("x", NULL);
	assert_string_equal(view_of(third)->state_names[0], "fresh");
	ink_kernel_close(third);
	assert_int_equal(ink_kernel_detach(again, NULL), 0);
	ink_kernel_close(again);
	assert_null(ink_kernel_open("x", &why));
	assert_int_equal(errno, ENOENT);
	ink_machines_free(m.machines);
	ink_machines_free(b.machines);
}

static void a_name_is_attached_once(void **state)
{
	struct made m = made(TCP);
	struct ink_kernel *k = make_named(&m, "x");
	struct ink_why why = {""};

	(void)state;
	assert_null(ink_kernel_make(options(&m), &why));
	assert_int_equal(errno, EEXIST);
	assert_non_null(strstr(why.text, "x is attached already"));
	assert_non_null(ink_kernel_control(k));
	ink_kernel_detach(k, NULL);
	end(&m, k);
}

static void what_a_killed_tool_left_is_replaced(void **state)
{
	struct made m = made(TCP);
	struct ink_kernel *k = make_named(&m, "x");

	(void)state;
	ink_kernel_controls(k)->version = 0;
	ink_kernel_close(k);
	assert_null(ink_kernel_open("x", NULL));
	assert_int_equal(errno, EPROTO);
	k = make_named(&m, "x");
	ink_kernel_detach(k, NULL);
	end(&m, k);
}

static void a_set_of_another_version_can_be_removed(void **state)
{
	struct made m = made(TCP);
	struct ink_kernel *k = make_named(&m, "x");

	(void)state;
	ink_kernel_controls(k)->version = 99;
	assert_null(ink_kernel_open("x", NULL));
	assert_int_equal(errno, EPROTO);
	assert_int_equal(ink_kernel_remove("x", NULL), 0);
	assert_int_equal(ink_kernel_remove("x", NULL), -ENOENT);
	end(&m, k);
}

static void names_are_checked(void **state)
{
	const char *wrong[] = {"", "a/b", "..", "a b", "a:b"};
	struct ink_why why;

	(void)state;
	for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		assert_null(ink_kernel_open(wrong[i], &why));
		assert_int_equal(errno, EINVAL);
	}
}

static void a_text_that_was_damaged_is_not_read(void **state)
{
	struct made m = made(TCP);
	struct ink_kernel *k = make_named(&m, "x");
	unsigned char *text = k->map[INK_MAP_TEXT].at;

	(void)state;
	for (unsigned i = 0; i < 700; i++) {
		text[i] ^= 0x41;
		assert_null(ink_kernel_open("x", NULL));
		assert_int_equal(errno, EPROTO);
		text[i] ^= 0x41;
	}
	ink_kernel_detach(k, NULL);
	end(&m, k);
}

/* A copy and a reload read the body by them. */
static void a_table_that_is_not_that_of_its_plan_is_not_read(void **state)
{
	static const size_t fields[] = {offsetof(struct ink_kernel_table, base),
					offsetof(struct ink_kernel_table, shape.lines),
					offsetof(struct ink_kernel_table, shape.lanes),
					offsetof(struct ink_kernel_table, shape.column_bits),
					offsetof(struct ink_kernel_table, state_bits),
					offsetof(struct ink_kernel_table, age_bits),
					offsetof(struct ink_kernel_table, side_words),
					offsetof(struct ink_kernel_table, side_width),
					offsetof(struct ink_kernel_table, side_code_bits)};
	struct made a = made(TCP), b = made(OTHER);
	struct ink_kernel *k = make_unpinned(&a);

	(void)state;
	for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		uint32_t *field = (uint32_t *)(void *)((char *)ink_kernel_tables(k, 0) + fields[i]);
		uint32_t was = *field;

		*field = 1u << 28;
		assert_null(ink_kernel_copy(k, 0, NULL));
		assert_int_equal(errno, EPROTO);
		assert_int_equal(ink_kernel_reload(k, options(&b), NULL), -EPROTO);
		*field = was;
	}
	assert_int_equal(ink_kernel_reload(k, options(&b), NULL), 0);
	ink_machines_free(b.machines);
	end(&a, k);
}

/* ----------------------------------------------------------------- reports */

static int ignore(const struct ink_kernel_report *r, const uint8_t *frame, void *user)
{
	(void)r;
	(void)frame;
	(void)user;
	return 0;
}

/* Another process reads the reports until it is killed. */
static pid_t reader(const char *name)
{
	int ready[2];
	char byte;
	pid_t child;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		struct ink_kernel *k = ink_kernel_open(name, NULL);

		if (k && !ink_kernel_listen(k, ignore, NULL, NULL) && write(ready[1], "r", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return child;
}

static void a_second_reader_is_refused_while_the_first_lives(void **state)
{
	struct made m = made(TCP);
	struct ink_kernel *k = make_named(&m, "x");
	pid_t child = reader("x");
	struct ink_why why = {""};
	char expected[100];

	(void)state;
	snprintf(expected, sizeof expected, "x: process %d reads its reports", child);
	assert_int_equal(ink_kernel_listen(k, ignore, NULL, &why), -EBUSY);
	assert_string_equal(why.text, expected);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	assert_int_equal(ink_kernel_listen(k, ignore, NULL, &why), 0);
	assert_int_equal(ink_kernel_poll(k, 0), 0);
	ink_kernel_detach(k, NULL);
	end(&m, k);
}

/* ----------------------------------------------------------------- packets */

enum { FRAME = 60, FLAGS_AT = 47 };

/* An Ethernet frame with TCP over IPv4, of that flow, from either end. */
static void tcp_frame(uint8_t f[FRAME], uint32_t flow, unsigned flags, int back)
{
	static const uint8_t head[] = {2, 0, 0,    0, 0, 1,  2, 0, 0, 0, 0,  2,
				       8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 6};
	uint8_t ends[2][6] = {{10, 0, (uint8_t)(flow >> 8), (uint8_t)flow, 0x30, 0x39},
			      {192, 0, 2, 1, 0, 80}};

	memset(f, 0, FRAME);
	memcpy(f, head, sizeof head);
	for (int i = 0; i < 2; i++) {
		memcpy(f + 26 + 4 * i, ends[i ^ back], 4);
		memcpy(f + 34 + 2 * i, ends[i ^ back] + 4, 2);
	}
	f[46] = 5 << 4;
	f[FLAGS_AT] = (uint8_t)flags;
}

#define TOLD                                                                                                         \
	"machine one\nkey connection\nremember initiator\nstart event syn = tcp and syn and not ack\n"               \
	"event ack = tcp and ack\nevent fin = tcp and fin\nabsent : syn -> open / count begun, tell two seen, "      \
	"report \"{src} calls {dst}\"\nopen : ack from responder -> done / report \"answered\" | fin -> absent\n"    \
	"done : fin -> absent / report \"ended\"\n"                                                                  \
	"machine two\nkey source\nevent seen = told\nevent fin = tcp and fin\nabsent : seen -> s / report \"new\"\n" \
	"s : fin -> absent / report \"gone\"\n"

enum { MOVES = 4096 };

static struct move {
	uint64_t id;
	unsigned event, machine, teller, action;
	int from, to;
} moves[2][MOVES];
static unsigned n_moves[2];

static void note(unsigned which, const struct ink_moved *m)
{
	if (n_moves[which] < MOVES)
		moves[which][n_moves[which]++] = (struct move){
			m->id, m->event, m->machine, m->teller, m->move.action, m->move.from, m->move.to};
}

static void note_tracked(const struct ink_moved *m, void *user)
{
	(void)user;
	note(0, m);
}

static int note_reported(const struct ink_kernel_report *r, const uint8_t *frame, void *user)
{
	struct ink_moved m;

	(void)frame;
	if (ink_kernel_moved(user, r, &m))
		return 1;
	assert_string_equal(ink_kernel_reported_by(user, r)->name, m.machine ? "two" : "one");
	assert_int_equal(m.packet->version, 4);
	note(1, &m);
	return 0;
}

static const unsigned some_flags[] = {INK_TCP_SYN, INK_TCP_SYN | INK_TCP_ACK, INK_TCP_ACK,
				      INK_TCP_FIN | INK_TCP_ACK};

static uint32_t drawn(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static void track(struct ink_track *track, const uint8_t *frame, uint64_t clock)
{
	struct ink_packet p = {
		.frame = frame, .captured = FRAME, .wire = FRAME, .time = clock, .clock = clock};
	struct ink_packets block = {.at = &p, .n = 1};

	ink_packet_parse(&p, INK_LINK_ETHERNET, 0);
	assert_int_equal(ink_track_packets(track, &block), 0);
}

static void reports_are_those_of_a_tracker(void **state)
{
	struct made m = made(TOLD);
	struct ink_kernel *k = make_unpinned(&m);
	struct ink_table *tables[2];
	struct ink_track_options o = {.size = sizeof o,
				      .machines = m.machines,
				      .tables = tables,
				      .link = INK_LINK_ETHERNET,
				      .moved = note_tracked};
	struct ink_track *t;
	uint8_t frame[FRAME];
	uint32_t seed = 5;
	uint64_t counters[INK_KERNEL_COUNTERS];

	(void)state;
	n_moves[0] = n_moves[1] = 0;
	for (unsigned i = 0; i < 2; i++)
		tables[i] = ink_kernel_plan(&m.tables[i], ink_machines_at(m.machines, i), 0, NULL);
	t = ink_track_open(&o, NULL);
	assert_non_null(t);
	assert_int_equal(ink_kernel_listen(k, note_reported, k, NULL), 0);
	for (uint64_t i = 1; i <= 2000; i++) {
		tcp_frame(frame, drawn(&seed) % 200, some_flags[drawn(&seed) % 4], drawn(&seed) & 1);
		track(t, frame, i * 1000000);
		assert_int_equal(ink_kernel_try(k, INK_KERNEL_XDP, frame, FRAME, i * 1000000), 2);
		assert_true(ink_kernel_poll(k, 0) >= 0);
	}
	assert_true(n_moves[0] > 100);
	assert_int_equal(n_moves[0], n_moves[1]);
	assert_memory_equal(moves[0], moves[1], n_moves[0] * sizeof moves[0][0]);
	assert_int_equal(ink_kernel_counters(k, 0, counters), 0);
	assert_int_equal(counters[0], ink_track_counters_of(t, 0)[0]);
	ink_track_close(t);
	ink_free(tables[0]);
	ink_free(tables[1]);
	end(&m, k);
}

/* Another process runs packets of 3000 flows, until it is told to end; how many is what it writes. */
static pid_t traffic(struct ink_kernel *k, uint64_t *sent)
{
	pid_t child = fork();
	uint8_t frame[FRAME];
	uint32_t seed = 9;

	if (child)
		return child;
	while (!__atomic_load_n(&sent[1], __ATOMIC_ACQUIRE)) {
		tcp_frame(frame, drawn(&seed) % 3000, some_flags[drawn(&seed) % 4], drawn(&seed) & 1);
		if (ink_kernel_try(k, INK_KERNEL_XDP, frame, FRAME, 1000) == 2)
			__atomic_fetch_add(sent, 1, __ATOMIC_ACQ_REL);
	}
	_exit(0);
}

static void copies_and_reloads_while_packets_flow_lose_nothing(void **state)
{
	uint64_t *sent = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), before;
	struct made m = made(TOLD);
	struct ink_kernel *k;
	struct ink_why why = {""};
	pid_t child;

	(void)state;
	m.tables[0].flows = m.tables[1].flows = 1500; /* so that there are collisions, and no room at times */
	k = make_unpinned(&m);
	child = traffic(k, sent);
	for (unsigned i = 0; i < 40; i++) {
		struct ink_table *copy = ink_kernel_copy(k, i % 2, &why);

		if (!copy || ink_check(copy, &why))
			fail_msg("copy %u: %s", i, why.text);
		ink_free(copy);
		if (ink_kernel_reload(k, options(&m), &why))
			fail_msg("reload %u: %s", i, why.text);
	}
	before = __atomic_load_n(sent, __ATOMIC_ACQUIRE);
	sent[1] = 1;
	waitpid(child, NULL, 0);
	assert_true(before > 40);
	assert_int_equal(packets(k), sent[0]);
	assert_int_equal(ink_kernel_control(k)->generation, 40);
	munmap(sent, 4096);
	end(&m, k);
}

#define COUNTS                                                                                                \
	"machine one\nkey connection\nremember initiator\nstart event syn = tcp and syn and not ack\n"        \
	"%sevent ack = tcp and ack\nabsent : syn -> open / count all, count begun\n%sopen : ack -> absent / " \
	"count ended\n"

/* What processors counted apart, they count together from there on: a condition reads it. And back. */
static void a_counter_keeps_its_value_when_a_condition_reads_it(void **state)
{
	char plain[500], reads[500];
	struct made a, b;
	struct ink_kernel *k;
	uint64_t counters[INK_KERNEL_COUNTERS];
	uint8_t frame[FRAME];
	uint32_t flow = 0;

	(void)state;
	snprintf(plain, sizeof plain, COUNTS, "", "");
	snprintf(reads, sizeof reads, COUNTS, "event many = tcp and fin and begun > 12\n",
		 "       | many -> open\n");
	a = made(plain);
	b = made(reads);
	k = make_unpinned(&a);
	for (unsigned round = 0; round < 4; round++) {
		for (unsigned i = 0; i < 10; i++) {
			tcp_frame(frame, flow++, INK_TCP_SYN, 0);
			assert_int_equal(ink_kernel_try(k, INK_KERNEL_XDP, frame, FRAME, 1), 2);
		}
		assert_int_equal(ink_kernel_counters(k, 0, counters), 0);
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(counters[i], flow);
		assert_int_equal(ink_kernel_reload(k, options(round % 2 ? &a : &b), NULL), 0);
		assert_int_equal(ink_kernel_counters(k, 0, counters), 0);
		for (unsigned i = 0; i < 2; i++)
			assert_int_equal(counters[i], flow);
	}
	ink_machines_free(b.machines);
	end(&a, k);
}

/* ------------------------------------------------------------------- hooks */

/* By bash: the shell of busybox has an `ip` of its own. */
static int shell(const char *command)
{
	pid_t child = fork();
	int status;

	if (!child) {
		execlp("bash", "bash", "-c", command, NULL);
		_exit(127);
	}
	return waitpid(child, &status, 0) < 0 || status ? -1 : 0;
}

static void run(const char *command)
{
	if (shell(command))
		fail_msg("%s failed", command);
}

static void make_pair(void)
{
	run("ip link add ink0 type veth peer name ink1 && ip link set ink0 up && ip link set ink1 up");
}

static void remove_pair(void)
{
	run("ip link del ink0");
}

static struct ink_why reason;

static struct ink_kernel *attached(struct made *m, unsigned hooks)
{
	struct ink_kernel_place p[] = {{.interface = "ink0", .hook = INK_KERNEL_XDP},
				       {.interface = "ink0", .hook = INK_KERNEL_INGRESS},
				       {.interface = "ink0", .hook = INK_KERNEL_EGRESS}};

	m->o.n_places = 0;
	for (unsigned i = 0; i < 3; i++)
		if (hooks >> i & 1)
			m->place[m->o.n_places++] = p[i];
	m->o.name = NULL;
	reason.text[0] = 0;
	return ink_kernel_make(options(m), &reason);
}

/* A program of somebody else: XDP_PASS, or go on at tc. */
static int foreign(enum bpf_prog_type type)
{
	struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = type == BPF_PROG_TYPE_XDP ? 2 : -1},
		{.code = BPF_JMP | BPF_EXIT}};
	union bpf_attr attr = {
		.prog_type = type, .insns = (uintptr_t)code, .insn_cnt = 2, .license = (uintptr_t) "GPL"};
	int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr);

	assert_true(fd >= 0);
	return fd;
}

static int link_at(int program, unsigned type)
{
	union bpf_attr attr = {.link_create = {.prog_fd = (uint32_t)program,
					       .target_ifindex = if_nametoindex("ink0"),
					       .attach_type = type}};

	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof attr);
}

/* Some frames from the other end, and one out of this end. */
static void send_something(void)
{
	const uint8_t frame[60] = {[12] = 0x08, [13] = 0x00};
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_IP));
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("ink1")};

	assert_true(fd >= 0);
	for (unsigned i = 0; i < 4; i++) {
		if (i == 3)
			to.sll_ifindex = (int)if_nametoindex("ink0");
		assert_int_equal(sendto(fd, frame, sizeof frame, 0, (struct sockaddr *)&to, sizeof to),
				 sizeof frame);
	}
	close(fd);
	usleep(20000);
}

static void every_hook_brings_packets_and_outlives_the_tool(void **state)
{
	struct made m = made(TCP);
	struct ink_kernel_place places[INK_KERNEL_PLACES];
	struct ink_kernel *k;
	uint64_t before;

	(void)state;
	make_pair();
	for (unsigned hook = 0; hook < INK_KERNEL_HOOKS; hook++) {
		k = attached(&m, 1u << hook);
		assert_non_null(k);
		ink_kernel_close(k);
		k = ink_kernel_open("ink0", NULL);
		assert_non_null(k);
		assert_int_equal(ink_kernel_places(k, places), 1);
		assert_string_equal(places[0].interface, "ink0");
		assert_int_equal(places[0].hook, hook);
		assert_int_equal(places[0].index, if_nametoindex("ink0"));
		before = packets(k);
		send_something();
		assert_true(packets(k) > before);
		assert_int_equal(ink_kernel_detach(k, NULL), 0);
		before = packets(k);
		send_something();
		assert_int_equal(packets(k), before);
		ink_kernel_close(k);
	}
	remove_pair();
	ink_machines_free(m.machines);
}

static int attach_without_links(struct made *m)
{
	pid_t child = fork();
	int status;

	if (!child) {
		forbid_links();
		if (attached(m, 6))
			_exit(0);
		fprintf(stderr, "%s\n", reason.text);
		_exit(1);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void older_kernels_get_filters_beside_those_of_others(void **state)
{
	struct made m = made(TCP);
	struct ink_kernel *k;
	uint64_t before;

	(void)state;
	make_pair();
	run("tc qdisc add dev ink0 clsact && tc filter add dev ink0 ingress pref 7 bpf bytecode '1,6 0 0 0'");
	assert_int_equal(attach_without_links(&m), 0);
	k = ink_kernel_open("ink0", NULL);
	assert_non_null(k);
	assert_string_equal(ink_kernel_way(k, 0), "clsact");
	assert_string_equal(ink_kernel_way(k, 1), "clsact");
	before = packets(k);
	send_something();
	assert_true(packets(k) > before);
	run("tc filter show dev ink0 egress | grep -q ink_egress");
	assert_int_equal(ink_kernel_detach(k, NULL), 0);
	run("! tc filter show dev ink0 egress | grep -q ink_egress");
	run("tc filter show dev ink0 ingress | grep -q 'pref 7 bpf'");
	end(&m, k);
}

static void an_interface_without_xdp_gets_it_from_the_kernel(void **state)
{
	struct made m = made(TCP);
	struct ink_kernel *k;

	(void)state;
	m.place[0] = (struct ink_kernel_place){.interface = "lo"};
	m.o.n_places = 1;
	k = make_named(&m, "x");
	assert_true(!strcmp(ink_kernel_way(k, 0), "generic") || !strcmp(ink_kernel_way(k, 0), "dispatcher"));
	assert_null(ink_kernel_way(k, 1));
	assert_int_equal(ink_kernel_detach(k, NULL), 0);
	end(&m, k);
}

static void programs_of_others_stay(void **state)
{
	struct made m = made(TCP);
	int program, link;

	(void)state;
	make_pair();
	program = foreign(BPF_PROG_TYPE_XDP);
	link = link_at(program, BPF_XDP);
	assert_true(link >= 0);
	assert_null(attached(&m, 1));
	assert_int_equal(errno, EBUSY);
	assert_int_equal(access("/sys/fs/bpf/inkling/ink0", F_OK), -1);
	/* What was attached before the failure is taken away again. */
	assert_null(attached(&m, 7));
	close(link);
	close(program);
	struct ink_kernel *k = attached(&m, 7);
	assert_non_null(k);
	assert_int_equal(ink_kernel_control(k)->xdp_meta, 1);
	program = foreign(BPF_PROG_TYPE_XDP);
	link = link_at(program, BPF_XDP);
	assert_int_equal(link, -1);
	close(program);
	ink_kernel_detach(k, NULL);
	ink_kernel_close(k);
	remove_pair();
	ink_machines_free(m.machines);
}

#define SHORT                                                                                                \
	"machine one\nkey connection\nstart event syn = tcp and syn and not ack\n"                           \
	"absent : syn -> open / count begun\nopen : timeout 200ms -> absent / count over\n"

static uint64_t flows(struct ink_kernel *k)
{
	struct ink_table *copy = ink_kernel_copy(k, 0, NULL);
	struct ink_counts counts;

	assert_non_null(copy);
	assert_int_equal(ink_check(copy, NULL), 0);
	ink_census(copy, &counts);
	ink_free(copy);
	return counts.total;
}

static void send_flows(void)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("ink1")};
	int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_IP));
	uint8_t frame[FRAME];

	for (uint32_t i = 0; i < 20; i++) {
		tcp_frame(frame, i, INK_TCP_SYN, 0);
		assert_int_equal(sendto(fd, frame, FRAME, 0, (struct sockaddr *)&to, sizeof to), FRAME);
	}
	close(fd);
}

static void time_outs_fire_when_the_tool_is_gone(void **state)
{
	struct made m = made(SHORT);
	struct ink_kernel *k;
	uint64_t counters[INK_KERNEL_COUNTERS], most = 0;

	(void)state;
	m.live = 1;
	make_pair();
	k = attached(&m, 1);
	assert_non_null(k);
	send_flows();
	for (unsigned i = 0; i < 100 && !most; i++)
		most = flows(k);
	assert_true(most > 0);
	ink_kernel_close(k);
	usleep(2000000);
	k = ink_kernel_open("ink0", NULL);
	assert_non_null(k);
	assert_int_equal(flows(k), 0);
	assert_int_equal(ink_kernel_counters(k, 0, counters), 0);
	assert_int_equal(counters[0], 20);
	assert_int_equal(counters[1], 20);
	assert_int_equal(ink_kernel_table(k, 0)->expired, 20);
	ink_kernel_detach(k, NULL);
	end(&m, k);
}

/* Another set for the same hook; NULL: the hook is taken. */
static struct ink_kernel *second_set(struct made *m)
{
	m->place[0] = (struct ink_kernel_place){.interface = "ink0"};
	m->o.n_places = 1;
	m->o.name = "x";
	return ink_kernel_make(options(m), NULL);
}

static void assert_counts(struct ink_kernel *k, int counts)
{
	uint64_t before = packets(k);

	send_something();
	assert_int_equal(packets(k) > before, counts);
}

/* Where the kernel takes libxdp's dispatcher, any number of programs can share a hook. */
static void a_hook_is_shared_where_there_is_a_dispatcher(void **state)
{
	struct made a = made(TCP), b = made(TCP);
	struct ink_kernel *first, *second;

	(void)state;
	make_pair();
	first = attached(&a, 1);
	assert_non_null(first);
	second = second_set(&b);
	if (!strcmp(ink_kernel_way(first, 0), "dispatcher")) {
		assert_non_null(second);
		assert_counts(first, 1);
		assert_counts(second, 1);
		assert_int_equal(ink_kernel_detach(first, NULL), 0);
		assert_counts(first, 0);
		assert_counts(second, 1);
		assert_int_equal(ink_kernel_detach(second, NULL), 0);
		assert_counts(second, 0);
	} else {
		assert_null(second);
		ink_kernel_detach(first, NULL);
	}
	end(&a, first);
	end(&b, second);
}

static void an_interface_that_is_gone_is_no_error(void **state)
{
	struct made m = made(TCP);
	struct ink_kernel *k;

	(void)state;
	make_pair();
	k = attached(&m, 7);
	assert_non_null(k);
	remove_pair();
	assert_int_equal(ink_kernel_detach(k, NULL), 0);
	assert_int_equal(access("/sys/fs/bpf/inkling/ink0", F_OK), -1);
	assert_null(attached(&m, 1));
	assert_int_equal(errno, ENODEV);
	assert_int_equal(access("/sys/fs/bpf/inkling/ink0", F_OK), -1);
	end(&m, k);
}

static void assert_verified(int program, const char *name)
{
	struct bpf_prog_info info = {0};
	uint32_t length = sizeof info;

	assert_int_equal(bpf_obj_get_info_by_fd(program, &info, &length), 0);
	print_message("    %s: %u instructions\n", name, info.verified_insns);
	assert_in_range(info.verified_insns, 1, 100000);
}

/* On every kernel of `make test-kernels`; before Linux 6.2 nothing reads the device's queue. */
static void no_program_takes_the_verifier_100000_instructions(void **state)
{
	struct made m = made(TCP);
	struct bpf_object *device;
	struct bpf_program *p;
	struct ink_kernel *k;

	(void)state;
	m.o.unpinned = 1;
	k = make(&m);
	for (unsigned i = 0; i < INK_KERNEL_PROGRAMS; i++)
		assert_verified(k->program[i], ink_kernel_program_names[i]);
	device = ink_kernel_device_load(k, NULL);
	if (device)
		bpf_object__for_each_program(p, device)
			assert_verified(bpf_program__fd(p), bpf_program__name(p));
	bpf_object__close(device);
	end(&m, k);
}

static void a_dry_run_leaves_nothing(void **state)
{
	struct made m = made(TCP);
	struct ink_kernel *k;

	(void)state;
	make_pair();
	m.o.dry_run = 1;
	k = attached(&m, 7);
	assert_non_null(k);
	assert_int_equal(access("/sys/fs/bpf/inkling/ink0", F_OK), -1);
	assert_int_equal(k->n_places, 0);
	end(&m, k);
	remove_pair();
}

/* --------------------------------------------------------------------- main */

/* What a failed test left would fail the next. */
static int clean(void **state)
{
	(void)state;
	if (if_nametoindex("ink0") && shell("ip link del ink0"))
		return -1;
	ink_kernel_remove("x", NULL);
	ink_kernel_remove("ink0", NULL);
	return 0;
}

static int skipped(const char *why)
{
	printf("skipped: %s (%s)\n", why, strerror(errno));
	return 77;
}

/* A network and file systems that end with the process; 0, or what to exit with. */
static int enter_namespaces(void)
{
	struct made m = {0};
	struct ink_kernel *k;
	struct ink_why why = {""};

	if (unshare(CLONE_NEWNS | CLONE_NEWNET))
		return skipped("namespaces need CAP_SYS_ADMIN");
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("bpf", "/sys/fs/bpf", "bpf", 0, "mode=0700"))
		return skipped("no bpf file system");
	m = made(TCP);
	m.o.unpinned = 1;
	k = ink_kernel_make(options(&m), &why);
	if (!k && (errno == EPERM || errno == EACCES))
		return skipped(why.text);
	if (!k)
		return printf("%s\n", why.text), 1;
	end(&m, k);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_the_kernel_cannot_do_is_refused_with_its_place, clean),
		cmocka_unit_test_teardown(a_machine_without_filter_is_not_refused, clean),
		cmocka_unit_test_teardown(rows_and_states_stand_by_their_codes, clean),
		cmocka_unit_test_teardown(the_first_node_is_known_for_each_protocol, clean),
		cmocka_unit_test_teardown(states_keep_their_codes_by_name, clean),
		cmocka_unit_test_teardown(more_states_than_codes_are_refused, clean),
		cmocka_unit_test_teardown(counters_keep_their_slots_and_new_ones_get_unused, clean),
		cmocka_unit_test_teardown(a_new_table_is_that_of_user_space, clean),
		cmocka_unit_test_teardown(a_loaded_table_comes_back_as_it_was, clean),
		cmocka_unit_test_teardown(a_snapshot_of_several_is_a_set, clean),
		cmocka_unit_test_teardown(a_snapshot_with_too_few_states_is_refused, clean),
		cmocka_unit_test_teardown(twins_of_a_copy_are_dropped, clean),
		cmocka_unit_test_teardown(a_reload_keeps_flows_by_the_names_of_their_states, clean),
		cmocka_unit_test_teardown(a_reload_that_is_refused_changes_nothing, clean),
		cmocka_unit_test_teardown(machines_that_need_more_room_are_refused, clean),
		cmocka_unit_test_teardown(many_reloads_end_where_they_began, clean),
		cmocka_unit_test_teardown(pins_are_for_their_owner_alone, clean),
		cmocka_unit_test_teardown(a_set_is_opened_by_its_name, clean),
		cmocka_unit_test_teardown(a_name_is_attached_once, clean),
		cmocka_unit_test_teardown(what_a_killed_tool_left_is_replaced, clean),
		cmocka_unit_test_teardown(a_set_of_another_version_can_be_removed, clean),
		cmocka_unit_test_teardown(names_are_checked, clean),
		cmocka_unit_test_teardown(a_text_that_was_damaged_is_not_read, clean),
		cmocka_unit_test_teardown(a_table_that_is_not_that_of_its_plan_is_not_read, clean),
		cmocka_unit_test_teardown(a_second_reader_is_refused_while_the_first_lives, clean),
		cmocka_unit_test_teardown(reports_are_those_of_a_tracker, clean),
		cmocka_unit_test_teardown(a_counter_keeps_its_value_when_a_condition_reads_it, clean),
		cmocka_unit_test_teardown(copies_and_reloads_while_packets_flow_lose_nothing, clean),
		cmocka_unit_test_teardown(every_hook_brings_packets_and_outlives_the_tool, clean),
		cmocka_unit_test_teardown(older_kernels_get_filters_beside_those_of_others, clean),
		cmocka_unit_test_teardown(an_interface_without_xdp_gets_it_from_the_kernel, clean),
		cmocka_unit_test_teardown(programs_of_others_stay, clean),
		cmocka_unit_test_teardown(a_hook_is_shared_where_there_is_a_dispatcher, clean),
		cmocka_unit_test_teardown(time_outs_fire_when_the_tool_is_gone, clean),
		cmocka_unit_test_teardown(an_interface_that_is_gone_is_no_error, clean),
		cmocka_unit_test_teardown(no_program_takes_the_verifier_100000_instructions, clean),
		cmocka_unit_test_teardown(a_dry_run_leaves_nothing, clean),
	};
	int error = enter_namespaces();

	return error ? error : cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
