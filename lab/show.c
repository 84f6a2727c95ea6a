/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/show.h"

#include <math.h>
#include <string.h>

const char *show_size(enum lab_size size)
{
	static const char *const names[] = {
		[LAB_QUICK] = "quick", [LAB_NORMAL] = "normal", [LAB_FULL] = "full"};

	return names[size];
}

const char *show_seconds(double seconds, char text[SHOW_SECONDS])
{
	if (seconds < 90)
		snprintf(text, SHOW_SECONDS, "%.0f s", seconds < 1 ? 1 : seconds);
	else
		snprintf(text, SHOW_SECONDS, "%.0f min", seconds / 60);
	return text;
}

/* ---------------------------------------------------------------------- numbers */

/* 1234567 -> "1,234,567". */
static void show_whole(double number, char *text, size_t size)
{
	char digits[32];
	size_t length = (size_t)snprintf(digits, sizeof digits, "%.0f", fabs(number)), out = 0;

	if (number < 0 && out + 1 < size)
		text[out++] = '-';
	for (size_t i = 0; i < length && out + 2 < size; i++) {
		text[out++] = digits[i];
		if ((length - i - 1) % 3 == 0 && i + 1 < length)
			text[out++] = ',';
	}
	text[out] = 0;
}

/* "3.9e-06" -> "3.9e-6". */
static void shorten_exponent(char *text)
{
	char *e = strchr(text, 'e');

	if (e && e[1] == '+')
		memmove(e + 1, e + 2, strlen(e + 2) + 1);
	else if (e)
		e++;
	if (e && e[1] == '0')
		memmove(e + 1, e + 2, strlen(e + 2) + 1);
}

const char *show_number(double number, int digits, char *text, size_t size)
{
	double magnitude = fabs(number);
	int decimals;

	if (!isfinite(number)) {
		snprintf(text, size, isnan(number) ? "-" : number < 0 ? "-inf" : "inf");
	} else if (magnitude >= 1e12 || (magnitude > 0 && magnitude < 1e-4)) {
		snprintf(text, size, "%.*e", digits - 1, number);
		shorten_exponent(text);
	} else if (fabs(number - round(number)) <= 1e-9 * magnitude || magnitude >= 1000) {
		show_whole(round(number), text, size);
	} else {
		decimals = digits - 1 - (int)floor(log10(magnitude));
		snprintf(text, size, "%.*f", decimals > 0 ? decimals : 0, number);
	}
	return text;
}

const char *show_short(double number, char *text, size_t size)
{
	if (fabs(number) >= 1e-4 && fabs(number) < 1e4)
		snprintf(text, size, "%.4g", number);
	else
		show_number(number, 4, text, size);
	return text;
}

const char *show_cell(const struct cell *cell, const struct page_column *column, char *text, size_t size)
{
	char low[32], middle[32], high[32];

	show_number(cell->number.middle, column->digits, middle, sizeof middle);
	show_number(cell->number.low, column->digits, low, sizeof low);
	show_number(cell->number.high, column->digits, high, sizeof high);
	if (cell->kind == CELL_SPREAD && cell->number.low < cell->number.high)
		snprintf(text, size, "%s (%s .. %s)", middle, low, high);
	else
		snprintf(text, size, "%s",
			 cell->kind == CELL_BLANK  ? ""
			 : cell->kind == CELL_WORD ? cell->word
						   : middle);
	return text;
}

const char *show_bounds(const struct claim *claim, char *text, size_t size)
{
	char low[32], high[32];

	show_short(claim->low, low, sizeof low);
	show_short(claim->high, high, sizeof high);
	if (isinf(claim->low))
		snprintf(text, size, "at most %s", high);
	else if (isinf(claim->high))
		snprintf(text, size, "at least %s", low);
	else
		snprintf(text, size, "%s to %s", low, high);
	return text;
}

/* ------------------------------------------------------------- verdicts, claims */

const char *show_agreement(enum page_agreement agreement)
{
	static const char *const names[] = {[PAGE_AGREES] = "agrees",
					    [PAGE_DISAGREES] = "does not agree",
					    [PAGE_IMPOSSIBLE] = "the printed number cannot be right"};

	return names[agreement];
}

struct tally tally_pages(struct page *const *pages, size_t count)
{
	struct tally tally = {.claims = 0};

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < pages[i]->count; j++) {
			const struct part *part = &pages[i]->parts[j];

			tally.skipped += part->kind == PART_SKIPPED;
			tally.claims += part->kind == PART_CLAIM;
			tally.met += part->kind == PART_CLAIM && part->claim.met;
			if (part->kind == PART_VERDICT)
				tally.verdicts[part->verdict.agreement]++;
		}
	return tally;
}
