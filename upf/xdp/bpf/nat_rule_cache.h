/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The flow that the packets of a rule were last translated by, in the rule's own line of the cache: packets that follow it
 * need no other line. With many flows the lines of flows and of rules have no room in the caches together, and to wait for
 * both is what translation costs most.
 *
 * What is noted is valid for an epoch, and in each one packets look at their flow once: so it lives on, and one that has
 * ended is not taken for alive. Only flows are noted of which nothing more is to be seen (`nat_is_settled`).
 *
 * From UEs, the note has both ports, so that a packet never leaves with another port's public one; that it goes where
 * packets of this port went before, it has by a keyed hash. Where two are alike, which happens to one of 2^30, the reply to
 * the second is nobody's for an epoch. For UEs, `nat_hints` has by the same hash the rule and both ports, and the rule a
 * hash of all of it. */
#pragma once

#include "nat_transport.h"

/* Hints whose flows have the same hash, as far as it says a place; see `nat_hint`. */
#define HINTS 4
struct nat_hints {
	__u64 hint[HINTS];
};
TABLE(nat_hints, BPF_MAP_TYPE_ARRAY, __u32, struct nat_hints, 1, BPF_F_MMAPABLE);

inline_always __u32 nat_epoch(__u32 ticks)
{
	return ticks >> settings.nat.epoch_shift;
}

/* A hash of a flow and of its new port, which is another one in each epoch. It is never 0. */
inline_always __u32 nat_mark(__u64 hash, __be16 port, __u32 ticks)
{
	__u32 mark = (hash + port) * 0xbf58476d1ce4e5b9ull >> 32;
	return (mark ^ nat_epoch(ticks) * 0x9e3779b1) | 1;
}

/* Whether packets change nothing of what is known of a flow. */
inline_always int nat_is_settled(__u32 state, __u8 protocol, int inward)
{
	if (protocol == IPPROTO_TCP)
		return (state & NAT_SEEN) == (NAT_ANSWERED | NAT_CONFIRMED);
	return !inward || state & NAT_ANSWERED;
}

inline_always int nat_is_special(struct nat_l4 *place)
{
	return place->flags & (TCP_FIN | TCP_SYN | TCP_RST);
}

/* What a rule without a tunnel notes in place of the tunnel's end: the mark, with the protocol, and both ports. */
inline_always __u64 nat_cache_key(struct nat_key *key, __u64 hash, __u32 ticks)
{
	__u32 mark = nat_mark(hash, 0, ticks) & ~2u;
	return mark | (nat_protocol(key->kind) == IPPROTO_TCP ? 2 : 0) | (__u64)key->near_port << 32;
}

inline_always volatile __u64 *nat_cached(struct rule *rule)
{
	_Static_assert(__builtin_offsetof(struct rule, teid) % 8 == 0 &&
		       __builtin_offsetof(struct rule, peer4) == __builtin_offsetof(struct rule, teid) + 4, "one word");
	return (volatile __u64 *)&rule->teid;
}

/* A hint: the place of the UE's rule, the protocol, and in the upper half the public port and the UE's. */
#define NAT_HINT_RULE 0x7fffffffu
#define NAT_HINT_TCP 0x80000000u
#define NAT_HINT_KEY (0xffffull << 32 | NAT_HINT_TCP)

inline_always __u64 nat_hint_key(struct nat_key *key)
{
	return (nat_protocol(key->kind) == IPPROTO_TCP ? NAT_HINT_TCP : 0) | (__u64)key->near_port << 32;
}

inline_always struct nat_hints *nat_hints_of(__u64 hash)
{
	__u32 at = (hash >> 32) * settings.nat.hints >> 32;
	return bpf_map_lookup_elem(&nat_hints, &at);
}

/* The hint of a packet from outside; 0: there is none. As in `nat_in_line`, no branch says which one it is. */
inline_always __u64 nat_hint(struct nat_key *key, __u64 hash)
{
	struct nat_hints *hints = nat_hints_of(hash);
	if (!hints)
		return 0;
	__u64 of_key = nat_hint_key(key), found = 0;
#pragma unroll
	for (int i = 0; i < HINTS; i++) {
		__u64 hint = *(volatile __u64 *)&hints->hint[i], differs = (hint ^ of_key) & NAT_HINT_KEY;
		__u64 other = (differs | -differs) >> 63;
		barrier_var(other);
		found |= hint & (other - 1);
	}
	return found;
}

/* The rule of a packet from outside whose flow it was last translated by; NONE: it is another one's, or not known. */
inline_always __u32 nat_cache_lookup(__u64 hint, __u64 hash, __u32 ticks, __be32 *ue)
{
	__u32 at = hint & NAT_HINT_RULE;
	struct rule *rule = bpf_map_lookup_elem(&rules, &at);
	if (!rule)
		return NONE;
	/* As in `cache_match`: what is read after the key is as new as it is. */
	__u32 key = *(volatile __be32 *)&rule->key, gone = !key;
	barrier_var(gone);
	if (gone)
		return NONE;
	at += gone;
	rule = bpf_map_lookup_elem(&rules, &at);
	if (!rule || *(volatile __u32 *)&rule->ue4 != nat_mark(hash, hint >> 48, ticks))
		return NONE;
	*ue = key;
	return at;
}

/* Has packets from outside find the rule that lies at a place: its own hint, a free one, or any. */
global int nat_write_hint(__u64 hash, __u64 hint)
{
	struct nat_hints *hints = nat_hints_of(hash);
	if (!hints)
		return 0;
	__u32 at = bpf_get_prandom_u32(), own = HINTS;
#pragma unroll
	for (int i = 0; i < HINTS; i++) {
		__u64 there = *(volatile __u64 *)&hints->hint[i];
		if (!there)
			at = i;
		else if (!((there ^ hint) & NAT_HINT_KEY)) {
			/* Two processors may have written it in two places, of which packets would find both. */
			if (own < HINTS)
				*(volatile __u64 *)&hints->hint[i] = 0;
			else
				own = i;
		}
	}
	at = own < HINTS ? own : at;
	*(volatile __u64 *)&hints->hint[at & (HINTS - 1)] = hint;
	return 1;
}

/* Notes by what a packet was translated that has met a rule, which has to be one that packets find by the UE's address. */
inline_always void nat_cache_store(struct rule *rule, __u32 target, struct flow *flow)
{
	if (target & TARGET_LIST || *(volatile __be32 *)&rule->key != flow->destination4 || rule->flags & RULE_BY_TEID)
		return;
	*(volatile __u32 *)&rule->ue4 = flow->nat_mark;
	if (unlikely((flow->nat_hint & NAT_HINT_RULE) != target))
		nat_write_hint(flow->nat_hash, (flow->nat_hint & ~(__u64)NAT_HINT_RULE) | target);
}
