/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A swarm beside the traffic of others, by pairs of hosts: each pair has addresses of its own, and TCP and UDP between
 * them at one port.
 *
 *     swarm   6881: TCP, and most by UDP                 5 Mbit/s in all
 *     web      443: most by TCP, and QUIC                6 Mbit/s
 *     calls  50000: UDP alone                            1 Mbit/s
 *
 * Rates are kept by pacing, so what arrives says what the router did. It is counted behind the first seconds.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lab/router/flows.h"

enum { SECOND = 1000000000, WARM_UP = 3, UDP_SIZE = 1200, SEGMENT = 1448, SEGMENT_HEADERS = 66 };

enum kind { SWARM, WEB, CALLS, KINDS };

static const struct {
	const char *name;
	unsigned pairs, host; /* of the first */
	uint16_t port;
	double udp, tcp; /* bits a second of all pairs, on the wire */
} kinds[KINDS] = {
	[SWARM] = {"swarm", 20, 10, 6881, 4.8e6, .2e6},
	[WEB] = {"web", 10, 40, 443, 1e6, 5e6},
	[CALLS] = {"calls", 5, 60, 50000, 1e6, 0},
};

/* One direction between the hosts of a pair, by one protocol. */
struct exchange {
	enum kind kind;
	bool tcp;
	int from, to;            /* sockets */
	struct sockaddr_in peer; /* of UDP */
	double every, next;      /* seconds */
};

struct swarm {
	struct exchange all[2 * 64];
	unsigned n;
	atomic_bool counting, over;
	double bytes[KINDS]; /* on the wire; the reader's alone until it has ended */
};

/* ------------------------------------------------------------------------- pairs */

/* The address of a place with another last byte: 10.77.1.1 and 40 give 10.77.1.40. */
static struct place host_of(const struct place *place, unsigned last, char address[INET_ADDRSTRLEN])
{
	unsigned a, b, c, d;

	errno = EINVAL;
	if (sscanf(place->address, "%u.%u.%u.%u", &a, &b, &c, &d) != 4)
		net_fail("address %s", place->address);
	snprintf(address, INET_ADDRSTRLEN, "%u.%u.%u.%u", a & 255, b & 255, c & 255, last & 255);
	return (struct place){place->namespace, address};
}

static void connect_tcp(struct exchange *x, const struct place *to, uint16_t port)
{
	int listening = net_socket(to, SOCK_STREAM, port);

	if (listen(listening, 1) || connect(x->from, (struct sockaddr *)&x->peer, sizeof x->peer))
		net_fail("a connection to %s", to->address);
	x->to = accept(listening, NULL, NULL);
	if (x->to < 0)
		net_fail("a connection at %s", to->address);
	close(listening);
}

static void add_exchange(struct swarm *s, const struct road *road, enum kind kind, unsigned pair, bool tcp)
{
	double rate = (tcp ? kinds[kind].tcp : kinds[kind].udp) / kinds[kind].pairs;
	double size = tcp ? SEGMENT + SEGMENT_HEADERS : UDP_SIZE + WIRE_HEADERS;
	char source[INET_ADDRSTRLEN], sink[INET_ADDRSTRLEN];
	struct place from = host_of(&road->from, kinds[kind].host + pair, source);
	struct place to = host_of(&road->to, kinds[kind].host + pair, sink);
	struct exchange *x = &s->all[s->n];

	if (!(rate > 0))
		return;
	*x = (struct exchange){.kind = kind, .tcp = tcp, .every = 8 * size / rate};
	x->next = x->every * pair / kinds[kind].pairs;
	x->peer = net_address(to.address, kinds[kind].port);
	x->from = net_socket(&from, tcp ? SOCK_STREAM : SOCK_DGRAM, 0);
	if (tcp)
		connect_tcp(x, &to, kinds[kind].port);
	else
		x->to = net_socket(&to, SOCK_DGRAM, kinds[kind].port);
	s->n++;
}

/* -------------------------------------------------------------------------- ends */

static void count(struct swarm *s, const struct exchange *x)
{
	static char bytes[65536];
	ssize_t got;

	while ((got = recv(x->to, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
		if (atomic_load(&s->counting))
			s->bytes[x->kind] += x->tcp ? (double)got * (SEGMENT + SEGMENT_HEADERS) / SEGMENT
						    : (double)got + WIRE_HEADERS;
}

static void *receive(void *user)
{
	struct swarm *s = user;
	struct pollfd ready[2 * 64];

	for (unsigned i = 0; i < s->n; i++)
		ready[i] = (struct pollfd){.fd = s->all[i].to, .events = POLLIN};
	while (!atomic_load(&s->over))
		if (poll(ready, s->n, 20) > 0)
			for (unsigned i = 0; i < s->n; i++)
				if (ready[i].revents)
					count(s, &s->all[i]);
	return NULL;
}

static struct exchange *next_of(struct swarm *s)
{
	struct exchange *first = &s->all[0];

	for (unsigned i = 1; i < s->n; i++)
		if (s->all[i].next < first->next)
			first = &s->all[i];
	return first;
}

/* What a full buffer of TCP does not take is not sent: it is missing in what arrives. */
static void send_one(struct exchange *x)
{
	static const char bytes[SEGMENT];

	if (x->tcp)
		send(x->from, bytes, SEGMENT, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		sendto(x->from, bytes, UDP_SIZE, 0, (struct sockaddr *)&x->peer, sizeof x->peer);
	x->next += x->every;
}

void send_swarm(const struct road *road, double seconds)
{
	struct swarm s = {.n = 0};
	uint64_t begin, counted = 0;
	pthread_t thread;

	for (enum kind kind = 0; kind < KINDS; kind++)
		for (unsigned pair = 0; pair < kinds[kind].pairs; pair++) {
			add_exchange(&s, road, kind, pair, true);
			add_exchange(&s, road, kind, pair, false);
		}
	if (pthread_create(&thread, NULL, receive, &s))
		net_fail("a receiver");
	begin = net_now();
	for (struct exchange *x; (x = next_of(&s))->next < seconds + WARM_UP; send_one(x)) {
		net_wait(begin + (uint64_t)(x->next * SECOND));
		if (x->next >= WARM_UP && !counted) {
			counted = net_now();
			atomic_store(&s.counting, true);
		}
	}
	atomic_store(&s.counting, false);
	seconds = (double)(net_now() - counted) / SECOND;
	atomic_store(&s.over, true);
	pthread_join(thread, NULL);
	for (enum kind kind = 0; kind < KINDS; kind++)
		printf("%s%s %.0f bit/s", kind ? ", " : "", kinds[kind].name, 8 * s.bytes[kind] / seconds);
	printf("\n");
}
