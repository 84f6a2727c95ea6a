/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenes with hosts that a detection should report. docs/scenes.md says what each imitates. */
#include "sim/stage.h"

enum { SSH = 22, FTP = 21, RDP = 3389, HTTPS = 443 };

/* How long a scanner or a flood takes: 5 to 60 s, as far as the scene lasts. */
static uint64_t span_of(const struct sim_stage *s, uint32_t host)
{
	uint64_t most = s->duration / 10 * 9, span = 5 * SIM_SECOND;

	span += sim_below(sim_stage_word(s, host, 0, 90), 55000) * SIM_MS;
	return span < most ? span : most;
}

/* Contact i of n in a span: in its own part of it. */
static uint64_t paced(const struct sim_stage *s, uint32_t host, uint32_t i, uint64_t span)
{
	uint64_t part = span / s->contacts;

	return i * part + (uint64_t)(sim_share(sim_stage_word(s, host, i, 91)) * (double)part);
}

/* ------------------------------------------------------------------------------ scans */

/* A few doors answer; of the others a fourth refuse, and the rest are silent. */
static void probe(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_talk *t)
{
	uint64_t word = sim_stage_word(s, host, i, 92);
	int is_tcp = t->ends.protocol == INK_PROTOCOL_TCP;

	if (sim_quota(s, s->success, host, i, s->contacts))
		t->course = is_tcp && word & 1 ? SIM_PROBED : SIM_SERVED;
	else
		t->course = is_tcp && word % 4 == 0 ? SIM_REFUSED : SIM_SILENT;
	t->rounds = 1;
}

/* One port of many addresses, in an order of its own. */
static void across(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_talk *t)
{
	static const uint16_t ports[] = {22, 23, 80, 443, 445, 1433, 3389, 8080};
	uint32_t word = (uint32_t)sim_stage_word(s, host, 0, 93), step = word >> 16 | 1;

	t->ends.address[1] = s->servers + ((i * step + word) & 0xffff);
	t->ends.port[1] = ports[word % 8];
	probe(s, host, i, t);
}

/* Many ports of one address, in an order in which 0 would be number 60,000, which is more than there are. */
static void down(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_talk *t)
{
	uint32_t step = (uint32_t)sim_stage_word(s, host, 0, 94) | 1;

	t->ends.address[1] = sim_server_address(s, host);
	t->ends.port[1] = (uint16_t)((i - SIM_CONTACTS_MOST) * step);
	probe(s, host, i, t);
}

static void horizontal(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	c->after = paced(s, host, i, span_of(s, host));
	across(s, host, i, &c->talk);
}

static void vertical(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	c->after = paced(s, host, i, span_of(s, host));
	down(s, host, i, &c->talk);
}

/* All doors but the last within a second, the last ten seconds later. */
static void burst(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	c->after = i + 1 < s->contacts ? paced(s, host, i, SIM_SECOND) : 11 * SIM_SECOND;
	across(s, host, i, &c->talk);
}

/* A door a minute. */
static void slow(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	c->after = i * 60 * SIM_SECOND + sim_below(sim_stage_word(s, host, i, 91), 1000) * SIM_MS;
	if (host % 2)
		down(s, host, i, &c->talk);
	else
		across(s, host, i, &c->talk);
}

/* The ports of one target, divided among the hosts; of further ones, if there are not enough. */
static void distributed(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	uint32_t number = i * s->hosts + host;

	c->after = paced(s, host, i, s->duration / 10 * 9);
	c->talk.ends.address[1] = sim_server_address(s, number / 65535);
	c->talk.ends.port[1] = (uint16_t)(1 + number % 65535);
	probe(s, host, i, &c->talk);
}

static void udp_sweep(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	static const uint16_t ports[] = {53, 123, 161, 1900, 5060, 11211};

	c->after = paced(s, host, i, span_of(s, host));
	c->talk.ends.protocol = INK_PROTOCOL_UDP;
	c->talk.request = c->talk.response = 40;
	if (host % 2) {
		down(s, host, i, &c->talk);
	} else {
		across(s, host, i, &c->talk);
		c->talk.ends.port[1] = ports[sim_below(sim_stage_word(s, host, 0, 95), 6)];
	}
}

static void icmp_sweep(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	c->after = paced(s, host, i, span_of(s, host));
	c->talk.ends.protocol = INK_PROTOCOL_ICMP;
	c->talk.request = c->talk.response = 8;
	across(s, host, i, &c->talk);
	c->talk.ends.port[1] = 0;
}

/* ----------------------------------------------------------------------------- floods */

/* The host is the victim: every packet has another spoofed source. */
static void spoofed(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	uint64_t word = sim_stage_word(s, host, i, 96);
	uint32_t number = (host * s->contacts + i) * 0x9e3779b1u;

	c->after = paced(s, host, i, span_of(s, host));
	c->talk.ends.address[0] = s->spoofed + (number & 0xffffff);
	c->talk.ends.address[1] = sim_host_address(s, host);
	c->talk.ends.port[0] = (uint16_t)(1024 + sim_below(word, 64000));
	c->talk.ends.port[1] = HTTPS;
	c->talk.course = SIM_SILENT;
}

/* Before its queue is full the victim answers, for what that is worth. A door answers always or never, so all do. */
static void syn_flood(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	spoofed(s, host, i, c);
	if (host % 2)
		c->talk.course = SIM_HALF_OPEN;
}

static void udp_flood(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	spoofed(s, host, i, c);
	c->talk.ends.protocol = INK_PROTOCOL_UDP;
	c->talk.request = 512;
}

/* ------------------------------------------------------------------- brute force, swarms */

/* Short connections, a few tries in each; the server closes. */
static void brute(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	static const uint16_t ports[] = {SSH, FTP, RDP};
	uint32_t server = sim_server_of(s, host);

	c->after = paced(s, host, i, s->duration / 10 * 9);
	c->talk.ends.address[1] = sim_server_address(s, server);
	c->talk.ends.port[1] = ports[server % 3];
	c->talk.rounds = 3;
	c->talk.request = c->talk.response = 90;
	c->talk.pause = 50 * SIM_MS;
	c->talk.ending = SIM_SERVER_CLOSES;
}

enum { SWARM_KINDS = 3, ABSENT_PEERS = 5 }; /* every fifth peer is gone */

/* A port at which a peer listens: any high one. */
static uint16_t peer_port(const struct sim_stage *s, uint32_t address)
{
	return (uint16_t)(10000 + sim_below(sim_mix(s->seed + address), 50000));
}

/* A peer has the member's list from another one, and opens the connection. */
static void inbound(const struct sim_stage *s, uint32_t host, uint32_t peer, struct sim_talk *t)
{
	t->ends.address[0] = s->servers + SIM_REFUSING * SIM_QUARTER + peer;
	t->ends.address[1] = sim_host_address(s, host);
	t->ends.port[0] = (uint16_t)(32768 + sim_below(sim_stage_word(s, host, peer, 97), 28000));
	t->ends.port[1] = peer_port(s, t->ends.address[1]);
}

static void outbound(const struct sim_stage *s, uint32_t peer, struct sim_talk *t)
{
	int gone = peer % ABSENT_PEERS == ABSENT_PEERS - 1;
	uint32_t quarter = gone ? SIM_DEAD : SIM_LIVE;

	t->ends.address[1] = s->servers + quarter * SIM_QUARTER + peer;
	t->ends.port[1] = peer_port(s, t->ends.address[1]);
	if (gone) {
		t->course = SIM_SILENT;
		t->resends = 1;
	}
}

/* With each peer a connection and datagrams at the same time; from another one a connection comes in. */
static void swarm(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	uint32_t peer = (i / SWARM_KINDS * 3079u + (uint32_t)sim_mix(s->seed + host)) % SIM_QUARTER;

	if (i % SWARM_KINDS == 2) {
		inbound(s, host, peer, &c->talk);
		return;
	}
	outbound(s, peer, &c->talk);
	c->talk.pause = 2 * SIM_SECOND;
	if (i % SWARM_KINDS == 1) {
		c->talk.ends.protocol = INK_PROTOCOL_UDP;
		c->talk.ends.port[0] = peer_port(s, sim_host_address(s, host));
		c->talk.request = c->talk.response = 300;
	}
}

#define MINUTE (60 * SIM_SECOND)

enum { HOSTILE = 0 };

const struct sim_scene_def sim_hostile_scenes[] = {
	{.info = {"scan-horizontal", "one TCP port of many addresses, in 5 to 60 s", HOSTILE, SIM_SUCCESS, 20,
		  60, 70 * SIM_SECOND},
	 .role = "scanner",
	 .detect = "scan",
	 .contact = horizontal},
	{.info = {"scan-vertical", "many TCP ports of one address, in 5 to 60 s", HOSTILE, SIM_SUCCESS, 20,
		  60, 70 * SIM_SECOND},
	 .role = "scanner",
	 .detect = "scan",
	 .contact = vertical},
	{.info = {"scan-burst", "all doors in a second, one more 10 s later", HOSTILE, SIM_SUCCESS, 20, 60,
		  MINUTE},
	 .role = "scanner",
	 .detect = "scan",
	 .contact = burst},
	{.info = {"scan-slow", "one door a minute", HOSTILE, SIM_SUCCESS, 20, 70, 75 * MINUTE},
	 .role = "scanner",
	 .detect = "scan",
	 .contact = slow},
	{.info = {"scan-distributed", "one target, its ports divided among many hosts", HOSTILE, SIM_SUCCESS,
		  50, 10, MINUTE},
	 .role = "scanner",
	 .detect = "scan",
	 .server_role = "target",
	 .contact = distributed},
	{.info = {"sweep-udp", "as the fast scans, by UDP", HOSTILE, SIM_SUCCESS, 20, 60, 70 * SIM_SECOND},
	 .role = "scanner",
	 .detect = "sweep",
	 .contact = udp_sweep},
	{.info = {"sweep-icmp", "echo requests to many addresses", HOSTILE, SIM_SUCCESS, 20, 60,
		  70 * SIM_SECOND},
	 .role = "scanner",
	 .detect = "sweep",
	 .contact = icmp_sweep},
	{.info = {"flood-syn", "SYNs from spoofed sources", HOSTILE, SIM_NO_SHARE, 4, 5000, MINUTE},
	 .role = "victim",
	 .detect = "flood",
	 .side = SIM_DESTINATION,
	 .contact = syn_flood},
	{.info = {"flood-udp", "datagrams from spoofed sources", HOSTILE, SIM_NO_SHARE, 4, 5000, MINUTE},
	 .role = "victim",
	 .detect = "flood",
	 .side = SIM_DESTINATION,
	 .contact = udp_flood},
	{.info = {"brute", "many short connections to a login port", HOSTILE, SIM_NO_SHARE, 20, 120, MINUTE},
	 .role = "brute",
	 .detect = "brute",
	 .server_role = "target",
	 .hosts_a_server = 5,
	 .contact = brute},
	{.info = {"swarm", "a connection and datagrams with each of many peers", HOSTILE, SIM_NO_SHARE, 20,
		  150, MINUTE},
	 .role = "swarm",
	 .detect = "p2p",
	 .contact = swarm},
};

const unsigned sim_hostile_scenes_n = sizeof sim_hostile_scenes / sizeof sim_hostile_scenes[0];
