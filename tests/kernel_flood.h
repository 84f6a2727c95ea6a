/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flood of kernel_flood.c and kernel_conntrack.c, in the size of a table, and what one table made of it:
 *
 *     10 spoofed SYNs for each place of the table within 60 s, each from a random source; among them
 *     honest handshakes, 300 a second at a million places: a SYN, the SYN+ACK 50 ms later, the ACK behind it
 */
#ifndef INKLING_TESTS_KERNEL_FLOOD_H
#define INKLING_TESTS_KERNEL_FLOOD_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/kernel_traffic.h"

static const uint64_t second = 1000000000, flood_time = 60 * second, round_trip = 50000000;

static inline uint64_t flood_handshakes(uint64_t places)
{
	return places * 300 * 60 / 1000000;
}

/* Packets of the flood's scene: those of the enemy, and three of each handshake. */
static inline uint64_t flood_packets(uint64_t places)
{
	return 10 * places + 3 * flood_handshakes(places);
}

/* One packet of `every` is the SYN of a handshake. What follows does not fall on the place of another's. */
static inline void flood_shape(struct traffic *t, uint64_t places)
{
	t->every = (uint32_t)(flood_packets(places) / flood_handshakes(places));
	t->lag = (uint32_t)(round_trip * flood_packets(places) / flood_time + 1);
	while (t->lag % t->every == 0 || (t->lag + 1) % t->every == 0)
		t->lag++;
}

/* Handshakes that were complete before the end. */
static inline uint64_t flood_complete(const struct traffic *t, uint64_t places)
{
	return (flood_packets(places) - t->lag - 2) / t->every + 1;
}

/* What one table made of it. */
struct row {
	const char *table;
	uint64_t standing, kept, honest, tracked, bytes, ns; /* 0 ns: not measured */
	int used;
};

static inline void with_commas(uint64_t n, char text[32])
{
	char digits[32];
	size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, n), to = 0;

	for (size_t i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			text[to++] = ',';
		text[to++] = digits[i];
	}
	text[to] = 0;
}

static inline double percent(uint64_t some, uint64_t all)
{
	return all ? 100. * (double)some / (double)all : 0;
}

static inline void print_head(void)
{
	printf("| connections before | used | table | kept | | honest handshakes | seen complete | bytes | ns a packet |\n"
	       "| ---: | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
}

static inline void print_row(const struct row *r)
{
	char standing[32], kept[32], honest[32], bytes[32], ns[32] = "-";

	with_commas(r->standing, standing);
	with_commas(r->kept, kept);
	with_commas(r->honest, honest);
	with_commas(r->bytes, bytes);
	if (r->ns)
		with_commas(r->ns, ns);
	printf("| %s | %s | %s | %s | %.2f %% | %s | %.2f %% | %s | %s |\n", standing, r->used ? "yes" : "no",
	       r->table, kept, percent(r->kept, r->standing), honest, percent(r->tracked, r->honest), bytes,
	       ns);
	fflush(stdout);
}

#endif
