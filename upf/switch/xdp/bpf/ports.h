/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Ports: where frames come in, what the pipeline may see of them, and where they leave. */
#pragma once

#include "pipeline.h"

/* Where packets wait while their flow moves here from the native side. */
#define HOLD 6
#define CONTROLLER 7

#define ETHERNET 14
#define IPV4 20
#define IPV6 40
#define LONGEST_FRAME 2032
/* The length of a frame that could not be taken. */
#define NOTHING 1
#define TYPE_IPV4 bpf_htons(0x0800)
#define TYPE_IPV6 bpf_htons(0x86dd)

/* Interfaces by port. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, PORTS);
	__type(key, u32);
	__type(value, u32);
} exits SEC(".maps");

/* What is counted */

struct port_counts {
	u64 came;
	u64 left;
	u64 bypassed;
	u64 refused;
	u64 runts;
	u64 unused[3];
};
/* One behind the other by processor, as counters are. */
ARRAY(port_counts, PORTS, struct port_counts);

#define note(port, what, n) \
	do { \
		u32 place = bpf_get_smp_processor_id() * PORTS + (port); \
		struct port_counts *counts = bpf_map_lookup_elem(&port_counts, &place); \
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

static __always_inline u32 octets_in(struct xdp_md *ctx)
{
	u64 octets = (void *)(long)ctx->data_end - (void *)(long)ctx->data;

	/* Places in packets are not to be cut to 32 bits before they are subtracted. */
	asm volatile("" : "+r"(octets));
	return octets;
}

/* To user space */

/* A frame for the controller, with the port that it came in by in its first four octets. */
struct given {
	u32 length;
	u32 unused;
	u8 octets[LONGEST_FRAME + 8];
};
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} for_controller SEC(".maps");

/* A frame in memory that user space has, too. */
struct slot {
	/* 0: done with. */
	u32 length;
	u32 port;
	/* It takes the way without the pipeline; in the queue, the processor that it came on. */
	u32 past;
	/* What became of it: see OUT_OF. In the queue, the round of the place, once all of it has been
	 * written. */
	u32 outcome;
	u8 frame[LONGEST_FRAME + 16];
};
#define ROUND(n) ((u32)((n) / QUEUE) + 1)
/* Packets that wait, and what wakes user space when there is one. */
ARRAY(waiting, QUEUE, struct slot);
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} bell SEC(".maps");

/* Copies `length` octets of a frame. The verifier of Linux 6.1 understands two comparisons of 64
 * bits, and not one of 32 that the compiler makes of them. */
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

/* Tries to join while others do. */
#define JOINS 64

/* Puts a frame into the queue. One whose flow is being handed over stays out if that has ended
 * meanwhile: then this gives 0. The frame's first octets may be the number of its port. */
static __noinline int join(struct xdp_md *ctx, u32 port, u32 in_front, int of_handover)
{
	u32 length = (octets_in(ctx) - in_front) & 2047, i, processor = bpf_get_smp_processor_id();
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
	slot->past = processor;
	if (in_front > 4 || !copy_out(ctx, in_front & 4, slot->frame, length)) {
		/* Nothing is there: its place is passed over. */
		length = NOTHING;
		note(port & 7, refused, 1);
	}
	slot->length = length;
	__sync_lock_test_and_set(&slot->outcome, ROUND(joined >> 1));
	if (queue.head == joined >> 1)
		bpf_ringbuf_output(&bell, &processor, sizeof(processor), 0);
	return 1;
}

static __noinline int give_to_controller(struct xdp_md *ctx, u32 port)
{
	u32 length = octets_in(ctx);
	struct given *given = bpf_ringbuf_reserve(&for_controller, sizeof(struct given), 0);

	if (!given) {
		note(port & 7, refused, 1);
		return XDP_DROP;
	}
	given->length = length;
	if (copy_out(ctx, 0, given->octets, length & 2047))
		bpf_ringbuf_submit(given, 0);
	else
		bpf_ringbuf_discard(given, BPF_RB_NO_WAKEUP);
	return XDP_DROP;
}

/* Frames */

static __always_inline int bypass(struct xdp_md *ctx, u32 port)
{
	u32 to = control.ports[port & (PORTS - 1)].bypass;

	(void)ctx;
	note(port, bypassed, 1);
	return bpf_redirect_map(&exits, to, XDP_DROP);
}

/* Whether a header without options adds up: the sum is the same in either order of octets (RFC
 * 1071, 2). */
static __always_inline int adds_up(const u8 *header)
{
	const u32 *words = (const u32 *)header;
	u64 sum = (u64)words[0] + words[1] + words[2] + words[3] + words[4];

	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return ((sum & 0xffff) + (sum >> 16)) == 0xffff;
}

/* The octets that a frame has by its IP header; 0 for what the pipeline must not see. All of one
 * that is no IP. */
static __always_inline u32 octets_of(const u8 *frame, const u8 *end, u32 length)
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
		if (frame[ETHERNET] == 0x45 && !adds_up(frame + ETHERNET))
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

/* Takes the octets off a packet that it was filled up with. */
static __always_inline void cut_to_length(struct xdp_md *ctx, u32 in_front)
{
	const u8 *data = (const u8 *)(long)ctx->data, *end = (const u8 *)(long)ctx->data_end;
	u32 length, now = octets_in(ctx);

	data += in_front;
	if (data + ETHERNET + IPV6 > end)
		return;
	length = now;
	if (*(const u16 *)(data + 12) == TYPE_IPV4 && get16(data + ETHERNET + 2) >= IPV4)
		length = in_front + ETHERNET + get16(data + ETHERNET + 2);
	else if (*(const u16 *)(data + 12) == TYPE_IPV6)
		length = in_front + ETHERNET + IPV6 + get16(data + ETHERNET + 4);
	if (length < now)
		bpf_xdp_adjust_tail(ctx, (int)length - (int)now);
}

/* What becomes of a frame: dropped, past the pipeline to the other end of its wire, or out of a
 * port. */
#define GONE 0
#define PAST 1
#define TURN 2
#define OUT_OF(port) (0x100 | (port))

/* One function for all that call it: its variables take most of the stack that there is. */
__noinline int piped(struct xdp_md *ctx, u32 port, int past_turn)
{
	u32 leaves_by = 0;
	int verdict = pipeline(ctx, port, &leaves_by, past_turn);

	return verdict == LEAVES ? OUT_OF(leaves_by & 0xff) : verdict;
}

static __always_inline int carried(struct xdp_md *ctx, u32 port, int past_turn)
{
	u8 *data = (u8 *)(long)ctx->data, *end = (u8 *)(long)ctx->data_end;
	u32 octets, now = octets_in(ctx);
	int verdict;

	if (port != CONTROLLER) {
		octets = octets_of(data, end, now);
		if (!octets)
			return PAST;
		/* Short frames are filled up on their links. */
		if (octets < now && bpf_xdp_adjust_tail(ctx, (int)octets - (int)now))
			return PAST;
		now = octets;
	}
	verdict = piped(ctx, port, past_turn);
	if (verdict == CUT_OFF) {
		/* Where the parser takes more than there is, all zeroes are behind the packet, as with SWX.
		 */
		if (now >= LONGEST_PARSED || bpf_xdp_adjust_tail(ctx, (int)LONGEST_PARSED - (int)now))
			return PAST;
		verdict = piped(ctx, port, past_turn);
		if (verdict & OUT_OF(0))
			cut_to_length(ctx, (verdict & 0xff) >= HOLD ? 4 : 0);
	}
	if (verdict & OUT_OF(0))
		return verdict;
	if (verdict == IN_TURN)
		return TURN;
	if (verdict != XDP_DROP)
		note(port, refused, 1);
	return GONE;
}

/* Has a frame leave. */
static __always_inline int leave(struct xdp_md *ctx, u32 port, int outcome)
{
	u32 leaves_by = outcome & 0xff;

	if (outcome == GONE)
		return XDP_DROP;
	if (outcome == PAST)
		return bypass(ctx, port);
	if (leaves_by == HOLD) {
		join(ctx, port, 4, 0);
		return XDP_DROP;
	}
	if (leaves_by == CONTROLLER)
		return give_to_controller(ctx, port);
	note(port, left, 1);
	return bpf_redirect_map(&exits, leaves_by, XDP_DROP);
}

/* Frames of user space */

#define SLOTS 256

ARRAY(frames, SLOTS, struct slot);
