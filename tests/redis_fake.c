/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/redis_fake.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "redis/api.h"
#include "redis/bytes.h"

int RedisModule_OnLoad(struct server_context *ctx, struct server_string **argv, int argc);

/* --------------------------------------------------------------------- its objects */

struct server_string {
	size_t n;
	char at[];
};

struct entry {
	struct server_stream_id name;
	char *text;
};

struct server_key { /* one of the keyspace, or an empty one */
	struct fake *f;
	struct server_string *name;
	int type;
	void *value;
	struct entry *entries;
	unsigned n;
	struct server_key *next;
};

struct server_context {
	void *get_api; /* the first word: what a module looks for */
	struct fake *f;
};

struct server_command {
	char name[32];
	server_handler *run;
};

struct server_type {
	struct server_type_methods methods;
};

struct server_io {
	struct server_context ctx;
	uint8_t *at;
	size_t n, used;
	struct fake *into; /* of a rewrite */
};

struct server_digest {
	uint64_t sum;
};

struct server_info {
	int unused;
};

struct fake {
	struct server_context ctx;
	struct server_key *keys;
	struct fake *replica;
	int flags;
	uint64_t replicated;
	int verbatim;
	struct server_string **repeat; /* Replicate */
	int n_repeat;
	char *reply; /* RESP */
	size_t n_reply, room_reply;
	char *shown;
	size_t n_shown, room_shown;
	struct fake_text bulk[4096];
	unsigned n_bulk;
	long long number;
};

static struct server_command commands[64];
static unsigned n_commands;
static struct server_type type;
static uint64_t allocated;
static size_t fail_from;
unsigned fake_replica_errors;
static char categories[64];
static int (*set_number)(const char *, long long, void *, struct server_string **);
static long long (*get_number)(const char *, void *);

/* -------------------------------------------------------------------------- memory */

static void *give(void *at)
{
	if (!at)
		abort();
	allocated += malloc_usable_size(at);
	return at;
}

static void *fake_Alloc(size_t n)
{
	return give(malloc(n));
}

static void *fake_TryAlloc(size_t n)
{
	return fail_from && n >= fail_from ? NULL : give(malloc(n));
}

static void fake_Free(void *at)
{
	allocated -= at ? malloc_usable_size(at) : 0;
	free(at);
}

static void *fake_Realloc(void *at, size_t n)
{
	allocated -= at ? malloc_usable_size(at) : 0;
	return give(realloc(at, n ? n : 1));
}

static size_t fake_MallocUsableSize(void *at)
{
	return malloc_usable_size(at);
}

uint64_t fake_allocated(void)
{
	return allocated;
}

void fake_fail_large(size_t bytes)
{
	fail_from = bytes;
}

/* --------------------------------------------------------------------- registration */

static void fake_SetModuleAttribs(struct server_context *ctx, const char *name, int version, int api)
{
	(void)ctx, (void)name, (void)version, (void)api;
}

static int fake_IsModuleNameBusy(const char *name)
{
	(void)name;
	return 0;
}

static void fake_SetModuleOptions(struct server_context *ctx, int options)
{
	(void)ctx, (void)options;
}

static int fake_CreateCommand(struct server_context *ctx, const char *name, server_handler *run,
			      const char *flags, int first, int last, int step)
{
	(void)ctx, (void)flags, (void)first, (void)last, (void)step;
	snprintf(commands[n_commands].name, sizeof commands[0].name, "%s", name);
	commands[n_commands++].run = run;
	return SERVER_OK;
}

static struct server_command *find_command(const char *name, size_t n)
{
	for (unsigned i = 0; i < n_commands; i++)
		if (strlen(commands[i].name) == n && !strncasecmp(commands[i].name, name, n))
			return &commands[i];
	return NULL;
}

static struct server_command *fake_GetCommand(struct server_context *ctx, const char *name)
{
	(void)ctx;
	return find_command(name, strlen(name));
}

static int fake_SetCommandInfo(struct server_command *command, const struct server_command_info *info)
{
	(void)command;
	return info->version && info->summary && info->arity ? SERVER_OK : SERVER_ERROR;
}

static struct server_type *fake_CreateDataType(struct server_context *ctx, const char *name, int version,
					       struct server_type_methods *methods)
{
	(void)ctx, (void)version;
	if (strlen(name) != 9)
		return NULL;
	type.methods = *methods;
	return &type;
}

static int fake_RegisterInfoFunc(struct server_context *ctx, void (*show)(struct server_info *, int))
{
	struct server_info info = {0};

	(void)ctx;
	show(&info, 0);
	return SERVER_OK;
}

static int fake_InfoAddSection(struct server_info *info, const char *name)
{
	(void)info, (void)name;
	return SERVER_OK;
}

static int fake_InfoAddFieldULongLong(struct server_info *info, const char *name, unsigned long long n)
{
	(void)info, (void)name, (void)n;
	return SERVER_OK;
}

static int fake_RegisterNumericConfig(struct server_context *ctx, const char *name, long long preset,
				      unsigned flags, long long least, long long most,
				      long long (*get)(const char *, void *),
				      int (*set)(const char *, long long, void *, struct server_string **),
				      int (*apply)(struct server_context *, void *, struct server_string **),
				      void *user)
{
	(void)ctx, (void)name, (void)preset, (void)flags, (void)least, (void)most, (void)apply, (void)user;
	set_number = set;
	get_number = get;
	return SERVER_OK;
}

static int fake_RegisterEnumConfig(struct server_context *ctx, const char *name, int preset, unsigned flags,
				   const char **names, const int *values, int n,
				   int (*get)(const char *, void *),
				   int (*set)(const char *, int, void *, struct server_string **),
				   int (*apply)(struct server_context *, void *, struct server_string **),
				   void *user)
{
	(void)ctx, (void)flags, (void)names, (void)values, (void)n, (void)apply;
	return set(name, get(name, user) == preset ? preset : 0, user, NULL);
}

static int fake_LoadConfigs(struct server_context *ctx)
{
	(void)ctx;
	return SERVER_OK;
}

static int fake_AddACLCategory(struct server_context *ctx, const char *name)
{
	(void)ctx, (void)name;
	return SERVER_OK;
}

static int fake_SetCommandACLCategories(struct server_command *command, const char *names)
{
	(void)command;
	snprintf(categories, sizeof categories, "%s", names);
	return SERVER_OK;
}

unsigned fake_commands(void)
{
	return n_commands;
}

const char *fake_categories(void)
{
	return categories;
}

long long fake_set_limit(long long limit)
{
	long long before = get_number("limit", NULL);

	set_number("limit", limit, NULL, NULL);
	return before;
}

/* ------------------------------------------------------------------ strings and logs */

static struct server_string *make_string(const void *at, size_t n)
{
	struct server_string *s = malloc(sizeof *s + n + 1);

	s->n = n;
	if (n)
		memcpy(s->at, at, n);
	s->at[n] = 0;
	return s;
}

static const char *fake_StringPtrLen(const struct server_string *s, size_t *n)
{
	*n = s->n;
	return s->at;
}

static struct server_string *fake_CreateString(struct server_context *ctx, const char *at, size_t n)
{
	(void)ctx;
	return make_string(at, n);
}

static void fake_FreeString(struct server_context *ctx, struct server_string *s)
{
	(void)ctx;
	free(s);
}

static int fake_GetContextFlags(struct server_context *ctx)
{
	return ctx->f->flags;
}

static void fake_Log(struct server_context *ctx, const char *level, const char *format, ...)
{
	(void)ctx, (void)level, (void)format;
}

static void fake_GetRandomBytes(unsigned char *into, size_t n)
{
	static uint64_t state = 88172645463325252ull;

	for (size_t i = 0; i < n; i++) {
		state = state * 6364136223846793005ull + 1442695040888963407ull;
		into[i] = (unsigned char)(state >> 56);
	}
}

/* ----------------------------------------------------------------------------- keys */

static struct server_key *find_key(struct fake *f, const char *name, size_t n)
{
	struct server_key *k;

	for (k = f->keys; k && (k->name->n != n || memcmp(k->name->at, name, n)); k = k->next)
		;
	return k;
}

static struct server_key *key_of(struct fake *f, const char *name, size_t n)
{
	struct server_key *k = find_key(f, name, n);

	if (k)
		return k;
	k = calloc(1, sizeof *k);
	*k = (struct server_key){.f = f, .name = make_string(name, n), .next = f->keys};
	return f->keys = k;
}

static void empty_key(struct server_key *k)
{
	if (k->type == SERVER_TYPE_MODULE && k->value)
		type.methods.free(k->value);
	for (unsigned i = 0; i < k->n; i++)
		free(k->entries[i].text);
	free(k->entries);
	k->entries = NULL;
	k->n = 0;
	k->value = NULL;
	k->type = SERVER_TYPE_EMPTY;
}

static struct server_key *fake_OpenKey(struct server_context *ctx, struct server_string *name, int mode)
{
	struct server_key *k = key_of(ctx->f, name->at, name->n);

	return k->type == SERVER_TYPE_EMPTY && !(mode & SERVER_WRITE) ? NULL : k;
}

static void fake_CloseKey(struct server_key *k)
{
	(void)k;
}

static int fake_KeyType(struct server_key *k)
{
	return k ? k->type : SERVER_TYPE_EMPTY;
}

static struct server_type *fake_ModuleTypeGetType(struct server_key *k)
{
	return k->type == SERVER_TYPE_MODULE ? &type : NULL;
}

static void *fake_ModuleTypeGetValue(struct server_key *k)
{
	return k->value;
}

static int fake_ModuleTypeSetValue(struct server_key *k, struct server_type *of, void *value)
{
	(void)of;
	empty_key(k);
	k->type = SERVER_TYPE_MODULE;
	k->value = value;
	return SERVER_OK;
}

void fake_delete(struct fake *f, const char *key)
{
	empty_key(key_of(f, key, strlen(key)));
}

/* -------------------------------------------------------------------------- answers */

static void put(char **at, size_t *n, size_t *room, const char *text, size_t length)
{
	if (*n + length + 1 > *room) {
		*room = 2 * (*n + length + 1);
		*at = realloc(*at, *room);
	}
	memcpy(*at + *n, text, length);
	*n += length;
	(*at)[*n] = 0;
}

static int answer(struct server_context *ctx, const char *format, ...)
{
	char line[700];
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(line, sizeof line, format, args);
	va_end(args);
	put(&ctx->f->reply, &ctx->f->n_reply, &ctx->f->room_reply, line, (size_t)n);
	return SERVER_OK;
}

static int fake_WrongArity(struct server_context *ctx)
{
	return answer(ctx, "-ERR wrong number of arguments\n");
}

static int fake_ReplyWithLongLong(struct server_context *ctx, long long n)
{
	return answer(ctx, ":%lld\n", n);
}

static int fake_ReplyWithDouble(struct server_context *ctx, double n)
{
	return answer(ctx, "+%.6g\n", n);
}

static int fake_ReplyWithNull(struct server_context *ctx)
{
	return answer(ctx, "+null\n");
}

static int fake_ReplyWithError(struct server_context *ctx, const char *text)
{
	return answer(ctx, "-%s\n", text);
}

static int fake_ReplyWithSimpleString(struct server_context *ctx, const char *text)
{
	return answer(ctx, "+%s\n", text);
}

static int fake_ReplyWithStringBuffer(struct server_context *ctx, const char *at, size_t n)
{
	answer(ctx, "$%zu\n", n);
	put(&ctx->f->reply, &ctx->f->n_reply, &ctx->f->room_reply, at, n);
	return SERVER_OK;
}

static int fake_ReplyWithCString(struct server_context *ctx, const char *text)
{
	return fake_ReplyWithStringBuffer(ctx, text, strlen(text));
}

static int fake_ReplyWithArray(struct server_context *ctx, long n)
{
	return answer(ctx, "*%ld\n", n);
}

static int fake_ReplyWithMap(struct server_context *ctx, long n)
{
	return answer(ctx, "*%ld\n", 2 * n);
}

static void show(struct fake *f, const char *text, size_t n)
{
	put(&f->shown, &f->n_shown, &f->room_shown, text, n);
}

/* One answer, from RESP to something that a test can compare. Behind it. */
static const char *show_one(struct fake *f, const char *at)
{
	const char *line = at + 1, *end = strchr(at, '\n'), *after = end + 1;
	long n = strtol(line, NULL, 10);

	switch (*at) {
	case '*':
		show(f, "[", 1);
		for (long i = 0; i < n; i++) {
			if (i)
				show(f, " ", 1);
			after = show_one(f, after);
		}
		show(f, "]", 1);
		return after;
	case '$':
		if (f->n_bulk < sizeof f->bulk / sizeof f->bulk[0])
			f->bulk[f->n_bulk++] = (struct fake_text){after, (size_t)n};
		show(f, after, (size_t)n);
		return after + n;
	case '-':
		line = at;
		break;
	case ':':
		f->number = strtoll(line, NULL, 10);
		break;
	}
	show(f, line, (size_t)(end - line));
	return after;
}

long long fake_number(const struct fake *f)
{
	return f->number;
}

struct fake_text fake_bulk(const struct fake *f, unsigned i)
{
	if (i >= f->n_bulk)
		abort();
	return f->bulk[i];
}

/* ---------------------------------------------------------------------- replication */

static int fake_ReplicateVerbatim(struct server_context *ctx)
{
	ctx->f->verbatim = 1;
	return SERVER_OK;
}

static void keep_repeat(struct fake *f, struct server_string *s)
{
	f->repeat = realloc(f->repeat, (size_t)(f->n_repeat + 1) * sizeof *f->repeat);
	f->repeat[f->n_repeat++] = make_string(s->at, s->n);
}

/* The format that the module uses: a key and a vector. */
static int fake_Replicate(struct server_context *ctx, const char *command, const char *format, ...)
{
	struct server_string **vector, *name = make_string(command, strlen(command));
	va_list args;
	size_t n;

	if (strcmp(format, "sv") != 0)
		abort();
	keep_repeat(ctx->f, name);
	free(name);
	va_start(args, format);
	keep_repeat(ctx->f, va_arg(args, struct server_string *));
	vector = va_arg(args, struct server_string **);
	n = va_arg(args, size_t);
	va_end(args);
	for (size_t i = 0; i < n; i++)
		keep_repeat(ctx->f, vector[i]);
	return SERVER_OK;
}

static int fake_NotifyKeyspaceEvent(struct server_context *ctx, int kind, const char *event,
				    struct server_string *key)
{
	(void)ctx, (void)kind, (void)event, (void)key;
	return SERVER_OK;
}

uint64_t fake_replicated(const struct fake *f)
{
	return f->replicated;
}

static void run_strings(struct fake *f, struct server_string **argv, int argc);

static void to_replica(struct fake *f, struct server_string **argv, int argc)
{
	int before;

	f->replicated++;
	if (!f->replica)
		return;
	before = f->replica->flags;
	f->replica->flags |= SERVER_REPLICATED;
	run_strings(f->replica, argv, argc);
	f->replica->flags = before;
	fake_replica_errors += f->replica->reply[0] == '-';
}

static void run_strings(struct fake *f, struct server_string **argv, int argc)
{
	struct server_command *command = find_command(argv[0]->at, argv[0]->n);

	f->n_reply = 0;
	f->verbatim = 0;
	if (!command)
		answer(&f->ctx, "-ERR unknown command\n");
	else
		command->run(&f->ctx, argv, argc);
	if (f->verbatim)
		to_replica(f, argv, argc);
	if (f->n_repeat)
		to_replica(f, f->repeat, f->n_repeat);
	for (int i = 0; i < f->n_repeat; i++)
		free(f->repeat[i]);
	f->n_repeat = 0;
}

const char *fake_run(struct fake *f, const struct fake_text *argv, int argc)
{
	struct server_string **strings = malloc((size_t)argc * sizeof *strings);

	for (int i = 0; i < argc; i++)
		strings[i] = make_string(argv[i].at, argv[i].n);
	run_strings(f, strings, argc);
	for (int i = 0; i < argc; i++)
		free(strings[i]);
	free(strings);
	f->n_shown = f->n_bulk = 0;
	if (*show_one(f, f->reply))
		abort(); /* more than one answer */
	return f->shown;
}

const char *fake_do(struct fake *f, const char *words, ...)
{
	struct fake_text argv[64], texts[9];
	int argc = 0, given = 0;
	va_list args;

	va_start(args, words);
	for (const char *at = words; *at && argc < 64; at += *at == ' ') {
		size_t n = strcspn(at, " ");

		argv[argc] = (struct fake_text){at, n};
		if (n == 2 && at[0] == '%') {
			int which = at[1] - '0';

			while (given < which)
				texts[given++] = va_arg(args, struct fake_text);
			argv[argc] = texts[which - 1];
		}
		argc++;
		at += n;
	}
	va_end(args);
	return fake_run(f, argv, argc);
}

/* -------------------------------------------------------------------------- streams */

static int fake_StreamAdd(struct server_key *k, int flags, struct server_stream_id *name,
			  struct server_string **field, int64_t n)
{
	const struct entry *last = k->n ? &k->entries[k->n - 1] : NULL;
	char *text = NULL;
	size_t length = 0, room = 0;
	char head[64];

	(void)flags;
	if (last &&
	    (name->ms < last->name.ms || (name->ms == last->name.ms && name->seq <= last->name.seq))) {
		errno = EDOM;
		return SERVER_ERROR;
	}
	put(&text, &length, &room, head,
	    (size_t)snprintf(head, sizeof head, "%" PRIu64 "-%" PRIu64, name->ms, name->seq));
	for (int64_t i = 0; i < 2 * n; i++) {
		put(&text, &length, &room, " ", 1);
		put(&text, &length, &room, field[i]->at, field[i]->n);
	}
	k->entries = realloc(k->entries, (k->n + 1) * sizeof *k->entries);
	k->entries[k->n++] = (struct entry){*name, text};
	k->type = SERVER_TYPE_STREAM;
	return SERVER_OK;
}

static int fake_StreamIteratorStart(struct server_key *k, int flags, struct server_stream_id *from,
				    struct server_stream_id *to)
{
	(void)from, (void)to;
	return k->type == SERVER_TYPE_STREAM && (flags & SERVER_STREAM_REVERSE) ? SERVER_OK : SERVER_ERROR;
}

static int fake_StreamIteratorNextID(struct server_key *k, struct server_stream_id *name, long *fields)
{
	*fields = 0;
	if (!k->n)
		return SERVER_ERROR;
	*name = k->entries[k->n - 1].name;
	return SERVER_OK;
}

static int fake_StreamIteratorStop(struct server_key *k)
{
	(void)k;
	return SERVER_OK;
}

unsigned fake_stream_length(struct fake *f, const char *key)
{
	return key_of(f, key, strlen(key))->n;
}

const char *fake_stream_entry(struct fake *f, const char *key, unsigned i)
{
	return key_of(f, key, strlen(key))->entries[i].text;
}

/* --------------------------------------------------------------------- saved values */

static char *fake_LoadStringBuffer(struct server_io *io, size_t *n)
{
	char *at;

	*n = 0;
	if (io->n - io->used < 4 || get32(io->at + io->used) > io->n - io->used - 4)
		return NULL;
	*n = get32(io->at + io->used);
	at = fake_Alloc(*n + 1);
	memcpy(at, io->at + io->used + 4, *n);
	io->used += 4 + *n;
	return at;
}

static void fake_SaveStringBuffer(struct server_io *io, const char *at, size_t n)
{
	io->at = realloc(io->at, io->n + 4 + n);
	put32(io->at + io->n, (uint32_t)n);
	if (n)
		memcpy(io->at + io->n + 4, at, n);
	io->n += 4 + n;
}

static int fake_IsIOError(struct server_io *io)
{
	(void)io;
	return 0;
}

static void fake_LogIOError(struct server_io *io, const char *level, const char *format, ...)
{
	(void)io, (void)level, (void)format;
}

static struct server_context *fake_GetContextFromIO(struct server_io *io)
{
	return &io->ctx;
}

static void fake_EmitAOF(struct server_io *io, const char *command, const char *format, ...)
{
	struct server_string *argv[5];
	char offset[24], length[24];
	const char *at;
	va_list args;

	if (strcmp(format, "sllb") != 0)
		abort();
	va_start(args, format);
	argv[0] = make_string(command, strlen(command));
	argv[1] = va_arg(args, struct server_string *);
	argv[2] =
		make_string(offset, (size_t)snprintf(offset, sizeof offset, "%lld", va_arg(args, long long)));
	argv[3] =
		make_string(length, (size_t)snprintf(length, sizeof length, "%lld", va_arg(args, long long)));
	at = va_arg(args, const char *);
	argv[4] = make_string(at, va_arg(args, size_t));
	va_end(args);
	io->into->flags |= SERVER_LOADING;
	run_strings(io->into, argv, 5);
	io->into->flags &= ~SERVER_LOADING;
	fake_replica_errors += io->into->reply[0] == '-';
	free(argv[0]);
	for (int i = 2; i < 5; i++)
		free(argv[i]);
}

static void fake_DigestAddStringBuffer(struct server_digest *d, const char *at, size_t n)
{
	d->sum = fnv(d->sum, at, n);
}

static void fake_DigestEndSequence(struct server_digest *d)
{
	d->sum = fnv(d->sum, "", 1);
}

static struct server_key *value_of(struct fake *f, const char *key)
{
	struct server_key *k = find_key(f, key, strlen(key));

	if (!k || k->type != SERVER_TYPE_MODULE)
		abort();
	return k;
}

struct fake_text fake_dump(struct fake *f, const char *key)
{
	struct server_io io = {.ctx = f->ctx};

	type.methods.save(&io, value_of(f, key)->value);
	return (struct fake_text){io.at, io.n};
}

int fake_restore(struct fake *f, const char *key, struct fake_text dump, int loading)
{
	struct server_io io = {.ctx = f->ctx, .at = (uint8_t *)(uintptr_t)dump.at, .n = dump.n};
	int before = f->flags;
	void *value;

	f->flags |= loading ? SERVER_LOADING : 0;
	value = type.methods.load(&io, 1);
	f->flags = before;
	if (value && io.used != io.n) { /* as RESTORE does with bytes behind the value */
		type.methods.free(value);
		value = NULL;
	}
	if (value)
		fake_ModuleTypeSetValue(key_of(f, key, strlen(key)), &type, value);
	return value != NULL;
}

uint64_t fake_digest(struct fake *f, const char *key)
{
	struct server_digest d = {FNV_BEGIN};

	type.methods.digest(&d, value_of(f, key)->value);
	return d.sum;
}

int fake_copy(struct fake *f, const char *from, const char *to)
{
	void *value = type.methods.copy(NULL, value_of(f, from)->value);

	return value && fake_ModuleTypeSetValue(key_of(f, to, strlen(to)), &type, value) == SERVER_OK;
}

void fake_rewrite(struct fake *f, const char *key, struct fake *into)
{
	struct server_io io = {.ctx = f->ctx, .into = into};
	struct server_key *k = value_of(f, key);

	type.methods.rewrite(&io, k->name, k->value);
}

size_t fake_usage(struct fake *f, const char *key)
{
	if (!type.methods.free_effort(NULL, value_of(f, key)->value))
		abort();
	return type.methods.usage(NULL, value_of(f, key)->value, 0);
}

/* ------------------------------------------------------------------------- its life */

#define FAKE_ENTRY(result, name, parameters) {"RedisModule_" #name, (void *)(uintptr_t)fake_##name},

static const struct {
	const char *name;
	void *call;
} calls[] = {SERVER_CALLS(FAKE_ENTRY) SERVER_EXTRAS(FAKE_ENTRY)};

static int get_api(const char *name, void *into)
{
	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		if (!strcmp(calls[i].name, name)) {
			memcpy(into, &calls[i].call, sizeof calls[i].call);
			return SERVER_OK;
		}
	return SERVER_ERROR;
}

struct fake *fake_new(struct fake *replica)
{
	struct fake *f = calloc(1, sizeof *f);

	f->ctx.get_api = (void *)(uintptr_t)get_api;
	f->ctx.f = f;
	f->replica = replica;
	if (!n_commands && RedisModule_OnLoad(&f->ctx, NULL, 0) != SERVER_OK)
		abort();
	return f;
}

void fake_free(struct fake *f)
{
	struct server_key *next;

	for (struct server_key *k = f->keys; k; k = next) {
		next = k->next;
		empty_key(k);
		free(k->name);
		free(k);
	}
	free(f->reply);
	free(f->shown);
	free(f->repeat);
	free(f);
}

void fake_set_flags(struct fake *f, int flags)
{
	f->flags = flags;
}
