/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/kernel/set.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "bench/kernel/report.h"
#include "kernel/inside.h"

extern const unsigned char bench_object[];
extern const unsigned bench_object_bytes;

const struct bench_peer bench_peers[BENCH_PEERS] = {
	{"LRU_HASH", BPF_MAP_TYPE_LRU_HASH, 0, 1},
	{"LRU_HASH, NO_COMMON_LRU", BPF_MAP_TYPE_LRU_HASH, BPF_F_NO_COMMON_LRU, 1},
	{"HASH", BPF_MAP_TYPE_HASH, 0, 0},
	{"HASH, NO_PREALLOC", BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC, 0},
};

/* -------------------------------------------------------------- the machine */

struct ink_machines *bench_machines_make(const struct bench_machine *m)
{
	struct ink_machine_options o = {.size = sizeof o, .file = m->name};
	struct ink_why why = {""};
	struct ink_machines *made = m->text ? ink_machines_make(m->text, strlen(m->text), &o)
					    : ink_machines_load(&m->name, 1, &o, &why);

	if (!made)
		die("machine %s: %s", m->name, why.text);
	return made;
}

struct ink_kernel *bench_kernel_make(const struct bench_machine *m, struct ink_machines *machines,
				     uint32_t flows, int xdp_alone, struct ink_why *why)
{
	static const struct ink_kernel_place lo = {.interface = "lo", .index = 1, .hook = INK_KERNEL_XDP};
	const struct ink_options table = {
		.size = sizeof table, .flows = flows, .age_bits = m->age_bits, .error = m->error};
	const struct ink_kernel_options o = {.machines = machines,
					     .tables = &table,
					     .places = &lo,
					     .n_places = xdp_alone ? 1 : 0,
					     .unpinned = 1,
					     .dry_run = xdp_alone};

	return ink_kernel_make(&o, why);
}

static void make_kernel(struct bench_set *s)
{
	struct ink_why why = {""};

	s->machines = bench_machines_make(s->machine);
	s->kernel = bench_kernel_make(s->machine, s->machines, s->flows, 0, &why);
	if (s->kernel)
		return;
	if (errno == EPERM || errno == EACCES || errno == ENOSYS) {
		printf("%s\n", why.text);
		exit(77);
	}
	die("%s", why.text);
}

/* ------------------------------------------------------------ the programs beside */

/* Constants of the object: bench_how in bench.bpf.c. */
struct constants {
	uint32_t hashes, looks;
};

static void set_constants(struct bpf_object *o, struct constants c)
{
	struct bpf_map *m = bpf_object__find_map_by_name(o, ".rodata.bench");

	if (!m || bpf_map__set_initial_value(m, &c, sizeof c))
		die("the object has no constants");
}

/* Maps of the machine, or of the first object beside it. */
static int shared_map(const struct bench_set *s, const char *name)
{
	int fd = ink_kernel_map(s->kernel, name);

	return fd >= 0 || !s->stages ? fd : bpf_object__find_map_fd_by_name(s->stages, name);
}

static void share_maps(const struct bench_set *s, struct bpf_object *o)
{
	struct bpf_map *m;

	bpf_object__for_each_map(m, o)
	{
		int own = bpf_map__is_internal(m) || !strcmp(bpf_map__name(m), "peer");
		int fd = own ? -1 : shared_map(s, bpf_map__name(m));

		if (fd >= 0 && bpf_map__reuse_fd(m, fd))
			die("the map %s cannot be shared: %s", bpf_map__name(m), strerror(errno));
	}
}

static void set_peer(const struct bench_set *s, struct bpf_object *o, const struct bench_peer *p)
{
	struct bpf_map *m = bpf_object__find_map_by_name(o, "peer");

	if (!p)
		return;
	bpf_map__set_type(m, p->type);
	bpf_map__set_map_flags(m, p->flags);
	bpf_map__set_max_entries(m, s->flows);
}

static int is_of(const char *names, const char *name)
{
	const char *at = strstr(names, name);

	return at && (at[strlen(name)] == ' ' || !at[strlen(name)]);
}

static struct bpf_object *open_object(const struct bench_set *s, struct constants c, const char *programs)
{
	LIBBPF_OPTS(bpf_object_open_opts, options, .object_name = "bench");
	struct bpf_object *o = bpf_object__open_mem(bench_object, bench_object_bytes, &options);
	struct bpf_program *p;

	if (!o)
		die("the benchmark's object: %s", strerror(errno));
	bpf_object__for_each_program(p, o)
		bpf_program__set_autoload(p, is_of(programs, bpf_program__name(p)));
	set_constants(o, c);
	share_maps(s, o);
	return o;
}

static struct bpf_object *load(const struct bench_set *s, struct constants c, const char *programs,
			       const struct bench_peer *peer)
{
	struct bpf_object *o = open_object(s, c, programs);

	set_peer(s, o, peer);
	if (bpf_object__load(o))
		die("%s cannot be loaded: %s", peer ? peer->name : programs, strerror(errno));
	return o;
}

int bench_program(struct bpf_object *o, const char *name)
{
	struct bpf_program *p = bpf_object__find_program_by_name(o, name);

	return p ? bpf_program__fd(p) : -1;
}

static void load_all(struct bench_set *s)
{
	s->stages = load(s, (struct constants){1, 0},
			 "bench_prepare bench_nothing bench_parse bench_id bench_interpret ink_xdp", NULL);
	s->without = load(s, (struct constants){0, 0}, "bench_interpret ink_xdp", NULL);
	for (unsigned i = 0; i < BENCH_PEERS; i++)
		s->peer[i] = load(s, (struct constants){0, 1}, "ink_xdp", &bench_peers[i]);
	s->plan = mmap(NULL, (size_t)getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED,
		       bpf_object__find_map_fd_by_name(s->stages, "plans"), 0);
	if (s->plan == MAP_FAILED)
		die("the plan cannot be mapped: %s", strerror(errno));
	s->plan->flows = s->flows;
}

/* A kernel without connection tracking, or without its calls, has these rows empty. */
static void load_conntrack(struct bench_set *s)
{
	libbpf_print_fn_t before = libbpf_set_print(NULL);

	s->conntrack = open_object(s, (struct constants){0, 0}, "bench_conntrack bench_conntrack_fill");
	if (bpf_object__load(s->conntrack)) {
		bpf_object__close(s->conntrack);
		s->conntrack = NULL;
		snprintf(s->untracked, sizeof s->untracked, "the kernel has no bpf_xdp_ct_lookup");
	}
	libbpf_set_print(before);
}

/* ----------------------------------------------------------------- running */

/* TCP over IPv4 without payload, with 10 bytes of padding. */
static void write_frame(struct bench_set *s, uint8_t flags)
{
	uint8_t *f = s->frame;

	memset(f, 0, sizeof s->frame);
	f[0] = f[6] = 2;
	f[12] = ETH_P_IP >> 8;
	f[14] = 0x45;
	f[17] = 40;
	f[22] = 64;
	f[23] = INK_PROTOCOL_TCP;
	f[46] = 5 << 4;
	f[47] = flags;
}

static double processor_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The kernel's own measure is in whole ns, too coarse for a program that does nothing. */
double bench_run(const struct bench_set *s, int program, uint32_t packets)
{
	double start = processor_seconds();
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = s->frame, .data_size_in = sizeof s->frame,
		    .repeat = (int)packets);

	if (bpf_prog_test_run_opts(program, &o))
		die("a program cannot be run: %s", strerror(errno));
	if (o.retval == 0)
		die("a program did not come to its end");
	return (processor_seconds() - start) / packets * 1e9;
}

void bench_choose(struct bench_set *s, int program)
{
	const uint32_t zero = 0;

	if (bpf_map_update_elem(bpf_object__find_map_fd_by_name(s->stages, "variants"), &zero, &program,
				BPF_ANY))
		die("a program cannot be jumped to: %s", strerror(errno));
}

void bench_pin(unsigned processor)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(processor, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		die("processor %u: %s", processor, strerror(errno));
}

void bench_unpin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned i = 0; i < CPU_SETSIZE; i++)
		CPU_SET(i, &set);
	if (sched_setaffinity(0, sizeof set, &set))
		die("all processors: %s", strerror(errno));
}

static struct bench_cursor *cursors_read(const struct bench_set *s)
{
	const uint32_t zero = 0;
	struct bench_cursor *all = calloc((size_t)libbpf_num_possible_cpus(), sizeof *all);

	if (!all || bpf_map_lookup_elem(bpf_object__find_map_fd_by_name(s->stages, "cursors"), &zero, all))
		die("the cursors cannot be read");
	return all;
}

uint64_t bench_missing(const struct bench_set *s)
{
	struct bench_cursor *all = cursors_read(s);
	uint64_t missing = 0;

	for (int i = 0; i < libbpf_num_possible_cpus(); i++)
		missing += all[i].missing;
	free(all);
	return missing;
}

static void place_cursors(const struct bench_set *s, uint64_t step)
{
	const uint32_t zero = 0;
	struct bench_cursor *all = cursors_read(s);

	for (int i = 0; i < libbpf_num_possible_cpus(); i++)
		all[i].next = step * (uint64_t)i;
	if (bpf_map_update_elem(bpf_object__find_map_fd_by_name(s->stages, "cursors"), &zero, all, BPF_ANY))
		die("the cursors cannot be written");
	free(all);
}

/* ----------------------------------------------------------------- filling */

/* One packet of each flow, from each processor those of its part: a map with a part for each must have room. */
static void pass(struct bench_set *s, uint32_t flows)
{
	uint32_t part = flows / s->processors;

	place_cursors(s, part);
	for (unsigned i = 0; i < s->processors; i++) {
		bench_pin(i);
		bench_run(s, bench_program(s->stages, "bench_prepare"), i ? flows - part : part);
	}
	bench_pin(0);
}

static void fill(struct bench_set *s, int program)
{
	bench_choose(s, program);
	s->plan->in_order = 1;
	for (unsigned i = 0; i < BENCH_FILLS; i++) {
		write_frame(s, s->machine->fill[i].flags);
		s->plan->back = s->machine->fill[i].back;
		pass(s, s->flows);
	}
}

/* As many as there may be. They are gone with the network namespace, which ends with the process. */
static void fill_conntrack(struct bench_set *s)
{
	FILE *f = fopen("/proc/sys/net/netfilter/nf_conntrack_max", "r");
	unsigned most = 0;

	if (f && fscanf(f, "%u", &most) == 1)
		s->tracked = most / 10 * 9 < s->flows ? most / 10 * 9 : s->flows;
	if (f)
		fclose(f);
	if (!s->tracked) {
		snprintf(s->untracked, sizeof s->untracked, "connection tracking is off");
		return;
	}
	bench_choose(s, bench_program(s->conntrack, "bench_conntrack_fill"));
	write_frame(s, s->machine->fill[0].flags);
	s->plan->back = 0;
	pass(s, s->tracked);
}

static int is_in_state(const struct ink_machine_view *v, unsigned state, const char *name)
{
	return !strcmp(v->state_names[v->state_of[state]], name);
}

/* A flow that is taken for another one when it begins, since its fingerprint is the same, has no entry of its own. */
static uint64_t least_of(const struct bench_set *s)
{
	return s->machine->takes ? s->flows - s->flows / 1000 : s->flows;
}

void bench_check(struct bench_set *s, int filled)
{
	const struct ink_machine_view *v = ink_machine_view(ink_machines_at(s->machines, 0));
	struct ink_why why = {""};
	struct ink_table *t = ink_kernel_copy(s->kernel, 0, &why);
	struct ink_counts counts = {0};
	uint64_t right = 0;

	if (!t || ink_census(t, &counts))
		die("the table cannot be copied: %s", why.text);
	for (unsigned i = 0; i < v->rules->states; i++)
		right += is_in_state(v, i, s->machine->state) ? counts.state[i] : 0;
	if (counts.total < least_of(s) || counts.total > s->flows || counts.unsure ||
	    (filled && right != counts.total))
		die("%s: of %u flows %llu are in the table, %llu are %s, and %llu unsure", s->machine->name,
		    s->flows, (unsigned long long)counts.total, (unsigned long long)right, s->machine->state,
		    (unsigned long long)counts.unsure);
	ink_free(t);
}

static void fill_all(struct bench_set *s)
{
	fill(s, ink_kernel_program(s->kernel, "ink_xdp"));
	bench_check(s, 1);
	for (unsigned i = 0; i < BENCH_PEERS; i++)
		fill(s, bench_program(s->peer[i], "ink_xdp"));
	if (s->conntrack)
		fill_conntrack(s);
	write_frame(s, s->machine->flags);
	s->plan->in_order = s->plan->back = 0;
	place_cursors(s, 1ull << 40);
}

/* -------------------------------------------------------- from first to last */

struct bench_set *bench_set_make(const struct bench_machine *m, uint32_t flows)
{
	struct bench_set *s = calloc(1, sizeof *s);
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (!s)
		die("no memory");
	s->machine = m;
	s->flows = flows;
	s->processors = processors > 1 ? 2 : 1;
	make_kernel(s);
	load_all(s);
	load_conntrack(s);
	fill_all(s);
	return s;
}

void bench_set_free(struct bench_set *s)
{
	munmap(s->plan, (size_t)getpagesize());
	bpf_object__close(s->conntrack);
	for (unsigned i = 0; i < BENCH_PEERS; i++)
		bpf_object__close(s->peer[i]);
	bpf_object__close(s->without);
	bpf_object__close(s->stages);
	ink_kernel_close(s->kernel);
	ink_machines_free(s->machines);
	free(s);
}

/* What the kernel says that a map takes. */
uint64_t bench_memlock(int map)
{
	char path[64], line[128];
	unsigned long long bytes = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", map);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		sscanf(line, "memlock: %llu", &bytes);
	if (f)
		fclose(f);
	return bytes;
}
