/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs in the kernel on a link of their own, a veth pair in a namespace that ends with the test: what
 * BPF_PROG_TEST_RUN cannot bring. VLAN tags that the kernel has taken out of the data, packets of many segments,
 * packets in several buffers, and packets that pass two hooks.
 *
 * A frame is sent into ink0, and the program looks at it there (egress) or at ink1 (XDP, ingress). Every step is
 * reported and saves its packet, so a record has the parsed packet and the frame.
 */
#include <inttypes.h>
#include <linux/if_packet.h>
#include <linux/virtio_net.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "kernel/inside.h"
#include "tests/goldens.h"
#include "tests/machine_help.h"

static struct ink_kernel *kernel;
static int out = -1; /* sends into ink0, with a struct virtio_net_hdr in front of each frame */

/* The records since the latest frame. */
static struct {
	unsigned n;
	struct ink_kernel_report latest;
	uint8_t frame[70000];
} got;

static int note_record(const struct ink_kernel_report *r, const uint8_t *frame, void *user)
{
	got.n++;
	got.latest = *r;
	assert_true(r->bytes <= sizeof got.frame);
	if (frame)
		memcpy(got.frame, frame, r->bytes);
	return 0;
}

/* ------------------------------------------------------------------------- the link */

static int skip_all(const char *why)
{
	print_message("%s\n", why);
	_exit(77);
}

static void disable_ipv6(void)
{
	FILE *f = fopen("/proc/sys/net/ipv6/conf/default/disable_ipv6", "w");

	if (f && (fputs("1", f) < 0 || fclose(f)))
		print_message("IPv6 may speak, too\n");
}

static int open_out(void)
{
	struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("ink0")};
	int on = 1, fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof to))
		return -1;
	return setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on) ? -1 : fd;
}

/* One processor, so that what is sent has arrived when the call returns. */
static int make_link(void **state)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof one, &one) || unshare(CLONE_NEWNET))
		return skip_all("no namespace of its own");
	disable_ipv6();
	if (system("ip link add ink0 mtu 60000 type veth peer name ink1 mtu 60000 2>/dev/null && "
		   "ip link set ink0 up arp off && ip link set ink1 up arp off"))
		return skip_all("no veth pair");
	out = open_out();
	return out < 0 ? skip_all("no packet socket") : 0;
}

static void send_as(const struct virtio_net_hdr *header, const uint8_t *frame, size_t n)
{
	struct iovec parts[] = {{.iov_base = (void *)(uintptr_t)header, .iov_len = sizeof *header},
				{.iov_base = (void *)(uintptr_t)frame, .iov_len = n}};

	got.n = 0;
	assert_int_equal(writev(out, parts, 2), (ssize_t)(n + sizeof *header));
	for (int i = 0; i < 100 && !got.n; i++)
		assert_true(ink_kernel_poll(kernel, 10) >= 0);
}

static void send_frame(const uint8_t *frame, size_t n)
{
	send_as(&(struct virtio_net_hdr){.gso_type = VIRTIO_NET_HDR_GSO_NONE}, frame, n);
}

/* ------------------------------------------------------------------------- the programs */

#define SAVE_ALL                                                                                             \
	"machine m\nkey connection\nabsent: e -> a / save, count n\na: e / save, count n, count bytes by length, count data by payload\n" \
	"a: timeout 1h -> absent\nevent e = any\n"

static struct ink_kernel_place place(const char *interface, enum ink_kernel_hook hook)
{
	struct ink_kernel_place p = {.index = if_nametoindex(interface), .hook = hook};

	snprintf(p.interface, sizeof p.interface, "%s", interface);
	return p;
}

static struct ink_machines *machines;

static int detach(void **state)
{
	struct ink_why why;

	if (kernel) {
		ink_kernel_detach(kernel, &why);
		ink_kernel_close(kernel);
	}
	ink_machines_free(machines);
	kernel = NULL;
	machines = NULL;
	return 0;
}

static void attach(const char *text, const struct ink_kernel_place *places, unsigned n, uint32_t mark_bit)
{
	struct ink_machine_options m = {.size = sizeof m, .file = "x.fsm", .complain = note};
	const struct ink_options plan = {.size = sizeof plan, .flows = 1000, .seed = 7};
	struct ink_kernel_options o = {.name = "test", .tables = &plan, .test_clock = 1, .unpinned = 1,
				       .places = places, .n_places = n, .mark_bit = mark_bit, .snap = 65535};
	struct ink_why why = {""};

	machines = ink_machines_make(text, strlen(text), &m);
	if (!machines)
		fail_msg("%s", n_told ? told[0].shown : "no machine");
	o.machines = machines;
	kernel = ink_kernel_make(&o, &why);
	if (!kernel && (errno == EPERM || errno == EACCES || errno == ENOSYS))
		skip_all(why.text);
	if (!kernel)
		fail_msg("%s", why.text);
	ink_kernel_controls(kernel)->every = 1;
	assert_int_equal(ink_kernel_listen(kernel, note_record, NULL, &why), 0);
}

static uint64_t counter(unsigned i)
{
	uint64_t counters[INK_KERNEL_COUNTERS];

	assert_int_equal(ink_kernel_counters(kernel, 0, counters), 0);
	return counters[i];
}

static struct ink_kernel_counts counts(void)
{
	struct ink_kernel_counts c;

	assert_int_equal(ink_kernel_counts(kernel, 0, &c), 0);
	return c;
}

/* ------------------------------------------------------------------------- the same packets */

static void assert_same_packet(const char *name, const uint8_t *frame, size_t n)
{
	struct ink_packet p = {.frame = frame, .captured = (uint32_t)n, .wire = (uint32_t)n}, *q = &got.latest.packet;
	size_t saved = n < INK_COPY ? n : INK_COPY;

	ink_packet_parse(&p, INK_LINK_ETHERNET, 0);
	if (p.skip != INK_NOT_SKIPPED)
		return;
	if (!got.n)
		fail_msg("%s: no record", name);
	p.frame = p.payload = NULL;
	p.time = p.clock = q->clock;
	for (size_t i = 0; i < sizeof p; i++)
		if (((uint8_t *)&p)[i] != ((uint8_t *)q)[i])
			fail_msg("%s: byte %zu of the packet differs", name, i);
	assert_int_equal(got.latest.bytes, saved);
	if (memcmp(got.frame, frame, saved))
		fail_msg("%s: another frame was saved", name);
}

static const char *const tagged[] = {
	"eth:0x8100 20640800 " TCP4,
	"eth:0x8100 e00786dd " TCP6,
	"eth:0x88a8 20078100 206486dd " TCP6,
	"eth:0x88a8 20078100 20648100 00050800 " TCP4,
	"eth:0x8100 00008100 20640800 ip4:17 udp:80 hello",
	"eth:0x8100 20640800 outer4:17 udp:4789 0800000000000700 eth:0x8100 00090800 " TCP4,
	"eth:0x8100 206486dd ip6:0 061f 254*00 tcp hello",
	"eth:0x8100 20640800 ip4:6 tcp 1400*41",
	"eth4 ip4:6 tcp 1400*41",
};

static void send_all(void)
{
	struct frame f;

	for (size_t i = 0; i < COUNT(tagged); i++) {
		make_frame(&f, tagged[i]);
		send_frame(front(&f), f.n);
		assert_same_packet(tagged[i], front(&f), f.n);
	}
	for (size_t i = 0; i < COUNT(goldens); i++) {
		if (goldens[i].link != INK_LINK_ETHERNET || goldens[i].skip != INK_NOT_SKIPPED)
			continue;
		make_frame(&f, goldens[i].frame);
		send_frame(front(&f), f.n);
		assert_same_packet(goldens[i].name, front(&f), f.n);
	}
}

TEST_THAT(tags_that_the_kernel_took_away_are_put_back_at_ingress)
{
	const struct ink_kernel_place p = place("ink1", INK_KERNEL_INGRESS);

	attach(SAVE_ALL, &p, 1, 0);
	send_all();
}

TEST_THAT(frames_at_egress_and_at_xdp_are_those_that_were_sent)
{
	for (int xdp = 0; xdp < 2; xdp++) {
		const struct ink_kernel_place p =
			xdp ? place("ink1", INK_KERNEL_XDP) : place("ink0", INK_KERNEL_EGRESS);

		attach(SAVE_ALL, &p, 1, 0);
		send_all();
		detach(NULL);
	}
}

/* Their headers stand in the first page or in later ones; what is saved is in several. */
TEST_THAT(packets_in_several_buffers_are_read_across_them)
{
	static uint8_t frame[60000];
	struct virtio_net_hdr in_pages = {.hdr_len = 20};
	struct frame f;

	for (enum ink_kernel_hook hook = INK_KERNEL_XDP; hook < INK_KERNEL_HOOKS; hook++) {
		const struct ink_kernel_place p = place(hook == INK_KERNEL_EGRESS ? "ink0" : "ink1", hook);

		attach(SAVE_ALL, &p, 1, 0);
		for (size_t n = 4000; n < sizeof frame - 100; n += 7919) {
			make_frame(&f, "eth4 ip4:6 tcp hello");
			memcpy(frame, front(&f), f.n);
			for (size_t i = f.n; i < n; i++)
				frame[i] = (uint8_t)(i * 7);
			frame[16] = (uint8_t)((n - 14) >> 8);
			frame[17] = (uint8_t)(n - 14);
			send_as(&in_pages, frame, n);
			assert_same_packet("in pages", frame, n);
		}
		detach(NULL);
	}
}

/* ------------------------------------------------------------------------- many in one */

static size_t big_tcp(uint8_t *frame, size_t payload)
{
	struct frame f;
	size_t n;

	make_frame(&f, "eth4 ip4:6 tcp");
	memcpy(frame, front(&f), f.n);
	n = f.n + payload;
	memset(frame + f.n, 0x80, payload);
	frame[16] = (uint8_t)((n - 14) >> 8);
	frame[17] = (uint8_t)(n - 14);
	frame[47] = INK_TCP_ACK;
	return n;
}

TEST_THAT(a_packet_of_many_segments_is_one_step_and_counts_as_its_segments)
{
	static uint8_t frame[20000];
	const struct ink_kernel_place places[] = {place("ink0", INK_KERNEL_EGRESS), place("ink1", INK_KERNEL_INGRESS)};
	size_t n = big_tcp(frame, 9500), headers_of = n - 9500;
	struct virtio_net_hdr h = {.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM, .gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
				   .hdr_len = (uint16_t)headers_of, .gso_size = 1000, .csum_start = 34, .csum_offset = 16};

	for (int i = 0; i < 2; i++) {
		attach(SAVE_ALL, &places[i], 1, 0);
		send_as(&h, frame, n);
		send_as(&h, frame, n);
		assert_int_equal(got.n, 1);
		assert_int_equal(got.latest.segments, 10);
		assert_int_equal(got.latest.packet.payload_wire, 1000);
		assert_int_equal(got.latest.packet.wire, headers_of + 1000);
		assert_int_equal(counter(0), 20);
		assert_int_equal(counter(1), 9500 + 10 * headers_of);
		assert_int_equal(counter(2), 9500);
		assert_int_equal(counts().packets, 20);
		assert_int_equal(counts().segments, 20);
		assert_int_equal(counts().steps, 2);
		assert_int_equal(counts().bundles, 0);
		detach(NULL);
	}
}

/* ------------------------------------------------------------------------- two hooks */

TEST_THAT(a_packet_is_stepped_at_the_first_of_its_hooks_alone)
{
	const struct ink_kernel_place places[] = {place("ink1", INK_KERNEL_XDP), place("ink1", INK_KERNEL_INGRESS)};
	struct frame f;

	make_frame(&f, "eth4 " TCP4);
	attach(SAVE_ALL, places, 2, 0);
	for (int i = 0; i < 10; i++)
		send_frame(front(&f), f.n);
	assert_int_equal(counts().packets, 10);
	assert_int_equal(counts().again, 10);
	assert_int_equal(got.latest.hook, INK_KERNEL_XDP);
}

TEST_THAT(a_mark_says_that_a_packet_was_stepped_on_another_interface)
{
	const struct ink_kernel_place places[] = {place("ink0", INK_KERNEL_EGRESS), place("ink1", INK_KERNEL_INGRESS)};
	int marked = 0x10, plain = 0, fd = out;
	struct frame f;

	make_frame(&f, "eth4 " TCP4);
	attach(SAVE_ALL, places, 1, 0x10);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_MARK, i % 2 ? &marked : &plain, sizeof marked), 0);
		send_frame(front(&f), f.n);
	}
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_MARK, &plain, sizeof plain), 0);
	assert_int_equal(counts().packets, 5);
	assert_int_equal(counts().again, 5);
}

int main(void)
{
	return run_suite(&(struct suite){.begin = make_link, .after_each = detach});
}
