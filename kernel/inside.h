/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of the tool's side share: a half of the maps while it is made, the numbering that outlives
 * machines, the maps of a set, and its places.
 *
 *     machines --compile.c--> half --object.c--> maps
 *              <--text.c--- text --------------/
 */
#ifndef INKLING_KERNEL_INSIDE_H
#define INKLING_KERNEL_INSIDE_H

#include <bpf/libbpf.h>
#include <stdarg.h>

#include "kernel/kernel.h"

#include "machine/tree.h"
#include "table/table.h"

/* -------------------------------------------------------------- numbering */

/*
 * Which code of the table a state has. A flow lives longer than the machine that brought it here, and a machine
 * numbers its states as they stand in its text; so codes belong to names, and to what a state remembers.
 */
struct ink_kernel_code {
	char *name; /* of the written state; NULL: the code is free */
	uint8_t splits, tails, copy;
};

struct ink_kernel_numbering {
	unsigned codes; /* that can be: all below "don't know" */
	struct ink_kernel_code code[INK_KERNEL_STATES];
	char *counter[INK_KERNEL_COUNTERS]; /* names by slot; NULL: the slot is free */
};

/* The machine's numbers, by that numbering. */
struct ink_kernel_numbers {
	uint16_t code_of[INK_KERNEL_STATES];  /* by the number of its rules */
	int16_t number_of[INK_KERNEL_STATES]; /* back; -1: no state of the machine */
	uint16_t slot_of[INK_KERNEL_COUNTERS];
};

/* Gives every state and counter of the machine a number: the one of its name, or a free one. 0, -ENOSPC, -ENOMEM. */
int ink_kernel_number(struct ink_kernel_numbering *numbering, const struct ink_machine *m,
		      struct ink_kernel_numbers *numbers, struct ink_why *why);
int ink_kernel_numbering_copy(struct ink_kernel_numbering *to, const struct ink_kernel_numbering *from);
void ink_kernel_numbering_free(struct ink_kernel_numbering *numbering);

/* ----------------------------------------------------------------- a half */

/* The maps that have two halves. */
enum ink_kernel_part {
	INK_PART_MACHINES,
	INK_PART_NODES,
	INK_PART_RANGES,
	INK_PART_PREFIXES,
	INK_PART_PORTS,
	INK_PART_BYTES,
	INK_PART_AGAINSTS,
	INK_PART_EVENTS,
	INK_PART_COMPILED,
	INK_PART_STATES,
	INK_PART_ROWS,
	INK_PART_ACTIONS,
	INK_PART_COUNTINGS,
	INK_PART_TELLS,
	INK_PART_LIMITS,
	INK_PART_BUCKETS,
	INK_PART_TEXT,
	INK_KERNEL_PARTS
};

/* The contents of a map's half: an array of structs of maps.h. `base` is the index of its first element. */
struct ink_kernel_array {
	unsigned char *at;
	uint32_t n, room, base, element;
};

struct ink_kernel_half {
	struct ink_kernel_array part[INK_KERNEL_PARTS];
};

/* The element that its n-th call appends; zeroed. NULL: no memory. `index` receives its index in the map. */
void *ink_kernel_append(struct ink_kernel_half *half, enum ink_kernel_part part, uint32_t n, uint32_t *index);
void ink_kernel_half_init(struct ink_kernel_half *half, const uint32_t base[INK_KERNEL_PARTS]);
void ink_kernel_half_free(struct ink_kernel_half *half);

/* One machine into a half. Machines have been checked. 0 or -ENOMEM. */
struct ink_kernel_compiling {
	struct ink_kernel_half *half;
	const struct ink_machine *m;
	unsigned number; /* of the machine */
	const struct ink_kernel_numbers *numbers;
	unsigned codes; /* of its table */
};

int ink_kernel_compile(const struct ink_kernel_compiling *c);

/* Its decision program, by nodes.c; `out` receives heads, and whether the payload is read. 0 or -ENOMEM. */
int ink_kernel_decide(const struct ink_kernel_compiling *c, struct ink_kernel_machine *out);

/* Tests on the longest path. */
unsigned ink_kernel_depth(const struct ink_machine *m);

/* ----------------------------------------------------------------- a table */

/* A table as it is planned for the kernel, in user space; `o` as in struct ink_kernel_options. NULL with errno. */
struct ink_table *ink_kernel_plan(const struct ink_options *o, const struct ink_machine *m, int no_timeouts,
				  struct ink_why *why);

/* --------------------------------------------------------------- the maps */

enum ink_kernel_map_name {
	INK_MAP_MACHINES, /* the first are in the order of enum ink_kernel_part */
	INK_MAP_NODES,
	INK_MAP_RANGES,
	INK_MAP_PREFIXES,
	INK_MAP_PORTS,
	INK_MAP_BYTES,
	INK_MAP_AGAINSTS,
	INK_MAP_EVENTS,
	INK_MAP_COMPILED,
	INK_MAP_STATES,
	INK_MAP_ROWS,
	INK_MAP_ACTIONS,
	INK_MAP_COUNTINGS,
	INK_MAP_TELLS,
	INK_MAP_LIMITS,
	INK_MAP_BUCKETS,
	INK_MAP_TEXT,
	INK_MAP_CONTROL,
	INK_MAP_TABLES,
	INK_MAP_BODY,
	INK_MAP_TICKS,
	INK_MAP_TIMERS,
	INK_MAP_COUNTS,
	INK_MAP_COUNTERS,
	INK_MAP_WEIGHED,
	INK_MAP_CLAIMS,
	INK_MAP_REPORTS,
	INK_MAP_COMMON,
	INK_MAP_QUEUES,
	INK_MAP_WAITS,
	INK_MAP_WORKS,
	INK_KERNEL_MAPS
};

_Static_assert((int)INK_MAP_TEXT == (int)INK_PART_TEXT, "parts are the first maps");

extern const char *const ink_kernel_map_names[INK_KERNEL_MAPS];

/* A map; `at` is its memory, or NULL where it cannot be mapped. */
struct ink_kernel_map {
	int fd;
	uint32_t type, flags, value, entries;
	size_t stride; /* bytes from a value to the next */
	unsigned char *at;
	size_t mapped;
};

/* The programs, by hook, the one that starts a table's timer, and the one that both directions at tc have in common. */
enum { INK_PROGRAM_START = INK_KERNEL_HOOKS, INK_PROGRAM_TC, INK_KERNEL_PROGRAMS };
extern const char *const ink_kernel_program_names[INK_KERNEL_PROGRAMS];

/* How a program got to its hook. */
enum ink_kernel_way {
	INK_WAY_LINK = 0,       /* native XDP, or tcx */
	INK_WAY_CLSACT = 1,     /* a filter */
	INK_WAY_DISPATCHER = 2, /* behind libxdp's */
	INK_WAY_GENERIC = 3,    /* a link, for XDP where the driver has none */
	INK_KERNEL_WAYS = 4
};

struct ink_kernel_attached {
	struct ink_kernel_place place;
	enum ink_kernel_way way;
	int fd; /* of the link; or -1 */
};

/* The machines of one generation. */
struct ink_kernel_version {
	struct ink_kernel_version *before; /* the one that it replaced; for reports that were made then */
	uint32_t generation;
	struct ink_machines *machines;
	const struct ink_machines *borrowed; /* they are the caller's, without sources */
	struct ink_kernel_numbers numbers[INK_KERNEL_MACHINES];
};

struct ring_buffer;

struct ink_kernel {
	char name[INK_KERNEL_PATH + 1];
	struct ink_kernel_map map[INK_KERNEL_MAPS];
	int program[INK_KERNEL_PROGRAMS];
	struct bpf_object *object; /* as it was loaded here; NULL: opened by pins */
	int pinned;
	int lock;   /* the set's directory, or -1 */
	unsigned n; /* machines */
	struct ink_plan plan[INK_KERNEL_MACHINES];
	struct ink_kernel_numbering numbering[INK_KERNEL_MACHINES];
	struct ink_kernel_version *version;
	unsigned n_places;
	struct ink_kernel_attached attached[INK_KERNEL_PLACES];
	struct ring_buffer *ring;
	ink_kernel_reported reported;
	void *user;
	struct ink_packet packet; /* of the report at hand */
	const uint8_t *frame;
};

/* --- object.c */

/* Maps a map's descriptor into memory, if it can be. Takes the descriptor. 0 or -errno. */
int ink_kernel_map_take(struct ink_kernel_map *map, int fd);
void ink_kernel_map_close(struct ink_kernel_map *map);

/* A value; of a map for each processor all of them. 0 or -errno. */
int ink_kernel_map_read(const struct ink_kernel_map *map, uint32_t index, void *value);

/* Copies an array to where it belongs. -E2BIG: it does not fit; -EPROTO: the map is another one. */
int ink_kernel_map_write(struct ink_kernel_map *map, const struct ink_kernel_array *from);

/* What libbpf prints goes here: nowhere, unless INK_KERNEL_LOG is set. */
int ink_kernel_hear(enum libbpf_print_level level, const char *format, va_list args);

/* The object, with maps of these sizes and the programs of these hooks, a bit each: loaded, its descriptors taken. */
int ink_kernel_load_object(struct ink_kernel *k, const uint32_t entries[INK_KERNEL_MAPS], unsigned hooks,
			   struct ink_why *why);

/*
 * The programs of device.bpf.c over the maps of the set, for ink_kernel_device_ask; ink_queue stands behind ink_egress
 * then. NULL with errno and the reason: this kernel has no such programs.
 */
struct bpf_object *ink_kernel_device_load(struct ink_kernel *k, struct ink_why *why);

/* enum ink_kernel_wait of the interface as it is now; INK_KERNEL_WAITS: it cannot be said. */
enum ink_kernel_wait ink_kernel_device_ask(const struct bpf_object *device, unsigned interface);

/* Starts the timers. */
int ink_kernel_start(struct ink_kernel *k, struct ink_why *why);

struct ink_kernel_control *ink_kernel_controls(const struct ink_kernel *k);
struct ink_kernel_table *ink_kernel_tables(const struct ink_kernel *k, unsigned machine);

/* The embedded objects. */
extern const unsigned char ink_kernel_object[], ink_kernel_device_object[];
extern const unsigned ink_kernel_object_bytes, ink_kernel_device_object_bytes;

/* --- queue.c */

/* The queues of the interfaces that packets leave by, before any packet comes. */
void ink_kernel_queues_put(struct ink_kernel *k, const struct ink_kernel_options *o);

/*
 * What these machines ask of the queues: the program that reads them, rates. The queues are looked at from here on, by
 * the machines that run and by these. -EINVAL: a rate is missing; the reason has the place of the condition.
 */
int ink_kernel_queues_prepare(struct ink_kernel *k, const struct ink_machines *machines, struct ink_why *why);

/* Only by the machines that run. */
void ink_kernel_queues_settle(struct ink_kernel *k);

/* --- tables.c */

/* Writes a table of user space to the map: body, and all that is beside it. */
int ink_kernel_table_put(struct ink_kernel *k, unsigned machine, const struct ink_table *t, uint32_t base,
			 struct ink_why *why);

/* The tables to begin with: planned, or those of options->load. All or none. */
int ink_kernel_tables_make(const struct ink_kernel_options *o, struct ink_table *tables[INK_KERNEL_MACHINES],
			   struct ink_why *why);

/* --- text.c */

/* Appends sources, settings, plans and numberings to a half. 0 or -ENOMEM. */
int ink_kernel_text_write(struct ink_kernel_half *half, const struct ink_kernel *k,
			  const struct ink_kernel_options *o);

/* Reads the active half: fills numberings, plans and the version. */
int ink_kernel_text_read(struct ink_kernel *k, struct ink_why *why);

/* Machines of texts; as ink_machines_load. NULL with errno. */
struct ink_machines *ink_kernel_machines_of(const struct ink_kernel_options *o, struct ink_why *why);

/* --- set.c */

/* The machines of the options become the newest version of the set, or cease to be it. */
int ink_kernel_version_make(struct ink_kernel *k, const struct ink_kernel_options *o, uint32_t generation,
			    struct ink_why *why);
void ink_kernel_version_drop(struct ink_kernel *k);
void ink_kernel_version_forget(struct ink_kernel *k);
int ink_kernel_compile_all(struct ink_kernel *k, const struct ink_kernel_numbering *numbering,
			   struct ink_kernel_half *half, struct ink_why *why);
int ink_kernel_half_write(struct ink_kernel *k, const struct ink_kernel_half *half, struct ink_why *why);

/* --- copy.c */

/* The newest version, if another process has exchanged the machines. */
int ink_kernel_renew(struct ink_kernel *k, struct ink_why *why);

/* Is what stands beside a body that of its plan, and the body inside its map? Both are in maps. 0 or -EPROTO. */
int ink_kernel_table_check(const struct ink_kernel *k, unsigned machine, struct ink_why *why);

/* --- reports.c */

/* The set's reader is another one, or none, from here on. */
void ink_kernel_deafen(struct ink_kernel *k);

/* --- pins.c */

int ink_kernel_name_check(const char *name, struct ink_why *why);
int ink_kernel_pins_begin(struct ink_kernel *k, struct ink_why *why); /* the directory, locked */
int ink_kernel_pins_fill(struct ink_kernel *k, struct ink_why *why);  /* all that is pinned */
int ink_kernel_pins_attached(struct ink_kernel *k, const struct ink_kernel_attached *a, int fd,
			     struct ink_why *why); /* a hook: its link, or the program */
void ink_kernel_pins_detached(const struct ink_kernel *k, const struct ink_kernel_attached *a);
int ink_kernel_pins_open(struct ink_kernel *k, struct ink_why *why);
int ink_kernel_pins_lock(struct ink_kernel *k, struct ink_why *why); /* for what only one tool may do */
void ink_kernel_pins_unlock(struct ink_kernel *k);
int ink_kernel_pins_remove(const char *name, struct ink_why *why);

/* --- dispatcher.c */

/* A descriptor of the program at that hook; -EOPNOTSUPP: the hook is free, and there can be no dispatcher. */
int ink_kernel_dispatch(const struct ink_kernel *k, unsigned interface);
void ink_kernel_undispatch(unsigned interface, int fd);

/* --- hook.c */

int ink_kernel_attach(struct ink_kernel *k, const struct ink_kernel_place *place, struct ink_why *why);

/* Takes the programs away from there; a place that is gone is no error. */
void ink_kernel_unhook_all(struct ink_kernel *k);

#endif
