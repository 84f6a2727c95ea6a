/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzing packets and captures. The first byte chooses:
 *
 *     0, 1   the rest is a frame, on the link that the second byte chooses
 *     2      the rest is a capture file
 *     3      the rest is what follows the header of a pcap file
 *
 * A frame lies in a block of just its size; both ways of parsing it agree, what
 * is found lies inside, and keys exist where they are promised. The last bytes
 * of a frame also say of which parts a key is; it is that of an oracle.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <inkling/packet.h>

#include "tests/fuzz_seeds.h"
#include "tests/key_oracle.h"
#include "packet/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void insist(int condition)
{
	if (!condition)
		abort();
}

/* ---------------------------------------------------------------------- frames */

static const enum ink_link links[] = {
	INK_LINK_ETHERNET, INK_LINK_NULL, INK_LINK_PPP,      INK_LINK_PPP_HDLC,
	INK_LINK_PPPOE,    INK_LINK_RAW,  INK_LINK_CHDLC,    INK_LINK_80211,
	INK_LINK_LOOP,     INK_LINK_SLL,  INK_LINK_RADIOTAP, INK_LINK_MPLS,
	INK_LINK_IPV4,     INK_LINK_IPV6, INK_LINK_NFLOG,    INK_LINK_SLL2,
};

enum { LINKS = sizeof links / sizeof links[0] };

/* Any definition, also one that no machine has. */
static void check_parts(const struct ink_packet *p)
{
	uint8_t key[INK_KEY_MOST], expected[INK_KEY_MOST];
	struct ink_key_def def;
	size_t n;

	if (p->captured < sizeof def)
		return;
	memcpy(&def, p->frame + p->captured - sizeof def, sizeof def);
	n = ink_packet_key_by(p, &def, key);
	insist(n == (def.kind == INK_KEY_PARTS ? oracle_key(p, &def, expected)
					       : ink_packet_key(p, (enum ink_key)def.kind, expected)));
	insist(!memcmp(key, expected, n));
	def.kind = INK_KEY_PARTS;
	n = ink_packet_key_by(p, &def, key);
	insist(n == oracle_key(p, &def, expected) && !memcmp(key, expected, n));
}

static void check_packet(const struct ink_packet *p)
{
	uint8_t key[INK_KEY_MOST];
	char text[INK_COMMUNITY_ID_SIZE];

	insist(p->skip < INK_SKIPS && ink_skip_name((enum ink_skip)p->skip));
	insist(p->version == 0 || p->version == 4 || p->version == 6);
	insist(p->network <= p->captured && p->transport <= p->captured);
	insist(p->payload_captured <= p->payload_wire && p->payload_wire <= p->wire);
	if (p->payload)
		insist(p->payload >= p->frame && p->payload + p->payload_captured <= p->frame + p->captured);
	for (int kind = INK_KEY_CONNECTION; kind <= INK_KEY_ENDPOINT; kind++) {
		size_t n = ink_packet_key(p, (enum ink_key)kind, key);

		insist(n == 0 || n == (p->version == 4 ? INK_KEY_IPV4 : INK_KEY_IPV6));
		insist(p->skip != INK_NOT_SKIPPED || n > 0);
	}
	check_parts(p);
	insist((ink_packet_community_id(p, 0, text) == 0) == (p->skip == INK_NOT_SKIPPED));
}

static void fuzz_frame(const uint8_t *data, size_t size)
{
	enum ink_link link = links[data[0] % LINKS];
	unsigned options = data[0] / LINKS % 2 ? INK_OUTERMOST : 0;
	struct ink_packet p = {.captured = (uint32_t)size - 2, .wire = (uint32_t)size - 2 + data[1]}, walked;
	uint8_t *block = malloc(size - 2 ? size - 2 : 1);

	insist(block != NULL);
	memcpy(block, data + 2, size - 2);
	p.frame = block;
	walked = p;
	insist(ink_packet_parse(&p, link, options) < INK_SKIPS);
	ink_parse_walk(&walked, link, options);
	insist(!memcmp(&p, &walked, sizeof p));
	check_packet(&p);
	free(block);
}

/* ----------------------------------------------------------------------- seeds */

/* Frames that a parser goes other ways through. */
static uint32_t shape_of(uint32_t shape, const struct ink_packet *p)
{
	const uint32_t parts[] = {p->version, p->protocol,  p->tcp_flags,         p->skip,
				  p->depth,   p->fragment,  p->vlan != 0,         p->icmp_type,
				  p->network, p->transport, p->payload_wire == 0, p->captured < p->wire};

	for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
		shape = seed_shape(shape, parts[i]);
	return shape;
}

static void make_seed(struct seed *s, const struct ink_packet *p, enum ink_link link)
{
	uint32_t missing = p->wire - p->captured;
	uint8_t head[3] = {0, 0, (uint8_t)(missing < 255 ? missing : 255)};

	while (head[1] < LINKS && links[head[1]] != link)
		head[1]++;
	if (head[1] == LINKS)
		return;
	s->shape = shape_of(seed_shape(s->shape, head[1]), p);
	seed_append(s, head, sizeof head);
	seed_append(s, p->frame, p->captured);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	make_seeds_if_asked(*argc, *argv, make_seed);
	return 0;
}

/* -------------------------------------------------------------------- captures */

static int file = -1;

static void read_capture(void)
{
	struct ink_capture_options o = {.size = sizeof o};
	struct ink_packet packets[8];
	struct ink_packets batch = {.at = packets, .room = 8};
	struct ink_why why = {""};
	struct ink_capture *c;
	uint64_t clock = 0;
	char path[32];

	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	o.file = path;
	c = ink_capture_open(&o, &why);
	insist(c || why.text[0]);
	while (c && ink_capture_read(c, &batch, &why) == 0 && !batch.end)
		for (size_t i = 0; i < batch.n; i++) {
			check_packet(&packets[i]);
			insist(packets[i].clock >= clock);
			clock = packets[i].clock;
		}
	ink_capture_close(c);
}

static void fuzz_capture(const void *header, size_t n, const uint8_t *data, size_t size)
{
	if (file < 0)
		file = memfd_create("capture", MFD_CLOEXEC);
	insist(file >= 0 && ftruncate(file, 0) == 0);
	insist(pwrite(file, header, n, 0) == (ssize_t)n);
	insist(pwrite(file, data, size, (off_t)n) == (ssize_t)size);
	read_capture();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t header[6] = {0xa1b2c3d4, 2u | 4u << 16, 0, 0, 262144, INK_LINK_ETHERNET};

	if (size < 3)
		return 0;
	if (data[0] % 4 < 2)
		fuzz_frame(data + 1, size - 1);
	else if (data[0] % 4 == 2)
		fuzz_capture(header, 0, data + 1, size - 1);
	else
		fuzz_capture(header, sizeof header, data + 1, size - 1);
	return 0;
}
