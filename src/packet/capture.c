/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures: files and interfaces, a batch of packets at a time.
 *
 * There are two sources. reader.c reads pcap files and returns packets in place.
 * libpcap reads everything else. Its packets are valid until the next one, so
 * they are copied into a pool, and a batch ends when the pool might not hold
 * another.
 *
 *     pcap file ------> reader.c, in place ---+
 *     pcapng file ----> libpcap --+           +--> filter --> clock --> parse --> batch
 *     interface ------> libpcap --+--> pool --+
 *
 * An error is deferred until all packets read before it have been returned.
 */
#include <inkling/packet.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <pcap.h>

#include "packet/clock.h"
#include "packet/filter.h"
#include "packet/parse.h"
#include "packet/reader.h"
#include "base/error.h"
#include "base/grow.h"

enum { WAIT_MS = 100 };                 /* for packets of an interface */
enum { KERNEL_BUFFER = 16 << 20 };      /* of an interface: 10 Gbit/s for 13 ms */
enum { POOL = 4 * (int)INK_FRAME_MAX }; /* for packets of libpcap */

struct ink_capture {
	char *name; /* of the file or the interface */
	enum ink_link link;
	unsigned parse;
	int live;
	int stopped; /* set by any thread or signal handler */

	struct ink_reader reader;
	int is_pcap; /* reader.c reads it; else libpcap */
	FILE *stream;
	pcap_t *pcap;
	uint32_t fraction; /* nanoseconds in a unit of libpcap's times */
	uint8_t *pool;
	size_t pooled;

	struct ink_filter *filter; /* of a file; the kernel has that of an interface */
	struct ink_clock clock;
	struct ink_capture_stats stats;
	int error; /* returned once all packets before it were */
	struct ink_why why;
};

/* ------------------------------------------------------------------ one packet */

static int is_stopped(const struct ink_capture *c)
{
	return __atomic_load_n(&c->stopped, __ATOMIC_RELAXED);
}

static void count(struct ink_capture *c, const struct ink_packet *p)
{
	struct ink_capture_stats *s = &c->stats;

	if (!s->packets || p->time < s->first)
		s->first = p->time;
	if (p->time > s->last)
		s->last = p->time;
	s->packets++;
	s->bytes += p->wire;
	s->skipped[p->skip]++;
}

/* Frame, lengths and time are set. 0: the filter rejected it. */
static int take(struct ink_capture *c, struct ink_packet *p)
{
	if (p->wire < p->captured)
		p->wire = p->captured;
	if (c->filter && !ink_filter_match(c->filter, p)) {
		c->stats.filtered++;
		return 0;
	}
	p->clock = ink_clock_set(&c->clock, p->time);
	ink_parse(p, c->link, c->parse);
	count(c, p);
	return 1;
}

/* ------------------------------------------------------------------- from a file */

/* All packets in the buffer, as far as there is room. */
static int read_buffer(struct ink_capture *c, struct ink_packets *packets)
{
	int got = 1;

	while (packets->n < packets->room && got > 0) {
		struct ink_packet *p = &packets->at[packets->n];

		got = ink_reader_next(&c->reader, p, &c->why);
		if (got > 0)
			packets->n += (size_t)take(c, p);
	}
	return got < 0 ? got : 0;
}

/* Reports an error or the end only when no packets are left. */
static void read_file(struct ink_capture *c, struct ink_packets *packets)
{
	while (!packets->n && !c->error && !packets->end) {
		c->error = read_buffer(c, packets);
		if (packets->n || c->error)
			return;
		packets->end = is_stopped(c) || c->reader.ended;
		if (packets->end)
			return;
		c->error = ink_reader_fill(&c->reader, &c->why);
		if (c->error == -EINTR)
			c->error = 0;
	}
}

/* ------------------------------------------------------------------ from libpcap */

static void pool_packet(struct ink_capture *c, struct ink_packet *p, const struct pcap_pkthdr *header,
			const u_char *bytes)
{
	uint8_t *copy = c->pool + c->pooled;

	memcpy(copy, bytes, header->caplen);
	p->frame = copy;
	p->captured = header->caplen;
	p->wire = header->len;
	p->time = (uint64_t)header->ts.tv_sec * 1000000000 + (uint64_t)header->ts.tv_usec * c->fraction;
	if (take(c, p))
		c->pooled += header->caplen;
}

static int libpcap_failed(struct ink_capture *c)
{
	if (c->live)
		return ink_fail(&c->why, -EIO, "%s: %s", c->name, pcap_geterr(c->pcap));
	return ink_fail(&c->why, -EILSEQ, "%s: after packet %llu: %s", c->name,
			(unsigned long long)(c->stats.packets + c->stats.filtered), pcap_geterr(c->pcap));
}

/* Returns pcap_next_ex's status: 1 a packet, 0 none now, -2 the end. */
static int read_one(struct ink_capture *c, struct ink_packets *packets)
{
	uint64_t before = c->stats.packets;
	struct pcap_pkthdr *header;
	const u_char *bytes;
	int said = pcap_next_ex(c->pcap, &header, &bytes);

	if (said == 1 && header->caplen > INK_FRAME_MAX) {
		c->error = ink_fail(&c->why, -EILSEQ, "%s: a packet of %u bytes", c->name, header->caplen);
		return -1;
	}
	if (said == 1)
		pool_packet(c, &packets->at[packets->n], header, bytes);
	else if (said == PCAP_ERROR && !is_stopped(c)) /* ink_capture_stop may have interrupted a read */
		c->error = libpcap_failed(c);
	packets->n += c->stats.packets - before;
	return said;
}

static void read_pcap(struct ink_capture *c, struct ink_packets *packets)
{
	int said = 1;

	c->pooled = 0;
	while (packets->n < packets->room && said == 1 && POOL - c->pooled >= INK_FRAME_MAX && !is_stopped(c))
		said = read_one(c, packets);
	packets->end = !packets->n && !c->error && (is_stopped(c) || said == PCAP_ERROR_BREAK);
}

static void read_live(struct ink_capture *c, struct ink_packets *packets)
{
	struct pollfd wait = {.fd = pcap_get_selectable_fd(c->pcap), .events = POLLIN};

	read_pcap(c, packets);
	if (packets->n || packets->end || c->error)
		return;
	poll(&wait, 1, WAIT_MS);
	read_pcap(c, packets);
}

int ink_capture_read(struct ink_capture *c, struct ink_packets *packets, struct ink_why *why)
{
	packets->n = 0;
	packets->end = is_stopped(c);
	if (!packets->room)
		return ink_fail(why, -EINVAL, "%s: no room for a packet", c->name);
	if (packets->end)
		return 0;
	if (!c->error && c->is_pcap)
		read_file(c, packets);
	else if (!c->error && c->live)
		read_live(c, packets);
	else if (!c->error)
		read_pcap(c, packets);
	return !packets->n && c->error ? ink_fail(why, c->error, "%s", c->why.text) : 0;
}

/* ----------------------------------------------------------------------- opening */

static int set_filter(struct ink_capture *c, const char *text, struct ink_why *why)
{
	if (!text)
		return 0;
	c->filter = ink_filter_compile(text, c->link, why);
	if (!c->filter)
		return -errno;
	if (!c->live)
		return 0;
	if (pcap_setfilter(c->pcap, ink_filter_program(c->filter)))
		return ink_fail(why, -EIO, "%s: %s", c->name, pcap_geterr(c->pcap));
	ink_filter_free(c->filter);
	c->filter = NULL;
	return 0;
}

/* Link type and time unit of what libpcap has opened. */
static int learn(struct ink_capture *c, struct ink_why *why)
{
	c->link = ink_link_of_dlt(pcap_datalink(c->pcap));
	c->fraction = pcap_get_tstamp_precision(c->pcap) == PCAP_TSTAMP_PRECISION_NANO ? 1 : 1000;
	c->pool = malloc(POOL);
	return c->pool ? 0 : ink_fail(why, -ENOMEM, "%s: no memory", c->name);
}

/* Recognizes files that libpcap would only call truncated or unknown. */
static int refuse_early(const struct ink_capture *c, struct ink_why *why)
{
	static const struct {
		const char *begin, *unpack;
		size_t length;
	} packers[] = {
		{"\x1f\x8b", "zcat", 2}, {"\x28\xb5\x2f\xfd", "zstdcat", 4}, {"\xfd\x37zXZ", "xzcat", 5}};

	if (!c->reader.filled)
		return ink_fail(why, -EILSEQ, "%s: not a capture: it is empty", c->name);
	for (size_t i = 0; i < sizeof packers / sizeof *packers; i++)
		if (c->reader.filled >= packers[i].length &&
		    !memcmp(c->reader.buffer, packers[i].begin, packers[i].length))
			return ink_fail(why, -EILSEQ, "%s: not a capture, but compressed: %s it into -r -",
					c->name, packers[i].unpack);
	if (c->reader.filled < INK_FILE_HEADER)
		return ink_fail(why, -EILSEQ, "%s: not a capture: it ends after %zu byte%s", c->name,
				c->reader.filled, c->reader.filled == 1 ? "" : "s");
	return 0;
}

static int open_file(struct ink_capture *c, struct ink_why *why)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	int error = ink_reader_open(&c->reader, &c->is_pcap, why);

	if (error || c->is_pcap) {
		c->link = c->reader.link;
		return error;
	}
	error = refuse_early(c, why);
	if (error)
		return error;
	c->stream = ink_reader_stream(&c->reader);
	if (!c->stream)
		return ink_fail(why, -errno, "%s: %s", c->name, strerror(errno));
	c->pcap = pcap_fopen_offline_with_tstamp_precision(c->stream, PCAP_TSTAMP_PRECISION_NANO, text);
	if (!c->pcap)
		return ink_fail(why, -EILSEQ, "%s: not a capture: %s", c->name, text);
	c->stream = NULL; /* now libpcap's */
	return learn(c, why);
}

/* The pcap_set_ functions fail only on an active handle, and this one is not active yet. */
static int open_interface(struct ink_capture *c, const struct ink_capture_options *o, struct ink_why *why)
{
	char text[PCAP_ERRBUF_SIZE] = "";

	c->live = 1;
	c->pcap = pcap_create(o->interface, text);
	if (!c->pcap)
		return ink_fail(why, -EIO, "%s: %s", c->name, text);
	pcap_set_snaplen(c->pcap, o->snaplen ? (int)o->snaplen : (int)INK_FRAME_MAX);
	pcap_set_promisc(c->pcap, !o->not_promiscuous);
	pcap_set_timeout(c->pcap, WAIT_MS);
	pcap_set_buffer_size(c->pcap, o->buffer ? (int)o->buffer : KERNEL_BUFFER);
	pcap_set_tstamp_precision(c->pcap, PCAP_TSTAMP_PRECISION_NANO);
	return 0;
}

static int error_of_status(int status)
{
	switch (status) {
	case PCAP_ERROR_NO_SUCH_DEVICE:
		return -ENODEV;
	case PCAP_ERROR_PERM_DENIED:
	case PCAP_ERROR_PROMISC_PERM_DENIED:
		return -EPERM;
	case PCAP_ERROR_IFACE_NOT_UP:
		return -ENETDOWN;
	default:
		return -EIO;
	}
}

/* libpcap has a text for each status, and sometimes a more precise one for this failure. */
static int not_active(const struct ink_capture *c, int status, struct ink_why *why)
{
	const char *text = pcap_statustostr(status), *more = pcap_geterr(c->pcap);

	if (!*more || !strcmp(text, more))
		return ink_fail(why, error_of_status(status), "%s: %s", c->name, text);
	return ink_fail(why, error_of_status(status), "%s: %s (%s)", c->name, text, more);
}

static int activate(struct ink_capture *c, struct ink_why *why)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	int status = pcap_activate(c->pcap);

	if (status < 0)
		return not_active(c, status, why);
	if (pcap_setnonblock(c->pcap, 1, text))
		return ink_fail(why, -EIO, "%s: %s", c->name, text);
	return learn(c, why);
}

static int open_either(struct ink_capture *c, const struct ink_capture_options *o, struct ink_why *why)
{
	int error;

	if (o->file)
		error = open_file(c, why);
	else
		error = open_interface(c, o, why);
	if (!error && c->live)
		error = activate(c, why);
	return error ? error : set_filter(c, o->filter, why);
}

static int check(const struct ink_capture_options *o, struct ink_why *why)
{
	if (!o->file == !o->interface)
		return ink_fail(why, -EINVAL, "capture: either a file or an interface");
	if (o->parse & ~INK_OUTERMOST)
		return ink_fail(why, -EINVAL, "capture: unknown parse options: %u", o->parse);
	if (o->snaplen > INK_FRAME_MAX || o->buffer > INT32_MAX)
		return ink_fail(why, -EINVAL, "capture: snaplen %u or buffer %u is too large", o->snaplen,
				o->buffer);
	return 0;
}

static int open_named(struct ink_capture *c, const struct ink_capture_options *o, struct ink_why *why)
{
	int standard = o->file && !strcmp(o->file, "-");

	c->reader.fd = -1;
	c->parse = o->parse;
	c->name = strdup(standard ? "standard input" : o->file ? o->file : o->interface);
	if (!c->name)
		return ink_fail(why, -ENOMEM, "capture: no memory");
	c->reader.name = standard ? "-" : c->name;
	return open_either(c, o, why);
}

/* Bytes of the first struct ink_capture_options and the first struct ink_capture_stats. */
enum { OPTIONS_FIRST = 48, STATS_FIRST = 160 };

struct ink_capture *ink_capture_open(const struct ink_capture_options *options, struct ink_why *why)
{
	static const struct ink_struct known = {"capture options", OPTIONS_FIRST, sizeof *options};
	struct ink_capture_options o;
	int error = ink_struct_read(&known, &o, options, why);
	struct ink_capture *c = NULL;

	if (!error)
		error = check(&o, why);
	if (!error)
		c = calloc(1, sizeof *c);
	if (!error)
		error = c ? open_named(c, &o, why) : ink_fail(why, -ENOMEM, "capture: no memory");
	if (!error)
		return c;
	ink_capture_close(c);
	errno = -error;
	return NULL;
}

void ink_capture_close(struct ink_capture *c)
{
	if (!c)
		return;
	if (c->pcap)
		pcap_close(c->pcap);
	if (c->stream)
		fclose(c->stream);
	ink_filter_free(c->filter);
	ink_reader_close(&c->reader);
	free(c->pool);
	free(c->name);
	free(c);
}

/* ---------------------------------------------------------------------- the rest */

void ink_capture_stop(struct ink_capture *c)
{
	__atomic_store_n(&c->stopped, 1, __ATOMIC_RELAXED);
}

int ink_capture_stats(struct ink_capture *c, struct ink_capture_stats *stats)
{
	static const struct ink_struct known = {"capture stats", STATS_FIRST, sizeof *stats};
	struct pcap_stat kernel = {0};

	if (c->live && pcap_stats(c->pcap, &kernel) == 0) {
		c->stats.received = kernel.ps_recv;
		c->stats.dropped = kernel.ps_drop;
		c->stats.dropped_by_interface = kernel.ps_ifdrop;
	}
	c->stats.backwards = c->clock.backwards;
	c->stats.fraction = c->is_pcap ? c->reader.fraction : c->fraction;
	return ink_struct_write(&known, stats, &c->stats, NULL);
}

enum ink_link ink_capture_link(const struct ink_capture *c)
{
	return c->link;
}
