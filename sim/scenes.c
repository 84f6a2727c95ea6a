/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenes, merged in order of time.
 *
 *     hosts: when their next contact begins ----+
 *                                               +--> heap --> the earliest --> frame --> dump
 *     talks: when their next packet is due -----+               |
 *                  ^                                            +--> labels
 *                  +---- a host's contact becomes a talk
 *
 * A host knows the number of its next contact, and when its last contacts were answered; a talk is a slot in a pool,
 * which is used again when the talk is over.
 */
#include "sim/scenes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/events.h"
#include "sim/stage.h"

#define BEGIN 1157932800000000000ull /* as in sim/traffic.c */
#define GIVEN_UP SIM_SECOND          /* a contact without an answer does not count as in flight after that */
#define REACTION (SIM_MS / 10) /* until the client's own ACK of an answer, which is all that some taps see */
#define ANSWER_MOST (900 * SIM_MS) /* a round trip; with what else takes time an answer is there within 1 s */

enum { NONE = -1 };

struct host {
	uint32_t scene, number; /* number: in the scene */
	uint32_t next;          /* contact */
	uint64_t start;
	uint64_t pending[SIM_IN_FLIGHT]; /* contact i is in flight until pending[i % SIM_IN_FLIGHT] */
};

struct slot {
	struct sim_talk talk;
	int64_t labels[2]; /* of the host and the server of the contact, or NONE */
	uint8_t ends[2];   /* the ends of the talk that they are */
	uint32_t free;     /* the next free slot, if this is one */
};

struct play {
	const struct sim_scenes_options *o;
	struct ink_dump *dump;
	struct sim_scenes_result *result;
	struct sim_stage stages[SIM_SCENES_MOST];
	size_t first_label[SIM_SCENES_MOST];
	struct host *hosts;
	size_t n_hosts;
	struct slot *slots;
	size_t n_slots, room, n_alive;
	uint32_t free;
	struct sim_events events;
	uint64_t now, longest;
	int error;
	uint8_t payload[SIM_PAYLOAD_MOST];
	uint8_t frame[SIM_FRAME_MOST];
};

enum { HOST, TALK }; /* groups of events */

/* ------------------------------------------------------------------------- the scenes */

static const struct sim_scene_def *def_of(unsigned i)
{
	if (i < sim_benign_scenes_n)
		return &sim_benign_scenes[i];
	i -= sim_benign_scenes_n;
	return i < sim_hostile_scenes_n ? &sim_hostile_scenes[i] : NULL;
}

const struct sim_scene_info *sim_scene_info(unsigned i)
{
	const struct sim_scene_def *def = def_of(i);

	return def ? &def->info : NULL;
}

static int is_played(const struct sim_scenes_options *o, unsigned i)
{
	return def_of(i) && o->scenes >> i & 1;
}

static uint64_t number_of(uint64_t chosen, uint64_t usual)
{
	return chosen ? chosen : usual;
}

static void set_stage(struct play *p, unsigned i)
{
	const struct sim_scenes_options *o = p->o;
	const struct sim_scene_def *def = def_of(i);

	p->stages[i] = (struct sim_stage){
		.def = def,
		.seed = sim_mix(sim_mix(o->seed) + i),
		.hosts = (uint32_t)number_of(o->hosts, def->info.hosts),
		.contacts = (uint32_t)number_of(o->contacts, def->info.contacts),
		.duration = number_of(o->duration, def->info.duration),
		.rtt = o->rtt,
		.failures = o->failures,
		.success = o->success,
		.ipv6 = o->ipv6,
		.clients = 0x0a000000u + (o->shared_hosts ? 0 : i << 16),
		.servers = 0x64400000u + (i << 16),
		.spoofed = 0x20000000u + (i << 24),
	};
	if (p->stages[i].duration > p->longest)
		p->longest = p->stages[i].duration;
}

/* Hosts of one server talk the same version. */
static uint8_t version_of(const struct sim_stage *s, uint32_t host)
{
	uint32_t group = s->def->server_role ? sim_server_of(s, host) : host;

	return sim_share(sim_stage_word(s, group, 0, 80)) < s->ipv6 ? 6 : 4;
}

/* ----------------------------------------------------------------------------- labels */

static uint32_t servers_of(const struct sim_stage *s)
{
	return s->def->server_role && s->hosts ? sim_server_of(s, s->hosts - 1) + 1 : 0;
}

static void set_labels(struct play *p, unsigned i)
{
	const struct sim_stage *s = &p->stages[i];
	struct sim_label *l = p->result->labels.at + p->first_label[i];

	for (uint32_t h = 0; h < s->hosts; h++)
		*l++ = (struct sim_label){.scene = s->def->info.name,
					  .role = s->def->role,
					  .detect = s->def->detect,
					  .address = sim_host_address(s, h),
					  .version = version_of(s, h),
					  .side = (uint8_t)s->def->side};
	for (uint32_t k = 0; k < servers_of(s); k++)
		*l++ = (struct sim_label){.scene = s->def->info.name,
					  .role = s->def->server_role,
					  .address = sim_server_address(s, k),
					  .version = version_of(s, k * s->def->hosts_a_server),
					  .side = SIM_DESTINATION};
}

/* The end of a talk that has the label's address, or NONE. */
static int end_of(const struct sim_label *l, const struct sim_ends *e)
{
	for (int end = 0; end < 2; end++)
		if (e->address[end] == l->address)
			return end;
	return NONE;
}

static void attach_label(struct play *p, struct slot *slot, unsigned which, size_t label)
{
	const struct sim_label *l = &p->result->labels.at[label];
	int end = end_of(l, &slot->talk.ends), error = 0;

	slot->labels[which] = end == NONE ? NONE : (int64_t)label;
	slot->ends[which] = (uint8_t)(end == 1);
	if (end == (int)l->side)
		error = sim_labels_contact(&p->result->labels, label, &slot->talk, BEGIN + p->now);
	if (error)
		p->error = error;
}

static void attach_labels(struct play *p, struct slot *slot, const struct host *host)
{
	const struct sim_stage *s = &p->stages[host->scene];
	size_t first = p->first_label[host->scene];

	slot->labels[1] = NONE;
	attach_label(p, slot, 0, first + host->number);
	if (s->def->server_role)
		attach_label(p, slot, 1, first + s->hosts + sim_server_of(s, host->number));
}

/* Of all labels of a talk: the packet is in the capture. */
static void label_packet(struct play *p, const struct slot *slot, uint32_t sender)
{
	for (unsigned i = 0; i < 2; i++)
		if (slot->labels[i] != NONE)
			sim_label_packet(&p->result->labels.at[slot->labels[i]], BEGIN + p->now, sender);
}

/* ------------------------------------------------------------------------------ talks */

static uint32_t take_slot(struct play *p)
{
	size_t room = p->room ? 2 * p->room : 1024;
	struct slot *more;

	if (p->free) {
		uint32_t slot = p->free;

		p->free = p->slots[slot].free;
		return slot;
	}
	if (p->n_slots + 1 >= p->room) {
		more = realloc(p->slots, room * sizeof *more);
		if (!more)
			return 0;
		p->slots = more;
		p->room = room;
	}
	return (uint32_t)++p->n_slots;
}

static void drop_slot(struct play *p, uint32_t slot)
{
	p->slots[slot].free = p->free;
	p->free = slot;
	p->n_alive--;
}

static void send_packet(struct play *p, struct slot *slot, struct sim_segment *segment)
{
	size_t n, kept;
	struct ink_packet packet = {.frame = p->frame, .time = BEGIN + p->now};

	if (slot->talk.hidden >> segment->from & 1)
		return;
	segment->payload = p->payload;
	n = sim_frame(p->frame, &slot->talk.ends, segment);
	kept = p->o->snaplen && p->o->snaplen < n ? p->o->snaplen : n;
	packet.captured = (uint32_t)kept;
	packet.wire = (uint32_t)n;
	p->error = p->error ? p->error : ink_dump_packet(p->dump, &packet);
	p->result->count.packets++;
	label_packet(p, slot, slot->talk.ends.address[segment->from]);
}

static void wait_for(struct play *p, uint64_t time, uint32_t actor, uint16_t group)
{
	if (sim_events_add(&p->events, (struct sim_event){.time = time, .actor = actor, .group = group}))
		p->error = -ENOMEM;
}

/* The earliest event is a packet of a talk. */
static void serve_talk(struct play *p, struct sim_event e)
{
	struct slot *slot = &p->slots[e.actor];
	struct sim_segment segment;
	uint64_t wait = sim_talk_next(&slot->talk, &segment);

	send_packet(p, slot, &segment);
	e.time += wait;
	if (wait) {
		sim_events_replace(&p->events, e);
	} else {
		sim_events_drop(&p->events);
		drop_slot(p, e.actor);
	}
}

/* -------------------------------------------------------------------------- the hosts */

/*
 * Round trips have a floor of half the mean, and a long tail: 0.5 + 8 x^15 has a mean of 1 for even x.
 */
static uint64_t draw_rtt(const struct sim_stage *s, uint64_t word)
{
	double x = sim_share(word), x3 = x * x * x, x15 = x3 * x3 * x3 * x3 * x3;
	uint64_t rtt = (uint64_t)((double)s->rtt * (.5 + 8 * x15));

	return rtt < ANSWER_MOST ? rtt + 1 : ANSWER_MOST;
}

/* At an even pace, each contact anywhere in its part of the time. */
static uint64_t even_pace(const struct sim_stage *s, uint32_t host, uint32_t i)
{
	double part = (double)s->duration * .9 / s->contacts;

	return (uint64_t)(part * (i + sim_share(sim_stage_word(s, host, i, 81))));
}

static void set_ends(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_ends *e)
{
	enum { FIRST_PORT = 2048, PORTS = 62000 };

	e->version = version_of(s, host);
	e->protocol = INK_PROTOCOL_TCP;
	e->address[0] = sim_host_address(s, host);
	e->port[0] = (uint16_t)(FIRST_PORT + (sim_below(sim_stage_word(s, host, 0, 82), PORTS) + i) % PORTS);
}

/* What a contact is like, unless the scene says otherwise. */
static void set_contact(const struct sim_stage *s, uint32_t host, uint32_t i, struct sim_contact *c)
{
	uint64_t word = sim_stage_word(s, host, i, 83);

	*c = (struct sim_contact){.after = even_pace(s, host, i),
				  .talk = {.rtt = draw_rtt(s, word),
					   .pause = (20 + sim_below(sim_mix(word), 180)) * SIM_MS,
					   .next = {(uint32_t)sim_mix(word + 1), (uint32_t)sim_mix(word + 2)},
					   .request = 300,
					   .response = 1200,
					   .rounds = 2}};
	set_ends(s, host, i, &c->talk.ends);
	s->def->contact(s, host, i, c);
	if (c->talk.ends.protocol == INK_PROTOCOL_ICMP && c->talk.ends.version == 6)
		c->talk.ends.protocol = INK_PROTOCOL_ICMPV6;
}

/* When contact `next` of a host begins: not before the one before it, and in benign scenes when there is room for it. */
static uint64_t begin_of(const struct host *h, const struct sim_stage *s, const struct sim_contact *c,
			 uint64_t now)
{
	uint64_t begin = h->start + c->after, room = h->pending[h->next % SIM_IN_FLIGHT];

	if (begin < now)
		begin = now;
	return s->def->info.is_benign && begin < room ? room : begin;
}

static void start_talk(struct play *p, struct host *h, const struct sim_contact *c)
{
	uint32_t slot = take_slot(p);
	uint64_t answer = sim_talk_is_answered(&c->talk) ? c->talk.rtt + REACTION : GIVEN_UP;

	if (!slot) {
		p->error = -ENOMEM;
		return;
	}
	p->slots[slot] = (struct slot){.talk = c->talk};
	attach_labels(p, &p->slots[slot], h);
	h->pending[h->next % SIM_IN_FLIGHT] = p->now + answer + 1;
	wait_for(p, p->now, slot, TALK);
	p->result->count.contacts++;
	if (++p->n_alive > p->result->count.alive_at_once)
		p->result->count.alive_at_once = p->n_alive;
}

/* Waits for the next contact of a host, if there is one within the duration. */
static void await_contact(struct play *p, uint32_t host)
{
	struct host *h = &p->hosts[host];
	const struct sim_stage *s = &p->stages[h->scene];
	struct sim_contact c;
	uint64_t begin;

	if (h->next >= s->contacts)
		return;
	set_contact(s, h->number, h->next, &c);
	begin = begin_of(h, s, &c, p->now);
	if (begin <= s->duration)
		wait_for(p, begin, host, HOST);
}

/* The earliest event is a contact of a host. */
static void serve_host(struct play *p, struct sim_event e)
{
	struct host *h = &p->hosts[e.actor];
	struct sim_contact c;

	sim_events_drop(&p->events);
	set_contact(&p->stages[h->scene], h->number, h->next, &c);
	start_talk(p, h, &c);
	h->next++;
	await_contact(p, e.actor);
}

/* ----------------------------------------------------------------------------- playing */

static int make_hosts(struct play *p)
{
	size_t hosts = 0, labels = 0;
	int error;

	for (unsigned i = 0; i < SIM_SCENES_MOST; i++)
		if (is_played(p->o, i)) {
			set_stage(p, i);
			p->first_label[i] = labels;
			labels += p->stages[i].hosts + servers_of(&p->stages[i]);
			hosts += p->stages[i].hosts;
		}
	error = sim_labels_make(&p->result->labels, labels);
	p->hosts = calloc(hosts ? hosts : 1, sizeof *p->hosts);
	return p->hosts ? error : -ENOMEM;
}

/* Hosts start within the first tenth of the scene, at most 10 s. */
static void start_hosts(struct play *p, unsigned scene)
{
	const struct sim_stage *s = &p->stages[scene];
	uint64_t within = s->duration / 10 < 10 * SIM_SECOND ? s->duration / 10 : 10 * SIM_SECOND;

	for (uint32_t h = 0; h < s->hosts; h++) {
		uint32_t at = (uint32_t)p->n_hosts++;
		double share = sim_share(sim_stage_word(s, h, 0, 84));

		p->hosts[at] = (struct host){.scene = scene, .number = h};
		p->hosts[at].start = (uint64_t)(share * (double)within);
		await_contact(p, at);
	}
}

static void play_events(struct play *p, sim_progress progress)
{
	while (p->events.n && !p->error) {
		struct sim_event e = p->events.at[0];

		p->now = e.time;
		if (e.group == HOST)
			serve_host(p, e);
		else
			serve_talk(p, e);
		if (progress && p->result->count.packets % 65536 == 0)
			progress((double)p->now / (double)p->longest);
	}
}

static void play(struct play *p, sim_progress progress)
{
	p->error = make_hosts(p);
	for (unsigned i = 0; i < SIM_SCENES_MOST && !p->error; i++)
		if (is_played(p->o, i)) {
			set_labels(p, i);
			start_hosts(p, i);
		}
	play_events(p, progress);
	p->result->count.hosts = p->n_hosts;
}

/* ---------------------------------------------------------------------------- limits */

static const char *wrong_scene(const struct sim_scenes_options *o, unsigned i)
{
	const struct sim_scene_info *info = sim_scene_info(i);
	uint64_t hosts = number_of(o->hosts, info->hosts), contacts = number_of(o->contacts, info->contacts);

	if (hosts > SIM_SCENE_HOSTS_MOST || contacts > SIM_CONTACTS_MOST)
		return "more than 50,000 hosts of a scene or 60,000 contacts of a host";
	return hosts * contacts > SIM_SCENE_CONTACTS_MOST ? "more than 20M contacts in a scene" : NULL;
}

const char *sim_scenes_wrong(const struct sim_scenes_options *o)
{
	const char *wrong = NULL;

	if (o->failures > SIM_FAILURES_MOST + 1e-9)
		return "more than 10% of the doors of benign hosts fail";
	if (o->success > SIM_SUCCESS_MOST + 1e-9)
		return "more than 20% of the doors of scanners answer";
	if (!o->rtt || o->rtt > SIM_SCENE_RTT_MOST)
		return "the round trip of scenes is from 1ns to 500ms";
	for (unsigned i = 0; i < SIM_SCENES_MOST && !wrong; i++)
		if (is_played(o, i))
			wrong = wrong_scene(o, i);
	return wrong;
}

int sim_scenes(const struct sim_scenes_options *o, struct ink_dump *dump, struct sim_scenes_result *result,
	       sim_progress progress)
{
	struct play *p = sim_scenes_wrong(o) ? NULL : calloc(1, sizeof *p);
	int error;

	memset(result, 0, sizeof *result);
	if (!p)
		return sim_scenes_wrong(o) ? -EINVAL : -ENOMEM;
	p->o = o;
	p->dump = dump;
	p->result = result;
	play(p, progress);
	error = p->error;
	free(p->hosts);
	free(p->slots);
	free(p->events.at);
	free(p);
	return error;
}
