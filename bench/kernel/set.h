/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A machine in the kernel with its flows, and the programs that stand beside its own: objects of bench.bpf.c, each with
 * constants of its own, which share the maps of the machine.
 */
#ifndef BENCH_KERNEL_SET_H
#define BENCH_KERNEL_SET_H

#include <bpf/libbpf.h>
#include <inkling/inkling.h>

#include "bench/kernel/shared.h"
#include "kernel/kernel.h"

enum { BENCH_FILLS = 3, BENCH_PEERS = 4 };

/* A machine, and the packets that bring each of its flows into the state that is measured. */
struct bench_machine {
	const char *name, *text; /* bundled if there is no text */
	unsigned age_bits;
	double error; /* 0: the default */
	struct {
		uint8_t flags, back;
	} fill[BENCH_FILLS];
	uint8_t flags;     /* of the packets that are measured */
	const char *state; /* of all flows before */
	int takes;         /* a start event has rows in states: it may be taken for another flow's */
};

struct bench_peer {
	const char *name;
	enum bpf_map_type type;
	uint32_t flags;
	int evicts; /* it may lose flows while it is filled */
};

extern const struct bench_peer bench_peers[BENCH_PEERS];

struct bench_set {
	const struct bench_machine *machine;
	uint32_t flows;
	unsigned processors; /* 1 or 2 */
	struct ink_machines *machines;
	struct ink_kernel *kernel;
	struct bpf_object
		*stages; /* the preparation; the beginnings, with ids; the program without look-up */
	struct bpf_object *without; /* the same without ids: what peers are compared with */
	struct bpf_object *peer[BENCH_PEERS];
	struct bpf_object *conntrack;
	uint32_t tracked;   /* flows that connection tracking has */
	char untracked[64]; /* or why it has none */
	struct bench_plan *plan;
	uint8_t frame[BENCH_FRAME];
};

/* The machine alone, without a set in the kernel. NULL with errno. */
struct ink_machines *bench_machines_make(const struct bench_machine *m);
struct ink_kernel *bench_kernel_make(const struct bench_machine *m, struct ink_machines *machines,
				     uint32_t flows, int xdp_alone, struct ink_why *why);

/* Ends the process with 77 if the rights are missing. */
struct bench_set *bench_set_make(const struct bench_machine *m, uint32_t flows);
void bench_set_free(struct bench_set *s);

int bench_program(struct bpf_object *o, const char *name);
uint64_t bench_memlock(int map);

/* The program that the prepared frames go to from here on. */
void bench_choose(struct bench_set *s, int program);

/* Runs a program so many times; ns each. */
double bench_run(const struct bench_set *s, int program, uint32_t packets);

/* On which processor the calling thread is from here on. */
void bench_pin(unsigned processor);
void bench_unpin(void);

/* Flows that peers missed so far, on all processors. */
uint64_t bench_missing(const struct bench_set *s);

/* All flows are in the table, but for the planned error; before they are measured, in the state of the machine. */
void bench_check(struct bench_set *s, int filled);

#endif
