/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From flows, states and error to bytes, and back: what is asked, and who
 * answers. How the numbers come about stands with each family of kinds:
 * buckets.c (line, compact, dleft), bloom.c (stateful, direct), kbf.c, exact.c.
 */
#include "base/grow.h"
#include "table/plan.h"
#include "table/search.h"

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
	if ((unsigned)o->kind > INK_KBF || (unsigned)o->full > INK_REPLACE ||
	    (unsigned)o->simd > INK_SIMD_AVX2)
		return ink_fail(why, -EINVAL, "options: kind %d, full %d or simd %d is unknown",
				   (int)o->kind, (int)o->full, (int)o->simd);
	if (o->states < 1 || o->states > INK_MAX_STATES)
		return ink_fail(why, -EINVAL, "options: %u states; 1 to %d are possible", o->states,
				   INK_MAX_STATES);
	if (o->age_bits > INK_AGE_MAX_BITS)
		return ink_fail(why, -EINVAL, "options: %u age bits; 0, 1 or 2 are possible", o->age_bits);
	if (!(o->error >= 0 && o->error < 1))
		return ink_fail(why, -EINVAL, "options: error %g; it must lie between 0 and 1", o->error);
	if (!o->flows && !o->bytes && !((o->geometry.b || o->geometry.m) && o->kind != INK_EXACT))
		return ink_fail(why, -EINVAL, "options: neither flows nor bytes are given");
	if (o->flows > INK_MOST_FLOWS)
		return ink_fail(why, -ERANGE, "options: %llu flows; 2^40 are possible",
				   (unsigned long long)o->flows);
	return 0;
}

static int is_bloom(enum ink_kind kind)
{
	return kind == INK_STATEFUL || kind == INK_DIRECT;
}

/* Nothing is asked for in vain: what belongs to other kinds is an error. */
static int check_geometry(const struct ink_options *o, struct ink_why *why)
{
	const struct ink_geometry *g = &o->geometry;
	int no_side = g->side == 0 || g->side == INK_NO_SIDE;

	if (is_bloom(o->kind) && (g->d || g->b || g->h || g->f || g->q || g->dleft_flags || !no_side))
		return ink_fail(why, -EINVAL,
				   "geometry: %s has k, m and what follows them, nothing before",
				   ink_kind_name(o->kind));
	if (o->kind == INK_KBF && (g->d || g->b || g->h || g->f || g->dleft_flags))
		return ink_fail(why, -EINVAL, "geometry: kbf has q, side, k and m, and nothing else");
	if (!is_bloom(o->kind) && (g->counter_bits || g->threshold || g->bloom_flags))
		return ink_fail(why, -EINVAL, "geometry: counters, thresholds and blocks are for stateful and direct");
	if (!is_bloom(o->kind) && o->kind != INK_KBF && (g->k || g->m))
		return ink_fail(why, -EINVAL, "geometry: k and m are for stateful, direct and kbf");
	if (g->side_id && o->kind != INK_LINE && o->kind != INK_COMPACT && o->kind != INK_KIND_DEFAULT)
		return ink_fail(why, -EINVAL, "geometry: side_id is for line and compact");
	if (g->side_id && (g->side_id < INK_SIDE_LEAST_ID || g->side_id > INK_SIDE_MOST_ID))
		return ink_fail(why, -EINVAL,
				   "geometry: side_id is %u; %d to %d bits are possible, or 0 for as many as fit",
				   g->side_id, INK_SIDE_LEAST_ID, INK_SIDE_MOST_ID);
	if (!no_side && g->side > INK_SIDE_MOST)
		return ink_fail(why, -EINVAL, "geometry: side is %u; 2^30 entries are possible", g->side);
	if (g->b > INK_MOST_BUCKETS)
		return ink_fail(why, -EINVAL, "options: %u lines or buckets; 2^28 are possible", g->b);
	if (g->dleft_flags && o->kind != INK_DLEFT)
		return ink_fail(why, -EINVAL, "geometry: dleft_flags are for dleft");
	if (g->dleft_flags & ~(INK_DLEFT_COPY | INK_DLEFT_REINSERT | INK_DLEFT_KEEP))
		return ink_fail(why, -EINVAL, "options: dleft_flags %#x are unknown", g->dleft_flags);
	return 0;
}

int ink_resolve(const struct ink_options *o, struct ink_options *r, struct ink_why *why)
{
	int error = check_options(o, why);

	if (!error)
		error = check_geometry(o, why);
	if (error)
		return error;
	*r = *o;
	r->kind = o->kind ? o->kind : INK_LINE;
	r->full = o->full ? o->full : INK_UNSURE;
	r->writers = o->writers ? o->writers : 1;
	r->error = o->error > 0 ? o->error : DEFAULT_ERROR;
	if (r->writers > 1 && r->kind != INK_LINE)
		return ink_fail(why, -ENOTSUP, "options: %u writers; only the kind line has more than one",
				   r->writers);
	if (r->full == INK_REPLACE && is_bloom(r->kind))
		return ink_fail(why, -ENOTSUP, "options: %s cannot replace; it always finds room",
				   ink_kind_name(r->kind));
	return 0;
}

/* ------------------------------------------------------------------- names, bytes */

const char *ink_kind_name(enum ink_kind kind)
{
	static const char *const names[] = {"line",  "line",     "compact", "dleft",
					    "exact", "stateful", "direct",  "kbf"};

	return names[kind];
}

/* Cells back to back, and a word behind them, so that a cell can be read as if it reached into it. */
static uint64_t packed_bytes(uint64_t bits)
{
	return (bits + 63) / 64 * 8 + 8;
}

static uint64_t bloom_bytes(const struct ink_plan *p)
{
	uint64_t bits = ink_bloom_cell_bits(p);

	if (p->geometry.bloom_flags & INK_BLOOM_BLOCKED)
		return p->geometry.m / (512 / bits) * 64;
	return packed_bytes(p->geometry.m * bits);
}

uint64_t ink_cells_bytes(const struct ink_plan *p, enum ink_full full)
{
	const struct ink_geometry *g = &p->geometry;
	uint64_t buckets = (uint64_t)g->d * g->b;

	switch (p->kind) {
	case INK_LINE:
	case INK_COMPACT:
		return (uint64_t)g->b * sizeof(struct ink_line);
	case INK_EXACT:
		return (uint64_t)g->b * 16;
	case INK_STATEFUL:
	case INK_DIRECT:
		return bloom_bytes(p);
	case INK_KBF:
		return ink_kbf_masks_at(g) + ink_kbf_masks_bytes(g);
	default:
		return packed_bytes(buckets * g->h * (g->f + p->state_bits + p->age_bits)) +
		       (full == INK_REFUSE ? 0 : (buckets + 63) / 64 * 8);
	}
}

int ink_plan_too_large(const struct wish *w, const struct ink_plan *p, struct ink_why *why)
{
	return ink_fail(why, -ERANGE, "%s: %llu flow%s at error %g %s %llu bytes, %llu %s allowed",
			   ink_kind_name(p->kind), (unsigned long long)p->flows, ink_plural(p->flows),
			   p->error, p->flows == 1 ? "takes" : "take", (unsigned long long)p->bytes,
			   (unsigned long long)w->o->bytes, ink_are(w->o->bytes));
}

/* --------------------------------------------------------------------- the call */

static ink_planner *planner_of(enum ink_kind kind)
{
	switch (kind) {
	case INK_EXACT:
		return ink_plan_exact;
	case INK_STATEFUL:
	case INK_DIRECT:
		return ink_plan_bloom;
	case INK_KBF:
		return ink_plan_kbf;
	default:
		return ink_plan_buckets;
	}
}

int ink_plan_resolved(const struct ink_options *asked, const struct ink_options *o, struct ink_plan *plan,
		      struct ink_why *why)
{
	struct wish w = {asked, o, ink_coding(o->states, o->age_bits)};
	int error = planner_of(o->kind)(&w, plan, why);

	if (!error && o->bytes && plan->bytes > o->bytes)
		return ink_plan_too_large(&w, plan, why);
	return error;
}

int ink_plan(const struct ink_options *options, struct ink_plan *plan, struct ink_why *why)
{
	struct ink_options asked, resolved;
	struct ink_plan made;
	int error = ink_options_read(&asked, options, why);

	if (!error)
		error = ink_struct_check(&plan_struct, plan, why);
	if (!error)
		error = ink_resolve(&asked, &resolved, why);
	if (!error)
		error = ink_plan_resolved(&asked, &resolved, &made, why);
	return error ? error : ink_struct_write(&plan_struct, plan, &made, why);
}
