/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Packet classification: from a TEID or address to the matching PDR */
#pragma once

#include "gtpu.h"

/* Upper bound of groups per list; user space builds no longer list. */
#define MAX_GROUPS 128

inline_always struct rule *rule_at(__u32 index)
{
	return bpf_map_lookup_elem(&rules, &index);
}

inline_always struct rule_cold *cold_of(struct rule *rule)
{
	__u32 index = rule->rest;
	return bpf_map_lookup_elem(&cold_rules, &index);
}

inline_always __u32 session_of(struct rule *rule)
{
	struct rule_cold *rest = cold_of(rule);
	return rest ? rest->session : NONE;
}

/* Whether the UE's address in the packet is one of the PDR's. */
inline_always int matches_ue(struct rule *rule, struct flow *flow)
{
	int up = rule->flags & RULE_UPLINK;
	if (flow->version == 4)
		return rule->flags & RULE_UE4 &&
		       rule->ue4 == (up ? flow->source4 : flow->destination4);
	if (!(rule->flags & RULE_UE6))
		return 0;
	struct rule_cold *rest = cold_of(rule);
	return rest && rest->ue6 == (up ? flow->source6[0] : flow->destination6[0]);
}

/* Matches the PDI fields of a PDR other than its filters. */
inline_always int matches_rule(struct rule *rule, struct flow *flow, struct tunnelled *tunnel)
{
	__u32 flags = rule->flags;
	if (likely(!(flags & (RULE_MATCH_UE | RULE_MATCH_QFI))))
		return 1;
	if (flags & RULE_MATCH_UE && !matches_ue(rule, flow))
		return 0;
	if (flags & RULE_MATCH_QFI) {
		if (unlikely(!tunnel->has_qfi))
			return flags & RULE_DEFAULT_FLOW;
		struct rule_cold *rest = cold_of(rule);
		return rest && rest->qfis >> (tunnel->qfi & 63) & 1;
	}
	return 1;
}

inline_always int within(__u64 first, __u64 second, const __u64 *network, const __u64 *mask)
{
	return !((first ^ network[0]) & mask[0]) && !((second ^ network[1]) & mask[1]);
}

/* Whether one address of the packet is within a network. */
inline_always int side_within(struct flow *flow, int source, const __u64 *network,
			      const __u64 *mask)
{
	if (flow->version == 4)
		return within(source ? flow->source4 : flow->destination4, 0, network, mask);
	if (source)
		return within(flow->source6[0], flow->source6[1], network, mask);
	return within(flow->destination6[0], flow->destination6[1], network, mask);
}

/* Matches the filter fields that few filters have. */
inline_always int matches_more(__u32 index, struct flow *flow, int up)
{
	struct filter *f = bpf_map_lookup_elem(&filters, &index);
	if (!f)
		return 0;
	int of6 = flow->version == 6;
	if (f->flags & (FILTER_REMOTE4 | FILTER_REMOTE6)) {
		int in = of6 == !!(f->flags & FILTER_REMOTE6) &&
			 side_within(flow, !up, f->remote, f->remote_mask);
		if (in == !!(f->flags & FILTER_REMOTE_NOT))
			return 0;
	}
	if (f->flags & (FILTER_UE4 | FILTER_UE6)) {
		int in = of6 == !!(f->flags & FILTER_UE6) &&
			 side_within(flow, up, f->ue, f->ue_mask);
		if (in == !!(f->flags & FILTER_UE_NOT))
			return 0;
	}
	if (f->flags & FILTER_SPI && !(flow->has_spi && flow->spi == f->spi))
		return 0;
	if (f->flags & FILTER_LABEL && !(of6 && flow->label == f->label))
		return 0;
	return 1;
}

/* State of a search. Flow descriptions are written for the downlink: on the uplink source and
 * destination are swapped. */
struct search {
	struct flow *flow;
	struct tunnelled *tunnel;
	__u64 ports;		/* remote port, upper half UE port */
	__u32 next;		/* group */
	__u32 found;
	__be32 remote;
	__be32 any;		/* all ones for a non-IPv4 packet: never matches */
	__u32 kind;
	__u32 up;
};

/* Matches the remaining fields of candidate `at` and its rule, after its common fields matched. */
global int matches_details(__u32 at, __u32 found, struct flow *flow, struct tunnelled *tunnel,
			   int up)
{
	if (!flow || !tunnel)
		return 0;
	/* First, since it has more arguments: the stacks of callers and callees are almost full on
	 * Linux 6.1, and this order needs less. */
	if (found & CANDIDATE_FILTER && !matches_more(at, flow, up))
		return 0;
	struct rule *rule = rule_at(found & CANDIDATE_RULE);
	return rule && matches_rule(rule, flow, tunnel);
}

/* Groups that one step skips at most. */
#define STRIDE 4

/* One step of a search, up to the next group whose port range matches; 1 ends it. */
static long search_step(__u32 i, struct search *search)
{
	__u32 at = search->next, remote = search->remote, any = search->any, kind = search->kind;
	__u64 ports = search->ports, guarded = ports | PORT_GUARD;
	struct group *group = NULL;
	int fits = 0;
#pragma unroll
	for (int n = 0; n < STRIDE; n++) {
		group = bpf_map_lookup_elem(&groups, &at);
		if (!group)
			return 1;
		at++;
		/* A guard bit is cleared where a port is out of range. */
		if (((guarded - group->low) & (group->high - ports) & PORT_GUARD) == PORT_GUARD) {
			fits = 1;
			break;
		}
		if (group->last & 1)
			return 1;
	}
	search->next = at;
	if (!fits || !group)
		return 0;
#pragma unroll
	for (int n = 0; n < GROUP; n++) {
		struct candidate *c = &group->candidate[n];
		__u64 address = *(__u64 *)&c->remote;
		__u32 miss = ((remote ^ (__u32)address) | any) & (__u32)(address >> 32);
		miss |= (kind ^ c->kind) & (c->kind >> 16);
		__u64 in = (guarded - c->low) & (c->high - ports) & PORT_GUARD;
		if (miss | (in ^ PORT_GUARD))
			continue;
		__u32 rule = c->rule;
		if (likely(!(rule & (CANDIDATE_FILTER | CANDIDATE_RULE_FIELDS))) ||
		    matches_details((at - 1) * GROUP + n, rule, search->flow, search->tunnel,
				    search->up)) {
			search->found = rule & CANDIDATE_RULE;
			return 1;
		}
	}
	return group->last & 1;
}

/* The first matching rule of a list. */
global __u32 find_in_list(struct flow *flow, struct tunnelled *tunnel, __u32 first, int up)
{
	if (!flow || !tunnel)
		return NONE;
	__u64 source = flow->has_ports ? flow->source_port : NO_PORT;
	__u64 destination = flow->has_ports ? flow->destination_port : NO_PORT;
	struct search search = {
		.flow = flow,
		.tunnel = tunnel,
		.next = first,
		.remote = up ? flow->destination4 : flow->source4,
		.any = flow->version == 4 ? 0 : 0xffffffff,
		.ports = up ? destination | source << 32 : source | destination << 32,
		.kind = flow->protocol | flow->tos << 8,
		.up = up,
	};
	bpf_loop(MAX_GROUPS, search_step, &search, 0);
	return search.found;
}

/* Any rule of a target, to find the session. */
inline_always struct rule *any_rule_of(__u32 target)
{
	if (target & TARGET_LIST) {
		__u32 at = target & ~TARGET_LIST;
		struct group *group = bpf_map_lookup_elem(&groups, &at);
		return group ? rule_at(group->candidate[0].rule & CANDIDATE_RULE) : NULL;
	}
	return rule_at(target);
}

/* The matching rule of a packet, whose IP header is at `offset`. */
inline_always struct rule *classify(struct xdp_md *ctx, __u32 offset, struct flow *flow,
				    struct tunnelled *tunnel, __u32 target, int up)
{
	if (likely(!(target & TARGET_LIST))) {
		struct rule *rule = rule_at(target);
		return rule && matches_rule(rule, flow, tunnel) ? rule : NULL;
	}
	/* A packet between two UEs is classified twice. */
	if (!flow->read && !read_ports4(ctx, offset, flow))
		read_transport(ctx, offset, flow);
	flow->read = 1;
	__u32 found = find_in_list(flow, tunnel, target & ~TARGET_LIST, up);
	return found ? rule_at(found) : NULL;
}

/* Hashes a key to 0..size-1, equal to user space. */
inline_always __u32 hash_index(__u32 key, __u32 slots)
{
	key ^= key >> 16;
	key *= 0x7feb352d;
	key ^= key >> 15;
	key *= 0x846ca68b;
	return ((__u64)key * slots) >> 32;
}

/* The target in a cache slot if its key matches, else NONE. */
inline_always __u32 cache_match(__u32 index, __be32 key, __u32 of_teid)
{
	struct rule *rule = rule_at(index);
	if (!rule)
		return NONE;
	/* Read key and flags with one load. */
	__u64 first = *(volatile __u64 *)rule;
	__u32 differ = (__u32)first ^ key;
	if (differ | (((__u32)(first >> 32) & RULE_BY_TEID) ^ of_teid))
		return NONE;
	/* Data dependency: later loads of the rule are as new as its key. */
	barrier_var(differ);
	if (unlikely((__u32)(first >> 32) & RULE_LIST))
		return TARGET_LIST | rule->rest;
	return index + differ;
}

/* Multiplier that spreads consecutive keys evenly over the slot pairs: UE addresses come from
 * pools. Other keys are spread as by a random hash. */
#define CACHE_HASH 0x2fdad06b

/* Slots 0 and 1 are unused. The slots of TEIDs follow, then those of addresses. The hash selects
 * the slot of a pair that is probed first. */
inline_always __u32 cache_slot_of(__be32 key, __u32 of_teid)
{
	__u32 hash = bpf_ntohl(key) * CACHE_HASH;
	return ((__u64)hash * settings.cache_slots >> 32) +
	       (of_teid ? 2 : settings.cache_slots + 2);
}

inline_always __u32 cache_find(__be32 key, __u32 of_teid)
{
	__u32 slot = cache_slot_of(key, of_teid);
	__u32 found = cache_match(slot, key, of_teid);
	return likely(found) ? found : cache_match(slot ^ 1, key, of_teid);
}

/* Prefetches a rule's cache line by a store, which does not stall the CPU as a load would. Not used
 * with NAT, where the following stores to the packet would wait for it. */
inline_always void expect_rule(__be32 key, __u32 of_teid)
{
	struct rule *rule = rule_at(cache_slot_of(key, of_teid));
	if (rule)
		*(volatile __u8 *)&rule->unused = 0;
}

inline_always __u32 find(void *table, void *more, __be32 key, __u32 slots, __u32 of_teid)
{
	__u32 rule = cache_find(key, of_teid);
	if (likely(rule))
		return rule;
	__u32 slot = hash_index(key, slots);
	struct cells *cells = bpf_map_lookup_elem(table, &slot);
	if (!cells)
		return NONE;
#pragma unroll
	for (int i = 0; i < CELLS; i++) {
		__u64 cell = *(volatile __u64 *)&cells->cell[i];
		if ((__u32)cell == key)
			return cell >> 32;
	}
	if (unlikely(cells->more)) {
		__u32 *target = bpf_map_lookup_elem(more, &key);
		if (target)
			return *target;
	}
	/* The rule moved between cache and cells during the lookup: look again. */
	return cache_find(key, of_teid);
}

inline_always __u32 lookup_teid(__be32 teid)
{
	return find(&teid_cells, &by_teid, teid, settings.teid_cells, RULE_BY_TEID);
}

/* The target of the longest framed route that contains an address. */
global __u32 routed(struct flow *flow, int source)
{
	__u32 *target;
	if (!flow)
		return NONE;
	if (flow->version == 4) {
		struct route4 key = { .length = 32,
				      .network = source ? flow->source4 : flow->destination4 };
		target = bpf_map_lookup_elem(&routes4, &key);
	} else {
		__be64 *address = source ? flow->source6 : flow->destination6;
		__u64 upper = address[0], lower = address[1];
		struct route6 key = { .length = 128,
				      .network = { upper, upper >> 32, lower, lower >> 32 } };
		target = bpf_map_lookup_elem(&routes6, &key);
	}
	return target ? *target : NONE;
}

inline_always __u32 lookup_ue(struct flow *flow, int source)
{
	__u32 found = NONE;
	if (flow->version == 4) {
		__be32 key = source ? flow->source4 : flow->destination4;
		__u32 address = bpf_ntohl(key);
		if (address >= globals.ue4_low && address <= globals.ue4_high)
			found = find(&ue4_cells, &by_ue4, key, settings.ue4_cells, 0);
	} else {
		__be64 key = source ? flow->source6[0] : flow->destination6[0];
		__u32 *target = bpf_map_lookup_elem(&by_ue6, &key);
		if (target)
			found = *target;
	}
	if (unlikely(!found && globals.routes))
		found = routed(flow, source);
	return found;
}

/* Whether an IPv6 address, of which this is the upper half, is link-local. */
inline_always int is_link_local(__be64 upper)
{
	return bpf_be64_to_cpu(upper) >> 54 == 0xfe8 >> 2;
}

/* Whether the source address is not one of the UE's. With IPv6, link-local addresses are the UE's
 * on its link (RFC 4862, 5.3), and no packet with one leaves it (RFC 4291, 2.5.6). */
global int is_foreign(struct rule *rule, struct flow *flow)
{
	if (!rule || !flow)
		return 1;
	__u32 flags = rule->flags;
	if (!(flags & (RULE_UE4 | RULE_UE6 | RULE_UE_MANY)))
		return 0;
	if (flow->version == 4) {
		if (flags & RULE_UE4 && rule->ue4 == flow->source4)
			return 0;
	} else {
		if (flags & RULE_UE6) {
			struct rule_cold *rest = cold_of(rule);
			if (rest && rest->ue6 == flow->source6[0])
				return 0;
			if (is_link_local(flow->source6[0]) &&
			    (is_link_local(flow->destination6[0]) || is_multicast(flow)))
				return 0;
		}
	}
	if (flags & RULE_UE_MANY) {
		__u32 target = lookup_ue(flow, 1);
		struct rule *other = target ? any_rule_of(target) : NULL;
		if (other && other->incarnation == rule->incarnation)
			return 0;
	}
	return 1;
}
