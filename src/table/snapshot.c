/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots: a table becomes a file, and a file a table. docs/format.md has
 * every byte of it, file.h what it shares with other files.
 *
 * The body of a table is one block of memory without pointers, so its bytes
 * are the file's bytes. Everything else of a table is in the header.
 *
 * Loading trusts no byte. file.h checks that the file is undamaged. Then, before
 * anything is allocated, every number of the header is checked against its range,
 * and the lengths against each other and the file. Last, the kind checks every
 * cell. A loaded table is as sound as one that was made here.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "table/snapshot.h"
#include "base/pages.h"
#include "table/paused.h"
#include "table/side.h"
#include "table/epoch.h"
#include "table/groups.h"
#include "base/error.h"

/* -------------------------------------------------------------- the header */

/* In flags: the table had rules; a tick in portions was under way (version 6). */
enum { WITH_RULES = 1, PAUSED = 2 };

/* The common fields are file.h's. */
struct header {
	INK_FILE_FIRST; /* kind: enum ink_kind, never 0 */
	uint32_t states;
	uint32_t age_bits;
	uint32_t writers;
	uint32_t full; /* enum ink_full, never 0 */
	uint32_t flags;
	uint32_t state_bits;
	uint32_t d, b, h, f, q, side, dleft_flags; /* the geometry; the rest of it stands below */
	uint64_t flows;                            /* planned, as the next two */
	double error;
	double load;
	uint64_t secret[2];
	uint64_t now; /* the tick number */
	struct ink_counters counters;
	uint64_t cells_bytes;
	INK_FILE_LENGTHS;
	uint32_t clock_hand; /* of the side table: where the search for an expendable entry goes on */
	uint32_t k, m, counter_bits, threshold, bloom_flags;
	double unsure; /* planned */
	uint32_t side_id;
	unsigned char epoch[INK_STATE_CODES]; /* by state: epoch.h */
	uint32_t part;                        /* version 7 */
	struct ink_paused paused;             /* version 6 */
	unsigned char reserved[968];
	INK_FILE_LAST;
};

INK_FILE_CHECK(struct header);
_Static_assert(sizeof(struct ink_geometry) == 52 && sizeof(struct ink_counters) == 56,
	       "all of their fields are saved");

#define STANDS_AT(field, byte)                                                                               \
	_Static_assert(offsetof(struct header, field) == byte, "docs/format.md: " #byte)
STANDS_AT(writers, 28);
STANDS_AT(state_bits, 40);
STANDS_AT(d, 44);
STANDS_AT(flows, 72);
STANDS_AT(secret, 96);
STANDS_AT(now, 112);
STANDS_AT(counters, 120);
STANDS_AT(cells_bytes, 176);
STANDS_AT(clock_hand, 208);
STANDS_AT(k, 212);
STANDS_AT(unsure, 232);
STANDS_AT(side_id, 240);
STANDS_AT(epoch, 244);
STANDS_AT(part, 500);
STANDS_AT(paused, 504);
STANDS_AT(reserved, 3088);

/* ------------------------------------------------------------------ saving */

static struct header header_of(const struct ink_table *t)
{
	const struct ink_geometry *g = &t->plan.geometry;

	return (struct header){.kind = t->plan.kind,
			       .states = t->states,
			       .age_bits = t->plan.age_bits,
			       .writers = t->writers,
			       .full = t->full,
			       .flags = t->program || t->rules_expected ? WITH_RULES : 0,
			       .state_bits = t->plan.state_bits,
			       .d = g->d,
			       .b = g->b,
			       .h = g->h,
			       .f = g->f,
			       .q = g->q,
			       .side = g->side,
			       .dleft_flags = g->dleft_flags,
			       .k = g->k,
			       .m = g->m,
			       .counter_bits = g->counter_bits,
			       .threshold = g->threshold,
			       .bloom_flags = g->bloom_flags,
			       .side_id = g->side_id,
			       .part = t->plan.part,
			       .flows = t->plan.flows,
			       .error = t->plan.error,
			       .unsure = t->plan.unsure,
			       .load = t->plan.load,
			       .secret = {t->secret[0], t->secret[1]},
			       .now = t->aging.now,
			       .counters = t->counters,
			       .cells_bytes = ink_cells_bytes(&t->plan, t->full),
			       .body_bytes = t->body_bytes,
			       .clock_hand = t->side.clock_hand};
}

static void fill_header(struct header *h, const struct ink_table *t)
{
	*h = header_of(t);
	for (unsigned state = 0; ink_has_epochs(t) && state <= t->coding.unsure; state++)
		h->epoch[state] = (unsigned char)ink_epoch_of(t, state);
	h->version = h->part ? INK_FILE_BODIES : t->kind->version;
	if (ink_is_paused(t)) {
		h->version = h->version < INK_FILE_EXTRA ? INK_FILE_EXTRA : h->version;
		h->flags |= PAUSED;
		ink_pause_save(t, &h->paused);
	}
}

void ink_snapshot_header(const struct ink_table *t, void *page)
{
	fill_header(page, t);
	ink_file_complete(page, t->body);
}

static int save(const struct ink_table *t, const struct ink_file_target *to)
{
	struct header h;

	fill_header(&h, t);
	return ink_file_save(to, &h, t->body);
}

int ink_save(const struct ink_table *t, const char *path, struct ink_why *why)
{
	return ink_save_with(t, path, NULL, why);
}

int ink_save_with(const struct ink_table *t, const char *path, const struct ink_save_options *options,
		  struct ink_why *why)
{
	return save(t, &(struct ink_file_target){.path = path, .options = options, .why = why});
}

int ink_save_to(const struct ink_table *t, const struct ink_sink *sink,
		const struct ink_save_options *options, struct ink_why *why)
{
	return save(t, &(struct ink_file_target){.sink = sink, .options = options, .why = why});
}

int ink_save_buffer(const struct ink_table *t, struct ink_buffer *buffer,
		    const struct ink_save_options *options, struct ink_why *why)
{
	return save(t, &(struct ink_file_target){.buffer = buffer, .options = options, .why = why});
}

int ink_save_bytes(const struct ink_table *t, const struct ink_save_options *options, uint64_t *bytes,
		   struct ink_why *why)
{
	return ink_file_bytes(options, t->body_bytes, bytes, why);
}

/* --------------------------------------------------- loading: what it may say */

#define AT(field) offsetof(struct header, field)
#define BY_KIND(field) AT(field), offsetof(struct ink_header_ranges, field)

/* The numbers whose range is the kind's (kind.h). */
static const struct field {
	const char *name;
	size_t at;
	size_t range;
} fields[] = {
	{"writers", BY_KIND(writers)},
	{"full policy", BY_KIND(full)},
	{"d", BY_KIND(d)},
	{"b", BY_KIND(b)},
	{"h", BY_KIND(h)},
	{"f", BY_KIND(f)},
	{"q", BY_KIND(q)},
	{"side", BY_KIND(side)},
	{"dleft flags", BY_KIND(dleft_flags)},
	{"k", BY_KIND(k)},
	{"m", BY_KIND(m)},
	{"counter bits", BY_KIND(counter_bits)},
	{"threshold", BY_KIND(threshold)},
	{"side id bits", BY_KIND(side_id)},
	{"bloom flags", BY_KIND(bloom_flags)},
	{"part", BY_KIND(part)},
};

_Static_assert(sizeof fields / sizeof fields[0] ==
		       sizeof(struct ink_header_ranges) / sizeof(struct ink_bounds),
	       "every range is checked");

static int check_kind(const struct ink_file *f, const struct header *h)
{
	if (h->kind && ink_kind_find(h->kind))
		return 0;
	if (h->kind == INK_FILE_SET)
		return ink_file_wrong(f, -ENOTSUP, "holds a set of tables, not one: ink_load_set reads it");
	return ink_file_wrong(f, -ENOTSUP, "has kind %u, which this library does not know", h->kind);
}

static int check_field(const struct ink_file *f, const struct header *h, const char *name, size_t at,
		       struct ink_bounds r)
{
	uint32_t value;

	memcpy(&value, (const char *)h + at, sizeof value);
	if (value >= r.least && value <= r.most)
		return 0;
	return ink_file_wrong(f, -EBADMSG, "%s (byte %zu) is %u; in a table of this kind it is %u to %u",
			      name, at, value, r.least, r.most);
}

static int check_fields(const struct ink_file *f, const struct header *h)
{
	const char *ranges = (const char *)&ink_kind_find(h->kind)->ranges;
	int error = check_field(f, h, "states", AT(states), (struct ink_bounds){1, INK_MAX_STATES});

	if (!error)
		error = check_field(f, h, "age bits", AT(age_bits), (struct ink_bounds){0, INK_AGE_MAX_BITS});
	if (!error)
		error = check_field(f, h, "flags", AT(flags), (struct ink_bounds){0, WITH_RULES | PAUSED});
	for (size_t i = 0; i < sizeof fields / sizeof fields[0] && !error; i++) {
		struct ink_bounds range;

		memcpy(&range, ranges + fields[i].range, sizeof range);
		error = check_field(f, h, fields[i].name, fields[i].at, range);
	}
	return error;
}

static struct ink_plan plan_of(const struct header *h)
{
	struct ink_plan p = {.size = sizeof p,
			     .kind = (enum ink_kind)h->kind,
			     .flows = h->flows,
			     .error = h->error,
			     .unsure = h->unsure,
			     .load = h->load,
			     .state_bits = h->state_bits,
			     .age_bits = h->age_bits,
			     .part = h->part};

	p.geometry = (struct ink_geometry){h->d,         h->b,           h->h,      h->f, h->q,
					   h->side,      h->dleft_flags, h->k,      h->m, h->counter_bits,
					   h->threshold, h->bloom_flags, h->side_id};
	p.bytes = ink_table_bytes(&p, h->writers) + h->body_bytes;
	p.bits_per_flow = 8 * (double)p.bytes / (double)p.flows;
	return p;
}

/* The geometry in words. */
static int no_such_shape(const struct ink_file *f, const struct header *h)
{
	return ink_file_wrong(f, -EBADMSG,
			      "no table has the geometry d %u b %u h %u f %u q %u k %u m %u counter bits %u "
			      "threshold %u bloom flags %u part %u with %u states and codes of %u bits",
			      h->d, h->b, h->h, h->f, h->q, h->k, h->m, h->counter_bits, h->threshold,
			      h->bloom_flags, h->part, h->states, h->state_bits + h->age_bits);
}

static int check_state_bits(const struct ink_file *f, const struct header *h)
{
	const struct ink_kind_def *kind = ink_kind_find(h->kind);
	uint32_t state_bits = kind->state_bits ? kind->state_bits(h->states, h->counter_bits)
					       : ink_coding(h->states, 0).state_bits;

	if (h->state_bits == state_bits)
		return 0;
	return ink_file_wrong(f, -EBADMSG, "state bits (byte 40) is %u; %u states take %u", h->state_bits,
			      h->states, state_bits);
}

/* After check_state_bits: a plan takes them at their word. */
static int check_shape(const struct ink_file *f, const struct header *h)
{
	struct ink_plan plan = plan_of(h);
	struct ink_side_form form = ink_side_form(&plan);

	if (!ink_kind_find(h->kind)->fits(&plan, h->states))
		return no_such_shape(f, h);
	if ((h->side_id && h->side_id < INK_SIDE_LEAST_ID) || ink_side_width(form) > 8)
		return ink_file_wrong(f, -EBADMSG,
				      "no side table keeps %u bits of an id (byte 240) with %u lines",
				      h->side_id, h->b);
	if (h->clock_hand >= ink_side_positions(form) && h->clock_hand)
		return ink_file_wrong(f, -EBADMSG,
				      "clock_hand (byte 208) is %u; the side table has %u places",
				      h->clock_hand, ink_side_positions(form));
	return 0;
}

/* Only states that an entry can have are turned, and no further than their marks go round. */
static int check_epochs(const struct ink_file *f, const struct header *h)
{
	uint32_t unsure = ink_coding(h->states, h->age_bits).unsure;
	int has_epochs = (ink_kind_find(h->kind)->traits & INK_TRAIT_EPOCHS) != 0;

	for (uint32_t state = 0; state < INK_STATE_CODES; state++) {
		int stored = has_epochs && (state < h->states || state == unsure);
		uint32_t most = stored ? ink_age_top(h->age_bits) : 0;

		if (h->epoch[state] > most)
			return ink_file_wrong(
				f, -EBADMSG, "the epoch of state %u (byte %zu) is %u; it is %u at the most",
				state, offsetof(struct header, epoch) + state, h->epoch[state], most);
	}
	return 0;
}

/* Nothing is computed from these but what users are shown; they must be numbers all the same. */
static int check_plan(const struct ink_file *f, const struct header *h)
{
	if (h->flows == 0)
		return ink_file_wrong(f, -EBADMSG, "it was planned for no flows (byte 72)");
	if (!(h->error >= 0 && h->error <= 1))
		return ink_file_wrong(f, -EBADMSG, "the planned error (byte 80) is %g", h->error);
	if (!(h->unsure >= 0 && h->unsure <= 1))
		return ink_file_wrong(f, -EBADMSG, "the planned doubt (byte 232) is %g", h->unsure);
	if (!(h->load >= 0 && h->load <= 1.8e19))
		return ink_file_wrong(f, -EBADMSG, "the planned load (byte 88) is %g", h->load);
	return 0;
}

/* The header is in range, so none of these sums can overflow: the largest is below 2^48. */
static int check_lengths(const struct ink_file *f, const struct header *h)
{
	struct ink_plan p = plan_of(h);
	uint64_t cells = ink_cells_bytes(&p, (enum ink_full)h->full);
	uint64_t body = ink_body_round(cells + ink_side_bytes(ink_side_form(&p)));

	if (h->cells_bytes != cells || h->body_bytes != body)
		return ink_file_wrong(
			f, -EBADMSG,
			"cells of %llu and a body of %llu bytes do not fit the geometry; %llu and %llu do",
			(unsigned long long)h->cells_bytes, (unsigned long long)h->body_bytes,
			(unsigned long long)cells, (unsigned long long)body);
	return 0;
}

/* Up to version 5, and where no tick is under way, there is nothing behind the epochs; but for the part of version 7. */
static int check_reserved(const struct ink_file *f, const struct header *h)
{
	if (h->version < INK_FILE_EXTRA && h->flags & PAUSED)
		return ink_file_wrong(f, -EBADMSG, "flags (byte 36) are %u; version %u has no tick under way",
				      h->flags, h->version);
	if (h->version < INK_FILE_BODIES && h->part)
		return ink_file_wrong(f, -EBADMSG, "part (byte 500) is %u; version %u has none", h->part,
				      h->version);
	return ink_file_reserved(f, h,
				 h->flags & PAUSED ? offsetof(struct header, reserved)
						   : offsetof(struct header, paused));
}

static int check_header(const struct ink_file *f, const struct header *h)
{
	int error = check_kind(f, h);

	if (!error)
		error = check_reserved(f, h);
	if (!error)
		error = check_fields(f, h);
	if (!error)
		error = check_state_bits(f, h);
	if (!error)
		error = check_shape(f, h);
	if (!error)
		error = check_epochs(f, h);
	if (!error)
		error = check_plan(f, h);
	return error ? error : check_lengths(f, h);
}

/* ---------------------------------------------------------- loading: the table */

/*
 * All that the body does not hold. Which lines hold entries and whether overflow flags
 * are set is not known without looking at every line; the next tick does that.
 */
static void fill_table(struct ink_table *t, const struct header *h)
{
	t->states = h->states;
	t->full = (enum ink_full)h->full;
	t->rules_expected = (h->flags & WITH_RULES) != 0;
	memcpy(t->secret, h->secret, sizeof t->secret);
	t->counters = h->counters;
	t->aging.now = t->aging.target = h->now;
	t->aging.flagged = t->aging.ever_flagged = 1;
	ink_groups_note_all(t);
}

/* Time, once the shape is there. Of the two tables of epochs one is read; a tick writes the other. */
static int fill_time(const struct ink_file *f, struct ink_table *t, const struct header *h)
{
	const char *wrong;

	for (unsigned state = 0; ink_has_epochs(t) && state <= t->coding.unsure; state++)
		ink_epoch_set(t, ink_view_table(t->aging.view), state, h->epoch[state]);
	if (!(h->flags & PAUSED))
		return 0;
	wrong = ink_pause_check(t, &h->paused);
	if (wrong)
		return ink_file_wrong(f, -EBADMSG, "%s", wrong);
	ink_pause_restore(t, &h->paused);
	return 0;
}

/* If the checksum is trusted, only what keeps operations inside the table's memory. */
static const char *body_is_wrong(const struct ink_file *f, const struct ink_table *t)
{
	return f->trust && t->ops->check_bounds ? t->ops->check_bounds(t) : t->ops->check(t);
}

static int check_body(const struct ink_file *f, const struct ink_table *t, const struct ink_body *body,
		      const struct header *h)
{
	int error = ink_file_padding(f, body, h->cells_bytes + ink_side_bytes(t->side.form));
	const char *wrong;

	if (error)
		return error;
	wrong = body_is_wrong(f, t);
	return wrong ? ink_file_wrong(f, -EBADMSG, "the body is unsound: %s", wrong) : 0;
}

static int load_body(struct ink_file *f, struct ink_table *t, const struct header *h)
{
	struct ink_body body;
	int error = ink_file_body(f, h, &body);

	if (error)
		return error;
	ink_table_set_body(t, body.at, body.bytes);
	t->body_is_mapped = body.is_mapped;
	ink_table_attach(t);
	t->side.clock_hand = h->clock_hand;
	if (h->version < t->kind->version)
		t->kind->convert(t);
	error = fill_time(f, t, h);
	return error ? error : check_body(f, t, &body, h);
}

/* The header has been checked. */
static int load_table(struct ink_file *f, const struct header *h, struct ink_table **t)
{
	struct ink_plan plan = plan_of(h);
	const struct ink_ops *ops = ink_kind_ops(&plan, h->writers, f->options.simd);
	int error = ink_file_limit(f, plan.bytes);

	if (!ops)
		return ink_file_wrong(f, -ENOTSUP, "this processor lacks the requested instructions");
	if (error)
		return error;
	*t = ink_table_alloc(&plan, h->writers, &f->allocator);
	if (!*t)
		return ink_file_wrong(f, -ENOMEM, "no memory for a table");
	(*t)->ops = ops;
	fill_table(*t, h);
	return load_body(f, *t, h);
}

int ink_snapshot_load(struct ink_file *f, struct ink_table **t)
{
	struct header h;
	int error = ink_file_open(f, &h);

	*t = NULL;
	if (!error)
		error = check_header(f, &h);
	if (!error)
		error = load_table(f, &h, t);
	ink_file_close(f);
	if (error) {
		ink_free(*t);
		*t = NULL;
	}
	return error;
}

static struct ink_table *load(struct ink_file *f)
{
	struct ink_table *t;
	int error = ink_snapshot_load(f, &t);

	if (error)
		errno = -error;
	return t;
}

struct ink_table *ink_load(const char *path, enum ink_load how, struct ink_why *why)
{
	struct ink_load_options o = {.size = sizeof o, .how = how};

	return ink_load_with(path, &o, why);
}

struct ink_table *ink_load_with(const char *path, const struct ink_load_options *options, struct ink_why *why)
{
	return load(&(struct ink_file){.path = path, .load = options, .why = why});
}

struct ink_table *ink_load_from(const struct ink_source *source, const struct ink_load_options *options,
				struct ink_why *why)
{
	return load(&(struct ink_file){.source = source, .load = options, .why = why});
}

struct ink_table *ink_load_buffer(const void *bytes, size_t n, const struct ink_load_options *options,
				  struct ink_why *why)
{
	return load(&(struct ink_file){.bytes = bytes, .n = n, .load = options, .why = why});
}
