/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling generate: a capture of synthetic traffic, and the truth about it. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <inkling/packet.h>

#include "cli/cli.h"
#include "sim/frame.h"
#include "sim/text.h"
#include "sim/traffic.h"

static const char help[] = "usage: inkling generate -w FILE [-t FILE] [OPTIONS]\n"
			   "\n"
			   "Writes a capture of synthetic traffic, and the truth about it. The same options\n"
			   "and seed give the same bytes. Counts default to 0. Without any count, there are\n"
			   "1000 connections. An option for traffic that was not requested is an error.\n"
			   "\n"
			   "  -w FILE           the capture: pcap with nanoseconds; - = standard output\n"
			   "  -t FILE           the truth, as JSON; - = standard output\n"
			   "  -s BYTES          keep so many bytes of each frame (default all)\n"
			   "\n"
			   "  --flows N         TCP connections\n"
			   "  --established N   connections that open in the first tenth and stay open\n"
			   "  --udp N           UDP flows of requests and answers\n"
			   "  --scans N         sources that scan, each with --targets N SYNs (default 100)\n"
			   "  --odd N           single segments with illegal flags\n"
			   "  --flood N         SYNs, each from another spoofed source\n"
			   "  --p2p N           pairs of hosts with TCP and UDP at the same time\n"
			   "  --video N         streams of MPEG-2 video\n"
			   "\n"
			   "Shares of the flows (0.1 or 10%); the others open and end normally:\n"
			   "  --half-open P     SYN answered, then nothing                  (default 2%)\n"
			   "  --unanswered P    SYN, again after a second, then nothing     (default 5%)\n"
			   "  --refused P       answered by RST                             (default 3%)\n"
			   "  --reset P         opened, ended by RST                        (default 5%)\n"
			   "  --cut P           opened, FIN answered by RST                 (default 2%)\n"
			   "  --unfinished P    opened, without an end                      (default 3%)\n"
			   "  --strangers P     opened before the capture: no SYN, SYN+ACK  (default 0)\n"
			   "  --reused P        again with the same ports, at the end       (default 1%)\n"
			   "\n"
			   "  --concurrent N    flows alive at once (default a tenth of them)\n"
			   "  --data N          segments with data in a connection (default 4)\n"
			   "  --payload BYTES   in each (default 100)\n"
			   "  --ipv6 P          share of IPv6 (default 10%)\n"
			   "  --rtt TIME        round trip (default 50ms)\n"
			   "  --duration TIME   of the capture (default 60s)\n"
			   "  --flood-start TIME, --flood-time TIME\n"
			   "                    when it starts, how long it lasts (default: all the time)\n"
			   "  --flood-answers P share of the flood that the victim answers (default 0)\n"
			   "  --video-as F      rtp (RFC 2250; default), ts (transport stream) or es (bare)\n"
			   "  --seed N          a number from 1 on (default 1)\n"
			   "\n"
			   "example: inkling generate -w x.pcap -t x.json --flows 1M --concurrent 500k\n";

struct request {
	struct sim_traffic_options traffic;
	const char *capture, *truth;
};

/* ---------------------------------------------------------------------- options */

static const char *const formats[] = {"rtp", "ts", "es", NULL};

_Static_assert(SIM_VIDEO_RTP == 0 && SIM_VIDEO_TS == 1 && SIM_VIDEO_ES == 2, "the order of the names");

#define AT(field) offsetof(struct request, traffic.field)
#define COUNT(field, limit) .how = CLI_NUMBER, .at = AT(field), .most = limit
#define PART(field) .how = CLI_PART, .at = AT(field)
#define TIME(field) .how = CLI_TIME, .at = AT(field)

static const struct cli_option options[] = {
	{.name = "w",
	 .how = CLI_WORD,
	 .at = offsetof(struct request, capture),
	 .longer = " write output file "},
	{.name = "t", .how = CLI_WORD, .at = offsetof(struct request, truth), .longer = " truth "},
	{.name = "s",
	 .how = CLI_NUMBER,
	 .at = AT(snaplen),
	 .least = 1,
	 .longer = " snaplen snapshot-length "},
	{.name = "flows", COUNT(flows, SIM_FLOWS_MOST)},
	{.name = "established", COUNT(established, SIM_FLOWS_MOST)},
	{.name = "udp", COUNT(udp, SIM_FLOWS_MOST)},
	{.name = "scans", COUNT(scans, SIM_SCANS_MOST)},
	{.name = "targets", .how = CLI_NUMBER, .at = AT(targets), .least = 1, .most = SIM_TARGETS_MOST},
	{.name = "odd", COUNT(odd, SIM_FLOWS_MOST)},
	{.name = "flood", COUNT(flood, SIM_FLOOD_MOST)},
	{.name = "p2p", COUNT(pairs, SIM_PAIRS_MOST)},
	{.name = "video", COUNT(streams, SIM_STREAMS_MOST)},
	{.name = "half-open", PART(half_open)},
	{.name = "unanswered", PART(unanswered)},
	{.name = "refused", PART(refused)},
	{.name = "reset", PART(reset)},
	{.name = "cut", PART(cut)},
	{.name = "unfinished", PART(unfinished)},
	{.name = "strangers", PART(strangers)},
	{.name = "reused", PART(reused)},
	{.name = "concurrent", .how = CLI_NUMBER, .at = AT(concurrent), .least = 1},
	{.name = "data", COUNT(data, SIM_DATA_MOST)},
	{.name = "payload", COUNT(payload, SIM_PAYLOAD_MOST)},
	{.name = "ipv6", PART(ipv6)},
	{.name = "rtt", TIME(rtt)},
	{.name = "duration", TIME(duration)},
	{.name = "flood-start", TIME(flood_start)},
	{.name = "flood-time", TIME(flood_duration)},
	{.name = "flood-answers", PART(flood_answers)},
	{.name = "video-as", .how = CLI_CHOICE, .at = AT(format), .words = formats, .least = SIM_VIDEO_RTP},
	{.name = "seed", .how = CLI_NUMBER, .at = AT(seed), .least = 1},
};

enum { OPTIONS = sizeof options / sizeof options[0] };

_Static_assert((int)OPTIONS <= (int)CLI_OPTIONS_MOST, "cli_line has room for all options");

/* ----------------------------------------------------------------- their purposes */

enum { FLOWS = 1, ESTABLISHED = 2, UDP = 4, SCANS = 8, FLOOD = 16, PAIRS = 32, VIDEO = 64, ANSWERED = 128 };

static unsigned requested_traffic(const struct sim_traffic_options *o)
{
	return (o->flows ? FLOWS : 0u) | (o->established ? ESTABLISHED : 0u) | (o->udp ? UDP : 0u) |
	       (o->scans ? SCANS : 0u) | (o->flood ? FLOOD : 0u) | (o->pairs ? PAIRS : 0u) |
	       (o->streams ? VIDEO : 0u) | (o->flood && o->flood_answers > 0 ? ANSWERED : 0u);
}

/* Options that apply to some kinds of traffic only. */
static const struct purpose {
	const char *option;
	unsigned traffic;
	const char *names;
} purposes[] = {
	{"targets", SCANS, "--scans"},
	{"half-open", FLOWS, "--flows"},
	{"unanswered", FLOWS, "--flows"},
	{"refused", FLOWS, "--flows"},
	{"reset", FLOWS, "--flows"},
	{"cut", FLOWS, "--flows"},
	{"unfinished", FLOWS, "--flows"},
	{"strangers", FLOWS, "--flows"},
	{"reused", FLOWS, "--flows"},
	{"concurrent", FLOWS, "--flows"},
	{"data", FLOWS | ESTABLISHED | UDP | PAIRS, "--flows, --established, --udp or --p2p"},
	{"payload", FLOWS | ESTABLISHED | UDP | PAIRS, "--flows, --established, --udp or --p2p"},
	{"ipv6", FLOWS | ESTABLISHED | UDP | PAIRS, "--flows, --established, --udp or --p2p"},
	{"rtt", FLOWS | ESTABLISHED | UDP | SCANS | PAIRS | ANSWERED,
	 "--flows, --established, --udp, --scans, --p2p or --flood-answers"},
	{"flood-start", FLOOD, "--flood"},
	{"flood-time", FLOOD, "--flood"},
	{"flood-answers", FLOOD, "--flood"},
	{"video-as", VIDEO, "--video"},
};

/* An option without effect is a mistake on the command line. */
static int check_purposes(const struct cli_line *line, const struct sim_traffic_options *o)
{
	unsigned traffic = requested_traffic(o);

	for (unsigned i = 0; i < sizeof purposes / sizeof purposes[0]; i++)
		if (cli_given(line, purposes[i].option) && !(traffic & purposes[i].traffic))
			return cli_usage(&cli_generate, "--%s has no effect without %s", purposes[i].option,
					 purposes[i].names);
	if (cli_given(line, "payload") && !o->data && !(traffic & (UDP | PAIRS)))
		return cli_usage(&cli_generate, "--payload has no effect with --data 0");
	return CLI_DONE;
}

static int check(const struct request *r)
{
	const char *wrong = sim_traffic_wrong(&r->traffic);

	if (!r->capture)
		return cli_usage(&cli_generate, "no output file (-w FILE)");
	if (r->truth && !strcmp(r->capture, "-") && !strcmp(r->truth, "-"))
		return cli_usage(&cli_generate, "-w - and -t - cannot both be standard output");
	return wrong ? cli_usage(&cli_generate, "%s", wrong) : CLI_DONE;
}

/* Only if no count is given at all: an explicit 0 means 0. */
static void default_counts(const struct cli_line *line, struct sim_traffic_options *o)
{
	static const char *const counts[] = {"flows", "established", "udp", "scans",
					     "odd",   "flood",       "p2p", "video"};

	for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++)
		if (cli_given(line, counts[i]))
			return;
	o->flows = 1000;
}

static int parse(int argc, char **argv, struct request *r)
{
	struct cli_line line = {&cli_generate, options, OPTIONS, r, {NULL}};
	int error = cli_options(&line, argc, argv);

	if (!error && !r->capture && optind < argc)
		return cli_usage(&cli_generate, "no output file; did you mean '-w %s'?", argv[optind]);
	if (!error)
		error = cli_nothing_more(&line, argc, argv);
	default_counts(&line, &r->traffic);
	if (!error)
		error = check_purposes(&line, &r->traffic);
	return error ? error : check(r);
}

/* ---------------------------------------------------------------------- the work */

static void progress(double done)
{
	cli_progress("generating", done < 1 ? done : 1);
}

struct truth_file {
	FILE *to;
	int is_new;
};

/* Before the work, which takes long: a wrong path fails at once. Appending keeps an old file intact until then. */
static int open_truth(const struct request *r, struct truth_file *file)
{
	if (!r->truth)
		return CLI_DONE;
	file->is_new = strcmp(r->truth, "-") && access(r->truth, F_OK);
	file->to = strcmp(r->truth, "-") ? fopen(r->truth, "a") : stdout;
	return file->to ? CLI_DONE : cli_failed("%s: %s", r->truth, strerror(errno));
}

/* Drops the old content; a pipe or a device has none. */
static int write_truth(const struct request *r, const struct sim_truth *truth, FILE *to)
{
	if (to != stdout && ftruncate(fileno(to), 0) && errno != EINVAL)
		return cli_failed("%s: %s", r->truth, strerror(errno));
	sim_truth_write(truth, r->capture, to);
	return CLI_DONE;
}

/* To standard error if the capture or the truth goes to standard output. */
static void show(const struct request *r, const struct sim_truth *truth)
{
	int busy = !strcmp(r->capture, "-") || (r->truth && !strcmp(r->truth, "-"));
	FILE *to = busy ? stderr : stdout;

	sim_put_visible(r->capture, to);
	fprintf(to,
		": %" PRIu64 " packet%s, %" PRIu64 " TCP and %" PRIu64 " UDP flow%s, at most %" PRIu64
		" at once\n",
		truth->frames, cli_plural(truth->frames), truth->tcp.flows, truth->udp_flows,
		cli_plural(truth->udp_flows), truth->alive_at_once);
}

/* Before the capture is opened, which empties it. The truth exists by now, and links to it show. */
static int check_outputs(const struct request *r)
{
	struct cli_file capture = {r->capture, STDOUT_FILENO}, truth = {r->truth, STDOUT_FILENO};

	if (cli_same_file(capture, truth))
		return cli_failed("%s: -w and -t name the same file", r->capture);
	return CLI_DONE;
}

static int generate(const struct request *r, struct sim_truth *truth)
{
	struct ink_why why = {""};
	struct ink_dump *dump = ink_dump_open(r->capture, INK_LINK_ETHERNET, &why);
	int error, closed;

	if (!dump)
		return cli_failed("%s", why.text);
	error = sim_traffic(&r->traffic, dump, truth, progress);
	cli_progress_end();
	closed = ink_dump_close(dump, &why);
	if (closed)
		return cli_failed("%s", why.text);
	return error ? cli_failed("%s: %s", r->capture, strerror(-error)) : CLI_DONE;
}

static int run(int argc, char **argv)
{
	struct request r = {.traffic = {.seed = 1,
					.half_open = .02,
					.unanswered = .05,
					.refused = .03,
					.reset = .05,
					.cut = .02,
					.unfinished = .03,
					.reused = .01,
					.targets = 100,
					.data = 4,
					.payload = 100,
					.ipv6 = .1,
					.rtt = 50000000,
					.duration = 60000000000}};
	struct sim_truth truth;
	struct truth_file file = {NULL, 0};
	int error = parse(argc, argv, &r);

	if (!error)
		error = open_truth(&r, &file);
	if (!error)
		error = check_outputs(&r);
	if (!error)
		error = generate(&r, &truth);
	if (!error && file.to)
		error = write_truth(&r, &truth, file.to);
	if (file.to && cli_close(file.to, r.truth))
		error = CLI_FAILED;
	if (error && file.is_new)
		unlink(r.truth);
	if (!error)
		show(&r, &truth);
	return error;
}

const struct cli_command cli_generate = {
	"generate", "writes a capture of synthetic traffic, and the truth about it", help, run};
