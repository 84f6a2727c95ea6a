/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Generated captures are read back and counted again from their packets, by the
 * definitions of the truth: an independent check of what the generator reports.
 */
#include <inkling/packet.h>

#include "packet/video.h"
#include "sim/traffic.h"
#include "tests/random.h"
#include "tests/scratch.h"
#include "tests/test.h"

/* Everything at once. */
/* clang-format off */
static const struct sim_traffic_options everything = {
	.seed = 1, .flows = 3000, .half_open = .1, .unanswered = .1, .refused = .1, .reset = .1, .cut = .1,
	.unfinished = .1, .reused = .1, .established = 200, .udp = 300, .scans = 7, .targets = 50, .odd = 70,
	.flood = 500, .flood_answers = .2, .flood_start = 10000000000, .flood_duration = 5000000000, .pairs = 40,
	.streams = 2, .ipv6 = .3, .data = 3, .payload = 60, .rtt = 20000000, .duration = 30000000000,
};
/* clang-format on */

static struct sim_truth generate(const struct sim_traffic_options *o)
{
	struct ink_why why = {""};
	struct ink_dump *dump = ink_dump_open(scratch_file, INK_LINK_ETHERNET, &why);
	struct sim_truth truth;

	if (!dump)
		fail_msg("%s", why.text);
	assert_int_equal(sim_traffic(o, dump, &truth, NULL), 0);
	assert_int_equal(ink_dump_close(dump, &why), 0);
	return truth;
}

/* ------------------------------------------------------------------ what is read */

struct record {
	uint8_t key[INK_KEY_MOST + 1], pair[INK_KEY_MOST + 1];
	uint32_t order;
	uint16_t flags;
	uint8_t from, protocol;
};

static struct record *records;
static uint8_t (*hosts)[17];
static size_t n_records, n_hosts;
static struct sim_truth counted; /* packets only */

static void note_host(const uint8_t address[16], unsigned version)
{
	hosts[n_hosts][0] = (uint8_t)version;
	memcpy(hosts[n_hosts++] + 1, address, 16);
}

static void note(const struct ink_packet *p)
{
	struct record *r = &records[n_records];

	assert_int_equal(p->skip, INK_NOT_SKIPPED);
	memset(r, 0, sizeof *r);
	r->key[INK_KEY_MOST] = (uint8_t)ink_packet_key(p, INK_KEY_CONNECTION, r->key);
	r->pair[INK_KEY_MOST] = (uint8_t)ink_packet_key(p, INK_KEY_PAIR, r->pair);
	r->order = (uint32_t)n_records++;
	r->flags = p->tcp_flags;
	r->from = p->flags & INK_FROM_HIGH;
	r->protocol = p->protocol;
	note_host(p->source, p->version);
	note_host(p->destination, p->version);
	counted.frames++;
	counted.bytes += p->wire;
	counted.ipv4 += p->version == 4;
	counted.ipv6 += p->version == 6;
	counted.tcp_packets += p->protocol == INK_PROTOCOL_TCP;
	counted.udp_packets += p->protocol == INK_PROTOCOL_UDP;
}

static void read_back(uint64_t frames, void (*look)(const struct ink_packet *))
{
	struct ink_capture_options o = {.size = sizeof o, .file = scratch_file};
	struct ink_capture *c = ink_capture_open(&o, NULL);
	struct ink_capture_stats stats = {.size = sizeof stats};
	struct ink_packet packets[64];
	struct ink_packets batch = {.at = packets, .room = 64};

	assert_non_null(c);
	records = malloc(frames * sizeof *records);
	hosts = malloc(2 * frames * sizeof *hosts);
	n_records = n_hosts = 0;
	memset(&counted, 0, sizeof counted);
	while (ink_capture_read(c, &batch, NULL) == 0 && !batch.end)
		for (size_t i = 0; i < batch.n; i++)
			look(&packets[i]);
	ink_capture_stats(c, &stats);
	assert_int_equal(stats.backwards, 0);
	ink_capture_close(c);
}

static void forget(void)
{
	free(records);
	free(hosts);
}

/* ------------------------------------------------------------------ the recount */

static int by_key(const void *a, const void *b)
{
	const struct record *r = a, *s = b;
	int order = memcmp(r->key, s->key, sizeof r->key);

	return order ? order : (r->order > s->order) - (r->order < s->order);
}

static int by_pair(const void *a, const void *b)
{
	const struct record *r = a, *s = b;
	int order = memcmp(r->pair, s->pair, sizeof r->pair);

	return order ? order : (int)r->protocol - (int)s->protocol;
}

static int by_host(const void *a, const void *b)
{
	return memcmp(a, b, sizeof *hosts);
}

enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };

/* The packets of one flow, in their order: as the script of the truth does it. */
static void count_flow(const struct record *r, size_t n)
{
	unsigned syn[2] = {0}, synack[2] = {0}, fin[2] = {0}, rst[2] = {0}, seen[2] = {0}, state = 0,
		 opener = 0, d;

	for (size_t i = 0; i < n; i++) {
		unsigned f = r[i].flags & 0x3f, from = r[i].from;

		counted.flags[f]++;
		seen[from]++;
		syn[from] += f & SYN && !(f & ACK);
		synack[from] += f & SYN && f & ACK;
		fin[from] += (f & FIN) != 0;
		rst[from] += (f & RST) != 0;
		if (f & SYN && !(f & (ACK | RST | FIN))) {
			if (state == 0) {
				state = 1;
				opener = from;
			}
		} else if (f & SYN && f & ACK && !(f & (RST | FIN)) && state == 1 && from != opener) {
			state = 2;
		} else if (f & ACK && !(f & (SYN | RST)) && state == 2 && from == opener) {
			state = 3;
		}
	}
	d = syn[0] == 0;
	counted.tcp.flows++;
	counted.tcp.syn_seen += syn[0] + syn[1] > 0;
	counted.tcp.syn_repeated += syn[0] + syn[1] > 1;
	counted.tcp.handshake_complete += state == 3;
	counted.tcp.half_open += state == 2;
	if (syn[0] + syn[1] && !synack[!d]) {
		counted.tcp.syn_without_synack++;
		counted.tcp.syn_refused_by_rst += rst[!d] > 0;
	}
	counted.tcp.fin_both += fin[0] && fin[1];
	counted.tcp.fin_both_no_rst += fin[0] && fin[1] && !rst[0] && !rst[1];
	counted.tcp.rst_no_fin += (rst[0] || rst[1]) && !fin[0] && !fin[1];
	counted.tcp.fin_and_rst += (rst[0] || rst[1]) && (fin[0] || fin[1]);
	counted.tcp.no_fin_no_rst += !(rst[0] || rst[1]) && !(fin[0] || fin[1]);
	counted.tcp.one_way += !seen[0] || !seen[1];
}

static void count_flows(void)
{
	qsort(records, n_records, sizeof *records, by_key);
	for (size_t i = 0, n; i < n_records; i += n) {
		for (n = 1; i + n < n_records; n++)
			if (memcmp(records[i].key, records[i + n].key, sizeof records[i].key))
				break;
		if (records[i].protocol == INK_PROTOCOL_TCP)
			count_flow(&records[i], n);
		else
			counted.udp_flows++;
	}
}

static void count_pairs(void)
{
	qsort(records, n_records, sizeof *records, by_pair);
	for (size_t i = 0, n; i < n_records; i += n) {
		unsigned tcp = 0, udp = 0;

		for (n = 0; i + n < n_records; n++) {
			if (memcmp(records[i].pair, records[i + n].pair, sizeof records[i].pair))
				break;
			tcp |= records[i + n].protocol == INK_PROTOCOL_TCP;
			udp |= records[i + n].protocol == INK_PROTOCOL_UDP;
		}
		counted.pairs_tcp += tcp;
		counted.pairs_udp += udp;
		counted.pairs_both += tcp && udp;
	}
}

static void count_hosts(void)
{
	qsort(hosts, n_hosts, sizeof *hosts, by_host);
	for (size_t i = 0; i < n_hosts; i++)
		counted.hosts += i == 0 || by_host(hosts[i - 1], hosts[i]);
}

#define FIELD(name)                                                                                          \
	{                                                                                                    \
#name, offsetof(struct sim_truth, name)                                                      \
	}

/* clang-format off */
static const struct {
	const char *name;
	size_t at;
} fields[] = {
	FIELD(frames), FIELD(bytes), FIELD(ipv4), FIELD(ipv6), FIELD(tcp_packets), FIELD(udp_packets), FIELD(udp_flows),
	FIELD(hosts), FIELD(pairs_tcp), FIELD(pairs_udp), FIELD(pairs_both), FIELD(tcp.flows), FIELD(tcp.syn_seen),
	FIELD(tcp.syn_repeated), FIELD(tcp.handshake_complete), FIELD(tcp.half_open), FIELD(tcp.syn_without_synack),
	FIELD(tcp.syn_refused_by_rst), FIELD(tcp.fin_both), FIELD(tcp.fin_both_no_rst), FIELD(tcp.rst_no_fin),
	FIELD(tcp.fin_and_rst), FIELD(tcp.no_fin_no_rst), FIELD(tcp.one_way),
};
/* clang-format on */

static uint64_t number_at(const struct sim_truth *truth, size_t at)
{
	return *(const uint64_t *)(const void *)((const char *)truth + at);
}

static void compare_with(const struct sim_truth *truth)
{
	for (size_t i = 0; i < COUNT(fields); i++)
		if (number_at(&counted, fields[i].at) != number_at(truth, fields[i].at))
			fail_msg("%s is counted as %llu", fields[i].name,
				 (unsigned long long)number_at(&counted, fields[i].at));
	assert_memory_equal(counted.flags, truth->flags, sizeof truth->flags);
}

static void check_truth(const struct sim_traffic_options *o)
{
	struct sim_truth truth = generate(o);

	read_back(truth.frames, note);
	count_flows();
	count_pairs();
	count_hosts();
	compare_with(&truth);
	assert_int_equal(truth.tcp.flows, o->flows + o->established + 350 + o->odd + o->flood + o->pairs);
	assert_int_equal(truth.udp_flows, o->udp + o->pairs + o->streams);
	assert_int_equal(truth.illegal.any, 70);
	forget();
}

TEST_THAT(the_truth_is_true)
{
	struct sim_traffic_options o = everything;

	for (unsigned i = 0; i < 4; i++) {
		o.seed = i + 1;
		o.format = (enum sim_video_format)(i % 3);
		o.flood_kind = (enum sim_flood_kind)i;
		o.concurrent = i ? 1000 : 0;
		check_truth(&o);
	}
}

static void assert_about(uint64_t is, long should_be, long give_or_take)
{
	assert_in_range(is, should_be - give_or_take, should_be + give_or_take);
}

/* Every course occurs about as often as requested. */
TEST_THAT(shares_are_kept)
{
	/* clang-format off */
	const struct sim_traffic_options o = {
		.seed = 9, .flows = 10000, .half_open = .1, .unanswered = .2, .refused = .05, .reset = .1, .cut = .05,
		.unfinished = .1, .ipv6 = .5, .data = 1, .rtt = 1000000, .duration = 10000000000};
	/* clang-format on */
	struct sim_truth truth = generate(&o);

	assert_about(truth.tcp.half_open, 1000, 149);
	assert_about(truth.tcp.syn_without_synack, 2500, 199);
	assert_about(truth.tcp.syn_refused_by_rst, 500, 99);
	assert_about(truth.tcp.fin_and_rst, 500, 99);
	assert_about(truth.tcp.rst_no_fin, 1500, 149);
	assert_about(truth.tcp.fin_both_no_rst, 4000, 249);
	assert_about(truth.ipv6 * 100 / truth.frames, 50, 7);
}

TEST_THAT(as_many_live_at_once_as_requested)
{
	struct sim_traffic_options o = {.seed = 4,
					.flows = 20000,
					.concurrent = 8000,
					.data = 2,
					.rtt = 10000000,
					.duration = 60000000000};

	assert_about(generate(&o).alive_at_once, 8000, 400);
	o.half_open = o.unanswered = .2;
	assert_about(generate(&o).alive_at_once, 8000, 600);
}

/* A hash of the capture. */
static uint64_t hash_of(const struct sim_traffic_options *o)
{
	uint64_t sum = 0;
	FILE *f;
	int c;

	generate(o);
	f = fopen(scratch_file, "rb");
	assert_non_null(f);
	while ((c = getc(f)) != EOF)
		sum = (sum ^ (uint64_t)c) * 0x100000001b3;
	fclose(f);
	return sum;
}

TEST_THAT(a_seed_gives_the_same_bytes)
{
	struct sim_traffic_options other = everything;

	other.seed++;
	assert_true(hash_of(&everything) == hash_of(&everything));
	assert_true(hash_of(&everything) != hash_of(&other));
}

static uint64_t begins[4][2]; /* of each pair, its connection and its datagrams */

static void look_at_pair(const struct ink_packet *p)
{
	uint64_t *begin = &begins[p->source[3] % 4][p->protocol == INK_PROTOCOL_UDP];

	if (!*begin)
		*begin = p->time;
}

TEST_THAT(the_two_of_a_pair_talk_at_the_same_time)
{
	struct sim_traffic_options o = {
		.seed = 3, .pairs = 4, .data = 1, .payload = 1, .rtt = 1000000, .duration = 100000000000000};
	struct sim_truth truth = generate(&o);

	memset(begins, 0, sizeof begins);
	read_back(truth.frames, look_at_pair);
	for (int i = 0; i < 4; i++)
		assert_true(begins[i][0] && begins[i][0] == begins[i][1]);
	forget();
}

/* ------------------------------------------------------------------------- video */

static uint64_t pictures[3];
static uint8_t tail[16]; /* of each stream: the bytes of a start code at the end of the packet before */

static void look_at_video(const struct ink_packet *p)
{
	uint8_t *left = &tail[p->destination[3] % 16];
	struct ink_pictures found = ink_video_pictures(p, *left);

	assert_int_equal(p->dport, 5004);
	*left = found.tail;
	for (unsigned type = INK_PICTURE_I; type <= INK_PICTURE_B; type++)
		pictures[type - INK_PICTURE_I] += found.started[type];
}

TEST_THAT(pictures_are_where_the_truth_says)
{
	struct sim_traffic_options o = {.seed = 3, .streams = 3, .rtt = 1000000, .duration = 4000000000};

	for (unsigned i = SIM_VIDEO_RTP; i <= SIM_VIDEO_ES; i++) {
		struct sim_truth truth;

		o.format = (enum sim_video_format)i;
		memset(pictures, 0, sizeof pictures);
		memset(tail, 0, sizeof tail);
		truth = generate(&o);
		read_back(truth.frames, look_at_video);
		assert_memory_equal(pictures, truth.pictures, sizeof pictures);
		assert_int_equal(pictures[0] + pictures[1] + pictures[2], 300);
		assert_int_equal(pictures[0], 3 * 9);
		assert_int_equal(pictures[1], 3 * 25);
		forget();
	}
}

/* ------------------------------------------------------------------------- the rest */

TEST_THAT(the_truth_is_written_as_json)
{
	struct sim_truth truth = generate(&everything);
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);
	char line[80];
	int depth = 0;

	assert_non_null(f);
	sim_truth_write(&truth, "a \"name\"\n.pcap", f);
	fclose(f);
	assert_non_null(strstr(text, "\"file\": \"a \\\"name\\\"\\u000a.pcap\""));
	snprintf(line, sizeof line, "\"half_open_syn_synack_no_ack\": %llu,",
		 (unsigned long long)truth.tcp.half_open);
	assert_non_null(strstr(text, line));
	assert_null(strstr(text, ",\n }"));
	for (size_t i = 0; i < n; i++)
		depth += (text[i] == '{') - (text[i] == '}');
	assert_int_equal(depth, 0);
	free(text);
}

TEST_THAT(nonsense_is_refused)
{
	struct sim_traffic_options wrong[] = {everything, everything, everything, everything};
	struct sim_truth truth;

	wrong[0].reset = .9;
	wrong[1].duration = 0;
	wrong[2].flood_duration = 25000000000;
	wrong[3].concurrent = 3001;
	for (int i = 0; i < 4; i++)
		assert_non_null(sim_traffic_wrong(&wrong[i]));
	assert_int_equal(sim_traffic(&wrong[0], NULL, &truth, NULL), -EINVAL);
	assert_null(sim_traffic_wrong(&everything));
}

int main(void)
{
	return run_suite(&(struct suite){.begin = scratch_make, .end = scratch_remove});
}
