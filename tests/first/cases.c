/* Captures for the three machines of a newcomer (tests/first_machines.sh), with the truth about every case.
 *
 *	cases ssh|idle|dns FILE.pcap >TRUTH
 *
 * A case has a value, the time on which its machine decides:
 *
 *	ssh     from the first to the tenth try of a source at the SSH port of a server
 *	idle    the silence before a packet of an open connection
 *	dns     from a query to its answer; NEVER without one
 *
 * A line of TRUTH is "PACKET SOURCE VALUE": the packet, counted from 1, that a machine reports if the value demands it,
 * its source, and the value in seconds. A packet without a line is never reported. Values stay clear of what the
 * machines have in their text (60 s, 5 min, 3 s), except one class of each kind: it lies above that limit, at a time
 * at which a table with few age bits may not have noticed yet.
 *
 * Cases begin at random times, so they are interleaved. Every second case of a class is IPv6. */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CASES = 200,    /* of each class */
	MOST = 100000,  /* packets; the largest capture, ssh, has three quarters of them */
	NEVER = 100000, /* seconds: no answer */
	RAW_IP = 101,   /* the link type of packets that begin with the IP header */
};

enum { FIN = 1, SYN = 2, RST = 4, ACK = 16 };

struct end {
	uint32_t host;
	uint16_t port;
};

struct packet {
	double at;
	double value; /* 0: no line in TRUTH */
	struct end from, to;
	uint8_t protocol, flags;
	bool six;
};

static struct packet packets[MOST];
static size_t count;

/* A case in the making: its ends, and the time of its next packet. */
struct talk {
	double at;
	struct end client, server;
	bool six;
};

static double between(double least, double most)
{
	static uint64_t x = 1;

	x = x * 6364136223846793005u + 1442695040888963407u;
	return least + (most - least) * ((double)(x >> 40) / (1 << 24));
}

static struct packet *add(const struct talk *talk, bool answer, uint8_t protocol, uint8_t flags)
{
	struct packet *p = &packets[count];

	if (count++ == MOST)
		abort();
	*p = (struct packet){.at = talk->at, .protocol = protocol, .flags = flags, .six = talk->six};
	p->from = answer ? talk->server : talk->client;
	p->to = answer ? talk->client : talk->server;
	return p;
}

static struct packet *tcp(struct talk *talk, bool answer, uint8_t flags)
{
	struct packet *p = add(talk, answer, IPPROTO_TCP, flags);

	talk->at += 0.01;
	return p;
}

/* SYN, SYN+ACK, ACK; the first of them. */
static struct packet *open_connection(struct talk *talk)
{
	struct packet *syn = tcp(talk, false, SYN);

	tcp(talk, true, SYN | ACK);
	tcp(talk, false, ACK);
	return syn;
}

static void close_connection(struct talk *talk)
{
	tcp(talk, false, FIN | ACK);
	tcp(talk, true, FIN | ACK);
	tcp(talk, false, ACK);
}

/* ------------------------------------------------------------------ ssh */

/* Tries spread evenly over the time, each a connection that ends soon; the tenth bears the value. */
static void try_often(struct talk talk, int tries, double seconds)
{
	double first = talk.at;

	for (int i = 0; i < tries; i++) {
		double after = seconds * i / (tries - 1);

		talk.at = first + after;
		open_connection(&talk)->value = i == 9 && talk.server.port == 22 ? after : 0;
		tcp(&talk, false, RST);
		talk.client.port++;
	}
}

static void try_from_a_crowd(struct talk talk)
{
	for (int i = 0; i < 12; i++) {
		try_often(talk, 2, 20);
		talk.client.host += 1u << 16;
		talk.at += 1;
	}
}

static void ssh(struct talk talk, int class)
{
	talk.server.port = 22;
	switch (class) {
	case 0:
		try_often(talk, 12, between(20, 50));
		break;
	case 1:
		try_often(talk, 6, 60);
		break;
	case 2:
		try_often(talk, 12, 600);
		break;
	case 3: /* two servers, six tries at each */
		try_often(talk, 6, 45);
		talk.server.host++;
		try_often(talk, 6, 50);
		break;
	case 4:
		talk.server.port = 2222;
		try_often(talk, 12, 50);
		break;
	case 5:
		try_from_a_crowd(talk);
		break;
	case 6: /* the tenth after 65.4 to 78.5 s */
		try_often(talk, 12, between(80, 96));
		break;
	}
}

/* ------------------------------------------------------------------ idle */

static void say(struct talk *talk, double silence)
{
	talk->at += silence - 0.01;
	tcp(talk, false, ACK)->value = silence >= 300 ? silence : 0;
	tcp(talk, true, ACK);
}

static void chat(struct talk *talk)
{
	for (int i = 0; i < 3; i++)
		say(talk, between(1, 240));
}

static void idle(struct talk talk, int class)
{
	talk.server.port = 443;
	open_connection(&talk);
	chat(&talk);
	switch (class) {
	case 0:
		break;
	case 1:
		say(&talk, between(540, 3000));
		break;
	case 2: /* twice */
		say(&talk, between(540, 3000));
		chat(&talk);
		say(&talk, between(540, 3000));
		break;
	case 3: /* ends after it, and says no more */
		talk.at += between(540, 3000);
		close_connection(&talk);
		return;
	case 4: /* the same ports again, for another connection */
		close_connection(&talk);
		talk.at += between(540, 3000);
		open_connection(&talk);
		break;
	case 5: /* the same, and the first one never ended */
		talk.at += between(540, 3000);
		open_connection(&talk);
		break;
	case 6:
		say(&talk, between(330, 400));
		break;
	}
	chat(&talk);
	close_connection(&talk);
}

/* ------------------------------------------------------------------ dns */

static void ask(struct talk *talk, bool again, double delay)
{
	double asked = talk->at;

	add(talk, false, IPPROTO_UDP, 0)->value = delay;
	if (again) {
		talk->at = asked + 0.9;
		add(talk, false, IPPROTO_UDP, 0);
	}
	talk->at = asked + delay;
	if (delay < NEVER)
		add(talk, true, IPPROTO_UDP, 0);
}

static void dns(struct talk talk, int class)
{
	talk.server.port = 53;
	switch (class) {
	case 0:
		ask(&talk, false, between(0.001, 1));
		break;
	case 1:
		ask(&talk, false, NEVER);
		break;
	case 2:
		ask(&talk, false, between(10, 20));
		break;
	case 3:
		ask(&talk, true, between(1, 2));
		break; /* answered after a second query */
	case 4:
		ask(&talk, true, NEVER);
		break;
	case 5:
		ask(&talk, false, between(3.5, 4.3));
		break;
	case 6: /* the same port for another query: one with an answer, one without */
		ask(&talk, false, between(0.001, 1));
		talk.at += 20;
		ask(&talk, false, NEVER);
		break;
	}
}

/* ------------------------------------------------------------------ the capture */

static void put(FILE *file, uint64_t value, int bytes)
{
	while (bytes-- > 0)
		putc((int)(value >> 8 * bytes & 255), file);
}

/* 10.a.b.c, 2001:db8::ab:c */
static void put_address(FILE *file, bool six, uint32_t host)
{
	if (six) {
		put(file, 0x20010db800000000, 8);
		put(file, host, 8);
	} else {
		put(file, 10u << 24 | host, 4);
	}
}

static void put_ip(FILE *file, const struct packet *p, int payload)
{
	if (p->six) {
		put(file, 0x60000000, 4);
		put(file, (uint64_t)payload << 16 | (uint64_t)p->protocol << 8 | 64, 4);
	} else {
		put(file, 0x45000000u | (uint32_t)(payload + 20), 4);
		put(file, 0, 4);
		put(file, (uint64_t)64 << 24 | (uint64_t)p->protocol << 16,
		    4); /* no checksum: nothing here tests it */
	}
	put_address(file, p->six, p->from.host);
	put_address(file, p->six, p->to.host);
}

static void put_packet(FILE *file, const struct packet *p)
{
	int payload = p->protocol == IPPROTO_TCP ? 20 : 8;
	int length = payload + (p->six ? 40 : 20);
	uint64_t nanoseconds = (uint64_t)(p->at * 1e9);

	put(file, 1700000000 + nanoseconds / 1000000000, 4);
	put(file, nanoseconds % 1000000000, 4);
	put(file, (uint64_t)length, 4);
	put(file, (uint64_t)length, 4);
	put_ip(file, p, payload);
	put(file, p->from.port, 2);
	put(file, p->to.port, 2);
	if (p->protocol == IPPROTO_TCP) {
		put(file, 0, 8);
		put(file, 0x5000u | p->flags, 2);
		put(file, 0xffff, 2);
		put(file, 0, 4);
	} else {
		put(file, 8, 2);
		put(file, 0, 2);
	}
}

static void put_truth(size_t number, const struct packet *p)
{
	char text[INET6_ADDRSTRLEN];
	unsigned char address[16] = {0x20, 1, 0x0d, 0xb8};
	unsigned char *last = address + (p->six ? 12 : 0);

	for (int i = 0; i < 4; i++)
		last[i] = (unsigned char)(p->from.host >> 8 * (3 - i) & 255);
	if (!p->six)
		address[0] = 10;
	inet_ntop(p->six ? AF_INET6 : AF_INET, address, text, sizeof text);
	printf("%zu %s %.6f\n", number, text, p->value);
}

static int earlier(const void *a, const void *b)
{
	const struct packet *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static int write_all(const char *path)
{
	FILE *file = fopen(path, "wb");

	if (!file)
		return 1;
	qsort(packets, count, sizeof *packets, earlier);
	put(file, 0xa1b23c4d, 4); /* nanoseconds */
	put(file, 0x00020004, 4);
	put(file, 0, 8);
	put(file, 65535, 4);
	put(file, RAW_IP, 4);
	for (size_t i = 0; i < count; i++) {
		put_packet(file, &packets[i]);
		if (packets[i].value > 0)
			put_truth(i + 1, &packets[i]);
	}
	return fclose(file) != 0;
}

/* Time passes with packets: one long after the last case, or the last time-outs would not fire. */
static void let_time_pass(void)
{
	struct talk last = {.client = {1, 9}, .server = {2, 9}};

	for (size_t i = 0; i < count; i++)
		if (packets[i].at > last.at)
			last.at = packets[i].at;
	last.at += 60;
	add(&last, false, IPPROTO_UDP, 0);
}

static const struct kind {
	const char *name;
	void (*make)(struct talk, int class);
	int classes;
	double begin_within; /* seconds; such that hundreds of cases are open at once */
	uint32_t servers;
} kinds[] = {{"ssh", ssh, 7, 900, 20}, {"idle", idle, 7, 3600, 20}, {"dns", dns, 7, 120, 3}};

static void make(const struct kind *kind)
{
	for (int i = 0; i < CASES * kind->classes; i++) {
		struct talk talk = {.six = i / kind->classes % 2 == 1, .at = between(0, kind->begin_within)};

		talk.client = (struct end){.host = 256 + (uint32_t)i, .port = (uint16_t)(20000 + i)};
		talk.server.host = 1u << 23 | (uint32_t)i % kind->servers;
		kind->make(talk, i % kind->classes);
	}
	let_time_pass();
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof kinds / sizeof *kinds; i++) {
		if (strcmp(argv[1], kinds[i].name) == 0) {
			make(&kinds[i]);
			return write_all(argv[2]);
		}
	}
	fprintf(stderr, "usage: cases ssh|idle|dns FILE.pcap >TRUTH\n");
	return 2;
}
