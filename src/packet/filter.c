/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tcpdump's filter language: libpcap compiles the text to a BPF program, and runs it.
 *
 * libpcap's optimizer is cubic: "portrange 1-2||3-4||..." takes 0.3 s with 250 characters and 2 s with 500. The
 * filter of a capture is always optimized, since every packet of the interface runs through it. The filters of a
 * machine, whose text may come from elsewhere, are optimized only where that is quick. Names in it are refused
 * before libpcap sees them (filter_words.c), whereas the filter of a capture may have some: it is the user's own.
 */
#include "packet/filter.h"

#include <errno.h>
#include <stdlib.h>

#include <pcap.h>

#include "base/error.h"

enum {
	SNAPLEN = 262144, /* what a program returns for "all"; tcpdump's */
	QUICK_MAX = 1024  /* instructions of a program that the optimizer improves within some milliseconds */
};

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

/* A filter to compile. */
struct request {
	const char *text;
	enum ink_link link;
	int optimize;
};

static int compile(struct ink_filter *filter, const struct request *r, struct ink_why *why)
{
	pcap_t *dead = pcap_open_dead(ink_link_to_dlt(r->link), SNAPLEN);
	int error = 0;

	if (!dead)
		return ink_fail(why, -ENOMEM, "filter: no memory");
	if (pcap_compile(dead, &filter->program, r->text, r->optimize, PCAP_NETMASK_UNKNOWN))
		error = ink_fail(why, -EINVAL, "filter '%s': %s", r->text, pcap_geterr(dead));
	pcap_close(dead);
	return error;
}

static struct ink_filter *make(const struct request *r, struct ink_why *why)
{
	struct ink_filter *filter = r->text ? calloc(1, sizeof *filter) : NULL;
	int error = !r->text ? ink_fail(why, -EINVAL, "filter: NULL")
		    : filter ? compile(filter, r, why)
			     : ink_fail(why, -ENOMEM, "filter: no memory");

	if (!error)
		return filter;
	free(filter);
	errno = -error;
	return NULL;
}

struct ink_filter *ink_filter_compile(const char *text, enum ink_link link, struct ink_why *why)
{
	return make(&(struct request){text, link, 1}, why);
}

struct ink_filter *ink_filter_compile_quickly(const char *text, enum ink_link link, struct ink_why *why)
{
	struct ink_filter *plain, *optimized;
	int error = ink_filter_check_words(text, why);

	if (error)
		return errno = -error, NULL;
	plain = make(&(struct request){text, link, 0}, why);
	if (!plain || plain->program.bf_len > QUICK_MAX)
		return plain;
	optimized = ink_filter_compile(text, link, NULL);
	if (!optimized) /* it matches no packet: the optimizer takes that for a mistake */
		return plain;
	ink_filter_free(plain);
	return optimized;
}

void ink_filter_free(struct ink_filter *filter)
{
	if (filter)
		pcap_freecode(&filter->program);
	free(filter);
}

/* Of links that know the same words, one is enough. The reason is that of the first. */
int ink_filter_try(const char *text, struct ink_why *why)
{
	static const enum ink_link links[] = {INK_LINK_ETHERNET, INK_LINK_RADIOTAP, INK_LINK_SLL2,
					      INK_LINK_RAW};
	struct ink_why first = {""};
	int error = text ? ink_filter_check_words(text, why) : 0;

	if (error)
		return error;
	for (unsigned i = 0; i < sizeof links / sizeof links[0]; i++) {
		struct ink_filter *filter = make(&(struct request){text, links[i], 0}, i ? NULL : &first);

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
