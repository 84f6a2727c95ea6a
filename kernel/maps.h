/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * [F] What the programs in the kernel and the tool share: the contents of the maps.
 *
 *     control    one      which half is active, the clock, what is enforced
 *     tables     16       shape, coding, time: one for each machine, never exchanged
 *     body       lines    the lines and side tables of all of them, 64 bytes each
 *     ticks      16       what the tick under way does to each code
 *     timers     16       sweep the tables (BPF's own; nothing in it is ours)
 *
 *     machines   2 x 16   and what they point to, in two halves: the programs read one
 *     nodes      decision programs               while the tool writes the other
 *     ranges     of tests with several ranges
 *     prefixes   of tests of addresses
 *     ports      bit maps of tests of ports with many ranges
 *     bytes      of tests of the payload's beginning
 *     againsts   of tests of counters
 *     events     written events
 *     compiled   compiled events
 *     states     compiled states: timing, window, tail
 *     rows       [state, absent or unsure][event] -> next, action
 *     actions
 *     countings
 *     tells
 *     limits     the rates of `limit`, and where their buckets stand
 *     buckets    one for each limit, or as many as packet/queue.h says
 *
 *     queues     16, shared: an interface that packets leave by, with its virtual queue
 *     waits      16, for each processor: what packets found in these queues
 *     counts     16, for each processor: packets, skips, steps
 *     counters   16 x 64, for each processor: the machines' counters that no condition reads
 *     weighed    16 x 64, shared: those that conditions read
 *     claims     locks of inserts
 *     reports    ring buffer: struct ink_kernel_report, then the packet's first bytes if it is saved
 *     text       what the machines were made from, for the tool
 *
 * A body is that of a table of kind `line` for many writers, byte by byte: first its lines, then its side
 * table. So a snapshot is a copy, and the tool's own code counts and checks it.
 *
 * Indexes of both halves stand in one map: those of half 1 begin where the map's first half ends. The
 * programs add nothing: what points to something holds the whole index. That of a counter is 64 x machine + its
 * number. An entry of an array begins at a multiple of 8 bytes.
 */
#ifndef INKLING_KERNEL_MAPS_H
#define INKLING_KERNEL_MAPS_H

#include <stdint.h>

#include "kinds/line/line.h"
#include "packet/key.h"

enum {
	INK_KERNEL_VERSION = 2,
	INK_KERNEL_MACHINES = 16, /* INK_MACHINES_MAX of machine/tree.h */
	INK_KERNEL_HALVES = 2,
	INK_KERNEL_COUNTERS = 64, /* INK_COUNTERS_MAX */
	INK_KERNEL_STATES = 256,  /* codes of a state */
	INK_KERNEL_CODES = 1024,  /* with two age bits */
	INK_KERNEL_TOLD = 64,     /* steps that the rows of earlier machines may cause for one packet */
	INK_KERNEL_DEPTH = 256,   /* tests on the longest path of a decision program */
	INK_KERNEL_RANGES = 256,  /* ranges of one test, unless they are ports */
	INK_KERNEL_PREFIXES = 256, /* addresses of one test */
	INK_KERNEL_COUNTINGS = 16, /* of one action */
	INK_KERNEL_TELLS = 16,     /* of one action */
	INK_KERNEL_QUEUES = 16,    /* interfaces of a set */
	INK_KERNEL_HEAD = 256,     /* bytes of a frame that are copied for the parser, which seldom asks for more */
	INK_KERNEL_PAYLOAD = 9216, /* bytes of payload that conditions may read */
	INK_KERNEL_CLAIMS = 512,
	INK_KERNEL_PORTION = 256, /* lines that a timer sweeps at a time */
	INK_KERNEL_PATH = 63      /* characters of a name */
};

/* ------------------------------------------------------------------ control */

enum ink_kernel_clock { INK_KERNEL_BOOT = 0, INK_KERNEL_TEST = 1 };

/* Where a program is attached. */
enum ink_kernel_hook { INK_KERNEL_XDP = 0, INK_KERNEL_INGRESS = 1, INK_KERNEL_EGRESS = 2, INK_KERNEL_HOOKS = 3 };

struct ink_kernel_control {
	uint32_t version;
	uint32_t machines; /* how many there are; the same in both halves */
	uint32_t generation; /* how often the machines were exchanged; modulo 2: the half that runs */
	uint32_t clock;    /* enum ink_kernel_clock */
	uint32_t enforce;  /* non-zero: verdicts are carried out */
	uint32_t mark_bit; /* of skb->mark, as a mask: the packet was stepped on another interface; 0: not used */
	uint32_t xdp_meta; /* non-zero: XDP leaves a word for tc, which then does not step the packet again */
	uint32_t chance;     /* tests: 1 + what every draw gives, in units of 2^-31; 0: drawn by the kernel */
	uint64_t test_clock;
	uint64_t hold_until; /* boot clock: no tick begins before; set while a snapshot is copied */
	uint32_t snap;       /* bytes of a saved packet that reports carry */
	uint32_t every;      /* tests: non-zero: every step has a record, as `every` of struct ink_track_options */
	uint64_t packets;    /* shared; only counted with the test clock: the number of the packet */
	uint64_t latest;     /* shared; with the test clock: the latest packet's, for queues, where time does not go back */
	uint64_t lost;       /* records that found no room in the ring buffer */
	uint64_t reader;     /* who follows the ring buffer: reports.c; 0: nobody. The tool's business alone */
	uint64_t began;      /* boot clock: when it was attached */
	uint32_t skip;       /* with the test clock: enum ink_skip of the latest packet */
	uint32_t queues;     /* non-zero: conditions look at the queue that packets join at egress */
	uint32_t virtual_for; /* enum ink_kernel_wait: why the queue is virtual if no program reads the real one */
	uint32_t zero;
	uint64_t netns; /* cookie of the network namespace whose interfaces these are; 0: not known */
	uint8_t reserved[136];
};

_Static_assert(sizeof(struct ink_kernel_control) == 256, "a quarter of a KiB");

/* What XDP leaves in front of the packet for tc, and for nobody else: a packet without it was not stepped. */
#define INK_KERNEL_META 0x316b6e69u /* "ink1" */

/* ------------------------------------------------------------------- tables */

/*
 * A machine's table. The first part is written once; what the timer writes is behind it, so that packets on
 * other processors keep the first in their caches.
 */
struct ink_kernel_table {
	struct ink_line_shape shape;
	uint32_t base;        /* its first line in the body */
	uint32_t states;      /* that entries can name: all codes below unsure, also those that no machine uses yet */
	uint32_t state_bits, age_bits, age_top, unsure; /* as in table/coding.h */
	uint32_t full;        /* enum ink_full */
	uint32_t side_words;  /* places for side entries; 0: there is no side table */
	uint32_t side_flows;  /* side entries at most */
	uint32_t side_id_bits, side_code_bits;
	uint32_t side_width;  /* bytes of a side word, 4 or 8 */
	uint32_t timeouts;    /* 0: time does not advance. It does without time-outs, too: ticks clear overflow flags */
	uint64_t secret[2];

	uint64_t view __attribute__((aligned(64))); /* table/epoch.h: ticks so far, lines passed */
	uint64_t now;      /* the present tick */
	uint64_t target;   /* > now while a tick is under way */
	uint64_t origin;   /* the clock at tick `first` */
	uint64_t first;
	uint64_t length;   /* of those ticks; that of the machine's is another: it was exchanged, a new origin is due */
	uint64_t clock;    /* of the latest packet, with the test clock: where a new origin is set */
	uint32_t started;  /* the first packet has come */
	uint32_t cursor;   /* lines that the tick under way has passed */
	uint32_t flagged, ever_flagged, flags_due; /* as in struct ink_aging */
	uint32_t busy; /* held by the processor that ticks */
	uint32_t side_lock, clock_hand;
	uint64_t collisions, overflowed, refused, replaced, marked, expired; /* as in struct ink_counters */
	uint64_t portions, longest, swept; /* of sweeps: how many, ns of the longest, ns of all */
	uint16_t fresh[2][INK_KERNEL_STATES];
} __attribute__((aligned(64)));

/*
 * What the tick under way does to an entry with a given code (table/tick.c), and what expired in it, by state code.
 * A sweep reads `dead` alone: one bit for each code as it is stored in lines that the tick has not passed.
 */
struct ink_kernel_tick {
	uint16_t after[INK_KERNEL_CODES];
	uint64_t dead[INK_KERNEL_CODES / 64];
	uint32_t idle;  /* no code changes: only overflow flags are to be cleared */
	uint32_t slots; /* of the line at hand: those that are still to expire */
	uint64_t expired[INK_KERNEL_STATES];
};

/* A lock of inserts, alone on its cache line: non-zero while it is held. */
struct ink_kernel_claim {
	uint32_t held;
} __attribute__((aligned(64)));

/* ------------------------------------------------------------------- queues */

/* Where the length of a queue comes from: the counters of the root qdisc, or a virtual queue, and why. */
enum ink_kernel_wait {
	INK_WAIT_REAL = 0,
	INK_WAIT_NOQUEUE = 1, /* the device has no queue */
	INK_WAIT_MANY = 2,    /* it has several, and a root without counters (mq) */
	INK_WAIT_APART = 3,   /* each processor has counters of its own, or no lock protects them (pfifo_fast) */
	INK_WAIT_CHOSEN = 4,  /* struct ink_kernel_options asks for it */
	INK_WAIT_OLD = 5,     /* this kernel does not let programs read its queues (before Linux 6.2) */
	INK_KERNEL_WAITS = 8
};

/* The programs behind the one that is attached at tc, by their place in `common`. */
enum { INK_COMMON_TC = 0, INK_COMMON_QUEUE = 1, INK_COMMON_PROGRAMS = 2 };

/* The queue that packets join which leave by an interface. The first part is written once. */
struct ink_kernel_queue {
	uint32_t interface; /* its index; 0: the entry is free */
	uint32_t expected;  /* enum ink_kernel_wait: which one it was at the latest attach or reload */
	uint64_t rate;      /* bits a second, of the virtual queue; 0: there is none */
	uint64_t speed;     /* bits a second, of the device; 0: it is not known */
	uint64_t pace;      /* of the rate, as in packet/queue.h, or 0 */
	uint64_t sending;   /* of the real queue's time: of the rate, or else the speed; or 0 */
	uint64_t most;      /* bytes whose time at that pace is computed in 64 bits; of more it is the longest */
	uint64_t empty __attribute__((aligned(64))); /* the virtual queue: one compare-and-swap for each packet */
	uint32_t mean;      /* of it. Of two processors that write it at once, one is forgotten */
	uint32_t reserved;
} __attribute__((aligned(64)));

/* What packets found there, on one processor. */
struct ink_kernel_waits {
	uint64_t from[INK_KERNEL_WAITS]; /* packets, by where the queue's length came from */
	uint64_t unknown;  /* of these: it should be virtual, and there is none; taken for empty */
	uint64_t joined, bytes; /* of those that were not dropped */
	uint64_t lost;     /* found no room in the virtual queue */
	uint64_t given_up; /* other processors kept them from joining it */
	uint64_t timed, wait; /* those that joined and whose wait is known; all their waits, in ns */
	uint64_t worst, most_packets, most_bytes; /* that one of them found: ns; packets and bytes of the real queue */
};

/* A limit of a machine: its buckets are one, or one for each flow. */
struct ink_kernel_limit {
	uint64_t pace, burst; /* as in packet/queue.h; ns */
	uint32_t buckets_at;
	uint32_t each_flow;
};

/* `empty` of packet/queue.h. */
struct ink_kernel_bucket {
	uint64_t empty;
};

/* ----------------------------------------------------------------- machines */

struct ink_kernel_machine {
	uint32_t events;      /* compiled; rows have that width */
	uint32_t written;     /* events: a decision of this number is none */
	uint32_t events_at;   /* struct ink_kernel_event, `written` of them */
	uint32_t compiled_at; /* struct ink_kernel_compiled */
	uint32_t states_at;   /* by the state's code in the table, then unsure */
	uint32_t rows_at;     /* (states of the table + 2) x events */
	uint32_t actions_at;
	uint32_t actions;
	uint32_t tails;       /* 1, or 6: compiled events for each side */
	uint32_t deaf;        /* no packet has an event of this machine: all are told */
	uint32_t payload;     /* non-zero: conditions or countings read the payload */
	uint32_t limits_at;   /* `limits` of them */
	uint64_t tick;        /* ns */
	uint32_t limits, zero;
	struct ink_key_rule key;
	/* The first node of a packet, for each protocol and, for TCP, for each set of flags. Negative: ~event. */
	int32_t by_protocol[256];
	int32_t by_flags[256];
};

/* A test, and where it leads: negative = ~event. */
struct ink_kernel_node {
	int32_t next[2];
	uint32_t field;     /* enum ink_field of machine/tree.h */
	uint32_t low, span; /* the first range: value - low <= span */
	uint32_t at, n;     /* ranges (all of them), prefixes, bytes, of `againsts`; n = INK_KERNEL_BITS: a bit map */
	uint32_t more;      /* chance: the threshold in units of 2^-32; UINT32_MAX: always */
};

#define INK_KERNEL_BITS UINT32_MAX

struct ink_kernel_range {
	uint64_t low, span;
};

/* Addresses as two words, as ink_be64 reads them; IPv4 stands in the upper half of the first. */
struct ink_kernel_prefix {
	uint64_t address[2], mask[2];
	uint32_t version, zero;
};

struct ink_kernel_ports {
	uint64_t bits[65536 / 64];
};

/* Eight to an entry, the last filled with 0; a test's `at` is the first entry, its `n` counts bytes. */
struct ink_kernel_bytes {
	uint8_t at[8];
};

/* A counter beside a number, or beside a share (in units of 2^-32) of another. Both are of `weighed`. */
struct ink_kernel_against {
	uint32_t counter, other; /* other = UINT32_MAX: a number */
	uint32_t compare, zero;  /* enum ink_compare */
	uint64_t number, share;
	uint64_t carried[2]; /* of both, before conditions read them: it stands in `counters` */
};

struct ink_kernel_event {
	uint32_t base; /* the first compiled one */
	uint8_t sides, reverse, reserved[2];
};

struct ink_kernel_compiled {
	uint32_t start;
};

struct ink_kernel_state {
	uint32_t period;    /* ticks; 0: never ends */
	int16_t timeout;    /* the state it moves to, or -1: absent */
	uint16_t on_timeout; /* the action */
	uint8_t expendable, window, tail, reserved;
};

/* struct ink_row, without its header. */
struct ink_kernel_row {
	int16_t next;
	uint16_t action;
};

struct ink_kernel_action {
	uint32_t countings_at, tells_at; /* indexes */
	uint16_t countings, tells;
	uint32_t mark;
	uint8_t verdict; /* enum ink_verdict */
	uint8_t marks, saves, reports;
	uint32_t priority;
	uint32_t limit; /* index, if `limited` */
	uint8_t prioritizes; /* enum ink_priority */
	uint8_t limited, reserved[6];
};

struct ink_kernel_counting {
	uint32_t counter; /* of `counters`, or with `weighed` of that map */
	uint16_t weighed;
	uint16_t amount;  /* enum ink_amount */
	uint64_t number;
};

struct ink_kernel_tell {
	uint16_t machine, event; /* written */
	uint32_t reversed;
};

/* What the machines were made from, in pieces. */
struct ink_kernel_text {
	uint8_t bytes[4096];
};

/* ------------------------------------------------------------------- counts */

/* Of a machine, on one processor. Packets, skipped and eventless count the segments of a packet that is several (GSO). */
struct ink_kernel_counts {
	uint64_t packets;
	uint64_t skipped[16]; /* by enum ink_skip */
	uint64_t eventless, steps, begun, unsure, refused, told;
	uint64_t given_up; /* steps that other processors kept from being made */
	uint64_t dropped, marked, passed; /* verdicts, carried out or not */
	uint64_t segments; /* in packets that hold several (GSO) */
	uint64_t bundles;  /* of these, packets of RTP: decided by the first */
	uint64_t again;    /* packets that were stepped at an earlier hook */
	uint64_t reports, saved;
	uint64_t limited, prioritized, classed; /* verdicts, too: refused by a limit; `priority`; `class` */
};

/* ------------------------------------------------------------------ reports */

/* A record of the ring buffer: what `inkling run` hands its caller in struct ink_moved. */
struct ink_kernel_report {
	uint32_t bytes;      /* of the frame, behind the struct */
	uint32_t generation; /* of the machines */
	uint64_t clock;      /* boot clock, or test clock */
	uint64_t number;     /* of the packet on its processor; with the test clock of all */
	uint64_t id;
	uint32_t interface;  /* index */
	uint16_t hook, cpu;
	uint16_t machine, teller, event, action;
	int16_t from, to;
	uint8_t reversed, refused, report, save;
	uint32_t segments;
	struct ink_packet packet; /* pointers in it are 0 */
};

#endif
