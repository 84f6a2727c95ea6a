/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The headers marked [F] as a data plane in the kernel uses them. It is
 * compiled for BPF and no more: what they must not need (128-bit products,
 * population counts, calls, a C library) is an error there.
 */
#include "base/siphash.h"
#include "packet/key.h"
#include "packet/parse.h"
#include "packet/pictures.h"
#include "table/rules.h"
#include "table/age.h"
#include "kinds/line/line.h"

/* What a program would hold in maps. */
struct plane {
	struct ink_line_shape shape;
	struct ink_program program;
	struct ink_key_rule key;
	uint64_t secret[2];
	uint32_t age_bits;
	uint8_t turn[256]; /* by state: see age.h */
	struct ink_line *lines;
};

/* A frame in a map: the walk has the copy of its bytes. */
struct frame {
	struct ink_walk walk;
	struct ink_packet packet;
};

int ink_bpf_packet(const struct plane *plane, const uint8_t key[16], uint32_t event, struct ink_move *move);
int ink_bpf_frame(const struct plane *plane, struct frame *frame, uint32_t event, struct ink_move *move);
int ink_bpf_connection(const struct plane *plane, struct frame *frame, uint32_t event, struct ink_move *move);
uint32_t ink_bpf_expires(const struct plane *plane, uint64_t *word, uint32_t column, uint64_t last,
			 uint64_t now);
int ink_bpf_payload(struct ink_payload *payload, uint32_t tail);

/* An index taken from arithmetic: the verifier wants to see that it is inside. */
static inline uint64_t *part_at(const struct plane *plane, uint32_t part)
{
	return plane->lines->word + (part < plane->shape.parts ? part * plane->shape.words : 0);
}

static inline int find(const struct plane *plane, const struct ink_line_place *p, struct ink_line_spot *spot)
{
	const struct ink_line_shape *s = &plane->shape;

	return ink_line_find(s, part_at(plane, p->first), p->fingerprint, spot) ||
	       ink_line_find(s, part_at(plane, p->second), p->fingerprint, spot);
}

/* The entry after the row: none, in another state, or touched. */
static inline uint32_t follow(const struct plane *plane, struct ink_row row, uint32_t entry)
{
	const struct ink_line_shape *s = &plane->shape;
	uint32_t bits = plane->age_bits, state = ink_line_entry_code(s, entry) >> bits, age;

	if (row.next == INK_ABSENT)
		return 0;
	if (row.next != INK_NO_ROW)
		state = (uint32_t)row.next;
	age = ink_age_stored(ink_age_top(bits), plane->turn[state & 255], bits);
	return ink_line_make_entry(s, ink_line_entry_fp(s, entry), state << bits | age);
}

/* What the rules say of an entry; 0: it is not for the fast path to say. */
static inline int decide(const struct plane *plane, uint32_t entry, uint32_t event, struct ink_row *row)
{
	uint32_t state = ink_line_entry_code(&plane->shape, entry) >> plane->age_bits;

	if (state >= plane->program.states || event >= plane->program.events)
		return 0;
	*row = ink_program_row(&plane->program, state, event);
	return !ink_program_begins(&plane->program, *row, event);
}

/* One packet: id, place, both parts, the row, one swap. 0: the flow is absent, unsure, or under dispute. */
int ink_bpf_packet(const struct plane *plane, const uint8_t key[16], uint32_t event, struct ink_move *move)
{
	const struct ink_line_shape *s = &plane->shape;
	struct ink_line_place p = ink_line_place(s, ink_siphash13(plane->secret, key, 16));
	struct ink_line_spot spot;
	struct ink_row row;

	for (int tries = 0; tries < 4 && find(plane, &p, &spot); tries++) {
		uint32_t entry = ink_line_entry(s, spot.seen, spot.column);

		if (!decide(plane, entry, event, &row))
			return 0;
		move->from = (ink_answer)(ink_line_entry_code(s, entry) >> plane->age_bits);
		move->to = row.next == INK_NO_ROW ? move->from : row.next;
		move->action = row.action;
		if (ink_line_swap(&spot, ink_line_change(s, spot.seen, spot.column, entry,
							 follow(plane, row, entry))))
			return 1;
	}
	return 0;
}

static inline enum ink_skip parse(struct ink_walk *w, struct ink_packet *p)
{
	enum ink_layer layer = INK_LAYER_ETHERNET;

	if (ink_is_plain(p, w->copy) && ink_parse_plain(p, w->copy))
		return INK_NOT_SKIPPED;
	ink_parse_clear(p);
	ink_walk_start(w, p, 0);
	for (int i = 0; i < INK_MAX_LAYERS && layer != INK_LAYER_END; i++)
		layer = ink_step_layer(w, p, layer);
	return ink_parse_finish(w, p);
}

/* A frame of IPv4: headers, key, and the rest as above. */
static inline int frame_by(const struct plane *plane, const struct ink_key_rule *rule, struct frame *frame,
			   uint32_t event, struct ink_move *move)
{
	uint8_t key[INK_KEY_MOST];

	if (parse(&frame->walk, &frame->packet) != INK_NOT_SKIPPED || frame->packet.version != 4)
		return 0;
	ink_key_write(&frame->packet, rule, key);
	return ink_bpf_packet(plane, key, event, move);
}

/* By a rule that the program holds in a map, and by one that it contains. */
int ink_bpf_frame(const struct plane *plane, struct frame *frame, uint32_t event, struct ink_move *move)
{
	return frame_by(plane, &plane->key, frame, event, move);
}

int ink_bpf_connection(const struct plane *plane, struct frame *frame, uint32_t event, struct ink_move *move)
{
	return frame_by(plane, ink_key_named(INK_KEY_CONNECTION), frame, event, move);
}

/* A look at the age of one entry: 1 if its time was over, and then it is gone; else nothing is written. */
uint32_t ink_bpf_expires(const struct plane *plane, uint64_t *word, uint32_t column, uint64_t last,
			 uint64_t now)
{
	const struct ink_line_shape *s = &plane->shape;
	struct ink_line_spot spot = {word, ink_line_read(word), column};
	uint32_t entry = ink_line_entry(s, spot.seen, column), code = ink_line_entry_code(s, entry);
	uint32_t state = code >> plane->age_bits, age, looks;

	if (!entry || state >= plane->program.states)
		return 0;
	age = ink_age_read(code, plane->turn[state & 255], plane->age_bits);
	looks = ink_age_looks(last, now, plane->program.timings[state].period, plane->age_bits);
	if (ink_age_after(age, looks) != INK_AGE_EXPIRED)
		return 0;
	return (uint32_t)ink_line_swap(&spot, ink_line_change(s, spot.seen, column, entry, 0));
}

/* What starts in a payload that was copied into a map. */
int ink_bpf_payload(struct ink_payload *payload, uint32_t tail)
{
	if (ink_payload_nals(payload))
		return 0;
	ink_payload_pictures(payload, tail);
	return payload->pictures.last;
}
