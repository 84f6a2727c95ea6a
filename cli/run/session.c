/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inkling run: passes packets through the machine, and answers signals.
 *
 * With --two-pass there are two sessions. The first finds candidates: flows
 * that made a report, that the table was unsure about, or that it refused. It
 * keeps a fingerprint of their ids and nothing else. The second reads the file
 * again with an exact table and ignores all other flows.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/run/run.h"

enum { BATCH = 256 };

#define HELD_BACK 1000000000u /* nanoseconds: the longest delay with which the kernel delivers a packet */

/* --------------------------------------------------------------------------- signals */

static struct ink_capture *volatile listening;
static volatile sig_atomic_t interrupted; /* SIGINT or SIGTERM, or 0 */
static volatile sig_atomic_t show, reload;

static void on_signal(int signal)
{
	if (signal == SIGUSR1)
		show = 1;
	else if (signal == SIGHUP)
		reload = 1;
	else {
		interrupted = signal;
		if (listening)
			ink_capture_stop(listening);
	}
}

/* USR1 and HUP restart a read that waits; INT and TERM end it. */
static void handle_signals(void)
{
	struct sigaction a = {.sa_handler = on_signal};

	sigemptyset(&a.sa_mask);
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	a.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
}

int session_interrupted(void)
{
	return interrupted;
}

/* --------------------------------------------------------------------------- actions */

/* Callbacks cannot fail: the loop sees it and stops. */
static void note_failure(struct session *s, const char *what, int error)
{
	if (s->failure)
		return;
	s->failure = error;
	s->failed = what;
}

/* Told events give a packet several steps: is this the first of them that acts so? */
static int is_first(uint64_t *latest, const struct ink_moved *m)
{
	uint64_t before = *latest;

	*latest = m->number;
	return before != m->number;
}

/* A packet that several machines save is written once, and counted for each. */
static void save_packet(struct session *s, struct member *by, const struct ink_moved *m)
{
	int error;

	if (!s->dump || !is_first(&by->latest_saved, m))
		return;
	error = is_first(&s->latest_written, m) ? ink_dump_packet(s->dump, m->packet) : 0;
	if (error)
		note_failure(s, s->request->write, error);
	by->saved += !error;
}

/* A line replaces the progress, which is on the same terminal; the next progress comes below. */
static void report(struct session *s, struct member *by, const struct ink_moved *m)
{
	by->reports++;
	if (s->records)
		record_report(s->records, by->view, m, &s->source);
	if (!s->shows)
		return;
	cli_progress_end();
	report_show(stdout, by->view, m);
}

static void act(struct session *s, struct member *by, const struct ink_moved *m)
{
	const struct ink_action *a = m->action;

	if (a->report)
		report(s, by, m);
	if (a->saves)
		save_packet(s, by, m);
}

static int is_lost(const struct ink_moved *m)
{
	return m->error || m->move.from == INK_DONT_KNOW;
}

static void find_candidates(struct session *s, const struct ink_moved *m)
{
	first_pass_see(s->first_pass, m);
	if ((is_lost(m) || m->action->report || m->action->saves) && candidates_add(s->candidates, m->id))
		note_failure(s, "the candidates", -ENOMEM);
}

void session_moved(const struct ink_moved *m, void *user)
{
	struct session *s = user;
	struct member *by = &s->members[m->machine];

	if (by->verifier)
		verifier_see(by->verifier, m, by->view);
	if (s->first_pass)
		find_candidates(s, m);
	else
		act(s, by, m);
}

/* ------------------------------------------------------------------------- reloading */

static void use_machines(struct session *s, struct ink_machines *machines)
{
	ink_machines_free(s->machines);
	s->machines = machines;
	for (unsigned i = 0; i < s->n; i++)
		s->members[i].view = ink_machine_view(ink_machines_at(machines, i));
	cli_say("%s: reloaded", s->request->machine);
}

/* A table that was made for a machine without time-outs keeps no ages. */
static int lacks_ages(const struct session *s, const struct ink_machines *machines)
{
	for (unsigned i = 0; i < s->n && i < ink_machines_count(machines); i++)
		if (ink_machine_view(ink_machines_at(machines, i))->timeouts && !s->members[i].view->timeouts)
			return 1;
	return 0;
}

/* 0: the flows are now the new machines'. Else why not. */
static int exchange(struct session *s, struct ink_machines *machines, struct ink_why *why)
{
	if (!lacks_ages(s, machines))
		return ink_track_exchange_set(s->track, machines, why);
	snprintf(why->text, sizeof why->text, "it has time-outs, and the table keeps no ages");
	return -EINVAL;
}

/* States of the same name keep their numbers, and so the flows keep their states. */
static void reload_machines(struct session *s)
{
	const char *name = s->request->machine;
	struct ink_why why = {"it has errors"};
	struct ink_machines *machines;

	reload = 0;
	if (s->request->two_pass) {
		cli_failed("%s: not reloaded: both passes need the same machine", name);
		return;
	}
	machines = cli_machines(&s->request->names,
				&(struct cli_machine_options){.set = &s->request->set,
							      .like = s->machines,
							      .cancelled = session_interrupted});
	if (interrupted) {
		ink_machines_free(machines);
		return;
	}
	if (machines && exchange(s, machines, &why) == 0) {
		use_machines(s, machines);
		return;
	}
	cli_failed("%s: not reloaded: %s; the old machine%s continue%s", name, why.text, cli_plural(s->n),
		   s->n == 1 ? "s" : "");
	ink_machines_free(machines);
}

/* -------------------------------------------------------------------------- the loop */

static uint64_t file_size(const char *file)
{
	struct stat found;

	return file && stat(file, &found) == 0 ? (uint64_t)found.st_size : 0;
}

/* A packet takes its bytes and a header of 16 in a pcap file, and about as much in pcapng. */
static void show_progress(const struct session *s, uint64_t size)
{
	struct ink_capture_stats c = {.size = sizeof c};
	double done;

	if (!size)
		return;
	ink_capture_stats(s->capture, &c);
	done = (double)(c.bytes + 16 * c.packets) / (double)size;
	cli_progress(s->second              ? "second pass"
		     : s->request->two_pass ? "first pass"
					    : "reading",
		     done < .99 ? done : .99);
}

/* For people, and in the records. */
static void show_statistics(const struct session *s)
{
	struct results r;

	for (unsigned i = 0; i < s->n; i++) {
		results_read(&r, s, i, NULL);
		summary_show(stderr, &r);
		if (s->records)
			record_summary(s->records, "statistics", &r);
	}
}

static void answer_signals(struct session *s)
{
	if (reload)
		reload_machines(s);
	if (!show)
		return;
	show = 0;
	show_statistics(s);
}

/* The number of packets to read next; 0: -c is reached. */
static size_t room_left(const struct session *s)
{
	uint64_t left = s->most ? s->most - s->read : BATCH;

	return left < BATCH ? (size_t)left : BATCH;
}

/* On an interface time passes though no packet arrives. Time of day, as in the packets. */
static int pass_time(struct session *s)
{
	struct timespec now;

	if (!s->request->interface || clock_gettime(CLOCK_REALTIME, &now))
		return 0;
	return ink_track_time(s->track,
			      (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - HELD_BACK);
}

/* On an interface records are written at once. If they cannot be, the run ends, and closing them reports why. */
static int flush_output(struct session *s)
{
	if (s->shows)
		fflush(stdout);
	return s->request->interface && s->records ? fflush(s->records) : 0;
}

static int pass_packets(struct session *s)
{
	static struct ink_packet packet[BATCH];
	struct ink_packets p = {.at = packet};
	uint64_t batches = 0, size = file_size(s->request->file);
	struct ink_why why = {""};
	int error = 0;

	while ((p.room = room_left(s)) && !interrupted && !s->failure) {
		error = ink_capture_read(s->capture, &p, &why);
		if (error || p.end)
			break;
		s->read += p.n;
		if (p.n ? ink_track_packets(s->track, &p) : pass_time(s))
			return cli_failed("the table has lost its rules");
		answer_signals(s);
		if (flush_output(s))
			break;
		if (++batches % 1024 == 0)
			show_progress(s, size);
	}
	cli_progress_end();
	if (!error)
		return CLI_DONE;
	return s->reported ? CLI_FAILED : cli_failed("%s", why.text);
}

/*
 * If reading fails, the packets before that count, and the flows end. So they do when an interface is interrupted,
 * which is the only way to end it. A file that is interrupted has not ended: what its flows would have come to is
 * unknown.
 */
static int run_pass(struct session *s)
{
	int result;

	listening = s->capture;
	result = pass_packets(s);
	listening = NULL;
	if (s->request->file && interrupted)
		s->interrupted_by = interrupted;
	s->endless = s->interrupted_by || ink_track_end(s->track) != 0;
	if (s->failure)
		result = cli_failed("%s: %s", s->failed, strerror(-s->failure));
	return result;
}

/* ---------------------------------------------------------------------- one session */

static int dump_to_stdout(const struct request *r)
{
	return r->write && !strcmp(r->write, "-");
}

static int show_results(struct session *s, const struct session *first)
{
	struct results r;

	for (unsigned i = 0; i < s->n; i++) {
		results_read(&r, s, i, first);
		if (s->records)
			record_summary(s->records, "summary", &r);
		if (!s->request->quiet && s->records != stdout)
			summary_show(dump_to_stdout(s->request) ? stderr : stdout, &r);
	}
	return session_close_output(s);
}

/* Packets may be rare: a user should see that the run has started. */
static void say_that_it_listens(const struct session *s)
{
	const struct request *r = s->request;
	const char *filter = r->filter ? r->filter : "";

	if (!r->interface || r->quiet || !s->capture)
		return;
	cli_say("listening on %s (%s)%s%s%s; INT ends, USR1 shows the summary", r->interface,
		ink_link_name(session_link(s)), *filter ? ", filter '" : "", filter, *filter ? "'" : "");
}

/* For those who see no summary (-q, or -o -). */
static void say_that_it_is_partial(const struct session *s)
{
	if (s->interrupted_by)
		cli_say("interrupted after %" PRIu64 " packet%s: the results cover these only", s->read,
			cli_plural(s->read));
}

/* As shells report a process that a signal ended. */
int session_exit_code(int signal)
{
	return signal ? 128 + signal : CLI_DONE;
}

/* Opens, runs, shows and closes; `first` is the pass before, or NULL. */
static int run_and_show(struct session *s, const struct session *first)
{
	int result = session_open(s), shown;

	if (!result) {
		say_that_it_listens(s);
		result = run_pass(s);
		shown = show_results(s, first);
		say_that_it_is_partial(s);
		result = result ? result : shown ? shown : session_exit_code(s->interrupted_by);
	}
	session_close(s);
	return result;
}

/* ------------------------------------------------------------------------ two passes */

/* "-" is not the only name of a pipe. */
static int is_a_file(const char *name)
{
	struct stat found;

	return stat(name, &found) || S_ISREG(found.st_mode); /* if there is none, opening it reports that */
}

/*
 * Packets for the second pass: as many as requested, or, if the first was
 * interrupted, as many as that has read, to confirm what it found. Another interrupt ends
 * the second pass.
 */
static uint64_t packets_to_confirm(const struct session *first)
{
	if (!interrupted || !first->read)
		return first->most;
	cli_say("interrupted after %" PRIu64 " packet%s; confirming what was found in these (interrupt again "
		"to end)",
		first->read, cli_plural(first->read));
	interrupted = 0;
	return first->read;
}

static int run_two(const struct request *r)
{
	struct session first = {.request = r, .most = r->packets};
	int opened, result;

	if (!is_a_file(r->file))
		return cli_failed("%s: --two-pass reads the input twice: it must be a file", r->file);
	opened = session_open(&first);
	result = opened ? opened : run_pass(&first);
	if (!opened && !first.failure) { /* also if the file is cut: up to there it can be read again */
		struct session second = {.request = r,
					 .second = 1,
					 .candidates = first.candidates,
					 .reported = result != CLI_DONE,
					 .interrupted_by = first.interrupted_by,
					 .most = packets_to_confirm(&first)};
		int confirmed = run_and_show(&second, &first);

		result = result ? result : confirmed;
	}
	candidates_free(first.candidates);
	session_close(&first);
	return result;
}

#define CHANCE_OF_FILES 1 /* the seed of `chance` for captures: any number, as long as it stays the same */

/*
 * All tables share one secret: an id means the same flow to each. It is random, so nobody can choose flows that
 * collide. What `chance` chooses in a capture does not depend on it: two runs with an exact table agree.
 */
static int choose_seeds(struct request *r)
{
	r->table.seed = r->seed;
	while (!r->table.seed)
		if (getrandom(&r->table.seed, sizeof r->table.seed, 0) != (ssize_t)sizeof r->table.seed)
			return cli_failed("no random numbers: %s", strerror(errno));
	r->chance_seed = r->file && !r->seed ? CHANCE_OF_FILES : r->table.seed;
	return CLI_DONE;
}

int run_session(const struct request *request)
{
	struct request r = *request;
	int error = choose_seeds(&r);

	if (error)
		return error;
	handle_signals();
	if (r.two_pass)
		return run_two(&r);
	return run_and_show(&(struct session){.request = &r, .most = r.packets}, NULL);
}
