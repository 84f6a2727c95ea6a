/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/truth.h"

#include <inttypes.h>
#include <string.h>

#include <inkling/packet.h>

#include "sim/text.h"

enum {
	FIN = INK_TCP_FIN,
	SYN = INK_TCP_SYN,
	RST = INK_TCP_RST,
	PSH = INK_TCP_PSH,
	ACK = INK_TCP_ACK,
	URG = INK_TCP_URG
};

/* ---------------------------------------------------------------------- a segment */

static unsigned count_illegal(struct sim_truth *t, unsigned f)
{
	const unsigned found[] = {
		f == 0,
		f & SYN && f & FIN,
		f & SYN && f & RST,
		f & FIN && f & RST,
		f & FIN && !(f & (ACK | RST | SYN)),
		(f & (FIN | PSH | URG)) == (FIN | PSH | URG) && !(f & (SYN | RST | ACK)),
		f && !(f & (SYN | RST | ACK | FIN)),
	};
	uint64_t *const counts[] = {&t->illegal.null,        &t->illegal.syn_fin,         &t->illegal.syn_rst,
				    &t->illegal.fin_rst,     &t->illegal.fin_without_ack, &t->illegal.xmas,
				    &t->illegal.only_psh_urg};
	unsigned any = 0;

	for (unsigned i = 0; i < sizeof found / sizeof found[0]; i++) {
		*counts[i] += found[i];
		any |= found[i];
	}
	t->illegal.any += any;
	return any;
}

/* SYN by one end, then SYN+ACK by the other, then ACK without SYN or RST by the first. */
static void shake(struct sim_flow *f, unsigned from, unsigned flags)
{
	unsigned alone = flags & (SYN | ACK | RST | FIN);

	if (alone == SYN && f->handshake == 0) {
		f->handshake = 1;
		f->opener = from;
	} else if (alone == (SYN | ACK) && f->handshake == 1 && from != f->opener) {
		f->handshake = 2;
	} else if ((flags & (ACK | SYN | RST)) == ACK && f->handshake == 2 && from == f->opener) {
		f->handshake = 3;
	}
}

void sim_flow_segment(struct sim_flow *f, struct sim_truth *t, unsigned from, unsigned flags)
{
	t->flags[flags & 0x3f]++;
	f->illegal += count_illegal(t, flags & 0x3f);
	f->packets[from]++;
	f->syn[from] += (flags & (SYN | ACK)) == SYN;
	f->synack[from] += (flags & (SYN | ACK)) == (SYN | ACK);
	f->fin[from] += (flags & FIN) != 0;
	f->rst[from] += (flags & RST) != 0;
	shake(f, from, flags);
}

/* ------------------------------------------------------------------------- a flow */

static void end_opening(const struct sim_flow *f, struct sim_truth *t)
{
	unsigned syns = f->syn[0] + f->syn[1], answers = f->synack[0] + f->synack[1];
	unsigned opener = f->syn[0] == 0;
	int crossed = f->syn[0] && f->syn[1] && f->synack[opener];

	t->tcp.handshake_complete += f->handshake == 3;
	t->tcp.half_open += f->handshake == 2;
	t->tcp.syn_seen += syns > 0;
	t->tcp.syn_repeated += syns > 1;
	t->tcp.synack_without_syn += !syns && answers;
	t->tcp.midstream += !syns && !answers;
	if (!syns || f->synack[!opener])
		return;
	t->tcp.syn_without_synack += !crossed;
	t->tcp.syn_refused_by_rst += f->rst[!opener] > 0;
}

static void end_closing(const struct sim_flow *f, struct sim_truth *t)
{
	int fin = f->fin[0] || f->fin[1], rst = f->rst[0] || f->rst[1], both = f->fin[0] && f->fin[1];

	t->tcp.fin_seen += (unsigned)fin;
	t->tcp.rst_seen += (unsigned)rst;
	t->tcp.fin_both += (unsigned)both;
	t->tcp.fin_both_no_rst += (unsigned)(both && !rst);
	t->tcp.fin_and_rst += (unsigned)(fin && rst);
	t->tcp.rst_no_fin += (unsigned)(rst && !fin);
	t->tcp.no_fin_no_rst += (unsigned)(!fin && !rst);
}

void sim_flow_end(const struct sim_flow *f, struct sim_truth *t)
{
	t->tcp.flows++;
	t->tcp.one_way += !f->packets[0] || !f->packets[1];
	t->tcp.illegal += f->illegal > 0;
	end_opening(f, t);
	end_closing(f, t);
}

/* --------------------------------------------------------------------------- JSON */

struct field {
	const char *name;
	uint64_t value;
};

static void write_object(FILE *to, const char *name, const struct field *fields, size_t n)
{
	fprintf(to, " \"%s\": {", name);
	for (size_t i = 0; i < n; i++)
		fprintf(to, "%s\n  \"%s\": %" PRIu64, i ? "," : "", fields[i].name, fields[i].value);
	fprintf(to, "\n },\n");
}

#define WRITE(to, name, fields) write_object(to, name, fields, sizeof fields / sizeof fields[0])

static void write_packets(const struct sim_truth *t, FILE *to)
{
	const struct field fields[] = {
		{"frames", t->frames},   {"bytes_on_wire", t->bytes},     {"ipv4_outer", t->ipv4},
		{"ipv6_outer", t->ipv6}, {"tcp_packets", t->tcp_packets}, {"udp_packets", t->udp_packets},
	};

	WRITE(to, "packets", fields);
}

static void write_tcp(const struct sim_truth *t, FILE *to)
{
	const struct field fields[] = {
		{"flows", t->tcp.flows},
		{"syn_seen", t->tcp.syn_seen},
		{"handshake_complete", t->tcp.handshake_complete},
		{"half_open_syn_synack_no_ack", t->tcp.half_open},
		{"syn_without_synack", t->tcp.syn_without_synack},
		{"syn_refused_by_rst", t->tcp.syn_refused_by_rst},
		{"synack_without_syn", t->tcp.synack_without_syn},
		{"midstream_no_syn_no_synack", t->tcp.midstream},
		{"fin_seen", t->tcp.fin_seen},
		{"fin_both_directions", t->tcp.fin_both},
		{"fin_both_no_rst", t->tcp.fin_both_no_rst},
		{"rst_seen", t->tcp.rst_seen},
		{"rst_no_fin", t->tcp.rst_no_fin},
		{"fin_and_rst", t->tcp.fin_and_rst},
		{"no_fin_no_rst", t->tcp.no_fin_no_rst},
		{"one_way", t->tcp.one_way},
		{"syn_repeated_or_tuple_reuse", t->tcp.syn_repeated},
		{"flows_with_illegal_flags", t->tcp.illegal},
	};

	WRITE(to, "tcp", fields);
}

static void write_flags(const struct sim_truth *t, FILE *to)
{
	const char *comma = "";

	fprintf(to, " \"tcp_flag_histogram\": {");
	for (unsigned i = 0; i < 64; i++) {
		if (!t->flags[i])
			continue;
		fprintf(to, "%s\n  \"0x%03x\": %" PRIu64, comma, i, t->flags[i]);
		comma = ",";
	}
	fprintf(to, "\n },\n");
}

static void write_illegal(const struct sim_truth *t, FILE *to)
{
	const struct field fields[] = {
		{"null", t->illegal.null},
		{"syn_fin", t->illegal.syn_fin},
		{"syn_rst", t->illegal.syn_rst},
		{"fin_rst", t->illegal.fin_rst},
		{"fin_without_ack", t->illegal.fin_without_ack},
		{"xmas", t->illegal.xmas},
		{"only_psh_urg", t->illegal.only_psh_urg},
		{"packets_with_any", t->illegal.any},
	};

	WRITE(to, "illegal_flag_packets", fields);
}

static void write_pairs(const struct sim_truth *t, FILE *to)
{
	const struct field fields[] = {
		{"ip_pairs_tcp", t->pairs_tcp},
		{"ip_pairs_udp", t->pairs_udp},
		{"ip_pairs_tcp_and_udp", t->pairs_both},
		{"ip_pairs_concurrent_64s", t->pairs_both},
		{"ip_pairs_tcp_and_udp_after_port_exclusion", t->pairs_both},
		{"ip_pairs_concurrent_after_port_exclusion", t->pairs_both},
	};

	WRITE(to, "p2p", fields);
}

static void write_video(const struct sim_truth *t, FILE *to)
{
	const struct field pictures[] = {{"I", t->pictures[0]}, {"P", t->pictures[1]}, {"B", t->pictures[2]}};
	const struct field bytes[] = {
		{"I", t->picture_bytes[0]}, {"P", t->picture_bytes[1]}, {"B", t->picture_bytes[2]}};

	fprintf(to, " \"video_streams\": %" PRIu64 ",\n", t->streams);
	WRITE(to, "pictures_by_start_code", pictures);
	WRITE(to, "es_bytes_by_type", bytes);
}

void sim_truth_write(const struct sim_truth *t, const char *name, FILE *to)
{
	fprintf(to, "{\n \"file\": ");
	sim_put_json(name, to);
	fprintf(to, ",\n");
	write_packets(t, to);
	fprintf(to, " \"hosts\": %" PRIu64 ",\n \"tcp_flows\": %" PRIu64 ",\n \"udp_flows\": %" PRIu64 ",\n",
		t->hosts, t->tcp.flows, t->udp_flows);
	write_tcp(t, to);
	write_flags(t, to);
	write_illegal(t, to);
	write_pairs(t, to);
	write_video(t, to);
	fprintf(to, " \"alive_at_once\": %" PRIu64 "\n}\n", t->alive_at_once);
}
