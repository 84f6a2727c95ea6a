/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What does a packet cost before it reaches a table: parsing it, its id, and
 * reading it from a file, compared with libpcap's pcap_next_ex alone?
 *
 * Frames of one kind, 64 of them in the first level cache, parsed in turn. The
 * file is made by the generator: a million packets in 100,000 connections, in
 * the page cache; ink_capture_read gives parsed packets, pcap_next_ex raw ones.
 * Result (C of docs/benchmarks.md): a plain frame takes 7.5 ns, UDP and IPv6 11, VXLAN 30, an id 8;
 * reading and parsing takes 20, four tenths of pcap_next_ex alone.
 */
#include "bench/bare.h"
#include "bench/sections.h"

#include <cstring>

#include <inkling/packet.h>

extern "C" {
#include "sim/frame.h"
#include "sim/traffic.h"
}

namespace bench
{

namespace
{

constexpr size_t FRAMES = 64, ROUNDS = 5000, BATCH = 256;

/* ------------------------------------------------------------------ frames */

struct frames {
	uint8_t bytes[FRAMES][SIM_FRAME_MOST];
	uint32_t length[FRAMES];
};

/* Puts `header` (an outer packet up to the tunnel's end) before each frame. */
void wrap(frames &f, const uint8_t *header, size_t n)
{
	for (size_t i = 0; i < FRAMES; i++) {
		memmove(f.bytes[i] + n, f.bytes[i], f.length[i]);
		memcpy(f.bytes[i], header, n);
		f.length[i] += uint32_t(n);
	}
}

void make(frames &f, uint8_t version, uint8_t protocol)
{
	static const uint8_t payload[100] = {};

	for (size_t i = 0; i < FRAMES; i++) {
		struct sim_ends ends = {};
		struct sim_segment s = {};

		ends.address[0] = uint32_t(0x0a000001 + i);
		ends.address[1] = 0x0a000002;
		ends.port[0] = uint16_t(1000 + i);
		ends.port[1] = 80;
		ends.version = version;
		ends.protocol = protocol;
		s.flags = INK_TCP_ACK;
		s.payload = payload;
		s.length = sizeof payload;
		f.length[i] = uint32_t(sim_frame(f.bytes[i], &ends, &s));
	}
}

/* VXLAN around an Ethernet frame; no longer than the frames here. */
void make_tunnelled(frames &f)
{
	uint8_t header[50] = {};

	make(f, 4, INK_PROTOCOL_TCP);
	header[12] = 8;
	header[14] = 0x45;
	header[17] = 204;
	header[23] = INK_PROTOCOL_UDP;
	header[36] = 0x12; /* port 4789 */
	header[37] = 0xb5;
	header[39] = 184;
	header[42] = 8;
	wrap(f, header, sizeof header);
}

/* Nanoseconds per frame. */
double parse_all(const frames &f, struct ink_packet *packets)
{
	double start = cpu_seconds();

	for (size_t r = 0; r < ROUNDS; r++)
		for (size_t i = 0; i < FRAMES; i++) {
			packets[i].frame = f.bytes[i];
			packets[i].captured = packets[i].wire = f.length[i];
			if (ink_packet_parse(&packets[i], INK_LINK_ETHERNET, 0) != INK_NOT_SKIPPED)
				die("a frame was not parsed");
		}
	return (cpu_seconds() - start) / double(ROUNDS * FRAMES) * 1e9;
}

double id_all(const struct ink_table *t, struct ink_packet *packets)
{
	const struct ink_packets all = { packets, FRAMES, FRAMES, 0 };
	uint64_t ids[FRAMES], sum = 0;
	double start = cpu_seconds();

	for (size_t r = 0; r < ROUNDS; r++) {
		ink_packet_ids(t, INK_KEY_CONNECTION, &all, ids);
		sum += ids[r % FRAMES];
	}
	if (!sum)
		die("no ids");
	return (cpu_seconds() - start) / double(ROUNDS * FRAMES) * 1e9;
}

struct kind_of_frame {
	const char *name;
	void (*make)(frames &);
	samples parsing, ids;
};

void measure_frames(unsigned rounds, report &out)
{
	struct ink_table *t = create(options_of(variety::line, 1000));
	static frames f;
	static struct ink_packet packets[FRAMES];
	kind_of_frame kinds[] = {
		{ "TCP, IPv4", [](frames &x) { make(x, 4, INK_PROTOCOL_TCP); }, {}, {} },
		{ "UDP, IPv4", [](frames &x) { make(x, 4, INK_PROTOCOL_UDP); }, {}, {} },
		{ "TCP, IPv6", [](frames &x) { make(x, 6, INK_PROTOCOL_TCP); }, {}, {} },
		{ "TCP in VXLAN", make_tunnelled, {}, {} },
	};

	for (unsigned r = 0; r < rounds; r++)
		for (kind_of_frame &k : kinds) {
			k.make(f);
			k.parsing.add(parse_all(f, packets));
			k.ids.add(id_all(t, packets));
		}
	ink_free(t);
	out.section("packets: what do a packet and its id cost? ns, median (quartiles)");
	for (const kind_of_frame &k : kinds) {
		printf("%-14s parse %s   id %s\n", k.name, cell(k.parsing, "%6.2f (%.2f-%.2f)").c_str(),
		       cell(k.ids, "%6.2f (%.2f-%.2f)").c_str());
		out.record({ "packets", FRAMES, k.name }, "parse", "ns", k.parsing);
		out.record({ "packets", FRAMES, k.name }, "id", "ns", k.ids);
	}
}

/* ------------------------------------------------------------------- files */

struct capture_file {
	capture_file()
	{
		struct sim_traffic_options o = {};

		o.seed = 1;
		o.flows = 100000;
		o.data = 4;
		o.payload = 100;
		o.rtt = 50000000;
		o.duration = 60000000000;
		struct ink_dump *dump = ink_dump_open(path.c_str(), INK_LINK_ETHERNET, nullptr);

		if (!dump || sim_traffic(&o, dump, &truth, nullptr) || ink_dump_close(dump, nullptr))
			die("%s cannot be written", path.c_str());
	}

	scratch folder;
	std::string path = folder.path("x.pcap");
	struct sim_truth truth;
};

uint64_t read_parsed(const char *path)
{
	struct ink_capture_options o = {};
	static struct ink_packet packets[BATCH];
	struct ink_packets batch = { packets, BATCH, 0, 0 };
	uint64_t n = 0;

	o.size = sizeof o;
	o.file = path;
	struct ink_capture *c = ink_capture_open(&o, nullptr);

	if (!c)
		die("%s cannot be read", path);
	while (ink_capture_read(c, &batch, nullptr) == 0 && !batch.end)
		n += batch.n;
	ink_capture_close(c);
	return n;
}

double timed_reading(const capture_file &f, uint64_t (*reader)(const char *))
{
	double start = cpu_seconds();

	if (reader(f.path.c_str()) != f.truth.frames)
		die("packets are missing");
	return (cpu_seconds() - start) / double(f.truth.frames) * 1e9;
}

void measure_reading(unsigned rounds, report &out)
{
	capture_file f;
	samples bare, parsed;

	for (unsigned r = 0; r < rounds; r++) {
		bare.add(timed_reading(f, read_bare));
		parsed.add(timed_reading(f, read_parsed));
	}
	out.section("packets: what does a packet of a file cost? ns, median (quartiles)");
	printf("pcap_next_ex alone            %s\n", cell(bare, "%6.2f (%.2f-%.2f)").c_str());
	printf("ink_capture_read, with parser %s\n", cell(parsed, "%6.2f (%.2f-%.2f)").c_str());
	out.record({ "packets", size_t(f.truth.frames), "pcap_next_ex" }, "read", "ns", bare);
	out.record({ "packets", size_t(f.truth.frames), "ink_capture_read" }, "read", "ns", parsed);
}

} /* namespace */

void measure_packets(const settings &s, report &out)
{
	measure_frames(s.quick ? 5 : 15, out);
	measure_reading(s.quick ? 5 : 15, out);
}

} /* namespace bench */
