/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For the tests of the kBF: every encoding with every decoding and both widths
 * of counters; keys and values by number; and a geometry so small that every
 * situation can be brought about.
 */
#ifndef INKLING_TESTS_KBF_HELP_H
#define INKLING_TESTS_KBF_HELP_H

#include "kbf/filter.h"
#include "tests/random.h"
#include "tests/test.h"

/* --------------------------------------------------------------- variants */

struct variant {
	const char *name;
	enum ink_kbf_encoding encoding;
	enum ink_kbf_decoding decoding;
	unsigned counter_bits;
};

static const struct variant variants[] = {
	{"power sums, joint", INK_KBF_POWER_SUMS, INK_KBF_JOINT, 4},
	{"power sums, joint, 3 bits", INK_KBF_POWER_SUMS, INK_KBF_JOINT, 3},
	{"power sums, paper", INK_KBF_POWER_SUMS, INK_KBF_PAPER, 4},
	{"power sums, paper with triples", INK_KBF_POWER_SUMS, INK_KBF_PAPER_TRIPLES, 4},
	{"wide, joint", INK_KBF_POWER_SUMS_WIDE, INK_KBF_JOINT, 4},
	{"wide, joint, 3 bits", INK_KBF_POWER_SUMS_WIDE, INK_KBF_JOINT, 3},
	{"wide, paper", INK_KBF_POWER_SUMS_WIDE, INK_KBF_PAPER, 4},
	{"wide, paper with triples", INK_KBF_POWER_SUMS_WIDE, INK_KBF_PAPER_TRIPLES, 4},
	{"greedy, joint", INK_KBF_GREEDY, INK_KBF_JOINT, 4},
	{"greedy, joint, 3 bits", INK_KBF_GREEDY, INK_KBF_JOINT, 3},
	{"greedy, paper, 3 bits", INK_KBF_GREEDY, INK_KBF_PAPER, 3},
	{"greedy, paper with triples, 3 bits", INK_KBF_GREEDY, INK_KBF_PAPER_TRIPLES, 3},
};

enum { VARIANTS = sizeof variants / sizeof variants[0] };

/* ----------------------------------------------------------- keys and values */

/* Both stay as they are for the next seven calls. */
static inline struct ink_bytes numbered(const char *format, uint64_t i)
{
	static char texts[8][40];
	static unsigned next;
	char *text = texts[next++ % 8];
	int length = snprintf(text, sizeof texts[0], format, (unsigned long long)i);

	return (struct ink_bytes){text, (size_t)length};
}

static inline struct ink_bytes key_number(uint64_t i)
{
	return numbered("key %llu", i);
}

static inline struct ink_bytes value_number(uint64_t i)
{
	return numbered("value %llu", i);
}

/* Its number, of a value. */
static inline uint64_t number_of(struct ink_bytes value)
{
	char text[40] = "";

	assert_true(value.length > 6 && value.length < sizeof text);
	memcpy(text, value.bytes, value.length);
	return strtoull(text + 6, NULL, 10);
}

/* ---------------------------------------------------- what the teardown frees */

static struct ink_kbf *kept_filters[64];
static struct ink_kbf_dict *kept_dicts[64];
static size_t filters_kept, dicts_kept;

static inline struct ink_kbf *keep_filter(struct ink_kbf *f)
{
	assert_true(filters_kept < sizeof kept_filters / sizeof kept_filters[0]);
	return kept_filters[filters_kept++] = f;
}

static inline struct ink_kbf_dict *keep_dict(struct ink_kbf_dict *d)
{
	assert_true(dicts_kept < sizeof kept_dicts / sizeof kept_dicts[0]);
	return kept_dicts[dicts_kept++] = d;
}

static inline void free_kept(void)
{
	while (filters_kept)
		ink_kbf_free(kept_filters[--filters_kept]);
	while (dicts_kept)
		ink_kbf_dict_free(kept_dicts[--dicts_kept]);
}

static inline int free_all(void **state)
{
	free_kept();
	return 0;
}

/* One pass for each variant `v`; what is kept is freed after each. */
#define EACH_VARIANT(v) for (const struct variant *v = variants; v < variants + VARIANTS; v++, free_kept())

/* ------------------------------------------------------------------ making */

static inline struct ink_kbf_dict *make_dict(enum ink_kbf_encoding encoding, uint32_t values)
{
	struct ink_kbf_dict_options o = {.size = sizeof o, .encoding = encoding, .values = values, .seed = 1};
	struct ink_why why = {""};
	struct ink_kbf_dict *d = ink_kbf_dict_create(&o, &why);

	if (!d)
		fail_msg("%s", why.text);
	return keep_dict(d);
}

static inline struct ink_kbf *make_filter(const struct ink_kbf_options *o)
{
	struct ink_why why = {""};
	struct ink_kbf *f = ink_kbf_create(o, &why);

	if (!f)
		fail_msg("%s", why.text);
	return keep_filter(f);
}

/* A filter of its own dictionary, for up to 500 values. */
static inline struct ink_kbf *make_variant(const struct variant *v, struct ink_kbf_options o)
{
	o.size = sizeof o;
	o.dict = make_dict(v->encoding, 500);
	o.decoding = v->decoding;
	o.counter_bits = v->counter_bits;
	return make_filter(&o);
}

/* k = 2, and eight cells in each part. */
static inline struct ink_kbf *make_tiny(const struct variant *v)
{
	return make_variant(v, (struct ink_kbf_options){.k = 2, .cells = 16, .keys = 8});
}

/* ------------------------------------------------------------- keys that meet */

static inline struct ink_kbf_place place_of(const struct ink_kbf *f, uint64_t key)
{
	return ink_kbf_place_of(f, ink_kbf_id(f, key_number(key)));
}

/* The first key from `from` on that shares the cell of the first part with `key` iff `first`, and so on. */
static inline uint64_t meeting(const struct ink_kbf *f, uint64_t key, int first, int second, uint64_t from)
{
	struct ink_kbf_place p = place_of(f, key);

	for (uint64_t other = from;; other++) {
		struct ink_kbf_place q = place_of(f, other);

		if (other != key && (q.at[0] == p.at[0]) == first && (q.at[1] == p.at[1]) == second)
			return other;
	}
}

/* -------------------------------------------------------------------- looking */

static inline struct ink_kbf_stats stats_of(const struct ink_kbf *f)
{
	struct ink_kbf_stats s = {.size = sizeof s};

	ink_kbf_stats(f, &s);
	return s;
}

static inline void assert_sound(const struct ink_kbf *f)
{
	struct ink_why why = {""};

	if (ink_kbf_check(f, &why) != 0)
		fail_msg("%s", why.text);
}

/* The value's number, or one of these. */
#define ABSENT ((int64_t)-1)
#define UNKNOWN ((int64_t)-2)
#define EMPTY ((int64_t)-3) /* the value without bytes, which has no number */

static inline int64_t read_key(const struct ink_kbf *f, uint64_t key)
{
	struct ink_bytes value;
	enum ink_kbf_answer a = ink_kbf_query(f, key_number(key), &value);

	if (a == INK_KBF_VALUE)
		return value.length ? (int64_t)number_of(value) : EMPTY;
	assert_int_equal(value.length, 0);
	return a == INK_KBF_ABSENT ? ABSENT : UNKNOWN;
}

static inline int insert(struct ink_kbf *f, uint64_t key, uint64_t value)
{
	return ink_kbf_insert(f, key_number(key), value_number(value));
}

/* All cells of all links, and the dictionary's length. */
static inline int are_same(const struct ink_kbf *a, const struct ink_kbf *b)
{
	if (a->links != b->links || a->stuck != b->stuck || a->pending.count != b->pending.count)
		return 0;
	for (uint32_t i = 0; i < a->links; i++)
		if (a->link[i].keys != b->link[i].keys ||
		    memcmp(a->link[i].cells, b->link[i].cells, ink_kbf_link_bytes(a)) != 0)
			return 0;
	return 1;
}

#endif
