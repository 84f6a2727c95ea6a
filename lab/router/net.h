/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sockets in network namespaces, and the clock of what is sent. A program can hold sockets of several namespaces: a
 * socket stays in that in which it was made. So one process sends, receives and knows what was lost.
 */
#ifndef INKLING_LAB_ROUTER_NET_H
#define INKLING_LAB_ROUTER_NET_H

#include <netinet/in.h>
#include <stdint.h>

enum {
	WIRE_HEADERS = 14 + 20 + 8, /* what Ethernet, IPv4 and UDP add; the qdiscs count them, too */
	TCP_PORT = 8080,
	VIDEO_PORT = 5004,
	FLOOD_PORT = 7777
};

/* One end of what is sent: a namespace of `ip netns`, and the address of its interface. */
struct place {
	const char *namespace;
	const char *address;
};

/* Ends the program with a message and what errno says. */
__attribute__((noreturn, format(printf, 1, 2))) void net_fail(const char *format, ...);

/* A socket there, of SOCK_DGRAM or SOCK_STREAM, bound to this port; 0: to any. */
int net_socket(const struct place *place, int type, uint16_t port);

struct sockaddr_in net_address(const char *address, uint16_t port);

/* Nanoseconds of the monotonic clock; waiting until then. */
uint64_t net_now(void);
void net_wait(uint64_t until);

#endif
