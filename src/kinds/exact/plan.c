/* SPDX-License-Identifier: BSD-2-Clause */
/* The plan of `exact`: never mistaken, so there is nothing to choose. */
#include "table/search.h"

#define MOST_SLOTS (1u << 31) /* the largest power of two that geometry.b can say */

/* A power of two of slots, at most 7/8 of them taken; it grows when that is not enough. */
static struct ink_plan exact_plan(const struct wish *w, uint64_t slots, uint64_t flows)
{
	struct ink_plan p = {
		.size = sizeof p, .kind = INK_EXACT, .flows = flows, .age_bits = w->coding.age_bits};

	p.state_bits = w->coding.state_bits;
	p.geometry = (struct ink_geometry){.d = 1, .b = (uint32_t)slots, .h = 1, .f = 64};
	p.load = (double)flows / (double)slots;
	p.bytes = ink_table_bytes(&p, 1) + ink_body_round(ink_cells_bytes(&p, w->o->full));
	p.bits_per_flow = 8 * (double)p.bytes / (double)flows;
	return p;
}

/* As many slots as are asked for, or as many as there is room for. */
static uint64_t slots_for(const struct wish *w)
{
	uint64_t slots = 256;

	if (w->o->flows)
		while (slots < MOST_SLOTS && slots / 8 * 7 < w->o->flows)
			slots *= 2;
	else
		while (slots < MOST_SLOTS && exact_plan(w, slots * 2, slots).bytes <= w->o->bytes)
			slots *= 2;
	return slots;
}

int ink_plan_exact(const struct wish *w, struct ink_plan *plan, struct ink_why *why)
{
	uint64_t slots = slots_for(w), flows = w->o->flows ? w->o->flows : slots / 8 * 7;

	if (slots / 8 * 7 < flows)
		return ink_fail(why, -ERANGE, "exact: %llu flows are more than its 2^31 slots hold",
				   (unsigned long long)flows);
	*plan = exact_plan(w, slots, flows);
	return 0;
}
