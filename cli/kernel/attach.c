/* SPDX-License-Identifier: BSD-2-Clause */
/* inkling attach, reload, detach: sets are made, get other machines, and end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "cli/figures.h"
#include "cli/kernel/queues.h"
#include "cli/kernel/sets.h"
#include "sim/text.h"

/* ------------------------------------------------------------------------- the machines */

/* What a set is made from. The texts go into the kernel, for the commands that come later. */
struct making {
	struct ink_machines *machines;
	unsigned n_texts;
	char *texts[CLI_NAMES_MOST]; /* of files; bundled machines have theirs */
	struct ink_kernel_source sources[CLI_NAMES_MOST];
	struct ink_setting settings[CLI_SETTINGS_MOST];
	struct ink_options tables[INK_KERNEL_MACHINES];
	struct places places;
	struct ink_kernel_options options;
};

static char *read_text(const char *name, size_t *length)
{
	FILE *file = fopen(name, "rbe"), *to;
	char *text = NULL, block[4096];
	int broken = 1;
	size_t n;

	to = file ? open_memstream(&text, length) : NULL;
	while (to && (n = fread(block, 1, sizeof block, file)) > 0)
		fwrite(block, 1, n, to);
	if (to) {
		broken = ferror(file) || ferror(to);
		broken |= fclose(to) != 0;
	}
	if (file)
		fclose(file);
	if (!broken)
		return text;
	free(text);
	return NULL;
}

/* It is read twice: to show what is wrong with it, and to keep its text. */
static int check_file(const char *name)
{
	struct stat found;

	if (stat(name, &found) == 0 && !S_ISREG(found.st_mode))
		return cli_failed("%s: is no regular file, and a machine in the kernel needs one", name);
	return CLI_DONE;
}

static int take_source(struct making *m, const char *name)
{
	const struct ink_bundled *bundled = cli_bundled(name);
	struct ink_kernel_source *source = &m->sources[m->n_texts];
	char *text = NULL;

	if (bundled) {
		*source = (struct ink_kernel_source){name, bundled->text, bundled->length};
	} else {
		text = read_text(name, &source->length);
		if (!text)
			return cli_failed("%s: %s", name, strerror(errno));
		source->name = name;
		source->text = text;
	}
	m->texts[m->n_texts++] = text;
	return CLI_DONE;
}

/* `like`: the machines that these replace, or NULL. */
static int load_machines(struct making *m, const struct kernel_request *r, const struct ink_machines *like)
{
	struct cli_machine_options options = {.set = &r->values, .like = like};
	int error = CLI_DONE;

	for (unsigned i = 0; i < r->names.n && !error; i++)
		error = cli_names_file(r->names.name[i]) ? check_file(r->names.name[i]) : CLI_DONE;
	m->machines = error ? NULL : cli_machines(&r->names, &options);
	if (!m->machines)
		return CLI_FAILED;
	for (unsigned i = 0; i < r->names.n && !error; i++)
		error = take_source(m, r->names.name[i]);
	for (unsigned i = 0; i < r->values.n; i++)
		m->settings[i] = (struct ink_setting){r->values.all[i].name, r->values.all[i].value};
	m->options.machines = m->machines;
	m->options.sources = m->sources;
	m->options.n_sources = m->n_texts;
	m->options.settings = m->settings;
	m->options.n_settings = r->values.n;
	return error;
}

static void free_making(struct making *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < m->n_texts; i++)
		free(m->texts[i]);
	ink_machines_free(m->machines);
	free(m);
}

static const struct ink_machine_view *view_of(const struct making *m, unsigned i)
{
	return ink_machine_view(ink_machines_at(m->machines, i));
}

/* ------------------------------------------------------------------------------ options */

/* What the machines do, as far as options depend on it. */
struct abilities {
	int saves, verdicts, timeouts, queues;
};

static struct abilities abilities_of(const struct making *m)
{
	struct abilities a = {0};

	for (unsigned i = 0; i < ink_machines_count(m->machines); i++) {
		const struct ink_machine_view *v = view_of(m, i);

		a.timeouts |= v->timeouts;
		a.queues |= v->queues;
		for (unsigned j = 0; j < v->actions; j++) {
			a.saves |= v->action[j].saves;
			a.verdicts |= v->action[j].verdict == INK_DROP || v->action[j].marks ||
				      v->action_more[j].prioritizes || v->action_more[j].limit;
		}
	}
	return a;
}

/* Options without effect on these machines are errors. */
static int check_effects(const struct making *m, const struct kernel_request *r)
{
	struct abilities a = abilities_of(m);

	if (r->enforce && !a.verdicts)
		return cli_failed(
			"%s: does nothing to packets that could be carried out, so --enforce has no effect",
			r->machine);
	if ((r->queue_rate || r->queue_virtual) && !a.queues)
		return cli_failed("%s: no condition depends on the queue, so --%s has no effect", r->machine,
				  r->queue_rate ? "queue-rate" : "queue");
	if (r->table.age_bits && !a.timeouts)
		return cli_failed("%s: has no time-outs, so --age-bits has no effect", r->machine);
	return cli_check_room(&r->room, m->machines);
}

/* All tables share one secret: an id means the same flow to each. */
static int choose_seed(struct making *m, uint64_t seed)
{
	while (!seed)
		if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed)
			return cli_failed("no random numbers: %s", strerror(errno));
	for (unsigned i = 0; i < ink_machines_count(m->machines); i++)
		m->tables[i].seed = seed;
	return CLI_DONE;
}

static int size_tables(struct making *m, const struct kernel_request *r)
{
	for (unsigned i = 0; i < ink_machines_count(m->machines); i++) {
		const struct ink_machine_view *v = view_of(m, i);
		struct ink_options *o = &m->tables[i];

		*o = r->table;
		o->kind = INK_LINE;
		o->states = v->rules->states;
		o->rules = v->rules;
		if (!v->timeouts)
			o->age_bits = 0;
		else if (!o->age_bits && !r->no_timeouts)
			o->age_bits = CLI_AGE_BITS;
		cli_apply_room(&r->room, m->machines, i, o);
	}
	return choose_seed(m, r->seed);
}

static void fill_options(struct making *m, const struct kernel_request *r)
{
	struct ink_kernel_options *o = &m->options;

	o->tables = m->tables;
	o->load = r->load;
	o->places = m->places.at;
	o->n_places = m->places.n;
	o->mark_bit = r->mark_bit;
	o->snap = r->snap;
	o->queue_rate = r->queue_rate;
	o->queue_virtual = r->queue_virtual;
	o->enforce = r->enforce;
	o->no_timeouts = r->no_timeouts;
	o->dry_run = r->dry_run;
}

/* ------------------------------------------------------------------------------- attach */

static void show_names(const struct ink_machines *machines)
{
	for (unsigned i = 0; i < ink_machines_count(machines); i++)
		printf("%s%s", i ? ", " : "", ink_machine_view(ink_machines_at(machines, i))->name);
}

/* XDP of a driver that has none comes after the socket buffer is made, and costs as much as tc. */
static void say_generic(const struct places *p, const struct ink_kernel *kernel)
{
	const char *way;

	for (unsigned i = 0; (way = ink_kernel_way(kernel, i)); i++)
		if (!strcmp(way, "generic")) {
			fputs("; generic XDP at ", stdout);
			sim_put_visible(p->at[i].interface, stdout);
			fputs(", whose driver has none of its own", stdout);
		}
}

/* Which queue it is, unless the qdisc is exchanged. */
static void say_queues(const struct ink_kernel *kernel)
{
	struct ink_kernel_queued queues[INK_KERNEL_QUEUES];
	unsigned n;

	if (ink_kernel_queues(kernel, queues, &n))
		return;
	for (unsigned i = 0; i < n; i++) {
		fputs("; the queue of ", stdout);
		queues_show(stdout, &queues[i]);
	}
}

/* "eth0: tcp, scan at eth0 xdp; tables of 5.7 MiB" */
static void say_attached(const struct making *m, const struct kernel_request *r,
			 const struct ink_kernel *kernel)
{
	uint64_t lines = 0;

	for (unsigned i = 0; i < ink_machines_count(m->machines); i++)
		lines += ink_kernel_table(kernel, i)->shape.lines;
	sim_put_visible(m->options.name, stdout);
	fputs(": ", stdout);
	show_names(m->machines);
	fputs(r->dry_run ? " can be attached at " : " at ", stdout);
	places_show(stdout, &m->places);
	printf("; tables of %s", cli_sized(lines * 64));
	say_generic(&m->places, kernel);
	say_queues(kernel);
	if (abilities_of(m).verdicts && !r->enforce)
		fputs("; verdicts are counted, and not carried out (--enforce)", stdout);
	putchar('\n');
}

static int make(struct making *m, const struct kernel_request *r)
{
	struct ink_why why = {"no memory"};
	struct ink_kernel *kernel = NULL;

	if (ink_kernel_check(&m->options, &why) == 0)
		kernel = ink_kernel_make(&m->options, &why);
	if (!kernel)
		return cli_failed("%s", why.text);
	say_attached(m, r, kernel);
	ink_kernel_close(kernel);
	return CLI_DONE;
}

int kernel_attach(const struct kernel_request *r)
{
	struct making *m = calloc(1, sizeof *m);
	int error = m ? load_machines(m, r, NULL) : cli_failed("no memory");

	if (!error)
		error = check_effects(m, r);
	if (!error)
		error = places_of(r, &m->places);
	if (!error)
		error = size_tables(m, r);
	if (!error) {
		fill_options(m, r);
		m->options.name = r->name ? r->name : r->interfaces.name[0];
		error = make(m, r);
	}
	free_making(m);
	return error;
}

/* ------------------------------------------------------------------------------- reload */

/* Was it attached with --no-timeouts? */
static int ignores_time(struct ink_kernel *kernel)
{
	const struct ink_machines *machines = ink_kernel_machines(kernel);

	for (unsigned i = 0; i < ink_machines_count(machines); i++)
		if (ink_machine_view(ink_machines_at(machines, i))->timeouts &&
		    !ink_kernel_table(kernel, i)->timeouts)
			return 1;
	return 0;
}

/* The hooks and what is carried out there stay: a machine may ask for more than they can. */
static int exchange(struct ink_kernel *kernel, struct making *m, struct ink_why *why)
{
	const struct ink_kernel_control *control = ink_kernel_control(kernel);
	int error;

	sets_places(kernel, &m->places);
	m->options.places = m->places.at;
	m->options.n_places = m->places.n;
	m->options.enforce = control->enforce != 0;
	m->options.no_timeouts = ignores_time(kernel);
	error = ink_kernel_check(&m->options, why);
	return error ? error : ink_kernel_reload(kernel, &m->options, why);
}

static int reload(struct ink_kernel *kernel, struct making *m, const struct kernel_request *r,
		  const char *set)
{
	struct ink_why why = {"no memory"};
	unsigned n = ink_machines_count(ink_kernel_machines(kernel));

	if (load_machines(m, r, ink_kernel_machines(kernel)))
		return cli_failed("%s: not reloaded; the old machine%s continue%s", set, cli_plural(n),
				  n == 1 ? "s" : "");
	if (exchange(kernel, m, &why))
		return cli_failed("%s: not reloaded: %s; the old machine%s continue%s", set, why.text,
				  cli_plural(n), n == 1 ? "s" : "");
	printf("%s: ", set);
	show_names(m->machines);
	printf(" reloaded\n");
	return CLI_DONE;
}

int kernel_reload(const struct kernel_request *r)
{
	char set[INK_KERNEL_PATH + 1];
	struct ink_kernel *kernel = sets_open(r->set, set);
	struct making *m = kernel ? calloc(1, sizeof *m) : NULL;
	int error = m ? reload(kernel, m, r, set) : CLI_FAILED;

	if (kernel && !m)
		cli_failed("no memory");
	free_making(m);
	ink_kernel_close(kernel);
	return error;
}

/* ------------------------------------------------------------------------------- detach */

/* By its name: a set that another version has made, or a tool that was killed, cannot be opened. */
int kernel_detach(const struct kernel_request *r)
{
	char set[INK_KERNEL_PATH + 1];
	struct ink_why why = {"no memory"};

	if (sets_find(r->set, set))
		return CLI_FAILED;
	return ink_kernel_remove(set, &why) ? cli_failed("%s", why.text) : CLI_DONE;
}
