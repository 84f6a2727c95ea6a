/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files that hold one object each: a table, a counting set, a kBF, its
 * dictionary; or a set of tables, which are files in a file (struct ink_file_part).
 * docs/format.md has every byte; what all of them share:
 *
 *     0       8                                           4056    4080     4096
 *     +-------+------------------------------------+-----+-------+--------+---------------+---------+
 *     | magic | version, kind, what the object is, |  0  | extra | sum of | the body:     | extra:  |
 *     |       | length and sum of the body         |     |       | header | whole pages   | bytes   |
 *     +-------+------------------------------------+-----+-------+--------+---------------+---------+
 *
 * The header has a page of its own, so the body begins on one and can be mapped
 * instead of read. The extra bytes are the caller's. A file has the lowest version
 * that knows everything it uses.
 *
 * How a kind of file uses it.
 *
 *     struct header {                          struct ink_file f = {.path = path, .why = why};
 *             INK_FILE_FIRST;                          or .source, or .bytes and .n; and .load
 *             ... its fields ...               error = ink_file_open(&f, &h);
 *             INK_FILE_LENGTHS;                ... distrust every field, allocate from &f.allocator ...
 *             ... more fields ...              error = ink_file_body(&f, &h, &body);
 *             unsigned char reserved[n];       ... if (!f.trust) distrust the body ...
 *             INK_FILE_LAST;                   ink_file_close(&f);         always
 *     };
 *     INK_FILE_CHECK(struct header);           body->mapped goes with the object: ink_file_release
 *
 * Saving is one call, ink_file_save, for a path, a sink and a buffer alike.
 *
 * Saving to a path is all or nothing. The object goes into a new file in the same
 * directory; fsync brings that to the disk before it takes the old one's name
 * (rename), and the name is on the disk before the call returns. A process that opens the
 * path finds the whole old file or the whole new one, also after a power cut. A
 * save holds a lock (flock) on its new file. One without a lock is left
 * from a save that was killed: the next save to the same path removes it.
 *
 * Loading: a header that ink_file_open has read bears the right magic, version,
 * checksum and length, and the body that ink_file_body gives the right checksum.
 * That finds damage. A forger computes right checksums, so the kind of file checks
 * every other number itself.
 */
#ifndef INKLING_BASE_FILE_H
#define INKLING_BASE_FILE_H

#include <inkling/inkling.h>

#include "base/allocator.h"
#include "base/pages.h"

enum { INK_FILE_PAGE = INK_BODY_PAGE };

/* What a file holds, besides the tables (enum ink_kind). */
enum ink_file_kind {
	INK_FILE_COUNT_DLEFT = 16,
	INK_FILE_COUNT_STANDARD = 17,
	INK_FILE_KBF = 32,
	INK_FILE_KBF_DICT = 33,
	INK_FILE_SET = 48 /* several tables; table/set.c */
};

/* docs/format.md says what the earlier ones were. */
enum {
	INK_FILE_VERSION = 5, /* the oldest that is read */
	INK_FILE_EXTRA = 6,   /* has extra bytes, or a table with a tick under way */
	INK_FILE_BODIES = 7   /* has a body of another layout: `compact` in columns, `line` in parts */
};

/* --------------------------------------------------------------------- the header */

/* Bytes 0 to 19. The kind of file sets `kind`, and `version` if it has to be more than INK_FILE_VERSION. */
#define INK_FILE_FIRST                                                                                       \
	char magic[8];                                                                                       \
	uint32_t version;                                                                                    \
	uint32_t header_bytes;                                                                               \
	uint32_t kind

/* Bytes 184 to 207. The kind of file sets `body_bytes`. Sums are XXH3-128, low half first. */
#define INK_FILE_LENGTHS                                                                                     \
	uint64_t body_bytes; /* a multiple of the page */                                                    \
	uint64_t body_sum[2]

/* Bytes 4056 to 4095; the last is the sum of all bytes before it. */
#define INK_FILE_LAST                                                                                        \
	uint64_t extra_bytes;                                                                                \
	uint64_t extra_sum[2];                                                                               \
	uint64_t header_sum[2]

/* Any header, as far as this file knows it. */
struct ink_file_head {
	INK_FILE_FIRST;
	unsigned char own[4];
	uint64_t tables_bytes; /* of a set: between the body and the extra bytes; else the kind's own */
	unsigned char more_own[152];
	INK_FILE_LENGTHS;
	unsigned char more[3848];
	INK_FILE_LAST;
};

#define INK_FILE_CHECK(type)                                                                                 \
	_Static_assert(sizeof(type) == INK_FILE_PAGE && offsetof(type, kind) == 16 &&                        \
			       offsetof(type, body_bytes) == 184 && offsetof(type, body_sum) == 192 &&       \
			       offsetof(type, extra_bytes) == 4056 && offsetof(type, header_sum) == 4080,    \
		       "docs/format.md: every header has the common fields at the same bytes")

INK_FILE_CHECK(struct ink_file_head);

/* ------------------------------------------------------------------------- saving */

/* Where an object goes; one of the first three is set. */
struct ink_file_target {
	const char *path;
	const struct ink_sink *sink;
	struct ink_buffer *buffer;
	const struct ink_save_options *options; /* the caller's, unread; or NULL */
	struct ink_why *why;
};

/* Writes the header, completed in place, the body, and the extra bytes. */
int ink_file_save(const struct ink_file_target *to, void *header, const void *body);

/* Bytes that are written behind the header. */
struct ink_file_piece {
	const void *at;
	uint64_t bytes;
};

/* The same with n pieces instead of one; the first is the body. */
int ink_file_save_pieces(const struct ink_file_target *to, void *header, const struct ink_file_piece *pieces,
			 size_t n);

/* Completes the header of a file without extra bytes, as saving does. */
void ink_file_complete(void *header, const void *body);

/* How many bytes that will be. */
int ink_file_bytes(const struct ink_save_options *options, uint64_t body_bytes, uint64_t *bytes,
		   struct ink_why *why);

/* ------------------------------------------------------------------------ loading */

struct ink_file;

/* A whole file within another one, which is open: a table of a set. */
struct ink_file_part {
	const struct ink_file *whole;
	uint64_t at;      /* in `whole`; a multiple of the page */
	uint64_t bytes;   /* its length, checked against that of `whole` */
	uint64_t head[2]; /* the sum that its header must have */
	const char *name; /* for messages */
};

/* A file that is being loaded. */
struct ink_file {
	/* Set by the caller; one of the first three says where the file is. */
	const char *path;
	const struct ink_source *source;
	const void *bytes;
	size_t n;                            /* with `bytes` */
	const struct ink_load_options *load; /* the caller's, unread; or NULL */
	const struct ink_file_part
		*part; /* or NULL; then `path`, `source` and `bytes` are those of the whole */
	struct ink_why *why;
	/* Set by ink_file_open. */
	struct ink_load_options options;
	struct ink_allocator allocator;
	int trust;   /* the checksum is enough */
	int is_open; /* fd */
	int fd;      /* of a path */
	uint64_t at;
	uint64_t size;  /* UINT64_MAX: not known */
	uint64_t extra; /* the caller's bytes, as the header says */
};

/* The bytes of an object behind its header. */
struct ink_body {
	void *at;
	uint64_t bytes;
	int is_mapped; /* from a file; else from an allocator */
};

/* "path: what is wrong", or "snapshot: ..." where there is no path, with the name of a part; and the error passed on. */
__attribute__((format(printf, 3, 4))) int ink_file_wrong(const struct ink_file *f, int error,
							 const char *format, ...);

/*
 * Reads the caller's options and the header. 0, -EINVAL, -EBADMSG, -ENOTSUP, or
 * what the system or the source said. ink_file_close it in any case.
 */
int ink_file_open(struct ink_file *f, void *header);

/* Is that much to allocate, and room for the extra bytes, within the caller's limit? 0, or -EFBIG. */
int ink_file_limit(const struct ink_file *f, uint64_t bytes);

/* The body, and the extra bytes to where the caller wants them. On failure body->at is NULL. */
int ink_file_body(struct ink_file *f, const void *header, struct ink_body *body);

/* For a set, whose extra bytes are behind its tables: the body alone, and the rest once f->at is behind the tables. */
int ink_file_body_alone(struct ink_file *f, const void *header, struct ink_body *body);
int ink_file_extra(struct ink_file *f, const void *header);

/* Frees a body that has that allocator, or was mapped. */
void ink_file_release(const struct ink_allocator *a, struct ink_body *body);

/* All bytes of the header from `from` on that are not common fields must be 0. */
int ink_file_reserved(const struct ink_file *f, const void *header, size_t from);

/* All bytes of the body from `used` on must be 0. */
int ink_file_padding(const struct ink_file *f, const struct ink_body *body, uint64_t used);

void ink_file_close(struct ink_file *f);

#endif
