/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Synthetic traffic, in order of time.
 *
 * There are groups of actors: connections, UDP flows, scans, a flood, pairs,
 * streams. What actor number i of a group does follows from the seed and i
 * alone: nothing is kept about it but the time of its next packet and how many it has
 * sent. So half a million connections at once take 16 bytes each.
 *
 *     groups, by the start of their next actor ----+
 *                                                  +--> the earliest --> frame --> dump
 *     heap of (time, actor, step) -----------------+         |
 *                    ^                                       |
 *                    +------- its next step, if any ---------+
 *
 * The truth about a TCP flow is found by walking through its segments once, when
 * it starts, with the rules by which the truth about real captures was found.
 *
 * Addresses. The ranges do not overlap, so that pairs and hosts can be counted:
 *
 *     10.0.0.0/9     clients of TCP, 16 connections each with one server
 *     10.128.0.0/9   clients of UDP, likewise
 *     32.0.0.0/3     spoofed sources
 *     100.64.0.0/11, 100.96.0.0/11   the two hosts of a pair
 *     172.16.0.0/20, 172.17.0.0/20   servers of TCP, of UDP
 *     192.0.2.1, 192.0.2.2           the victim; the source of video
 *     192.168.0.0/16                 what is scanned
 *     198.18.0.0/16, 198.19.0.0/16   scanners, senders of odd flags
 *     239.0.0.0/8                    viewers of video
 */
#include "sim/traffic.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/connection.h"
#include "sim/events.h"
#include "sim/seeded.h"

#define BEGIN 1157932800000000000ull /* 11 September 2006: the first day of SIGCOMM 2006 */

enum { TCP_CLIENTS = 0x0a000000, UDP_CLIENTS = 0x0a800000, SPOOFED = 0x20000000 };

#define PAIRS_ONE 0x64400000u
#define PAIRS_TWO 0x64600000u
#define TCP_SERVERS 0xac100000u
#define UDP_SERVERS 0xac110000u
#define VICTIM 0xc0000201u
#define STUDIO 0xc0000202u
#define SCANNED 0xc0a80000u
#define SCANNERS 0xc6120000u
#define ODD_SENDERS 0xc6130000u
#define WATCHERS 0xef000000u

enum { SERVERS = 4096, FLOWS_EACH = 16, SPOOFED_BITS = 29 };

/* ------------------------------------------------------------------ what happens when */

struct traffic;

struct group {
	uint64_t n, next;     /* actors; of them, the one that starts next */
	uint64_t begin, span; /* they start evenly within */
	uint64_t row;         /* of random numbers */
	/* Sends packet number `step` of an actor that started then; returns the time of the next, or 0. */
	uint64_t (*send)(struct traffic *, uint64_t actor, unsigned step, uint64_t start);
};

enum { FLOWS, ESTABLISHED, UDP_FLOWS, SCANS, ODD, FLOOD, PAIRS, STREAMS, GROUPS };

struct traffic {
	const struct sim_traffic_options *o;
	struct ink_dump *dump;
	struct sim_truth *truth;
	sim_progress progress;
	int error;
	uint64_t life; /* of a connection */
	struct group groups[GROUPS];
	struct sim_events waiting;
	struct sim_video *videos;
	struct sim_sheet *sheets; /* SHEETS of them */
	uint64_t now;
	uint8_t servers[2][2][SERVERS]; /* seen: TCP or UDP, IPv4 or IPv6 */
	uint8_t payload[SIM_PAYLOAD_MOST];
	uint8_t frame[SIM_FRAME_MOST];
};

static uint64_t number(const struct traffic *t, unsigned group, uint64_t i)
{
	return sim_mix(t->groups[group].row + i);
}

/* When actor i starts: in its own part of the span, so in order. The two of a pair start together. */
static uint64_t start_of(const struct traffic *t, unsigned group, uint64_t i)
{
	const struct group *g = &t->groups[group];
	double part = (double)g->span / (double)g->n;

	if (group == PAIRS)
		i -= i % 2;
	return g->begin + (uint64_t)(part * ((double)i + sim_share(sim_mix(number(t, group, i)))));
}

static void wait_for(struct traffic *t, struct sim_event e)
{
	if (sim_events_add(&t->waiting, e))
		t->error = -ENOMEM;
	else if (t->waiting.n > t->truth->alive_at_once)
		t->truth->alive_at_once = t->waiting.n;
}

/* ------------------------------------------------------------------------- sending */

static void send_segment(struct traffic *t, const struct sim_ends *ends, const struct sim_segment *s)
{
	size_t n = sim_frame(t->frame, ends, s),
	       kept = t->o->snaplen && t->o->snaplen < n ? t->o->snaplen : n;
	const struct ink_packet p = {
		.frame = t->frame, .captured = (uint32_t)kept, .wire = (uint32_t)n, .time = BEGIN + t->now};
	int error = ink_dump_packet(t->dump, &p);

	if (error && !t->error)
		t->error = error;
	t->truth->frames++;
	t->truth->bytes += n;
	*(ends->version == 4 ? &t->truth->ipv4 : &t->truth->ipv6) += 1;
	*(ends->protocol == INK_PROTOCOL_TCP ? &t->truth->tcp_packets : &t->truth->udp_packets) += 1;
}

/* ----------------------------------------------------------------------- connections */

static const struct sim_ends tcp_over_ipv4 = {.version = 4, .protocol = INK_PROTOCOL_TCP};

static struct sim_connection connection_of(const struct traffic *t, struct sim_ends ends)
{
	return (struct sim_connection){
		.ends = ends, .data = t->o->data, .payload = t->o->payload, .rtt = t->o->rtt};
}

static uint64_t send_connection(struct traffic *t, const struct sim_connection *c, unsigned step,
				uint64_t start)
{
	struct sim_turn turn;

	if (step == 0)
		sim_connection_truth(c, t->truth);
	sim_connection_turn(c, step, &turn);
	turn.segment.payload = t->payload;
	send_segment(t, &c->ends, &turn.segment);
	return sim_connection_turn(c, step + 1, &turn) ? start + turn.when : 0;
}

/* ------------------------------------------------------------------------ clients */

static unsigned version_of(const struct traffic *t, uint64_t word)
{
	return sim_share(sim_mix(word)) < t->o->ipv6 ? 6 : 4;
}

/* Client i / 16 talks with one server, from 16 ports that follow each other. */
static struct sim_ends client_ends(struct traffic *t, unsigned group, uint64_t i)
{
	static const uint16_t tcp_ports[8] = {443, 80, 22, 25, 993, 8080, 3306, 5432};
	static const uint16_t udp_ports[8] = {53, 123, 443, 3478, 5060, 161, 514, 1194};
	uint64_t client = i / FLOWS_EACH, word = number(t, group, ~client);
	int udp = group == UDP_FLOWS;
	struct sim_ends e = {.version = (uint8_t)version_of(t, word),
			     .protocol = udp ? INK_PROTOCOL_UDP : INK_PROTOCOL_TCP};
	uint32_t server = (uint32_t)(word >> 8) % SERVERS;

	if (group == ESTABLISHED)
		client += (t->o->flows + FLOWS_EACH - 1) / FLOWS_EACH;
	e.address[0] = (uint32_t)((udp ? UDP_CLIENTS : TCP_CLIENTS) + client);
	e.address[1] = (udp ? UDP_SERVERS : TCP_SERVERS) + server;
	e.port[0] = (uint16_t)(1024 + sim_below(word, 60000) + i % FLOWS_EACH);
	e.port[1] = (udp ? udp_ports : tcp_ports)[word & 7];
	t->servers[udp][e.version == 6][server] = 1;
	return e;
}

/* --------------------------------------------------------------------- the groups */

static enum sim_course course_of(const struct sim_traffic_options *o, double share)
{
	const struct {
		double share;
		enum sim_course course;
	} courses[] = {
		{o->half_open, SIM_HALF_OPEN},
		{o->unanswered, SIM_UNANSWERED},
		{o->refused, SIM_REFUSED},
		{o->reset, SIM_RESET},
		{o->cut, SIM_CUT},
		{o->unfinished, SIM_UNFINISHED},
		{o->strangers, SIM_STRANGER},
	};

	for (unsigned i = 0; i < sizeof courses / sizeof courses[0]; i++) {
		if (share < courses[i].share)
			return courses[i].course;
		share -= courses[i].share;
	}
	return SIM_WHOLE;
}

/* Connections live between half and one and a half times as long as they do on average. */
static uint64_t send_flow(struct traffic *t, uint64_t i, unsigned step, uint64_t start)
{
	uint64_t word = number(t, FLOWS, i);
	struct sim_connection c = connection_of(t, client_ends(t, FLOWS, i));

	c.course = course_of(t->o, sim_share(word));
	c.life = t->life / 2 + (uint64_t)((double)t->life * sim_share(sim_mix(word + 1)));
	c.again = sim_share(sim_mix(word + 2)) < t->o->reused;
	c.first[0] = (uint32_t)sim_mix(word + 3);
	c.first[1] = (uint32_t)sim_mix(word + 4);
	return send_connection(t, &c, step, start);
}

static uint64_t send_established(struct traffic *t, uint64_t i, unsigned step, uint64_t start)
{
	struct sim_connection c = connection_of(t, client_ends(t, ESTABLISHED, i));

	c.course = SIM_UNFINISHED;
	c.life = t->o->duration - start;
	c.first[0] = (uint32_t)sim_mix(i);
	return send_connection(t, &c, step, start);
}

/* A request, an answer, and so on, within the life of a connection. */
static uint64_t send_datagrams(struct traffic *t, const struct sim_ends *ends, unsigned step, uint64_t start)
{
	uint64_t n = t->o->data + 2;
	struct sim_segment s = {.from = step % 2, .payload = t->payload, .length = t->o->payload};

	t->truth->udp_flows += step == 0;
	send_segment(t, ends, &s);
	return step + 1 < n ? start + t->o->rtt + (step + 1) * (t->life / n) : 0;
}

static uint64_t send_udp(struct traffic *t, uint64_t i, unsigned step, uint64_t start)
{
	struct sim_ends ends = client_ends(t, UDP_FLOWS, i);

	return send_datagrams(t, &ends, step, start);
}

/*
 * Every other source asks all hosts for one port, the others ask one host for
 * all ports. Of twenty, five are refused, one is open: the source then resets.
 */
static uint64_t send_scan(struct traffic *t, uint64_t i, unsigned step, uint64_t start)
{
	static const uint16_t favourites[4] = {22, 23, 445, 3389};
	uint64_t source = i % t->o->scans, target = i / t->o->scans, kind = sim_mix(number(t, SCANS, i)) % 20;
	struct sim_connection c = connection_of(t, tcp_over_ipv4);

	c.ends.address[0] = (uint32_t)(SCANNERS + source);
	c.ends.port[0] = (uint16_t)(32768 + source % 1000);
	c.ends.address[1] = (uint32_t)(SCANNED + (source % 2 ? source : target));
	c.ends.port[1] = (uint16_t)(source % 2 ? target + 1 : favourites[source / 2 % 4]);
	c.course = kind == 0 ? SIM_PROBED : kind <= 5 ? SIM_REFUSED : SIM_SILENT;
	return send_connection(t, &c, step, start);
}

/* Each combination in turn: none, all, and those that contradict themselves. */
static uint64_t send_odd(struct traffic *t, uint64_t i, unsigned step, uint64_t start)
{
	static const uint8_t flags[7] = {0,
					 INK_TCP_SYN | INK_TCP_FIN,
					 INK_TCP_SYN | INK_TCP_RST,
					 INK_TCP_FIN | INK_TCP_RST,
					 INK_TCP_FIN,
					 INK_TCP_FIN | INK_TCP_PSH | INK_TCP_URG,
					 INK_TCP_PSH};
	struct sim_connection c = connection_of(t, tcp_over_ipv4);

	c.course = SIM_STRANGE;
	c.odd = flags[i % 7];
	c.ends.address[0] = (uint32_t)(ODD_SENDERS + i / 50000);
	c.ends.port[0] = (uint16_t)(1024 + i % 50000);
	c.ends.address[1] = VICTIM;
	c.ends.port[1] = 80;
	return send_connection(t, &c, step, start);
}

/* No source twice: an odd factor permutes the numbers of so many bits. */
static uint64_t send_flood(struct traffic *t, uint64_t i, unsigned step, uint64_t start)
{
	/* By kind: without an answer of the victim, and with it. */
	static const enum sim_course courses[][2] = {[SIM_FLOOD_SYN] = {SIM_SILENT, SIM_HALF_OPEN},
						     [SIM_FLOOD_ACK] = {SIM_BLIND, SIM_EXPOSED},
						     [SIM_FLOOD_HANDSHAKE] = {SIM_UNFINISHED, SIM_UNFINISHED},
						     [SIM_FLOOD_RST] = {SIM_STRANGE, SIM_STRANGE}};
	uint64_t word = number(t, FLOOD, i),
		 spoofed = (i * 0x9e3779b1u + t->o->seed) & ((1u << SPOOFED_BITS) - 1);
	struct sim_connection c = connection_of(t, tcp_over_ipv4);

	c.ends.address[0] = (uint32_t)(SPOOFED + spoofed);
	c.ends.port[0] = (uint16_t)(1024 + sim_below(word, 64000));
	c.ends.address[1] = VICTIM;
	c.ends.port[1] = 443;
	c.first[0] = (uint32_t)word;
	c.first[1] = (uint32_t)sim_mix(word + 1);
	c.data = 0;
	c.odd = INK_TCP_RST;
	c.course = courses[t->o->flood_kind][sim_share(sim_mix(word)) < t->o->flood_answers];
	return send_connection(t, &c, step, start);
}

/* Actor 2k is the connection of pair k, 2k + 1 its datagrams. */
static uint64_t send_pair(struct traffic *t, uint64_t i, unsigned step, uint64_t start)
{
	uint64_t pair = i / 2, word = number(t, PAIRS, ~pair);
	struct sim_connection c = connection_of(t, tcp_over_ipv4);

	c.course = SIM_WHOLE;
	c.life = t->life;
	c.ends.version = (uint8_t)version_of(t, word);
	c.ends.protocol = i % 2 ? INK_PROTOCOL_UDP : INK_PROTOCOL_TCP;
	c.ends.address[0] = (uint32_t)(PAIRS_ONE + pair);
	c.ends.address[1] = (uint32_t)(PAIRS_TWO + pair);
	c.ends.port[0] = (uint16_t)(20000 + sim_below(word, 20000));
	c.ends.port[1] = (uint16_t)(40000 + sim_below(sim_mix(word), 20000));
	c.first[0] = (uint32_t)word;
	return i % 2 ? send_datagrams(t, &c.ends, step, start) : send_connection(t, &c, step, start);
}

static uint64_t send_video(struct traffic *t, uint64_t i, unsigned step, uint64_t start)
{
	struct sim_ends ends = {.version = 4, .protocol = INK_PROTOCOL_UDP};
	uint8_t payload[SIM_PAYLOAD_MOST];
	struct sim_segment s = {.payload = payload};
	uint64_t when;

	ends.address[0] = STUDIO;
	ends.address[1] = (uint32_t)(WATCHERS + i);
	ends.port[0] = ends.port[1] = 5004;
	t->truth->udp_flows += step == 0;
	s.length = sim_video_next(&t->videos[i], payload, t->truth);
	send_segment(t, &ends, &s);
	when = sim_video_time(&t->videos[i]);
	return when ? start + when : 0;
}

/* ------------------------------------------------------------------------ the run */

/* The group whose next actor starts first, or GROUPS. */
static unsigned first_group(const struct traffic *t, const uint64_t starts[GROUPS])
{
	unsigned first = GROUPS;

	for (unsigned g = 0; g < GROUPS; g++)
		if (t->groups[g].next < t->groups[g].n && (first == GROUPS || starts[g] < starts[first]))
			first = g;
	return first;
}

static void show_progress(const struct traffic *t)
{
	if (t->progress && t->truth->frames % 65536 == 0)
		t->progress((double)t->now / (double)(t->o->duration + t->life));
}

static void start_next(struct traffic *t, unsigned g, uint64_t starts[GROUPS])
{
	struct group *group = &t->groups[g];
	struct sim_event e = {.actor = (uint32_t)group->next, .step = 1, .group = (uint16_t)g};

	t->now = starts[g];
	e.time = group->send(t, group->next, 0, starts[g]);
	if (e.time)
		wait_for(t, e);
	group->next++;
	if (group->next < group->n)
		starts[g] = start_of(t, g, group->next);
}

/* The earliest of those that wait. Its next packet takes its place: half the work of taking and giving. */
static void serve_first(struct traffic *t)
{
	struct sim_event e = t->waiting.at[0];

	t->now = e.time;
	e.time = t->groups[e.group].send(t, e.actor, e.step, start_of(t, e.group, e.actor));
	e.step++;
	if (e.time)
		sim_events_replace(&t->waiting, e);
	else
		sim_events_drop(&t->waiting);
}

static void run(struct traffic *t)
{
	uint64_t starts[GROUPS];

	for (unsigned g = 0; g < GROUPS; g++)
		starts[g] = t->groups[g].n ? start_of(t, g, 0) : 0;
	while (!t->error) {
		unsigned g = first_group(t, starts);

		if (t->waiting.n && (g == GROUPS || t->waiting.at[0].time <= starts[g]))
			serve_first(t);
		else if (g < GROUPS)
			start_next(t, g, starts);
		else
			break;
		show_progress(t);
	}
}

/* ------------------------------------------------------------------------ setting up */

static void set_group(struct traffic *t, unsigned g, uint64_t n,
		      uint64_t (*send)(struct traffic *, uint64_t, unsigned, uint64_t))
{
	t->groups[g] = (struct group){.n = n, .span = t->o->duration, .send = send};
	t->groups[g].row = sim_mix(sim_mix(t->o->seed) + g);
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * n actors that live l and start within d - l: n l / (d - l) of them are alive
 * at once. For c of them, l = c d / (n + c). Those that never open live for a moment:
 * the others have to make up for it.
 */
static void set_life(struct traffic *t)
{
	const struct sim_traffic_options *o = t->o;
	double n = (double)(o->flows ? o->flows : 1), c = o->concurrent ? (double)o->concurrent : n / 10;
	double opened = 1 - o->half_open - o->unanswered - o->refused;

	c /= opened > .1 ? opened : .1;
	t->life = (uint64_t)(c * (double)o->duration / (n + c));
	if (t->life < 4 * (o->rtt + SIM_MOMENT))
		t->life = 4 * (o->rtt + SIM_MOMENT);
}

static void set_groups(struct traffic *t)
{
	const struct sim_traffic_options *o = t->o;
	uint64_t begun = o->duration - least(t->life, o->duration);

	set_group(t, FLOWS, o->flows, send_flow);
	set_group(t, ESTABLISHED, o->established, send_established);
	set_group(t, UDP_FLOWS, o->udp, send_udp);
	set_group(t, SCANS, o->scans * o->targets, send_scan);
	set_group(t, ODD, o->odd, send_odd);
	set_group(t, FLOOD, o->flood, send_flood);
	set_group(t, PAIRS, 2 * o->pairs, send_pair);
	set_group(t, STREAMS, o->streams, send_video);
	t->groups[FLOWS].span = t->groups[UDP_FLOWS].span = t->groups[PAIRS].span = begun;
	t->groups[ESTABLISHED].span = o->duration / 10;
	t->groups[FLOOD].begin = o->flood_start;
	t->groups[FLOOD].span = o->flood_duration ? o->flood_duration : o->duration - o->flood_start;
	t->groups[STREAMS].span = SIM_PICTURE_NS;
}

enum { SHEETS = 256 }; /* 5 MiB: so many streams draw each picture once */

static int set_videos(struct traffic *t)
{
	const struct sim_traffic_options *o = t->o;
	uint64_t pictures = o->duration / SIM_PICTURE_NS;

	if (!o->streams)
		return 0;
	t->videos = calloc(o->streams, sizeof *t->videos);
	t->sheets = calloc(SHEETS, sizeof *t->sheets);
	if (!t->videos || !t->sheets)
		return -ENOMEM;
	for (uint64_t i = 0; i < o->streams; i++) {
		t->videos[i].sheet = &t->sheets[i % SHEETS];
		t->videos[i].format = o->format;
		t->videos[i].seed = number(t, STREAMS, i);
		t->videos[i].pictures = (uint32_t)(pictures ? pictures : 1);
	}
	return 0;
}

static uint64_t clients_of(uint64_t flows)
{
	return (flows + FLOWS_EACH - 1) / FLOWS_EACH;
}

/* Hosts and pairs, which follow from the ranges. */
static void count_hosts(struct traffic *t)
{
	const struct sim_traffic_options *o = t->o;
	uint64_t tcp_clients = clients_of(o->flows) + clients_of(o->established),
		 udp_clients = clients_of(o->udp);
	uint64_t odd = (o->odd + 49999) / 50000, across = o->targets ? (o->scans + 1) / 2 : 0;
	uint64_t down = o->targets ? o->scans / 2 : 0, hosts = 0;

	for (unsigned i = 0; i < sizeof t->servers; i++)
		hosts += ((const uint8_t *)t->servers)[i];
	hosts += tcp_clients + udp_clients + 2 * o->pairs + odd + o->flood + (o->odd || o->flood);
	hosts += o->streams + (o->streams > 0) + across + down;
	/* Scanned: the first `targets` hosts; and a scanner of one host takes the one with its own number. */
	for (uint64_t source = 1; source < o->scans; source += 2)
		hosts += source >= o->targets;
	t->truth->hosts = hosts + (across ? o->targets : 0);
	t->truth->pairs_tcp = tcp_clients + o->pairs + odd + o->flood + across * o->targets + down;
	t->truth->pairs_udp = udp_clients + o->pairs + o->streams;
	t->truth->pairs_both = o->pairs;
	t->truth->streams = o->streams;
}

/* Does anything take round trips? Video does not. */
static int is_answered(const struct sim_traffic_options *o)
{
	return o->flows || o->established || o->udp || o->scans || o->odd || o->flood || o->pairs;
}

const char *sim_traffic_wrong(const struct sim_traffic_options *o)
{
	if (o->flows + o->established > SIM_FLOWS_MOST || o->udp > SIM_FLOWS_MOST)
		return "more flows than there are addresses for";
	if (o->flood > SIM_FLOOD_MOST || o->odd > SIM_FLOWS_MOST || o->pairs > SIM_PAIRS_MOST)
		return "more of the flood, the odd or the pairs than there are addresses for";
	if (o->scans > SIM_SCANS_MOST || o->targets > SIM_TARGETS_MOST || o->streams > SIM_STREAMS_MOST)
		return "more scans, targets or streams than there are addresses for";
	if (o->half_open + o->unanswered + o->refused + o->reset + o->cut + o->unfinished + o->strangers >
	    1 + 1e-9)
		return "the shares of the flows are more than 1 together";
	if (o->payload > SIM_PAYLOAD_MOST)
		return "a payload of more than 1400 bytes";
	if (o->data > SIM_DATA_MOST)
		return "too many segments with data";
	if (o->concurrent > o->flows)
		return "more connections at once than there are";
	if ((is_answered(o) || !o->duration) && o->duration < 100 * (o->rtt + SIM_MOMENT))
		return "the duration is less than 100 round trips";
	if (o->flood_start >= o->duration || o->flood_duration > o->duration - o->flood_start)
		return "the flood is not within the duration";
	return NULL;
}

int sim_traffic(const struct sim_traffic_options *o, struct ink_dump *dump, struct sim_truth *truth,
		sim_progress progress)
{
	struct traffic *t = sim_traffic_wrong(o) ? NULL : calloc(1, sizeof *t);
	int error;

	if (!t)
		return sim_traffic_wrong(o) ? -EINVAL : -ENOMEM;
	memset(truth, 0, sizeof *truth);
	*t = (struct traffic){.o = o, .dump = dump, .truth = truth, .progress = progress};
	memset(t->payload, 0x2e, sizeof t->payload);
	set_life(t);
	set_groups(t);
	t->error = set_videos(t);
	run(t);
	count_hosts(t);
	error = t->error;
	free(t->videos);
	free(t->sheets);
	free(t->waiting.at);
	free(t);
	return error;
}
