/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <xxhash.h>

#include "base/pages.h"
#include "base/error.h"

#define MAGIC "\x89INK\r\n\x1a\n" /* as PNG's: no text, and a transfer that changes line ends breaks it */

#define STANDS_AT(field, byte)                                                                               \
	_Static_assert(offsetof(struct ink_file_head, field) == byte, "docs/format.md: " #byte)
STANDS_AT(version, 8);
STANDS_AT(kind, 16);
STANDS_AT(body_bytes, 184);
STANDS_AT(body_sum, 192);
STANDS_AT(header_sum, 4080);

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

enum { PATH_SHOWN = 80 }; /* of the 200 bytes of a reason; of a longer path the end, which tells more */

int ink_file_wrong(const struct ink_file *f, int error, const char *format, ...)
{
	size_t length = strlen(f->path), cut = length > PATH_SHOWN ? length - PATH_SHOWN : 0;
	char text[sizeof f->why->text];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return ink_fail(f->why, error, "%s%s: %s", cut ? "..." : "", f->path + cut, text);
}

/* The system refused to do something. */
static int refused(const struct ink_file *f, const char *doing)
{
	int error = errno;

	return ink_file_wrong(f, -error, "cannot %s: %s", doing, strerror(error));
}

/* The body's words are in the order of the machine, and so would be the file's. */
static int check_host(const struct ink_file *f)
{
	const uint16_t one = 1;

	if (*(const unsigned char *)&one == 1)
		return 0;
	return ink_file_wrong(f, -ENOTSUP, "snapshots are little endian, and this machine is not");
}

/* ------------------------------------------------------------------ saving */

/* A place in a directory, and the file that is to take it. */
struct target {
	struct ink_file file;
	const char *name; /* the last part of the path */
	int directory;
	char temporary[32];
};

static void complete(struct ink_file_head *h, const void *body)
{
	memcpy(h->magic, MAGIC, sizeof h->magic);
	h->version = INK_FILE_VERSION;
	h->header_bytes = INK_FILE_PAGE;
	sum(body, h->body_bytes, h->body_sum);
	sum(h, offsetof(struct ink_file_head, header_sum), h->header_sum);
}

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
		return ink_file_wrong(&to->file, -EISDIR, "names a directory, not a file");
	if (fstatat(to->directory, to->name, &old, 0) < 0)
		return errno == ENOENT ? 0 : refused(&to->file, "look at the old file");
	if (S_ISDIR(old.st_mode))
		return ink_file_wrong(&to->file, -EISDIR, "is a directory");
	if (!S_ISREG(old.st_mode))
		return ink_file_wrong(&to->file, -EEXIST, "is there and is not a regular file");
	return 0;
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

static int write_temporary(const struct target *to, const struct ink_file_head *h, const void *body)
{
	if (write_all(to->file.fd, h, sizeof *h) < 0 || write_all(to->file.fd, body, h->body_bytes) < 0)
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

static int save_in_directory(struct target *to, const struct ink_file_head *h, const void *body)
{
	int error = check_target(to);

	if (!error)
		error = create_temporary(to);
	if (error)
		return error;
	error = write_temporary(to, h, body);
	ink_file_close(&to->file);
	if (!error)
		error = put_in_place(to);
	if (!error)
		return sync_directory(to);
	unlinkat(to->directory, to->temporary, 0);
	return error;
}

int ink_file_save(const char *path, void *page, const void *body, struct ink_why *why)
{
	struct target to = {.file = {.path = path, .why = why, .fd = -1}};
	int error = check_host(&to.file);

	if (!error)
		error = open_directory(&to);
	if (error)
		return error;
	complete(page, body);
	error = save_in_directory(&to, page, body);
	close(to.directory);
	return error;
}

/* ------------------------------------------------------------------ loading */

/* O_NONBLOCK: the open of a pipe would wait for somebody who writes. */
static int open_regular(struct ink_file *f, uint64_t *size)
{
	struct stat found;

	f->fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (f->fd < 0)
		return refused(f, "open it");
	if (fstat(f->fd, &found) < 0)
		return refused(f, "look at it");
	if (S_ISDIR(found.st_mode))
		return ink_file_wrong(f, -EISDIR, "is a directory");
	if (!S_ISREG(found.st_mode))
		return ink_file_wrong(f, -EBADMSG, "is not a regular file");
	*size = (uint64_t)found.st_size;
	return 0;
}

static int read_all(const struct ink_file *f, void *bytes, uint64_t length, uint64_t from)
{
	uint64_t done = 0;

	while (done < length) {
		ssize_t n = pread(f->fd, (char *)bytes + done, length - done, (off_t)(from + done));

		if (n < 0 && errno != EINTR)
			return refused(f, "read it");
		if (n == 0)
			return ink_file_wrong(f, -EBADMSG,
					      "ends at byte %llu; it has become shorter meanwhile",
					      (unsigned long long)(from + done));
		done += n > 0 ? (uint64_t)n : 0;
	}
	return 0;
}

/* Another version may have its checksum elsewhere, so the version is asked first. */
static int check_head(const struct ink_file *f, const struct ink_file_head *h)
{
	if (memcmp(h->magic, MAGIC, sizeof h->magic) != 0)
		return ink_file_wrong(f, -EBADMSG,
				      "is no snapshot: its first 8 bytes (the magic) are others");
	if (h->version != INK_FILE_VERSION)
		return ink_file_wrong(f, -ENOTSUP, "has format version %u; this library knows %d", h->version,
				      INK_FILE_VERSION);
	if (!sum_is(h, offsetof(struct ink_file_head, header_sum), h->header_sum))
		return ink_file_wrong(f, -EBADMSG, "the header is damaged: its checksum is wrong");
	if (h->header_bytes != INK_FILE_PAGE)
		return ink_file_wrong(f, -EBADMSG, "the header length (byte 12) is %u, not %d",
				      h->header_bytes, INK_FILE_PAGE);
	return 0;
}

static int check_size(const struct ink_file *f, const struct ink_file_head *h, uint64_t size)
{
	uint64_t body = size - INK_FILE_PAGE;

	if (h->body_bytes != body)
		return ink_file_wrong(f, -EBADMSG, "is %s: its body has %llu bytes, the header says %llu",
				      body < h->body_bytes ? "too short" : "too long",
				      (unsigned long long)body, (unsigned long long)h->body_bytes);
	if (body == 0 || body != ink_body_round(body))
		return ink_file_wrong(f, -EBADMSG, "a body of %llu bytes is no number of pages",
				      (unsigned long long)body);
	return 0;
}

int ink_file_open(struct ink_file *f, void *page)
{
	uint64_t size = 0;
	int error = check_host(f);

	if (!error)
		error = open_regular(f, &size);
	if (!error && size < INK_FILE_PAGE)
		error = ink_file_wrong(f, -EBADMSG,
				       "is too short for a snapshot: %llu bytes, the header alone has %d",
				       (unsigned long long)size, INK_FILE_PAGE);
	if (!error)
		error = read_all(f, page, INK_FILE_PAGE, 0);
	if (!error)
		error = check_head(f, page);
	return error ? error : check_size(f, page, size);
}

static int read_body(const struct ink_file *f, uint64_t bytes, void **body)
{
	*body = ink_body_alloc(bytes);
	if (!*body)
		return ink_file_wrong(f, -ENOMEM, "no memory for %llu bytes", (unsigned long long)bytes);
	return read_all(f, *body, bytes, INK_FILE_PAGE);
}

/* ink_body_free unmaps, which is right for this as well. */
static int map_body(const struct ink_file *f, uint64_t bytes, void **body)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, f->fd, INK_FILE_PAGE);

	if (at == MAP_FAILED)
		return refused(f, "map it");
	*body = at;
	return 0;
}

/* A body begins at byte 4096, and where pages are larger it cannot be mapped. */
static int fetch_body(const struct ink_file *f, uint64_t bytes, enum ink_load how, void **body)
{
	if (how == INK_LOAD_MAP && sysconf(_SC_PAGESIZE) <= INK_FILE_PAGE)
		return map_body(f, bytes, body);
	return read_body(f, bytes, body);
}

int ink_file_body(const struct ink_file *f, const void *page, enum ink_load how, void **body)
{
	const struct ink_file_head *h = page;
	int error;

	*body = NULL;
	if (how != INK_LOAD_READ && how != INK_LOAD_MAP)
		return ink_file_wrong(f, -EINVAL, "there is no way %d of loading", (int)how);
	error = fetch_body(f, h->body_bytes, how, body);
	if (!error && !sum_is(*body, h->body_bytes, h->body_sum))
		error = ink_file_wrong(f, -EBADMSG, "the body is damaged: its checksum is wrong");
	if (error) {
		ink_body_free(*body, h->body_bytes);
		*body = NULL;
	}
	return error;
}

/* ---------------------------------------------------------- what must be zero */

int ink_file_reserved(const struct ink_file *f, const void *page, size_t from)
{
	const unsigned char *bytes = page;

	for (size_t i = from; i < offsetof(struct ink_file_head, header_sum); i++)
		if (bytes[i])
			return ink_file_wrong(f, -EBADMSG,
					      "byte %zu of the header is reserved and must be 0, not %u", i,
					      bytes[i]);
	return 0;
}

int ink_file_padding(const struct ink_file *f, const void *page, const void *body, uint64_t used)
{
	const struct ink_file_head *h = page;
	const unsigned char *bytes = body;

	for (uint64_t i = used; i < h->body_bytes; i++)
		if (bytes[i])
			return ink_file_wrong(f, -EBADMSG,
					      "byte %llu lies behind the contents and must be 0, not %u",
					      (unsigned long long)(INK_FILE_PAGE + i), bytes[i]);
	return 0;
}

void ink_file_close(struct ink_file *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}
