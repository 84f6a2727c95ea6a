/* SPDX-License-Identifier: BSD-2-Clause */
#include "packet/video.h"

#include "packet/pictures.h"

/* The payload of a UDP packet; others have none. `bytes` is never NULL: NULL + 0 is undefined. */
static inline void take_payload(struct ink_payload *payload, const struct ink_packet *p)
{
	int is_there = p->protocol == INK_PROTOCOL_UDP && p->payload;

	payload->bytes = is_there ? p->payload : (const uint8_t *)"";
	payload->length = is_there ? p->payload_captured : 0;
	payload->is_cut = p->payload_captured < p->payload_wire;
}

int ink_video_rtp(const struct ink_packet *p)
{
	struct ink_payload payload;

	take_payload(&payload, p);
	return ink_payload_rtp_type(&payload);
}

int ink_video_ts(const struct ink_packet *p)
{
	struct ink_payload payload;

	take_payload(&payload, p);
	return ink_payload_is_ts(&payload);
}

struct ink_pictures ink_video_pictures(const struct ink_packet *p, unsigned tail)
{
	struct ink_payload payload;

	take_payload(&payload, p);
	ink_payload_pictures(&payload, tail);
	return payload.pictures;
}

uint32_t ink_video_nals(const struct ink_packet *p, uint32_t refs)
{
	struct ink_payload payload;

	take_payload(&payload, p);
	ink_payload_nals(&payload);
	return ink_payload_nals_of(&payload, refs);
}
