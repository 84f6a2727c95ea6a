/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables and machines in the kernel: what the tool does with them. docs/kernel.md says what they promise.
 *
 *     check.c      what the kernel cannot do of machines
 *     compile.c    machines -> one half of the maps; nodes.c: their decision programs
 *     numbering.c  codes of states, which outlive machines
 *     tables.c     plans -> table and body; copy.c: back, and snapshots
 *     object.c     the programs and maps: loaded and mapped
 *     set.c        all of it in order; reload.c: other machines
 *     pins.c       /sys/fs/bpf/inkling/NAME/: names, rights, who is there
 *     queue.c      the queues that packets leave by: which one is read, and rates
 *     hook.c       XDP, tcx and clsact: attaching and detaching; dispatcher.c: beside others at XDP
 *     text.c       what machines were made from, kept in a map
 *     reports.c    the ring buffer
 *
 * A set is what one `inkling attach` made: its machines, their tables, and the hooks where packets come from. It
 * lives in the kernel, by its pins, and has the name of its first interface unless another is given. Calls
 * return 0 or a negative errno with the reason, as in inkling.h.
 */
#ifndef INKLING_KERNEL_KERNEL_H
#define INKLING_KERNEL_KERNEL_H

#include <stdio.h>

#include <inkling/inkling.h>
#include <inkling/machine.h>
#include <inkling/track.h>

#include "kernel/maps.h"

struct ink_kernel;

/* What a machine is made from: a file or bundled name, its text, and values for its params. */
struct ink_kernel_source {
	const char *name;
	const char *text;
	size_t length;
};

struct ink_kernel_place {
	char interface[16];
	unsigned index;
	enum ink_kernel_hook hook;
};

enum { INK_KERNEL_PLACES = 48 };

/* ------------------------------------------------------------------- making */

struct ink_kernel_options {
	const char *name; /* of the set */
	const struct ink_machines *machines;
	const struct ink_kernel_source *sources; /* the files they were made from, in order */
	unsigned n_sources;
	const struct ink_setting *settings; /* --set, for all files */
	unsigned n_settings;
	const struct ink_options *tables; /* one for each machine: flows or bytes, error, age bits, full, seed */
	const char *load;                 /* a snapshot to begin with, or NULL */
	const struct ink_kernel_place *places;
	unsigned n_places; /* 0: attached nowhere, for BPF_PROG_TEST_RUN */
	uint32_t mark_bit; /* as a mask; 0: none */
	uint32_t snap;     /* bytes of saved packets */
	uint32_t ring;     /* bytes of the ring buffer, a power of two; 0: 1 MiB */
	uint64_t queue_rate; /* of virtual queues, and of the time of real ones: bits a second; 0: not given */
	int queue_virtual;   /* real ones are not read */
	uint64_t chance_seed; /* with test_clock: `chance` of struct ink_kernel_control; else draws are the kernel's */
	int enforce;
	int no_timeouts;
	int test_clock;
	int unpinned; /* the set ends with the process */
	int dry_run;  /* everything is checked and loaded, and nothing is attached or pinned */
};

/*
 * What the kernel cannot do of the machines: a place in the text, and why. -ENOTSUP with the reason
 * "FILE:LINE:COLUMN: ..."; 0: all of it can be attached at these hooks.
 */
int ink_kernel_check(const struct ink_kernel_options *options, struct ink_why *why);

/* Loads the programs, fills the maps, attaches and pins. NULL with errno. */
struct ink_kernel *ink_kernel_make(const struct ink_kernel_options *options, struct ink_why *why);

/* Opens a set by its name. NULL with errno: ENOENT (there is none), EPERM, EPROTO (it is of another version). */
struct ink_kernel *ink_kernel_open(const char *name, struct ink_why *why);

/* Lets go of it; what is pinned stays. */
void ink_kernel_close(struct ink_kernel *kernel);

/* Detaches all hooks and removes the pins: when the last descriptor is closed, the set is gone. */
int ink_kernel_detach(struct ink_kernel *kernel, struct ink_why *why);

/* The same by name, for sets that cannot be opened: of another version, or not finished. -ENOENT: there is none. */
int ink_kernel_remove(const char *name, struct ink_why *why);

/* Non-zero: it was not detached yet, nor another one made in its place. */
int ink_kernel_is_attached(const struct ink_kernel *kernel);

/* The names of the sets that there are, sorted; how many, or a negative errno. */
int ink_kernel_list(char names[][INK_KERNEL_PATH + 1], unsigned room, struct ink_why *why);

/* -------------------------------------------------------------------- using */

/* A queue that packets of the set leave by. */
struct ink_kernel_queued {
	unsigned interface;            /* index */
	char name[16];                 /* of the interface when it was attached */
	enum ink_kernel_wait expected; /* INK_KERNEL_WAITS: it could not be said */
	uint64_t rate, speed;          /* bits a second; 0: not given, not known */
	struct ink_kernel_waits waits; /* of all processors; the longest and the most of any */
};

/*
 * The queues that conditions look at, at most INK_KERNEL_QUEUES; `n` receives how many: 0 if none does. A negative errno:
 * the kernel does not hand out what packets found there.
 */
int ink_kernel_queues(const struct ink_kernel *kernel, struct ink_kernel_queued *queues, unsigned *n);

/* The machines that run now, made again from the text in the maps; they belong to the set. */
const struct ink_machines *ink_kernel_machines(struct ink_kernel *kernel);
const struct ink_kernel_control *ink_kernel_control(const struct ink_kernel *kernel);
const struct ink_kernel_table *ink_kernel_table(const struct ink_kernel *kernel, unsigned machine);
const struct ink_plan *ink_kernel_planned(const struct ink_kernel *kernel, unsigned machine); /* its plan */
unsigned ink_kernel_places(const struct ink_kernel *kernel, struct ink_kernel_place *places); /* at most INK_KERNEL_PLACES */

/*
 * How the program got to the i-th of these: "native", "generic" (the driver has no XDP: slower), "dispatcher" (libxdp's),
 * "tcx", "clsact". NULL: there are not so many.
 */
const char *ink_kernel_way(const struct ink_kernel *kernel, unsigned i);

/* Counts of a machine, summed over the processors; counters are in the order of its view. */
int ink_kernel_counts(struct ink_kernel *kernel, unsigned machine, struct ink_kernel_counts *counts);
int ink_kernel_counters(struct ink_kernel *kernel, unsigned machine, uint64_t counters[INK_KERNEL_COUNTERS]);

/*
 * A copy of a machine's table while packets flow: its census is ink_census, its bits are those of ink_save.
 * States have the numbers of the machine's view. The caller frees it. NULL with errno.
 */
struct ink_table *ink_kernel_copy(struct ink_kernel *kernel, unsigned machine, struct ink_why *why);

/* Writes the tables to a file: for one machine as ink_save, for several as ink_save_set. */
int ink_kernel_snapshot(struct ink_kernel *kernel, const char *path, struct ink_why *why);

/* Exchanges the machines: flows stay, with their states by name (ink_track_exchange_set). All or none. */
int ink_kernel_reload(struct ink_kernel *kernel, const struct ink_kernel_options *options, struct ink_why *why);

/* ------------------------------------------------------------------ reports */

/* A record, in the order of the ring buffer. `frame` is NULL unless the packet is saved. Non-zero: stop. */
typedef int (*ink_kernel_reported)(const struct ink_kernel_report *report, const uint8_t *frame, void *user);

/*
 * Becomes the one reader of the set. -EBUSY: another process is; the reason names it. The calls that follow
 * hand over what has come, and wait at most `timeout` ms for more. How many records, or a negative errno.
 */
int ink_kernel_listen(struct ink_kernel *kernel, ink_kernel_reported reported, void *user, struct ink_why *why);
int ink_kernel_poll(struct ink_kernel *kernel, int timeout);

/* The process that is the reader now; 0: there is none, or it was killed. */
unsigned ink_kernel_reader(const struct ink_kernel *kernel);

/*
 * What `inkling run` would say of the report's packet; valid during the call of `reported`. -ESTALE: the machines that
 * made it were exchanged before the set was opened, or long ago.
 */
int ink_kernel_moved(struct ink_kernel *kernel, const struct ink_kernel_report *report, struct ink_moved *moved);

/* The report's machine as it was then: actions and states of the record are its own. NULL: it is not known any more. */
const struct ink_machine_view *ink_kernel_reported_by(struct ink_kernel *kernel,
						      const struct ink_kernel_report *report);

/* From the boot clock to nanoseconds since 1970. */
uint64_t ink_kernel_wall(uint64_t boot);

/* ------------------------------------------------------------------ testing */

/* TC_ACT_UNSPEC, the next program decides, is -1, and would be read as an error. */
enum { INK_KERNEL_NEXT = 255 };

/*
 * Runs a frame through the program of a hook (BPF_PROG_TEST_RUN); `clock` is the test clock. The verdict, with
 * INK_KERNEL_NEXT for TC_ACT_UNSPEC, or -errno.
 */
int ink_kernel_try(struct ink_kernel *kernel, enum ink_kernel_hook hook, const void *frame, uint32_t length,
		   uint64_t clock);

/* The descriptor of a program or map, by its name in the object; -1: there is none. */
int ink_kernel_program(const struct ink_kernel *kernel, const char *name);
int ink_kernel_map(const struct ink_kernel *kernel, const char *name);

#endif
