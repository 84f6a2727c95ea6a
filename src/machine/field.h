/* SPDX-License-Identifier: BSD-2-Clause */
/* [F] What tests look at and how counters are compared: what compiled machines hold, here and in the kernel. */
#ifndef INKLING_MACHINE_FIELD_H
#define INKLING_MACHINE_FIELD_H

/* What a test looks at. */
enum ink_field {
	INK_FIELD_VERSION,
	INK_FIELD_PROTOCOL,
	INK_FIELD_TCP_FLAG, /* ranges[0].low is the bit */
	INK_FIELD_SPORT,
	INK_FIELD_DPORT,
	INK_FIELD_PORT, /* either */
	INK_FIELD_SHOST,
	INK_FIELD_DHOST,
	INK_FIELD_HOST, /* either */
	INK_FIELD_LENGTH,
	INK_FIELD_PAYLOAD,
	INK_FIELD_TTL,
	INK_FIELD_TOS,
	INK_FIELD_VLAN,
	INK_FIELD_DEPTH,
	INK_FIELD_ICMP_TYPE,
	INK_FIELD_ICMP_CODE,
	INK_FIELD_FRAGMENT,
	INK_FIELD_FROM_HIGH,
	INK_FIELD_RTP,
	INK_FIELD_RTP_TYPE,
	INK_FIELD_TS,
	INK_FIELD_NAL,
	INK_FIELD_NAL_REF, /* nal_ref_idc * 32 + type; the values of a test are all pairs of some of each */
	INK_FIELD_PICTURE, /* 1 I, 2 P, 3 B; 0: none starts */
	INK_FIELD_BEGINS,
	INK_FIELD_CHANCE,
	INK_FIELD_COUNTER,
	INK_FIELD_QUEUE_PACKETS, /* of the device that the packet leaves by, before it joins; saturated at UINT32_MAX */
	INK_FIELD_QUEUE_BYTES,
	INK_FIELD_QUEUE_TIME, /* microseconds until those bytes are sent */
	INK_FIELD_FILTER
};

enum { INK_NAL_TYPES = 32, INK_NAL_REFS = 4 }; /* values of nal_unit_type and of nal_ref_idc */

enum ink_compare { INK_EQ, INK_NE, INK_LT, INK_LE, INK_GT, INK_GE };

#endif
