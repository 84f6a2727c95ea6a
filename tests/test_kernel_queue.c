/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues, limits, priorities and classes in the kernel.
 *
 *     virtual queues, buckets    packet by packet beside a tracker, under the test clock (kernel_beside.h)
 *     what the packet has then   its mark and its priority, from BPF_PROG_TEST_RUN
 *     real queues                of a device in a namespace of the test's own, behind a TBF so slow that it stands still: a
 *                                known number of frames waits there, and the program is run as if a packet left by it
 *     two processors             at one bucket and at one queue, while the clock stands: all that they take is there
 */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>

#include <bpf/bpf.h>

#include "packet/queue.h"
#include "sim/frame.h"
#include "tests/kernel_beside.h"

/* ------------------------------------------------------------------------- machines */

static struct ink_machines *machines_of_text(const char *text)
{
	struct ink_machine_options o = {.size = sizeof o, .file = "x.fsm", .complain = note};
	struct ink_machines *m;

	n_told = 0;
	m = ink_machines_make(text, strlen(text), &o);
	if (!m)
		fail_msg("%s", n_told ? told[0].shown : "no machine");
	return m;
}

/* A machine for one frame after the other, whatever they are. */
#define ALL "machine m\nkey flow\nevent e = any\n"

/* ------------------------------------------------------------------------- beside a tracker */

#define MANY                                                                                                 \
	"machine first\nkey flow\n"                                                                          \
	"event big   = udp and queue > 40 packets\n"                                                         \
	"event heavy = udp and queue > 30000 bytes\n"                                                        \
	"event late  = tcp and queue > 50ms\n"                                                               \
	"event calm  = queue <= 2 packets\n"                                                                 \
	"event rest  = any\n"                                                                                \
	"absent, open : big -> open / drop, count big\n"                                                     \
	"  | heavy -> open / limit 200kbit each flow, class 1:20, count heavy\n"                             \
	"  | late -> open / limit 100kbit burst 3000, priority 6, count late, tell second met\n"             \
	"  | calm -> open / pass, count calm\n"                                                              \
	"  | rest -> open / priority 1, limit 2mbit each flow burst 20000, tell second met\n"                \
	"open : timeout 2s -> absent\n"                                                                      \
	"machine second\nkey source\n"                                                                       \
	"event met = told\n"                                                                                 \
	"event little = queue <= 10 packets\n"                                                               \
	"absent, seen : met -> seen / limit 150kbit each flow burst 3000, mark 7, count met\n"               \
	"  | little -> seen / pass, limit 2mbit, class 2:1\n"                                                \
	"seen : timeout 1s -> absent\n"

/* Bursts and rests, of few flows; once in a while time goes back. */
static void make_packet(struct ink_packet *p, uint8_t *frame, uint64_t *clock)
{
	static const uint8_t payload[SIM_PAYLOAD_MOST];
	const struct sim_ends ends = {.address = {1 + random_below(8), 100},
				      .port = {(uint16_t)(1000 + random_below(8)), 80},
				      .version = random_below(4) ? 4 : 6,
				      .protocol = random_below(3) ? INK_PROTOCOL_UDP : INK_PROTOCOL_TCP};
	const struct sim_segment s = {.from = random_below(8) == 0,
				      .flags = INK_TCP_ACK,
				      .payload = payload,
				      .length = random_below(3) ? random_below(1400) : 1316};

	*clock += random_below(300) ? random_below(1500000) : 300000000;
	*p = (struct ink_packet){.frame = frame, .clock = *clock - (random_below(40) ? 0 : 100000000)};
	p->captured = p->wire = (uint32_t)sim_frame(frame, &ends, &s);
	if (!random_below(20)) /* nobody's, which joins all the same */
		frame[12] = 9;
	ink_packet_parse(p, INK_LINK_ETHERNET, 0);
}

static void compare_traffic(uint64_t n)
{
	static uint8_t frame[SIM_FRAME_MOST];
	uint64_t clock = 1000000000;
	struct ink_packet p;

	for (; n; n--) {
		make_packet(&p, frame, &clock);
		compare_packet("queue", &p);
	}
}

static struct ink_kernel_counts counts_of(unsigned number)
{
	struct ink_kernel_counts c;

	assert_int_equal(ink_kernel_counts(kernel, number, &c), 0);
	return c;
}

TEST_THAT(queues_limits_and_priorities_are_those_of_a_tracker)
{
	struct ink_kernel_counts a, b;
	uint64_t counters[INK_KERNEL_COUNTERS];

	steps = 0;
	begin_with(machines_of_text(MANY), 0);
	compare_traffic(10000 + scaled(30000));
	compare_counters("queue");
	compare_stats("queue");
	compare_queue("queue");
	compare_tables("queue");
	a = counts_of(0), b = counts_of(1);
	assert_int_equal(ink_kernel_counters(kernel, 0, counters), 0);
	print_message("%lu steps; dropped %" PRIu64 ", limited %" PRIu64 " and %" PRIu64
		      ", priorities %" PRIu64 ", classes %" PRIu64 " and %" PRIu64 "\n",
		      steps, a.dropped, a.limited, b.limited, a.prioritized, a.classed, b.classed);
	/* All of it was met. */
	assert_true(a.dropped && a.limited && b.limited && a.prioritized && a.classed && b.classed &&
		    a.passed);
	for (unsigned i = 0; i < 4; i++)
		assert_true(counters[i] > 0);
}

/* Where time goes back it stands still, also if the latest packet took nothing of a limit. */
TEST_THAT(packets_that_ask_nothing_have_a_time_for_limits)
{
	begin_with(machines_of_text("machine m\nkey flow\nevent held = udp and src port 1003\nevent free = any\n"
				    "absent, open : free -> open | held -> open / limit 500kbit burst 3000\n"
				    "open : timeout 2s -> absent\n"),
		   0);
	compare_traffic(6000);
	assert_true(counts_of(0).limited > 20);
}

/* ------------------------------------------------------------------------- what the packet has then */

static struct ink_kernel *alone(struct ink_kernel_options o, const char *text)
{
	static const struct ink_options plan = {.size = sizeof plan, .flows = 1000, .seed = 7};
	struct ink_options plans[INK_KERNEL_MACHINES];
	struct ink_why why = {""};

	for (unsigned i = 0; i < INK_KERNEL_MACHINES; i++)
		plans[i] = plan;
	machines = machines_of_text(text);
	o.machines = machines;
	o.tables = plans;
	o.test_clock = o.unpinned = 1;
	kernel = ink_kernel_make(&o, &why);
	if (!kernel && (errno == EPERM || errno == EACCES || errno == ENOSYS)) {
		print_message("%s\n", why.text);
		_exit(77);
	}
	if (!kernel)
		fail_msg("%s", why.text);
	return kernel;
}

static size_t some_frame(uint8_t frame[SIM_FRAME_MOST], size_t payload)
{
	static const uint8_t zeros[SIM_PAYLOAD_MOST];
	const struct sim_ends ends = {
		.address = {1, 2}, .port = {1000, 2000}, .version = 4, .protocol = INK_PROTOCOL_UDP};
	const struct sim_segment s = {.payload = zeros, .length = payload};

	return sim_frame(frame, &ends, &s);
}

/* Runs the program of a hook over a frame; `skb` goes in and comes out. */
static int run_with(enum ink_kernel_hook at, struct __sk_buff *skb, uint32_t times)
{
	static __thread uint8_t frame[SIM_FRAME_MOST], out[SIM_FRAME_MOST];
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = frame, .data_size_in = (uint32_t)some_frame(frame, 958),
		    .data_out = out, .data_size_out = sizeof out, .ctx_in = skb, .ctx_size_in = sizeof *skb,
		    .ctx_out = skb, .ctx_size_out = sizeof *skb, .repeat = (int)times);

	assert_int_equal(bpf_prog_test_run_opts(kernel->program[at], &o), 0);
	return (int)o.retval;
}

static struct __sk_buff skb_after(const char *text, enum ink_kernel_hook at, int enforce)
{
	struct __sk_buff skb = {.mark = 9, .priority = 9};

	alone((struct ink_kernel_options){.enforce = enforce}, text);
	run_with(at, &skb, 1);
	end_both(NULL);
	return skb;
}

TEST_THAT(the_priority_of_the_last_step_is_carried_out_at_tc)
{
	static const char two[] =
		ALL "absent: e -> s / priority 3\ns: end -> absent\n"
		    "machine n\nkey flow\nevent e = any\nabsent: e -> s / class 1:20\ns: end -> absent\n";
	static const char one[] = ALL "absent: e -> s / priority 3, mark 5\ns: end -> absent\n";

	assert_int_equal(skb_after(two, INK_KERNEL_EGRESS, 1).priority, 0x10020);
	assert_int_equal(skb_after(two, INK_KERNEL_EGRESS, 0).priority, 9);
	assert_int_equal(skb_after(one, INK_KERNEL_INGRESS, 1).priority, 3);
	assert_int_equal(skb_after(one, INK_KERNEL_INGRESS, 1).mark, 5);
	assert_int_equal(skb_after(one, INK_KERNEL_INGRESS, 0).mark, 9);
}

TEST_THAT(a_limit_drops_at_every_hook_if_it_is_enforced)
{
	static const char text[] = ALL "absent, s: e -> s / limit 8kbit burst 2500\ns: end -> absent\n";

	for (int at = 0; at < INK_KERNEL_HOOKS; at++)
		for (int enforce = 0; enforce < 2; enforce++) {
			uint8_t frame[SIM_FRAME_MOST];
			uint32_t n = (uint32_t)some_frame(frame, 958);
			int pass = at == INK_KERNEL_XDP ? 2 : INK_KERNEL_NEXT,
			    drop = at == INK_KERNEL_XDP ? XDP_DROP : TC_ACT_SHOT;

			alone((struct ink_kernel_options){.enforce = enforce}, text);
			assert_int_equal(n, 1000);
			for (int i = 0; i < 5; i++) /* two and a half of them, and one a second later */
				assert_int_equal(ink_kernel_try(kernel, at, frame, n, i < 4 ? 1 : 1000000001),
						 !enforce || i < 2 || i == 4 ? pass : drop);
			assert_int_equal(counts_of(0).limited, 2);
			assert_int_equal(counts_of(0).dropped, 0);
			end_both(NULL);
		}
}

/* ------------------------------------------------------------------------- reload */

TEST_THAT(a_reload_keeps_the_buckets_of_limits_that_stay)
{
	static const char before[] = ALL "absent, s: e -> s / limit 8kbit burst 2500\ns: end -> absent\n";
	static const char same[] =
		ALL "absent, s: e -> s / limit 8kbit burst 2500, count c\ns: end -> absent\n";
	static const char other[] = ALL "absent, s: e -> s / limit 8kbit burst 1500\ns: end -> absent\n";
	struct ink_kernel_options o = {0};
	struct ink_machines *replaced;
	struct ink_why why = {""};
	uint8_t frame[SIM_FRAME_MOST];
	uint32_t n = (uint32_t)some_frame(frame, 958);

	alone((struct ink_kernel_options){.enforce = 1}, before);
	for (int i = 0; i < 3; i++)
		ink_kernel_try(kernel, INK_KERNEL_XDP, frame, n, 1);
	assert_int_equal(counts_of(0).limited, 1);
	replaced = machines;
	o.machines = machines = machines_of_text(same);
	assert_int_equal(ink_kernel_reload(kernel, &o, &why), 0);
	ink_machines_free(replaced);
	assert_int_equal(ink_kernel_try(kernel, INK_KERNEL_XDP, frame, n, 1), XDP_DROP);
	replaced = machines;
	o.machines = machines = machines_of_text(other);
	assert_int_equal(ink_kernel_reload(kernel, &o, &why), 0);
	ink_machines_free(replaced);
	assert_int_not_equal(ink_kernel_try(kernel, INK_KERNEL_XDP, frame, n, 1), XDP_DROP);
	assert_int_equal(ink_kernel_try(kernel, INK_KERNEL_XDP, frame, n, 1), XDP_DROP);
}

TEST_THAT(a_reload_that_needs_a_rate_is_refused)
{
	struct ink_kernel_options o = {0};
	struct ink_machines *old;
	struct ink_why why = {""};

	alone((struct ink_kernel_options){.enforce = 1}, ALL "absent: e -> s\ns: end -> absent\n");
	old = machines;
	o.machines = machines_of_text("machine m\nkey flow\nevent e = queue > 3 packets\nabsent: e -> s\n"
				      "s: end -> absent\n");
	assert_int_equal(ink_kernel_reload(kernel, &o, &why), -EINVAL);
	assert_non_null(strstr(why.text, "x.fsm:3:11: machine m: lo has"));
	assert_non_null(strstr(why.text, "'queue' needs the rate of a virtual one (attach --queue-rate)"));
	assert_int_equal(ink_kernel_control(kernel)->queues, 0);
	ink_machines_free((struct ink_machines *)(uintptr_t)o.machines);
	machines = old;
}

/* ------------------------------------------------------------------------- real queues */

/* Every number of packets, and every thousand bytes, up to `most`, is an event of its own. */
static void conditions_up_to(unsigned most)
{
	begin("");
	for (unsigned i = 0; i <= most; i++)
		add("machine p%u\nkey flow\nevent e = queue > %u packets\nabsent, s: e -> s / count c\ns: end -> absent\n"
		    "machine b%u\nkey flow\nevent e = queue >= %u bytes\nabsent, s: e -> s / count c\ns: end -> absent\n",
		    i, i, i, i * 1000);
}

static int out = -1; /* sends frames of 1,000 bytes into ink0 */

static int cannot(const char *what)
{
	print_message("%s\n", what);
	return -1;
}

/* A device that keeps what it is given, but for the first frame: a byte a second. */
static int make_device(const char *root)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET};
	char command[200];

	if (unshare(CLONE_NEWNET))
		return cannot("no namespace of its own");
	if (system("echo 1 2>/dev/null >/proc/sys/net/ipv6/conf/default/disable_ipv6; ip link add ink0 numtxqueues 2 "
		   "type veth peer name ink1 && ip link set ink0 up arp off && ip link set ink1 up arp off"))
		return cannot("no veth pair");
	snprintf(command, sizeof command, "tc qdisc add dev ink0 root %s 2>/dev/null", root);
	if (*root && system(command))
		return cannot("this kernel has no such qdisc");
	to.sll_ifindex = (int)if_nametoindex("ink0");
	out = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	return out < 0 || bind(out, (struct sockaddr *)&to, sizeof to) ? cannot("no packet socket") : 0;
}

/* The namespace ends with its last descriptor, and the device with it. */
static void leave_device(void)
{
	close(out);
	out = -1;
}

static void send_one(void)
{
	uint8_t frame[SIM_FRAME_MOST];
	size_t n = some_frame(frame, 958);

	assert_int_equal(send(out, frame, n, 0), (ssize_t)n);
}

static struct ink_kernel_place at_egress(const char *interface)
{
	struct ink_kernel_place place = {.index = if_nametoindex(interface), .hook = INK_KERNEL_EGRESS};

	snprintf(place.interface, sizeof place.interface, "%s", interface);
	return place;
}

static uint64_t counter(unsigned number)
{
	uint64_t counters[INK_KERNEL_COUNTERS];

	assert_int_equal(ink_kernel_counters(kernel, number, counters), 0);
	return counters[0];
}

/* Which queue a device with that root has, and that the virtual one is found empty then. */
static void find_source(const char *root, enum ink_kernel_wait expected)
{
	struct ink_kernel_queued queues[INK_KERNEL_QUEUES];
	struct ink_kernel_place place;
	struct __sk_buff skb = {0};
	unsigned n;

	if (make_device(root))
		return;
	place = at_egress("ink0");
	skb.ifindex = place.index;
	alone((struct ink_kernel_options){.places = &place,
					  .n_places = 1,
					  .dry_run = 1,
					  .queue_rate = 8000000},
	      ALL
	      "absent, s: e -> s\ns: end -> absent\nevent f = queue > 1 packets\nabsent, s: f -> s / count c\n");
	run_with(INK_KERNEL_EGRESS, &skb, 1);
	assert_int_equal(ink_kernel_queues(kernel, queues, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(queues[0].expected, expected);
	assert_int_equal(queues[0].waits.from[expected], 1);
	assert_int_equal(queues[0].waits.joined, 1);
	end_both(NULL);
	leave_device();
}

static int reads_real(void)
{
	struct bpf_object *device;

	alone((struct ink_kernel_options){0}, ALL "absent: e -> s\ns: end -> absent\n");
	device = ink_kernel_device_load(kernel, NULL);
	bpf_object__close(device);
	end_both(NULL);
	if (!device)
		print_message("this kernel shows no program its queues\n");
	return device != NULL;
}

TEST_THAT(which_queue_is_read_follows_from_the_root_qdisc)
{
	if (!reads_real()) {
		find_source("", INK_WAIT_OLD);
		return;
	}
	find_source("", INK_WAIT_NOQUEUE);
	find_source("tbf rate 1mbit burst 5000 limit 10000", INK_WAIT_REAL);
	find_source("htb", INK_WAIT_REAL);
	find_source("mq", INK_WAIT_MANY);
	find_source("pfifo_fast", INK_WAIT_APART);
}

/* It may have a queue when it comes up. This one has none, and no rate was given. */
TEST_THAT(the_queue_of_an_interface_that_was_never_up_is_not_known)
{
	struct ink_kernel_queued queues[INK_KERNEL_QUEUES];
	struct ink_kernel_place place;
	struct __sk_buff skb = {0};
	unsigned n;

	if (!reads_real() || make_device(""))
		return;
	assert_int_equal(system("ip link add ink2 type veth peer name ink3"), 0);
	place = at_egress("ink2");
	skb.ifindex = place.index;
	alone((struct ink_kernel_options){.places = &place, .n_places = 1, .dry_run = 1}, ALL
	      "absent, s: e -> s\ns: end -> absent\nevent f = queue > 0 packets\nabsent, s: f -> s / count c\n");
	assert_int_equal(ink_kernel_queues(kernel, queues, &n), 0);
	assert_int_equal(queues[0].expected, INK_KERNEL_WAITS);
	assert_int_equal(system("ip link set ink2 up"), 0);
	run_with(INK_KERNEL_EGRESS, &skb, 3);
	assert_int_equal(ink_kernel_queues(kernel, queues, &n), 0);
	assert_int_equal(queues[0].waits.from[INK_WAIT_NOQUEUE], 3);
	assert_int_equal(queues[0].waits.unknown, 3);
	assert_int_equal(queues[0].waits.joined, 0);
	assert_int_equal(counter(0), 0);
	leave_device();
}

enum { WAITING = 6 };

TEST_THAT(a_condition_holds_from_the_packet_on_that_makes_the_queue_so_long)
{
	struct ink_kernel_place place;
	struct __sk_buff skb = {0};
	unsigned n = 2 * (WAITING + 1);

	if (!reads_real() || make_device("tbf rate 8bit burst 1600 limit 1000000"))
		return;
	place = at_egress("ink0");
	skb.ifindex = place.index;
	conditions_up_to(WAITING);
	alone((struct ink_kernel_options){.places = &place, .n_places = 1, .dry_run = 1}, draft.text);
	send_one(); /* has left */
	for (unsigned waits = 0; waits <= WAITING; waits++, send_one()) {
		uint64_t before[2 * (WAITING + 1)];

		for (unsigned i = 0; i < n; i++)
			before[i] = counter(i);
		run_with(INK_KERNEL_EGRESS, &skb, 1);
		for (unsigned i = 0; i < n; i += 2) {
			assert_int_equal(counter(i) - before[i], waits > i / 2);
			assert_int_equal(counter(i + 1) - before[i + 1], waits >= i / 2);
		}
	}
	leave_device();
}

TEST_THAT(the_time_of_a_real_queue_is_that_of_its_bytes_at_the_rate)
{
	struct ink_kernel_place place;
	struct __sk_buff skb = {0};

	/* Four frames of 1,000 bytes at 1 Mbit/s: 32 ms. */
	static const char text[] =
		"machine m\nkey flow\nevent e = queue >= 32ms\nabsent, s: e -> s / count c\n"
		"s: end -> absent\n"
		"machine n\nkey flow\nevent e = queue >= 33ms\nabsent, s: e -> s / count c\n"
		"s: end -> absent\n";

	if (!reads_real() || make_device("tbf rate 8bit burst 1600 limit 1000000"))
		return;
	place = at_egress("ink0");
	skb.ifindex = place.index;
	alone(
		(struct ink_kernel_options){
			.places = &place, .n_places = 1, .dry_run = 1, .queue_rate = 1000000},
		text);
	for (int i = 0; i < 4; i++)
		send_one();
	run_with(INK_KERNEL_EGRESS, &skb, 1);
	assert_int_equal(counter(0), 0);
	send_one();
	run_with(INK_KERNEL_EGRESS, &skb, 1);
	assert_int_equal(counter(0), 1);
	assert_int_equal(counter(1), 0);
	leave_device();
}

/* As of 2 MiB at 1 kbit/s. */
TEST_THAT(waits_beyond_64_bits_are_added_as_five_hours)
{
	struct ink_kernel_queued queues[INK_KERNEL_QUEUES];
	struct ink_kernel_place place;
	struct __sk_buff skb = {0};
	unsigned n;

	if (!reads_real() || make_device("tbf rate 8bit burst 1600 limit 1000000"))
		return;
	place = at_egress("ink0");
	skb.ifindex = place.index;
	alone((struct ink_kernel_options){.places = &place, .n_places = 1, .dry_run = 1, .queue_rate = 1000},
	      "machine m\nkey flow\nevent e = queue >= 1h\nabsent, s: e -> s / count c\ns: end -> absent\n");
	((struct ink_kernel_queue *)(void *)kernel->map[INK_MAP_QUEUES].at)->most = 999;
	for (int i = 0; i < 2; i++)
		send_one();
	run_with(INK_KERNEL_EGRESS, &skb, 2);
	assert_int_equal(counter(0), 2);
	assert_int_equal(ink_kernel_queues(kernel, queues, &n), 0);
	assert_int_equal(queues[0].waits.worst, UINT64_MAX >> 20);
	assert_int_equal(queues[0].waits.wait, 2 * (UINT64_MAX >> 20));
	leave_device();
}

/* ------------------------------------------------------------------------- virtual queues */

static const char asks[] =
	ALL "absent, s: e -> s\ns: end -> absent\nevent q = queue > 1 packets\nabsent, s: q -> s\n";

TEST_THAT(each_interface_has_a_queue_of_its_own)
{
	struct ink_kernel_queued queues[INK_KERNEL_QUEUES];
	struct ink_kernel_place places[2];
	unsigned n;

	if (make_device(""))
		return;
	places[0] = at_egress("ink0");
	places[1] = at_egress("ink1");
	alone(
		(struct ink_kernel_options){
			.places = places, .n_places = 2, .dry_run = 1, .queue_rate = 8000000},
		asks);
	for (unsigned i = 0; i < 2; i++) {
		struct __sk_buff skb = {.ifindex = places[i].index};

		run_with(INK_KERNEL_EGRESS, &skb, 1 + i);
	}
	assert_int_equal(ink_kernel_queues(kernel, queues, &n), 0);
	assert_int_equal(n, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(queues[i].interface, places[i].index);
		assert_int_equal(queues[i].waits.joined, 1 + i);
	}
	leave_device();
}

TEST_THAT(a_packet_that_was_stepped_at_another_hook_joins_the_queue)
{
	struct ink_kernel_queued queues[INK_KERNEL_QUEUES];
	struct __sk_buff skb = {.mark = 8};
	unsigned n;

	alone((struct ink_kernel_options){.mark_bit = 8, .queue_rate = 8000000, .queue_virtual = 1}, asks);
	run_with(INK_KERNEL_EGRESS, &skb, 1);
	assert_int_equal(counts_of(0).again, 1);
	assert_int_equal(counts_of(0).packets, 0);
	assert_int_equal(ink_kernel_queues(kernel, queues, &n), 0);
	assert_int_equal(queues[0].waits.joined, 1);
	assert_int_equal(queues[0].waits.bytes, 1000);
}

/* The program that reads the queue comes with the machine that asks. */
static void reload_with(const char *text)
{
	struct ink_machines *replaced = machines;
	struct ink_kernel_options o = {.machines = machines_of_text(text)};
	struct ink_why why = {""};

	machines = (struct ink_machines *)(uintptr_t)o.machines;
	if (ink_kernel_reload(kernel, &o, &why))
		fail_msg("%s", why.text);
	ink_machines_free(replaced);
}

TEST_THAT(a_reload_begins_and_ends_to_look_at_a_real_queue)
{
	static const char without[] =
		"machine m\nkey flow\nevent e = udp\nabsent, s: e -> s / count c\ns: end -> absent\n";
	static const char with[] = "machine m\nkey flow\nevent e = udp and queue > 2 packets\n"
				   "absent, s: e -> s / count c\ns: end -> absent\n";
	struct ink_kernel_queued queues[INK_KERNEL_QUEUES];
	struct ink_kernel_place place;
	struct __sk_buff skb = {0};
	unsigned n;

	if (!reads_real() || make_device("tbf rate 8bit burst 1600 limit 1000000"))
		return;
	place = at_egress("ink0");
	skb.ifindex = place.index;
	alone((struct ink_kernel_options){.places = &place, .n_places = 1, .dry_run = 1}, without);
	for (int i = 0; i < 4; i++)
		send_one();
	run_with(INK_KERNEL_EGRESS, &skb, 1);
	assert_int_equal(ink_kernel_queues(kernel, queues, &n), 0);
	assert_int_equal(n, 0);
	reload_with(with);
	run_with(INK_KERNEL_EGRESS, &skb, 1);
	assert_int_equal(ink_kernel_queues(kernel, queues, &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(queues[0].waits.from[INK_WAIT_REAL], 1);
	assert_int_equal(counter(0), 2);
	reload_with(without);
	run_with(INK_KERNEL_EGRESS, &skb, 1);
	assert_int_equal(ink_kernel_queues(kernel, queues, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(counter(0), 3);
	leave_device();
}

/* ------------------------------------------------------------------------- segments */

TEST_THAT(a_packet_of_several_segments_takes_the_bytes_of_all)
{
	static const char text[] = ALL "absent, s: e -> s / limit 8kbit burst 100000\ns: end -> absent\n"
				       "event q = queue > 1 packets\nabsent, s: q -> s\n";
	struct __sk_buff skb = {.gso_size = 100, .gso_segs = 10, .wire_len = 1000 + 9 * 42};
	struct ink_kernel_queued queues[INK_KERNEL_QUEUES];
	uint64_t empty;
	unsigned n;

	alone((struct ink_kernel_options){.enforce = 1, .queue_rate = 8000, .queue_virtual = 1}, text);
	run_with(INK_KERNEL_EGRESS, &skb, 1);
	assert_int_equal(ink_kernel_queues(kernel, queues, &n), 0);
	/* 958 bytes in ten segments, each behind 42 bytes of headers; at a byte each ms */
	empty = ((const struct ink_kernel_queue *)(const void *)kernel->map[INK_MAP_QUEUES].at)->empty;
	assert_int_equal(empty / 1000000, 958 + 10 * 42);
	assert_int_equal(queues[0].waits.joined, 1); /* more than a second, in a queue that is empty */
	empty = ((const struct ink_kernel_bucket *)(const void *)kernel->map[INK_MAP_BUCKETS].at)->empty;
	assert_int_equal(empty / 1000000, 958 + 10 * 42);
}

/* ------------------------------------------------------------------------- two processors */

enum { TURNS = 200000 };

struct turns {
	pthread_t thread;
	unsigned cpu;
};

static void *take_turns(void *of)
{
	const struct turns *t = of;
	struct __sk_buff skb = {0};
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(t->cpu, &one);
	sched_setaffinity(0, sizeof one, &one); /* a machine of one processor takes turns */
	run_with(INK_KERNEL_EGRESS, &skb, (uint32_t)scaled(TURNS));
	return NULL;
}

static void run_on_two(void)
{
	struct turns t[2] = {{.cpu = 0}, {.cpu = 1}};

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&t[i].thread, NULL, take_turns, &t[i]), 0);
	for (unsigned i = 0; i < 2; i++)
		pthread_join(t[i].thread, NULL);
}

/* The clock stands: each packet of 1,000 bytes takes a us of a bucket, and of a queue, at 8 Gbit/s. */
TEST_THAT(two_processors_take_from_one_bucket_and_one_queue_what_is_there)
{
	static const char text[] = ALL "absent, s: e -> s / limit 8gbit burst 100000000\ns: end -> absent\n"
				       "event q = queue > 4000000000 packets\nabsent, s: q -> s\n";
	uint64_t all = 2 * scaled(TURNS), now = 1000000000, given_up, passed;
	const struct ink_kernel_bucket *bucket;
	struct ink_kernel_queued queues[INK_KERNEL_QUEUES];
	const struct ink_kernel_queue *queue;
	struct ink_kernel_counts c;
	unsigned n;

	alone((struct ink_kernel_options){.enforce = 1, .queue_rate = 8000000000, .queue_virtual = 1}, text);
	ink_kernel_controls(kernel)->test_clock = now;
	run_on_two();
	c = counts_of(0);
	assert_int_equal(ink_kernel_queues(kernel, queues, &n), 0);
	queue = (const struct ink_kernel_queue *)(const void *)kernel->map[INK_MAP_QUEUES].at;
	given_up = queues[0].waits.given_up;
	print_message("%" PRIu64 " packets of two processors: %" PRIu64 " refused, %" PRIu64
		      " joined, %" PRIu64 " given up\n",
		      c.packets, c.limited, queues[0].waits.joined, given_up);
	assert_int_equal(c.packets, all);
	assert_int_equal(queues[0].waits.joined + given_up + c.limited, all);
	assert_int_equal(queue->empty - now, 1000 * queues[0].waits.joined);
	/* Each swap of the bucket let one pass; a packet for which 16 did not succeed is not to be expected. */
	bucket = (const struct ink_kernel_bucket *)(const void *)kernel->map[INK_MAP_BUCKETS].at;
	passed = (bucket->empty - now) / 1000;
	assert_int_equal(passed, all < 100000 ? all : 100000);
	assert_in_range(all - c.limited, passed, passed + 2);
	assert_true(given_up <= 2);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = end_both});
}
