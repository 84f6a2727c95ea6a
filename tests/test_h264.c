/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine video-h264 over a made stream: groups of a parameter set, a key
 * picture and slices, with supplements between them; units of one packet, or cut
 * into fragments (FU-A). No capture that is at hand has H.264.
 */
#include "tests/machine_help.h"

enum {
	SLICE = 1,
	KEY = 5,
	SUPPLEMENT = 6,
	SET = 7,
	FRAGMENTS = 28,
	GROUPS = 400,
	SLICES = 30,
	KEY_PACKETS = 8,
	PAYLOAD = 1000
};

static int verdict;

static void note_verdict(const struct ink_moved *moved, void *user)
{
	verdict = moved->action->verdict;
}

static void open_h264(const struct ink_setting *settings, unsigned n)
{
	struct ink_machine_options m = {.size = sizeof m, .settings = settings, .n_settings = n};
	struct ink_options o = {.size = sizeof o, .kind = INK_EXACT, .flows = 10, .age_bits = 1, .seed = 1};
	struct ink_track_options k = {.size = sizeof k, .seed = 1, .moved = note_verdict};

	k.machine = machine = ink_machine_load("video-h264", &m, NULL);
	assert_non_null(machine);
	o.rules = ink_machine_view(machine)->rules;
	o.states = o.rules->states;
	k.table = table = ink_create(&o, NULL);
	track = ink_track_open(&k, NULL);
	assert_non_null(track);
}

/* What the policy promises, packet by packet. */
static struct {
	int spoiled;    /* a packet of the last key picture was lost */
	int unit, fate; /* of the unit that is being sent, and what came of its first packet */
	double bytes, lost, lost_first;
} stream;

/* A packet of a unit, the first of it or a later fragment; says whether it was dropped. */
static int dropped(int type, int first, int cut)
{
	uint8_t payload[PAYLOAD] = {0x80, 96};

	payload[12] = (uint8_t)(cut ? FRAGMENTS : type);
	payload[13] = (uint8_t)(cut ? type | (first ? 0x80 : 0) : 0);
	verdict = INK_PASS;
	give_udp(payload, sizeof payload);
	stream.bytes += PAYLOAD;
	stream.lost += verdict == INK_DROP ? PAYLOAD : 0;
	return verdict == INK_DROP;
}

static void judge_first(int type, int is_dropped)
{
	stream.unit = type;
	stream.fate = is_dropped;
	if (type == SET)
		assert_false(is_dropped);
	else if (type == SUPPLEMENT)
		assert_true(is_dropped);
	else if (type == KEY)
		stream.spoiled = is_dropped;
	else if (stream.spoiled)
		assert_true(is_dropped);
}

/* Fragments of a slice that was dropped are, too; one of a key picture that is lost spoils what follows. */
static void judge_later(int is_dropped)
{
	if (stream.unit == SLICE && (stream.fate || stream.spoiled))
		assert_true(is_dropped);
	if (stream.unit == KEY && stream.spoiled)
		assert_true(is_dropped);
	stream.spoiled |= stream.unit == KEY && is_dropped;
}

static void send_unit(int type, unsigned packets)
{
	judge_first(type, dropped(type, 1, packets > 1));
	for (unsigned i = 1; i < packets; i++)
		judge_later(dropped(type, 0, 1));
}

static void send_groups(unsigned n)
{
	memset(&stream, 0, sizeof stream);
	for (unsigned i = 0; i < n; i++) {
		send_unit(SET, 1);
		send_unit(KEY, KEY_PACKETS);
		for (unsigned j = 0; j < SLICES; j++) {
			if (j % 10 == 9)
				send_unit(SUPPLEMENT, 1);
			send_unit(SLICE, 1 + j % 3);
		}
	}
	assert_true(counted("bytes") == stream.bytes && counted("lost_bytes") == stream.lost);
	print_message("%.1f %% lost, %.1f %% first\n", 100 * stream.lost / stream.bytes,
		      100.0 * (double)counted("lost_first") / stream.bytes);
}

/* 6 % from supplements and slices, which have 3 packets at most; then key pictures and what depends on them. */
TEST_THAT(supplements_and_slices_are_lost_first_and_sets_never)
{
	double first;

	open_h264(NULL, 0);
	send_groups(GROUPS);
	first = (double)counted("lost_first") / stream.bytes;
	assert_true(first > .055 && first < .08);
	assert_true(counted("key_pictures") == GROUPS);
	assert_true(stream.lost / stream.bytes > first);
}

TEST_THAT(every_slice_can_be_dropped_and_key_pictures_stay)
{
	static const struct ink_setting all[] = {{"share", "100%"}, {"limit", "100%"}};

	open_h264(all, COUNT(all));
	send_groups(3);
	assert_int_equal(counted("spared"), 3 * (SLICES + SLICES / 10));
	assert_int_equal(counted("kept"), 3);
	assert_true(stream.lost == (double)counted("lost_first"));
}

TEST_THAT(without_a_share_only_supplements_are_dropped_below_the_limit)
{
	static const struct ink_setting none[] = {{"share", "0%"}, {"limit", "50%"}};

	open_h264(none, COUNT(none));
	send_groups(3);
	assert_int_equal(counted("spared"), 3 * SLICES / 10);
	assert_int_equal(counted("kept"), 3 + 3 * SLICES);
}

TEST_THAT(a_lost_key_picture_takes_all_that_follows)
{
	static const struct ink_setting hard[] = {{"share", "100%"}, {"limit", "0%"}, {"hurt", "100%"}};

	open_h264(hard, COUNT(hard));
	send_groups(3);
	/* The sets are kept, and the first key picture, before which nothing was lost. */
	assert_int_equal(counted("kept"), 3);
	assert_true(stream.lost == stream.bytes - (3 + KEY_PACKETS) * PAYLOAD);
}

/* Bare UDP, and RTP of another kind. */
TEST_THAT(what_is_no_h264_passes)
{
	uint8_t jpeg[PAYLOAD] = {0x80, 26, [12] = SUPPLEMENT}, plain[PAYLOAD] = {0, 96, [12] = SUPPLEMENT};

	open_h264(NULL, 0);
	verdict = INK_PASS;
	give_udp(jpeg, sizeof jpeg);
	give_udp(plain, sizeof plain);
	assert_int_equal(verdict, INK_PASS);
	assert_string_equal(state_now(), "absent");
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = untrack});
}
