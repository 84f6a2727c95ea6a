/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ink-bench-run: what does `inkling run tcp` cost as a whole, compared with reading
 * the file alone, with the same program over exact maps, and with a tool for
 * packet inspection?
 *
 * The capture is made by `inkling generate`: 10M packets in 1M TCP connections,
 * of which 500,000 are alive at once (--quick: a tenth of it). It lies in the
 * page cache, and is removed in the end. Each competitor is a process of its
 * own with one thread, and they alternate:
 *
 *     bare    a loop of pcap_next_ex that only counts         (bare.cc)
 *     run     inkling run tcp, as installed, time-outs and all
 *     boost   the same over boost::unordered_flat_map         (run_boost.cc)
 *     ndpi    ndpiReader -q; in the first round only: it takes minutes
 *
 * Time is the user and system time of the process, from its start to its
 * end. Rates are medians with quartiles, ratios are medians of each round's
 * ratio. Memory is the resident maximum (ru_maxrss). The counts are
 * compared: run's exact mode and boost must agree to the flow.
 *
 * The results are in docs/benchmarks.md.
 */
#include "bench/bare.h"
#include "bench/report.h"
#include "bench/run_boost.h"

#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <getopt.h>
#include <spawn.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace bench;

extern char **environ;

namespace
{

const char *const USAGE =
	"usage: ink-bench-run [--quick] [--rounds N] [--ndjson FILE]\n"
	"\n"
	"  --quick        a capture of a tenth of the size (the bars are about the whole one)\n"
	"  --rounds N     default 7\n"
	"  --ndjson FILE  also write every number to FILE, one JSON object a line\n";

using words = std::vector<std::string>;

/* ------------------------------------------------------------- a temporary folder */

volatile sig_atomic_t interrupted;

void on_interrupt(int)
{
	interrupted = 1;
}

const scratch &folder()
{
	static const scratch made;

	return made;
}

std::string capture()
{
	return folder().path("x.pcap");
}

std::string output()
{
	return folder().path("out");
}

/* --------------------------------------------------------------------- processes */

/* A path relative to the folder of this program. */
std::string beside(const char *name)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path);

	if (n <= 0)
		die("/proc is needed");
	std::string self(path, size_t(n));

	return self.substr(0, self.rfind('/') + 1) + name;
}

struct spent {
	double cpu, wall; /* seconds */
	double resident;  /* MiB, at most */
};

double seconds(const struct timeval &t)
{
	return double(t.tv_sec) + double(t.tv_usec) * 1e-6;
}

/* The process's standard output goes to output(). */
pid_t start(const words &command)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t all;
	std::vector<char *> argv;
	pid_t child;

	for (const std::string &word : command)
		argv.push_back(const_cast<char *>(word.c_str()));
	argv.push_back(nullptr);
	sigfillset(&all);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 1, output().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigdefault(&attributes, &all);
	int error = posix_spawnp(&child, argv[0], &files, &attributes, argv.data(), environ);

	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	if (error)
		die("%s: %s", argv[0], strerror(error));
	return child;
}

spent run(const words &command)
{
	double before = wall_seconds();
	pid_t child = start(command);
	struct rusage used;
	int status;

	if (wait4(child, &status, 0, &used) != child)
		die("%s: %s", command[0].c_str(), strerror(errno));
	if (interrupted)
		die("interrupted");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		die("%s failed", command[0].c_str());
	return { seconds(used.ru_utime) + seconds(used.ru_stime), wall_seconds() - before,
		 double(used.ru_maxrss) / 1024 };
}

bool is_installed(const char *name)
{
	std::istringstream path(getenv("PATH") ? getenv("PATH") : "");

	for (std::string part; std::getline(path, part, ':');)
		if (!access((part + "/" + name).c_str(), X_OK))
			return true;
	return false;
}

/* -------------------------------------------------------------- their output */

std::string printed()
{
	std::ifstream file(output());
	std::stringstream text;

	text << file.rdbuf();
	return text.str();
}

/* The text behind the first `name` in a record, up to `end`. */
std::string field(const std::string &record, const std::string &name, char end)
{
	size_t at = record.find(name);

	if (at == std::string::npos)
		die("there is no %s in: %s", name.c_str(), record.c_str());
	at += name.size();
	return record.substr(at, record.find(end, at) - at);
}

double number(const std::string &record, const std::string &name)
{
	return strtod(field(record, name, ',').c_str(), nullptr);
}

/* ------------------------------------------------------------------ competitors */

class competitor
{
public:
	/* `prints`: its output is a record with a table and counts. `rounds`: the number of its rounds. */
	competitor(const char *name, words command, bool prints, unsigned rounds)
	    : name(name), command(std::move(command)), prints(prints), rounds(rounds)
	{
	}

	void take_turn(double packets)
	{
		spent s = run(command);

		last = packets / s.cpu * 1e-6;
		rate.add(last);
		wall.add(packets / s.wall * 1e-6);
		resident.add(s.resident);
		if (!prints)
			return;
		record = printed();
		table = number(record, "\"table\":{\"bytes\":") / (1 << 20);
		if (number(record, "\"packets\":") < packets)
			die("%s has not seen all packets", name);
	}

	const char *name;
	words command;
	bool prints;
	unsigned rounds;
	double last = NAN;  /* the rate in the round that was last */
	samples rate, wall; /* million packets per second */
	samples ratio;      /* of run to this one */
	samples resident;   /* MiB */
	double table = NAN; /* MiB */
	std::string record;
};

enum { BARE, RUN, BOOST, NDPI };

std::vector<competitor> competitors(uint64_t flows, unsigned rounds)
{
	std::string n = std::to_string(flows), self = beside("ink-bench-run"), tool = beside("../inkling");
	unsigned once = is_installed("ndpiReader");

	return { { "pcap_next_ex alone", { self, "bare", capture() }, false, rounds },
		 { "inkling run tcp",
		   { tool, "run", "tcp", "-r", capture(), "--flows", n, "-q", "-o", "-" },
		   true,
		   rounds },
		 { "the same over boost", { self, "boost", capture() }, true, rounds },
		 { "ndpiReader -q", { "ndpiReader", "-q", "-i", capture() }, false, once } };
}

/* The capture, and how many packets it has. */
double generate(uint64_t flows)
{
	std::string n = std::to_string(flows), half = std::to_string(flows / 2);

	run({ beside("../inkling"), "generate", "-w", capture(), "-t", "-", "--flows", n, "--concurrent",
	      half, "--data", "5", "--payload", "20" });
	return number(printed(), "\"frames\": ");
}

/* Both are exact, so they must agree. */
void check_counts(const competitor &run_tcp, const competitor &boost)
{
	words exact = run_tcp.command;

	exact.insert(exact.end(), { "--kind", "exact" });
	run(exact);
	if (field(printed(), "\"counts\":{", '}') != field(boost.record, "\"counts\":{", '}'))
		die("boost has counted otherwise than inkling run --kind exact");
}

void all_rounds(std::vector<competitor> &all, unsigned rounds, double packets)
{
	for (unsigned r = 0; r < rounds; r++) {
		for (competitor &c : all)
			if (r < c.rounds)
				c.take_turn(packets);
		for (competitor &c : all)
			if (r < c.rounds)
				c.ratio.add(all[RUN].last / c.last);
	}
}

/* -------------------------------------------------------------------------- output */

std::string mebibytes(double value)
{
	char text[32] = "-";

	if (!std::isnan(value))
		snprintf(text, sizeof text, "%.1f", value);
	return text;
}

void print(const std::vector<competitor> &all)
{
	printf("%-20s %-20s %-20s %-20s %9s %9s\n", "", "M packets/s, CPU", "M packets/s, wall",
	       "run is so many times", "table MiB", "resident");
	for (const competitor &c : all)
		printf("%-20s %-20s %-20s %-20s %9s %9s\n", c.name, cell(c.rate, "%.2f (%.2f-%.2f)").c_str(),
		       cell(c.wall, "%.2f (%.2f-%.2f)").c_str(), cell(c.ratio, "%.2f (%.2f-%.2f)").c_str(),
		       mebibytes(c.table).c_str(),
		       c.resident.empty() ? "-" : mebibytes(c.resident.quantile(1)).c_str());
	if (all[NDPI].rate.empty())
		printf("ndpiReader is not installed (libndpi-bin).\n");
	printf("Of boost's time %.0f %% are its ticks.\n", 100 * number(all[BOOST].record, "\"sweeping\":") *
								   all[BOOST].last * 1e6 /
								   number(all[BOOST].record, "\"packets\":"));
}

void record(report &out, const std::vector<competitor> &all, size_t flows)
{
	for (const competitor &c : all) {
		const where w = { "run", flows, c.name };

		out.record(w, "rate", "M/s", c.rate);
		out.record(w, "wall", "M/s", c.wall);
		out.record(w, "run beside it", "x", c.ratio);
		out.record(w, "resident", "MiB", c.resident);
		if (c.prints)
			out.record(w, "table", "MiB", c.table);
	}
}

double ratio_to(const competitor &c)
{
	return c.ratio.empty() ? NAN : c.ratio.median();
}

void add_bars(report &out, const std::vector<competitor> &all)
{
	const competitor &r = all[RUN];
	using bar = report::bar;

	out.add({ "run beside pcap_next_ex alone, packets/s", ratio_to(all[BARE]), .5, bar::at_least, "x" });
	out.add({ "run beside the same over boost, packets/s", ratio_to(all[BOOST]), 1.5, bar::at_least,
		  "x" });
	out.add({ "boost's table beside run's, bytes", all[BOOST].table / r.table, 8, bar::at_least, "x" });
	out.add({ "run's resident memory, its table apart", r.resident.quantile(1) - r.table, 16,
		  bar::at_most, "MiB" });
	out.add({ "run beside ndpiReader -q, packets/s", ratio_to(all[NDPI]), 10, bar::at_least, "x" });
}

int compare(uint64_t flows, unsigned rounds, const char *ndjson)
{
	report out(ndjson);

	signal(SIGINT, on_interrupt); /* the running process gets it, too, and may end successfully */
	double packets = generate(flows);
	std::vector<competitor> all = competitors(flows, rounds);

	out.section("run: what do all of a packet's costs come to? %s packets, %s flows, %u rounds",
		    with_commas(uint64_t(packets)).c_str(), with_commas(flows).c_str(), rounds);
	all_rounds(all, rounds, packets);
	check_counts(all[RUN], all[BOOST]);
	print(all);
	record(out, all, flows);
	add_bars(out, all);
	out.section("bars: what the project promises, and what was measured here");
	out.print_bars();
	return 0;
}

/* ---------------------------------------------------------------- the command line */

unsigned rounds_of(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || n < 1 || n > 1000) {
		fprintf(stderr, "ink-bench-run: --rounds takes a number from 1 to 1000, not '%s'\n", text);
		exit(2);
	}
	return unsigned(n);
}

[[noreturn]] void usage(int status)
{
	fputs(USAGE, status ? stderr : stdout);
	exit(status);
}

/* One competitor: 'bare FILE', 'boost FILE'. */
bool takes_part(int argc, char **argv)
{
	if (argc != 3)
		return false;
	if (!strcmp(argv[1], "bare"))
		printf("%llu\n", (unsigned long long)read_bare(argv[2]));
	else if (!strcmp(argv[1], "boost"))
		run_boost(argv[2]);
	else
		return false;
	return true;
}

} /* namespace */

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "quick", no_argument, nullptr, 'q' },
		{ "rounds", required_argument, nullptr, 'r' },
		{ "ndjson", required_argument, nullptr, 'n' },
		{ "help", no_argument, nullptr, 'h' },
		{ nullptr, 0, nullptr, 0 },
	};
	uint64_t flows = 1000000;
	unsigned rounds = 7;
	const char *ndjson = nullptr;
	int o;

	if (takes_part(argc, argv))
		return 0;
	while ((o = getopt_long(argc, argv, "", options, nullptr)) >= 0)
		if (o == 'q')
			flows = 100000;
		else if (o == 'r')
			rounds = rounds_of(optarg);
		else if (o == 'n')
			ndjson = optarg;
		else
			usage(o == 'h' ? 0 : 2);
	if (optind < argc)
		usage(2);
	return compare(flows, rounds, ndjson);
}
