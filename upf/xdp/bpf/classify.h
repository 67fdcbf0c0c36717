/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* From a tunnel or an address to the rule of a packet (TS 29.244, 5.2.1). */
#pragma once

#include "gtp.h"

/* Filters that a packet is compared with; user space makes no longer list. */
#define MOST_CANDIDATES 512

inline_always struct rule *rule_at(__u32 index)
{
	return bpf_map_lookup_elem(&rules, &index);
}

/* Whether the UE's address in the packet is one of the PDR's. */
inline_always int matches_ue(struct rule *rule, struct flow *flow)
{
	int up = rule->flags & RULE_UPLINK;
	if (flow->version == 4)
		return rule->flags & RULE_UE4 && rule->ue4 == (up ? flow->source4 : flow->destination4);
	return rule->flags & RULE_UE6 && rule->ue6 == (up ? flow->source6[0] : flow->destination6[0]);
}

/* What a PDR asks for beside its filters. */
inline_always int matches_rule(struct rule *rule, struct flow *flow, struct tunnelled *tunnel)
{
	__u32 flags = rule->flags;
	if (likely(!(flags & (RULE_MATCH_UE | RULE_MATCH_QFI))))
		return 1;
	if (flags & RULE_MATCH_UE && !matches_ue(rule, flow))
		return 0;
	if (flags & RULE_MATCH_QFI && !(tunnel->has_qfi && rule->qfis >> (tunnel->qfi & 63) & 1))
		return 0;
	return 1;
}

inline_always int within(const __u64 *address, const __u64 *network, const __u64 *mask)
{
	return !((address[0] ^ network[0]) & mask[0]) && !((address[1] ^ network[1]) & mask[1]);
}

/* The seldom asked parts of a filter. */
global int matches_more(__u32 index, struct flow *flow, int up)
{
	struct filter *f = bpf_map_lookup_elem(&filters, &index);
	if (!f || !flow)
		return 0;
	int of6 = flow->version == 6;
	__u64 remote[2], ue[2];
	if (of6) {
		__builtin_memcpy(remote, up ? flow->destination6 : flow->source6, 16);
		__builtin_memcpy(ue, up ? flow->source6 : flow->destination6, 16);
	} else {
		remote[0] = up ? flow->destination4 : flow->source4;
		ue[0] = up ? flow->source4 : flow->destination4;
		remote[1] = ue[1] = 0;
	}
	if (f->flags & FILTER_REMOTE6) {
		int in = of6 && within(remote, f->remote, f->remote_mask);
		if (in == !!(f->flags & FILTER_REMOTE_NOT))
			return 0;
	}
	if (f->flags & (FILTER_UE4 | FILTER_UE6)) {
		int in = of6 == !!(f->flags & FILTER_UE6) && within(ue, f->ue, f->ue_mask);
		if (in == !!(f->flags & FILTER_UE_NOT))
			return 0;
	}
	if (f->flags & FILTER_SPI && !(flow->has_spi && flow->spi == f->spi))
		return 0;
	if (f->flags & FILTER_LABEL && !(of6 && flow->label == f->label))
		return 0;
	return 1;
}

inline_always int in_range(__u16 port, __u16 low, __u16 high)
{
	return (__u16)(port - low) <= (__u16)(high - low);
}

/* A search through a list. */
struct search {
	struct flow *flow;
	struct tunnelled *tunnel;
	__u32 first;
	__u32 found;
};

/* Whether a candidate takes the packet, as far as it says itself. A description is written for the downlink: on the
 * uplink its sides are exchanged. */
inline_always int matches_candidate(struct candidate *c, struct flow *flow)
{
	__u8 flags = c->flags;
	int up = c->up;
	__be32 remote = up ? flow->destination4 : flow->source4;
	__u16 remote_port = up ? flow->destination_port : flow->source_port;
	__u16 ue_port = up ? flow->source_port : flow->destination_port;
	if (flags & MATCH_PROTOCOL && c->protocol != flow->protocol)
		return 0;
	if (flags & MATCH_REMOTE &&
	    (flow->version == 4 && !((remote ^ c->remote) & c->remote_mask)) == !!(flags & MATCH_NOT))
		return 0;
	if (flags & MATCH_REMOTE_PORT && !(flow->has_ports && in_range(remote_port, c->remote_low, c->remote_high)))
		return 0;
	if (flags & MATCH_UE_PORT && !(flow->has_ports && in_range(ue_port, c->ue_low, c->ue_high)))
		return 0;
	return !(flags & MATCH_TOS && (flow->tos ^ c->tos) & c->tos_mask);
}

/* One step of a search; 1 ends it. */
static long step(__u32 i, struct search *search)
{
	__u32 at = search->first + i;
	struct candidate *c = bpf_map_lookup_elem(&candidates, &at);
	if (!c)
		return 1;
	struct flow *flow = search->flow;
	if (matches_candidate(c, flow)) {
		struct rule *rule = rule_at(c->rule);
		if (rule && matches_rule(rule, flow, search->tunnel) &&
		    (!(c->flags & MATCH_MORE) || matches_more(c->more, flow, c->up))) {
			search->found = c->rule;
			return 1;
		}
	}
	return !!(c->flags & MATCH_LAST);
}

/* The first rule of a list that takes the packet. */
global __u32 of_list(struct flow *flow, struct tunnelled *tunnel, __u32 first)
{
	if (!flow || !tunnel)
		return NONE;
	struct search search = { .flow = flow, .tunnel = tunnel, .first = first };
	bpf_loop(MOST_CANDIDATES, step, &search, 0);
	return search.found;
}

/* The first rule of an entrance, whichever it is: to know the session. */
inline_always struct rule *any_of(__u32 entrance)
{
	if (entrance & ENTRANCE_LIST) {
		__u32 at = entrance & ~ENTRANCE_LIST;
		struct candidate *m = bpf_map_lookup_elem(&candidates, &at);
		return m ? rule_at(m->rule) : NULL;
	}
	return rule_at(entrance);
}

/* The rule of a packet; `offset` is that of its IP header. */
inline_always struct rule *classify(struct xdp_md *ctx, __u32 offset, struct flow *flow, struct tunnelled *tunnel,
				    __u32 entrance)
{
	if (likely(!(entrance & ENTRANCE_LIST))) {
		struct rule *rule = rule_at(entrance);
		return rule && matches_rule(rule, flow, tunnel) ? rule : NULL;
	}
	read_transport(ctx, offset, flow);
	__u32 found = of_list(flow, tunnel, entrance & ~ENTRANCE_LIST);
	return found ? rule_at(found) : NULL;
}

inline_always __u32 entrance_of_ue(struct flow *flow, int source)
{
	__u32 *entrance;
	if (flow->version == 4) {
		__be32 key = source ? flow->source4 : flow->destination4;
		__u32 address = bpf_ntohl(key);
		if (address < globals.ue4_low || address > globals.ue4_high)
			return NONE;
		entrance = bpf_map_lookup_elem(&by_ue4, &key);
	} else {
		__be64 key = source ? flow->source6[0] : flow->destination6[0];
		entrance = bpf_map_lookup_elem(&by_ue6, &key);
	}
	return entrance ? *entrance : NONE;
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
		if (flags & RULE_UE6 &&
		    (rule->ue6 == flow->source6[0] ||
		     (flow->source6[0] & bpf_cpu_to_be64(0xffcull << 52)) == bpf_cpu_to_be64(0xfe8ull << 52)))
			return 0;
	}
	if (flags & RULE_UE_MANY) {
		__u32 entrance = entrance_of_ue(flow, 1);
		struct rule *other = entrance ? any_of(entrance) : NULL;
		if (other && other->session == rule->session)
			return 0;
	}
	return 1;
}
