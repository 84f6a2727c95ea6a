/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does the kernel see in a payload what user space sees? Payloads of all sorts go through payload.bpf.c, at XDP and at
 * tc, and through the calls of video.h; every field is compared. Questions and answers are in a map that is mapped here.
 *
 * A payload is made by one of several makers and then, often, changed: real-looking video, hostile MPEG-TS and RTP,
 * bytes in which codes are frequent. Behind it, the program's buffer holds what earlier ones left there.
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "packet/video.h"
#include "sim/frame.h"
#include "sim/video.h"
#include "tests/payload_asked.h"
#include "tests/random.h"
#include "tests/test.h"

enum { MOST = 9216, MOST_AT_TC = 3000, ROUNDS = 150000, SKIPPED = 77 };

static struct bpf_object *object;
static struct talk *talk;
static uint64_t *words;
static int at_xdp, at_tc;

/* ------------------------------------------------------------- the program */

static void *mapped(const char *name, size_t bytes)
{
	int fd = bpf_object__find_map_fd_by_name(object, name);
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	assert_true(at != MAP_FAILED);
	return at;
}

static int program(const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(object, name));
}

static int say_nothing(enum libbpf_print_level level, const char *format, va_list arguments)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, format, arguments) : 0;
}

static int open_program(void **state)
{
	struct bpf_map *bytes;
	int error;

	libbpf_set_print(say_nothing);
	object = bpf_object__open_file(PAYLOAD_OBJECT, NULL);
	assert_non_null(object);
	bytes = bpf_object__find_map_by_name(object, "bytes");
	bpf_map__set_max_entries(bytes, ASKED_WORDS);
	bpf_map__set_map_flags(bytes, BPF_F_MMAPABLE);
	error = bpf_object__load(object);
	if (error == -EPERM) { /* what the verifier refuses is EACCES, EINVAL or E2BIG */
		printf("skipped: this process may not load BPF programs\n");
		exit(SKIPPED);
	}
	assert_int_equal(error, 0);
	talk = mapped("talks", sizeof *talk);
	words = mapped("bytes", ASKED_WORDS * sizeof *words);
	at_xdp = program("at_xdp");
	at_tc = program("at_tc");
	return 0;
}

static int close_program(void **state)
{
	bpf_object__close(object);
	return 0;
}

/* ------------------------------------------------------------- a question */

static struct {
	uint8_t frame[ASKED_OFFSET + MOST];
	uint32_t length, wire, tail, protocol;
	uint8_t pattern[ASKED_WORDS * sizeof(uint64_t)];
	uint32_t compared;
} now;

static uint8_t *payload(void)
{
	return now.frame + ASKED_OFFSET;
}

static struct ink_packet packet_now(void)
{
	return (struct ink_packet){.protocol = (uint8_t)now.protocol,
				   .payload = payload(),
				   .payload_captured = now.length,
				   .payload_wire = now.wire};
}

/* Nanoseconds of a run, as the kernel measures them. */
static uint32_t run(int fd, uint32_t what, uint32_t repeat)
{
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = now.frame, .data_size_in = ASKED_OFFSET + now.length,
		    .repeat = (int)repeat);

	talk->asked = (struct asked){.what = what,
				     .protocol = now.protocol,
				     .captured = now.length,
				     .wire = now.wire,
				     .tail = now.tail,
				     .pattern = 3,
				     .length = now.compared};
	memcpy(words + 3, now.pattern, now.compared);
	talk->answered.runs = 0;
	assert_int_equal(bpf_prog_test_run_opts(fd, &o), 0);
	assert_int_equal(talk->answered.runs, repeat);
	assert_int_equal(talk->answered.loaded, 1);
	return o.duration;
}

static void compare(int fd)
{
	struct ink_packet p = packet_now();
	struct ink_pictures pictures = ink_video_pictures(&p, now.tail);
	const struct answered *a = &talk->answered;

	run(fd, ASK_ALL, 1);
	assert_memory_equal(a->pictures.started, pictures.started, sizeof pictures.started);
	assert_int_equal(a->pictures.last, pictures.last);
	assert_int_equal(a->pictures.tail, pictures.tail);
	assert_int_equal(a->last, pictures.last);
	assert_int_equal(a->nals, ink_video_nals(&p, ~0u));
	assert_int_equal(a->unneeded, ink_video_nals(&p, 1));
	assert_int_equal(a->rtp_type, ink_video_rtp(&p));
	assert_int_equal(a->is_ts, ink_video_ts(&p));
	assert_int_equal(a->begins,
			 now.length >= now.compared && !memcmp(payload(), now.pattern, now.compared));
}

/* --------------------------------------------------------------- payloads */

static uint32_t some_length(void)
{
	static const uint32_t ends[] = {20, 200, 1500, 1500, 1500, 4000, MOST + 1};

	return random_below(ends[random_below(COUNT(ends))]);
}

static uint8_t random_byte(void)
{
	return (uint8_t)random_word();
}

/* A byte that begins or continues a code, or is any. */
static uint8_t byte_of_code(void)
{
	static const uint8_t often[] = {0, 0, 0, 0, 1, 1, 8, 16, 24, 0xe0};

	return random_below(16) ? often[random_below(COUNT(often))] : random_byte();
}

static void fill(uint8_t *at, uint32_t n, int codes)
{
	for (uint32_t i = 0; i < n; i++)
		at[i] = codes ? byte_of_code() : random_byte();
}

static void make_noise(void)
{
	now.length = some_length();
	fill(payload(), now.length, 0);
}

static void make_codes(void)
{
	now.length = some_length();
	fill(payload(), now.length, 1);
}

/* One byte alone, with a few others: runs of zeros above all. */
static void make_run(void)
{
	now.length = some_length();
	memset(payload(), (int)random_below(3) ? 0 : 1, now.length);
	for (uint32_t i = random_below(8); i && now.length; i--)
		payload()[random_below(now.length)] = byte_of_code();
}

/* The next datagram of a stream of each format. */
static void make_video(void)
{
	static struct sim_video videos[3];
	static struct sim_sheet sheet;
	static struct sim_truth truth;
	struct sim_video *v = &videos[random_below(3)];

	if (v->next == v->pictures && v->at == v->size)
		*v = (struct sim_video){.sheet = &sheet,
					.format = (enum sim_video_format)(v - videos),
					.seed = random_word(),
					.pictures = 50};
	now.length = (uint32_t)sim_video_next(v, payload(), &truth);
}

/* The header of RTP, with sources and extension; its length. */
static uint32_t put_rtp(uint8_t *at, uint8_t type)
{
	uint32_t sources = random_below(4) ? 0 : random_below(16), words_more = random_below(6);
	uint32_t n = 12 + 4 * sources, extended = random_below(4) == 0;

	fill(at, n + 4, 0);
	at[0] = (uint8_t)(0x80 | extended << 4 | sources);
	at[1] = (uint8_t)(type | random_below(2) << 7);
	at[n + 2] = random_below(20) ? 0 : random_byte();
	at[n + 3] = (uint8_t)words_more;
	return extended ? n + 4 + 4 * words_more : n;
}

/* A PES header, mostly of video, and any length of its rest. */
static void put_pes(uint8_t *at)
{
	memcpy(at, "\0\0\1\xe0\0\0\x80\x80", 8);
	at[8] = random_below(4) ? (uint8_t)random_below(12) : random_byte();
	if (random_below(6) == 0)
		at[random_below(4)] = random_byte();
}

static void put_ts(uint8_t *ts, uint32_t pids)
{
	static const uint16_t odd[] = {0, 16, 31, 32, 0x1ffe, 0x1fff};
	uint32_t pid = random_below(12) ? 0x100 + random_below(pids) : odd[random_below(COUNT(odd))], at = 4;

	fill(ts, INK_TS_PACKET, (int)random_below(2));
	ts[0] = 0x47;
	ts[1] = (uint8_t)((random_below(3) ? 0 : 0x40) | random_below(2) << 5 | pid >> 8);
	ts[2] = (uint8_t)pid;
	ts[3] = (uint8_t)(random_below(8) ? 0x10 : random_byte());
	if (random_below(3) == 0) {
		ts[3] |= 0x20;
		ts[4] = random_below(3) ? (uint8_t)random_below(184) : random_byte();
		at = 5u + ts[4];
	}
	if (ts[1] & 0x40 && at < INK_TS_PACKET - 9)
		put_pes(ts + at);
}

static void make_ts(void)
{
	uint32_t packets = random_below(4) ? random_below(9) : random_below(49), pids = 1 + random_below(12);

	now.length = random_below(2) ? put_rtp(payload(), random_below(8) ? 33 : 32) : 0;
	for (uint32_t i = 0; i < packets && now.length + INK_TS_PACKET <= MOST; i++) {
		put_ts(payload() + now.length, pids);
		now.length += INK_TS_PACKET;
	}
}

/* RTP with an elementary stream, or with units of H.264, several behind their lengths. */
static void make_rtp(void)
{
	static const uint8_t units[] = {0, 1, 5, 7, 23, 24, 24, 25, 25, 26, 27, 28, 28, 29, 30, 31};
	uint32_t at = put_rtp(payload(), random_below(2) ? 32 : 96), end = at + some_length();

	now.length = end < MOST ? end : MOST;
	fill(payload() + at, now.length > at ? now.length - at : 0, 1);
	if (at < now.length && random_below(2))
		payload()[at] = (uint8_t)(units[random_below(COUNT(units))] | random_below(8) << 5);
	for (at += 1 + 2 * random_below(2); at + 2 < now.length; at += 2 + payload()[at + 1]) {
		payload()[at] = random_below(40) == 0;
		payload()[at + 1] = (uint8_t)random_below(60);
		payload()[at + 2] = random_byte();
	}
}

/* A code somewhere, mostly one that ends with a picture's type; bytes that are others; an end that is earlier. */
static void change(void)
{
	for (uint32_t i = random_below(4); i && now.length > 6; i--)
		memcpy(payload() + random_below(now.length - 5), "\0\0\1\0\0\x10", 1 + random_below(6));
	for (uint32_t i = random_below(4); i && now.length; i--)
		payload()[random_below(now.length)] = byte_of_code();
	if (random_below(4) == 0)
		now.length = random_below(now.length + 1u);
}

/* What `begins` asks: none, some or all of the bytes, or others. */
static void make_pattern(void)
{
	now.compared = random_below(random_below(50) ? 40 : MOST + 40);
	memset(now.pattern, 0x55, sizeof now.pattern);
	memcpy(now.pattern, payload(), now.compared < now.length ? now.compared : now.length);
	if (now.compared && random_below(2))
		now.pattern[random_below(now.compared)] ^= (uint8_t)(1 << random_below(8));
}

static void make_question(void)
{
	static void (*const makers[])(void) = {make_noise, make_codes, make_run, make_video,
					       make_video, make_ts,    make_ts,  make_rtp};

	makers[random_below(COUNT(makers))]();
	if (random_below(2))
		change();
	now.wire = now.length + (random_below(10) ? 0 : random_below(1000));
	now.tail = random_below(6);
	now.protocol = random_below(20) ? INK_PROTOCOL_UDP : INK_PROTOCOL_TCP;
	make_pattern();
}

/* ------------------------------------------------------------------ tests */

static uint32_t with_pictures, with_tails, with_nals, with_ts, with_begins;

static void count_answers(void)
{
	with_pictures += talk->answered.pictures.last != INK_PICTURE_NONE;
	with_tails += talk->answered.pictures.tail != 0;
	with_nals += talk->answered.nals != 0;
	with_ts += talk->answered.is_ts;
	with_begins += talk->answered.begins;
}

TEST_THAT(kernel_and_user_space_see_the_same_in_a_payload)
{
	uint64_t rounds = scaled(ROUNDS);

	for (uint64_t i = 0; i < rounds; i++) {
		make_question();
		compare(at_xdp);
		count_answers();
		if (now.length <= MOST_AT_TC && i % 2)
			compare(at_tc);
	}
	print_message("%u pictures, %u tails, %u NAL units, %u MPEG-TS, %u begin so, of %u\n", with_pictures,
		      with_tails, with_nals, with_ts, with_begins, (unsigned)rounds);
	assert_true(with_pictures > rounds / 10 && with_tails > rounds / 10 && with_nals > rounds / 100);
	assert_true(with_ts > rounds / 10 && with_begins > rounds / 10);
}

/* All places of a code in a payload of a few blocks, and all ends that cut it. */
TEST_THAT(a_code_is_found_wherever_it_is)
{
	now.protocol = INK_PROTOCOL_UDP;
	now.tail = now.compared = 0;
	for (uint32_t at = 0; at < 210; at++)
		for (uint32_t more = 0; more < 8; more++) {
			memset(payload(), 0xff, 300);
			memcpy(payload() + at, "\0\0\1\0\0\x10", 6);
			now.length = now.wire = at + more;
			compare(at_xdp);
			assert_int_equal(talk->answered.pictures.tail, more < 6 ? more : 0);
			assert_int_equal(talk->answered.last, more < 6 ? INK_PICTURE_NONE : INK_PICTURE_P);
		}
}

/* ------------------------------------------------------------------- times */

/* The median of several, without what loading takes. */
static int by_value(const void *a, const void *b)
{
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static int median_ns(uint32_t what)
{
	int ns[7];

	for (size_t i = 0; i < COUNT(ns); i++) {
		int without = (int)run(at_xdp, 0, 20000);

		ns[i] = (int)run(at_xdp, what, 20000) - (what ? without : 0);
	}
	qsort(ns, COUNT(ns), sizeof ns[0], by_value);
	return ns[COUNT(ns) / 2];
}

static void print_times(const char *name)
{
	now.wire = now.length;
	print_message("%-28s %4u bytes: load %d ns, pictures %d, ts %d, rtp type %d, nal %d, begins %d\n",
		      name, now.length, median_ns(0), median_ns(ASK_PICTURES), median_ns(ASK_TS),
		      median_ns(ASK_RTP), median_ns(ASK_NALS), median_ns(ASK_BEGINS));
}

/* No limit: how fast it is depends on where it runs. */
TEST_THAT(times_are_printed)
{
	static struct sim_sheet sheet;
	static struct sim_video ts = {.sheet = &sheet, .format = SIM_VIDEO_TS, .seed = 1, .pictures = 5};
	static struct sim_truth truth;

	now.protocol = INK_PROTOCOL_UDP;
	now.tail = 0;
	now.compared = 4;
	now.length = (uint32_t)sim_video_next(&ts, payload(), &truth);
	print_times("MPEG-TS, a picture begins");
	now.length = (uint32_t)sim_video_next(&ts, payload(), &truth);
	print_times("MPEG-TS");
	make_noise();
	now.length = 1316;
	memset(payload(), 0xff, now.length);
	print_times("no zeros");
	fill(payload(), now.length, 0);
	print_times("noise");
	fill(payload(), now.length, 1);
	print_times("codes");
}

int main(void)
{
	return run_suite(&(struct suite){.begin = open_program, .end = close_program});
}
