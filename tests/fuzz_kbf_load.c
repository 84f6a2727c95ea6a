/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots of filters and dictionaries: any bytes are refused or make something
 * sound. A filter whose checksum is trusted need not be sound, but can be used.
 *
 * The first byte of an input says how a file is made of the others, so that
 * the fuzzer gets past the checksums, which it could never guess:
 *
 *     0  the bytes are the file of a filter, with checksums that are right
 *     1  a real filter, changed: the next byte chooses it, then come two bytes of offset and one of change
 *        for each byte that is changed
 *     2  as 0, but the file of a dictionary
 *     3  as 1, but a real dictionary
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kbf/filter.h"
#include "tests/kbf_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ENCODINGS = 3 };

static struct image filters[ENCODINGS], dicts[ENCODINGS];
static struct ink_kbf_dict *real[ENCODINGS]; /* that the filters are of */

static struct ink_bytes key_of(uint32_t i, char text[16])
{
	return (struct ink_bytes){text, (size_t)snprintf(text, 16, "%u", i)};
}

/* Some of everything. */
static void fill(struct ink_kbf *f)
{
	char key[16], value[16];

	for (uint32_t i = 0; i < 120; i++) {
		ink_kbf_insert(f, key_of(i, key), key_of(i % 7, value));
		if (i == 60)
			ink_kbf_grow(f);
	}
	for (uint32_t i = 0; i < 120; i += 3)
		ink_kbf_update(f, key_of(i, key), key_of(i % 5, value));
	for (uint32_t i = 0; i < 120; i += 4)
		ink_kbf_delete(f, key_of(i, key));
}

static void use(struct ink_kbf *f, int sound)
{
	char key[16], value[16];
	struct ink_bytes found;

	for (uint32_t i = 0; i < 80; i++) {
		ink_kbf_query(f, key_of(i, key), &found);
		ink_kbf_insert(f, key_of(i, key), key_of(i % 3, value));
		ink_kbf_set(f, key_of(i / 2, key), key_of(i % 4, value));
		ink_kbf_delete(f, key_of(i / 3, key));
	}
	ink_kbf_settle(f);
	ink_kbf_compact(f);
	insist(!sound || ink_kbf_check(f, NULL) == 0);
}

static void make_real(unsigned e)
{
	struct ink_kbf_dict_options d = {
		.size = sizeof d, .encoding = INK_KBF_POWER_SUMS + e, .values = 20, .seed = 1};
	struct ink_kbf_options o = {.size = sizeof o, .k = 3, .cells = 60, .keys = 20, .pending = 100};
	struct ink_buffer filter = image_buffer(&filters[e]), dict = image_buffer(&dicts[e]);
	struct ink_kbf *f;

	o.dict = real[e] = ink_kbf_dict_create(&d, NULL);
	f = ink_kbf_create(&o, NULL);
	insist(f != NULL);
	fill(f);
	insist(f->pending.count > 0);
	insist(ink_kbf_save_buffer(f, &filter, NULL, NULL) == 0);
	insist(ink_kbf_dict_save_buffer(real[e], &dict, NULL, NULL) == 0);
	image_resize(&filters[e], filter.used);
	image_resize(&dicts[e], dict.used);
	ink_kbf_free(f);
}

static void prepare(void)
{
	for (unsigned e = 0; e < ENCODINGS && !real[e]; e++)
		make_real(e);
}

static void load_filter(const struct image *i, enum ink_trust trust)
{
	const struct ink_load_options l = {.size = sizeof l, .trust = trust};

	for (unsigned e = 0; e < ENCODINGS; e++) {
		struct ink_why why = {""};
		struct ink_kbf *f =
			ink_kbf_load_buffer((struct ink_bytes){i->bytes, i->size}, real[e], &l, &why);

		insist(f || why.text[0]);
		if (!f)
			continue;
		insist(trust || ink_kbf_check(f, NULL) == 0);
		use(f, !trust);
		ink_kbf_free(f);
	}
}

/* Thousands of greedy codes take seconds to find: that is known, and no news. */
static void load_dict(const struct image *i)
{
	struct ink_why why = {""};
	struct ink_kbf_options o = {.size = sizeof o, .k = 3, .cells = 60, .keys = 20};
	struct ink_kbf *f;

	if (i->size >= AT_BODY && image_get32(i, AT_ENCODING) == INK_KBF_GREEDY &&
	    image_get32(i, AT_MOST) > 200)
		return;
	o.dict = ink_kbf_dict_load_buffer((struct ink_bytes){i->bytes, i->size}, NULL, &why);
	insist(o.dict || why.text[0]);
	if (!o.dict)
		return;
	f = ink_kbf_create(&o, NULL);
	insist(f != NULL);
	use(f, 1);
	ink_kbf_free(f);
	ink_kbf_dict_free(o.dict);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct image i;
	unsigned way = size ? data[0] % 4 : 0, which = size > 1 ? data[1] % ENCODINGS : 0;

	prepare();
	if (size < 2)
		return 0;
	if (way % 2 == 0)
		image_of_bytes(&i, data + 1, size - 1);
	else
		image_of_real(&i, way == 1 ? &filters[which] : &dicts[which], data + 2, size - 2);
	image_seal(&i);
	if (way < 2) {
		load_filter(&i, INK_TRUST_NOTHING);
		load_filter(&i, INK_TRUST_CHECKSUM);
	} else {
		load_dict(&i);
	}
	return 0;
}
