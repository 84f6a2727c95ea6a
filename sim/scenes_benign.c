/* SPDX-License-Identifier: BSD-2-Clause */
/* Scenes of hosts that no detection should report. docs/scenes.md says what each imitates. */
#include "sim/stage.h"

enum { HTTP = 80, HTTPS = 443, SMTP = 25, DNS = 53, NTP = 123, DATABASE = 5432, MONITOR = 9100 };

/*
 * Door number d of a host, at a port: no two numbers of a host are the same door. It is in the quarter of the servers
 * that do so: live ones answer, dead ones do not, the others refuse.
 */
static void to_door(const struct sim_stage *s, uint32_t host, uint32_t d, struct sim_talk *t)
{
	static const uint8_t quarters[] = {
		[SIM_SERVED] = SIM_LIVE, [SIM_REFUSED] = SIM_REFUSING, [SIM_SILENT] = SIM_DEAD};
	uint32_t first = (uint32_t)sim_mix(s->seed + host), at = (d * 4093u + first) % SIM_QUARTER;

	t->ends.address[1] = s->servers + quarters[t->course] * SIM_QUARTER + at;
	t->ends.port[1] = (uint16_t)(t->ends.port[1] + d / SIM_QUARTER);
}

/* One that may fail, of n: half of the failures are refusals, the others are given up after 1, 3 s. */
static void to_some_door(const struct sim_stage *s, uint32_t host, uint32_t d, uint32_t n, struct sim_talk *t)
{
	int refuses = sim_stage_word(s, host, d, 78) & 1 && t->ends.protocol == INK_PROTOCOL_TCP;

	if (sim_quota(s, s->failures, host, d, n)) {
		t->course = refuses ? SIM_REFUSED : SIM_SILENT;
		t->resends = refuses ? 0 : 2;
	}
	to_door(s, host, d, t);
}

/* Contacts in groups that begin together, the members of one a moment after each other. */
static uint64_t in_groups(const struct sim_stage *s, uint32_t i, uint32_t size, uint64_t apart)
{
	uint32_t groups = (s->contacts + size - 1) / size;

	return i / size * (s->duration / 10 * 9 / groups) + i % size * apart;
}

enum { TABS = 6 }; /* connections of a browser to one site */

static void browser(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	uint64_t word = sim_stage_word(s, host, i, 1);

	c->after = in_groups(s, i, TABS, 3 * SIM_MS);
	c->talk.rounds = (uint8_t)(1 + sim_below(word, 6));
	c->talk.resends = sim_mix(word) % 50 == 0;
	c->talk.pause = (100 + sim_below(sim_mix(word + 1), 2000)) * SIM_MS;
	c->talk.ending = word % 3 ? SIM_CLIENT_CLOSES : word % 2 ? SIM_SERVER_CLOSES : SIM_CLIENT_RESETS;
	c->talk.ends.port[1] = sim_stage_word(s, host, i / TABS, 2) % 10 ? HTTPS : HTTP;
	to_some_door(s, host, i / TABS, s->contacts / TABS, &c->talk);
}

enum { POOL = 40 };

static void pool(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	c->after = in_groups(s, i, POOL, SIM_MS / 5);
	c->talk.ends.address[1] = sim_server_address(s, sim_server_of(s, host));
	c->talk.ends.port[1] = DATABASE;
	c->talk.rtt = 50 * SIM_MS;
	c->talk.rounds = 3;
	c->talk.pause = (20 + sim_below(sim_stage_word(s, host, i, 1), 1000)) * SIM_MS;
}

enum { RETRY = 10 }; /* every tenth contact is with the dead server, if one door may fail */

static void retry(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	uint32_t doors = s->contacts - s->contacts / RETRY + 1;
	int is_dead = i % RETRY == RETRY - 1 && s->failures * doors >= 1;

	c->talk.ends.port[1] = HTTPS;
	if (is_dead) {
		c->talk.course = SIM_SILENT;
		c->talk.resends = 5;
	}
	to_door(s, host, is_dead ? 0 : i, &c->talk);
}

enum { MONITORED = 60 };

static void monitor(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	uint32_t n = s->contacts < MONITORED ? s->contacts : MONITORED;

	c->talk.ends.port[1] = MONITOR;
	c->talk.rounds = 1;
	to_some_door(s, host, i % n, n, &c->talk);
}

enum { BEHIND = 200 };

/* The hosts behind the address take turns; each goes to a new site, and later to one that another went to. */
static void nat(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	uint32_t n = (s->contacts + 1) / 2, inside = i % BEHIND;

	c->talk.ends.port[1] = sim_stage_word(s, host, i % n, 1) % 8 ? HTTPS : HTTP;
	c->talk.rounds = (uint8_t)(1 + inside % 4);
	c->talk.pause = (50 + sim_below(sim_stage_word(s, host, inside, 2), 1000)) * SIM_MS;
	to_some_door(s, host, i % n, n, &c->talk);
}

enum { CRAWL = SIM_IN_FLIGHT };

/* Slow answers, so that a whole wave is in flight at once. */
static void crawler(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	c->after = in_groups(s, i, CRAWL, SIM_MS);
	c->talk.ends.port[1] = HTTPS;
	c->talk.rtt = (100 + sim_below(sim_stage_word(s, host, i, 1), 800)) * SIM_MS;
	to_some_door(s, host, i, s->contacts, &c->talk);
}

static void mail(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	c->talk.ends.port[1] = SMTP;
	c->talk.rounds = 5;
	c->talk.request = 200;
	c->talk.response = 60;
	c->talk.ending = SIM_SERVER_CLOSES;
	to_some_door(s, host, i, s->contacts, &c->talk);
}

/* Of every other host only its own packets are seen, of the others only the answers. */
static void one_way(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	browser(s, host, i, c);
	if (c->talk.course != SIM_SERVED && host % 2) {
		c->talk.course = SIM_SERVED; /* a failure would not be seen at all */
		c->talk.resends = 0;
		to_door(s, host, i / TABS + s->contacts, &c->talk);
	}
	c->talk.hidden = host % 2 ? 1 : 2;
}

static void datagrams(struct sim_talk *t, uint16_t port, uint16_t request, uint16_t response)
{
	t->ends.protocol = INK_PROTOCOL_UDP;
	t->ends.port[1] = port;
	t->request = request;
	t->response = response;
	t->rounds = 1;
}

enum { RESOLVERS = 2, CLOCKS = 4, PINGED = 3, KINDS = 8 };

/* Of eight contacts four ask a resolver, one a clock, two are QUIC, one is a ping. */
static void service(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	uint32_t kind = i % KINDS, round = i / KINDS, n = s->contacts / KINDS * 2;

	if (kind < 4) {
		datagrams(&c->talk, DNS, 40, 120);
		to_door(s, host, i % RESOLVERS, &c->talk);
	} else if (kind == 4) {
		datagrams(&c->talk, NTP, 48, 48);
		to_door(s, host, RESOLVERS + round % CLOCKS, &c->talk);
	} else if (kind < 7) {
		datagrams(&c->talk, HTTPS, 1200, 1200);
		c->talk.rounds = 6;
		to_some_door(s, host, round * 2 + kind - 5, n, &c->talk);
	} else {
		c->talk.ends.protocol = INK_PROTOCOL_ICMP;
		c->talk.request = c->talk.response = 56;
		c->talk.rounds = 4;
		c->talk.pause = SIM_SECOND;
		to_door(s, host, round % PINGED, &c->talk);
	}
}

#define MINUTE (60 * SIM_SECOND)

enum { BENIGN = 1 };

const struct sim_scene_def sim_benign_scenes[] = {
	{.info = {"browsers", "several connections to each site, keep-alive, a few failures", BENIGN,
		  SIM_FAILURES, 20, 120, MINUTE},
	 .role = "client",
	 .contact = browser},
	{.info = {"pools", "40 connections at once to one server, answered after 50 ms", BENIGN, SIM_NO_SHARE,
		  20, 160, MINUTE},
	 .role = "client",
	 .server_role = "server",
	 .hosts_a_server = 5,
	 .contact = pool},
	{.info = {"retries", "clients that try one dead server again and again", BENIGN, SIM_FAILURES, 20, 30,
		  3 * MINUTE},
	 .role = "client",
	 .contact = retry},
	{.info = {"dead-servers", "monitors of 60 servers, some of which are dead", BENIGN, SIM_FAILURES, 20,
		  180, 3 * MINUTE},
	 .role = "client",
	 .contact = monitor},
	{.info = {"nat", "200 hosts behind each address", BENIGN, SIM_FAILURES, 4, 2000, MINUTE},
	 .role = "nat",
	 .contact = nat},
	{.info = {"crawlers", "40 sites in flight at once, all of them new", BENIGN, SIM_FAILURES, 20, 400,
		  MINUTE},
	 .role = "client",
	 .contact = crawler},
	{.info = {"mail", "mail servers: first contacts with many others", BENIGN, SIM_FAILURES, 20, 150,
		  MINUTE},
	 .role = "client",
	 .contact = mail},
	{.info = {"one-way", "browsers at a tap that sees one direction", BENIGN, SIM_FAILURES, 20, 120,
		  MINUTE},
	 .role = "client",
	 .contact = one_way},
	{.info = {"services", "DNS, NTP, datagrams as of QUIC, and ping", BENIGN, SIM_FAILURES, 20, 160,
		  MINUTE},
	 .role = "client",
	 .contact = service},
};

const unsigned sim_benign_scenes_n = sizeof sim_benign_scenes / sizeof sim_benign_scenes[0];
