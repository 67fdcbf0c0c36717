// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* The XDP programs: for interfaces, for the veth pair with the kernel, and for buffered packets. */
#include "pipeline.h"
#include "uplink_cpus.h"
#include "baseline.h"

inline_always int handle(struct xdp_md *ctx, enum origin origin)
{
	void *data = data_of(ctx), *end = end_of(ctx);
	__be16 protocol = 0;
	__u32 offset = link_header(data, end, &protocol);
	if (!offset)
		return pass_to_kernel();
	struct flow flow = {};
	/* Length of the outer IP header of a tunnelled packet, and its source. */
	__u32 header = 0;
	__be32 from4 = 0;
	if (protocol == bpf_htons(ETH_P_IP)) {
		struct iphdr *ip = data + offset;
		if ((void *)(ip + 1) > end)
			return pass_to_kernel();
		if (ip->daddr == settings.n3_ip4) {
			header = ip->ihl * 4;
			from4 = ip->saddr;
			/* The kernel reassembles fragments; user space injects the packet. */
			if (ip->protocol != IPPROTO_UDP || header < sizeof(*ip) ||
			    ip->frag_off & bpf_htons(IP_MORE_FRAGMENTS | IP_OFFSET))
				return pass_to_kernel();
		} else if (!settings.nat.addresses) {
			expect_rule(ip->daddr, 0);
		}
	} else if (settings.has_ip6 && protocol == bpf_htons(ETH_P_IPV6)) {
		struct ipv6hdr *ip = data + offset;
		if ((void *)(ip + 1) > end)
			return pass_to_kernel();
		if (is_n3_ip6((__be32 *)&ip->daddr)) {
			header = likely(ip->nexthdr == IPPROTO_UDP) ? sizeof(*ip) :
								      udp_behind(ctx, offset);
			if (!header)
				return pass_to_kernel();
		}
	}
	if (header) {
		header &= 511;
		struct udphdr *udp = data + offset + header;
		if ((void *)(udp + 1) > end || udp->dest != bpf_htons(GTP_PORT))
			return pass_to_kernel();
		struct tunnelled tunnel;
		tunnel.from4 = from4;
		tunnel.outer = offset;
		__u32 at = offset + header + sizeof(*udp);
		switch (read_gtp(ctx, at, &tunnel)) {
		case GTP_PACKET:
			if (!settings.nat.addresses)
				expect_rule(tunnel.teid, RULE_BY_TEID);
			return from_tunnel(ctx, &tunnel, &flow, origin);
		case GTP_SIGNALLING:
			return pass_to_kernel();
		case GTP_UNKNOWN_EXTENSION:
			return answer_in_user_space(DROP_UNKNOWN_EXTENSION,
						    answer_bucket_of(ctx, &tunnel));
		case GTP_MALFORMED:
			return dropped(DROP_MALFORMED);
		}
	}
	/* Other CPUs get nothing but G-PDUs. */
	if (origin == FROM_CPU)
		return pass_to_kernel();
	if (!read_ip(data + offset, end, protocol, &flow))
		return pass_to_kernel();
	if (unlikely(trace.capture))
		capture_begin(ctx, offset, flow.length);
	if (origin == FROM_PORT && flow.version == 4 && is_public(flow.destination4)) {
		switch (translate_in(ctx, offset, &flow)) {
		case NAT_NO_FLOW:
			return pass_to_kernel();
		case NAT_REPLIED:
			COUNT_PACKET(answered);
			return settings.transmit ? XDP_TX : bpf_redirect(ctx->ingress_ifindex, 0);
		case NAT_LOST:
			return dropped(DROP_NAT);
		}
		data = data_of(ctx);
		end = end_of(ctx);
	}
	__u32 target = flow.version == 4 ? flow.target : NONE;
	if (!target)
		target = lookup_ue(&flow, 0);
	/* Multicast group reports of the kernel on the veth pair: not for a UE. */
	if (unlikely(!target) && origin == FROM_KERNEL && is_multicast(&flow))
		return pass_to_kernel();
	if (!target)
		return origin == FROM_PORT && !flow.incarnation ? pass_to_kernel() :
								  dropped(DROP_UNKNOWN_UE);
	if (unlikely(trace.capture) && origin != FROM_BUFFER)
		capture_end();
	/* The kernel answers packets that exceed the MTU or the TTL. */
	if (origin == FROM_PORT) {
		if (flow.ttl <= 1 || (settings.has_n6 && flow.length > settings.n6_mtu))
			return pass_to_kernel();
		struct iphdr *ip = data + offset;
		struct ipv6hdr *ip6 = data + offset;
		if (flow.version == 4 && (void *)(ip + 1) <= end)
			decrement_ttl4(ip);
		else if ((void *)(ip6 + 1) <= end)
			ip6->hop_limit--;
	}
	return to_ue(ctx, offset, &flow, target, origin);
}

/* `handle` with counters, latency samples and tracing. */
inline_always int observe(struct xdp_md *ctx, enum origin origin)
{
	struct lane *lane = cpu_counters();
	if (!lane)
		return XDP_ABORTED;
	__u64 start = 0;
	if (unlikely((lane->entered[origin]++ & sample_mask) == sample_mask))
		start = bpf_ktime_get_ns();
	if (unlikely(trace.wanted))
		trace_begin(ctx, origin);
	int verdict = handle(ctx, origin);
	if (unlikely(start))
		record_latency(start);
	if (unlikely(trace.wanted))
		trace_end(verdict);
	return verdict;
}

/* Interfaces towards gNBs and data networks. */
SEC("xdp")
int martlet_port(struct xdp_md *ctx)
{
	return observe(ctx, FROM_PORT);
}

/* The same where several CPUs process G-PDUs. */
SEC("xdp")
int martlet_spread(struct xdp_md *ctx)
{
	if (globals.spread && to_uplink_cpu(ctx) == XDP_REDIRECT)
		return XDP_REDIRECT;
	return observe(ctx, FROM_PORT);
}

/* The queue of a CPU, with the G-PDUs that `martlet_spread` gives to it. */
SEC("xdp/cpumap")
int martlet_uplink(struct xdp_md *ctx)
{
	return observe(ctx, FROM_CPU);
}

/* The program end of the veth pair with the kernel. */
SEC("xdp")
int martlet_inner(struct xdp_md *ctx)
{
	static const __u8 bounce[6] = BOUNCE_MAC, own[6] = LINK_MAC, tunnel[6] = TUNNEL_MAC;
	struct ethhdr *eth = data_of(ctx);
	if ((void *)(eth + 1) > end_of(ctx))
		return XDP_DROP;
	if (same_link(eth->h_source, bounce)) {
		link_to(eth, own, own, eth->h_proto);
		return XDP_TX;
	}
	if (same_link(eth->h_source, tunnel))
		return XDP_PASS;
	return observe(ctx, FROM_KERNEL);
}

/* Run by user space on buffered packets. With XDP_REDIRECT a `struct verdict` is in front of the
 * frame. */
SEC("xdp")
int martlet_release(struct xdp_md *ctx)
{
	return observe(ctx, FROM_BUFFER);
}

SEC("xdp")
int martlet_socket(struct xdp_md *ctx)
{
	return observe(ctx, FROM_SOCKET);
}

/* Run by user space to read the clock of the programs. */
SEC("xdp")
int martlet_clock(struct xdp_md *ctx)
{
	globals.ticks = bpf_jiffies64();
	return XDP_PASS;
}

/* The kernel end of the veth pair: without a program it drops redirected frames. */
SEC("xdp")
int martlet_outer(struct xdp_md *ctx)
{
	return XDP_PASS;
}

/* Benchmark programs, on generated packets. Loaded by the lab only. */
SEC("xdp")
int bench_nothing_up(struct xdp_md *ctx)
{
	return bench_make_uplink(ctx) ? XDP_DROP : XDP_ABORTED;
}

SEC("xdp")
int bench_nothing_down(struct xdp_md *ctx)
{
	return bench_make_downlink(ctx) ? XDP_DROP : XDP_ABORTED;
}

SEC("xdp")
int bench_uplink(struct xdp_md *ctx)
{
	return bench_make_uplink(ctx) ? observe(ctx, FROM_PORT) : XDP_ABORTED;
}

SEC("xdp")
int bench_downlink(struct xdp_md *ctx)
{
	return bench_make_downlink(ctx) ? observe(ctx, FROM_PORT) : XDP_ABORTED;
}

SEC("xdp")
int bench_bare_uplink(struct xdp_md *ctx)
{
	return bench_make_uplink(ctx) ? bare_decapsulate(ctx) : XDP_ABORTED;
}

SEC("xdp")
int bench_bare_downlink(struct xdp_md *ctx)
{
	return bench_make_downlink(ctx) ? bare_encapsulate(ctx) : XDP_ABORTED;
}

/* Generator and sink over real links. */
SEC("xdp")
int bench_send_up(struct xdp_md *ctx)
{
	return bench_make_uplink(ctx) ? bench_send(ctx, 14 + sizeof(struct bench_uplink) -
								sizeof(struct bench_inner)) :
					XDP_ABORTED;
}

SEC("xdp")
int bench_send_down(struct xdp_md *ctx)
{
	return bench_make_downlink(ctx) ? bench_send(ctx, 14) : XDP_ABORTED;
}

SEC("xdp")
int bench_receive(struct xdp_md *ctx)
{
	return bench_count(ctx);
}

char LICENSE[] SEC("license") = "GPL";
