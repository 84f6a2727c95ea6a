/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ink-bench: how small and fast is Inkling, compared with the alternatives?
 *
 * The question: how many operations per second and how many bits per flow do
 * Inkling's tables take, compared with exact maps (boost::unordered_flat_map,
 * absl::flat_hash_map, DPDK's rte_hash), another approximate one (rte_member
 * HT), a plain exact table of our own that needs one line of the cache for a
 * flow, and the limit of the memory itself (a gather of random lines)? By single
 * calls, in small bursts and in large ones, and in every shape?
 *
 * The method:
 *  - thread CPU time; all competitors alternate, round after round, on the same
 *    input, which lies contiguous in memory; medians and quartiles of rounds,
 *    and of the ratios of each round;
 *  - flows are accessed in random order, unrelated to the order of insertion;
 *  - the timed loop checks every answer, for all of them;
 *  - column (i): hashes are given. Inkling gets 64-bit ids. The maps' keys are
 *    16 random bytes, of which their hash functions return the first 8 (boost
 *    has a tag that says no mixing is needed, absl does none); `boost, ids` has
 *    the ids for its keys, 16 bytes an entry instead of 24; rte_hash takes the
 *    first 4 by its _with_hash calls. Column (ii): each hashes 16 bytes:
 *    SipHash-1-3 (keyed), boost::hash, absl::Hash, rte_hash's default (CRC);
 *  - a state is one byte in the maps, a data pointer in rte_hash, a set number
 *    in rte_member; `rte_hash array` is rte_hash in bulk with the states in an
 *    array of bytes by position, which makes modify a bulk lookup too;
 *    `absl prefetch` is absl with its prefetch() for the key 16 items ahead,
 *    `boost, two passes` boost with what can be prefetched of its private arrays
 *    (peer_boost.cc), `one line` our own table (peer_one_line.cc);
 *  - batched = in bursts of 256 (--burst) for Inkling and `one line`, of 64 (its
 *    maximum) for DPDK; the section `bursts` has smaller ones and single calls;
 *  - the maps reserve for n flows; rte_hash and rte_member are made for n; how
 *    full they are makes a difference (section `full`);
 *  - all memory is in transparent huge pages, if the system grants them on
 *    request (madvise): the maps and DPDK by an allocator of ours, Inkling by
 *    itself. The share is printed for each. All memory has been touched before
 *    the clock starts;
 *  - boost, absl, the gather and the loops around Inkling's calls are compiled
 *    with -O3 -march=native, Inkling as it is shipped, DPDK as Debian ships it.
 *
 * The result is at the end of the output: the bars. docs/benchmarks.md has that of
 * one machine.
 */
#include "bench/sections.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <getopt.h>
#include <sstream>
#include <unistd.h>

using namespace bench;

namespace
{

const char *const USAGE =
	"usage: ink-bench [--quick] [--flows N]... [--only TEXT] [--ndjson FILE] [--burst N]\n"
	"                 [--kinds LIST] [--errors LIST] [--states LIST] [--age-bits LIST]\n"
	"\n"
	"  --quick          1,000,000 flows only, fewer rounds (some minutes)\n"
	"  --flows N        N flows instead of 1,000,000 and 16,000,000; may be repeated\n"
	"  --only TEXT      only sections whose name contains TEXT\n"
	"  --ndjson FILE    also write every number to FILE, one JSON object a line\n"
	"  --burst N        items of a burst in what is called batched, 1 to 256 (default 256)\n"
	"  --list           the names of the sections\n"
	"\n"
	"The section 'shapes' measures every combination of these:\n"
	"  --kinds LIST     compact,line,writers (line for many writers)\n"
	"  --errors LIST    default 0.05,0.01,0.004,0.001,0.0001,0.000001\n"
	"  --states LIST    default 2,4,7,15,31\n"
	"  --age-bits LIST  default 1,2; those after the first with 15 states only\n";

struct command_line {
	settings how;
	std::vector<size_t> sizes;
	const char *only = "";
	const char *ndjson = nullptr;
	bool list = false;
};

[[noreturn]] void usage(int status)
{
	fputs(USAGE, status ? stderr : stdout);
	exit(status);
}

[[noreturn]] void refuse(const char *option, const char *expected, const std::string &text)
{
	fprintf(stderr, "ink-bench: --%s takes %s, not '%s'\n", option, expected, text.c_str());
	exit(2);
}

struct limits {
	const char *option, *expected;
	double least, most;
};

double number(const limits &l, const std::string &text)
{
	char *end;
	double n = strtod(text.c_str(), &end);

	if (text.empty() || *end || !(n >= l.least && n <= l.most))
		refuse(l.option, l.expected, text);
	return n;
}

std::vector<std::string> words_of(const char *list)
{
	std::istringstream text(list);
	std::vector<std::string> words;

	for (std::string word; std::getline(text, word, ',');)
		words.push_back(word);
	return words;
}

template <class T> std::vector<T> numbers(const limits &l, const char *list)
{
	std::vector<T> all;

	for (const std::string &word : words_of(list))
		all.push_back(T(number(l, word)));
	if (all.empty())
		refuse(l.option, l.expected, list);
	return all;
}

std::vector<variety> kinds(const char *list)
{
	std::vector<variety> all;

	for (const std::string &word : words_of(list))
		if (word == "line")
			all.push_back(variety::line);
		else if (word == "compact")
			all.push_back(variety::compact);
		else if (word == "writers")
			all.push_back(variety::line_writers);
		else
			refuse("kinds", "some of compact,line,writers", word);
	if (all.empty())
		refuse("kinds", "some of compact,line,writers", list);
	return all;
}

/* The options that select shapes. */
bool select_shapes(int option, shape_choice &s)
{
	switch (option) {
	case 'k':
		s.kinds = kinds(optarg);
		return true;
	case 'e':
		s.errors = numbers<double>({ "errors", "shares of 1e-9 to 0.5", 1e-9, .5 }, optarg);
		return true;
	case 's':
		s.states = numbers<unsigned>({ "states", "numbers from 1 to 63", 1, 63 }, optarg);
		return true;
	case 'a':
		s.age_bits = numbers<unsigned>({ "age-bits", "numbers from 0 to 2", 0, 2 }, optarg);
		return true;
	default:
		return false;
	}
}

void apply(int option, command_line &c)
{
	static const limits flows = { "flows", "a number from 1000 to 200000000", 1000, 200000000 };
	static const limits burst = { "burst", "a number from 1 to 256", 1, BURST_MOST };

	switch (option) {
	case 'q':
		c.how.quick = true;
		break;
	case 'f':
		c.sizes.push_back(size_t(number(flows, optarg)));
		break;
	case 'o':
		c.only = optarg;
		break;
	case 'n':
		c.ndjson = optarg;
		break;
	case 'b':
		c.how.burst = size_t(number(burst, optarg));
		break;
	case 'l':
		c.list = true;
		break;
	default:
		if (!select_shapes(option, c.how.shapes))
			usage(option == 'h' ? 0 : 2);
	}
}

command_line parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "quick", no_argument, nullptr, 'q' },
		{ "flows", required_argument, nullptr, 'f' },
		{ "only", required_argument, nullptr, 'o' },
		{ "ndjson", required_argument, nullptr, 'n' },
		{ "burst", required_argument, nullptr, 'b' },
		{ "list", no_argument, nullptr, 'l' },
		{ "kinds", required_argument, nullptr, 'k' },
		{ "errors", required_argument, nullptr, 'e' },
		{ "states", required_argument, nullptr, 's' },
		{ "age-bits", required_argument, nullptr, 'a' },
		{ "help", no_argument, nullptr, 'h' },
		{ nullptr, 0, nullptr, 0 },
	};
	command_line c;
	int o;

	while ((o = getopt_long(argc, argv, "", options, nullptr)) >= 0)
		apply(o, c);
	if (optind < argc)
		usage(2);
	if (c.sizes.empty())
		c.sizes = c.how.quick ? std::vector<size_t>{ 1000000 }
				      : std::vector<size_t>{ 1000000, 16000000 };
	return c;
}

/* The first line of a file that begins with `prefix`, from its colon on. */
std::string line_of(const char *path, const char *prefix)
{
	FILE *file = fopen(path, "r");
	char line[500];
	std::string found = "unknown";

	while (file && fgets(line, sizeof line, file)) {
		if (strncmp(line, prefix, strlen(prefix)))
			continue;
		const char *colon = strchr(line, ':');

		found = colon ? colon + 2 : line;
		found.erase(found.find_last_not_of('\n') + 1);
		break;
	}
	if (file)
		fclose(file);
	return found;
}

/* As the kernel knows it: 0 = L1 data, 2 = L2, 3 = L3. (sysconf is wrong in virtual machines.) */
std::string cache(unsigned index)
{
	std::string path = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size";

	return line_of(path.c_str(), "");
}

/* Thread CPU time excludes other processes, but not their effect on caches and memory. */
void warn_if_busy()
{
	double load = 0;

	if (getloadavg(&load, 1) == 1 && load > .5)
		printf("\nOthers are at work here (load %.1f): wall times (writers, latency, portions) are "
		       "worth nothing,\n"
		       "and the rest is noisy.\n",
		       load);
}

void print_head()
{
	printf("ink-bench: how fast and how small are Inkling's tables, compared with exact maps, another "
	       "approximate one,\n"
	       "and what the memory allows? Thread CPU time, everybody in turns on the same input, answers "
	       "checked.\n\n");
	printf("processor   %s, %ld cores, caches %s, %s, %s\n",
	       line_of("/proc/cpuinfo", "model name").c_str(), sysconf(_SC_NPROCESSORS_ONLN),
	       cache(0).c_str(), cache(2).c_str(), cache(3).c_str());
	printf("huge pages  %s; requested by madvise for all, share printed; touched before timing\n",
	       line_of("/sys/kernel/mm/transparent_hugepage/enabled", "").c_str());
	printf("inkling     %s\n", ink_version());
	printf("peers       boost %s, absl %s, %s\n", boost_version().c_str(), absl_version().c_str(),
	       dpdk_version().c_str());
	warn_if_busy();
	fflush(stdout);
}

struct part_of_bench {
	std::string name;
	std::function<void(report &)> run;
};

std::vector<part_of_bench> parts(const command_line &c)
{
	std::vector<part_of_bench> all;
	const settings &how = c.how;

	all.push_back({ "bits", [](report &r) { count_bits(r); } });
	all.push_back({ "ids", [&how](report &r) { measure_ids(how, r); } });
	all.push_back({ "machines", [&how](report &r) { measure_machines(how, r); } });
	all.push_back({ "packets", [&how](report &r) { measure_packets(how, r); } });
	for (size_t n : c.sizes) {
		std::string of = " " + std::to_string(n);

		all.push_back({ "given" + of, [&how, n](report &r) { compare(how, r, n, hashing::given); } });
		all.push_back({ "bursts" + of, [&how, n](report &r) { measure_bursts(how, r, n); } });
		all.push_back({ "step" + of, [&how, n](report &r) { measure_steps(how, r, n); } });
		all.push_back({ "full" + of, [&how, n](report &r) { measure_fullness(how, r, n); } });
		all.push_back({ "shapes" + of, [&how, n](report &r) { measure_shapes(how, r, n); } });
		all.push_back({ "keys" + of, [&how, n](report &r) { compare(how, r, n, hashing::own); } });
		all.push_back({ "writers" + of, [&how, n](report &r) { compare_threads(how, r, n); } });
		all.push_back({ "count" + of, [&how, n](report &r) { measure_counts(how, r, n); } });
		all.push_back({ "tick" + of, [&how, n](report &r) { measure_ticks(how, r, n); } });
	}
	all.push_back({ "filters", [&how](report &r) { compare_filters(how, r, 1000000); } });
	for (size_t n : c.sizes)
		all.push_back({ "kbf batch " + std::to_string(n),
				[&how, n](report &r) { measure_kbf_batches(how, r, n); } });
	all.push_back({ "kbf", [&how](report &r) { measure_kbf(how, r, 1000000); } });
	all.push_back({ "whole", [&how](report &r) { measure_whole(how, r, 1000000); } });
	all.push_back({ "latency", [&how](report &r) { measure_latency(how, r, 1000000); } });
	return all;
}

} /* namespace */

int main(int argc, char **argv)
{
	command_line c = parse(argc, argv);
	std::vector<part_of_bench> all = parts(c);

	if (c.list) {
		for (const part_of_bench &p : all)
			puts(p.name.c_str());
		return 0;
	}
	report r(c.ndjson);

	print_head();
	check_one_line();
	for (const part_of_bench &p : all)
		if (p.name.find(c.only) != std::string::npos)
			p.run(r);
	r.section("bars: what the project promises, and what was measured here");
	r.print_bars();
	return 0;
}
