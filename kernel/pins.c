/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pins of a set: what keeps it alive without a process.
 *
 *     /sys/fs/bpf/inkling/           0700
 *         eth0/                      0700, a set; locked with flock while a tool changes it
 *             map_control ...        0600
 *             prog_ink_xdp ...
 *             at_link_0_2_eth0       a hook: way, hook, interface index and name; the link, or the program
 *
 * The file system is the only record of hooks, so a set can be detached whatever else is in it. bpffs keeps names
 * with a dot for itself; an interface name has no colon, so a colon stands for the dot.
 */
#include "kernel/inside.h"

#include <bpf/bpf.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#define BPFFS "/sys/fs/bpf"
#define ROOT BPFFS "/inkling"

enum { PATH = 256, HOOK = 64 };

/* ------------------------------------------------------------------- names */

int ink_kernel_name_check(const char *name, struct ink_why *why)
{
	size_t length = strlen(name);

	if (!length || length > INK_KERNEL_PATH)
		return ink_fail(why, -EINVAL, "the name of a set has 1 to %d characters", INK_KERNEL_PATH);
	for (size_t i = 0; i < length; i++)
		if (name[i] == '/' || name[i] == ':' || !isgraph((unsigned char)name[i]) || name[0] == '.')
			return ink_fail(why, -EINVAL,
					"'%s' is no name of a set: letters, digits, '.', '-', '_'", name);
	return 0;
}

static void exchange(char *text, char from, char to)
{
	for (; *text; text++)
		if (*text == from)
			*text = to;
}

static void folder_of(const char *name, char path[PATH])
{
	snprintf(path, PATH, ROOT "/%s", name);
	exchange(path + strlen(ROOT), '.', ':');
}

static void pin_of(const struct ink_kernel *k, const char *kind, const char *name, char path[PATH])
{
	size_t length;

	folder_of(k->name, path);
	length = strlen(path);
	snprintf(path + length, PATH - length, "/%.8s_%.100s", kind, name);
}

static int fail_at(const char *path, int error, struct ink_why *why)
{
	if (error == -EPERM || error == -EACCES)
		return ink_fail(why, error,
				"%s: not allowed: root, or CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON, "
				"and write access to " BPFFS,
				path);
	return ink_fail(why, error, "%s: %s", path, strerror(-error));
}

/* ------------------------------------------------------------ the directory */

/* What is pinned in a mount of `ip netns exec` would end with that command. */
static int check_bpffs(struct ink_why *why)
{
	struct statfs s;

	if (!statfs(BPFFS, &s) && (unsigned long)s.f_type == BPF_FS_MAGIC)
		return 0;
	return ink_fail(why, -ENOENT,
			BPFFS ": no bpf file system is mounted there: mount -t bpf bpf " BPFFS
			      ", or under 'ip netns exec': nsenter --net=/run/netns/NAME in its place");
}

/* Anybody may make a folder in a bpffs that 'mount' mounted, and whoever made this one could exchange what is in it. */
static int check_root(struct ink_why *why)
{
	struct stat found;

	if (lstat(ROOT, &found))
		return fail_at(ROOT, -errno, why);
	if (S_ISDIR(found.st_mode) && !(found.st_mode & 077) && (!found.st_uid || found.st_uid == geteuid()))
		return 0;
	return ink_fail(why, -EPERM, ROOT ": another user has made it, or can look into it; remove it");
}

static int make_root(struct ink_why *why)
{
	int error = check_bpffs(why);

	if (error)
		return error;
	if (mkdir(ROOT, 0700) && errno != EEXIST)
		return fail_at(ROOT, -errno, why);
	return check_root(why);
}

/* Between opening and locking, another tool may have removed the directory, and made a new one of that name. */
static int is_still_at(int fd, const char *path)
{
	struct stat locked, there;

	return !fstat(fd, &locked) && !stat(path, &there) && locked.st_dev == there.st_dev &&
	       locked.st_ino == there.st_ino;
}

/* The lock of a set's directory; -EAGAIN: another tool has it. */
static int lock_folder(const char *path, int *lock)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), error = 0;

	if (fd < 0)
		return -errno;
	if (flock(fd, LOCK_EX | LOCK_NB))
		error = errno == EWOULDBLOCK ? -EAGAIN : -errno;
	else if (!is_still_at(fd, path))
		error = -EAGAIN;
	if (error)
		return close(fd), error;
	*lock = fd;
	return 0;
}

static int fail_to_lock(const struct ink_kernel *k, const char *path, int error, struct ink_why *why)
{
	if (error == -EAGAIN)
		return ink_fail(why, -EBUSY, "%s: another inkling is changing it", k->name);
	return fail_at(path, error, why);
}

/* Was the tool killed that made the set? Then its version is not written, and nobody has the lock. */
static int is_left(const struct ink_kernel *k, const char *folder)
{
	uint32_t zero = 0, control[1024] = {0}; /* another version may have a larger one */
	char path[PATH];
	int lock, fd, finished;

	if (lock_folder(folder, &lock))
		return 0;
	pin_of(k, "map", ink_kernel_map_names[INK_MAP_CONTROL], path);
	fd = bpf_obj_get(path);
	finished = fd >= 0 && !bpf_map_lookup_elem(fd, &zero, control) && control[0];
	if (fd >= 0)
		close(fd);
	close(lock);
	return !finished;
}

static int make_folder(const struct ink_kernel *k, const char *path, struct ink_why *why)
{
	if (!mkdir(path, 0700))
		return 0;
	if (errno != EEXIST)
		return fail_at(path, -errno, why);
	if (is_left(k, path) && !ink_kernel_remove(k->name, NULL) && !mkdir(path, 0700))
		return 0;
	return ink_fail(
		why, -EEXIST,
		"%s is attached already: 'inkling reload %s' exchanges its machines, 'inkling detach %s' "
		"removes it, --name gives this one another name",
		k->name, k->name, k->name);
}

int ink_kernel_pins_begin(struct ink_kernel *k, struct ink_why *why)
{
	char path[PATH];
	int error = ink_kernel_name_check(k->name, why);

	if (!error)
		error = make_root(why);
	folder_of(k->name, path);
	if (!error)
		error = make_folder(k, path, why);
	if (error)
		return error;
	error = lock_folder(path, &k->lock); /* one that another tool locked first is not ours to remove */
	return error ? fail_to_lock(k, path, error, why) : 0;
}

/* Ten seconds: on a busy machine a copy or a reload takes half a second, and several tools may wait for each other. */
static int wait_for_folder(const char *path, int *lock)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	int error;

	for (unsigned tries = 0; (error = lock_folder(path, lock)) == -EAGAIN && tries < 2000; tries++)
		nanosleep(&pause, NULL);
	return error;
}

int ink_kernel_pins_lock(struct ink_kernel *k, struct ink_why *why)
{
	char path[PATH];
	int error;

	if (!k->pinned || k->lock >= 0)
		return 0;
	folder_of(k->name, path);
	error = wait_for_folder(path, &k->lock);
	return error ? fail_to_lock(k, path, error, why) : 0;
}

void ink_kernel_pins_unlock(struct ink_kernel *k)
{
	if (k->lock >= 0)
		close(k->lock);
	k->lock = -1;
}

/* ----------------------------------------------------------------- pinning */

/* The mask of the process would only take rights away. */
static int pin(const struct ink_kernel *k, const char *kind, const char *name, int fd, struct ink_why *why)
{
	char path[PATH];

	pin_of(k, kind, name, path);
	if (bpf_obj_pin(fd, path))
		return fail_at(path, -errno, why);
	return chmod(path, 0600) ? fail_at(path, -errno, why) : 0;
}

int ink_kernel_pins_fill(struct ink_kernel *k, struct ink_why *why)
{
	int error = 0;

	for (unsigned i = 0; i < INK_KERNEL_MAPS && !error; i++)
		if (k->map[i].fd >= 0)
			error = pin(k, "map", ink_kernel_map_names[i], k->map[i].fd, why);
	for (unsigned i = 0; i < INK_KERNEL_PROGRAMS && !error; i++)
		if (k->program[i] >= 0)
			error = pin(k, "prog", ink_kernel_program_names[i], k->program[i], why);
	return error;
}

static void hook_name(const struct ink_kernel_attached *a, char name[HOOK])
{
	snprintf(name, HOOK, "%u_%u_%u_%.15s", (unsigned)a->way, (unsigned)a->place.hook, a->place.index,
		 a->place.interface);
	exchange(name, '.', ':');
}

int ink_kernel_pins_attached(struct ink_kernel *k, const struct ink_kernel_attached *a, int fd,
			     struct ink_why *why)
{
	char name[HOOK];

	hook_name(a, name);
	return pin(k, "at", name, fd, why);
}

void ink_kernel_pins_detached(const struct ink_kernel *k, const struct ink_kernel_attached *a)
{
	char path[PATH], name[HOOK];

	hook_name(a, name);
	pin_of(k, "at", name, path);
	unlink(path);
}

/* ----------------------------------------------------------------- opening */

static int holds(const struct ink_kernel_map *m, size_t value, unsigned entries)
{
	return m->value == value && m->entries >= entries;
}

/* Of these, values are read as structs; the others are looked at where they are used. */
static int are_ours(const struct ink_kernel *k)
{
	const struct ink_kernel_map *m = k->map;
	unsigned counters = INK_KERNEL_MACHINES * INK_KERNEL_COUNTERS;

	return m[INK_MAP_CONTROL].at && m[INK_MAP_TABLES].at && m[INK_MAP_TEXT].at && m[INK_MAP_WEIGHED].at &&
	       holds(&m[INK_MAP_CONTROL], sizeof(struct ink_kernel_control), 1) &&
	       holds(&m[INK_MAP_TABLES], sizeof(struct ink_kernel_table), INK_KERNEL_MACHINES) &&
	       holds(&m[INK_MAP_COUNTS], sizeof(struct ink_kernel_counts), INK_KERNEL_MACHINES) &&
	       holds(&m[INK_MAP_COUNTERS], sizeof(uint64_t), counters) && m[INK_MAP_QUEUES].at &&
	       holds(&m[INK_MAP_QUEUES], sizeof(struct ink_kernel_queue), INK_KERNEL_QUEUES) &&
	       holds(&m[INK_MAP_WAITS], sizeof(struct ink_kernel_waits), INK_KERNEL_QUEUES) &&
	       holds(&m[INK_MAP_WEIGHED], sizeof(uint64_t), counters);
}

static int open_maps(struct ink_kernel *k, struct ink_why *why)
{
	char path[PATH];
	int error = 0;

	for (unsigned i = 0; i < INK_KERNEL_MAPS && !error; i++) {
		int fd;

		pin_of(k, "map", ink_kernel_map_names[i], path);
		fd = bpf_obj_get(path);
		if (fd >= 0)
			error = ink_kernel_map_take(&k->map[i], fd);
		else if (errno != ENOENT)
			error = -errno;
	}
	if (!error && !are_ours(k))
		return ink_fail(why, -EPROTO,
				"%s: was not finished, or is of another version of inkling; "
				"'inkling detach %s' removes it",
				k->name, k->name);
	return error ? fail_at(path, error, why) : 0;
}

static void open_programs(struct ink_kernel *k)
{
	char path[PATH];

	for (unsigned i = 0; i < INK_KERNEL_PROGRAMS; i++) {
		pin_of(k, "prog", ink_kernel_program_names[i], path);
		k->program[i] = bpf_obj_get(path);
	}
}

/* From "at_0_1_2_eth0". 0: it is none. */
static int read_attached(const char *name, struct ink_kernel_attached *a)
{
	unsigned way, hook, index;
	int used = 0;

	if (sscanf(name, "at_%u_%u_%u_%n", &way, &hook, &index, &used) != 3 || !used ||
	    way >= INK_KERNEL_WAYS || hook >= INK_KERNEL_HOOKS || strlen(name + used) >= IF_NAMESIZE)
		return 0;
	*a = (struct ink_kernel_attached){.place = {.index = index, .hook = (enum ink_kernel_hook)hook},
					  .way = (enum ink_kernel_way)way,
					  .fd = -1};
	strcpy(a->place.interface, name + used);
	exchange(a->place.interface, ':', '.');
	return 1;
}

static int compare_attached(const void *a, const void *b)
{
	const struct ink_kernel_attached *x = a, *y = b;

	if (x->place.index != y->place.index)
		return x->place.index < y->place.index ? -1 : 1;
	return (int)x->place.hook - (int)y->place.hook;
}

/* The hooks; with `folder` their pins, too. */
static void list_attached(struct ink_kernel *k, DIR *folder)
{
	struct dirent *e;

	k->n_places = 0;
	while ((e = readdir(folder)) && k->n_places < INK_KERNEL_PLACES)
		k->n_places += (unsigned)read_attached(e->d_name, &k->attached[k->n_places]);
	qsort(k->attached, k->n_places, sizeof *k->attached, compare_attached);
}

/* The descriptor of what is pinned for a hook: its link, or the program. */
static int get_attached(const struct ink_kernel *k, const struct ink_kernel_attached *a)
{
	char path[PATH], name[HOOK];

	hook_name(a, name);
	pin_of(k, "at", name, path);
	return bpf_obj_get(path);
}

int ink_kernel_pins_open(struct ink_kernel *k, struct ink_why *why)
{
	char path[PATH];
	DIR *folder;
	int error = ink_kernel_name_check(k->name, why);

	if (error)
		return error;
	folder_of(k->name, path);
	folder = opendir(path);
	if (!folder && errno == ENOENT)
		return check_bpffs(why)
			       ? -ENOENT
			       : ink_fail(why, -ENOENT, "%s: nothing is attached under this name", k->name);
	if (!folder)
		return fail_at(path, -errno, why);
	k->pinned = 1;
	list_attached(k, folder);
	closedir(folder);
	error = open_maps(k, why);
	if (!error)
		open_programs(k);
	return error;
}

/* ---------------------------------------------------------------- removing */

static int remove_pins(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *e;
	int error = 0;

	if (!folder)
		return -errno;
	while ((e = readdir(folder)))
		if (e->d_name[0] != '.' && unlinkat(dirfd(folder), e->d_name, 0))
			error = -errno;
	closedir(folder);
	if (!error && rmdir(path))
		error = -errno;
	return error;
}

int ink_kernel_pins_remove(const char *name, struct ink_why *why)
{
	char path[PATH];
	int error;

	folder_of(name, path);
	error = remove_pins(path);
	return error ? fail_at(path, error, why) : 0;
}

/* All that is needed is the names of the pins. */
int ink_kernel_remove(const char *name, struct ink_why *why)
{
	struct ink_kernel *k;
	char path[PATH];
	DIR *folder;
	int error = ink_kernel_name_check(name, why);

	if (error)
		return error;
	folder_of(name, path);
	folder = opendir(path);
	if (!folder)
		return errno == ENOENT
			       ? ink_fail(why, -ENOENT, "%s: nothing is attached under this name", name)
			       : fail_at(path, -errno, why);
	k = calloc(1, sizeof *k);
	if (!k)
		return closedir(folder), ink_fail(why, -ENOMEM, "no memory");
	snprintf(k->name, sizeof k->name, "%s", name);
	k->pinned = 1;
	k->lock = -1;
	list_attached(k, folder);
	closedir(folder);
	error = ink_kernel_pins_lock(k, why);
	for (unsigned i = 0; i < k->n_places && !error; i++)
		k->attached[i].fd = get_attached(k, &k->attached[i]);
	if (!error) {
		ink_kernel_unhook_all(k);
		error = ink_kernel_pins_remove(name, why);
	}
	ink_kernel_pins_unlock(k);
	free(k);
	return error;
}

static uint32_t map_id(int fd)
{
	struct bpf_map_info info = {0};
	uint32_t length = sizeof info;

	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &length) ? info.id : 0;
}

/* A map that is open keeps its number, whatever became of its pin. */
int ink_kernel_is_attached(const struct ink_kernel *k)
{
	char path[PATH];
	uint32_t there;
	int fd;

	pin_of(k, "map", ink_kernel_map_names[INK_MAP_CONTROL], path);
	fd = bpf_obj_get(path);
	there = map_id(fd);
	if (fd >= 0)
		close(fd);
	return there && there == map_id(k->map[INK_MAP_CONTROL].fd);
}

/* ----------------------------------------------------------------- listing */

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

int ink_kernel_list(char names[][INK_KERNEL_PATH + 1], unsigned room, struct ink_why *why)
{
	DIR *folder = opendir(ROOT);
	struct dirent *e;
	unsigned n = 0;

	if (!folder && errno == ENOENT)
		return check_bpffs(why) ? -ENOENT : 0;
	if (!folder)
		return fail_at(ROOT, -errno, why);
	while (n < room && (e = readdir(folder))) {
		if (e->d_name[0] == '.' || strlen(e->d_name) > INK_KERNEL_PATH)
			continue;
		strcpy(names[n], e->d_name);
		exchange(names[n++], ':', '.');
	}
	closedir(folder);
	qsort(names, n, sizeof *names, compare_names);
	return (int)n;
}
