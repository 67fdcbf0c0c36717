/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* QERs and URRs: gates, bit rates, quotas, usage (TS 29.244, 5.4 and 5.2.2.2). Processors share no lock. */
#pragma once

#include "classify.h"

/* Tries of a bucket that others empty at the same time. */
#define TRIES 4

/* Takes a packet's tokens from a bucket, if it has them. `now` is in sixteenths of a nanosecond. */
inline_always int take_tokens(struct bucket *bucket, __u64 cost, __u64 now)
{
	__u64 burst = bucket->burst;
	__u64 full_at = *(volatile __u64 *)&bucket->full_at;
#pragma unroll
	for (int i = 0; i < TRIES; i++) {
		__u64 from = full_at > now ? full_at : now;
		if (from + cost - now > burst)
			return 0;
		__u64 seen = __sync_val_compare_and_swap(&bucket->full_at, full_at, from + cost);
		if (likely(seen == full_at))
			return 1;
		full_at = seen;
	}
	__sync_fetch_and_add(&bucket->full_at, cost);
	return 1;
}

inline_always __u64 cost_of(struct bucket *bucket, __u32 octets)
{
	return octets * bucket->per_octet >> 16;
}

/* All buckets of a rule give tokens, or none does. */
global int within_rates(struct rule *rule, __u32 octets, __u64 now)
{
	if (!rule)
		return 0;
	__u32 count = rule->bucket_count;
	now <<= 4;
	int taken = 0, refused = 0;
	for (int i = 0; i < RULE_BUCKETS; i++) {
		if (i >= count)
			break;
		__u32 index = rule->buckets[i];
		struct bucket *bucket = bpf_map_lookup_elem(&buckets, &index);
		if (!bucket)
			return 0;
		if (!take_tokens(bucket, cost_of(bucket, octets), now)) {
			refused = 1;
			break;
		}
		taken = i + 1;
	}
	if (likely(!refused))
		return 1;
	for (int i = 0; i < RULE_BUCKETS; i++) {
		if (i >= taken)
			break;
		__u32 index = rule->buckets[i];
		struct bucket *bucket = bpf_map_lookup_elem(&buckets, &index);
		if (bucket)
			__sync_fetch_and_add(&bucket->full_at, -cost_of(bucket, octets));
	}
	return 0;
}

inline_always __s64 *limit_of(struct rule *rule, int i)
{
	__u32 index = rule->limits + rule->limit[i];
	return bpf_map_lookup_elem(&limits, &index);
}

/* Whether a quota of the rule is used up. */
inline_always int used_up(struct rule *rule)
{
	__u32 quotas = rule->quotas;
	for (int i = 0; i < RULE_LIMITS; i++) {
		if (!(quotas >> i))
			break;
		if (!(quotas >> i & 1))
			continue;
		__s64 *left = limit_of(rule, i);
		if (left && *(volatile __s64 *)left <= 0)
			return 1;
	}
	return 0;
}

int tell_limit(struct rule *rule, __u32 slot);

/* Counts a packet that is forwarded, and tells of limits that it reaches. */
inline_always void count(struct rule *rule, __u32 octets, __u64 now)
{
	__sync_fetch_and_add(&rule->octets, octets);
	__sync_fetch_and_add(&rule->packets, 1);
	if (unlikely(!rule->first))
		rule->first = now;
	rule->last = now;
	__u32 count = rule->limit_count;
	for (int i = 0; i < RULE_LIMITS; i++) {
		if (i >= count)
			break;
		__s64 *left = limit_of(rule, i);
		if (!left)
			break;
		__s64 before = __sync_fetch_and_add(left, -(__s64)octets);
		if (unlikely(before > 0 && before <= octets))
			tell_limit(rule, rule->limit[i]);
	}
}

/* Gates, quotas and bit rates. Gives the reason of a drop, or less than 0. */
inline_always int enforce(struct rule *rule, __u32 octets, __u64 now)
{
	__u32 flags = rule->flags;
	if (unlikely(flags & RULE_QUOTA) || (rule->quotas && used_up(rule)))
		return DROP_QUOTA;
	if (unlikely(flags & RULE_GATE))
		return DROP_GATE;
	if (rule->bucket_count && !within_rates(rule, octets, now))
		return DROP_RATE;
	return -1;
}
