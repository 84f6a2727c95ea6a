/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling run: a machine over a capture or an interface. */
#include <stdlib.h>

#include "cli/run/run.h"

static const char help[] =
	"usage: inkling run MACHINE[,...] (-r FILE | -i INTERFACE) [OPTIONS] [FILTER]\n"
	"\n"
	"Runs state machines over traffic, keeps a few bits of state for every flow, and\n"
	"prints a summary. MACHINE is a file, if it has a slash in its name or ends in\n"
	".fsm, or the name of a bundled machine ('inkling check --list').\n"
	"\n"
	"  -r FILE           read a capture (pcap, pcapng; - = standard input)\n"
	"  -i INTERFACE      listen on an interface until interrupted\n"
	"  -w FILE           write the packets that the machines save\n"
	"  -c N              stop after N packets\n"
	"  -o FILE           write reports and summary as NDJSON (- = standard output)\n"
	"  -q                print no summary, and no line that it listens\n"
	"  FILTER            only packets that match, in tcpdump's language; options may\n"
	"                    follow it, and after -- everything is filter\n"
	"\n"
	"the table:\n"
	"  --flows N         flows to hold at once, for each machine (default 1M)\n"
	"  --memory SIZE     memory for all tables; machines share it in equal parts\n"
	"  --flows NAME=N, --memory NAME=SIZE   for the machine of that name\n"
	"  --error P         highest share of strangers answered (default 1/1024)\n"
	"  --kind K          line (default), compact, dleft, exact, stateful, direct, kbf\n"
	"  --smallest        compact: the fewest bits, though 2 % more may be faster\n"
	"  --full POLICY     when there is no room: unsure (default), refuse, replace\n"
	"  --age-bits N      1 or 2, for time-outs (default 2)\n"
	"  --seed N          a number from 1: fixes the secret and every random choice\n"
	"                    (default: a random secret; chance is fixed for captures)\n"
	"\n"
	"the run:\n"
	"  --set NAME=VALUE  the value of a param of the machine; also several times\n"
	"  --queue-rate RATE   the rate of the link whose queue machines look at: 20mbit\n"
	"  --no-timeouts     ignore time: the whole input is one phase\n"
	"  --verify          run an exact table in parallel and count the differences\n"
	"  --two-pass        find candidates in little memory, then confirm them exactly\n"
	"  --exact-for unsure   flows that the table does not know go on in an exact one\n"
	"  --community-id    add the Community ID of the connection to reports (-o)\n"
	"  --outermost       do not look into tunnels\n"
	"\n"
	"Signals: INT and TERM end with the summary, USR1 shows it, HUP reloads the\n"
	"machine. Exits with 0; with 1 if something failed (also if a capture is cut,\n"
	"after its readable part was processed); with 2 for wrong usage; with 130 (INT)\n"
	"or 143 (TERM) if the reading of a capture was interrupted.\n"
	"\n"
	"example: inkling run tcp -r capture.pcap --verify\n";

static int run(int argc, char **argv)
{
	struct request r;
	int result = run_options(argc, argv, &r);

	if (!result)
		result = run_session(&r);
	free(r.filter);
	return result;
}

const struct cli_command cli_run = {"run", "runs a machine over a capture or an interface", help, run};
