/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shards on a cluster of three masters and three replicas, on loopback, while
 * nodes are killed, fail over, restart from their AOF, and slots move.
 *
 * Each shard has one sensor, which pipelines blobs, follows MOVED and ASK, and
 * resends what it is asked for. So what a failover lost is repaired, and in the
 * end each table is, byte for byte, a local one that got every blob once. A blob
 * that a replica confirmed (WAIT 1) may not be lost in the first place; what was
 * acknowledged without is counted, and some masters die with blobs that no replica
 * got.
 *
 * Blob n of a shard is made from (shard, n), so nothing is kept for resending.
 *
 *     test_redis_cluster            INK_TEST_SCALE of 10^5 blobs
 *     test_redis_cluster 1000000    that many: make chaos-redis
 */
#include <inttypes.h>

#include "tests/random.h"
#include "tests/redis_oracle.h"
#include "tests/scratch.h"

enum { NODES = 6, MASTERS = 3, SHARDS = 6, AHEAD = 16, ITEMS = 20, FLOWS = 2000, SLOTS = 16384 };

static struct running node[NODES];
static char bus[NODES][16], name[NODES][64];

struct shard {
	char key[16];
	struct oracle oracle;
	uint64_t in_oracle;    /* blobs that the local table has */
	uint64_t acknowledged; /* by the master */
	uint64_t safe;         /* by its replica, too */
	int node, asking;
};

static struct shard shard[SHARDS];
static uint64_t wanted, lost, failovers, moved_slots, restarts;

/* -------------------------------------------------------------------------- blobs */

struct drawn {
	uint64_t ids[ITEMS], time;
	uint16_t events[ITEMS];
	uint32_t n;
};

static void draw(struct drawn *d, unsigned of, uint64_t number)
{
	uint64_t state = id_number(number * SHARDS + of) | 1;

	d->time = START + number * 40000000;
	d->n = 1 + below_from(&state, ITEMS);
	for (uint32_t i = 0; i < d->n; i++) {
		d->ids[i] = id_number(below_from(&state, FLOWS));
		d->events[i] = (uint16_t)below_from(&state, 3);
	}
}

static void feed_oracle(unsigned of)
{
	struct shard *s = &shard[of];

	for (; s->in_oracle < s->acknowledged; s->in_oracle++) {
		struct ink_move moves[ITEMS];
		struct ink_batch batch = {.moves = moves};
		struct drawn d;

		draw(&d, of, s->in_oracle + 1);
		batch.n = d.n;
		batch.ids = d.ids;
		batch.events = d.events;
		ink_tick(s->oracle.table, d.time / s->oracle.tick, NULL);
		ink_step_batch(s->oracle.table, &batch);
	}
}

/* -------------------------------------------------------------------------- nodes */

static void start_node(int i)
{
	if (server_start(&node[i]) != 0)
		fail_msg("node %d does not start: see %s/log", i, node[i].folder);
}

/* An answer of a node, whose connection is made again if it was lost. NULL: it is down. */
static const char *ask(int i, const char *words, struct fake_text a, struct fake_text b)
{
	if (!node[i].pid)
		return NULL;
	if (node[i].c.fd < 0 && client_open(&node[i].c, node[i].socket) != 0)
		return NULL;
	const char *answer = client_do(&node[i].c, words, a, b);

	if (!answer)
		client_close(&node[i].c);
	return answer;
}

#define NOTHING ((struct fake_text){"", 0})

static int node_of_port(const char *answer)
{
	const char *colon = strrchr(answer, ':');

	for (int i = 0; colon && i < NODES; i++)
		if (node[i].port == atoi(colon + 1))
			return i;
	return 0;
}

static int is_master(int i)
{
	const char *role = ask(i, "ROLE", NOTHING, NOTHING);

	return role && !strncmp(role, "[master", 7);
}

/* The node that has the shard now. */
static int holder(const struct shard *s)
{
	for (int tries = 0; tries < 2000; tries++) {
		for (int i = 0; i < NODES; i++) {
			const char *answer = ask(i, "INK.INFO %1", fake_text(s->key), NOTHING);

			if (answer && answer[0] == '[' && is_master(i))
				return i;
		}
		pause_ms(20);
	}
	fail_msg("nobody has %s", s->key);
	return -1;
}

/* The replica that follows a master, or -1. */
static int replica_of(int master)
{
	for (int i = 0; i < NODES; i++) {
		const char *role = i == master ? NULL : ask(i, "ROLE", NOTHING, NOTHING);
		char wants[64];

		snprintf(wants, sizeof wants, " %d connected", node[master].port);
		if (role && !strncmp(role, "[slave", 6) && strstr(role, wants))
			return i;
	}
	return -1;
}

static int wait_for_replica(int master)
{
	for (int tries = 0; tries < 1500; tries++) {
		int i = replica_of(master);

		if (i >= 0)
			return i;
		pause_ms(20);
	}
	fail_msg("node %d has no replica", master);
	return -1;
}

/* ------------------------------------------------------------------------ the sensor */

static void add_blob(struct shard *s, unsigned of, uint64_t number)
{
	struct client *c = &node[s->node].c;
	uint8_t blob[56 + 10 * ITEMS];
	struct drawn d;
	struct sent sent;

	draw(&d, of, number);
	sent = (struct sent){.time = d.time,
			     .ids = d.ids,
			     .events = d.events,
			     .n = d.n,
			     .sensor = 7,
			     .epoch = 1,
			     .sequence = number};
	if (s->asking)
		client_add(c, (struct fake_text[]){fake_text("ASKING")}, 1);
	client_add(c,
		   (struct fake_text[]){
			   fake_text("INK.STEPS"), fake_text(s->key), {blob, blob_write(&sent, blob)}},
		   3);
}

/* The sensor is sent back: what was acknowledged and is gone was lost, unless a replica had it. */
static void go_back(struct shard *s, uint64_t expected)
{
	if (expected - 1 >= s->acknowledged)
		return;
	if (expected - 1 < s->safe)
		fail_msg("%s: blob %" PRIu64 " was confirmed by a replica, and %" PRIu64 " is expected",
			 s->key, s->safe, expected);
	lost += s->acknowledged - (expected - 1);
	s->acknowledged = expected - 1;
}

/* Where to go on, by an error; 1: to wait first. */
static int follow(struct shard *s, const char *error)
{
	s->asking = 0;
	if (!strncmp(error, "-SEQUENCE ", 10)) {
		go_back(s, strtoull(error + 10, NULL, 10));
		return 0;
	}
	if (!strncmp(error, "-MOVED", 6) || !strncmp(error, "-ASK", 4)) {
		s->asking = error[1] == 'A';
		s->node = node_of_port(error);
		return 0;
	}
	if (strncmp(error, "-CLUSTERDOWN", 12) && strncmp(error, "-LOADING", 8) &&
	    strncmp(error, "-READONLY", 9) && strncmp(error, "-MASTERDOWN", 11) &&
	    strncmp(error, "-TRYAGAIN", 9))
		fail_msg("%s: %s", s->key, error);
	return 1;
}

/* Blobs of a pipeline are sent, and their answers read, to the first error. 1: to wait. */
static int pipeline(struct shard *s, unsigned of, uint64_t until)
{
	uint64_t first = s->acknowledged + 1, sent = 0, n = until - s->acknowledged;
	struct client *c = &node[s->node].c;
	char error[200] = "";

	if (!node[s->node].pid || (c->fd < 0 && client_open(c, node[s->node].socket) != 0)) {
		s->node = (s->node + 1) % NODES;
		return 1;
	}
	for (; sent < n; sent++)
		add_blob(s, of, first + sent);
	if (client_send(c) != 0)
		n = 0;
	for (uint64_t i = 0; i < n; i++) {
		const char *answer = s->asking ? client_answer(c) : "";

		answer = answer ? client_answer(c) : NULL;
		if (!answer) {
			n = 0;
		} else if (answer[0] == '-' && !error[0]) {
			snprintf(error, sizeof error, "%s", answer);
		} else if (answer[0] != '-' && s->acknowledged + 1 == first + i) {
			s->acknowledged++;
		}
	}
	if (!n) {
		client_close(c);
		s->node = (s->node + 1) % NODES;
		return 1;
	}
	return error[0] ? follow(s, error) : 0;
}

static void send_blobs(unsigned of, uint64_t n)
{
	struct shard *s = &shard[of];
	uint64_t until = s->acknowledged + n;

	for (int tries = 0; s->acknowledged < until; tries++) {
		if (tries > 3000)
			fail_msg("%s: nobody takes its blobs", s->key);
		if (pipeline(s, of, until))
			pause_ms(20);
	}
	if (random_below(4) == 0) {
		const char *answer = ask(s->node, "WAIT 1 1000", NOTHING, NOTHING);

		if (answer && atoi(answer) >= 1)
			s->safe = s->acknowledged;
	}
}

/* ------------------------------------------------------------------------- trouble */

/* The master acknowledges blobs that its replica does not get: the replica stands still, and its connection is cut. */
static void write_alone(unsigned of, int master, int heir)
{
	kill(node[heir].pid, SIGSTOP);
	ask(master, "CLIENT KILL TYPE slave", NOTHING, NOTHING);
	shard[of].node = master;
	send_blobs(of, AHEAD);
	server_end(&node[master], SIGKILL);
	kill(node[heir].pid, SIGCONT);
}

/* A master dies, its replica takes over, and it comes back as the replica's. */
static void fail_over(unsigned of, int master)
{
	int heir = wait_for_replica(master);
	static int cut;

	if (cut ^= 1)
		write_alone(of, master, heir);
	else
		server_end(&node[master], SIGKILL);
	for (int tries = 0; !is_master(heir); tries++) {
		if (tries > 1500)
			fail_msg("node %d does not take over", heir);
		pause_ms(20);
	}
	start_node(master);
	wait_for_replica(heir);
	failovers++;
}

/* From its AOF, before anybody noticed. */
static void restart(int i)
{
	server_end(&node[i], SIGKILL);
	start_node(i);
	restarts++;
}

static void fail_over_gracefully(int master)
{
	int heir = wait_for_replica(master);

	for (int tries = 0; !is_master(heir); tries++) {
		if (tries % 250 == 0)
			ask(heir, "CLUSTER FAILOVER", NOTHING, NOTHING);
		if (tries > 1500)
			fail_msg("node %d does not take over", heir);
		pause_ms(20);
	}
	wait_for_replica(heir);
	failovers++;
}

static void set_slot(int at, const char *slot, const char *what, int owner)
{
	char words[100];

	snprintf(words, sizeof words, "CLUSTER SETSLOT %%1 %s %%2", what);
	ask(at, words, fake_text(slot), fake_text(name[owner]));
}

/* The shard's slot moves; between the key's move and the slot's, blobs are answered by ASK. */
static void move_slot(unsigned of)
{
	struct shard *s = &shard[of];
	int from = holder(s), to = -1;
	char slot[16], port[16];
	const char *answer;

	for (int i = 0; i < NODES; i++)
		if (i != from && is_master(i))
			to = i;
	if (to < 0)
		return;
	snprintf(slot, sizeof slot, "%s", ask(from, "CLUSTER KEYSLOT %1", fake_text(s->key), NOTHING));
	set_slot(to, slot, "IMPORTING", from);
	set_slot(from, slot, "MIGRATING", to);
	snprintf(port, sizeof port, "%d", node[to].port);
	answer = ask(from, "MIGRATE 127.0.0.1 %1 %2 0 5000", fake_text(port), fake_text(s->key));
	if (!answer || strcmp(answer, "OK") != 0)
		fail_msg("MIGRATE: %s", answer ? answer : "gone");
	s->node = from;
	send_blobs(of, AHEAD);
	set_slot(to, slot, "NODE", to);
	for (int i = 0; i < NODES; i++)
		set_slot(i, slot, "NODE", to);
	moved_slots++;
}

static void trouble(unsigned round)
{
	unsigned of = random_below(SHARDS);
	int master = holder(&shard[of]);

	switch (round % 6) {
	case 0:
		fail_over(of, master);
		break;
	case 1:
		restart(master);
		break;
	case 2:
		restart(wait_for_replica(master));
		break;
	case 3:
		fail_over_gracefully(master);
		break;
	case 4:
		move_slot(of);
		break;
	default:
		ask(master, "BGREWRITEAOF", NOTHING, NOTHING);
		send_blobs(of, AHEAD);
		restart(master);
	}
}

/* ------------------------------------------------------------------------ comparing */

static void assert_same_digest(const struct shard *s, int master)
{
	int heir = wait_for_replica(master);
	char mine[128] = "", theirs[128] = "";

	for (int tries = 0; tries < 1000; tries++) {
		const char *answer = ask(heir, "DEBUG DIGEST-VALUE %1", fake_text(s->key), NOTHING);

		snprintf(theirs, sizeof theirs, "%s", answer ? answer : "");
		answer = ask(master, "DEBUG DIGEST-VALUE %1", fake_text(s->key), NOTHING);
		snprintf(mine, sizeof mine, "%s", answer ? answer : "gone");
		if (!strcmp(mine, theirs))
			return;
		pause_ms(20);
	}
	fail_msg("%s: the digests are %s and %s", s->key, mine, theirs);
}

static void compare_all(void)
{
	for (unsigned i = 0; i < SHARDS; i++) {
		int master;

		send_blobs(i, 1);
		feed_oracle(i);
		master = holder(&shard[i]);
		assert_same_table(&shard[i].oracle, &node[master].c, shard[i].key);
		assert_same_digest(&shard[i], master);
	}
}

TEST_THAT(tables_of_a_cluster_are_those_of_one_machine_whatever_its_nodes_suffer)
{
	uint64_t sent = 0, rounds = wanted / 2000 ? wanted / 2000 : 1, each;

	rounds = rounds < 12 ? rounds : 12 + rounds / 50;
	each = wanted / rounds;
	for (uint64_t round = 0; round < rounds; round++) {
		for (uint64_t i = 0; i < each; i += AHEAD, sent += AHEAD)
			send_blobs(random_below(SHARDS), AHEAD);
		trouble((unsigned)round);
		for (unsigned i = 0; i < SHARDS; i++)
			send_blobs(i, AHEAD);
		compare_all();
	}
	print_message("%" PRIu64 " blobs; %" PRIu64 " failovers, %" PRIu64 " restarts, %" PRIu64
		      " slots moved; %" PRIu64 " acknowledged blobs were lost and sent again\n",
		      sent, failovers, restarts, moved_slots, lost);
	assert_true(lost > 0); /* write_alone() saw to that */
}

/* ----------------------------------------------------------------------- the cluster */

static void prepare_node(int i)
{
	static const char *const has[] = {"--cluster-enabled",
					  "yes",
					  "--cluster-node-timeout",
					  "1500",
					  "--appendonly",
					  "yes",
					  "--appendfsync",
					  "always",
					  "--save",
					  "",
					  "--enable-debug-command",
					  "yes",
					  "--repl-diskless-sync-delay",
					  "0",
					  "--cluster-replica-validity-factor",
					  "0",
					  "--cluster-require-full-coverage",
					  "no"};
	int n = 0;

	for (; n < (int)COUNT(has); n++)
		node[i].options[n] = has[n];
	snprintf(bus[i], sizeof bus[i], "%d", free_port());
	node[i].options[n++] = "--cluster-port";
	node[i].options[n++] = bus[i];
	node[i].options[n] = NULL;
	snprintf(node[i].folder, sizeof node[i].folder, "%s/%d", scratch, i);
	mkdir(node[i].folder, 0700);
	node[i].module = MODULE;
	node[i].port = free_port();
}

static void meet_all(void)
{
	for (int i = 1; i < NODES; i++) {
		char words[100];

		snprintf(words, sizeof words, "CLUSTER MEET 127.0.0.1 %d %.15s", node[i].port, bus[i]);
		assert_string_equal(ask(0, words, NOTHING, NOTHING), "OK");
	}
}

/* Each tries until it succeeds: nodes get to know each other by gossip. */
static void insist(int i, const char *words, const char *text)
{
	for (int tries = 0; tries < 1000; tries++) {
		const char *answer = ask(i, words, fake_text(text), NOTHING);

		if (answer && answer[0] != '-')
			return;
		pause_ms(20);
	}
	fail_msg("node %d: %s", i, words);
}

static void share_slots(void)
{
	for (int i = 0; i < MASTERS; i++) {
		char words[100];

		snprintf(words, sizeof words, "CLUSTER ADDSLOTSRANGE %d %d", i * SLOTS / MASTERS,
			 (i + 1) * SLOTS / MASTERS - 1);
		assert_string_equal(ask(i, words, NOTHING, NOTHING), "OK");
	}
	for (int i = 0; i < MASTERS; i++)
		insist(i + MASTERS, "CLUSTER REPLICATE %1", name[i]);
	for (int i = 0; i < MASTERS; i++)
		wait_for_replica(i);
}

static void create_shards(void)
{
	for (unsigned i = 0; i < SHARDS; i++) {
		struct shard *s = &shard[i];

		snprintf(s->key, sizeof s->key, "web:{%u}", i);
		oracle_begin(&s->oracle, 20000);
		for (int tries = 0;; tries++) {
			const char *answer = ask(s->node, "INK.CREATE %1 MACHINE TEXT %2 FLOWS 20000 SEED 7",
						 fake_text(s->key), fake_text(climb));

			if (answer && !strcmp(answer, "OK"))
				break;
			if (!answer || tries > 1000)
				fail_msg("%s: %s", s->key, answer ? answer : "gone");
			if (follow(s, answer))
				pause_ms(20);
		}
	}
}

static int begin(void **state)
{
	if (scratch_make(state) != 0)
		return -1;
	for (int i = 0; i < NODES; i++) {
		prepare_node(i);
		if (server_start(&node[i]) != 0) {
			fprintf(stderr, "%s does not start as a node of a cluster\n", server_program());
			return -1;
		}
		snprintf(name[i], sizeof name[i], "%s", ask(i, "CLUSTER MYID", NOTHING, NOTHING));
	}
	meet_all();
	share_slots();
	create_shards();
	return 0;
}

static int end(void **state)
{
	for (int i = 0; i < NODES; i++)
		server_end(&node[i], SIGKILL);
	for (unsigned i = 0; i < SHARDS; i++)
		if (shard[i].oracle.table)
			oracle_end(&shard[i].oracle);
	return scratch_remove(state);
}

int main(int argc, char **argv)
{
	wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : scaled(100000);
	if (!server_exists()) {
		printf("%s is not installed: the module was not tried in a cluster\n", server_program());
		return 77;
	}
	return run_suite(&(struct suite){.begin = begin, .end = end});
}
