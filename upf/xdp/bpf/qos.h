/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* QERs and URRs: gates, bit rates, quotas, usage (TS 29.244, 5.4 and 5.2.2.2). CPUs share no
 * lock. */
#pragma once

#include "classify.h"

/* Retries of a contended bucket. */
#define TRIES 4

/* Whether a bucket has enough tokens. `now` is in 1/16 ns. */
inline_always int has_tokens(__u64 full_at, __u64 burst, __u64 cost, __u64 now)
{
	__u64 from = full_at > now ? full_at : now;
	return from + cost - now <= burst;
}

/* Takes tokens after `has_tokens`. On contention later packets pay. */
inline_always void spend_tokens(__u64 *bucket, __u64 cost, __u64 now)
{
	__u64 full_at = *(volatile __u64 *)bucket;
	__u64 from = full_at > now ? full_at : now;
	if (unlikely(__sync_val_compare_and_swap(bucket, full_at, from + cost) != full_at))
		__sync_fetch_and_add(bucket, cost);
}

/* Takes tokens if the bucket has enough. */
inline_always int take_tokens(__u64 *bucket, __u64 burst, __u64 cost, __u64 now)
{
	__u64 full_at = *(volatile __u64 *)bucket;
#pragma unroll
	for (int i = 0; i < TRIES; i++) {
		if (!has_tokens(full_at, burst, cost, now))
			return 0;
		__u64 from = full_at > now ? full_at : now;
		__u64 seen = __sync_val_compare_and_swap(bucket, full_at, from + cost);
		if (likely(seen == full_at))
			return 1;
		full_at = seen;
	}
	__sync_fetch_and_add(bucket, cost);
	return 1;
}

inline_always __u64 cost_of(__u64 per_byte, __u32 bytes)
{
	return bytes * per_byte >> 16;
}

/* Takes tokens from all shared buckets of a rule, or from none. */
global int within_shared_rates(struct rule *rule, __u32 bytes, __u64 now)
{
	if (!rule)
		return 0;
	struct rule_cold *rest = cold_of(rule);
	if (!rest)
		return 0;
	__u32 count = rest->bucket_count;
	int taken = 0, refused = 0;
	for (int i = 0; i < RULE_BUCKETS; i++) {
		if (i >= count)
			break;
		__u32 index = rest->buckets[i];
		struct bucket *bucket = bpf_map_lookup_elem(&buckets, &index);
		if (!bucket)
			return 0;
		if (!take_tokens(&bucket->full_at, bucket->burst, cost_of(bucket->per_byte, bytes),
				 now)) {
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
		__u32 index = rest->buckets[i];
		struct bucket *bucket = bpf_map_lookup_elem(&buckets, &index);
		if (bucket)
			__sync_fetch_and_add(&bucket->full_at, -cost_of(bucket->per_byte, bytes));
	}
	return 0;
}

/* Whether all rates of a rule allow a packet. Shared rates are charged here, the own rate by
 * `spend_own_rate`. */
inline_always int within_rates(struct rule *rule, __u32 bytes, __u64 now)
{
	now <<= 4;
	__u32 which = rule->rate;
	if (which) {
		struct rate *rate = bpf_map_lookup_elem(&rates, &which);
		if (!rate || !has_tokens(*(volatile __u64 *)&rule->full_at, rate->burst,
					 cost_of(rate->per_byte, bytes), now))
			return 0;
	}
	return likely(!(rule->flags & RULE_SHARED)) || within_shared_rates(rule, bytes, now);
}

inline_always void spend_own_rate(struct rule *rule, __u32 bytes, __u64 now)
{
	__u32 which = rule->rate;
	if (!which)
		return;
	struct rate *rate = bpf_map_lookup_elem(&rates, &which);
	if (rate)
		spend_tokens(&rule->full_at, cost_of(rate->per_byte, bytes), now << 4);
}

inline_always __s64 *limit_of(struct rule_cold *rest, int i)
{
	__u32 index = rest->limits + rest->limit[i];
	return bpf_map_lookup_elem(&limits, &index);
}

/* Whether a quota of the rule is exhausted. */
global int used_up(struct rule *rule)
{
	if (!rule)
		return 1;
	struct rule_cold *rest = cold_of(rule);
	if (!rest)
		return 1;
	__u32 quotas = rest->quotas;
	for (int i = 0; i < RULE_LIMITS; i++) {
		if (!(quotas >> i))
			break;
		if (!(quotas >> i & 1))
			continue;
		__s64 *left = limit_of(rest, i);
		if (left && *(volatile __s64 *)left <= 0)
			return 1;
	}
	return 0;
}

int send_event(struct rule *rule, __u32 kind, __u32 argument);

/* Counts a packet against close limits and reports those that it reaches. While the ring is full,
 * the packet that reaches a limit is not counted against it, so that a later one reaches it. */
global int count_exactly(struct rule *rule, __u32 bytes)
{
	if (!rule)
		return 0;
	struct rule_cold *rest = cold_of(rule);
	if (!rest)
		return 0;
	__u32 count = rest->limit_count;
	for (int i = 0; i < RULE_LIMITS; i++) {
		if (i >= count)
			break;
		__s64 *left = limit_of(rest, i);
		if (!left)
			break;
		__s64 before = __sync_fetch_and_add(left, -(__s64)bytes);
		if (unlikely(before > 0 && before <= bytes) &&
		    !send_event(rule, EVENT_LIMIT, rest->limit[i]))
			__sync_fetch_and_add(left, (__s64)bytes);
	}
	return 0;
}

/* Records the time of the first packet since user space read the one before. */
global int count_first(struct rule *rule, __u64 ticks)
{
	if (!rule)
		return 0;
	struct rule_cold *rest = cold_of(rule);
	if (rest)
		rest->first = ticks;
	__sync_fetch_and_and(&rule->flags, ~RULE_FRESH);
	if (unlikely(rule->flags & RULE_START) && rest)
		send_event(rule, EVENT_START, rest->pdr);
	return 0;
}

/* For a rule beyond its mark: whether packets stop. */
global int stops(struct rule *rule)
{
	if (!rule)
		return 1;
	struct rule_cold *rest = cold_of(rule);
	return !rest || *(volatile __u64 *)&rule->bytes >= *(volatile __u64 *)&rest->stop_at;
}

/* After a packet beyond the mark is counted: sends EVENT_MARK, repeated per MiB in case it is
 * lost. */
global int report_mark(struct rule *rule, __u64 before, __u64 after)
{
	if (!rule)
		return 0;
	struct rule_cold *rest = cold_of(rule);
	if (!rest)
		return 0;
	__u64 check_at = *(volatile __u64 *)&rest->check_at;
	if (after >= check_at && (before < check_at || before >> 20 != after >> 20))
		send_event(rule, EVENT_MARK, 0);
	return 0;
}

/* Counts a forwarded packet. Done last, when the rule's cache line has likely arrived. */
inline_always void count(struct rule *rule, __u32 bytes)
{
	/* Read again: the stack has no space for it. */
	__u64 ticks = bpf_jiffies64();
	spend_own_rate(rule, bytes, ticks * settings.tick);
	__u64 before = __sync_fetch_and_add(&rule->bytes, bytes), after = before + bytes;
	__sync_fetch_and_add(&rule->packets, 1);
	__u32 flags = rule->flags;
	if (unlikely(flags & RULE_FRESH))
		count_first(rule, ticks);
	*(volatile __u32 *)&rule->last = ticks;
	if (flags & RULE_EXACT)
		count_exactly(rule, bytes);
	else if (unlikely(after >> MARK_SHIFT >= rule->mark))
		report_mark(rule, before, after);
}

/* Rates of the flow classes, set by the thermal governor. */
#define RULE_CLASS_SHIFT 24
struct governor {
	struct bucket of_class[4];
};
volatile struct governor governor SEC(".data.governor");

global int within_budget(__u32 flags, __u32 bytes, __u64 now)
{
	volatile struct bucket *bucket = &governor.of_class[flags >> RULE_CLASS_SHIFT & 3];
	return take_tokens((__u64 *)&bucket->full_at, bucket->burst,
			   cost_of(bucket->per_byte, bytes), now << 4);
}

/* Enforces gates, quotas and bit rates. Returns the drop reason, or less than 0. */
inline_always int enforce(struct rule *rule, __u32 bytes, __u64 ticks)
{
	__u32 flags = rule->flags;
	if (unlikely(flags & (RULE_QUOTA | RULE_GATE | RULE_EXACT | RULE_SHAPED))) {
		if (flags & RULE_QUOTA || (flags & RULE_EXACT && used_up(rule)))
			return DROP_QUOTA;
		if (flags & RULE_GATE)
			return DROP_GATE;
		if (flags & RULE_SHAPED && !within_budget(flags, bytes, ticks * settings.tick))
			return DROP_THERMAL;
	}
	if (unlikely(*(volatile __u64 *)&rule->bytes >> MARK_SHIFT >= rule->mark) && stops(rule))
		return DROP_QUOTA;
	return within_rates(rule, bytes, ticks * settings.tick) ? -1 : DROP_RATE;
}
