/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling generate: a capture of traffic that never was, and the truth about it. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <inkling/packet.h>

#include "cli.h"
#include "traffic.h"

static const char help[] =
	"usage: inkling generate -w FILE [-t FILE] [OPTIONS]\n"
	"\n"
	"Writes a capture of synthetic traffic, and the truth about it. The same options\n"
	"and seed give the same bytes. Counts are 0 where not given; if no count is\n"
	"given, there are 1000 connections.\n"
	"\n"
	"  -w FILE           the capture: pcap with nanoseconds; - = standard output\n"
	"  -t FILE           the truth, as JSON; - = standard output\n"
	"  -s BYTES          keep that much of each frame (default all)\n"
	"\n"
	"  --flows N         TCP connections\n"
	"  --established N   connections that open in the first tenth and stay open\n"
	"  --udp N           UDP flows of requests and answers\n"
	"  --scans N         sources that scan, each with --targets N SYNs (default 100)\n"
	"  --odd N           single segments with flags that cannot be\n"
	"  --flood N         SYNs, each from another spoofed source\n"
	"  --p2p N           pairs of hosts with TCP and UDP at the same time\n"
	"  --video N         streams of MPEG-2 video\n"
	"\n"
	"Of the flows, these shares (0.1 or 10%); the others open and end as they should:\n"
	"  --half-open P     answered, then nothing                      (default 2%)\n"
	"  --unanswered P    SYN, again after a second, then nothing     (default 5%)\n"
	"  --refused P       answered by RST                             (default 3%)\n"
	"  --reset P         opened, ended by RST                        (default 5%)\n"
	"  --cut P           opened, FIN answered by RST                 (default 2%)\n"
	"  --unfinished P    opened, without an end                      (default 3%)\n"
	"  --strangers P     opened before the capture: no SYN, SYN+ACK  (default 0)\n"
	"  --reused P        once more with the same ports, after it all (default 1%)\n"
	"\n"
	"  --concurrent N    of the flows, alive at once (default a tenth)\n"
	"  --data N          segments with data in a connection (default 4)\n"
	"  --payload BYTES   in each (default 100)\n"
	"  --ipv6 P          share of IPv6 (default 10%)\n"
	"  --rtt TIME        round trip (default 50ms)\n"
	"  --duration TIME   of the capture (default 60s)\n"
	"  --flood-start TIME, --flood-time TIME   when it begins, how long it lasts (default: all the "
	"time)\n"
	"  --flood-answers P share of the flood that the victim answers (default 0)\n"
	"  --video-as F      rtp, ts or es: RFC 2250, transport stream, bare (default rtp)\n"
	"  --seed N          a number from 1 on (default 1)\n"
	"\n"
	"example: inkling generate -w x.pcap -t x.json --flows 1M --concurrent 500k\n";

struct wish {
	struct sim_traffic_options traffic;
	const char *capture, *truth;
};

/* ---------------------------------------------------------------------- options */

enum how { COUNT, NUMBER, PART, TIME, FORMAT };

/* Where an option's value goes, and how it is written. */
struct target {
	const char *name;
	enum how how;
	size_t at;
};

#define AT(field) offsetof(struct sim_traffic_options, field)

static const struct target targets[] = {
	{"flows", COUNT, AT(flows)},
	{"established", COUNT, AT(established)},
	{"udp", COUNT, AT(udp)},
	{"scans", COUNT, AT(scans)},
	{"targets", COUNT, AT(targets)},
	{"odd", COUNT, AT(odd)},
	{"flood", COUNT, AT(flood)},
	{"p2p", COUNT, AT(pairs)},
	{"video", COUNT, AT(streams)},
	{"half-open", PART, AT(half_open)},
	{"unanswered", PART, AT(unanswered)},
	{"refused", PART, AT(refused)},
	{"reset", PART, AT(reset)},
	{"cut", PART, AT(cut)},
	{"unfinished", PART, AT(unfinished)},
	{"strangers", PART, AT(strangers)},
	{"reused", PART, AT(reused)},
	{"concurrent", COUNT, AT(concurrent)},
	{"data", COUNT, AT(data)},
	{"payload", COUNT, AT(payload)},
	{"ipv6", PART, AT(ipv6)},
	{"rtt", TIME, AT(rtt)},
	{"duration", TIME, AT(duration)},
	{"flood-start", TIME, AT(flood_start)},
	{"flood-time", TIME, AT(flood_duration)},
	{"flood-answers", PART, AT(flood_answers)},
	{"video-as", FORMAT, AT(format)},
	{"seed", NUMBER, AT(seed)},
};

enum { TARGETS = sizeof targets / sizeof targets[0], FIRST_LONG = 256 };

static int format_of(const char *text, enum sim_video_format *format)
{
	static const char *const names[] = {
		[SIM_VIDEO_RTP] = "rtp", [SIM_VIDEO_TS] = "ts", [SIM_VIDEO_ES] = "es"};

	for (unsigned i = SIM_VIDEO_RTP; i <= SIM_VIDEO_ES; i++)
		if (!strcmp(text, names[i])) {
			*format = (enum sim_video_format)i;
			return 0;
		}
	return -EINVAL;
}

static int take(const struct target *target, const char *text, struct sim_traffic_options *o)
{
	void *field = (char *)o + target->at;

	switch (target->how) {
	case COUNT:
		return cli_count(text, field);
	case NUMBER:
		return cli_number(text, field);
	case PART:
		return cli_part(text, field);
	case TIME:
		return cli_time(text, field);
	default:
		return format_of(text, field);
	}
}

/* As getopt_long wants them. */
static void list_options(struct option options[TARGETS + 2])
{
	memset(options, 0, (TARGETS + 2) * sizeof *options);
	for (int i = 0; i < TARGETS; i++)
		options[i] = (struct option){targets[i].name, required_argument, NULL, FIRST_LONG + i};
	options[TARGETS] = (struct option){"help", no_argument, NULL, 'h'};
}

static int take_option(int option, const char *text, struct wish *w)
{
	if (option == 'w')
		w->capture = text;
	else if (option == 't')
		w->truth = text;
	else if (option == 's')
		return cli_number(text, &w->traffic.snaplen);
	else
		return take(&targets[option - FIRST_LONG], text, &w->traffic);
	return 0;
}

static const char *name_of(int option)
{
	static char letter[2];

	if (option >= FIRST_LONG)
		return targets[option - FIRST_LONG].name;
	letter[0] = (char)option;
	return letter;
}

/* What its value looks like. */
static const char *value_of(int option)
{
	static const char *const values[] = {[COUNT] = "a number",
					     [NUMBER] = "a number from 1 on",
					     [PART] = "a share, as 0.1 or 10%",
					     [TIME] = "a time, as 50ms, 60s or 2min",
					     [FORMAT] = "rtp, ts or es"};

	return values[option >= FIRST_LONG ? targets[option - FIRST_LONG].how : NUMBER];
}

static int check(const struct wish *w)
{
	const char *wrong = sim_traffic_wrong(&w->traffic);

	if (!w->capture)
		return cli_usage(&cli_generate, "where to? (-w FILE)");
	if (w->truth && !strcmp(w->capture, "-") && !strcmp(w->truth, "-"))
		return cli_usage(&cli_generate, "capture and truth cannot both go to standard output");
	return wrong ? cli_usage(&cli_generate, "%s", wrong) : CLI_DONE;
}

static void default_counts(struct sim_traffic_options *o)
{
	if (!(o->flows | o->established | o->udp | o->scans | o->odd | o->flood | o->pairs | o->streams))
		o->flows = 1000;
}

static int parse(int argc, char **argv, struct wish *w)
{
	struct option options[TARGETS + 2];
	int option;

	list_options(options);
	opterr = 0;
	while ((option = getopt_long(argc, argv, ":w:t:s:h", options, NULL)) != -1) {
		if (option == 'h')
			return fputs(help, stdout), CLI_HELPED;
		if (option == '?' || option == ':')
			return cli_bad_option(&cli_generate, option, argv);
		if (take_option(option, optarg, w))
			return cli_usage(&cli_generate, "%s%s %s: that is no value for it (%s)",
					 option >= FIRST_LONG ? "--" : "-", name_of(option), optarg,
					 value_of(option));
	}
	if (optind < argc)
		return cli_usage(&cli_generate, "'%s' is too much", argv[optind]);
	default_counts(&w->traffic);
	return check(w);
}

/* ---------------------------------------------------------------------- the work */

static void progress(double done)
{
	cli_progress("generating", done < 1 ? done : 1);
}

static int write_truth(const struct wish *w, const struct sim_truth *truth)
{
	FILE *to = strcmp(w->truth, "-") ? fopen(w->truth, "w") : stdout;

	if (!to)
		return cli_failed("%s: %s", w->truth, strerror(errno));
	sim_truth_write(truth, w->capture, to);
	return cli_close(to, w->truth);
}

/* Not where the capture or the truth goes. */
static void show(const struct wish *w, const struct sim_truth *truth)
{
	int busy = !strcmp(w->capture, "-") || (w->truth && !strcmp(w->truth, "-"));

	fprintf(busy ? stderr : stdout,
		"%s: %" PRIu64 " packet%s, %" PRIu64 " TCP and %" PRIu64 " UDP flow%s, at most %" PRIu64
		" at once\n",
		w->capture, truth->frames, cli_plural(truth->frames), truth->tcp.flows, truth->udp_flows,
		cli_plural(truth->udp_flows), truth->alive_at_once);
}

static int generate(const struct wish *w, struct sim_truth *truth)
{
	struct ink_why why = {""};
	struct ink_dump *dump = ink_dump_open(w->capture, INK_LINK_ETHERNET, &why);
	int error, closed;

	if (!dump)
		return cli_failed("%s", why.text);
	error = sim_traffic(&w->traffic, dump, truth, progress);
	cli_progress_end();
	closed = ink_dump_close(dump, &why);
	if (closed)
		return cli_failed("%s", why.text);
	return error ? cli_failed("%s: %s", w->capture, strerror(-error)) : CLI_DONE;
}

static int run(int argc, char **argv)
{
	struct wish w = {.traffic = {.seed = 1,
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
	int error = parse(argc, argv, &w);

	if (error)
		return error == CLI_HELPED ? CLI_DONE : error;
	error = generate(&w, &truth);
	if (!error && cli_same_file(w.capture, w.truth))
		error = cli_failed("%s: is the capture, and the truth would overwrite it", w.truth);
	if (!error && w.truth)
		error = write_truth(&w, &truth);
	if (!error)
		show(&w, &truth);
	return error;
}

const struct cli_command cli_generate = {
	"generate", "writes a capture of synthetic traffic, and the truth about it", help, run};
