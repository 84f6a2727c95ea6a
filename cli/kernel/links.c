/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Asks rtnetlink, and not /sys/class/net: that shows the namespace in which /sys was mounted, which need not be
 * that of the process.
 *
 *     IFLA_MASTER   of a port: the bridge or bond above it
 *     IFLA_LINK     of a VLAN, macvlan ...: the device below it; of a veth: its peer, which names it in turn
 */
#include "cli/kernel/links.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DEEPEST = 8, ANSWER = 32768 }; /* as deep as the kernel nests devices; as long as it answers at once */

struct link {
	unsigned index, master, below;
	unsigned type; /* ARPHRD_* */
	int loops;     /* receives what it sends */
	int elsewhere; /* what is below it is in another namespace */
};

struct links {
	unsigned n;
	struct link *at;
};

/* -------------------------------------------------------------------------- asking */

static unsigned number(const struct rtattr *a)
{
	unsigned value;

	memcpy(&value, RTA_DATA(a), sizeof value);
	return value;
}

static struct link link_of(const struct nlmsghdr *message)
{
	const struct ifinfomsg *info = NLMSG_DATA(message);
	struct link link = {.index = (unsigned)info->ifi_index,
			    .type = info->ifi_type,
			    .loops = (info->ifi_flags & IFF_LOOPBACK) != 0};
	size_t length = IFLA_PAYLOAD(message);
	const struct rtattr *a;

	for (size_t at = 0; at + sizeof *a <= length; at += RTA_ALIGN(a->rta_len)) {
		a = (const void *)((const char *)IFLA_RTA(info) + at);
		if (a->rta_len < sizeof *a)
			break;
		if (a->rta_type == IFLA_MASTER)
			link.master = number(a);
		if (a->rta_type == IFLA_LINK)
			link.below = number(a);
		if (a->rta_type == IFLA_LINK_NETNSID)
			link.elsewhere = 1;
	}
	if (link.elsewhere)
		link.below = 0;
	return link;
}

static int add(struct links *all, struct link link)
{
	struct link *more = realloc(all->at, (all->n + 1) * sizeof *more);

	if (!more)
		return -ENOMEM;
	all->at = more;
	all->at[all->n++] = link;
	return 0;
}

/* 1: the last answer. */
static int take(struct links *all, const char *answer, size_t length)
{
	const struct nlmsghdr *m;
	int error = 0;

	for (size_t at = 0; at + sizeof *m <= length && !error; at += NLMSG_ALIGN(m->nlmsg_len)) {
		m = (const void *)(answer + at);
		if (m->nlmsg_type == NLMSG_DONE)
			return 1;
		if (m->nlmsg_type == NLMSG_ERROR || m->nlmsg_len < NLMSG_LENGTH(sizeof(struct ifinfomsg)))
			return -EIO;
		if (m->nlmsg_type == RTM_NEWLINK)
			error = add(all, link_of(m));
	}
	return error;
}

static int ask(struct links *all, int socket)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg info;
	} question = {.head = {.nlmsg_len = sizeof question,
			       .nlmsg_type = RTM_GETLINK,
			       .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP}};
	char *answer = malloc(ANSWER);
	int said = answer ? 0 : -ENOMEM;

	if (!said && send(socket, &question, sizeof question, 0) < 0)
		said = -errno;
	while (!said) {
		ssize_t length = recv(socket, answer, ANSWER, 0);

		said = length < 0 ? -errno : take(all, answer, (size_t)length);
	}
	free(answer);
	return said < 0 ? said : 0;
}

struct links *links_read(void)
{
	struct links *all = calloc(1, sizeof *all);
	int asked = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	int error = !all ? -ENOMEM : asked < 0 ? -errno : ask(all, asked);

	if (asked >= 0)
		close(asked);
	if (!error)
		return all;
	links_free(all);
	errno = -error;
	return NULL;
}

void links_free(struct links *links)
{
	if (links)
		free(links->at);
	free(links);
}

/* ------------------------------------------------------------------------- answers */

static const struct link *find(const struct links *links, unsigned index)
{
	for (unsigned i = 0; i < links->n; i++)
		if (links->at[i].index == index)
			return &links->at[i];
	return NULL;
}

int links_are_peers(const struct links *links, unsigned a, unsigned b)
{
	const struct link *x = find(links, a), *y = find(links, b);

	if (!x || !y)
		return 0;
	return a == b ? x->loops : x->below == b && y->below == a;
}

static int stands_on(const struct links *links, unsigned upper, unsigned lower, unsigned deep)
{
	const struct link *below = find(links, lower);

	if (!below || deep == DEEPEST)
		return 0;
	for (unsigned i = 0; i < links->n; i++) {
		unsigned above = links->at[i].index;
		int on = above == below->master ||
			 (links->at[i].below == lower && !links_are_peers(links, above, lower));

		if (on && above != lower && (above == upper || stands_on(links, upper, above, deep + 1)))
			return 1;
	}
	return 0;
}

int links_stand_on(const struct links *links, unsigned upper, unsigned lower)
{
	return stands_on(links, upper, lower, 0);
}

int links_are_ethernet(const struct links *links, unsigned index)
{
	const struct link *l = find(links, index);

	return !l || l->type == ARPHRD_ETHER || l->type == ARPHRD_LOOPBACK;
}
