/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lab/router/flows.h"

enum { SECOND = 1000000000, FIRST_SOURCE = 40000, LINGER = SECOND / 2 };

/* ---------------------------------------------------------------------- receiving */

struct receiver {
	const struct clip *clip;
	unsigned streams;
	int socket;
	atomic_bool over; /* nothing more is sent */
	bool *arrived;    /* by stream and datagram */
	uint32_t next[STREAMS_MOST];
	uint64_t bytes, strange, first, last; /* strange: what was not sent, or came out of order */
};

/* A stream stays in order, so what comes is one of those that have not come yet. */
static void arrive(struct receiver *r, const uint8_t *payload, uint32_t size, unsigned stream)
{
	const struct clip *clip = r->clip;
	uint32_t i = stream < r->streams ? r->next[stream] : clip->n;

	while (i < clip->n && (clip->at[i].size != size || memcmp(clip->at[i].payload, payload, size)))
		i++;
	if (i == clip->n) {
		r->strange++;
		return;
	}
	r->arrived[(size_t)stream * clip->n + i] = true;
	r->next[stream] = i + 1;
	r->bytes += size + WIRE_HEADERS;
	r->last = net_now();
	r->first = r->first ? r->first : r->last;
}

static void *receive(void *user)
{
	struct receiver *r = user;
	uint8_t payload[CLIP_SIZE_MOST + 1];
	struct sockaddr_in from;

	for (;;) {
		bool over = atomic_load(&r->over);
		socklen_t length = sizeof from;
		ssize_t size =
			recvfrom(r->socket, payload, sizeof payload, 0, (struct sockaddr *)&from, &length);

		if (size >= 0)
			arrive(r, payload, (uint32_t)size, (unsigned)ntohs(from.sin_port) - FIRST_SOURCE);
		else if (errno != EAGAIN && errno != EINTR)
			net_fail("receiving");
		else if (over)
			return NULL;
	}
}

/* The socket gives up after a while, so that the end is seen. */
static void set_patience(int socket)
{
	struct timeval patience = {.tv_usec = LINGER / 1000};

	if (setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience))
		net_fail("a time limit of a socket");
}

/* ------------------------------------------------------------------------ sending */

struct departure {
	uint64_t time; /* nanoseconds from the beginning */
	uint32_t datagram;
	uint32_t stream;
};

/* splitmix64: a number from a seed, that moves on. */
static double draw(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (double)((z ^ z >> 31) >> 11) / 9007199254740992.0;
}

static int by_time(const void *a, const void *b)
{
	const struct departure *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* On the wire, in bits. */
static double bits_of(const struct clip *clip)
{
	double bits = 0;

	for (uint32_t i = 0; i < clip->n; i++)
		bits += 8.0 * (clip->at[i].size + WIRE_HEADERS);
	return bits;
}

/*
 * Evenly by bytes, as a sender does that smooths its rate. Stream s begins s parts of a group later than the first, and
 * up to half a part more by chance.
 */
static void depart(const struct video_plan *plan, unsigned stream, uint64_t *seed, struct departure *into)
{
	const struct clip *clip = plan->clip;
	double rate = plan->rate / plan->streams, seconds = bits_of(clip) / rate;
	double part = seconds / plan->groups / plan->streams;
	double at = part * (stream + draw(seed) / 2);

	for (uint32_t i = 0; i < clip->n; i++) {
		double takes = 8.0 * (clip->at[i].size + WIRE_HEADERS) / rate;

		into[i] = (struct departure){(uint64_t)(SECOND * (at + takes * draw(seed))), i, stream};
		at += takes;
	}
}

static struct departure *schedule(const struct video_plan *plan)
{
	size_t n = (size_t)plan->streams * plan->clip->n;
	struct departure *all = calloc(n, sizeof *all);
	uint64_t seed = plan->seed;

	if (!all)
		net_fail("a schedule");
	for (unsigned s = 0; s < plan->streams; s++)
		depart(plan, s, &seed, all + (size_t)s * plan->clip->n);
	qsort(all, n, sizeof *all, by_time);
	return all;
}

/* How late the latest was, in nanoseconds. */
static uint64_t send_all(const struct video_plan *plan, const struct departure *all, const int *sockets,
			 struct sockaddr_in to)
{
	uint64_t begin = net_now(), latest = 0;

	for (size_t i = 0; i < (size_t)plan->streams * plan->clip->n; i++) {
		const struct clip_datagram *d = &plan->clip->at[all[i].datagram];
		uint64_t now;

		net_wait(begin + all[i].time);
		if (sendto(sockets[all[i].stream], d->payload, d->size, 0, (struct sockaddr *)&to,
			   sizeof to) < 0)
			net_fail("sending");
		now = net_now() - begin - all[i].time;
		latest = now > latest ? now : latest;
	}
	return latest;
}

/* ---------------------------------------------------------------------- the whole */

/* Four datagrams a digit, the first in its highest bit; 1: lost. */
static void print_lost(const struct receiver *r, unsigned stream)
{
	const bool *arrived = r->arrived + (size_t)stream * r->clip->n;

	printf("stream %u %u ", stream, r->clip->n);
	for (uint32_t i = 0; i < r->clip->n; i += 4) {
		unsigned digit = 0;

		for (uint32_t j = i; j < i + 4; j++)
			digit = digit << 1 | (j < r->clip->n && !arrived[j]);
		printf("%x", digit);
	}
	printf("\n");
}

void send_video(const struct road *road, const struct video_plan *plan, const struct bulk *beside)
{
	struct receiver r = {.clip = plan->clip, .streams = plan->streams};
	struct departure *all = schedule(plan);
	int sockets[STREAMS_MOST];
	pthread_t thread;
	uint64_t late, begin;

	r.arrived = calloc((size_t)plan->streams * plan->clip->n, sizeof *r.arrived);
	r.socket = net_socket(&road->to, SOCK_DGRAM, VIDEO_PORT);
	set_patience(r.socket);
	for (unsigned s = 0; s < plan->streams; s++)
		sockets[s] = net_socket(&road->from, SOCK_DGRAM, (uint16_t)(FIRST_SOURCE + s));
	if (!r.arrived || pthread_create(&thread, NULL, receive, &r))
		net_fail("a receiver");
	begin = net_now();
	late = send_all(plan, all, sockets, net_address(road->to.address, VIDEO_PORT));
	printf("tcp %llu bytes in %.6f s\n", (unsigned long long)bulk_bytes(beside),
	       (double)(net_now() - begin) / SECOND);
	atomic_store(&r.over, true);
	pthread_join(thread, NULL);
	for (unsigned s = 0; s < plan->streams; s++)
		print_lost(&r, s);
	printf("video %llu bytes in %.6f s, strange %llu, late %.3f ms\n", (unsigned long long)r.bytes,
	       (double)(r.last - r.first) / SECOND, (unsigned long long)r.strange, (double)late / 1e6);
	free(r.arrived);
	free(all);
}

/* -------------------------------------------------------------------------- flood */

enum { FLOOD_SIZE = 1316 };

struct flood {
	int socket;
	uint64_t n, first, last;
};

static void *drain(void *user)
{
	struct flood *f = user;
	uint8_t payload[FLOOD_SIZE];

	while (recv(f->socket, payload, sizeof payload, 0) > 0) {
		f->last = net_now();
		f->first = f->n++ ? f->first : f->last;
	}
	return NULL;
}

void send_flood(const struct road *road, double rate, double seconds)
{
	static const uint8_t payload[FLOOD_SIZE];
	struct flood f = {.socket = net_socket(&road->to, SOCK_DGRAM, FLOOD_PORT)};
	struct sockaddr_in to = net_address(road->to.address, FLOOD_PORT);
	double each = 8.0 * (FLOOD_SIZE + WIRE_HEADERS);
	int from = net_socket(&road->from, SOCK_DGRAM, 0);
	uint64_t begin;
	pthread_t thread;

	set_patience(f.socket);
	if (pthread_create(&thread, NULL, drain, &f))
		net_fail("a receiver");
	begin = net_now();
	for (double at = 0; at < seconds; at += each / rate) {
		net_wait(begin + (uint64_t)(at * SECOND));
		sendto(from, payload, sizeof payload, 0, (struct sockaddr *)&to, sizeof to);
	}
	pthread_join(thread, NULL);
	printf("link %.0f bit/s\n",
	       f.n > 1 ? (double)(f.n - 1) * each * SECOND / (double)(f.last - f.first) : 0);
}
