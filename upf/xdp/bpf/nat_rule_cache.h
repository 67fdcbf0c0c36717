/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* NAT cache in rules: the last flow of a rule is stored in the rule's own cache line, so that
 * packets of the same flow need no other line. With many flows the flow table and the rules do not
 * fit the CPU caches together, and misses dominate the cost of NAT.
 *
 * Cached flows are valid for an epoch. In each epoch one packet uses the flow table, which keeps
 * the flow alive and detects expiry. Only settled flows are cached (`nat_is_settled`).
 *
 * Uplink: the rule holds both ports and a keyed hash of the flow. Two flows of a port collide with
 * probability 2^-30; then replies to the second have no flow for an epoch.
 *
 * Downlink: `nat_hints` maps the hash to rule and ports, and the rule holds a hash over all of it.
 */
#pragma once

#include "nat_transport.h"

/* Hints with equal hash index; see `nat_hint`. */
#define HINTS 4
struct nat_hints {
	__u64 hint[HINTS];
};
TABLE(nat_hints, BPF_MAP_TYPE_ARRAY, __u32, struct nat_hints, 1, BPF_F_MMAPABLE);

inline_always __u32 nat_epoch(__u32 ticks)
{
	return ticks >> settings.nat.epoch_shift;
}

/* Hash of a flow, its translated port and the epoch; never 0. */
inline_always __u32 nat_mark(__u64 hash, __be16 port, __u32 ticks)
{
	__u32 mark = (hash + port) * 0xbf58476d1ce4e5b9ull >> 32;
	return (mark ^ nat_epoch(ticks) * 0x9e3779b1) | 1;
}

/* Whether further packets leave the observed state unchanged. */
inline_always int nat_is_settled(__u32 state, __u8 protocol, int inward)
{
	if (protocol == IPPROTO_TCP)
		return (state & NAT_SEEN) == (NAT_ANSWERED | NAT_CONFIRMED);
	return !inward || state & NAT_ANSWERED;
}

inline_always int nat_is_special(struct nat_l4 *ports)
{
	return ports->flags & (TCP_FIN | TCP_SYN | TCP_RST);
}

/* Cached in an uplink rule instead of the tunnel's peer: mark with protocol, and both ports. */
inline_always __u64 nat_cache_key(struct nat_key *key, __u64 hash, __u32 ticks)
{
	__u32 mark = nat_mark(hash, 0, ticks) & ~2u;
	return mark | (nat_protocol(key->kind) == IPPROTO_TCP ? 2 : 0) |
	       (__u64)key->near_port << 32;
}

inline_always volatile __u64 *nat_cached(struct rule *rule)
{
	_Static_assert(__builtin_offsetof(struct rule, teid) % 8 == 0 &&
			       __builtin_offsetof(struct rule, peer4) ==
				       __builtin_offsetof(struct rule, teid) + 4,
		       "one word");
	return (volatile __u64 *)&rule->teid;
}

/* A hint: rule index, protocol, and in the upper half the public and the UE's port. */
#define NAT_HINT_RULE 0x7fffffffu
#define NAT_HINT_TCP 0x80000000u
#define NAT_HINT_KEY (0xffffull << 32 | NAT_HINT_TCP)

inline_always __u64 nat_hint_key(struct nat_key *key)
{
	return (nat_protocol(key->kind) == IPPROTO_TCP ? NAT_HINT_TCP : 0) | (__u64)key->near_port
										     << 32;
}

inline_always struct nat_hints *nat_hints_of(__u64 hash)
{
	__u32 at = (hash >> 32) * settings.nat.hints >> 32;
	return bpf_map_lookup_elem(&nat_hints, &at);
}

/* The hint of a packet from outside; 0: none. Branchless as `nat_in_line`. */
inline_always __u64 nat_hint(struct nat_key *key, __u64 hash)
{
	struct nat_hints *hints = nat_hints_of(hash);
	if (!hints)
		return 0;
	__u64 of_key = nat_hint_key(key), found = 0;
#pragma unroll
	for (int i = 0; i < HINTS; i++) {
		__u64 hint = *(volatile __u64 *)&hints->hint[i],
		      differs = (hint ^ of_key) & NAT_HINT_KEY;
		__u64 other = (differs | -differs) >> 63;
		barrier_var(other);
		found |= hint & (other - 1);
	}
	return found;
}

/* The downlink rule if it cached this flow; NONE: another flow, or unknown. */
inline_always __u32 nat_cache_lookup(__u64 hint, __u64 hash, __u32 ticks, __be32 *ue)
{
	__u32 at = hint & NAT_HINT_RULE;
	struct rule *rule = bpf_map_lookup_elem(&rules, &at);
	if (!rule)
		return NONE;
	/* As in `cache_match`: later loads are as new as the key. */
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

/* Stores a hint: over its old copy, in a free entry, or over a random one. */
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
			/* Two CPUs may have stored it twice: clear the copy. */
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

/* Caches the flow of a packet in its rule, which must be found by the UE's address. */
inline_always void nat_cache_store(struct rule *rule, __u32 target, struct flow *flow)
{
	if (target & TARGET_LIST || *(volatile __be32 *)&rule->key != flow->destination4 ||
	    rule->flags & RULE_BY_TEID)
		return;
	*(volatile __u32 *)&rule->ue4 = flow->nat_mark;
	if (unlikely((flow->nat_hint & NAT_HINT_RULE) != target))
		nat_write_hint(flow->nat_hash, (flow->nat_hint & ~(__u64)NAT_HINT_RULE) | target);
}
