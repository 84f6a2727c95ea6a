/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capturing on interfaces of a network namespace of our own, where nobody else
 * sends: its loopback, and a veth pair, of which one end is given frames and
 * the other is captured. Without the rights to make them, skipped.
 */
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <inkling/packet.h>

#include "tests/platform.h"
#include "sim/frame.h"
#include "tests/test.h"

enum { PORT = 4000 };

static int set_up(const char *name)
{
	struct ifreq up = {.ifr_flags = IFF_UP};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), error;

	if (fd < 0)
		return errno;
	snprintf(up.ifr_name, sizeof up.ifr_name, "%s", name);
	error = ioctl(fd, SIOCSIFFLAGS, &up) ? errno : 0;
	close(fd);
	return error;
}

/* 0, or why there is no namespace. */
static int make_namespace(void)
{
	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return errno;
	return set_up("lo");
}

/* ------------------------------------------------------------------ a veth pair */

/* A message to the kernel that grows by attributes; one that holds others is closed when they are in it. */
struct request {
	struct nlmsghdr head;
	struct ifinfomsg link;
	char rest[256];
};

static struct rtattr *add(struct request *r, unsigned short type, const void *bytes, size_t n)
{
	struct rtattr *a = (struct rtattr *)((char *)r + NLMSG_ALIGN(r->head.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(n);
	if (n)
		memcpy(RTA_DATA(a), bytes, n);
	r->head.nlmsg_len = NLMSG_ALIGN(r->head.nlmsg_len) + (unsigned)RTA_ALIGN(a->rta_len);
	return a;
}

static void close_attribute(struct request *r, struct rtattr *a)
{
	a->rta_len = (unsigned short)((char *)r + r->head.nlmsg_len - (char *)a);
}

static void ask_for_pair(struct request *r, const char *one, const char *other)
{
	const struct ifinfomsg nothing = {.ifi_family = AF_UNSPEC};
	struct rtattr *info, *data, *peer;

	r->head.nlmsg_len = NLMSG_LENGTH(sizeof r->link);
	r->head.nlmsg_type = RTM_NEWLINK;
	r->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK;
	add(r, IFLA_IFNAME, one, strlen(one) + 1);
	info = add(r, IFLA_LINKINFO, NULL, 0);
	add(r, IFLA_INFO_KIND, "veth", 5);
	data = add(r, IFLA_INFO_DATA, NULL, 0);
	peer = add(r, VETH_INFO_PEER, &nothing, sizeof nothing);
	add(r, IFLA_IFNAME, other, strlen(other) + 1);
	close_attribute(r, peer);
	close_attribute(r, data);
	close_attribute(r, info);
}

/* 0, or why there is none. */
static int make_pair(const char *one, const char *other)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[512];
	} answer = {.error = {.error = -EIO}};
	struct request r = {.link = {.ifi_family = AF_UNSPEC}};
	int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);

	if (fd < 0)
		return errno;
	ask_for_pair(&r, one, other);
	if (send(fd, &r, r.head.nlmsg_len, 0) < 0 || recv(fd, &answer, sizeof answer, 0) < 0)
		answer.error.error = -errno;
	close(fd);
	if (answer.error.error)
		return -answer.error.error;
	return set_up(one) | set_up(other);
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

static void send_frames(const char *name, unsigned n)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex(name)};
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

TEST_THAT(what_goes_in_at_one_end_is_captured_at_the_other)
{
	struct ink_capture_options o = {.size = sizeof o, .interface = "ink1", .filter = "dst port 4000"};
	int error = make_pair("ink0", "ink1");
	struct ink_capture *c;

	if (error) {
		print_message("skipped: no veth pair (%s)\n", strerror(error));
		skip();
	}
	c = ink_capture_open(&o, NULL);
	assert_non_null(c);
	send_frames("ink0", 60);
	assert_int_equal(receive_frames(c, 60), 60);
	ink_capture_close(c);
}

TEST_THAT(packets_of_an_interface_are_given)
{
	struct ink_capture *c = listen_on_loopback(NULL, 0);
	struct ink_capture_stats stats = {.size = sizeof stats};

	assert_int_equal(ink_capture_link(c), INK_LINK_ETHERNET);
	send_datagrams(100, PORT);
	assert_int_equal(receive(c, 100, 52), 100);
	ink_capture_stats(c, &stats);
	assert_true(stats.packets >= 100 && stats.received >= 100);
	assert_int_equal(stats.dropped, 0);
	ink_capture_close(c);
}

TEST_THAT(the_kernel_filters)
{
	struct ink_capture *c = listen_on_loopback("udp dst port 4000", 0);
	struct ink_capture_stats stats = {.size = sizeof stats};

	send_datagrams(50, PORT + 1);
	send_datagrams(10, PORT);
	assert_int_equal(receive(c, 10, 52), 10);
	ink_capture_stats(c, &stats);
	assert_int_equal(stats.packets, 10);
	ink_capture_close(c);
}

TEST_THAT(frames_are_cut_at_the_snaplen)
{
	struct ink_capture *c = listen_on_loopback("udp dst port 4000", 44);

	send_datagrams(3, PORT);
	assert_int_equal(receive(c, 3, 44), 3);
	ink_capture_close(c);
}

/* What finds no room is counted: nobody reads while a small buffer is sent full. */
TEST_THAT(drops_are_reported)
{
	struct ink_capture_options o = {.size = sizeof o, .interface = "lo", .buffer = 4096, .snaplen = 100};
	struct ink_capture *c = ink_capture_open(&o, NULL);
	struct ink_capture_stats stats = {.size = sizeof stats};

	assert_non_null(c);
	send_datagrams(20000, PORT);
	ink_capture_stats(c, &stats);
	assert_true(stats.dropped > 0);
	ink_capture_close(c);
}

static struct ink_capture *to_stop;

static void stop(int signal)
{
	(void)signal;
	ink_capture_stop(to_stop);
}

TEST_THAT(a_signal_ends_the_waiting)
{
	struct ink_packet packets[16];
	struct ink_packets batch = {.at = packets, .room = 16};
	int reads = 0;

	to_stop = listen_on_loopback("port 9", 0);
	signal(SIGALRM, stop);
	alarm(1);
	do
		assert_int_equal(ink_capture_read(to_stop, &batch, NULL), 0);
	while (!batch.end && ++reads < 100);
	assert_true(batch.end);
	ink_capture_close(to_stop);
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
