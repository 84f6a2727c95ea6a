/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/kbf_pairs.h"

#include <stdlib.h>

#include "kbf/dict.h"

struct bench_pairs {
	struct ink_kbf_dict *dict;
	struct ink_power_sums sums[BENCH_PAIRS];
	uint32_t one[BENCH_PAIRS], other[BENCH_PAIRS];
};

static uint32_t next_symbol(uint64_t *state, uint32_t values)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(((*state >> 32) * values) >> 32);
}

/* Two different ones: greedy codes cannot tell two equal ones. */
static void fill(struct bench_pairs *p, enum ink_kbf_encoding e, uint32_t values)
{
	uint64_t state = 1;

	for (uint32_t i = 0; i < BENCH_PAIRS; i++) {
		p->one[i] = next_symbol(&state, values);
		do
			p->other[i] = next_symbol(&state, values);
		while (p->other[i] == p->one[i]);
		p->sums[i] =
			ink_encoded_add(p->dict, e, p->dict->codes[p->one[i]], p->dict->codes[p->other[i]]);
	}
}

struct bench_pairs *bench_pairs_make(enum ink_kbf_encoding encoding, uint32_t values)
{
	struct ink_kbf_dict_options o = {
		.size = sizeof o, .encoding = encoding, .values = values, .seed = 1
	};
	struct bench_pairs *p = calloc(1, sizeof *p);

	if (p)
		p->dict = ink_kbf_dict_create(&o, NULL);
	for (uint32_t i = 0; p && i < values; i++)
		if (!p->dict || ink_kbf_dict_add(p->dict, (struct ink_bytes){ &i, sizeof i }, NULL)) {
			bench_pairs_free(p);
			return NULL;
		}
	if (p)
		fill(p, encoding, values);
	return p;
}

void bench_pairs_free(struct bench_pairs *p)
{
	if (p)
		ink_kbf_dict_free(p->dict);
	free(p);
}

/* The encoding is a constant here, as it is where cells are read. */
INK_PER_ENCODING uint64_t decode(const struct bench_pairs *p, enum ink_kbf_encoding e)
{
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < BENCH_PAIRS; i++) {
		uint32_t pair[2] = { 0, 0 };
		int found = ink_symbol_pair(p->dict, e, p->sums[i], pair);

		wrong += !found || pair[0] + pair[1] != p->one[i] + p->other[i];
	}
	return wrong;
}

uint64_t bench_pairs_decode(const struct bench_pairs *p)
{
	if (p->dict->encoding == INK_KBF_POWER_SUMS)
		return decode(p, INK_KBF_POWER_SUMS);
	if (p->dict->encoding == INK_KBF_POWER_SUMS_WIDE)
		return decode(p, INK_KBF_POWER_SUMS_WIDE);
	return decode(p, INK_KBF_GREEDY);
}
