/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How full may lines of h entries be? Question: up to which load does no insert
 * fail while every flow is replaced many times? Result: the table safe_load in
 * src/table/plan_buckets.c.
 *
 *     ink-loads H LOAD [FLOWS [ROUNDS [DISPLACE]]]
 *
 * Only occupancy is simulated: each entry is the sum of its two lines, which is
 * all that placement and displacement know of it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct sim {
	uint32_t lines, h;
	int displace;
	uint32_t *sums; /* lines x h: first + second line of each entry */
	uint8_t *count; /* entries in each line */
	uint64_t live, failed, displaced, asked;
	uint64_t random;
};

/* splitmix64 */
static uint64_t next_random(struct sim *s)
{
	uint64_t x = s->random += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static uint32_t any_line(struct sim *s)
{
	return (uint32_t)((next_random(s) >> 32) * s->lines >> 32);
}

static uint32_t other(const struct sim *s, uint32_t line, uint32_t sum)
{
	return sum >= line ? sum - line : sum + s->lines - line;
}

static void put(struct sim *s, uint32_t line, uint32_t sum)
{
	s->sums[(size_t)line * s->h + s->count[line]++] = sum;
}

/* Moves one entry of a full line to its other line, and takes its place. */
static int displace_from(struct sim *s, uint32_t line, uint32_t sum)
{
	for (uint32_t i = 0; i < s->h; i++) {
		uint32_t *victim = &s->sums[(size_t)line * s->h + i], to = other(s, line, *victim);

		s->asked++;
		if (s->count[to] < s->h) {
			put(s, to, *victim);
			*victim = sum;
			s->displaced++;
			return 1;
		}
	}
	return 0;
}

static void insert(struct sim *s)
{
	uint32_t sum = any_line(s), first = any_line(s), second = other(s, first, sum);
	uint32_t emptier = s->count[second] < s->count[first] ? second : first;
	int stored = s->count[emptier] < s->h;

	if (stored)
		put(s, emptier, sum);
	else if (s->displace)
		stored = displace_from(s, first, sum) || displace_from(s, second, sum);
	s->live += (uint64_t)stored;
	s->failed += !stored;
}

static void delete_any(struct sim *s)
{
	uint32_t line, i;

	do {
		line = any_line(s);
		i = (uint32_t)(next_random(s) % s->h);
	} while (i >= s->count[line]);
	s->sums[(size_t)line * s->h + i] = s->sums[(size_t)line * s->h + --s->count[line]];
	s->live--;
}

int main(int argc, char **argv)
{
	struct sim s = { .h = argc > 1 ? (uint32_t)atoi(argv[1]) : 0,
			 .displace = argc > 5 ? atoi(argv[5]) : 1,
			 .random = 1 };
	double load = argc > 2 ? atof(argv[2]) : 0;
	uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 10) : 1000000,
		 rounds = argc > 4 ? strtoull(argv[4], NULL, 10) : 4;

	if (s.h < 1 || s.h > 64 || !(load > 0 && load <= 1) || n < 1 || n > 1000000000) {
		fprintf(stderr, "usage: ink-loads H LOAD [FLOWS [ROUNDS [DISPLACE]]]\n");
		return 2;
	}
	s.lines = (uint32_t)((double)n / (s.h * load)) + 1;
	s.sums = calloc((size_t)s.lines * s.h, sizeof *s.sums);
	s.count = calloc(s.lines, 1);
	if (!s.sums || !s.count)
		return 1;
	for (uint64_t i = 0; i < n; i++)
		insert(&s);
	for (uint64_t i = 0; i < n * rounds && s.live; i++) {
		delete_any(&s);
		insert(&s);
	}
	printf("%u entries, load %.3f: %llu of %llu inserts failed, %llu displaced, %.2f candidates each\n",
	       s.h, load, (unsigned long long)s.failed, (unsigned long long)(n * (rounds + 1)),
	       (unsigned long long)s.displaced, s.displaced ? (double)s.asked / (double)s.displaced : 0);
	free(s.sums);
	free(s.count);
	return 0;
}
