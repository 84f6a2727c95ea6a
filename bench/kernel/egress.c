/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What do queues, limits, priorities and a search of the payload cost a packet of video at egress? And how much of a
 * processor does 1 Gbit/s of such packets take?
 *
 * Each row is a set of its own, which differs in one thing from the first. All take turns on one frame: UDP with 1,316
 * bytes of MPEG-TS, of which none begins a picture, so that the search goes to its end. The packets are of one flow: the
 * table is in the cache, and what it costs to miss it is in the other benchmark. The program is that of `attach`, by the
 * boot clock, everything is carried out, and nothing is dropped but where a row says so.
 *
 * The device is a veth with a TBF, in a namespace that ends with the process; for the row of the virtual queue it is
 * the same one, with `--queue virtual`.
 *
 * Result: docs/kernel.md, "What it costs".
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/kernel/report.h"
#include "kernel/inside.h"

enum { PAYLOAD = 1316, FRAME = 42 + PAYLOAD, ROWS_MOST = 32 };

#define HEAD "machine m\nkey flow\n"
#define ROW(does) "absent, s: e -> s / " does "\ns: timeout 1h -> absent\n"
#define PLAIN HEAD "event e = udp\n" ROW("count c")

static struct row {
	const char *name;
	const char *text; /* or NULL: the bundled machine of that name */
	int is_virtual;
	int video; /* its 1 Gbit/s is reckoned */
	struct ink_machines *machines;
	struct ink_kernel *kernel;
	struct samples ns;
} rows[ROWS_MOST] = {
	{.name = "a step that counts", .text = PLAIN},
	{.name = "queue in packets, real",
	 .text = HEAD "event e = udp and queue < 50 packets\n" ROW("count c")},
	{.name = "queue in ms, real", .text = HEAD "event e = udp and queue < 50ms\n" ROW("count c")},
	{.name = "queue in packets, virtual",
	 .text = HEAD "event e = udp and queue < 50 packets\n" ROW("count c"),
	 .is_virtual = 1},
	{.name = "priority", .text = HEAD "event e = udp\n" ROW("count c, priority 3")},
	{.name = "limit", .text = HEAD "event e = udp\n" ROW("count c, limit 1tbit")},
	{.name = "limit each flow", .text = HEAD "event e = udp\n" ROW("count c, limit 1tbit each flow")},
	{.name = "limit, all refused", .text = HEAD "event e = udp\n" ROW("count c, limit 1kbit burst 1")},
	{.name = "picture", .text = HEAD "event e = picture B or udp\n" ROW("count c")},
	{.name = "nal", .text = HEAD "event e = nal 5 or udp\n" ROW("count c")},
	{.name = "video-b", .video = 1},
	{.name = "aqm-b", .video = 1},
	{.name = "aqm-combined", .video = 1},
};

static uint8_t frame[FRAME];
static unsigned device;

/* ------------------------------------------------------------------- the packet */

static void make_payload(uint8_t *at)
{
	uint32_t x = 1;

	for (unsigned i = 0; i < PAYLOAD; i++) {
		x = x * 1664525 + 1013904223;
		at[i] = (uint8_t)(x >> 24 | 1); /* no zeros, so no start codes */
	}
	for (unsigned i = 0; i < PAYLOAD; i += 188)
		memcpy(at + i, (const uint8_t[]){0x47, 1, 0, 0x10}, 4);
}

static void make_frame(void)
{
	static const uint8_t headers[42] = {2,
					    0,
					    0,
					    0,
					    0,
					    2,
					    2,
					    0,
					    0,
					    0,
					    0,
					    1,
					    8,
					    0,
					    0x45,
					    0,
					    (FRAME - 14) >> 8,
					    (FRAME - 14) & 255,
					    0,
					    0,
					    0,
					    0,
					    64,
					    17,
					    0,
					    0,
					    10,
					    0,
					    0,
					    1,
					    10,
					    0,
					    0,
					    2,
					    19,
					    140,
					    19,
					    140,
					    (FRAME - 34) >> 8,
					    (FRAME - 34) & 255,
					    0,
					    0};

	memcpy(frame, headers, sizeof headers);
	make_payload(frame + sizeof headers);
}

/* --------------------------------------------------------------------- the sets */

static void skip(const char *why)
{
	printf("%s\n", why);
	exit(77);
}

static void make_device(void)
{
	if (unshare(CLONE_NEWNET) ||
	    system("ip link add ink0 type veth peer name ink1 && ip link set ink0 up && ip link set ink1 up && "
		   "tc qdisc add dev ink0 root tbf rate 1gbit burst 20000 limit 1000000"))
		skip("no namespace with a veth pair and a TBF of its own");
	device = if_nametoindex("ink0");
}

static void make_set(struct row *r)
{
	const struct ink_options table = {.size = sizeof table, .flows = 100000, .age_bits = 2};
	const struct ink_kernel_place place = {
		.interface = "ink0", .index = device, .hook = INK_KERNEL_EGRESS};
	struct ink_machine_options o = {.size = sizeof o, .file = r->name};
	struct ink_kernel_options k = {.tables = &table,
				       .places = &place,
				       .n_places = 1,
				       .dry_run = 1,
				       .enforce = 1,
				       .queue_virtual = r->is_virtual};
	struct ink_why why = {""};

	r->machines = r->text ? ink_machines_make(r->text, strlen(r->text), &o)
			      : ink_machines_load(&r->name, 1, &o, &why);
	if (!r->machines)
		die("%s: %s", r->name, why.text);
	k.machines = r->machines;
	k.queue_rate = ink_machine_view(ink_machines_at(r->machines, 0))->queues ? 1000000000000ull : 0;
	r->kernel = ink_kernel_make(&k, &why);
	if (!r->kernel && (errno == EPERM || errno == EACCES || errno == ENOSYS))
		skip(why.text);
	if (!r->kernel)
		die("%s: %s", r->name, why.text);
}

/* Every packet found the queue that the row is about. */
static void check_queue(const struct row *r)
{
	struct ink_kernel_queued queues[INK_KERNEL_QUEUES];
	unsigned n;

	if (ink_kernel_queues(r->kernel, queues, &n))
		die("%s: the queue cannot be read", r->name);
	if (n && !queues[0].waits.from[r->is_virtual ? INK_WAIT_CHOSEN : INK_WAIT_REAL])
		printf("%s: the queue is virtual in this kernel\n", r->name);
}

/* ---------------------------------------------------------------------- turns */

static double processor_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static double run(const struct row *r, uint32_t packets)
{
	static uint8_t out[FRAME];
	struct __sk_buff skb = {.ifindex = device};
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = frame, .data_size_in = sizeof frame, .data_out = out,
		    .data_size_out = sizeof out, .ctx_in = &skb, .ctx_size_in = sizeof skb,
		    .repeat = (int)packets);
	double start = processor_ns();

	if (bpf_prog_test_run_opts(r->kernel->program[INK_KERNEL_EGRESS], &o))
		die("%s cannot be run: %s", r->name, strerror(errno));
	return (processor_ns() - start) / packets;
}

static void take_turns(unsigned n, unsigned rounds, uint32_t packets)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof one, &one);
	for (unsigned round = 0; round < rounds; round++)
		for (unsigned i = 0; i < n; i++) {
			struct row *r = &rows[(i + round) % n];

			run(r, packets / 8);
			samples_add(&r->ns, run(r, packets));
		}
}

/* ---------------------------------------------------------------------- tables */

static void show(unsigned n, unsigned rounds)
{
	report_section("egress: a packet of 1,316 bytes of video, ns, median (quartiles) of %u rounds",
		       rounds);
	printf("%-34s %18s %18s\n", "", "packet", "more than the first");
	for (unsigned i = 0; i < n; i++) {
		const struct samples more = samples_less(&rows[i].ns, &rows[0].ns);

		printf("%-34s %18s %18s\n", rows[i].name, cell_of(&rows[i].ns, 0).text,
		       i ? cell_of(&more, 0).text : "");
		report_record("egress", rows[i].name, "packet", "ns", &rows[i].ns);
	}
}

/* Without what Ethernet has around frames, which would be fewer. */
static void show_gigabit(unsigned n)
{
	double packets = 1e9 / 8 / FRAME;

	report_section("1 Gbit/s of such packets, %.0f a second, by reckoning", packets);
	for (unsigned i = 0; i < n; i++)
		if (rows[i].video) {
			double share = packets * samples_median(&rows[i].ns) / 1e9;

			printf("%-34s %16.1f %% of a processor\n", rows[i].name, share * 100);
			report_at_most(rows[i].name, share, 1, "processors");
		}
}

int main(int argc, char **argv)
{
	uint32_t packets = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
	unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 11, n = 0;

	if (!packets || !rounds || rounds > BENCH_ROUNDS || argc > 3) {
		fputs("usage: ink-bench-egress [PACKETS [ROUNDS]]\n", stderr);
		return 2;
	}
	report_begin(NULL);
	make_device();
	make_frame();
	for (; n < ROWS_MOST && rows[n].name; n++)
		make_set(&rows[n]);
	take_turns(n, rounds, packets);
	show(n, rounds);
	show_gigabit(n);
	for (unsigned i = 0; i < n; i++) {
		check_queue(&rows[i]);
		ink_kernel_close(rows[i].kernel);
		ink_machines_free(rows[i].machines);
	}
	report_end();
	return 0;
}
