/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling reports and snapshot: what leaves the kernel. */
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/kernel/sets.h"
#include "cli/record/record.h"

/* ------------------------------------------------------------------------------ signals */

static volatile sig_atomic_t interrupted;

static void on_signal(int signal)
{
	interrupted = signal;
}

/* They end a wait. A second one ends the process: what takes the records may have ceased to. */
static void handle_signals(void)
{
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};

	sigemptyset(&a.sa_mask);
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
}

/* ---------------------------------------------------------------------------- following */

struct following {
	const struct kernel_request *request;
	struct ink_kernel *kernel;
	char set[INK_KERNEL_PATH + 1];
	FILE *records; /* NULL: reports are shown as lines, or not at all */
	int shows;
	struct ink_dump *dump;
	uint64_t lost, unknown; /* records; of machines that are not known any more */
	uint64_t latest;        /* of the packet written last: its number, */
	unsigned latest_cpu;    /* and the processor that it is of */
	int failure;            /* -errno */
};

/* A packet that several machines save is written once. */
static int save(struct following *f, const struct ink_kernel_report *report, const struct ink_moved *m,
		const uint8_t *frame)
{
	struct ink_packet p = *m->packet;

	if (f->latest == report->number && f->latest_cpu == report->cpu)
		return 0;
	f->latest = report->number;
	f->latest_cpu = report->cpu;
	p.frame = frame;
	p.captured = report->bytes;
	if (p.wire < p.captured)
		p.wire = p.captured;
	return ink_dump_packet(f->dump, &p);
}

static void show(struct following *f, const struct ink_kernel_report *report, const struct ink_moved *m)
{
	const struct ink_machine_view *view = ink_kernel_reported_by(f->kernel, report);
	char interface[IF_NAMESIZE] = "";
	struct record_source source = {.interface = interface,
				       .nanoseconds = 1,
				       .community_id = f->request->community_id,
				       .hook = hook_names[report->hook % HOOKS],
				       .processor = report->cpu};

	if (!if_indextoname(report->interface, interface)) /* it is gone */
		snprintf(interface, sizeof interface, "%" PRIu32, report->interface);
	if (f->records)
		record_report(f->records, view, m, &source);
	if (f->shows)
		report_show(stdout, view, m);
}

static int take(const struct ink_kernel_report *report, const uint8_t *frame, void *user)
{
	struct following *f = user;
	struct ink_moved moved;

	if (ink_kernel_moved(f->kernel, report, &moved)) {
		f->unknown++;
		return 0;
	}
	if (report->report)
		show(f, report, &moved);
	if (report->save && frame && f->dump)
		f->failure = save(f, report, &moved, frame);
	return f->failure ? f->failure : interrupted;
}

static int flush(const struct following *f)
{
	if (f->shows)
		return fflush(stdout);
	return f->records ? fflush(f->records) : 0;
}

/* Until an interrupt, the end of the set, or a failure. */
static int follow(struct following *f)
{
	enum { WAIT = 1000 }; /* ms: how long the end of a set stays unnoticed */

	while (!interrupted) {
		int n = ink_kernel_poll(f->kernel, WAIT);

		if (f->failure)
			return cli_failed("%s: %s", f->request->write, strerror(-f->failure));
		if (n < 0 && !interrupted)
			return cli_failed("%s: reports cannot be read: %s", f->set, strerror(-n));
		if (flush(f))
			return CLI_FAILED;                      /* closing it says why */
		if (!n && !ink_kernel_is_attached(f->kernel)) { /* nothing more will come */
			cli_say("%s: detached", f->set);
			break;
		}
	}
	return CLI_DONE;
}

/* ------------------------------------------------------------------------------ outputs */

static int open_output(struct following *f)
{
	const struct kernel_request *r = f->request;
	struct ink_why why = {""};
	int taken = r->write && !strcmp(r->write, "-"); /* by the packets */

	f->shows = !r->output && !taken && isatty(STDOUT_FILENO);
	if (cli_same_file((struct cli_file){r->write, STDOUT_FILENO},
			  (struct cli_file){r->output, STDOUT_FILENO}))
		return cli_failed("%s: -o and -w name the same file", r->write);
	if (r->output && strcmp(r->output, "-"))
		f->records = fopen(r->output, "w");
	else if (r->output || (!taken && !f->shows))
		f->records = stdout;
	if (r->output && !f->records)
		return cli_failed("%s: cannot be written: %s", r->output, strerror(errno));
	if (r->write)
		f->dump = ink_dump_open(r->write, INK_LINK_ETHERNET, &why);
	return r->write && !f->dump ? cli_failed("%s", why.text) : CLI_DONE;
}

static int close_output(struct following *f)
{
	struct ink_why why = {""};
	int result = CLI_DONE;

	if (ink_dump_close(f->dump, &why) && !f->failure)
		result = cli_failed("%s", why.text);
	if (f->records && cli_close(f->records, f->request->output ? f->request->output : "-"))
		result = CLI_FAILED;
	return result;
}

static void say_losses(const struct following *f)
{
	uint64_t lost = ink_kernel_control(f->kernel)->lost - f->lost;

	if (lost)
		cli_say("%s: %" PRIu64 " report%s found no room in the kernel's buffer and are lost", f->set,
			lost, cli_plural(lost));
	if (f->unknown)
		cli_say("%s: %" PRIu64 " report%s of machines that were exchanged before they were read",
			f->set, f->unknown, cli_plural(f->unknown));
}

/* ----------------------------------------------------------------------------- commands */

static int listen_and_follow(struct following *f)
{
	struct ink_why why = {"no memory"};
	int result, closed;

	if (ink_kernel_listen(f->kernel, take, f, &why))
		return cli_failed("%s", why.text);
	f->lost = ink_kernel_control(f->kernel)->lost;
	if (f->lost)
		cli_say("%s: %" PRIu64 " report%s lost before, when the kernel's buffer was full", f->set,
			f->lost, cli_plural(f->lost));
	result = open_output(f);
	if (!result) {
		cli_say("following the reports of %s; INT ends", f->set);
		result = follow(f);
	}
	closed = close_output(f);
	say_losses(f);
	return result ? result : closed;
}

int kernel_reports(const struct kernel_request *r)
{
	struct following f = {.request = r, .latest_cpu = UINT16_MAX};
	int result;

	handle_signals();
	f.kernel = sets_open(r->set, f.set);
	result = f.kernel ? listen_and_follow(&f) : CLI_FAILED;
	ink_kernel_close(f.kernel);
	return result;
}

int kernel_snapshot(const struct kernel_request *r)
{
	char set[INK_KERNEL_PATH + 1];
	struct ink_kernel *kernel = sets_open(r->set, set);
	struct ink_why why = {"no memory"};
	int error = kernel ? ink_kernel_snapshot(kernel, r->write, &why) : 0;

	ink_kernel_close(kernel);
	if (error)
		return cli_failed("%s", why.text);
	return kernel ? CLI_DONE : CLI_FAILED;
}
