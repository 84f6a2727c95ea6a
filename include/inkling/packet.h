/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets: reading captures, and the key of the flow of each frame. This is the
 * library inkling-packet; it needs libpcap, which the tables do not. It works
 * with the library inkling of the same version: tracking (track.h) refuses any
 * other.
 *
 *     struct ink_capture_options o = { .size = sizeof o, .file = "x.pcap" };
 *     struct ink_capture *c = ink_capture_open(&o, NULL);
 *     struct ink_packet packet[64];
 *     struct ink_packets p = { .at = packet, .room = 64 };
 *
 *     while (ink_capture_read(c, &p, NULL) == 0 && !p.end)
 *             for (size_t i = 0; i < p.n; i++)
 *                     if (packet[i].skip == INK_NOT_SKIPPED)
 *                             length = ink_packet_key(&packet[i], INK_KEY_CONNECTION, key);
 *     ink_capture_close(c);
 *
 * docs/packets.md lists what is decoded, and the reasons for skipping a packet.
 *
 * Return values and structs are as in inkling.h. Thread rules: different captures,
 * filters and dumps are independent, and each belongs to one thread at a time;
 * functions that take only packets may be called from any thread. Processes: after
 * fork(), parent and child share the file or the interface of a capture and the
 * file of a dump, so only one of them may continue to use it. The other may close
 * it, but a dump only if nothing was written since it was opened.
 */
#ifndef INKLING_PACKET_H
#define INKLING_PACKET_H

#include <stddef.h>
#include <stdint.h>

#include <inkling/inkling.h>
#include <inkling/key.h>

#ifdef __cplusplus
extern "C" {
#endif

/* -------------------------------------------------------------- a packet */

/* Why a packet has no flow. The packet's `skip`. */
enum ink_skip {
	INK_NOT_SKIPPED = 0,      /* it has a flow */
	INK_SKIP_TRUNCATED = 1,   /* the bytes end inside a header that is needed */
	INK_SKIP_NOT_IP = 2,      /* ARP, spanning tree, PPP control, ... */
	INK_SKIP_BAD_VERSION = 3, /* IP is expected, and its version is neither 4 nor 6 */
	INK_SKIP_BAD_LENGTH = 4,  /* a header's length contradicts itself or the outer headers */
	INK_SKIP_FRAGMENT = 5,    /* a later fragment: has no ports; addresses and protocol are set */
	INK_SKIP_PROTOCOL = 6,    /* IP, but not TCP, UDP, SCTP or ICMP; addresses and protocol are set */
	INK_SKIP_ENCRYPTED = 7,   /* the contents are encrypted (ESP, protected 802.11) */
	INK_SKIP_TOO_DEEP = 8,    /* more nested headers than the parser follows */
	INK_SKIP_LINK = 9,        /* captured on a link type that is not decoded */
	INK_SKIPS = 10            /* how many there are */
};

/* "truncated", "not ip", ...; for INK_NOT_SKIPPED "none". NULL for an unknown number. */
const char *ink_skip_name(enum ink_skip skip);

/* Link types: the LINKTYPE_ numbers of capture files, as far as they are decoded. */
enum ink_link {
	INK_LINK_NULL = 0, /* BSD loopback: address family in the byte order of the capturing machine */
	INK_LINK_ETHERNET = 1,
	INK_LINK_PPP = 9,       /* with or without HDLC framing */
	INK_LINK_PPP_HDLC = 50, /* the same */
	INK_LINK_PPPOE = 51,    /* PPPoE session */
	INK_LINK_RAW = 101,     /* IPv4 or IPv6 */
	INK_LINK_CHDLC = 104,   /* Cisco HDLC */
	INK_LINK_80211 = 105,
	INK_LINK_LOOP = 108,     /* OpenBSD loopback: address family in network order */
	INK_LINK_SLL = 113,      /* Linux "any" */
	INK_LINK_RADIOTAP = 127, /* 802.11 behind a radiotap header */
	INK_LINK_MPLS = 219,
	INK_LINK_IPV4 = 228,
	INK_LINK_IPV6 = 229,
	INK_LINK_NFLOG = 239,
	INK_LINK_SLL2 = 276
};

enum ink_fragment {
	INK_WHOLE = 0,
	INK_FRAGMENT_FIRST = 1, /* has the ports; more fragments follow */
	INK_FRAGMENT_LATER = 2
};

#define INK_PROTOCOL_ICMP 1
#define INK_PROTOCOL_TCP 6
#define INK_PROTOCOL_UDP 17
#define INK_PROTOCOL_ICMPV6 58
#define INK_PROTOCOL_SCTP 132

/* tcp_flags: the 12 bits of the header. */
#define INK_TCP_FIN 0x001u
#define INK_TCP_SYN 0x002u
#define INK_TCP_RST 0x004u
#define INK_TCP_PSH 0x008u
#define INK_TCP_ACK 0x010u
#define INK_TCP_URG 0x020u
#define INK_TCP_ECE 0x040u
#define INK_TCP_CWR 0x080u
#define INK_TCP_NS 0x100u

/* packet.flags */
#define INK_FROM_HIGH 1u /* the sender is the higher of the two ends (address, then port) */

/*
 * A packet, with the headers of the innermost IP packet, or of the outermost
 * with INK_OUTERMOST. Numbers are in the machine's byte order, addresses in
 * network order. Fields that the packet does not have are 0.
 *
 * The caller of ink_packet_parse sets the first four fields, and the call fills
 * in the rest. Pointers point into the frame and are valid as long as it is.
 */
struct ink_packet {
	const uint8_t *frame; /* the captured bytes */
	uint64_t time;        /* nanoseconds since 1970, as captured */
	uint32_t captured;    /* bytes at `frame` */
	uint32_t wire;        /* bytes that the frame had on the wire; at least `captured` */

	uint64_t clock;            /* as time, but never decreases; set by ink_capture_read */
	const uint8_t *payload;    /* what follows the transport header */
	uint32_t payload_captured; /* bytes at `payload` */
	uint32_t payload_wire;     /* bytes that the payload had on the wire, without padding of the link */
	uint32_t network;          /* where in the frame the IP header begins */
	uint32_t transport;        /* where in the frame the TCP, UDP, SCTP or ICMP header begins; else 0 */
	uint8_t source[16];        /* IPv4 in the first 4, the others 0 */
	uint8_t destination[16];
	uint16_t sport, dport;     /* TCP, UDP, SCTP */
	uint16_t tcp_flags;        /* INK_TCP_* */
	uint16_t vlan;             /* id of the innermost VLAN tag */
	uint32_t tcp_seq, tcp_ack; /* as in the header */
	uint8_t version;           /* 4 or 6; 0: no IP header was read */
	uint8_t protocol;          /* of the transport header; INK_PROTOCOL_* */
	uint8_t fragment;          /* enum ink_fragment */
	uint8_t depth;             /* IP headers outside this one */
	uint8_t ttl;               /* time to live, hop limit */
	uint8_t tos;               /* type of service, traffic class */
	uint8_t icmp_type, icmp_code;
	uint8_t flags;        /* INK_FROM_HIGH */
	uint8_t skip;         /* enum ink_skip */
	uint8_t reserved[14]; /* two cache lines */
};

/* For ink_packet_parse. */
#define INK_OUTERMOST 1u /* do not look into tunnels */

/*
 * Decodes the frame that packet->frame, captured and wire describe; `options`
 * is 0 or INK_OUTERMOST. Never reads outside the captured bytes. Returns
 * packet->skip: with INK_NOT_SKIPPED the packet has a key of every kind; else
 * the fields that were reached are set, and with INK_SKIP_FRAGMENT and
 * INK_SKIP_PROTOCOL the keys without ports exist: of kind pair, source and
 * destination, and of such parts.
 */
enum ink_skip ink_packet_parse(struct ink_packet *packet, enum ink_link link, unsigned options);

/* ---------------------------------------------------------------- its key */

#define INK_KEY_IPV4 16u /* bytes of the key of an IPv4 packet, of any kind */
#define INK_KEY_IPV6 40u /* ... of an IPv6 packet */
#define INK_KEY_MOST 40u

/*
 * Writes the key's bytes and returns how many: INK_KEY_IPV4 or INK_KEY_IPV6,
 * or 0 (nothing is written) if the packet has no key of that kind. Two packets
 * have equal keys if and only if they belong to the same flow of that kind.
 * Ports of SCTP are not part of a key. No packet has a key of INK_KEY_PARTS:
 * the parts have to be said.
 */
size_t ink_packet_key(const struct ink_packet *packet, enum ink_key kind, uint8_t key[INK_KEY_MOST]);

/*
 * The same for a key as a machine defines it (view.key_def): of a kind, or of
 * parts. A key of parts has the source before the destination, with 0 for what
 * is no part. With a port it exists for packets with a flow; without, also for
 * later fragments and other protocols. Prefixes longer than an address mean all
 * of it.
 */
size_t ink_packet_key_by(const struct ink_packet *packet, const struct ink_key_def *def,
			 uint8_t key[INK_KEY_MOST]);

/* An array of packets. */
struct ink_packets {
	struct ink_packet *at;
	size_t room; /* capacity of the array */
	size_t n;    /* packets in it */
	int end;     /* non-zero: the input has ended */
};

/* ids[i] = ink_id of the key of packet i, computed in SIMD lanes; 0 if the packet has no key of that kind. */
void ink_packet_ids(const struct ink_table *table, enum ink_key kind, const struct ink_packets *packets,
		    uint64_t *ids);

/* The same for a key as a machine defines it. */
void ink_packet_ids_by(const struct ink_table *table, const struct ink_key_def *def,
		       const struct ink_packets *packets, uint64_t *ids);

#define INK_COMMUNITY_ID_SIZE 31 /* "1:", 28 characters of base64, and the final 0 */

/*
 * Writes the packet's Community ID, version 1 (github.com/corelight/community-id-spec),
 * by which other tools identify its connection; `seed` is 0 unless those tools
 * use another. -EINVAL: the packet has no flow.
 */
int ink_packet_community_id(const struct ink_packet *packet, uint16_t seed, char text[INK_COMMUNITY_ID_SIZE]);

#define INK_ADDRESS_SIZE 46 /* the longest address as text, and the final 0 */

/* Writes an address as text; `version` is the packet's. */
void ink_address_text(const uint8_t address[16], unsigned version, char text[INK_ADDRESS_SIZE]);

/* -------------------------------------------------------------- captures */

struct ink_capture;

struct ink_capture_options {
	size_t size;
	const char *file;      /* pcap or pcapng; "-" = standard input. This or interface must be given */
	const char *interface; /* a network interface, or "any" */
	const char *filter;    /* in tcpdump's language; NULL = all packets */
	unsigned parse;        /* INK_OUTERMOST */
	uint32_t snaplen;      /* interface: bytes kept of each packet; default 262144 */
	uint32_t buffer;       /* interface: bytes of the kernel's buffer; default 16 MiB */
	int not_promiscuous;   /* interface: non-zero = only packets addressed to this machine */
};

/*
 * Opens a file or an interface. The result belongs to the caller:
 * ink_capture_close it. NULL with errno: EINVAL (the options contradict
 * themselves, the filter is invalid), EILSEQ (not a capture), the error of
 * opening it (ENOENT, EACCES, EPERM, ENODEV, ...), ENOMEM.
 */
struct ink_capture *ink_capture_open(const struct ink_capture_options *options, struct ink_why *why);

/* Closes; NULL is allowed. */
void ink_capture_close(struct ink_capture *capture);

/*
 * Reads and parses up to packets->room packets and sets packets->n; packets
 * without a flow are included. They are valid until the next call. Only
 * packets->end, with n = 0, means that the input has ended; n < room does not.
 * An interface returns what has arrived within 100 ms, which may be nothing.
 *
 * From a damaged file all readable packets are returned first, then -EILSEQ with
 * the place. Other errors: -EIO with the system's reason; -EINVAL: room is 0.
 */
int ink_capture_read(struct ink_capture *capture, struct ink_packets *packets, struct ink_why *why);

/*
 * Makes the next ink_capture_read set packets->end. A read that is waiting for
 * an interface returns within 100 ms; one that is waiting for a pipe returns
 * when a signal interrupts it or data arrives. May be called from a signal
 * handler and from another thread.
 */
void ink_capture_stop(struct ink_capture *capture);

struct ink_capture_stats {
	size_t size;
	uint64_t packets;            /* returned by ink_capture_read */
	uint64_t bytes;              /* of these packets on the wire */
	uint64_t filtered;           /* files: packets that the filter rejected */
	uint64_t skipped[INK_SKIPS]; /* of the packets, by reason; [INK_NOT_SKIPPED] have a flow */
	uint64_t backwards;          /* of the packets, those with an earlier time than the packet before */
	uint64_t received, dropped;  /* interfaces: the kernel's counts; dropped for lack of buffer space */
	uint64_t dropped_by_interface;
	uint64_t first, last; /* the least and the greatest time; 0 without packets */
	uint64_t fraction;    /* nanoseconds in a unit of the input's times: 1, or 1000 in pcap files with microseconds */
};

/* Fills in the stats; stats->size must be set. 0, or -EINVAL: it is no size of the struct; nothing is written. */
int ink_capture_stats(struct ink_capture *capture, struct ink_capture_stats *stats);

/* The link type. In a pcapng file all interfaces have the same; other files are refused. */
enum ink_link ink_capture_link(const struct ink_capture *capture);

/* libpcap's name of the link type, such as "Ethernet", or "unknown". */
const char *ink_link_name(enum ink_link link);

/* --------------------------------------------------------------- filters */

struct ink_filter;

/*
 * Compiles tcpdump's filter language for frames of that link. The result
 * belongs to the caller: ink_filter_free it. NULL with errno: EINVAL (the
 * text is invalid, or is not possible on that link; `why` has the reason), ENOMEM.
 * libpcap looks up names in the text, in DNS too, which may take long.
 */
struct ink_filter *ink_filter_compile(const char *text, enum ink_link link, struct ink_why *why);
void ink_filter_free(struct ink_filter *filter);

/*
 * Checks the text of a machine's `filter`: it is valid on some link, and has no
 * names, which are not looked up for a machine. 0, or -EINVAL (`why` has the
 * reason, if need be that on Ethernet), -ENOMEM.
 */
int ink_filter_try(const char *text, struct ink_why *why);

/* Non-zero if the frame matches. May be called from any number of threads. */
int ink_filter_match(const struct ink_filter *filter, const struct ink_packet *packet);

/* ----------------------------------------------------------------- dumps */

struct ink_dump;

/*
 * Creates a pcap file with nanoseconds; "-" = standard output. The result
 * belongs to the caller: ink_dump_close it. NULL with errno.
 */
struct ink_dump *ink_dump_open(const char *file, enum ink_link link, struct ink_why *why);

/* Appends the frame (packet->frame, captured, wire and time are used). -errno if a write failed. */
int ink_dump_packet(struct ink_dump *dump, const struct ink_packet *packet);

/* Writes buffered packets and closes; NULL is allowed. -errno: the file is incomplete. */
int ink_dump_close(struct ink_dump *dump, struct ink_why *why);

#ifdef __cplusplus
}
#endif

#endif
