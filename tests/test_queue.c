/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues and token buckets beside models that know what they do and not how: a queue is a list of packets with the time
 * at which each will have been sent; a bucket has tokens, which time brings and packets take. First alone, then in
 * trackers, whose machines look at the queue, drop, and limit.
 *
 * At rates that send a byte in a whole number of nanoseconds, both have to agree in every nanosecond. At others, as far
 * as the shift instead of a division rounds.
 */
#include "packet/limits.h"
#include "packet/outlet.h"
#include "packet/queue.h"
#include "tests/set_help.h"

#define SECOND 1000000000ull

/* ns for a byte: 8 kbit/s to 8 Gbit/s. */
static const uint64_t whole_paces[] = {1000000, 8000, 800, 80, 8, 1};

static uint64_t rate_of(uint64_t ns_for_a_byte)
{
	return 8 * SECOND / ns_for_a_byte;
}

static struct ink_packet frame(uint64_t clock, uint32_t wire)
{
	struct ink_packet p = packet(INK_PROTOCOL_UDP, 0, 0);

	p.clock = clock;
	p.wire = wire;
	return p;
}

/* Lengths as of traffic: full frames, acknowledgments, anything between. */
static uint32_t some_length(void)
{
	switch (random_below(4)) {
	case 0:
		return 60;
	case 1:
		return 60 + random_below(1455);
	case 2:
		return 9000;
	default:
		return 1514;
	}
}

/* ------------------------------------------------------------ a list of packets */

enum { QUEUED_MOST = 1 << 17 };

struct queued {
	uint64_t sent; /* the time at which its last byte has left */
	uint32_t bytes;
};

static struct {
	uint64_t ns_for_a_byte;
	size_t first, n; /* of a ring */
	struct queued at[QUEUED_MOST];
	uint64_t joined, lost, waits, worst;
} fifo;

static struct queued *queued(size_t i)
{
	return &fifo.at[(fifo.first + i) % QUEUED_MOST];
}

/* What has been sent leaves. */
static void send_until(uint64_t now)
{
	while (fifo.n && queued(0)->sent <= now) {
		fifo.first = (fifo.first + 1) % QUEUED_MOST;
		fifo.n--;
	}
}

/* Bytes that wait: of the packet on the wire, those that are not on it yet; a byte that is being sent is. */
static uint64_t bytes_queued(uint64_t now)
{
	uint64_t bytes = fifo.n ? (queued(0)->sent - now) / fifo.ns_for_a_byte : 0;

	for (size_t i = 1; i < fifo.n; i++)
		bytes += queued(i)->bytes;
	return bytes;
}

static uint64_t wait_queued(uint64_t now)
{
	return fifo.n ? queued(fifo.n - 1)->sent - now : 0;
}

static void enqueue(uint64_t now, uint32_t bytes)
{
	uint64_t wait = wait_queued(now), takes = bytes * fifo.ns_for_a_byte;

	if (wait && wait + takes > SECOND) {
		fifo.lost++;
		return;
	}
	assert_true(fifo.n < QUEUED_MOST);
	fifo.n++;
	*queued(fifo.n - 1) = (struct queued){now + wait + takes, bytes};
	fifo.joined++;
	fifo.waits += wait;
	fifo.worst = wait > fifo.worst ? wait : fifo.worst;
}

static struct ink_outlet outlet;

static void open_both(uint64_t ns_for_a_byte)
{
	memset(&fifo, 0, sizeof fifo);
	fifo.ns_for_a_byte = ns_for_a_byte;
	ink_outlet_open(&outlet, rate_of(ns_for_a_byte));
}

/* A packet comes, and joins unless it is dropped. */
static void come(const struct ink_packet *p, int dropped)
{
	const struct ink_packets one = {.at = (struct ink_packet *)p, .n = 1};

	ink_outlet_begin(&outlet, &one);
	outlet.dropped[0] = (uint8_t)dropped;
	ink_outlet_end(&outlet, &one);
}

static void come_to_both(uint64_t now, uint32_t bytes, int dropped)
{
	const struct ink_packet p = frame(now, bytes);

	come(&p, dropped);
	send_until(now);
	assert_int_equal(outlet.waiting.bytes, bytes_queued(now));
	assert_int_equal(outlet.waiting.time, wait_queued(now) / 1000);
	if (!dropped)
		enqueue(now, bytes);
}

static void assert_same_figures(void)
{
	assert_int_equal(outlet.stats.joined, fifo.joined);
	assert_int_equal(outlet.stats.lost, fifo.lost);
	assert_int_equal(outlet.stats.wait, fifo.waits);
	assert_int_equal(outlet.stats.worst, fifo.worst);
}

/* The load changes between a half and twice the rate, so that queues build up, overflow and drain. */
static uint64_t some_pause(uint32_t bytes, uint64_t i)
{
	static const uint64_t loads[] = {50, 95, 105, 200}; /* % */

	return bytes * fifo.ns_for_a_byte * 100 / loads[i / 2000 % 4] * random_below(2001) / 1000;
}

TEST_THAT(a_queue_is_that_of_a_list_of_packets)
{
	uint64_t lost = 0, empty = 0;

	for (size_t k = 0; k < COUNT(whole_paces); k++) {
		uint64_t now = k * 12345;

		open_both(whole_paces[k]);
		for (uint64_t i = 0; i < scaled(500000); i++) {
			uint32_t bytes = some_length();

			come_to_both(now, bytes, random_below(10) == 0);
			empty += outlet.waiting.bytes == 0;
			now += some_pause(bytes, i);
		}
		assert_same_figures();
		lost += fifo.lost;
	}
	assert_true(lost > 0 && empty > 0);
}

/* Each packet that joins takes up to a nanosecond less than it should, and the pace is rounded down. */
TEST_THAT(at_any_rate_a_queue_is_nearly_that_of_a_list_of_packets)
{
	for (uint64_t run = 0; run < 60; run++) {
		uint64_t rate = (uint64_t)exp(log(1e3) + random_below(1000) / 1000. * log(1e9)), now = 0;
		long double ns_for_a_byte = 8e9L / (long double)rate, empty = 0, error = 0;
		long double rounded = 1 / ((long double)ink_pace(rate) + 1);

		ink_outlet_open(&outlet, rate);
		for (uint64_t i = 0; i < scaled(30000); i++) {
			uint32_t bytes = some_length();
			uint64_t joined = outlet.stats.joined, wait = ink_queue_wait(outlet.empty, now);
			long double truth = empty > (long double)now ? empty - (long double)now : 0;

			if (truth <= 0)
				error = 1;
			assert_true(fabsl((long double)wait - truth) <= error);
			come(&(struct ink_packet){.clock = now, .wire = bytes}, 0);
			if (outlet.stats.joined > joined) {
				empty = (long double)now + truth + bytes * ns_for_a_byte;
				error += 1 + bytes * ns_for_a_byte * rounded;
			} else
				assert_true(truth + bytes * ns_for_a_byte + error > (long double)SECOND);
			now += (uint64_t)(bytes * ns_for_a_byte) * random_below(2001) / 1000;
		}
	}
}

/* Times are those at which whole bytes have been sent. */
TEST_THAT(packets_of_one_length_are_counted)
{
	static const uint32_t lengths[] = {1, 60, 777, 1514, 65535};

	for (size_t k = 0; k < COUNT(whole_paces) * COUNT(lengths); k++) {
		uint32_t bytes = lengths[k / COUNT(whole_paces)];
		uint64_t now = 0, pace = whole_paces[k % COUNT(whole_paces)];

		open_both(pace);
		for (uint64_t i = 0; i < scaled(20000); i++) {
			come_to_both(now, bytes, 0);
			send_until(now);
			now += random_below(2 * bytes) * pace + pace;
			come(&(struct ink_packet){.clock = now}, 1);
			send_until(now);
			assert_int_equal(outlet.waiting.packets, fifo.n);
		}
	}
}

/* The lengths of the last 16 packets or so stand for those of all that wait: of 60 to 9,000 bytes, 6 % too many. */
TEST_THAT(packets_of_several_lengths_are_estimated)
{
	double estimated = 0, counted = 0;
	uint64_t now = 0;

	open_both(80);
	for (uint64_t i = 0; i < scaled(400000); i++) {
		uint32_t bytes = some_length();

		come_to_both(now, bytes, 0);
		estimated += outlet.waiting.packets;
		counted += (double)fifo.n - 1;
		assert_int_equal(outlet.waiting.packets > 0, outlet.waiting.bytes > 0);
		now += some_pause(bytes, i);
	}
	if (fabs(estimated - counted) > .25 * counted)
		fail_msg("%.0f packets are estimated to be %.0f", counted, estimated);
}

TEST_THAT(a_queue_holds_a_second)
{
	ink_outlet_open(&outlet, 8000000);
	for (unsigned i = 0; i < 1500; i++)
		come(&(struct ink_packet){.clock = 5, .wire = 1000}, 0);
	assert_int_equal(outlet.stats.joined, 1000);
	assert_int_equal(outlet.stats.bytes, 1000000);
	assert_int_equal(outlet.stats.lost, 500);
	assert_int_equal(outlet.stats.worst, 999000000);
	assert_int_equal(outlet.waiting.time, 1000000);
	come(&(struct ink_packet){.clock = 5 + 999999, .wire = 1000}, 0);
	assert_int_equal(outlet.stats.lost, 501);
	come(&(struct ink_packet){.clock = 5 + 1000000, .wire = 1000}, 0);
	assert_int_equal(outlet.stats.joined, 1001);
}

/* 64 KiB take more than a second. */
TEST_THAT(an_empty_queue_takes_any_packet)
{
	const struct {
		uint64_t ms, waiting;
	} steps[] = {{0, 0}, {1, 65473}, {1047, 98}, {1048, 36}, {1049, 0}};

	ink_outlet_open(&outlet, 500000);
	for (unsigned i = 0; i < COUNT(steps); i++) {
		come(&(struct ink_packet){.clock = 1 + steps[i].ms * 1000000, .wire = 65536}, 0);
		assert_int_equal(outlet.waiting.bytes, steps[i].waiting);
	}
	assert_int_equal(outlet.stats.joined, 2);
	assert_int_equal(outlet.stats.lost, 3);
}

/* At 1 Tbit/s, a second is 125 GB. */
TEST_THAT(numbers_beyond_32_bits_are_the_largest_of_32_bits)
{
	ink_outlet_open(&outlet, 1000000000000);
	for (unsigned i = 0; i < 5000; i++)
		come(&(struct ink_packet){.clock = 1, .wire = 1000000}, 0);
	assert_int_equal(outlet.waiting.bytes, UINT32_MAX);
	assert_in_range(outlet.waiting.packets, 4998, 5000);
	assert_in_range(outlet.waiting.time, 39980, 40000);
	outlet.mean = ink_queue_mean(0, 1);
	come(&(struct ink_packet){.clock = 1}, 1);
	assert_int_equal(outlet.waiting.packets, UINT32_MAX);
}

TEST_THAT(a_length_that_no_packet_has_counts_as_a_mebibyte)
{
	ink_outlet_open(&outlet, 1000000000);
	come(&(struct ink_packet){.clock = 1, .wire = UINT32_MAX}, 0);
	assert_int_equal(outlet.stats.bytes, (1 << 20) - 1);
	assert_int_equal(outlet.empty, 1 + ((1 << 20) - 1) * 8);
}

TEST_THAT(time_that_goes_back_stands_still)
{
	const struct {
		uint64_t clock, waiting;
	} steps[] = {{1000000, 0}, {1000000, 1000}, {0, 2000}, {999999, 3000}, {1001000, 3999}, {1, 4999}};

	ink_outlet_open(&outlet, 8000000);
	for (unsigned i = 0; i < COUNT(steps); i++) {
		come(&(struct ink_packet){.clock = steps[i].clock, .wire = 1000}, 0);
		assert_int_equal(outlet.waiting.bytes, steps[i].waiting);
	}
}

/* A capture can say any time; sums of it wrapped, and then nothing ever waited. */
TEST_THAT(times_at_the_end_of_64_bits_wait_as_others_do)
{
	ink_outlet_open(&outlet, 8000000);
	for (unsigned i = 0; i < 3; i++) {
		come(&(struct ink_packet){.clock = UINT64_MAX - 5, .wire = 1000}, 0);
		assert_int_equal(outlet.waiting.bytes, i * 1000);
	}
}

/* ------------------------------------------------------------------- buckets */

/* Tokens are nanoseconds of the rate. A packet longer than the burst waits for a full bucket, and leaves a debt. */
struct tokens {
	int64_t has, most;
	uint64_t now;
};

static void fill(struct tokens *t, uint64_t now)
{
	t->has += (int64_t)(now - t->now);
	t->has = t->has < t->most ? t->has : t->most;
	t->now = now;
}

static int take(struct tokens *t, uint64_t now, int64_t cost)
{
	int passes;

	fill(t, now);
	passes = t->has >= cost || t->has == t->most;
	t->has -= passes ? cost : 0;
	return passes;
}

static struct ink_limits *limits_of(struct ink_limit *limit)
{
	const struct ink_machine_view v = {.limit = limit, .limits = 1};

	return ink_limits_make(&v);
}

/* From a half of the rate to twice as much. */
TEST_THAT(a_bucket_is_one_of_tokens)
{
	for (size_t k = 0; k < COUNT(whole_paces); k++) {
		struct ink_limit limit = {.rate = rate_of(whole_paces[k]),
					  .burst = 1500 + random_below(60000)};
		struct ink_limits *l = limits_of(&limit);
		int64_t pace = (int64_t)whole_paces[k];
		struct tokens t = {.has = limit.burst * pace, .most = limit.burst * pace};
		struct ink_asker a = {.packet = 0};
		uint64_t passed = 0, ops = scaled(400000);

		for (uint64_t i = 0; i < ops; i++) {
			a.bytes = some_length();
			a.packet++;
			if (ink_limits_pass(l, 0, &a) != take(&t, a.now, a.bytes * pace))
				fail_msg("packet %llu at %llu bit/s", (unsigned long long)a.packet,
					 (unsigned long long)limit.rate);
			else
				passed += t.has < t.most;
			a.now += a.bytes * whole_paces[k] * random_below(2001) / 1000 * (1 + i / 10000 % 4) /
				 2;
		}
		assert_true(passed > ops / 4);
		ink_limits_free(l);
	}
}

/* In any time a bucket lets its burst and what the rate sends pass, and of a stream that always waits no less. */
TEST_THAT(at_any_rate_what_passes_is_the_rate)
{
	for (unsigned run = 0; run < 60; run++) {
		struct ink_limit limit = {.rate = (uint64_t)exp(log(1e3) + run / 60. * log(1e8)),
					  .burst = 1000 + random_below(1000000)};
		struct ink_limits *l = limits_of(&limit);
		double ns_for_a_byte = 8e9 / (double)limit.rate, passed = 0, due, rounded;
		struct ink_asker a = {.bytes = 100};

		for (uint64_t i = 0; i < scaled(50000); i++) {
			a.packet++;
			passed += ink_limits_pass(l, 0, &a) ? a.bytes : 0;
			a.now += (uint64_t)(ns_for_a_byte * random_below(100));
		}
		due = limit.burst + (double)a.now / ns_for_a_byte;
		rounded = passed / a.bytes / ns_for_a_byte; /* a nanosecond of each packet */
		if (passed > due + rounded + 100 || (passed < due - 200 && limit.burst < passed / 2))
			fail_msg("%.0f bytes of %.0f passed at %llu bit/s", passed, due,
				 (unsigned long long)limit.rate);
		ink_limits_free(l);
	}
}

TEST_THAT(flows_share_the_bucket_of_the_upper_12_bits_of_their_id)
{
	static struct tokens tokens[4096];
	struct ink_limit limit = {.rate = 8000000, .burst = 5000, .each_flow = 1};
	struct ink_limits *l = limits_of(&limit);
	struct ink_asker a = {.packet = 0};

	for (unsigned i = 0; i < 4096; i++)
		tokens[i] = (struct tokens){.has = 5000000, .most = 5000000};
	for (uint64_t i = 0; i < scaled(2000000); i++) {
		a.id = id_number(random_below(20000));
		a.bytes = some_length();
		a.packet++;
		a.now += random_below(1000);
		assert_int_equal(ink_limits_pass(l, 0, &a), take(&tokens[a.id >> 52], a.now, a.bytes * 1000));
	}
	ink_limits_free(l);
}

TEST_THAT(a_packet_longer_than_the_burst_passes_a_full_bucket_and_leaves_a_debt)
{
	struct ink_limit limit = {.rate = 8000000, .burst = 1000};
	struct ink_limits *l = limits_of(&limit);
	const struct {
		uint64_t ms;
		uint32_t bytes;
		int passes;
	} steps[] = {{0, 10000, 1}, {9, 1, 0},    {10, 1000, 1}, {11, 1000, 1},
		     {12, 1000, 1}, {13, 500, 1}, {13, 2000, 0}};

	for (unsigned i = 0; i < COUNT(steps); i++) {
		struct ink_asker a = {.now = steps[i].ms * 1000000, .packet = i + 1, .bytes = steps[i].bytes};

		if (ink_limits_pass(l, 0, &a) != steps[i].passes)
			fail_msg("step %u", i);
	}
	ink_limits_free(l);
}

/* What it decides for a packet is forgotten with the packet. */
TEST_THAT(the_lane_beside_finds_buckets_as_they_were_before_the_packet)
{
	struct ink_limit limit = {.rate = 8000000, .burst = 5000};
	struct ink_limits *l = limits_of(&limit), *alone = limits_of(&limit);
	struct ink_asker a = {.bytes = 1000};

	for (uint64_t i = 0; i < 100000; i++) {
		unsigned ours = random_below(3), beside = random_below(3);
		int answers[2][2] = {{0}}, only[2] = {0};

		a.packet++;
		a.now += random_below(2000000);
		a.beside = 0;
		for (unsigned k = 0; k < ours; k++) {
			answers[0][k] = ink_limits_pass(l, 0, &a);
			only[k] = ink_limits_pass(alone, 0, &a);
		}
		a.beside = 1;
		for (unsigned k = 0; k < beside; k++)
			answers[1][k] = ink_limits_pass(l, 0, &a);
		assert_memory_equal(answers[0], only, sizeof only);
		for (unsigned k = 0; k < ours && k < beside; k++)
			assert_int_equal(answers[0][k], answers[1][k]);
	}
	ink_limits_free(l);
	ink_limits_free(alone);
}

/* ------------------------------------------------------------- what conditions see */

#define NO_OTHER "absent : any -> on\non : any | timeout 1h -> absent\n"

/* At 8 Mbit/s, a packet of 1000 bytes takes a millisecond. */
static const struct ink_track_options with_queue = {.seed = 1, .queue_rate = 8000000};

static void give_frames(unsigned n, uint64_t clock)
{
	for (unsigned i = 0; i < n; i++)
		give(frame(clock, 1000));
}

static uint64_t seen_by(const char *condition)
{
	char text[400];

	snprintf(
		text, sizeof text,
		"machine m\nkey src\nevent yes = %s\nevent any = any\n"
		"absent : yes -> on / count seen | any -> on\non : yes / count seen | any | timeout 1h -> absent\n",
		condition);
	track_with(text, &with_queue);
	give_frames(100, 1);
	give_frames(1, 1 + 50000000);
	return counted("seen");
}

/* The i-th of a hundred packets that come at once finds i - 1 of them; 50 ms later another one finds 50. */
TEST_THAT(a_condition_looks_at_a_queue_of_known_length)
{
	static const struct {
		const char *condition;
		uint64_t seen;
	} rows[] = {{"queue > 10 packets", 90},
		    {"queue >= 10 packets", 91},
		    {"queue < 10 packets", 10},
		    {"queue = 50 packets", 2},
		    {"queue != 50 packets", 99},
		    {"queue > 10000 bytes", 90},
		    {"queue > 9999 bytes", 91},
		    {"queue >= 64k bytes", 36},
		    {"queue = 0 bytes", 1},
		    {"queue > 20ms", 80},
		    {"queue <= 20ms", 21},
		    {"queue = 50ms", 2},
		    {"queue > 98ms", 1},
		    {"queue > 1s", 0},
		    {"queue > 10 packets and queue < 20ms", 9},
		    {"not queue > 10 packets or queue > 90ms", 20}};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		uint64_t seen = seen_by(rows[i].condition);

		if (seen != rows[i].seen)
			fail_msg("%s: %llu times", rows[i].condition, (unsigned long long)seen);
		untrack(NULL);
	}
}

TEST_THAT(without_timeouts_a_queue_has_time)
{
	struct ink_track_options k = with_queue;

	k.no_timeouts = 1;
	track_with("machine m\nkey src\nevent full = queue > 5 packets\nevent any = any\n"
		   "absent : full, any -> on\non : full / count full | any | timeout 1h -> absent\n",
		   &k);
	for (unsigned i = 0; i < 10; i++)
		give_frames(6, 1 + i * 6000000ull);
	assert_int_equal(counted("full"), 0);
	give_frames(2, 1);
	assert_int_equal(counted("full"), 2);
}

static struct ink_queue_stats queue_stats(const struct ink_track *k)
{
	struct ink_queue_stats q = {.size = sizeof q};

	assert_int_equal(ink_track_queue_stats(k, &q), 0);
	return q;
}

/* Skipped packets are no machine's, and take the link's time. */
TEST_THAT(what_has_no_flow_or_no_event_joins)
{
	struct ink_packet skipped = frame(1, 1000);

	track_with("machine m\nkey src\nevent e = tcp and queue > 0 packets\nabsent : e -> on\n"
		   "on : e | timeout 1h -> absent\n",
		   &with_queue);
	skipped.skip = INK_SKIP_NOT_IP;
	for (unsigned i = 0; i < 3; i++)
		give(skipped);
	give_frames(4, 1);
	assert_int_equal(queue_stats(track).joined, 7);
	assert_int_equal(queue_stats(track).bytes, 7000);
	assert_int_equal(queue_stats(track).worst, 6000000);
	assert_int_equal(queue_stats(track).wait, 21000000);
}

static struct ink_track_stats stats_of(const struct ink_track *k, unsigned i)
{
	struct ink_track_stats s = {.size = sizeof s};

	assert_int_equal(ink_track_stats_of(k, i, &s), 0);
	return s;
}

TEST_THAT(what_is_dropped_or_refused_does_not_join)
{
	track_with("machine m\nkey src\nevent syn = tcp\nevent long = queue >= 5 packets\nevent any = any\n"
		   "absent : * -> on\n"
		   "on : syn / limit 8kbit burst 2000 | long / drop | any | timeout 1h -> absent\n",
		   &with_queue);
	give_frames(5, 1);
	give_frames(3, 1);
	assert_int_equal(queue_stats(track).joined, 5);
	assert_int_equal(stats_of(track, 0).dropped, 3);
	for (unsigned i = 0; i < 7; i++) {
		struct ink_packet p = packet(INK_PROTOCOL_TCP, SYN, 0);

		p.clock = 1;
		p.wire = 1000;
		give(p);
	}
	assert_int_equal(queue_stats(track).joined, 7);
	assert_int_equal(stats_of(track, 0).limited, 5);
	assert_int_equal(stats_of(track, 0).dropped, 3);
}

/* -------------------------------------------------------------------- in trackers */

static int close_all(void **state)
{
	untrack(state);
	return close_set(state);
}

static void give_set_frames(unsigned n, uint64_t clock)
{
	for (unsigned i = 0; i < n; i++) {
		struct ink_packet p = frame(clock, 1000);

		give_set(&p, 1, 1);
	}
}

static const char two[] = "machine first\nkey src\nevent long = queue >= 5 packets\nevent any = any\n"
			  "absent : * -> on\non : long / drop, count long | any | timeout 1h -> absent\n"
			  "machine second\nkey dst\nevent long = queue >= 5 packets\nevent any = any\n"
			  "absent : * -> on\non : long / count long | any | timeout 1h -> absent\n";

TEST_THAT(all_machines_see_the_queue_before_the_packet)
{
	open_set(two, exact, with_queue, 0);
	give_set_frames(20, 1);
	assert_int_equal(counted_by(0, "long"), 15);
	assert_int_equal(counted_by(1, "long"), 15);
	assert_int_equal(queue_stats(set.track).joined, 5);
	assert_int_equal(stats_of(set.track, 1).dropped, 0);
}

/* The first machine takes four of ten packets; only the others ask the second for tokens. */
TEST_THAT(a_packet_that_an_earlier_machine_drops_asks_no_limit)
{
	open_set("machine first\nkey src\nevent tcp = tcp\nevent any = any\nabsent : * -> on / drop\n"
		 "on : tcp / drop | any | timeout 1h -> absent\n"
		 "machine second\nkey src\nevent any = any\nabsent : any -> on / limit 8kbit burst 4000\n"
		 "on : any / limit 8kbit burst 4000 | timeout 1h -> absent\n",
		 exact, (struct ink_track_options){.seed = 1}, 0);
	give_set_frames(6, 1);
	assert_int_equal(stats_of(set.track, 0).dropped, 1);
	assert_int_equal(stats_of(set.track, 1).limited, 1);
}

/* Told steps come before the packet's own, and each asks. A refusal spares the limits after it. */
TEST_THAT(told_steps_ask_limits_and_a_packet_counts_once)
{
	open_set(
		"machine first\nkey src\nevent any = any\nabsent, on : any -> on / tell second t, tell second t\n"
		"on : timeout 1h -> absent\n"
		"machine second\nkey dst\nevent t = told\nevent any = any\n"
		"absent, on : t -> on / limit 8kbit burst 5000, mark 1, class 1:2 | any -> on / mark 2, priority 7\n"
		"on : timeout 1h -> absent\n",
		exact, (struct ink_track_options){.seed = 1}, 0);
	give_set_frames(5, 1);
	assert_int_equal(stats_of(set.track, 1).steps, 15);
	assert_int_equal(stats_of(set.track, 1).limited, 3);
	assert_int_equal(stats_of(set.track, 1).marked, 5);
	assert_int_equal(stats_of(set.track, 1).classed, 5);
	assert_int_equal(stats_of(set.track, 1).prioritized, 5);
	assert_int_equal(stats_of(set.track, 1).dropped, 0);
}

TEST_THAT(a_step_that_drops_spares_the_limits_of_later_steps)
{
	open_set("machine first\nkey src\nevent tcp = tcp\nevent any = any\nabsent : * -> on\n"
		 "on : tcp / tell second t | any | timeout 1h -> absent\n"
		 "machine second\nkey src\nevent t = told\nevent any = any\nabsent : * -> on\n"
		 "on : t / drop | any / limit 8kbit burst 2000 | timeout 1h -> absent\n",
		 exact, (struct ink_track_options){.seed = 1}, 0);
	for (unsigned i = 0; i < 9; i++) {
		struct ink_packet p = packet(INK_PROTOCOL_TCP, 0, 0);

		p.clock = 1;
		p.wire = 1000;
		give_set(&p, 1, 1);
	}
	assert_int_equal(stats_of(set.track, 1).dropped, 8);
	assert_int_equal(stats_of(set.track, 1).limited, 0);
	give_set_frames(3, 1);
	assert_int_equal(stats_of(set.track, 1).limited, 1);
}

TEST_THAT(a_limit_of_leaving_is_asked_on_leaving)
{
	track_with("machine m\nkey src\nevent up = any\nabsent : up -> first step\n"
		   "repeat 3 step : up -> up / leaving limit 8kbit burst 1000 | timeout 1h -> absent\n"
		   "end : up -> absent\n",
		   NULL);
	give_frames(4, 1);
	assert_int_equal(stats_of(track, 0).limited, 0);
	give_frames(5, 1);
	assert_int_equal(stats_of(track, 0).limited, 1);
}

/* Written alike, they are one in a machine; in another machine they are others. */
TEST_THAT(each_machine_has_buckets_of_its_own)
{
	open_set("machine first\nkey src\nevent any = any\nabsent : any -> on / limit 8kbit burst 3000\n"
		 "on : any / limit 8kbit burst 3000 | timeout 1h -> absent\n"
		 "machine second\nkey src\nevent any = any\nabsent : any -> on / limit 8kbit burst 3000\n"
		 "on : any / limit 8kbit burst 3000 | timeout 1h -> absent\n",
		 exact, (struct ink_track_options){.seed = 1}, 0);
	give_set_frames(5, 1);
	assert_int_equal(stats_of(set.track, 0).limited, 2);
	assert_int_equal(stats_of(set.track, 1).limited, 0);
}

/* ----------------------------------------------------------------- refused, exchanged */

TEST_THAT(a_queue_without_a_rate_is_refused_with_its_place)
{
	struct ink_machine *m = made(HEAD "event long = queue > 5ms\nb : long -> a\n");
	struct ink_options t = {.size = sizeof t, .kind = INK_EXACT, .age_bits = 1, .flows = 1};
	struct ink_track_options k = {.size = sizeof k, .machine = m};
	struct ink_why why = {""};

	t.rules = ink_machine_view(m)->rules;
	t.states = t.rules->states;
	k.table = ink_create(&t, NULL);
	assert_non_null(k.table);
	errno = 0;
	assert_null(ink_track_open(&k, &why));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(why.text, "x.fsm:6:14: a condition on the queue"));
	for (unsigned i = 0; i < 2; i++) {
		k.queue_rate = i ? 999 : 1000000000001;
		assert_null(ink_track_open(&k, &why));
		assert_non_null(strstr(why.text, "1 kbit/s to 1 Tbit/s"));
	}
	ink_free(k.table);
	ink_machine_free(m);
}

static const char limited[] = "machine m\nkey src\nevent any = any\nabsent : any -> on / %s\n"
			      "on : any / %s | timeout 1h -> absent\n";

/* The machine of the tracker becomes one with this action in its rows. */
static int exchange_for(const char *action, const char *event, struct ink_why *why)
{
	struct ink_machine_options o = {.size = sizeof o, .file = "y.fsm", .like = machine};
	char text[400];
	struct ink_machine *new;
	int error;

	snprintf(
		text, sizeof text,
		"machine m\nkey src\nevent any = %s\nabsent : any -> on / %s\non : any / %s | timeout 1h -> absent\n",
		event, action, action);
	new = ink_machine_make(text, strlen(text), &o);
	assert_non_null(new);
	error = ink_track_exchange(track, new, why);
	ink_machine_free(error ? new : machine);
	machine = error ? machine : new;
	return error;
}

TEST_THAT(an_exchange_keeps_equal_limits_and_begins_others)
{
	static const char rate[] = "limit 8kbit burst 3000";
	char text[400];

	snprintf(text, sizeof text, limited, rate, rate);
	track_with(text, NULL);
	give_frames(5, 1);
	assert_int_equal(stats_of(track, 0).limited, 2);
	assert_int_equal(exchange_for("count c, limit 8kbit burst 3000", "any", NULL), 0);
	give_frames(1, 1);
	assert_int_equal(stats_of(track, 0).limited, 3);
	assert_int_equal(exchange_for("limit 8kbit burst 3001", "any", NULL), 0);
	give_frames(4, 1);
	assert_int_equal(stats_of(track, 0).limited, 4);
	assert_int_equal(exchange_for("limit 8kbit each flow burst 3001", "any", NULL), 0);
	give_frames(4, 1);
	assert_int_equal(stats_of(track, 0).limited, 5);
}

TEST_THAT(an_exchange_for_a_machine_with_limits_begins_them)
{
	char text[400];

	snprintf(text, sizeof text, limited, "drop", "drop");
	track_with(text, NULL);
	give_frames(5, 1);
	assert_int_equal(exchange_for("limit 8kbit burst 3000", "any", NULL), 0);
	give_frames(5, 1);
	assert_int_equal(stats_of(track, 0).limited, 2);
	give_frames(1, 1 + 1000000000);
	assert_int_equal(stats_of(track, 0).limited, 2);
}

TEST_THAT(an_exchange_for_a_machine_with_a_queue_needs_one)
{
	struct ink_why why = {""};
	char text[400];

	snprintf(text, sizeof text, limited, "drop", "drop");
	track_with(text, NULL);
	assert_int_equal(exchange_for("pass", "queue >= 0 packets", &why), -EINVAL);
	assert_non_null(strstr(why.text, "y.fsm:3:13"));
	give_frames(3, 1);
	assert_int_equal(stats_of(track, 0).dropped, 3);
	untrack(NULL);
	track_with(text, &with_queue);
	assert_int_equal(exchange_for("drop", "queue >= 2 packets", &why), 0);
	give_frames(3, 1);
	assert_int_equal(stats_of(track, 0).dropped, 1);
	assert_int_equal(exchange_for("pass", "any", &why), 0);
	give_frames(5, 1);
	assert_int_equal(queue_stats(track).joined, 7);
}

/* ------------------------------------------------------------------ beside a model */

/*
 * Sources are good until the queue is long when they send, and bad until it is short. Bad ones share a limit, or are
 * dropped; what good ones send by TCP has a limit for each source.
 */
static const char policy[] =
	"machine policy\nkey src\nevent full = queue >= 25ms\nevent long = queue > 20000 bytes\n"
	"event tcp = tcp\nevent short = any\n"
	"absent : full -> bad / drop, count full | long -> bad | tcp, short -> good\n"
	"good : full -> bad / drop, count full | long -> bad / limit 800kbit burst 6000\n"
	"  | tcp / limit 400kbit each flow burst 4000 | short | timeout 1h -> absent\n"
	"bad : full / drop, count full | long / limit 800kbit burst 6000, mark 3 | tcp, short -> good / class 1:5\n"
	"  | timeout 1h -> absent\n";

enum { SOURCES = 50, PACE = 1000 };

enum source { UNKNOWN, GOOD, BAD };

static struct {
	enum source sources[SOURCES];
	struct tokens shared, each[4096];
	uint64_t full, dropped, limited, marked, classed;
} model;

static void begin_model(void)
{
	memset(&model, 0, sizeof model);
	open_both(PACE);
	model.shared = (struct tokens){.has = 6000 * 10000, .most = 6000 * 10000};
	for (unsigned i = 0; i < 4096; i++)
		model.each[i] = (struct tokens){.has = 4000 * 20000, .most = 4000 * 20000};
}

static int refused(struct tokens *t, uint64_t now, int64_t cost)
{
	int passes = take(t, now, cost);

	model.limited += !passes;
	return !passes;
}

/* Is the packet dropped? */
static int decide(unsigned source, const struct ink_packet *p, uint64_t now, uint64_t id)
{
	uint64_t wait = wait_queued(now), bytes = bytes_queued(now);
	enum source before = model.sources[source];

	model.sources[source] = wait >= 25000000 || bytes > 20000 ? BAD : GOOD;
	if (wait >= 25000000)
		return model.full++, model.dropped++, 1;
	if (bytes > 20000) {
		model.marked += before == BAD;
		return before != UNKNOWN && refused(&model.shared, now, p->wire * 10000);
	}
	model.classed += before == BAD;
	return before == GOOD && p->protocol == INK_PROTOCOL_TCP &&
	       refused(&model.each[id >> 52], now, p->wire * 20000);
}

/* The clock of the packet may go back by up to a millisecond. */
static struct ink_packet random_packet(unsigned source, uint64_t now)
{
	struct ink_packet p = packet(random_below(2) ? INK_PROTOCOL_TCP : INK_PROTOCOL_UDP, 0, 0);

	p.source[3] = (uint8_t)(10 + source);
	p.clock = now - random_below(10) / 9 * random_below(1000000);
	p.wire = some_length();
	return p;
}

static void assert_model_agrees(void)
{
	const struct ink_track_stats s = stats_of(set.track, 0);
	const struct ink_queue_stats q = queue_stats(set.track);

	assert_int_equal(counted_by(0, "full"), model.full);
	assert_int_equal(s.dropped, model.dropped);
	assert_int_equal(s.limited, model.limited);
	assert_int_equal(s.marked, model.marked);
	assert_int_equal(s.classed, model.classed);
	assert_int_equal(q.joined, fifo.joined);
	assert_int_equal(q.lost, fifo.lost);
	assert_int_equal(q.wait, fifo.waits);
	assert_int_equal(q.worst, fifo.worst);
}

TEST_THAT(a_machine_of_queues_and_limits_does_what_a_model_does)
{
	uint64_t now = 1000000, latest = 0;

	open_set(policy, exact, with_queue, 0);
	begin_model();
	for (uint64_t i = 0; i < scaled(1000000); i++) {
		unsigned source = random_below(SOURCES);
		struct ink_packet p = random_packet(source, now);
		uint8_t key[INK_KEY_MOST];
		size_t length = ink_packet_key_by(
			&p, ink_machine_view(ink_machines_at(set.machines, 0))->key_def, key);

		give_set(&p, 1, 1);
		latest = p.clock > latest ? p.clock : latest;
		send_until(latest);
		if (!decide(source, &p, latest, ink_id(set.tables[0], key, length)))
			enqueue(latest, p.wire);
		if (i % 1000 == 0)
			assert_model_agrees();
		now += some_pause(p.wire, i);
	}
	assert_model_agrees();
	if (!model.full || !model.limited || !model.marked || !model.classed)
		fail_msg("%d full, %d limited, %d marked, %d classed", (int)model.full, (int)model.limited,
			 (int)model.marked, (int)model.classed);
}

/* ---------------------------------------------------------------- portions, two lanes */

enum { MANY = 40000 };

static struct ink_packet *many_packets(void)
{
	static struct ink_packet p[MANY];
	uint64_t now = 1000000;

	fifo.ns_for_a_byte = PACE;
	for (uint64_t i = 0; i < MANY; i++) {
		p[i] = random_packet(random_below(SOURCES), now);
		now += some_pause(p[i].wire, i);
	}
	return p;
}

/* A machine that tells another one, which limits, with and without a queue. */
static const char no_queue[] =
	"machine sources\nkey src\nevent tcp = tcp\nevent udp = udp\n"
	"absent, on : tcp -> on / tell pairs t | udp -> on / limit 800kbit burst 9k\non : timeout 100ms -> absent\n"
	"machine pairs\nkey src, dst\nevent t = told\nevent any = any\nabsent : t, any -> on\n"
	"on : t / limit 100kbit each flow burst 3000 | any / limit 4mbit, priority 2 | timeout 1h -> absent\n";

TEST_THAT(what_is_decided_does_not_depend_on_how_packets_are_divided)
{
	static const size_t portions[] = {1, 7, 256, MANY};
	static const char *const texts[] = {policy, no_queue};
	struct ink_packet *p = many_packets();

	for (unsigned i = 0; i < COUNT(texts) * COUNT(portions); i++) {
		static struct ink_track_stats first;
		static struct ink_queue_stats queue;

		open_set(texts[i / COUNT(portions)], exact, with_queue, 0);
		give_set(p, MANY, portions[i % COUNT(portions)]);
		if (i % COUNT(portions) == 0) {
			first = stats_of(set.track, set.n - 1);
			queue = queue_stats(set.track);
			assert_true(first.limited + first.dropped > 100);
		}
		assert_int_equal(stats_of(set.track, set.n - 1).limited, first.limited);
		assert_int_equal(stats_of(set.track, set.n - 1).dropped, first.dropped);
		assert_int_equal(queue_stats(set.track).joined, queue.joined);
		assert_int_equal(queue_stats(set.track).wait, queue.wait);
		close_set(NULL);
	}
}

static struct {
	uint64_t steps, limited, differ, unexplained;
} lanes;

/* The same step of both tables, from the same state, has the same answer of its limit. */
static void compare_lanes(const struct ink_moved *m, void *user)
{
	int differ = (m->limited != 0) != (m->beside_limited != 0);

	lanes.steps++;
	lanes.limited += m->limited != 0;
	lanes.differ += (unsigned)differ;
	lanes.unexplained += differ && m->move.action == m->beside.action;
}

static void run_lanes(const char *text, struct ink_options o)
{
	struct ink_track_options k = with_queue;

	memset(&lanes, 0, sizeof lanes);
	k.every = 1;
	k.moved = compare_lanes;
	open_set(text, o, k, 1);
	give_set(many_packets(), MANY, 256);
	assert_true(lanes.limited > 100);
}

TEST_THAT(two_exact_lanes_decide_alike)
{
	run_lanes(policy, exact);
	assert_int_equal(lanes.differ, 0);
	close_set(NULL);
	run_lanes(no_queue, exact);
	assert_int_equal(lanes.differ, 0);
}

/* A table with room for a few of the sources. */
TEST_THAT(lanes_decide_otherwise_where_tables_differ_and_there_alone)
{
	run_lanes(policy, (struct ink_options){.kind = INK_DLEFT,
					       .flows = 8,
					       .geometry = {.d = 2, .b = 4, .h = 2, .f = 3}});
	if (lanes.differ < 20)
		fail_msg("%d of %d steps", (int)lanes.differ, (int)lanes.steps);
	assert_int_equal(lanes.unexplained, 0);
}

/* What the lane of the tables does is the same without a lane beside. */
TEST_THAT(a_lane_beside_changes_nothing)
{
	struct ink_track_stats before;

	open_set(policy, exact, with_queue, 0);
	random_state = 77;
	give_set(many_packets(), MANY, 256);
	before = stats_of(set.track, 0);
	close_set(NULL);
	random_state = 77;
	run_lanes(policy, exact);
	assert_int_equal(stats_of(set.track, 0).limited, before.limited);
	assert_int_equal(stats_of(set.track, 0).dropped, before.dropped);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = close_all});
}
