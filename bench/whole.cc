/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What do operations on a whole structure cost: merging and subtracting two,
 * saving and loading one? n items in each, half as many in the one that is
 * merged in; ms of thread CPU time, medians of alternating rounds, compared with
 * `line`. Files are in the folder of temporary files. The disk takes no CPU time,
 * the checksums do.
 *
 * One more: how long does it take to find 3,000 greedy codes?
 *
 * Result (C of docs/benchmarks.md, 1M items): line is saved in 7 ms and loaded in 7, a standard
 * counting set merged in 56; a kBF is merged in 13 and subtracted in 143. The codes take .55 s.
 */
#include "bench/sections.h"

#include <algorithm>
#include <functional>
#include <inkling/count.h>
#include <inkling/kbf.h>

namespace bench
{

namespace
{

constexpr unsigned VALUES = 3000;

void must(bool good, const char *what)
{
	if (!good)
		die("%s failed", what);
}

struct line {
	explicit line(size_t n) : table(create(options_of(variety::line, n)))
	{
		flows f(n);
		const slice &s = f.fill(0, n);

		for (size_t i = 0; i < n; i++)
			ink_insert(table, s.ids[i], s.states[i]);
	}
	~line()
	{
		ink_free(table);
	}
	struct ink_table *table;
};

struct counting {
	counting(enum ink_count_kind kind, size_t planned, size_t n)
	{
		struct ink_count_options o = {};
		flows f(n);
		const slice &s = f.fill(0, n);

		o.size = sizeof o;
		o.kind = kind;
		o.items = planned;
		o.seed = 1;
		set = ink_count_create(&o, nullptr);
		must(set != nullptr, "a counting set");
		for (size_t i = 0; i < n; i++)
			ink_count_add(set, s.ids[i]);
	}
	~counting()
	{
		ink_count_free(set);
	}
	struct ink_count *set;
};

struct sums {
	sums(struct ink_kbf_dict *dict, size_t planned, size_t n, uint64_t first)
	{
		struct ink_kbf_options o = {};
		flows f(n, first);
		const slice &s = f.fill(0, n);

		o.size = sizeof o;
		o.dict = dict;
		o.keys = planned;
		filter = ink_kbf_create(&o, nullptr);
		must(filter != nullptr, "a kBF");
		for (size_t i = 0; i < n; i++)
			ink_kbf_insert(filter, { &s.keys[i], sizeof(key) }, value_of(s.states[i]));
	}
	~sums()
	{
		ink_kbf_free(filter);
	}
	static struct ink_bytes value_of(unsigned state)
	{
		static const char letters[] = "abcdefghijklmnopqrstuvwxyz";

		return { letters + state, 1 };
	}
	struct ink_kbf *filter;
};

struct ink_kbf_dict *dictionary(enum ink_kbf_encoding encoding, unsigned values)
{
	struct ink_kbf_dict_options o = {};

	o.size = sizeof o;
	o.encoding = encoding;
	o.values = values;
	o.seed = 1;
	return ink_kbf_dict_create(&o, nullptr);
}

struct task {
	const char *name;
	std::function<void()> work;
	samples ms;
};

void print(report &out, const std::vector<task> &tasks, size_t n)
{
	for (const task &t : tasks) {
		printf("%-34s %s\n", t.name, cell(t.ms, "%8.2f (%.2f-%.2f)").c_str());
		out.record({ "whole", n, t.name }, t.name, "ms", t.ms);
	}
	fflush(stdout);
}

void run_in_turns(std::vector<task> &tasks, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++)
		for (task &t : tasks) {
			double start = cpu_seconds();

			t.work();
			t.ms.add((cpu_seconds() - start) * 1e3);
		}
}

/* 3,000 values make the dictionary look for 3,000 codes, at its creation or one by one. */
void measure_greedy(const settings &s, report &out)
{
	std::vector<task> tasks = {
		{ "3,000 greedy codes",
		  [] {
			  struct ink_kbf_dict *d = dictionary(INK_KBF_GREEDY, VALUES);

			  for (unsigned i = 0; i < VALUES; i++) {
				  std::string text = std::to_string(i);

				  must(d && !ink_kbf_dict_add(d, { text.data(), text.size() }, nullptr),
				       "a greedy code");
			  }
			  ink_kbf_dict_free(d);
		  },
		  {} }
	};

	run_in_turns(tasks, s.quick ? 1 : 3);
	print(out, tasks, VALUES);
	out.add({ "kbf: 3,000 greedy codes", tasks[0].ms.median() / 1e3, 1, report::bar::at_most, "s" });
}

/* The structures, full, and the file that they are saved to, one after the other. */
struct subjects {
	explicit subjects(size_t n)
	    : dict(dictionary(INK_KBF_POWER_SUMS, VALUES)), table(n), dleft(INK_COUNT_DLEFT, n, n),
	      standard(INK_COUNT_STANDARD, n, n / 2), other(INK_COUNT_STANDARD, n, n / 2),
	      sum(dict, n, n / 2, 0), addend(dict, n, n / 2, uint64_t(1) << 40), file(folder.path("file"))
	{
	}
	~subjects()
	{
		ink_kbf_dict_free(dict);
	}
	const char *path() const
	{
		return file.c_str();
	}
	struct ink_kbf_dict *dict;
	line table;
	counting dleft, standard, other;
	sums sum, addend;
	scratch folder;
	std::string file;
};

void add_table_tasks(std::vector<task> &tasks, subjects &s)
{
	tasks.push_back(
		{ "line, save", [&s] { must(!ink_save(s.table.table, s.path(), nullptr), "save"); }, {} });
	tasks.push_back({ "line, load", [&s] { ink_free(ink_load(s.path(), INK_LOAD_READ, nullptr)); }, {} });
	tasks.push_back(
		{ "line, load by mmap", [&s] { ink_free(ink_load(s.path(), INK_LOAD_MAP, nullptr)); }, {} });
}

void add_set_tasks(std::vector<task> &tasks, subjects &s)
{
	auto save = [&s](const counting &c) { must(!ink_count_save(c.set, s.path(), nullptr), "save"); };
	auto load = [&s] { ink_count_free(ink_count_load(s.path(), INK_LOAD_READ, nullptr)); };

	tasks.push_back({ "d-left counting, save", [&s, save] { save(s.dleft); }, {} });
	tasks.push_back({ "d-left counting, load", load, {} });
	tasks.push_back({ "standard counting, merge",
			  [&s] { must(!ink_count_merge(s.standard.set, s.other.set, nullptr), "merge"); },
			  {} });
	tasks.push_back({ "standard counting, save", [&s, save] { save(s.standard); }, {} });
	tasks.push_back({ "standard counting, load", load, {} });
}

void add_filter_tasks(std::vector<task> &tasks, subjects &s)
{
	tasks.push_back({ "kbf, merge",
			  [&s] { must(!ink_kbf_merge(s.sum.filter, s.addend.filter, nullptr), "merge"); },
			  {} });
	tasks.push_back(
		{ "kbf, subtract",
		  [&s] {
			  must(!ink_kbf_subtract(s.sum.filter, s.addend.filter, INK_KBF_STUCK_STAY, nullptr),
			       "subtract");
		  },
		  {} });
	tasks.push_back(
		{ "kbf, save", [&s] { must(!ink_kbf_save(s.sum.filter, s.path(), nullptr), "save"); }, {} });
	tasks.push_back({ "kbf, load",
			  [&s] { ink_kbf_free(ink_kbf_load(s.path(), s.dict, INK_LOAD_READ, nullptr)); },
			  {} });
}

} /* namespace */

void measure_whole(const settings &s, report &out, size_t n)
{
	subjects all(n);
	std::vector<task> tasks;

	add_table_tasks(tasks, all);
	add_set_tasks(tasks, all);
	add_filter_tasks(tasks, all);
	out.section("whole structures of %s items: ms, median (quartiles)", with_commas(n).c_str());
	run_in_turns(tasks, s.quick ? 3 : 7);
	print(out, tasks, n);
	measure_greedy(s, out);
}

} /* namespace bench */
