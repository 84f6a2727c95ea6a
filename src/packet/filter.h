/* SPDX-License-Identifier: BSD-2-Clause */
/* What the library itself needs of filter.c. */
#ifndef INKLING_PACKET_FILTER_H
#define INKLING_PACKET_FILTER_H

#include <inkling/packet.h>

struct bpf_program;

/* 0, or -EINVAL: the text has a word that libpcap would look up, in DNS or elsewhere (filter_words.c). */
int ink_filter_check_words(const char *text, struct ink_why *why);

/*
 * As ink_filter_compile, for the text of a machine: names are refused, and the time is bounded by the square of the
 * text's length.
 */
struct ink_filter *ink_filter_compile_quickly(const char *text, enum ink_link link, struct ink_why *why);

/* For the kernel; belongs to the filter. */
struct bpf_program *ink_filter_program(struct ink_filter *filter);

/*
 * libpcap's number for a link and back. They are those of the files but for
 * raw IP, which has another number on every system.
 */
int ink_link_to_dlt(enum ink_link link);
enum ink_link ink_link_of_dlt(int dlt);

#endif
