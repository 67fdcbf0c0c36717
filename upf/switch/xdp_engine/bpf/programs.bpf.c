/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The XDP programs on ports, with the pipeline of a P4 program. */
#include "pipeline.h"
#include "upf.h"
#include "ports.h"

/* RCU grace periods: see upf/bpf_support. */
struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} grace_slot SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, u32);
	__array(values, struct inner);
} grace_period SEC(".maps") = {.values = {&grace_slot}};

/* Replaces the packet by the content of a slot. */
static __always_inline int replace_with(struct xdp_md *ctx, struct slot *slot)
{
	u32 length = slot->length, now = frame_length(ctx);

	if (length < ETHERNET || length > LONGEST_FRAME)
		return 0;
	if (length != now && bpf_xdp_adjust_tail(ctx, (int)length - (int)now))
		return 0;
	return !bpf_xdp_store_bytes(ctx, 0, slot->frame, length);
}

/* Processes an injected frame: src/frames.rs. */
static __always_inline int inject(struct xdp_md *ctx)
{
	u32 n = control.next, at = n & (SLOTS - 1), port;
	struct slot *slot = bpf_map_lookup_elem(&frames, &at);
	int outcome;

	if (!slot)
		return XDP_DROP;
	control.next = n + 1;
	port = slot->port;
	if (port >= PORTS || !replace_with(ctx, slot))
		return XDP_DROP;
	outcome = slot->bypass ? BYPASSED : process(ctx, port, 1);
	if (port == CONTROLLER)
		cut_to_length(ctx, 0);
	slot->outcome = outcome;
	/* User space holds this frame. */
	return outcome == OUT_OF(HOLD) ? XDP_DROP : leave(ctx, port, outcome);
}

/* Processes the next frame of the queue: src/hold.rs. */
static __always_inline int drain(struct xdp_md *ctx)
{
	u64 scan = queue.scan, joined = queue.joined;
	u32 at = scan & (QUEUE - 1), port;
	struct slot *slot;
	int outcome;

	if (scan == joined >> 1) {
		/* Ends the release, unless a packet has joined in the meantime. */
		if (queue.in_batch && joined & 1)
			__sync_val_compare_and_swap(&queue.joined, joined, joined - 1);
		return XDP_DROP;
	}
	slot = bpf_map_lookup_elem(&waiting, &at);
	/* Another CPU is writing it. */
	if (!slot || slot->outcome != ROUND(scan))
		return XDP_DROP;
	queue.scan = scan + 1;
	port = slot->port;
	if (port >= PORTS || !replace_with(ctx, slot)) {
		slot->length = 0;
		return XDP_DROP;
	}
	outcome = queue.bypass ? BYPASSED : process(ctx, port, 1);
	if (outcome == OUT_OF(HOLD))
		return XDP_DROP;
	slot->length = 0;
	return leave(ctx, port, outcome);
}

/* Frames of BPF_PROG_TEST_RUN arrive on the loopback interface. They use the program of the
 * interfaces: if the kernel runs many times a program that no interface has, it patches its
 * dispatcher before and after (bpf_dispatcher_change_prog), which takes 10 ms and more each time,
 * while packets are held. */
static __noinline int test_run_frame(struct xdp_md *ctx)
{
	switch (control.work) {
	case WORK_INJECT:
		return inject(ctx);
	case WORK_DRAIN:
		return drain(ctx);
	}
	return XDP_PASS;
}

/* Processes a received frame. */
SEC("xdp")
int enter(struct xdp_md *ctx)
{
	u32 port = port_of(ctx->ingress_ifindex);
	int outcome;

	if (port >= PORTS)
		return test_run_frame(ctx);
	note(port, received, 1);
	outcome = process(ctx, port, 0);
	if (outcome == HELD) {
		if (join(ctx, port, 0, 1))
			return XDP_DROP;
		/* The release has ended: no earlier packet is held. */
		outcome = process(ctx, port, 1);
	}
	return leave(ctx, port, outcome);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
