/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a module may call of its server: Redis from 7.0 on, Valkey from 8 on.
 *
 * The server hands over one function, GetApi, which finds the others by name. So
 * a module needs no header of the server; it needs their types, which are its
 * binary interface, and have not changed since Redis 7.0. This file declares those
 * that the module uses, and no others. The structs are read by the server: their
 * layout is asserted below.
 */
#ifndef INKLING_REDIS_API_H
#define INKLING_REDIS_API_H

#include <stddef.h>
#include <stdint.h>

/* Objects of the server. */
struct server_context;
struct server_string;
struct server_key;
struct server_type;
struct server_command;
struct server_io;
struct server_digest;
struct server_info;
struct server_key_option; /* the key that a type's method is about */

enum { SERVER_OK = 0, SERVER_ERROR = 1 };

typedef int server_handler(struct server_context *ctx, struct server_string **argv, int argc);

/* ------------------------------------------------------------- the values of a type */

/* Version 4: that of Redis 7.0. Members that we leave out come before those with a 2 in their name. */
struct server_type_methods {
	uint64_t version;
	void *(*load)(struct server_io *io, int version);
	void (*save)(struct server_io *io, void *value);
	void (*rewrite)(struct server_io *io, struct server_string *key, void *value);
	void *unused_usage;
	void (*digest)(struct server_digest *digest, void *value);
	void (*free)(void *value);
	void *unused_aux[2];
	int unused_triggers;
	void *unused[4];
	size_t (*usage)(struct server_key_option *key, const void *value, size_t sample);
	size_t (*free_effort)(struct server_key_option *key, const void *value);
	void *unused_unlink;
	void *(*copy)(struct server_key_option *key, const void *value);
};

enum { SERVER_TYPE_METHODS = 4 };

_Static_assert(sizeof(struct server_type_methods) == 18 * 8, "as the server has it");
_Static_assert(offsetof(struct server_type_methods, digest) == 5 * 8, "as the server has it");
_Static_assert(offsetof(struct server_type_methods, usage) == 14 * 8, "as the server has it");

/* ------------------------------------------------------------- what commands are */

enum server_argument_type { SERVER_STRING_ARGUMENT = 0, SERVER_KEY_ARGUMENT = 3, SERVER_WORD_ARGUMENT = 6 };

/* The server reads arrays of these by the sizes in struct server_info_version. */
struct server_argument {
	const char *name;
	enum server_argument_type type;
	int key; /* number of the key specification, or -1 */
	const char *token, *summary, *since;
	int flags;
	const char *deprecated;
	struct server_argument *parts;
};

enum {
	SERVER_ARGUMENT_OPTIONAL = 1,
	SERVER_ARGUMENT_MULTIPLE = 2,
};

struct server_history {
	const char *since, *changes;
};

enum server_key_begin { SERVER_BEGIN_INDEX = 2, SERVER_BEGIN_KEYWORD = 3 };
enum server_key_find { SERVER_FIND_RANGE = 2 };

/* Where the keys of a command are, and what it does to them. */
struct server_key_spec {
	const char *notes;
	uint64_t flags;
	enum server_key_begin begin;
	union {
		struct {
			int position;
		} index;
		struct {
			const char *word;
			int from;
		} keyword;
	} at;
	enum server_key_find find;
	union {
		struct {
			int last, step, limit;
		} range;
		int unused[3];
	} keys;
};

enum {
	SERVER_KEY_READS = 1 << 0,
	SERVER_KEY_CHANGES = 1 << 1,
	SERVER_KEY_OVERWRITES = 1 << 2,
	SERVER_KEY_ACCESS = 1 << 4,
	SERVER_KEY_UPDATE = 1 << 5,
	SERVER_KEY_INSERT = 1 << 6,
};

struct server_info_version {
	int version;
	size_t history, key_spec, argument;
};

struct server_command_info {
	const struct server_info_version *version;
	const char *summary, *complexity, *since;
	struct server_history *history;
	const char *tips;
	int arity;
	struct server_key_spec *keys;
	struct server_argument *arguments;
};

_Static_assert(sizeof(struct server_argument) == 64, "as the server has it");
_Static_assert(sizeof(struct server_key_spec) == 56, "as the server has it");
_Static_assert(offsetof(struct server_key_spec, find) == 40, "as the server has it");
_Static_assert(sizeof(struct server_command_info) == 72, "as the server has it");

/* ------------------------------------------------------------------------- constants */

enum {
	SERVER_READ = 1,
	SERVER_WRITE = 2,

	SERVER_TYPE_EMPTY = 0,
	SERVER_TYPE_MODULE = 6,
	SERVER_TYPE_STREAM = 7,

	SERVER_REPLICA = 1 << 3,
	SERVER_REPLICATED = 1 << 12,
	SERVER_LOADING = 1 << 13,
	SERVER_ASYNC_LOADING = 1 << 23,

	SERVER_NOTIFY_MODULE = 1 << 13,

	SERVER_HANDLES_IO_ERRORS = 1 << 0,
	SERVER_HANDLES_ASYNC_LOAD = 1 << 2,

	SERVER_CONFIG_MEMORY = 1 << 7,

	SERVER_STREAM_REVERSE = 1 << 1,
	SERVER_API = 1, /* the version of the interface */
};

struct server_stream_id {
	uint64_t ms, seq;
};

/* ------------------------------------------------------------------------- the calls */

/*
 * result, name, parameters. Every server that we run in has those of the first list; those of the second may be
 * missing, and are then NULL.
 */
#define SERVER_CALLS(X)                                                                                      \
	X(void *, Alloc, (size_t bytes))                                                                     \
	X(void *, TryAlloc, (size_t bytes))                                                                  \
	X(void *, Realloc, (void *at, size_t bytes))                                                         \
	X(void, Free, (void *at))                                                                            \
	X(size_t, MallocUsableSize, (void *at))                                                              \
	X(void, SetModuleAttribs, (struct server_context * ctx, const char *name, int version, int api))     \
	X(int, IsModuleNameBusy, (const char *name))                                                         \
	X(void, SetModuleOptions, (struct server_context * ctx, int options))                                \
	X(int, CreateCommand,                                                                                \
	  (struct server_context * ctx, const char *name, server_handler *handler, const char *flags,        \
	   int first, int last, int step))                                                                   \
	X(struct server_command *, GetCommand, (struct server_context * ctx, const char *name))              \
	X(int, SetCommandInfo, (struct server_command * command, const struct server_command_info *info))    \
	X(struct server_type *, CreateDataType,                                                              \
	  (struct server_context * ctx, const char *name, int version, struct server_type_methods *methods)) \
	X(int, GetContextFlags, (struct server_context * ctx))                                               \
	X(int, WrongArity, (struct server_context * ctx))                                                    \
	X(void, Log, (struct server_context * ctx, const char *level, const char *format, ...))              \
	X(void, GetRandomBytes, (unsigned char *into, size_t bytes))                                         \
	X(const char *, StringPtrLen, (const struct server_string *string, size_t *length))                  \
	X(struct server_string *, CreateString,                                                              \
	  (struct server_context * ctx, const char *at, size_t length))                                      \
	X(void, FreeString, (struct server_context * ctx, struct server_string * string))                    \
	X(struct server_key *, OpenKey,                                                                      \
	  (struct server_context * ctx, struct server_string * name, int mode))                              \
	X(void, CloseKey, (struct server_key * key))                                                         \
	X(int, KeyType, (struct server_key * key))                                                           \
	X(struct server_type *, ModuleTypeGetType, (struct server_key * key))                                \
	X(void *, ModuleTypeGetValue, (struct server_key * key))                                             \
	X(int, ModuleTypeSetValue, (struct server_key * key, struct server_type * type, void *value))        \
	X(int, ReplyWithLongLong, (struct server_context * ctx, long long n))                                \
	X(int, ReplyWithDouble, (struct server_context * ctx, double n))                                     \
	X(int, ReplyWithNull, (struct server_context * ctx))                                                 \
	X(int, ReplyWithError, (struct server_context * ctx, const char *text))                              \
	X(int, ReplyWithSimpleString, (struct server_context * ctx, const char *text))                       \
	X(int, ReplyWithStringBuffer, (struct server_context * ctx, const char *at, size_t length))          \
	X(int, ReplyWithCString, (struct server_context * ctx, const char *text))                            \
	X(int, ReplyWithArray, (struct server_context * ctx, long length))                                   \
	X(int, ReplyWithMap, (struct server_context * ctx, long length))                                     \
	X(int, ReplicateVerbatim, (struct server_context * ctx))                                             \
	X(int, Replicate, (struct server_context * ctx, const char *command, const char *format, ...))       \
	X(int, NotifyKeyspaceEvent,                                                                          \
	  (struct server_context * ctx, int type, const char *event, struct server_string *key))             \
	X(int, StreamAdd,                                                                                    \
	  (struct server_key * key, int flags, struct server_stream_id *id, struct server_string **fields,   \
	   int64_t n))                                                                                       \
	X(int, StreamIteratorStart,                                                                          \
	  (struct server_key * key, int flags, struct server_stream_id *from, struct server_stream_id *to))  \
	X(int, StreamIteratorNextID, (struct server_key * key, struct server_stream_id * id, long *fields))  \
	X(int, StreamIteratorStop, (struct server_key * key))                                                \
	X(char *, LoadStringBuffer, (struct server_io * io, size_t * length))                                \
	X(void, SaveStringBuffer, (struct server_io * io, const char *at, size_t length))                    \
	X(int, IsIOError, (struct server_io * io))                                                           \
	X(void, LogIOError, (struct server_io * io, const char *level, const char *format, ...))             \
	X(struct server_context *, GetContextFromIO, (struct server_io * io))                                \
	X(void, EmitAOF, (struct server_io * io, const char *command, const char *format, ...))              \
	X(void, DigestAddStringBuffer, (struct server_digest * digest, const char *at, size_t length))       \
	X(void, DigestEndSequence, (struct server_digest * digest))                                          \
	X(int, RegisterInfoFunc,                                                                             \
	  (struct server_context * ctx, void (*show)(struct server_info *, int crash)))                      \
	X(int, InfoAddSection, (struct server_info * info, const char *name))                                \
	X(int, InfoAddFieldULongLong, (struct server_info * info, const char *name, unsigned long long n))   \
	X(int, RegisterNumericConfig,                                                                        \
	  (struct server_context * ctx, const char *name, long long preset, unsigned flags, long long least, \
	   long long most, long long (*get)(const char *, void *),                                           \
	   int (*set)(const char *, long long, void *, struct server_string **),                             \
	   int (*apply)(struct server_context *, void *, struct server_string **), void *user))              \
	X(int, RegisterEnumConfig,                                                                           \
	  (struct server_context * ctx, const char *name, int preset, unsigned flags, const char **names,    \
	   const int *values, int n, int (*get)(const char *, void *),                                       \
	   int (*set)(const char *, int, void *, struct server_string **),                                   \
	   int (*apply)(struct server_context *, void *, struct server_string **), void *user))              \
	X(int, LoadConfigs, (struct server_context * ctx))

#define SERVER_EXTRAS(X)                                                                                     \
	X(int, AddACLCategory, (struct server_context * ctx, const char *name))                              \
	X(int, SetCommandACLCategories, (struct server_command * command, const char *categories))

#define SERVER_FIELD(type, name, parameters) type(*name) parameters;

struct server_api {
	SERVER_CALLS(SERVER_FIELD)
	SERVER_EXTRAS(SERVER_FIELD)
};

/* The calls: server.ReplyWithLongLong(ctx, 1). Filled in once, when the module is loaded. */
extern struct server_api server;

/* Finds all calls. NULL, or the name of one that the server lacks. */
const char *server_find_calls(struct server_context *ctx);

#endif
