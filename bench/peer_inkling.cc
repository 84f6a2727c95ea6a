/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/peers.h"

#include <algorithm>

namespace bench
{

namespace
{

class inkling final : public table
{
public:
	inkling(const struct ink_options &options, hashing h, const calls &how)
	    : options(options), own_hash(h == hashing::own), how(how), t(nullptr)
	{
		renew();
	}

	~inkling() override
	{
		ink_free(t);
	}

	inkling(const inkling &) = delete;
	inkling &operator=(const inkling &) = delete;

	void call_by(const calls &c) override
	{
		how = c;
	}

	/* A sixteenth of the flows come and go, and have touched every page. */
	void renew() override
	{
		flows visitors(options.flows / 16 + 1, uint64_t(1) << 40, flows::walk::in_order,
			       options.states);
		const slice &all = visitors.fill(0, visitors.size());

		ink_free(t);
		t = create(options);
		if ((insert(all) | erase(all)) && !may_doubt())
			die("an empty table refuses flows");
	}

	uint64_t insert(const slice &s) override
	{
		if (how.burst > 1)
			return each_batch(
				s, [&](const struct ink_batch &b) { return !!ink_insert_batch(t, &b); });
		return each(s, [&](size_t i) { return !!ink_insert(t, id(s, i), s.states[i]); });
	}

	uint64_t hit(const slice &s) override
	{
		if (how.burst > 1)
			return each_batch(s, [&](const struct ink_batch &b) {
				ink_lookup_batch(t, &b);
				return wrong(b);
			});
		return each(s, [&](size_t i) { return ink_lookup(t, id(s, i)) != s.states[i]; });
	}

	uint64_t miss(const slice &s) override
	{
		if (how.burst > 1)
			return each_batch(s, [&](const struct ink_batch &b) {
				ink_lookup_batch(t, &b);
				return present(b);
			});
		return each(s, [&](size_t i) { return ink_lookup(t, id(s, i)) != INK_ABSENT; });
	}

	uint64_t modify(const slice &s) override
	{
		if (how.burst > 1)
			return each_batch(
				s, [&](const struct ink_batch &b) { return !!ink_modify_batch(t, &b); });
		return each(s, [&](size_t i) { return !!ink_modify(t, id(s, i), s.states[i]); });
	}

	uint64_t erase(const slice &s) override
	{
		if (how.burst > 1)
			return each_batch(
				s, [&](const struct ink_batch &b) { return !!ink_delete_batch(t, &b); });
		return each(s, [&](size_t i) { return !!ink_delete(t, id(s, i)); });
	}

	/* A batch leaves, a batch arrives; or pair by pair. */
	uint64_t churn(const slice &gone, const slice &born) override
	{
		size_t size = how.burst;
		uint64_t bad = 0;

		for (size_t i = 0; i < gone.n; i += size) {
			size_t n = gone.n - i < size ? gone.n - i : size;

			bad += in_portions(gone, i, n, &inkling::erase);
			bad += in_portions(born, i, n, &inkling::insert);
		}
		return bad;
	}

	uint64_t bytes() const override
	{
		return stats_of(t).bytes;
	}

private:
	/* The paper's structures keep no ids of colliding flows: unsure about a flow, they do not remove it. */
	bool may_doubt() const
	{
		struct ink_kind_info info = {};

		info.size = sizeof info;
		ink_kind_info(options.kind, &info);
		return !(info.geometry & INK_GEOMETRY_SIDE_ID);
	}

	uint64_t id(const slice &s, size_t i) const
	{
		return own_hash ? ink_id(t, &s.keys[i], sizeof(key)) : s.ids[i];
	}

	/* Items of one call: with fetches half a burst, as the header advises. */
	size_t portion() const
	{
		return how.fetched && how.burst > 1 ? how.burst / 2 : how.burst;
	}

	/* The memory of the same portion of the next burst, or of the single call FETCH_AHEAD items later. */
	void fetch_later(const slice &s, size_t from) const
	{
		size_t later = from + (how.burst > 1 ? how.burst : FETCH_AHEAD);

		if (!how.fetched || own_hash || later >= s.n)
			return;
		if (how.burst > 1)
			ink_fetch_batch(t, s.ids + later, std::min(portion(), s.n - later));
		else
			ink_fetch(t, s.ids[later]);
	}

	/* A burst of n items, with what is fetched of the next one. */
	uint64_t in_portions(const slice &s, size_t from, size_t n, uint64_t (inkling::*work)(const slice &))
	{
		uint64_t bad = 0;

		for (size_t i = from; i < from + n; i += portion()) {
			fetch_later(s, i);
			bad += (this->*work)(part(s, i, std::min(portion(), from + n - i)));
		}
		return bad;
	}

	template <class Work> uint64_t each(const slice &s, Work work) const
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < s.n; i++) {
			fetch_later(s, i);
			bad += work(i);
		}
		return bad;
	}

	template <class Work> uint64_t each_batch(const slice &s, Work work) const
	{
		return in_bursts(s, portion(), [&](const slice &b) {
			uint64_t ids[BURST_MOST];
			ink_answer answers[BURST_MOST];
			struct ink_keys keys = { b.keys, sizeof(key), b.n };
			struct ink_batch batch = {};

			fetch_later(s, size_t(b.ids - s.ids));
			if (own_hash)
				ink_id_batch(t, &keys, ids);
			batch.n = b.n;
			batch.ids = own_hash ? ids : b.ids;
			batch.states = b.states;
			batch.answers = answers;
			return uint64_t(work(batch));
		});
	}

	static uint64_t wrong(const struct ink_batch &b)
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < b.n; i++)
			bad += b.answers[i] != b.states[i];
		return bad;
	}

	static uint64_t present(const struct ink_batch &b)
	{
		uint64_t bad = 0;

		for (size_t i = 0; i < b.n; i++)
			bad += b.answers[i] != INK_ABSENT;
		return bad;
	}

	struct ink_options options;
	bool own_hash;
	calls how;
	struct ink_table *t;
};

} /* namespace */

struct ink_options options_of(variety v, size_t n)
{
	struct ink_options o = {};

	o.size = sizeof o;
	o.kind = v == variety::compact ? INK_COMPACT : INK_LINE;
	o.states = STATES;
	o.flows = n;
	o.age_bits = 1;
	o.error = v == variety::compact ? .0042 : .001;
	o.writers = v == variety::line_writers ? 2 : 1;
	o.geometry.f = v == variety::compact ? 8 : 0;
	return o;
}

table_ptr make_inkling(const struct ink_options &options, hashing h, const calls &how)
{
	return std::make_unique<inkling>(options, h, how);
}

struct ink_table *create(const struct ink_options &options)
{
	struct ink_why why;
	struct ink_table *t = ink_create(&options, &why);

	if (!t)
		die("ink_create: %s", why.text);
	return t;
}

struct ink_stats stats_of(const struct ink_table *t)
{
	struct ink_stats stats = {};

	stats.size = sizeof stats;
	ink_stats(t, &stats);
	return stats;
}

} /* namespace bench */
