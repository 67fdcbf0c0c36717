/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Distribution of G-PDUs over CPUs. Interfaces hash the outer addresses and ports, which all
 * packets of a gNB share, so one CPU receives all of them. That CPU hashes the inner flow and gives
 * the frame to the CPU of the flow, through one queue, so that the order within a flow is kept. */
#pragma once

#include "forwarding.h"

/* Queues of the CPUs, by the number of the CPU. The programs that the queues run must not use this
 * map: each would keep the other loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_CPUMAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(struct bpf_cpumap_val));
} uplink_cpus SEC(".maps");

inline_always __u32 mix(__u32 hash, __u32 word)
{
	hash = (hash ^ word) * 0x9e3779b1;
	return hash ^ hash >> 15;
}

/* A hash of the addresses, the protocol and the ports of a tunnelled packet; of fragments without
 * ports, which only the first one has. For a payload that is not exactly one IP packet, such as an
 * Ethernet frame, it is a hash of the TEID. */
inline_always __u32 flow_hash(struct xdp_md *ctx, struct tunnelled *tunnel)
{
	void *data = data_of(ctx), *end = end_of(ctx);
	__u32 length = tunnel->end - tunnel->inner, header = 0, hash = 0;
	__u8 protocol = 0;
	__u64 offset = tunnel->inner;
	/* Older verifiers need this bound. */
	barrier_var(offset);
	offset &= 2047;
	struct iphdr *ip = data + offset;
	struct ipv6hdr *ip6 = data + offset;
	if (offset != tunnel->inner || (void *)(ip + 1) > end)
		return mix(0, tunnel->teid);
	if (ip->version == 4 && bpf_ntohs(ip->tot_len) == length) {
		protocol = ip->protocol;
		hash = mix(mix(protocol, ip->saddr), ip->daddr);
		if (!(ip->frag_off & bpf_htons(IP_MORE_FRAGMENTS | IP_OFFSET)))
			header = ip->ihl * 4;
	} else if (ip->version == 6 && (void *)(ip6 + 1) <= end &&
		   sizeof(*ip6) + bpf_ntohs(ip6->payload_len) == length) {
		/* Without ports behind extension headers, of which one may be that of fragments. */
		protocol = ip6->nexthdr;
		hash = protocol;
#pragma unroll
		for (int i = 0; i < 4; i++) {
			hash = mix(hash, ((__be32 *)&ip6->saddr)[i]);
			hash = mix(hash, ((__be32 *)&ip6->daddr)[i]);
		}
		header = sizeof(*ip6);
	} else {
		return mix(0, tunnel->teid);
	}
	if (header < sizeof(*ip) || header + 4 > length ||
	    (protocol != IPPROTO_TCP && protocol != IPPROTO_UDP && protocol != 132))
		return hash;
	header &= 63;
	__be32 *ports = data + offset + header;
	if ((void *)(ports + 1) > end)
		return hash;
	return mix(hash, *ports);
}

/* Gives a G-PDU to the CPU of its flow. Returns XDP_REDIRECT, or another verdict if this CPU is to
 * process the packet: it is no G-PDU, or the CPU has no queue. Parses as `handle`. */
global int to_uplink_cpu(struct xdp_md *ctx)
{
	void *data = data_of(ctx), *end = end_of(ctx);
	__be16 protocol = 0;
	__u32 offset = link_header(data, end, &protocol), header = 0;
	if (!offset)
		return XDP_PASS;
	if (protocol == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = data + offset;
		if ((void *)(ip + 1) > end || ip->daddr != settings.n3_ip4 ||
		    ip->protocol != IPPROTO_UDP ||
		    ip->frag_off & bpf_htons(IP_MORE_FRAGMENTS | IP_OFFSET))
			return XDP_PASS;
		header = ip->ihl * 4;
		if (header < sizeof(*ip))
			return XDP_PASS;
	} else if (settings.has_ip6 && protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = data + offset;
		if ((void *)(ip + 1) > end || !is_n3_ip6((__be32 *)&ip->daddr))
			return XDP_PASS;
		header = likely(ip->nexthdr == IPPROTO_UDP) ? sizeof(*ip) : udp_behind(ctx, offset);
	}
	if (!header)
		return XDP_PASS;
	header &= 511;
	struct udphdr *udp = data + offset + header;
	if ((void *)(udp + 1) > end || udp->dest != bpf_htons(GTP_PORT))
		return XDP_PASS;
	struct tunnelled tunnel = {};
	if (read_gtp(ctx, offset + header + sizeof(*udp), &tunnel) != GTP_PACKET)
		return XDP_PASS;
	__u32 slot = (__u64)flow_hash(ctx, &tunnel) * settings.uplink_cpus >> 32;
	__u32 cpu = settings.uplink_cpu[slot & (UPLINK_CPUS - 1)];
	return bpf_redirect_map(&uplink_cpus, cpu, XDP_PASS);
}
