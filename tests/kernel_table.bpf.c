/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs for tests/test_kernel_table.c: the table of kernel/table.bpf.h without packets.
 *
 *     steps    a list of steps in the map `list`, each with its result behind it; an event of PASS_TIME or
 *              PASS_PORTION passes time, PEEK looks, PASS_BEGIN is
 *              two steps
 *     hammer   so many steps of random flows, of which only errors are counted
 *     lru      the same work in an LRU_HASH, and `nothing` without any table, to compare how long it takes
 *
 * What a run is to do stands in the packet's mark, priority and cb.
 */
#include "kernel/time.bpf.h"
#include "tests/kernel_table.h"

char test_license[] SEC("license") = "Dual BSD/GPL";

INK_ARRAY(list, 1, struct listed);
INK_ARRAY(given, 64, struct hammered);

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1 << 20);
	__type(key, struct flow_key);
	__type(value, uint64_t);
} flows SEC(".maps");

struct run {
	uint64_t base, flows, events;
	uint32_t from, cpu; /* `from` is the first flow, in thousands */
};

/* As ink_tick_portion does; the timer's own function asks the clock. */
static __always_inline void pass_portion(uint32_t lines, uint64_t now)
{
	struct ink_kernel_table *t = INK_AT(tables, 0);

	if (!t)
		return;
	if (t->target == t->now && now > t->now)
		ink_tick_begin(0, now, 1);
	if (t->target != t->now)
		ink_tick_advance(0, lines);
}

/* A flow begins by event 0 and, if there is room, is moved by event 1 before anything else happens. */
static __always_inline uint64_t begin_and_move(uint32_t machine, uint64_t id)
{
	uint64_t result = ink_table_step(machine, id, 0);

	return ink_step_failed(result) || ink_step_to(result) < 0 ? result : ink_table_step(machine, id, 1);
}

static long step_next(uint32_t i, struct run *r)
{
	struct listed *l = INK_AT(list, r->from + i);

	if (!l)
		return 1;
	if (l->event == PASS_TIME)
		ink_time_pass(0, l->id);
	else if (l->event == PASS_PORTION)
		pass_portion(l->machine, l->id);
	else if (l->event == PASS_BEGIN)
		l->result = begin_and_move(l->machine, l->id);
	else if (l->event == PEEK)
		l->result = (uint64_t)(int64_t)ink_table_peek(l->machine, l->id);
	else
		l->result = ink_table_step(l->machine, l->id, l->event);
	return 0;
}

SEC("tc")
int steps(struct __sk_buff *skb)
{
	struct run r = {.from = skb->mark};

	bpf_loop(skb->priority, step_next, &r, 0);
	return 0;
}

/* The finalizer of splitmix64: ids that are as good as random. */
static __always_inline uint64_t mixed(uint64_t x)
{
	x = (x + 1) * 0x9e3779b97f4a7c15;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
	x = (x ^ x >> 27) * 0x94d049bb133111eb;
	return x ^ x >> 31;
}

static __always_inline uint64_t flow_of(const struct run *r, uint64_t draw)
{
	return mixed(r->from * 1000ull + ((draw >> 32) * r->flows >> 32));
}

static long hammer_next(uint32_t i, struct run *r)
{
	struct hammered *h = INK_AT(given, r->cpu);
	uint64_t draw = mixed(r->base + i), result;

	if (!h)
		return 1;
	result = ink_table_step(0, flow_of(r, draw), (uint32_t)draw % (uint32_t)r->events);
	h->steps++;
	h->given_up += ink_step_failed(result) == EBUSY;
	h->refused += ink_step_failed(result) == ENOSPC;
	h->begun += ink_step_from(result) == INK_ABSENT && ink_step_to(result) != INK_ABSENT;
	h->ended += ink_step_from(result) != INK_ABSENT && ink_step_to(result) == INK_ABSENT;
	return 0;
}

static __always_inline struct run run_of(const struct __sk_buff *skb)
{
	return (struct run){.base = (uint64_t)skb->cb[1] << 32 | skb->cb[0],
			    .flows = skb->mark,
			    .events = skb->cb[2],
			    .cpu = skb->cb[3],
			    .from = skb->cb[4]};
}

SEC("tc")
int hammer(struct __sk_buff *skb)
{
	struct run r = run_of(skb);

	bpf_loop(skb->priority, hammer_next, &r, 0);
	return 0;
}

static long lru_next(uint32_t i, struct run *r)
{
	uint64_t draw = mixed(r->base + i), id = flow_of(r, draw), one = 1, *state;
	struct flow_key key = {{id, id >> 7}};

	state = bpf_map_lookup_elem(&flows, &key);
	if (state)
		*state = (*state + 1) & 15;
	else
		bpf_map_update_elem(&flows, &key, &one, BPF_ANY);
	return 0;
}

SEC("tc")
int lru(struct __sk_buff *skb)
{
	struct run r = run_of(skb);

	bpf_loop(skb->priority, lru_next, &r, 0);
	return 0;
}

static long nothing_next(uint32_t i, struct run *r)
{
	struct hammered *h = INK_AT(given, r->cpu);
	uint64_t draw = mixed(r->base + i);

	if (h)
		h->steps += flow_of(r, draw) & 1;
	return 0;
}

SEC("tc")
int nothing(struct __sk_buff *skb)
{
	struct run r = run_of(skb);

	bpf_loop(skb->priority, nothing_next, &r, 0);
	return 0;
}
