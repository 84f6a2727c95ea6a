/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inkling run: opens what is wished for, and passes packets through it.
 *
 * With --two-pass there are two sessions. The first finds candidates: flows
 * that made a report, that the table was unsure about, or that it refused; all
 * it remembers of them is a fingerprint of their ids. The second reads the file
 * again with an exact table and passes everything by that is no candidate.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/run/run.h"

enum { BATCH = 256 };

#define HELD_BACK 1000000000u /* nanoseconds: so much older packets may be that the kernel still gives */

/* ----------------------------------------------------------------- signals */

static struct ink_capture *volatile listening;
static volatile sig_atomic_t interrupted, asked, reload;

static void on_signal(int signal)
{
	if (signal == SIGUSR1)
		asked = 1;
	else if (signal == SIGHUP)
		reload = 1;
	else {
		interrupted = 1;
		if (listening)
			ink_capture_stop(listening);
	}
}

/* A read that waits goes on after USR1 and HUP; INT and TERM end it. */
static void listen_to_signals(void)
{
	struct sigaction a = {.sa_handler = on_signal};

	sigemptyset(&a.sa_mask);
	sigaction(SIGINT, &a, NULL);
	sigaction(SIGTERM, &a, NULL);
	a.sa_flags = SA_RESTART;
	sigaction(SIGUSR1, &a, NULL);
	sigaction(SIGHUP, &a, NULL);
}

/* ----------------------------------------------------------------- actions */

static void trouble(struct session *s, const char *with, int error)
{
	if (s->trouble)
		return;
	s->trouble = error;
	s->trouble_with = with;
}

static void save_packet(struct session *s, const struct ink_packet *p)
{
	int error = s->dump ? ink_dump_packet(s->dump, p) : 0;

	if (error)
		trouble(s, s->w->write, error);
	s->saved += s->dump != NULL && !error;
}

static void act(struct session *s, const struct ink_moved *m)
{
	const struct ink_action *a = m->action;

	if (a->report) {
		s->reports++;
		record_report(s, m);
	}
	if (a->saves)
		save_packet(s, m->packet);
	if (a->verdict == INK_DROP)
		s->dropped++;
}

static int lost(const struct ink_moved *m)
{
	return m->error || m->move.from == INK_DONT_KNOW;
}

static void find_candidates(struct session *s, const struct ink_moved *m)
{
	cautious_see(s->cautious, m);
	if ((lost(m) || m->action->report || m->action->saves) && candidates_add(s->candidates, m->id))
		trouble(s, "the candidates", -ENOMEM);
}

static void on_moved(const struct ink_moved *m, void *user)
{
	struct session *s = user;

	if (s->verifier)
		verifier_see(s->verifier, m, s->view->rules);
	if (s->cautious)
		find_candidates(s, m);
	else
		act(s, m);
}

static int is_candidate(uint64_t id, void *user)
{
	return candidates_have(((const struct session *)user)->candidates, id);
}

/* ----------------------------------------------------------------- opening */

/* An exact table that runs the machine too. */
static struct ink_table *exact_machine(const struct session *s, struct ink_why *why)
{
	struct ink_options o = {.size = sizeof o,
				.kind = INK_EXACT,
				.states = s->view->rules->states,
				.flows = 1,
				.age_bits = s->view->timeouts && !s->w->no_timeouts,
				.seed = s->w->table.seed,
				.rules = s->view->rules};

	return ink_create(&o, why);
}

static struct ink_table *main_table(struct session *s, struct ink_why *why)
{
	struct ink_options o = s->w->table;

	if (s->second)
		return exact_machine(s, why);
	o.states = s->view->rules->states;
	o.rules = s->view->rules;
	if (!o.flows && !o.bytes)
		o.flows = DEFAULT_FLOWS;
	if (!o.age_bits)
		o.age_bits = s->view->timeouts && !s->w->no_timeouts;
	if (s->w->two_pass && !(s->cautious = cautious_make(&o, why)))
		return NULL;
	return ink_create(&o, why);
}

static int open_tables(struct session *s)
{
	struct ink_why why = {"no memory"};
	int timeouts = s->view->timeouts && !s->w->no_timeouts;

	s->table = main_table(s, &why);
	if (s->table && s->w->verify && !(s->beside = exact_machine(s, &why)))
		return cli_failed("%s", why.text);
	if (s->table && s->w->verify && !(s->verifier = verifier_make(s->w->table.seed, timeouts, &why)))
		return cli_failed("%s", why.text);
	if (s->table && s->w->exact_for_unsure && !(s->slow = exact_machine(s, &why)))
		return cli_failed("%s", why.text);
	if (s->table && s->cautious && !(s->candidates = candidates_make(s->w->table.seed, &why)))
		return cli_failed("%s", why.text);
	if (s->table)
		return CLI_DONE;
	return cli_failed("%s%s", why.text, errno == ENOTSUP && timeouts ? " (try --no-timeouts)" : "");
}

/* A frame of no bytes shows it: whether it is too short is seen only where the link is known. */
static int is_decoded(enum ink_link link)
{
	struct ink_packet nothing = {.frame = (const uint8_t *)""};

	return ink_packet_parse(&nothing, link, 0) != INK_SKIP_LINK;
}

/* All of a capture is of one link: no packet of it would have a flow. tcpdump refuses what it cannot print, too. */
static int check_link(const struct session *s)
{
	enum ink_link link = ink_capture_link(s->capture);
	const char *name = ink_link_name(link), *input = s->w->file ? s->w->file : s->w->interface;

	if (is_decoded(link))
		return CLI_DONE;
	if (!strcmp(input, "-"))
		input = "standard input";
	if (!strcmp(name, "unknown"))
		return cli_failed("%s: its link is not decoded: %d", input, (int)link);
	return cli_failed("%s: its link is not decoded: %s (%d)", input, name, (int)link);
}

/* Who names several captures has named one, and a filter. */
static int no_input(const struct wishes *w, int error, const struct ink_why *why)
{
	if (error != EINVAL || !w->file_in_filter)
		return cli_failed("%s", why->text);
	return cli_failed("%s; %s is a file: -r reads one, and what stands behind it is the filter",
			  why->text, w->file_in_filter);
}

static int open_input(struct session *s)
{
	struct ink_capture_options o = {.size = sizeof o,
					.file = s->w->file,
					.interface = s->w->interface,
					.filter = s->w->filter,
					.parse = s->w->outermost ? INK_OUTERMOST : 0};
	struct ink_why why = {""};

	s->capture = ink_capture_open(&o, &why);
	if (s->capture)
		return check_link(s);
	return interrupted ? CLI_DONE : no_input(s->w, errno, &why);
}

/* Of an input that never began, nobody will see what it is. */
static enum ink_link link_of(const struct session *s)
{
	return s->capture ? ink_capture_link(s->capture) : INK_LINK_ETHERNET;
}

static int open_track(struct session *s)
{
	struct ink_track_options o = {.size = sizeof o,
				      .machine = s->machine,
				      .table = s->table,
				      .beside = s->beside,
				      .slow = s->slow,
				      .only = s->second ? is_candidate : NULL,
				      .link = link_of(s),
				      .seed = s->w->table.seed,
				      .no_timeouts = s->w->no_timeouts,
				      .every = s->verifier || s->cautious,
				      .moved = on_moved,
				      .user = s};
	struct ink_why why = {""};

	s->track = ink_track_open(&o, &why);
	return s->track ? CLI_DONE : cli_failed("%s", why.text);
}

/* To open a file for writing empties it: it must not be the one that is being read, or written already. */
static int check_outputs(const struct wishes *w)
{
	if (cli_same_file(w->file, w->output) || cli_same_file(w->file, w->write))
		return cli_failed("%s: is the input, and would be overwritten", w->file);
	if (cli_same_file(w->write, w->output))
		return cli_failed("%s: cannot be written by -o and by -w", w->write);
	return CLI_DONE;
}

static int open_output(struct session *s)
{
	const struct wishes *w = s->w;
	struct ink_why why = {""};

	if (s->cautious)
		return CLI_DONE;
	if (check_outputs(w))
		return CLI_FAILED;
	if (w->output)
		s->records = strcmp(w->output, "-") ? fopen(w->output, "w") : stdout;
	if (w->output && !s->records)
		return cli_failed("%s: cannot be written: %s", w->output, strerror(errno));
	if (check_outputs(w)) /* again: the file may be there only now */
		return CLI_FAILED;
	if (w->write)
		s->dump = ink_dump_open(w->write, link_of(s), &why);
	return w->write && !s->dump ? cli_failed("%s", why.text) : CLI_DONE;
}

/*
 * Two passes look for flows that report, a capture is written of what is saved, and
 * filters forget cells, not flows: machines that do not fit cannot be run so.
 */
static int check_machine(const struct session *s)
{
	const struct ink_machine_view *v = s->view;
	int filter = s->w->table.kind == INK_STATEFUL || s->w->table.kind == INK_DIRECT, reports = 0,
	    saves = 0, counts = 0;

	for (unsigned i = 0; i < v->actions; i++) {
		reports |= v->action[i].report != NULL;
		saves |= v->action[i].saves;
	}
	for (unsigned i = 0; i <= v->rules->states; i++)
		counts |= v->on_timeout[i] != 0;
	if (s->w->two_pass && !reports)
		return cli_failed("%s: makes no reports, so --two-pass has nothing to look for",
				  s->w->machine);
	if (s->w->two_pass && v->weighs)
		return cli_failed("%s: its conditions look at counters, and with --two-pass these count "
				  "candidates alone",
				  s->w->machine);
	if (s->w->write && !saves)
		return cli_failed("%s: saves no packets, so -w has nothing to write", s->w->machine);
	if (s->w->table.age_bits && !v->timeouts)
		return cli_failed("%s: has no time-outs, so --age-bits has nothing to count", s->w->machine);
	if (filter && counts && !s->w->no_timeouts)
		return cli_failed("%s: counts flows that time out, and the kind %s forgets cells, not flows; "
				  "--no-timeouts, or another kind",
				  s->w->machine, cli_kind_name(s->w->table.kind));
	return CLI_DONE;
}

static int open_session(struct session *s)
{
	int error;

	s->machine = cli_machine(s->w->machine, 0, NULL);
	if (!s->machine)
		return CLI_FAILED;
	s->view = ink_machine_view(s->machine);
	error = check_machine(s);
	if (!error)
		error = open_tables(s);
	if (!error)
		error = open_input(s);
	if (!error)
		error = open_track(s);
	return error ? error : open_output(s);
}

/* What could not be written is an error, even if all else went well. */
static int close_output(struct session *s)
{
	struct ink_why why = {""};
	int result = CLI_DONE;

	if (s->dump && ink_dump_close(s->dump, &why))
		result = cli_failed("%s", why.text);
	if (s->records && cli_close(s->records, s->w->output))
		result = CLI_FAILED;
	s->records = NULL;
	s->dump = NULL;
	return result;
}

static void close_session(struct session *s)
{
	close_output(s);
	ink_track_close(s->track);
	ink_capture_close(s->capture);
	ink_free(s->table);
	ink_free(s->beside);
	ink_free(s->slow);
	cautious_free(s->cautious);
	verifier_free(s->verifier);
	ink_machine_free(s->machine);
}

/* ------------------------------------------------------------------ reloading */

static void use_machine(struct session *s, struct ink_machine *machine)
{
	ink_machine_free(s->machine);
	s->machine = machine;
	s->view = ink_machine_view(machine);
	fprintf(stderr, "inkling: %s: reloaded\n", s->w->machine);
}

/* States of the same name get the same numbers, so that the flows keep theirs. */
static void reload_machine(struct session *s)
{
	struct ink_machine *fresh = s->w->two_pass ? NULL : cli_machine(s->w->machine, 0, s->machine);
	struct ink_why why = {"it is wrong"};

	reload = 0;
	if (s->w->two_pass)
		snprintf(why.text, sizeof why.text, "both of two passes need the same machine");
	if (fresh && ink_machine_view(fresh)->timeouts && !s->view->timeouts)
		snprintf(why.text, sizeof why.text, "it has time-outs, and the table keeps no ages");
	else if (fresh && ink_track_exchange(s->track, fresh, &why) == 0) {
		use_machine(s, fresh);
		return;
	}
	cli_failed("%s: %s; the old machine goes on", s->w->machine, why.text);
	ink_machine_free(fresh);
}

/* --------------------------------------------------------------------- the loop */

static uint64_t file_size(const char *file)
{
	struct stat found;

	return file && stat(file, &found) == 0 ? (uint64_t)found.st_size : 0;
}

/* A frame takes its bytes and 16 in a file; that is near enough. */
static void show_progress(struct session *s, uint64_t size)
{
	struct ink_capture_stats c = session_input(s);
	double done;

	if (!size)
		return;
	done = (double)(c.bytes + 16 * c.packets) / (double)size;
	cli_progress(s->second        ? "second pass"
		     : s->w->two_pass ? "first pass"
				      : "reading",
		     done < .99 ? done : .99);
}

static void answer_signals(struct session *s)
{
	if (reload)
		reload_machine(s);
	if (!asked)
		return;
	asked = 0;
	summary_show(stderr, s, NULL);
}

/* The number of packets to read next; 0: that was all that was wished for. */
static size_t room_left(const struct session *s)
{
	uint64_t left = s->most ? s->most - s->read : BATCH;

	return left < BATCH ? (size_t)left : BATCH;
}

/* On an interface time goes by though nothing comes. Time of the day, as in the packets. */
static int pass_time(struct session *s)
{
	struct timespec now;

	if (!s->w->interface || clock_gettime(CLOCK_REALTIME, &now))
		return 0;
	return ink_track_time(s->track,
			      (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec - HELD_BACK);
}

/* On an interface somebody may wait for the records. Where they cannot go out, there is no use in going on. */
static int has_handed_out(struct session *s)
{
	return !s->w->interface || !s->records || fflush(s->records) == 0;
}

static int pass_packets(struct session *s)
{
	static struct ink_packet packet[BATCH];
	struct ink_packets p = {.at = packet};
	uint64_t batches = 0, size = file_size(s->w->file);
	struct ink_why why = {""};
	int error = 0;

	while ((p.room = room_left(s)) && !interrupted && !s->trouble) {
		error = ink_capture_read(s->capture, &p, &why);
		if (error || p.end)
			break;
		s->read += p.n;
		if (p.n ? ink_track_packets(s->track, &p) : pass_time(s))
			return cli_failed("the table has lost its rules");
		if (!has_handed_out(s))
			break; /* closing them tells why */
		answer_signals(s);
		if (++batches % 1024 == 0)
			show_progress(s, size);
	}
	cli_progress_end();
	if (!error)
		return CLI_DONE;
	return s->told ? CLI_FAILED : cli_failed("%s", why.text);
}

/* Also where reading failed: what was readable has been processed, and counts. */
static int run_pass(struct session *s)
{
	int result;

	listening = s->capture;
	result = pass_packets(s);
	listening = NULL;
	s->endless = ink_track_end(s->track) != 0;
	if (s->trouble)
		result = cli_failed("%s: %s", s->trouble_with, strerror(-s->trouble));
	return result;
}

/* --------------------------------------------------------------------- looking */

int session_census(const struct session *s, struct written *census)
{
	struct ink_counts counts;
	int error = ink_census(s->table, &counts);

	*census = (struct written){.unsure = error ? 0 : counts.unsure};
	for (unsigned i = 0; !error && i < s->view->rules->states; i++)
		census->state[s->view->state_of[i]] += counts.state[i];
	return error;
}

static int raises(const struct ink_action *a, unsigned counter)
{
	for (unsigned i = 0; i < a->n_countings; i++)
		if (a->countings[i].counter == counter)
			return 1;
	return 0;
}

/* The last of the rows is that of unsure. */
int session_lacks(const struct session *s, unsigned counter)
{
	const struct ink_machine_view *v = s->view;

	for (unsigned i = 0; s->endless && i <= v->rules->states; i++)
		if (raises(&v->action[v->on_end[i]], counter))
			return 1;
	return 0;
}

struct ink_capture_stats session_input(const struct session *s)
{
	struct ink_capture_stats c = {.size = sizeof c};

	if (s->capture)
		ink_capture_stats(s->capture, &c);
	return c;
}

/* -------------------------------------------------------------------- all of it */

static int dump_to_stdout(const struct wishes *w)
{
	return w->write && !strcmp(w->write, "-");
}

static int show_results(struct session *s, const struct session *first)
{
	int to_stdout = s->records == stdout;

	if (s->records)
		record_summary(s->records, s, first);
	if (!s->w->quiet && !to_stdout)
		summary_show(dump_to_stdout(s->w) ? stderr : stdout, s, first);
	return close_output(s);
}

/* On an interface nothing may come for long, and nobody would know that all is well. */
static void say_that_it_listens(const struct session *s)
{
	const struct wishes *w = s->w;

	if (!w->interface || w->quiet || !s->capture)
		return;
	fprintf(stderr, "inkling: listening to %s (%s)", w->interface, ink_link_name(link_of(s)));
	if (w->filter)
		fprintf(stderr, ", filter '%s'", w->filter);
	fprintf(stderr, "; INT ends, USR1 shows the summary\n");
}

/* Opens, runs, shows and closes; `first` is the pass before, or NULL. */
static int run_and_show(struct session *s, const struct session *first)
{
	int result = open_session(s), shown;

	if (!result) {
		say_that_it_listens(s);
		result = run_pass(s);
		shown = show_results(s, first);
		result = result ? result : shown;
	}
	close_session(s);
	return result;
}

/* Pipes have other names than "-", too. */
static int is_a_file(const char *name)
{
	struct stat found;

	return stat(name, &found) || S_ISREG(found.st_mode); /* if there is none, opening it says so */
}

/*
 * How much the second pass is to read: as much as was asked for, or, if the first was interrupted, as much as that
 * has read, so that what it found is confirmed. Another interrupt ends the second.
 */
static uint64_t take_up(const struct session *first)
{
	if (!interrupted || !first->read)
		return first->most;
	fprintf(stderr, "inkling: interrupted; what was read so far is confirmed now, or interrupt again\n");
	interrupted = 0;
	return first->read;
}

static int run_two(const struct wishes *w)
{
	struct session first = {.w = w, .most = w->packets};
	int opened, result;

	if (!is_a_file(w->file))
		return cli_failed("%s: --two-pass reads the input twice: it must be a file", w->file);
	opened = open_session(&first);
	result = opened ? opened : run_pass(&first);
	if (!opened && !first.trouble) { /* what was readable of a file that is cut is read again */
		struct session second = {.w = w,
					 .second = 1,
					 .candidates = first.candidates,
					 .told = result != CLI_DONE,
					 .most = take_up(&first)};
		int again = run_and_show(&second, &first);

		result = result ? result : again;
	}
	candidates_free(first.candidates);
	close_session(&first);
	return result;
}

/* All tables have the same secret, so that an id means the same flow to each. */
static int choose_seed(struct wishes *w)
{
	while (!w->table.seed)
		if (getrandom(&w->table.seed, sizeof w->table.seed, 0) != (ssize_t)sizeof w->table.seed)
			return cli_failed("no random numbers: %s", strerror(errno));
	return CLI_DONE;
}

int run_session(const struct wishes *wished)
{
	struct wishes w = *wished;
	int error = choose_seed(&w);

	if (error)
		return error;
	listen_to_signals();
	return w.two_pass ? run_two(&w) : run_and_show(&(struct session){.w = &w, .most = w.packets}, NULL);
}
