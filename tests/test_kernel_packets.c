/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs in the kernel see in a frame what `inkling run` sees: every field of the packet, the event, the key
 * and the id. Frames go through BPF_PROG_TEST_RUN, and what the programs made of them is read from their own memory
 * (struct ink_work), whose members are found by the kernel's description of the map.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <ftw.h>
#include <inttypes.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/siphash.h"
#include "kernel/kernel.h"
#include "packet/parse.h"
#include "packet/sensor.h"
#include "sim/frame.h"
#include "tests/goldens.h"
#include "tests/machine_help.h"

/* ------------------------------------------------------------------- the programs */

static struct ink_kernel *kernel;

/* The work of each processor, and where in it is what we look at. */
static struct {
	int map;
	unsigned cpu;
	size_t one; /* bytes for each processor */
	uint8_t *all;
	uint32_t packet, step, id, event, key, n_records;
} work;

/* Bytes before a member of a struct; `type` becomes that of the member. */
static uint32_t offset_of(const struct btf *btf, uint32_t *type, const char *name)
{
	const struct btf_type *t = btf__type_by_id(btf, *type);

	for (unsigned i = 0; i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), name)) {
			*type = btf_members(t)[i].type;
			return btf_member_bit_offset(t, i) / 8;
		}
	fail_msg("the programs have no %s", name);
	return 0;
}

static void find_members(const struct bpf_map_info *info)
{
	struct btf *btf = btf__load_from_kernel_by_id(info->btf_id);
	uint32_t type = info->btf_value_type_id, step = type, any;

	assert_non_null(btf);
	any = type, work.packet = offset_of(btf, &any, "packet");
	any = type, work.key = offset_of(btf, &any, "key");
	any = type, work.n_records = offset_of(btf, &any, "n_records");
	work.step = offset_of(btf, &step, "step");
	any = step, work.id = work.step + offset_of(btf, &any, "id");
	any = step, work.event = work.step + offset_of(btf, &any, "event");
	btf__free(btf);
}

static void find_work(void)
{
	struct bpf_map_info info = {0};
	uint32_t length = sizeof info;
	int cpus = libbpf_num_possible_cpus();

	work.map = ink_kernel_map(kernel, "works");
	assert_true(work.map >= 0 && cpus > 0);
	assert_int_equal(bpf_obj_get_info_by_fd(work.map, &info, &length), 0);
	find_members(&info);
	work.one = (info.value_size + 7u) & ~7u;
	free(work.all);
	work.all = calloc((size_t)cpus, work.one);
	assert_non_null(work.all);
}

static const uint8_t *look(void)
{
	uint32_t zero = 0;

	assert_int_equal(bpf_map_lookup_elem(work.map, &zero, work.all), 0);
	return work.all + work.cpu * work.one;
}

/* One processor for all that follows: the work is that of the one where the program ran. */
static void stay(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(work.cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
}

static int cannot(int error)
{
	return error == EPERM || error == EACCES || error == ENOSYS || error == EOPNOTSUPP;
}

static void attach(const struct ink_machines *machines)
{
	static const struct ink_options usual = {.size = sizeof usual, .flows = 1000, .seed = 7};
	struct ink_options tables[INK_KERNEL_MACHINES];
	struct ink_kernel_options o = {
		.machines = machines, .tables = tables, .test_clock = 1, .unpinned = 1};
	struct ink_why why = {""};

	for (unsigned i = 0; i < INK_KERNEL_MACHINES; i++)
		tables[i] = usual;
	ink_kernel_close(kernel);
	kernel = ink_kernel_make(&o, &why);
	if (!kernel && cannot(errno)) {
		print_message("%s\n", why.text);
		_exit(77);
	}
	if (!kernel)
		fail_msg("%s", why.text);
	find_work();
}

/* ------------------------------------------------------------------------- packets */

/* Frames that BPF_PROG_TEST_RUN takes: something has to be behind the header of Ethernet. */
enum { LEAST = 15, MOST = 3500 };

static struct ink_packet parsed_here(const uint8_t *frame, size_t n)
{
	struct ink_packet p = {.frame = frame, .captured = (uint32_t)n, .wire = (uint32_t)n};

	ink_packet_parse(&p, INK_LINK_ETHERNET, 0);
	return p;
}

/* The payload is a number there: its place in the frame. */
static void assert_same_packet(const char *name, const struct ink_packet *here,
			       const struct ink_packet *there)
{
	struct ink_packet expected = *here;

	if (here->payload)
		expected.payload = (const uint8_t *)(here->payload - here->frame);
	expected.frame = NULL;
	expected.time = expected.clock = there->clock;
	for (size_t i = 0; i < sizeof expected; i++)
		if (((const uint8_t *)&expected)[i] != ((const uint8_t *)there)[i])
			fail_msg("%s: byte %zu of the packet differs (%u, skip %u; %u, skip %u)", name, i,
				 ((const uint8_t *)&expected)[i], expected.skip, ((const uint8_t *)there)[i],
				 there->skip);
}

static unsigned long compared, refused;

/* NULL: at tc, BPF_PROG_TEST_RUN does not take frames that end in the header of IP. */
static const struct ink_packet *run(enum ink_kernel_hook hook, const uint8_t *frame, size_t n)
{
	int verdict = ink_kernel_try(kernel, hook, frame, (uint32_t)n, 1);

	if (verdict == -EINVAL && hook != INK_KERNEL_XDP && ++refused)
		return NULL;
	if (hook == INK_KERNEL_XDP ? verdict < 0 : verdict != INK_KERNEL_NEXT)
		fail_msg("%zu bytes at hook %d: %d", n, hook, verdict);
	return (const struct ink_packet *)(const void *)(look() + work.packet);
}

static void compare_packet(const char *name, const uint8_t *frame, size_t n)
{
	struct ink_packet here;
	const struct ink_packet *there;

	if (n < LEAST || n > MOST)
		return;
	here = parsed_here(frame, n);
	for (enum ink_kernel_hook hook = INK_KERNEL_XDP; hook < INK_KERNEL_HOOKS; hook++) {
		there = run(hook, frame, n);
		if (there)
			assert_same_packet(name, &here, there);
		compared += there != NULL;
	}
}

static void attach_text(const char *text)
{
	struct ink_machine_options o = {.size = sizeof o, .file = "x.fsm", .complain = note};
	struct ink_machines *set = ink_machines_make(text, strlen(text), &o);

	if (!set)
		fail_msg("%s", n_told ? told[0].shown : "no machine");
	attach(set);
}

#define ANY "machine m\nkey connection\nabsent: e -> a\na: timeout 1s -> absent\nevent e = any\n"

TEST_THAT(every_encapsulation_is_removed_there_too)
{
	struct frame f;

	attach_text(ANY);
	for (size_t i = 0; i < COUNT(goldens); i++) {
		if (goldens[i].link != INK_LINK_ETHERNET)
			continue;
		make_frame(&f, goldens[i].frame);
		for (size_t n = LEAST; n <= f.n; n++)
			compare_packet(goldens[i].name, front(&f), n);
	}
	print_message("%lu packets compared, %lu refused at tc\n", compared, refused);
}

/* Headers behind the first 256 bytes, which are walked over again. */
TEST_THAT(headers_far_behind_are_found)
{
	static const char *const far[] = {
		"eth6 ip6:0 061f 254*00 tcp hello",
		"eth6 ip6:0 3c1f 254*00 061f 254*00 tcp hello",
		"eth6 ip6:0 3c3f 510*00 2c1f 254*00 0600000100000000 tcp hello",
		"eth:0x88a8 20078100 206486dd ip6:60 113f 510*00 udp:80 hello",
		"eth4 outer4:17 udp:3544 0001ffff 255*41 255*42 0102030405060708 00 0000fb2d01020304 " TCP6,
		"eth4 outer4:17 udp:3544 0001ffff 255*41 255*42 0102030405060708 00 hello",
		"eth4 outer4:17 udp:6081 3f00655800000000 252*07 eth4 " TCP4,
		"eth4 14*ip4:4 " TCP4,
		"eth6 ip6:41 ip6:41 ip6:41 ip6:41 ip6:41 ip6:41 ip6:41 " TCP6,
		"eth6 ip6:51 06ff0000 1020*00 4*00 tcp hello",
	};
	struct frame f;

	attach_text(ANY);
	for (size_t i = 0; i < COUNT(far); i++) {
		make_frame(&f, far[i]);
		for (size_t n = LEAST; n <= f.n; n += n < f.n && f.n - n > 7 ? 7 : 1)
			compare_packet(far[i], front(&f), n);
	}
}

/* --------------------------------------------------------------------- of the fuzzers */

/* The bytes of an input: as they are, and behind the two with which fuzz_packet.c chooses what they mean. */
static int compare_input(const char *path, const struct stat *s, int type, struct FTW *at)
{
	static uint8_t bytes[MOST + 2];
	FILE *f = type == FTW_F ? fopen(path, "rb") : NULL;
	size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;

	(void)s;
	(void)at;
	if (!f)
		return 0;
	fclose(f);
	compare_packet(path, bytes, n);
	compare_packet(path, bytes + 2, n < 2 ? 0 : n - 2);
	return 0;
}

/* Where `make test` and `make fuzz` keep what their fuzzers have learned; INK_CORPUS is another folder. */
TEST_THAT(inputs_of_the_fuzzers_are_parsed_alike)
{
	const char *given = getenv("INK_CORPUS"), *folder = given ? given : SOURCE_ROOT "/build-fuzz/corpus";

	compared = refused = 0;
	attach_text(ANY);
	if (nftw(folder, compare_input, 16, FTW_PHYS))
		print_message("left out: there are none in %s\n", folder);
	else
		print_message("%lu packets compared, %lu refused at tc\n", compared, refused);
}

/* ------------------------------------------------------------------------- any frames */

static void fill(uint8_t *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		at[i] = (uint8_t)random_word();
}

/* A frame of the simulator, of random ends. */
static size_t talk_frame(uint8_t frame[SIM_FRAME_MOST])
{
	static const uint8_t protocols[] = {INK_PROTOCOL_TCP, INK_PROTOCOL_TCP, INK_PROTOCOL_UDP,
					    INK_PROTOCOL_ICMP};
	static uint8_t payload[SIM_PAYLOAD_MOST];
	struct sim_ends ends = {.address = {random_below(4), 4 + random_below(4)},
				.port = {(uint16_t)random_word(), (uint16_t)random_below(1024)},
				.version = random_below(3) ? 4 : 6,
				.protocol = protocols[random_below(4)]};
	struct sim_segment s = {.from = random_below(2),
				.flags = (uint16_t)random_below(512),
				.payload = payload,
				.length =
					random_below(2) ? random_below(SIM_PAYLOAD_MOST) : random_below(20)};

	fill(payload, s.length);
	return sim_frame(frame, &ends, &s);
}

/* Up to `most` tags behind the addresses. */
static size_t tag(uint8_t *frame, size_t n, unsigned most)
{
	static const uint16_t types[] = {0x8100, 0x88a8, 0x9100, 0x9200, 0x9300};

	for (unsigned tags = random_below(most + 1); tags; tags--, n += 4) {
		uint16_t type = types[random_below(COUNT(types))], word = (uint16_t)random_word();
		const uint8_t bytes[4] = {(uint8_t)(type >> 8), (uint8_t)type, (uint8_t)(word >> 8),
					  (uint8_t)word};

		memmove(frame + 16, frame + 12, n - 12);
		memcpy(frame + 12, bytes, 4);
	}
	return n;
}

static const struct golden *some_golden(void)
{
	const struct golden *g;

	do
		g = &goldens[random_below(COUNT(goldens))];
	while (g->link != INK_LINK_ETHERNET);
	return g;
}

static size_t golden_frame(uint8_t frame[FRAME_MOST + 64])
{
	struct frame f;

	make_frame(&f, some_golden()->frame);
	memcpy(frame, front(&f), f.n);
	return f.n;
}

/* A few bytes are others, mostly among the headers. */
static void damage(uint8_t *frame, size_t n)
{
	for (unsigned i = random_below(4); i; i--)
		frame[12 + random_below((n < 80 ? n : 80) - 12)] = (uint8_t)random_word();
}

/* Noise that begins like a frame of IP. */
static size_t noise_frame(uint8_t frame[FRAME_MOST])
{
	static const uint8_t types[][3] = {
		{8, 0, 0x45}, {0x86, 0xdd, 0x60}, {0x88, 0x47, 0}, {0x88, 0x64, 0x11}, {8, 0, 0x46}};
	size_t n = 20 + random_below(400);

	fill(frame, n);
	if (random_below(4))
		memcpy(frame + 12, types[random_below(COUNT(types))], 3);
	return n;
}

static size_t any_frame(uint8_t frame[FRAME_MOST + 64])
{
	unsigned kind = random_below(8);
	size_t n = kind == 0 ? noise_frame(frame) : kind < 4 ? golden_frame(frame) : talk_frame(frame);

	if (random_below(3) == 0)
		n = tag(frame, n, 4);
	if (kind == 1 || kind == 4)
		damage(frame, n);
	return random_below(8) || n < LEAST + 1 ? n : LEAST + random_below(n - LEAST);
}

TEST_THAT(generated_damaged_and_random_frames_are_parsed_alike)
{
	uint8_t frame[FRAME_MOST + 64];

	attach_text(ANY);
	for (uint64_t i = scaled(30000); i; i--) {
		size_t n = any_frame(frame);

		compare_packet("a random frame", frame, n);
	}
	print_message("%lu packets compared, %lu refused at tc\n", compared, refused);
}

/* What a card with several buffers for a packet brings, and XDP alone gets here. */
TEST_THAT(headers_in_later_buffers_are_found_up_to_16_kib)
{
	static uint8_t frame[20000];
	struct ink_packet here;

	attach_text(ANY);
	for (unsigned long_ones = 1; long_ones < 9; long_ones++) {
		size_t at = 54, n = 54 + long_ones * 2048u + 30;

		memset(frame, 0, sizeof frame);
		memcpy(frame + 12, (const uint8_t[]){0x86, 0xdd, 0x60}, 3);
		frame[18] = (uint8_t)((n - 54) >> 8);
		frame[19] = (uint8_t)(n - 54);
		frame[20] = 60;
		for (unsigned i = 0; i < long_ones; i++, at += 2048) {
			frame[at] = i + 1 < long_ones ? 60 : INK_PROTOCOL_UDP;
			frame[at + 1] = 255;
		}
		frame[at] = 7;
		here = parsed_here(frame, n);
		assert_int_equal(here.skip, INK_NOT_SKIPPED);
		if (at + 14 <= INK_COPY)
			assert_same_packet("long headers", &here, run(INK_KERNEL_XDP, frame, n));
		else
			assert_int_equal(run(INK_KERNEL_XDP, frame, n)->skip, INK_SKIP_TRUNCATED);
	}
}

/* ------------------------------------------------------------------------- events and ids */

static struct ink_classifier *classifiers[INK_KERNEL_MACHINES];
static const struct ink_machines *set;

static void forget_set(void)
{
	for (unsigned i = 0; i < INK_KERNEL_MACHINES; i++) {
		ink_classifier_free(classifiers[i]);
		classifiers[i] = NULL;
	}
}

static void attach_set(struct ink_machines *machines)
{
	forget_set();
	set = machines;
	attach(set);
	for (unsigned i = 0; i < ink_machines_count(set); i++)
		classifiers[i] = ink_classifier_make(ink_machines_at(set, i), INK_LINK_ETHERNET, 1, NULL);
}

/* Packets that had a flow and no event of a machine, so far. */
static uint64_t eventless(unsigned i)
{
	struct ink_kernel_counts counts;

	assert_int_equal(ink_kernel_counts(kernel, i, &counts), 0);
	return counts.eventless;
}

static const uint64_t no_counters[INK_COUNTERS_MAX];

static uint16_t event_here(unsigned i, const struct ink_packet *p)
{
	return ink_classify(classifiers[i], p, &(struct ink_sight){.number = 1, .counters = no_counters});
}

/* The id of the flow that the event is about. */
static uint64_t id_here(const struct ink_machine *m, const struct ink_packet *p, uint16_t event)
{
	struct ink_sensor s = {.machine = m, .view = ink_machine_view(m), .reverses = 1};
	uint8_t key[INK_KEY_MOST];
	size_t n;

	s.key = *ink_key_rule_of(s.view->key_def, &s.key);
	n = ink_sensor_key(&s, p, event, key);
	return ink_siphash13(ink_kernel_table(kernel, 0)->secret, key, n);
}

static void compare_event(const uint8_t *frame, size_t n)
{
	struct ink_packet here = parsed_here(frame, n);
	uint16_t event = event_here(0, &here), there;
	uint64_t before = eventless(0), id;

	run(INK_KERNEL_XDP, frame, n);
	if (here.skip != INK_NOT_SKIPPED)
		return;
	if (eventless(0) - before != (event == INK_NO_EVENT))
		fail_msg("%s: the event is %u", ink_machine_view(ink_machines_at(set, 0))->name, event);
	if (event == INK_NO_EVENT)
		return;
	memcpy(&there, look() + work.event, sizeof there);
	memcpy(&id, look() + work.id, sizeof id);
	assert_int_equal(there, event);
	assert_int_equal(id, id_here(ink_machines_at(set, 0), &here, event));
	compared++;
}

static struct ink_machines *bundled(const char *name)
{
	struct ink_machine_options o = {.size = sizeof o};

	return ink_machines_load(&name, 1, &o, NULL);
}

TEST_THAT(packets_have_the_events_and_flows_of_every_bundled_machine)
{
	uint8_t frame[FRAME_MOST + 64];

	compared = 0;
	for (unsigned i = 0; ink_bundled(i); i++) {
		struct ink_machines *m = bundled(ink_bundled(i)->name);

		assert_non_null(m);
		fix_chances(m);
		/* The others are for test_kernel_steps.c: their events depend on steps, or on a queue. */
		if (ink_machines_count(m) == 1 && !ink_machine_view(ink_machines_at(m, 0))->weighs &&
		    !ink_machine_view(ink_machines_at(m, 0))->queues) {
			attach_set(m);
			for (uint64_t k = scaled(2000); k; k--) {
				size_t n = any_frame(frame);

				compare_event(frame, n);
			}
		}
		forget_set();
		ink_kernel_close(kernel);
		kernel = NULL;
		ink_machines_free(m);
	}
	print_message("%lu events and ids compared\n", compared);
}

TEST_THAT(keys_of_every_kind_have_the_same_ids)
{
	static const char *const keys[] = {"connection",
					   "flow",
					   "pair",
					   "source",
					   "destination",
					   "endpoint",
					   "src/24",
					   "src, dst port",
					   "dst/16, src port, protocol",
					   "src port",
					   "src/0/48, dst/9/57"};
	uint8_t frame[FRAME_MOST + 64];

	compared = 0;
	for (size_t i = 0; i < COUNT(keys); i++) {
		struct ink_machine_options o = {.size = sizeof o, .file = "x.fsm", .complain = note};
		struct ink_machines *m;
		int turns = !strcmp(keys[i], "flow");

		begin("");
		add("machine m\nkey %s\nabsent: e -> a\na: timeout 1s -> absent\nevent e = %s\n", keys[i],
		    turns ? "not udp" : "any");
		if (turns)
			add("a: r -> absent\nreverse event r = udp\n");
		m = ink_machines_make(draft.text, draft.n, &o);
		if (!m)
			fail_msg("%s: %s", keys[i], n_told ? told[0].shown : "no machine");
		attach_set(m);
		for (uint64_t k = scaled(1000); k; k--) {
			size_t n = any_frame(frame);

			compare_event(frame, n);
		}
		forget_set();
		ink_machines_free(m);
	}
	print_message("%lu events and ids compared\n", compared);
}

/* Sixteen conditions at a time, each of a machine of its own. */
static void compare_conditions(const char *const *conditions, unsigned n)
{
	struct ink_machine_options o = {.size = sizeof o, .file = "x.fsm", .complain = note};
	struct ink_machines *m;
	uint8_t frame[FRAME_MOST + 64];

	begin("");
	for (unsigned i = 0; i < n; i++)
		add("machine m%u\nkey pair\nabsent: e -> a\na: timeout 1s -> absent\nevent e = %s\n", i,
		    conditions[i]);
	m = ink_machines_make(draft.text, draft.n, &o);
	if (!m)
		fail_msg("%s", n_told ? told[0].shown : "no machine");
	attach_set(m);
	for (uint64_t k = scaled(2000); k; k--) {
		size_t bytes = any_frame(frame);
		struct ink_packet here = parsed_here(frame, bytes);
		uint64_t before[INK_KERNEL_MACHINES];

		for (unsigned i = 0; i < n; i++)
			before[i] = eventless(i);
		run(INK_KERNEL_XDP, frame, bytes);
		for (unsigned i = 0; i < n && here.skip == INK_NOT_SKIPPED; i++, compared++)
			if (eventless(i) - before[i] != (event_here(i, &here) == INK_NO_EVENT))
				fail_msg("'%s' differs", conditions[i]);
	}
	forget_set();
	ink_kernel_close(kernel);
	kernel = NULL;
	ink_machines_free(m);
}

TEST_THAT(conditions_hold_there_as_they_do_here)
{
	/* clang-format off */
	static const char *const conditions[] = {
		"ip4", "ip6 and tcp", "protocol {5-7, 17}", "protocol {1, 17, 20-60, 100, 132}", "syn and not ack", "fin or rst and psh",
		"src port < 1024", "dst port {1, 3, 5, 7-99}", "port {1, 3, 5, 7, 9, 80, 100-600, 1234}", "src port {1, 3, 5, 7, 9, 1233-30000}",
		"dst port {1, 3, 5, 7, 9, 80-443}", "port 80", "length 60-200", "length {40-60, 70, 72, 80-90, 100, 200-400, 1000-1200}",
		"payload > 0", "payload {0-5, 10, 11, 13, 100-700}",
		"ttl 64", "ttl {1-63, 65-255}", "tos 40", "tos != 0", "vlan 100", "vlan {7, 100, 200-4000}", "depth 0", "depth > 0",
		"icmp type 8", "icmp type {0, 128, 129}", "icmp code 0", "fragment", "from low", "from high",
		"src host 10.1.2.3", "host {10.0.0.0/8, 2001:db8::/32}",
		"dst host {10.0.0.4/31, 10.0.0.6, 2001:db8::5, 10.4.5.6}", "src host 0.0.0.0/0", "dst host ::/0", "src host 2001:db8::1/127",
		"dst host 8.0.0.0/5", "host {192.168.0.0/16, 10.1.2.2/31}", "any", "sctp or icmp",
		"tcp and (src port 1234 or ttl < 10) and not (vlan 100 or depth 1)",
		"udp and (length > 700 or dst port < 80 and tos {0, 40} or from high and ip6)",
		"payload begins \"hello\"", "payload begins \"hell\" or payload begins \"\\x07\"", "rtp", "rtp type {0-50}", "ts", "nal {1, 5, 7}",
		"nal {1, 5, 7} ref 0-2", "nal 1-31 ref {0, 3}",
	};
	/* clang-format on */

	compared = 0;
	for (unsigned i = 0; i < COUNT(conditions); i += INK_KERNEL_MACHINES)
		compare_conditions(conditions + i, (unsigned)COUNT(conditions) - i < INK_KERNEL_MACHINES
							   ? (unsigned)COUNT(conditions) - i
							   : INK_KERNEL_MACHINES);
	print_message("%lu conditions compared\n", compared);
}

/* ------------------------------------------------------------------------- chance and counters */

static int has_event(const struct frame *f)
{
	uint64_t before = eventless(0);

	run(INK_KERNEL_XDP, f->bytes + FRAME_MOST - f->n, f->n);
	return eventless(0) == before;
}

static struct ink_kernel_control *control(void)
{
	return (struct ink_kernel_control *)(uintptr_t)ink_kernel_control(kernel);
}

static void attach_condition(const char *condition)
{
	struct ink_machine_options o = {.size = sizeof o, .file = "x.fsm", .complain = note};

	begin("");
	add("machine m\nkey pair\nabsent: e -> a\na: timeout 1s -> absent\nabsent: f -> a / count c by length, count d\n"
	    "event e = %s\nevent f = sctp\n",
	    condition);
	ink_machines_free((struct ink_machines *)(uintptr_t)set);
	n_told = 0;
	set = ink_machines_make(draft.text, draft.n, &o);
	if (!set)
		fail_msg("%s", n_told ? told[0].shown : "no machine");
	attach(set);
}

TEST_THAT(chance_is_a_draw_below_its_share)
{
	struct frame f;
	unsigned held = 0;

	set = NULL;
	make_frame(&f, "eth4 " TCP4);
	attach_condition("chance 25%");
	control()->chance = 1; /* the least draw */
	assert_int_equal(has_event(&f), 1);
	control()->chance = (1u << 29); /* one below a quarter of 2^31 */
	assert_int_equal(has_event(&f), 1);
	control()->chance = 1 + (1u << 29);
	assert_int_equal(has_event(&f), 0);
	control()->chance = 0;
	for (int i = 0; i < 4000; i++)
		held += (unsigned)has_event(&f);
	assert_true(held > 800 && held < 1200);
	attach_condition("chance 100%");
	control()->chance = 1u << 31;
	assert_int_equal(has_event(&f), 1);
}

/* The first two counters of the machine. */
static void set_counters(uint64_t c, uint64_t d)
{
	const uint64_t values[] = {c, d};
	int map = ink_kernel_map(kernel, "weighed");

	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(bpf_map_update_elem(map, &i, &values[i], 0), 0);
}

TEST_THAT(counters_are_compared_with_numbers_and_with_shares)
{
	static const struct {
		const char *condition;
		uint64_t c, d;
		int holds;
	} rows[] = {
		{"c < 1000", 999, 0, 1},
		{"c < 1000", 1000, 0, 0},
		{"c <= 1000", 1000, 0, 1},
		{"c > 1000", 1000, 0, 0},
		{"c > 1000", 1ull << 40, 0, 1},
		{"c >= 1000", 1000, 0, 1},
		{"c = 7", 7, 0, 1},
		{"c != 7", 7, 0, 0},
		{"c < 25% of d", 24, 100, 1},
		{"c < 25% of d", 25, 100, 0},
		{"c < 25% of d", 25, 101, 1},
		{"c >= 25% of d", 1ull << 50, 1ull << 52, 1},
		{"c > 25% of d", 1ull << 50, 1ull << 52, 0},
		{"c > 25% of d", (1ull << 50) + 1, 1ull << 52, 1},
		{"c <= 25% of d", 25, 99, 0},
	};
	struct frame f;

	set = NULL;
	make_frame(&f, "eth4 " TCP4);
	for (size_t i = 0; i < COUNT(rows); i++) {
		attach_condition(rows[i].condition);
		set_counters(rows[i].c, rows[i].d);
		if (has_event(&f) != rows[i].holds)
			fail_msg("%s with %" PRIu64 " and %" PRIu64, rows[i].condition, rows[i].c, rows[i].d);
	}
}

int main(void)
{
	work.cpu = (unsigned)sched_getcpu();
	stay();
	return run_suite(&(struct suite){.after_each = NULL});
}
