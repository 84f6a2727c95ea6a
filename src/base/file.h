/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that hold one object each: a table, a counting set, a kBF, its
 * dictionary. docs/format.md has every byte; what all of them share:
 *
 *     0       8                                          4080     4096
 *     +-------+------------------------------------+-----+--------+----------------------+
 *     | magic | version, kind, what the object is, |  0  | sum of | the body, and zeros  |
 *     |       | length and sum of the body         |     | header | to the next page     |
 *     +-------+------------------------------------+-----+--------+----------------------+
 *
 * The header has a page of its own, so that the body begins on one and can be
 * mapped instead of read.
 *
 * Saving is all or nothing. The object goes into a new file in the same
 * directory, the disk has it (fsync) before it takes the old one's name
 * (rename), and the name is on the disk before the call returns. Whoever looks
 * finds the whole old file or the whole new one, also after a power cut.
 *
 * Loading: a page that ink_file_open has read bears the right magic, version,
 * checksum and length, and the body that ink_file_body gives the right
 * checksum. That finds damage; but whoever wants to harm us computes checksums
 * right, so every other number is the caller's to distrust.
 */
#ifndef INKLING_BASE_FILE_H
#define INKLING_BASE_FILE_H

#include <inkling/inkling.h>

enum { INK_FILE_PAGE = 4096 };

/* What a file holds, besides the tables (enum ink_kind). */
enum ink_file_kind {
	INK_FILE_COUNT_DLEFT = 16,
	INK_FILE_COUNT_STANDARD = 17,
	INK_FILE_KBF = 32,
	INK_FILE_KBF_DICT = 33
};

enum { INK_FILE_VERSION = 5 }; /* docs/format.md says what the others were */

/* What stands at the same bytes of every header; the writer gives kind and body_bytes, the rest is filled in. */
struct ink_file_head {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes;
	uint32_t kind;
	unsigned char own[164]; /* what the object is */
	uint64_t body_bytes;    /* a multiple of the page */
	uint64_t body_sum[2];   /* XXH3-128, low half first, as the header's */
	unsigned char more[3872];
	uint64_t header_sum[2]; /* of all bytes before it */
};

_Static_assert(sizeof(struct ink_file_head) == INK_FILE_PAGE, "the header is one page");

/* The file that a call is about, for what it has to say. */
struct ink_file {
	const char *path;
	struct ink_why *why;
	int fd; /* -1: not open */
};

/* "path: what is wrong", and the error passed on. */
__attribute__((format(printf, 3, 4))) int ink_file_wrong(const struct ink_file *f, int error,
							 const char *format, ...);

/* Writes the page, completed in place, and the body; 0 or what the system said. */
int ink_file_save(const char *path, void *page, const void *body, struct ink_why *why);

/* Opens f->path and reads the header; 0, -EBADMSG, -ENOTSUP, or what the system said. Close it in any case. */
int ink_file_open(struct ink_file *f, void *page);

/* The body, which ink_body_free frees; NULL in *body on failure. */
int ink_file_body(const struct ink_file *f, const void *page, enum ink_load how, void **body);

/* All bytes of the page from `from` up to the header's sum must be 0. */
int ink_file_reserved(const struct ink_file *f, const void *page, size_t from);

/* All bytes of the body from `used` on must be 0. */
int ink_file_padding(const struct ink_file *f, const void *page, const void *body, uint64_t used);

void ink_file_close(struct ink_file *f);

#endif
