/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling run: opens and closes the machines, tables, input and outputs of a session. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/run/run.h"

/* --------------------------------------------------------------------------- machine */

/* What the machines do, as far as options depend on it. */
struct abilities {
	int reports, saves, weighs, timeouts, counts_timeouts;
	const char *queue_at;         /* the first condition on the queue, or NULL */
	const struct ink_tell *tells; /* the first link, or NULL */
	const char *teller;           /* its file */
};

static void add_actions(struct abilities *a, const struct ink_machine_view *v)
{
	for (unsigned i = 0; i < v->actions; i++) {
		const struct ink_action_more *more = &v->action_more[i];

		a->reports |= v->action[i].report != NULL;
		a->saves |= v->action[i].saves;
		if (!a->tells && more->n_tells) {
			a->tells = more->tells;
			a->teller = v->file;
		}
	}
}

static struct abilities abilities_of(const struct session *s)
{
	struct abilities a = {0};

	for (unsigned m = 0; m < s->n; m++) {
		const struct ink_machine_view *v = s->members[m].view;

		add_actions(&a, v);
		a.weighs |= v->weighs;
		a.queue_at = a.queue_at ? a.queue_at : v->queue_at;
		a.timeouts |= v->timeouts;
		for (unsigned i = 0; i <= v->rules->states; i++)
			a.counts_timeouts |= v->on_timeout[i] != 0;
	}
	return a;
}

/* The second pass steps only candidates, so it does not know all that they would tell other machines. */
static int check_two_pass(const struct session *s, const struct abilities *a)
{
	const char *name = s->request->machine;

	if (a->tells)
		return cli_failed(
			"%s:%u:%u: tells another machine, and --two-pass is for machines without links",
			a->teller, a->tells->line, a->tells->column);
	if (s->n > 1)
		return cli_failed("%s: --two-pass is for one machine", name);
	if (!a->reports)
		return cli_failed("%s: makes no reports, so --two-pass has no effect", name);
	if (a->queue_at)
		return cli_failed(
			"%s: depends on the queue, and the second pass of --two-pass does not see what "
			"other flows drop",
			a->queue_at);
	if (a->weighs)
		return cli_failed("%s: its conditions depend on counters, and --two-pass counts only "
				  "candidates",
				  name);
	return CLI_DONE;
}

/* Conditions on the queue need its rate, and without such conditions a rate would do nothing. */
static int check_queue(const struct session *s, const struct abilities *a)
{
	const struct request *r = s->request;

	if (a->queue_at && !r->queue_rate)
		return cli_failed(
			"%s: depends on the queue of a link: --queue-rate RATE says how fast that is",
			a->queue_at);
	if (r->queue_rate && !a->queue_at)
		return cli_failed("%s: no condition depends on the queue, so --queue-rate has no effect",
				  r->machine);
	return CLI_DONE;
}

/* Options without effect on these machines, or that would change what they count, are errors. */
static int check_machines(const struct session *s)
{
	const struct request *r = s->request;
	struct abilities a = abilities_of(s);
	struct ink_kind_info kind = cli_kind(r->table.kind);
	int filter = (kind.can & INK_CAN_TIME_OUT) && !(kind.can & INK_CAN_CENSUS);

	if (r->two_pass && check_two_pass(s, &a))
		return CLI_FAILED;
	if (check_queue(s, &a))
		return CLI_FAILED;
	if (r->write && !a.saves)
		return cli_failed("%s: saves no packets, so -w has no effect", r->machine);
	if (r->table.age_bits && !a.timeouts)
		return cli_failed("%s: has no time-outs, so --age-bits has no effect", r->machine);
	if (filter && a.counts_timeouts && !r->no_timeouts)
		return cli_failed("%s: counts flows that time out, and the kind %s expires cells, not flows; "
				  "use --no-timeouts or another kind",
				  r->machine, kind.name);
	return cli_check_room(&r->room, s->machines);
}

/* ---------------------------------------------------------------------------- tables */

/* An exact table that also runs the machine. */
static struct ink_table *exact_machine(const struct session *s, const struct member *m, struct ink_why *why)
{
	struct ink_options o = {.size = sizeof o,
				.kind = INK_EXACT,
				.states = m->view->rules->states,
				.flows = 1,
				.age_bits = m->view->timeouts && !s->request->no_timeouts,
				.seed = s->request->table.seed,
				.rules = m->view->rules};

	return ink_create(&o, why);
}

/* When time-outs fire: the table that runs the machine decides. */
struct cli_ages session_ages(const struct session *s)
{
	unsigned bits = s->request->table.age_bits ? s->request->table.age_bits : CLI_AGE_BITS;

	return (struct cli_ages){s->second ? INK_EXACT : s->request->table.kind,
				 s->request->no_timeouts ? 0 : bits};
}

void session_size(const struct session *s, const struct member *m, struct ink_options *o)
{
	cli_apply_room(&s->request->room, s->machines, (unsigned)(m - s->members), o);
}

static struct ink_table *main_table(struct session *s, const struct member *m, struct ink_why *why)
{
	struct ink_options o = s->request->table;

	if (s->second)
		return exact_machine(s, m, why);
	o.states = m->view->rules->states;
	o.rules = m->view->rules;
	session_size(s, m, &o);
	if (!m->view->timeouts)
		o.age_bits = 0;
	else if (!o.age_bits && !s->request->no_timeouts)
		o.age_bits = CLI_AGE_BITS;
	if (s->request->two_pass && !(s->first_pass = first_pass_make(&o, why)))
		return NULL;
	return ink_create(&o, why);
}

/* What runs beside the main table. Non-zero: why. */
static int open_companions(struct session *s, struct member *m, int timeouts, struct ink_why *why)
{
	const struct request *r = s->request;

	if (r->verify && !(m->beside = exact_machine(s, m, why)))
		return -1;
	if (r->verify && !(m->verifier = verifier_make(r->table.seed, timeouts, why)))
		return -1;
	if (r->exact_for_unsure && !(m->slow = exact_machine(s, m, why)))
		return -1;
	if (s->first_pass && !(s->candidates = candidates_make(r->table.seed, why)))
		return -1;
	return 0;
}

static int open_member(struct session *s, struct member *m)
{
	struct ink_why why = {"no memory"};
	int timeouts = m->view->timeouts && !s->request->no_timeouts;

	m->table = main_table(s, m, &why);
	if (!m->table)
		return cli_failed("%s%s%s%s", s->n > 1 ? m->view->name : "", s->n > 1 ? ": " : "", why.text,
				  errno == ENOTSUP && timeouts ? " (try --no-timeouts)" : "");
	return open_companions(s, m, timeouts, &why) ? cli_failed("%s", why.text) : CLI_DONE;
}

static int open_tables(struct session *s)
{
	int error = CLI_DONE;

	for (unsigned i = 0; i < s->n && !error; i++)
		error = open_member(s, &s->members[i]);
	return error;
}

/* ----------------------------------------------------------------------------- input */

/* An empty frame tells: the parser checks the link before the length. */
static int is_decoded(enum ink_link link)
{
	struct ink_packet nothing = {.frame = (const uint8_t *)""};

	return ink_packet_parse(&nothing, link, 0) != INK_SKIP_LINK;
}

/* A capture has one link. If that is not decoded, no packet has a flow. */
static int check_link(const struct session *s)
{
	enum ink_link link = ink_capture_link(s->capture);
	const char *name = ink_link_name(link),
		   *input = s->request->file ? s->request->file : s->request->interface;

	if (is_decoded(link))
		return CLI_DONE;
	if (!strcmp(input, "-"))
		input = "standard input";
	if (!strcmp(name, "unknown"))
		return cli_failed("%s: link type %d is not supported", input, (int)link);
	return cli_failed("%s: link type %s (%d) is not supported", input, name, (int)link);
}

/* A second capture or machine on the line is read as a part of the filter. */
static int no_input(const struct request *r, int error, const struct ink_why *why)
{
	char hint[CLI_HINT];

	if (error == EINVAL && r->file_in_filter)
		return cli_failed(
			"%s; %s is a file: -r reads one file, and the words behind it are the filter",
			why->text, r->file_in_filter);
	if (error == EINVAL && r->machine_in_filter)
		return cli_failed("%s; %s is a machine: several are written %s,%s, and the words behind them "
				  "are the filter",
				  why->text, r->machine_in_filter, r->machine, r->machine_in_filter);
	return r->interface ? cli_failed("%s%s", why->text, cli_interface_hint(r->interface, hint))
			    : cli_failed("%s", why->text);
}

static int open_input(struct session *s)
{
	struct ink_capture_options o = {.size = sizeof o,
					.file = s->request->file,
					.interface = s->request->interface,
					.filter = s->request->filter,
					.parse = s->request->outermost ? INK_OUTERMOST : 0};
	struct ink_why why = {""};

	s->capture = ink_capture_open(&o, &why);
	if (s->capture)
		return check_link(s);
	return session_interrupted() ? CLI_DONE : no_input(s->request, errno, &why);
}

enum ink_link session_link(const struct session *s)
{
	return s->capture ? ink_capture_link(s->capture) : INK_LINK_ETHERNET;
}

static int is_candidate(uint64_t id, void *user)
{
	return candidates_have(((const struct session *)user)->candidates, id);
}

/* The tables of all members, kind by kind, as the tracker takes them. */
static void list_tables(struct session *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		s->tables[i] = s->members[i].table;
		s->tables[s->n + i] = s->members[i].beside;
		s->tables[2 * s->n + i] = s->members[i].slow;
	}
}

static int open_track(struct session *s)
{
	struct ink_track_options o = {.size = sizeof o,
				      .machines = s->machines,
				      .tables = s->tables,
				      .besides = s->tables + s->n,
				      .slows = s->tables + 2 * s->n,
				      .only = s->second ? is_candidate : NULL,
				      .link = session_link(s),
				      .seed = s->request->chance_seed,
				      .queue_rate = s->request->queue_rate,
				      .no_timeouts = s->request->no_timeouts,
				      .every = s->request->verify || s->first_pass,
				      .moved = session_moved,
				      .user = s};
	struct ink_why why = {""};

	list_tables(s);
	s->track = ink_track_open(&o, &why);
	return s->track ? CLI_DONE : cli_failed("%s", why.text);
}

/* --------------------------------------------------------------------------- outputs */

/* Opening an output empties it: it must not be a file that the run reads, or writes already. */
static int check_output(const struct request *r, const char *option, const char *name)
{
	struct cli_file output = {name, STDOUT_FILENO};

	if (cli_same_file(output, (struct cli_file){r->file, STDIN_FILENO}))
		return cli_failed("%s: is the input, and %s would overwrite it", name, option);
	for (unsigned i = 0; i < r->names.n; i++) {
		const char *machine = r->names.name[i];

		if (!cli_bundled(machine) && cli_same_file(output, (struct cli_file){machine, STDIN_FILENO}))
			return cli_failed("%s: is the machine, and %s would overwrite it", name, option);
	}
	return CLI_DONE;
}

static int check_outputs(const struct request *r)
{
	if (check_output(r, "-o", r->output) || check_output(r, "-w", r->write))
		return CLI_FAILED;
	if (cli_same_file((struct cli_file){r->write, STDOUT_FILENO},
			  (struct cli_file){r->output, STDOUT_FILENO}))
		return cli_failed("%s: -o and -w name the same file", r->write);
	return CLI_DONE;
}

/* What is not written to a file is shown, to people only. */
static int shows_reports(const struct request *r)
{
	return !r->output && !r->quiet && isatty(STDOUT_FILENO) && !(r->write && !strcmp(r->write, "-"));
}

static void describe_source(struct session *s)
{
	struct ink_capture_stats stats = {.size = sizeof stats};

	if (s->capture)
		ink_capture_stats(s->capture, &stats);
	s->source = (struct record_source){.file = s->request->file,
					   .interface = s->request->interface,
					   .nanoseconds = stats.fraction == 1,
					   .community_id = s->request->community_id};
}

static int open_output(struct session *s)
{
	const struct request *r = s->request;
	struct ink_why why = {""};

	if (s->first_pass)
		return CLI_DONE;
	describe_source(s);
	s->shows = shows_reports(r);
	if (check_outputs(r))
		return CLI_FAILED;
	if (r->output)
		s->records = strcmp(r->output, "-") ? fopen(r->output, "w") : stdout;
	if (r->output && !s->records)
		return cli_failed("%s: cannot be written: %s", r->output, strerror(errno));
	if (check_outputs(r)) /* again: -w may name the file that -o has just created */
		return CLI_FAILED;
	if (r->write)
		s->dump = ink_dump_open(r->write, session_link(s), &why);
	return r->write && !s->dump ? cli_failed("%s", why.text) : CLI_DONE;
}

/* ----------------------------------------------------------------------- all of them */

/* What is wrong with it has been reported. */
static int no_machine(const char *name)
{
	int signal = session_interrupted();

	if (!signal)
		return CLI_FAILED;
	cli_say("%s: interrupted", name);
	return session_exit_code(signal);
}

static int open_machines(struct session *s)
{
	s->machines = cli_machines(
		&s->request->names,
		&(struct cli_machine_options){.set = &s->request->set, .cancelled = session_interrupted});
	if (!s->machines)
		return no_machine(s->request->machine);
	s->members = calloc(ink_machines_count(s->machines), sizeof *s->members);
	s->tables = calloc(3 * ink_machines_count(s->machines), sizeof(struct ink_table *));
	if (!s->members || !s->tables)
		return cli_failed("no memory");
	s->n = ink_machines_count(s->machines);
	for (unsigned i = 0; i < s->n; i++)
		s->members[i].view = ink_machine_view(ink_machines_at(s->machines, i));
	return check_machines(s);
}

int session_open(struct session *s)
{
	int error = open_machines(s);

	if (!error)
		error = open_tables(s);
	if (!error)
		error = open_input(s);
	if (!error)
		error = open_track(s);
	return error ? error : open_output(s);
}

/* A failure that ended the pass has been reported; closing returns it again. */
static int close_dump(struct session *s)
{
	struct ink_why why = {""};

	if (!ink_dump_close(s->dump, &why))
		return CLI_DONE;
	return s->failure && s->failed == s->request->write ? CLI_FAILED : cli_failed("%s", why.text);
}

int session_close_output(struct session *s)
{
	int result = close_dump(s);

	if (s->records && cli_close(s->records, s->request->output))
		result = CLI_FAILED;
	s->records = NULL;
	s->dump = NULL;
	return result;
}

static void close_member(struct member *m)
{
	ink_free(m->table);
	ink_free(m->beside);
	ink_free(m->slow);
	verifier_free(m->verifier);
}

void session_close(struct session *s)
{
	session_close_output(s);
	ink_track_close(s->track);
	ink_capture_close(s->capture);
	for (unsigned i = 0; i < s->n; i++)
		close_member(&s->members[i]);
	first_pass_free(s->first_pass);
	free(s->members);
	free(s->tables);
	ink_machines_free(s->machines);
}
