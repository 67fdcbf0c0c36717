/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Encapsulation, decapsulation, next hops and transmission. */
#pragma once

#include "perimeter.h"

/* MAC address of both ends of the veth pair. The kernel sends to its own address without ARP, and
 * drops frames for another address. */
#define LINK_MAC { 0x02, 0x4d, 0x4c, 0x54, 0x00, 0x01 }
/* Source address of frames that our own end returns to the kernel. */
#define BOUNCE_MAC { 0x02, 0x4d, 0x4c, 0x54, 0x00, 0x02 }
/* Source address of tunnelled packets, which the kernel routes. Its own packets to UEs may have the
 * same IP source, the address of N3. */
#define TUNNEL_MAC { 0x02, 0x4d, 0x4c, 0x54, 0x00, 0x03 }

/* MTU of that pair. The kernel drops longer frames that are redirected to it, and does not report
 * it. */
#define LINK_MTU 3498

/* Origin of a frame. */
enum origin {
	FROM_PORT,	/* a physical or virtual interface */
	FROM_KERNEL,	/* the veth pair with the kernel */
	FROM_BUFFER,	/* user space, after buffering */
	FROM_SOCKET,	/* user space, reassembled by the kernel */
	FROM_CPU,	/* an interface, by way of the CPU that received it: see `uplink_cpus.h` */
};

/* The rule still buffers: leave the packet to user space. */
#define VERDICT_KEEP 100

#define OUTER_TTL 64

struct outer4 {
	struct iphdr ip;
	struct udphdr udp;
	struct gtp gtp;
};

struct outer6 {
	struct ipv6hdr ip;
	struct udphdr udp;
	struct gtp gtp;
};

struct gtp_extension {
	struct gtp_optional optional;
	struct gtp_container container;
};

/* Decrements the TTL and updates the checksum (RFC 1624). */
inline_always void decrement_ttl4(struct iphdr *ip)
{
	__u32 sum = ip->check + bpf_htons(0x0100);
	ip->check = sum + (sum >= 0xffff);
	ip->ttl--;
}

inline_always struct hop *hop_of(__be32 destination, __u32 instance)
{
	__u32 hash = destination ^ instance;
	hash ^= hash >> 16;
	hash = hash * 0x9e3779b1 >> 22;
	__u32 slot = hash & (HOPS - 1);
	return bpf_map_lookup_elem(&hops, &slot);
}

inline_always int usable(__u32 ifindex)
{
	return bpf_map_lookup_elem(&ports, &ifindex) != NULL;
}

/* Looks up route and neighbour in the kernel and caches the result. */
global int find_hop4(struct xdp_md *ctx, struct hop *hop, __be32 source, __be32 destination,
		     __u32 instance)
{
	if (!hop)
		return 0;
	struct bpf_fib_lookup fib = {
		.family = 2 /* AF_INET */,
		.l4_protocol = IPPROTO_UDP,
		.ifindex = instance ? settings.instance_outer[instance & (INSTANCES - 1)] :
				      ctx->ingress_ifindex,
		.ipv4_src = source,
		.ipv4_dst = destination,
	};
	__u32 now = globals.generation;
	int found = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0);
	int ok = found == BPF_FIB_LKUP_RET_SUCCESS && usable(fib.ifindex);
	hop->generation = 0;
	hop->local = (found >= BPF_FIB_LKUP_RET_BLACKHOLE && found <= BPF_FIB_LKUP_RET_NOT_FWDED) ||
		     fib.ifindex == settings.outer_ifindex;
	hop->destination[0] = destination;
	hop->destination[1] = instance;
	hop->ifindex = ok ? fib.ifindex : 0;
	hop->mtu = fib.mtu_result;
	hop->class = class_of4(destination);
	__builtin_memcpy(hop->to, fib.dmac, 6);
	__builtin_memcpy(hop->from, fib.smac, 6);
	/* A failed lookup is not cached: the kernel may resolve the neighbour by the next
	 * packet. */
	hop->generation = ok ? now : 0;
	return ok;
}

/* The cached next hop, looked up if stale. */
inline_always struct hop *cached_hop4(struct xdp_md *ctx, __be32 source, __be32 destination,
				      __u32 instance)
{
	struct hop *hop = hop_of(destination, instance);
	if (!hop)
		return NULL;
	if (unlikely(hop->destination[0] != destination || hop->destination[1] != instance ||
		     hop->generation != globals.generation))
		find_hop4(ctx, hop, source, destination, instance);
	return hop;
}

/* The next hop to an address; NULL: the kernel routes the packet. */
inline_always struct hop *next_hop4(struct xdp_md *ctx, __be32 source, __be32 destination)
{
	struct hop *hop = cached_hop4(ctx, source, destination, 0);
	return hop && hop->ifindex ? hop : NULL;
}

inline_always int is_n3_ip6(const __be32 *address)
{
	return !((address[0] ^ settings.n3_ip6[0]) | (address[1] ^ settings.n3_ip6[1]) |
		 (address[2] ^ settings.n3_ip6[2]) | (address[3] ^ settings.n3_ip6[3]));
}

/* Set in the generation of IPv6 next hops, so that they never match IPv4. */
#define HOP_IP6 0x80000000u

/* As `find_hop4`, for an IPv6 tunnel peer. */
global int find_hop6(struct xdp_md *ctx, struct hop *hop, struct rule_cold *rest)
{
	if (!hop || !rest)
		return 0;
	struct bpf_fib_lookup fib = {
		.family = 10 /* AF_INET6 */,
		.l4_protocol = IPPROTO_UDP,
		/* The kernel requires IPv6 forwarding on the input interface: ours has it. */
		.ifindex = settings.outer_ifindex,
	};
	for (int i = 0; i < 4; i++) {
		fib.ipv6_src[i] = settings.n3_ip6[i];
		fib.ipv6_dst[i] = rest->peer6[i];
	}
	__u32 now = globals.generation | HOP_IP6;
	int ok = bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) == BPF_FIB_LKUP_RET_SUCCESS &&
		 usable(fib.ifindex);
	hop->generation = 0;
	for (int i = 0; i < 4; i++)
		hop->destination[i] = rest->peer6[i];
	hop->ifindex = ok ? fib.ifindex : 0;
	hop->mtu = fib.mtu_result;
	__builtin_memcpy(hop->to, fib.dmac, 6);
	__builtin_memcpy(hop->from, fib.smac, 6);
	hop->generation = ok ? now : 0;
	return ok;
}

/* The next hop to an IPv6 tunnel peer; NULL: the kernel routes the packet. */
inline_always struct hop *next_hop6(struct xdp_md *ctx, struct rule_cold *rest)
{
	struct hop *hop = hop_of(rest->peer6[2] ^ rest->peer6[3], rest->peer6[1]);
	if (!hop)
		return NULL;
	__u32 differs = hop->generation ^ (globals.generation | HOP_IP6);
	for (int i = 0; i < 4; i++)
		differs |= hop->destination[i] ^ rest->peer6[i];
	if (unlikely(differs))
		find_hop6(ctx, hop, rest);
	return hop->ifindex ? hop : NULL;
}

/* Sends a frame to an interface. Injected frames are sent by user space, which reads the interface
 * in front of the frame. */
inline_always int send_to(struct xdp_md *ctx, __u32 ifindex, enum origin origin)
{
	if (origin == FROM_BUFFER || origin == FROM_SOCKET) {
		if (bpf_xdp_adjust_head(ctx, -(int)sizeof(struct verdict)))
			return lost(DROP_N3);
		struct verdict *verdict = data_of(ctx);
		if ((void *)(verdict + 1) > end_of(ctx))
			return lost(DROP_N3);
		verdict->action = XDP_REDIRECT;
		verdict->ifindex = ifindex;
		return XDP_REDIRECT;
	}
	/* On veth a frame sent by XDP_TX may be delayed until the next one. The program of a CPU's
	 * queue cannot return XDP_TX. */
	if (settings.transmit && origin != FROM_CPU && ifindex == ctx->ingress_ifindex)
		return XDP_TX;
	return bpf_redirect(ifindex, 0);
}

inline_always int send_to_hop(struct xdp_md *ctx, struct hop *hop, enum origin origin)
{
	return send_to(ctx, hop->ifindex, origin);
}

inline_always void link_to(struct ethhdr *eth, const __u8 *to, const __u8 *from, __be16 protocol)
{
	__builtin_memcpy(eth->h_dest, to, 6);
	__builtin_memcpy(eth->h_source, from, 6);
	eth->h_proto = protocol;
}

inline_always int same_link(const __u8 *a, const __u8 *b)
{
	int differ = 0;
#pragma unroll
	for (int i = 0; i < 6; i++)
		differ |= a[i] ^ b[i];
	return !differ;
}

/* Passes a tunnelled packet of `length` to the kernel for routing. The link header is
 * overwritten. */
inline_always int tunnelled_to_kernel(struct xdp_md *ctx, __u32 length, enum origin origin,
				      __be16 protocol)
{
	static const __u8 own[6] = LINK_MAC, tunnel[6] = TUNNEL_MAC;
	struct ethhdr *eth = data_of(ctx);
	if ((void *)(eth + 1) > end_of(ctx))
		return lost(DROP_N3);
	if (unlikely(length > LINK_MTU && origin != FROM_KERNEL))
		return lost(DROP_TOO_LONG);
	COUNT_STAT(to_kernel);
	link_to(eth, own, tunnel, protocol);
	if (origin == FROM_KERNEL)
		return XDP_PASS;
	return send_to(ctx, settings.outer_ifindex, origin);
}

/* Encapsulates the packet at `offset` and sends it. `qfi` < 0: no PDU session container. */
inline_always int into_tunnel4(struct xdp_md *ctx, __u32 offset, __u32 length, struct rule *rule,
			       int qfi, enum origin origin)
{
	__u32 extension = qfi >= 0 ? sizeof(struct gtp_extension) : 0;
	__u32 headers = sizeof(struct outer4) + extension;
	__be32 peer = rule->peer4, teid = rule->teid;
	__u8 type = rule->flags & RULE_TUNNEL_UP ? 0x10 : 0;
	if (unlikely(length > 0xffff - headers))
		return lost(DROP_N3);
	if (unlikely(!trim(ctx, offset + length)))
		return lost(DROP_N3);
	if (bpf_xdp_adjust_head(ctx, (int)offset - (int)(sizeof(struct ethhdr) + headers)))
		return lost(DROP_N3);
	struct ethhdr *eth = data_of(ctx);
	struct outer4 *outer = (void *)(eth + 1);
	struct gtp_extension *more = (void *)(outer + 1);
	if ((void *)(more + 1) > end_of(ctx))
		return lost(DROP_N3);
	__u32 whole = length + headers;
	/* Version, header length, DF clear, TTL and protocol are constant. */
	*(__be32 *)&outer->ip = bpf_htonl(0x45000000 | whole);
	*((__be32 *)&outer->ip + 1) = 0;
	outer->ip.ttl = OUTER_TTL;
	outer->ip.protocol = IPPROTO_UDP;
	outer->ip.saddr = settings.n3_ip4;
	outer->ip.daddr = peer;
	__u32 sum = bpf_htons(0x4500) + bpf_htons(whole) + bpf_htons(OUTER_TTL << 8 | IPPROTO_UDP) +
		    (settings.n3_ip4 & 0xffff) + (settings.n3_ip4 >> 16) + (peer & 0xffff) +
		    (peer >> 16);
	outer->ip.check = ~fold16(sum);
	outer->udp.source = outer->udp.dest = bpf_htons(GTP_PORT);
	outer->udp.len = bpf_htons(whole - sizeof(struct iphdr));
	outer->udp.check = 0;
	outer->gtp.flags = extension ? GTP_FLAGS | GTP_EXTENDED : GTP_FLAGS;
	outer->gtp.type = GTP_G_PDU;
	outer->gtp.length = bpf_htons(length + extension);
	outer->gtp.teid = teid;
	if (extension) {
		*(__be32 *)&more->optional = bpf_htonl(GTP_CONTAINER);
		*(__be32 *)&more->container = bpf_htonl(0x01000000 | type << 16 | qfi << 8);
	}
	struct hop *hop = next_hop4(ctx, settings.n3_ip4, peer);
	if (unlikely(!hop || whole > hop->mtu)) {
		/* The kernel may fragment it: the peer tells the fragments of packets apart by the
		 * identification. */
		__u16 id = bpf_get_prandom_u32();
		outer->ip.id = id;
		outer->ip.check = changed(outer->ip.check, id);
		return tunnelled_to_kernel(ctx, whole, origin, bpf_htons(ETH_P_IP));
	}
	link_to(eth, hop->to, hop->from, bpf_htons(ETH_P_IP));
	return send_to_hop(ctx, hop, origin);
}

/* The same over IPv6, without a UDP checksum (RFC 6935). `range`: offset, upper half length.
 * Packets that exceed the path MTU or have no next hop go to the socket: routers do not fragment
 * IPv6. */
global int into_tunnel6(struct xdp_md *ctx, __u64 range, struct rule *rule, int qfi, int origin)
{
	__u32 offset = range & 2047, length = range >> 32;
	struct rule_cold *rest = rule ? cold_of(rule) : NULL;
	if (!rule || !rest)
		return lost(DROP_N3);
	__u32 extension = qfi >= 0 ? sizeof(struct gtp_extension) : 0;
	__u32 headers = sizeof(struct outer6) + extension,
	      payload = length + headers - sizeof(struct ipv6hdr);
	__be32 teid = rule->teid;
	__u8 type = rule->flags & RULE_TUNNEL_UP ? 0x10 : 0;
	if (length > 0xffff || payload > 0xffff || !trim(ctx, offset + length) ||
	    bpf_xdp_adjust_head(ctx, (int)offset - (int)(sizeof(struct ethhdr) + headers)))
		return lost(DROP_N3);
	struct ethhdr *eth = data_of(ctx);
	struct outer6 *outer = (void *)(eth + 1);
	struct gtp_extension *more = (void *)(outer + 1);
	if ((void *)(more + 1) > end_of(ctx))
		return lost(DROP_N3);
	*(__be32 *)&outer->ip = bpf_htonl(0x60000000);
	outer->ip.payload_len = bpf_htons(payload);
	outer->ip.nexthdr = IPPROTO_UDP;
	outer->ip.hop_limit = OUTER_TTL;
	for (int i = 0; i < 4; i++) {
		((__be32 *)&outer->ip.saddr)[i] = settings.n3_ip6[i];
		((__be32 *)&outer->ip.daddr)[i] = rest->peer6[i];
	}
	outer->udp.source = outer->udp.dest = bpf_htons(GTP_PORT);
	outer->udp.len = bpf_htons(payload);
	outer->udp.check = 0;
	outer->gtp.flags = extension ? GTP_FLAGS | GTP_EXTENDED : GTP_FLAGS;
	outer->gtp.type = GTP_G_PDU;
	outer->gtp.length = bpf_htons(length + extension);
	outer->gtp.teid = teid;
	if (extension) {
		*(__be32 *)&more->optional = bpf_htonl(GTP_CONTAINER);
		*(__be32 *)&more->container = bpf_htonl(0x01000000 | type << 16 | qfi << 8);
	}
	__u32 whole = length + headers;
	struct hop *hop = next_hop6(ctx, rest);
	if (unlikely(!hop || whole > hop->mtu)) {
		if (!give_to_ring(ctx, sizeof(*eth), whole, NONE, ARGUMENT_SEND))
			return lost(DROP_N3);
		COUNT_STAT(to_kernel);
		return XDP_DROP;
	}
	link_to(eth, hop->to, hop->from, bpf_htons(ETH_P_IPV6));
	return send_to_hop(ctx, hop, origin);
}

inline_always int into_tunnel(struct xdp_md *ctx, __u32 offset, __u32 length, struct rule *rule,
			      int qfi, enum origin origin)
{
	if (settings.has_ip6 && unlikely(rule->flags & RULE_TUNNEL6))
		return into_tunnel6(ctx, offset | (__u64)length << 32, rule, qfi, origin);
	return into_tunnel4(ctx, offset, length, rule, qfi, origin);
}

/* Captures a packet that leaves to N6. */
global int capture_n6(struct xdp_md *ctx, __u32 length)
{
	capture_begin(ctx, sizeof(struct ethhdr), length);
	return capture_end();
}

/* Sends a decapsulated packet to the data network. The packet is at `offset`, the frame has no link
 * header yet. With a rule it is a UE's packet, which may be translated, and which is lost if the
 * UE may not reach its destination. */
inline_always int to_network(struct xdp_md *ctx, __u32 offset, struct flow *flow, struct rule *rule,
			     enum origin origin)
{
	static const __u8 own[6] = LINK_MAC, bounce[6] = BOUNCE_MAC;
	__u32 instance = rule ? rule->qfi & (INSTANCES - 1) : 0;
	struct hop *hop = NULL;
	if (settings.direct && flow->version == 4 && flow->ttl > 1) {
		__be32 source = settings.nat.addresses ? settings.nat.address[0] : flow->source4;
		hop = cached_hop4(ctx, source, flow->destination4, instance);
	}
	if (rule) {
		__u32 class = hop ? hop->class : class_of(flow);
		if (unlikely(class & CLASS_DENIED) && !is_exception(ctx, offset, flow, class))
			return lost(DROP_N6_ISOLATION);
	}
	if (unlikely(!trim(ctx, offset + flow->length)))
		return lost(DROP_N6);
	if (bpf_xdp_adjust_head(ctx, (int)offset - (int)sizeof(struct ethhdr)))
		return lost(DROP_N6);
	struct ethhdr *eth = data_of(ctx);
	struct iphdr *ip = (void *)(eth + 1);
	if ((void *)(ip + 1) > end_of(ctx))
		return lost(DROP_N6);
	__be16 protocol = flow->version == 4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
	if (hop) {
		int fits = hop->ifindex && flow->length <= hop->mtu;
		/* Packets that the kernel receives or answers are not translated. */
		if (rule && settings.nat.addresses && !hop->local &&
		    (fits || !hop->ifindex || !flow->dont_fragment)) {
			if (unlikely(!translate_out(ctx, sizeof(*eth), flow, rule)))
				return lost(DROP_NAT);
			eth = data_of(ctx);
			ip = (void *)(eth + 1);
			if ((void *)(ip + 1) > end_of(ctx))
				return lost(DROP_N6);
		}
		if (likely(fits)) {
			decrement_ttl4(ip);
			link_to(eth, hop->to, hop->from, protocol);
			if (unlikely(trace.capture) && rule)
				capture_n6(ctx, flow->length);
			return send_to_hop(ctx, hop, origin);
		}
	}
	if (!settings.has_n6)
		return lost(DROP_N6);
	if (unlikely(flow->length > LINK_MTU))
		return lost(DROP_TOO_LONG);
	if (unlikely(trace.capture) && rule)
		capture_n6(ctx, flow->length);
	COUNT_STAT(to_kernel);
	if (settings.bounce) {
		link_to(eth, own, bounce, protocol);
		return send_to(
			ctx, instance ? settings.instance_outer[instance] : settings.outer_ifindex,
			origin);
	}
	link_to(eth, own, own, protocol);
	return send_to(ctx, instance ? settings.instance_inner[instance] : settings.inner_ifindex,
		       origin);
}
