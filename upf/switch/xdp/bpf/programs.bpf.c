/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The programs at the entrances of ports: the pipeline of a P4 program, and the way out of it. */
#include "pipeline.h"
#include "upf.h"
#include "ports.h"

/* Waiting for programs that run: see upf/bpf. */
struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} fence_slot SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct inner);
} fence SEC(".maps") = {.values = {&fence_slot}};

/* Has the packet be what is in a slot. */
static __always_inline int filled(struct xdp_md *ctx, struct slot *slot)
{
	u32 length = slot->length, now = octets_in(ctx);

	if (length < ETHERNET || length > LONGEST_FRAME)
		return 0;
	if (length != now && bpf_xdp_adjust_tail(ctx, (int)length - (int)now))
		return 0;
	return !bpf_xdp_store_bytes(ctx, 0, slot->frame, length);
}

/* A frame of ours: src/frames.rs. */
static __always_inline int again(struct xdp_md *ctx)
{
	u32 n = control.next, at = n & (SLOTS - 1), port;
	struct slot *slot = bpf_map_lookup_elem(&frames, &at);
	int outcome;

	if (!slot)
		return XDP_DROP;
	control.next = n + 1;
	port = slot->port;
	if (port >= PORTS || !filled(ctx, slot))
		return XDP_DROP;
	outcome = slot->past ? PAST : carried(ctx, port, 1);
	if (port == CONTROLLER)
		cut_to_length(ctx, 0);
	slot->outcome = outcome;
	/* What has to wait still, user space keeps. */
	return outcome == OUT_OF(HOLD) ? XDP_DROP : leave(ctx, port, outcome);
}

/* The next frame of the queue, which may go by now, or has to wait still: src/hold.rs. */
static __always_inline int drain(struct xdp_md *ctx)
{
	u64 scan = queue.scan, joined = queue.joined;
	u32 at = scan & (QUEUE - 1), port;
	struct slot *slot;
	int outcome;

	if (scan == joined >> 1) {
		/* Nobody joins meanwhile, or this does not succeed. */
		if (queue.in_batch && joined & 1)
			__sync_val_compare_and_swap(&queue.joined, joined, joined - 1);
		return XDP_DROP;
	}
	slot = bpf_map_lookup_elem(&waiting, &at);
	/* It is being written on another processor. */
	if (!slot || slot->outcome != ROUND(scan))
		return XDP_DROP;
	queue.scan = scan + 1;
	port = slot->port;
	if (port >= PORTS || !filled(ctx, slot)) {
		slot->length = 0;
		return XDP_DROP;
	}
	outcome = queue.past ? PAST : carried(ctx, port, 1);
	if (outcome == OUT_OF(HOLD))
		return XDP_DROP;
	slot->length = 0;
	return leave(ctx, port, outcome);
}

/* Frames that the kernel runs this program on for user space (BPF_PROG_TEST_RUN) come by the
 * loopback interface. There is one program for all, which interfaces have: before the kernel runs
 * one many times that none has, it tells all processors of it, and behind that again
 * (bpf_dispatcher_change_prog), for which it waits 10 ms and more each time, while packets wait. */
static __noinline int ours(struct xdp_md *ctx)
{
	switch (control.work) {
	case WORK_AGAIN:
		return again(ctx);
	case WORK_DRAIN:
		return drain(ctx);
	}
	return XDP_PASS;
}

/* A frame as it comes by an interface. */
SEC("xdp")
int enter(struct xdp_md *ctx)
{
	u32 port = port_of(ctx->ingress_ifindex);
	int outcome;

	if (port >= PORTS)
		return ours(ctx);
	note(port, came, 1);
	outcome = carried(ctx, port, 0);
	if (outcome == TURN) {
		if (join(ctx, port, 0, 1))
			return XDP_DROP;
		/* Nobody is before it any more. */
		outcome = carried(ctx, port, 1);
	}
	return leave(ctx, port, outcome);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
