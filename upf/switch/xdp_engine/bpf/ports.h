/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Ports: reception, checks of frames before the pipeline, and transmission. */
#pragma once

#include "pipeline.h"

/* The port at which packets of moving flows are held. */
#define HOLD 6
#define CONTROLLER 7

#define ETHERNET 14
#define IPV4 20
#define IPV6 40
#define LONGEST_FRAME 2032
/* The length of a frame that could not be copied. */
#define NOTHING 1
#define TYPE_IPV4 bpf_htons(0x0800)
#define TYPE_IPV6 bpf_htons(0x86dd)

/* Interfaces by port. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, PORTS);
	__type(key, u32);
	__type(value, u32);
} port_devmap SEC(".maps");

/* Counters of ports */

struct port_counts {
	u64 received;
	u64 left;
	u64 bypassed;
	u64 refused;
	u64 runts;
	u64 unused[3];
};
/* Per CPU, one array after the other, as counters. */
ARRAY(port_counts, PORTS, struct port_counts);

#define note(port, what, n) \
	do { \
		u32 slot = bpf_get_smp_processor_id() * PORTS + (port); \
		struct port_counts *counts = bpf_map_lookup_elem(&port_counts, &slot); \
\
		if (counts) \
			*(volatile u64 *)&counts->what += (n); \
	} while (0)

static __always_inline u32 port_of(u32 ifindex)
{
	u32 port;

#pragma unroll
	for (port = 0; port < PORTS; port++)
		if (control.ports[port].ifindex == ifindex)
			return port;
	return PORTS;
}

static __always_inline u32 frame_length(struct xdp_md *ctx)
{
	u64 bytes = (void *)(long)ctx->data_end - (void *)(long)ctx->data;

	/* The compiler must not truncate packet pointers to 32 bits before the subtraction. */
	asm volatile("" : "+r"(bytes));
	return bytes;
}

/* Packets to user space */

/* A frame for the controller, preceded by its ingress port in four bytes. */
struct record {
	u32 length;
	u32 unused;
	u8 bytes[LONGEST_FRAME + 8];
};
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} for_controller SEC(".maps");

/* A frame in memory shared with user space. */
struct slot {
	/* 0: free. */
	u32 length;
	u32 port;
	/* The frame bypasses the pipeline; in the queue: the CPU that received it. */
	u32 bypass;
	/* The result: see OUT_OF. In the queue: the generation of the slot, once it is completely
	 * written. */
	u32 outcome;
	u8 frame[LONGEST_FRAME + 16];
};
#define ROUND(n) ((u32)((n) / QUEUE) + 1)
/* Held packets, and a ring that wakes user space when the first one arrives. */
ARRAY(waiting, QUEUE, struct slot);
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} held_ring SEC(".maps");

/* Copies `length` bytes of a frame. The verifier of Linux 6.1 accepts two 64-bit comparisons, but
 * not the single 32-bit one that the compiler would make of them. */
static __always_inline int copy_out(struct xdp_md *ctx, u32 from, void *to, u64 length)
{
	asm volatile("" : "+r"(length));
	if (length < ETHERNET)
		return 0;
	asm volatile("" : "+r"(length));
	if (length > LONGEST_FRAME + 4)
		return 0;
	return !bpf_xdp_load_bytes(ctx, from, to, length);
}

/* Retries of a contended join. */
#define JOINS 64

/* Appends a frame to the queue. Returns 0 if the release that the frame belongs to has ended. The
 * frame may begin with its port number. */
static __noinline int join(struct xdp_md *ctx, u32 port, u32 prefix, int of_handover)
{
	u32 length = (frame_length(ctx) - prefix) & 2047, i, cpu = bpf_get_smp_processor_id();
	u64 joined = queue.joined, seen;
	struct slot *slot = NULL;

	for (i = 0; i < JOINS; i++) {
		u32 at = (joined >> 1) & (QUEUE - 1);

		if (of_handover && !(joined & 1))
			return 0;
		if ((joined >> 1) - queue.head >= QUEUE)
			break;
		seen = __sync_val_compare_and_swap(&queue.joined, joined, joined + 2);
		if (seen == joined) {
			slot = bpf_map_lookup_elem(&waiting, &at);
			break;
		}
		joined = seen;
	}
	if (!slot) {
		note(port & 7, refused, 1);
		return 1;
	}
	slot->port = port;
	slot->bypass = cpu;
	if (prefix > 4 || !copy_out(ctx, prefix & 4, slot->frame, length)) {
		/* The slot is occupied and has to be skipped. */
		length = NOTHING;
		note(port & 7, refused, 1);
	}
	slot->length = length;
	__sync_lock_test_and_set(&slot->outcome, ROUND(joined >> 1));
	if (queue.head == joined >> 1)
		bpf_ringbuf_output(&held_ring, &cpu, sizeof(cpu), 0);
	return 1;
}

static __noinline int send_to_controller(struct xdp_md *ctx, u32 port)
{
	u32 length = frame_length(ctx);
	struct record *record = bpf_ringbuf_reserve(&for_controller, sizeof(struct record), 0);

	if (!record) {
		note(port & 7, refused, 1);
		return XDP_DROP;
	}
	record->length = length;
	if (copy_out(ctx, 0, record->bytes, length & 2047))
		bpf_ringbuf_submit(record, 0);
	else
		bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
	return XDP_DROP;
}

/* Processing of frames */

static __always_inline int bypass(struct xdp_md *ctx, u32 port)
{
	u32 to = control.ports[port & (PORTS - 1)].bypass;

	(void)ctx;
	note(port, bypassed, 1);
	return bpf_redirect_map(&port_devmap, to, XDP_DROP);
}

/* Whether the checksum of a header without options is correct. The sum does not depend on the byte
 * order (RFC 1071, 2). */
static __always_inline int checksum_is_correct(const u8 *header)
{
	const u32 *words = (const u32 *)header;
	u64 sum = (u64)words[0] + words[1] + words[2] + words[3] + words[4];

	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return ((sum & 0xffff) + (sum >> 16)) == 0xffff;
}

/* The length of a frame by its IP header; 0 if the frame must not enter the pipeline. Frames of
 * other protocols have their full length. */
static __always_inline u32 length_by_header(const u8 *frame, const u8 *end, u32 length)
{
	u32 total;
	u16 type;

	if (frame + ETHERNET > end)
		return 0;
	type = *(const u16 *)(frame + 12);
	if (type == TYPE_IPV4) {
		if (frame + ETHERNET + IPV4 > end)
			return 0;
		total = get16(frame + ETHERNET + 2);
		if (frame[ETHERNET] >> 4 != 4 || total < IPV4 || total > length - ETHERNET)
			return 0;
		if (frame[ETHERNET] == 0x45 && !checksum_is_correct(frame + ETHERNET))
			return 0;
		return ETHERNET + total;
	}
	if (type == TYPE_IPV6) {
		if (frame + ETHERNET + IPV6 > end)
			return 0;
		total = IPV6 + get16(frame + ETHERNET + 4);
		if (frame[ETHERNET] >> 4 != 6 || total > length - ETHERNET)
			return 0;
		return ETHERNET + total;
	}
	return length;
}

/* Removes the padding that was added to a packet. */
static __always_inline void cut_to_length(struct xdp_md *ctx, u32 prefix)
{
	const u8 *data = (const u8 *)(long)ctx->data, *end = (const u8 *)(long)ctx->data_end;
	u32 length, now = frame_length(ctx);

	data += prefix;
	if (data + ETHERNET + IPV6 > end)
		return;
	length = now;
	if (*(const u16 *)(data + 12) == TYPE_IPV4 && get16(data + ETHERNET + 2) >= IPV4)
		length = prefix + ETHERNET + get16(data + ETHERNET + 2);
	else if (*(const u16 *)(data + 12) == TYPE_IPV6)
		length = prefix + ETHERNET + IPV6 + get16(data + ETHERNET + 4);
	if (length < now)
		bpf_xdp_adjust_tail(ctx, (int)length - (int)now);
}

/* The result for a frame: dropped, bypassed to the other end of its wire, held, or sent from a
 * port. */
#define DROPPED 0
#define BYPASSED 1
#define HELD 2
#define OUT_OF(port) (0x100 | (port))

/* A single function for all callers: its variables need most of the stack. */
__noinline int run_pipeline(struct xdp_md *ctx, u32 port, int after_release)
{
	u32 egress_port = 0;
	int verdict = pipeline(ctx, port, &egress_port, after_release);

	return verdict == FORWARD ? OUT_OF(egress_port & 0xff) : verdict;
}

static __always_inline int process(struct xdp_md *ctx, u32 port, int after_release)
{
	u8 *data = (u8 *)(long)ctx->data, *end = (u8 *)(long)ctx->data_end;
	u32 bytes, now = frame_length(ctx);
	int verdict;

	if (port != CONTROLLER) {
		bytes = length_by_header(data, end, now);
		if (!bytes)
			return BYPASSED;
		/* Short frames have padding on their links. */
		if (bytes < now && bpf_xdp_adjust_tail(ctx, (int)bytes - (int)now))
			return BYPASSED;
		now = bytes;
	}
	verdict = run_pipeline(ctx, port, after_release);
	if (verdict == TRUNCATED) {
		/* The parser needs more bytes than the packet has: they are zero, as with SWX. */
		if (now >= LONGEST_PARSED || bpf_xdp_adjust_tail(ctx, (int)LONGEST_PARSED - (int)now))
			return BYPASSED;
		verdict = run_pipeline(ctx, port, after_release);
		if (verdict & OUT_OF(0))
			cut_to_length(ctx, (verdict & 0xff) >= HOLD ? 4 : 0);
	}
	if (verdict & OUT_OF(0))
		return verdict;
	if (verdict == JOIN)
		return HELD;
	if (verdict != XDP_DROP)
		note(port, refused, 1);
	return DROPPED;
}

/* Applies the result to a frame. */
static __always_inline int leave(struct xdp_md *ctx, u32 port, int outcome)
{
	u32 egress_port = outcome & 0xff;

	if (outcome == DROPPED)
		return XDP_DROP;
	if (outcome == BYPASSED)
		return bypass(ctx, port);
	if (egress_port == HOLD) {
		join(ctx, port, 4, 0);
		return XDP_DROP;
	}
	if (egress_port == CONTROLLER)
		return send_to_controller(ctx, port);
	note(port, left, 1);
	return bpf_redirect_map(&port_devmap, egress_port, XDP_DROP);
}

/* Injected frames */

#define SLOTS 256

ARRAY(frames, SLOTS, struct slot);
