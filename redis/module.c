/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The module: what the server finds in the file, and what is not about one key.
 *
 *     redis-server --loadmodule inkling-redis.so
 */
#include <stdio.h>

#include "redis/api.h"
#include "redis/command.h"
#include "redis/create.h"
#include "redis/type.h"

int RedisModule_OnLoad(struct server_context *ctx, struct server_string **argv, int argc);

/* --------------------------------------------------------------------- configuration */

static long long get_limit(const char *name, void *user)
{
	(void)name;
	(void)user;
	return config_limit;
}

static int set_limit(const char *name, long long value, void *user, struct server_string **wrong)
{
	(void)name;
	(void)user;
	(void)wrong;
	config_limit = value;
	return SERVER_OK;
}

static int get_full(const char *name, void *user)
{
	(void)name;
	(void)user;
	return config_full;
}

static int set_full(const char *name, int value, void *user, struct server_string **wrong)
{
	(void)name;
	(void)user;
	(void)wrong;
	config_full = value;
	return SERVER_OK;
}

static int register_configuration(struct server_context *ctx)
{
	static const int values[FULL_POLICIES] = {INK_UNSURE, INK_REFUSE, INK_REPLACE};
	enum { LIMIT_LEAST = 4096 };

	if (server.RegisterNumericConfig(ctx, "limit", config_limit, SERVER_CONFIG_MEMORY, LIMIT_LEAST,
					 INT64_MAX / 4, get_limit, set_limit, NULL, NULL) != SERVER_OK)
		return SERVER_ERROR;
	if (server.RegisterEnumConfig(ctx, "full", config_full, 0, full_names, values, FULL_POLICIES,
				      get_full, set_full, NULL, NULL) != SERVER_OK)
		return SERVER_ERROR;
	return server.LoadConfigs(ctx);
}

/* ------------------------------------------------------------------------------ INFO */

static unsigned long long total(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static void show(struct server_info *info, int crash)
{
	(void)crash;
	if (server.InfoAddSection(info, NULL) != SERVER_OK)
		return;
	server.InfoAddFieldULongLong(info, "tables", total(&totals.values));
	server.InfoAddFieldULongLong(info, "bytes", arenas_taken());
	server.InfoAddFieldULongLong(info, "steps", total(&totals.steps));
	server.InfoAddFieldULongLong(info, "blobs", total(&totals.blobs));
	server.InfoAddFieldULongLong(info, "refused", total(&totals.refused));
	server.InfoAddFieldULongLong(info, "late", total(&totals.late));
	server.InfoAddFieldULongLong(info, "rejected", total(&totals.rejected));
}

/* --------------------------------------------------------------------------- loading */

static int register_all(struct server_context *ctx)
{
	if (type_register(ctx) != SERVER_OK || commands_register(ctx) != SERVER_OK ||
	    register_configuration(ctx) != SERVER_OK)
		return SERVER_ERROR;
	server.SetModuleOptions(ctx, SERVER_HANDLES_IO_ERRORS | SERVER_HANDLES_ASYNC_LOAD);
	return server.RegisterInfoFunc(ctx, show);
}

int RedisModule_OnLoad(struct server_context *ctx, struct server_string **argv, int argc)
{
	const char *lacks = server_find_calls(ctx);

	(void)argv;
	if (lacks) {
		fprintf(stderr, "inkling: this server has no %s: Redis 7.0 or Valkey 8 is needed\n", lacks);
		return SERVER_ERROR;
	}
	if (server.IsModuleNameBusy("inkling"))
		return SERVER_ERROR;
	server.SetModuleAttribs(ctx, "inkling", 1, SERVER_API);
	if (argc) {
		server.Log(
			ctx, "warning",
			"inkling: the module takes no arguments; its options are inkling.limit and inkling.full");
		return SERVER_ERROR;
	}
	return register_all(ctx);
}
