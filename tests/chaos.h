/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stage of test_kernel_chaos.c: two network namespaces with a veth pair between them, traffic whose packets are
 * all accounted for, and the tool, which can be killed.
 *
 *     there:  senders, one for each processor --> ink1 ~~~ ink0 --> receiver  :here, with the tool
 *
 * A frame carries its sender and its number. A sender waits while WINDOW of its frames have not arrived, so no queue on
 * the way is ever full: a frame that does not come is lost by a program. Namespaces and the bpf file system are the
 * process's own, and end with it, failed or not.
 */
#ifndef INKLING_TESTS_CHAOS_H
#define INKLING_TESTS_CHAOS_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/test.h"

#include "tests/no_links.h"
#include "tests/scratch.h"

enum {
	SENDERS = 2,
	WINDOW = 100, /* the queues of veth hold 256 frames */
	BATCH = 25,
	PATIENCE = 10, /* seconds, times the slowness */
	FRAME_BYTES = 70,
	NUMBER_AT = 54, /* in the payload: sender and number */
	ARGUMENTS = 24
};

/* -------------------------------------------------------------------- time */

static inline double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* So many times as slow as the machine itself is one that is emulated. */
static inline double slowness(void)
{
	const char *slow = getenv("INK_TEST_SLOW");

	return slow ? atof(slow) : 1;
}

/* The same numbers in every run; when a process is killed depends on the machine nevertheless. */
static inline unsigned drawn_below(unsigned n)
{
	static uint64_t state = 1;

	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

/* ------------------------------------------------------------- the stage */

static int here, there; /* network namespaces */

static inline int skip_all(const char *why)
{
	printf("skipped: %s\n", why);
	exit(77);
}

static inline int shell(const char *command)
{
	pid_t child = fork();
	int status;

	if (!child) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execlp("bash", "bash", "-c", command, NULL);
		_exit(127);
	}
	return waitpid(child, &status, 0) < 0 || status ? -1 : 0;
}

/* The calling thread, and what it opens from here on. */
static inline void go(int namespace)
{
	if (setns(namespace, CLONE_NEWNET))
		abort();
}

static inline int shell_there(const char *command)
{
	int result;

	go(there);
	result = shell(command);
	go(here);
	return result;
}

/* A network without IPv6, which would speak unasked. */
static inline int new_network(void)
{
	if (unshare(CLONE_NEWNET))
		return -1;
	shell("f=/proc/sys/net/ipv6/conf/default/disable_ipv6; [ ! -e $f ] || echo 1 >$f");
	return open("/proc/thread-self/ns/net", O_RDONLY);
}

#define PAIR                                                                                                 \
	"ip link add ink0 address 02:00:00:00:00:01 numrxqueues 2 numtxqueues 2 type veth peer name ink1 "   \
	"address 02:00:00:00:00:02 numrxqueues 2 numtxqueues 2 && ip link set ink1 netns "

static inline int make_pair(void)
{
	char command[400];

	snprintf(command, sizeof command, PAIR "/proc/%d/fd/%d && ip link set ink0 arp off up", (int)getpid(),
		 there);
	return shell(command) || shell_there("ip link set ink1 arp off up") ? -1 : 0;
}

static inline void set_stage(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip_all("namespaces need CAP_SYS_ADMIN");
	if (mount("bpf", "/sys/fs/bpf", "bpf", 0, "mode=0700"))
		skip_all("no bpf file system");
	there = new_network();
	here = new_network();
	if (here < 0 || there < 0)
		skip_all("no network namespaces");
	if (make_pair())
		skip_all("no veth pair");
}

/* ------------------------------------------------------------------- frames */

/* TCP from a flow's own address to one server. */
static inline void write_frame(uint8_t frame[FRAME_BYTES], uint32_t flow, uint8_t flags)
{
	static const uint8_t like[NUMBER_AT] = {2,    0,    0,    0,
						0,    1,    2,    0,
						0,    0,    0,    2,
						8,    0, /* Ethernet */
						0x45, 0,    0,    FRAME_BYTES - 14,
						0,    1,    0x40, 0,
						64,   6,    0,    0, /* IPv4 */
						10,   0,    0,    0,
						10,   255,  0,    1,
						0x30, 0x39, 0,    80,
						0,    0,    0,    1,
						0,    0,    0,    1,
						0x50, 0,    255,  255}; /* TCP */

	memset(frame, 0, FRAME_BYTES);
	memcpy(frame, like, sizeof like);
	frame[27] = (uint8_t)(flow >> 16);
	frame[28] = (uint8_t)(flow >> 8);
	frame[29] = (uint8_t)flow;
	frame[47] = flags;
}

struct stamp {
	uint64_t sender, number;
};

static inline int open_link(const char *interface, int protocol)
{
	struct sockaddr_ll at = {.sll_family = AF_PACKET,
				 .sll_protocol = htons((uint16_t)protocol),
				 .sll_ifindex = (int)if_nametoindex(interface)};
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at))
		abort();
	return fd;
}

/* ------------------------------------------------------------------ traffic */

/* What the n-th frame of a sender is; 0: that was the last. */
typedef int (*frame_maker)(unsigned sender, uint64_t n, uint8_t frame[FRAME_BYTES]);

struct stream {
	uint64_t sent, received;
	uint64_t sum_sent, sum_received; /* of a hash of the numbers: twice the one is not the other */
	int stuck;
} __attribute__((aligned(64)));

static struct {
	struct stream of[SENDERS];
	pthread_t sender[SENDERS], receiver;
	frame_maker make;
	int running, stop, no_receiver, unheard; /* unheard: what is sent need not arrive */
	uint64_t strange;                        /* frames that are none of ours */
} flow_of;

#define STREAM(i) flow_of.of[i]

static inline uint64_t load_word(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline uint64_t hashed(uint64_t n)
{
	n = (n + 1) * 0x9e3779b97f4a7c15;
	return (n ^ n >> 29) * 0xbf58476d1ce4e5b9;
}

static inline void hear_frame(const uint8_t *frame, ssize_t n)
{
	struct stamp s;

	memcpy(&s, frame + NUMBER_AT, sizeof s);
	if (n != FRAME_BYTES || s.sender >= SENDERS) {
		flow_of.strange++;
		return;
	}
	STREAM(s.sender).sum_received += hashed(s.number);
	__atomic_fetch_add(&STREAM(s.sender).received, 1, __ATOMIC_ACQ_REL);
}

static inline void hear_batch(int link)
{
	static uint8_t frames[64][128];
	struct iovec part[64];
	struct mmsghdr m[64] = {{.msg_len = 0}};
	int n;

	for (int i = 0; i < 64; i++) {
		part[i] = (struct iovec){frames[i], sizeof frames[i]};
		m[i].msg_hdr = (struct msghdr){.msg_iov = &part[i], .msg_iovlen = 1};
	}
	n = recvmmsg(link, m, 64, MSG_WAITFORONE, NULL);
	for (int i = 0; i < n; i++)
		hear_frame(frames[i], (ssize_t)m[i].msg_len);
}

static inline void *receive_all(void *link)
{
	struct timeval wait = {.tv_usec = 50000};
	int fd = (int)(intptr_t)link;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	while (__atomic_load_n(&flow_of.stop, __ATOMIC_ACQUIRE) < 2)
		hear_batch(fd);
	close(fd);
	return NULL;
}

/* 0: nothing has arrived for so long that it never will. */
static inline int wait_for_room(const struct stream *s, uint64_t room)
{
	double until = seconds_now() + PATIENCE * slowness();
	uint64_t before = load_word(&s->received);

	while (!flow_of.unheard && load_word(&s->received) + room < s->sent + BATCH) {
		if (load_word(&s->received) != before) {
			before = load_word(&s->received);
			until = seconds_now() + PATIENCE * slowness();
		}
		if (seconds_now() > until)
			return 0;
		sched_yield();
	}
	return 1;
}

/* How many frames were made. */
static inline int make_batch(unsigned sender, uint8_t frames[BATCH][FRAME_BYTES])
{
	struct stream *s = &STREAM(sender);
	int n = 0;

	while (n < BATCH && flow_of.make(sender, s->sent + (unsigned)n, frames[n])) {
		struct stamp stamp = {sender, s->sent + (unsigned)n};

		memcpy(frames[n] + NUMBER_AT, &stamp, sizeof stamp);
		s->sum_sent += hashed(stamp.number);
		n++;
	}
	return n;
}

static inline void send_batch(int link, struct stream *s, uint8_t frames[BATCH][FRAME_BYTES], int n)
{
	struct iovec part[BATCH];
	struct mmsghdr m[BATCH] = {{.msg_len = 0}};
	int done = 0, now;

	for (int i = 0; i < n; i++) {
		part[i] = (struct iovec){frames[i], FRAME_BYTES};
		m[i].msg_hdr = (struct msghdr){.msg_iov = &part[i], .msg_iovlen = 1};
	}
	while (done < n && !s->stuck) {
		now = sendmmsg(link, m + done, (unsigned)(n - done), 0);
		done += now > 0 ? now : 0;
		s->stuck = now < 0 && errno != ENOBUFS; /* the interface is gone */
	}
	s->sent += (unsigned)n;
}

static inline void stay_on(unsigned processor)
{
	cpu_set_t one, may;
	unsigned n = 0;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof may, &may))
		return;
	for (unsigned i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &may) && n++ == processor % (unsigned)CPU_COUNT(&may))
			CPU_SET(i, &one);
	sched_setaffinity(0, sizeof one, &one);
}

static inline void *send_all_frames(void *number)
{
	static uint8_t frames[SENDERS][BATCH][FRAME_BYTES];
	unsigned me = (unsigned)(uintptr_t)number;
	struct stream *s = &STREAM(me);
	int link, n = BATCH;

	go(there);
	stay_on(me);
	link = open_link("ink1", 0);
	while (n == BATCH && !s->stuck && !__atomic_load_n(&flow_of.stop, __ATOMIC_ACQUIRE)) {
		if (!wait_for_room(s, WINDOW)) {
			s->stuck = 1;
			break;
		}
		if (flow_of.unheard) /* nothing else slows it down */
			usleep(500);
		n = make_batch(me, frames[me]);
		send_batch(link, s, frames[me], n);
	}
	close(link);
	return NULL;
}

/* Before the first frame comes: two windows of frames need more room than a socket has. */
static inline int open_ear(void)
{
	int fd = open_link("ink0", ETH_P_IP), room = 16 << 20;

	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
	return fd;
}

/* `unheard`: frames that programs may drop. */
static inline void start_traffic(frame_maker make, int unheard)
{
	memset(&flow_of, 0, sizeof flow_of);
	flow_of.make = make;
	flow_of.unheard = unheard;
	flow_of.running = 1;
	assert_int_equal(pthread_create(&flow_of.receiver, NULL, receive_all, (void *)(intptr_t)open_ear()),
			 0);
	for (unsigned i = 0; i < SENDERS; i++)
		assert_int_equal(
			pthread_create(&flow_of.sender[i], NULL, send_all_frames, (void *)(uintptr_t)i), 0);
}

/* Waits for the senders, and for what is on its way. */
static inline void join_traffic(void)
{
	if (!flow_of.running)
		return;
	flow_of.running = 0;
	for (unsigned i = 0; i < SENDERS; i++)
		pthread_join(flow_of.sender[i], NULL);
	for (unsigned i = 0; i < SENDERS; i++)
		if (!flow_of.unheard)
			wait_for_room(&STREAM(i), BATCH);
	__atomic_store_n(&flow_of.stop, 2, __ATOMIC_RELEASE);
	pthread_join(flow_of.receiver, NULL);
}

static inline void stop_traffic(void)
{
	__atomic_store_n(&flow_of.stop, 1, __ATOMIC_RELEASE);
	join_traffic();
}

static inline uint64_t frames_sent(void)
{
	uint64_t sent = 0;

	for (unsigned i = 0; i < SENDERS; i++)
		sent += STREAM(i).sent;
	return sent;
}

static inline uint64_t frames_received(void)
{
	uint64_t received = 0;

	for (unsigned i = 0; i < SENDERS; i++)
		received += load_word(&STREAM(i).received);
	return received;
}

static inline void assert_all_arrived(void)
{
	for (unsigned i = 0; i < SENDERS; i++) {
		if (STREAM(i).received != STREAM(i).sent)
			fail_msg("sender %u: %llu frames of %llu arrived, and %llu others", i,
				 (unsigned long long)STREAM(i).received, (unsigned long long)STREAM(i).sent,
				 (unsigned long long)flow_of.strange);
		assert_int_equal(STREAM(i).sum_received, STREAM(i).sum_sent);
		assert_int_equal(STREAM(i).stuck, 0);
	}
}

/* ------------------------------------------------------------------ the tool */

static const char *tool_path;
static int is_old; /* it runs as on a kernel without links */

/* Its words are separated by spaces; what it says goes to the file "said". */
static inline pid_t start_tool(const char *words)
{
	char line[1000], *argument[ARGUMENTS] = {(char *)(uintptr_t)tool_path}, *rest = line;
	unsigned n = 1;
	pid_t child;

	snprintf(line, sizeof line, "%s", words);
	while (n < ARGUMENTS - 1 && (argument[n] = strsep(&rest, " ")))
		n++;
	argument[n] = NULL;
	child = fork();
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (is_old)
		forbid_links();
	if (chdir(scratch) || !freopen("said", "w", stdout) || dup2(1, 2) < 0)
		_exit(126);
	execv(tool_path, argument);
	_exit(127);
}

static char said[200000];

static inline int end_of(pid_t child)
{
	char path[SCRATCH_PATH];
	FILE *file = NULL;
	int status = -1;

	waitpid(child, &status, 0);
	file = fopen(scratch_path(path, "said"), "r");
	said[file ? fread(said, 1, sizeof said - 1, file) : 0] = 0;
	if (file)
		fclose(file);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline int tool_exits(const char *words)
{
	return end_of(start_tool(words));
}

static inline void tool(const char *words)
{
	int status = tool_exits(words);

	if (status)
		fail_msg("inkling %s: exit %d: %s", words, status, said);
}

/* Killed after so many microseconds; 0: it had ended before. */
static inline int kill_tool(const char *words, unsigned after)
{
	pid_t child = start_tool(words);

	usleep(after);
	kill(child, SIGKILL);
	return end_of(child) < 0;
}

/* A number of the tool's latest JSON, behind this text. */
static inline double told_number(const char *behind)
{
	const char *at = strstr(said, behind);

	if (!at)
		fail_msg("no %s in: %.300s", behind, said);
	return atof(at + strlen(behind));
}

/* A file in the scratch folder. */
static inline void write_text(const char *name, const char *text)
{
	char path[SCRATCH_PATH];
	FILE *file = fopen(scratch_path(path, name), "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	fclose(file);
}

#endif
