/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several programs at one XDP hook, by libxdp's dispatcher.
 *
 *     hook --> dispatcher --> [ program of others ] --XDP_PASS--> [ ink_xdp ]
 *
 * The dispatcher calls programs that the kernel loads as extensions of it. So the program is loaded a second time,
 * for the same maps. Where the kernel refuses extensions, libxdp attaches a program alone without a word, by
 * netlink; that is undone, and a link does it better (hook.c). What netlink attached stays when the tool is killed, so
 * the pin that says so is there before.
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

enum { MAPS_MOST = 64 };

struct maps_of {
	uint32_t n, id[MAPS_MOST];
};

static struct maps_of maps_of(int program)
{
	struct maps_of m = {0};
	struct bpf_prog_info info = {.nr_map_ids = MAPS_MOST, .map_ids = (uintptr_t)m.id};
	uint32_t length = sizeof info;

	if (!bpf_obj_get_info_by_fd(program, &info, &length))
		m.n = info.nr_map_ids < MAPS_MOST ? info.nr_map_ids : MAPS_MOST;
	return m;
}

/* A set's programs share its maps, and nobody else has them. */
static int is_of_set(int program, int other)
{
	struct maps_of a = maps_of(program), b = maps_of(other);

	for (uint32_t i = 0; i < a.n; i++)
		for (uint32_t j = 0; j < b.n; j++)
			if (a.id[i] == b.id[j])
				return 1;
	return 0;
}

/* The set's program behind the dispatcher; or alone, where a tool was killed before it undid that. */
static struct xdp_program *find_program(const struct xdp_multiprog *all, int fd)
{
	struct xdp_program *p = NULL;

	if (xdp_multiprog__is_legacy(all)) {
		p = xdp_multiprog__main_prog(all);
		return p && is_of_set(xdp_program__fd(p), fd) ? p : NULL;
	}
	while ((p = xdp_multiprog__next_prog(p, all)))
		if (is_of_set(xdp_program__fd(p), fd))
			return p;
	return NULL;
}

void ink_kernel_undispatch(unsigned interface, int fd)
{
	libxdp_print_fn_t before = libxdp_set_print(quiet);
	struct xdp_multiprog *all = programs_at(interface);
	struct xdp_program *p = all ? find_program(all, fd) : NULL;

	if (p)
		xdp_program__detach(p, (int)interface, xdp_multiprog__attach_mode(all), 0);
	xdp_multiprog__close(all);
	libxdp_set_print(before);
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
