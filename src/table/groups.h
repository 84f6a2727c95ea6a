/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Groups of lines: a tick skips those that hold nothing.
 *
 * A capture can claim any time for a packet, and each gap in time costs a tick. If
 * every tick read the whole table, N packets that lie far apart would cost N sweeps
 * (docs/notes/time-gaps.md). So there is a byte for each group of 128 lines, behind
 * the struct: 1 if the group may hold anything, 0 if it is certainly empty.
 *
 *     groups   | 1 | 0 | 0 | 1 | ...            eight of them are read at once
 *                |           |
 *     lines    0..127     384..511              a line that holds nothing is all zeros
 *
 *     insert   stores its entry (or sets a flag of a line), then the byte if it is 0
 *     sweep    exchanges the byte for 0, works on the lines, then reads the group
 *              until it finds a bit that is set, and sets the byte again if there is one
 *
 * Flags are bits of a line, too: a group with an overflow flag stays noted until a tick
 * has cleared it. Changes in place and deletes do nothing here. A table that was loaded
 * begins with all bytes set. The bytes are no part of the body, nor of a snapshot.
 *
 * Portions. A portion may begin or end within a group. It skips its part of a group
 * whose byte is 0, and only the portion with the last line of a group takes the byte;
 * it then reads the whole group, also the lines that earlier portions passed.
 *
 * Threads. The byte of a finished insert is set, or a sweep has taken it and will find
 * the entry. The insert stores its word and then loads the byte; the sweep exchanges
 * the byte and then loads the word; all four are sequentially consistent. If the insert
 * loads a 1 that the sweep takes, its store comes before the load, the load before the
 * exchange, and the exchange before the sweep's load of the word, in the one order of
 * all of them. If it loads 0, it stores 1 with release after its entry, and the next
 * sweep acquires both. On x86 these are the instructions that were there before: a
 * locked compare-and-swap and a plain load.
 *
 * An insert that has stored its entry but not yet the byte may be overlooked by a tick.
 * The entry then counts as touched after that tick, which lies within the call.
 *
 * While a sweep works on a group, its byte is 0, so nothing but ticks may rely on the
 * bytes: the census and the check read all lines.
 */
#ifndef INKLING_TABLE_GROUPS_H
#define INKLING_TABLE_GROUPS_H

#include <string.h>

#include "table/table.h"

/* Lines from .. to-1, all of one group. */
struct ink_span {
	uint64_t from, to;
};

/* Something was stored in that line. Nearly always its group is noted already, and nothing is written. */
INK_HOT void ink_groups_note(struct ink_table *t, uint32_t line)
{
	uint8_t *group = t->groups + line / INK_GROUP_LINES;

	if (__builtin_expect(!__atomic_load_n(group, __ATOMIC_SEQ_CST), 0))
		__atomic_store_n(group, 1, __ATOMIC_RELEASE);
}

/* What the lines hold is unknown. */
static inline void ink_groups_note_all(struct ink_table *t)
{
	memset(t->groups, 1, ink_groups(&t->plan));
}

/* ------------------------------------------------------------------- the sweep */

/* Eight groups, of which the first has a number that is a multiple of eight. */
static inline int ink_groups_none_of_eight(const struct ink_table *t, uint64_t first)
{
	typedef uint64_t __attribute__((may_alias)) eight;

	return !__atomic_load_n((const eight *)(const void *)(t->groups + first), __ATOMIC_ACQUIRE);
}

/* The first group from that one on, below `end`, that may hold something; else `end` or more. */
static inline uint64_t ink_groups_next(const struct ink_table *t, uint64_t group, uint64_t end)
{
	while (group < end && !__atomic_load_n(t->groups + group, __ATOMIC_ACQUIRE))
		group += group % 8 == 0 && ink_groups_none_of_eight(t, group) ? 8 : 1;
	return group;
}

/* Does the span have the last line of its group? */
static inline int ink_span_ends_group(const struct ink_table *t, const struct ink_span *s)
{
	return s->to % INK_GROUP_LINES == 0 || s->to == t->plan.geometry.b;
}

/*
 * From one span to the next that may hold something and that ends at line `end` at the
 * latest; 0 if there is none. The first call is made with an empty span.
 */
static inline int ink_groups_take(struct ink_table *t, struct ink_span *s, uint64_t end)
{
	uint64_t behind = (end + INK_GROUP_LINES - 1) / INK_GROUP_LINES;
	uint64_t group = ink_groups_next(t, s->to / INK_GROUP_LINES, s->to < end ? behind : 0);

	if (s->to >= end || group >= behind)
		return 0;
	s->from = s->to > group * INK_GROUP_LINES ? s->to : group * INK_GROUP_LINES;
	s->to = (group + 1) * INK_GROUP_LINES < end ? (group + 1) * INK_GROUP_LINES : end;
	if (ink_span_ends_group(t, s))
		__atomic_exchange_n(t->groups + group, 0, __ATOMIC_SEQ_CST);
	return 1;
}

static inline int ink_line_holds_something(const struct ink_table *t, uint64_t line)
{
	const uint64_t *word = (const uint64_t *)t->body + line * (INK_CACHE_LINE / sizeof *word);
	uint64_t bits = 0;

	for (size_t i = 0; i < INK_CACHE_LINE / sizeof *word; i++)
		bits |= __atomic_load_n(word + i, __ATOMIC_SEQ_CST);
	return bits != 0;
}

/* The sweep is done with a span: is something left in its group? */
static inline void ink_groups_settle(struct ink_table *t, const struct ink_span *s)
{
	uint64_t group = s->from / INK_GROUP_LINES, line = group * INK_GROUP_LINES;

	if (!ink_span_ends_group(t, s))
		return;
	while (line < s->to && !ink_line_holds_something(t, line))
		line++;
	if (line < s->to)
		__atomic_store_n(t->groups + group, 1, __ATOMIC_RELEASE);
}

#endif
