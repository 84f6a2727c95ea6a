/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the programs of kernel_traffic.bpf.c over the maps of a set, for kernel_flood.c and kernel_churn.c. */
#ifndef INKLING_TESTS_KERNEL_DRIVE_H
#define INKLING_TESTS_KERNEL_DRIVE_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/inside.h"
#include "tests/kernel_traffic.h"

struct drive {
	struct bpf_object *object;
	struct traffic *traffic;
	uint64_t ns; /* a packet of the latest run */
};

static inline void drive_fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(errno == EPERM || errno == EACCES ? 77 : 1);
}

/* A set of one machine, attached nowhere, under the test clock. */
static inline struct ink_kernel *drive_kernel(const struct ink_machines *machines,
					      const struct ink_options *plan)
{
	const struct ink_kernel_options o = {
		.machines = machines, .tables = plan, .test_clock = 1, .unpinned = 1};
	struct ink_why why = {""};
	struct ink_kernel *k = ink_kernel_make(&o, &why);

	if (k)
		return k;
	fprintf(stderr, "%s\n", why.text);
	exit(errno == EPERM || errno == EACCES || errno == ENOSYS ? 77 : 1);
}

/* Maps that the set has are the set's. */
static inline void drive_share(struct drive *d, const struct ink_kernel *kernel)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, d->object)
	{
		int fd = ink_kernel_map(kernel, bpf_map__name(map));

		if (fd >= 0 && bpf_map__reuse_fd(map, fd))
			drive_fail(bpf_map__name(map));
	}
}

static inline void drive_map(struct drive *d)
{
	int fd = bpf_object__find_map_fd_by_name(d->object, "traffic");

	d->traffic = mmap(NULL, (size_t)getpagesize(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (d->traffic == MAP_FAILED)
		drive_fail("traffic");
}

/* The tail call leads to the set's own program. */
static inline void drive_lead(struct drive *d, const struct ink_kernel *kernel)
{
	int to = bpf_object__find_map_fd_by_name(d->object, "programs"),
	    program = ink_kernel_program(kernel, "ink_xdp");
	const uint32_t first = 0;

	if (bpf_map_update_elem(to, &first, &program, BPF_ANY))
		drive_fail("programs");
}

extern const unsigned char kernel_traffic_object[];
extern const unsigned kernel_traffic_object_bytes;

/* The embedded object; not loaded yet. */
static inline struct drive drive_open(void)
{
	struct drive d = {
		.object = bpf_object__open_mem(kernel_traffic_object, kernel_traffic_object_bytes, NULL)};

	if (!d.object)
		drive_fail("programs that make traffic");
	return d;
}

static inline void drive_load(struct drive *d)
{
	if (bpf_object__load(d->object))
		drive_fail("programs that make traffic");
	drive_map(d);
}

/* The programs that lead to that of a set. */
static inline struct drive drive_to(const struct ink_kernel *kernel)
{
	struct drive d = drive_open();

	drive_share(&d, kernel);
	drive_load(&d);
	drive_lead(&d, kernel);
	return d;
}

static inline void drive_close(struct drive *d)
{
	munmap(d->traffic, (size_t)getpagesize());
	bpf_object__close(d->object);
	*d = (struct drive){0};
}

static inline uint64_t drive_some(struct drive *d, int program, int packets)
{
	uint8_t frame[TRAFFIC_FRAME] = {[12] = 8, [14] = 0x45, [17] = 40, [22] = 64, 6, [46] = 0x50};
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = frame, .data_size_in = sizeof frame, .repeat = packets);
	uint64_t before = d->traffic->next;

	if (bpf_prog_test_run_opts(program, &o))
		drive_fail("BPF_PROG_TEST_RUN");
	if (o.retval != 2 || d->traffic->next != before + (uint64_t)packets) {
		fprintf(stderr, "the program ended with %u\n", o.retval);
		exit(1);
	}
	return o.duration;
}

/* So many packets, from where the traffic is; a signal can end it in between. */
static inline void drive_packets(struct drive *d, const char *program, uint64_t packets)
{
	struct bpf_program *p = bpf_object__find_program_by_name(d->object, program);
	uint64_t done = 0, ns = 0;

	while (p && done < packets) {
		int some = packets - done < 1000000 ? (int)(packets - done) : 1000000;

		ns += drive_some(d, bpf_program__fd(p), some) * (uint64_t)some;
		done += (uint64_t)some;
	}
	d->ns = packets ? ns / packets : 0;
}

/* A scene of so many packets within so many ns from where the clock is. */
static inline void drive_scene(struct drive *d, const char *program, enum traffic_scene scene,
			       uint64_t packets, uint64_t span)
{
	struct traffic *t = d->traffic;

	t->scene = scene;
	t->next = 0;
	t->pace = packets ? span / packets * 256 + span % packets * 256 / packets : 0;
	drive_packets(d, program, packets);
	t->begin += span;
}

#endif
