/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/router/cells.h"

#include <stdio.h>
#include <string.h>

#define FIFO "pfifo limit 200"
#define EARLY "--set,congested=5,--set,crowded=10,--set,full=20"

/* RED as tc-red(8) advises: max is three times min, burst (2 min + max) / (3 avpkt), room for 200 packets. */
#define RED "red limit 271600 min 30000 max 90000 avpkt 1358 burst 37 bandwidth 20mbit probability 0.1"

const struct policy policies[] = {
	{"tail", "tail drop", FIFO, NULL, NULL, CLIP_MPEG2},
	{"packets", "random packets", FIFO, "packets", NULL, CLIP_MPEG2},
	{"fq_codel", "fq_codel", "fq_codel", NULL, NULL, CLIP_MPEG2},
	{"codel", "codel", "codel", NULL, NULL, CLIP_MPEG2},
	{"red", "RED", RED, NULL, NULL, CLIP_MPEG2},
	{"pie", "PIE", "pie", NULL, NULL, CLIP_MPEG2},
	{"cake", "CAKE", "cake", NULL, NULL, CLIP_MPEG2},
	{"random", "random frames", FIFO, "aqm-random", NULL, CLIP_MPEG2},
	{"b", "B frames", FIFO, "aqm-b", NULL, CLIP_MPEG2},
	{"itail", "I tails", FIFO, "aqm-itail", NULL, CLIP_MPEG2},
	{"combined", "combined", FIFO, "aqm-combined", NULL, CLIP_MPEG2},
	{"fq-random", "random frames, then fq_codel", "fq_codel", "aqm-random", EARLY, CLIP_MPEG2},
	{"fq-b", "B frames, then fq_codel", "fq_codel", "aqm-b", EARLY, CLIP_MPEG2},
	{"fq-itail", "I tails, then fq_codel", "fq_codel", "aqm-itail", EARLY, CLIP_MPEG2},
	{"fq-combined", "combined, then fq_codel", "fq_codel", "aqm-combined", EARLY, CLIP_MPEG2},
	{"h264-tail", "H.264: tail drop", FIFO, NULL, NULL, CLIP_H264},
	{"h264-packets", "H.264: random packets", FIFO, "packets", NULL, CLIP_H264},
	{"h264-fq_codel", "H.264: fq_codel", "fq_codel", NULL, NULL, CLIP_H264},
	{"h264-aqm", "H.264: aqm-h264", FIFO, "aqm-h264", NULL, CLIP_H264},
	{"packed-tail", "packed: tail drop", FIFO, NULL, NULL, CLIP_PACKED},
	{"packed-b", "packed: B frames", FIFO, "aqm-b", NULL, CLIP_PACKED},
	{"packed-combined", "packed: combined", FIFO, "aqm-combined", NULL, CLIP_PACKED},
};
const size_t policy_count = sizeof policies / sizeof policies[0];

const struct study studies[] = {
	{.name = "grid", .link = 20000000, .frames = 50 * FILM_GROUP, .kbits = 1660, .speed = 2},
	{.name = "demo",
	 .link = 10000000,
	 .frames = 17 * FILM_GROUP,
	 .kbits = 1660,
	 .speed = 1,
	 .source = "testsrc2=size=352x288:rate=25,scroll=horizontal=0.006:vertical=0.003"},
	{.name = "quick",
	 .link = 10000000,
	 .frames = 5 * FILM_GROUP,
	 .kbits = 1660,
	 .speed = 1,
	 .source = "testsrc2=size=352x288:rate=25,scroll=horizontal=0.006:vertical=0.003"},
};
const size_t study_count = sizeof studies / sizeof studies[0];

#define CURVE(name, load)                                                                                    \
	{                                                                                                    \
		"grid", name, name " % loss", load, STREAMS, 0, 1, true                                      \
	}

/* Loads of a curve lose 2, 3, 6, 12, 15, 25 and 30 %, where the paper has its thresholds. */
const struct scenario scenarios[] = {
	{"grid", "10", "10 % too much, alone", 1.10, STREAMS, 0, 5, false},
	{"grid", "10-tcp", "10 % too much, beside TCP", 1.10, STREAMS, 2, 5, false},
	{"grid", "share", "55 % of the link, beside TCP", .55, STREAMS / 2, 2, 2, false},
	CURVE("2", 1 / .98),
	CURVE("3", 1 / .97),
	CURVE("6", 1 / .94),
	CURVE("12", 1 / .88),
	CURVE("15", 1 / .85),
	CURVE("25", 1 / .75),
	CURVE("30", 1 / .70),
	{"grid", "5", "5 % too much, alone", 1.05, STREAMS, 0, 2, false},
	{"grid", "20", "20 % too much, alone", 1.20, STREAMS, 0, 2, false},
	{"grid", "5-tcp", "5 % too much, beside TCP", 1.05, STREAMS, 2, 2, false},
	{"grid", "20-tcp", "20 % too much, beside TCP", 1.20, STREAMS, 2, 2, false},
	{"demo", "demo", "Six streams, 10 % too much for a link of 10 Mbit/s", 1.10, STREAMS, 0, 1, false},
	{"quick", "quick", "Six streams, 20 % too much for a link of 10 Mbit/s", 1.20, STREAMS, 0, 1, false},
};
const size_t scenario_count = sizeof scenarios / sizeof scenarios[0];

/* Those whose thresholds the paper has, and what it calls random. */
static bool has_thresholds(const struct policy *policy)
{
	static const char *const names[] = {"packets", "random", "b", "itail", "combined"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		if (!strcmp(policy->name, names[i]))
			return true;
	return false;
}

/* The demo leaves out what needs explaining, the quick form all but a comparison. */
static bool is_shown(const struct policy *policy, const char *study)
{
	if (!strcmp(study, "quick"))
		return !strcmp(policy->name, "tail") || !strcmp(policy->name, "b");
	return strcmp(study, "demo") || !(policy->options || strstr(policy->name, "packets") ||
					  !strcmp(policy->name, "h264-fq_codel"));
}

/* What is beside the question is measured where there is 10 % too much. */
static bool is_cell(const struct policy *policy, const struct scenario *scenario)
{
	bool grid = !strcmp(scenario->study, "grid");

	if (policy->clip == CLIP_PACKED && strcmp(scenario->name, "10"))
		return false;
	if (policy->clip == CLIP_H264 && grid && scenario->load != 1.10)
		return false;
	return is_shown(policy, scenario->study) && (!scenario->curve || has_thresholds(policy));
}

/* By scenario, seed and policy. */
bool cell_at(const struct study *study, size_t number, struct router_cell *cell)
{
	for (size_t s = 0; s < scenario_count; s++)
		for (unsigned seed = 1; seed <= scenarios[s].seeds; seed++)
			for (size_t p = 0; p < policy_count; p++) {
				if (strcmp(scenarios[s].study, study->name) ||
				    !is_cell(&policies[p], &scenarios[s]))
					continue;
				*cell = (struct router_cell){&policies[p], &scenarios[s], seed};
				if (!number--)
					return true;
			}
	return false;
}

void cell_name(const struct router_cell *cell, char name[CELL_NAME])
{
	snprintf(name, CELL_NAME, "%s.%s.%u", cell->policy->name, cell->scenario->name, cell->seed);
}

const struct policy *policy_named(const char *name)
{
	for (size_t i = 0; i < policy_count; i++)
		if (!strcmp(policies[i].name, name))
			return &policies[i];
	return NULL;
}

const struct scenario *scenario_named(const char *name)
{
	for (size_t i = 0; i < scenario_count; i++)
		if (!strcmp(scenarios[i].name, name))
			return &scenarios[i];
	return NULL;
}

const struct study *study_named(const char *name)
{
	for (size_t i = 0; i < study_count; i++)
		if (!strcmp(studies[i].name, name))
			return &studies[i];
	return NULL;
}
