/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A packet is stepped once, by the first hook that it passes. A later one learns that in one of two ways:
 *
 *     by metadata   from XDP to ingress of the same interface
 *     by the mark   from ingress or egress to ingress or egress of another interface
 *
 * XDP can neither read nor write skb->mark. So a packet that XDP of one interface has stepped is known on others
 * only if ingress of the first turns metadata into the mark.
 *
 * Which hooks can one packet pass?
 *
 *     forwarded     received by one interface, and sent by another
 *     stacked       received by a port and by its bridge; sent by a VLAN and by its device
 *     looped        sent, and received by the peer of a veth pair, or by lo
 */
#include "cli/kernel/places.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kernel/links.h"
#include "sim/text.h"

typedef const struct ink_kernel_place place;

/* ------------------------------------------------------------------- one packet, two hooks */

static int receives(place *p)
{
	return p->hook != INK_KERNEL_EGRESS;
}

/* From a to b, other than from XDP to ingress of one interface. */
static int can_pass(const struct links *links, place *a, place *b)
{
	if (receives(a) && !receives(b))
		return a->index != b->index;
	if (!receives(a) && receives(b))
		return links_are_peers(links, a->index, b->index);
	return receives(a) ? links_stand_on(links, b->index, a->index)
			   : links_stand_on(links, a->index, b->index);
}

static int has_ingress(const struct places *all, unsigned index)
{
	for (unsigned i = 0; i < all->n; i++)
		if (all->at[i].index == index && all->at[i].hook == INK_KERNEL_INGRESS)
			return 1;
	return 0;
}

static int refuse(place *a, place *b, const char *hint)
{
	return cli_failed("a packet can pass %s %s and then %s %s, and would be stepped twice; %s",
			  a->interface, hook_names[a->hook], b->interface, hook_names[b->hook], hint);
}

static int check_pass(const struct kernel_request *r, const struct places *all, place *a, place *b)
{
	if (b->hook == INK_KERNEL_XDP)
		return refuse(a, b, "XDP reads no mark that would tell it: use --at ingress in place of xdp");
	if (!r->mark_bit)
		return refuse(a, b, "--mark-bit N names a bit of skb->mark that tells it");
	if (a->hook == INK_KERNEL_XDP && !has_ingress(all, a->index))
		return refuse(
			a, b,
			"XDP sets no mark that would tell it: use --at ingress in place of xdp, or both");
	return CLI_DONE;
}

static int check_pairs(const struct kernel_request *r, const struct places *all, const struct links *links)
{
	int error = CLI_DONE;

	for (unsigned i = 0; i < all->n && !error; i++)
		for (unsigned j = 0; j < all->n && !error; j++)
			if (i != j && can_pass(links, &all->at[i], &all->at[j]))
				error = check_pass(r, all, &all->at[i], &all->at[j]);
	return error;
}

/* ------------------------------------------------------------------------------ reading */

static void add(struct places *to, const char *interface, unsigned index, unsigned hook)
{
	struct ink_kernel_place *p = &to->at[to->n++];

	*p = (struct ink_kernel_place){.index = index, .hook = (enum ink_kernel_hook)hook};
	strcpy(p->interface, interface);
}

static int add_interface(const char *interface, unsigned hooks, struct places *to)
{
	unsigned index = if_nametoindex(interface);
	char hint[CLI_HINT];

	if (!index)
		return cli_failed("%s: there is no such interface%s", interface,
				  cli_interface_hint(interface, hint));
	for (unsigned h = 0; h < HOOKS; h++)
		if (hooks & 1u << h)
			add(to, interface, index, h);
	return CLI_DONE;
}

/* The programs read frames; where packets begin with IP, they would take its header for that of a frame. */
static int check_headers(const struct places *all, const struct links *links)
{
	for (unsigned i = 0; i < all->n; i++)
		if (!links_are_ethernet(links, all->at[i].index))
			return cli_failed(
				"%s: its packets have no header of Ethernet, and only frames can be "
				"read in the kernel; attach to the device below it",
				all->at[i].interface);
	return CLI_DONE;
}

_Static_assert((int)INTERFACES_MOST *HOOKS <= INK_KERNEL_PLACES, "all hooks of all interfaces have room");
_Static_assert(AT_XDP == 1u << INK_KERNEL_XDP && AT_INGRESS == 1u << INK_KERNEL_INGRESS &&
		       AT_EGRESS == 1u << INK_KERNEL_EGRESS,
	       "hooks have the numbers of maps.h");

int places_of(const struct kernel_request *r, struct places *places)
{
	struct links *links;
	int error = CLI_DONE;

	places->n = 0;
	for (unsigned i = 0; i < r->interfaces.n && !error; i++)
		error = add_interface(r->interfaces.name[i], r->hooks, places);
	if (error)
		return error;
	links = links_read();
	if (!links)
		return cli_failed("the kernel does not say how interfaces are linked: %s", strerror(errno));
	error = check_headers(places, links);
	if (!error)
		error = check_pairs(r, places, links);
	links_free(links);
	return error;
}

void places_show(FILE *to, const struct places *places)
{
	for (unsigned i = 0; i < places->n; i++) {
		fputs(i ? ", " : "", to);
		sim_put_visible(places->at[i].interface, to);
		fprintf(to, " %s", hook_names[places->at[i].hook]);
	}
}
