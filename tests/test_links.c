/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets of machines in a tracker: what rows tell later machines, in which order,
 * and beside an oracle that takes packets one by one.
 *
 * The oracle knows nothing of blocks. For each packet and each machine it first
 * makes the told steps and then the packet's own, in exact tables, and it finds
 * events and keys with a sensor for each machine.
 */
#include "tests/set_help.h"

enum { PACKETS = 4000 };

static const struct ink_options line = {.kind = INK_LINE, .age_bits = 2};

/* ------------------------------------------------------------------- traffic */

/* Few hosts and ports, so that flows meet again; time passes in jumps that time-outs notice. */
static void make_traffic(struct ink_packet *p, size_t n, uint64_t seed)
{
	static const unsigned flags[] = {SYN, SYN, SYN | ACK, ACK, ACK, RST, FIN | ACK};
	uint64_t clock = 1000000000;

	for (size_t i = 0; i < n; i++) {
		uint64_t r = id_number(seed * 1000003 + i);

		p[i] = packet(INK_PROTOCOL_TCP, flags[r % 7], r >> 8 & 1);
		p[i].source[3] = (uint8_t)(1 + (r >> 16) % 5 + (r >> 8 & 1) * 10);
		p[i].destination[3] = (uint8_t)(1 + (r >> 24) % 5 + (~r >> 8 & 1) * 10);
		*(r >> 8 & 1 ? &p[i].sport : &p[i].dport) = (uint16_t)(80 + (r >> 32) % 16);
		clock += (r >> 40) % 100 * 1000000 + (r >> 50) % 97 / 96 * 30000000000;
		p[i].clock = clock;
	}
}

/* -------------------------------------------------------------------- oracle */

/* Told events that wait for a machine, in their order. */
struct waiting {
	unsigned n;
	struct {
		uint16_t event;
		int reversed;
	} at[64];
};

static struct {
	struct ink_sensor *sensors[MACHINES_MOST];
	struct ink_table *tables[MACHINES_MOST];
	uint64_t counters[MACHINES_MOST][INK_COUNTERS_MAX];
	uint64_t origin;
	int started;
} oracle;

static const struct ink_machine_view *view_of(unsigned i)
{
	return ink_machine_view(ink_machines_at(set.machines, i));
}

static void open_oracle(void)
{
	for (unsigned i = 0; i < set.n; i++) {
		struct ink_sensor_options o = {
			.size = sizeof o, .machine = ink_machines_at(set.machines, i), .seed = 1};

		oracle.sensors[i] = ink_sensor_open(&o, NULL);
		assert_non_null(oracle.sensors[i]);
		oracle.tables[i] = table_for(i, exact);
	}
}

static void close_oracle(void)
{
	for (unsigned i = 0; i < set.n; i++) {
		ink_sensor_close(oracle.sensors[i]);
		ink_free(oracle.tables[i]);
	}
	memset(&oracle, 0, sizeof oracle);
}

static struct ink_packet other_way(struct ink_packet p)
{
	struct ink_packet o = p;

	memcpy(o.source, p.destination, sizeof o.source);
	memcpy(o.destination, p.source, sizeof o.destination);
	o.sport = p.dport;
	o.dport = p.sport;
	return o;
}

/* The id by the key of the machine; the machines of this test have keys of parts, so all packets have one. */
static uint64_t oracle_id(unsigned i, const struct ink_packet *p, int reversed)
{
	struct ink_packet way = reversed ? other_way(*p) : *p;
	uint8_t key[INK_KEY_MOST];

	return ink_id(oracle.tables[i], key, ink_packet_key_by(&way, view_of(i)->key_def, key));
}

/* Events of these machines are not split, so a written event has one number in the rules. */
static uint16_t event_in_rules(unsigned i, unsigned written)
{
	const struct ink_machine_view *v = view_of(i);

	for (uint16_t e = 0; e < v->rules->events; e++)
		if (v->event_of[e] == written)
			return e;
	fail();
	return 0;
}

static void oracle_act(unsigned i, const struct ink_move *move, int reversed, struct waiting *waiting)
{
	const struct ink_action *a = &view_of(i)->action[move->action];
	const struct ink_action_more *more = &view_of(i)->action_more[move->action];

	for (unsigned j = 0; j < a->n_countings; j++)
		oracle.counters[i][a->countings[j].counter] += a->countings[j].number;
	for (unsigned j = 0; j < more->n_tells; j++) {
		struct waiting *w = &waiting[more->tells[j].machine];

		w->at[w->n].event = event_in_rules(more->tells[j].machine, more->tells[j].event);
		w->at[w->n++].reversed = reversed ^ more->tells[j].reversed;
	}
}

static void oracle_step(unsigned i, const struct ink_packet *p, uint16_t event, int reversed,
			struct waiting *waiting)
{
	struct ink_move move;

	assert_int_equal(ink_step(oracle.tables[i], oracle_id(i, p, reversed), event, &move), 0);
	oracle_act(i, &move, reversed, waiting);
}

static void oracle_time(unsigned i, uint64_t clock)
{
	struct ink_counts expired;

	assert_int_equal(ink_tick(oracle.tables[i], (clock - oracle.origin) / view_of(i)->tick, &expired), 0);
	for (unsigned s = 0; s < view_of(i)->rules->states; s++) {
		const struct ink_action *a = &view_of(i)->action[view_of(i)->on_timeout[s]];

		for (unsigned j = 0; j < a->n_countings; j++)
			oracle.counters[i][a->countings[j].counter] +=
				a->countings[j].number * expired.state[s];
	}
}

static void oracle_packet(struct ink_packet *p)
{
	struct waiting waiting[MACHINES_MOST] = {{.n = 0}};

	if (!oracle.started++)
		oracle.origin = p->clock;
	for (unsigned i = 0; i < set.n; i++) {
		struct ink_packets one = {.at = p, .n = 1};
		struct ink_sensed own;

		oracle_time(i, p->clock);
		ink_sensor_packets(oracle.sensors[i], &one, &own);
		for (unsigned j = 0; j < waiting[i].n; j++)
			oracle_step(i, p, waiting[i].at[j].event, waiting[i].at[j].reversed, waiting);
		if (own.event != INK_NO_EVENT)
			oracle_step(i, p, own.event,
				    ink_machines_at(set.machines, i)
					    ->events[view_of(i)->event_of[own.event]]
					    .reverse,
				    waiting);
	}
}

static void assert_oracle_agrees(void)
{
	for (unsigned i = 0; i < set.n; i++) {
		struct ink_counts ours, truth;

		ink_census(set.tables[i], &ours);
		ink_census(oracle.tables[i], &truth);
		assert_memory_equal(&ours, &truth, sizeof ours);
		assert_memory_equal(ink_track_counters_of(set.track, i), oracle.counters[i],
				    view_of(i)->counters * sizeof(uint64_t));
	}
}

/* ---------------------------------------------------------------- the machines */

/* Told twice by one row, told by two machines, reversed and not, started and not, with windows and time-outs. */
static const char chain[] =
	"machine contact\nkey src, dst, dst port\n"
	"start event syn = syn and not ack\nreverse event answered = syn and ack\nevent other = ack\n"
	"absent : syn -> tried / count contacts, tell source contact, tell door tried, tell door again\n"
	"tried : syn / tell door again | answered -> known / tell source answered, tell source contact reversed\n"
	"      | timeout 20s -> absent / count forgotten\n"
	"known : other / tell source other | * | timeout 30s -> absent\n"
	"machine source\nkey src\nevent contact, answered, other = told\nevent rst = rst\n"
	"absent : contact -> first step | rst\n"
	"repeat 3 step : contact -> up / tell door again reversed | answered -> down\n"
	"  | rst / count resets | within 10s -> absent / count windows\n"
	"many : contact / count many, tell host seen | answered -> last step | timeout 10s -> absent\n"
	"machine door\nkey dst, dst port\nstart event tried = told\nevent again = told\nevent fin = fin\n"
	"absent : tried -> a\na : again -> b / count agains | fin -> absent / count fins | timeout 5s -> absent\n"
	"b : again -> a / tell host seen | fin / count fins, tell host seen reversed | timeout 5s -> absent\n"
	"machine host\nkey dst\nevent seen = told\nabsent : seen -> there / count hosts\n"
	"there : seen / count seen | timeout 1m -> absent\n";

TEST_THAT(a_set_does_what_machines_do_that_take_packets_one_by_one)
{
	static struct ink_packet p[PACKETS];
	static const struct {
		unsigned machine;
		const char *counter;
	} rare[] = {{0, "forgotten"}, {1, "many"}, {1, "resets"}, {1, "windows"},
		    {2, "agains"},    {2, "fins"}, {3, "hosts"},  {3, "seen"}};
	uint64_t times[COUNT(rare)] = {0};

	for (uint64_t seed = 1; seed <= 20; seed++) {
		make_traffic(p, PACKETS, seed);
		open_set(chain, exact, (struct ink_track_options){.seed = 1}, 0);
		open_oracle();
		give_set(p, PACKETS, 256);
		for (size_t i = 0; i < PACKETS; i++)
			oracle_packet(&p[i]);
		assert_oracle_agrees();
		for (unsigned i = 0; i < COUNT(rare); i++)
			times[i] += counted_by(rare[i].machine, rare[i].counter);
		close_oracle();
		close_set(NULL);
	}
	for (unsigned i = 0; i < COUNT(rare); i++)
		if (!times[i])
			fail_msg("%s was never counted", rare[i].counter);
}

/* Each step as the caller sees it. */
struct seen {
	uint64_t number, id;
	unsigned machine, teller, event;
	int reversed, from, to;
};

static struct {
	size_t n;
	struct seen at[8 * PACKETS];
} log_of[2], *now_log;

static void log_step(const struct ink_moved *m, void *user)
{
	now_log->at[now_log->n++] = (struct seen){m->number, m->id,       m->machine,   m->teller,
						  m->event,  m->reversed, m->move.from, m->move.to};
}

static void run_logged(int i, const char *text, struct ink_options o, struct ink_packet *p, size_t portion)
{
	now_log = &log_of[i];
	memset(now_log, 0, sizeof *now_log);
	open_set(text, o, (struct ink_track_options){.moved = log_step, .every = 1}, 0);
	give_set(p, PACKETS, portion);
	close_set(NULL);
}

TEST_THAT(steps_do_not_depend_on_how_packets_are_divided)
{
	static const size_t portions[] = {1, 7, 256, PACKETS};
	static const struct ink_options *const kinds[] = {&exact, &line};
	static struct ink_packet p[PACKETS];

	make_traffic(p, PACKETS, 77);
	for (int k = 0; k < 2; k++) {
		run_logged(0, chain, *kinds[k], p, 100);
		assert_true(log_of[0].n > PACKETS / 2);
		for (unsigned i = 0; i < 4; i++) {
			run_logged(1, chain, *kinds[k], p, portions[i]);
			assert_memory_equal(&log_of[0], &log_of[1], sizeof log_of[0]);
		}
	}
}

/* By packet, then machine; told ones before the packet's own. */
TEST_THAT(steps_are_reported_in_their_order)
{
	static struct ink_packet p[PACKETS];
	unsigned from_others = 0;

	make_traffic(p, PACKETS, 5);
	run_logged(0, chain, exact, p, 256);
	for (size_t i = 1; i < log_of[0].n; i++) {
		const struct seen *a = &log_of[0].at[i - 1], *b = a + 1;

		assert_true(a->number < b->number || (a->number == b->number && a->machine <= b->machine));
		if (a->number == b->number && a->machine == b->machine)
			assert_true(a->teller > 0);
		from_others += b->teller != 0;
	}
	assert_true(from_others > 1000);
}

/* -------------------------------------------------------------------- a row each */

static const char doubt[] =
	"machine a\nkey connection\nstart event syn = syn\nevent ack = ack\n"
	"absent : syn -> on\non : ack / tell b told | timeout 1h -> absent\n%s"
	"machine b\nkey connection\nevent told = told\nabsent : told -> there / count told\nthere : told / count told\n"
	"  | timeout 1h -> absent\n";

/* Many flows in a table so small that flows collide, and no side table. */
static uint64_t tells_in_doubt(const char *row)
{
	char text[1000];
	struct ink_track_stats s = {.size = sizeof s};

	snprintf(text, sizeof text, doubt, row);
	open_set(text,
		 (struct ink_options){.kind = INK_DLEFT,
				      .flows = 64,
				      .age_bits = 1,
				      .geometry = {.d = 2, .b = 4, .h = 8, .f = 3}},
		 (struct ink_track_options){.seed = 1}, 0);
	for (unsigned i = 0; i < 120; i++) {
		struct ink_packet p = packet(INK_PROTOCOL_TCP, i < 60 ? SYN : ACK, 0);

		p.sport = (uint16_t)(2000 + i % 60);
		give_set(&p, 1, 1);
	}
	ink_track_stats_of(set.track, 0, &s);
	assert_true(s.unsure > 0);
	ink_track_stats_of(set.track, 1, &s);
	close_set(NULL);
	return s.told;
}

TEST_THAT(flows_in_doubt_tell_only_what_their_row_says)
{
	uint64_t silent = tells_in_doubt(""), loud = tells_in_doubt("unsure : ack / tell b told\n");

	assert_true(loud > silent);
}

/* A full table refuses the flow, and its row has told nobody. */
TEST_THAT(a_refused_step_tells_nothing)
{
	struct ink_track_stats a = {.size = sizeof a}, b = {.size = sizeof b};

	open_set(
		"machine a\nkey src\nevent e = any\nabsent : e -> on / tell b told\non : e | timeout 1h -> absent\n"
		"machine b\nkey src\nevent told = told\nabsent : told -> there\nthere : told | timeout 1h -> absent\n",
		(struct ink_options){.kind = INK_LINE, .flows = 20, .full = INK_REFUSE},
		(struct ink_track_options){.seed = 1}, 0);
	for (unsigned i = 0; i < 2000; i++) {
		struct ink_packet p = packet(INK_PROTOCOL_UDP, 0, 0);

		p.source[2] = (uint8_t)(i >> 8);
		p.source[3] = (uint8_t)i;
		give_set(&p, 1, 1);
	}
	ink_track_stats_of(set.track, 0, &a);
	ink_track_stats_of(set.track, 1, &b);
	assert_true(a.refused > 0);
	assert_int_equal(b.told, a.begun);
}

/* The lane beside is a chain of its own: with the same kind nothing differs, and no step is made alone. */
static unsigned differing;

static void count_differences(const struct ink_moved *m, void *user)
{
	differing += m->alone != 0 || m->move.from != m->beside.from || m->move.to != m->beside.to;
}

TEST_THAT(the_tables_beside_are_a_chain_of_their_own)
{
	static struct ink_packet p[PACKETS];
	struct ink_track_options o = {.moved = count_differences, .every = 1};

	make_traffic(p, PACKETS, 9);
	differing = 0;
	open_set(chain, exact, o, 1);
	give_set(p, PACKETS, 256);
	assert_int_equal(differing, 0);
	for (unsigned i = 0; i < set.n; i++)
		assert_memory_equal(ink_track_counters_of(set.track, i),
				    ink_track_counters_beside_of(set.track, i),
				    view_of(i)->counters * sizeof(uint64_t));
}

/* One table is in a state whose row tells b, the one beside in a state whose row tells a and b. */
static const char unlike[] =
	"machine x\nkey src\nevent e = any\nabsent : e -> one\none : e / tell y b | timeout 1h -> absent\n"
	"two : e / tell y a, tell y b | timeout 1h -> absent\n"
	"machine y\nkey src\nevent a, b = told\nabsent : a, b -> on\non : a, b | timeout 1h -> absent\n";

static struct {
	uint64_t id;
	unsigned steps[3]; /* of the second machine, by `alone` */
} pairs;

static void note_pair(const struct ink_moved *m, void *user)
{
	pairs.id = m->id;
	pairs.steps[m->alone] += m->machine == 1;
}

TEST_THAT(steps_of_both_chains_are_paired_though_one_makes_more)
{
	struct ink_packet p = packet(INK_PROTOCOL_UDP, 0, 0);

	memset(&pairs, 0, sizeof pairs);
	open_set(unlike, exact, (struct ink_track_options){.moved = note_pair, .every = 1}, 1);
	give_set(&p, 1, 1);
	assert_int_equal(ink_set(set.besides[0], pairs.id, 1), 0);
	give_set(&p, 1, 1);
	assert_int_equal(pairs.steps[0], 1);
	assert_int_equal(pairs.steps[1], 0);
	assert_int_equal(pairs.steps[2], 1);
}

/* Fingerprints of two bits: the tables disagree all the time, and what beside does is what exact alone does. */
TEST_THAT(errors_of_a_table_do_not_reach_the_chain_beside)
{
	static struct ink_packet p[PACKETS];
	struct ink_options poor = {
		.kind = INK_DLEFT, .age_bits = 2, .geometry = {.d = 2, .b = 4, .h = 8, .f = 2}};
	uint64_t beside[MACHINES_MOST][INK_COUNTERS_MAX];

	make_traffic(p, PACKETS, 9);
	differing = 0;
	open_set(chain, poor, (struct ink_track_options){.moved = count_differences, .every = 1}, 1);
	give_set(p, PACKETS, 256);
	assert_true(differing > 0);
	for (unsigned i = 0; i < set.n; i++)
		memcpy(beside[i], ink_track_counters_beside_of(set.track, i), sizeof beside[i]);
	close_set(NULL);
	open_set(chain, exact, (struct ink_track_options){.seed = 1}, 0);
	give_set(p, PACKETS, 256);
	for (unsigned i = 0; i < set.n; i++)
		assert_memory_equal(ink_track_counters_of(set.track, i), beside[i],
				    view_of(i)->counters * sizeof(uint64_t));
}

/* ----------------------------------------------------------------- some tables */

static const char pair[] = "machine a\nkey src\nevent e = any\nabsent : e -> on / tell b told\n"
			   "on : e / tell b told | timeout 1h -> absent\n"
			   "machine b\nkey src\nevent told = told\nabsent : told -> there / count told\n"
			   "there : told / count told | timeout 1h -> absent\n";

/* Without a table beside the teller there is but one course of what it tells, and both tables of the told take it. */
TEST_THAT(a_machine_without_a_table_beside_tells_both_tables)
{
	struct ink_packet p[3] = {packet(INK_PROTOCOL_UDP, 0, 0), packet(INK_PROTOCOL_UDP, 0, 0),
				  packet(INK_PROTOCOL_UDP, 0, 0)};

	for (unsigned i = 0; i < 2; i++) {
		struct ink_table *besides[2] = {NULL, NULL};

		open_set(pair, exact, (struct ink_track_options){.seed = 1}, 0);
		ink_track_close(set.track);
		besides[i] = set.besides[i] = table_for(i, exact);
		set.track = ink_track_open(&(struct ink_track_options){.size = sizeof(struct ink_track_options),
								       .machines = set.machines,
								       .tables = set.tables,
								       .besides = besides},
					   NULL);
		assert_non_null(set.track);
		give_set(p, 3, 3);
		assert_int_equal(counted_by(1, "told"), 3);
		assert_int_equal(ink_track_counters_beside_of(set.track, 1)[0], i ? 3 : 0);
		close_set(NULL);
	}
}

/* ------------------------------------------------------------------- exchange */

static struct ink_machines *like_now(const char *text)
{
	struct ink_machine_options o = {.size = sizeof o, .complain = note, .like_set = set.machines};

	n_told = 0;
	return ink_machines_make(text, strlen(text), &o);
}

TEST_THAT(all_machines_are_exchanged_or_none)
{
	static const char two[] =
		"machine a\nkey src\nevent e = any\nabsent : e -> on / tell b told\n"
		"on : e / tell b told | timeout 1h -> absent\n"
		"machine b\nkey %s\nevent told = told\nabsent : told -> there / count told\n"
		"there : told / count told by %u | timeout 1h -> absent\n";
	char text[1000];
	struct ink_packet p = packet(INK_PROTOCOL_UDP, 0, 0);
	struct ink_machines *other, *fits;
	struct ink_why why = {""};

	snprintf(text, sizeof text, two, "src", 1);
	open_set(text, exact, (struct ink_track_options){.seed = 1}, 0);
	give_set(&p, 1, 1);
	snprintf(text, sizeof text, two, "dst", 10);
	other = like_now(text);
	assert_int_equal(ink_track_exchange_set(set.track, other, &why), -EINVAL);
	assert_non_null(strstr(why.text, "machine b: its flows have another key"));
	give_set(&p, 1, 1);
	assert_int_equal(counted_by(1, "told"), 2);
	snprintf(text, sizeof text, two, "src", 10);
	fits = like_now(text);
	assert_int_equal(ink_track_exchange_set(set.track, fits, &why), 0);
	give_set(&p, 1, 1);
	assert_int_equal(counted_by(1, "told"), 12);
	ink_machines_free(other);
	ink_machines_free(set.machines);
	set.machines = fits;
}

TEST_THAT(sets_that_do_not_fit_are_refused)
{
	struct ink_why why = {""};
	struct ink_track_options k = {.size = sizeof k};

	open_set(chain, exact, (struct ink_track_options){.seed = 1}, 0);
	k.machine = ink_machines_at(set.machines, 0);
	k.table = set.tables[0];
	assert_null(ink_track_open(&k, &why));
	assert_non_null(strstr(why.text, "machine contact tells other machines"));
	assert_int_equal(ink_track_exchange(set.track, ink_machines_at(set.machines, 3), &why), -EINVAL);
	assert_non_null(strstr(why.text, "the number of machines is 1, and it was 4"));
	k = (struct ink_track_options){.size = sizeof k, .machines = set.machines};
	assert_null(ink_track_open(&k, &why));
	k.tables = (struct ink_table *[]){set.tables[0], set.tables[1], NULL, NULL};
	assert_null(ink_track_open(&k, &why));
	assert_non_null(strstr(why.text, "machine door has no table"));
	assert_null(ink_track_counters_of(set.track, 4));
	assert_int_equal(ink_track_stats_of(set.track, 4, &(struct ink_track_stats){.size = 168}), -EINVAL);
}

int main(void)
{
	return run_suite(&(struct suite){.after_each = close_set});
}
