/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of the kernel: their help, and their command lines. */
#include <errno.h>
#include <net/if.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "cli/kernel/commands.h"

const char *const hook_names[HOOKS + 1] = {"xdp", "ingress", "egress", NULL};

#define AT(field) offsetof(struct kernel_request, field)

/* Any option twice in a list would be read once; a word that is empty is a slip of the keyboard. */
static int each_word(const char *text, int (*take)(const char *word, size_t length, void *to), void *to)
{
	for (;; text++) {
		size_t length = strcspn(text, ",");
		int error = length ? take(text, length, to) : -EINVAL;

		text += length;
		if (error || !*text)
			return error;
	}
}

/* ----------------------------------------------------------------------------- attach */

static const char attach_help[] =
	"usage: inkling attach MACHINE[,...] -i INTERFACE[,...] [OPTIONS]\n"
	"\n"
	"Runs state machines in the kernel, at XDP or tc, over the same tables as\n"
	"'inkling run'. They go on when the tool has ended, until 'inkling detach'.\n"
	"MACHINE is as for 'inkling run'. docs/kernel.md is the manual.\n"
	"\n"
	"  -i INTERFACE[,...]  where packets come from; all share one table a machine\n"
	"  --at HOOK[,...]   xdp (default), ingress, egress: of each interface. A packet\n"
	"                    that passes several is stepped at the first of them alone\n"
	"  --mark-bit N      that bit of skb->mark (0 to 31) tells a hook that a packet\n"
	"                    was stepped on another interface\n"
	"  --name NAME       of the set, for the other commands (default: the name of\n"
	"                    the first interface)\n"
	"  --enforce         carry out drop and limit (all hooks), mark and priority\n"
	"                    (ingress, egress) and class (egress); otherwise these are\n"
	"                    counted\n"
	"  --dry-run         check and load everything, and attach nothing\n"
	"\n"
	"the queue at egress, for machines that look at it:\n"
	"  --queue-rate RATE the rate of the link, such as 20mbit: how long packets wait,\n"
	"                    and, where the interface has no queue to read, the rate\n"
	"                    of a virtual one\n"
	"  --queue virtual   the virtual one in any case\n"
	"\n"
	"the tables:\n"
	"  --flows N         flows to hold at once, for each machine (default 1M)\n"
	"  --memory SIZE     memory for all tables; machines share it in equal parts\n"
	"  --flows NAME=N, --memory NAME=SIZE   for the machine of that name\n"
	"  --error P         highest share of strangers answered (default 1/1024)\n"
	"  --full POLICY     when there is no room: unsure (default), refuse, replace\n"
	"  --age-bits N      1 or 2, for time-outs (default 2)\n"
	"  --load FILE       begin with the flows of a snapshot, and its tables\n"
	"  --seed N          a number from 1: fixes the secret (default: random)\n"
	"\n"
	"the machines:\n"
	"  --set NAME=VALUE  the value of a param of the machine; also several times\n"
	"  --no-timeouts     ignore time\n"
	"  --snap N          bytes of a packet that 'save' keeps, 64 to 9216\n"
	"                    (default 1514)\n"
	"\n"
	"Needs root, or the capabilities BPF, NET_ADMIN and PERFMON. Exits with 0; with 1\n"
	"if something failed, and then nothing is attached; with 2 for wrong usage.\n"
	"\n"
	"example: inkling attach tcp,scan -i eth0 --at ingress,egress\n";

static const char *const policies[] = {"unsure", "refuse", "replace", NULL};

static int take_hook(const char *word, size_t length, void *to)
{
	unsigned *hooks = to;

	for (unsigned i = 0; i < HOOKS; i++)
		if (strlen(hook_names[i]) == length && !strncmp(hook_names[i], word, length)) {
			*hooks |= 1u << i;
			return 0;
		}
	return -EINVAL;
}

static int take_hooks(const char *text, void *to)
{
	*(unsigned *)to = 0; /* a repeated option replaces the earlier one */
	return each_word(text, take_hook, to);
}

static int take_interface(const char *word, size_t length, void *to)
{
	struct interfaces *all = to;

	if (length >= INTERFACE_NAME || all->n == INTERFACES_MOST)
		return -EINVAL;
	memcpy(all->name[all->n], word, length);
	all->name[all->n++][length] = 0;
	return 0;
}

static int take_interfaces(const char *text, void *to)
{
	return each_word(text, take_interface, to);
}

static int take_mark_bit(const char *text, void *to)
{
	uint64_t bit;

	if (cli_digits(text, &bit) || bit > 31)
		return -EINVAL;
	*(uint32_t *)to = 1u << bit;
	return 0;
}

static int take_queue(const char *text, void *to)
{
	*(int *)to = 1;
	return strcmp(text, "virtual") ? -EINVAL : 0;
}

/* It becomes the name of a folder. */
static int take_name(const char *text, void *to)
{
	enum { LONGEST = 63 };
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t length = strlen(text);

	if (!length || length > LONGEST || text[strspn(text, letters)] || *text == '-' || *text == '.')
		return -EINVAL;
	*(const char **)to = text;
	return 0;
}

static const struct cli_option attach_options[] = {
	{.name = "i",
	 .how = CLI_OWN,
	 .at = AT(interfaces),
	 .take = take_interfaces,
	 .shape = "names of interfaces, such as eth0 or eth0,eth1, at most 16 of 15 characters",
	 .longer = " interface "},
	{.name = "at",
	 .how = CLI_OWN,
	 .at = AT(hooks),
	 .take = take_hooks,
	 .shape = "xdp, ingress or egress, or several: ingress,egress"},
	{.name = "mark-bit",
	 .how = CLI_OWN,
	 .at = AT(mark_bit),
	 .take = take_mark_bit,
	 .shape = "the number of a bit, from 0 to 31"},
	{.name = "name",
	 .how = CLI_OWN,
	 .at = AT(name),
	 .take = take_name,
	 .shape =
		 "up to 63 letters, digits, '.', '_' and '-', the first of which is a letter, a digit or '_'"},
	{.name = "enforce", .how = CLI_FLAG, .at = AT(enforce)},
	{.name = "dry-run", .how = CLI_FLAG, .at = AT(dry_run)},
	CLI_QUEUE_RATE(AT(queue_rate)),
	{.name = "queue", .how = CLI_OWN, .at = AT(queue_virtual), .take = take_queue, .shape = "virtual"},
	CLI_FLOWS(AT(room.flows)),
	CLI_MEMORY(AT(room.memory)),
	{.name = "error", .how = CLI_SHARE, .at = AT(table.error)},
	{.name = "full", .how = CLI_CHOICE, .at = AT(table.full), .words = policies, .least = INK_UNSURE},
	{.name = "age-bits", .how = CLI_SMALL, .at = AT(table.age_bits), .least = 1, .most = 2},
	{.name = "load", .how = CLI_WORD, .at = AT(load)},
	{.name = "seed", .how = CLI_NUMBER, .at = AT(seed), .least = 1},
	CLI_SET(AT(values)),
	{.name = "no-timeouts", .how = CLI_FLAG, .at = AT(no_timeouts)},
	{.name = "snap", .how = CLI_SMALL, .at = AT(snap), .least = 64, .most = 9216},
};

#define LINE(command, options, r)                                                                            \
	{                                                                                                    \
		&(command), (options), sizeof(options) / sizeof(options)[0], (r),                            \
		{                                                                                            \
			NULL                                                                                 \
		}                                                                                            \
	}

/* A snapshot says how large its tables are, and what their secret is. */
static int check_load(const struct cli_line *line)
{
	static const char *const options[] = {"flows", "memory", "error", "full", "age-bits", "seed"};

	for (unsigned i = 0; i < sizeof options / sizeof options[0]; i++)
		if (cli_given(line, "load") && cli_given(line, options[i]))
			return cli_usage(&cli_attach, "--load and --%s: the snapshot has its own tables",
					 options[i]);
	return CLI_DONE;
}

static int check_interfaces(const struct interfaces *all)
{
	for (unsigned i = 0; i < all->n; i++)
		for (unsigned j = 0; j < i; j++)
			if (!strcmp(all->name[i], all->name[j]))
				return cli_usage(&cli_attach, "-i: %s is named twice", all->name[i]);
	return CLI_DONE;
}

static int check_attach(const struct kernel_request *r, const struct cli_line *line)
{
	if (!r->interfaces.n)
		return cli_usage(&cli_attach, "at which interface? (-i INTERFACE)");
	if (check_interfaces(&r->interfaces) || check_load(line))
		return CLI_USAGE;
	if (r->no_timeouts && r->table.age_bits)
		return cli_usage(&cli_attach,
				 "--no-timeouts and --age-bits: without time-outs there are no ages");
	if (r->queue_virtual && !r->queue_rate)
		return cli_usage(&cli_attach, "--queue virtual: of which rate? (--queue-rate RATE)");
	if (r->mark_bit && r->interfaces.n == 1 && !(r->hooks & (r->hooks - 1)))
		return cli_usage(&cli_attach, "--mark-bit is for packets that pass several hooks");
	return CLI_DONE;
}

/* What stands behind the machines. */
static int not_expected(const struct kernel_request *r, const char *machines, const char *word)
{
	int length = (int)strlen(machines);

	if (length && machines[length - 1] == ',')
		length--;
	if (cli_bundled(word) || cli_names_file(word))
		return cli_usage(r->command, "unexpected argument '%s'; several machines are written %.*s,%s",
				 word, length, machines, word);
	if (r->command == &cli_attach && !r->interfaces.n && if_nametoindex(word))
		return cli_usage(r->command, "unexpected argument '%s'; did you mean '-i %s'?", word, word);
	return cli_usage(r->command, "unexpected argument '%s'", word);
}

/* The machines are one word, and the last. */
static int take_machines(struct kernel_request *r, int argc, char **argv, int at)
{
	if (at >= argc)
		return cli_usage(r->command, CLI_WHICH_MACHINE);
	if (at + 1 < argc)
		return not_expected(r, argv[at], argv[at + 1]);
	r->machine = argv[at];
	return cli_names(r->command, r->machine, &r->names);
}

static int run_attach(int argc, char **argv)
{
	enum { WHOLE_FRAME = 1514 }; /* of Ethernet */
	struct kernel_request r = {
		.command = &cli_attach, .table = {.size = sizeof r.table}, .snap = WHOLE_FRAME};
	struct cli_line line = LINE(cli_attach, attach_options, &r);
	int result = cli_options(&line, argc, argv);

	if (!result)
		result = take_machines(&r, argc, argv, optind);
	if (!result)
		result = check_attach(&r, &line);
	if (!r.hooks)
		r.hooks = AT_XDP;
	return result ? result : kernel_attach(&r);
}

const struct cli_command cli_attach = {"attach", "runs machines in the kernel, at XDP or tc", attach_help,
				       run_attach};

/* ----------------------------------------------------------------------------- detach */

static const char detach_help[] =
	"usage: inkling detach NAME\n"
	"\n"
	"Detaches what 'inkling attach' has attached, at all its interfaces, and frees\n"
	"its tables. Flows are lost; 'inkling snapshot' keeps them.\n"
	"NAME is the set's, or an interface where it is attached ('inkling status').\n";

/* The one further word of these commands. */
static int take_set(struct kernel_request *r, int argc, char **argv)
{
	if (optind == argc)
		return cli_usage(r->command, "which set? ('inkling status' names them)");
	r->set = argv[optind];
	return optind + 1 < argc ? cli_usage(r->command, "unexpected argument '%s'", argv[optind + 1])
				 : CLI_DONE;
}

static int run_detach(int argc, char **argv)
{
	struct kernel_request r = {.command = &cli_detach};
	struct cli_line line = {.command = &cli_detach}; /* no options */
	int result = cli_options(&line, argc, argv);

	if (!result)
		result = take_set(&r, argc, argv);
	return result ? result : kernel_detach(&r);
}

const struct cli_command cli_detach = {"detach", "ends what attach began", detach_help, run_detach};

/* ----------------------------------------------------------------------------- reload */

static const char reload_help[] =
	"usage: inkling reload [--set NAME=VALUE] NAME MACHINE[,...]\n"
	"\n"
	"Exchanges the machines of a set while packets flow. Flows stay, and keep their\n"
	"states by name; counters of the same name go on. There have to be as many\n"
	"machines, with the same names and keys in the same order. If one is refused, the\n"
	"old ones continue.\n"
	"NAME is the set's, or an interface where it is attached ('inkling status').\n"
	"\n"
	"  --set NAME=VALUE  the value of a param of the machine; also several times\n"
	"\n"
	"example: inkling reload eth0 tcp,./scan.fsm\n";

static const struct cli_option reload_options[] = {CLI_SET(AT(values))};

static int run_reload(int argc, char **argv)
{
	struct kernel_request r = {.command = &cli_reload};
	struct cli_line line = LINE(cli_reload, reload_options, &r);
	int result = cli_options(&line, argc, argv);

	if (result)
		return result;
	if (optind == argc)
		return cli_usage(&cli_reload, "which set? ('inkling status' names them)");
	r.set = argv[optind];
	result = take_machines(&r, argc, argv, optind + 1);
	return result ? result : kernel_reload(&r);
}

const struct cli_command cli_reload = {"reload", "exchanges machines in the kernel, and keeps the flows",
				       reload_help, run_reload};

/* ----------------------------------------------------------------------------- status */

static const char status_help[] =
	"usage: inkling status [--json] [NAME]\n"
	"\n"
	"Shows what is attached: the hooks, and for each machine its flows by state, its\n"
	"counters, verdicts and time-outs, and how full its table is.\n"
	"NAME is a set's, or an interface where one is attached; without it, all of them.\n"
	"\n"
	"  --json            a JSON object for each set, on a line of its own\n";

static const struct cli_option status_options[] = {{.name = "json", .how = CLI_FLAG, .at = AT(json)}};

static int run_status(int argc, char **argv)
{
	struct kernel_request r = {.command = &cli_status};
	struct cli_line line = LINE(cli_status, status_options, &r);
	int result = cli_options(&line, argc, argv);

	if (!result && optind < argc)
		result = take_set(&r, argc, argv);
	return result ? result : kernel_status(&r);
}

const struct cli_command cli_status = {"status", "shows what machines in the kernel do", status_help,
				       run_status};

/* ---------------------------------------------------------------------------- reports */

static const char reports_help[] =
	"usage: inkling reports [-o FILE] [-w FILE] [--community-id] NAME\n"
	"\n"
	"Follows what the machines of a set report and save, until interrupted. The\n"
	"kernel keeps what comes in between, as far as its buffer goes, and counts what\n"
	"is lost. A set has one reader at a time.\n"
	"NAME is the set's, or an interface where it is attached ('inkling status').\n"
	"\n"
	"  -o FILE           write reports as NDJSON, as 'inkling run' does (- = standard\n"
	"                    output). Without it they go to standard output: as NDJSON,\n"
	"                    or on a terminal as a line each\n"
	"  -w FILE           write the packets that the machines save, as pcap\n"
	"  --community-id    add the Community ID of the connection to reports\n"
	"\n"
	"Signals: INT and TERM end it, with 0.\n";

static const struct cli_option reports_options[] = {
	{.name = "o", .how = CLI_WORD, .at = AT(output), .longer = " output json "},
	{.name = "w", .how = CLI_WORD, .at = AT(write), .longer = " write "},
	{.name = "community-id", .how = CLI_FLAG, .at = AT(community_id)},
};

static int run_reports(int argc, char **argv)
{
	struct kernel_request r = {.command = &cli_reports};
	struct cli_line line = LINE(cli_reports, reports_options, &r);
	int result = cli_options(&line, argc, argv);

	if (!result)
		result = take_set(&r, argc, argv);
	if (!result && r.output && r.write && !strcmp(r.output, "-") && !strcmp(r.write, "-"))
		result = cli_usage(&cli_reports, "-o - and -w - cannot both be standard output");
	return result ? result : kernel_reports(&r);
}

const struct cli_command cli_reports = {"reports", "follows the reports of machines in the kernel",
					reports_help, run_reports};

/* --------------------------------------------------------------------------- snapshot */

static const char snapshot_help[] =
	"usage: inkling snapshot -w FILE NAME\n"
	"\n"
	"Writes the tables of a set to a file while packets flow. For one machine it is a\n"
	"file that ink_load reads, for several a file for ink_load_set; 'inkling attach\n"
	"--load' takes both. It has the secret of the tables: keep it to yourself.\n"
	"NAME is the set's, or an interface where it is attached ('inkling status').\n"
	"\n"
	"  -w FILE           the file, which is replaced as a whole\n";

static const struct cli_option snapshot_options[] = {
	{.name = "w", .how = CLI_WORD, .at = AT(write), .longer = " write output "}};

static int run_snapshot(int argc, char **argv)
{
	struct kernel_request r = {.command = &cli_snapshot};
	struct cli_line line = LINE(cli_snapshot, snapshot_options, &r);
	int result = cli_options(&line, argc, argv);

	if (!result)
		result = take_set(&r, argc, argv);
	if (!result && !r.write)
		result = cli_usage(&cli_snapshot, "to which file? (-w FILE)");
	if (!result && !strcmp(r.write, "-"))
		result = cli_usage(&cli_snapshot,
				   "-w -: a snapshot replaces a file as a whole, so it needs one");
	return result ? result : kernel_snapshot(&r);
}

const struct cli_command cli_snapshot = {"snapshot", "writes the tables of machines in the kernel to a file",
					 snapshot_help, run_snapshot};
