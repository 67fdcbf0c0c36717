/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The programs at the entrances of ports: the pipeline of a P4 program, and the way out of it. */
#include "pipeline.h"
#include "upf.h"
#include "ports.h"

/* Waiting for programs that run: see src/fence.rs. */
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
} fence SEC(".maps") = { .values = { &fence_slot } };

/* A frame as it comes by an interface. */
SEC("xdp")
int enter(struct xdp_md *ctx)
{
	u32 port = port_of(ctx->ingress_ifindex);

	if (port >= PORTS)
		return XDP_PASS;
	note(port, came, 1);
	return leave(ctx, port, carried(ctx, port, 0));
}

/* A frame of ours: see src/again.rs. */
SEC("xdp")
int again(struct xdp_md *ctx)
{
	u32 n = control.next, at = n & (SLOTS - 1), port;
	struct slot *slot = bpf_map_lookup_elem(&frames, &at);
	u32 length, now;
	int outcome;

	if (!slot)
		return XDP_DROP;
	control.next = n + 1;
	length = slot->length;
	port = slot->port;
	if (length < ETHERNET || length > LONGEST_FRAME || port >= PORTS)
		return XDP_DROP;
	now = octets_in(ctx);
	if (length != now && bpf_xdp_adjust_tail(ctx, (int)length - (int)now))
		return XDP_DROP;
	if (bpf_xdp_store_bytes(ctx, 0, slot->frame, length))
		return XDP_DROP;
	outcome = slot->past ? PAST : carried(ctx, port, 1);
	if (port == CONTROLLER)
		cut_to_length(ctx, 0);
	slot->outcome = outcome;
	/* What has to wait still, user space keeps. */
	return outcome == OUT_OF(HOLD) ? XDP_DROP : leave(ctx, port, outcome);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
