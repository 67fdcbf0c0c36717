/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Creation of NAT flows: port allocation, table entries and limits. */
#pragma once

#include "nat_flows.h"

/* Ports tried for a new binding, and how many of them are of the CPU's own slice. */
#define NAT_TRIES 96
#define NAT_TRIES_OWN 32

inline_always int nat_has_ports(__u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_ICMP;
}

struct nat_search {
	struct nat_end end;
	struct nat_binding binding;
	__u32 slice;		/* first port of the CPU's slice */
	__u32 found;
};

/* First port of this CPU's slice. CPUs that draw from slices of their own do not collide. */
inline_always __u32 nat_slice(void)
{
	__u32 slices = settings.nat.slices, n = slices > 1 ? bpf_get_smp_processor_id() % slices : 0;

	return settings.nat.first_port + n * settings.nat.slice_ports;
}

/* Tries one port: first the UE's own, then random ones of the CPU's slice, at last random ones of
 * all slices. For UDP the parity is preserved (RFC 4787, REQ-4). */
static long nat_try(__u32 i, struct nat_search *search)
{
	__u32 first = settings.nat.first_port, ports = settings.nat.ports,
	      own = bpf_ntohs(search->binding.port);
	__u32 port = own;
	if (i || own < first || own >= first + ports) {
		if (i < NAT_TRIES_OWN) {
			first = search->slice;
			ports = settings.nat.slice_ports;
		}
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

/* The public end of a UE's port: the existing binding or a new one. 0: none left. */
global int nat_bind(struct nat_key *key, struct nat_binding *bound, __u32 session,
		    __u32 incarnation)
{
	if (!key || !bound)
		return 0;
	struct nat_end own = { .address = key->near,
			       .port = key->near_port,
			       .protocol = nat_protocol(key->kind) };
	struct nat_binding *known = bpf_map_lookup_elem(&nat_of_ue, &own);
	if (known && known->incarnation == incarnation) {
		*bound = *known;
		return 1;
	}
	struct nat_search search = {
		.end = { .address = nat_address_of(key->near), .protocol = own.protocol },
		.binding = { .address = key->near,
			     .port = key->near_port,
			     .session = session,
			     .incarnation = incarnation },
		.slice = nat_slice(),
	};
	if (known) {
		/* The previous session of this address: this one inherits its port. */
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
	struct nat_binding binding = *bound;
	if (bpf_map_update_elem(&nat_of_ue, &own, &binding, known ? BPF_ANY : BPF_NOEXIST)) {
		/* Another CPU was first, or memory is exhausted. */
		bpf_map_delete_elem(&nat_of_public, &search.end);
		known = bpf_map_lookup_elem(&nat_of_ue, &own);
		if (!known || known->incarnation != incarnation)
			return 0;
		*bound = *known;
	}
	return 1;
}

/* Restores the binding of a new flow if user space removed it meanwhile, as that of the last flow.
 * User space looks for new flows after the removal, so that one of both finds out. One variable of
 * each type: the stacks of callers and callees are almost full on Linux 6.1. */
global int nat_keep(struct nat_key *key, struct nat_binding *bound)
{
	if (!key || !bound)
		return 0;
	struct nat_end end = { .address = bound->address,
			       .port = bound->port,
			       .protocol = nat_protocol(key->kind) };
	struct nat_binding binding = { .address = key->near,
				       .port = key->near_port,
				       .session = bound->session,
				       .incarnation = bound->incarnation };
	struct nat_binding *found = bpf_map_lookup_elem(&nat_of_public, &end);
	if (!found) {
		if (bpf_map_update_elem(&nat_of_public, &end, &binding, BPF_NOEXIST))
			return 0;
	} else if (found->address != key->near || found->port != key->near_port) {
		/* Another UE has the public end now. */
		return 0;
	}
	end.address = key->near;
	end.port = key->near_port;
	if (!bpf_map_lookup_elem(&nat_of_ue, &end)) {
		binding.address = bound->address;
		binding.port = bound->port;
		bpf_map_update_elem(&nat_of_ue, &end, &binding, BPF_NOEXIST);
	}
	return 1;
}

/* Claims an entry if it is free. */
inline_always int nat_claim(__u32 index)
{
	struct nat_flow *flow = nat_flow_at(index);
	if (!flow || *(volatile __u32 *)&flow->state ||
	    __sync_val_compare_and_swap(&flow->state, 0, NAT_TAKEN))
		return 0;
	__u32 block = index / (NAT_BLOCK * NAT_WAYS);
	__u32 *taken = bpf_map_lookup_elem(&nat_blocks, &block);
	if (taken)
		__sync_fetch_and_add(taken, 1);
	return 1;
}

/* Index of the first overflow entry. */
inline_always __u32 nat_overflow_base(void)
{
	return (settings.nat.lines + 2) * NAT_WAYS;
}

inline_always __u32 nat_overflow_size(void)
{
	return (settings.nat.flows + 1) / 2 + 64;
}

/* Releases an entry that no packet can have found. */
inline_always void nat_release(__u32 index, struct nat_key *key)
{
	struct nat_flow *flow = nat_flow_at(index);
	__u32 block = index / (NAT_BLOCK * NAT_WAYS);
	__u32 *taken = bpf_map_lookup_elem(&nat_blocks, &block);
	if (taken)
		__sync_fetch_and_add(taken, -1);
	if (flow)
		*(volatile __u32 *)&flow->state = 0;
	if (index >= nat_overflow_base()) {
		bpf_map_delete_elem(&nat_by_key, key);
		bpf_map_push_elem(&nat_free, &index, 0);
	}
}

/* Allocates an entry for a flow: a keyed one, else an overflow entry. */
global __u32 nat_allocate(struct nat_key *key)
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
		if (globals.nat_next >= nat_overflow_size())
			return NONE;
		__u32 n = __sync_fetch_and_add(&globals.nat_next, 1);
		if (n >= nat_overflow_size())
			return NONE;
		index = nat_overflow_base() + n;
	}
	if (!nat_claim(index))
		return NONE;
	if (bpf_map_update_elem(&nat_by_key, &own, &index, BPF_ANY)) {
		nat_release(index, &own);
		return NONE;
	}
	return index;
}

/* The share of a limit for a flow; `inward`: that a host of the data network begins. Senders with
 * forged addresses leave half to flows of UEs. */
inline_always __u32 nat_share(__u32 limit, int inward)
{
	return inward ? (limit + 1) / 2 : limit;
}

inline_always int nat_count(__u32 session, int inward)
{
	struct session *of = bpf_map_lookup_elem(&sessions, &session);
	if (!of)
		return 0;
	if (__sync_fetch_and_add(&of->flows, 1) < nat_share(settings.nat.flows_per_ue, inward)) {
		/* The global limit applies as well. */
		if (__sync_fetch_and_add(&globals.nat_flows, 1) <
		    nat_share(settings.nat.flows, inward))
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

/* Writes one direction of a flow; the last store makes it visible. */
inline_always void nat_write(struct nat_flow *flow, struct nat_key *key, __be32 other, __be16 port,
			     __u32 session, __u32 incarnation, __u32 ticks)
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

/* Inserts a flow with known ends. Returns the index of the outward direction. The stacks of callers
 * and callees are almost full on Linux 6.1: its own has no more than 64 bytes. */
global __u32 nat_insert(struct nat_key *key, struct nat_binding *bound)
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
	__u32 out_at = NONE, in_at = NONE;
	/* Any value would do. */
	if (bpf_map_update_elem(&nat_creating, &in, &in.kind, BPF_NOEXIST))
		return NONE;
	/* Another CPU inserted it, or the public end belongs to another UE. */
	if (!nat_find_slow(&in)) {
		out_at = nat_allocate(&out);
		in_at = out_at ? nat_allocate(&in) : NONE;
	}
	struct nat_flow *outward = nat_flow_at(out_at), *inward = nat_flow_at(in_at);
	if (in_at && inward && outward) {
		__u32 ticks = bpf_jiffies64();
		/* Outward first: a packet that finds the inward entry has to find the outward one
		 * as well. */
		nat_write(outward, &out, in.near, in.near_port, bound->session, bound->incarnation,
			  ticks);
		nat_write(inward, &in, out.near, out.near_port, out_at, bound->incarnation, ticks);
	} else if (out_at) {
		nat_release(out_at, &out);
		out_at = NONE;
	}
	bpf_map_delete_elem(&nat_creating, &in);
	return out_at;
}

/* Creates a flow for a UE, or finds the one that another CPU created meanwhile. */
global __u32 nat_create(struct nat_key *out, __u32 session, __u32 incarnation)
{
	if (!out || !nat_count(session, 0))
		return NONE;
	struct nat_binding bound = {
		.address = nat_address_of(out->near),
		.port = out->near_port,
		.session = session,
		.incarnation = incarnation,
	};
	__u32 index = NONE;
	int has_ports = nat_has_ports(nat_protocol(out->kind));
	if (!has_ports || nat_bind(out, &bound, session, incarnation))
		index = nat_insert(out, &bound);
	if (index && has_ports)
		nat_keep(out, &bound);
	if (!index) {
		nat_uncount(session);
		index = nat_find_slow(out);
	}
	return index;
}

/* Creates a flow from outside for an existing binding (full cone). Returns the inward index. */
global __u32 nat_accept(struct nat_key *in)
{
	if (!in)
		return NONE;
	__u8 protocol = nat_protocol(in->kind);
	if (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP)
		return NONE;
	struct nat_end end = { .address = in->near, .port = in->near_port, .protocol = protocol };
	struct nat_binding *found = bpf_map_lookup_elem(&nat_of_public, &end);
	if (!found || !nat_count(found->session, 1))
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
	if (nat_insert(&out, &bound))
		nat_keep(&out, &bound);
	else
		nat_uncount(bound.session);
	return nat_find_slow(in);
}

/* Restarts an expired flow, or one of a previous session. The key is the outward one. */
global int nat_restart(struct nat_key *key, __u32 session, __u32 incarnation)
{
	if (!key)
		return 0;
	struct nat_key own = *key;
	struct nat_flow *flow = nat_flow_at(nat_find_slow(&own));
	if (!flow || !nat_is(flow, &own))
		return 0;
	struct nat_key in = {};
	nat_reverse(flow, &in);
	struct nat_flow *inward = nat_flow_at(nat_find_slow(&in));
	if (!inward || !nat_is(inward, &in))
		return 0;
	__u32 was = flow->incarnation, ticks = bpf_jiffies64();
	if (was != incarnation) {
		if (!nat_count(session, 0))
			return 0;
		if (__sync_val_compare_and_swap(&flow->incarnation, was, incarnation) != was) {
			nat_uncount(session);
		} else {
			flow->session = session;
			inward->incarnation = incarnation;
			/* Already counted. */
			__sync_fetch_and_add(&globals.nat_flows, -1);
		}
	}
	__sync_fetch_and_and(&flow->state, ~NAT_SEEN);
	__sync_fetch_and_and(&inward->state, ~NAT_SEEN);
	flow->last = ticks;
	inward->last = ticks;
	return 1;
}
