/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Baseline for benchmarks: one lookup, and encapsulation or decapsulation. Carries no packets of
 * sessions. */
#pragma once

#include "bench.h"

struct bare {
	__be32 teid;
	__be32 peer;
	__u32 ifindex;
	__u8 to[6];
	__u8 from[6];
};

TABLE(bare_by_teid, BPF_MAP_TYPE_HASH, __be32, struct bare, 1, 0);
TABLE(bare_by_ue, BPF_MAP_TYPE_HASH, __be32, struct bare, 1, 0);

inline_always int bare_decapsulate(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	struct udphdr *udp = (void *)(ip + 1);
	struct gtp *gtp = (void *)(udp + 1);
	if ((void *)(gtp + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP) || ip->ihl != 5 ||
	    ip->protocol != IPPROTO_UDP || udp->dest != bpf_htons(GTP_PORT) ||
	    gtp->type != GTP_G_PDU)
		return XDP_PASS;
	__be32 teid = gtp->teid;
	struct bare *bare = bpf_map_lookup_elem(&bare_by_teid, &teid);
	if (!bare)
		return XDP_DROP;
	if (bpf_xdp_adjust_head(ctx, gtp->flags & GTP_EXTENDED ? 44 : 36))
		return XDP_DROP;
	eth = (void *)(long)ctx->data;
	if ((void *)(eth + 1) > (void *)(long)ctx->data_end)
		return XDP_DROP;
	__builtin_memcpy(eth->h_dest, bare->to, 6);
	__builtin_memcpy(eth->h_source, bare->from, 6);
	eth->h_proto = bpf_htons(ETH_P_IP);
	return bpf_redirect(bare->ifindex, 0);
}

inline_always int bare_encapsulate(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct ethhdr *eth = data;
	struct iphdr *ip = (void *)(eth + 1);
	if ((void *)(ip + 1) > end || eth->h_proto != bpf_htons(ETH_P_IP))
		return XDP_PASS;
	__be32 ue = ip->daddr;
	__u32 length = bpf_ntohs(ip->tot_len);
	struct bare *bare = bpf_map_lookup_elem(&bare_by_ue, &ue);
	if (!bare)
		return XDP_DROP;
	if (bpf_xdp_adjust_head(ctx, -44))
		return XDP_DROP;
	eth = (void *)(long)ctx->data;
	struct bench_uplink *p = (void *)(eth + 1);
	if ((void *)&p->inner > (void *)(long)ctx->data_end)
		return XDP_DROP;
	__builtin_memcpy(eth->h_dest, bare->to, 6);
	__builtin_memcpy(eth->h_source, bare->from, 6);
	eth->h_proto = bpf_htons(ETH_P_IP);
	__be32 own = bench.n3, peer = bare->peer;
	bench_ip(&p->ip, length + 44, own, peer);
	__u32 sum = bpf_htons(0x4500) + bpf_htons(length + 44) + bpf_htons(64 << 8 | IPPROTO_UDP) +
		    (own & 0xffff) + (own >> 16) + (peer & 0xffff) + (peer >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	p->ip.check = ~(__u16)((sum & 0xffff) + (sum >> 16));
	p->udp.source = p->udp.dest = bpf_htons(GTP_PORT);
	p->udp.len = bpf_htons(length + 24);
	p->udp.check = 0;
	*(__be32 *)&p->gtp = bpf_htonl(0x34ff0000 | (length + 8));
	p->gtp.teid = bare->teid;
	*(__be32 *)&p->optional = bpf_htonl(GTP_CONTAINER);
	*(__be32 *)&p->container = bpf_htonl(0x01000900);
	return bpf_redirect(bare->ifindex, 0);
}
