/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Capturing on an interface: the loopback of a network namespace of our own,
 * where nobody else sends. Without the rights to make one, skipped.
 */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <inkling/packet.h>

enum { PORT = 4000 };

/* 0, or why there is no namespace. */
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

static void packets_of_an_interface_are_given(void **state)
{
	struct ink_capture *c = listen_on_loopback(NULL, 0);
	struct ink_capture_stats stats = {.size = sizeof stats};

	(void)state;
	assert_int_equal(ink_capture_link(c), INK_LINK_ETHERNET);
	send_datagrams(100, PORT);
	assert_int_equal(receive(c, 100, 52), 100);
	ink_capture_stats(c, &stats);
	assert_true(stats.packets >= 100 && stats.received >= 100);
	assert_int_equal(stats.dropped, 0);
	ink_capture_close(c);
}

static void the_kernel_filters(void **state)
{
	struct ink_capture *c = listen_on_loopback("udp dst port 4000", 0);
	struct ink_capture_stats stats = {.size = sizeof stats};

	(void)state;
	send_datagrams(50, PORT + 1);
	send_datagrams(10, PORT);
	assert_int_equal(receive(c, 10, 52), 10);
	ink_capture_stats(c, &stats);
	assert_int_equal(stats.packets, 10);
	ink_capture_close(c);
}

static void frames_are_cut_at_the_snaplen(void **state)
{
	struct ink_capture *c = listen_on_loopback("udp dst port 4000", 44);

	(void)state;
	send_datagrams(3, PORT);
	assert_int_equal(receive(c, 3, 44), 3);
	ink_capture_close(c);
}

/* What finds no room is counted: nobody reads while a small buffer is sent full. */
static void drops_are_reported(void **state)
{
	struct ink_capture_options o = {.size = sizeof o, .interface = "lo", .buffer = 4096, .snaplen = 100};
	struct ink_capture *c = ink_capture_open(&o, NULL);
	struct ink_capture_stats stats = {.size = sizeof stats};

	(void)state;
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

static void a_signal_ends_the_waiting(void **state)
{
	struct ink_packet packets[16];
	struct ink_packets batch = {.at = packets, .room = 16};
	int reads = 0;

	(void)state;
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
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_of_an_interface_are_given), cmocka_unit_test(the_kernel_filters),
		cmocka_unit_test(frames_are_cut_at_the_snaplen),     cmocka_unit_test(drops_are_reported),
		cmocka_unit_test(a_signal_ends_the_waiting),
	};
	int error = make_namespace();

	if (error) {
		print_message("skipped: no network namespace of our own (%s)\n", strerror(error));
		return 77;
	}
	return cmocka_run_group_tests_name("live", tests, NULL, NULL);
}
