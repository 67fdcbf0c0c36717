/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Flows whose addresses are translated, and the ports that they have: they are found by what their packets look like on
 * either side, in one line of a cache of our own or else in a table of the kernel. User space takes away those whose time
 * is over; programs do not take them for alive any longer. */
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

inline_always struct nat_flow *nat_flow_at(__u32 index)
{
	return bpf_map_lookup_elem(&nat_flows, &index);
}

inline_always __u64 nat_hash(struct nat_key *key)
{
	__u64 addresses = (__u64)key->near << 32 | key->far;
	__u64 rest = (__u64)key->near_port << 48 | (__u64)key->far_port << 32 | key->protocol << 8 | key->inward;
	__u64 x = (addresses ^ settings.nat.seed) * 0x9e3779b97f4a7c15ull;
	x ^= x >> 32;
	x = (x ^ rest) * 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	return x * 0xd6e8feb86659fd93ull;
}

inline_always int nat_is(struct nat_flow *flow, struct nat_key *key)
{
	__be32 near = key->inward ? flow->public4 : flow->ue;
	__be16 near_port = key->inward ? flow->public_port : flow->ue_port;
	return flow->used && near == key->near && flow->far == key->far && near_port == key->near_port &&
	       flow->far_port == key->far_port && flow->protocol == key->protocol;
}

inline_always struct nat_cells *nat_set_of(__u64 hash)
{
	__u32 set = ((hash >> 32) * settings.nat.sets) >> 32;
	return bpf_map_lookup_elem(&nat_cells, &set);
}

/* Has a flow be found at once. Others that were there are found all the same, in the kernel's table. */
inline_always void nat_remember(__u64 hash, __u32 index)
{
	struct nat_cells *cells = nat_set_of(hash);
	if (!cells)
		return;
	__u32 place = (__u32)(hash >> 16) & (NAT_WAYS - 1);
#pragma unroll
	for (int i = 0; i < NAT_WAYS; i++)
		if (!cells->cell[i])
			place = i;
	*(volatile __u64 *)&cells->cell[place & (NAT_WAYS - 1)] = (hash & 0xffffffff) << 32 | index;
}

/* The flow of a key in the kernel's table. */
global __u32 nat_find_slow(struct nat_key *key)
{
	if (!key)
		return NONE;
	/* Older kernels take keys from the stack alone. */
	struct nat_key own = *key;
	__u32 *index = bpf_map_lookup_elem(&nat_by_key, &own);
	if (!index)
		return NONE;
	struct nat_flow *flow = nat_flow_at(*index);
	if (!flow || !nat_is(flow, &own))
		return NONE;
	nat_remember(nat_hash(&own), *index);
	return *index;
}

inline_always struct nat_flow *nat_find(struct nat_key *key)
{
	__u64 hash = nat_hash(key);
	__u32 tag = hash, index = NONE;
	struct nat_cells *cells = nat_set_of(hash);
	if (!cells)
		return NULL;
#pragma unroll
	for (int i = 0; i < NAT_WAYS; i++) {
		__u64 cell = *(volatile __u64 *)&cells->cell[i];
		if ((__u32)(cell >> 32) == tag)
			index = cell;
	}
	struct nat_flow *flow = nat_flow_at(index);
	if (likely(index && flow && nat_is(flow, key)))
		return flow;
	index = nat_find_slow(key);
	return index ? nat_flow_at(index) : NULL;
}

/* Ticks after its last packet for which a flow lives. */
inline_always __u32 nat_lifetime(struct nat_flow *flow)
{
	__u32 seen = flow->seen;
	switch (flow->protocol) {
	case IPPROTO_UDP:
		return seen & NAT_ANSWERED ? settings.nat.udp : settings.nat.udp_unanswered;
	case IPPROTO_TCP:
		if (!(seen & NAT_CONFIRMED) || seen & NAT_RESET ||
		    (seen & (NAT_FIN_OUT | NAT_FIN_IN)) == (NAT_FIN_OUT | NAT_FIN_IN))
			return settings.nat.tcp_transitory;
		return settings.nat.tcp;
	case IPPROTO_ICMP:
		return settings.nat.icmp;
	default:
		return settings.nat.other;
	}
}

inline_always int nat_is_over(struct nat_flow *flow, __u64 ticks)
{
	__u64 last = *(volatile __u64 *)&flow->last;
	return last + nat_lifetime(flow) < ticks;
}

inline_always void nat_see(struct nat_flow *flow, __u32 bits, __u64 ticks)
{
	if (unlikely((flow->seen & bits) != bits))
		__sync_fetch_and_or(&flow->seen, bits);
	if (flow->last != ticks)
		*(volatile __u64 *)&flow->last = ticks;
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
	struct nat_end own = { .address = key->near, .port = key->near_port, .protocol = key->protocol };
	struct nat_binding *known = bpf_map_lookup_elem(&nat_of_ue, &own);
	if (known && known->incarnation == incarnation) {
		*bound = *known;
		return 1;
	}
	struct nat_search search = {
		.end = { .address = nat_address_of(key->near), .protocol = key->protocol },
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
	bpf_map_update_elem(&nat_of_ue, &own, &kept, BPF_ANY);
	return 1;
}

inline_always void nat_give_back(__u32 index)
{
	struct nat_flow *flow = nat_flow_at(index);
	if (flow)
		flow->used = 0;
	bpf_map_push_elem(&nat_free, &index, 0);
}

/* A place for a flow. */
inline_always __u32 nat_take(void)
{
	__u32 index = NONE;
	if (!bpf_map_pop_elem(&nat_free, &index))
		return index;
	if (globals.nat_next > settings.nat.flows)
		return NONE;
	index = __sync_fetch_and_add(&globals.nat_next, 1);
	return index <= settings.nat.flows ? index : NONE;
}

inline_always int nat_count(__u32 session)
{
	struct session *of = bpf_map_lookup_elem(&sessions, &session);
	if (!of)
		return 0;
	if (__sync_fetch_and_add(&of->flows, 1) < settings.nat.flows_per_ue)
		return 1;
	__sync_fetch_and_add(&of->flows, -1);
	return 0;
}

inline_always void nat_uncount(__u32 session)
{
	struct session *of = bpf_map_lookup_elem(&sessions, &session);
	if (of)
		__sync_fetch_and_add(&of->flows, -1);
}

/* Makes a flow, whose two ends are known. Gives its place. */
inline_always __u32 nat_enter(struct nat_key *out, struct nat_binding *bound, __u64 ticks)
{
	__u32 index = nat_take();
	struct nat_flow *flow = nat_flow_at(index);
	if (!index || !flow)
		return NONE;
	struct nat_key in = {
		.near = bound->address,
		.far = out->far,
		.near_port = bound->port,
		.far_port = out->far_port,
		.protocol = out->protocol,
		.inward = 1,
	};
	flow->ue = out->near;
	flow->far = out->far;
	flow->public4 = bound->address;
	flow->ue_port = out->near_port;
	flow->far_port = out->far_port;
	flow->public_port = bound->port;
	flow->protocol = out->protocol;
	flow->seen = 0;
	flow->session = bound->session;
	flow->incarnation = bound->incarnation;
	flow->last = ticks;
	__u32 address = change32(out->near, bound->address), port = change16(out->near_port, bound->port);
	flow->address_change = fold16(address);
	/* ICMP has no pseudo header. */
	flow->transport_change = fold16(out->protocol == IPPROTO_ICMP ? port : address + port);
	*(volatile __u8 *)&flow->used = 1;
	if (bpf_map_update_elem(&nat_by_key, &in, &index, BPF_NOEXIST)) {
		nat_give_back(index);
		return NONE;
	}
	/* Older kernels take keys from the stack alone. */
	struct nat_key own = *out;
	if (bpf_map_update_elem(&nat_by_key, &own, &index, BPF_NOEXIST)) {
		bpf_map_delete_elem(&nat_by_key, &in);
		nat_give_back(index);
		return NONE;
	}
	nat_remember(nat_hash(out), index);
	nat_remember(nat_hash(&in), index);
	return index;
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
	if (!nat_has_ports(out->protocol) || nat_bind(out, &bound, session, incarnation))
		index = nat_enter(out, &bound, bpf_jiffies64());
	if (!index) {
		nat_uncount(session);
		index = nat_find_slow(out);
	}
	return index;
}

/* A new flow from outside, which the binding of a UE's port takes whoever sends it. */
global __u32 nat_accept(struct nat_key *in)
{
	if (!in || !nat_has_ports(in->protocol) || in->protocol == IPPROTO_ICMP)
		return NONE;
	struct nat_end end = { .address = in->near, .port = in->near_port, .protocol = in->protocol };
	struct nat_binding *found = bpf_map_lookup_elem(&nat_of_public, &end);
	if (!found || !nat_count(found->session))
		return NONE;
	struct nat_key out = {
		.near = found->address,
		.far = in->far,
		.near_port = found->port,
		.far_port = in->far_port,
		.protocol = in->protocol,
	};
	struct nat_binding bound = {
		.address = in->near,
		.port = in->near_port,
		.session = found->session,
		.incarnation = found->incarnation,
	};
	__u32 index = nat_enter(&out, &bound, bpf_jiffies64());
	if (!index)
		nat_uncount(bound.session);
	return index;
}

/* A flow that is over, or was another session's, begins anew for its UE. */
global int nat_renew(__u32 index, __u32 session, __u32 incarnation)
{
	struct nat_flow *flow = nat_flow_at(index);
	if (!flow)
		return 0;
	__u32 was = flow->incarnation;
	if (was != incarnation) {
		if (!nat_count(session))
			return 0;
		if (__sync_val_compare_and_swap(&flow->incarnation, was, incarnation) != was)
			nat_uncount(session);
		else
			flow->session = session;
	}
	flow->seen = 0;
	flow->last = bpf_jiffies64();
	return 1;
}
