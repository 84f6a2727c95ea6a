/* SPDX-License-Identifier: BSD-2-Clause */
/* NDJSON, one object a line: what all records begin with, and reports. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record/record.h"
#include "sim/text.h"

static void put_text(FILE *to, const char *name, const char *text)
{
	fprintf(to, ",\"%s\":", name);
	sim_put_json(text, to);
}

void record_head(FILE *to, const char *type, const uint64_t *time, const struct record_source *source)
{
	char text[TIME_TEXT];

	if (time)
		fprintf(to, "{\"timestamp\":\"%s\"", time_text(*time, source->nanoseconds, text));
	else
		fputs("{\"timestamp\":null", to);
	put_text(to, "event_type", type);
	if (source->interface)
		put_text(to, "in_iface", source->interface);
	else
		put_text(to, "pcap_filename", source->file);
}

void record_machine(FILE *to, const struct ink_machine_view *view)
{
	put_text(to, "machine", view->name);
	fprintf(to, ",\"machine_hash\":\"%08" PRIx32 "\"", view->hash);
}

/* ---------------------------------------------------------------------------- reports */

/* The packet's, as Suricata's EVE has them. */
static void put_ends(FILE *to, const struct ink_packet *p)
{
	char source[INK_ADDRESS_SIZE], destination[INK_ADDRESS_SIZE], number[4];

	ink_address_text(p->source, p->version, source);
	ink_address_text(p->destination, p->version, destination);
	fprintf(to, ",\"src_ip\":\"%s\"", source);
	if (has_ports(p))
		fprintf(to, ",\"src_port\":%u", p->sport);
	fprintf(to, ",\"dest_ip\":\"%s\"", destination);
	if (has_ports(p))
		fprintf(to, ",\"dest_port\":%u", p->dport);
	fprintf(to, ",\"proto\":\"%s\"", protocol_name(p->protocol, number));
	if (is_icmp(p))
		fprintf(to, ",\"icmp_type\":%u,\"icmp_code\":%u", p->icmp_type, p->icmp_code);
}

static void put_flow(FILE *to, const struct ink_machine_view *view, const struct ink_moved *m)
{
	struct key_part part[KEY_PARTS_MOST];
	unsigned n = flow_key(view, m, part);

	fprintf(to, ",\"flow_id\":%" PRIu64 ",\"key\":{", flow_number(view, m));
	for (unsigned i = 0; i < n; i++) {
		const char *quote = part[i].is_number ? "" : "\"";

		fprintf(to, "%s\"%s\":%s%s%s", i ? "," : "", part[i].name, quote, part[i].value, quote);
	}
	putc('}', to);
	put_text(to, "key_from", flow_key_from(view, m));
}

static const char *state_name(const struct ink_machine_view *view, ink_answer state)
{
	if (state < 0)
		return state == INK_ABSENT ? "absent" : "unsure";
	return view->state_names[view->state_of[state]];
}

static void put_step(FILE *to, const struct ink_machine_view *view, const struct ink_moved *m)
{
	put_text(to, "event", view->event_names[view->event_of[m->event]]);
	put_text(to, "from", state_name(view, m->move.from));
	put_text(to, "to", state_name(view, m->move.to));
}

/* The text, and what the machine says about it. */
static void put_report(FILE *to, const struct ink_machine_view *view, const struct ink_moved *m)
{
	const struct ink_action_more *more =
		view->action_more ? &view->action_more[m->action - view->action] : NULL;
	char *text = report_text(view, m);

	put_text(to, "report", text ? text : m->action->report);
	free(text);
	if (more && more->severity)
		fprintf(to, ",\"severity\":%u", more->severity);
	if (more && more->id)
		put_text(to, "id", more->id);
}

void record_report(FILE *to, const struct ink_machine_view *view, const struct ink_moved *m,
		   const struct record_source *source)
{
	const struct ink_packet *p = m->packet;
	char community[INK_COMMUNITY_ID_SIZE];

	record_head(to, "report", &p->time, source);
	if (source->hook)
		fprintf(to, ",\"hook\":\"%s\",\"processor\":%u", source->hook, source->processor);
	fprintf(to, ",\"pcap_cnt\":%" PRIu64, m->number);
	record_machine(to, view);
	put_report(to, view, m);
	put_ends(to, p);
	put_flow(to, view, m);
	put_step(to, view, m);
	if (source->community_id && ink_packet_community_id(p, 0, community) == 0)
		put_text(to, "community_id", community);
	fputs("}\n", to);
}
