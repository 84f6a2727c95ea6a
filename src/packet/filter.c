/* SPDX-License-Identifier: BSD-2-Clause */
/* tcpdump's filter language: libpcap compiles the text to a BPF program, and runs it. */
#include "packet/filter.h"

#include <errno.h>
#include <stdlib.h>

#include <pcap.h>

#include "base/error.h"

enum { SNAPLEN = 262144 }; /* what a program says for "all"; tcpdump's */

struct ink_filter {
	struct bpf_program program;
};

int ink_link_to_dlt(enum ink_link link)
{
	return link == INK_LINK_RAW ? DLT_RAW : (int)link;
}

enum ink_link ink_link_of_dlt(int dlt)
{
	return dlt == DLT_RAW ? INK_LINK_RAW : (enum ink_link)dlt;
}

const char *ink_link_name(enum ink_link link)
{
	const char *name = pcap_datalink_val_to_description(ink_link_to_dlt(link));

	return name ? name : "unknown";
}

static int compile(struct ink_filter *filter, const char *text, enum ink_link link, struct ink_why *why)
{
	pcap_t *dead = pcap_open_dead(ink_link_to_dlt(link), SNAPLEN);
	int error = 0;

	if (!dead)
		return ink_fail(why, -ENOMEM, "filter: no memory");
	if (pcap_compile(dead, &filter->program, text, 1, PCAP_NETMASK_UNKNOWN))
		error = ink_fail(why, -EINVAL, "filter '%s': %s", text, pcap_geterr(dead));
	pcap_close(dead);
	return error;
}

struct ink_filter *ink_filter_compile(const char *text, enum ink_link link, struct ink_why *why)
{
	struct ink_filter *filter = calloc(1, sizeof *filter);
	int error =
		filter ? compile(filter, text, link, why) : ink_fail(why, -ENOMEM, "filter: no memory");

	if (!error)
		return filter;
	free(filter);
	errno = -error;
	return NULL;
}

void ink_filter_free(struct ink_filter *filter)
{
	if (filter)
		pcap_freecode(&filter->program);
	free(filter);
}

/* Of two links that know the same words, one is enough; what is told is what the first says. */
int ink_filter_try(const char *text, struct ink_why *why)
{
	static const enum ink_link links[] = {INK_LINK_ETHERNET, INK_LINK_RADIOTAP, INK_LINK_SLL2,
					      INK_LINK_RAW};
	struct ink_why first = {""};
	int error = 0;

	for (unsigned i = 0; i < sizeof links / sizeof links[0]; i++) {
		struct ink_filter *filter = ink_filter_compile(text, links[i], i ? NULL : &first);

		if (filter)
			return ink_filter_free(filter), 0;
		error = error ? error : -errno;
	}
	return ink_fail(why, error, "%s", first.text);
}

int ink_filter_match(const struct ink_filter *filter, const struct ink_packet *packet)
{
	const struct pcap_pkthdr header = {.caplen = packet->captured, .len = packet->wire};

	return pcap_offline_filter(&filter->program, &header, packet->frame) != 0;
}

struct bpf_program *ink_filter_program(struct ink_filter *filter)
{
	return &filter->program;
}
