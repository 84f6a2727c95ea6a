/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/figures.h"

#include <inttypes.h>

#include "sim/text.h"

const char *cli_grouped(uint64_t n)
{
	static char buffers[8][32];
	static unsigned next;
	char digits[24], *to = buffers[next++ % 8], *start = to;
	int length = snprintf(digits, sizeof digits, "%" PRIu64, n);

	for (int i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = 0;
	return start;
}

const char *cli_sized(uint64_t bytes)
{
	static char buffers[8][32];
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	static unsigned next;
	char *to = buffers[next++ % 8];
	double size = (double)bytes;
	unsigned unit = 0;

	for (; size >= 1024 && unit < 4; unit++)
		size /= 1024;
	snprintf(to, sizeof buffers[0], unit && size < 100 ? "%.1f %s" : "%.0f %s", size, units[unit]);
	return to;
}

const char *cli_lasting(uint64_t nanoseconds)
{
	static char text[32];
	double seconds = (double)nanoseconds / 1e9;

	if (seconds < 120)
		snprintf(text, sizeof text, "%.3f s", seconds);
	else if (seconds < 2 * 3600)
		snprintf(text, sizeof text, "%.1f min", seconds / 60);
	else if (seconds < 2 * 86400)
		snprintf(text, sizeof text, "%.1f h", seconds / 3600);
	else
		snprintf(text, sizeof text, "%.1f d", seconds / 86400);
	return text;
}

void cli_line(FILE *to, const char *label, const char *name, uint64_t number)
{
	int used = fprintf(to, "%-*s", CLI_LABEL_WIDTH, label) + sim_put_visible(name, to);

	fprintf(to, "%*s%*s\n",
		used < CLI_LABEL_WIDTH + CLI_NAME_WIDTH ? CLI_LABEL_WIDTH + CLI_NAME_WIDTH - used : 0, "",
		CLI_NUMBER_WIDTH, cli_grouped(number));
}
