/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/router/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

void net_fail(const char *format, ...)
{
	int error = errno;
	va_list args;

	fputs("router-traffic: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(error));
	exit(1);
}

static void enter(const char *namespace)
{
	char path[128];
	int file;

	snprintf(path, sizeof path, "/run/netns/%s", namespace);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0 || setns(file, CLONE_NEWNET))
		net_fail("namespace %s", namespace);
	close(file);
}

struct sockaddr_in net_address(const char *address, uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};

	errno = EINVAL;
	if (inet_pton(AF_INET, address, &at.sin_addr) != 1)
		net_fail("address %s", address);
	return at;
}

int net_socket(const struct place *place, int type, uint16_t port)
{
	enum { BUFFER = 8 << 20 }; /* so that nothing is lost at the sockets */
	struct sockaddr_in at = net_address(place->address, port);
	int size = BUFFER, yes = 1, file;

	enter(place->namespace);
	file = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	if (file < 0 || setsockopt(file, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) ||
	    bind(file, (struct sockaddr *)&at, sizeof at))
		net_fail("a socket at %s, port %u", place->address, port);
	if (type == SOCK_DGRAM && (setsockopt(file, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size) ||
				   setsockopt(file, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof size)))
		net_fail("buffers of a socket");
	return file;
}

uint64_t net_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void net_wait(uint64_t until)
{
	struct timespec at = {.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000)};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}
