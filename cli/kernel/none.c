/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of the kernel in a build that has no programs for it. */
#include "cli/kernel/commands.h"

static int none(const struct kernel_request *r)
{
	return cli_failed(
		"%s: this build has no programs for the kernel; build Inkling with clang and libbpf "
		"(meson setup -Dkernel=enabled says what is missing)",
		r->command->name);
}

int kernel_attach(const struct kernel_request *r)
{
	return none(r);
}

int kernel_detach(const struct kernel_request *r)
{
	return none(r);
}

int kernel_reload(const struct kernel_request *r)
{
	return none(r);
}

int kernel_status(const struct kernel_request *r)
{
	return none(r);
}

int kernel_reports(const struct kernel_request *r)
{
	return none(r);
}

int kernel_snapshot(const struct kernel_request *r)
{
	return none(r);
}
