/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshots: a table becomes a file, and a file a table. docs/format.md has
 * every byte of it; in short:
 *
 *     0       8                                    4080     4096
 *     +-------+------------------------------+-----+--------+-----------------------------+
 *     | magic | what the table is, its time, |  0  | sum of | the body: cells, side table |
 *     |       | its secret, sum of the body  |     | header | and zeros to the next page  |
 *     +-------+------------------------------+-----+--------+-----------------------------+
 *
 * The body of a table is one block of memory without pointers, so its bytes
 * are the file's bytes, and a file can be mapped instead of read. The header
 * has a page of its own, so that the body begins on one.
 *
 * Saving is all or nothing. The table goes into a new file in the same
 * directory, the disk has it (fsync) before it takes the old one's name
 * (rename), and the name is on the disk before the call returns. Whoever looks
 * finds the whole old file or the whole new one, also after a power cut.
 *
 * Loading trusts no byte. Checksums find damage, but whoever wants to harm us
 * computes them right; so after them every number of the header is held
 * against what a table can be, the lengths against each other and against the
 * file, before anything is allocated; and then ink_check looks at every cell.
 * A table that was loaded is as sound as one that was made here.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "memory.h"
#include "side.h"
#include "table/table.h"
#include "why.h"

/* -------------------------------------------------------------- the header */

#define MAGIC "\x89INK\r\n\x1a\n" /* as PNG's: no text, and a transfer that changes line ends breaks it */

enum {
	VERSION = 1,
	HEADER_BYTES = 4096, /* a page, whatever its end is used for */
	WITH_RULES = 1       /* in flags: the table had rules */
};

struct header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes;
	uint32_t kind; /* enum ink_kind, never 0 */
	uint32_t states;
	uint32_t age_bits;
	uint32_t writers;
	uint32_t full; /* enum ink_full, never 0 */
	uint32_t flags;
	uint32_t state_bits;
	struct ink_geometry geometry;
	uint64_t flows; /* planned, as the next two */
	double error;
	double load;
	uint64_t secret[2];
	uint64_t now; /* the tick number */
	struct ink_counters counters;
	uint64_t cells_bytes;
	uint64_t body_bytes;
	uint64_t body_sum[2]; /* XXH3-128, low half first, as the header's */
	uint32_t hand;        /* of the side table: where the search for an expendable entry goes on */
	unsigned char reserved[3868];
	uint64_t header_sum[2]; /* of all bytes before it */
};

_Static_assert(sizeof(struct header) == HEADER_BYTES, "the header is one page");
_Static_assert(sizeof(struct ink_geometry) == 28 && sizeof(struct ink_counters) == 56,
	       "as in docs/format.md");

#define STANDS_AT(field, byte)                                                                               \
	_Static_assert(offsetof(struct header, field) == byte, "docs/format.md: " #byte)
STANDS_AT(version, 8);
STANDS_AT(kind, 16);
STANDS_AT(writers, 28);
STANDS_AT(state_bits, 40);
STANDS_AT(geometry, 44);
STANDS_AT(flows, 72);
STANDS_AT(secret, 96);
STANDS_AT(now, 112);
STANDS_AT(counters, 120);
STANDS_AT(cells_bytes, 176);
STANDS_AT(body_sum, 192);
STANDS_AT(hand, 208);
STANDS_AT(header_sum, 4080);

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

/* ---------------------------------------------------------- what went wrong */

/* The file that a call is about, for what it has to say. */
struct file {
	const char *path;
	struct ink_why *why;
	int fd;
};

enum { PATH_SHOWN = 80 }; /* of the 200 bytes of a reason; of a longer path the end, which tells more */

/* "path: what is wrong", and the error passed on. */
__attribute__((format(printf, 3, 4))) static int wrong(const struct file *f, int error, const char *format,
						       ...)
{
	size_t length = strlen(f->path), cut = length > PATH_SHOWN ? length - PATH_SHOWN : 0;
	char text[sizeof f->why->text];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return ink_because(f->why, error, "%s%s: %s", cut ? "..." : "", f->path + cut, text);
}

/* The system refused to do something. */
static int refused(const struct file *f, const char *doing)
{
	int error = errno;

	return wrong(f, -error, "cannot %s: %s", doing, strerror(error));
}

/* The body's words are in the order of the machine, and so would be the file's. */
static int check_host(const struct file *f)
{
	const uint16_t one = 1;

	if (*(const unsigned char *)&one == 1)
		return 0;
	return wrong(f, -ENOTSUP, "snapshots are little endian, and this machine is not");
}

/* ------------------------------------------------------------------ saving */

static void fill_header(const struct ink_table *t, struct header *h)
{
	*h = (struct header){.version = VERSION,
			     .header_bytes = HEADER_BYTES,
			     .kind = t->plan.kind,
			     .states = t->states,
			     .age_bits = t->plan.age_bits,
			     .writers = t->writers,
			     .full = t->full,
			     .flags = t->program || t->rules_expected ? WITH_RULES : 0,
			     .state_bits = t->plan.state_bits,
			     .geometry = t->plan.geometry,
			     .flows = t->plan.flows,
			     .error = t->plan.error,
			     .load = t->plan.load,
			     .secret = {t->secret[0], t->secret[1]},
			     .now = t->aging.now,
			     .counters = t->counters,
			     .cells_bytes = ink_cells_bytes(&t->plan, t->full),
			     .body_bytes = t->body_bytes,
			     .hand = t->side.hand};
	memcpy(h->magic, MAGIC, sizeof h->magic);
	sum(t->body, t->body_bytes, h->body_sum);
	sum(h, offsetof(struct header, header_sum), h->header_sum);
}

/* A place in a directory, and the file that is to take it. */
struct target {
	struct file file;
	const char *name; /* the last part of the path */
	int directory;
	char temporary[32];
};

static int open_directory(struct target *to)
{
	const char *path = to->file.path, *slash = strrchr(path, '/');
	char *parent = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");

	to->name = slash ? slash + 1 : path;
	to->directory = parent ? open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	free(parent);
	return to->directory < 0 ? refused(&to->file, "open the directory for the snapshot") : 0;
}

/* A rename would put a file in the place of a device or a pipe as well: that is never what was meant. */
static int check_target(const struct target *to)
{
	struct stat old;

	if (!*to->name)
		return wrong(&to->file, -EISDIR, "names a directory, not a file");
	if (fstatat(to->directory, to->name, &old, 0) < 0)
		return errno == ENOENT ? 0 : refused(&to->file, "look at the old file");
	if (S_ISDIR(old.st_mode))
		return wrong(&to->file, -EISDIR, "is a directory");
	return S_ISREG(old.st_mode) ? 0 : wrong(&to->file, -EEXIST, "is there and is not a regular file");
}

/* Its name is random, so that saves to one path do not meet; 0600, because the secret is in it. */
static int create_temporary(struct target *to)
{
	uint64_t number = 0;

	if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
		return refused(&to->file, "find a name for a temporary file");
	snprintf(to->temporary, sizeof to->temporary, ".ink-%016llx", (unsigned long long)number);
	to->file.fd = openat(to->directory, to->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return to->file.fd < 0 ? refused(&to->file, "create a temporary file beside it") : 0;
}

/* -1 with errno. */
static int write_all(int fd, const void *bytes, uint64_t length)
{
	const char *at = bytes;

	while (length) {
		ssize_t n = write(fd, at, length);

		if (n < 0 && errno != EINTR)
			return -1;
		at += n > 0 ? n : 0;
		length -= n > 0 ? (uint64_t)n : 0;
	}
	return 0;
}

static int write_temporary(const struct target *to, const struct ink_table *t)
{
	struct header h;

	fill_header(t, &h);
	if (write_all(to->file.fd, &h, sizeof h) < 0 || write_all(to->file.fd, t->body, t->body_bytes) < 0)
		return refused(&to->file, "write the snapshot");
	return fsync(to->file.fd) < 0 ? refused(&to->file, "bring the snapshot to the disk (fsync)") : 0;
}

static int put_in_place(const struct target *to)
{
	if (renameat(to->directory, to->temporary, to->directory, to->name) < 0)
		return refused(&to->file, "rename the temporary file to it");
	return 0;
}

/* The new file is in place; only a crash could undo it. EINVAL: this file system knows no such thing. */
static int sync_directory(const struct target *to)
{
	if (fsync(to->directory) == 0 || errno == EINVAL)
		return 0;
	return refused(&to->file, "bring the directory to the disk, though the snapshot is in place");
}

static int save_in_directory(struct target *to, const struct ink_table *t)
{
	int error = check_target(to);

	if (!error)
		error = create_temporary(to);
	if (error)
		return error;
	error = write_temporary(to, t);
	close(to->file.fd);
	if (!error)
		error = put_in_place(to);
	if (!error)
		return sync_directory(to);
	unlinkat(to->directory, to->temporary, 0);
	return error;
}

int ink_save(const struct ink_table *t, const char *path, struct ink_why *why)
{
	struct target to = {.file = {.path = path, .why = why}};
	int error = check_host(&to.file);

	if (!error && t->aging.target != t->aging.now)
		error = wrong(&to.file, -EBUSY, "a tick in portions is under way and must arrive first");
	if (!error)
		error = open_directory(&to);
	if (error)
		return error;
	error = save_in_directory(&to, t);
	close(to.directory);
	return error;
}

/* ------------------------------------------------------- loading: the header */

/* O_NONBLOCK: the open of a pipe would wait for somebody who writes. */
static int open_file(struct file *f, uint64_t *size)
{
	struct stat found;

	f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0)
		return refused(f, "open it");
	if (fstat(f->fd, &found) < 0)
		return refused(f, "look at it");
	if (S_ISDIR(found.st_mode))
		return wrong(f, -EISDIR, "is a directory");
	if (!S_ISREG(found.st_mode))
		return wrong(f, -EBADMSG, "is not a regular file");
	*size = (uint64_t)found.st_size;
	return 0;
}

static int read_all(const struct file *f, void *bytes, uint64_t length, uint64_t from)
{
	uint64_t done = 0;

	while (done < length) {
		ssize_t n = pread(f->fd, (char *)bytes + done, length - done, (off_t)(from + done));

		if (n < 0 && errno != EINTR)
			return refused(f, "read it");
		if (n == 0)
			return wrong(f, -EBADMSG, "ends at byte %llu; it has become shorter meanwhile",
				     (unsigned long long)(from + done));
		done += n > 0 ? (uint64_t)n : 0;
	}
	return 0;
}

static int check_reserved(const struct file *f, const struct header *h)
{
	for (size_t i = 0; i < sizeof h->reserved; i++)
		if (h->reserved[i])
			return wrong(f, -EBADMSG, "byte %zu of the header is reserved and must be 0, not %u",
				     offsetof(struct header, reserved) + i, h->reserved[i]);
	return 0;
}

/* Another version may have its checksum elsewhere, so the version is asked first. */
static int read_header(const struct file *f, uint64_t size, struct header *h)
{
	int error;

	if (size < HEADER_BYTES)
		return wrong(f, -EBADMSG, "is too short for a snapshot: %llu bytes, the header alone has %d",
			     (unsigned long long)size, HEADER_BYTES);
	error = read_all(f, h, sizeof *h, 0);
	if (error)
		return error;
	if (memcmp(h->magic, MAGIC, sizeof h->magic) != 0)
		return wrong(f, -EBADMSG, "is no snapshot: its first 8 bytes (the magic) are others");
	if (h->version != VERSION)
		return wrong(f, -ENOTSUP, "has format version %u; this library knows %d", h->version,
			     VERSION);
	if (!sum_is(h, offsetof(struct header, header_sum), h->header_sum))
		return wrong(f, -EBADMSG, "the header is damaged: its checksum is wrong");
	return check_reserved(f, h);
}

/* --------------------------------------------------- loading: what it may say */

struct range {
	uint32_t least, most;
};

#define SAME(least, most)                                                                                    \
	{                                                                                                    \
		{least, most}, {least, most}, {least, most},                                                 \
		{                                                                                            \
			least, most                                                                          \
		}                                                                                            \
	}
#define ANY UINT32_MAX
#define AT(field) offsetof(struct header, field)

/* clang-format off */
static const struct field {
	const char *name;
	size_t at;
	struct range of[4]; /* by kind; plan.c makes no others */
} fields[] = {
	/*                                           line         compact      dleft        exact */
	{"header length", AT(header_bytes),         SAME(HEADER_BYTES, HEADER_BYTES)},
	{"states",        AT(states),               SAME(1, INK_MAX_STATES)},
	{"age bits",      AT(age_bits),             SAME(0, INK_AGE_MAX_BITS)},
	{"writers",       AT(writers),              {{1, ANY},    {1, 1},      {1, 1},      {1, 1}}},
	{"full policy",   AT(full),                 SAME(INK_UNSURE, INK_REPLACE)},
	{"flags",         AT(flags),                SAME(0, WITH_RULES)},
	{"d",             AT(geometry.d),           {{2, 2},      {2, 2},      {1, 8},      {1, 1}}},
	{"b",             AT(geometry.b),           {{1, ANY},    {1, ANY},    {1, ANY},    {256, 1u << 31}}},
	{"h",             AT(geometry.h),           {{16, 32},    {4, 56},     {1, 64},     {1, 1}}},
	{"f",             AT(geometry.f),           {{2, 30},     {4, 24},     {2, 32},     {64, 64}}},
	{"q",             AT(geometry.q),           {{0, 0},      {1, 121},    {0, 0},      {0, 0}}},
	{"side",          AT(geometry.side),        {{0, ANY - 1}, {0, ANY - 1}, {0, ANY - 1}, {0, 0}}},
	{"dleft flags",   AT(geometry.dleft_flags), {{0, 0},      {0, 0},      {0, 7},      {0, 0}}},
};
/* clang-format on */

static int check_fields(const struct file *f, const struct header *h)
{
	if (h->kind < INK_LINE || h->kind > INK_EXACT)
		return wrong(f, -ENOTSUP, "has kind %u; this library knows %d to %d", h->kind, INK_LINE,
			     INK_EXACT);
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
		struct range r = fields[i].of[h->kind - INK_LINE];
		uint32_t value;

		memcpy(&value, (const char *)h + fields[i].at, sizeof value);
		if (value < r.least || value > r.most)
			return wrong(f, -EBADMSG,
				     "%s (byte %zu) is %u; in a table of this kind it is %u to %u",
				     fields[i].name, fields[i].at, value, r.least, r.most);
	}
	return 0;
}

/* Each number is in its range; do they fit together? See line.h, compact.h, dleft.c, exact.c. */
static int shape_fits(const struct header *h)
{
	const struct ink_geometry *g = &h->geometry;
	uint32_t code = h->state_bits + h->age_bits;

	switch (h->kind) {
	case INK_LINE:
		return g->h % INK_LINE_WORDS == 0 &&
		       g->f + code == ink_line_entry_bits(g->h / INK_LINE_WORDS);
	case INK_COMPACT:
		return g->h + g->q <= 125 && g->h * (g->f + code) <= 510 - (g->h + g->q);
	case INK_DLEFT:
		return g->f + code <= 57;
	default:
		return (g->b & (g->b - 1)) == 0;
	}
}

static int check_shape(const struct file *f, const struct header *h)
{
	const struct ink_geometry *g = &h->geometry;
	uint32_t state_bits = ink_coding(h->states, h->age_bits).state_bits;

	if (h->state_bits != state_bits)
		return wrong(f, -EBADMSG, "state bits (byte 40) is %u; %u states take %u", h->state_bits,
			     h->states, state_bits);
	if (!shape_fits(h))
		return wrong(f, -EBADMSG,
			     "no table has the geometry d %u b %u h %u f %u q %u with codes of %u bits", g->d,
			     g->b, g->h, g->f, g->q, h->state_bits + h->age_bits);
	if (h->hand >= g->side && h->hand)
		return wrong(f, -EBADMSG, "hand (byte 208) is %u; the side table has %u entries", h->hand,
			     g->side);
	return 0;
}

/* Nothing is computed from these but what users are shown; they must be numbers all the same. */
static int check_plan(const struct file *f, const struct header *h)
{
	if (h->flows == 0)
		return wrong(f, -EBADMSG, "it was planned for no flows (byte 72)");
	if (!(h->error >= 0 && h->error <= 1))
		return wrong(f, -EBADMSG, "the planned error (byte 80) is %g", h->error);
	if (!(h->load >= 0 && h->load <= 1.8e19))
		return wrong(f, -EBADMSG, "the planned load (byte 88) is %g", h->load);
	return 0;
}

static struct ink_plan plan_of(const struct header *h)
{
	struct ink_plan p = {.size = sizeof p,
			     .kind = (enum ink_kind)h->kind,
			     .flows = h->flows,
			     .bytes = sizeof(struct ink_table) + h->body_bytes,
			     .error = h->error,
			     .load = h->load,
			     .state_bits = h->state_bits,
			     .age_bits = h->age_bits,
			     .geometry = h->geometry};

	p.bits_per_flow = 8 * (double)p.bytes / (double)p.flows;
	return p;
}

/* The header is in range, so none of these sums can overflow: the largest is below 2^48. */
static int check_lengths(const struct file *f, const struct header *h, uint64_t size)
{
	struct ink_plan p = plan_of(h);
	uint64_t cells = ink_cells_bytes(&p, (enum ink_full)h->full);
	uint64_t body = ink_body_round(cells + ink_side_bytes(h->geometry.side));

	if (h->cells_bytes != cells || h->body_bytes != body)
		return wrong(
			f, -EBADMSG,
			"cells of %llu and a body of %llu bytes do not fit the geometry; %llu and %llu do",
			(unsigned long long)h->cells_bytes, (unsigned long long)h->body_bytes,
			(unsigned long long)cells, (unsigned long long)body);
	if (size != HEADER_BYTES + body)
		return wrong(f, -EBADMSG, "is %s: it has %llu bytes, the header says %llu",
			     size < HEADER_BYTES + body ? "too short" : "too long", (unsigned long long)size,
			     (unsigned long long)(HEADER_BYTES + body));
	return 0;
}

static int check_header(const struct file *f, const struct header *h, uint64_t size)
{
	int error = check_fields(f, h);

	if (!error)
		error = check_shape(f, h);
	if (!error)
		error = check_plan(f, h);
	return error ? error : check_lengths(f, h, size);
}

/* ---------------------------------------------------------- loading: the body */

static int read_body(const struct file *f, struct ink_table *t)
{
	t->body = ink_body_alloc(t->body_bytes);
	if (!t->body)
		return wrong(f, -ENOMEM, "no memory for %llu bytes", (unsigned long long)t->body_bytes);
	return read_all(f, t->body, t->body_bytes, HEADER_BYTES);
}

/* ink_body_free unmaps, which is right for this as well. */
static int map_body(const struct file *f, struct ink_table *t)
{
	void *at = mmap(NULL, t->body_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, f->fd, HEADER_BYTES);

	if (at == MAP_FAILED)
		return refused(f, "map it");
	t->body = at;
	return 0;
}

/* A body begins at byte 4096, and where pages are larger it cannot be mapped. */
static int fetch_body(const struct file *f, struct ink_table *t, enum ink_load how)
{
	return how == INK_LOAD_MAP && sysconf(_SC_PAGESIZE) <= HEADER_BYTES ? map_body(f, t)
									    : read_body(f, t);
}

static int check_padding(const struct file *f, const struct ink_table *t)
{
	const unsigned char *body = t->body;
	uint64_t used = ink_cells_bytes(&t->plan, t->full) + ink_side_bytes(t->plan.geometry.side);

	for (uint64_t i = used; i < t->body_bytes; i++)
		if (body[i])
			return wrong(f, -EBADMSG, "byte %llu lies behind the table and must be 0, not %u",
				     (unsigned long long)(HEADER_BYTES + i), body[i]);
	return 0;
}

static int check_body(const struct file *f, const struct ink_table *t)
{
	struct ink_why reason;
	int error = check_padding(f, t);

	if (error)
		return error;
	return ink_check(t, &reason) ? wrong(f, -EBADMSG, "the body is unsound: %s", reason.text) : 0;
}

/* ---------------------------------------------------------- loading: the table */

/*
 * All that the body does not hold. Whether overflow flags are set is not known
 * without looking at every line, so the next tick is told to clear them.
 */
static void fill_table(struct ink_table *t, const struct header *h)
{
	t->plan = plan_of(h);
	t->states = h->states;
	t->writers = h->writers;
	t->full = (enum ink_full)h->full;
	t->rules_expected = (h->flags & WITH_RULES) != 0;
	memcpy(t->secret, h->secret, sizeof t->secret);
	t->counters = h->counters;
	t->aging.now = t->aging.target = h->now;
	t->aging.flagged = 1;
	t->body_bytes = h->body_bytes;
	t->ops = ink_kind_ops(&t->plan, t->writers, INK_SIMD_BEST);
}

static int load_body(const struct file *f, struct ink_table *t, const struct header *h, enum ink_load how)
{
	int error;

	fill_table(t, h);
	error = fetch_body(f, t, how);
	if (error)
		return error;
	if (!sum_is(t->body, t->body_bytes, h->body_sum))
		return wrong(f, -EBADMSG, "the body is damaged: its checksum is wrong");
	ink_table_attach(t);
	t->side.hand = h->hand;
	return check_body(f, t);
}

static int load(struct file *f, struct ink_table *t, enum ink_load how)
{
	struct header h;
	uint64_t size = 0;
	int error = open_file(f, &size);

	if (!error)
		error = read_header(f, size, &h);
	if (!error)
		error = check_header(f, &h, size);
	return error ? error : load_body(f, t, &h, how);
}

struct ink_table *ink_load(const char *path, enum ink_load how, struct ink_why *why)
{
	struct file f = {.path = path, .why = why, .fd = -1};
	struct ink_table *t = calloc(1, sizeof *t);
	int error = t ? check_host(&f) : wrong(&f, -ENOMEM, "no memory for a table");

	if (!error && how != INK_LOAD_READ && how != INK_LOAD_MAP)
		error = wrong(&f, -EINVAL, "there is no way %d of loading", (int)how);
	if (!error)
		error = load(&f, t, how);
	if (f.fd >= 0)
		close(f.fd);
	if (!error)
		return t;
	ink_free(t);
	errno = -error;
	return NULL;
}
