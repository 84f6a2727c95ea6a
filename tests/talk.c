/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Real connections for live.sh. No process lives longer than five minutes, even if
 * the test dies.
 *
 *     talk serve PORT               takes connections, until it is killed; closes each when the caller has
 *     talk call ADDRESS PORT N      opens N, prints "open", and closes them when its standard input ends
 *     talk knock ADDRESS PORT N     N connections, which must be refused
 *     talk send ADDRESS PORT N      N datagrams of 1400 bytes
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 1000, DATAGRAM = 1400 };

static void need(int condition, const char *what)
{
	if (condition)
		return;
	perror(what);
	exit(1);
}

static struct sockaddr_in place(const char *address, const char *port)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};

	need(!address || inet_pton(AF_INET, address, &a.sin_addr) == 1, address);
	return a;
}

static int make_socket(int type)
{
	int fd = socket(AF_INET, type, 0);

	need(fd >= 0, "socket");
	return fd;
}

/* --------------------------------------------------------------------- serving */

/* Non-zero: the other end has closed, and so does this one. */
static int answer(int fd)
{
	char bytes[1000];

	if (read(fd, bytes, sizeof bytes) > 0)
		return 0;
	close(fd);
	return 1;
}

static void serve(const char *port)
{
	struct sockaddr_in here = place(NULL, port);
	struct pollfd fds[1 + MOST] = {{.fd = make_socket(SOCK_STREAM), .events = POLLIN}};
	nfds_t n = 1;

	need(!bind(fds[0].fd, (const struct sockaddr *)&here, sizeof here), "bind");
	need(!listen(fds[0].fd, MOST), "listen");
	while (poll(fds, n, -1) > 0) {
		for (nfds_t i = n - 1; i > 0; i--)
			if (fds[i].revents && answer(fds[i].fd))
				fds[i] = fds[--n];
		if (fds[0].revents && n <= MOST)
			fds[n++] = (struct pollfd){.fd = accept(fds[0].fd, NULL, NULL), .events = POLLIN};
	}
}

/* --------------------------------------------------------------------- calling */

static void hang_up(int fd)
{
	char byte;

	need(!shutdown(fd, SHUT_WR), "shutdown");
	need(read(fd, &byte, 1) == 0, "read");
	close(fd);
}

static void call(const struct sockaddr_in *to, int n)
{
	int fds[MOST];

	for (int i = 0; i < n; i++) {
		fds[i] = make_socket(SOCK_STREAM);
		need(!connect(fds[i], (const struct sockaddr *)to, sizeof *to), "connect");
		need(write(fds[i], "hello", 5) == 5, "write");
	}
	puts("open");
	fflush(stdout);
	while (getchar() != EOF)
		;
	for (int i = 0; i < n; i++)
		hang_up(fds[i]);
}

static void knock(const struct sockaddr_in *to, int n)
{
	for (int i = 0; i < n; i++) {
		int fd = make_socket(SOCK_STREAM);

		need(connect(fd, (const struct sockaddr *)to, sizeof *to) && errno == ECONNREFUSED,
		     "not refused");
		close(fd);
	}
}

/* The port is closed, so a send may report the refusal of an earlier datagram. */
static void send_datagrams(const struct sockaddr_in *to, int n)
{
	static const char bytes[DATAGRAM];
	int fd = make_socket(SOCK_DGRAM);

	for (int i = 0; i < n; i++)
		if (sendto(fd, bytes, sizeof bytes, 0, (const struct sockaddr *)to, sizeof *to) < 0)
			need(errno == ECONNREFUSED, "sendto");
	close(fd);
}

int main(int argc, char **argv)
{
	struct sockaddr_in to;
	int n;

	alarm(300);
	if (argc == 3 && !strcmp(argv[1], "serve"))
		serve(argv[2]);
	if (argc != 5)
		return 2;
	to = place(argv[2], argv[3]);
	n = atoi(argv[4]);
	if (!strcmp(argv[1], "call") && n <= MOST)
		call(&to, n);
	else if (!strcmp(argv[1], "knock"))
		knock(&to, n);
	else if (!strcmp(argv[1], "send"))
		send_datagrams(&to, n);
	else
		return 2;
	return 0;
}
