/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures made here: both formats, both byte orders, micro- and nanoseconds,
 * from files and pipes; cut and damaged ones; filters, dumps, and what cannot
 * be opened.
 */
#include <fcntl.h>
#include <unistd.h>

#include <inkling/packet.h>

#include "sim/frame.h"
#include "tests/random.h"
#include "tests/scratch.h"
#include "tests/sizes.h"
#include "tests/test.h"

/* --------------------------------------------------------------- making files */

static uint8_t file[1 << 20];
static size_t size;
static int swapped;

static void put(const void *bytes, size_t n)
{
	assert_true(size + n <= sizeof file);
	memcpy(file + size, bytes, n);
	size += n;
}

/* 16 or 32 bits of each number, in the order of the capture. */
static void put_numbers(const uint32_t *numbers, size_t n, size_t bytes)
{
	for (size_t i = 0; i < n; i++) {
		uint16_t half = (uint16_t)numbers[i];
		uint32_t word = swapped ? __builtin_bswap32(numbers[i]) : numbers[i];

		half = swapped ? __builtin_bswap16(half) : half;
		put(bytes == 4 ? (const void *)&word : &half, bytes);
	}
}

#define NUMBERS(...) (const uint32_t[]){__VA_ARGS__}, sizeof(const uint32_t[]){__VA_ARGS__} / sizeof(uint32_t)
#define PUT32(...) put_numbers(NUMBERS(__VA_ARGS__), 4)
#define PUT16(...) put_numbers(NUMBERS(__VA_ARGS__), 2)

/* Packet i of a capture: a SYN from port 1000 + i, or a datagram if i % 3 is 2. */
static size_t make_frame(unsigned i, uint8_t frame[SIM_FRAME_MOST])
{
	const struct sim_ends ends = {.address = {0x0a000001, 0x0a000002},
				      .port = {(uint16_t)(1000 + i), 80},
				      .version = i % 2 ? 6 : 4,
				      .protocol = i % 3 == 2 ? INK_PROTOCOL_UDP : INK_PROTOCOL_TCP};
	const struct sim_segment s = {
		.flags = INK_TCP_SYN, .payload = (const uint8_t *)"payload", .length = i % 8};

	return sim_frame(frame, &ends, &s);
}

enum { PACKETS = 20 };

static uint64_t time_of(unsigned i)
{
	return 1000000000ull * (1000 + i) + 1000 * i;
}

static size_t ends_at[PACKETS + 1]; /* where each packet ends in the file; [0] is the header's end */

static void pcap_header(int nanoseconds)
{
	size = 0;
	PUT32(nanoseconds ? 0xa1b23c4d : 0xa1b2c3d4);
	PUT16(2, 4);
	PUT32(0, 0, 65535, INK_LINK_ETHERNET);
	ends_at[0] = size;
}

static void make_pcap(int nanoseconds)
{
	uint8_t frame[SIM_FRAME_MOST];

	pcap_header(nanoseconds);
	for (unsigned i = 0; i < PACKETS; i++) {
		uint32_t n = (uint32_t)make_frame(i, frame), unit = nanoseconds ? 1 : 1000;

		PUT32((uint32_t)(time_of(i) / 1000000000), (uint32_t)(time_of(i) % 1000000000 / unit), n,
		      n + 5);
		put(frame, n);
		ends_at[i + 1] = size;
	}
}

/* A section and an interface, whose option 9 says that times are in nanoseconds. */
static void pcapng_header(void)
{
	size = 0;
	PUT32(0x0a0d0d0a, 28, 0x1a2b3c4d);
	PUT16(1, 0);
	PUT32(0xffffffff, 0xffffffff, 28);
	PUT32(1, 32);
	PUT16(1, 0);
	PUT32(65535);
	PUT16(9, 1);
	put("\x09\0\0\0", 4);
	PUT32(0, 32);
	ends_at[0] = size;
}

static void make_pcapng(void)
{
	uint8_t frame[SIM_FRAME_MOST];

	pcapng_header();
	for (unsigned i = 0; i < PACKETS; i++) {
		uint32_t n = (uint32_t)make_frame(i, frame), padded = (n + 3) & ~3u;

		PUT32(6, 32 + padded, 0, (uint32_t)(time_of(i) >> 32), (uint32_t)time_of(i), n, n + 5);
		put(frame, n);
		put("\0\0\0", padded - n);
		PUT32(32 + padded);
		ends_at[i + 1] = size;
	}
}

static void save(size_t n)
{
	int fd = open(scratch_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, file, n), n);
	close(fd);
}

enum format { MICROSECONDS, NANOSECONDS, PCAPNG };

/* All packets in that format, saved. */
static void make_format(enum format format, int other_order)
{
	swapped = other_order;
	if (format == PCAPNG)
		make_pcapng();
	else
		make_pcap(format == NANOSECONDS);
	save(size);
}

/* --------------------------------------------------------------- reading them */

static struct ink_why why;

/* The last packets that were read. */
static struct ink_packet packets[8];
static struct ink_packets batch = {.at = packets, .room = 8};

/* Of the file under test; the teardown closes it. */
static struct ink_capture *capture;

static int close_capture(void **state)
{
	ink_capture_close(capture);
	capture = NULL;
	batch.room = 8;
	return 0;
}

/* Into `capture`. */
static void open_file(const char *name, const char *filter)
{
	struct ink_capture_options o = {.size = sizeof o, .file = name, .filter = filter};

	close_capture(NULL);
	why.text[0] = '\0';
	capture = ink_capture_open(&o, &why);
}

static void open_saved(void)
{
	open_file(scratch_file, NULL);
	assert_non_null(capture);
}

static int read_batch(void)
{
	return ink_capture_read(capture, &batch, &why);
}

static void check_packet(const struct ink_packet *p, unsigned i)
{
	uint8_t frame[SIM_FRAME_MOST];
	size_t n = make_frame(i, frame);

	assert_int_equal(p->captured, n);
	assert_int_equal(p->wire, n + 5);
	assert_memory_equal(p->frame, frame, n);
	assert_true(p->time == time_of(i) && p->clock == p->time);
	assert_int_equal(p->sport, 1000 + i);
	assert_int_equal(p->skip, INK_NOT_SKIPPED);
}

/* Reads to the end or to an error, and checks every packet; says how many there were. */
static unsigned read_all(size_t room, int *error)
{
	unsigned n = 0;

	batch.room = room;
	while (!(*error = read_batch()) && !batch.end)
		for (size_t i = 0; i < batch.n; i++)
			check_packet(&packets[i], n++);
	assert_int_equal(batch.n, 0);
	assert_int_equal(read_batch(), *error); /* it says so again */
	return n;
}

static unsigned read_file(int *error)
{
	open_saved();
	return read_all(1 + random_below(8), error);
}

/* As much as one write takes: a pipe holds 64 KiB. */
static unsigned read_through_pipe(int *error)
{
	int ends[2], standard = dup(STDIN_FILENO);
	unsigned n;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], file, size), size);
	close(ends[1]);
	assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
	close(ends[0]);
	open_file("-", NULL);
	assert_non_null(capture);
	n = read_all(4, error);
	if (standard >= 0)
		dup2(standard, STDIN_FILENO);
	close(standard);
	return n;
}

TEST_THAT(every_format_is_read_from_files_and_pipes)
{
	int error;

	for (int i = 0; i < 6; i++) {
		make_format(i / 2, i % 2);
		assert_int_equal(read_file(&error), PACKETS);
		assert_int_equal(error, 0);
		assert_int_equal(read_through_pipe(&error), PACKETS);
		assert_int_equal(error, 0);
	}
}

/* Whole packets in the first n bytes. */
static unsigned whole_packets(size_t n)
{
	unsigned whole = 0;

	while (whole < PACKETS && ends_at[whole + 1] <= n)
		whole++;
	return whole;
}

static void check_cut(size_t n)
{
	int error, clean = n == ends_at[whole_packets(n)];

	save(n);
	if (n < ends_at[0]) {
		open_file(scratch_file, NULL);
		/* libpcap takes the begin of a pcapng file whose interface is missing for an empty one. */
		if (!capture)
			assert_int_equal(errno, EILSEQ);
		return;
	}
	assert_int_equal(read_file(&error), whole_packets(n));
	assert_int_equal(error, clean ? 0 : -EILSEQ);
	if (!clean)
		assert_non_null(strstr(why.text, scratch_file));
}

/* At every byte of the first two packets, and of the last. */
static void check_cuts(void)
{
	for (size_t n = 0; n <= ends_at[2]; n++)
		check_cut(n);
	for (size_t n = ends_at[PACKETS - 1]; n <= size; n++)
		check_cut(n);
}

TEST_THAT(a_cut_file_gives_what_is_whole_and_then_says_where)
{
	char place[40];
	int error;

	make_format(MICROSECONDS, 0);
	check_cuts();
	make_format(PCAPNG, 0);
	check_cuts();
	make_format(MICROSECONDS, 1);
	save(ends_at[3] + 20);
	read_file(&error);
	snprintf(place, sizeof place, "packet 4, at byte %zu", ends_at[3]);
	assert_non_null(strstr(why.text, place));
}

TEST_THAT(a_length_that_cannot_be_ends_it)
{
	int error;

	make_format(MICROSECONDS, 0);
	memset(file + ends_at[2] + 8, 0x7f, 4);
	save(size);
	assert_int_equal(read_file(&error), 2);
	assert_int_equal(error, -EILSEQ);
	assert_non_null(strstr(why.text, "packet 3"));
	assert_non_null(strstr(why.text, "is impossible"));
}

TEST_THAT(what_cannot_be_opened_is_refused)
{
	const struct {
		int error;
		const char *word;
		struct ink_capture_options options;
	} rows[] = {
		{EILSEQ, scratch_file, {.file = scratch_file}},
		{ENOENT, "/nonexistent/capture", {.file = "/nonexistent/capture"}},
		{EISDIR, "/", {.file = "/"}},
		{EINVAL, "", {.file = NULL}},
		{EINVAL, "", {.file = scratch_file, .interface = "lo"}},
		{EINVAL, "", {.file = scratch_file, .parse = 64}},
		{EINVAL, "", {.size = 3, .file = scratch_file}},
	};

	memset(file, 'x', 1000);
	save(1000);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct ink_capture_options o = rows[i].options;

		o.size = o.size ? o.size : sizeof o;
		errno = 0;
		assert_null(ink_capture_open(&o, &why));
		assert_int_equal(errno, rows[i].error);
		assert_non_null(strstr(why.text, rows[i].word));
	}
}

TEST_THAT(an_unknown_interface_is_named)
{
	struct ink_capture_options o = {.size = sizeof o, .interface = "ink-no-such"};

	if (cannot_capture())
		skip();
	assert_null(ink_capture_open(&o, &why));
	assert_true(errno == ENODEV || errno == EPERM);
	assert_non_null(strstr(why.text, "ink-no-such"));
}

/* --------------------------------------------------------------------- filters */

TEST_THAT(a_filter_lets_pass_what_it_says)
{
	struct ink_capture_stats stats = {.size = sizeof stats};

	for (enum format format = MICROSECONDS; format <= PCAPNG; format++) {
		unsigned n = 0;

		make_format(format, 0);
		open_file(scratch_file, "udp");
		assert_non_null(capture);
		while (read_batch() == 0 && !batch.end)
			for (size_t i = 0; i < batch.n; i++, n++)
				assert_int_equal(packets[i].protocol, INK_PROTOCOL_UDP);
		ink_capture_stats(capture, &stats);
		assert_int_equal(n, PACKETS / 3);
		assert_int_equal(stats.packets, n);
		assert_int_equal(stats.filtered, PACKETS - n);
	}
}

TEST_THAT(a_wrong_filter_is_explained)
{
	make_format(MICROSECONDS, 0);
	open_file(scratch_file, "tcp and and");
	assert_null(capture);
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(why.text, "tcp and and"));
	assert_null(ink_filter_compile("host", INK_LINK_ETHERNET, &why));
	assert_int_equal(errno, EINVAL);
}

TEST_THAT(a_filter_can_be_tried_before_the_link_is_known)
{
	assert_int_equal(ink_filter_try("tcp port 80", &why), 0);
	why = (struct ink_why){"an earlier reason"};
	assert_int_equal(ink_filter_try("wlan type mgt", &why), 0); /* of 802.11 */
	assert_string_equal(why.text, "an earlier reason");
	assert_int_equal(ink_filter_try("tcp and and", &why), -EINVAL);
	assert_non_null(strstr(why.text, "filter 'tcp and and': "));
	assert_int_equal(ink_filter_try("tcp and and", NULL), -EINVAL);
}

TEST_THAT(filters_know_the_link)
{
	struct ink_filter *f = ink_filter_compile("tcp port 1000", INK_LINK_RAW, &why);
	struct ink_packet p = {.time = 0};
	uint8_t frame[SIM_FRAME_MOST];

	assert_non_null(f);
	p.captured = p.wire = (uint32_t)make_frame(0, frame) - 14;
	p.frame = frame + 14;
	assert_string_equal(ink_link_name(INK_LINK_ETHERNET), "Ethernet");
	assert_string_equal(ink_link_name(INK_LINK_RAW), "Raw IP");
	assert_string_equal(ink_link_name((enum ink_link)9999), "unknown");
	assert_true(ink_filter_match(f, &p));
	p.captured = 21; /* cut before the ports */
	assert_false(ink_filter_match(f, &p));
	ink_filter_free(f);
	ink_filter_free(NULL);
}

/* ------------------------------------------------------------------- the others */

TEST_THAT(what_is_dumped_is_read)
{
	struct ink_dump *d = ink_dump_open(scratch_file, INK_LINK_ETHERNET, &why);
	uint8_t frame[SIM_FRAME_MOST];
	int error;

	assert_non_null(d);
	for (unsigned i = 0; i < PACKETS; i++) {
		struct ink_packet p = {.frame = frame, .time = time_of(i)};

		p.captured = (uint32_t)make_frame(i, frame);
		p.wire = p.captured + 5;
		assert_int_equal(ink_dump_packet(d, &p), 0);
	}
	assert_int_equal(ink_dump_close(d, &why), 0);
	assert_int_equal(read_file(&error), PACKETS);
	assert_int_equal(error, 0);
	assert_int_equal(ink_dump_close(NULL, &why), 0);
}

TEST_THAT(a_dump_that_fails_says_so)
{
	struct ink_dump *d = ink_dump_open("/dev/full", INK_LINK_ETHERNET, &why);

	if (!d)
		SKIP("/dev/full cannot be opened");
	assert_int_equal(ink_dump_close(d, &why), -ENOSPC);
	assert_non_null(strstr(why.text, "/dev/full"));
	assert_null(ink_dump_open("/nonexistent/dump", INK_LINK_ETHERNET, &why));
	assert_int_equal(errno, ENOENT);
}

TEST_THAT(stopping_ends_it)
{
	make_format(MICROSECONDS, 0);
	open_saved();
	batch.room = 2;
	assert_int_equal(read_batch(), 0);
	assert_int_equal(batch.n, 2);
	ink_capture_stop(capture);
	assert_int_equal(read_batch(), 0);
	assert_true(batch.end && batch.n == 0);
	ink_capture_close(NULL);
}

TEST_THAT(without_room_nothing_is_read)
{
	make_format(MICROSECONDS, 0);
	open_saved();
	batch.room = 0;
	assert_int_equal(read_batch(), -EINVAL);
	batch.room = 1;
	assert_int_equal(read_batch(), 0);
	check_packet(&packets[0], 0);
}

TEST_THAT(time_that_goes_back_is_counted)
{
	const uint32_t seconds[] = {100, 101, 99, 102, 10, 11};
	const uint64_t clocks[] = {100, 101, 101, 102, 102, 103};
	struct ink_capture_stats stats = {.size = sizeof stats};

	swapped = 0;
	pcap_header(0);
	for (int i = 0; i < 6; i++)
		PUT32(seconds[i], 0, 0, 60);
	save(size);
	open_saved();
	assert_int_equal(read_batch(), 0);
	assert_int_equal(batch.n, 6);
	for (int i = 0; i < 6; i++)
		assert_true(packets[i].clock == clocks[i] * 1000000000);
	ink_capture_stats(capture, &stats);
	assert_int_equal(stats.backwards, 2);
	assert_true(stats.first == 10000000000 && stats.last == 102000000000);
	assert_int_equal(stats.skipped[INK_SKIP_TRUNCATED], 6);
	assert_int_equal(stats.bytes, 360);
}

static int call_open(void *theirs)
{
	struct ink_capture *c = ink_capture_open(theirs, NULL);

	ink_capture_close(c);
	return c ? 0 : -errno;
}

static int call_stats(void *theirs)
{
	return ink_capture_stats(capture, theirs);
}

TEST_THAT(structs_of_older_and_newer_callers_are_read_and_written)
{
	struct ink_capture_options o = {.size = sizeof o, .file = scratch_file};
	const struct sized open = {"capture options", 48, sizeof o, &o, call_open},
			   stats = {"capture stats", 160, sizeof(struct ink_capture_stats), NULL, call_stats};

	make_format(MICROSECONDS, 0);
	assert_grows(&open);
	open_saved();
	assert_grows(&stats);
	assert_int_equal(call_open(NULL), -EINVAL);
}

/* Frames of the greatest length, so that the buffer is filled and moved many times. */
TEST_THAT(long_frames_cross_the_buffer)
{
	static uint8_t frame[262144];
	struct ink_packet p = {.frame = frame};
	struct ink_dump *d = ink_dump_open(scratch_file, INK_LINK_ETHERNET, &why);
	uint32_t n = 0;

	assert_non_null(d);
	for (uint32_t i = 0; i < 50; i++) {
		p.captured = p.wire = i % 3 ? 262144 - i : 60 + i;
		frame[p.captured - 1] = (uint8_t)i;
		assert_int_equal(ink_dump_packet(d, &p), 0);
		frame[p.captured - 1] = 0;
	}
	assert_int_equal(ink_dump_close(d, &why), 0);
	open_saved();
	while (read_batch() == 0 && !batch.end)
		for (size_t i = 0; i < batch.n; i++, n++) {
			assert_int_equal(packets[i].captured, n % 3 ? 262144 - n : 60 + n);
			assert_int_equal(packets[i].frame[packets[i].captured - 1], n);
		}
	assert_int_equal(n, 50);
}

TEST_THAT(an_unknown_link_is_a_reason)
{
	make_format(MICROSECONDS, 0);
	memcpy(file + 20, &(uint32_t){187}, 4);
	save(size);
	open_saved();
	assert_int_equal(ink_capture_link(capture), 187);
	assert_int_equal(read_batch(), 0);
	assert_int_equal(packets[0].skip, INK_SKIP_LINK);
}

int main(void)
{
	return run_suite(
		&(struct suite){.begin = scratch_make, .end = scratch_remove, .after_each = close_capture});
}
