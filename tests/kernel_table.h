/* SPDX-License-Identifier: BSD-2-Clause */
/* What tests/kernel_table.bpf.c and tests/test_kernel_table.c share. */
#ifndef INKLING_TESTS_KERNEL_TABLE_H
#define INKLING_TESTS_KERNEL_TABLE_H

#include <stdint.h>

/* In place of events. */
enum { PASS_TIME = 0xffff, PEEK = 0xfffe, PASS_PORTION = 0xfffd, PASS_BEGIN = 0xfffc };

struct listed {
	uint32_t machine, event; /* PASS_PORTION: lines in place of the machine */
	uint64_t id, result;     /* PASS_TIME: the clock in place of the id; PASS_PORTION: the tick */
};

struct hammered {
	uint64_t steps, given_up, refused, begun, ended;
	uint64_t reserved[3];
};

/* As an IPv4 connection has it, to a multiple of eight bytes. */
struct flow_key {
	uint64_t words[2];
};

#endif
