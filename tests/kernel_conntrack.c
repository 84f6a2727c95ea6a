/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * kernel_conntrack: the flood of kernel_flood.c at the kernel's own connection tracking, nf_conntrack. `make
 * flood-kernel` runs it behind that one; four minutes, since its clock is the real one.
 *
 * Question: the same. Which connections from before the flood are still known behind it, and how many of the honest
 * handshakes are seen to be complete?
 *
 *     router   a network namespace of its own, with one rule of nft that asks for a packet's connection
 *     packets  a BPF program makes them as the others'; they are received by `lo` (BPF_F_TEST_XDP_LIVE_FRAMES), routed, and
 *              sent to an interface behind which nobody answers
 *     places   net.netfilter.nf_conntrack_max, which belongs to the whole machine and stays as it is; all numbers but the
 *              times are in proportion to it
 *
 * What it knows is read from /proc/net/nf_conntrack. Nothing is promised for it; the program fails where packets do not get
 * through, so that a table that stayed empty is not taken for a bad one.
 */
#include <sched.h>
#include <time.h>

#include "tests/kernel_drive.h"
#include "tests/kernel_flood.h"

enum { PORTION = 4096 };

static uint64_t places;

static int skip(const char *why)
{
	fprintf(stderr, "nf_conntrack is left out: %s\n", why);
	return 77;
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * second + (uint64_t)t.tv_nsec;
}

static uint64_t number_in(const char *path)
{
	FILE *f = fopen(path, "re");
	uint64_t n = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%" SCNu64, &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

/* ---------------------------------------------------------------------- the router */

/* A new one for each row: its table is empty. What leaves `out` is received by `end`, and belongs to nobody there. */
static int make_router(void)
{
	return unshare(CLONE_NEWNET) ||
	       system("{ ip link set lo up && ip link add out arp off type veth peer name end &&"
		      " ip link set out up && ip link set end up && ip addr add 198.51.100.1/24 dev out &&"
		      " ip route add default dev out && cd /proc/sys/net && echo 1 >ipv4/ip_forward &&"
		      " echo 0 >ipv4/conf/all/rp_filter && echo 0 >ipv4/conf/lo/rp_filter &&"
		      " echo 0 >netfilter/nf_conntrack_checksum && nft 'table ip t { chain c {"
		      " type filter hook forward priority 0; ct state invalid counter drop; }; }'; } >/dev/null");
}

/* A burst is routed as a list, which asks for all its connections before it stores one: so a handshake is none. */
static void send_packets(struct drive *d, uint64_t packets)
{
	uint8_t frame[TRAFFIC_FRAME] = {
		[12] = 8, [14] = 0x45, [17] = 40, [22] = 64, 6, [46] = 0x50, 0, 255, 255};
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = frame, .data_size_in = sizeof frame,
		    .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .repeat = (int)packets,
		    .batch_size = d->traffic->scene == TRAFFIC_OPENS);
	int program = bpf_program__fd(bpf_object__find_program_by_name(d->object, "drive_live"));

	if (bpf_prog_test_run_opts(program, &o))
		drive_fail("BPF_F_TEST_XDP_LIVE_FRAMES");
}

/* Of so many packets, those that should be sent by now: evenly in `span`, which may be 0. */
static uint64_t due_by(uint64_t passed, uint64_t packets, uint64_t span)
{
	if (passed >= span)
		return packets;
	return (uint64_t)((double)packets * (double)passed / (double)span);
}

static void send_scene(struct drive *d, enum traffic_scene scene, uint64_t packets, uint64_t span)
{
	uint64_t begin = now();
	struct traffic *t = d->traffic;

	t->scene = scene;
	t->next = 0;
	while (t->next < packets) {
		uint64_t due = due_by(now() - begin, packets, span) - t->next;

		if (due)
			send_packets(d, due < PORTION ? due : PORTION);
		else
			usleep(500);
	}
}

/* ------------------------------------------------------------------ what it knows */

/* Connections that are established: those from before, and honest ones that began in the flood. */
static void ask_conntrack(struct row *r)
{
	FILE *f = fopen("/proc/thread-self/net/nf_conntrack", "re");
	unsigned net;
	char line[1024];

	while (f && fgets(line, sizeof line, f)) {
		const char *at = strstr(line, " ESTABLISHED src=");

		if (!at || sscanf(at, " ESTABLISHED src=%u.", &net) != 1)
			continue;
		r->kept += net == TRAFFIC_STANDING >> 24;
		r->tracked += net == TRAFFIC_HONEST >> 24;
	}
	if (f)
		fclose(f);
}

/* Entries as the kernel allocates them, and the array of their lists; 0: it does not say. */
static uint64_t conntrack_bytes(void)
{
	uint64_t entry = 0;
	char line[512];
	FILE *f = fopen("/proc/slabinfo", "re");

	while (f && fgets(line, sizeof line, f) && sscanf(line, "nf_conntrack %*u %*u %" SCNu64, &entry) != 1)
		;
	if (f)
		fclose(f);
	return entry ? places * entry + 8 * number_in("/proc/sys/net/netfilter/nf_conntrack_buckets") : 0;
}

static void fail_before(uint64_t kept)
{
	fprintf(stderr, "only %" PRIu64 " connections were there before the flood\n", kept);
	exit(1);
}

static struct row flood_conntrack(uint64_t standing, int used)
{
	struct row r = {.table = "nf_conntrack", .standing = standing, .used = used};
	struct drive d = drive_open();

	if (make_router())
		exit(skip("a router in a network namespace cannot be made"));
	drive_load(&d);
	d.traffic->seed = 1;
	flood_shape(d.traffic, places);
	send_scene(&d, TRAFFIC_OPENS, 3 * standing, 0);
	if (used)
		send_scene(&d, TRAFFIC_TALKS, standing, 0);
	ask_conntrack(&r);
	if (r.kept != standing)
		fail_before(r.kept);
	r.kept = 0;
	send_scene(&d, TRAFFIC_FLOOD, flood_packets(places), flood_time);
	ask_conntrack(&r);
	r.honest = flood_complete(d.traffic, places);
	r.bytes = conntrack_bytes();
	drive_close(&d);
	return r;
}

/* NULL: there is all that is needed. */
static const char *lacking(void)
{
	places = number_in("/proc/sys/net/netfilter/nf_conntrack_max");
	if (!places || access("/proc/net/nf_conntrack", R_OK))
		return "this kernel has no /proc/net/nf_conntrack";
	if (system("command -v nft >/dev/null && command -v ip >/dev/null"))
		return "nft and ip are not there (scripts/packages flood)";
	return NULL;
}

int main(void)
{
	const char *why = lacking();

	if (why)
		return skip(why);
	libbpf_set_print(ink_kernel_hear);
	print_head();
	for (unsigned half = 1; half < 3; half++)
		for (int used = 0; used < 2; used++) {
			struct row r = flood_conntrack(places / 2 * half, used);

			print_row(&r);
		}
	return 0;
}
