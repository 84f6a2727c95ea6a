/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lab/router/outcome.h"
#include "lab/runner.h"

/* ------------------------------------------------------------------------ reading */

/* The line that begins with these words: what follows them; NULL: there is none. */
static const char *line_of(const char *text, const char *words)
{
	size_t length = strlen(words);

	while (text && strncmp(text, words, length)) {
		text = strchr(text, '\n');
		text = text ? text + 1 : NULL;
	}
	return text ? text + length : NULL;
}

static int digit_of(char c)
{
	const char *digits = "0123456789abcdef", *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

bool outcome_lost(const char *text, const struct film *film, unsigned stream, bool *lost)
{
	char words[32];
	const char *line;
	unsigned n;
	int read = 0;

	snprintf(words, sizeof words, "stream %u ", stream);
	line = line_of(text, words);
	if (!line || sscanf(line, "%u %n", &n, &read) != 1 || n != film->n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		int digit = digit_of(line[read + (int)(i / 4)]);

		if (digit < 0)
			return false;
		lost[i] = digit >> (3 - i % 4) & 1;
	}
	return true;
}

int outcome_rates(const char *text, struct outcome *o)
{
	const char *link = line_of(text, "link "), *video = line_of(text, "video "),
		   *tcp = line_of(text, "tcp ");
	unsigned long long bytes, strange, tcp_bytes;
	double seconds, tcp_seconds;

	if (!link || !video || !tcp || !line_of(text, "done") || sscanf(link, "%lf bit/s", &o->link) != 1 ||
	    sscanf(video, "%llu bytes in %lf s, strange %llu, late %lf", &bytes, &seconds, &strange,
		   &o->late) != 4 ||
	    sscanf(tcp, "%llu bytes in %lf s", &tcp_bytes, &tcp_seconds) != 2 || strange || seconds <= 0 ||
	    tcp_seconds <= 0)
		return -EILSEQ;
	o->video = 8 * (double)bytes / seconds;
	o->tcp = 8 * (double)tcp_bytes / tcp_seconds * 1514 / 1448; /* whole segments, with their headers */
	return 0;
}

/* ----------------------------------------------------------------------- watching */

struct tally {
	double sent[FILM_TYPES], lost[FILM_TYPES];
};

/* The first group arrived as far as the decoder knows, so that it has a start. */
static void count_lost(const struct film *film, bool *lost, struct tally *tally)
{
	memset(lost, 0, film->first * sizeof *lost);
	for (size_t i = film->first; i < film->n; i++) {
		const struct datagram *d = &film->datagrams[i];

		tally->sent[d->type] += (double)d->size;
		tally->lost[d->type] += lost[i] ? (double)d->size : 0;
	}
}

static void add_losses(const struct tally *tally, struct outcome *o)
{
	double sent = 0, lost = 0;

	for (unsigned t = 0; t < FILM_TYPES; t++) {
		sent += tally->sent[t];
		lost += tally->lost[t];
		o->of_type[t] = tally->sent[t] > 0 ? tally->lost[t] / tally->sent[t] : 0;
	}
	o->loss = lost / sent;
}

static void add_score(const struct score *score, unsigned streams, struct outcome *o)
{
	o->psnr += score->psnr / streams;
	o->ssim += score->ssim / streams;
	o->shown += score->shown / streams;
	o->worst = o->worst > 0 && o->worst < score->psnr ? o->worst : score->psnr;
}

int outcome_watch(const char *text, const struct film *film, unsigned streams, struct outcome *o,
		  struct ink_why *why)
{
	bool *lost = lab_alloc(film->n, sizeof *lost);
	struct tally tally = {{0}, {0}};
	int error;

	*o = (struct outcome){.loss = 0};
	error = outcome_rates(text, o) ? ink_fail(why, -EILSEQ, "the cell did not end well") : 0;
	for (unsigned s = 0; s < streams && !error; s++) {
		struct score score = {.of_frames = NULL};

		if (!outcome_lost(text, film, s, lost)) {
			error = ink_fail(why, -EILSEQ, "no losses of stream %u, or of another film", s);
			break;
		}
		count_lost(film, lost, &tally);
		error = film_watch(film, lost, &score, why);
		add_score(&score, streams, o);
	}
	add_losses(&tally, o);
	free(lost);
	return error;
}

/* ------------------------------------------------------------------------- saving */

void outcome_print(const struct outcome *o, FILE *to)
{
	fprintf(to, "%.0f %.6f %.6f %.6f %.6f %.4f %.6f %.6f %.4f %.0f %.0f %.3f\n", o->link, o->loss,
		o->of_type[1], o->of_type[2], o->of_type[3], o->psnr, o->ssim, o->shown, o->worst, o->video,
		o->tcp, o->late);
}

bool outcome_scan(const char *line, struct outcome *o)
{
	*o = (struct outcome){.loss = 0};
	return sscanf(line, "%lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf %lf", &o->link, &o->loss,
		      &o->of_type[1], &o->of_type[2], &o->of_type[3], &o->psnr, &o->ssim, &o->shown,
		      &o->worst, &o->video, &o->tcp, &o->late) == 12;
}
