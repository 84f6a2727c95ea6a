/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Files of tables: what is refused as none, saves that fail and leave the old file,
 * saves at the same time, and what a loaded table does about rules and time.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/snapshot.h"

/* ------------------------------------------------------------ rules, ticks, time */

static struct ink_table *plain_table(void)
{
	struct ink_options o = {.kind = INK_LINE, .states = 15, .age_bits = 1, .flows = 2000};
	struct ink_table *t = create(o);

	for (uint64_t n = 0; n < 2000; n++)
		ink_insert(t, id_number(n), (unsigned)(n % 15));
	return t;
}

TEST_THAT(a_table_that_had_rules_waits_for_them)
{
	struct ink_table *t = plain_table(), *u;
	struct ink_move move;

	give_rules(t, 15);
	save(t, path_of("rules"));
	u = load(path_of("rules"), INK_LOAD_READ);
	assert_int_equal(ink_step(u, id_number(1), 0, &move), -EINVAL);
	assert_int_equal(ink_tick(u, 5, NULL), -EINVAL);
	assert_int_equal(ink_tick_portion(u, 5, 100, NULL), -EINVAL);
	assert_int_equal(ink_lookup(u, id_number(1)), 1);
	save(u, path_of("rules again")); /* it had rules, and still has had them */
	assert_same_files(path_of("rules"), path_of("rules again"));
	give_rules(u, 15);
	assert_int_equal(ink_step(u, id_number(1), 0, &move), 0);
	assert_int_equal(ink_tick(u, 5, NULL), 0);
}

TEST_THAT(a_table_without_rules_ticks_at_once)
{
	struct ink_table *t = plain_table(), *u;
	struct ink_counts expired;

	assert_int_equal(ink_tick(t, 1, NULL), 0);
	save(t, path_of("time"));
	u = load(path_of("time"), INK_LOAD_MAP);
	assert_int_equal(ink_tick(u, 0, NULL), -EINVAL);
	assert_int_equal(ink_tick(u, 2, &expired), 0);
	assert_int_equal(expired.total, 2000);
}

/* Overflow flags are in the file; that some are set is not, and a tick must clear them all the same. */
TEST_THAT(doubts_end_with_the_next_tick)
{
	struct ink_options o = {
		.kind = INK_LINE, .states = 15, .geometry = {.b = 3, .h = 24, .side = INK_NO_SIDE}};
	struct ink_table *t = create(o), *u;

	for (uint64_t n = 0; n < 1000; n++)
		ink_insert(t, id_number(n), 3);
	save(t, path_of("doubts"));
	u = load(path_of("doubts"), INK_LOAD_READ);
	assert_int_equal(ink_lookup(u, id_number(999)), INK_DONT_KNOW);
	assert_int_equal(ink_tick(u, 1, NULL), 0);
	assert_int_equal(ink_lookup(u, id_number(999)), INK_ABSENT);
}

/* -------------------------------------------------------------- what is no snapshot */

TEST_THAT(what_is_no_snapshot_is_refused)
{
	static const struct {
		size_t size;
		int byte;
		const char *word;
	} files[] = {{0, 0, "too short"}, {47, 'x', "too short"}, {8192, 'x', "magic"}, {8192, 0, "magic"}};

	for (unsigned n = 0; n < COUNT(files); n++) {
		struct image *i = image_new(files[n].size);

		memset(i->bytes, files[n].byte, i->size);
		assert_image_refused(i, files[n].word);
	}
	assert_refused(path_of("nothing there"), ENOENT, "cannot open");
	assert_refused(scratch, EISDIR, "directory");
	assert_refused("/dev/zero", EBADMSG, "regular");
	assert_refused("/dev/null", EBADMSG, "regular");
	assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
	assert_refused(path_of("pipe"), EBADMSG, "regular"); /* without waiting for a writer */
	unlink(path_of("pipe"));
}

TEST_THAT(an_unknown_way_of_loading_is_refused)
{
	struct ink_table *t = plain_table();
	struct ink_why why = {""};

	save(t, path_of("way"));
	assert_null(ink_load(path_of("way"), (enum ink_load)2, &why));
	assert_int_equal(errno, EINVAL);
	assert_non_null(strstr(why.text, "way"));
}

TEST_THAT(a_long_path_is_cut_and_the_reason_stays)
{
	char name[256];
	struct ink_why why = {""};

	memset(name, 'n', 250);
	strcpy(name + 250, "-end");
	assert_null(ink_load(path_of(name), INK_LOAD_READ, &why));
	assert_non_null(strstr(why.text, "-end: cannot open it: No such file"));
}

/* ------------------------------------------------------------- saves that fail */

static void assert_save_fails(const struct ink_table *t, const char *path, int error, const char *word)
{
	struct ink_why why = {""};

	assert_int_equal(ink_save(t, path, &why), error);
	if (!strstr(why.text, word))
		fail_msg("\"%s\" lacks \"%s\"", why.text, word);
	assert_int_equal(ink_save(t, path, NULL), error);
}

TEST_THAT(a_save_goes_only_where_a_file_can_be)
{
	static const struct {
		const char *path;
		int error;
		const char *word;
	} bad[] = {
		{"missing/file", -ENOENT, "directory"}, {"pipe/file", -ENOTDIR, "directory"},
		{"directory", -EISDIR, "directory"},    {"directory/", -EISDIR, "directory"},
		{"directory/..", -EISDIR, "directory"}, {"pipe", -EEXIST, "regular"},
	};
	struct ink_table *t = plain_table();
	size_t files;

	assert_int_equal(mkdir(path_of("directory"), 0700), 0);
	assert_int_equal(mkfifo(path_of("pipe"), 0600), 0);
	files = scratch_count();
	for (unsigned n = 0; n < COUNT(bad); n++)
		assert_save_fails(t, path_of(bad[n].path), bad[n].error, bad[n].word);
	assert_int_equal(scratch_count(), files);
	unlink(path_of("pipe"));
	rmdir(path_of("directory"));
}

TEST_THAT(a_file_has_mode_0600)
{
	struct ink_table *t = plain_table();
	struct stat s;
	mode_t mask = umask(0);

	save(t, path_of("mode"));
	umask(mask);
	assert_int_equal(stat(path_of("mode"), &s), 0);
	assert_int_equal(s.st_mode & 07777, 0600);
	assert_int_equal(chmod(path_of("mode"), 0644), 0);
	save(t, path_of("mode"));
	assert_int_equal(stat(path_of("mode"), &s), 0);
	assert_int_equal(s.st_mode & 07777, 0600);
}

TEST_THAT(a_relative_path_is_one_in_the_working_directory)
{
	struct ink_table *t = plain_table();
	char before[4096];

	assert_non_null(getcwd(before, sizeof before));
	assert_int_equal(chdir(scratch), 0);
	save(t, "relative");
	load("relative", INK_LOAD_READ);
	assert_int_equal(chdir(before), 0);
	assert_int_equal(access(path_of("relative"), F_OK), 0);
}

/*
 * What follows changes limits, users and mounts, so it happens in a child. It
 * has saved `old` to `path`; `hinder` makes another save fail, and then the
 * old file must be there unchanged and nothing beside it. The child's exit
 * code tells: 0 all is well, 77 it could not be tried, else the line.
 */
#define OR_ELSE(condition)                                                                                   \
	do                                                                                                   \
		if (!(condition))                                                                            \
			_exit(__LINE__ % 256 ? __LINE__ % 256 : 1);                                          \
	while (0)

/* The save fails, and the file stays as it was. */
static void fails_and_leaves_the_old(const struct ink_table *t, const char *path, int error, const char *word)
{
	struct ink_why why = {""};
	struct image *before = image_at(path);

	OR_ELSE(ink_save(t, path, &why) == error);
	OR_ELSE(strstr(why.text, word) && strstr(why.text, strrchr(path, '/')));
	OR_ELSE(image_equal(before, image_at(path)));
	OR_ELSE(files_in(path_of("child")) == 1);
}

static void under_a_file_size_limit(const struct ink_table *t, const char *path)
{
	struct rlimit limit = {6000, 6000};

	OR_ELSE(ink_save(t, path, NULL) == 0);
	OR_ELSE(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && setrlimit(RLIMIT_FSIZE, &limit) == 0);
	fails_and_leaves_the_old(t, path, -EFBIG, "cannot write");
}

/* A file system of five pages: the first snapshot fits, a second beside it does not. */
static void on_a_full_disk(const struct ink_table *t, const char *path)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", path_of("child"), "tmpfs", 0, "size=20k"))
		_exit(77);
	OR_ELSE(ink_save(t, path, NULL) == 0);
	fails_and_leaves_the_old(t, path, -ENOSPC, "cannot write");
}

static void in_an_unwritable_directory(const struct ink_table *t, const char *path)
{
	OR_ELSE(ink_save(t, path, NULL) == 0);
	OR_ELSE(chmod(path_of("child"), 0555) == 0 && chmod(path, 0644) == 0);
	OR_ELSE(chmod(scratch, 0755) == 0);
	if (geteuid() == 0)
		OR_ELSE(seteuid(65534) == 0);
	if (eaccess(path, R_OK)) /* user 65534 cannot enter $TMPDIR */
		_exit(77);
	fails_and_leaves_the_old(t, path, -EACCES, "cannot create");
}

static struct hindrance {
	const char *name;
	void (*save)(const struct ink_table *t, const char *path);
} hindrances[] = {
	{"a_save_that_meets_a_limit_leaves_the_old_file", under_a_file_size_limit},
	{"a_save_to_a_full_disk_leaves_the_old_file", on_a_full_disk},
	{"a_save_into_an_unwritable_directory_leaves_the_old_file", in_an_unwritable_directory},
};

static void a_save_that_is_hindered_leaves_the_old_file(void **state)
{
	const struct hindrance *hindrance = *state;
	struct ink_table *t = plain_table();
	pid_t child;
	int status;

	assert_int_equal(mkdir(path_of("child"), 0700), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		hindrance->save(t, path_of("child/file"));
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	chmod(path_of("child"), 0700); /* a test may have made it unwritable */
	unlink(path_of("child/file"));
	rmdir(path_of("child"));
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		SKIP("what hinders it cannot be set up here");
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* -------------------------------------------------------------- many at a time */

enum { SAVERS = 4 };

struct saver {
	pthread_t thread;
	struct ink_table *table;
	const char *path;
	size_t rounds;
	int error;
};

static void *save_often(void *of)
{
	struct saver *s = of;

	for (size_t i = 0; i < s->rounds && !s->error; i++)
		s->error = ink_save(s->table, s->path, NULL);
	return NULL;
}

static void start_saver(struct saver *s, const char *path, unsigned states)
{
	struct ink_options o = {.states = states, .flows = 1000 * states};

	*s = (struct saver){.table = create(o), .path = path, .rounds = scaled(100)};
	assert_int_equal(ink_save(s->table, path, NULL), 0);
	assert_int_equal(pthread_create(&s->thread, NULL, save_often, s), 0);
}

static void stop_saver(struct saver *s)
{
	pthread_join(s->thread, NULL);
	assert_int_equal(s->error, 0);
}

TEST_THAT(saves_at_the_same_time_leave_one_whole_file)
{
	size_t files = scratch_count();
	const char *path = path_of("shared");
	struct saver savers[SAVERS];

	for (unsigned i = 0; i < SAVERS; i++)
		start_saver(&savers[i], path, 2 + i);
	for (size_t i = 0; i < scaled(300); i++) {
		struct ink_table *t = ink_load(path, i % 2 ? INK_LOAD_READ : INK_LOAD_MAP, NULL);

		assert_non_null(t);
		ink_free(t);
	}
	for (unsigned i = 0; i < SAVERS; i++)
		stop_saver(&savers[i]);
	load(path, INK_LOAD_READ);
	assert_int_equal(scratch_count(), files + 1);
}

struct changer {
	pthread_t thread;
	const char *path;
	struct image *image;
	int stop;
};

/* What no program should do: writes to a file that others are reading. */
static void *change_in_place(void *of)
{
	struct changer *c = of;
	int fd = open(c->path, O_WRONLY | O_CLOEXEC);

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		if (pwrite(fd, c->image->bytes, c->image->size, 0) < 0 || ftruncate(fd, 4096 + 8192) < 0)
			break;
	}
	close(fd);
	return NULL;
}

TEST_THAT(a_file_that_shrinks_while_it_is_read_is_refused)
{
	struct ink_options o = {.states = 15, .flows = 300000};
	struct changer c = {.path = path_of("changing")};
	struct ink_table *t = create(o);

	save(t, c.path);
	c.image = image_at(c.path);
	assert_int_equal(pthread_create(&c.thread, NULL, change_in_place, &c), 0);
	for (size_t i = 0; i < scaled(500); i++) {
		struct ink_why why = {""};
		struct ink_table *u = ink_load(c.path, INK_LOAD_READ, &why);

		assert_true(u || (errno == EBADMSG && strlen(why.text) > 10));
		ink_free(u);
	}
	__atomic_store_n(&c.stop, 1, __ATOMIC_RELAXED);
	pthread_join(c.thread, NULL);
}

/* ------------------------------------------------------------------- nothing leaks */

static size_t pages_mapped(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	size_t pages = 0;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%zu", &pages), 1);
	fclose(file);
	return pages;
}

/* Bodies are mapped, not allocated, so the leak sanitizer does not see them. */
TEST_THAT(refused_files_leave_nothing_behind)
{
	struct ink_options o = {.states = 15, .flows = 1000000};
	struct ink_table *t = create(o);
	size_t files = files_in("/proc/self/fd"), pages;
	struct image *i;

	save(t, path_of("leak"));
	i = image_at(path_of("leak"));
	put_bits(i, (struct change){AT_BODY, 5 * 64 + 63, 1, 1}); /* a spare bit: ink_check finds it */
	image_seal(i);
	assert_true(image_write(i, path_of("leak")));
	pages = pages_mapped();
	for (unsigned round = 0; round < 100; round++)
		assert_refused_somehow(path_of("leak"), round % 2 ? INK_LOAD_READ : INK_LOAD_MAP);
	assert_true(pages_mapped() < pages + 10 * 700); /* a body has about 700 pages; ten would be a leak */
	assert_int_equal(files_in("/proc/self/fd"), files);
	unlink(path_of("leak"));
}

int main(void)
{
	struct CMUnitTest rows[COUNT(hindrances)];

	if (snapshots_refused())
		return 77;
	for (size_t i = 0; i < COUNT(hindrances); i++)
		rows[i] = (struct CMUnitTest){hindrances[i].name, a_save_that_is_hindered_leaves_the_old_file,
					      NULL, free_all, &hindrances[i]};
	return run_suite(&(struct suite){make_folder, scratch_remove, free_all}) +
	       cmocka_run_group_tests(rows, make_folder, scratch_remove);
}
