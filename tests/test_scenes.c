/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenes are read back from their captures and counted again: contacts, doors, answers, and the limits that are
 * promised, by code that shares nothing with the generator but the labels that it checks.
 */
#include <inkling/packet.h>

#include "sim/scenes.h"
#include "tests/scratch.h"
#include "tests/test.h"

enum { FIN = INK_TCP_FIN, SYN = INK_TCP_SYN, RST = INK_TCP_RST, ACK = INK_TCP_ACK };

#define SECOND 1000000000ull

static const struct sim_scenes_options usual = {
	.seed = 3, .hosts = 6, .rtt = 50000000, .failures = .05, .success = .1, .ipv6 = .3};

static struct sim_scenes_result made;

static void play_into(const char *file, const struct sim_scenes_options *o)
{
	struct ink_why why = {""};
	struct ink_dump *dump = ink_dump_open(file, INK_LINK_ETHERNET, &why);

	if (!dump)
		fail_msg("%s", why.text);
	sim_labels_free(&made.labels);
	assert_int_equal(sim_scenes(o, dump, &made, NULL), 0);
	assert_int_equal(ink_dump_close(dump, &why), 0);
}

/* --------------------------------------------------------------------- contacts, again */

/* A contact as the capture shows it. Its client is the end that sent a SYN, a first datagram, or an echo request. */
struct contact {
	uint8_t client[16], server[16];
	uint16_t port[2]; /* of client and server; the first is the identifier of echoes */
	uint8_t version, protocol;
	uint64_t begun, answered; /* answered: 0 = never */
	unsigned packets;
	uint32_t next[2]; /* sequence numbers */
	uint8_t seen[2];  /* directions */
};

enum { CONTACTS = 1 << 17, PLACES = 4 * CONTACTS };

static struct contact *contacts;
static uint32_t *places; /* of contacts, by hash; 0 = free, else the number plus 1 */
static size_t n_contacts;
static uint64_t n_packets, n_resent; /* resent: segments with data */

static int is_echo(const struct ink_packet *p)
{
	return p->protocol == INK_PROTOCOL_ICMP || p->protocol == INK_PROTOCOL_ICMPV6;
}

/* The packet as a contact, as if its source were the client. */
static struct contact from_source(const struct ink_packet *p)
{
	struct contact c = {.port = {p->sport, p->dport}, .version = p->version, .protocol = p->protocol};

	memcpy(c.client, p->source, 16);
	memcpy(c.server, p->destination, 16);
	if (is_echo(p)) {
		c.port[0] = (uint16_t)(p->frame[p->transport + 4] << 8 | p->frame[p->transport + 5]);
		c.port[1] = 0;
	}
	return c;
}

static struct contact turned(struct contact c)
{
	struct contact other = c;

	memcpy(other.client, c.server, 16);
	memcpy(other.server, c.client, 16);
	if (c.port[1]) {
		other.port[0] = c.port[1];
		other.port[1] = c.port[0];
	}
	return other;
}

static int is_same(const struct contact *a, const struct contact *b)
{
	return !memcmp(a->client, b->client, 16) && !memcmp(a->server, b->server, 16) &&
	       !memcmp(a->port, b->port, sizeof a->port) && a->protocol == b->protocol &&
	       a->version == b->version;
}

static uint32_t *place_of(const struct contact *c)
{
	uint64_t hash = c->port[0] * 0x9e3779b97f4a7c15ull + c->port[1] * 0xc2b2ae3d27d4eb4full + c->protocol;

	for (unsigned i = 0; i < 16; i++)
		hash = (hash ^ c->client[i] ^ (uint64_t)c->server[i] << 32) * 0x100000001b3ull;
	for (hash ^= hash >> 29;; hash++) {
		uint32_t *place = &places[hash % PLACES];

		if (!*place || is_same(&contacts[*place - 1], c))
			return place;
	}
}

static struct contact *begin(struct contact c, uint64_t time)
{
	uint32_t *place = place_of(&c);

	if (!*place) {
		assert_true(n_contacts < CONTACTS);
		c.begun = time;
		contacts[n_contacts] = c;
		*place = (uint32_t)++n_contacts;
	}
	return &contacts[*place - 1];
}

/* The contact of a packet, and whether its server sent it. */
static struct contact *contact_of(const struct ink_packet *p, unsigned *from)
{
	struct contact forth = from_source(p), back = turned(forth);
	int answers = p->protocol == INK_PROTOCOL_TCP
			      ? (p->tcp_flags & (SYN | ACK)) == (SYN | ACK)
			      : is_echo(p) && (p->icmp_type == 0 || p->icmp_type == 129);

	*from = answers || *place_of(&back) != 0;
	return begin(*from ? back : forth, p->time);
}

/* A SYN+ACK, a datagram, an echo; or, where answers are not seen, the client's own ACK. A RST is no answer. */
static void note_answer(struct contact *c, const struct ink_packet *p, unsigned from)
{
	int is_tcp = p->protocol == INK_PROTOCOL_TCP, own_ack = is_tcp && !from && p->tcp_flags & ACK;

	if (c->answered || (is_tcp && p->tcp_flags & RST) || (!from && !own_ack))
		return;
	c->answered = p->time;
}

/* ------------------------------------------------------------------------ their segments */

static uint32_t size_of(const struct ink_packet *p)
{
	return p->payload_wire + ((p->tcp_flags & SYN) != 0) + ((p->tcp_flags & FIN) != 0);
}

/* Bytes follow those before, or are the last ones again; all that was seen of the other is acknowledged. */
static void check_numbers(struct contact *c, const struct ink_packet *p, unsigned from)
{
	uint32_t before = c->next[from];

	if (from && p->tcp_flags & RST) {
		assert_int_equal(p->tcp_seq, 0);
		assert_int_equal(p->tcp_ack, c->next[0]);
		return;
	}
	if (!c->seen[from])
		c->next[from] = p->tcp_seq;
	if (p->tcp_seq == c->next[from])
		c->next[from] += size_of(p);
	else
		assert_int_equal(p->tcp_seq + size_of(p), c->next[from]);
	n_resent += p->payload_wire && before == c->next[from];
	if (p->tcp_flags & SYN)
		assert_int_equal(p->tcp_seq + 1, c->next[from]);
	if (p->tcp_flags & SYN && c->seen[from])
		assert_int_equal(before, c->next[from]);
	if (p->tcp_flags & ACK && c->seen[!from])
		assert_int_equal(p->tcp_ack, c->next[!from]);
	if (!(p->tcp_flags & ACK))
		assert_int_equal(p->tcp_ack, 0);
}

static uint32_t sum_of(const uint8_t *at, size_t n, uint32_t sum)
{
	for (size_t i = 0; i < n; i++)
		sum += i % 2 ? at[i] : (uint32_t)at[i] << 8;
	return sum;
}

static unsigned folded(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

static void check_sums(const struct ink_packet *p)
{
	size_t length = p->wire - p->transport, address = p->version == 4 ? 4 : 16;
	uint32_t pseudo = (uint32_t)length + p->protocol;

	pseudo = sum_of(p->source, address, sum_of(p->destination, address, pseudo));
	if (p->protocol == INK_PROTOCOL_ICMP)
		pseudo = 0;
	if (p->version == 4)
		assert_int_equal(folded(sum_of(p->frame + p->network, 20, 0)), 0xffff);
	assert_int_equal(folded(sum_of(p->frame + p->transport, length, pseudo)), 0xffff);
	if (p->protocol == INK_PROTOCOL_UDP) /* 0: there is none */
		assert_true(p->frame[p->transport + 6] || p->frame[p->transport + 7]);
}

static void note(const struct ink_packet *p)
{
	unsigned from;
	struct contact *c;

	assert_int_equal(p->skip, INK_NOT_SKIPPED);
	check_sums(p);
	c = contact_of(p, &from);
	note_answer(c, p, from);
	if (p->protocol == INK_PROTOCOL_TCP)
		check_numbers(c, p, from);
	c->seen[from] = 1;
	c->packets++;
	n_packets++;
}

static void read_back(void (*look)(const struct ink_packet *))
{
	struct ink_capture_options o = {.size = sizeof o, .file = scratch_file};
	struct ink_capture *c = ink_capture_open(&o, NULL);
	struct ink_capture_stats stats = {.size = sizeof stats};
	struct ink_packet packets[64];
	struct ink_packets batch = {.at = packets, .room = 64};

	assert_non_null(c);
	n_contacts = n_packets = n_resent = 0;
	memset(places, 0, PLACES * sizeof *places);
	while (ink_capture_read(c, &batch, NULL) == 0 && !batch.end)
		for (size_t i = 0; i < batch.n; i++)
			look(&packets[i]);
	ink_capture_stats(c, &stats);
	assert_int_equal(stats.backwards, 0);
	ink_capture_close(c);
}

/* ------------------------------------------------------------------------ labels, again */

static void bytes_of(const struct sim_label *l, uint8_t address[16])
{
	size_t at = l->version == 4 ? 0 : 12;

	memset(address, 0, 16);
	if (l->version == 6)
		memcpy(address, "\x20\x01\x0d\xb8", 4);
	for (unsigned i = 0; i < 4; i++)
		address[at + i] = (uint8_t)(l->address >> (24 - 8 * i));
}

static int is_of(const struct contact *c, const struct sim_label *l)
{
	uint8_t address[16];

	bytes_of(l, address);
	return c->version == l->version &&
	       !memcmp(l->side == SIM_SOURCE ? c->client : c->server, address, 16);
}

/* Not known from an earlier contact of the label. */
static int is_new_door(const struct contact *of[], size_t n, const struct contact *c)
{
	for (size_t i = 0; i < n; i++)
		if (!memcmp(of[i]->server, c->server, 16) && of[i]->port[1] == c->port[1] &&
		    of[i]->protocol == c->protocol) {
			assert_int_equal(!of[i]->answered, !c->answered);
			return 0;
		}
	return 1;
}

/* The contacts of a label, one for each door, in their order. */
static size_t doors_of(struct sim_label *l, const struct contact *doors[])
{
	size_t n = 0;

	for (size_t i = 0; i < n_contacts; i++)
		if (is_of(&contacts[i], l)) {
			l->contacts++;
			if (is_new_door(doors, n, &contacts[i]))
				doors[n++] = &contacts[i];
		}
	return n;
}

static struct sim_label recount(const struct sim_label *told)
{
	static const struct contact *doors[CONTACTS];
	struct sim_label l = {.address = told->address, .version = told->version, .side = told->side};

	l.doors = doors_of(&l, doors);
	for (size_t i = 0; i < l.doors; i++) {
		l.answered += doors[i]->answered != 0;
		if (!doors[i]->answered && i + 1 - l.answered == SIM_LABEL_DOORS)
			l.twentieth = doors[i]->begun;
	}
	return l;
}

static struct sim_label *heard; /* packets, first, last and due, for each label of `made` */

static int is_due(const struct sim_label *l, const struct ink_packet *p)
{
	return l->twentieth && p->time > l->twentieth + 2 * SECOND;
}

static void hear(const struct ink_packet *p)
{
	uint8_t address[16];

	for (size_t i = 0; i < made.labels.n; i++) {
		struct sim_label *l = &heard[i];

		bytes_of(&made.labels.at[i], address);
		if (p->version != made.labels.at[i].version ||
		    (memcmp(p->source, address, 16) && memcmp(p->destination, address, 16)))
			continue;
		l->first = l->packets++ ? l->first : p->time;
		l->last = p->time;
		if (is_due(&made.labels.at[i], p) && !memcmp(p->source, address, 16) && !l->due)
			l->due = p->time;
	}
}

/* The scene of an address; all of them have ranges of their own. */
static unsigned scene_of(const uint8_t address[16], unsigned version)
{
	const uint8_t *at = address + (version == 4 ? 0 : 12);

	if (at[0] == 10)
		return at[1];
	return at[0] == 100 ? at[1] - 64u : at[0] - 32u;
}

/* In flight: not answered yet, and not for longer than 1 s. */
static unsigned in_flight(const struct contact *c)
{
	unsigned n = 0;

	for (const struct contact *other = contacts; other <= c; other++)
		if (!memcmp(other->client, c->client, 16) && other->begun + SECOND > c->begun)
			n += !other->answered || other->answered > c->begun;
	return n;
}

static void check_benign(void)
{
	for (size_t i = 0; i < n_contacts; i++) {
		struct contact *c = &contacts[i];

		assert_true(in_flight(c) <= SIM_IN_FLIGHT);
		assert_true(!c->answered || c->answered - c->begun < SECOND);
		assert_true(c->packets <= SIM_CONTACT_PACKETS);
	}
}

static void check_shares(const struct sim_label *l, const struct sim_scene_info *info,
			 const struct sim_scenes_options *o)
{
	double unanswered = (double)(l->doors - l->answered), doors = (double)l->doors;

	if (info->is_benign) {
		assert_null(l->detect);
		assert_true(unanswered <= o->failures * doors + 1e-9);
	}
	if (info->share == SIM_SUCCESS && l->side == SIM_SOURCE)
		assert_true((double)l->answered <= o->success * doors + 1e-9);
	if (!strncmp(info->name, "scan-", 5) && strcmp(info->name, "scan-distributed"))
		assert_true(l->doors - l->answered >= 30 && l->twentieth);
}

static void check_labels(const struct sim_scene_info *info, const struct sim_scenes_options *o)
{
	for (size_t i = 0; i < made.labels.n; i++) {
		const struct sim_label *l = &made.labels.at[i];
		struct sim_label again = recount(l);

		assert_string_equal(l->scene, info->name);
		assert_int_equal(l->packets, heard[i].packets);
		assert_int_equal(l->first, heard[i].first);
		assert_int_equal(l->last, heard[i].last);
		assert_int_equal(l->due, heard[i].due);
		assert_int_equal(l->contacts, again.contacts);
		assert_int_equal(l->doors, again.doors);
		assert_int_equal(l->answered, again.answered);
		if (strcmp(info->name, "one-way")) /* where the SYN of an answer may be unseen */
			assert_int_equal(l->twentieth, again.twentieth);
		check_shares(l, info, o);
	}
}

static void check_scene(unsigned i, const struct sim_scenes_options *o)
{
	play_into(scratch_file, o);
	read_back(note);
	assert_int_equal(n_packets, made.count.packets);
	assert_int_equal(n_contacts, made.count.contacts);
	for (size_t k = 0; k < n_contacts; k++) {
		assert_int_equal(scene_of(contacts[k].client, contacts[k].version), i);
		assert_int_equal(scene_of(contacts[k].server, contacts[k].version), i);
	}
	if (sim_scene_info(i)->is_benign)
		check_benign();
}

TEST_THAT(the_labels_of_each_scene_are_what_its_capture_shows)
{
	for (unsigned i = 0; sim_scene_info(i); i++) {
		struct sim_scenes_options o = usual;

		o.scenes = 1u << i;
		o.hosts = sim_scene_info(i)->hosts < o.hosts ? 2 : o.hosts;
		play_into(scratch_file, &o);
		heard = calloc(made.labels.n, sizeof *heard);
		read_back(hear);
		read_back(note);
		check_labels(sim_scene_info(i), &o);
		free(heard);
	}
}

TEST_THAT(limits_are_kept_also_where_the_options_are_at_them)
{
	for (unsigned i = 0; sim_scene_info(i); i++) {
		struct sim_scenes_options o = usual;

		o.scenes = 1u << i;
		o.hosts = 2;
		o.failures = SIM_FAILURES_MOST;
		o.success = SIM_SUCCESS_MOST;
		o.rtt = SIM_SCENE_RTT_MOST;
		check_scene(i, &o);
		for (size_t k = 0; k < made.labels.n; k++)
			check_shares(&made.labels.at[k], sim_scene_info(i), &o);
	}
}

TEST_THAT(at_most_40_contacts_are_in_flight_also_where_there_is_no_time_for_them)
{
	for (unsigned i = 0; sim_scene_info(i)->is_benign; i++) {
		struct sim_scenes_options o = usual;

		o.scenes = 1u << i;
		o.hosts = 2;
		o.contacts = 1000;
		o.duration = 2 * SECOND;
		check_scene(i, &o);
	}
}

TEST_THAT(browsers_send_some_requests_again)
{
	struct sim_scenes_options o = usual;

	o.scenes = 1;
	play_into(scratch_file, &o);
	read_back(note);
	assert_in_range(n_resent, 1, n_contacts / 10);
}

/* As many doors as there are contacts, and none at port 0 but those of echoes. */
TEST_THAT(a_scanner_knocks_at_no_door_twice)
{
	for (unsigned i = 0; sim_scene_info(i); i++) {
		struct sim_scenes_options o = usual;

		o.scenes = 1u << i;
		o.hosts = 1;
		o.contacts = SIM_CONTACTS_MOST;
		o.duration = 100000 * 60 * SECOND;
		if (sim_scene_info(i)->share != SIM_SUCCESS)
			continue;
		play_into(scratch_file, &o);
		read_back(note);
		assert_int_equal(made.labels.at[0].doors, o.contacts);
		for (size_t k = 0; k < n_contacts; k++)
			assert_true(contacts[k].port[1] || !strcmp(sim_scene_info(i)->name, "sweep-icmp"));
	}
}

/* ---------------------------------------------------------------------- several at once */

static char *content_of(const char *path, size_t *n)
{
	FILE *file = fopen(path, "rb");
	char *bytes;

	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	*n = (size_t)ftell(file);
	rewind(file);
	bytes = malloc(*n);
	assert_int_equal(fread(bytes, 1, *n, file), *n);
	fclose(file);
	return bytes;
}

TEST_THAT(the_same_seed_gives_the_same_bytes_and_another_one_others)
{
	struct sim_scenes_options o = usual;
	char path[3][SCRATCH_PATH], *bytes[3];
	size_t n[3];

	o.scenes = ~0u;
	o.hosts = o.contacts = 5;
	for (unsigned i = 0; i < 3; i++) {
		o.seed = i == 2 ? 4 : 3;
		scratch_path(path[i], (const char *[]){"a", "b", "c"}[i]);
		play_into(path[i], &o);
		bytes[i] = content_of(path[i], &n[i]);
	}
	assert_int_equal(n[0], n[1]);
	assert_memory_equal(bytes[0], bytes[1], n[0]);
	assert_true(n[2] != n[0] || memcmp(bytes[0], bytes[2], n[0]));
	for (unsigned i = 0; i < 3; i++)
		free(bytes[i]);
}

/* The labels as text: the lines of one scene, or of all. */
static char *lines_of(void)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);

	sim_labels_write(&made.labels, to);
	fclose(to);
	return text;
}

TEST_THAT(a_scene_is_the_same_beside_others_and_none_shares_an_address)
{
	struct sim_scenes_options o = usual;
	char *all, *alone;

	o.scenes = ~0u;
	play_into(scratch_file, &o);
	read_back(note);
	assert_int_equal(n_packets, made.count.packets);
	for (size_t k = 0; k < n_contacts; k++)
		assert_int_equal(scene_of(contacts[k].client, contacts[k].version),
				 scene_of(contacts[k].server, contacts[k].version));
	all = lines_of();
	for (unsigned i = 0; sim_scene_info(i); i++) {
		o.scenes = 1u << i;
		play_into(scratch_file, &o);
		alone = lines_of();
		assert_non_null(strstr(all, alone));
		free(alone);
	}
	free(all);
}

TEST_THAT(hosts_are_shared_if_that_is_asked_for)
{
	struct sim_scenes_options o = usual;

	o.scenes = ~0u;
	o.shared_hosts = 1;
	o.hosts = o.contacts = 3;
	play_into(scratch_file, &o);
	for (size_t i = 0; i < made.labels.n; i++)
		if (made.labels.at[i].address >> 24 == 10)
			assert_in_range(made.labels.at[i].address, 0x0a000001, 0x0a000003);
}

TEST_THAT(no_contact_begins_after_the_duration)
{
	struct sim_scenes_options o = usual;

	o.scenes = ~0u;
	o.duration = 3 * SECOND;
	play_into(scratch_file, &o);
	read_back(note);
	for (size_t i = 1; i < n_contacts; i++)
		assert_true(contacts[i].begun - contacts[0].begun <=
			    4 * SECOND); /* a second for unseen SYNs */
}

TEST_THAT(a_label_is_a_line_of_json)
{
	struct sim_label l = {.scene = "mail",
			      .role = "client",
			      .address = 0x0a060001,
			      .version = 6,
			      .first = 5 * SECOND + 7,
			      .last = 6 * SECOND,
			      .packets = 9,
			      .contacts = 4,
			      .doors = 3,
			      .answered = 2};
	struct sim_labels labels = {.at = &l, .n = 1};
	char text[512] = "";
	FILE *to = fmemopen(text, sizeof text, "w");

	sim_labels_write(&labels, to);
	fclose(to);
	assert_string_equal(
		text,
		"{\"scene\":\"mail\",\"role\":\"client\",\"address\":\"2001:db8::a06:1\","
		"\"counted_as\":\"source\",\"first\":5.000000007,\"last\":6.000000000,"
		"\"packets\":9,\"contacts\":4,\"doors\":3,\"answered\":2,"
		"\"answered_share\":0.6667,\"twentieth_unanswered\":null,\"due\":null,\"detect\":null}\n");
}

TEST_THAT(what_is_beyond_the_limits_is_refused)
{
	struct sim_scenes_options wrong[] = {usual, usual, usual, usual, usual};
	struct sim_scenes_result result;

	wrong[0].failures = .11;
	wrong[1].success = .21;
	wrong[2].rtt = SIM_SCENE_RTT_MOST + 1;
	wrong[3].hosts = SIM_SCENE_HOSTS_MOST + 1;
	wrong[4].hosts = wrong[4].contacts = 10000;
	for (unsigned i = 0; i < 5; i++) {
		wrong[i].scenes = 1;
		assert_non_null(sim_scenes_wrong(&wrong[i]));
	}
	assert_int_equal(sim_scenes(&wrong[0], NULL, &result, NULL), -EINVAL);
}

static int make_all(void **state)
{
	contacts = calloc(CONTACTS, sizeof *contacts);
	places = calloc(PLACES, sizeof *places);
	return contacts && places ? scratch_make(state) : -1;
}

static int remove_all(void **state)
{
	free(contacts);
	free(places);
	sim_labels_free(&made.labels);
	return scratch_remove(state);
}

int main(void)
{
	return run_suite(&(struct suite){.begin = make_all, .end = remove_all});
}
