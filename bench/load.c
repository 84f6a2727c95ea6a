/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ink-load LIBRARY.so...: how long does it take to load a snapshot of 16M flows?
 *
 * Every kind, from the page cache, with each library in turns, ROUNDS times; the
 * smallest processor time counts. The first library makes the snapshots: of 16M
 * flows in `line` and `compact`, of 1M in the other kinds. "checked" is ink_load;
 * "trusted" is INK_TRUST_CHECKSUM, where a library has it.
 *
 * Result, beside the library of 286b705: `line` checked in 224 ms (was 2403) and
 * trusted in 12 ms, `compact` checked in 341 ms (was 931) and trusted in 14 ms. The
 * other kinds take as long as before; they check every cell in either case.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <inkling/inkling.h>

enum { MOST = 4, ROUNDS = 3, CHUNK = 1000 };

/* The calls of one library. */
struct library {
	const char *path;
	struct ink_table *(*create)(const struct ink_options *, struct ink_why *);
	int (*insert_batch)(struct ink_table *, const struct ink_batch *);
	int (*save)(const struct ink_table *, const char *, struct ink_why *);
	void (*free)(struct ink_table *);
	struct ink_table *(*load)(const char *, enum ink_load, struct ink_why *);
	struct ink_table *(*load_with)(const char *, const struct ink_load_options *, struct ink_why *);
};

static struct library open_library(const char *path)
{
	void *at = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	struct library l = { .path = path };

	if (!at) {
		fprintf(stderr, "ink-load: %s\n", dlerror());
		exit(1);
	}
	*(void **)&l.create = dlsym(at, "ink_create");
	*(void **)&l.insert_batch = dlsym(at, "ink_insert_batch");
	*(void **)&l.save = dlsym(at, "ink_save");
	*(void **)&l.free = dlsym(at, "ink_free");
	*(void **)&l.load = dlsym(at, "ink_load");
	*(void **)&l.load_with = dlsym(at, "ink_load_with");
	return l;
}

static uint64_t id_number(uint64_t i)
{
	uint64_t x = (i + 1) * 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static void fill(const struct library *l, struct ink_table *t, uint64_t flows)
{
	uint64_t ids[CHUNK];
	uint8_t states[CHUNK];
	struct ink_batch b = { .n = CHUNK, .ids = ids, .states = states };

	for (uint64_t done = 0; done < flows; done += CHUNK) {
		for (unsigned i = 0; i < CHUNK; i++) {
			ids[i] = id_number(done + i);
			states[i] = (uint8_t)(i % 5);
		}
		l->insert_batch(t, &b);
	}
}

/* A snapshot of each kind. */
static const struct row {
	enum ink_kind kind;
	const char *name;
	unsigned share; /* of the flows: one in so many */
	unsigned age_bits;
	double error;
} rows[] = {
	{ INK_LINE, "line", 1, 1, 0 },          { INK_COMPACT, "compact", 1, 1, 0 },
	{ INK_DLEFT, "dleft", 16, 1, 0 },       { INK_EXACT, "exact", 16, 1, 0 },
	{ INK_STATEFUL, "stateful", 16, 1, 0 }, { INK_DIRECT, "direct", 16, 1, 0 },
	{ INK_KBF, "kbf", 16, 0, .01 },
};

static void make_snapshot(const struct library *l, const struct row *r, uint64_t flows, const char *path)
{
	struct ink_options o = { .size = offsetof(struct ink_options, allocator),
				 .kind = r->kind,
				 .states = 5,
				 .flows = flows,
				 .age_bits = r->age_bits,
				 .error = r->error,
				 .seed = 1 };
	struct ink_why why = { "" };
	struct ink_table *t = l->create(&o, &why);

	if (t)
		fill(l, t, flows);
	if (!t || l->save(t, path, &why)) {
		fprintf(stderr, "ink-load: %s\n", why.text);
		exit(1);
	}
	l->free(t);
}

/* Processor time, which others on the machine do not change. */
static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double load(const struct library *l, const char *path, int trusted)
{
	const struct ink_load_options o = { .size = sizeof o, .trust = INK_TRUST_CHECKSUM };
	double begin = now();
	struct ink_table *t = trusted ? l->load_with(path, &o, NULL) : l->load(path, INK_LOAD_READ, NULL);
	double end = now();

	if (!t)
		abort();
	l->free(t);
	return end - begin;
}

static void measure(const struct library *all, unsigned n, const char *name, const char *path)
{
	double least[MOST][2];

	for (unsigned i = 0; i < 2 * n; i++)
		least[i / 2][i % 2] = 1e9;
	for (unsigned round = 0; round < ROUNDS; round++)
		for (unsigned i = 0; i < 2 * n; i++)
			if (i % 2 == 0 || all[i / 2].load_with) {
				double seconds = load(&all[i / 2], path, i % 2);

				if (seconds < least[i / 2][i % 2])
					least[i / 2][i % 2] = seconds;
			}
	for (unsigned i = 0; i < 2 * n; i++)
		if (least[i / 2][i % 2] < 1e9)
			printf("%-9s %-8s %8.1f ms  %s\n", name, i % 2 ? "trusted" : "checked",
			       1e3 * least[i / 2][i % 2], all[i / 2].path);
}

int main(int argc, char **argv)
{
	struct library all[MOST];
	unsigned n = (unsigned)argc - 1;
	const char *folder = getenv("TMPDIR"), *flows = getenv("FLOWS");
	char path[4096];

	if (argc < 2 || n > MOST)
		return fputs("usage: ink-load LIBRARY.so...\n", stderr), 2;
	for (unsigned i = 0; i < n; i++)
		all[i] = open_library(argv[i + 1]);
	snprintf(path, sizeof path, "%s/ink-load-%ld", folder ? folder : "/tmp", (long)getpid());
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t count = flows ? strtoull(flows, NULL, 10) : 16000000;

		make_snapshot(&all[0], &rows[i], count / rows[i].share, path);
		measure(all, n, rows[i].name, path);
	}
	return unlink(path);
}
