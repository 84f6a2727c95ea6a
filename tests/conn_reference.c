/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * For conn.sh: what `inkling run conn` must count, by the model of conn_model.h.
 *
 *     conn_reference count FILE [--no-timeouts]   the counters over a capture, one in a line: "S0 17"
 *     conn_reference table                        the rows of the decision table, as docs/machines.md has them
 *     conn_reference make SEED FILE               writes a capture of random segments (conn_random.h)
 *
 * Exits with 0; a capture that is cut is counted as far as it can be read, and the exit is 1; 2 for anything else.
 */
#include <errno.h>
#include <inttypes.h>

#include "tests/conn_model.h"
#include "tests/conn_random.h"

static void need(int condition, const char *what, const char *reason)
{
	if (condition)
		return;
	fprintf(stderr, "conn_reference: %s: %s\n", what, reason);
	exit(2);
}

/* ------------------------------------------------------------------------------ count */

static int read_all(struct conn_model *m, struct ink_capture *capture, const char *file)
{
	struct ink_packet packets[256];
	struct ink_packets batch = {.at = packets, .room = 256};
	struct ink_why why;
	int error;

	while (!(error = ink_capture_read(capture, &batch, &why)) && !batch.end)
		for (size_t i = 0; i < batch.n; i++)
			conn_packet(m, &packets[i]);
	need(error == 0 || error == -EILSEQ, file, why.text);
	return error != 0;
}

static int count(const char *file, int no_timeouts)
{
	struct ink_capture_options o = {.size = sizeof o, .file = file};
	struct ink_why why;
	struct ink_capture *capture = ink_capture_open(&o, &why);
	struct conn_model m;
	int cut;

	need(capture != NULL, file, why.text);
	conn_begin(&m);
	m.no_timeouts = no_timeouts;
	cut = read_all(&m, capture, file);
	conn_end(&m);
	ink_capture_close(capture);
	for (unsigned i = 0; i < CONN_COUNTERS; i++)
		printf("%s %" PRIu64 "\n", conn_counters[i], conn_counted(&m, conn_counters[i]));
	return cut;
}

/* ------------------------------------------------------------------------------ table */

static void print_cell(unsigned next)
{
	if (next == stay || next == new)
		printf(" %s |", next == new ? "new" : ".");
	else
		printf(" `%s` |", conn_rows[next].name);
}

/* The others end after 64 s. */
static void print_long(void)
{
	const char *comma = "";

	printf("| 64 minutes |");
	for (unsigned i = FIRST_SITUATION; i < SITUATIONS; i++)
		if (conn_rows[i].ticks == LONG_TICKS) {
			printf("%s `%s`", comma, conn_rows[i].name);
			comma = ",";
		}
	printf(" |\n");
}

static int table(void)
{
	printf("| leads to |");
	for (unsigned i = 0; i < SEGMENTS; i++)
		print_cell(conn_first[i]);
	printf("\n");
	for (unsigned i = FIRST_SITUATION; i < SITUATIONS; i++) {
		printf("| `%s` |", conn_rows[i].name);
		for (unsigned j = 0; j < 2 * SEGMENTS; j++)
			print_cell(conn_rows[i].next[j / SEGMENTS][j % SEGMENTS]);
		printf("\n");
	}
	print_long();
	return 0;
}

/* ------------------------------------------------------------------------------- make */

static int make(const char *seed, const char *file)
{
	static struct stream stream;
	struct ink_why why;
	struct ink_dump *dump = ink_dump_open(file, INK_LINK_ETHERNET, &why);

	need(dump != NULL, file, why.text);
	stream_random(&stream, strtoull(seed, NULL, 10));
	for (size_t i = 0; i < stream.n; i++)
		need(ink_dump_packet(dump, &stream.packets[i]) == 0, file, "cannot be written");
	need(ink_dump_close(dump, &why) == 0, file, why.text);
	return 0;
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : "";

	if (!strcmp(command, "count") && argc == 3)
		return count(argv[2], 0);
	if (!strcmp(command, "count") && argc == 4 && !strcmp(argv[3], "--no-timeouts"))
		return count(argv[2], 1);
	if (!strcmp(command, "table") && argc == 2)
		return table();
	if (!strcmp(command, "make") && argc == 4)
		return make(argv[2], argv[3]);
	need(0, command, "count FILE [--no-timeouts], table, or make SEED FILE");
	return 2;
}
