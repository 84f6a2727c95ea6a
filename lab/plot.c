/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A plot as SVG inside HTML, drawn for the width of a phone and scaled up from there:
 *
 *	errors, %                     the name of the y axis, above it
 *	 10 |    *
 *	  1 |  x    *                 x: the paper's number; * with whiskers: ours
 *	0.1 |_________*__
 *	    0.5   1   2  4
 *	           memory, Mbit
 *
 * The legend below it is a list that wraps. The colour and the shape of a mark are those of the structure
 * (structure.h). The variant, the number of a series among those of its structure, chooses filling and dashes,
 * so a print in black can be read. Colours are in lab/report.css, one set for light and one for dark.
 */
#include "lab/show.h"

#include <math.h>
#include <string.h>

enum {
	WIDTH = 440,
	HEIGHT = 300,
	LEFT = 54,
	RIGHT = 16,
	TOP = 28,
	BOTTOM = 46,
	ZERO_GAP = 18,
	VARIANTS = 8,
	TICKS = 40
};

/* ----------------------------------------------------------------------- scales */

/* From numbers to coordinates. On a log axis, numbers that are not positive are placed apart, at `zero`. */
struct scale {
	bool log;
	double low, high; /* numbers at the ends */
	double from, to;  /* their coordinates */
	double zero;      /* NAN: not needed */
};

static double flat(const struct scale *s, double number)
{
	return s->log ? log10(number) : number;
}

static double place(const struct scale *s, double number)
{
	if (s->log && number <= 0)
		return s->zero;
	return s->from +
	       (s->to - s->from) * (flat(s, number) - flat(s, s->low)) / (flat(s, s->high) - flat(s, s->low));
}

static void widen(struct scale *s, double number)
{
	if (!isfinite(number))
		return;
	if (s->log && number <= 0) {
		s->zero = 0;
		return;
	}
	s->low = fmin(s->low, number);
	s->high = fmax(s->high, number);
}

/* A linear axis begins at 0 where that wastes at most `waste` of it; a log one ends at whole decades. */
static void round_ends(struct scale *s, double waste)
{
	if (s->low > s->high)
		s->low = s->high = 1;
	if (s->log) {
		s->low = pow(10, floor(log10(s->low) + 1e-9));
		s->high = pow(10, ceil(log10(s->high) - 1e-9));
		if (s->low == s->high)
			s->high *= 10;
		return;
	}
	if (s->low > 0 && s->low < waste * s->high)
		s->low = 0;
	if (s->low == s->high)
		s->high += s->low != 0 ? fabs(s->low) : 1;
	s->high += 0.04 * (s->high - s->low); /* so that marks are not cut off */
	if (s->low != 0)
		s->low -= 0.04 * (s->high - s->low);
}

/* A log x axis of less than three decades keeps to its points: memory sizes rarely fill a decade. */
static void trim(struct scale *s, double low, double high)
{
	if (s->log && high > low && high / low < 1000) {
		s->low = low / 1.15;
		s->high = high * 1.15;
	}
}

static struct scale scale_of(const struct page_plot *plot, bool is_x)
{
	const struct page_axis *axis = is_x ? &plot->x : &plot->y;
	struct scale s = {.log = axis->log, .low = INFINITY, .high = -INFINITY, .zero = NAN};
	double low, high;

	for (size_t i = 0; i < plot->count; i++)
		for (size_t j = 0; j < plot->series[i]->count; j++) {
			const struct point *p = &plot->series[i]->points[j];

			widen(&s, is_x ? p->x : p->y.middle);
			if (!is_x && p->whisker)
				widen(&s, p->y.high);
		}
	low = s.low;
	high = s.high;
	round_ends(&s, is_x ? 0.2 : 0.6);
	if (is_x)
		trim(&s, low, high);
	if (axis->low != axis->high) {
		s.low = axis->low;
		s.high = axis->high;
	}
	s.from = is_x ? LEFT : HEIGHT - BOTTOM;
	s.to = is_x ? WIDTH - RIGHT : TOP;
	if (!isnan(s.zero)) {
		s.zero = s.from;
		s.from += is_x ? ZERO_GAP : -ZERO_GAP;
	}
	return s;
}

/* ------------------------------------------------------------------------ ticks */

struct tick {
	double at;
	char label[24];
};

static void label_tick(struct tick *tick, double number)
{
	if (fabs(number) >= 1e4 && fabs(number) < 1e12) {
		const char *unit = fabs(number) >= 1e9 ? "G" : fabs(number) >= 1e6 ? "M" : "k";
		double size = *unit == 'G' ? 1e9 : *unit == 'M' ? 1e6 : 1e3;

		snprintf(tick->label, sizeof tick->label, "%.4g%s", number / size, unit);
	} else if (number == 0) {
		strcpy(tick->label, "0");
	} else if (fabs(number) < 1e-3) {
		show_number(number, 1, tick->label, sizeof tick->label);
	} else {
		snprintf(tick->label, sizeof tick->label, "%.4g", number);
	}
}

static size_t add_tick(struct tick *ticks, size_t count, const struct scale *s, double number)
{
	double slack = 1e-9 * fabs(s->high - s->low);

	if (count == TICKS || number < s->low - slack || number > s->high + slack)
		return count;
	ticks[count].at = place(s, number);
	label_tick(&ticks[count], number);
	return count + 1;
}

/* 1, 2 or 5 times a power of ten, so that there are four to eight of them. */
static double step_of(double reach)
{
	double power = pow(10, floor(log10(reach / 4)));
	double steps = reach / 4 / power;

	return power * (steps >= 5 ? 5 : steps >= 2 ? 2 : 1);
}

static size_t linear_ticks(const struct scale *s, struct tick *ticks)
{
	double step = step_of(s->high - s->low);
	size_t count = 0;

	for (double i = ceil(s->low / step - 1e-9);
	     i * step <= s->high * (1 + 1e-9) + 1e-300 && count < TICKS; i++)
		count = add_tick(ticks, count, s, i * step);
	return count;
}

/* Decades, every second or third where there are many; 1, 2, 5 where there are few. */
static size_t log_ticks(const struct scale *s, struct tick *ticks)
{
	static const double steps[] = {1, 2, 5};
	double decades = log10(s->high / s->low);
	int every = decades > 12 ? 3 : decades > 6 ? 2 : 1;
	size_t count = 0;

	if (!isnan(s->zero)) {
		ticks[count].at = s->zero;
		strcpy(ticks[count++].label, "0");
	}
	for (int e = (int)floor(log10(s->low)); e <= (int)ceil(log10(s->high)); e++)
		for (size_t i = 0; i < (decades < 2.5 ? 3 : 1); i++)
			if (e % every == 0)
				count = add_tick(ticks, count, s, steps[i] * pow(10, e));
	return count;
}

static size_t ticks_of(const struct scale *s, struct tick *ticks)
{
	return s->log ? log_ticks(s, ticks) : linear_ticks(s, ticks);
}

/* Half the width of a label in a font of 12, with a margin. */
static double reach_of(const char *label)
{
	return 3.4 * (double)strlen(label) + 4;
}

static void draw_x_ticks(const struct scale *x, FILE *to)
{
	struct tick ticks[TICKS];
	size_t count = ticks_of(x, ticks);
	double free_from = 0;

	for (size_t i = 0; i < count; i++) {
		double reach = reach_of(ticks[i].label);

		fprintf(to, "<path class=\"grid\" d=\"M%.1f %dV%d\"/>", ticks[i].at, TOP, HEIGHT - BOTTOM);
		if (ticks[i].at - reach < free_from || ticks[i].at + reach > WIDTH + 4)
			continue;
		fprintf(to, "<text class=\"mid\" x=\"%.1f\" y=\"%d\">%s</text>", ticks[i].at,
			HEIGHT - BOTTOM + 16, ticks[i].label);
		free_from = ticks[i].at + reach;
	}
}

static void draw_y_ticks(const struct scale *y, FILE *to)
{
	struct tick ticks[TICKS];
	size_t count = ticks_of(y, ticks);
	double free_below = HEIGHT;

	for (size_t i = 0; i < count; i++) {
		fprintf(to, "<path class=\"grid\" d=\"M%d %.1fH%d\"/>", LEFT, ticks[i].at, WIDTH - RIGHT);
		if (ticks[i].at + 14 > free_below)
			continue;
		fprintf(to, "<text class=\"end\" x=\"%d\" y=\"%.1f\">%s</text>", LEFT - 6, ticks[i].at + 4,
			ticks[i].label);
		free_below = ticks[i].at;
	}
}

static void draw_names(const struct page_plot *plot, FILE *to)
{
	fprintf(to, "<text class=\"mid\" x=\"%d\" y=\"%d\">", (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8);
	show_escaped(plot->x.name, to);
	if (plot->x.unit)
		fprintf(to, ", %s", plot->x.unit);
	fputs("</text><text x=\"4\" y=\"14\">", to);
	show_escaped(plot->y.name, to);
	if (plot->y.unit)
		fprintf(to, ", %s", plot->y.unit);
	fputs("</text>", to);
}

/* ----------------------------------------------------------------------- series */

/* Marks of about nine units, in the order of enum structure. */
static const char *const structure_marks[STRUCTURE_COUNT] = {
	[STRUCTURE_NONE] = "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
	[STRUCTURE_DIRECT] = "m-3.6 0a3.6 3.6 0 1 0 7.2 0a3.6 3.6 0 1 0-7.2 0z",  /* circle */
	[STRUCTURE_STATEFUL] = "m-3.4-3.4h6.8v6.8h-6.8z",                         /* square */
	[STRUCTURE_DLEFT] = "m0-4.6l4.4 7.8h-8.8z",                               /* triangle */
	[STRUCTURE_LINE] = "m0-4.8l4.6 4.8l-4.6 4.8l-4.6-4.8z",                   /* diamond */
	[STRUCTURE_COMPACT] = "m0 4.6l4.4-7.8h-8.8z",                             /* hanging triangle */
	[STRUCTURE_SUMS] = "m-4-1.5h2.5v-2.5h3v2.5h2.5v3h-2.5v2.5h-3v-2.5h-2.5z", /* plus */
	[STRUCTURE_EXACT] = "m-5-1.4h10v2.8h-10z",                                /* bar */
	[STRUCTURE_PRINTED] =
		"m0-5l1.5 3.2h3.4l-2.7 2.3l1 3.7l-3.2-2.1l-3.2 2.1l1-3.7l-2.7-2.3h3.4z", /* star */
	[STRUCTURE_KBF] = "m-4.4 0l2.2-3.9h4.4l2.2 3.9l-2.2 3.9h-4.4z",                  /* hexagon */
	[STRUCTURE_COUNTING] = "m-4-4.2h8l-8 8.4h8z",                                    /* hourglass */
};

/* Series that belong to no structure have these, one after the other. */
static const char *const other_marks[] = {
	"m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z", "m-2.8-2.8h5.6v5.6h-5.6z", "m0-3.8l3.7 6.4h-7.4z",
	"m0-4l3.8 4l-3.8 4l-3.8-4z",          "m0 3.8l3.7-6.4h-7.4z",
};
enum { OTHER_MARKS = sizeof other_marks / sizeof other_marks[0] };

/* How one series is drawn: `number` among the series of its structure in this plot. */
struct look {
	const struct page_series *series;
	unsigned number;
};

static bool is_curve(const struct page_series *series)
{
	return series->style == PAGE_CURVE;
}

/* Curves and marked series are numbered separately; the paper's crosses are not. */
static struct look look_of(const struct page_plot *plot, size_t i)
{
	struct look look = {.series = plot->series[i]};

	for (size_t j = 0; j < i; j++)
		look.number += plot->series[j]->structure == look.series->structure &&
			       plot->series[j]->style != PAGE_PAPER &&
			       is_curve(plot->series[j]) == is_curve(look.series);
	return look;
}

static const char *mark_of(const struct look *look)
{
	if (look->series->structure == STRUCTURE_NONE)
		return other_marks[look->number % OTHER_MARKS];
	return structure_marks[look->series->structure];
}

/* "s3 v1". */
static void put_class(const struct look *look, FILE *to)
{
	fprintf(to, "class=\"s%d v%u\"", (int)look->series->structure, look->number % VARIANTS);
}

static void draw_mark(const struct look *look, double x, double y, FILE *to)
{
	if (look->series->style == PAGE_PAPER)
		fprintf(to, "<path class=\"cross\" d=\"M%.1f %.1fm-5-5l10 10m0-10l-10 10\"/>", x, y);
	else
		fprintf(to, "<path class=\"mark\" d=\"M%.1f %.1f%s\"/>", x, y, mark_of(look));
}

static bool has_line(const struct page_series *series)
{
	return series->style == PAGE_LINE || is_curve(series);
}

static void draw_line(const struct page_series *series, const struct scale *x, const struct scale *y,
		      FILE *to)
{
	const char *move = "M";

	fprintf(to, "<path class=\"%s\" d=\"", is_curve(series) ? "curve" : "line");
	for (size_t i = 0; i < series->count; i++) {
		double px = place(x, series->points[i].x), py = place(y, series->points[i].y.middle);

		if (isfinite(px) && isfinite(py))
			fprintf(to, "%s%.1f %.1f", move, px, py);
		move = isfinite(px) && isfinite(py) ? "L" : "M";
	}
	fputs("\"/>", to);
}

static void draw_whisker(const struct point *p, double x, const struct scale *y, FILE *to)
{
	double low = place(y, p->y.low), high = place(y, p->y.high);

	if (isfinite(low) && isfinite(high))
		fprintf(to, "<path class=\"whisker\" d=\"M%.1f %.1fV%.1fm-3 0h6M%.1f %.1fm-3 0h6\"/>", x, low,
			high, x, low);
}

static void draw_series(const struct look *look, const struct scale *x, const struct scale *y, FILE *to)
{
	const struct page_series *series = look->series;

	fputs("<g ", to);
	put_class(look, to);
	fputc('>', to);
	if (has_line(series))
		draw_line(series, x, y, to);
	for (size_t i = 0; i < series->count && !is_curve(series); i++) {
		const struct point *p = &series->points[i];
		double px = place(x, p->x), py = place(y, p->y.middle);

		if (!isfinite(px) || !isfinite(py))
			continue;
		if (p->whisker)
			draw_whisker(p, px, y, to);
		draw_mark(look, px, py, to);
	}
	fputs("</g>", to);
}

static void draw_key(const struct look *look, FILE *to)
{
	fputs("<li><svg ", to);
	put_class(look, to);
	fputs(" viewBox=\"0 0 26 14\" aria-hidden=\"true\">", to);
	if (has_line(look->series))
		fprintf(to, "<path class=\"%s\" d=\"M1 7H25\"/>", is_curve(look->series) ? "curve" : "line");
	if (!is_curve(look->series))
		draw_mark(look, 13, 7, to);
	fputs("</svg>", to);
	show_escaped(look->series->name, to);
	fputs("</li>", to);
}

static void draw_legend(const struct page_plot *plot, FILE *to)
{
	fputs("<ul class=\"legend\">", to);
	for (size_t i = 0; i < plot->count; i++) {
		struct look look = look_of(plot, i);

		draw_key(&look, to);
	}
	fputs("</ul>", to);
}

void show_structures(FILE *to)
{
	fputs("<ul class=\"legend\">", to);
	for (enum structure i = STRUCTURE_NONE + 1; i < STRUCTURE_COUNT; i++) {
		struct page_series series = {
			.style = PAGE_LINE, .structure = i, .name = (char *)structure_name(i)};

		draw_key(&(struct look){.series = &series}, to);
	}
	fputs("</ul>\n", to);
}

void show_plot(const struct page_plot *plot, FILE *to)
{
	struct scale x = scale_of(plot, true), y = scale_of(plot, false);

	fputs("<figure class=\"plot\"><figcaption>", to);
	show_escaped(plot->title, to);
	fprintf(to, "</figcaption><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"", WIDTH, HEIGHT);
	show_escaped(plot->title, to);
	fputs("\">", to);
	draw_x_ticks(&x, to);
	draw_y_ticks(&y, to);
	fprintf(to, "<path class=\"axis\" d=\"M%d %dV%dH%d\"/>", LEFT, TOP, HEIGHT - BOTTOM, WIDTH - RIGHT);
	draw_names(plot, to);
	for (size_t i = 0; i < plot->count; i++) {
		struct look look = look_of(plot, i);

		draw_series(&look, &x, &y, to);
	}
	fputs("</svg>", to);
	draw_legend(plot, to);
	fputs("</figure>\n", to);
}
