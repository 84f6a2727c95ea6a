/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inkling generate: a capture of synthetic traffic, and the truth about it; or of scenes, and labels for their hosts.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <inkling/packet.h>

#include "base/suggest.h"
#include "cli/cli.h"
#include "sim/frame.h"
#include "sim/scenes.h"
#include "sim/text.h"
#include "sim/traffic.h"

static const char help[] =
	"usage: inkling generate -w FILE [-t FILE] [OPTIONS]\n"
	"       inkling generate -w FILE --scene NAME[,NAME...] [--labels FILE] [OPTIONS]\n"
	"       inkling generate --list-scenes\n"
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
	"  --flood N         of --flood-as, each from another spoofed source\n"
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
	"  --flood-as KIND   syn (default); ack (SYN and a blind ACK); handshake (SYN,\n"
	"                    SYN+ACK, ACK, and then nothing); rst\n"
	"  --flood-start TIME, --flood-time TIME\n"
	"                    when it starts, how long it lasts (default: all the time)\n"
	"  --flood-answers P share of SYNs that the victim answers with SYN+ACK, and of\n"
	"                    blind ACKs with RST (default 0)\n"
	"  --video-as F      rtp (RFC 2250; default), ts (transport stream) or es (bare)\n"
	"  --seed N          a number from 1 on (default 1)\n"
	"\n"
	"Scenes, instead of the traffic above: hosts of which it is known what a\n"
	"detection should say (docs/scenes.md). They also take -s, --ipv6, --seed,\n"
	"--rtt (the mean; at most 500ms) and --duration (no contact begins later).\n"
	"  --scene NAMES     such as browsers,scan-slow; benign, hostile or all\n"
	"  --list-scenes     prints the scenes with their defaults, and ends\n"
	"  --labels FILE     NDJSON, a line for each host; - = standard output\n"
	"  --hosts N         of each scene, at most 50k (default: the scene's)\n"
	"  --contacts N      of each host, at most 60k (default: the scene's); 20M in a\n"
	"                    scene, with at most 32 packets each\n"
	"  --failures P      a benign host's doors that fail: up to 10%  (default 5%)\n"
	"  --success P       a scanner's doors that answer: up to 20%    (default 10%)\n"
	"  --shared-hosts    host i has the same address in all scenes\n"
	"\n"
	"examples: inkling generate -w x.pcap -t x.json --flows 1M --concurrent 500k\n"
	"          inkling generate -w x.pcap --scene mail,scan-slow --labels x.labels\n";

struct request {
	struct sim_traffic_options traffic;
	struct sim_scenes_options scenes;
	const char *capture, *truth, *labels, *names;
	int list;
};

/* ---------------------------------------------------------------------- options */

static const char *const formats[] = {"rtp", "ts", "es", NULL};
static const char *const floods[] = {"syn", "ack", "handshake", "rst", NULL};

_Static_assert(SIM_VIDEO_RTP == 0 && SIM_VIDEO_TS == 1 && SIM_VIDEO_ES == 2, "the order of the names");
_Static_assert(SIM_FLOOD_SYN == 0 && SIM_FLOOD_ACK == 1 && SIM_FLOOD_HANDSHAKE == 2 && SIM_FLOOD_RST == 3,
	       "the order of the names");

#define AT(field) offsetof(struct request, traffic.field)
#define IN(field) offsetof(struct request, scenes.field)
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
	{.name = "flood-as",
	 .how = CLI_CHOICE,
	 .at = AT(flood_kind),
	 .words = floods,
	 .least = SIM_FLOOD_SYN},
	{.name = "flood-start", TIME(flood_start)},
	{.name = "flood-time", TIME(flood_duration)},
	{.name = "flood-answers", PART(flood_answers)},
	{.name = "video-as", .how = CLI_CHOICE, .at = AT(format), .words = formats, .least = SIM_VIDEO_RTP},
	{.name = "seed", .how = CLI_NUMBER, .at = AT(seed), .least = 1},
	{.name = "scene", .how = CLI_WORD, .at = offsetof(struct request, names)},
	{.name = "list-scenes", .how = CLI_FLAG, .at = offsetof(struct request, list)},
	{.name = "labels", .how = CLI_WORD, .at = offsetof(struct request, labels)},
	{.name = "hosts", .how = CLI_NUMBER, .at = IN(hosts), .least = 1, .most = SIM_SCENE_HOSTS_MOST},
	{.name = "contacts", .how = CLI_NUMBER, .at = IN(contacts), .least = 1, .most = SIM_CONTACTS_MOST},
	{.name = "failures", .how = CLI_PART, .at = IN(failures)},
	{.name = "success", .how = CLI_PART, .at = IN(success)},
	{.name = "shared-hosts", .how = CLI_FLAG, .at = IN(shared_hosts)},
};

enum { OPTIONS = sizeof options / sizeof options[0] };

_Static_assert((int)OPTIONS <= (int)CLI_OPTIONS_MOST, "cli_line has room for all options");

/* ----------------------------------------------------------------- their purposes */

enum {
	FLOWS = 1,
	ESTABLISHED = 2,
	UDP = 4,
	SCANS = 8,
	FLOOD = 16,
	PAIRS = 32,
	VIDEO = 64,
	TRIPS = 128, /* a flood in which something takes a round trip */
	SCENES = 256,
	FAILING = 512,     /* scenes that --failures applies to */
	SCANNING = 1024,   /* and --success */
	ANSWERABLE = 2048, /* a flood that a victim may answer or not */
};

static unsigned requested_scenes(const struct sim_scenes_options *o)
{
	unsigned all = o->scenes ? SCENES : 0;

	for (unsigned i = 0; sim_scene_info(i); i++)
		if (o->scenes >> i & 1) {
			all |= sim_scene_info(i)->share == SIM_FAILURES ? FAILING : 0u;
			all |= sim_scene_info(i)->share == SIM_SUCCESS ? SCANNING : 0u;
		}
	return all;
}

static unsigned requested_flood(const struct sim_traffic_options *o)
{
	static const unsigned kinds[] = {[SIM_FLOOD_SYN] = FLOOD | ANSWERABLE,
					 [SIM_FLOOD_ACK] = FLOOD | ANSWERABLE | TRIPS,
					 [SIM_FLOOD_HANDSHAKE] = FLOOD | TRIPS,
					 [SIM_FLOOD_RST] = FLOOD};

	return o->flood ? kinds[o->flood_kind] | (o->flood_answers > 0 ? TRIPS : 0u) : 0u;
}

static unsigned requested_traffic(const struct sim_traffic_options *o)
{
	return (o->flows ? FLOWS : 0u) | (o->established ? ESTABLISHED : 0u) | (o->udp ? UDP : 0u) |
	       (o->scans ? SCANS : 0u) | (o->pairs ? PAIRS : 0u) | (o->streams ? VIDEO : 0u) |
	       requested_flood(o);
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
	{"ipv6", FLOWS | ESTABLISHED | UDP | PAIRS | SCENES,
	 "--flows, --established, --udp, --p2p or --scene"},
	{"rtt", FLOWS | ESTABLISHED | UDP | SCANS | PAIRS | TRIPS | SCENES,
	 "--flows, --established, --udp, --scans, --p2p, --flood-answers or --scene"},
	{"flood-as", FLOOD, "--flood"},
	{"flood-start", FLOOD, "--flood"},
	{"flood-time", FLOOD, "--flood"},
	{"flood-answers", ANSWERABLE, "--flood N, and --flood-as syn or ack"},
	{"video-as", VIDEO, "--video"},
	{"labels", SCENES, "--scene"},
	{"hosts", SCENES, "--scene"},
	{"contacts", SCENES, "--scene"},
	{"shared-hosts", SCENES, "--scene"},
	{"failures", FAILING, "--scene and a benign scene with servers that fail"},
	{"success", SCANNING, "--scene and a scene with scanners"},
};

/* An option without effect is a mistake on the command line. */
static int check_purposes(const struct cli_line *line, const struct request *r)
{
	const struct sim_traffic_options *o = &r->traffic;
	unsigned traffic = requested_traffic(o) | requested_scenes(&r->scenes);

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
	const char *side = r->names ? r->labels : r->truth, *option = r->names ? "--labels" : "-t",
		   *wrong = r->names ? sim_scenes_wrong(&r->scenes) : sim_traffic_wrong(&r->traffic);

	if (!r->capture)
		return cli_usage(&cli_generate, "no output file (-w FILE)");
	if (side && !strcmp(r->capture, "-") && !strcmp(side, "-"))
		return cli_usage(&cli_generate, "-w - and %s - cannot both be standard output", option);
	return wrong ? cli_usage(&cli_generate, "%s", wrong) : CLI_DONE;
}

static const char *const counts[] = {"flows", "established", "udp", "scans", "odd", "flood", "p2p", "video"};

enum { COUNTS = sizeof counts / sizeof counts[0] };

/* Only if no count is given at all: an explicit 0 means 0. */
static void default_counts(const struct cli_line *line, struct sim_traffic_options *o)
{
	for (unsigned i = 0; i < COUNTS; i++)
		if (cli_given(line, counts[i]))
			return;
	o->flows = 1000;
}

/* --------------------------------------------------------------------- names of scenes */

/* The scenes of a name, as bits; 0: there is none. */
static uint32_t scenes_named(const char *name, size_t length)
{
	uint32_t found = 0;

	for (unsigned i = 0; sim_scene_info(i); i++) {
		const struct sim_scene_info *info = sim_scene_info(i);
		const char *const names[] = {info->name, info->is_benign ? "benign" : "hostile", "all"};

		for (unsigned k = 0; k < 3; k++)
			if (strlen(names[k]) == length && !memcmp(names[k], name, length))
				found |= 1u << i;
	}
	return found;
}

static int unknown_scene(const char *name, size_t length)
{
	struct ink_suggest near = ink_suggest(name, length);
	char hint[96];

	for (unsigned i = 0; sim_scene_info(i); i++)
		ink_suggest_offer(&near, sim_scene_info(i)->name);
	ink_suggest_offer(&near, "benign");
	ink_suggest_offer(&near, "hostile");
	ink_suggest_offer(&near, "all");
	return cli_usage(&cli_generate, "unknown scene '%.*s'%s (--list-scenes has them all)", (int)length,
			 name, ink_suggest_hint(&near, hint));
}

static int parse_names(struct request *r)
{
	const char *name = r->names;

	for (;;) {
		size_t length = strcspn(name, ",");
		uint32_t scenes = scenes_named(name, length);

		if (!scenes)
			return unknown_scene(name, length);
		r->scenes.scenes |= scenes;
		if (!name[length])
			return CLI_DONE;
		name += length + 1;
	}
}

/* Scenes share some of the options with the other traffic; their duration has no default here. */
static int parse_scenes(const struct cli_line *line, struct request *r)
{
	for (unsigned i = 0; i < COUNTS; i++)
		if (cli_given(line, counts[i]))
			return cli_usage(&cli_generate, "--%s and --scene cannot be combined", counts[i]);
	if (r->truth)
		return cli_usage(&cli_generate, "-t is not for scenes; use --labels FILE");
	r->scenes.seed = r->traffic.seed;
	r->scenes.rtt = r->traffic.rtt;
	r->scenes.ipv6 = r->traffic.ipv6;
	r->scenes.snaplen = r->traffic.snaplen;
	r->scenes.duration = cli_given(line, "duration") ? r->traffic.duration : 0;
	if (cli_given(line, "duration") && !r->traffic.duration)
		return cli_usage(&cli_generate, "a duration of 0");
	return parse_names(r);
}

static int list_scenes(void)
{
	printf("%-16s  %-7s  %5s  %8s  %8s  %s\n", "scene", "", "hosts", "contacts", "duration", "");
	for (unsigned i = 0; sim_scene_info(i); i++) {
		const struct sim_scene_info *info = sim_scene_info(i);

		printf("%-16s  %-7s  %5u  %8u  %7gs  %s\n", info->name,
		       info->is_benign ? "benign" : "hostile", info->hosts, info->contacts,
		       (double)info->duration / 1e9, info->summary);
	}
	return CLI_DONE;
}

/* -------------------------------------------------------------------- the command line */

static int parse(int argc, char **argv, struct request *r)
{
	struct cli_line line = {&cli_generate, options, OPTIONS, r, {NULL}};
	int error = cli_options(&line, argc, argv);

	if (!error && !r->capture && optind < argc)
		return cli_usage(&cli_generate, "no output file; did you mean '-w %s'?", argv[optind]);
	if (!error)
		error = cli_nothing_more(&line, argc, argv);
	if (error || r->list)
		return error;
	if (r->names)
		error = parse_scenes(&line, r);
	else
		default_counts(&line, &r->traffic);
	if (!error)
		error = check_purposes(&line, r);
	return error ? error : check(r);
}

/* ---------------------------------------------------------------------- the work */

static void progress(double done)
{
	cli_progress("generating", done < 1 ? done : 1);
}

/* The file of the truth or of the labels. */
struct side_file {
	const char *name, *option; /* name: NULL = none is wanted */
	FILE *to;
	int is_new;
};

/* Before the work, which takes long: a wrong path fails at once. Appending keeps an old file intact until then. */
static int open_side(struct side_file *file)
{
	if (!file->name)
		return CLI_DONE;
	/* A link that leads nowhere is not ours to remove. */
	file->is_new = strcmp(file->name, "-") && lstat(file->name, &(struct stat){0});
	file->to = strcmp(file->name, "-") ? fopen(file->name, "a") : stdout;
	return file->to ? CLI_DONE : cli_failed("%s: %s", file->name, strerror(errno));
}

/* Drops the old content; a pipe or a device has none. */
static int empty_side(const struct side_file *file)
{
	if (file->to != stdout && ftruncate(fileno(file->to), 0) && errno != EINVAL)
		return cli_failed("%s: %s", file->name, strerror(errno));
	return CLI_DONE;
}

/* A file that was made for nothing goes. */
static int close_side(const struct side_file *file, int error)
{
	if (file->to && cli_close(file->to, file->name))
		error = CLI_FAILED;
	if (error && file->is_new)
		unlink(file->name);
	return error;
}

/* To standard error if the capture, or what belongs to it, goes to standard output. */
static FILE *show_where(const struct request *r, const struct side_file *file)
{
	int busy = !strcmp(r->capture, "-") || (file->name && !strcmp(file->name, "-"));

	return busy ? stderr : stdout;
}

static void show_truth(const struct request *r, const struct sim_truth *truth, FILE *to)
{
	sim_put_visible(r->capture, to);
	fprintf(to,
		": %" PRIu64 " packet%s, %" PRIu64 " TCP and %" PRIu64 " UDP flow%s, at most %" PRIu64
		" at once\n",
		truth->frames, cli_plural(truth->frames), truth->tcp.flows, truth->udp_flows,
		cli_plural(truth->udp_flows), truth->alive_at_once);
}

static void show_scenes(const struct request *r, const struct sim_scenes_count *n, FILE *to)
{
	sim_put_visible(r->capture, to);
	fprintf(to,
		": %" PRIu64 " packet%s, %" PRIu64 " contact%s of %" PRIu64 " host%s, at most %" PRIu64
		" at once\n",
		n->packets, cli_plural(n->packets), n->contacts, cli_plural(n->contacts), n->hosts,
		cli_plural(n->hosts), n->alive_at_once);
}

/* Before the capture is opened, which empties it. The other file exists by now, and links to it show. */
static int check_outputs(const struct request *r, const struct side_file *file)
{
	struct cli_file capture = {r->capture, STDOUT_FILENO}, other = {file->name, STDOUT_FILENO};

	if (cli_same_file(capture, other))
		return cli_failed("%s: -w and %s name the same file", r->capture, file->option);
	return CLI_DONE;
}

struct result {
	struct sim_truth truth;
	struct sim_scenes_result scenes;
};

static int generate(const struct request *r, struct result *result)
{
	struct ink_why why = {""};
	struct ink_dump *dump = ink_dump_open(r->capture, INK_LINK_ETHERNET, &why);
	int error, closed;

	if (!dump)
		return cli_failed("%s", why.text);
	if (r->names)
		error = sim_scenes(&r->scenes, dump, &result->scenes, progress);
	else
		error = sim_traffic(&r->traffic, dump, &result->truth, progress);
	cli_progress_end();
	closed = ink_dump_close(dump, &why);
	if (closed)
		return cli_failed("%s", why.text);
	return error ? cli_failed("%s: %s", r->capture, strerror(-error)) : CLI_DONE;
}

static int write_side(const struct request *r, const struct result *result, const struct side_file *file)
{
	int error = file->to ? empty_side(file) : CLI_DONE;

	if (error || !file->to)
		return error;
	if (r->names)
		sim_labels_write(&result->scenes.labels, file->to);
	else
		sim_truth_write(&result->truth, r->capture, file->to);
	return CLI_DONE;
}

static int work(const struct request *r, struct side_file *file, struct result *result)
{
	int error = open_side(file);

	if (!error)
		error = check_outputs(r, file);
	if (!error)
		error = generate(r, result);
	if (!error)
		error = write_side(r, result, file);
	error = close_side(file, error);
	if (error)
		return error;
	if (r->names)
		show_scenes(r, &result->scenes.count, show_where(r, file));
	else
		show_truth(r, &result->truth, show_where(r, file));
	return CLI_DONE;
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
					.duration = 60000000000},
			    .scenes = {.failures = .05, .success = .1}};
	struct result result = {.scenes = {.labels = {.at = NULL}}};
	struct side_file file = {.name = NULL};
	int error = parse(argc, argv, &r);

	if (error || r.list)
		return error ? error : list_scenes();
	file.name = r.names ? r.labels : r.truth;
	file.option = r.names ? "--labels" : "-t";
	error = work(&r, &file, &result);
	sim_labels_free(&result.scenes.labels);
	return error;
}

const struct cli_command cli_generate = {
	"generate", "writes a capture of synthetic traffic, and the truth about it", help, run};
