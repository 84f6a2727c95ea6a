/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs and maps: loaded from the embedded object, mapped into memory, run.
 *
 * The object says what a map's values are. How many a map has is known only here, when machines and tables are;
 * from then on it never changes.
 *
 *     map      [ value 0 ][ value 1 ] ... | [ value n/2 ] ...        two halves
 *     memory   values at multiples of 8 bytes, as the kernel lays them out
 */
#include "kernel/inside.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

const char *const ink_kernel_map_names[INK_KERNEL_MAPS] = {
	[INK_MAP_MACHINES] = "machines",   [INK_MAP_NODES] = "nodes",     [INK_MAP_RANGES] = "ranges",
	[INK_MAP_PREFIXES] = "prefixes",   [INK_MAP_PORTS] = "ports",     [INK_MAP_BYTES] = "bytes",
	[INK_MAP_AGAINSTS] = "againsts",   [INK_MAP_EVENTS] = "events",   [INK_MAP_COMPILED] = "compiled",
	[INK_MAP_STATES] = "states",       [INK_MAP_ROWS] = "rows",       [INK_MAP_ACTIONS] = "actions",
	[INK_MAP_COUNTINGS] = "countings", [INK_MAP_TELLS] = "tells",     [INK_MAP_LIMITS] = "limits",
	[INK_MAP_BUCKETS] = "buckets",     [INK_MAP_TEXT] = "text",
	[INK_MAP_CONTROL] = "control",     [INK_MAP_TABLES] = "tables",   [INK_MAP_BODY] = "body",
	[INK_MAP_TICKS] = "ticks",         [INK_MAP_TIMERS] = "timers",   [INK_MAP_COUNTS] = "counts",
	[INK_MAP_COUNTERS] = "counters",   [INK_MAP_WEIGHED] = "weighed", [INK_MAP_CLAIMS] = "claims",
	[INK_MAP_REPORTS] = "reports",     [INK_MAP_COMMON] = "common",   [INK_MAP_QUEUES] = "queues",
	[INK_MAP_WAITS] = "waits",         [INK_MAP_WORKS] = "works",
};

const char *const ink_kernel_program_names[INK_KERNEL_PROGRAMS] = {
	[INK_KERNEL_XDP] = "ink_xdp",
	[INK_KERNEL_INGRESS] = "ink_ingress",
	[INK_KERNEL_EGRESS] = "ink_egress",
	[INK_PROGRAM_START] = "ink_start",
	[INK_PROGRAM_TC] = "ink_tc",
};

/* ------------------------------------------------------------------ a map */

static size_t page_round(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static int map_memory(struct ink_kernel_map *m)
{
	m->mapped = page_round(m->stride * m->entries);
	m->at = mmap(NULL, m->mapped, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (m->at != MAP_FAILED)
		return 0;
	m->at = NULL;
	return -errno;
}

int ink_kernel_map_take(struct ink_kernel_map *m, int fd)
{
	struct bpf_map_info info = {0};
	uint32_t length = sizeof info;

	if (bpf_obj_get_info_by_fd(fd, &info, &length))
		return close(fd), -errno;
	*m = (struct ink_kernel_map){.fd = fd,
				     .type = info.type,
				     .flags = info.map_flags,
				     .value = info.value_size,
				     .entries = info.max_entries,
				     .stride = (info.value_size + 7u) & ~7u};
	return info.map_flags & BPF_F_MMAPABLE ? map_memory(m) : 0;
}

void ink_kernel_map_close(struct ink_kernel_map *m)
{
	if (m->at)
		munmap(m->at, m->mapped);
	if (m->fd >= 0)
		close(m->fd);
	*m = (struct ink_kernel_map){.fd = -1};
}

int ink_kernel_map_read(const struct ink_kernel_map *m, uint32_t index, void *value)
{
	if (index >= m->entries)
		return -E2BIG;
	if (m->at)
		return memcpy(value, m->at + index * m->stride, m->value), 0;
	return bpf_map_lookup_elem(m->fd, &index, value) ? -errno : 0;
}

int ink_kernel_map_write(struct ink_kernel_map *m, const struct ink_kernel_array *a)
{
	if (!a->n)
		return 0;
	if (!m->at || m->value != a->element)
		return -EPROTO;
	if (a->base >= m->entries || a->n > m->entries - a->base)
		return -E2BIG;
	for (size_t i = 0; i < a->n; i++)
		memcpy(m->at + (a->base + i) * m->stride, a->at + i * a->element, a->element);
	return 0;
}

/* -------------------------------------------------------------- the object */

/* libbpf's messages: the last error line, for the reason; all of them with INK_KERNEL_LOG in the environment. */
static __thread char said[160];

int ink_kernel_hear(enum libbpf_print_level level, const char *format, va_list args)
{
	va_list again;

	va_copy(again, args);
	if (level == LIBBPF_WARN && !said[0])
		vsnprintf(said, sizeof said, format, again);
	va_end(again);
	if (getenv("INK_KERNEL_LOG"))
		vfprintf(stderr, format, args);
	return 0;
}

static int fail_to_load(int error, struct ink_why *why)
{
	said[strcspn(said, "\n")] = 0;
	if (error == -EPERM || error == -EACCES)
		return ink_fail(why, error,
				"the kernel refuses programs: CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON are "
				"needed (as root has them)");
	return ink_fail(why, error, "the programs cannot be loaded: %s (%.120s)", strerror(-error), said);
}

static int set_entries(struct bpf_object *object, const uint32_t entries[INK_KERNEL_MAPS])
{
	for (unsigned i = 0; i < INK_KERNEL_MAPS; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(object, ink_kernel_map_names[i]);

		if (map && entries[i] && bpf_map__set_max_entries(map, entries[i]))
			return -errno;
	}
	return 0;
}

/* Maps have a descriptor of their own: they outlive the object. */
static int take_maps(struct ink_kernel *k)
{
	int error = 0;

	for (unsigned i = 0; i < INK_KERNEL_MAPS && !error; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(k->object, ink_kernel_map_names[i]);
		int fd = map ? dup(bpf_map__fd(map)) : -1;

		if (map)
			error = fd < 0 ? -errno : ink_kernel_map_take(&k->map[i], fd);
	}
	return error;
}

/* Those that were loaded. */
static int take_programs(struct ink_kernel *k, struct bpf_object *object)
{
	for (unsigned i = 0; i < INK_KERNEL_PROGRAMS; i++) {
		struct bpf_program *p = bpf_object__find_program_by_name(object, ink_kernel_program_names[i]);

		if (!p || bpf_program__fd(p) < 0)
			continue;
		k->program[i] = dup(bpf_program__fd(p));
		if (k->program[i] < 0)
			return -errno;
	}
	return 0;
}

static int open_object(struct bpf_object **object)
{
	LIBBPF_OPTS(bpf_object_open_opts, o, .object_name = "inkling");

	*object = bpf_object__open_mem(ink_kernel_object, ink_kernel_object_bytes, &o);
	return *object ? 0 : -errno;
}

/* The program of a hook where nothing is attached would only cost time. */
static unsigned programs_of(unsigned hooks)
{
	const unsigned tc = 1u << INK_KERNEL_INGRESS | 1u << INK_KERNEL_EGRESS;

	return hooks | 1u << INK_PROGRAM_START | (hooks & tc ? 1u << INK_PROGRAM_TC : 0);
}

static void choose_programs(struct bpf_object *object, unsigned wanted)
{
	for (unsigned i = 0; i < INK_KERNEL_PROGRAMS; i++) {
		struct bpf_program *p = bpf_object__find_program_by_name(object, ink_kernel_program_names[i]);

		if (p)
			bpf_program__set_autoload(p, wanted >> i & 1);
	}
}

/* The tail call of both directions at tc. */
static int lead_to_common(struct ink_kernel *k)
{
	const uint32_t first = INK_COMMON_TC;
	int fd = k->program[INK_PROGRAM_TC];

	return fd >= 0 && bpf_map_update_elem(k->map[INK_MAP_COMMON].fd, &first, &fd, BPF_ANY) ? -errno : 0;
}

/* All maps are those of the set; the object brings none. */
static int share_maps(const struct ink_kernel *k, struct bpf_object *object)
{
	struct bpf_map *map;
	int error = 0;

	bpf_object__for_each_map(map, object)
	{
		int fd = ink_kernel_map(k, bpf_map__name(map));

		if (!error && fd >= 0)
			error = bpf_map__reuse_fd(map, fd);
		else if (!error)
			error = bpf_map__set_autocreate(map, false);
	}
	return error;
}

/* ------------------------------------------------------- two programs at once */

/*
 * Nearly all the time of a load is the verifier's, for two programs: those of XDP and of tc. Where both are wanted, the
 * object brings the maps and the small programs, and the two come from copies of it that share the maps: that of tc in a
 * thread of its own, since the kernel verifies what CAP_BPF loads side by side.
 */
enum { LARGE = 1 << INK_KERNEL_XDP | 1 << INK_PROGRAM_TC };

struct load {
	struct ink_kernel *k;
	unsigned wanted;
	int error;
	char said[sizeof said];
};

static int load_copy(struct ink_kernel *k, unsigned wanted)
{
	struct bpf_object *object;
	int error = open_object(&object);

	if (error)
		return error;
	choose_programs(object, wanted);
	error = share_maps(k, object);
	if (!error)
		error = bpf_object__load(object);
	if (!error)
		error = take_programs(k, object);
	bpf_object__close(object);
	return error;
}

static void *load_beside(void *load)
{
	struct load *l = load;

	said[0] = 0;
	l->error = load_copy(l->k, l->wanted);
	memcpy(l->said, said, sizeof said);
	return NULL;
}

static int load_large(struct ink_kernel *k)
{
	struct load tc = {.k = k, .wanted = 1u << INK_PROGRAM_TC};
	pthread_t thread;
	int refused = pthread_create(&thread, NULL, load_beside, &tc);
	int error = load_copy(k, 1u << INK_KERNEL_XDP);

	if (!refused)
		pthread_join(thread, NULL);
	else if (!error)
		load_beside(&tc);
	if (error || !tc.error)
		return error;
	memcpy(said, tc.said, sizeof said);
	return tc.error;
}

/* ------------------------------------------------------------------- the whole */

int ink_kernel_load_object(struct ink_kernel *k, const uint32_t entries[INK_KERNEL_MAPS], unsigned hooks,
			   struct ink_why *why)
{
	libbpf_print_fn_t before = libbpf_set_print(ink_kernel_hear);
	unsigned wanted = programs_of(hooks);
	int error, apart = (wanted & LARGE) == LARGE;

	said[0] = 0;
	error = open_object(&k->object);
	if (!error)
		choose_programs(k->object, apart ? wanted & ~(unsigned)LARGE : wanted);
	if (!error)
		error = set_entries(k->object, entries);
	if (!error)
		error = bpf_object__load(k->object);
	if (!error)
		error = take_maps(k);
	if (!error)
		error = take_programs(k, k->object);
	if (!error && apart)
		error = load_large(k);
	if (!error)
		error = lead_to_common(k);
	libbpf_set_print(before);
	return error ? fail_to_load(error, why) : 0;
}

/* ---------------------------------------------------------- the device's queue */

static int lead_to_device(struct ink_kernel *k, const struct bpf_object *object)
{
	const uint32_t second = INK_COMMON_QUEUE;
	int fd = bpf_program__fd(bpf_object__find_program_by_name(object, "ink_queue"));

	return bpf_map_update_elem(k->map[INK_MAP_COMMON].fd, &second, &fd, BPF_ANY) ? -errno : 0;
}

static int load_device(struct ink_kernel *k, struct bpf_object **object)
{
	int error;

	*object = bpf_object__open_mem(ink_kernel_device_object, ink_kernel_device_object_bytes, NULL);
	if (!*object)
		return -errno;
	error = share_maps(k, *object);
	if (!error)
		error = bpf_object__load(*object);
	return error ? error : lead_to_device(k, *object);
}

struct bpf_object *ink_kernel_device_load(struct ink_kernel *k, struct ink_why *why)
{
	libbpf_print_fn_t before = libbpf_set_print(ink_kernel_hear);
	struct bpf_object *object = NULL;
	int error;

	said[0] = 0;
	error = load_device(k, &object);
	libbpf_set_print(before);
	if (!error)
		return object;
	bpf_object__close(object);
	fail_to_load(error, why);
	return errno = -error, NULL;
}

enum ink_kernel_wait ink_kernel_device_ask(const struct bpf_object *device, unsigned interface)
{
	const unsigned char frame[64] = {0};
	struct __sk_buff skb = {.ifindex = interface};
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = frame, .data_size_in = sizeof frame, .ctx_in = &skb,
		    .ctx_size_in = sizeof skb);
	const struct bpf_program *p = bpf_object__find_program_by_name(device, "ink_ask");

	if (bpf_prog_test_run_opts(bpf_program__fd(p), &o) || o.retval >= INK_KERNEL_WAITS)
		return INK_KERNEL_WAITS;
	return (enum ink_kernel_wait)o.retval;
}

/* --------------------------------------------------------------- looking in */

struct ink_kernel_control *ink_kernel_controls(const struct ink_kernel *k)
{
	return (struct ink_kernel_control *)(void *)k->map[INK_MAP_CONTROL].at;
}

struct ink_kernel_table *ink_kernel_tables(const struct ink_kernel *k, unsigned machine)
{
	const struct ink_kernel_map *m = &k->map[INK_MAP_TABLES];

	return (struct ink_kernel_table *)(void *)(m->at + machine * m->stride);
}

const struct ink_kernel_control *ink_kernel_control(const struct ink_kernel *k)
{
	return ink_kernel_controls(k);
}

const struct ink_kernel_table *ink_kernel_table(const struct ink_kernel *k, unsigned machine)
{
	return machine < k->n ? ink_kernel_tables(k, machine) : NULL;
}

const struct ink_plan *ink_kernel_planned(const struct ink_kernel *k, unsigned machine)
{
	return machine < k->n ? &k->plan[machine] : NULL;
}

int ink_kernel_map(const struct ink_kernel *k, const char *name)
{
	struct bpf_map *map = k->object ? bpf_object__find_map_by_name(k->object, name) : NULL;

	for (unsigned i = 0; i < INK_KERNEL_MAPS; i++)
		if (!strcmp(ink_kernel_map_names[i], name))
			return k->map[i].fd;
	return map ? bpf_map__fd(map) : -1;
}

int ink_kernel_program(const struct ink_kernel *k, const char *name)
{
	struct bpf_program *p = k->object ? bpf_object__find_program_by_name(k->object, name) : NULL;

	for (unsigned i = 0; i < INK_KERNEL_PROGRAMS; i++)
		if (!strcmp(ink_kernel_program_names[i], name))
			return k->program[i];
	return p ? bpf_program__fd(p) : -1;
}

/* ------------------------------------------------------------------ running */

/* The program starts the timers of all tables; the kernel runs it with a frame, which has 14 bytes at least. */
static int start_timers(const struct ink_kernel *k)
{
	const unsigned char frame[64] = {0};
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = frame, .data_size_in = sizeof frame);

	if (k->program[INK_PROGRAM_START] < 0)
		return -ENOENT;
	if (bpf_prog_test_run_opts(k->program[INK_PROGRAM_START], &o))
		return -errno;
	return o.retval ? -EIO : 0;
}

enum { STARTS = 20 };

/* The kernel does not wait for the memory of a timer, and a busy one may have none at once. */
int ink_kernel_start(struct ink_kernel *k, struct ink_why *why)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int error = start_timers(k);

	for (unsigned i = 1; error == -EIO && i < STARTS; i++) {
		nanosleep(&pause, NULL);
		error = start_timers(k);
	}
	return error ? ink_fail(why, error, "the timer of a table cannot be started: %s", strerror(-error))
		     : 0;
}

int ink_kernel_try(struct ink_kernel *k, enum ink_kernel_hook hook, const void *frame, uint32_t length,
		   uint64_t clock)
{
	static __thread unsigned char out[1 << 16];
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = frame, .data_size_in = length, .data_out = out,
		    .data_size_out = sizeof out, .repeat = 1);
	int error;

	if (hook >= INK_KERNEL_HOOKS || k->program[hook] < 0)
		return -ENOENT;
	__atomic_store_n(&ink_kernel_controls(k)->test_clock, clock, __ATOMIC_RELEASE);
	error = bpf_prog_test_run_opts(k->program[hook], &o);
	if (error)
		return -errno;
	return o.retval == UINT32_MAX ? INK_KERNEL_NEXT : (int)o.retval;
}
