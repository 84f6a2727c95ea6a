/* SPDX-License-Identifier: BSD-2-Clause */
/* What the machine that runs the tests lacks. A test that needs it is skipped, and says why. */
#ifndef INKLING_TESTS_PLATFORM_H
#define INKLING_TESTS_PLATFORM_H

#include <stdio.h>
#include <stdlib.h>

/* Snapshots are little endian; elsewhere the library refuses to save and to load. */
static inline int snapshots_refused(void)
{
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		return 0;
	puts("skipped: snapshots are little endian, and this machine is not");
	return 1;
}

/* qemu-user (scripts/test-cross) does not emulate everything that the kernel does. */
static inline int not_emulated(const char *service)
{
	if (!getenv("INK_EMULATED"))
		return 0;
	printf("skipped: the emulator has no %s\n", service);
	return 1;
}

/* The tool, for tests that run it; NULL: it is not there, or only the emulator could run it. */
static inline const char *tool_path(void)
{
	return getenv("INK_EMULATED") ? NULL : getenv("INKLING");
}

/* In a cmocka test: ends it. */
#define SKIP_IF(lacking)        \
	do {                    \
		if (lacking)    \
			skip(); \
	} while (0)
#define SKIP_WITHOUT_SNAPSHOTS() SKIP_IF(snapshots_refused())

#endif
