/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whatever a text says, it is a machine or there are complaints about it; and
 * a machine bears packets.
 *
 * The first byte of an input says how a text is made of the others, so that
 * the fuzzer does not have to find the language by itself:
 *
 *     0  the bytes are the text
 *     1  a bundled machine, changed: the next byte chooses it; then come two bytes of offset, one that says how
 *        many bytes are taken out there, and up to seven that are put in (see `edit`), again and again
 *     3  the same, with a key of parts: the bytes up to a 0 are its words
 *
 * If a machine comes of it, the text of its key means the same key again, its
 * rules are given to tables, it is drawn, and packets with the input as their
 * payload are tracked by approximate tables and by exact ones beside, all at once
 * and one by one, with the same counts.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <inkling/track.h>

#include "tests/fuzz_seeds.h"
#include "machine/tree.h"
#include "packet/video.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TEXT_MOST = 16384, PACKETS = 24 };

static char text[TEXT_MOST + 1];
static size_t length;

static void insist(int condition)
{
	if (!condition)
		abort();
}

/* ------------------------------------------------------------ making a text */

/* Takes `out` bytes away and puts `in` others there. */
static void change(size_t at, size_t out, const uint8_t *in, size_t n)
{
	if (at > length)
		at = length;
	if (out > length - at)
		out = length - at;
	if (length - out + n > TEXT_MOST)
		return;
	memmove(text + at + n, text + at + out, length - at - out);
	memcpy(text + at, in, n);
	length = length - out + n;
}

static void edit(const uint8_t *data, size_t size)
{
	while (size >= 4) {
		size_t n = data[3] & 7, at = (size_t)data[0] << 8 | data[1];

		if (n > size - 4)
			n = size - 4;
		change(at, data[2], data + 4, n);
		data += 4 + n;
		size -= 4 + n;
	}
}

/* What a line about a key is made of. */
static const char *const key_words[] = {"src",      "dst",  "src port", "dst port", "sport", "dport",
					"protocol", ", ",   "port",     "/",        "/0/64", "/24",
					"/32",      "/128", "\n",       "source"};

/* Puts words in place of the key's name, and returns how many bytes said which. */
static size_t put_key(const uint8_t *data, size_t size)
{
	size_t at, used = 0;
	char *key;

	text[length] = 0;
	key = strstr(text, "\nkey ");
	at = key ? (size_t)(key + 5 - text) : length;
	change(at, strcspn(text + at, "\n"), data, 0);
	for (; used < size && data[used]; used++) {
		const char *word = key_words[data[used] % (sizeof key_words / sizeof key_words[0])];

		change(at, 0, (const uint8_t *)word, strlen(word));
		at += strlen(word);
	}
	return used < size ? used + 1 : used;
}

static void make_text(const uint8_t *data, size_t size)
{
	unsigned n = 0;
	size_t used = 2;

	length = 0;
	if (size < 2 || data[0] % 2 == 0) {
		change(0, 0, data + (size > 0), size - (size > 0));
		return;
	}
	while (ink_bundled(n))
		n++;
	change(0, 0, (const uint8_t *)ink_bundled(data[1] % n)->text, ink_bundled(data[1] % n)->length);
	if (data[0] % 4 == 3)
		used += put_key(data + 2, size - 2);
	edit(data + used, size - used);
}

/* --------------------------------------------------------------- complaints */

static unsigned complaints, errors;

static void complain(const struct ink_complaint *c, void *user)
{
	char shown[400];

	(void)user;
	complaints++;
	errors += c->severity == INK_ERROR;
	insist(c->line >= 1 && c->column >= 1 && strlen(c->text) > 0);
	insist(c->source >= text && c->source + c->source_length <= text + length);
	for (size_t room = 1; room <= sizeof shown; room *= 7) {
		ink_complaint_show(c, shown, room);
		insist(strlen(shown) < room);
	}
}

/* ------------------------------------------------------------------ packets */

static void make_packet(struct ink_packet *p, unsigned i, const uint8_t *data, size_t size)
{
	static const uint8_t protocols[] = {6, 17, 1, 132};
	uint8_t bits = size ? data[i % size] : 0;

	memset(p, 0, sizeof *p);
	p->frame = data;
	p->captured = p->wire = (uint32_t)size;
	p->payload = data;
	p->payload_captured = p->payload_wire = (uint32_t)size;
	p->version = bits & 1 ? 6 : 4;
	p->protocol = protocols[bits >> 1 & 3];
	p->tcp_flags = p->protocol == 6 ? (uint16_t)(i * 37 & 63) : 0;
	p->source[3] = (uint8_t)(1 + i % 3);
	p->destination[3] = 5;
	p->flags = i % 2 ? INK_FROM_HIGH : 0;
	p->sport = 80;
	p->dport = (uint16_t)(i * 443);
	p->clock = 1 + (uint64_t)i * i * 900000000ull;
}

static struct ink_table *table_for(const struct ink_machine_view *v, enum ink_kind kind)
{
	struct ink_options o = {.size = sizeof o,
				.kind = kind,
				.states = v->rules->states,
				.rules = v->rules,
				.flows = 64,
				.age_bits = 1,
				.seed = 1};
	struct ink_table *t = ink_create(&o, NULL);

	insist(t != NULL);
	return t;
}

/* The tables of a set: approximate ones, and exact ones beside. */
struct tables {
	struct ink_table *table[INK_MACHINES_MAX], *beside[INK_MACHINES_MAX];
};

static void make_tables(struct tables *t, const struct ink_machines *set)
{
	for (unsigned i = 0; i < ink_machines_count(set); i++) {
		const struct ink_machine_view *v = ink_machine_view(ink_machines_at(set, i));

		t->table[i] = table_for(v, INK_LINE);
		t->beside[i] = table_for(v, INK_EXACT);
	}
}

static void free_tables(const struct tables *t, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		insist(ink_check(t->table[i], NULL) == 0);
		ink_free(t->table[i]);
		ink_free(t->beside[i]);
	}
}

static void give_all(struct ink_track *k, struct ink_packet *packets, size_t portion)
{
	for (size_t i = 0; i < PACKETS; i += portion) {
		struct ink_packets some = {.at = packets + i, .n = portion};

		insist(ink_track_packets(k, &some) == 0);
	}
	insist(ink_track_end(k) == 0);
}

/* All that the machines counted, in both chains of tables, as one number. */
static uint64_t sum_of(const struct ink_track *k, const struct ink_machines *set)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < ink_machines_count(set); i++)
		for (unsigned j = 0; j < ink_machine_view(ink_machines_at(set, i))->counters; j++)
			sum = (sum * 31 + ink_track_counters_of(k, i)[j]) * 31 +
			      ink_track_counters_beside_of(k, i)[j];
	return sum;
}

/* Slow enough for the packets to wait; 0: no machine asks. */
static uint64_t queue_rate_for(const struct ink_machines *set)
{
	for (unsigned i = 0; i < ink_machines_count(set); i++)
		if (ink_machine_view(ink_machines_at(set, i))->queues)
			return 1000;
	return 0;
}

static uint64_t track(const struct ink_machines *set, const uint8_t *data, size_t size, size_t portion)
{
	struct tables t;
	struct ink_track_options o = {.size = sizeof o,
				      .machines = set,
				      .link = INK_LINK_ETHERNET,
				      .tables = t.table,
				      .besides = t.beside,
				      .queue_rate = queue_rate_for(set)};
	struct ink_packet packets[PACKETS];
	struct ink_track *k;
	uint64_t sum;

	make_tables(&t, set);
	for (unsigned i = 0; i < PACKETS; i++)
		make_packet(&packets[i], i, data, size);
	k = ink_track_open(&o, NULL);
	if (k)
		give_all(k, packets, portion);
	sum = k ? sum_of(k, set) : 0;
	ink_track_close(k);
	free_tables(&t, ink_machines_count(set));
	return sum;
}

/* ----------------------------------------------------------------------- seeds */

/* Payloads that hold video, each kind of beginning once. */
static void make_seed(struct seed *s, const struct ink_packet *p, enum ink_link link)
{
	struct ink_pictures pictures = ink_video_pictures(p, 0);
	uint32_t nals = ink_video_nals(p, ~0u);

	(void)link;
	if (p->skip != INK_NOT_SKIPPED || p->protocol != INK_PROTOCOL_UDP || (!pictures.last && !nals))
		return;
	s->shape = seed_shape(s->shape, (uint32_t)(ink_video_ts(p) * 2 + (ink_video_rtp(p) >= 0)));
	for (unsigned type = INK_PICTURE_I; type <= INK_PICTURE_B; type++)
		s->shape = seed_shape(s->shape, pictures.started[type]);
	s->shape = seed_shape(seed_shape(s->shape, pictures.tail), nals);
	seed_append(s, p->payload, p->payload_captured);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	make_seeds_if_asked(*argc, *argv, make_seed);
	return 0;
}

/* ------------------------------------------------------------------ the target */

/* A key is shown as it could be written. */
static void check_key(const struct ink_machine_view *v)
{
	char again[200];
	int n = snprintf(again, sizeof again, "machine m\nkey %s\nevent e = any\nabsent: e -> a\na: e",
			 v->key_text);
	struct ink_machine *m = ink_machine_make(again, (size_t)n, NULL);

	insist(m != NULL && v->key_def->kind == v->key);
	insist(!strcmp(ink_machine_view(m)->key_text, v->key_text));
	insist(!memcmp(ink_machine_view(m)->key_def, v->key_def, sizeof *v->key_def));
	ink_machine_free(m);
}

static void look_through(const uint8_t *data, size_t size)
{
	struct ink_packet p;

	make_packet(&p, 0, data, size);
	p.protocol = INK_PROTOCOL_UDP;
	insist(ink_video_pictures(&p, size % INK_TAILS).tail < INK_TAILS);
	ink_video_nals(&p, ~0u);
	ink_video_ts(&p);
}

/* What the view says besides actions is within its bounds. */
static void check_more(const struct ink_machine_view *v)
{
	for (unsigned i = 0; i < v->actions; i++) {
		const struct ink_action_more *more = &v->action_more[i];

		insist((v->action[i].report != NULL) == (more->n_pieces > 0) && more->severity <= 4);
		insist(more->limit <= v->limits && (unsigned)more->prioritizes <= INK_CLASS);
		for (unsigned j = 0; j < more->n_pieces; j++)
			insist(more->pieces[j].text && more->pieces[j].field <= INK_TEXT_KEY);
	}
	for (unsigned i = 0; i < v->states; i++)
		insist(!v->state_time[i].timeout || !v->state_time[i].window);
	for (unsigned i = 0; i < v->limits; i++)
		insist(v->limit[i].rate >= 1000 && v->limit[i].rate <= 1000000000000 && v->limit[i].burst);
	insist(!v->queues == !v->queue_at);
}

/* Links lead forward, to told events. */
static void check_tells(const struct ink_machines *set, unsigned teller)
{
	const struct ink_machine_view *v = ink_machine_view(ink_machines_at(set, teller));

	for (unsigned i = 0; i < v->actions; i++)
		for (unsigned j = 0; j < v->action_more[i].n_tells; j++) {
			const struct ink_tell *t = &v->action_more[i].tells[j];
			const struct ink_machine *told = ink_machines_at(set, t->machine);

			insist(t->machine > teller && told);
			insist(t->event < ink_machine_view(told)->events);
			insist(ink_machine_view(told)->event_told[t->event]);
		}
}

static void try_set(const struct ink_machine_options *o, const uint8_t *data, size_t size)
{
	struct ink_machines *set = ink_machines_make(text, length, o);
	char *drawing = set ? ink_machines_draw(set) : NULL;

	insist((set == NULL) == (errors > 0) && (set == NULL) == (drawing == NULL));
	for (unsigned i = 0; set && i < ink_machines_count(set); i++) {
		check_tells(set, i);
		check_more(ink_machine_view(ink_machines_at(set, i)));
	}
	if (set)
		insist(track(set, data, size, PACKETS) == track(set, data, size, 1));
	free(drawing);
	ink_machines_free(set);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ink_machine_options o = {.size = sizeof o, .file = "x", .complain = complain};
	struct ink_machine *m;
	char *drawing;

	complaints = errors = 0;
	make_text(data, size);
	look_through(data, size);
	try_set(&o, data, size);
	complaints = errors = 0;
	m = ink_machine_make(text, length, &o);
	insist(complaints <= INK_COMPLAINTS_MAX);
	insist((m == NULL) == (errors > 0));
	if (!m)
		return 0;
	check_key(ink_machine_view(m));
	drawing = ink_machine_draw(m);
	insist(drawing != NULL);
	free(drawing);
	check_more(ink_machine_view(m));
	ink_machine_free(m);
	return 0;
}
