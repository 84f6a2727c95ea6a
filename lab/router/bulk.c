/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lab/router/flows.h"

/*
 * A thread for each end of each connection. They end when their sockets are shut down.
 */
struct bulk {
	unsigned flows;
	int source[BULK_MOST], sink[BULK_MOST];
	pthread_t sending[BULK_MOST], reading[BULK_MOST];
	struct count {
		int socket;
		atomic_ullong bytes;
	} count[BULK_MOST];
};

static void *pour(void *user)
{
	static const char bytes[65536];
	const int *socket = user;

	while (send(*socket, bytes, sizeof bytes, MSG_NOSIGNAL) > 0)
		;
	return NULL;
}

static void *drain(void *user)
{
	struct count *c = user;
	char bytes[65536];
	ssize_t got;

	while ((got = recv(c->socket, bytes, sizeof bytes, 0)) > 0)
		atomic_fetch_add(&c->bytes, (unsigned long long)got);
	return NULL;
}

static void connect_one(struct bulk *b, unsigned i, int listening, const struct road *road)
{
	struct sockaddr_in to = net_address(road->to.address, TCP_PORT);

	b->source[i] = net_socket(&road->from, SOCK_STREAM, 0);
	if (connect(b->source[i], (struct sockaddr *)&to, sizeof to))
		net_fail("a connection to %s", road->to.address);
	b->sink[i] = accept(listening, NULL, NULL);
	if (b->sink[i] < 0)
		net_fail("a connection at %s", road->to.address);
	b->count[i].socket = b->sink[i];
}

struct bulk *bulk_begin(const struct road *road, unsigned flows)
{
	struct bulk *b = calloc(1, sizeof *b);
	int listening = net_socket(&road->to, SOCK_STREAM, TCP_PORT);

	if (!b || listen(listening, BULK_MOST))
		net_fail("a server at %s", road->to.address);
	for (b->flows = 0; b->flows < flows; b->flows++)
		connect_one(b, b->flows, listening, road);
	for (unsigned i = 0; i < flows; i++)
		if (pthread_create(&b->sending[i], NULL, pour, &b->source[i]) ||
		    pthread_create(&b->reading[i], NULL, drain, &b->count[i]))
			net_fail("a thread");
	close(listening);
	return b;
}

uint64_t bulk_bytes(const struct bulk *b)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < b->flows; i++)
		bytes += atomic_load(&b->count[i].bytes);
	return bytes;
}

void bulk_end(struct bulk *b)
{
	for (unsigned i = 0; i < b->flows; i++) {
		shutdown(b->source[i], SHUT_RDWR);
		shutdown(b->sink[i], SHUT_RDWR);
		pthread_join(b->sending[i], NULL);
		pthread_join(b->reading[i], NULL);
		close(b->source[i]);
		close(b->sink[i]);
	}
	free(b);
}
