/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_flood [PART]: a flood of SYNs at the table in the kernel, beside an LRU_HASH. `make flood-kernel` has PART 1; PART
 * divides all numbers but the times.
 *
 * Question: which connections from before the flood are still known behind it, and how many of the handshakes that honest
 * clients make meanwhile are seen to be complete?
 *
 *     tables   for 1,000,000 connections, policy `replace`, as `attach tcp --flows 1M --full replace` plans
 *     before   500,000 or 1,000,000 connections open; in every other row each of them then sends one packet
 *     flood    60 s of the test clock: 10,000,000 SYNs, each from a random source, and 300 honest handshakes a second, of
 *              which the SYN+ACK comes after 50 ms, and the ACK behind it
 *
 * All packets go through the program that `attach` loads (kernel_traffic.bpf.c). The LRU_HASH stores a connection at its
 * SYN and looks it up at other packets. An entry that was looked up is spared once; so a connection from before the flood
 * that is not to be used is stored there as established, and its handshake is not looked up.
 *
 * nf_conntrack is not among them: it has no clock but the real one. kernel_conntrack.c has it, in real time.
 *
 * What the table knows is read from a copy of it, with ids that user space computes. Behind the table of docs/kernel.md the
 * bars are tried: all connections are kept, and with 500,000 at least 95 % of the handshakes are seen.
 */
#include <sched.h>

#include <inkling/packet.h>

#include "tests/kernel_drive.h"
#include "tests/kernel_flood.h"

enum { CONNECTIONS = 1000000 };

static unsigned part = 1, failed;

/* ---------------------------------------------------------------------- traffic */

static uint64_t parted(uint64_t n)
{
	return n / part;
}

static void play(struct drive *d, const char *program, uint64_t standing, int used)
{
	struct traffic *t = d->traffic;

	memset(t, 0, sizeof *t);
	t->begin = second;
	t->seed = 1;
	t->inserted = !used;
	flood_shape(t, parted(CONNECTIONS));
	drive_scene(d, program, TRAFFIC_OPENS, 3 * standing, 20 * second);
	t->inserted = 0;
	if (used)
		drive_scene(d, program, TRAFFIC_TALKS, standing, 10 * second);
	drive_scene(d, program, TRAFFIC_FLOOD, flood_packets(parted(CONNECTIONS)), flood_time);
}

/* ------------------------------------------------------------------- what is known */

static unsigned state_named(const struct ink_machine_view *v, const char *name)
{
	for (unsigned i = 0; i < v->states; i++)
		if (!strcmp(v->state_names[i], name))
			return i;
	exit(1);
}

static unsigned counter_named(const struct ink_machine_view *v, const char *name)
{
	for (unsigned i = 0; i < v->counters; i++)
		if (!strcmp(v->counter_names[i], name))
			return i;
	exit(1);
}

static uint64_t id_of(const struct ink_table *t, const struct traffic_packet *p)
{
	struct ink_packet packet = {.version = 4,
				    .protocol = INK_PROTOCOL_TCP,
				    .sport = p->port,
				    .dport = TRAFFIC_SERVER,
				    .destination = {192, 0, 2, 1}};
	uint8_t key[INK_KEY_MOST];
	size_t n;

	for (unsigned i = 0; i < 4; i++)
		packet.source[i] = (uint8_t)(p->client >> (24 - 8 * i));
	if (memcmp(packet.source, packet.destination, 4) > 0)
		packet.flags |= INK_FROM_HIGH;
	n = ink_packet_key(&packet, INK_KEY_CONNECTION, key);
	return ink_id(t, key, n);
}

static uint64_t count_kept(const struct ink_table *t, const struct ink_machine_view *v, uint64_t standing)
{
	unsigned established = state_named(v, "established");
	uint64_t kept = 0;

	for (uint32_t i = 0; i < standing; i++) {
		struct traffic_packet p = traffic_handshake(TRAFFIC_STANDING, i, 0);
		ink_answer state = ink_peek(t, id_of(t, &p));

		kept += state >= 0 && v->state_of[state] == established;
	}
	return kept;
}

/* ------------------------------------------------------------------------ the tables */

static struct ink_kernel *make_kernel(struct ink_machines *machines)
{
	const struct ink_options plan = {
		.size = sizeof plan, .flows = parted(CONNECTIONS), .full = INK_REPLACE, .seed = 1};

	return drive_kernel(machines, &plan);
}

static void ask_kernel(struct ink_kernel *k, struct row *r)
{
	const struct ink_machine_view *v = ink_machine_view(ink_machines_at(ink_kernel_machines(k), 0));
	struct ink_table *copy = ink_kernel_copy(k, 0, NULL);
	uint64_t counters[INK_KERNEL_COUNTERS];

	if (!copy || ink_kernel_counters(k, 0, counters))
		drive_fail("a copy of the table");
	r->kept = count_kept(copy, v, r->standing);
	r->tracked = counters[counter_named(v, "handshake_complete")] - r->standing;
	r->bytes = ink_kernel_planned(k, 0)->bytes;
	ink_free(copy);
}

static struct row flood_inkling(struct ink_machines *machines, uint64_t standing, int used)
{
	struct row r = {.table = "Inkling", .standing = standing, .used = used};
	struct ink_kernel *k = make_kernel(machines);
	struct drive d = drive_to(k);

	play(&d, "drive", standing, used);
	r.ns = d.ns;
	r.honest = flood_complete(d.traffic, parted(CONNECTIONS));
	ask_kernel(k, &r);
	drive_close(&d);
	ink_kernel_close(k);
	return r;
}

/* What BPF's memory is, as the kernel says it. */
static uint64_t map_bytes(int fd)
{
	char name[64], line[256];
	uint64_t bytes = 0;
	FILE *f;

	snprintf(name, sizeof name, "/proc/self/fdinfo/%d", fd);
	f = fopen(name, "re");
	while (f && fgets(line, sizeof line, f))
		sscanf(line, "memlock: %" SCNu64, &bytes);
	if (f)
		fclose(f);
	return bytes;
}

static struct row flood_lru(uint64_t standing, int used)
{
	struct row r = {.table = "`LRU_HASH`", .standing = standing, .used = used};
	struct drive d = drive_open();
	struct bpf_map *lru = bpf_object__find_map_by_name(d.object, "lru");

	bpf_map__set_max_entries(lru, (uint32_t)parted(CONNECTIONS));
	drive_load(&d);
	play(&d, "drive_lru", standing, used);
	r.ns = d.ns;
	r.honest = flood_complete(d.traffic, parted(CONNECTIONS));
	r.tracked = d.traffic->tracked;
	d.traffic->tracked = 0;
	drive_scene(&d, "ask_lru", TRAFFIC_TALKS, standing, 0);
	r.kept = d.traffic->tracked;
	r.bytes = map_bytes(bpf_map__fd(lru));
	drive_close(&d);
	return r;
}

/* -------------------------------------------------------------------------- the table */

/* The promises, for Inkling's rows. */
static void hold(const struct row *r)
{
	if (r->kept != r->standing) {
		fprintf(stderr, "%" PRIu64 " connections are not known any more\n", r->standing - r->kept);
		failed = 1;
	}
	if (r->standing <= parted(CONNECTIONS / 2) && percent(r->tracked, r->honest) < 95) {
		fprintf(stderr, "only %" PRIu64 " of %" PRIu64 " handshakes were seen to be complete\n",
			r->tracked, r->honest);
		failed = 1;
	}
}

static void flood(struct ink_machines *machines, uint64_t standing, int used)
{
	struct row r = flood_inkling(machines, standing, used);

	print_row(&r);
	hold(&r);
	r = flood_lru(standing, used);
	print_row(&r);
}

/* An LRU_HASH has lists for each processor: all packets come to one. */
static void stay_here(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof one, &one))
		drive_fail("sched_setaffinity");
}

int main(int argc, char **argv)
{
	struct ink_machine_options o = {.size = sizeof o};
	struct ink_machines *machines = ink_machines_load(&(const char *){"tcp"}, 1, &o, NULL);

	if (!machines)
		return 2;
	if (argc > 1)
		part = (unsigned)atoi(argv[1]);
	if (!part)
		return 2;
	libbpf_set_print(ink_kernel_hear);
	stay_here();
	print_head();
	for (unsigned half = 1; half < 3; half++)
		for (int used = 0; used < 2; used++)
			flood(machines, parted(CONNECTIONS / 2) * half, used);
	ink_machines_free(machines);
	return (int)failed;
}
