/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The maps of the programs, as maps.h describes them, and how the programs look into them.
 *
 * The tool sets the sizes before it loads the object; here stands the least. Arrays are mmapable, so that the tool
 * reads and writes them without a system call for each entry. The kernel begins every entry of an array at a multiple
 * of eight bytes.
 *
 * Names of types are those of C11; linux/bpf.h brings its own for the kernel's structs.
 */
#ifndef INKLING_KERNEL_MAPS_BPF_H
#define INKLING_KERNEL_MAPS_BPF_H

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "kernel/maps.h"

#define INK_ARRAY(name, entries, entry)                                                                      \
	struct {                                                                                             \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                                            \
		__uint(max_entries, entries);                                                                \
		__uint(map_flags, BPF_F_MMAPABLE);                                                           \
		__type(key, uint32_t);                                                                       \
		__type(value, entry);                                                                        \
	} name SEC(".maps")

#define INK_PER_CPU(name, entries, entry)                                                                    \
	struct {                                                                                             \
		__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);                                                     \
		__uint(max_entries, entries);                                                                \
		__type(key, uint32_t);                                                                       \
		__type(value, entry);                                                                        \
	} name SEC(".maps")

/* ------------------------------------------------------------------- the maps */

INK_ARRAY(control, 1, struct ink_kernel_control);
INK_ARRAY(tables, INK_KERNEL_MACHINES, struct ink_kernel_table);
INK_ARRAY(body, 1, struct ink_line);
INK_ARRAY(ticks, INK_KERNEL_MACHINES, struct ink_kernel_tick);
INK_ARRAY(claims, INK_KERNEL_CLAIMS, struct ink_kernel_claim);

INK_ARRAY(machines, INK_KERNEL_HALVES *INK_KERNEL_MACHINES, struct ink_kernel_machine);
INK_ARRAY(nodes, INK_KERNEL_HALVES, struct ink_kernel_node);
INK_ARRAY(ranges, INK_KERNEL_HALVES, struct ink_kernel_range);
INK_ARRAY(prefixes, INK_KERNEL_HALVES, struct ink_kernel_prefix);
INK_ARRAY(ports, INK_KERNEL_HALVES, struct ink_kernel_ports);
INK_ARRAY(bytes, INK_KERNEL_HALVES, struct ink_kernel_bytes);
INK_ARRAY(againsts, INK_KERNEL_HALVES, struct ink_kernel_against);
INK_ARRAY(events, INK_KERNEL_HALVES, struct ink_kernel_event);
INK_ARRAY(compiled, INK_KERNEL_HALVES, struct ink_kernel_compiled);
INK_ARRAY(states, INK_KERNEL_HALVES, struct ink_kernel_state);
INK_ARRAY(rows, INK_KERNEL_HALVES, struct ink_kernel_row);
INK_ARRAY(actions, INK_KERNEL_HALVES, struct ink_kernel_action);
INK_ARRAY(countings, INK_KERNEL_HALVES, struct ink_kernel_counting);
INK_ARRAY(tells, INK_KERNEL_HALVES, struct ink_kernel_tell);
INK_ARRAY(limits, INK_KERNEL_HALVES, struct ink_kernel_limit);
INK_ARRAY(buckets, INK_KERNEL_HALVES, struct ink_kernel_bucket);

INK_ARRAY(queues, INK_KERNEL_QUEUES, struct ink_kernel_queue);
INK_PER_CPU(waits, INK_KERNEL_QUEUES, struct ink_kernel_waits);

INK_PER_CPU(counts, INK_KERNEL_MACHINES, struct ink_kernel_counts);
INK_PER_CPU(counters, INK_KERNEL_MACHINES *INK_KERNEL_COUNTERS, uint64_t);
INK_ARRAY(weighed, INK_KERNEL_MACHINES *INK_KERNEL_COUNTERS, uint64_t);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} reports SEC(".maps");

INK_ARRAY(text, 1, struct ink_kernel_text);

/*
 * The program of both directions at tc, and the one that reads the egress device's queue before it; the tool puts them in.
 * The kernel empties such a map when its last pin goes.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, INK_COMMON_PROGRAMS);
	__type(key, uint32_t);
	__type(value, uint32_t);
} common SEC(".maps");

/* ---------------------------------------------------------------- looking in */

/* The entry of that number, or NULL. The verifier wants to see the key in memory. */
#define INK_AT(map, number)                                                                                  \
	({                                                                                                   \
		uint32_t ink_key_ = (number);                                                                \
		bpf_map_lookup_elem(&(map), &ink_key_);                                                      \
	})

#endif
