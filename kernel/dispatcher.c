/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several programs at one XDP hook, by libxdp's dispatcher.
 *
 *     hook --> dispatcher --> [ program of others ] --XDP_PASS--> [ ink_xdp ]
 *
 * The dispatcher calls programs that the kernel loads as extensions of it. So the program is loaded a second time,
 * for the same maps. Where the kernel refuses extensions, libxdp attaches a program alone without a word, by
 * netlink; that is undone, and a link does it better (hook.c).
 */
#include "kernel/inside.h"

#include <errno.h>

#ifdef INK_HAVE_LIBXDP

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <string.h>
#include <unistd.h>
#include <xdp/libxdp.h>

/* ----------------------------------------------------------- what is there */

static int quiet(enum libxdp_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* The programs of a hook; NULL: none. */
static struct xdp_multiprog *programs_at(unsigned interface)
{
	struct xdp_multiprog *all = xdp_multiprog__get_from_ifindex((int)interface);

	return libxdp_get_error(all) ? NULL : all;
}

static enum xdp_attach_mode mode_at(unsigned interface)
{
	struct xdp_multiprog *all = programs_at(interface);
	enum xdp_attach_mode mode = all ? xdp_multiprog__attach_mode(all) : XDP_MODE_UNSPEC;

	xdp_multiprog__close(all);
	return mode;
}

/* 1: a dispatcher; 0: the hook is free; -EBUSY: a program that is alone there. */
static int state_of(unsigned interface)
{
	struct xdp_multiprog *all = programs_at(interface);
	int state = !all ? 0 : xdp_multiprog__is_legacy(all) ? -EBUSY : 1;

	xdp_multiprog__close(all);
	return state;
}

/* --------------------------------------------------------------- attaching */

static int reuse_maps(struct bpf_object *o, const struct bpf_object *loaded)
{
	struct bpf_map *map;
	int error = 0;

	bpf_object__for_each_map(map, o)
	{
		struct bpf_map *there = bpf_object__find_map_by_name(loaded, bpf_map__name(map));

		if (there && !error)
			error = bpf_map__reuse_fd(map, bpf_map__fd(there));
	}
	return error;
}

/* The object once more, for this program alone. */
static struct bpf_object *again(const struct ink_kernel *k)
{
	LIBBPF_OPTS(bpf_object_open_opts, open, .object_name = "inkling");
	struct bpf_object *o = bpf_object__open_mem(ink_kernel_object, ink_kernel_object_bytes, &open);
	struct bpf_program *p;

	if (!o)
		return NULL;
	bpf_object__for_each_program(p, o) bpf_program__set_autoload(
		p, !strcmp(bpf_program__name(p), ink_kernel_program_names[INK_KERNEL_XDP]));
	if (k->object && !reuse_maps(o, k->object))
		return o;
	bpf_object__close(o);
	return NULL;
}

/* In the mode of the dispatcher that is there, or native, or else generic. */
static int attach(struct xdp_program *p, unsigned interface)
{
	enum xdp_attach_mode mode = mode_at(interface);
	int error;

	if (mode != XDP_MODE_UNSPEC)
		return xdp_program__attach(p, (int)interface, mode, 0);
	error = xdp_program__attach(p, (int)interface, XDP_MODE_NATIVE, 0);
	return error == -EOPNOTSUPP ? xdp_program__attach(p, (int)interface, XDP_MODE_SKB, 0) : error;
}

/* Attached alone, it does not let others in: that is for a link. */
static int attach_shared(struct xdp_program *p, unsigned interface)
{
	int error = attach(p, interface);

	if (error || state_of(interface) == 1)
		return error ? error : dup(xdp_program__fd(p));
	xdp_program__detach(p, (int)interface, mode_at(interface), 0);
	return -EOPNOTSUPP;
}

static int dispatch(const struct ink_kernel *k, unsigned interface)
{
	struct bpf_object *o = again(k);
	DECLARE_LIBXDP_OPTS(xdp_program_opts, opts, .obj = o,
			    .prog_name = ink_kernel_program_names[INK_KERNEL_XDP]);
	struct xdp_program *p = o ? xdp_program__create(&opts) : NULL;
	int fd;

	if (!p || libxdp_get_error(p))
		return bpf_object__close(o), -EOPNOTSUPP;
	fd = attach_shared(p, interface);
	xdp_program__close(p);
	bpf_object__close(o);
	return fd;
}

int ink_kernel_dispatch(const struct ink_kernel *k, unsigned interface)
{
	libxdp_print_fn_t before = libxdp_set_print(quiet);
	int state = state_of(interface), fd = state < 0 ? state : dispatch(k, interface);

	libxdp_set_print(before);
	return fd < 0 && state == 0 ? -EOPNOTSUPP : fd;
}

/* --------------------------------------------------------------- detaching */

static uint32_t id_of(int fd)
{
	struct bpf_prog_info info = {0};
	uint32_t length = sizeof info;

	return bpf_obj_get_info_by_fd(fd, &info, &length) ? 0 : info.id;
}

void ink_kernel_undispatch(unsigned interface, int fd)
{
	struct xdp_multiprog *all = programs_at(interface);
	struct xdp_program *p = NULL;
	uint32_t id = id_of(fd);

	while (all && id && (p = xdp_multiprog__next_prog(p, all)))
		if (xdp_program__id(p) == id) {
			xdp_program__detach(p, (int)interface, xdp_multiprog__attach_mode(all), 0);
			break;
		}
	xdp_multiprog__close(all);
}

#else

int ink_kernel_dispatch(const struct ink_kernel *k, unsigned interface)
{
	(void)k;
	(void)interface;
	return -EOPNOTSUPP;
}

void ink_kernel_undispatch(unsigned interface, int fd)
{
	(void)interface;
	(void)fd;
}

#endif
