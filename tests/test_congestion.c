/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machines aqm-* over made streams, in queues of known length. All packets have 1,000 bytes, and the queue sends one
 * in a millisecond: so many packets of other traffic at one time are so many that wait, and a packet that joins and
 * a millisecond leave it as it was.
 */
#include <math.h>

#include "tests/machine_help.h"

enum { WIRE = 1000, PAYLOAD = 900, RATE = 8000000, MS = 1000000 };

static int verdict;
static uint64_t now;

static void note_verdict(const struct ink_moved *moved, void *user)
{
	verdict = moved->action->verdict;
}

static void open_policy(const char *name, const struct ink_setting *settings, unsigned n)
{
	struct ink_machine_options m = {.size = sizeof m, .settings = settings, .n_settings = n};
	struct ink_options o = {.size = sizeof o, .kind = INK_EXACT, .flows = 10, .age_bits = 1, .seed = 1};
	struct ink_track_options k = {.size = sizeof k, .seed = 1, .moved = note_verdict, .queue_rate = RATE};

	untrack(NULL);
	k.machine = machine = ink_machine_load(name, &m, NULL);
	assert_non_null(machine);
	o.rules = ink_machine_view(machine)->rules;
	o.states = o.rules->states;
	k.table = table = ink_create(&o, NULL);
	track = ink_track_open(&k, NULL);
	assert_non_null(track);
}

static void send(uint8_t protocol, const uint8_t *payload)
{
	struct ink_packet p = packet(protocol, 0, 0);

	p.time = p.clock = now;
	p.wire = p.captured = WIRE;
	p.payload = payload;
	p.payload_captured = p.payload_wire = payload ? PAYLOAD : 0;
	give(p);
}

/* Makes the queue so long: what waited is sent, and other traffic comes. */
static void fill(unsigned packets)
{
	now += 2000ull * MS;
	while (packets--)
		send(INK_PROTOCOL_ICMP, NULL);
}

/* A packet of video, after which the queue is as long as before. */
static int is_dropped(const uint8_t payload[PAYLOAD])
{
	verdict = INK_PASS;
	send(INK_PROTOCOL_UDP, payload);
	if (verdict == INK_DROP)
		return 1;
	now += MS;
	return 0;
}

/* ------------------------------------------------------------------ MPEG-2 */

enum { I = 1, P, B };

/* Packets of a picture, by type. */
static const unsigned packets_of[] = {[I] = 8, [P] = 4, [B] = 2};

/* The i-th packet of a picture: the first has its code. */
static int picture_packet(unsigned type, unsigned i)
{
	uint8_t payload[PAYLOAD];

	memset(payload, 0x55, sizeof payload);
	if (i == 0)
		memcpy(payload, (const uint8_t[]){0, 0, 1, 0, 0x10, (uint8_t)(type << 3 | 7)}, 6);
	return is_dropped(payload);
}

/* So many of its packets are dropped. */
static unsigned send_picture(unsigned type)
{
	unsigned lost = 0;

	for (unsigned i = 0; i < packets_of[type]; i++)
		lost += (unsigned)picture_packet(type, i);
	return lost;
}

/* Pictures by type, and those of them that lost packets, in groups of one I, three P and six B. */
static struct {
	double sent[4], hit[4];
} seen;

static void note_picture(unsigned type)
{
	unsigned lost = send_picture(type);

	seen.sent[type]++;
	seen.hit[type] += lost > 0;
	if (type != I && lost % packets_of[type])
		fail_msg("%u of %u packets are lost", lost, packets_of[type]);
}

static void send_groups(unsigned n)
{
	memset(&seen, 0, sizeof seen);
	while (n--) {
		note_picture(I);
		for (unsigned i = 0; i < 3; i++) {
			note_picture(P);
			note_picture(B);
			note_picture(B);
		}
	}
}

/* As many as that, within five standard deviations. */
static void assert_share(unsigned type, double share)
{
	double n = seen.sent[type], most = 5 * sqrt(n * share * (1 - share)) + .5;

	if (fabs(seen.hit[type] - n * share) > most)
		fail_msg("%s: %.0f of %.0f pictures of type %u are hit, and not %.1f %%",
			 ink_machine_view(machine)->name, seen.hit[type], n, type, 100 * share);
}

static void assert_shares(double i, double p, double b)
{
	assert_share(I, i);
	assert_share(P, p);
	assert_share(B, b);
}

/* The lengths of queues around each threshold, and which of the three shares they have. */
static const struct {
	unsigned packets, level;
} lengths[] = {{0, 0}, {50, 0}, {51, 1}, {100, 1}, {101, 2}, {150, 2}, {151, 3}, {400, 3}};

TEST_THAT(random_frames_are_dropped_by_the_length_of_the_queue)
{
	static const double shares[] = {0, .05, .2, .8};

	open_policy("aqm-random", NULL, 0);
	for (unsigned i = 0; i < COUNT(lengths); i++) {
		double share = shares[lengths[i].level];

		fill(lengths[i].packets);
		send_groups(600);
		assert_shares(share, share, share);
	}
}

TEST_THAT(b_frames_are_dropped_by_the_length_of_the_queue_and_no_others)
{
	static const double shares[] = {0, .25, .5, 1};

	open_policy("aqm-b", NULL, 0);
	for (unsigned i = 0; i < COUNT(lengths); i++) {
		fill(lengths[i].packets);
		send_groups(200);
		assert_shares(0, 0, shares[lengths[i].level]);
	}
}

/* An I-picture of 8 packets is hit if one of them is; then all up to the next one is lost. */
static double hit_of(double hurt)
{
	return 1 - pow(1 - hurt, packets_of[I]);
}

TEST_THAT(tails_of_i_frames_are_dropped_by_the_length_of_the_queue)
{
	static const double hurts[] = {0, .002, .01, .1};

	open_policy("aqm-itail", NULL, 0);
	for (unsigned i = 0; i < COUNT(lengths); i++) {
		fill(lengths[i].packets);
		send_groups(600);
		assert_share(I, hit_of(hurts[lengths[i].level]));
		assert_true(seen.hit[P] == 3 * seen.hit[I] && seen.hit[B] == 6 * seen.hit[I]);
	}
}

TEST_THAT(combined_takes_six_percent_from_b_frames_and_then_tails)
{
	double share;

	open_policy("aqm-combined", NULL, 0);
	fill(50);
	send_groups(50);
	assert_shares(0, 0, 0);
	fill(60);
	send_groups(600);
	share = (double)counted("lost_b") / (double)counted("bytes");
	assert_true(share > .0595 && share < .061);
	assert_true(seen.hit[I] > 0 && seen.hit[I] < 25);
	assert_true(seen.hit[P] == 3 * seen.hit[I]);
	assert_true(counted("lost_bytes") > counted("lost_b"));
}

TEST_THAT(combined_below_its_limit_drops_what_aqm_b_drops_and_tails_when_the_queue_is_full)
{
	static const struct ink_setting much[] = {{"limit", "90%"}};
	static const double shares[] = {0, .25, .5, 1};

	open_policy("aqm-combined", much, COUNT(much));
	for (unsigned i = 0; i < COUNT(lengths); i++) {
		fill(lengths[i].packets);
		send_groups(200);
		assert_share(I, lengths[i].level == 3 ? hit_of(.1) : 0);
		assert_share(B, shares[lengths[i].level]);
	}
}

/* What was decided at the first packet of a picture holds, whatever the queue is at the others. */
TEST_THAT(a_frame_is_dropped_as_a_whole_or_not_at_all)
{
	static const char *const policies[] = {"aqm-b", "aqm-random", "aqm-combined"};
	static const struct ink_setting all[] = {{"share-full", "100%"}, {"limit", "100%"}};

	for (unsigned i = 0; i < COUNT(policies); i++) {
		open_policy(policies[i], all, strcmp(policies[i], "aqm-combined") ? 1 : 2);
		fill(200);
		assert_true(picture_packet(B, 0));
		fill(0);
		assert_true(picture_packet(B, 1) && picture_packet(B, 2));
		assert_false(picture_packet(B, 0));
		fill(200);
		assert_false(picture_packet(B, 1));
		assert_true(picture_packet(B, 0));
	}
}

TEST_THAT(thresholds_can_be_bytes_and_times)
{
	static const struct ink_setting bytes[] = {{"congested", "10k bytes"},
						   {"crowded", "20k bytes"},
						   {"full", "30k bytes"}},
					times[] = {{"congested", "10ms"},
						   {"crowded", "20ms"},
						   {"full", "30ms"}},
					packets[] = {{"congested", "10"}, {"crowded", "20"}, {"full", "30"}};
	static const struct ink_setting *const sets[] = {bytes, times, packets};

	for (unsigned i = 0; i < COUNT(sets); i++) {
		open_policy("aqm-b", sets[i], 3);
		fill(10);
		send_groups(100);
		assert_shares(0, 0, 0);
		fill(11);
		send_groups(100);
		assert_shares(0, 0, .25);
		fill(31);
		send_groups(10);
		assert_shares(0, 0, 1);
	}
}

/* ------------------------------------------------------------------- H.264 */

enum { SLICE = 1, KEY = 5, SUPPLEMENT = 6, SET = 7, FRAGMENTS = 28 };

/* A packet of a unit that is cut into several, or of one alone; `ref` is its nal_ref_idc. */
static int unit_packet(unsigned type, unsigned ref, int first, int cut)
{
	uint8_t payload[PAYLOAD] = {0x80, 96};

	payload[12] = (uint8_t)(ref << 5 | (cut ? FRAGMENTS : type));
	payload[13] = (uint8_t)(cut ? type | (first ? 0x80u : 0) : 0);
	return is_dropped(payload);
}

/* So many packets of it are dropped. */
static unsigned send_unit(unsigned type, unsigned ref, unsigned packets)
{
	unsigned lost = 0;

	for (unsigned i = 0; i < packets; i++)
		lost += (unsigned)unit_packet(type, ref, i == 0, packets > 1);
	return lost;
}

static const struct ink_setting no_tails[] = {{"hurt", "0%"}, {"hurt-crowded", "0%"}, {"hurt-full", "0%"}},
				tails[] = {{"hurt-full", "100%"}};

TEST_THAT(slices_that_no_other_needs_are_dropped_and_all_else_stays)
{
	static const double shares[] = {0, .25, .5, 1};
	static const struct ink_setting much[] = {
		{"limit", "90%"}, {"hurt", "0%"}, {"hurt-crowded", "0%"}, {"hurt-full", "0%"}};

	open_policy("aqm-h264", much, COUNT(much));
	for (unsigned i = 0; i < COUNT(lengths); i++) {
		memset(&seen, 0, sizeof seen);
		fill(lengths[i].packets);
		for (unsigned n = 0; n < 300; n++) {
			unsigned lost;

			assert_int_equal(send_unit(SET, 3, 1) + send_unit(KEY, 3, 5), 0);
			assert_int_equal(send_unit(SLICE, 2, 3) + send_unit(SLICE, 1, 1), 0);
			lost = send_unit(SLICE, 0, 3);
			assert_true(lost == 0 || lost == 3);
			seen.sent[B] += 2;
			seen.hit[B] += lost > 0;
			seen.hit[B] += send_unit(SUPPLEMENT, 0, 1);
		}
		/* A supplement that is not dropped itself shares the fate of the slice before it. */
		if (lengths[i].level == 0 || lengths[i].level == 3)
			assert_share(B, shares[lengths[i].level]);
	}
}

TEST_THAT(past_the_limit_key_pictures_are_hit_with_what_follows)
{
	static const struct ink_setting none[] = {{"limit", "0%"}, {"hurt", "100%"}};

	open_policy("aqm-h264", none, COUNT(none));
	fill(60);
	send_unit(KEY, 3, 5);
	while (!send_unit(SLICE, 0, 1))
		; /* the first one is beyond the limit */
	assert_int_equal(send_unit(SLICE, 0, 4), 0);
	assert_int_equal(send_unit(KEY, 3, 5), 5);
	assert_int_equal(send_unit(SLICE, 2, 3) + send_unit(SLICE, 0, 2), 5);
	assert_int_equal(send_unit(SET, 3, 1), 0);
	fill(0);
	assert_int_equal(send_unit(SLICE, 2, 3), 3);
	assert_int_equal(send_unit(KEY, 3, 5) + send_unit(SLICE, 2, 3), 0);
}

/* Streams without slices that can be spared give way to a full queue. */
TEST_THAT(a_full_queue_hits_key_pictures_below_the_limit)
{
	open_policy("aqm-h264", tails, COUNT(tails));
	fill(150);
	assert_int_equal(send_unit(KEY, 3, 5) + send_unit(SLICE, 2, 3), 0);
	fill(151);
	assert_int_equal(send_unit(KEY, 3, 5) + send_unit(SLICE, 2, 3), 8);
}

/* The queue is empty when the second slice comes, but what it belongs to is lost. */
TEST_THAT(a_key_picture_is_lost_with_all_its_slices)
{
	open_policy("aqm-h264", tails, COUNT(tails));
	fill(151);
	assert_int_equal(send_unit(KEY, 3, 5), 5);
	now += 100 * MS;
	assert_int_equal(send_unit(KEY, 3, 5), 5);
	assert_int_equal(send_unit(SET, 3, 1), 0);
	assert_int_equal(send_unit(KEY, 3, 5), 0);
}

/* Streams of key pictures alone go on, too. */
TEST_THAT(after_a_while_a_key_picture_is_another_one)
{
	open_policy("aqm-h264", tails, COUNT(tails));
	fill(151);
	assert_int_equal(send_unit(KEY, 3, 5), 5);
	now += 600 * MS;
	assert_int_equal(send_unit(KEY, 3, 5), 0);
}

TEST_THAT(below_the_thresholds_nothing_of_h264_is_dropped)
{
	open_policy("aqm-h264", NULL, 0);
	fill(50);
	for (unsigned n = 0; n < 100; n++)
		assert_int_equal(send_unit(SET, 3, 1) + send_unit(KEY, 3, 5) + send_unit(SLICE, 0, 3) +
					 send_unit(SUPPLEMENT, 0, 1),
				 0);
	open_policy("aqm-h264", no_tails, COUNT(no_tails));
	fill(400);
	assert_int_equal(send_unit(SET, 3, 1) + send_unit(KEY, 3, 5) + send_unit(SLICE, 2, 3), 0);
}

/* ------------------------------------------------------------------- other */

TEST_THAT(what_is_no_video_passes_in_any_queue)
{
	static const char *const policies[] = {"aqm-random", "aqm-b", "aqm-itail", "aqm-combined",
					       "aqm-h264"};
	uint8_t noise[PAYLOAD];

	memset(noise, 0x77, sizeof noise);
	for (unsigned i = 0; i < COUNT(policies); i++) {
		open_policy(policies[i], NULL, 0);
		fill(500);
		for (unsigned n = 0; n < 100; n++)
			assert_false(is_dropped(noise));
		assert_string_equal(state_now(), "absent");
	}
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = untrack});
}
