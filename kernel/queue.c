/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The queues that packets leave by, as the tool prepares them for the programs (queue.bpf.h, device.bpf.c).
 *
 *     interface   is there a root qdisc that counts?   its time needs            else the virtual queue needs
 *     eth0        yes                                  --queue-rate, or a speed  --queue-rate
 *
 * Which one it is depends on the qdisc, which may be exchanged at any moment; so the programs look at each packet. What
 * can be seen beforehand is asked beforehand: a condition that could never hold, for lack of a rate, is refused.
 *
 * The speed is that of SIOCETHTOOL, which /sys/class/net/NAME/speed has, too; but /sys can be that of another network
 * namespace.
 */
#include "kernel/inside.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "packet/queue.h"

static struct ink_kernel_queue *queue_at(const struct ink_kernel *k, unsigned i)
{
	const struct ink_kernel_map *m = &k->map[INK_MAP_QUEUES];

	return (struct ink_kernel_queue *)(void *)(m->at + i * m->stride);
}

/* ------------------------------------------------------------------- rates */

/* Bits a second; 0: it is not known. */
static uint64_t speed_of(const char *interface)
{
	struct ethtool_cmd settings = {.cmd = ETHTOOL_GSET};
	struct ifreq r = {.ifr_data = (void *)&settings};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), failed;
	uint32_t speed;

	if (fd < 0)
		return 0;
	snprintf(r.ifr_name, sizeof r.ifr_name, "%s", interface);
	failed = ioctl(fd, SIOCETHTOOL, &r);
	close(fd);
	speed = ethtool_cmd_speed(&settings);
	return failed || speed == (uint32_t)SPEED_UNKNOWN ? 0 : speed * 1000000ull;
}

/* A speed can be one that no arithmetic is made for. */
static uint64_t pace_of(uint64_t rate)
{
	return rate >= 1000 && rate <= 1000000000000ull ? ink_pace(rate) : 0;
}

static void put_queue(struct ink_kernel *k, unsigned at, const struct ink_kernel_place *place, uint64_t rate)
{
	uint64_t speed = speed_of(place->interface), sending = pace_of(rate ? rate : speed);

	*queue_at(k, at) = (struct ink_kernel_queue){.interface = place->index,
						     .expected = INK_KERNEL_WAITS,
						     .rate = rate,
						     .speed = speed,
						     .pace = pace_of(rate),
						     .sending = sending,
						     .most = sending ? UINT64_MAX / sending : 0};
}

/* The caller's network namespace; 0: the kernel does not say. */
static uint64_t this_namespace(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t cookie = 0;
	socklen_t length = sizeof cookie;

	if (fd < 0)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &length))
		cookie = 0;
	close(fd);
	return cookie;
}

void ink_kernel_queues_put(struct ink_kernel *k, const struct ink_kernel_options *o)
{
	static const struct ink_kernel_place loopback = {.interface = "lo", .index = 1}; /* of test runs */
	unsigned n = 0;

	ink_kernel_controls(k)->netns = this_namespace();
	ink_kernel_controls(k)->virtual_for = o->queue_virtual ? INK_WAIT_CHOSEN : INK_WAIT_OLD;
	if (!o->n_places)
		put_queue(k, n++, &loopback, o->queue_rate);
	for (unsigned i = 0; i < o->n_places && n < INK_KERNEL_QUEUES; i++)
		if (o->places[i].hook == INK_KERNEL_EGRESS)
			put_queue(k, n++, &o->places[i], o->queue_rate);
}

/* ------------------------------------------------------- what machines ask */

/* The place of a condition about time; NULL: there is none. */
static const char *asks_time(const struct ink_machine *m)
{
	for (unsigned i = 0; i < m->n_tests; i++)
		if (m->tests[i].field == INK_FIELD_QUEUE_TIME)
			return m->tests[i].place;
	return NULL;
}

static int asks_any(const struct ink_machines *machines)
{
	for (unsigned i = 0; i < ink_machines_count(machines); i++)
		if (ink_machines_at(machines, i)->view.queues)
			return 1;
	return 0;
}

/* The index of an interface means another one in another network namespace, so its name is that at attach. */
static void put_name(const struct ink_kernel *k, unsigned interface, char name[IF_NAMESIZE])
{
	unsigned i = 0;

	while (i < k->n_places && k->attached[i].place.index != interface)
		i++;
	if (i < k->n_places)
		snprintf(name, IF_NAMESIZE, "%s", k->attached[i].place.interface);
	else if (!if_indextoname(interface, name))
		strcpy(name, "?");
}

static const char *const reasons[INK_KERNEL_WAITS] = {
	[INK_WAIT_NOQUEUE] = "has no queue",
	[INK_WAIT_MANY] = "has several queues, and no counter of them all (mq)",
	[INK_WAIT_APART] = "has a queue that counts on each processor separately",
	[INK_WAIT_CHOSEN] = "was given a virtual queue",
	[INK_WAIT_OLD] = "has a queue that this kernel does not let programs read",
};

/* Is a rate missing for what a machine asks? */
static int check_rate(const struct ink_kernel *k, const struct ink_machine *m,
		      const struct ink_kernel_queue *q, struct ink_why *why)
{
	const char *asks = ink_asks_queue(m), *time = asks_time(m);
	int is_virtual = q->expected != INK_WAIT_REAL && q->expected < INK_KERNEL_WAITS;
	char name[IF_NAMESIZE];

	put_name(k, q->interface, name);
	if (asks && is_virtual && !q->pace)
		return ink_fail(why, -EINVAL,
				"%s: machine %s: %s %s: 'queue' needs the rate of a virtual one "
				"(attach --queue-rate)",
				asks, m->name, name, reasons[q->expected]);
	if (time && !q->sending)
		return ink_fail(why, -EINVAL,
				"%s: machine %s: the speed of %s is not known: the time of its queue "
				"needs a rate (attach --queue-rate)",
				time, m->name, name);
	return 0;
}

static int check_rates(const struct ink_kernel *k, const struct ink_machines *machines, struct ink_why *why)
{
	int error = 0;

	for (unsigned i = 0; i < INK_KERNEL_QUEUES && queue_at(k, i)->interface; i++)
		for (unsigned m = 0; m < ink_machines_count(machines) && !error; m++)
			error = check_rate(k, ink_machines_at(machines, m), queue_at(k, i), why);
	return error;
}

/* ----------------------------------------------------------------- preparing */

/*
 * Without the programs of device.bpf.c, queues are virtual, and `virtual_for` says why. From another network namespace
 * the interfaces cannot be asked: what was known stays.
 */
static void expect(struct ink_kernel *k)
{
	const struct ink_kernel_control *c = ink_kernel_control(k);
	int is_here = c->netns == this_namespace();
	struct bpf_object *device =
		c->virtual_for == INK_WAIT_CHOSEN ? NULL : ink_kernel_device_load(k, NULL);

	for (unsigned i = 0; i < INK_KERNEL_QUEUES && queue_at(k, i)->interface; i++) {
		struct ink_kernel_queue *q = queue_at(k, i);

		if (!device)
			q->expected = c->virtual_for;
		else if (is_here)
			q->expected = ink_kernel_device_ask(device, q->interface);
	}
	bpf_object__close(device);
}

int ink_kernel_queues_prepare(struct ink_kernel *k, const struct ink_machines *machines, struct ink_why *why)
{
	struct ink_kernel_control *c = ink_kernel_controls(k);
	int error;

	if (!asks_any(machines))
		return 0;
	expect(k);
	error = check_rates(k, machines, why);
	if (!error)
		__atomic_store_n(&c->queues, 1, __ATOMIC_RELEASE);
	return error;
}

void ink_kernel_queues_settle(struct ink_kernel *k)
{
	uint32_t asks = (uint32_t)asks_any(ink_kernel_machines(k));

	__atomic_store_n(&ink_kernel_controls(k)->queues, asks, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------- looking */

static void keep_highest(uint64_t *to, uint64_t value)
{
	if (value > *to)
		*to = value;
}

static void add_waits(struct ink_kernel_waits *to, const struct ink_kernel_waits *from)
{
	for (unsigned i = 0; i < INK_KERNEL_WAITS; i++)
		to->from[i] += from->from[i];
	to->unknown += from->unknown;
	to->joined += from->joined;
	to->bytes += from->bytes;
	to->lost += from->lost;
	to->given_up += from->given_up;
	to->timed += from->timed;
	to->wait += from->wait;
	keep_highest(&to->worst, from->worst);
	keep_highest(&to->most_packets, from->most_packets);
	keep_highest(&to->most_bytes, from->most_bytes);
}

static int read_waits(const struct ink_kernel *k, unsigned i, struct ink_kernel_waits *to)
{
	int processors = libbpf_num_possible_cpus(), error;
	struct ink_kernel_waits *values;

	memset(to, 0, sizeof *to);
	if (processors < 0)
		return processors;
	values = calloc((size_t)processors, sizeof *values);
	if (!values)
		return -ENOMEM;
	error = ink_kernel_map_read(&k->map[INK_MAP_WAITS], i, values);
	for (int p = 0; p < processors && !error; p++)
		add_waits(to, &values[p]);
	free(values);
	return error;
}

int ink_kernel_queues(const struct ink_kernel *k, struct ink_kernel_queued *queues, unsigned *n)
{
	int error = 0;

	*n = 0;
	if (!ink_kernel_control(k)->queues)
		return 0;
	for (; *n < INK_KERNEL_QUEUES && queue_at(k, *n)->interface && !error; ++*n) {
		const struct ink_kernel_queue *q = queue_at(k, *n);

		queues[*n] = (struct ink_kernel_queued){.interface = q->interface,
							.expected = (enum ink_kernel_wait)q->expected,
							.rate = q->rate,
							.speed = q->speed};
		put_name(k, q->interface, queues[*n].name);
		error = read_waits(k, *n, &queues[*n].waits);
	}
	return error;
}
