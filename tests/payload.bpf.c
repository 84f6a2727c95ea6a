/* SPDX-License-Identifier: BSD-2-Clause */
/* The payload's tests in a program of their own, at XDP and at tc: see test_kernel_payload.c. */
#include "kernel/payload.bpf.h"

#include "tests/payload_asked.h"

char dual_license[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct talk);
} talks SEC(".maps");

/* A parsed packet, where the real programs keep theirs. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct ink_packet);
} packets SEC(".maps");

static inline struct ink_packet *packet_asked(struct talk *talk)
{
	struct ink_packet *packet = bpf_map_lookup_elem(&packets, &(uint32_t){0});

	if (!packet)
		return NULL;
	talk->answered.runs++;
	talk->answered.loaded = 0;
	packet->protocol = (uint8_t)talk->asked.protocol;
	packet->payload_captured = talk->asked.captured;
	packet->payload_wire = talk->asked.wire;
	return packet;
}

static inline void answer(struct talk *talk, struct payload *p)
{
	const struct asked *asked = &talk->asked;
	struct answered *answered = &talk->answered;

	answered->loaded = 1;
	if (asked->what & ASK_PICTURES) {
		answered->last = payload_pictures(p, asked->tail);
		answered->pictures = p->video.pictures;
	}
	if (asked->what & ASK_NALS) {
		answered->nals = (uint32_t)payload_nals(p);
		answered->unneeded = ink_payload_nals_of(&p->video, 1);
	}
	if (asked->what & ASK_RTP)
		answered->rtp_type = payload_rtp_type(p);
	if (asked->what & ASK_TS)
		answered->is_ts = (uint32_t)payload_is_ts(p);
	if (asked->what & ASK_BEGINS)
		answered->begins = (uint32_t)payload_begins(p, asked->pattern, asked->length);
}

SEC("xdp.frags")
int at_xdp(struct xdp_md *ctx)
{
	struct talk *talk = bpf_map_lookup_elem(&talks, &(uint32_t){0});
	struct ink_packet *packet = talk ? packet_asked(talk) : NULL;
	struct payload *p = packet ? payload_load_xdp(ctx, packet, ASKED_OFFSET) : NULL;

	if (p)
		answer(talk, p);
	return XDP_PASS;
}

SEC("tc")
int at_tc(struct __sk_buff *skb)
{
	struct talk *talk = bpf_map_lookup_elem(&talks, &(uint32_t){0});
	struct ink_packet *packet = talk ? packet_asked(talk) : NULL;
	struct payload *p = packet ? payload_load_skb(skb, packet, ASKED_OFFSET) : NULL;

	if (p)
		answer(talk, p);
	return 0;
}
