/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ink-bench: how small and fast is Inkling, compared with the alternatives?
 *
 * The question: how many operations per second and how many bits per flow do
 * Inkling's tables take, compared with exact maps (boost::unordered_flat_map,
 * absl::flat_hash_map, DPDK's rte_hash), another approximate one (rte_member
 * HT), and the limit of the memory itself (a gather of random lines)?
 *
 * The method:
 *  - thread CPU time; all competitors alternate, round after round, on the same
 *    input, which lies contiguous in memory; medians and quartiles of rounds,
 *    and of the ratios of each round;
 *  - flows are accessed in random order, unrelated to the order of insertion;
 *  - the timed loop checks every answer, for all of them;
 *  - column (i): hashes are given. Inkling gets 64-bit ids. The maps' keys are
 *    16 random bytes, of which their hash functions return the first 8 (boost
 *    has a tag that says no mixing is needed, absl does none); rte_hash takes the
 *    first 4 by its _with_hash calls. Column (ii): each hashes 16 bytes:
 *    SipHash-1-3 (keyed), boost::hash, absl::Hash, rte_hash's default (CRC);
 *  - a state is one byte in the maps, a data pointer in rte_hash, a set number
 *    in rte_member; `rte_hash array` is rte_hash in bulk with the states in an
 *    array of bytes by position, which makes modify a bulk lookup too;
 *    `absl prefetch` is absl with its prefetch() for the key 16 items ahead;
 *  - batched = in bursts of 256 for Inkling, of 64 (its maximum) for DPDK;
 *  - the maps reserve for n flows; rte_hash and rte_member are made for n;
 *  - all memory is in transparent huge pages, if the system grants them on
 *    request (madvise): the maps and DPDK by an allocator of ours, Inkling by
 *    itself. The share is printed for each. All memory has been touched before
 *    the clock starts;
 *  - boost, absl, the gather and the loops around Inkling's calls are compiled
 *    with -O3 -march=native, Inkling as it is shipped, DPDK as Debian ships it.
 *
 * The result is at the end of the output: the bars.
 */
#include "bench/sections.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <getopt.h>
#include <unistd.h>

using namespace bench;

namespace
{

const char *const USAGE = "usage: ink-bench [--quick] [--flows N]... [--only TEXT] [--ndjson FILE]\n"
			  "\n"
			  "  --quick        1,000,000 flows only, fewer rounds (under 2 minutes)\n"
			  "  --flows N      N flows instead of 1,000,000 and 16,000,000; may be repeated\n"
			  "  --only TEXT    only sections whose name contains TEXT\n"
			  "  --ndjson FILE  also write every number to FILE, one JSON object a line\n"
			  "  --list         the names of the sections\n";

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

size_t number(const char *text)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	if (*end || n < 1000 || n > 200000000) {
		fprintf(stderr, "ink-bench: --flows takes a number from 1000 to 200000000, not '%s'\n", text);
		exit(2);
	}
	return n;
}

command_line parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "quick", no_argument, nullptr, 'q' },
		{ "flows", required_argument, nullptr, 'f' },
		{ "only", required_argument, nullptr, 'o' },
		{ "ndjson", required_argument, nullptr, 'n' },
		{ "list", no_argument, nullptr, 'l' },
		{ "help", no_argument, nullptr, 'h' },
		{ nullptr, 0, nullptr, 0 },
	};
	command_line c;
	int o;

	while ((o = getopt_long(argc, argv, "", options, nullptr)) >= 0)
		switch (o) {
		case 'q':
			c.how.quick = true;
			break;
		case 'f':
			c.sizes.push_back(number(optarg));
			break;
		case 'o':
			c.only = optarg;
			break;
		case 'n':
			c.ndjson = optarg;
			break;
		case 'l':
			c.list = true;
			break;
		default:
			usage(o == 'h' ? 0 : 2);
		}
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
