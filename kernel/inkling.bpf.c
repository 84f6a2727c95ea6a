/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs at XDP and at tc, ingress and egress.
 *
 *     begin    which machines, what time
 *     parse    packet.bpf.h
 *     run      run.bpf.h: events, ids, steps and what they do; the payload is copied on the way
 *     report   act.bpf.h: records, with the packet's bytes if it is saved
 *     verdict  carried out only if control.enforce says so
 *     leave    queue.bpf.h: at egress, what is not dropped joins the virtual queue
 *
 * A packet is stepped at the first hook that it comes to. XDP leaves a word in front of it for tc (control.xdp_meta),
 * and tc a bit in its mark for the hooks of other interfaces (control.mark_bit).
 *
 * Where nothing is enforced, whoever is attached next decides: XDP_PASS, and at tc TC_ACT_UNSPEC, which is the same
 * number as TCX_NEXT.
 */
#include <linux/pkt_cls.h>

#include "kernel/packet.bpf.h"
#include "kernel/run.bpf.h"

char ink_license[] SEC("license") = "Dual BSD/GPL"; /* which those who own the machine may call their helpers with */

/* ------------------------------------------------------------------ any hook */

/* With the test clock all processors count together. */
static inline uint64_t ink_number(struct ink_work *w, struct ink_kernel_control *o)
{
	if (o->clock == INK_KERNEL_TEST)
		return __sync_fetch_and_add(&o->packets, 1) + 1;
	return w->number + 1;
}

static inline void ink_read_clock(struct ink_work *w, const struct ink_kernel_control *o)
{
	w->tested = o->clock == INK_KERNEL_TEST;
	w->clock = o->test_clock;
	w->now = 0;
	if (w->tested)
		ink_test_clock(w); /* a packet that asks nothing has a time for those behind it */
}

static inline void ink_arrive(struct ink_work *w, struct ink_kernel_control *o, uint32_t hook,
			      uint32_t interface)
{
	w->hook = hook;
	w->interface = interface;
	ink_read_clock(w, o);
	w->number = ink_number(w, o);
}

/* Tests want to know the reason. */
static inline void ink_leave(const struct ink_work *w, struct ink_kernel_control *o)
{
	if (o->clock == INK_KERNEL_TEST)
		o->skip = w->packet.skip;
}

/* How much of the frame the records need, and has not been copied: 0, none. */
static inline uint32_t ink_more_to_save(struct ink_work *w, const struct ink_kernel_control *o)
{
	uint32_t bytes = ink_least_of(ink_least_of(w->whole, o->snap), INK_COPY);

	w->saved_bytes = w->saves ? bytes : 0;
	return w->saved_bytes > w->walk.copied ? w->saved_bytes : 0;
}

/* The packet was stepped at an earlier hook. */
static inline void ink_count_again(const struct ink_kernel_control *o)
{
	for (uint32_t i = 0; i < INK_KERNEL_MACHINES && i < o->machines; i++) {
		struct ink_kernel_counts *n = INK_AT(counts, i);

		if (n)
			n->again++;
	}
}

/* ----------------------------------------------------------------------- XDP */

static inline void ink_run_xdp(struct ink_work *w, struct xdp_md *ctx)
{
	if (!ink_run(w))
		return;
	payload_load_xdp(ctx, &w->packet, (uint32_t)(uint64_t)w->packet.payload);
	w->has_payload = 1;
	ink_run(w);
}

static inline void ink_report_xdp(struct ink_work *w, struct xdp_md *ctx, const struct ink_kernel_control *o)
{
	uint32_t bytes = ink_more_to_save(w, o);

	if (!w->n_records)
		return;
	if (bytes && ink_copy_xdp(w, ctx, bytes))
		w->saved_bytes = 0;
	ink_report(w);
}

/* Where a driver has no room for it, tc steps the packet again. */
static inline void ink_leave_meta(struct xdp_md *ctx)
{
	uint32_t *meta;

	if (bpf_xdp_adjust_meta(ctx, -(int)sizeof *meta))
		return;
	meta = (uint32_t *)(uint64_t)ctx->data_meta;
	if ((uint8_t *)(meta + 1) <= (uint8_t *)(uint64_t)ctx->data)
		*meta = INK_KERNEL_META;
}

SEC("xdp.frags")
int ink_xdp(struct xdp_md *ctx)
{
	struct ink_kernel_control *o = INK_AT(control, 0);
	struct ink_work *w = INK_AT(works, 0);

	if (!o || !w)
		return XDP_PASS;
	ink_arrive(w, o, INK_KERNEL_XDP, ctx->ingress_ifindex);
	w->queue.number = 0;
	if (ink_parse_xdp(w, ctx))
		return XDP_PASS;
	ink_begin_packet(w, o);
	ink_run_xdp(w, ctx);
	ink_report_xdp(w, ctx, o);
	ink_leave(w, o);
	if (w->drop && o->enforce)
		return XDP_DROP;
	if (o->xdp_meta)
		ink_leave_meta(ctx);
	return XDP_PASS;
}

/* ------------------------------------------------------------------------ tc */

static inline int ink_has_meta(const struct __sk_buff *skb)
{
	const uint32_t *meta = (const uint32_t *)(uint64_t)skb->data_meta;

	return (const uint8_t *)(meta + 1) <= (const uint8_t *)(uint64_t)skb->data && *meta == INK_KERNEL_META;
}

/* Every packet that comes by has the bit from here on. */
static inline int ink_was_stepped(struct __sk_buff *skb, const struct ink_kernel_control *o, uint32_t hook)
{
	uint32_t bit = o->mark_bit, before = bit & skb->mark;

	if (bit && !before)
		skb->mark |= bit;
	return before || (hook == INK_KERNEL_INGRESS && o->xdp_meta && ink_has_meta(skb));
}

static inline void ink_run_skb(struct ink_work *w, struct __sk_buff *skb)
{
	if (!ink_run(w))
		return;
	payload_load_skb(skb, &w->packet, (uint32_t)(uint64_t)w->packet.payload - w->shift);
	w->has_payload = 1;
	ink_run(w);
}

static inline void ink_report_skb(struct ink_work *w, struct __sk_buff *skb, const struct ink_kernel_control *o)
{
	uint32_t bytes = ink_more_to_save(w, o);

	if (!w->n_records)
		return;
	if (bytes && ink_copy_skb(w, skb, bytes))
		w->saved_bytes = 0;
	ink_report(w);
}

static inline int ink_enforce(const struct ink_work *w, struct __sk_buff *skb, const struct ink_kernel_control *o)
{
	if (!o->enforce)
		return TC_ACT_UNSPEC;
	if (w->marks)
		skb->mark = (w->mark & ~o->mark_bit) | (skb->mark & o->mark_bit);
	if (w->prioritizes)
		skb->priority = w->priority;
	return w->drop ? TC_ACT_SHOT : TC_ACT_UNSPEC;
}

/* Of a packet with a headroom for all its segments the kernel knows what they take on the wire. */
static inline uint32_t ink_length_of(const struct ink_work *w, const struct __sk_buff *skb)
{
	return w->segments > 1 || !skb->gso_size ? (uint32_t)w->length : skb->wire_len + w->shift;
}

static inline void ink_leave_again(struct ink_work *w, const struct __sk_buff *skb, const struct ink_kernel_control *o)
{
	ink_read_clock(w, o);
	ink_queue_leave(w, skb->wire_len + (skb->vlan_present ? INK_TAG : 0), 0);
}

/*
 * Both directions are one program, so that the verifier looks at it once: that takes 40 ms. The program of the hook notes
 * which one it is and ends in a tail call, which costs 1.5 ns a packet.
 */
SEC("tc")
int ink_tc(struct __sk_buff *skb)
{
	struct ink_kernel_control *o = INK_AT(control, 0);
	struct ink_work *w = INK_AT(works, 0);
	int verdict;

	if (!o || !w)
		return TC_ACT_UNSPEC;
	if (ink_was_stepped(skb, o, w->hook)) {
		ink_count_again(o);
		if (w->queue.number)
			ink_leave_again(w, skb, o);
		return TC_ACT_UNSPEC;
	}
	ink_arrive(w, o, w->hook, skb->ifindex);
	if (ink_parse_skb(w, skb))
		return TC_ACT_UNSPEC;
	ink_begin_packet(w, o);
	ink_run_skb(w, skb);
	ink_report_skb(w, skb, o);
	ink_leave(w, o);
	verdict = ink_enforce(w, skb, o);
	if (w->queue.number)
		ink_queue_leave(w, ink_length_of(w, skb), verdict == TC_ACT_SHOT);
	return verdict;
}

SEC("tc")
int ink_ingress(struct __sk_buff *skb)
{
	struct ink_work *w = INK_AT(works, 0);

	if (!w)
		return TC_ACT_UNSPEC;
	w->hook = INK_KERNEL_INGRESS;
	w->queue.number = 0;
	bpf_tail_call_static(skb, &common, INK_COMMON_TC);
	return TC_ACT_UNSPEC;
}

/* Its queue is read on the way, if a condition looks at it and this kernel can (device.bpf.c). */
SEC("tc")
int ink_egress(struct __sk_buff *skb)
{
	const struct ink_kernel_control *o = INK_AT(control, 0);
	struct ink_work *w = INK_AT(works, 0);

	if (!w || !o)
		return TC_ACT_UNSPEC;
	w->hook = INK_KERNEL_EGRESS;
	w->queue.number = 0;
	if (o->queues) {
		w->queue.number = (uint32_t)ink_queue_find(skb->ifindex);
		w->queue.known = 0;
		w->queue.from = o->virtual_for;
		bpf_tail_call_static(skb, &common, INK_COMMON_QUEUE);
	}
	bpf_tail_call_static(skb, &common, INK_COMMON_TC);
	return TC_ACT_UNSPEC;
}
