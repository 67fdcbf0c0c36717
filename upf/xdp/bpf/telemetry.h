/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What is known of packets beside the counters of their rules: where they came in, why they went no further, how long a few
 * of them took, and for who traces, the packets themselves. */
#pragma once

#include "qos.h"

/* Times of programs: class n is of those below 2^(n+5) ns, the last one of all others. */
#define LATENCY_CLASSES 20
#define LATENCY_FIRST 5
/* Origins of packets; see `enum origin`. */
#define ORIGINS 4

/* Of each processor. */
struct lane {
	__u64 entered[ORIGINS];
	__u64 passed;		/* left to the kernel: not ours, or for it to answer */
	__u64 answered;		/* sent back with an answer */
	__u64 switched;		/* from one UE to another: counted in both directions */
	__u64 lost;		/* counted by a rule, and dropped after that */
	__u64 latency_sum;		/* nanoseconds of those in `took` */
	__u64 latency[LATENCY_CLASSES];
	__u64 missed;		/* traced packets that found no room */
	__u64 capture_missed;	/* captured ones */
	__u64 unused;
};
TABLE(lanes, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct lane, 1, 0);

/* Packets of a session that were dropped. Those that nobody meets any more make room for others. */
struct drop_key {
	__u32 session;
	__u32 incarnation;
	__u32 reason;
};
TABLE(session_drops, BPF_MAP_TYPE_LRU_HASH, struct drop_key, __u64, 16384, 0);

/* How many packets' time is taken: one of each `sample_mask` + 1; with all bits set, none. */
const volatile __u64 sample_mask;

/* What is traced; written by user space while somebody asks. */
struct trace {
	__u32 wanted;		/* 1: packets that are dropped, 2: all of ours */
	__u32 reasons;		/* bit n: reason n; of those that are dropped */
	__u32 session;		/* 0: of all, and of none */
	__u32 capture;		/* so many bytes are shown of each packet of N6; 0: none is shown */
};
volatile struct trace trace SEC(".data.trace");

#define TRACED_BYTES 256
#define TRACED_FORWARDED 0xff

/* A packet as it came in, and what became of it. */
struct traced {
	__u64 time;		/* nanoseconds since the machine started */
	__u32 session;
	__u32 incarnation;
	__u32 pdr;		/* 0: no rule was found */
	__u32 flags;		/* of the rule */
	__u32 ifindex;
	__u32 length;		/* of the frame; as many of them as there is room for follow */
	__u32 reason;		/* or TRACED_FORWARDED */
	__u32 origin;
	__u8 bytes[TRACED_BYTES];
};
TABLE(tracing, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct traced, 1, 0);
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} traces SEC(".maps");

#define CAPTURED_BYTES 2048

/* A packet as it is on N6. */
struct captured {
	__u64 time;		/* nanoseconds since the machine started */
	__u32 length;		/* of the packet */
	__u32 kept;		/* bytes of it that follow */
	__u8 bytes[CAPTURED_BYTES];
};
TABLE(capturing, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct captured, 1, 0);
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22);
} captures SEC(".maps");

inline_always struct lane *cpu_counters(void)
{
	__u32 zero = 0;
	return bpf_map_lookup_elem(&lanes, &zero);
}

#define COUNT_PACKET(what) \
	do { \
		struct lane *lane = cpu_counters(); \
		if (lane) \
			lane->what++; \
	} while (0)

/* Has who traces know the rule that a packet met. */
global int trace_rule(struct rule *rule)
{
	__u32 zero = 0;
	struct traced *t = bpf_map_lookup_elem(&tracing, &zero);
	if (!t || !rule)
		return 0;
	struct rule_cold *rest = cold_of(rule);
	if (!rest)
		return 0;
	t->session = rest->session;
	t->incarnation = rule->incarnation;
	t->pdr = rest->pdr;
	t->flags = rule->flags;
	return 0;
}

/* Keeps a packet as it came in. */
global int trace_begin(struct xdp_md *ctx, __u32 origin)
{
	__u32 zero = 0;
	struct traced *t = bpf_map_lookup_elem(&tracing, &zero);
	if (!t)
		return 0;
	long whole = end_of(ctx) - data_of(ctx);
	barrier_var(whole);
	__u32 length = whole, bytes = length;
	t->time = bpf_ktime_get_ns();
	t->session = t->incarnation = t->pdr = t->flags = 0;
	t->ifindex = ctx->ingress_ifindex;
	t->length = length;
	t->reason = TRACED_FORWARDED;
	t->origin = origin;
	if (bytes > TRACED_BYTES)
		bytes = TRACED_BYTES;
	/* Older kernels need to be shown that it is from 1 to the most, at this place. */
	bytes -= 1;
	barrier_var(bytes);
	bytes = (bytes & (TRACED_BYTES - 1)) + 1;
	bpf_xdp_load_bytes(ctx, 0, t->bytes, bytes);
	return 0;
}

/* Tells of the packet, if it is one of those that are asked for. */
global int trace_end(int verdict)
{
	__u32 zero = 0;
	struct traced *t = bpf_map_lookup_elem(&tracing, &zero);
	if (!t)
		return 0;
	if (t->reason == TRACED_FORWARDED) {
		if (trace.wanted < 2 || !t->pdr)
			return 0;
	} else if (!(trace.reasons >> (t->reason & 31) & 1)) {
		return 0;
	}
	if (trace.session && trace.session != t->session)
		return 0;
	if (bpf_ringbuf_output(&traces, t, sizeof(*t), 0))
		COUNT_PACKET(missed);
	return 1;
}

/* Keeps the packet at an offset as it is now. */
global int capture_begin(struct xdp_md *ctx, __u32 offset, __u32 length)
{
	__u32 zero = 0;
	struct captured *c = bpf_map_lookup_elem(&capturing, &zero);
	if (!c)
		return 0;
	__u32 bytes = trace.capture;
	c->time = bpf_ktime_get_ns();
	c->length = length;
	c->kept = 0;
	if (bytes > length)
		bytes = length;
	if (bytes > CAPTURED_BYTES)
		bytes = CAPTURED_BYTES;
	/* As in `trace_begin`. */
	bytes -= 1;
	barrier_var(bytes);
	bytes = (bytes & (CAPTURED_BYTES - 1)) + 1;
	if (!bpf_xdp_load_bytes(ctx, offset, c->bytes, bytes))
		c->kept = bytes;
	return 0;
}

/* It is one of N6: it is shown. */
global int capture_end(void)
{
	__u32 zero = 0;
	struct captured *c = bpf_map_lookup_elem(&capturing, &zero);
	if (!c)
		return 0;
	__u32 bytes = c->kept;
	if (!bytes)
		return 0;
	bytes -= 1;
	barrier_var(bytes);
	bytes = (bytes & (CAPTURED_BYTES - 1)) + 1;
	if (bpf_ringbuf_output(&captures, c, __builtin_offsetof(struct captured, bytes) + bytes, 0))
		COUNT_PACKET(capture_missed);
	return 0;
}

/* A packet ends here. */
global int dropped(int reason)
{
	__u32 zero = 0;
	struct stats *own = bpf_map_lookup_elem(&stats, &zero);
	if (own)
		own->drops[reason & 15]++;
	if (unlikely(trace.wanted)) {
		struct traced *t = bpf_map_lookup_elem(&tracing, &zero);
		if (t)
			t->reason = reason & 15;
	}
	return XDP_DROP;
}

/* The same of a session's packet. */
global int dropped_of(struct rule *rule, int reason)
{
	if (!rule)
		return dropped(reason);
	struct drop_key key = { .session = session_of(rule), .incarnation = rule->incarnation, .reason = reason & 15 };
	__u64 *packets = bpf_map_lookup_elem(&session_drops, &key), one = 1;
	if (packets)
		__sync_fetch_and_add(packets, 1);
	else
		bpf_map_update_elem(&session_drops, &key, &one, BPF_NOEXIST);
	if (unlikely(trace.wanted))
		trace_rule(rule);
	return dropped(reason);
}

/* A packet that its rule has counted ends here all the same. */
global int lost(int reason)
{
	COUNT_PACKET(lost);
	return dropped(reason);
}

inline_always int pass_to_kernel(void)
{
	COUNT_PACKET(passed);
	return XDP_PASS;
}

/* How long a packet took that came at `start`. */
global int record_latency(__u64 start)
{
	struct lane *lane = cpu_counters();
	__u64 ns = bpf_ktime_get_ns() - start, rest = ns >> LATENCY_FIRST;
	__u32 class = 0;
	if (!lane)
		return 0;
	for (int i = 0; i < LATENCY_CLASSES - 1; i++) {
		if (!rest)
			break;
		rest >>= 1;
		class++;
	}
	if (class >= LATENCY_CLASSES)
		class = LATENCY_CLASSES - 1;
	lane->latency_sum += ns;
	lane->latency[class]++;
	return 0;
}
