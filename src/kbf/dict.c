/* SPDX-License-Identifier: BSD-2-Clause */
#include "kbf/dict.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/secret.h"
#include "base/siphash.h"

/* -------------------------------------------------------------------- memory */

struct ink_dict_chunk {
	struct ink_dict_chunk *next;
	size_t used, size;
	unsigned char bytes[];
};

enum { CHUNK = (1 << 16) - sizeof(struct ink_dict_chunk), FIRST_ROOM = 16 };

/* Zeros, counted. */
static void *take(struct ink_kbf_dict *d, size_t bytes)
{
	void *memory = ink_alloc(&d->allocator, bytes);

	d->bytes += memory ? bytes : 0;
	return memory;
}

static void give_back(struct ink_kbf_dict *d, void *memory, size_t bytes)
{
	ink_release(&d->allocator, memory, bytes);
	d->bytes -= memory ? bytes : 0;
}

static struct ink_dict_chunk *chunk_for(struct ink_kbf_dict *d, size_t length)
{
	struct ink_dict_chunk *c = d->chunks;
	size_t size = length > CHUNK ? length : CHUNK;

	if (c && c->size - c->used >= length)
		return c;
	c = take(d, sizeof *c + size);
	if (!c)
		return NULL;
	c->size = size;
	c->next = d->chunks;
	return d->chunks = c;
}

/* A copy that stays where it is; its bytes are NULL if there is no memory. */
static struct ink_bytes keep(struct ink_kbf_dict *d, struct ink_bytes value)
{
	struct ink_dict_chunk *c = chunk_for(d, value.length);
	struct ink_bytes kept = {c ? c->bytes + c->used : NULL, value.length};

	if (!c)
		return kept;
	if (value.length)
		memcpy(c->bytes + c->used, value.bytes, value.length);
	c->used += value.length;
	return kept;
}

/* -------------------------------------------------------------------- finding */

static uint64_t hash_of(const struct ink_kbf_dict *d, struct ink_bytes value)
{
	return ink_siphash13(d->of_values, value.bytes, value.length);
}

static int equal(struct ink_bytes a, struct ink_bytes b)
{
	return a.length == b.length && (a.length == 0 || memcmp(a.bytes, b.bytes, a.length) == 0);
}

/* The slot of the value's symbol, or the empty one where it would be. */
static uint32_t *slot_of(const struct ink_kbf_dict *d, struct ink_bytes value)
{
	uint32_t mask = 2 * d->room - 1, i = (uint32_t)hash_of(d, value) & mask;

	while (d->slots[i] && !equal(d->values[d->slots[i] - 1], value))
		i = (i + 1) & mask;
	return &d->slots[i];
}

/* The bytes of a value that is too long are not read. */
int ink_kbf_dict_find(const struct ink_kbf_dict *d, struct ink_bytes value, uint32_t *symbol)
{
	uint32_t found = value.length <= d->value_length ? *slot_of(d, value) : 0;

	if (!found)
		return -ENOENT;
	if (symbol)
		*symbol = found - 1;
	return 0;
}

int ink_kbf_dict_value(const struct ink_kbf_dict *d, uint32_t symbol, struct ink_bytes *value)
{
	if (symbol >= d->count)
		return -ENOENT;
	*value = d->values[symbol];
	return 0;
}

uint64_t ink_dict_chain(const struct ink_kbf_dict *d, uint32_t n)
{
	return n ? d->chain[n - 1] : 0;
}

/* ------------------------------------------------------------------- growing */

/* The arrays that have room for as many symbols. */
struct arrays {
	struct ink_bytes *values;
	struct ink_power_sums *codes;
	uint64_t *chain;
	uint32_t *slots, *by_element;
};

static void free_arrays(struct ink_kbf_dict *d, const struct arrays *a, size_t room)
{
	give_back(d, a->values, room * sizeof *a->values);
	give_back(d, a->codes, room * sizeof *a->codes);
	give_back(d, a->chain, room * sizeof *a->chain);
	give_back(d, a->slots, 2 * room * sizeof *a->slots);
	give_back(d, a->by_element, 2 * room * sizeof *a->by_element);
}

static int make_arrays(struct ink_kbf_dict *d, struct arrays *a, size_t room)
{
	int wide = d->encoding == INK_KBF_POWER_SUMS_WIDE;

	a->values = take(d, room * sizeof *a->values);
	a->codes = take(d, room * sizeof *a->codes);
	a->chain = take(d, room * sizeof *a->chain);
	a->slots = take(d, 2 * room * sizeof *a->slots);
	a->by_element = wide ? take(d, 2 * room * sizeof *a->by_element) : NULL;
	if (a->values && a->codes && a->chain && a->slots && (a->by_element || !wide))
		return 0;
	free_arrays(d, a, room);
	return -ENOMEM;
}

static void put_element(struct ink_kbf_dict *d, uint32_t symbol)
{
	uint32_t i = ink_dict_slot(d->codes[symbol].s1, d->room);

	while (d->by_element[i])
		i = (i + 1) & (2 * d->room - 1);
	d->by_element[i] = symbol + 1;
}

static void fill_arrays(struct ink_kbf_dict *d)
{
	for (uint32_t i = 0; i < d->count; i++) {
		*slot_of(d, d->values[i]) = i + 1;
		if (d->by_element)
			put_element(d, i);
	}
}

/* Room for one more symbol. Room is a power of two, so a mask finds the slots. */
static int make_room(struct ink_kbf_dict *d)
{
	uint32_t room = d->room ? 2 * d->room : FIRST_ROOM, old_room = d->room;
	struct arrays old = {d->values, d->codes, d->chain, d->slots, d->by_element}, a;

	if (d->count < d->room)
		return 0;
	if (make_arrays(d, &a, room))
		return -ENOMEM;
	if (d->count) {
		memcpy(a.values, d->values, d->count * sizeof *a.values);
		memcpy(a.codes, d->codes, d->count * sizeof *a.codes);
		memcpy(a.chain, d->chain, d->count * sizeof *a.chain);
	}
	d->values = a.values;
	d->codes = a.codes;
	d->chain = a.chain;
	d->slots = a.slots;
	d->by_element = a.by_element;
	d->room = room;
	fill_arrays(d);
	free_arrays(d, &old, old_room);
	return 0;
}

/* --------------------------------------------------------------------- codes */

static uint32_t draw(const struct ink_kbf_dict *d, uint64_t number)
{
	return (uint32_t)(((ink_siphash13(d->of_symbols, &number, sizeof number) >> 32) * d->field.p) >> 32);
}

static int32_t symbol_of(const struct ink_kbf_dict *d, uint32_t element)
{
	if (d->encoding == INK_KBF_POWER_SUMS)
		return ink_symbol_of_element(d, INK_KBF_POWER_SUMS, element);
	return ink_symbol_of_element(d, INK_KBF_POWER_SUMS_WIDE, element);
}

/* There are more elements than symbols, or as many: one is free. */
static void give_element(struct ink_kbf_dict *d, uint32_t symbol)
{
	uint32_t x;

	do
		x = draw(d, d->draws++);
	while (symbol_of(d, x) >= 0);
	d->codes[symbol] = ink_power_sums_of(&d->field, x);
	if (d->of_element)
		d->of_element[x] = (uint16_t)(symbol + 1);
	else
		put_element(d, symbol);
}

static int give_code(struct ink_kbf_dict *d, uint32_t symbol)
{
	uint64_t before = ink_greedy_index_bytes(&d->index);
	int error;

	if (d->encoding != INK_KBF_GREEDY) {
		give_element(d, symbol);
		return 0;
	}
	error = ink_greedy_index_add(&d->index);
	if (error)
		return error;
	d->bytes += ink_greedy_index_bytes(&d->index) - before;
	d->codes[symbol] = (struct ink_power_sums){d->greedy[symbol], 0};
	return 0;
}

uint32_t ink_encoding_values(enum ink_kbf_encoding encoding)
{
	return encoding == INK_KBF_GREEDY            ? INK_GREEDY_VALUES
	       : encoding == INK_KBF_POWER_SUMS_WIDE ? INK_DICT_MOST_WIDE
						     : INK_DICT_SMALL_FIELD;
}

/* Greedy codes grow, so a cell with fewer bits holds fewer of them. */
uint32_t ink_dict_fitting(const struct ink_kbf_dict *d, unsigned bits)
{
	uint32_t n = d->most;

	if (d->encoding != INK_KBF_GREEDY || bits >= 32)
		return n;
	while (n > 0 && d->greedy[n - 1] >> bits)
		n--;
	return n;
}

/* -------------------------------------------------------------------- adding */

static void commit(struct ink_kbf_dict *d, struct ink_bytes kept, uint32_t *slot)
{
	const uint64_t link[2] = {ink_dict_chain(d, d->count), hash_of(d, kept)};

	d->values[d->count] = kept;
	d->chain[d->count] = ink_siphash13(d->of_values, link, sizeof link);
	*slot = ++d->count;
}

static int add_new(struct ink_kbf_dict *d, struct ink_bytes value)
{
	struct ink_bytes kept;
	int error = make_room(d);

	if (error)
		return error;
	kept = keep(d, value);
	if (!kept.bytes)
		return -ENOMEM;
	error = give_code(d, d->count);
	if (error)
		return error;
	commit(d, kept, slot_of(d, kept));
	return 0;
}

int ink_kbf_dict_add(struct ink_kbf_dict *d, struct ink_bytes value, uint32_t *symbol)
{
	int error = value.length > d->value_length ? -EMSGSIZE : ink_kbf_dict_find(d, value, symbol);

	if (error != -ENOENT)
		return error;
	if (d->count == d->most)
		return -ENOSPC;
	error = add_new(d, value);
	if (!error && symbol)
		*symbol = d->count - 1;
	return error;
}

/* ------------------------------------------------------------- life and sharing */

static void free_all(struct ink_kbf_dict *d)
{
	const struct ink_allocator allocator = d->allocator;
	struct arrays a = {d->values, d->codes, d->chain, d->slots, d->by_element};

	while (d->chunks) {
		struct ink_dict_chunk *c = d->chunks;

		d->chunks = c->next;
		give_back(d, c, sizeof *c + c->size);
	}
	free_arrays(d, &a, d->room);
	give_back(d, d->roots, INK_DICT_SMALL_FIELD * sizeof *d->roots);
	give_back(d, d->of_element, INK_DICT_SMALL_FIELD * sizeof *d->of_element);
	give_back(d, d->greedy, d->most * sizeof *d->greedy);
	ink_greedy_index_free(&d->index);
	ink_release(&allocator, d, sizeof *d);
}

struct ink_kbf_dict *ink_dict_alloc(const struct ink_allocator *a)
{
	struct ink_kbf_dict *d = ink_alloc(a, sizeof *d);

	if (d)
		d->allocator = *a;
	return d;
}

struct ink_kbf_dict *ink_dict_share(struct ink_kbf_dict *d)
{
	__atomic_fetch_add(&d->references, 1, __ATOMIC_RELAXED);
	return d;
}

static void derive(const uint64_t secret[2], const char *name, uint64_t derived[2])
{
	uint64_t length = strlen(name);

	derived[0] = ink_siphash13(secret, name, length);
	derived[1] = ink_siphash13(secret, name, length - 1);
}

static int make_field(struct ink_kbf_dict *d)
{
	uint32_t p = d->encoding == INK_KBF_POWER_SUMS ? INK_DICT_SMALL_FIELD : INK_DICT_LARGE_FIELD;

	if (d->encoding == INK_KBF_POWER_SUMS) {
		d->roots = take(d, p * sizeof *d->roots);
		d->of_element = take(d, p * sizeof *d->of_element);
		if (!d->roots || !d->of_element)
			return -ENOMEM;
	}
	d->field = ink_gf_make(p, d->roots);
	return 0;
}

static int make_greedy(struct ink_kbf_dict *d)
{
	int error;

	d->greedy = take(d, d->most * sizeof *d->greedy);
	if (!d->greedy)
		return -ENOMEM;
	error = ink_greedy_codes(d->greedy, d->most, &d->allocator);
	d->index = (struct ink_greedy_index){.allocator = &d->allocator, .codes = d->greedy};
	if (!error)
		error = ink_greedy_index_make(&d->index, d->most);
	if (!error)
		d->bytes += ink_greedy_index_bytes(&d->index);
	return error;
}

int ink_dict_prepare(struct ink_kbf_dict *d)
{
	int error;

	d->bytes = sizeof *d;
	derive(d->secret, "keys", d->of_keys);
	derive(d->secret, "values", d->of_values);
	derive(d->secret, "symbols", d->of_symbols);
	error = d->encoding == INK_KBF_GREEDY ? make_greedy(d) : make_field(d);
	return error ? error : make_room(d);
}

static int resolve(const struct ink_kbf_dict_options *o, struct ink_kbf_dict *d, struct ink_why *why)
{
	uint32_t most;

	if ((unsigned)o->encoding > INK_KBF_GREEDY)
		return ink_fail(why, -EINVAL, "dictionary options: encoding %d is unknown", (int)o->encoding);
	d->encoding = o->encoding ? o->encoding : INK_KBF_POWER_SUMS;
	most = ink_encoding_values(d->encoding);
	if (o->values > most)
		return ink_fail(why, -ERANGE, "dictionary options: %u values; this encoding has %u",
				o->values, most);
	if (o->value_length > INK_DICT_MOST_LENGTH)
		return ink_fail(why, -ERANGE, "dictionary options: values of %u bytes; 2^30 are possible",
				o->value_length);
	d->most = o->values ? o->values : d->encoding == INK_KBF_GREEDY ? INK_GREEDY_DEFAULT : most;
	d->value_length = o->value_length ? o->value_length : INK_DICT_VALUE_LENGTH;
	return 0;
}

static int build(struct ink_kbf_dict *d, const struct ink_kbf_dict_options *o, struct ink_why *why)
{
	int error = resolve(o, d, why);

	if (!error)
		error = ink_secret_make(o->seed, d->secret, why);
	if (error)
		return error;
	error = ink_dict_prepare(d);
	return error ? ink_fail(why, error, "no memory for a dictionary") : 0;
}

enum { FIRST_OPTIONS = 32, FIRST_STATS = 32 }; /* bytes of the structs' first versions */

static int read_options(struct ink_kbf_dict_options *ours, const struct ink_kbf_dict_options *theirs,
			struct ink_why *why)
{
	static const struct ink_struct form = {"dictionary options", FIRST_OPTIONS, sizeof *ours};

	*ours = (struct ink_kbf_dict_options){.size = sizeof *ours};
	return theirs ? ink_struct_read(&form, ours, theirs, why) : 0;
}

/* What is left of a dictionary that could not be made is freed. */
static struct ink_kbf_dict *made(struct ink_kbf_dict *d, int error)
{
	if (!error)
		return ink_dict_share(d);
	if (d)
		free_all(d);
	errno = -error;
	return NULL;
}

struct ink_kbf_dict *ink_kbf_dict_create(const struct ink_kbf_dict_options *options, struct ink_why *why)
{
	struct ink_kbf_dict_options o;
	struct ink_allocator a;
	struct ink_kbf_dict *d = NULL;
	int error = read_options(&o, options, why);

	if (!error)
		error = ink_allocator_copy(&a, o.allocator, why);
	if (!error) {
		d = ink_dict_alloc(&a);
		error = d ? build(d, &o, why) : ink_fail(why, -ENOMEM, "no memory for a dictionary");
	}
	return made(d, error);
}

void ink_kbf_dict_free(struct ink_kbf_dict *d)
{
	if (d && __atomic_sub_fetch(&d->references, 1, __ATOMIC_ACQ_REL) == 0)
		free_all(d);
}

uint64_t ink_kbf_dict_bytes(const struct ink_kbf_dict *d)
{
	return d->bytes;
}

int ink_kbf_dict_stats(const struct ink_kbf_dict *d, struct ink_kbf_dict_stats *stats)
{
	static const struct ink_struct form = {"dictionary stats", FIRST_STATS, sizeof *stats};
	struct ink_kbf_dict_stats all = {.encoding = d->encoding,
					 .values = d->count,
					 .most = d->most,
					 .value_length = d->value_length,
					 .bytes = d->bytes};

	return ink_struct_write(&form, stats, &all, NULL);
}

/* ------------------------------------------------------------------ two of them */

int ink_dict_fits(const struct ink_kbf_dict *a, const struct ink_kbf_dict *b)
{
	uint32_t n = a->count < b->count ? a->count : b->count;

	return a->encoding == b->encoding && a->secret[0] == b->secret[0] && a->secret[1] == b->secret[1] &&
	       ink_dict_chain(a, n) == ink_dict_chain(b, n);
}

int ink_dict_extend(struct ink_kbf_dict *d, const struct ink_kbf_dict *longer)
{
	int error = 0;

	while (!error && d->count < longer->count)
		error = ink_kbf_dict_add(d, longer->values[d->count], NULL);
	return error;
}

/* Symbols follow from the order of the values, codes from the symbols and the secret. */
static int fill_copy(struct ink_kbf_dict *d, const struct ink_kbf_dict *from)
{
	int error;

	d->encoding = from->encoding;
	d->most = from->most;
	d->value_length = from->value_length;
	memcpy(d->secret, from->secret, sizeof d->secret);
	error = ink_dict_prepare(d);
	return error ? error : ink_dict_extend(d, from);
}

struct ink_kbf_dict *ink_kbf_dict_copy(const struct ink_kbf_dict *dict, const struct ink_allocator *allocator,
				       struct ink_why *why)
{
	struct ink_allocator a;
	struct ink_kbf_dict *d = NULL;
	int error = ink_allocator_copy(&a, allocator, why);

	if (!error) {
		d = ink_dict_alloc(&a);
		error = d ? fill_copy(d, dict) : -ENOMEM;
		if (error)
			ink_fail(why, error, "no memory for a copy of the dictionary");
	}
	return made(d, error);
}
