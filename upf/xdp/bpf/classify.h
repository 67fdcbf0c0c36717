/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* From a tunnel or an address to the rule of a packet (TS 29.244, 5.2.1). */
#pragma once

#include "gtpu.h"

/* Groups of filters that a packet is compared with; user space makes no longer list. */
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
		return rule->flags & RULE_UE4 && rule->ue4 == (up ? flow->source4 : flow->destination4);
	if (!(rule->flags & RULE_UE6))
		return 0;
	struct rule_cold *rest = cold_of(rule);
	return rest && rest->ue6 == (up ? flow->source6[0] : flow->destination6[0]);
}

/* What a PDR asks for beside its filters. */
inline_always int matches_rule(struct rule *rule, struct flow *flow, struct tunnelled *tunnel)
{
	__u32 flags = rule->flags;
	if (likely(!(flags & (RULE_MATCH_UE | RULE_MATCH_QFI))))
		return 1;
	if (flags & RULE_MATCH_UE && !matches_ue(rule, flow))
		return 0;
	if (flags & RULE_MATCH_QFI) {
		struct rule_cold *rest = cold_of(rule);
		return rest && tunnel->has_qfi && rest->qfis >> (tunnel->qfi & 63) & 1;
	}
	return 1;
}

inline_always int within(__u64 first, __u64 second, const __u64 *network, const __u64 *mask)
{
	return !((first ^ network[0]) & mask[0]) && !((second ^ network[1]) & mask[1]);
}

/* Whether the address of a side of the packet is within a network. */
inline_always int side_within(struct flow *flow, int source, const __u64 *network, const __u64 *mask)
{
	if (flow->version == 4)
		return within(source ? flow->source4 : flow->destination4, 0, network, mask);
	if (source)
		return within(flow->source6[0], flow->source6[1], network, mask);
	return within(flow->destination6[0], flow->destination6[1], network, mask);
}

/* The seldom asked parts of a filter. */
inline_always int matches_more(__u32 index, struct flow *flow, int up)
{
	struct filter *f = bpf_map_lookup_elem(&filters, &index);
	if (!f)
		return 0;
	int of6 = flow->version == 6;
	if (f->flags & (FILTER_REMOTE4 | FILTER_REMOTE6)) {
		int in = of6 == !!(f->flags & FILTER_REMOTE6) && side_within(flow, !up, f->remote, f->remote_mask);
		if (in == !!(f->flags & FILTER_REMOTE_NOT))
			return 0;
	}
	if (f->flags & (FILTER_UE4 | FILTER_UE6)) {
		int in = of6 == !!(f->flags & FILTER_UE6) && side_within(flow, up, f->ue, f->ue_mask);
		if (in == !!(f->flags & FILTER_UE_NOT))
			return 0;
	}
	if (f->flags & FILTER_SPI && !(flow->has_spi && flow->spi == f->spi))
		return 0;
	if (f->flags & FILTER_LABEL && !(of6 && flow->label == f->label))
		return 0;
	return 1;
}

/* What of a packet candidates look at. A description is written for the downlink: on the uplink its sides are
 * exchanged. */
struct search {
	struct flow *flow;
	struct tunnelled *tunnel;
	__u64 ports;		/* of the remote side, and in the upper half of the UE's */
	__u32 next;		/* group */
	__u32 found;
	__be32 remote;
	__be32 any;		/* bits that never match, where the packet is not IPv4 */
	__u32 kind;
	__u32 up;
};

/* Whether the rest of what candidate `at` and its rule ask for is so; only for those whose first part is. */
global int matches_details(__u32 at, __u32 found, struct flow *flow, struct tunnelled *tunnel, int up)
{
	if (!flow || !tunnel)
		return 0;
	struct rule *rule = rule_at(found & CANDIDATE_RULE);
	if (!rule || !matches_rule(rule, flow, tunnel))
		return 0;
	return !(found & CANDIDATE_FILTER) || matches_more(at, flow, up);
}

/* Groups that a step passes over. */
#define STRIDE 4

/* One step of a search, up to the next group that may have what it looks for; 1 ends it. */
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
		/* A guard bit is lost where a port is beyond an end of its range. */
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
		    matches_details((at - 1) * GROUP + n, rule, search->flow, search->tunnel, search->up)) {
			search->found = rule & CANDIDATE_RULE;
			return 1;
		}
	}
	return group->last & 1;
}

/* The first rule of a list that takes the packet. */
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

/* The first rule of an entrance, whichever it is: to know the session. */
inline_always struct rule *any_rule_of(__u32 target)
{
	if (target & TARGET_LIST) {
		__u32 at = target & ~TARGET_LIST;
		struct group *group = bpf_map_lookup_elem(&groups, &at);
		return group ? rule_at(group->candidate[0].rule & CANDIDATE_RULE) : NULL;
	}
	return rule_at(target);
}

/* The rule of a packet; `offset` is that of its IP header. */
inline_always struct rule *classify(struct xdp_md *ctx, __u32 offset, struct flow *flow, struct tunnelled *tunnel,
				    __u32 target, int up)
{
	if (likely(!(target & TARGET_LIST))) {
		struct rule *rule = rule_at(target);
		return rule && matches_rule(rule, flow, tunnel) ? rule : NULL;
	}
	/* A packet from one UE to another comes here twice. */
	if (!flow->read && !read_ports4(ctx, offset, flow))
		read_transport(ctx, offset, flow);
	flow->read = 1;
	__u32 found = find_in_list(flow, tunnel, target & ~TARGET_LIST, up);
	return found ? rule_at(found) : NULL;
}

/* A number from 0 to less than `most`, the same in user space. */
inline_always __u32 hash_index(__u32 key, __u32 most)
{
	key ^= key >> 16;
	key *= 0x7feb352d;
	key ^= key >> 15;
	key *= 0x846ca68b;
	return ((__u64)key * most) >> 32;
}

/* What lies at a place, if it is that of a key: the rule, or the list that it leads to; else none. */
inline_always __u32 cache_match(__u32 index, __be32 key, __u32 of_teid)
{
	struct rule *rule = rule_at(index);
	if (!rule)
		return NONE;
	/* Key and flags at once. */
	__u64 first = *(volatile __u64 *)rule;
	__u32 differ = (__u32)first ^ key;
	if (differ | (((__u32)(first >> 32) & RULE_BY_TEID) ^ of_teid))
		return NONE;
	/* What is read of the rule from here on is as new as its key, for its place hangs on that. */
	barrier_var(differ);
	if (unlikely((__u32)(first >> 32) & RULE_LIST))
		return TARGET_LIST | rule->rest;
	return index + differ;
}

/* Keys that follow each other lie evenly spread then, as those of most sessions do, and no three of them in a pair: addresses
 * of UEs come from pools. Other keys lie as if drawn at random. */
#define CACHE_HASH 0x2fdad06b

/* The first two places are nobody's; then come those of TEIDs, and then those of addresses. Which one of a pair is looked at
 * first, the hash says, too. */
inline_always __u32 cache_slot_of(__be32 key, __u32 of_teid)
{
	__u32 hash = bpf_ntohl(key) * CACHE_HASH;
	return ((__u64)hash * settings.cache_slots >> 32) + (of_teid ? 2 : settings.cache_slots + 2);
}

inline_always __u32 cache_find(__be32 key, __u32 of_teid)
{
	__u32 place = cache_slot_of(key, of_teid);
	__u32 found = cache_match(place, key, of_teid);
	return likely(found) ? found : cache_match(place ^ 1, key, of_teid);
}

/* Has the line in which a rule lies come from memory. By a write that nobody reads: after it the processor goes on with its
 * work, where after a read it would soon have to wait. Where addresses are translated it gains nothing: packets are written
 * to, which has to wait for this write. */
inline_always void expect_rule(__be32 key, __u32 of_teid)
{
	struct rule *rule = rule_at(cache_slot_of(key, of_teid));
	if (rule)
		*(volatile __u8 *)&rule->unused = 0;
}

inline_always __u32 find(void *table, void *more, __be32 key, __u32 most, __u32 of_teid)
{
	__u32 home = cache_find(key, of_teid);
	if (likely(home))
		return home;
	__u32 place = hash_index(key, most);
	struct cells *cells = bpf_map_lookup_elem(table, &place);
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
	/* A rule that went from one place to another meanwhile was seen at neither: by now it is there. */
	return cache_find(key, of_teid);
}

inline_always __u32 lookup_teid(__be32 teid)
{
	return find(&teid_cells, &by_teid, teid, settings.teid_cells, RULE_BY_TEID);
}

/* The entrance of the longest network behind a UE that an address is in. */
global __u32 routed(struct flow *flow, int source)
{
	__u32 *target;
	if (!flow)
		return NONE;
	if (flow->version == 4) {
		struct route4 key = { .length = 32, .network = source ? flow->source4 : flow->destination4 };
		target = bpf_map_lookup_elem(&routes4, &key);
	} else {
		__be64 *address = source ? flow->source6 : flow->destination6;
		__u64 upper = address[0], lower = address[1];
		struct route6 key = { .length = 128, .network = { upper, upper >> 32, lower, lower >> 32 } };
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

/* Whether a packet of a session's UE has a source address that the UE does not have. Link-local ones are its own affair
 * where it has IPv6 (RFC 4862, 5.3). */
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
			if ((rest && rest->ue6 == flow->source6[0]) ||
			    (flow->source6[0] & bpf_cpu_to_be64(0xffcull << 52)) == bpf_cpu_to_be64(0xfe8ull << 52))
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
