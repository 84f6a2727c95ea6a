/* SPDX-License-Identifier: BSD-2-Clause */
/* What the machine that runs the tests lacks. A test that needs it is skipped with a line "skipped: REASON". */
#ifndef INKLING_TESTS_PLATFORM_H
#define INKLING_TESTS_PLATFORM_H

#include <stdio.h>
#include <stdlib.h>

static inline int skipped_because(const char *reason)
{
	printf("skipped: %s\n", reason);
	return 1;
}

/* Ends a cmocka test. */
#define SKIP(reason)                                                                                         \
	do {                                                                                                 \
		skipped_because(reason);                                                                     \
		skip();                                                                                      \
	} while (0)

/* Snapshots are little endian; elsewhere the library refuses to save and to load. */
enum { HAS_SNAPSHOTS = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ };

static inline int snapshots_refused(void)
{
	return !HAS_SNAPSHOTS && skipped_because("snapshots are little endian, and this machine is not");
}

#define SKIP_WITHOUT_SNAPSHOTS()                                                                             \
	do {                                                                                                 \
		if (snapshots_refused())                                                                     \
			skip();                                                                              \
	} while (0)

/* The command under which programs of this machine run, if it is emulated (scripts/test-cross); else NULL. */
static inline const char *emulator(void)
{
	return getenv("INK_EMULATOR");
}

/*
 * What qemu-user 7.2 lacks. libpcap asks every interface for its kinds of timestamps (SIOCETHTOOL). posix_spawn has
 * its child store the error of exec in the parent's memory, but under qemu the child has only a copy of it.
 */
static inline int cannot_capture(void)
{
	return emulator() && skipped_because("qemu-user has no SIOCETHTOOL, so libpcap opens no interface");
}

static inline int cannot_report_exec(void)
{
	return emulator() && skipped_because("in qemu-user posix_spawn does not report that exec failed");
}

#endif
