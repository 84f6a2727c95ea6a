/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Structs that grow: calls with the struct of an older caller, of a newer one,
 * and with sizes that no caller has. base/grow.h has the rules.
 */
#ifndef INKLING_TESTS_SIZES_H
#define INKLING_TESTS_SIZES_H

#include "tests/test.h"

/* A public struct and a call that takes it; 0 or a negative errno. */
struct sized {
	const char *name;
	size_t first, known; /* bytes of the first version and of this one */
	const void *sample;  /* an input that the call takes; NULL: it is an output */
	int (*call)(void *theirs);
};

enum { SIZED_MOST = 1024, SIZED_FILL = 0xa5 };

/* Calls with a struct of `size` bytes, `tail` in those that this version does not know. */
static inline int sized_call(const struct sized *s, size_t size, uint8_t tail, uint8_t *bytes)
{
	memset(bytes, s->sample ? tail : SIZED_FILL, SIZED_MOST);
	if (s->sample)
		memcpy(bytes, s->sample, s->known);
	memcpy(bytes, &size, sizeof size);
	return s->call(bytes);
}

/* A refused struct is left alone; of one that is taken, its size and all beyond it. */
static inline void sized_output(const struct sized *s, size_t size, int error, const uint8_t *bytes)
{
	size_t from = error ? sizeof size : size;

	assert_memory_equal(bytes, &size, sizeof size);
	for (size_t i = from; i < SIZED_MOST; i++)
		assert_int_equal(bytes[i], SIZED_FILL);
	for (size_t i = s->known; !error && i < size; i++)
		assert_int_equal(bytes[i], 0);
}

/* Refused and taken sizes, and each that an older caller may have: structs grow by words. */
static inline void assert_grows(const struct sized *s)
{
	const struct {
		size_t size;
		uint8_t tail;
		int error;
	} cells[] = {
		{0, 0, -EINVAL},        {s->first - 1, 0, -EINVAL},
		{s->first, 0, 0},       {s->known, 0, 0},
		{s->known + 8, 0, 0},   {s->known + 8, 1, s->sample ? -EINVAL : 0},
		{SIZE_MAX, 0, -EINVAL},
	};
	uint8_t bytes[SIZED_MOST];

	for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
		int error = sized_call(s, cells[i].size, cells[i].tail, bytes);

		if (error != cells[i].error)
			fail_msg("%s of %zu bytes, then %u: %d, not %d", s->name, cells[i].size,
				 cells[i].tail, error, cells[i].error);
		if (!s->sample)
			sized_output(s, cells[i].size, error, bytes);
	}
	for (size_t size = s->first; size <= s->known; size += 8) {
		int error = sized_call(s, size, 0, bytes);

		if (error)
			fail_msg("%s of %zu bytes: %d", s->name, size, error);
		if (!s->sample)
			sized_output(s, size, error, bytes);
	}
}

#endif
