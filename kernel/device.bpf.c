/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads the queue of the device that a packet leaves by, before the program of tc sees the packet.
 *
 *     ink_egress --tail call--> ink_queue --tail call--> ink_tc
 *
 * It is an object of its own, which is loaded only where a condition looks at the queue: it needs the kernel's own
 * types, and bpf_cast_to_kern_ctx (Linux 6.2). Where it cannot be loaded, the first tail call finds no program, and
 * ink_egress calls ink_tc itself.
 *
 * A device has one root qdisc. For a tree of classes the counters of the root are those of all packets in it. What it
 * has handed to the driver is not among them. Four kinds of root say nothing, and the virtual queue takes their place.
 * Counters are read without the qdisc's lock.
 */
#include <linux/pkt_cls.h>

#include "kernel/work.bpf.h"

char ink_license[] SEC("license") = "Dual BSD/GPL";

/* ------------------------------------------------------------ types of the kernel */

#define INK_RELOCATED __attribute__((preserve_access_index))

struct qdisc_skb_head {
	uint32_t qlen;
} INK_RELOCATED;

struct gnet_stats_queue {
	uint32_t backlog;
} INK_RELOCATED;

struct Qdisc {
	void *enqueue;
	unsigned flags;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
} INK_RELOCATED;

struct net_device {
	struct Qdisc *qdisc;
} INK_RELOCATED;

struct sk_buff {
	struct net_device *dev;
} INK_RELOCATED;

extern void *bpf_cast_to_kern_ctx(void *context) __ksym;

/* TCQ_F_ of net/sch_generic.h */
enum { INK_QDISC_BUILTIN = 0x1, INK_QDISC_MQROOT = 0x8, INK_QDISC_CPUSTATS = 0x20, INK_QDISC_NOLOCK = 0x100 };

/* ---------------------------------------------------------------------- reading */

static __always_inline enum ink_kernel_wait ink_kind_of(const struct Qdisc *q)
{
	unsigned flags = q->flags;

	if (!q->enqueue)
		return INK_WAIT_NOQUEUE;
	if (flags & INK_QDISC_MQROOT)
		return INK_WAIT_MANY;
	return flags & (INK_QDISC_CPUSTATS | INK_QDISC_NOLOCK) ? INK_WAIT_APART : INK_WAIT_REAL;
}

static __always_inline const struct Qdisc *ink_root_of(struct __sk_buff *skb)
{
	const struct sk_buff *kernel = bpf_cast_to_kern_ctx(skb);
	const struct net_device *device = kernel->dev;

	return device ? device->qdisc : NULL;
}

static __always_inline void ink_read_queue(struct __sk_buff *skb, struct ink_work *w)
{
	const struct Qdisc *q = ink_root_of(skb);

	if (!q)
		return;
	w->queue.from = ink_kind_of(q);
	if (w->queue.from != INK_WAIT_REAL)
		return;
	w->queue.packets = q->q.qlen;
	w->queue.bytes = q->qstats.backlog;
}

SEC("tc")
int ink_queue(struct __sk_buff *skb)
{
	struct ink_work *w = INK_AT(works, 0);

	if (!w)
		return TC_ACT_UNSPEC;
	ink_read_queue(skb, w);
	bpf_tail_call_static(skb, &common, INK_COMMON_TC);
	return TC_ACT_UNSPEC;
}

/* For the tool: what the device has. A device that was never up has a root of the kernel's own, and nothing can be said. */
SEC("tc")
int ink_ask(struct __sk_buff *skb)
{
	const struct Qdisc *q = ink_root_of(skb);

	if (!q || (q->enqueue && q->flags & INK_QDISC_BUILTIN))
		return INK_KERNEL_WAITS;
	return (int)ink_kind_of(q);
}
