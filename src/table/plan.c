/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From flows, states and error to bytes, and back: the options are checked and
 * completed, and the kind plans (kind.h). How the numbers come about is explained
 * with the kinds: buckets.c here for those of buckets, plan.c in src/kinds/bloom and
 * src/kinds/sums, exact.c.
 */
#include "table/plan.h"

#include "base/grow.h"
#include "base/pages.h"

/* ----------------------------------------------------------------- options */

#define DEFAULT_ERROR (1.0 / 1024)

/* Their sizes at the first release. */
static const struct ink_struct options_struct = {"options", 128, sizeof(struct ink_options)};
static const struct ink_struct plan_struct = {"plan", 128, sizeof(struct ink_plan)};

int ink_options_read(struct ink_options *ours, const struct ink_options *theirs, struct ink_why *why)
{
	return ink_struct_read(&options_struct, ours, theirs, why);
}

static int check_options(const struct ink_options *o, struct ink_why *why)
{
	if (!ink_kind_find(o->kind) || (unsigned)o->full > INK_REPLACE || (unsigned)o->simd > INK_SIMD_AVX2)
		return ink_fail(why, -EINVAL, "options: kind %d, full %d or simd %d is unknown", (int)o->kind,
				(int)o->full, (int)o->simd);
	if (o->states < 1 || o->states > INK_MAX_STATES)
		return ink_fail(why, -EINVAL, "options: %u states; 1 to %d are possible", o->states,
				INK_MAX_STATES);
	if (o->age_bits > INK_AGE_MAX_BITS)
		return ink_fail(why, -EINVAL, "options: %u age bits; 0, 1 or 2 are possible", o->age_bits);
	if (!(o->error >= 0 && o->error < 1))
		return ink_fail(why, -EINVAL, "options: error %g; it must lie between 0 and 1", o->error);
	if (!o->flows && !o->bytes && !o->geometry.b && !o->geometry.m)
		return ink_fail(why, -EINVAL, "options: neither flows nor bytes are given");
	if (o->part && o->part != 64 && o->part != 32 && o->part != 16 && o->part != 8)
		return ink_fail(why, -EINVAL, "options: part is %u; 64, 32, 16 or 8 bytes are possible, or 0",
				o->part);
	if (o->flows > INK_MOST_FLOWS)
		return ink_fail(why, -ERANGE, "options: %llu flows; 2^40 are possible",
				(unsigned long long)o->flows);
	return 0;
}

static const char *const geometry_names[] = {"d",         "b",           "h",      "f", "q",
					     "side",      "dleft_flags", "k",      "m", "counter_bits",
					     "threshold", "bloom_flags", "side_id"};

enum { GEOMETRY_FIELDS = sizeof geometry_names / sizeof geometry_names[0] };

_Static_assert(sizeof(struct ink_geometry) == GEOMETRY_FIELDS * sizeof(uint32_t), "all have names");

/* A list for a message: "k, m, counter_bits". There is room for all fields and for all kinds. */
struct list {
	char text[120];
};

static void list_add(struct list *l, const char *word)
{
	size_t length = strlen(l->text);

	snprintf(l->text + length, sizeof l->text - length, "%s%s", length ? ", " : "", word);
}

/* The fields of a mask. */
static struct list list_fields(unsigned mask)
{
	struct list l = {""};

	for (unsigned i = 0; i < GEOMETRY_FIELDS; i++)
		if (mask >> i & 1)
			list_add(&l, geometry_names[i]);
	return l;
}

/* The kinds that can do all of `can`. */
static struct list list_kinds(unsigned can)
{
	const struct ink_kind_def *kind;
	struct list l = {""};

	for (unsigned i = 1; (kind = ink_kind_find(i)); i++)
		if ((kind->info.can & can) == can)
			list_add(&l, kind->info.name);
	return l;
}

static int fail_field(const struct ink_kind_info *info, const char *field, struct ink_why *why)
{
	struct list taken = list_fields(info->geometry);

	if (!info->geometry)
		return ink_fail(why, -EINVAL, "geometry: %s takes none, so %s must be 0", info->name, field);
	return ink_fail(why, -EINVAL, "geometry: %s has no %s; it has: %s", info->name, field, taken.text);
}

/* A field that the kind does not take is refused: it would be ignored. No side table is no request for one. */
static int check_fields(const struct ink_options *o, struct ink_why *why)
{
	const struct ink_kind_info *info = &ink_kind_find(o->kind)->info;
	struct ink_geometry given = o->geometry;
	uint32_t fields[GEOMETRY_FIELDS];

	if (given.side == INK_NO_SIDE)
		given.side = 0;
	memcpy(fields, &given, sizeof fields);
	for (unsigned i = 0; i < GEOMETRY_FIELDS; i++)
		if (fields[i] && !(info->geometry >> i & 1))
			return fail_field(info, geometry_names[i], why);
	return 0;
}

static int check_geometry(const struct ink_options *o, struct ink_why *why)
{
	const struct ink_geometry *g = &o->geometry;

	if (g->side_id && (g->side_id < INK_SIDE_LEAST_ID || g->side_id > INK_SIDE_MOST_ID))
		return ink_fail(
			why, -EINVAL,
			"geometry: side_id is %u; %d to %d bits are possible, or 0 for as many as fit",
			g->side_id, INK_SIDE_LEAST_ID, INK_SIDE_MOST_ID);
	if (g->side != INK_NO_SIDE && g->side > INK_SIDE_MOST)
		return ink_fail(why, -EINVAL, "geometry: side is %u; 2^30 entries are possible", g->side);
	if (g->b > INK_MOST_BUCKETS)
		return ink_fail(why, -EINVAL, "options: %u lines or buckets; 2^28 are possible", g->b);
	return 0;
}

/* What the kind can do, as users are told it. */
static int check_abilities(const struct ink_options *o, struct ink_why *why)
{
	const struct ink_kind_def *kind = ink_kind_find(o->kind);

	if (o->writers > 1 && !(kind->info.can & INK_CAN_MANY_WRITERS))
		return ink_fail(why, -ENOTSUP, "options: %u writers; kinds with more than one: %s",
				o->writers, list_kinds(INK_CAN_MANY_WRITERS).text);
	if (o->full == INK_REPLACE && !(kind->info.can & INK_CAN_REPLACE))
		return ink_fail(why, -ENOTSUP, "options: %s cannot replace; it always finds room",
				kind->info.name);
	if (o->part && !kind->ranges.part.most)
		return ink_fail(why, -ENOTSUP, "options: part is %u; kinds with parts: %s", o->part,
				list_kinds(INK_CAN_PARTS).text);
	return kind->accept ? kind->accept(o, why) : 0;
}

int ink_resolve(const struct ink_options *o, struct ink_options *r, struct ink_why *why)
{
	int error = check_options(o, why);

	if (!error)
		error = check_fields(o, why);
	if (!error)
		error = check_geometry(o, why);
	if (error)
		return error;
	*r = *o;
	r->kind = ink_kind_find(o->kind)->info.kind;
	r->full = o->full ? o->full : INK_UNSURE;
	r->writers = o->writers ? o->writers : 1;
	r->error = o->error > 0 ? o->error : DEFAULT_ERROR;
	return check_abilities(r, why);
}

/* ---------------------------------------------------------------------- bytes */

uint64_t ink_plan_bytes(const struct ink_plan *plan, enum ink_full full, unsigned writers)
{
	uint64_t side = ink_side_bytes(ink_side_form(plan));

	return ink_table_bytes(plan, writers) + ink_body_round(ink_cells_bytes(plan, full) + side);
}

int ink_plan_too_large(const struct ink_request *req, const struct ink_plan *p, struct ink_why *why)
{
	return ink_fail(why, -ERANGE, "%s: %llu flow%s at error %g %s %llu bytes, %llu %s allowed",
			ink_kind_name(p->kind), (unsigned long long)p->flows, ink_plural(p->flows), p->error,
			p->flows == 1 ? "takes" : "take", (unsigned long long)p->bytes,
			(unsigned long long)req->o->bytes, ink_are(req->o->bytes));
}

/* --------------------------------------------------------------------- the call */

int ink_plan_resolved(const struct ink_options *requested, const struct ink_options *o, struct ink_plan *plan,
		      struct ink_why *why)
{
	struct ink_request req = {requested, o, ink_coding(o->states, o->age_bits)};
	int error = ink_kind_find(o->kind)->plan(&req, plan, why);

	if (!error && o->bytes && plan->bytes > o->bytes)
		return ink_plan_too_large(&req, plan, why);
	return error;
}

int ink_plan(const struct ink_options *options, struct ink_plan *plan, struct ink_why *why)
{
	struct ink_options requested, resolved;
	struct ink_plan made;
	int error = ink_options_read(&requested, options, why);

	if (!error)
		error = ink_struct_check(&plan_struct, plan, why);
	if (!error)
		error = ink_resolve(&requested, &resolved, why);
	if (!error)
		error = ink_plan_resolved(&requested, &resolved, &made, why);
	return error ? error : ink_struct_write(&plan_struct, plan, &made, why);
}
