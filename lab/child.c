/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

/* ------------------------------------------------------------------------ files */

enum { ABOVE = 10 }; /* above all descriptors that a child is given, so that none is put in another's place */

int child_file(void)
{
	int low = memfd_create("inkling", MFD_CLOEXEC), file;

	if (low < 0)
		return -1;
	file = fcntl(low, F_DUPFD_CLOEXEC, ABOVE);
	close(low);
	return file;
}

void child_close(int file)
{
	if (file >= 0)
		close(file);
}

uint8_t *child_bytes(int file, size_t *size)
{
	struct stat st;
	uint8_t *bytes = fstat(file, &st) ? NULL : malloc((size_t)st.st_size + 1);
	ssize_t n = 1;

	for (*size = 0; bytes && n > 0 && *size<(size_t)st.st_size; *size += n> 0 ? (size_t)n : 0)
		n = pread(file, bytes + *size, (size_t)st.st_size - *size, (off_t)*size);
	if (n >= 0)
		return bytes;
	free(bytes);
	return NULL;
}

int child_write(int file, const void *bytes, size_t size)
{
	const uint8_t *at = bytes;
	ssize_t n = 1;

	for (; size && n > 0; at += n, size -= (size_t)n) {
		n = write(file, at, size);
		if (n < 0)
			return -errno;
	}
	return size ? -EIO : 0;
}

/* ----------------------------------------------------------------------- waiting */

/* In hundredths of a second, by the monotonic clock. */
static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 100 + (uint64_t)t.tv_nsec / 10000000;
}

/* 0 with the status, or -errno. */
static int wait_for(pid_t pid, unsigned seconds, int *status)
{
	const struct timespec nap = {0, 5000000};
	uint64_t end = now() + 100ull * seconds;
	pid_t done;

	while ((done = waitpid(pid, status, WNOHANG)) == 0 || (done < 0 && errno == EINTR)) {
		if (now() > end) {
			kill(pid, SIGKILL);
			while (waitpid(pid, status, 0) < 0 && errno == EINTR)
				;
			return -ETIMEDOUT;
		}
		nanosleep(&nap, NULL);
	}
	return done < 0 ? -errno : 0;
}

/* The last line of the output, without its end and control characters. */
static void last_line(int file, char *line, size_t room)
{
	size_t size = 0, n = 0;
	char *text = (char *)child_bytes(file, &size);

	if (!text)
		size = 0;
	while (size && (text[size - 1] == '\n' || text[size - 1] == '\r'))
		size--;
	for (size_t i = size; i > 0 && text[i - 1] != '\n' && n < size; i--)
		n++;
	for (size_t i = 0; i < n && i < room - 1; i++)
		line[i] = text[size - n + i] < ' ' ? ' ' : text[size - n + i];
	line[n < room - 1 ? n : room - 1] = 0;
	free(text);
}

static int judge(const struct child *c, int status, int said, struct ink_why *why)
{
	char line[120];

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	last_line(said, line, sizeof line);
	if (WIFSIGNALED(status))
		return ink_fail(why, -ECHILD, "%s was ended by signal %d: %s", c->argv[0], WTERMSIG(status),
				line);
	return ink_fail(why, -ECHILD, "%s failed with %d: %s", c->argv[0], WEXITSTATUS(status), line);
}

/* ---------------------------------------------------------------------- starting */

/* A descriptor of the child: the file, or nothing. */
static int give(posix_spawn_file_actions_t *actions, int file, int as)
{
	if (file >= 0)
		return posix_spawn_file_actions_adddup2(actions, file, as);
	return as > 2 ? 0 : posix_spawn_file_actions_addopen(actions, as, "/dev/null", O_RDWR, 0);
}

/* 0, or an errno that is not negative, as posix_spawn has it. */
static int start(const struct child *c, int said, pid_t *pid)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return error;
	error = give(&actions, c->in, 0);
	error = error ? error : give(&actions, c->out, 1);
	error = error ? error : give(&actions, said, 2);
	error = error ? error : give(&actions, c->more, 3);
	if (!error)
		error = posix_spawnp(pid, c->argv[0], &actions, NULL, (char *const *)c->argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

int child_run(const struct child *c, struct ink_why *why)
{
	int said = child_file(), status = 0, error;
	pid_t pid;

	if (said < 0)
		return ink_fail(why, -errno, "no file for %s: %s", c->argv[0], strerror(errno));
	if (c->in >= 0)
		lseek(c->in, 0, SEEK_SET);
	error = -start(c, said, &pid);
	if (error) {
		ink_fail(why, error, "%s: %s", c->argv[0], strerror(-error));
	} else {
		error = wait_for(pid, c->seconds, &status);
		if (error)
			ink_fail(why, error, "%s did not end within %u s", c->argv[0], c->seconds);
		else
			error = judge(c, status, said, why);
	}
	close(said);
	return error;
}
