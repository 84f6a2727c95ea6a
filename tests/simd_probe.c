/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiled once for each instruction set: see simd_probe.h. The headers of
 * `line` come first, for they use less.
 */
#include "tests/simd_probe.h"

#include "kinds/line/find_avx2.h"
#include "kinds/line/find_portable.h"

#include "kinds/compact/check.h"
#include "kinds/compact/sweep.h"

#include "engine/engine.h"

static uint32_t look(const struct ink_line_shape *s, const struct ink_line_looks *l,
		     const struct ink_line *line)
{
	struct line_looker looker = line_looker(s, l);

	return line_look(&looker, line);
}

#if INK_AVX2
#define PROBE simd_probe_avx2
#else
#define PROBE simd_probe_portable
#endif

const struct simd_probe PROBE = {
	.places = line_places,
	.others = word_others,
	.slots = line_slots,
	.part_slots = part_slots,
	.pair_slots = pair_slots,
	.words_free = words_free,
	.pair_may_have = pair_may_have,
	.look = look,
	.select = select_bit,
	.search = search_of,
	.remainder_slots = remainder_slots,
	.compact_places = compact_places,
	.entry_open = entry_open,
	.entry_close = entry_close,
	.code_get = code_get,
	.code_put = code_put,
	.bucket_slots = bucket_slots,
	.slot_bucket = slot_bucket,
	.slot_holds = slot_holds,
	.line_candidates = line_candidates,
	.gather = bits_gather,
	.scatter = bits_scatter,
	.planes_get = planes_get,
	.planes_put = planes_put,
	.ops = &verbs,
};
