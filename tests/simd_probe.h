/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the instruction sets do to lines, as pointers: their headers give the
 * same names to different functions, so each has to be compiled apart
 * (simd_probe.c), and test_line.c calls both.
 */
#ifndef INKLING_TESTS_SIMD_PROBE_H
#define INKLING_TESTS_SIMD_PROBE_H

#include "kinds/compact/compact.h"
#include "kinds/line/slots.h"
#include "table/table.h"

struct simd_probe {
	/* line */
	void (*places)(const struct ink_line_shape *s, const uint64_t *ids, size_t n,
		       struct line_place *places);
	void (*others)(const struct ink_line_shape *s, uint32_t part, uint64_t word, uint64_t others[4]);
	uint32_t (*slots)(const struct ink_line_shape *s, const struct ink_line *line, uint32_t fingerprint);
	uint32_t (*part_slots)(const struct ink_line_shape *s, const uint64_t *part, uint32_t fingerprint);
	uint64_t (*pair_slots)(const struct ink_line_shape *s, const uint64_t *first, const uint64_t *second,
			       uint32_t fingerprint);
	uint32_t (*words_free)(const struct ink_line_shape *s, const uint64_t *all, const uint64_t parts[4]);
	int (*pair_may_have)(const struct ink_line_shape *s, const uint64_t *first, const uint64_t *second,
			     uint32_t fingerprint);
	uint32_t (*look)(const struct ink_line_shape *s, const struct ink_line_looks *l,
			 const struct ink_line *line);
	/* compact */
	unsigned (*select)(uint64_t bits, unsigned k);
	enum search (*search)(const struct ink_compact_shape *s); /* by bytes: the next may err with others */
	uint64_t (*remainder_slots)(const struct ink_compact_shape *s, const uint64_t *w, uint32_t remainder);
	void (*compact_places)(const struct ink_compact_shape *s, uint32_t lines, const uint64_t *ids,
			       size_t n, struct place *places);
	void (*entry_open)(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, struct entry e);
	void (*entry_close)(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, uint32_t bucket);
	unsigned (*code_get)(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot);
	void (*code_put)(const struct ink_compact_shape *s, uint64_t *w, unsigned slot, unsigned code);
	uint64_t (*bucket_slots)(const struct ink_compact_shape *s, const uint64_t *w, uint32_t bucket);
	uint32_t (*slot_bucket)(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot);
	int (*slot_holds)(const struct ink_compact_shape *s, const uint64_t *w, unsigned slot,
			  const struct place *p, unsigned *code);
	uint64_t (*line_candidates)(const struct ink_compact_shape *s, const uint64_t *w,
				    const struct place *p);
	unsigned (*gather)(uint64_t bits, unsigned stride);
	uint64_t (*scatter)(unsigned byte, unsigned stride);
	void (*planes_get)(const struct ink_compact_shape *s, const uint64_t *w, struct plane_range range,
			   uint64_t *planes);
	void (*planes_put)(const struct ink_compact_shape *s, uint64_t *w, struct plane_range range,
			   const uint64_t *planes);
	const struct ink_ops *ops; /* so that nothing of the cells is unused */
};

extern const struct simd_probe simd_probe_portable, simd_probe_avx2;

#endif
