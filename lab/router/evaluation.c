/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/router/evaluation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "lab/child.h"
#include "lab/progress.h"
#include "lab/router/clip.h"

static const char *const clip_names[CLIPS] = {
	[CLIP_MPEG2] = "mpeg2.clip", [CLIP_H264] = "h264.clip", [CLIP_PACKED] = "packed.clip"};

/* -------------------------------------------------------------------------- files */

static char *path_of(const struct evaluation *e, const char *part, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s%s%s", e->folder, part, *part ? "/" : "", name) < 0)
		lab_out_of_memory();
	return path;
}

/* All of a file, ended by a zero; NULL: it cannot be read. */
static char *read_file(const char *path, size_t *size)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	char *bytes = file < 0 ? NULL : (char *)child_bytes(file, size);

	if (bytes)
		bytes[*size] = 0; /* child_bytes leaves room for it */
	if (file >= 0)
		close(file);
	return bytes;
}

static int write_bytes(const char *path, const void *bytes, size_t size)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	int error = file < 0 ? -errno : child_write(file, bytes, size);

	if (file >= 0 && close(file) && !error)
		error = -errno;
	return error;
}

/* Under its name only when it is complete. */
static int write_file(const char *path, const void *bytes, size_t size)
{
	char *fresh;
	int error;

	if (asprintf(&fresh, "%s.new", path) < 0)
		lab_out_of_memory();
	error = write_bytes(fresh, bytes, size);
	if (!error && rename(fresh, path))
		error = -errno;
	free(fresh);
	return error;
}

/* -------------------------------------------------------------------------- films */

/* Packets that say nothing fill MPEG-TS, so that all datagrams have seven and none has two pictures. */
static void pad(FILE *to, size_t size)
{
	static const uint8_t head[4] = {0x47, 0x1f, 0xff, 0x10};

	for (; size < TS_DATAGRAM; size += 188) {
		fwrite(head, 1, sizeof head, to);
		for (size_t i = sizeof head; i < 188; i++)
			fputc(0xff, to);
	}
}

static char *clip_of(const struct film *film, size_t *size)
{
	char *bytes = NULL;
	FILE *to = open_memstream(&bytes, size);

	if (!to)
		lab_out_of_memory();
	fputs(CLIP_MAGIC, to);
	for (size_t i = 0; i < film->n; i++) {
		const struct datagram *d = &film->datagrams[i];
		size_t padded = film->codec == FILM_MPEG2 ? TS_DATAGRAM : d->size;

		fputc((int)(padded & 255), to);
		fputc((int)(padded >> 8), to);
		fwrite(film->wire + d->at, 1, d->size, to);
		if (film->codec == FILM_MPEG2)
			pad(to, d->size);
	}
	if (fclose(to))
		lab_out_of_memory();
	return bytes;
}

/* Results are of one film: if another was made, as by another ffmpeg, they cannot go on. */
static int keep_clip(struct evaluation *e, enum clip_kind clip, struct ink_why *why)
{
	size_t size, there_size = 0;
	char *bytes = clip_of(&e->films[clip], &size), *path = path_of(e, "", clip_names[clip]);
	char *there = read_file(path, &there_size);
	int error = 0;

	if (!there)
		error = write_file(path, bytes, size);
	else if (there_size != size || memcmp(there, bytes, size))
		error = -ESTALE;
	if (error)
		ink_fail(why, error, "%s: %s", path,
			 error == -ESTALE ? "the results are of another film; move the folder away"
					  : strerror(-error));
	free(there);
	free(path);
	free(bytes);
	return error;
}

int evaluation_open(struct evaluation *e, struct ink_why *why)
{
	static const char *const parts[] = {"cells", "scores"};
	int error = 0;

	for (unsigned i = 0; i < 2; i++) {
		char *path = path_of(e, "", parts[i]);

		if (mkdir(path, 0755) && errno != EEXIST && !error)
			error = ink_fail(why, -errno, "%s: %s", path, strerror(errno));
		free(path);
	}
	for (enum clip_kind clip = 0; clip < CLIPS && !error; clip++) {
		error = film_make(&e->films[clip],
				  &(struct film_request){.frames = e->study->frames,
							 .seed = 1,
							 .source = e->study->source,
							 .codec = clip == CLIP_H264 ? FILM_H264 : FILM_MPEG2,
							 .packed = clip == CLIP_PACKED,
							 .kbits = e->study->kbits},
				  why);
		if (!error)
			error = keep_clip(e, clip, why);
	}
	return error;
}

void evaluation_close(struct evaluation *e)
{
	for (enum clip_kind clip = 0; clip < CLIPS; clip++)
		film_free(&e->films[clip]);
}

/* -------------------------------------------------------------------------- cells */

char *evaluation_said(const struct evaluation *e, const struct router_cell *cell)
{
	char name[CELL_NAME], *path, *text;
	size_t size;

	cell_name(cell, name);
	path = path_of(e, "cells", name);
	text = read_file(path, &size);
	free(path);
	return text;
}

bool evaluation_outcome(const struct evaluation *e, const struct router_cell *cell, struct outcome *outcome)
{
	char name[CELL_NAME], *path, *line;
	size_t size;
	bool read;

	cell_name(cell, name);
	path = path_of(e, "scores", name);
	line = read_file(path, &size);
	read = line && outcome_scan(line, outcome);
	free(line);
	free(path);
	return read;
}

static int save_outcome(const struct evaluation *e, const struct router_cell *cell,
			const struct outcome *outcome)
{
	char name[CELL_NAME], *path, *line = NULL;
	size_t size;
	FILE *to = open_memstream(&line, &size);
	int error;

	if (!to)
		lab_out_of_memory();
	outcome_print(outcome, to);
	if (fclose(to))
		lab_out_of_memory();
	cell_name(cell, name);
	path = path_of(e, "scores", name);
	error = write_file(path, line, size);
	free(path);
	free(line);
	return error;
}

static int score_one(struct lab *lab, void *context, size_t number)
{
	struct evaluation *e = context;
	struct ink_why why = {""};
	struct outcome outcome;
	struct router_cell cell;
	char *text;
	int error;

	if (!cell_at(e->study, number, &cell) || evaluation_outcome(e, &cell, &outcome))
		return 0;
	text = evaluation_said(e, &cell);
	if (!text)
		return 0;
	error = outcome_watch(text, &e->films[cell.policy->clip], cell.scenario->streams, &outcome, &why);
	if (!error)
		error = save_outcome(e, &cell, &outcome);
	free(text);
	return error ? lab_fail(lab, error, "%s.%s.%u: %s", cell.policy->name, cell.scenario->name, cell.seed,
				why.text)
		     : 0;
}

int evaluation_score(struct evaluation *e)
{
	size_t cells = 0;

	for (struct router_cell cell; cell_at(e->study, cells, &cell); cells++)
		;
	return lab_each(&e->lab, cells, score_one, e);
}

/* --------------------------------------------------------------------------- plan */

static void plan_cell(const struct study *study, const struct router_cell *cell, FILE *to)
{
	const struct policy *p = cell->policy;
	const struct scenario *s = cell->scenario;
	char name[CELL_NAME];

	cell_name(cell, name);
	fprintf(to, "%s %s %u %u %.0f %u %u %s %s %s\n", name, clip_names[p->clip], study->frames, s->streams,
		s->load * study->link, s->flows, cell->seed, p->machine ? p->machine : "-",
		p->options ? p->options : "-", p->qdisc);
}

void evaluation_plan(const struct evaluation *e, FILE *to)
{
	struct router_cell cell;

	for (size_t i = 0; cell_at(e->study, i, &cell); i++) {
		char *text = evaluation_said(e, &cell);

		if (!text)
			plan_cell(e->study, &cell, to);
		free(text);
	}
}
