/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs in the kernel see in a frame what `inkling run` sees: every field of the packet, the event, the key
 * and the id. Frames go through BPF_PROG_TEST_RUN, and what the programs made of them is read from their own memory
 * (struct ink_work), whose members are found by the kernel's description of the map.
 */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <sched.h>
#include <unistd.h>

#include "base/siphash.h"
#include "kernel/kernel.h"
#include "packet/parse.h"
#include "packet/sensor.h"
#include "sim/scenes.h"
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
	struct ink_kernel_options o = {.machines = machines, .tables = tables, .test_clock = 1, .unpinned = 1};
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
static void assert_same_packet(const char *name, const struct ink_packet *here, const struct ink_packet *there)
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
	if (hook == INK_KERNEL_XDP ? verdict < 0 : verdict != -1)
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

#define ANY "machine m\nkey connection\nabsent: e -> a\na: e / count c\nevent e = any\n"

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

int main(void)
{
	work.cpu = (unsigned)sched_getcpu();
	stay();
	return run_suite(&(struct suite){.after_each = NULL});
}
