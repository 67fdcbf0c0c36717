/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Packet generator for benchmarks: each run gets a packet of a random session. User space derives
 * TEIDs and addresses in the same way. */
#pragma once

#include "gtpu.h"

#define BENCH_FIRST_UE 0x0a000002	/* 10.0.0.2 */
#define BENCH_PEERS 4

struct bench {
	__u32 sessions;
	__u32 state;
	__u32 length;		/* length of a UE's packet in bytes */
	__be32 n3;		/* our N3 address */
	__be32 gnb;
	__be32 host;
	__u16 port;		/* of the host */
	__u16 translated;	/* 1: downlink packets go to the UEs' public ends */
	__u32 ifindex;		/* output interface of generated frames */
	__u16 link[6];		/* MAC addresses of generated frames: destination, source */
	__u32 stamp_at;		/* offset of the timestamp in a received frame; 0: none */
};
volatile struct bench bench SEC(".data.bench");

/* The public end of each session's port, with NAT. */
struct bench_public {
	__be32 address;
	__be16 port;
	__u16 unused;
};
TABLE(bench_publics, BPF_MAP_TYPE_ARRAY, __u32, struct bench_public, 1, BPF_F_MMAPABLE);

/* Frames received by the sink, per CPU, with a latency histogram of eight classes per power of two
 * nanoseconds. */
#define RECEIVED_CLASSES 256
struct bench_received {
	__u64 packets;
	__u64 bytes;
	__u64 latency[RECEIVED_CLASSES];
};
TABLE(bench_received, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct bench_received, 1, 0);

/* TEIDs are scattered and unique. */
inline_always __u32 bench_teid(__u32 n)
{
	return (n + 1) * 0x9e3779b1;
}

inline_always __u32 bench_next(void)
{
	__u32 x = bench.state;
	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	bench.state = x;
	return ((__u64)x * bench.sessions) >> 32;
}

struct bench_inner {
	struct iphdr ip;
	struct udphdr udp;
};

/* Behind the link header. */
struct bench_uplink {
	struct iphdr ip;
	struct udphdr udp;
	struct gtp gtp;
	struct gtp_optional optional;
	struct gtp_container container;
	struct bench_inner inner;
};

inline_always void bench_ip(struct iphdr *ip, __u32 length, __be32 from, __be32 to)
{
	*(__be32 *)ip = bpf_htonl(0x45000000 | length);
	*((__be32 *)ip + 1) = 0;
	/* No receiver checks the checksum. */
	*((__be32 *)ip + 2) = bpf_htonl(64 << 24 | IPPROTO_UDP << 16);
	ip->saddr = from;
	ip->daddr = to;
}

/* Computes the header checksum, for frames that leave. */
inline_always void bench_check(struct iphdr *ip)
{
	__u16 *words = (void *)ip;
	__u32 sum = 0;
	ip->check = 0;
#pragma unroll
	for (int i = 0; i < 10; i++)
		sum += words[i];
	ip->check = ~fold16(sum);
}

/* Adjusts the frame length. */
inline_always int bench_length(struct xdp_md *ctx, __u32 length)
{
	long is = end_of(ctx) - data_of(ctx);
	barrier_var(is);
	return is == length || !bpf_xdp_adjust_head(ctx, (int)(is - length));
}

inline_always int bench_make_uplink(struct xdp_md *ctx)
{
	__u32 n = bench_next(), length = bench.length;
	if (!bench_length(ctx, length + 58))
		return 0;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct bench_uplink *p = (void *)(eth + 1);
	if ((void *)(p + 1) > (void *)(long)ctx->data_end)
		return 0;
	eth->h_proto = bpf_htons(ETH_P_IP);
	bench_ip(&p->ip, length + 44, bench.gnb, bench.n3);
	p->udp.source = p->udp.dest = bpf_htons(GTP_PORT);
	p->udp.len = bpf_htons(length + 24);
	p->udp.check = 0;
	*(__be32 *)&p->gtp = bpf_htonl(0x34ff0000 | (length + 8));
	p->gtp.teid = bpf_htonl(bench_teid(n));
	*(__be32 *)&p->optional = bpf_htonl(GTP_CONTAINER);
	*(__be32 *)&p->container = bpf_htonl(0x01100900);
	bench_ip(&p->inner.ip, length, bpf_htonl(BENCH_FIRST_UE + n), bench.host);
	p->inner.udp.source = bpf_htons(9000);
	p->inner.udp.dest = bpf_htons(bench.port);
	p->inner.udp.len = bpf_htons(length - sizeof(p->inner.ip));
	p->inner.udp.check = 0;
	return 1;
}

inline_always int bench_make_downlink(struct xdp_md *ctx)
{
	__u32 n = bench_next(), length = bench.length;
	if (!bench_length(ctx, length + 14))
		return 0;
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct bench_inner *p = (void *)(eth + 1);
	if ((void *)(p + 1) > (void *)(long)ctx->data_end)
		return 0;
	eth->h_proto = bpf_htons(ETH_P_IP);
	__be32 to = bpf_htonl(BENCH_FIRST_UE + n);
	__be16 port = bpf_htons(9000);
	if (bench.translated) {
		struct bench_public *public = bpf_map_lookup_elem(&bench_publics, &n);
		if (!public)
			return 0;
		to = public->address;
		port = public->port;
	}
	bench_ip(&p->ip, length, bench.host, to);
	p->udp.source = bpf_htons(bench.port);
	p->udp.dest = port;
	p->udp.len = bpf_htons(length - sizeof(p->ip));
	p->udp.check = 0;
	return 1;
}

/* Timestamp behind the headers of a UE's packet. */
struct bench_stamp {
	__u64 made;
};

/* Completes and sends a generated packet. `inner` is the offset of the UE's packet. */
inline_always int bench_send(struct xdp_md *ctx, __u32 inner)
{
	struct ethhdr *eth = data_of(ctx);
	void *end = end_of(ctx);
	struct iphdr *ip = (void *)(eth + 1);
	struct iphdr *of_ue = (void *)eth + inner;
	struct bench_stamp *stamp = (void *)of_ue + sizeof(struct bench_inner);
	if ((void *)(ip + 1) > end || (void *)(stamp + 1) > end)
		return XDP_ABORTED;
	for (int i = 0; i < 6; i++)
		((__u16 *)eth)[i] = bench.link[i];
	bench_check(ip);
	if ((void *)of_ue != (void *)ip)
		bench_check(of_ue);
	/* The clock costs half as much as the rest. */
	if (bench.stamp_at)
		stamp->made = bpf_ktime_get_ns();
	return bpf_redirect(bench.ifindex, 0);
}

/* Minimal receiver: counts a frame and its latency. */
inline_always int bench_count(struct xdp_md *ctx)
{
	__u32 zero = 0;
	struct bench_received *received = bpf_map_lookup_elem(&bench_received, &zero);
	struct ethhdr *eth = data_of(ctx);
	struct iphdr *ip = (void *)(eth + 1);
	__u32 at = bench.stamp_at;
	if (!received || (void *)(ip + 1) > end_of(ctx) || eth->h_proto != bpf_htons(ETH_P_IP) ||
	    ip->protocol != IPPROTO_UDP)
		return XDP_PASS;
	received->packets++;
	received->bytes += end_of(ctx) - data_of(ctx);
	struct bench_stamp *stamp = (void *)eth + at;
	if (!at || at > 256 || (void *)(stamp + 1) > end_of(ctx))
		return XDP_DROP;
	__u64 latency_ns = bpf_ktime_get_ns() - stamp->made;
	__u32 class = 0;
	if (latency_ns >= 8) {
		__u32 power = 3;
#pragma unroll
		for (int shift = 16; shift; shift >>= 1)
			if (latency_ns >> power >> shift)
				power += shift;
		class = (power - 2) * 8 + (latency_ns >> (power - 3) & 7);
	}
	received->latency[class & (RECEIVED_CLASSES - 1)]++;
	return XDP_DROP;
}
