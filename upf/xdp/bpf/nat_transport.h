/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Transport headers in NAT: ports and checksums, also within ICMP errors. */
#pragma once

#include "nat_create.h"

/* Pointers to ports and checksum of the transport header. */
struct nat_l4 {
	__be16 *near;
	__be16 *far;
	__u16 *checksum;
	__u8 flags;		/* TCP flags */
};

#define TCP_FIN 1
#define TCP_SYN 2
#define TCP_RST 4

/* Fills `ports` for a complete IPv4 packet or first fragment. Returns 0 if it has no ports. */
inline_always int nat_find_l4(struct iphdr *ip, void *end, int inward, struct nat_l4 *ports)
{
	__u32 header = ip->ihl * 4;
	__u8 *l4 = (void *)ip + header;
	if (header < sizeof(*ip))
		return 0;
	if (likely(ip->protocol == IPPROTO_TCP)) {
		if ((void *)(l4 + 18) > end)
			return 0;
		ports->checksum = (void *)(l4 + 16);
		ports->flags = l4[13];
	} else if (ip->protocol == IPPROTO_UDP) {
		if ((void *)(l4 + 8) > end)
			return 0;
		ports->checksum = (void *)(l4 + 6);
	} else {
		return 0;
	}
	ports->near = (void *)(l4 + (inward ? 2 : 0));
	ports->far = (void *)(l4 + (inward ? 0 : 2));
	return 1;
}

inline_always int is_icmp_error(struct icmp *icmp)
{
	return icmp->type == ICMP_UNREACHABLE || icmp->type == ICMP_EXCEEDED ||
	       icmp->type == ICMP_PARAMETER;
}

inline_always void nat_correct(__u16 *checksum, __u16 change, __u8 protocol)
{
	__u16 value = *checksum;
	/* UDP may have no checksum. */
	if (protocol == IPPROTO_UDP && !value)
		return;
	value = changed(value, change);
	*checksum = protocol == IPPROTO_UDP && !value ? 0xffff : value;
}

inline_always __u32 nat_bits(int inward, __u8 protocol, __u8 flags, __u32 seen)
{
	__u32 bits = inward ? NAT_ANSWERED : 0;
	if (protocol != IPPROTO_TCP)
		return bits;
	if (!inward && seen & NAT_ANSWERED && !(flags & TCP_SYN))
		bits |= NAT_CONFIRMED;
	if (unlikely(flags & (TCP_FIN | TCP_RST))) {
		if (flags & TCP_FIN)
			bits |= inward ? NAT_FIN_IN : NAT_FIN_OUT;
		if (flags & TCP_RST)
			bits |= NAT_RESET;
	}
	return bits;
}

/* Translates an ICMP error and the packet within it (RFC 5508, 4). `offset` is that of the IP
 * header. Returns the index of the flow. */
global __u32 nat_error(struct xdp_md *ctx, __u32 offset, int inward)
{
	void *data = data_of(ctx), *end = end_of(ctx);
	if (offset > 1024)
		return NONE;
	struct iphdr *ip = data + offset;
	if ((void *)(ip + 1) > end || ip->ihl != 5)
		return NONE;
	struct icmp *icmp = (void *)(ip + 1);
	struct iphdr *inner = (void *)(icmp + 1);
	if ((void *)(inner + 1) > end || inner->version != 4 || inner->ihl < 5 ||
	    inner->frag_off & bpf_htons(IP_OFFSET))
		return NONE;
	__u32 header = inner->ihl * 4;
	__u8 *l4 = (void *)inner + header;
	if ((void *)(l4 + 8) > end)
		return NONE;
	__u8 protocol = inner->protocol;
	struct nat_key key = { .kind = nat_kind(protocol, inward) };
	/* The quoted packet travelled in the opposite direction: its source is the near end. */
	key.near = inward ? inner->saddr : inner->daddr;
	key.far = inward ? inner->daddr : inner->saddr;
	if (key.near != (inward ? ip->daddr : ip->saddr))
		return NONE;
	__be16 *port = NULL;
	__u16 *checksum = NULL;
	if (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) {
		__be16 *ports = (void *)l4;
		port = inward ? ports : ports + 1;
		key.far_port = inward ? ports[1] : ports[0];
		if (protocol == IPPROTO_UDP)
			checksum = (void *)(l4 + 6);
		else if ((void *)(l4 + 18) <= end)
			checksum = (void *)(l4 + 16);
	} else if (protocol == IPPROTO_ICMP) {
		port = (void *)(l4 + 4);
		checksum = (void *)(l4 + 2);
	} else {
		return NONE;
	}
	key.near_port = *port;
	__u32 index = nat_find_slow(&key);
	struct nat_flow *flow = nat_flow_at(index);
	if (!index || !flow || nat_is_expired(flow, &key, bpf_jiffies64()))
		return NONE;
	__be32 address = flow->other;
	__be16 new_port = nat_new_port(flow);
	__u16 of_address = nat_address_change(flow), of_transport = nat_transport_change(flow);
	/* The ICMP checksum covers the quoted packet; the inner IP header's sum is unchanged. */
	__u32 change = change16(*port, new_port);
	if (checksum && !(protocol == IPPROTO_UDP && !*checksum)) {
		__u16 before = *checksum;
		nat_correct(checksum, of_transport, protocol);
		change += change16(before, *checksum);
	}
	*port = new_port;
	inner->check = changed(inner->check, of_address);
	if (inward)
		inner->saddr = address;
	else
		inner->daddr = address;
	icmp->checksum = changed(icmp->checksum, fold16(change));
	ip->check = changed(ip->check, of_address);
	if (inward)
		ip->daddr = address;
	else
		ip->saddr = address;
	return index;
}
