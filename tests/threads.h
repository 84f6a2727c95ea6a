/* SPDX-License-Identifier: BSD-2-Clause */
/* For tests with threads: a crew that meets, complaints of any thread, and what a test has made, which its teardown frees. */
#ifndef INKLING_TESTS_THREADS_H
#define INKLING_TESTS_THREADS_H

#include <pthread.h>
#include <sched.h>

#include "base/cpu.h"
#include "tests/platform.h"
#include "tests/table.h"

/* ---------------------------------------------------------------- threads */

/*
 * cmocka's checks jump, which only the main thread may. The others leave a
 * note here, the first one counts, and all stop.
 */
static struct {
	int noted;
	char text[160];
} failure;

__attribute__((format(printf, 1, 2))) static inline void complain(const char *format, ...)
{
	va_list arguments;

	if (__atomic_exchange_n(&failure.noted, 1, __ATOMIC_RELAXED))
		return;
	va_start(arguments, format);
	vsnprintf(failure.text, sizeof failure.text, format, arguments);
	va_end(arguments);
}

static inline int has_failed(void)
{
	return __atomic_load_n(&failure.noted, __ATOMIC_RELAXED);
}

static inline void assert_no_failure(void)
{
	if (has_failed())
		fail_msg("%s", failure.text);
}

/* The threads of a test, where they meet, and whether those that have no end of their own are to end. */
static struct {
	pthread_t threads[8];
	size_t n;
	pthread_barrier_t meet;
	int over;
} crew;

static inline int goes_on(void)
{
	return !__atomic_load_n(&crew.over, __ATOMIC_ACQUIRE) && !has_failed();
}

static inline void end_all(void)
{
	__atomic_store_n(&crew.over, 1, __ATOMIC_RELEASE);
}

static inline void meet(void)
{
	pthread_barrier_wait(&crew.meet);
}

/* So many threads meet each time. */
static inline void crew_new(unsigned meeting)
{
	crew.n = 0;
	crew.over = 0;
	assert_int_equal(pthread_barrier_init(&crew.meet, NULL, meeting), 0);
}

static inline void crew_add(void *(*work)(void *), void *with)
{
	assert_true(crew.n < sizeof crew.threads / sizeof crew.threads[0]);
	assert_int_equal(pthread_create(&crew.threads[crew.n++], NULL, work, with), 0);
}

/* Waits for those that came after the first `endless`; these are ended then. */
static inline void crew_wait(size_t endless)
{
	while (crew.n > endless)
		assert_int_equal(pthread_join(crew.threads[--crew.n], NULL), 0);
	end_all();
	while (crew.n)
		assert_int_equal(pthread_join(crew.threads[--crew.n], NULL), 0);
	pthread_barrier_destroy(&crew.meet);
	assert_no_failure();
}

/* ----------------------------------------------------------------- tables */

/* The best are AVX2; not under ThreadSanitizer, see cpu.c. */
static inline void skip_without(enum ink_simd simd)
{
	if (!ink_cpu_has(simd) || (simd == INK_SIMD_BEST && ink_cpu_best() == INK_SIMD_NONE))
		SKIP("there are only the portable instructions");
}

/* What a test has allocated and made; its teardown frees it. */
static void *kept[2 * 8];
static size_t things_kept;
static struct ink_table *table;

static inline void *keep_new(size_t n, size_t size)
{
	void *new = calloc(n ? n : 1, size);

	assert_non_null(new);
	assert_true(things_kept < sizeof kept / sizeof kept[0]);
	return kept[things_kept++] = new;
}

static inline int no_failure_yet(void **state)
{
	memset(&failure, 0, sizeof failure);
	return 0;
}

static inline int free_all(void **state)
{
	while (things_kept)
		free(kept[--things_kept]);
	ink_free(table);
	table = NULL;
	return 0;
}

/* ------------------------------------------------------------------ cases */

/* A test with one row, which is its state. */
/* clang-format off */
#define CASE(test, about, of, ...) {#test ": " about, test, no_failure_yet, free_all, &(struct of){__VA_ARGS__}}
/* clang-format on */

#define ALONE(test) cmocka_unit_test_setup_teardown(test, no_failure_yet, free_all)

#endif
