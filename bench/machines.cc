/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What does a machine cost: finding a packet's event, and the whole way from the
 * parsed packet to the move (event, id, step, action) with a `line` table?
 *
 * The packets are synthetic: TCP connections of 10 packets, three for the
 * handshake and two for the end, 200,000 of them at a time and interleaved at
 * random; every tenth packet is UDP with 1 KB of payload, for the machines that
 * look for pictures there. They come in batches of 512 that lie in the cache,
 * as they do when a capture is read; making them is not timed.
 *
 * Result (B of docs/benchmarks.md): an event takes 5 to 8 ns, 30 in the machines for video; the whole way
 * 22 to 64.
 */
#include "bench/sections.h"

#include <inkling/track.h>

#include <cstring>
#include <memory>

extern "C" {
#include "packet/classify.h"
}

namespace bench
{

namespace
{

constexpr size_t BATCH = 512, FLOWS = 200000;

/* ---------------------------------------------------------------- packets */

class traffic
{
public:
	traffic()
	    : stage(FLOWS, 0)
	    , payload(1024)
	{
		for (uint8_t &b : payload)
			b = uint8_t(random() >> 56);
	}

	struct ink_packets next()
	{
		for (struct ink_packet &p : packets)
			p = random() % 10 ? tcp() : udp();
		return { packets, BATCH, BATCH, 0 };
	}

private:
	uint64_t random()
	{
		state ^= state << 13;
		state ^= state >> 7;
		return state ^= state << 17;
	}

	struct ink_packet between(uint32_t flow, bool answers)
	{
		struct ink_packet p = {};
		const uint8_t client[4] = { 10, uint8_t(flow >> 16), uint8_t(flow >> 8), uint8_t(flow) };
		const uint8_t server[4] = { 192, 168, 0, 1 };

		memcpy(p.source, answers ? server : client, 4);
		memcpy(p.destination, answers ? client : server, 4);
		p.sport = answers ? 443 : 40000;
		p.dport = answers ? 40000 : 443;
		p.flags = answers ? INK_FROM_HIGH : 0;
		p.version = 4;
		p.wire = p.captured = 100;
		p.clock = clock += 1000;
		return p;
	}

	struct ink_packet tcp()
	{
		static const struct {
			uint16_t flags;
			bool answers;
		} stages[] = { { 0x02, false }, { 0x12, true },  { 0x10, false }, { 0x18, false }, { 0x18, true },
			       { 0x10, false }, { 0x18, true }, { 0x10, false }, { 0x11, false }, { 0x11, true } };
		uint32_t flow = uint32_t(random() % FLOWS);
		unsigned s = stage[flow];
		struct ink_packet p = between(flow, stages[s].answers);

		p.protocol = INK_PROTOCOL_TCP;
		p.tcp_flags = stages[s].flags;
		stage[flow] = uint8_t((s + 1) % 10);
		return p;
	}

	struct ink_packet udp()
	{
		struct ink_packet p = between(uint32_t(random() % FLOWS), false);

		p.protocol = INK_PROTOCOL_UDP;
		p.payload = payload.data();
		p.payload_captured = p.payload_wire = uint32_t(payload.size());
		return p;
	}

	uint64_t state = 88172645463325252, clock = 1;
	std::vector<uint8_t> stage, payload;
	struct ink_packet packets[BATCH];
};

/* -------------------------------------------------------------- a machine */

class runner
{
public:
	explicit runner(const char *name)
	    : machine(ink_machine_load(name, nullptr, nullptr))
	{
		if (!machine)
			die("no machine %s", name);
		const struct ink_machine_view *v = ink_machine_view(machine);
		struct ink_options o = {};
		struct ink_track_options k = {};

		o.size = sizeof o;
		o.states = v->rules->states;
		o.flows = 2 * FLOWS;
		o.age_bits = 1;
		o.rules = v->rules;
		table = create(o);
		k.size = sizeof k;
		k.machine = machine;
		k.table = table;
		k.link = INK_LINK_ETHERNET;
		track = ink_track_open(&k, nullptr);
		classifier = ink_classifier_make(machine, INK_LINK_ETHERNET, 1, nullptr);
		if (!track || !classifier)
			die("machine %s cannot be tracked", name);
	}

	runner(const runner &) = delete;
	runner &operator=(const runner &) = delete;

	~runner()
	{
		ink_classifier_free(classifier);
		ink_track_close(track);
		ink_free(table);
		ink_machine_free(machine);
	}

	/* Both over `batches` batches; nanoseconds per packet. */
	double classify(traffic &t, unsigned batches)
	{
		const uint64_t counters[64] = {};
		double spent = 0;
		uint64_t sum = 0;

		for (unsigned i = 0; i < batches; i++) {
			struct ink_packets p = t.next();
			double start = cpu_seconds();

			for (size_t j = 0; j < p.n; j++) {
				struct ink_sight sight = { j, counters, 0 };

				sum += ink_classify(classifier, &p.at[j], &sight);
			}
			spent += cpu_seconds() - start;
		}
		if (!sum)
			die("no packet had an event but the first");
		return spent / double(batches * BATCH) * 1e9;
	}

	double all(traffic &t, unsigned batches)
	{
		double spent = 0;

		for (unsigned i = 0; i < batches; i++) {
			struct ink_packets p = t.next();
			double start = cpu_seconds();

			if (ink_track_packets(track, &p))
				die("tracking failed");
			spent += cpu_seconds() - start;
		}
		return spent / double(batches * BATCH) * 1e9;
	}

private:
	struct ink_machine *machine;
	struct ink_table *table;
	struct ink_track *track;
	struct ink_classifier *classifier;
};

} /* namespace */

void measure_machines(const settings &s, report &out)
{
	traffic t;
	std::vector<std::unique_ptr<runner>> runners;
	std::vector<samples> classify, all;

	for (unsigned i = 0; ink_bundled(i); i++)
		runners.emplace_back(new runner(ink_bundled(i)->name));
	classify.resize(runners.size());
	all.resize(runners.size());
	for (unsigned round = 0; round < (s.quick ? 5u : 15u); round++)
		for (size_t i = 0; i < runners.size(); i++) {
			classify[i].add(runners[i]->classify(t, 400));
			all[i].add(runners[i]->all(t, 400));
		}
	out.section("machines: what does a packet cost? ns, median (quartiles)");
	printf("%-16s %-24s %s\n", "machine", "event", "event, id, step, action");
	for (size_t i = 0; i < runners.size(); i++) {
		const char *name = ink_bundled(unsigned(i))->name;

		printf("%-16s %-24s %s\n", name, cell(classify[i], "%6.1f (%.1f-%.1f)").c_str(),
		       cell(all[i], "%6.1f (%.1f-%.1f)").c_str());
		out.record({ "machines", FLOWS, name }, "classify", "ns", classify[i]);
		out.record({ "machines", FLOWS, name }, "track", "ns", all[i]);
	}
}

} /* namespace bench */
