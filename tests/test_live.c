/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capturing on the loopback of a network namespace of our own, where nobody else sends. Without the right to make
 * one, skipped. A veth pair, drops and signals are in live.sh, with the tool.
 */
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <inkling/packet.h>

#include "tests/platform.h"
#include "sim/frame.h"
#include "tests/test.h"

enum { PORT = 4000 };

/* 0, or why there is no namespace with a loopback that is up. */
static int make_namespace(void)
{
	struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd, error;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return errno;
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0)
		return errno;
	error = ioctl(fd, SIOCSIFFLAGS, &up) ? errno : 0;
	close(fd);
	return error;
}

/* Frames of IPv4 and IPv6, TCP and UDP, all to one port. */
static size_t make_frame(unsigned i, uint8_t frame[SIM_FRAME_MOST])
{
	const struct sim_ends ends = {.address = {0x0a000001, 0x0a000002},
				      .port = {(uint16_t)(1000 + i), PORT},
				      .version = i % 2 ? 6 : 4,
				      .protocol = i % 3 ? INK_PROTOCOL_TCP : INK_PROTOCOL_UDP};
	const struct sim_segment s = {
		.flags = INK_TCP_SYN, .payload = (const uint8_t *)"0123456789", .length = 10};

	return sim_frame(frame, &ends, &s);
}

static void send_frames(unsigned n)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("lo")};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);
	uint8_t frame[SIM_FRAME_MOST];

	assert_true(fd >= 0);
	for (unsigned i = 0; i < n; i++) {
		size_t length = make_frame(i, frame);

		assert_int_equal(sendto(fd, frame, length, 0, (const struct sockaddr *)&to, sizeof to),
				 length);
	}
	close(fd);
}

static struct ink_capture *listen_on_loopback(const char *filter, uint32_t snaplen)
{
	struct ink_capture_options o = {
		.size = sizeof o, .interface = "lo", .filter = filter, .snaplen = snaplen};
	struct ink_why why = {""};
	struct ink_capture *c = ink_capture_open(&o, &why);

	if (!c)
		fail_msg("%s", why.text);
	return c;
}

static void send_datagrams(int n, int port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	for (int i = 0; i < n; i++) /* to a closed port an earlier one's refusal may be told here */
		if (sendto(fd, "0123456789", 10, 0, (const struct sockaddr *)&to, sizeof to) < 0)
			assert_int_equal(errno, ECONNREFUSED);
	close(fd);
}

/* Reads until n packets to that port have come, for two seconds at most. */
static int receive(struct ink_capture *c, int n, uint32_t captured)
{
	struct ink_packet packets[16];
	struct ink_packets batch = {.at = packets, .room = 16};
	struct ink_why why = {""};
	int got = 0;

	for (int tries = 0; tries < 20 && got < n; tries++) {
		if (ink_capture_read(c, &batch, &why))
			fail_msg("%s", why.text);
		assert_false(batch.end);
		for (size_t i = 0; i < batch.n; i++) {
			if (packets[i].dport != PORT)
				continue;
			assert_int_equal(packets[i].protocol, INK_PROTOCOL_UDP);
			assert_int_equal(packets[i].payload_wire, 10);
			assert_int_equal(packets[i].captured, captured);
			assert_true(packets[i].time >
				    1000000000000000000ull); /* after 2001, in nanoseconds */
			got++;
		}
	}
	return got;
}

/* Says how many came, each checked byte by byte. */
static unsigned receive_frames(struct ink_capture *c, unsigned n)
{
	struct ink_packet packets[16];
	struct ink_packets batch = {.at = packets, .room = 16};
	uint8_t frame[SIM_FRAME_MOST];
	unsigned got = 0;

	for (int tries = 0; tries < 50 && got < n; tries++) {
		assert_int_equal(ink_capture_read(c, &batch, NULL), 0);
		for (size_t i = 0; i < batch.n; i++, got++) {
			assert_int_equal(packets[i].captured, make_frame(got, frame));
			assert_memory_equal(packets[i].frame, frame, packets[i].captured);
			assert_int_equal(packets[i].sport, 1000 + got);
			assert_int_equal(packets[i].skip, INK_NOT_SKIPPED);
		}
	}
	return got;
}

TEST_THAT(frames_are_captured_byte_by_byte_in_their_order)
{
	struct ink_capture *c = listen_on_loopback("dst port 4000", 0);

	send_frames(60);
	assert_int_equal(receive_frames(c, 60), 60);
	ink_capture_close(c);
}

/* Datagrams to another port come first. */
TEST_THAT(packets_are_filtered_by_the_kernel_and_cut_at_the_snaplen)
{
	static const struct {
		const char *filter;
		uint32_t snaplen, captured;
		int to_others;
	} rows[] = {{NULL, 0, 52, 0}, {"udp dst port 4000", 0, 52, 50}, {"udp dst port 4000", 44, 44, 0}};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct ink_capture *c = listen_on_loopback(rows[i].filter, rows[i].snaplen);
		struct ink_capture_stats stats = {.size = sizeof stats};

		assert_int_equal(ink_capture_link(c), INK_LINK_ETHERNET);
		send_datagrams(rows[i].to_others, PORT + 1);
		send_datagrams(10, PORT);
		assert_int_equal(receive(c, 10, rows[i].captured), 10);
		ink_capture_stats(c, &stats);
		assert_true(rows[i].filter ? stats.packets == 10 : stats.packets >= 10);
		assert_true(stats.received >= 10);
		assert_int_equal(stats.dropped, 0);
		ink_capture_close(c);
	}
}

int main(void)
{
	int error;

	if (cannot_capture())
		return 77;
	error = make_namespace();
	if (error) {
		print_message("skipped: no network namespace of our own (%s)\n", strerror(error));
		return 77;
	}
	return run_suite(NULL);
}
