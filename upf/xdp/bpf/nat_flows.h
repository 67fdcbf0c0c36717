/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Flows whose addresses are translated: each direction is found by what its packets look like, in one line of the cache or
 * the one beside it, or else by a table of the kernel. User space takes away those whose time is over; programs do not take
 * them for alive any longer. */
#pragma once

#include "events.h"

/* Ports that are tried for a new binding. */
#define NAT_TRIES 64

/* What became of a packet from outside. */
enum nat_outcome {
	NAT_FOREIGN,	/* nobody's: the kernel may know it */
	NAT_DONE,
	NAT_ANSWERED_BACK, /* the frame is the answer to it now */
	NAT_LOST,
};

inline_always int is_public(__be32 address)
{
	__u32 value = bpf_ntohl(address);
	return settings.nat.addresses && value >= settings.nat.low && value <= settings.nat.high;
}

/* One's complement sums (RFC 1624): what a checksum changes by when a word does, and the checksum after it. */
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

/* A UE has one public address, whatever it talks to (RFC 4787, REQ-2). */
inline_always __be32 nat_address_of(__be32 ue)
{
	__u32 n = settings.nat.addresses > 1 ? place_of(ue, settings.nat.addresses) : 0;
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

/* What checksums change by: that of the IP header, and that of the transport header. ICMP has no pseudo header. */
inline_always __u16 nat_address_change(struct nat_flow *flow)
{
	return fold16(change32(flow->near, flow->other));
}

inline_always __u16 nat_transport_change(struct nat_flow *flow)
{
	__u32 port = change16(flow->near_port, nat_new_port(flow));
	return fold16(nat_protocol(nat_state(flow)) == IPPROTO_ICMP ? port : change32(flow->near, flow->other) + port);
}

/* A key as two words, in the order in which a flow has them. */
inline_always __u64 nat_addresses(struct nat_key *key)
{
	return key->near | (__u64)key->far << 32;
}

inline_always __u64 nat_rest(struct nat_key *key)
{
	return key->near_port | (__u32)key->far_port << 16 | (__u64)key->kind << 32;
}

inline_always __u64 nat_hash(struct nat_key *key)
{
	__u64 rest = nat_rest(key), x = (nat_addresses(key) ^ settings.nat.seed) * 0x9e3779b97f4a7c15ull;
	x ^= x >> 32;
	x = (x ^ rest) * 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

/* The line that a key says. The one beside it is the other of its pair. */
inline_always __u32 nat_line_of(__u64 hash)
{
	return (((hash & 0xffffffff) * settings.nat.lines) >> 32) + 2;
}

/* 0 where a flow is that of a key. */
inline_always __u64 nat_differs(struct nat_flow *flow, struct nat_key *key)
{
	const __u64 kind = 0xffffffffull | (__u64)NAT_KIND << 32;
	__u64 addresses = *(volatile __u64 *)flow, rest = *((volatile __u64 *)flow + 1);
	return (addresses ^ nat_addresses(key)) | ((rest ^ nat_rest(key)) & kind);
}

inline_always int nat_is(struct nat_flow *flow, struct nat_key *key)
{
	return !nat_differs(flow, key);
}

/* Which one of a line it is no branch says: a processor could not guess it, and would have to begin anew once the line is
 * there. */
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

/* A flow that lies where its key, which is on the stack, does not say: its place. */
inline_always __u32 nat_find_listed(struct nat_key *key)
{
	if (!globals.nat_next)
		return NONE;
	__u32 *index = bpf_map_lookup_elem(&nat_by_key, key);
	struct nat_flow *flow = index ? nat_flow_at(*index) : NULL;
	return flow && nat_is(flow, key) ? *index : NONE;
}

global __u32 nat_find_other(struct nat_key *key)
{
	if (!key)
		return NONE;
	/* Older kernels take keys from the stack alone. */
	struct nat_key own = *key;
	return nat_find_listed(&own);
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
	__u32 index = nat_find_other(key);
	return index ? nat_flow_at(index) : NULL;
}

/* The place of a flow. */
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
	return nat_find_listed(&own);
}

/* What packets of the other direction look like. */
inline_always void nat_turn(struct nat_flow *flow, struct nat_key *other)
{
	__u32 state = nat_state(flow);
	other->near = flow->other;
	other->far = flow->far;
	other->near_port = state >> NAT_PORT_SHIFT;
	other->far_port = flow->far_port;
	other->kind = (state & NAT_KIND) ^ NAT_INWARD;
}

/* Ticks after its last packet for which a flow lives. */
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

/* So late the time of a packet may be written down: a line that is only read costs less. For as long again packets may not
 * even look at it (`nat_recent.h`). */
inline_always __u32 nat_delay(void)
{
	return 1u << settings.nat.epoch_shift;
}

inline_always int nat_is_late(struct nat_flow *flow, __u32 ticks, __u32 lifetime)
{
	return (__s32)(ticks - *(volatile __u32 *)&flow->last) > (__s32)(lifetime + 2 * nat_delay());
}

/* Whether no packet has come in either direction for as long as the flow lives. */
global int nat_is_over_slow(__u32 index, __u32 ticks)
{
	struct nat_flow *flow = nat_flow_at(index);
	if (!flow)
		return 1;
	__u32 lifetime = nat_lifetime(nat_state(flow));
	if (!nat_is_late(flow, ticks, lifetime))
		return 0;
	struct nat_key key = {};
	nat_turn(flow, &key);
	struct nat_flow *other = nat_flow_at(nat_find_slow(&key));
	return !other || !nat_is(other, &key) || nat_is_late(other, ticks, lifetime);
}

inline_always int nat_is_over(struct nat_flow *flow, struct nat_key *key, __u32 ticks)
{
	return unlikely(nat_is_late(flow, ticks, settings.nat.shortest)) && nat_is_over_slow(nat_find_slow(key), ticks);
}

/* Notes what was seen of a flow for both directions. */
global int nat_note(struct nat_key *key, __u32 seen)
{
	if (!key)
		return 0;
	struct nat_key own = *key;
	for (int i = 0; i < 2; i++) {
		struct nat_flow *flow = nat_flow_at(nat_find_slow(&own));
		if (!flow || !nat_is(flow, &own))
			return 0;
		__sync_fetch_and_or(&flow->state, seen & NAT_SEEN);
		nat_turn(flow, &own);
	}
	return 1;
}

inline_always void nat_see(struct nat_flow *flow, struct nat_key *key, __u32 bits, __u32 ticks)
{
	if (unlikely((nat_state(flow) & bits) != bits))
		nat_note(key, bits);
	if (unlikely(ticks - flow->last > nat_delay()))
		*(volatile __u32 *)&flow->last = ticks;
}

inline_always int nat_has_ports(__u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_ICMP;
}

struct nat_search {
	struct nat_end end;
	struct nat_binding binding;
	__u32 tried;
	__u32 found;
};

/* Tries a port: the UE's own first, then others at random, of which those of UDP are even or odd as the UE's (REQ-4). */
static long nat_try(__u32 i, struct nat_search *search)
{
	__u32 first = settings.nat.first_port, ports = settings.nat.ports, own = bpf_ntohs(search->binding.port);
	__u32 port = own;
	if (i || own < first || own >= first + ports) {
		port = first + (__u32)(((__u64)bpf_get_prandom_u32() * ports) >> 32);
		if (search->end.protocol == IPPROTO_UDP)
			port = (port & ~1u) | (own & 1);
		if (port < first || port >= first + ports)
			return 0;
	}
	search->end.port = bpf_htons(port);
	if (bpf_map_update_elem(&nat_of_public, &search->end, &search->binding, BPF_NOEXIST))
		return 0;
	search->found = 1;
	return 1;
}

/* The public end of a UE's port: the one that it has, or a new one. 0: there is none left. */
global int nat_bind(struct nat_key *key, struct nat_binding *bound, __u32 session, __u32 incarnation)
{
	if (!key || !bound)
		return 0;
	struct nat_end own = { .address = key->near, .port = key->near_port, .protocol = nat_protocol(key->kind) };
	struct nat_binding *known = bpf_map_lookup_elem(&nat_of_ue, &own);
	if (known && known->incarnation == incarnation) {
		*bound = *known;
		return 1;
	}
	struct nat_search search = {
		.end = { .address = nat_address_of(key->near), .protocol = own.protocol },
		.binding = { .address = key->near, .port = key->near_port, .session = session, .incarnation = incarnation },
	};
	if (known) {
		/* Of a session that had this address before: its port goes on as this one's. */
		search.end.port = known->port;
		bpf_map_update_elem(&nat_of_public, &search.end, &search.binding, BPF_ANY);
	} else {
		bpf_loop(NAT_TRIES, nat_try, &search, 0);
		if (!search.found)
			return 0;
	}
	bound->address = search.end.address;
	bound->port = search.end.port;
	bound->unused = 0;
	bound->session = session;
	bound->incarnation = incarnation;
	struct nat_binding kept = *bound;
	if (bpf_map_update_elem(&nat_of_ue, &own, &kept, known ? BPF_ANY : BPF_NOEXIST)) {
		/* Another processor was first, or there is no memory. */
		bpf_map_delete_elem(&nat_of_public, &search.end);
		known = bpf_map_lookup_elem(&nat_of_ue, &own);
		if (!known || known->incarnation != incarnation)
			return 0;
		*bound = *known;
	}
	return 1;
}

/* Takes a place, if it is free. */
inline_always int nat_claim(__u32 index)
{
	struct nat_flow *flow = nat_flow_at(index);
	if (!flow || *(volatile __u32 *)&flow->state || __sync_val_compare_and_swap(&flow->state, 0, NAT_TAKEN))
		return 0;
	__u32 block = index / (NAT_BLOCK * NAT_WAYS);
	__u32 *taken = bpf_map_lookup_elem(&nat_blocks, &block);
	if (taken)
		__sync_fetch_and_add(taken, 1);
	return 1;
}

/* The first of the places that no key says, and how many there are. */
inline_always __u32 nat_behind(void)
{
	return (settings.nat.lines + 2) * NAT_WAYS;
}

inline_always __u32 nat_others(void)
{
	return (settings.nat.flows + 1) / 2 + 64;
}

/* Gives back a place that no packet has found. */
inline_always void nat_give_back(__u32 index, struct nat_key *key)
{
	struct nat_flow *flow = nat_flow_at(index);
	__u32 block = index / (NAT_BLOCK * NAT_WAYS);
	__u32 *taken = bpf_map_lookup_elem(&nat_blocks, &block);
	if (taken)
		__sync_fetch_and_add(taken, -1);
	if (flow)
		*(volatile __u32 *)&flow->state = 0;
	if (index >= nat_behind()) {
		bpf_map_delete_elem(&nat_by_key, key);
		bpf_map_push_elem(&nat_free, &index, 0);
	}
}

/* A place for a flow, which is taken then: one that its key says, or another one, to which a table leads. */
global __u32 nat_take(struct nat_key *key)
{
	if (!key)
		return NONE;
	struct nat_key own = *key;
	__u32 at = nat_line_of(nat_hash(&own)), index = NONE;
	for (int i = 0; i < 2 * NAT_WAYS; i++) {
		index = (at ^ (i / NAT_WAYS)) * NAT_WAYS + (i & 1);
		if (nat_claim(index))
			return index;
	}
	if (bpf_map_pop_elem(&nat_free, &index)) {
		if (globals.nat_next >= nat_others())
			return NONE;
		__u32 n = __sync_fetch_and_add(&globals.nat_next, 1);
		if (n >= nat_others())
			return NONE;
		index = nat_behind() + n;
	}
	if (!nat_claim(index))
		return NONE;
	if (bpf_map_update_elem(&nat_by_key, &own, &index, BPF_ANY)) {
		nat_give_back(index, &own);
		return NONE;
	}
	return index;
}

inline_always int nat_count(__u32 session)
{
	struct session *of = bpf_map_lookup_elem(&sessions, &session);
	if (!of)
		return 0;
	if (__sync_fetch_and_add(&of->flows, 1) < settings.nat.flows_per_ue) {
		/* Of all sessions, too. */
		if (__sync_fetch_and_add(&globals.nat_flows, 1) < settings.nat.flows)
			return 1;
		__sync_fetch_and_add(&globals.nat_flows, -1);
	}
	__sync_fetch_and_add(&of->flows, -1);
	return 0;
}

inline_always void nat_uncount(__u32 session)
{
	struct session *of = bpf_map_lookup_elem(&sessions, &session);
	__sync_fetch_and_add(&globals.nat_flows, -1);
	if (of)
		__sync_fetch_and_add(&of->flows, -1);
}

/* Writes one direction of a flow; the last store has packets find it. */
inline_always void nat_write(struct nat_flow *flow, struct nat_key *key, __be32 other, __be16 port, __u32 session,
			     __u32 incarnation, __u32 ticks)
{
	flow->near = key->near;
	flow->far = key->far;
	flow->near_port = key->near_port;
	flow->far_port = key->far_port;
	flow->other = other;
	flow->session = session;
	flow->incarnation = incarnation;
	flow->last = ticks;
	__sync_lock_test_and_set(&flow->state, key->kind | (__u32)port << NAT_PORT_SHIFT);
}

/* Makes a flow, whose two ends are known. Gives the place of what goes out. */
global __u32 nat_enter(struct nat_key *key, struct nat_binding *bound)
{
	if (!key || !bound)
		return NONE;
	struct nat_key out = *key;
	struct nat_key in = {
		.near = bound->address,
		.far = out.far,
		.near_port = bound->port,
		.far_port = out.far_port,
		.kind = out.kind | NAT_INWARD,
	};
	__u32 own = 1, out_at = NONE, in_at = NONE, ticks = bpf_jiffies64();
	if (bpf_map_update_elem(&nat_making, &in, &own, BPF_NOEXIST))
		return NONE;
	/* Another processor has made it, or the public end is another UE's. */
	if (!nat_find_slow(&in)) {
		out_at = nat_take(&out);
		in_at = out_at ? nat_take(&in) : NONE;
	}
	struct nat_flow *outward = nat_flow_at(out_at), *inward = nat_flow_at(in_at);
	if (in_at && inward && outward) {
		/* Outward first: who finds what comes in finds the other direction, too. */
		nat_write(outward, &out, in.near, in.near_port, bound->session, bound->incarnation, ticks);
		nat_write(inward, &in, out.near, out.near_port, out_at, bound->incarnation, ticks);
	} else if (out_at) {
		nat_give_back(out_at, &out);
		out_at = NONE;
	}
	bpf_map_delete_elem(&nat_making, &in);
	return out_at;
}

/* A new flow of a UE. Another processor may make it at the same time: then it is that one. */
global __u32 nat_begin(struct nat_key *out, __u32 session, __u32 incarnation)
{
	if (!out || !nat_count(session))
		return NONE;
	struct nat_binding bound = {
		.address = nat_address_of(out->near),
		.port = out->near_port,
		.session = session,
		.incarnation = incarnation,
	};
	__u32 index = NONE;
	if (!nat_has_ports(nat_protocol(out->kind)) || nat_bind(out, &bound, session, incarnation))
		index = nat_enter(out, &bound);
	if (!index) {
		nat_uncount(session);
		index = nat_find_slow(out);
	}
	return index;
}

/* A new flow from outside, which the binding of a UE's port takes whoever sends it: the place of what comes in. */
global __u32 nat_accept(struct nat_key *in)
{
	if (!in)
		return NONE;
	__u8 protocol = nat_protocol(in->kind);
	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
		return NONE;
	struct nat_end end = { .address = in->near, .port = in->near_port, .protocol = protocol };
	struct nat_binding *found = bpf_map_lookup_elem(&nat_of_public, &end);
	if (!found || !nat_count(found->session))
		return NONE;
	struct nat_key out = {
		.near = found->address,
		.far = in->far,
		.near_port = found->port,
		.far_port = in->far_port,
		.kind = nat_kind(protocol, 0),
	};
	struct nat_binding bound = {
		.address = in->near,
		.port = in->near_port,
		.session = found->session,
		.incarnation = found->incarnation,
	};
	if (!nat_enter(&out, &bound))
		nat_uncount(bound.session);
	return nat_find_slow(in);
}

/* A flow that is over, or was another session's, begins anew for its UE. The key is that of what goes out. */
global int nat_renew(struct nat_key *key, __u32 session, __u32 incarnation)
{
	if (!key)
		return 0;
	struct nat_key own = *key;
	struct nat_flow *flow = nat_flow_at(nat_find_slow(&own));
	if (!flow || !nat_is(flow, &own))
		return 0;
	struct nat_key in = {};
	nat_turn(flow, &in);
	struct nat_flow *inward = nat_flow_at(nat_find_slow(&in));
	if (!inward || !nat_is(inward, &in))
		return 0;
	__u32 was = flow->incarnation, ticks = bpf_jiffies64();
	if (was != incarnation) {
		if (!nat_count(session))
			return 0;
		if (__sync_val_compare_and_swap(&flow->incarnation, was, incarnation) != was) {
			nat_uncount(session);
		} else {
			flow->session = session;
			inward->incarnation = incarnation;
			/* It was counted already. */
			__sync_fetch_and_add(&globals.nat_flows, -1);
		}
	}
	__sync_fetch_and_and(&flow->state, ~NAT_SEEN);
	__sync_fetch_and_and(&inward->state, ~NAT_SEEN);
	flow->last = ticks;
	inward->last = ticks;
	return 1;
}
