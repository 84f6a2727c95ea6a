/* SPDX-License-Identifier: BSD-2-Clause */
/* What the server is told of each command: flags, keys, arguments, categories. */
#include <stdio.h>
#include <string.h>

#include "redis/command.h"

enum { CHANGES = SERVER_KEY_CHANGES | SERVER_KEY_ACCESS | SERVER_KEY_UPDATE };

#define READS "readonly"
#define WRITES "write deny-oom"

/* Arguments, as COMMAND DOCS shows them. */
#define KEY                                                                                                  \
	{                                                                                                    \
		.name = "key", .type = SERVER_KEY_ARGUMENT, .key = 0                                         \
	}
#define TEXT(what)                                                                                           \
	{                                                                                                    \
		.name = what, .type = SERVER_STRING_ARGUMENT, .key = -1                                      \
	}
#define OPTION(what, word)                                                                                   \
	{                                                                                                    \
		.name = what, .type = SERVER_STRING_ARGUMENT, .key = -1, .token = word,                      \
		.flags = SERVER_ARGUMENT_OPTIONAL                                                            \
	}
#define WORD(what, word)                                                                                     \
	{                                                                                                    \
		.name = what, .type = SERVER_WORD_ARGUMENT, .key = -1, .token = word,                        \
		.flags = SERVER_ARGUMENT_OPTIONAL                                                            \
	}
#define MANY(what)                                                                                           \
	{                                                                                                    \
		.name = what, .type = SERVER_STRING_ARGUMENT, .key = -1, .flags = SERVER_ARGUMENT_MULTIPLE   \
	}
#define STREAM                                                                                               \
	{                                                                                                    \
		.name = "stream", .type = SERVER_KEY_ARGUMENT, .key = 1, .token = "REPORTS",                 \
		.flags = SERVER_ARGUMENT_OPTIONAL                                                            \
	}
#define LIST(...)                                                                                            \
	(struct server_argument[])                                                                           \
	{                                                                                                    \
		__VA_ARGS__,                                                                                 \
		{                                                                                            \
			0                                                                                    \
		}                                                                                            \
	}

struct row {
	const char *name, *flags;
	server_handler *run;
	int arity;
	unsigned key; /* SERVER_KEY_...: what it does to its first argument; 0: it has no key */
	int reports;  /* it has REPORTS stream */
	const char *summary, *complexity;
	struct server_argument *arguments;
};

static const struct row rows[] = {
	/* The seed is in it: it is kept from MONITOR and the slow log. */
	{"ink.create", WRITES " no-monitor no-slowlog", command_create, -4,
	 SERVER_KEY_CHANGES | SERVER_KEY_INSERT, 0, "Makes a table", "O(N), N: its bytes",
	 LIST(KEY, MANY("option"))},
	{"ink.plan", "readonly no-mandatory-keys", command_plan, -2, 0, 0, "Plans a table", "O(1)",
	 LIST(MANY("option"))},
	{"ink.step", WRITES " fast", command_step, -5, CHANGES, 0, "Makes steps of a machine",
	 "O(N), N: items", LIST(KEY, OPTION("time", "AT"), TEXT("form"), MANY("item event"))},
	{"ink.steps", WRITES " fast", command_steps, -3, CHANGES, 1, "Makes the steps of a blob",
	 "O(N), N: items", LIST(KEY, STREAM, TEXT("blob"))},
	{"ink.insert", WRITES " fast", command_insert, -4, CHANGES, 0, "Stores flows that are new",
	 "O(N), N: items", LIST(KEY, OPTION("time", "AT"), TEXT("form"), MANY("item state"))},
	{"ink.set", WRITES " fast", command_set, -4, CHANGES, 0, "Stores or changes flows", "O(N), N: items",
	 LIST(KEY, OPTION("time", "AT"), TEXT("form"), MANY("item state"))},
	{"ink.modify", WRITES " fast", command_modify, -4, CHANGES, 0, "Changes flows that are stored",
	 "O(N), N: items", LIST(KEY, OPTION("time", "AT"), TEXT("form"), MANY("item state"))},
	{"ink.del", "write fast", command_del, -4, CHANGES, 0, "Removes flows", "O(N), N: items",
	 LIST(KEY, OPTION("time", "AT"), TEXT("form"), MANY("item"))},
	{"ink.lookup", "write fast", command_lookup, -4, CHANGES, 0,
	 "States of flows; restarts their time-outs", "O(N), N: items",
	 LIST(KEY, OPTION("time", "AT"), TEXT("form"), MANY("item"))},
	{"ink.peek", READS " fast", command_peek, -4, SERVER_KEY_READS | SERVER_KEY_ACCESS, 0,
	 "States of flows; changes nothing", "O(N), N: items", LIST(KEY, TEXT("form"), MANY("item"))},
	{"ink.tick", "write", command_tick, 3, SERVER_KEY_CHANGES | SERVER_KEY_UPDATE, 0, "Passes the time",
	 "O(N), N: cells that are due", LIST(KEY, TEXT("time"))},
	{"ink.poll", "write fast", command_poll, 5, CHANGES, 0, "Collects the moves of a sensor",
	 "O(N), N: moves", LIST(KEY, TEXT("sensor"), TEXT("epoch"), TEXT("collected"))},
	{"ink.census", READS, command_census, 2, SERVER_KEY_READS | SERVER_KEY_ACCESS, 0,
	 "Counts flows by state", "O(N), N: cells", LIST(KEY)},
	{"ink.counters", READS " fast", command_counters, 2, SERVER_KEY_READS | SERVER_KEY_ACCESS, 0,
	 "What was counted", "O(1)", LIST(KEY)},
	{"ink.info", READS, command_info, -2, SERVER_KEY_READS | SERVER_KEY_ACCESS, 0, "What the table is",
	 "O(1); with STATS O(N), N: cells", LIST(KEY, WORD("stats", "STATS"))},
	{"ink.sensors", READS, command_sensors, 2, SERVER_KEY_READS | SERVER_KEY_ACCESS, 0,
	 "The sensors and their sequences", "O(N), N: sensors", LIST(KEY)},
	{"ink.machine", READS, command_machine, 2, SERVER_KEY_READS | SERVER_KEY_ACCESS, 0,
	 "The machine of the table", "O(N), N: its states, events and actions", LIST(KEY)},
	{"ink.dump", READS, command_dump, 3, SERVER_KEY_READS | SERVER_KEY_ACCESS, 0, "A piece of the value",
	 "O(N), N: bytes of the table", LIST(KEY, TEXT("cursor"))},
	{"ink.loadchunk", WRITES, command_loadchunk, 5, SERVER_KEY_CHANGES | SERVER_KEY_INSERT, 0,
	 "Makes a table of pieces", "O(N), N: bytes",
	 LIST(KEY, TEXT("offset"), TEXT("length"), TEXT("bytes"))},
};

enum { ROWS = sizeof rows / sizeof rows[0] };

/* ------------------------------------------------------------------------- one command */

static int set_info(struct server_command *command, const struct row *row)
{
	static const struct server_info_version version = {1, sizeof(struct server_history),
							   sizeof(struct server_key_spec),
							   sizeof(struct server_argument)};
	struct server_key_spec keys[3] = {
		{.flags = row->key, .begin = SERVER_BEGIN_INDEX, .find = SERVER_FIND_RANGE},
		{.flags = SERVER_KEY_CHANGES | SERVER_KEY_INSERT,
		 .begin = SERVER_BEGIN_KEYWORD,
		 .find = SERVER_FIND_RANGE},
	};
	const struct server_command_info info = {.version = &version,
						 .summary = row->summary,
						 .complexity = row->complexity,
						 .since = INK_VERSION,
						 .arity = row->arity,
						 .keys = row->key ? keys : NULL,
						 .arguments = row->arguments};

	keys[0].at.index.position = 1;
	keys[0].keys.range.step = 1;
	keys[1].at.keyword.word = "REPORTS";
	keys[1].at.keyword.from = 2;
	keys[1].keys.range.step = 1;
	if (!row->reports)
		keys[1] = (struct server_key_spec){0};
	return server.SetCommandInfo(command, &info);
}

/* Categories of the server's own come with the flags, for servers that know ours. */
static void set_categories(struct server_command *command, const struct row *row)
{
	char categories[64];

	if (!server.SetCommandACLCategories)
		return;
	snprintf(categories, sizeof categories, "inkling%s%s",
		 strstr(row->flags, "readonly") ? " read" : " write",
		 strstr(row->flags, "fast") ? " fast" : " slow");
	server.SetCommandACLCategories(command, categories);
}

static int register_row(struct server_context *ctx, const struct row *row)
{
	struct server_command *command;
	int key = row->key != 0;

	if (server.CreateCommand(ctx, row->name, row->run, row->flags, key, key, key) != SERVER_OK)
		return SERVER_ERROR;
	command = server.GetCommand(ctx, row->name);
	if (!command || set_info(command, row) != SERVER_OK)
		return SERVER_ERROR;
	set_categories(command, row);
	return SERVER_OK;
}

int commands_register(struct server_context *ctx)
{
	if (server.AddACLCategory)
		server.AddACLCategory(ctx, "inkling");
	for (int i = 0; i < ROWS; i++)
		if (register_row(ctx, &rows[i]) != SERVER_OK)
			return SERVER_ERROR;
	return SERVER_OK;
}
