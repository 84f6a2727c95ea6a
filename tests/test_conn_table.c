/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bundled machine `conn` beside its decision table, which is read from docs/machines.md. A connection is walked by
 * the table and by the machine; when it has ended, the counters must agree. Walks end in every cell of the table, and
 * one segment behind it, because situations that are counted alike differ only in what comes next.
 *
 * A cell is the number of its column: 0 to 5 are segments of the originator, 6 to 11 those of the responder.
 */
#include <ctype.h>

#include "tests/machine_help.h"
#include "tests/test.h"

enum { SEG_SYN, SEG_SYNACK, SEG_FIN, SEG_RST, SEG_DATA, SEG_BARE, SEGMENTS, CELLS = 2 * SEGMENTS };
enum { STAYS = -1, BEGINS = -2, NOTHING = -3 };
enum { SITUATIONS_MOST = 32, LINE_MOST = 1000 };

#define SECOND UINT64_C(1000000000)
#define TICK (2 * SECOND)

/* ------------------------------------------------------ the table of the document */

struct situation {
	char name[24], counter[24], cells[CELLS][24];
	int to[CELLS];
	unsigned ticks;     /* of silence until it ends */
	int visited[CELLS]; /* walks have been here */
};

static struct situation situations[SITUATIONS_MOST];
static int n_situations, first_of[SEGMENTS];
static char first_names[SEGMENTS][24], slow_names[LINE_MOST];

static int find_situation(const char *name)
{
	for (int i = 0; i < n_situations; i++)
		if (!strcmp(situations[i].name, name))
			return i;
	fail_msg("docs/machines.md has no situation '%s'", name);
	return NOTHING;
}

/* The words between the bars of a line, without blanks and backquotes. */
static int split_row(const char *line, char words[][24], int most)
{
	int n = 0;

	for (; *line == '|' && line[1] && line[1] != '\n' && n < most; n++) {
		size_t length = 0;

		for (line++; *line && *line != '|'; line++)
			if (!strchr(" `\n", *line) && length < 23)
				words[n][length++] = *line;
		words[n][length] = '\0';
	}
	return n;
}

static void read_situation(const char *line)
{
	char words[CELLS + 1][24];
	struct situation *s = &situations[n_situations++];

	assert_true(n_situations < SITUATIONS_MOST);
	assert_int_equal(split_row(line, words, CELLS + 1), CELLS + 1);
	memcpy(s->name, words[0], sizeof s->name);
	memcpy(s->cells, words + 1, sizeof s->cells);
	for (size_t i = 0; s->name[i] && s->name[i] != '_'; i++)
		s->counter[i] = (char)toupper((unsigned char)s->name[i]);
}

static void read_first_segments(const char *line)
{
	char words[SEGMENTS + 1][24];

	assert_int_equal(split_row(line, words, SEGMENTS + 1), SEGMENTS + 1);
	memcpy(first_names, words + 1, sizeof first_names);
}

static int cell_meaning(const char *cell)
{
	return !strcmp(cell, ".") ? STAYS : !strcmp(cell, "new") ? BEGINS : find_situation(cell);
}

static int is_slow(const char *name)
{
	char quoted[28];

	snprintf(quoted, sizeof quoted, "`%.23s`", name);
	return strstr(slow_names, quoted) != NULL;
}

/* Names are situations only when all have been read. */
static void link_situations(void)
{
	for (int i = 0; i < n_situations; i++) {
		for (int k = 0; k < CELLS; k++)
			situations[i].to[k] = cell_meaning(situations[i].cells[k]);
		situations[i].ticks = is_slow(situations[i].name) ? 1921 : 33;
	}
	for (int k = 0; k < SEGMENTS; k++)
		first_of[k] = find_situation(first_names[k]);
}

static int begins_with(const char *line, const char *with)
{
	return !strncmp(line, with, strlen(with));
}

static int read_table(void **state)
{
	FILE *f = fopen(SOURCE_ROOT "/docs/machines.md", "r");
	char line[LINE_MOST];
	int inside = 0;

	assert_non_null(f);
	while (fgets(line, sizeof line, f)) {
		if (inside && !begins_with(line, "| `"))
			inside = 0;
		if (inside)
			read_situation(line);
		else if (begins_with(line, "| leads to |"))
			read_first_segments(line);
		else if (begins_with(line, "| 64 minutes |"))
			memcpy(slow_names, line, sizeof slow_names);
		inside |= begins_with(line, "| **from** |");
	}
	fclose(f);
	link_situations();
	return 0;
}

/* ------------------------------------------------------------------ a connection */

/* By the table. */
static struct {
	int situation;
	int originator; /* is the high end */
	uint64_t tick;  /* of the last segment */
	uint64_t counts[SITUATIONS_MOST];
} model;

static uint64_t clock_now, clock_origin;

static uint64_t tick_now(void)
{
	return (clock_now - clock_origin) / TICK;
}

static void model_end(void)
{
	if (model.situation != NOTHING)
		model.counts[model.situation]++;
	model.situation = NOTHING;
}

static void model_time(void)
{
	if (model.situation != NOTHING && tick_now() >= model.tick + situations[model.situation].ticks)
		model_end();
}

static void model_begin(int segment, int from_high)
{
	model_end();
	model.situation = first_of[segment];
	model.originator = segment == SEG_SYNACK ? !from_high : from_high;
}

static void model_segment(int segment, int from_high)
{
	int cell = segment + (from_high == model.originator ? 0 : SEGMENTS), to;

	model.tick = tick_now();
	if (model.situation == NOTHING) {
		model_begin(segment, from_high);
		return;
	}
	situations[model.situation].visited[cell]++;
	to = situations[model.situation].to[cell];
	if (to == BEGINS)
		model_begin(segment, from_high);
	else if (to != STAYS)
		model.situation = to;
}

/* Flags of which the segment is one; the first is the usual. */
static const unsigned flags_of[SEGMENTS][4] = {
	[SEG_SYN] = {SYN, SYN | INK_TCP_ECE | INK_TCP_CWR, SYN | INK_TCP_PSH, SYN | INK_TCP_URG},
	[SEG_SYNACK] = {SYN | ACK, SYN | ACK | INK_TCP_ECE, SYN | ACK | INK_TCP_PSH, SYN | ACK | INK_TCP_URG},
	[SEG_FIN] = {FIN | ACK, FIN, FIN | SYN, FIN | SYN | ACK},
	[SEG_RST] = {RST, RST | ACK, RST | SYN, RST | FIN | SYN | ACK},
	[SEG_DATA] = {ACK | INK_TCP_PSH, ACK, 0, INK_TCP_URG},
	[SEG_BARE] = {ACK, 0, ACK | INK_TCP_PSH, INK_TCP_PSH | INK_TCP_URG},
};

static void give_segment(unsigned flags, int from_high, unsigned payload)
{
	struct ink_packet p = packet(INK_PROTOCOL_TCP, flags, from_high);

	p.clock = clock_now;
	p.payload_wire = payload;
	give(p);
}

static void walk(int segment, int from_high, unsigned variant)
{
	model_time();
	model_segment(segment, from_high);
	give_segment(flags_of[segment][variant], from_high, segment == SEG_DATA);
}

static void pass_time(uint64_t clock)
{
	clock_now = clock;
	assert_int_equal(ink_track_time(track, clock), 0);
	model_time();
}

/* Adds up the situations with the same counter. */
static uint64_t modelled(const char *counter)
{
	uint64_t sum = 0;

	for (int i = 0; i < n_situations; i++)
		sum += strcmp(situations[i].counter, counter) ? 0 : model.counts[i];
	return sum;
}

static void assert_counters(const char *of)
{
	for (int i = 0; i < n_situations; i++) {
		const char *counter = situations[i].counter;

		if (counted(counter) != modelled(counter))
			fail_msg("%s: %s is %llu, and the table says %llu", of, counter,
				 (unsigned long long)counted(counter), (unsigned long long)modelled(counter));
	}
}

static const char *conn_text(void)
{
	for (unsigned i = 0; ink_bundled(i); i++)
		if (!strcmp(ink_bundled(i)->name, "conn"))
			return ink_bundled(i)->text;
	fail_msg("no machine conn");
	return NULL;
}

static void begin_conn(void)
{
	track_with(conn_text(), NULL);
	memset(&model, 0, sizeof model);
	model.situation = NOTHING;
	clock_now = clock_origin = 1000 * SECOND;
	pass_time(clock_now);
}

/* ------------------------------------------------------------------------- paths */

/* The shortest way to each situation from a first segment; `reached` 0: there is none. */
struct path {
	int reached, n, cells[SITUATIONS_MOST];
};

static struct path paths[SITUATIONS_MOST];

/* 1 if it led to a situation that was not known. */
static int extend_path(int from, int cell)
{
	int to = situations[from].to[cell];

	if (to < 0 || paths[to].reached)
		return 0;
	paths[to] = paths[from];
	paths[to].cells[paths[to].n++] = cell;
	paths[to].reached = paths[from].reached + 1;
	return 1;
}

/* In rounds: after round r, the situations that r segments reach are known. */
static void find_paths(int segment)
{
	int found = 1;

	memset(paths, 0, sizeof paths);
	paths[first_of[segment]].reached = 1;
	for (int round = 1; found; round++) {
		found = 0;
		for (int from = 0; from < n_situations; from++)
			for (int cell = 0; cell < CELLS && paths[from].reached == round; cell++)
				found |= extend_path(from, cell);
	}
}

static void walk_cell(int cell)
{
	walk(cell % SEGMENTS, model.originator ^ (cell >= SEGMENTS), 0);
}

static void walk_path(int segment, int from_high, const struct path *p)
{
	walk(segment, from_high, 0);
	for (int i = 0; i < p->n; i++)
		walk_cell(p->cells[i]);
}

/* Does so for every first segment of either end, and every situation it leads to. */
static void for_each_path(void (*call)(int segment, int from_high, int situation))
{
	for (int segment = 0; segment < SEGMENTS; segment++) {
		find_paths(segment);
		for (int i = 0; i < n_situations; i++)
			for (int from_high = 0; paths[i].reached && from_high < 2; from_high++)
				call(segment, from_high, i);
	}
}

/* ------------------------------------------------------------------------- tests */

static void walk_beyond(int segment, int from_high, int situation)
{
	char of[100];

	for (int last = 0; last < CELLS * CELLS; last++) {
		walk_path(segment, from_high, &paths[situation]);
		assert_int_equal(model.situation, situation);
		walk_cell(last / CELLS);
		walk_cell(last % CELLS);
		pass_time(clock_now + 70 * 60 * SECOND);
		snprintf(of, sizeof of, "first segment %d, %.23s, columns %d and %d", segment,
			 situations[situation].name, last / CELLS, last % CELLS);
		assert_counters(of);
	}
}

TEST_THAT(every_cell_of_the_table_does_what_it_says)
{
	begin_conn();
	for_each_path(walk_beyond);
	assert_int_equal(n_situations, 21);
	for (int i = 0; i < n_situations; i++)
		for (int cell = 0; cell < CELLS; cell++)
			if (!situations[i].visited[cell])
				fail_msg("no walk was in column %d of %s", cell, situations[i].name);
}

static void rest_there(int segment, int from_high, int situation)
{
	uint64_t end;

	clock_now += SECOND; /* the second half of a tick, too */
	walk_path(segment, from_high, &paths[situation]);
	end = clock_origin + (tick_now() + situations[situation].ticks) * TICK;
	pass_time(end - 1);
	assert_int_equal(model.situation, situation);
	assert_counters(situations[situation].name);
	pass_time(end);
	assert_int_equal(model.situation, NOTHING);
	assert_counters(situations[situation].name);
}

TEST_THAT(a_connection_ends_in_the_tick_that_the_table_says)
{
	begin_conn();
	for_each_path(rest_there);
}

static void end_there(int segment, int from_high, int situation)
{
	begin_conn();
	walk_path(segment, from_high, &paths[situation]);
	assert_int_equal(ink_track_end(track), 0);
	model_end();
	assert_counters(situations[situation].name);
	untrack(NULL);
}

TEST_THAT(the_end_of_the_input_counts_what_is_left)
{
	for_each_path(end_there);
}

/* Flags of all sorts, and silences around both time-outs. */
TEST_THAT(long_walks_count_what_the_table_says)
{
	static const uint64_t gaps[] = {0, 0, 0, 0, 1, 1, 31, 63, 64, 65, 66, 67, 68, 3839, 3841, 3843};

	begin_conn();
	for (int i = 0; i < 50000; i++) {
		pass_time(clock_now + gaps[random_below(COUNT(gaps))] * SECOND);
		walk((int)random_below(SEGMENTS), (int)random_below(2), random_below(4));
	}
	pass_time(clock_now + 70 * 60 * SECOND);
	assert_counters("long walks");
}

/* The order of the document: of several conditions that hold, the first. */
static int segment_of(unsigned flags, unsigned payload)
{
	if (flags & RST)
		return SEG_RST;
	if (flags & FIN)
		return SEG_FIN;
	if (flags & SYN)
		return flags & ACK ? SEG_SYNACK : SEG_SYN;
	return payload ? SEG_DATA : SEG_BARE;
}

static void assert_situation(unsigned flags, unsigned payload, int situation)
{
	if (strcmp(state_now(), situations[situation].name) != 0)
		fail_msg("flags %x, payload %u: %s, and the table says %s", flags, payload, state_now(),
			 situations[situation].name);
}

/* As the first segment, and as the answer to a SYN, which tells data from a bare segment. */
TEST_THAT(every_combination_of_flags_is_one_segment)
{
	int opened = first_of[SEG_SYN], to;

	begin_conn();
	for (unsigned i = 0; i < 2 * 512; i++) {
		unsigned flags = i / 2, payload = i % 2;

		give_segment(flags, 0, payload);
		assert_situation(flags, payload, first_of[segment_of(flags, payload)]);
		pass_time(clock_now + 70 * 60 * SECOND);
		give_segment(SYN, 0, 0);
		give_segment(flags, 1, payload);
		to = situations[opened].to[SEGMENTS + segment_of(flags, payload)];
		assert_situation(flags, payload, to == STAYS ? opened : to);
		pass_time(clock_now + 70 * 60 * SECOND);
	}
}

static void give_to_itself(unsigned flags)
{
	struct ink_packet p = packet(INK_PROTOCOL_TCP, flags, 0);

	memcpy(p.destination, p.source, sizeof p.destination);
	p.dport = p.sport;
	p.clock = clock_now;
	give(p);
}

TEST_THAT(an_end_that_talks_to_itself_is_one_sender)
{
	begin_conn();
	give_to_itself(SYN);
	give_to_itself(SYN | ACK);
	assert_string_equal(state_now(), "s0");
	give_to_itself(RST);
	assert_string_equal(state_now(), "rstos0");
	pass_time(clock_now + 70 * SECOND);
	give_to_itself(SYN | ACK);
	give_to_itself(ACK);
	give_to_itself(RST);
	assert_int_equal(ink_track_end(track), 0);
	assert_int_equal(counted("RSTRH"), 1);
	assert_int_equal(counted("RSTOS0"), 1);
}

int main(void)
{
	return run_suite(&(struct suite){.begin = read_table, .after_each = untrack});
}
