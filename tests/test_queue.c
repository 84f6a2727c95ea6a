/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Queues and token buckets beside models that know what they do and not how: a queue is a list of packets with the time
 * at which each will have been sent; a bucket has tokens, which time brings and packets take.
 *
 * At rates that send a byte in a whole number of nanoseconds, both have to agree in every nanosecond. At others, as far
 * as the shift instead of a division rounds.
 */
#include "packet/limits.h"
#include "packet/outlet.h"
#include "packet/queue.h"
#include "tests/machine_help.h"

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

	if (wait + takes > SECOND) {
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

	return bytes * fifo.ns_for_a_byte * 100 / loads[i / 20000 % 4] * random_below(2001) / 1000;
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

int main(void)
{
	return run_suite(NULL);
}
