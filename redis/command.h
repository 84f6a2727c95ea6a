/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands have in common: arguments, keys, answers. */
#ifndef INKLING_REDIS_COMMAND_H
#define INKLING_REDIS_COMMAND_H

#include "redis/api.h"
#include "redis/clock.h"
#include "redis/value.h"

/* Where a command reads its arguments; `wrong` once one of them is. */
struct arguments {
	struct server_context *ctx;
	struct server_string **argv;
	int argc, at;
	const char *wrong;
	char text[256]; /* of `wrong`, if it was made */
};

static inline struct arguments arguments_from(struct server_context *ctx, struct server_string **argv,
					      int argc, int at)
{
	return (struct arguments){.ctx = ctx, .argv = argv, .argc = argc, .at = at};
}

int more(const struct arguments *a);
const char *next(struct arguments *a, size_t *length); /* the next argument; "" and `wrong`: there is none */
int next_is(struct arguments *a, const char *word);    /* takes it if it is that word */
uint64_t next_number(struct arguments *a, const char *what, uint64_t least, uint64_t most);
double next_fraction(struct arguments *a, const char *what);
void complain(struct arguments *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether a text is a decimal number of 64 bits, and which. */
int read_number(const char *text, size_t length, uint64_t *n);

/* Answers with what is wrong. Always SERVER_OK, the result of a handler. */
int answer_wrong(const struct arguments *a);
int answer_error(struct server_context *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* An open key with a table. */
struct opened {
	struct server_key *key;
	struct ink_value *value;
};

/*
 * Opens argv[1]. 0; else it has answered: there is no such key, it holds something else, or pieces. Close it.
 * `mode`: SERVER_READ, SERVER_WRITE.
 */
int open_table(struct server_context *ctx, struct server_string **argv, int mode, struct opened *o);
void close_table(struct opened *o);

/* The command goes to replicas as it is, and is told to those that watch keys. */
void repeat(struct server_context *ctx, struct server_string *key, const char *event);

/* The same, and the value counts a change. */
void changed(struct server_context *ctx, struct ink_value *v, struct server_string *key, const char *event);

void answer_number(struct server_context *ctx, uint64_t n);

/* A member of a map. */
void say_number(struct server_context *ctx, const char *name, uint64_t n);
void say_text(struct server_context *ctx, const char *name, const char *text);
void say_fraction(struct server_context *ctx, const char *name, double n);

/* The commands, a handler each. */
server_handler command_create, command_plan;
server_handler command_step, command_insert, command_set, command_modify, command_del, command_lookup,
	command_peek;
server_handler command_steps, command_poll, command_tick;
server_handler command_census, command_counters, command_info, command_sensors, command_machine;
server_handler command_dump, command_loadchunk;

/* Registers them all. SERVER_OK, or SERVER_ERROR. */
int commands_register(struct server_context *ctx);

#endif
