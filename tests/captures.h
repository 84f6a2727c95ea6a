/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Real captures, and what is known about them: truth/KIND/NAME.json of the folder
 * with the captures. The folder is $INK_CAPTURES, or ../shared/captures beside
 * the sources; where it is missing, what needs it is skipped.
 */
#ifndef INKLING_TESTS_CAPTURES_H
#define INKLING_TESTS_CAPTURES_H

#include <dirent.h>
#include <unistd.h>

#include "tests/test.h"

/* -------------------------------------------------------------------- the folder */

static char folder[512];
static const char *const kinds[] = {"tcp", "scan", "p2p", "media", "robust"};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static inline int find_folder(void)
{
	const char *given = getenv("INK_CAPTURES");
	char readme[600];

	snprintf(folder, sizeof folder, "%s", given ? given : SOURCE_ROOT "/../shared/captures");
	snprintf(readme, sizeof readme, "%s/truth/COMMANDS.md", folder);
	return access(readme, R_OK) == 0;
}

/* Calls for each capture, with its path and its name; says how many there were. */
static inline int for_each_capture(void (*call)(const char *path, const char *name))
{
	char path[1024];
	int n = 0;

	for (int i = 0; i < KINDS; i++) {
		struct dirent *entry;
		DIR *dir;

		snprintf(path, sizeof path, "%s/%s", folder, kinds[i]);
		dir = opendir(path);
		assert_non_null(dir);
		while ((entry = readdir(dir)))
			if (strstr(entry->d_name, ".pcap")) {
				snprintf(path, sizeof path, "%s/%s/%s", folder, kinds[i], entry->d_name);
				call(path, entry->d_name);
				n++;
			}
		closedir(dir);
	}
	return n;
}

/* ------------------------------------------------------------------------ the truth */

static char truth[1 << 20];

static inline void read_truth(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(truth, 1, sizeof truth - 1, f);
	assert_true(n > 0 && n < sizeof truth - 1);
	truth[n] = '\0';
	fclose(f);
}

/* Of the kind tcp_udp or media. */
static inline void load_truth(const char *kind, const char *name)
{
	char path[1024];

	snprintf(path, sizeof path, "%s/truth/%s/%s.json", folder, kind, name);
	read_truth(path);
}

/* The number behind a name; 0 if it is not there, as the script leaves out what is 0. */
static inline unsigned true_number(const char *name)
{
	char quoted[80];
	const char *at;

	snprintf(quoted, sizeof quoted, "\"%s\": ", name);
	at = strstr(truth, quoted);
	return at ? (unsigned)strtoul(at + strlen(quoted), NULL, 10) : 0;
}

#endif
