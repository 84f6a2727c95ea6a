/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the kernel to a table in user space, while packets flow.
 *
 *     hold      no tick begins for some seconds; one that is under way ends
 *     copy      lines, then the side table, until it did not change meanwhile; again, if a tick came between
 *     mend      what changed while it was copied
 *     number    codes -> states of the machine's view
 *
 * A copy is not of one moment. An entry that was deleted behind the copying hand, and stored again in front of it,
 * is there twice; of such twins the one that was copied first goes. An entry of the side table whose flag was set
 * behind the hand gets its flag, and a flag whose entry is gone leads nowhere. Then each flow that was there all the
 * time is there once, and ink_check finds nothing.
 *
 * If the tool is killed, ticks begin again when the time is over that it asked for.
 */
#include "kernel/inside.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/allocator.h"
#include "base/error.h"
#include "kinds/line/kind.h"
#include "table/epoch.h"
#include "table/groups.h"

/* Seconds: a copy of 1 GiB takes less than one; the tick under way of 2 GiB may take ten, though it hurries. */
enum { HOLD = 5, PATIENCE = 30 };

#define SECOND 1000000000ull

/* ------------------------------------------------------------------ holding */

static uint64_t boot_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static int is_ticking(const struct ink_kernel *k)
{
	for (unsigned i = 0; i < k->n; i++) {
		const struct ink_kernel_table *t = ink_kernel_tables(k, i);

		if (__atomic_load_n(&t->target, __ATOMIC_ACQUIRE) !=
		    __atomic_load_n(&t->now, __ATOMIC_ACQUIRE))
			return 1;
	}
	return 0;
}

static void release(struct ink_kernel *k)
{
	__atomic_store_n(&ink_kernel_controls(k)->hold_until, 0, __ATOMIC_RELEASE);
}

/* A tick that is about to begin has not seen the hold: the pause lets it. */
static int hold(struct ink_kernel *k, struct ink_why *why)
{
	const struct timespec pause = {0, 1000000};
	uint64_t limit = boot_clock() + PATIENCE * SECOND;

	do {
		__atomic_store_n(&ink_kernel_controls(k)->hold_until, boot_clock() + HOLD * SECOND,
				 __ATOMIC_SEQ_CST);
		nanosleep(&pause, NULL);
	} while (is_ticking(k) && boot_clock() < limit);
	if (!is_ticking(k))
		return 0;
	release(k);
	return ink_fail(why, -EBUSY, "%s: a tick does not end", k->name);
}

/* ------------------------------------------------------------- an empty copy */

static uint64_t body_bytes(const struct ink_plan *plan, uint32_t full)
{
	return ink_plan_bytes(plan, (enum ink_full)full, 2) - ink_table_bytes(plan, 2);
}

static int make_body(struct ink_table *t, struct ink_why *why)
{
	uint64_t bytes = body_bytes(&t->plan, t->full);

	ink_table_set_body(t, ink_alloc(&t->allocator, bytes), bytes);
	return t->body ? 0 : ink_fail(why, -ENOMEM, "no memory for %llu bytes", (unsigned long long)bytes);
}

/* Bytes of a shape that mean something: what the compiler puts behind the last field has any value. */
enum { SHAPE_BYTES = offsetof(struct ink_line_shape, code_step) + sizeof(uint32_t) };

/* The plan came out of a map: does a table of that shape stand there? */
static int is_plan_of(const struct ink_plan *p, const struct ink_kernel_table *from)
{
	const struct ink_kind_def *kind = ink_kind_find((unsigned)p->kind);
	struct ink_line_shape s;

	if (!kind || !(kind->info.can & INK_CAN_MANY_WRITERS) || p->state_bits != from->state_bits ||
	    p->age_bits != from->age_bits || p->state_bits > 8 || p->age_bits > 2 ||
	    p->geometry.h % INK_LINE_WORDS || !kind->fits(p, from->unsure))
		return 0;
	s = ink_line_shape(p->geometry.h / INK_LINE_WORDS, p->state_bits + p->age_bits, p->geometry.b,
			   p->part);
	return !memcmp(&s, &from->shape, SHAPE_BYTES);
}

static int is_side_of(const struct ink_plan *p, const struct ink_kernel_table *from)
{
	const struct ink_side_form form = ink_side_form(p);

	return from->side_words == ink_side_positions(form) && from->side_code_bits == form.code_bits &&
	       from->side_width == ink_side_width(form);
}

int ink_kernel_table_check(const struct ink_kernel *k, unsigned machine, struct ink_why *why)
{
	const struct ink_kernel_table *from = ink_kernel_tables(k, machine);
	const struct ink_plan *plan = &k->plan[machine];
	const struct ink_kernel_map *map = &k->map[INK_MAP_BODY];

	if (!is_plan_of(plan, from) || !is_side_of(plan, from))
		return ink_fail(why, -EPROTO, "%s: the plan of a table is not that of its body", k->name);
	if (!map->at || map->stride != sizeof(struct ink_line) || from->base > map->entries ||
	    body_bytes(plan, from->full) / sizeof(struct ink_line) > map->entries - from->base)
		return ink_fail(why, -EPROTO, "%s: a table stands outside the body", k->name);
	return 0;
}

static unsigned codes_in_use(const struct ink_kernel_numbering *n)
{
	unsigned codes = 0;

	for (unsigned i = 0; i < n->codes; i++)
		if (n->code[i].name)
			codes++;
	return codes;
}

static struct ink_table *empty_copy(const struct ink_kernel *k, unsigned machine, struct ink_why *why)
{
	const struct ink_kernel_table *from = ink_kernel_tables(k, machine);
	const struct ink_plan *plan = &k->plan[machine];
	struct ink_table *t;

	if (ink_kernel_table_check(k, machine, why))
		return errno = EPROTO, NULL;
	t = ink_table_alloc(plan, 2, &ink_own_allocator);
	if (t)
		t->full = (enum ink_full)from->full;
	if (!t || make_body(t, why)) {
		ink_free(t);
		return errno = ENOMEM, NULL;
	}
	t->ops = ink_kind_ops(plan, 2, INK_SIMD_BEST);
	t->states = codes_in_use(&k->numbering[machine]);
	memcpy(t->secret, from->secret, sizeof t->secret);
	return t;
}

/* ------------------------------------------------------------------- copying */

static void copy_words(uint64_t *to, const uint64_t *from, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes / sizeof *to; i++)
		to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

static int has_changed(const uint64_t *copy, const uint64_t *now, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes / sizeof *copy; i++)
		if (copy[i] != __atomic_load_n(&now[i], __ATOMIC_RELAXED))
			return 1;
	return 0;
}

/*
 * A deletion moves words, so a copy could have one twice or not at all: it is made again until the side table is
 * still the same behind it. Of one that changes without end, the last copy counts.
 */
static void copy_side(struct ink_table *t, const unsigned char *body, uint64_t cells)
{
	uint64_t *to = (uint64_t *)(void *)((unsigned char *)t->body + cells), bytes = t->body_bytes - cells;
	const uint64_t *from = (const uint64_t *)(const void *)(body + cells);
	unsigned tries = 0;

	do
		copy_words(to, from, bytes);
	while (has_changed(to, from, bytes) && ++tries < 100);
}

static void copy_counters(struct ink_table *t, const struct ink_kernel_table *from)
{
	t->counters = (struct ink_counters){.collisions = from->collisions,
					    .overflowed = from->overflowed,
					    .refused = from->refused,
					    .replaced = from->replaced,
					    .marked = from->marked,
					    .expired = from->expired};
}

/* The time of a table when it was copied. Ages in the copy mean what these codes say, whatever ticks came since. */
struct moment {
	uint64_t view, now;
	uint16_t fresh[INK_KERNEL_STATES];
};

static struct moment moment_of(const struct ink_kernel_table *t)
{
	struct moment m = {
		__atomic_load_n(&t->view, __ATOMIC_ACQUIRE), __atomic_load_n(&t->now, __ATOMIC_ACQUIRE), {0}};

	memcpy(m.fresh, t->fresh[ink_view_table(m.view)], sizeof m.fresh);
	return m;
}

/* Neither has a tick ended since, nor is one under way. */
static int is_still(const struct ink_kernel_table *t, const struct moment *m)
{
	return __atomic_load_n(&t->view, __ATOMIC_ACQUIRE) == m->view &&
	       __atomic_load_n(&t->now, __ATOMIC_ACQUIRE) == m->now &&
	       __atomic_load_n(&t->target, __ATOMIC_ACQUIRE) == m->now;
}

/* A large table may take longer than a hold, so each try has one of its own. */
static int copy_body(struct ink_table *t, struct ink_kernel *k, unsigned machine, struct moment *m,
		     struct ink_why *why)
{
	const struct ink_kernel_table *from = ink_kernel_tables(k, machine);
	const struct ink_kernel_map *map = &k->map[INK_MAP_BODY];
	const unsigned char *body = map->at + from->base * map->stride;
	uint64_t cells = ink_cells_bytes(&t->plan, t->full);

	for (unsigned tries = 0; tries < 10; tries++) {
		int error = hold(k, why);

		if (error)
			return error;
		*m = moment_of(from);
		copy_words(t->body, (const uint64_t *)(const void *)body, cells);
		copy_side(t, body, cells);
		if (is_still(from, m))
			return 0;
	}
	return ink_fail(why, -EBUSY, "%s: a tick came between, again and again", k->name);
}

/* ------------------------------------------------------------------- mending */

/* Is a fingerprint in that part? */
static int part_has(const struct ink_line_shape *s, const uint64_t *words, uint32_t fingerprint)
{
	struct ink_line_spot spot;

	return ink_line_find(s, (uint64_t *)(uintptr_t)words, fingerprint, &spot);
}

/* The entry of that column has a twin in its other part, which comes later, or in a later word or lane of its own. */
static int has_twin(const struct ink_table *t, uint64_t at, uint32_t column)
{
	const struct ink_line_shape *s = ink_line_shape_of(t);
	uint64_t *words = t->body;
	uint32_t fp = ink_line_entry_fp(s, ink_line_entry(s, words[at], column));
	uint32_t part = (uint32_t)(at / s->words), other = ink_line_other(s, part, fp);

	if (other > part && part_has(s, words + (uint64_t)other * s->words, fp))
		return 1;
	for (uint64_t i = at; i < (uint64_t)(part + 1) * s->words; i++)
		for (uint32_t lane = 0; lane < s->lanes; lane++) {
			uint32_t c = lane * s->column_bits, entry = ink_line_entry(s, words[i], c);

			if (entry && (i > at || c > column) && ink_line_entry_fp(s, entry) == fp)
				return 1;
		}
	return 0;
}

static void drop_twins(struct ink_table *t)
{
	const struct ink_line_shape *s = ink_line_shape_of(t);
	uint64_t *words = t->body;

	for (uint64_t i = 0; i < (uint64_t)s->lines * INK_LINE_WORDS; i++)
		for (uint32_t lane = 0; lane < s->lanes; lane++) {
			uint32_t column = lane * s->column_bits;

			if (ink_line_entry(s, words[i], column) && has_twin(t, i, column))
				words[i] &= ~ink_line_lane(s, column);
		}
}

/* A word that was added while the copy was made is not in the count. */
static void count_side(struct ink_table *t)
{
	uint32_t used = 0;

	for (uint32_t e = 1; e <= ink_side_last(&t->side); e++)
		used += (uint32_t)ink_side_used(&t->side, e);
	if (t->side.capacity)
		t->side.head->count = used;
}

/* Flags of lines say which classes of their flows are in the side table. */
static void flag_side(struct ink_table *t)
{
	struct ink_line *lines = t->body;

	for (uint32_t i = 0; i < ink_line_shape_of(t)->lines; i++)
		for (unsigned w = 0; w < INK_LINE_OVERFLOW; w++)
			lines[i].word[INK_LINE_SIDE + w] &= ~INK_LINE_FLAG;
	for (uint32_t e = 1; e <= ink_side_last(&t->side); e++) {
		uint64_t word = ink_side_word(&t->side, e);
		uint32_t home = word ? ink_side_word_home(&t->side, word) : UINT32_MAX;
		unsigned flag = word ? ink_side_class(ink_side_id(&t->side, e)) % INK_LINE_OVERFLOW : 0;

		if (home < ink_line_shape_of(t)->lines)
			lines[home].word[INK_LINE_SIDE + flag] |= INK_LINE_FLAG;
	}
}

static void mend(struct ink_table *t)
{
	drop_twins(t);
	count_side(t);
	flag_side(t);
}

/* ----------------------------------------------------------------- numbering */

/* The number of each code in the copy; states that the machine no longer has follow its own. */
static void number_codes(const struct ink_kernel *k, unsigned machine, uint16_t number[INK_KERNEL_STATES])
{
	const struct ink_kernel_numbering *n = &k->numbering[machine];
	const struct ink_kernel_numbers *own = &k->version->numbers[machine];
	uint16_t next =
		(uint16_t)ink_machines_at(ink_kernel_machines((struct ink_kernel *)(uintptr_t)k), machine)
			->view.rules->states;

	for (unsigned code = 0; code < INK_KERNEL_STATES; code++) {
		number[code] = (uint16_t)n->codes; /* don't know */
		if (code < n->codes && own->number_of[code] >= 0)
			number[code] = (uint16_t)own->number_of[code];
		else if (code < n->codes && n->code[code].name)
			number[code] = next++;
	}
}

static int is_identity(const uint16_t *number, unsigned codes)
{
	for (unsigned code = 0; code < codes; code++)
		if (number[code] != code && number[code] != codes)
			return 0;
	return 1;
}

static unsigned renumbered(const struct ink_table *t, const uint16_t *number, unsigned code)
{
	return (unsigned)number[ink_code_state(&t->coding, code)] << t->coding.age_bits |
	       (code & t->coding.age_top);
}

static void number_lines(struct ink_table *t, const uint16_t *number)
{
	const struct ink_line_shape *s = ink_line_shape_of(t);
	uint64_t *words = t->body;

	for (uint64_t i = 0; i < (uint64_t)s->lines * INK_LINE_WORDS; i++)
		for (uint32_t lane = 0; lane < s->lanes; lane++) {
			uint32_t column = lane * s->column_bits, code = ink_line_code(s, words[i], column);

			if (ink_line_entry(s, words[i], column))
				words[i] = ink_line_recode(s, words[i], column,
							   code ^ renumbered(t, number, code));
		}
}

static void number_side(struct ink_table *t, const uint16_t *number)
{
	for (uint32_t e = 1; e <= ink_side_last(&t->side); e++)
		if (ink_side_used(&t->side, e))
			ink_side_recode(&t->side, e, renumbered(t, number, ink_side_code(&t->side, e)));
}

/* Epochs are those of the code that a state has in the kernel. */
static void number_time(struct ink_table *t, const struct moment *m, const uint16_t *number)
{
	const struct ink_coding *c = &t->coding;

	for (unsigned code = 0; code <= c->unsure; code++) {
		unsigned epoch = ink_age_read(m->fresh[code], c->age_top, c->age_bits);

		if (number[code] == c->unsure && code != c->unsure)
			continue;
		ink_epoch_set(t, 0, number[code], epoch);
		ink_epoch_set(t, 1, number[code], epoch);
	}
	t->aging.now = t->aging.target = m->now;
	t->aging.flagged = t->aging.ever_flagged = 1;
	ink_groups_note_all(t);
}

static void number(struct ink_table *t, const struct ink_kernel *k, unsigned machine, const struct moment *m)
{
	uint16_t numbers[INK_KERNEL_STATES];

	number_codes(k, machine, numbers);
	if (!is_identity(numbers, t->coding.unsure)) {
		number_lines(t, numbers);
		number_side(t, numbers);
	}
	number_time(t, m, numbers);
	t->side.clock_hand = ink_kernel_tables(k, machine)->clock_hand;
}

/* -------------------------------------------------------------------- copies */

static struct ink_table *copy_one(struct ink_kernel *k, unsigned machine, struct ink_why *why)
{
	const struct ink_machine *m = ink_machines_at(ink_kernel_machines(k), machine);
	struct ink_table *t = empty_copy(k, machine, why);
	struct moment moment = {0};
	int error;

	if (!t)
		return NULL;
	ink_table_attach(t);
	error = copy_body(t, k, machine, &moment, why);
	if (!error) {
		copy_counters(t, ink_kernel_tables(k, machine));
		mend(t);
		number(t, k, machine, &moment);
		error = ink_set_rules(t, m->view.rules, why);
	}
	if (!error)
		return t;
	ink_free(t);
	return errno = -error, NULL;
}

/* Another process may have exchanged the machines. */
int ink_kernel_renew(struct ink_kernel *k, struct ink_why *why)
{
	uint32_t generation = __atomic_load_n(&ink_kernel_controls(k)->generation, __ATOMIC_ACQUIRE);

	return generation == k->version->generation ? 0 : ink_kernel_text_read(k, why);
}

static int begin(struct ink_kernel *k, struct ink_why *why)
{
	int error = ink_kernel_pins_lock(k, why);

	if (!error)
		error = ink_kernel_renew(k, why);
	if (error)
		ink_kernel_pins_unlock(k);
	return error;
}

static void end(struct ink_kernel *k)
{
	release(k);
	ink_kernel_pins_unlock(k);
}

struct ink_table *ink_kernel_copy(struct ink_kernel *k, unsigned machine, struct ink_why *why)
{
	struct ink_table *t;
	int error =
		machine < k->n ? begin(k, why) : ink_fail(why, -EINVAL, "there is no machine %u", machine);

	if (error)
		return errno = -error, NULL;
	t = copy_one(k, machine, why);
	error = errno;
	end(k);
	return errno = error, t;
}

static int save(struct ink_kernel *k, struct ink_table *tables[], const char *path, struct ink_why *why)
{
	struct ink_set_entry entries[INK_KERNEL_MACHINES];
	struct ink_table_set set = {entries, k->n};

	for (unsigned i = 0; i < k->n; i++)
		entries[i] =
			(struct ink_set_entry){ink_machines_at(ink_kernel_machines(k), i)->name, tables[i]};
	return k->n == 1 ? ink_save(tables[0], path, why) : ink_save_set(&set, path, NULL, why);
}

/* Each hold goes on from the one before; so the tables are at the same ticks, unless one takes seconds to mend. */
int ink_kernel_snapshot(struct ink_kernel *k, const char *path, struct ink_why *why)
{
	struct ink_table *tables[INK_KERNEL_MACHINES] = {NULL};
	int error = begin(k, why);

	if (error)
		return error;
	for (unsigned i = 0; i < k->n && !error; i++) {
		tables[i] = copy_one(k, i, why);
		error = tables[i] ? 0 : -errno;
	}
	end(k);
	if (!error)
		error = save(k, tables, path, why);
	for (unsigned i = 0; i < k->n; i++)
		ink_free(tables[i]);
	return error;
}
