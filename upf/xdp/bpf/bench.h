/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A packet made anew before each run of what is measured: of another session each time, drawn at random. User space
 * counts sessions from 0 and gives them TEIDs and addresses in the same way. */
#pragma once

#include "gtp.h"

#define BENCH_FIRST_UE 0x0a000002	/* 10.0.0.2 */
#define BENCH_PEERS 4

struct bench {
	__u32 sessions;
	__u32 state;
	__u32 length;		/* octets of a UE's packet */
	__be32 n3;		/* our address, and the first of the gNBs */
	__be32 gnb;
	__be32 host;
	__u16 port;		/* of the host */
	__u16 unused;
	__u32 ifindex;		/* where a bare program sends to */
};
volatile struct bench bench SEC(".data.bench");

/* TEIDs look random, and no two sessions have the same. */
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
	/* Nobody reads the checksum. */
	*((__be32 *)ip + 2) = bpf_htonl(64 << 24 | IPPROTO_UDP << 16);
	ip->saddr = from;
	ip->daddr = to;
}

/* Gives the frame the length that it shall have. */
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
	bench_ip(&p->ip, length, bench.host, bpf_htonl(BENCH_FIRST_UE + n));
	p->udp.source = bpf_htons(bench.port);
	p->udp.dest = bpf_htons(9000);
	return 1;
}
