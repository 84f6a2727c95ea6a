/* SPDX-License-Identifier: BSD-2-Clause */
/* Servers that a test starts, kills and starts again, and a client for their unix sockets. */
#ifndef INKLING_TESTS_REDIS_CLIENT_H
#define INKLING_TESTS_REDIS_CLIENT_H

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/redis_fake.h" /* struct fake_text */

/* A connection. Its answers are shown as those of redis_fake.h; texts may have any bytes. */
struct client {
	int fd;
	char *in; /* what came and was not read yet: [at, n) */
	size_t at, n, room;
	char *out; /* commands that were not sent yet */
	size_t n_out, room_out;
	char *shown;
	size_t n_shown, room_shown;
	struct fake_text last; /* the last text of the answer, in `kept` */
	char *kept;
	size_t room_kept;
	long long number; /* the last number of the answer */
};

struct running {
	pid_t pid;
	int port; /* on loopback, for replicas; 0: none */
	char folder[512], socket[600];
	const char *module;
	const char *options[32]; /* besides, to NULL */
	struct client c;
};

/* ------------------------------------------------------------------------ the client */

static inline void grow(char **at, size_t *room, size_t needed)
{
	if (needed > *room) {
		*room = needed * 2;
		*at = realloc(*at, *room);
	}
}

static inline int client_open(struct client *c, const char *socket_path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	*c = (struct client){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	if (strlen(socket_path) < sizeof to.sun_path) {
		strcpy(to.sun_path, socket_path);
		if (connect(c->fd, (struct sockaddr *)&to, sizeof to) == 0)
			return 0;
	}
	close(c->fd);
	c->fd = -1;
	return -1;
}

static inline void client_close(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->in);
	free(c->out);
	free(c->shown);
	free(c->kept);
	*c = (struct client){.fd = -1};
}

static inline void client_put(struct client *c, const void *bytes, size_t n)
{
	grow(&c->out, &c->room_out, c->n_out + n);
	memcpy(c->out + c->n_out, bytes, n);
	c->n_out += n;
}

/* Adds a command to what is to be sent. */
static inline void client_add(struct client *c, const struct fake_text *argv, int argc)
{
	char head[32];

	client_put(c, head, (size_t)snprintf(head, sizeof head, "*%d\r\n", argc));
	for (int i = 0; i < argc; i++) {
		client_put(c, head, (size_t)snprintf(head, sizeof head, "$%zu\r\n", argv[i].n));
		client_put(c, argv[i].at, argv[i].n);
		client_put(c, "\r\n", 2);
	}
}

static inline int client_send(struct client *c)
{
	size_t sent = 0;

	while (sent < c->n_out) {
		ssize_t n = send(c->fd, c->out + sent, c->n_out - sent, MSG_NOSIGNAL);

		if (n <= 0)
			return -1;
		sent += (size_t)n;
	}
	c->n_out = 0;
	return 0;
}

/* At least n bytes are there to be read. */
static inline int client_fill(struct client *c, size_t n)
{
	while (c->n - c->at < n) {
		ssize_t got;

		memmove(c->in, c->in + c->at, c->n - c->at);
		c->n -= c->at;
		c->at = 0;
		grow(&c->in, &c->room, n < 65536 ? 65536 : n);
		got = recv(c->fd, c->in + c->n, c->room - c->n, 0);
		if (got <= 0)
			return -1;
		c->n += (size_t)got;
	}
	return 0;
}

static inline int client_line(struct client *c, char line[1024])
{
	for (size_t i = 0;; i++) {
		if (client_fill(c, i + 1) != 0)
			return -1;
		if (c->in[c->at + i] == '\n') {
			size_t n = i - 1 < 1023 ? i - 1 : 1023;

			memcpy(line, c->in + c->at, n);
			line[n] = 0;
			c->at += i + 1;
			return 0;
		}
	}
}

static inline void client_show(struct client *c, const char *text, size_t n)
{
	grow(&c->shown, &c->room_shown, c->n_shown + n + 1);
	memcpy(c->shown + c->n_shown, text, n);
	c->n_shown += n;
	c->shown[c->n_shown] = 0;
}

static inline int client_one(struct client *c);

static inline int client_many(struct client *c, long n)
{
	client_show(c, "[", 1);
	for (long i = 0; i < n; i++) {
		if (i)
			client_show(c, " ", 1);
		if (client_one(c) != 0)
			return -1;
	}
	client_show(c, "]", 1);
	return 0;
}

static inline int client_text(struct client *c, long n)
{
	if (n < 0)
		return 0;
	if (client_fill(c, (size_t)n + 2) != 0)
		return -1;
	grow(&c->kept, &c->room_kept, (size_t)n + 1);
	memcpy(c->kept, c->in + c->at, (size_t)n);
	c->kept[n] = 0;
	c->last = (struct fake_text){c->kept, (size_t)n};
	client_show(c, c->kept, (size_t)n);
	c->at += (size_t)n + 2;
	return 0;
}

static inline int client_one(struct client *c)
{
	char line[1024];

	if (client_line(c, line) != 0)
		return -1;
	switch (line[0]) {
	case '*':
	case '~':
		return client_many(c, atol(line + 1));
	case '%':
		return client_many(c, 2 * atol(line + 1));
	case '$':
	case '=':
		return client_text(c, atol(line + 1));
	case ':':
		c->number = strtoll(line + 1, NULL, 10);
		break;
	}
	client_show(c, line + (line[0] != '-'), strlen(line) - (line[0] != '-'));
	return 0;
}

/* The next answer; NULL: the server has gone. */
static inline const char *client_answer(struct client *c)
{
	c->n_shown = 0;
	client_show(c, "", 0);
	return client_one(c) == 0 ? c->shown : NULL;
}

static inline const char *client_run(struct client *c, const struct fake_text *argv, int argc)
{
	client_add(c, argv, argc);
	return client_send(c) == 0 ? client_answer(c) : NULL;
}

/* As fake_do(): words between blanks, and %1 ... for texts. */
static inline const char *client_do(struct client *c, const char *words, ...)
{
	struct fake_text argv[64], texts[9];
	int argc = 0, given = 0;
	va_list args;

	va_start(args, words);
	for (const char *at = words; *at && argc < 64; at += *at == ' ') {
		size_t n = strcspn(at, " ");

		argv[argc] = (struct fake_text){at, n};
		if (n == 2 && at[0] == '%') {
			while (given < at[1] - '0')
				texts[given++] = va_arg(args, struct fake_text);
			argv[argc] = texts[at[1] - '1'];
		}
		argc++;
		at += n;
	}
	va_end(args);
	return client_run(c, argv, argc);
}

/* ----------------------------------------------------------------------- the server */

static inline const char *server_program(void)
{
	const char *program = getenv("INK_REDIS_SERVER");

	return program ? program : "redis-server";
}

static inline void server_exec(const struct running *r)
{
	char port[16];
	const char *argv[64] = {server_program(), "--bind",      "127.0.0.1", "--port",  port,
				"--unixsocket",   r->socket,     "--dir",     r->folder, "--loadmodule",
				r->module,        "--daemonize", "no"};
	char log[600];
	int n = 13, fd;

	snprintf(port, sizeof port, "%d", r->port);
	for (int i = 0; r->options[i]; i++)
		argv[n++] = r->options[i];
	argv[n] = NULL;
	snprintf(log, sizeof log, "%s/log", r->folder);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
	dup2(fd, 1);
	dup2(fd, 2);
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

static inline void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* Whether it answers: 1, 0 not yet, -1 it has ended. */
static inline int server_answers(struct running *r)
{
	const char *answer;

	if (waitpid(r->pid, NULL, WNOHANG) == r->pid)
		return -1;
	if (client_open(&r->c, r->socket) != 0)
		return 0;
	answer = client_do(&r->c, "PING");
	if (answer && !strcmp(answer, "PONG"))
		return 1;
	client_close(&r->c);
	return 0;
}

/*
 * Starts it and waits until it answers. 0; -1: it did not within 20 s. A server that was killed can leave a child, which
 * writes its AOF and keeps the lock of its files: so one that ends is started again.
 */
static inline int server_start(struct running *r)
{
	int answers = -1;

	snprintf(r->socket, sizeof r->socket, "%s/s", r->folder);
	for (int i = 0; i < 1000 && answers < 1; i++) {
		if (answers < 0) {
			unlink(r->socket);
			r->pid = fork();
			if (!r->pid)
				server_exec(r);
		}
		pause_ms(20);
		answers = server_answers(r);
		if (answers < 0)
			pause_ms(200);
	}
	if (answers < 0)
		r->pid = 0;
	return answers == 1 ? 0 : -1;
}

static inline void server_end(struct running *r, int with)
{
	client_close(&r->c);
	if (r->pid > 0) {
		kill(r->pid, with);
		waitpid(r->pid, NULL, 0);
	}
	r->pid = 0;
}

/*
 * A port of loopback that nobody has now, below those that the system gives to connections: a server that is killed
 * and comes back would else find its own taken by somebody's connection.
 */
static inline int free_port(void)
{
	enum { FIRST = 12000, PORTS = 20000 };
	static unsigned next;

	for (int tries = 0; tries < PORTS; tries++) {
		int port = FIRST + (int)(((unsigned)getpid() * 7919 + next++ * 31) % PORTS);
		struct sockaddr_in at = {.sin_family = AF_INET,
					 .sin_port = htons((uint16_t)port),
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		int fd = socket(AF_INET, SOCK_STREAM, 0), got = bind(fd, (struct sockaddr *)&at, sizeof at);

		close(fd);
		if (got == 0)
			return port;
	}
	return 0;
}

/* Whether such a server is installed. */
static inline int server_exists(void)
{
	char command[600];

	snprintf(command, sizeof command, "command -v '%s' >/dev/null 2>&1", server_program());
	return system(command) == 0;
}

#endif
