/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* NAT flow table. A direction is found by its key in one cache line or the neighbouring one,
 * else through a hash map. User space removes expired flows; programs treat them as absent
 * before that. */
#pragma once

#include "events.h"

/* Result of inward translation. */
enum nat_outcome {
	NAT_NO_FLOW,	/* no flow: the kernel may know it */
	NAT_DONE,
	NAT_REPLIED, /* the frame now holds an ICMP reply */
	NAT_LOST,
};

inline_always int is_public(__be32 address)
{
	__u32 value = bpf_ntohl(address);
	return settings.nat.addresses && value >= settings.nat.low && value <= settings.nat.high;
}

/* Incremental checksum update (RFC 1624). */
inline_always __u32 change16(__u16 from, __u16 to)
{
	return (__u16)~from + to;
}

inline_always __u32 change32(__u32 from, __u32 to)
{
	return change16(from & 0xffff, to & 0xffff) + change16(from >> 16, to >> 16);
}

inline_always __u16 changed(__u16 checksum, __u16 change)
{
	return ~fold16((__u16)~checksum + change);
}

/* A UE has one public address for all destinations (RFC 4787, REQ-2). */
inline_always __be32 nat_address_of(__be32 ue)
{
	__u32 n = settings.nat.addresses > 1 ? hash_index(ue, settings.nat.addresses) : 0;
	return settings.nat.address[n & (NAT_ADDRESSES - 1)];
}

inline_always __u32 nat_kind(__u8 protocol, int inward)
{
	return NAT_USED | (inward ? NAT_INWARD : 0) | (__u32)protocol << NAT_PROTOCOL_SHIFT;
}

inline_always __u8 nat_protocol(__u32 state)
{
	return state >> NAT_PROTOCOL_SHIFT;
}

inline_always __u32 nat_state(struct nat_flow *flow)
{
	return *(volatile __u32 *)&flow->state;
}

inline_always __be16 nat_new_port(struct nat_flow *flow)
{
	return nat_state(flow) >> NAT_PORT_SHIFT;
}

/* Checksum deltas of the IP and the transport header. ICMP has no pseudo header. */
inline_always __u16 nat_address_change(struct nat_flow *flow)
{
	return fold16(change32(flow->near, flow->other));
}

inline_always __u16 nat_transport_change(struct nat_flow *flow)
{
	__u32 port = change16(flow->near_port, nat_new_port(flow));
	return fold16(nat_protocol(nat_state(flow)) == IPPROTO_ICMP ?
			      port :
			      change32(flow->near, flow->other) + port);
}

/* A key as two words in the layout of a flow. */
inline_always __u64 nat_addresses(struct nat_key *key)
{
	return key->near | (__u64)key->far << 32;
}

inline_always __u64 nat_ports_and_kind(struct nat_key *key)
{
	return key->near_port | (__u32)key->far_port << 16 | (__u64)key->kind << 32;
}

inline_always __u64 nat_hash(struct nat_key *key)
{
	__u64 rest = nat_ports_and_kind(key),
	      x = (nat_addresses(key) ^ settings.nat.seed) * 0x9e3779b97f4a7c15ull;
	x ^= x >> 32;
	x = (x ^ rest) * 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* The line of a key; the other of the pair is `line ^ 1`. */
inline_always __u32 nat_line_of(__u64 hash)
{
	return (((hash & 0xffffffff) * settings.nat.lines) >> 32) + 2;
}

/* 0 if a flow has this key. */
inline_always __u64 nat_differs(struct nat_flow *flow, struct nat_key *key)
{
	const __u64 kind = 0xffffffffull | (__u64)NAT_KIND << 32;
	__u64 addresses = *(volatile __u64 *)flow, rest = *((volatile __u64 *)flow + 1);
	return (addresses ^ nat_addresses(key)) | ((rest ^ nat_ports_and_kind(key)) & kind);
}

inline_always int nat_is(struct nat_flow *flow, struct nat_key *key)
{
	return !nat_differs(flow, key);
}

/* Selects the entry of a line without a branch, which would be mispredicted while the line is
 * loading. */
inline_always struct nat_flow *nat_in_line(__u32 at, struct nat_key *key)
{
	struct nat_line *line = bpf_map_lookup_elem(&nat_lines, &at);
	if (!line)
		return NULL;
	__u64 first = nat_differs(&line->flow[0], key), second = nat_differs(&line->flow[1], key);
	__u64 n = (first | -first) >> 63;
	barrier_var(n);
	if (unlikely(second & -n))
		return NULL;
	return (void *)line + (n & 1) * sizeof(struct nat_flow);
}

inline_always struct nat_flow *nat_flow_at(__u32 index)
{
	__u32 at = index / NAT_WAYS;
	struct nat_line *line = bpf_map_lookup_elem(&nat_lines, &at);
	if (!line)
		return NULL;
	return index & 1 ? &line->flow[1] : &line->flow[0];
}

/* The index of an overflow flow. The key must be on the stack. */
inline_always __u32 nat_find_in_table(struct nat_key *key)
{
	if (!globals.nat_next)
		return NONE;
	__u32 *index = bpf_map_lookup_elem(&nat_by_key, key);
	struct nat_flow *flow = index ? nat_flow_at(*index) : NULL;
	return flow && nat_is(flow, key) ? *index : NONE;
}

global __u32 nat_find_overflow(struct nat_key *key)
{
	if (!key)
		return NONE;
	/* Older kernels accept map keys on the stack only. */
	struct nat_key own = *key;
	return nat_find_in_table(&own);
}

inline_always struct nat_flow *nat_find(struct nat_key *key, __u64 hash)
{
	__u32 line = nat_line_of(hash);
	struct nat_flow *flow = nat_in_line(line, key);
	if (likely(flow))
		return flow;
	flow = nat_in_line(line ^ 1, key);
	if (likely(flow))
		return flow;
	__u32 index = nat_find_overflow(key);
	return index ? nat_flow_at(index) : NULL;
}

/* The index of a flow. */
global __u32 nat_find_slow(struct nat_key *key)
{
	if (!key)
		return NONE;
	struct nat_key own = *key;
	__u32 at = nat_line_of(nat_hash(&own));
	for (int i = 0; i < 2 * NAT_WAYS; i++) {
		__u32 index = (at ^ (i & 1)) * NAT_WAYS + i / 2;
		struct nat_flow *flow = nat_flow_at(index);
		if (flow && nat_is(flow, &own))
			return index;
	}
	return nat_find_in_table(&own);
}

/* The key of the other direction. */
inline_always void nat_reverse(struct nat_flow *flow, struct nat_key *other)
{
	__u32 state = nat_state(flow);
	other->near = flow->other;
	other->far = flow->far;
	other->near_port = state >> NAT_PORT_SHIFT;
	other->far_port = flow->far_port;
	other->kind = (state & NAT_KIND) ^ NAT_INWARD;
}

/* Idle timeout of a flow in ticks. */
inline_always __u32 nat_lifetime(__u32 state)
{
	switch (nat_protocol(state)) {
	case IPPROTO_UDP:
		return state & NAT_ANSWERED ? settings.nat.udp : settings.nat.udp_unanswered;
	case IPPROTO_TCP:
		if (!(state & NAT_CONFIRMED) || state & NAT_RESET ||
		    (state & (NAT_FIN_OUT | NAT_FIN_IN)) == (NAT_FIN_OUT | NAT_FIN_IN))
			return settings.nat.tcp_transitory;
		return settings.nat.tcp;
	case IPPROTO_ICMP:
		return settings.nat.icmp;
	default:
		return settings.nat.other;
	}
}

/* Maximum delay with which `last` is updated: reading a line is cheaper than writing it. The rule
 * cache (`nat_rule_cache.h`) adds the same delay again. */
inline_always __u32 nat_delay(void)
{
	return 1u << settings.nat.epoch_shift;
}

inline_always int nat_is_late(struct nat_flow *flow, __u32 ticks, __u32 lifetime)
{
	return (__s32)(ticks - *(volatile __u32 *)&flow->last) >
	       (__s32)(lifetime + 2 * nat_delay());
}

/* Whether both directions exceeded the idle timeout. */
global int nat_is_expired_slow(__u32 index, __u32 ticks)
{
	struct nat_flow *flow = nat_flow_at(index);
	if (!flow)
		return 1;
	__u32 lifetime = nat_lifetime(nat_state(flow));
	if (!nat_is_late(flow, ticks, lifetime))
		return 0;
	struct nat_key key = {};
	nat_reverse(flow, &key);
	struct nat_flow *other = nat_flow_at(nat_find_slow(&key));
	return !other || !nat_is(other, &key) || nat_is_late(other, ticks, lifetime);
}

inline_always int nat_is_expired(struct nat_flow *flow, struct nat_key *key, __u32 ticks)
{
	return unlikely(nat_is_late(flow, ticks, settings.nat.shortest)) &&
	       nat_is_expired_slow(nat_find_slow(key), ticks);
}

/* Sets observed-state bits in both directions of a flow. */
global int nat_mark_seen(struct nat_key *key, __u32 seen)
{
	if (!key)
		return 0;
	struct nat_key own = *key;
	for (int i = 0; i < 2; i++) {
		struct nat_flow *flow = nat_flow_at(nat_find_slow(&own));
		if (!flow || !nat_is(flow, &own))
			return 0;
		__sync_fetch_and_or(&flow->state, seen & NAT_SEEN);
		nat_reverse(flow, &own);
	}
	return 1;
}

inline_always void nat_seen(struct nat_flow *flow, struct nat_key *key, __u32 bits, __u32 ticks)
{
	if (unlikely((nat_state(flow) & bits) != bits))
		nat_mark_seen(key, bits);
	if (unlikely(ticks - flow->last > nat_delay()))
		*(volatile __u32 *)&flow->last = ticks;
}
