/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/error.h"
#include "base/grow.h"
#include "base/replace.h"

#define MAGIC "\x89INK\r\n\x1a\n" /* as PNG's: no text, and a transfer that changes line ends breaks it */

/* ------------------------------------------------------------------- checksums */

static void sum(const void *bytes, uint64_t length, uint64_t result[2])
{
	XXH128_hash_t hash = XXH3_128bits(bytes, length);

	result[0] = hash.low64;
	result[1] = hash.high64;
}

static int sum_is(const void *bytes, uint64_t length, const uint64_t expected[2])
{
	uint64_t found[2];

	sum(bytes, length, found);
	return found[0] == expected[0] && found[1] == expected[1];
}

/* ------------------------------------------------------------ what went wrong */

enum { PATH_SHOWN = 80 }; /* of the 200 bytes of a reason; a longer path shows its end, which says more */

int ink_file_wrong(const struct ink_file *f, int error, const char *format, ...)
{
	const char *path = f->path ? f->path : "snapshot";
	size_t length = strlen(path), cut = length > PATH_SHOWN ? length - PATH_SHOWN : 0;
	char text[sizeof f->why->text];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return ink_fail(f->why, error, "%s%s: %s%s%s%s", cut ? "..." : "", path + cut,
			f->part ? "table " : "", f->part ? f->part->name : "", f->part ? ": " : "", text);
}

/* The system, a sink or a source refused to do something. A result that is no errno becomes an I/O error. */
static int refused(const struct ink_file *f, const char *doing, long error)
{
	int number = error < 0 && error >= -4095 ? (int)error : -EIO;

	return ink_file_wrong(f, number, "cannot %s: %s", doing, strerror(-number));
}

/* The body's words have the byte order of the machine, and so would the file. */
static int check_host(const struct ink_file *f)
{
	const uint16_t one = 1;

	if (*(const unsigned char *)&one == 1)
		return 0;
	return ink_file_wrong(f, -ENOTSUP, "snapshots are little endian, and this machine is not");
}

static const struct ink_struct save_options = {"save options", 24, sizeof(struct ink_save_options)};
static const struct ink_struct load_options = {"load options", 64, sizeof(struct ink_load_options)};

/* ------------------------------------------------------------------ saving */

static int read_save_options(struct ink_save_options *o, const struct ink_save_options *theirs,
			     struct ink_why *why)
{
	int error;

	*o = (struct ink_save_options){.size = sizeof *o};
	if (!theirs)
		return 0;
	error = ink_struct_read(&save_options, o, theirs, why);
	if (error)
		return error;
	if (o->extra_bytes > INK_MAX_EXTRA)
		return ink_fail(why, -EINVAL, "save options: %zu extra bytes; %u are possible",
				o->extra_bytes, INK_MAX_EXTRA);
	if (o->extra_bytes && !o->extra)
		return ink_fail(why, -EINVAL, "save options: extra_bytes is %zu, but extra is NULL",
				o->extra_bytes);
	return 0;
}

int ink_file_bytes(const struct ink_save_options *options, uint64_t body_bytes, uint64_t *bytes,
		   struct ink_why *why)
{
	struct ink_save_options o;
	int error = read_save_options(&o, options, why);

	*bytes = error ? 0 : INK_FILE_PAGE + body_bytes + o.extra_bytes;
	return error;
}

static void complete(struct ink_file_head *h, const void *body, const struct ink_save_options *o)
{
	memcpy(h->magic, MAGIC, sizeof h->magic);
	if (h->version < INK_FILE_VERSION)
		h->version = INK_FILE_VERSION;
	if (o->extra_bytes && h->version < INK_FILE_EXTRA)
		h->version = INK_FILE_EXTRA;
	h->header_bytes = INK_FILE_PAGE;
	h->extra_bytes = o->extra_bytes;
	if (o->extra_bytes)
		sum(o->extra, o->extra_bytes, h->extra_sum);
	sum(body, h->body_bytes, h->body_sum);
	sum(h, offsetof(struct ink_file_head, header_sum), h->header_sum);
}

void ink_file_complete(void *header, const void *body)
{
	complete(header, body, &(struct ink_save_options){.size = sizeof(struct ink_save_options)});
}

/* Header, body and what follows it, and extra bytes. */
struct parts {
	const struct ink_file_head *header;
	const struct ink_file_piece *pieces;
	size_t n;
	const struct ink_save_options *options;
};

static uint64_t bytes_of(const struct parts *p)
{
	uint64_t bytes = INK_FILE_PAGE + p->options->extra_bytes;

	for (size_t i = 0; i < p->n; i++)
		bytes += p->pieces[i].bytes;
	return bytes;
}

static int write_parts(const struct parts *p, const struct ink_sink *to)
{
	int error = to->write(p->header, INK_FILE_PAGE, to->user);

	for (size_t i = 0; i < p->n && !error; i++)
		error = to->write(p->pieces[i].at, p->pieces[i].bytes, to->user);
	if (!error && p->options->extra_bytes)
		error = to->write(p->options->extra, p->options->extra_bytes, to->user);
	return error;
}

/* ------------------------------------------------------------ saving: three ways */

/* The sink of a path. */
static int write_fd(const void *bytes, size_t n, void *user)
{
	const int *fd = user;
	const char *at = bytes;

	while (n) {
		ssize_t done = write(*fd, at, n);

		if (done < 0 && errno != EINTR)
			return -errno;
		at += done > 0 ? done : 0;
		n -= done > 0 ? (size_t)done : 0;
	}
	return 0;
}

static int save_path(const struct ink_file *f, const struct parts *p)
{
	struct ink_replace r = {.file = *f};
	int error = ink_replace_begin(&r);

	if (!error) {
		error = write_parts(p, &(struct ink_sink){write_fd, &r.fd});
		error = error ? refused(f, "write the snapshot", error) : ink_replace_commit(&r);
	}
	ink_replace_end(&r);
	return error;
}

static int save_sink(const struct ink_file *f, const struct parts *p, const struct ink_sink *sink)
{
	int error;

	if (!sink->write)
		return ink_file_wrong(f, -EINVAL, "the sink has no function");
	error = write_parts(p, sink);
	return error ? refused(f, "write to the sink", error) : 0;
}

/* The sink of a buffer that is large enough. */
static int write_memory(const void *bytes, size_t n, void *user)
{
	unsigned char **at = user;

	memcpy(*at, bytes, n);
	*at += n;
	return 0;
}

static int save_buffer(const struct ink_file *f, const struct parts *p, struct ink_buffer *b)
{
	unsigned char *at = b->bytes;

	b->used = bytes_of(p);
	if (b->room < b->used)
		return ink_file_wrong(f, -ENOSPC, "takes %zu bytes, and the buffer has %zu", b->used,
				      b->room);
	if (!at)
		return ink_file_wrong(f, -EINVAL, "the buffer is NULL");
	return write_parts(p, &(struct ink_sink){write_memory, &at});
}

int ink_file_save_pieces(const struct ink_file_target *to, void *header, const struct ink_file_piece *pieces,
			 size_t n)
{
	struct ink_file f = {.path = to->path, .why = to->why};
	struct ink_save_options o;
	struct parts p = {header, pieces, n, &o};
	int error = check_host(&f);

	if (!error)
		error = read_save_options(&o, to->options, to->why);
	if (error)
		return error;
	complete(header, pieces[0].at, &o);
	if (to->path)
		return save_path(&f, &p);
	if (to->sink)
		return save_sink(&f, &p, to->sink);
	if (to->buffer)
		return save_buffer(&f, &p, to->buffer);
	return ink_file_wrong(&f, -EINVAL, "NULL says not where to save it");
}

int ink_file_save(const struct ink_file_target *to, void *header, const void *body)
{
	struct ink_file_piece piece = {body, ((const struct ink_file_head *)header)->body_bytes};

	return ink_file_save_pieces(to, header, &piece, 1);
}

/* --------------------------------------------------------- loading: the options */

static int check_how(const struct ink_file *f)
{
	const struct ink_load_options *o = &f->options;

	if (o->how != INK_LOAD_READ && o->how != INK_LOAD_MAP)
		return ink_file_wrong(f, -EINVAL, "there is no way %d of loading", (int)o->how);
	if (o->how == INK_LOAD_MAP && (!f->path || o->allocator))
		return ink_file_wrong(f, -EINVAL,
				      "only a path can be mapped, and only with the library's own allocator");
	if (o->trust != INK_TRUST_NOTHING && o->trust != INK_TRUST_CHECKSUM)
		return ink_file_wrong(f, -EINVAL, "there is no trust %d", (int)o->trust);
	if (o->extra_room && !o->extra)
		return ink_file_wrong(f, -EINVAL, "extra_room is %zu, but extra is NULL", o->extra_room);
	return 0;
}

static int read_load_options(struct ink_file *f)
{
	int error = 0;

	f->options = (struct ink_load_options){.size = sizeof f->options};
	if (f->load)
		error = ink_struct_read(&load_options, &f->options, f->load, f->why);
	if (!error)
		error = check_how(f);
	if (!error)
		error = ink_allocator_copy(&f->allocator, f->options.allocator, f->why);
	f->trust = f->options.trust == INK_TRUST_CHECKSUM;
	return error;
}

/* --------------------------------------------------------- loading: three ways */

/* O_NONBLOCK: the open of a pipe would wait for a writer. */
static int open_regular(struct ink_file *f)
{
	struct stat found;

	f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0)
		return refused(f, "open it", -errno);
	f->is_open = 1;
	if (fstat(f->fd, &found) < 0)
		return refused(f, "look at it", -errno);
	if (S_ISDIR(found.st_mode))
		return ink_file_wrong(f, -EISDIR, "is a directory");
	if (!S_ISREG(found.st_mode))
		return ink_file_wrong(f, -EBADMSG, "is not a regular file");
	f->size = (uint64_t)found.st_size;
	return 0;
}

/* The whole is open and long enough for the part, or is a source that has been read up to it. */
static int find_part(struct ink_file *f)
{
	f->fd = f->part->whole->fd;
	f->size = f->part->bytes;
	return 0;
}

static int find_file(struct ink_file *f)
{
	f->size = UINT64_MAX;
	if (f->part)
		return find_part(f);
	if (f->path)
		return open_regular(f);
	if (f->source)
		return f->source->read ? 0 : ink_file_wrong(f, -EINVAL, "the source has no function");
	if (!f->bytes)
		return ink_file_wrong(f, -EINVAL, "NULL says not where to load it from");
	f->size = f->n;
	return 0;
}

/* Where the file begins in what was opened. */
static uint64_t start_of(const struct ink_file *f)
{
	return f->part ? f->part->at : 0;
}

/* The source of a path, and that of a buffer. */
static ptrdiff_t read_fd(const struct ink_file *f, void *into, size_t n)
{
	ssize_t done = pread(f->fd, into, n, (off_t)(start_of(f) + f->at));

	return done < 0 ? -errno : done;
}

static ptrdiff_t read_memory(const struct ink_file *f, void *into, size_t n)
{
	size_t at = start_of(f) + f->at, left = f->n - at, done = n < left ? n : left;

	memcpy(into, (const unsigned char *)f->bytes + at, done);
	return (ptrdiff_t)done;
}

/* At least one byte, 0 at the end, or a negative errno. */
static ptrdiff_t read_some(const struct ink_file *f, void *into, size_t n)
{
	if (n > PTRDIFF_MAX)
		n = PTRDIFF_MAX;
	if (f->path)
		return read_fd(f, into, n);
	if (f->source)
		return f->source->read(into, n, f->source->user);
	return read_memory(f, into, n);
}

static int ends_early(const struct ink_file *f)
{
	if (f->at < INK_FILE_PAGE)
		return ink_file_wrong(f, -EBADMSG,
				      "is too short for a snapshot: %llu bytes, the header alone has %d",
				      (unsigned long long)f->at, INK_FILE_PAGE);
	return ink_file_wrong(f, -EBADMSG, "ends at byte %llu%s", (unsigned long long)f->at,
			      f->path ? "; it has become shorter meanwhile" : ", too early");
}

static int read_all(struct ink_file *f, void *into, uint64_t length)
{
	unsigned char *at = into;

	while (length) {
		ptrdiff_t n = read_some(f, at, length);

		if (n == -EINTR && f->path)
			continue;
		if (n < 0)
			return refused(f, "read it", n);
		if (n == 0)
			return ends_early(f);
		if ((uint64_t)n > length)
			return ink_file_wrong(f, -EIO, "the source says it read %td bytes of %llu", n,
					      (unsigned long long)length);
		at += n;
		f->at += (uint64_t)n;
		length -= (uint64_t)n;
	}
	return 0;
}

/* ----------------------------------------------------------- loading: the header */

/* Another version may have its checksum elsewhere, so the version comes first. Only tables have version 7. */
static int check_head(const struct ink_file *f, const struct ink_file_head *h)
{
	int is_no_table = h->kind >= INK_FILE_COUNT_DLEFT && h->kind <= INK_FILE_SET;
	uint32_t newest = is_no_table ? INK_FILE_EXTRA : INK_FILE_BODIES;

	if (memcmp(h->magic, MAGIC, sizeof h->magic) != 0)
		return ink_file_wrong(f, -EBADMSG,
				      "is no snapshot: its first 8 bytes (the magic) are others");
	if (h->version < INK_FILE_VERSION || h->version > newest)
		return ink_file_wrong(f, -ENOTSUP, "has format version %u; this library knows %d to %u",
				      h->version, INK_FILE_VERSION, newest);
	if (!sum_is(h, offsetof(struct ink_file_head, header_sum), h->header_sum))
		return ink_file_wrong(f, -EBADMSG, "the header is damaged: its checksum is wrong");
	if (h->header_bytes != INK_FILE_PAGE)
		return ink_file_wrong(f, -EBADMSG, "the header length (byte 12) is %u, not %d",
				      h->header_bytes, INK_FILE_PAGE);
	return 0;
}

static int check_extra(const struct ink_file *f, const struct ink_file_head *h)
{
	if (h->version < INK_FILE_EXTRA)
		return ink_file_reserved(f, h, offsetof(struct ink_file_head, extra_bytes));
	if (h->extra_bytes > INK_MAX_EXTRA)
		return ink_file_wrong(f, -EBADMSG, "%llu extra bytes (byte 4056); it has %u at most",
				      (unsigned long long)h->extra_bytes, INK_MAX_EXTRA);
	if (!h->extra_bytes && (h->extra_sum[0] || h->extra_sum[1]))
		return ink_file_wrong(f, -EBADMSG, "a sum of no extra bytes (byte 4064) must be 0");
	return 0;
}

/* The directory of the whole has the sum of the part's header; only the whole has extra bytes. */
static int check_part(const struct ink_file *f, const struct ink_file_head *h)
{
	if (!f->part)
		return 0;
	if (memcmp(h->header_sum, f->part->head, sizeof h->header_sum) != 0)
		return ink_file_wrong(f, -EBADMSG, "is another than the directory of the set says");
	if (h->version >= INK_FILE_EXTRA && h->extra_bytes)
		return ink_file_wrong(f, -EBADMSG, "has %llu extra bytes, which only the set can have",
				      (unsigned long long)h->extra_bytes);
	return 0;
}

/* Tables of a set: at most 2^56 bytes, so that sums do not overflow. */
static int check_behind(const struct ink_file *f, const struct ink_file_head *h)
{
	if (h->kind != INK_FILE_SET || h->tables_bytes <= 1ull << 56)
		return 0;
	return ink_file_wrong(f, -EBADMSG, "no tables take %llu bytes (byte 24)",
			      (unsigned long long)h->tables_bytes);
}

/* f->size is unknown for a source. */
static int check_size(const struct ink_file *f, const struct ink_file_head *h)
{
	uint64_t others = INK_FILE_PAGE + h->extra_bytes + (h->kind == INK_FILE_SET ? h->tables_bytes : 0);
	uint64_t body = f->size == UINT64_MAX ? h->body_bytes : f->size - others;

	if (f->size < others)
		body = 0;
	if (h->body_bytes != body)
		return ink_file_wrong(f, -EBADMSG, "is %s: its body has %llu bytes, the header says %llu",
				      body < h->body_bytes ? "too short" : "too long",
				      (unsigned long long)body, (unsigned long long)h->body_bytes);
	if (body == 0 || body != ink_body_round(body))
		return ink_file_wrong(f, -EBADMSG, "a body of %llu bytes is no number of pages",
				      (unsigned long long)body);
	return 0;
}

int ink_file_open(struct ink_file *f, void *header)
{
	int error;

	f->is_open = 0;
	f->at = 0;
	error = check_host(f);
	if (!error)
		error = read_load_options(f);
	if (!error)
		error = find_file(f);
	if (!error)
		error = read_all(f, header, INK_FILE_PAGE);
	if (!error)
		error = check_head(f, header);
	if (!error)
		error = check_extra(f, header);
	if (!error)
		error = check_part(f, header);
	if (!error)
		error = check_behind(f, header);
	if (!error)
		error = check_size(f, header);
	f->extra = error ? 0 : ((const struct ink_file_head *)header)->extra_bytes;
	return error;
}

int ink_file_limit(const struct ink_file *f, uint64_t bytes)
{
	uint64_t limit = f->options.bytes;

	if (!limit || (bytes <= limit && f->extra <= limit - bytes))
		return 0;
	return ink_file_wrong(f, -EFBIG, "takes %llu bytes of memory; %llu are allowed",
			      (unsigned long long)(bytes + f->extra), (unsigned long long)limit);
}

/* -------------------------------------------------------------- loading: the body */

static int read_body(struct ink_file *f, struct ink_body *body)
{
	body->at = ink_alloc_unset(&f->allocator, body->bytes);
	if (!body->at)
		return ink_file_wrong(f, -ENOMEM, "no memory for %llu bytes",
				      (unsigned long long)body->bytes);
	return read_all(f, body->at, body->bytes);
}

static int map_body(struct ink_file *f, struct ink_body *body)
{
	off_t from = (off_t)(start_of(f) + INK_FILE_PAGE);
	void *at = mmap(NULL, body->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, f->fd, from);

	if (at == MAP_FAILED)
		return refused(f, "map it", -errno);
	body->at = at;
	body->is_mapped = 1;
	f->at += body->bytes;
	return 0;
}

/* A body begins at byte 4096; where pages are larger it cannot be mapped, and is read. */
static int fetch_body(struct ink_file *f, struct ink_body *body)
{
	if (f->options.how == INK_LOAD_MAP && sysconf(_SC_PAGESIZE) <= INK_FILE_PAGE)
		return map_body(f, body);
	return read_body(f, body);
}

/* Bytes that the caller has no room for are read all the same, for the checksum. */
int ink_file_extra(struct ink_file *f, const void *header)
{
	const struct ink_file_head *h = header;
	size_t n = h->extra_bytes;
	void *bytes = n ? ink_alloc_unset(&f->allocator, n) : NULL;
	int error = 0;

	if (n && !bytes)
		return ink_file_wrong(f, -ENOMEM, "no memory for %zu extra bytes", n);
	if (n)
		error = read_all(f, bytes, n);
	if (n && !error && !sum_is(bytes, n, h->extra_sum))
		error = ink_file_wrong(f, -EBADMSG, "the extra bytes are damaged: their checksum is wrong");
	if (!error && n && f->options.extra)
		memcpy(f->options.extra, bytes, n < f->options.extra_room ? n : f->options.extra_room);
	if (!error && f->options.extra_bytes)
		*f->options.extra_bytes = n;
	ink_release(&f->allocator, bytes, n);
	return error;
}

int ink_file_body_alone(struct ink_file *f, const void *header, struct ink_body *body)
{
	const struct ink_file_head *h = header;
	int error;

	*body = (struct ink_body){.bytes = h->body_bytes};
	error = fetch_body(f, body);
	if (!error && !sum_is(body->at, h->body_bytes, h->body_sum))
		error = ink_file_wrong(f, -EBADMSG, "the body is damaged: its checksum is wrong");
	if (error)
		ink_file_release(&f->allocator, body);
	return error;
}

int ink_file_body(struct ink_file *f, const void *header, struct ink_body *body)
{
	int error = ink_file_body_alone(f, header, body);

	if (error)
		return error;
	error = ink_file_extra(f, header);
	if (error)
		ink_file_release(&f->allocator, body);
	return error;
}

void ink_file_release(const struct ink_allocator *a, struct ink_body *body)
{
	if (!body->is_mapped)
		ink_release(a, body->at, body->bytes);
	else if (body->at)
		munmap(body->at, body->bytes);
	body->at = NULL;
}

/* ---------------------------------------------------------- what must be zero */

static size_t first_not_zero(const unsigned char *bytes, size_t from, size_t to)
{
	while (from < to && !bytes[from])
		from++;
	return from;
}

int ink_file_reserved(const struct ink_file *f, const void *header, size_t from)
{
	const struct ink_file_head *h = header;
	const unsigned char *bytes = header;
	size_t to = h->version < INK_FILE_EXTRA ? offsetof(struct ink_file_head, header_sum)
						: offsetof(struct ink_file_head, extra_bytes);
	size_t i = first_not_zero(bytes, from, to);

	if (i >= to)
		return 0;
	return ink_file_wrong(f, -EBADMSG, "byte %zu of the header is reserved and must be 0, not %u", i,
			      bytes[i]);
}

int ink_file_padding(const struct ink_file *f, const struct ink_body *body, uint64_t used)
{
	const unsigned char *bytes = body->at;
	size_t i = first_not_zero(bytes, used, body->bytes);

	if (i >= body->bytes)
		return 0;
	return ink_file_wrong(f, -EBADMSG, "byte %llu lies behind the contents and must be 0, not %u",
			      (unsigned long long)(INK_FILE_PAGE + i), bytes[i]);
}

void ink_file_close(struct ink_file *f)
{
	if (f->is_open)
		close(f->fd);
	f->is_open = 0;
}
