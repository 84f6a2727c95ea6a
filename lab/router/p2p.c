/* SPDX-License-Identifier: BSD-2-Clause */
#include "lab/router/p2p.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rates {
	double swarm, web, calls;
};

struct p2p {
	struct rates without, with;
	unsigned long long pairs, packets, false_steps, false_flows;
};

static bool scan_rates(const char *line, const char *word, struct rates *r)
{
	size_t length = strlen(word);

	return !strncmp(line, word, length) &&
	       sscanf(line + length, ": swarm %lf bit/s, web %lf bit/s, calls %lf bit/s", &r->swarm, &r->web,
		      &r->calls) == 3;
}

/* How many of the four lines it is: each sets a bit. */
static unsigned scan(const char *line, struct p2p *p)
{
	if (scan_rates(line, "without", &p->without))
		return 1;
	if (scan_rates(line, "with", &p->with))
		return 2;
	if (sscanf(line, "kernel: pairs %llu", &p->pairs) == 1)
		return 4;
	if (sscanf(line, "verify: packets %llu, false positives %llu steps, %llu flows", &p->packets,
		   &p->false_steps, &p->false_flows) == 3)
		return 8;
	return 0;
}

static bool read_all(const char *folder, struct p2p *p)
{
	char *path, *line = NULL;
	unsigned seen = 0;
	size_t room = 0;
	FILE *file;

	if (asprintf(&path, "%s/p2p", folder) < 0)
		return false;
	file = fopen(path, "r");
	free(path);
	while (file && getline(&line, &room, file) > 0)
		seen |= scan(line, p);
	free(line);
	if (file)
		fclose(file);
	return seen == 15;
}

static void show_row(struct page_table *t, const char *name, double without, double with)
{
	page_row(t);
	page_word(t, "%s", name);
	page_number(t, without / 1e6);
	page_number(t, with / 1e6);
}

static void claim_same(struct page *page, const char *name, double without, double with)
{
	page_claim_within(page, 100 * with / without, 98, 102,
			  "%s, with p2p attached, in percent of what they had without", name);
}

static void show_all(struct page *page, const struct p2p *p)
{
	struct page_table *t = page_table(
		page, "p2p", "What arrives, in Mbit/s",
		(struct page_column[]){{"traffic", NULL, 0}, {"without p2p", NULL, 4}, {"with p2p", NULL, 4}},
		3);

	show_row(t, "swarm", p->without.swarm, p->with.swarm);
	show_row(t, "web", p->without.web, p->with.web);
	show_row(t, "calls", p->without.calls, p->with.calls);
	page_text(
		page,
		"The kernel found %llu pairs of hosts. Recorded before the router and run beside an exact table, the "
		"same %llu packets have %llu false matches, in %llu of the pairs. docs/router.md has the figure for many.",
		p->pairs, p->packets, p->false_steps, p->false_flows);
	page_claim_within(page, p->with.swarm / 1e6, .95, 1.05, "the swarm, held to 1 Mbit/s");
	claim_same(page, "The web pages", p->without.web, p->with.web);
	claim_same(page, "The calls", p->without.calls, p->with.calls);
	page_claim(page, (double)p->false_flows, PAGE_AT_MOST, 0,
		   "pairs of hosts that were taken for others");
}

void p2p_show(struct page *page, const char *folder)
{
	struct p2p p = {.pairs = 0};

	if (!read_all(folder, &p))
		return;
	page_heading(page, "Peer-to-peer, held to its rate");
	page_text(
		page,
		"A swarm of 20 pairs of hosts offers 5 Mbit/s, mostly by UDP. Beside it are pairs that load web "
		"pages by TCP and QUIC, 6 Mbit/s, and calls by UDP alone, 1 Mbit/s. At the router is an HTB with "
		"a class of 1 Mbit/s; the machine p2p finds pairs that talk TCP and UDP at once, and gives "
		"their packets this class.");
	show_all(page, &p);
}
