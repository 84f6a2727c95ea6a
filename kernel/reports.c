/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reports: from the ring buffer to what the tracker hands its caller.
 *
 * A set has one reader. `reader` in control has its process and when that began (in ticks of the kernel, modulo
 * 2^32), so that a process which got a dead reader's number is not taken for it:
 *
 *      63          32 31         0
 *     +--------------+------------+
 *     | began        | process    |      0: nobody reads
 *     +--------------+------------+
 */
#include "kernel/inside.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

/* -------------------------------------------------------------- the reader */

/* When a process began; 0: there is none. It is the 22nd field; the second is in parentheses and can hold anything. */
static uint32_t began(uint32_t process)
{
	char path[32], text[1024], *at;
	unsigned long long start = 0;
	size_t n;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%u/stat", process);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = 0;
	at = strrchr(text, ')');
	for (unsigned field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	if (!at || sscanf(at, "%llu", &start) != 1)
		return 0;
	return (uint32_t)start | 1;
}

static uint64_t reader_of(uint32_t process)
{
	return (uint64_t)began(process) << 32 | process;
}

static int is_alive(uint64_t reader)
{
	return reader && reader_of((uint32_t)reader) == reader;
}

unsigned ink_kernel_reader(const struct ink_kernel *k)
{
	uint64_t reader = __atomic_load_n(&ink_kernel_controls(k)->reader, __ATOMIC_ACQUIRE);

	return is_alive(reader) ? (unsigned)reader : 0;
}

static int become_reader(struct ink_kernel *k, struct ink_why *why)
{
	uint64_t *reader = &ink_kernel_controls(k)->reader;
	uint64_t there = __atomic_load_n(reader, __ATOMIC_ACQUIRE), me = reader_of((uint32_t)getpid());

	do
		if (is_alive(there))
			return ink_fail(why, -EBUSY, "%s: process %u reads its reports", k->name,
					(uint32_t)there);
	while (!__atomic_compare_exchange_n(reader, &there, me, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
	return 0;
}

void ink_kernel_deafen(struct ink_kernel *k)
{
	uint64_t me;

	if (!k->ring)
		return;
	ring_buffer__free(k->ring);
	k->ring = NULL;
	me = reader_of((uint32_t)getpid());
	__atomic_compare_exchange_n(&ink_kernel_controls(k)->reader, &me, 0, 0, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
}

/* --------------------------------------------------------------- following */

/* A record that is shorter than it says is none of ours. */
static int hear(void *user, void *data, size_t size)
{
	struct ink_kernel *k = user;
	const struct ink_kernel_report *r = data;

	if (size < sizeof *r || r->bytes > size - sizeof *r)
		return 0;
	k->frame = r->bytes ? (const uint8_t *)(r + 1) : NULL;
	return k->reported(r, k->frame, k->user) ? -ECANCELED : 0;
}

int ink_kernel_listen(struct ink_kernel *k, ink_kernel_reported reported, void *user, struct ink_why *why)
{
	int error = k->ring ? 0 : become_reader(k, why);

	if (error)
		return error;
	k->reported = reported;
	k->user = user;
	if (k->ring)
		return 0;
	k->ring = ring_buffer__new(k->map[INK_MAP_REPORTS].fd, hear, k, NULL);
	if (k->ring)
		return 0;
	error = -errno;
	__atomic_store_n(&ink_kernel_controls(k)->reader, 0, __ATOMIC_RELEASE);
	return ink_fail(why, error, "%s: its reports cannot be read: %s", k->name, strerror(-error));
}

int ink_kernel_poll(struct ink_kernel *k, int timeout)
{
	return k->ring ? ring_buffer__poll(k->ring, timeout) : -EINVAL;
}

/* ------------------------------------------------------------ what they say */

/* The machines of that generation: another process may have exchanged them, or records be older than that. */
static const struct ink_kernel_version *version_of(struct ink_kernel *k, uint32_t generation)
{
	const struct ink_kernel_version *v;

	if (generation > k->version->generation && ink_kernel_text_read(k, NULL))
		return NULL;
	for (v = k->version; v && v->generation > generation; v = v->before)
		;
	return v && v->generation == generation ? v : NULL;
}

static const struct ink_machine *machine_of(struct ink_kernel *k, const struct ink_kernel_report *r,
					    const struct ink_kernel_version **version)
{
	const struct ink_kernel_version *v = *version = version_of(k, r->generation);

	return v ? ink_machines_at(v->machines ? v->machines : v->borrowed, r->machine) : NULL;
}

const struct ink_machine_view *ink_kernel_reported_by(struct ink_kernel *k, const struct ink_kernel_report *r)
{
	const struct ink_kernel_version *v;
	const struct ink_machine *m = machine_of(k, r, &v);

	return m ? &m->view : NULL;
}

static ink_answer number_of(const struct ink_kernel_numbers *n, int16_t code)
{
	return code < 0 || code >= INK_KERNEL_STATES ? code : n->number_of[code];
}

/* The packet as the parser left it, with the frame if it was saved. */
static void take_packet(struct ink_kernel *k, const struct ink_kernel_report *r)
{
	k->packet = r->packet;
	k->packet.time =
		ink_kernel_control(k)->clock == INK_KERNEL_TEST ? r->clock : ink_kernel_wall(r->clock);
	k->packet.clock = r->clock;
	k->packet.frame = k->frame;
	k->packet.captured = r->bytes;
	k->packet.payload = NULL;
	k->packet.payload_captured = 0;
}

int ink_kernel_moved(struct ink_kernel *k, const struct ink_kernel_report *r, struct ink_moved *moved)
{
	const struct ink_kernel_version *v;
	const struct ink_machine *m = machine_of(k, r, &v);

	if (!m || r->action >= m->view.actions || r->event >= m->view.rules->events)
		return -ESTALE;
	take_packet(k, r);
	*moved = (struct ink_moved){.packet = &k->packet,
				    .number = r->number,
				    .id = r->id,
				    .event = r->event,
				    .move = {number_of(&v->numbers[r->machine], r->from),
					     number_of(&v->numbers[r->machine], r->to), r->action},
				    .error = r->refused ? -ENOSPC : 0,
				    .action = &m->view.action[r->action],
				    .beside = {.from = INK_ABSENT, .to = INK_ABSENT},
				    .machine = r->machine,
				    .teller = r->teller,
				    .reversed = r->reversed};
	return 0;
}

uint64_t ink_kernel_wall(uint64_t boot)
{
	struct timespec wall, up;

	clock_gettime(CLOCK_REALTIME, &wall);
	clock_gettime(CLOCK_BOOTTIME, &up);
	return (uint64_t)(wall.tv_sec - up.tv_sec) * 1000000000u + (uint64_t)wall.tv_nsec -
	       (uint64_t)up.tv_nsec + boot;
}
