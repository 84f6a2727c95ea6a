/* SPDX-License-Identifier: BSD-2-Clause */
#include "redis/api.h"

struct server_api server;

typedef int server_get_api(const char *name, void *into);

#define SERVER_ENTRY(type, name, parameters) {"RedisModule_" #name, &server.name},

struct call {
	const char *name;
	void *into;
};

static const struct call calls[] = {SERVER_CALLS(SERVER_ENTRY)};
static const struct call extras[] = {SERVER_EXTRAS(SERVER_ENTRY)};

/* The first word of a context is the function that finds the others. Valkey answers to the names of Redis, too. */
const char *server_find_calls(struct server_context *ctx)
{
	server_get_api *get = *(server_get_api **)(void *)ctx;

	for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
		if (get(calls[i].name, calls[i].into) != SERVER_OK)
			return calls[i].name;
	for (size_t i = 0; i < sizeof extras / sizeof extras[0]; i++)
		get(extras[i].name, extras[i].into);
	return NULL;
}
