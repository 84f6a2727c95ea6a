/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What does a packet cost in the kernel, and what would it cost with the kernel's own maps?
 *
 * Each packet is of another of 1,000,000 live flows, pseudo-randomly chosen (flow.bpf.h), so that memory is missed as
 * it is on a link. The program of `inkling attach` runs by BPF_PROG_TEST_RUN, and in turns with it
 *
 *     steps    its beginnings, so that the difference of two rows is the cost of a part
 *     peers    the same program with a hash map in place of our table (bench.bpf.c). `The table's part` is the whole
 *              less the same program without look-up. Ours includes the flow's id, since a hash map hashes its keys, too
 *     two      all of it on two processors at once, beside a program that does nothing
 *
 * Two machines: `tcp` with the defaults of `attach`, in which established flows keep their state, so that a packet
 * writes only if the flow's age changes; and `ring`, 15 states, one age bit, an error of .1 %, where each packet moves
 * its flow.
 * A wrong answer about a live flow ends the benchmark with 1. Times decide nothing.
 *
 * Result: docs/kernel.md, "What it costs".
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "bench/kernel/turns.h"
#include "kernel/inside.h"

enum { SYN = 2, ACK = 16 };

/* Every packet moves its flow on. */
static const char ring[] = "machine ring\nkey connection\n"
			   "start event syn = tcp and syn and not ack\n"
			   "event ack = tcp and ack and not syn\n"
			   "absent : syn -> s01\n"
			   "s01 : ack -> s02 | timeout 64m -> absent\n"
			   "s02 : ack -> s03 | timeout 64m -> absent\n"
			   "s03 : ack -> s04 | timeout 64m -> absent\n"
			   "s04 : ack -> s05 | timeout 64m -> absent\n"
			   "s05 : ack -> s06 | timeout 64m -> absent\n"
			   "s06 : ack -> s07 | timeout 64m -> absent\n"
			   "s07 : ack -> s08 | timeout 64m -> absent\n"
			   "s08 : ack -> s09 | timeout 64m -> absent\n"
			   "s09 : ack -> s10 | timeout 64m -> absent\n"
			   "s10 : ack -> s11 | timeout 64m -> absent\n"
			   "s11 : ack -> s12 | timeout 64m -> absent\n"
			   "s12 : ack -> s13 | timeout 64m -> absent\n"
			   "s13 : ack -> s14 | timeout 64m -> absent\n"
			   "s14 : ack -> s15 | timeout 64m -> absent\n"
			   "s15 : ack -> s01 | timeout 64m -> absent\n";

static const struct bench_machine machines[] = {
	{.name = "tcp",
	 .age_bits = 2, /* the defaults of `attach` */
	 .fill = {{SYN, 0}, {SYN | ACK, 1}, {ACK, 0}},
	 .flags = ACK,
	 .state = "established",
	 .takes = 1},
	{.name = "ring",
	 .text = ring,
	 .age_bits = 1,
	 .error = .001,
	 .fill = {{SYN, 0}, {ACK, 1}, {ACK, 0}},
	 .flags = ACK,
	 .state = "s03"},
};

static struct options {
	uint32_t flows, packets;
	unsigned rounds;
	const char *ndjson;
} options = {.flows = 1000000, .packets = 1000000, .rounds = 11};

/* The rows that take turns. Those of the peers are from `FIRST_PEER` on. */
enum row {
	NOTHING,
	WRITTEN,
	PARSED,
	IDENTIFIED,
	INTERPRETED,
	WHOLE,
	WITHOUT,
	DECIDED, /* without id: what conntrack stands behind */
	FIRST_PEER,
	CONNTRACK = FIRST_PEER + BENCH_PEERS,
	ROWS
};

/* ------------------------------------------------------------------- the rows */

static unsigned make_rows(struct bench_set *s, struct variant row[ROWS])
{
	row[NOTHING] = (struct variant){.name = "a program that does nothing",
					.fd = bench_program(s->stages, "bench_nothing"),
					.bare = 1};
	row[WRITTEN] = (struct variant){.name = "a flow is written into the frame (not ours)",
					.fd = bench_program(s->stages, "bench_nothing")};
	row[PARSED] = (struct variant){.name = "parsed", .fd = bench_program(s->stages, "bench_parse")};
	row[IDENTIFIED] = (struct variant){.name = "with its id", .fd = bench_program(s->stages, "bench_id")};
	row[INTERPRETED] = (struct variant){.name = "interpreted: its event",
					    .fd = bench_program(s->stages, "bench_interpret")};
	row[WHOLE] = (struct variant){.name = "stepped: all that `attach` loads",
				      .fd = ink_kernel_program(s->kernel, "ink_xdp"),
				      .ours = 1};
	row[WITHOUT] =
		(struct variant){.name = "without look-up", .fd = bench_program(s->without, "ink_xdp")};
	row[DECIDED] = (struct variant){.name = "no more than its event",
					.fd = bench_program(s->without, "bench_interpret")};
	for (unsigned i = 0; i < BENCH_PEERS; i++)
		row[FIRST_PEER + i] = (struct variant){.name = bench_peers[i].name,
						       .fd = bench_program(s->peer[i], "ink_xdp"),
						       .exact = !bench_peers[i].evicts};
	if (!s->tracked)
		return CONNTRACK;
	row[CONNTRACK] = (struct variant){.name = "nf_conntrack, look-up alone",
					  .fd = bench_program(s->conntrack, "bench_conntrack"),
					  .flows = s->tracked,
					  .exact = 1};
	return ROWS;
}

/* ---------------------------------------------------------------------- steps */

static void show_row(const char *section, const struct variant *v, const struct samples *more)
{
	printf("%-46s %16s", v->name, cell_of(&v->ns, 1).text);
	printf(more ? " %18s\n" : "\n", more ? cell_of(more, 1).text : "");
	report_record(section, v->name, "packet", "ns", &v->ns);
	if (more)
		report_record(section, v->name, "more", "ns", more);
}

static void show_steps(const struct bench_set *s, const struct variant row[ROWS])
{
	char section[64];

	snprintf(section, sizeof section, "steps, %s", s->machine->name);
	report_section(
		"steps: what does each part of a packet cost? %s, %u live flows, ns, median (quartiles) of %u "
		"rounds",
		s->machine->name, s->flows, options.rounds);
	printf("%-46s %16s %18s\n", "", "packet", "more than above");
	for (unsigned i = NOTHING; i <= WHOLE; i++) {
		const struct samples more = samples_less(&row[i].ns, &row[i ? i - 1 : 0].ns);

		show_row(section, &row[i], i ? &more : NULL);
	}
}

/* ---------------------------------------------------------------------- peers */

static void show_peer(const char *section, const struct variant *v, const struct samples *part,
		      const struct samples *lru)
{
	const struct samples beside = samples_over(part, lru);
	double missing = v->packets ? (double)v->missing / (double)v->packets : 0;

	printf("%-34s %18s %18s %18s", v->name, cell_of(&v->ns, 0).text, cell_of(part, 0).text,
	       cell_of(&beside, 2).text);
	if (missing > 0)
		printf(" %7.1f %%", missing * 100);
	printf("\n");
	report_record(section, v->name, "packet", "ns", &v->ns);
	report_record(section, v->name, "part", "ns", part);
	report_record(section, v->name, "beside LRU_HASH", "x", &beside);
	report_value(section, v->name, "missing", "", missing);
}

/* What is left of a packet without look-up. */
static struct samples part_of(const struct variant row[ROWS], unsigned i)
{
	return samples_less(&row[i].ns, &row[i == CONNTRACK ? DECIDED : WITHOUT].ns);
}

static void add_part_bar(const struct bench_set *s, const struct variant row[ROWS])
{
	const struct samples part = part_of(row, WHOLE), lru = part_of(row, FIRST_PEER),
			     ratio = samples_over(&part, &lru);
	char text[96];

	snprintf(text, sizeof text, "%s: the table's part, with the id, beside LRU_HASH's", s->machine->name);
	report_at_most(text, samples_median(&ratio), .6, "x");
}

static void say_tracked(const struct bench_set *s)
{
	if (s->tracked)
		printf("nf_conntrack was asked for %u flows%s\n", s->tracked,
		       s->tracked < s->flows ? ": it may not have more (nf_conntrack_max)" : "");
	else
		printf("nf_conntrack: not measured, %s\n", s->untracked);
}

static void show_peers(const struct bench_set *s, struct variant row[ROWS], unsigned n)
{
	const struct samples lru = part_of(row, FIRST_PEER);
	char section[64];

	snprintf(section, sizeof section, "peers, %s", s->machine->name);
	report_section("peers: the same program with a map of the kernel in place of our table, %s, ns",
		       s->machine->name);
	printf("%-34s %18s %18s %18s %9s\n", "", "packet", "the table's part", "beside LRU_HASH", "missing");
	printf("%-34s %18s\n", row[WITHOUT].name, cell_of(&row[WITHOUT].ns, 0).text);
	row[WHOLE].name = "ours, its id included";
	for (unsigned i = WHOLE; i < n; i++) {
		const struct samples part = part_of(row, i);

		if (i == WHOLE || i >= FIRST_PEER)
			show_peer(section, &row[i], &part, &lru);
	}
	say_tracked(s);
	add_part_bar(s, row);
}

/* --------------------------------------------------------------------- memory */

static double memory_of_all(const struct bench_set *s)
{
	double sum = 0;

	for (unsigned i = 0; i < INK_KERNEL_MAPS; i++) {
		int fd = ink_kernel_map(s->kernel, ink_kernel_map_names[i]);

		sum += fd >= 0 ? (double)bench_memlock(fd) : 0;
	}
	return sum;
}

static double show_memory_row(const char *section, const char *name, double bytes, double flows, double table)
{
	printf("%-46s %14.0f %12.1f %11.1fx\n", name, bytes, bytes * 8 / flows, bytes / table);
	report_value(section, name, "bytes", "", bytes);
	return bytes;
}

static void show_memory(const struct bench_set *s)
{
	double flows = s->flows, table = (double)ink_kernel_planned(s->kernel, 0)->bytes, lru = NAN;
	char section[64], text[96];

	snprintf(section, sizeof section, "memory, %s", s->machine->name);
	report_section("memory: of %u flows, %s (maps: as the kernel accounts them)", s->flows,
		       s->machine->name);
	printf("%-46s %14s %12s %12s\n", "", "bytes", "bits a flow", "beside table");
	show_memory_row(section, "table and side table", table, flows, table);
	show_memory_row(section, "all maps of the set", memory_of_all(s), flows, table);
	for (unsigned i = 0; i < BENCH_PEERS; i++) {
		int fd = bpf_object__find_map_fd_by_name(s->peer[i], "peer");
		double bytes = show_memory_row(section, bench_peers[i].name, (double)bench_memlock(fd), flows,
					       table);

		lru = i ? lru : bytes;
	}
	snprintf(text, sizeof text, "%s: LRU_HASH beside table and side table, bytes", s->machine->name);
	if (s->machine->error > 0)
		report_at_least(text, lru / table, 28, "x");
}

/* ------------------------------------------------------------- two processors */

static void show_together(const struct bench_turns *how, const struct variant row[ROWS])
{
	const struct variant v[] = {row[NOTHING], row[WRITTEN], row[WHOLE], row[FIRST_PEER]};
	struct samples gain[4] = {{.n = 0}}, beside;
	char section[64], text[96];

	snprintf(section, sizeof section, "two, %s", how->set->machine->name);
	snprintf(text, sizeof text, "%s: two processors' gain beside that of a program that does nothing",
		 how->set->machine->name);
	if (how->set->processors < 2) {
		report_at_least(text, NAN, .9, "x");
		return;
	}
	turns_together(how, v, 4, gain);
	report_section("two processors at once: how many times the packets of one? %s",
		       how->set->machine->name);
	printf("%-46s %20s %20s\n", "", "times", "beside nothing's");
	for (unsigned i = 0; i < 4; i++) {
		beside = samples_over(&gain[i], &gain[0]);
		printf("%-46s %20s %20s\n", v[i].name, cell_of(&gain[i], 2).text, cell_of(&beside, 2).text);
		report_record(section, v[i].name, "gain", "x", &gain[i]);
	}
	beside = samples_over(&gain[2], &gain[0]);
	report_at_least(text, samples_median(&beside), .9, "x");
}

/* -------------------------------------------------------------------- loading */

struct load_times {
	struct samples wall, processor; /* ms */
};

static double milliseconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void load_once(struct ink_machines *m, int xdp_alone, struct load_times *times)
{
	struct ink_why why = {""};
	double wall = milliseconds(CLOCK_MONOTONIC), processor = milliseconds(CLOCK_PROCESS_CPUTIME_ID);
	struct ink_kernel *k = bench_kernel_make(&machines[0], m, options.flows, xdp_alone, &why);

	if (!k)
		die("%s", why.text);
	samples_add(&times->wall, milliseconds(CLOCK_MONOTONIC) - wall);
	samples_add(&times->processor, milliseconds(CLOCK_PROCESS_CPUTIME_ID) - processor);
	ink_kernel_close(k);
}

static void show_loads(const char *hooks, const struct load_times *t)
{
	printf("%-46s %16s %16s\n", hooks, cell_of(&t->wall, 0).text, cell_of(&t->processor, 0).text);
	report_record("load", hooks, "wall", "ms", &t->wall);
	report_record("load", hooks, "processor", "ms", &t->processor);
}

static void show_load_times(void)
{
	struct ink_machines *m = bench_machines_make(&machines[0]);
	struct load_times xdp = {.wall = {.n = 0}}, all = {.wall = {.n = 0}};

	bench_unpin(); /* as the tool: two programs are verified at once */
	for (unsigned i = 0; i < options.rounds; i++) {
		load_once(m, 1, &xdp);
		load_once(m, 0, &all);
	}
	bench_pin(0);
	ink_machines_free(m);
	printf("%-46s %16s %16s\n", "", "ms", "of a processor");
	show_loads("for XDP", &xdp);
	show_loads("for XDP, ingress and egress", &all);
	report_at_most("load for XDP, ingress and egress: tables planned, programs verified, maps made",
		       samples_median(&all.wall), 100, "ms");
}

static void show_program(const struct bench_set *s, const char *name)
{
	struct bpf_prog_info info = {0};
	uint32_t length = sizeof info;
	int fd = ink_kernel_program(s->kernel, name);
	char text[96];

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &length))
		return;
	printf("%-46s %16u instructions processed, %u bytes of machine code\n", name, info.verified_insns,
	       info.jited_prog_len);
	report_value("load", name, "verified", "instructions", info.verified_insns);
	snprintf(text, sizeof text, "%s: instructions that the verifier processed", name);
	report_at_most(text, info.verified_insns, 100000, "");
}

static void show_load(const struct bench_set *s)
{
	report_section("load: `tcp` for %u flows, median (quartiles) of %u", options.flows, options.rounds);
	show_load_times();
	for (unsigned i = 0; i < INK_KERNEL_PROGRAMS; i++)
		show_program(s, ink_kernel_program_names[i]);
}

/* ------------------------------------------------------------------------- all */

static void measure(const struct bench_machine *m, int first)
{
	struct bench_set *s = bench_set_make(m, options.flows);
	const struct bench_turns how = {
		.set = s, .warm = options.packets / 4, .packets = options.packets, .rounds = options.rounds};
	struct variant row[ROWS] = {{0}};
	unsigned n = make_rows(s, row);

	turns_take(&how, row, n);
	show_steps(s, row);
	show_peers(s, row, n);
	show_memory(s);
	show_together(&how, row);
	bench_check(s, 0);
	if (first)
		show_load(s);
	bench_set_free(s);
}

static void show_head(void)
{
	struct utsname u;
	double load = 0;

	uname(&u);
	if (getloadavg(&load, 1) < 1)
		load = NAN;
	printf("Linux %s, %ld processors, load average %.1f\n", u.release, sysconf(_SC_NPROCESSORS_ONLN),
	       load);
}

static _Noreturn void usage(int status)
{
	fputs("usage: ink-bench-kernel [--quick] [--rounds N] [--flows N] [--packets N] [--ndjson FILE]\n"
	      "\n"
	      "  --quick        3 rounds\n"
	      "  --rounds N     instead of 11\n"
	      "  --flows N      live flows, instead of 1,000,000\n"
	      "  --packets N    of a turn, instead of 1,000,000\n"
	      "  --ndjson FILE  also write every number to FILE, one JSON object a line\n",
	      status ? stderr : stdout);
	exit(status);
}

static uint32_t number(const char *text, unsigned long least, unsigned long most)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || n < least || n > most)
		usage(2);
	return (uint32_t)n;
}

static void parse(int argc, char **argv)
{
	static const struct option known[] = {{"quick", no_argument, NULL, 'q'},
					      {"rounds", required_argument, NULL, 'r'},
					      {"flows", required_argument, NULL, 'f'},
					      {"packets", required_argument, NULL, 'p'},
					      {"ndjson", required_argument, NULL, 'n'},
					      {"help", no_argument, NULL, 'h'},
					      {NULL, 0, NULL, 0}};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
		if (option == 'q')
			options.rounds = 3;
		else if (option == 'r')
			options.rounds = number(optarg, 1, BENCH_ROUNDS);
		else if (option == 'f')
			options.flows = number(optarg, 1000, 16000000);
		else if (option == 'p')
			options.packets = number(optarg, 1000, 100000000);
		else if (option == 'n')
			options.ndjson = optarg;
		else
			usage(option == 'h' ? 0 : 2);
	if (optind < argc)
		usage(2);
}

int main(int argc, char **argv)
{
	parse(argc, argv);
	report_begin(options.ndjson);
	if (unshare(CLONE_NEWNET) && errno != EPERM) /* connections that are tracked here end with it */
		die("no network of its own: %s", strerror(errno));
	show_head();
	for (unsigned i = 0; i < sizeof machines / sizeof *machines; i++)
		measure(&machines[i], i == 0);
	report_end();
	return 0;
}
