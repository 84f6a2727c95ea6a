/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where packets come from: XDP, and tc ingress and egress of an interface.
 *
 *     XDP    libxdp's dispatcher, where the kernel takes it (dispatcher.c)
 *            or a link on a free hook: native, or generic where the driver has no XDP
 *     tc     a tcx link (Linux 6.6), behind the programs that are there
 *            a filter of a clsact qdisc, at a handle of its own
 *
 * Programs of others are never displaced: a link is refused by the kernel where the hook is taken, and a filter
 * gets a handle that is free. A link ends with its pin. A filter is taken away only if it still is our program.
 *
 * Debian's libbpf has no tcx, so its links are made by bpf(2) itself, with the numbers of the kernel's interface.
 */
#include "kernel/inside.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

/* --------------------------------------------------------------------- tcx */

enum { TCX_INGRESS = 46, TCX_EGRESS = 47 }; /* enum bpf_attach_type of Linux 6.6 */

/* union bpf_attr for BPF_LINK_CREATE, with the part for tcx. */
struct link_create {
	uint32_t program, interface, attach_type, flags;
	uint32_t relative, zero;
	uint64_t expected_revision;
};

static int tcx_link(int program, const struct ink_kernel_place *place)
{
	struct link_create attr = {.program = (uint32_t)program,
				   .interface = place->index,
				   .attach_type =
					   place->hook == INK_KERNEL_INGRESS ? TCX_INGRESS : TCX_EGRESS};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof attr);

	return fd < 0 ? -errno : (int)fd;
}

/* ------------------------------------------------------------------ clsact */

/* A priority and handle that others hardly choose: "ink". */
enum { PRIORITY = 0x696e, HANDLE = 0x6b };

/* libbpf refuses padding that is not 0. */
static void tc_hook(const struct ink_kernel_place *place, struct bpf_tc_hook *hook)
{
	memset(hook, 0, sizeof *hook);
	hook->sz = sizeof *hook;
	hook->ifindex = (int)place->index;
	hook->attach_point = place->hook == INK_KERNEL_INGRESS ? BPF_TC_INGRESS : BPF_TC_EGRESS;
}

static uint32_t program_id(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t length = sizeof info;

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &length) ? info.id : 0;
}

static int clsact_attach(int program, const struct ink_kernel_place *place)
{
	LIBBPF_OPTS(bpf_tc_opts, o, .handle = HANDLE, .priority = PRIORITY, .prog_fd = program);
	struct bpf_tc_hook hook;
	int error;

	tc_hook(place, &hook);
	error = bpf_tc_hook_create(&hook);
	if (error && error != -EEXIST)
		return error;
	return bpf_tc_attach(&hook, &o);
}

/* The qdisc stays: others may have filters there. */
static void clsact_detach(const struct ink_kernel_attached *a)
{
	LIBBPF_OPTS(bpf_tc_opts, there, .handle = HANDLE, .priority = PRIORITY);
	LIBBPF_OPTS(bpf_tc_opts, ours, .handle = HANDLE, .priority = PRIORITY);
	struct bpf_tc_hook hook;

	tc_hook(&a->place, &hook);
	if (!bpf_tc_query(&hook, &there) && there.prog_id && there.prog_id == program_id(a->fd))
		bpf_tc_detach(&hook, &ours);
}

/* --------------------------------------------------------------------- XDP */

static int xdp_link(int program, const struct ink_kernel_place *place, uint32_t flags)
{
	LIBBPF_OPTS(bpf_link_create_opts, o, .flags = flags);
	int fd = bpf_link_create(program, (int)place->index, BPF_XDP, &o);

	return fd < 0 ? -errno : fd;
}

/* Native, or generic where the driver has no XDP, or none for its present settings. */
static int xdp_attach(struct ink_kernel_attached *a, int program)
{
	int fd = xdp_link(program, &a->place, XDP_FLAGS_DRV_MODE);

	a->way = INK_WAY_LINK;
	if (fd != -EOPNOTSUPP && fd != -EINVAL)
		return fd;
	a->way = INK_WAY_GENERIC;
	return xdp_link(program, &a->place, XDP_FLAGS_SKB_MODE);
}

/* --------------------------------------------------------------------- any */

static int is_link(const struct ink_kernel_attached *a)
{
	return a->way == INK_WAY_LINK || a->way == INK_WAY_GENERIC;
}

static const char *const hook_names[INK_KERNEL_HOOKS] = {"XDP", "tc ingress", "tc egress"};

static int fail_to_attach(const struct ink_kernel_place *place, int error, struct ink_why *why)
{
	const char *name = place->interface, *hook = hook_names[place->hook];

	if (error == -EBUSY || error == -EEXIST)
		return ink_fail(why, error, "%s: %s has a program already, which stays", name, hook);
	if (error == -ENODEV)
		return ink_fail(why, error, "%s: there is no such interface", name);
	if (error == -EPERM || error == -EACCES)
		return ink_fail(why, error, "%s: %s: not allowed: CAP_BPF and CAP_NET_ADMIN are needed", name,
				hook);
	return ink_fail(why, error, "%s: %s: %s", name, hook, strerror(-error));
}

/*
 * What is no link stays when the tool is killed, so its pin comes first: then whoever detaches the set finds it.
 */
static int announce(struct ink_kernel *k, struct ink_kernel_attached *a, enum ink_kernel_way way,
		    struct ink_why *why)
{
	a->way = way;
	return k->pinned ? ink_kernel_pins_attached(k, a, k->program[a->place.hook], why) : 0;
}

static int attach_xdp(struct ink_kernel *k, struct ink_kernel_attached *a, struct ink_why *why)
{
	int error = announce(k, a, INK_WAY_DISPATCHER, why);

	if (error)
		return error;
	a->fd = ink_kernel_dispatch(k, a->place.index);
	if (a->fd < 0 && k->pinned)
		ink_kernel_pins_detached(k, a);
	if (a->fd != -EOPNOTSUPP)
		return a->fd;
	return a->fd = xdp_attach(a, k->program[INK_KERNEL_XDP]);
}

static int attach_filter(struct ink_kernel *k, struct ink_kernel_attached *a, struct ink_why *why)
{
	int error = announce(k, a, INK_WAY_CLSACT, why);

	if (!error)
		error = clsact_attach(k->program[a->place.hook], &a->place);
	return error ? error : dup(k->program[a->place.hook]);
}

/* Kernels without tcx do not know its numbers. */
static int attach_tc(struct ink_kernel *k, struct ink_kernel_attached *a, struct ink_why *why)
{
	a->way = INK_WAY_LINK;
	a->fd = tcx_link(k->program[a->place.hook], &a->place);
	return a->fd != -EINVAL ? a->fd : (a->fd = attach_filter(k, a, why));
}

static int attach_at(struct ink_kernel *k, struct ink_kernel_attached *a, struct ink_why *why)
{
	libbpf_print_fn_t before = libbpf_set_print(ink_kernel_hear);
	int fd = a->place.hook == INK_KERNEL_XDP ? attach_xdp(k, a, why) : attach_tc(k, a, why);

	libbpf_set_print(before);
	return fd;
}

int ink_kernel_attach(struct ink_kernel *k, const struct ink_kernel_place *place, struct ink_why *why)
{
	struct ink_kernel_attached *a = &k->attached[k->n_places];
	int fd;

	a->place = *place;
	if (!a->place.index)
		a->place.index = if_nametoindex(place->interface);
	if (!a->place.index)
		return fail_to_attach(place, -ENODEV, why);
	if (k->program[place->hook] < 0)
		return ink_fail(why, -ENOTSUP, "%s: no program for %s", place->interface,
				hook_names[place->hook]);
	fd = attach_at(k, a, why);
	if (fd < 0)
		return a->fd = -1, fail_to_attach(place, fd, why);
	k->n_places++;
	return k->pinned && is_link(a) ? ink_kernel_pins_attached(k, a, fd, why) : 0;
}

const char *ink_kernel_way(const struct ink_kernel *k, unsigned i)
{
	static const char *const names[INK_KERNEL_WAYS] = {[INK_WAY_CLSACT] = "clsact",
							   [INK_WAY_DISPATCHER] = "dispatcher",
							   [INK_WAY_GENERIC] = "generic"};
	const struct ink_kernel_attached *a = &k->attached[i < k->n_places ? i : 0];

	if (i >= k->n_places)
		return NULL;
	if (a->way == INK_WAY_LINK)
		return a->place.hook == INK_KERNEL_XDP ? "native" : "tcx";
	return names[a->way];
}

/* A link is taken away at once, whoever else has a descriptor of it. */
static void unhook(struct ink_kernel_attached *a)
{
	if (is_link(a) && a->fd >= 0)
		bpf_link_detach(a->fd);
	if (a->way == INK_WAY_CLSACT)
		clsact_detach(a);
	if (a->way == INK_WAY_DISPATCHER)
		ink_kernel_undispatch(a->place.index, a->fd);
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
}

void ink_kernel_unhook_all(struct ink_kernel *k)
{
	libbpf_print_fn_t before = libbpf_set_print(ink_kernel_hear);

	for (unsigned i = 0; i < k->n_places; i++)
		unhook(&k->attached[i]);
	k->n_places = 0;
	libbpf_set_print(before);
}
