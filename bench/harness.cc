/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/harness.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <set>
#include <sys/mman.h>
#include <system_error>
#include <utility>

namespace bench
{

const char *const op_names[OPS] = { "insert", "hit", "miss", "modify", "delete", "churn" };

uint64_t run(table &t, op o, const slice &s, const slice &born)
{
	switch (o) {
	case INSERT:
		return t.insert(s);
	case HIT:
		return t.hit(s);
	case MISS:
		return t.miss(s);
	case MODIFY:
		return t.modify(s);
	case DELETE:
		return t.erase(s);
	default:
		return t.churn(s, born);
	}
}

/* ----------------------------------------------------------------- flows */

constexpr uint64_t STRANGERS = UINT64_C(1) << 48; /* numbers that no live flow reaches */

/* SplitMix64 is a bijection: two flows never have the same id. */
static uint64_t mixed(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

void flows::buffer::resize(size_t n)
{
	keys.resize(n);
	ids.resize(n);
	states.resize(n);
}

void flows::buffer::put(size_t i, uint64_t flow, uint8_t state)
{
	keys[i] = { { mixed(2 * flow), mixed(2 * flow + 1) } };
	ids[i] = keys[i].word[0];
	states[i] = state;
}

const slice &flows::buffer::done(size_t n)
{
	view = { n, keys.data(), ids.data(), states.data() };
	return view;
}

uint8_t flows::any_state()
{
	return uint8_t((mixed(random++) >> 32) * n_states >> 32);
}

flows::flows(size_t n, uint64_t first_flow, walk w, unsigned states_of_a_flow)
    : live(n), states(n), order(n), next_flow(first_flow + n), next_stranger(first_flow + STRANGERS),
      random(~first_flow), n_states(states_of_a_flow)
{
	for (size_t i = 0; i < n; i++) {
		live[i] = first_flow + i;
		states[i] = any_state();
		order[i] = uint32_t(i);
	}
	for (size_t i = n; i > 1 && w == walk::shuffled; i--)
		std::swap(order[i - 1], order[mixed(random++) % i]);
}

void flows::skip(size_t n)
{
	cursor = (cursor + n) % live.size();
}

size_t flows::step()
{
	size_t slot = order[cursor];

	skip(1);
	return slot;
}

const slice &flows::fill(size_t from, size_t n)
{
	a.resize(n);
	for (size_t i = 0; i < n; i++)
		a.put(i, live[from + i], states[from + i]);
	return a.done(n);
}

const slice &flows::next(size_t n)
{
	a.resize(n);
	for (size_t i = 0; i < n; i++) {
		size_t slot = step();

		a.put(i, live[slot], states[slot]);
	}
	return a.done(n);
}

const slice &flows::strangers(size_t n)
{
	a.resize(n);
	for (size_t i = 0; i < n; i++)
		a.put(i, next_stranger++, 0);
	return a.done(n);
}

const slice &flows::changed(size_t n)
{
	a.resize(n);
	for (size_t i = 0; i < n; i++) {
		size_t slot = step();

		states[slot] = any_state();
		a.put(i, live[slot], states[slot]);
	}
	return a.done(n);
}

flows::change flows::churned(size_t n)
{
	a.resize(n);
	b.resize(n);
	for (size_t i = 0; i < n; i++) {
		size_t slot = step();

		a.put(i, live[slot], states[slot]);
		live[slot] = next_flow++;
		states[slot] = any_state();
		b.put(i, live[slot], states[slot]);
	}
	return { a.done(n), b.done(n) };
}

/* ------------------------------------------------------ time and samples */

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

double cpu_seconds()
{
	return seconds(CLOCK_THREAD_CPUTIME_ID);
}

double wall_seconds()
{
	return seconds(CLOCK_MONOTONIC);
}

double samples::quantile(double q) const
{
	std::vector<double> sorted = values;

	if (sorted.empty())
		return 0;
	std::sort(sorted.begin(), sorted.end());
	double place = q * double(sorted.size() - 1);
	size_t below = size_t(place), above = std::min(below + 1, sorted.size() - 1);

	return sorted[below] + (place - double(below)) * (sorted[above] - sorted[below]);
}

samples samples::over(const samples &those) const
{
	samples ratios;

	if (values.size() != those.values.size())
		die("%zu rounds beside %zu", values.size(), those.values.size());
	for (size_t i = 0; i < values.size(); i++)
		ratios.add(values[i] / those.values[i]);
	return ratios;
}

/* ----------------------------------------------------------------- cores */

own_core::own_core()
{
	CPU_ZERO(&before);
	pthread_getaffinity_np(pthread_self(), sizeof before, &before);
	send(pthread_self(), 0);
}

own_core::~own_core()
{
	pthread_setaffinity_np(pthread_self(), sizeof before, &before);
}

void own_core::send(pthread_t thread, unsigned number) const
{
	cpu_set_t one;

	CPU_ZERO(&one);
	for (unsigned core = 0; core < CPU_SETSIZE; core++)
		if (CPU_ISSET(core, &before) && number-- == 0) {
			CPU_SET(core, &one);
			pthread_setaffinity_np(thread, sizeof one, &one);
			return;
		}
}

/* ---------------------------------------------------------------- memory */

static size_t whole_pages(size_t bytes)
{
	return (bytes + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
}

void *huge_alloc(size_t bytes)
{
	size_t whole = whole_pages(bytes);
	void *memory =
		mmap(nullptr, whole + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		die("no memory for %zu bytes", bytes);
	uintptr_t start = uintptr_t(memory), aligned = whole_pages(start);

	if (aligned > start)
		munmap(memory, aligned - start);
	if (aligned < start + HUGE_PAGE)
		munmap((void *)(aligned + whole), start + HUGE_PAGE - aligned);
	memory = (void *)aligned;
	madvise(memory, whole, MADV_HUGEPAGE);
	memset(memory, 0, whole);
	return memory;
}

void huge_free(void *memory, size_t bytes)
{
	munmap(memory, whole_pages(bytes));
}

uint64_t bytes_in_huge_pages()
{
	FILE *file = fopen("/proc/self/smaps_rollup", "r");
	unsigned long kilobytes = 0;
	char line[200];

	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "AnonHugePages: %lu", &kilobytes) == 1)
			break;
	if (file)
		fclose(file);
	return uint64_t(kilobytes) << 10;
}

/* ------------------------------------------------------- temporary files */

namespace
{

void remove_folder(const std::string &path)
{
	std::error_code ignored;

	std::filesystem::remove_all(path, ignored);
}

/* The existing folders. exit() destroys this object, but not those on the stack. */
struct folders {
	~folders()
	{
		for (const std::string &path : paths)
			remove_folder(path);
	}
	std::set<std::string> paths;
} present;

} /* namespace */

scratch::scratch()
{
	const char *parent = getenv("TMPDIR");

	folder = std::string(parent && *parent ? parent : "/tmp") + "/ink-bench-XXXXXX";
	if (!mkdtemp(folder.data()))
		die("%s: %s", folder.c_str(), strerror(errno));
	present.paths.insert(folder);
}

scratch::~scratch()
{
	remove_folder(folder);
	present.paths.erase(folder);
}

/* --------------------------------------------------------------- the end */

void die(const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	fputs("ink-bench: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

} /* namespace bench */
