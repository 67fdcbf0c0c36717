/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Telemetry: per-CPU packet counters, drop reasons, latency samples, tracing and captures. */
#pragma once

#include "qos.h"

/* Latency histogram: class n counts times below 2^(n+5) ns, the last class all others. */
#define LATENCY_CLASSES 20
#define LATENCY_FIRST 5
/* Number of `enum origin` values. */
#define ORIGINS 5

/* Per-CPU counters. */
struct lane {
	__u64 entered[ORIGINS];
	__u64 passed;		/* passed to the kernel: not ours, or for it to answer */
	__u64 answered;		/* answered with ICMP */
	__u64 switched;		/* between two UEs: counted in both directions */
	__u64 latency_sum;		/* sum of the samples in `latency`, in nanoseconds */
	__u64 latency[LATENCY_CLASSES];
	__u64 missed;		/* traced packets lost: the ring was full */
	__u64 capture_missed;	/* captured packets lost */
	__u64 unmarked;		/* uplink packets without QFI of the default QoS flow */
};
TABLE(lanes, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct lane, 1, 0);

/* Dropped packets per session and reason; the least recently used entries are evicted. */
struct drop_key {
	__u32 session;
	__u32 incarnation;
	__u32 reason;
};
TABLE(session_drops, BPF_MAP_TYPE_LRU_HASH, struct drop_key, __u64, 16384, 0);

/* Packets without QFI by sender: its IPv6 address, or its IPv4 address and zeros. */
struct unmarked_peer {
	__be32 address[4];
};
TABLE(unmarked_peers, BPF_MAP_TYPE_LRU_HASH, struct unmarked_peer, __u64, 1024, 0);

/* One of `sample_mask` + 1 packets is timed; all bits set: none. */
const volatile __u64 sample_mask;

/* Trace and capture settings, written by user space. */
struct trace {
	__u32 wanted;		/* 1: dropped packets, 2: all packets of sessions */
	__u32 reasons;		/* bit n: drop reason n */
	__u32 session;		/* 0: all sessions, and packets without one */
	__u32 capture;		/* bytes captured of each N6 packet; 0: no capture */
};
volatile struct trace trace SEC(".data.trace");

#define TRACED_BYTES 256
#define TRACED_FORWARDED 0xff

/* A packet as received, and its outcome. */
struct traced {
	__u64 time;		/* nanoseconds since boot */
	__u32 session;
	__u32 incarnation;
	__u32 pdr;		/* 0: no rule found */
	__u32 flags;		/* of the rule */
	__u32 ifindex;
	__u32 length;		/* of the frame; `bytes` has its beginning */
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

/* A packet as on N6. */
struct captured {
	__u64 time;		/* nanoseconds since boot */
	__u32 length;		/* of the packet */
	__u32 captured;		/* number of captured bytes */
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

/* Adds the matched rule to the trace record. */
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

/* Starts a trace record with the packet as received. */
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
	/* The verifier of older kernels needs explicit bounds here. */
	bytes -= 1;
	barrier_var(bytes);
	bytes = (bytes & (TRACED_BYTES - 1)) + 1;
	bpf_xdp_load_bytes(ctx, 0, t->bytes, bytes);
	return 0;
}

/* Emits the trace record if it passes the filter. */
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

/* Copies the packet at an offset in its current state. */
global int capture_begin(struct xdp_md *ctx, __u32 offset, __u32 length)
{
	__u32 zero = 0;
	struct captured *c = bpf_map_lookup_elem(&capturing, &zero);
	if (!c)
		return 0;
	__u32 bytes = trace.capture;
	c->time = bpf_ktime_get_ns();
	c->length = length;
	c->captured = 0;
	if (bytes > length)
		bytes = length;
	if (bytes > CAPTURED_BYTES)
		bytes = CAPTURED_BYTES;
	/* As in `trace_begin`. */
	bytes -= 1;
	barrier_var(bytes);
	bytes = (bytes & (CAPTURED_BYTES - 1)) + 1;
	if (!bpf_xdp_load_bytes(ctx, offset, c->bytes, bytes))
		c->captured = bytes;
	return 0;
}

/* Emits the copy: it is an N6 packet. */
global int capture_end(void)
{
	__u32 zero = 0;
	struct captured *c = bpf_map_lookup_elem(&capturing, &zero);
	if (!c)
		return 0;
	__u32 bytes = c->captured;
	if (!bytes)
		return 0;
	bytes -= 1;
	barrier_var(bytes);
	bytes = (bytes & (CAPTURED_BYTES - 1)) + 1;
	if (bpf_ringbuf_output(&captures, c, __builtin_offsetof(struct captured, bytes) + bytes, 0))
		COUNT_PACKET(capture_missed);
	return 0;
}

/* Counts and drops a packet. */
global int dropped(int reason)
{
	__u32 zero = 0;
	struct stats *own = bpf_map_lookup_elem(&stats, &zero);
	if (own)
		own->drops[reason & 31]++;
	if (unlikely(trace.wanted)) {
		struct traced *t = bpf_map_lookup_elem(&tracing, &zero);
		if (t)
			t->reason = reason & 31;
	}
	return XDP_DROP;
}

/* Counts and drops a packet of a session. */
global int dropped_of(struct rule *rule, int reason)
{
	if (!rule)
		return dropped(reason);
	struct drop_key key = { .session = session_of(rule),
				.incarnation = rule->incarnation,
				.reason = reason & 31 };
	__u64 *packets = bpf_map_lookup_elem(&session_drops, &key), one = 1;
	if (packets)
		__sync_fetch_and_add(packets, 1);
	else
		bpf_map_update_elem(&session_drops, &key, &one, BPF_NOEXIST);
	if (unlikely(trace.wanted))
		trace_rule(rule);
	return dropped(reason);
}

/* The verdict on an admitted packet that cannot be sent, plus an `enum drop`: its rule does not
 * count the packet, and `dropped_of` drops it. */
#define VERDICT_LOST 128
_Static_assert(VERDICT_LOST % 32 == 0, "`dropped_of` masks the reason");

inline_always int lost(int reason)
{
	return VERDICT_LOST + reason;
}

inline_always int pass_to_kernel(void)
{
	COUNT_PACKET(passed);
	return XDP_PASS;
}

/* Records the processing time of a packet received at `start`. */
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
