/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inkling run tcp without Inkling's tables: the same reader,
 * parser, classifier and rules, and the flows in boost::unordered_flat_map by
 * their full keys, with the tick of the last touch.
 *
 *     map of IPv4   [ key 16 | touched 4 | state 1 ]   24 bytes
 *     map of IPv6   [ key 40 | touched 4 | state 1 ]   48 bytes
 *
 * There are two maps, since in one the keys of IPv4 would take 40 bytes, too. They
 * grow with the flows: reserving for all flows would double their bytes. Time-outs
 * are those of the kind `exact`: each tick visits all flows, and those that were
 * idle for the period of their state make its move. The driver
 * compares the counts with those of `inkling run --kind exact`.
 */
#include "bench/run_boost.h"

#include "bench/peer_map.h"

#include <boost/container_hash/hash.hpp>
#include <boost/unordered/unordered_flat_map.hpp>

#include <cinttypes>
#include <cstdio>
#include <cstring>

#include <inkling/machine.h>
#include <inkling/packet.h>

extern "C" {
#include "packet/classify.h"
}

namespace bench
{

namespace
{

constexpr size_t BATCH = 256; /* as in `inkling run` */

template <size_t Words> struct full_key {
	uint64_t word[Words];
};

template <size_t Words> bool operator==(const full_key<Words> &a, const full_key<Words> &b)
{
	return !memcmp(a.word, b.word, sizeof a.word);
}

/* For boost::hash. */
template <size_t Words> size_t hash_value(const full_key<Words> &k)
{
	size_t seed = 0;

	for (uint64_t word : k.word)
		boost::hash_combine(seed, word);
	return seed;
}

struct flow {
	uint32_t touched;
	uint8_t state;
};

template <size_t Words> using flow_map =
	boost::unordered_flat_map<full_key<Words>, flow, boost::hash<full_key<Words>>,
				  std::equal_to<full_key<Words>>,
				  counting_allocator<std::pair<const full_key<Words>, flow>>>;

/* ------------------------------------------------------------------ the machine */

class tracker
{
public:
	explicit tracker(enum ink_link link)
	    : machine(ink_machine_load("tcp", nullptr, nullptr)), view(ink_machine_view(machine)),
	      classifier(ink_classifier_make(machine, link, 1, nullptr)),
	      v4(counting_allocator<std::pair<const full_key<2>, flow>>(&bytes)),
	      v6(counting_allocator<std::pair<const full_key<5>, flow>>(&bytes))
	{
		if (!classifier)
			die("the machine tcp cannot be used");
	}

	tracker(const tracker &) = delete;
	tracker &operator=(const tracker &) = delete;

	~tracker()
	{
		ink_classifier_free(classifier);
		ink_machine_free(machine);
	}

	void packet(const struct ink_packet &p)
	{
		struct ink_sight sight = { ++packets, counters, 0 };
		uint16_t event = ink_classify(classifier, &p, &sight);

		time(p.clock);
		if (event == INK_NO_EVENT)
			return;
		if (p.version == 4)
			step(v4, key_of<2>(p), event);
		else
			step(v6, key_of<5>(p), event);
	}

	void end()
	{
		end_of(v4);
		end_of(v6);
	}

	void print() const
	{
		printf("{\"packets\":%" PRIu64 ",\"flows\":%" PRIu64 ",\"expired\":%" PRIu64 ",\"counts\":{",
		       packets, begun, expired);
		for (unsigned i = 0; i < view->counters; i++)
			printf("%s\"%s\":%" PRIu64, i ? "," : "", view->counter_names[i], counters[i]);
		printf("},\"table\":{\"bytes\":%" PRIu64 "},\"sweeping\":%.6f}\n", most_bytes, sweeping);
	}

private:
	template <size_t Words> full_key<Words> key_of(const struct ink_packet &p) const
	{
		full_key<Words> key;
		uint8_t written[INK_KEY_MOST];

		ink_packet_key(&p, view->key, written);
		memcpy(key.word, written, sizeof key.word);
		return key;
	}

	struct ink_row row_of(unsigned line, unsigned event) const
	{
		return view->rules->rows[line * view->rules->events + event];
	}

	/* For a packet, or for many flows without one: `tcp` counts by numbers only. */
	void act(unsigned action, uint64_t times = 1)
	{
		const struct ink_action &a = view->action[action];

		for (unsigned i = 0; i < a.n_countings; i++)
			counters[a.countings[i].counter] += times * a.countings[i].number;
	}

	template <class Map> void move(Map &map, typename Map::iterator at, struct ink_row row)
	{
		act(row.action);
		if (row.next == INK_ABSENT) {
			map.erase(at);
			return;
		}
		if (row.next != INK_NO_ROW)
			at->second.state = uint8_t(row.next);
		at->second.touched = now;
	}

	/* A start event without a row in this state: the flow begins again. */
	template <class Map> void step(Map &map, const typename Map::key_type &key, unsigned event)
	{
		struct ink_row absent = row_of(view->rules->states, event);
		auto found = map.find(key);

		if (found != map.end()) {
			struct ink_row row = row_of(found->second.state, event);
			bool again = row.next == INK_NO_ROW && view->rules->starts[event];

			begun += again;
			move(map, found, again ? absent : row);
			return;
		}
		act(absent.action);
		if (absent.next < 0)
			return;
		begun++;
		map.emplace(key, flow{ now, uint8_t(absent.next) });
		most_bytes = bytes > most_bytes ? bytes : most_bytes;
	}

	/* ------------------------------------------------------------------- time */

	void time(uint64_t clock)
	{
		if (!origin)
			origin = clock;
		if (clock - origin < (uint64_t(now) + 1) * view->tick)
			return;
		now = uint32_t((clock - origin) / view->tick);
		double start = cpu_seconds();

		sweep(v4);
		sweep(v6);
		sweeping += cpu_seconds() - start;
	}

	/* 1: the flow ends. */
	bool meet(flow &f)
	{
		const struct ink_timing &t = view->rules->timings[f.state];

		if (!t.period || now - f.touched < t.period)
			return false;
		expired++;
		act(view->on_timeout[f.state]);
		if (t.timeout == INK_ABSENT)
			return true;
		f = { now, uint8_t(t.timeout) };
		return false;
	}

	template <class Map> void sweep(Map &map)
	{
		erase_if(map, [this](auto &entry) { return meet(entry.second); });
	}

	template <class Map> void end_of(const Map &map)
	{
		for (const auto &entry : map)
			act(view->on_end[entry.second.state]);
	}

	struct ink_machine *machine;
	const struct ink_machine_view *view;
	struct ink_classifier *classifier;
	uint64_t bytes = 0, most_bytes = 0;
	flow_map<2> v4;
	flow_map<5> v6;
	uint64_t packets = 0, begun = 0, expired = 0, origin = 0;
	uint64_t counters[64] = {};
	uint32_t now = 0;
	double sweeping = 0;
};

} /* namespace */

void run_boost(const char *path)
{
	static struct ink_packet packets[BATCH];
	struct ink_packets batch = { packets, BATCH, 0, 0 };
	struct ink_capture_options o = {};
	struct ink_why why = {};

	o.size = sizeof o;
	o.file = path;
	struct ink_capture *c = ink_capture_open(&o, &why);

	if (!c)
		die("%s", why.text);
	tracker t(ink_capture_link(c));

	while (ink_capture_read(c, &batch, &why) == 0 && !batch.end)
		for (size_t i = 0; i < batch.n; i++)
			t.packet(packets[i]);
	t.end();
	t.print();
	ink_capture_close(c);
}

} /* namespace bench */
