/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Events to user space, and buffering. */
#pragma once

#include "telemetry.h"

inline_always struct stats *cpu_stats(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&stats, &zero);
}

#define COUNT_STAT(what) \
	do { \
		struct stats *own = cpu_stats(); \
		if (own) \
			own->what++; \
	} while (0)

/* Passes a packet to user space, which answers it (Error Indication), within the rate limit of an
 * `enum answer_bucket`. */
global int answer_in_user_space(int reason, __u32 which)
{
	__u32 index = which;
	struct bucket *bucket = bpf_map_lookup_elem(&answers, &index);
	if (bucket &&
	    take_tokens(&bucket->full_at, bucket->burst, bucket->per_byte, bpf_ktime_get_ns() << 4))
		return pass_to_kernel();
	return dropped(reason);
}

global int send_event(struct rule *rule, __u32 kind, __u32 argument)
{
	if (!rule)
		return 0;
	struct event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		COUNT_STAT(lost_events);
		return 0;
	}
	struct rule_cold *rest = cold_of(rule);
	event->kind = kind;
	event->session = rest ? rest->session : NONE;
	event->argument = argument;
	event->length = 0;
	bpf_ringbuf_submit(event, 0);
	return 1;
}

/* Removes trailing bytes behind offset `end`. */
inline_always int trim(struct xdp_md *ctx, __u32 end)
{
	__u32 length = end_of(ctx) - data_of(ctx);
	if (likely(length == end))
		return 1;
	return length > end && !bpf_xdp_adjust_tail(ctx, (int)end - (int)length);
}

/* An event with a packet in it. */
struct event_short {
	struct event event;
	__u8 bytes[BUFFERED_SHORT];
};
struct event_long {
	struct event event;
	__u8 bytes[BUFFERED_LONG];
};

#define GIVE(type, max) \
	do { \
		struct type *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0); \
		if (!e) \
			return 0; \
		e->event.kind = argument & ARGUMENT_SEND     ? EVENT_SEND : \
				argument & ARGUMENT_DATAGRAM ? EVENT_DATAGRAM : \
							       EVENT_PACKET; \
		e->event.session = whose; \
		e->event.number = whose >> 32; \
		e->event.argument = argument; \
		e->event.length = length; \
		/* Older kernels need the proof that it is from 1 to the limit here. */ \
		__u32 bytes = length - 1; \
		barrier_var(bytes); \
		bytes = (bytes & (max - 1)) + 1; \
		if (bpf_xdp_load_bytes(ctx, offset, e->bytes, bytes)) { \
			bpf_ringbuf_discard(e, 0); \
			return 0; \
		} \
		bpf_ringbuf_submit(e, 0); \
		return 1; \
	} while (0)

/* Copies a packet to user space through the ring. `whose`: session, upper half the packet's
 * sequence number. Returns 0 if the ring is full. */
global int give_to_ring(struct xdp_md *ctx, __u32 offset, __u32 length, __u64 whose, __u32 argument)
{
	if (length <= BUFFERED_SHORT)
		GIVE(event_short, BUFFERED_SHORT);
	GIVE(event_long, BUFFERED_LONG);
}

/* Redirects a packet to the AF_XDP socket of its receive queue, with an event header in front.
 * Returns the verdict, or a negative value without a socket or with a full one. */
global int give_to_socket(struct xdp_md *ctx, __u32 offset, __u32 length, __u64 whose,
			  __u32 argument)
{
	struct socket_key key = { .ifindex = ctx->ingress_ifindex, .queue = ctx->rx_queue_index };
	__u32 *index = bpf_map_lookup_elem(&socket_of, &key);
	if (!index || offset > 1024 || length > SOCKET_FRAME_MAX - sizeof(struct event))
		return -1;
	__u32 at = *index;
	struct socket_queue *socket = bpf_map_lookup_elem(&socket_queues, &at);
	if (!socket)
		return -1;
	__u64 before = __sync_fetch_and_add(&socket->given, 1);
	if (before - *(volatile __u64 *)&socket->taken >= socket->room ||
	    !trim(ctx, offset + length) ||
	    bpf_xdp_adjust_head(ctx, (int)offset - (int)sizeof(struct event))) {
		__sync_fetch_and_add(&socket->given, -1);
		return -1;
	}
	struct event *event = data_of(ctx);
	if ((void *)(event + 1) > end_of(ctx))
		return XDP_ABORTED;
	event->kind = EVENT_PACKET;
	event->session = whose;
	event->argument = argument;
	event->length = length;
	event->number = whose >> 32;
	event->unused = 0;
	return bpf_redirect_map(&sockets, at, XDP_DROP);
}

/* Buffers a packet in user space. `how`: BUFFER_LIVE, and bits of the event's argument. */
global int buffer(struct xdp_md *ctx, __u32 offset, __u32 length, struct rule *rule, __u32 how)
{
	if (!rule)
		return XDP_DROP;
	struct rule_cold *rest = cold_of(rule);
	if (!rest)
		return XDP_DROP;
	__u32 index = rest->session;
	__u32 argument = (rest->pdr & 0xffff) | (rule->flags & RULE_NOTIFY ? ARGUMENT_NOTIFY : 0) |
			 (how & ~BUFFER_LIVE);
	struct session *session = bpf_map_lookup_elem(&sessions, &index);
	if (!session || !index)
		return dropped_of(rule, DROP_BUFFER_FULL);
	if (__sync_fetch_and_add(&session->pending, 1) >= session->limit) {
		__sync_fetch_and_add(&session->pending, -1);
		return dropped_of(rule, DROP_BUFFER_FULL);
	}
	__u64 whose = index | (__u64)__sync_fetch_and_add(&session->number, 1) << 32;
	int verdict = how & BUFFER_LIVE ? give_to_socket(ctx, offset, length, whose, argument) : -1;
	if (verdict < 0)
		verdict = give_to_ring(ctx, offset, length, whose, argument) ? XDP_DROP : -1;
	if (verdict < 0) {
		__sync_fetch_and_add(&session->pending, -1);
		return dropped_of(rule, DROP_BUFFER_FULL);
	}
	COUNT_STAT(buffered);
	return verdict;
}
