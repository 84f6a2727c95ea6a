/* SPDX-License-Identifier: BSD-2-Clause */
/* Bodies of snapshots as words of 32 bits and strings, which are filled up to words with zeros. */
#ifndef INKLING_KBF_WORDS_H
#define INKLING_KBF_WORDS_H

#include <inkling/kbf.h>

#include <string.h>

static inline uint64_t ink_words_padded(uint64_t length)
{
	return (length + 3) / 4 * 4;
}

/* Where a body is written or read. */
struct ink_words {
	unsigned char *at;
	uint64_t left; /* bytes; for reading */
};

static inline void ink_words_put(struct ink_words *w, uint32_t word)
{
	memcpy(w->at, &word, sizeof word);
	w->at += sizeof word;
}

/* The memory is zeros, so the padding is there. */
static inline void ink_words_put_string(struct ink_words *w, struct ink_bytes s)
{
	if (s.length)
		memcpy(w->at, s.bytes, s.length);
	w->at += ink_words_padded(s.length);
}

static inline void ink_words_skip(struct ink_words *w, uint64_t bytes)
{
	w->at += bytes;
	w->left -= bytes;
}

/* 0 if the body ends before. */
static inline int ink_words_get(struct ink_words *w, uint32_t *word)
{
	if (w->left < sizeof *word)
		return 0;
	memcpy(word, w->at, sizeof *word);
	ink_words_skip(w, sizeof *word);
	return 1;
}

/* 0 if the body ends before, or the padding is not 0. The string is not copied. */
static inline int ink_words_get_string(struct ink_words *w, uint32_t length, struct ink_bytes *s)
{
	if (w->left < ink_words_padded(length))
		return 0;
	*s = (struct ink_bytes){w->at, length};
	for (uint64_t i = length; i < ink_words_padded(length); i++)
		if (w->at[i])
			return 0;
	ink_words_skip(w, ink_words_padded(length));
	return 1;
}

#endif
