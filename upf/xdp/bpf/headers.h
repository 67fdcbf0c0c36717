/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Parsing of packet headers, from the link to the transport layer. */
#pragma once

#include "maps.h"
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>

#define inline_always static __attribute__((always_inline)) inline
#define noinline static __attribute__((__noinline__))
/* A global function: the verifier checks it once, not per caller. */
#define global __attribute__((__noinline__))

#define IP_MORE_FRAGMENTS 0x2000
#define IP_DONT_FRAGMENT 0x4000
#define IP_OFFSET 0x1fff
#define DNS_PORT 53
#define MAX_VLANS 2
#define MAX_EXTENSIONS 8

/* ICMP (RFC 792); `linux/icmp.h` needs headers of the C library. */
enum icmp_type {
	ICMP_ECHO_REPLY = 0,
	ICMP_UNREACHABLE = 3,
	ICMP_ECHO = 8,
	ICMP_EXCEEDED = 11,
	ICMP_PARAMETER = 12,
	ICMP_TIMESTAMP = 13,
	ICMP_TIMESTAMP_REPLY = 14,
};
#define ICMP_TOO_LARGE 4	/* code of ICMP_UNREACHABLE */

struct icmp {
	__u8 type;
	__u8 code;
	__u16 checksum;
	__be16 id;
	__be16 sequence;
};

struct vlan {
	__be16 tci;
	__be16 protocol;
};

/* The parsed fields of an IP packet. */
struct flow {
	__be32 source4;
	__be32 destination4;
	/* NAT is for IPv4 only, so these share stack space with IPv6. */
	union {
		__be64 source6[2];
		struct {
			__u64 nat_hash;
			__u64 nat_hint;
		};
	};
	union {
		__be64 destination6[2];
		struct {
			__u32 target;	/* target found in the NAT cache */
			__u32 nat_mark;	/* mark to store in the rule's NAT cache */
		};
	};
	__u32 length;		/* total length in bytes */
	__u32 transport;	/* offset of the transport header from the IP header */
	__u32 label;		/* IPv6 flow label */
	union {
		__u32 spi;
		__u32 fragment_id;	/* of a fragment without `has_spi` that was parsed */
	};
	__u32 incarnation;	/* session instance of the NAT flow; 0: none, or from the cache */
	__u16 source_port;
	__u16 destination_port;
	__u8 version;
	__u8 protocol;
	__u8 tos;
	__u8 ttl;
	__u8 has_ports;
	__u8 has_spi;
	__u8 fragment;		/* 1: the first of several, 2: a later one */
	__u8 dont_fragment;
	__u8 read;		/* transport header parsed */
};

inline_always int is_multicast(struct flow *flow)
{
	if (flow->version == 4)
		return (flow->destination4 & bpf_htonl(0xf0000000)) == bpf_htonl(0xe0000000);
	return (flow->destination6[0] & bpf_cpu_to_be64(0xffull << 56)) ==
	       bpf_cpu_to_be64(0xffull << 56);
}

/* A one's complement sum of 16 bits. */
inline_always __u16 fold16(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	return (sum & 0xffff) + (sum >> 16);
}

inline_always void *data_of(struct xdp_md *ctx)
{
	return (void *)(long)ctx->data;
}

inline_always void *end_of(struct xdp_md *ctx)
{
	return (void *)(long)ctx->data_end;
}

/* Length of the link header with VLAN tags, and the protocol behind it; 0: truncated. */
inline_always __u32 link_header(void *data, void *end, __be16 *protocol)
{
	struct ethhdr *eth = data;
	if ((void *)(eth + 1) > end)
		return 0;
	__u32 length = sizeof(*eth);
	*protocol = eth->h_proto;
#pragma unroll
	for (int i = 0; i < MAX_VLANS; i++) {
		if (likely(*protocol != bpf_htons(ETH_P_8021Q) &&
			   *protocol != bpf_htons(ETH_P_8021AD)))
			break;
		struct vlan *tag = data + length;
		if ((void *)(tag + 1) > end)
			return 0;
		*protocol = tag->protocol;
		length += sizeof(*tag);
	}
	return length;
}

/* Parses an IPv4 header; 0: not a complete packet. */
inline_always int read_ip4(void *l3, void *end, struct flow *flow)
{
	struct iphdr *ip = l3;
	if ((void *)(ip + 1) > end)
		return 0;
	__u32 header = ip->ihl * 4, length = bpf_ntohs(ip->tot_len);
	if (ip->version != 4 || header < sizeof(*ip) || length < header || length > end - l3)
		return 0;
	flow->version = 4;
	flow->source4 = ip->saddr;
	flow->destination4 = ip->daddr;
	flow->length = length;
	flow->transport = header;
	flow->protocol = ip->protocol;
	flow->tos = ip->tos;
	flow->ttl = ip->ttl;
	__u16 fragment = bpf_ntohs(ip->frag_off);
	flow->dont_fragment = !!(fragment & IP_DONT_FRAGMENT);
	flow->fragment = fragment & IP_OFFSET ? 2 : fragment & IP_MORE_FRAGMENTS ? 1 : 0;
	return 1;
}

/* Parses an IPv6 header; `read_transport` skips extension headers. */
inline_always int read_ip6(void *l3, void *end, struct flow *flow)
{
	struct ipv6hdr *ip = l3;
	if ((void *)(ip + 1) > end)
		return 0;
	__u32 length = sizeof(*ip) + bpf_ntohs(ip->payload_len);
	if (ip->version != 6 || length > end - l3)
		return 0;
	flow->version = 6;
	__builtin_memcpy(flow->source6, &ip->saddr, 16);
	__builtin_memcpy(flow->destination6, &ip->daddr, 16);
	flow->length = length;
	flow->transport = sizeof(*ip);
	flow->protocol = ip->nexthdr;
	__u32 first = bpf_ntohl(*(__be32 *)ip);
	flow->tos = first >> 20;
	flow->label = first & 0xfffff;
	flow->ttl = ip->hop_limit;
	flow->dont_fragment = 1;
	flow->fragment = 0;
	return 1;
}

inline_always int read_ip(void *l3, void *end, __be16 protocol, struct flow *flow)
{
	if (likely(protocol == bpf_htons(ETH_P_IP)))
		return read_ip4(l3, end, flow);
	return protocol == bpf_htons(ETH_P_IPV6) && read_ip6(l3, end, flow);
}

/* The key of a packet's datagram. */
inline_always struct fragment_keys *keys_of_fragment(struct flow *flow)
{
	struct fragment_keys *keys = bpf_map_lookup_elem(&fragment_keys, (void *)&only_entry);
	if (!keys)
		return NULL;
	struct fragment *key = &keys->datagram;
	if (flow->version == 4) {
		__builtin_memset(key, 0, sizeof(*key));
		key->source[0] = flow->source4;
		key->destination[0] = flow->destination4;
	} else {
		__builtin_memcpy(key->source, flow->source6, 16);
		__builtin_memcpy(key->destination, flow->destination6, 16);
	}
	key->id = flow->fragment_id;
	key->protocol = flow->protocol;
	return keys;
}

/* Gives a later fragment the ports of the first one. Inline: the stack of calls is full. */
inline_always void find_fragment(struct flow *flow)
{
	struct fragment_keys *keys = keys_of_fragment(flow);
	__u32 *ports = keys ? bpf_map_lookup_elem(&fragments, &keys->datagram) : NULL;
	if (!ports)
		return;
	flow->source_port = *ports >> 16;
	flow->destination_port = *ports;
	flow->has_ports = 1;
}

/* Parses transport protocol and ports. `offset` is that of the IP header. Truncated fields count as
 * absent. */
global int read_transport(struct xdp_md *ctx, __u32 offset, struct flow *flow)
{
	if (!flow)
		return 0;
	void *data = data_of(ctx), *end = end_of(ctx);
	__u32 at = flow->transport;
	flow->has_ports = flow->has_spi = 0;
	if (offset > 1024 || at > 60)
		return 0;
	if (flow->version == 4) {
		struct iphdr *ip = data + offset;
		if ((void *)(ip + 1) > end)
			return 0;
		flow->fragment_id = bpf_ntohs(ip->id);
	}
	if (flow->version == 6) {
		for (int i = 0; i < MAX_EXTENSIONS; i++) {
			__u8 *header = data + offset + at;
			if ((void *)(header + 8) > end || at + 8 > flow->length)
				break;
			if (flow->protocol == 44) {
				__u16 part = bpf_ntohs(*(__be16 *)(header + 2));
				flow->fragment = part & 0xfff8 ? 2 : 1;
				flow->fragment_id = bpf_ntohl(*(__be32 *)(header + 4));
				flow->protocol = header[0];
				at += 8;
				if (part & 0xfff8)
					break;
			} else if (flow->protocol == 0 || flow->protocol == 43 ||
				   flow->protocol == 60) {
				flow->protocol = header[0];
				at += (header[1] + 1) * 8;
			} else {
				break;
			}
		}
		flow->transport = at;
	}
	if (flow->fragment == 2) {
		find_fragment(flow);
		return 1;
	}
	if (at > 60 + MAX_EXTENSIONS * 2048)
		return 0;
	void *l4 = data + offset + at;
	__be32 *words = l4;
	if (flow->protocol == IPPROTO_TCP || flow->protocol == IPPROTO_UDP ||
	    flow->protocol == 132) {
		if (l4 + 4 > end || at + 4 > flow->length)
			return 1;
		__be16 *ports = l4;
		flow->source_port = bpf_ntohs(ports[0]);
		flow->destination_port = bpf_ntohs(ports[1]);
		flow->has_ports = 1;
	} else if (flow->protocol == IPPROTO_ESP) {
		if (l4 + 4 > end || at + 4 > flow->length)
			return 1;
		flow->spi = bpf_ntohl(words[0]);
		flow->has_spi = 1;
	} else if (flow->protocol == IPPROTO_AH) {
		if (l4 + 8 > end || at + 8 > flow->length)
			return 1;
		flow->spi = bpf_ntohl(words[1]);
		flow->has_spi = 1;
	}
	return 1;
}

inline_always int is_same_datagram(struct fragment *one, struct fragment *other)
{
	__u32 different = one->id ^ other->id;
	different |= one->protocol ^ other->protocol;
	for (int i = 0; i < 4; i++) {
		different |= one->source[i] ^ other->source[i];
		different |= one->destination[i] ^ other->destination[i];
	}
	return !different;
}

/* Notes the ports of a first fragment, which later ones need. Its transport header was parsed. The
 * session forgets the datagram that had the slot before. */
global int note_fragment(struct flow *flow, __u32 incarnation)
{
	if (!flow || flow->fragment != 1 || !flow->has_ports)
		return 0;
	struct fragment_keys *keys = keys_of_fragment(flow);
	if (!keys)
		return 0;
	__u32 ports = (__u32)flow->source_port << 16 | flow->destination_port;
	keys->slot.incarnation = incarnation;
	keys->slot.slot = keys->datagram.id % SESSION_FRAGMENTED;
	struct fragment *before = bpf_map_lookup_elem(&fragment_slots, &keys->slot);
	if (before && !is_same_datagram(before, &keys->datagram)) {
		bpf_map_delete_elem(&fragments, before);
		struct stats *own = bpf_map_lookup_elem(&stats, (void *)&only_entry);
		if (own)
			own->replaced_fragments++;
	}
	bpf_map_update_elem(&fragment_slots, &keys->slot, &keys->datagram, BPF_ANY);
	bpf_map_update_elem(&fragments, &keys->datagram, &ports, BPF_ANY);
	return 0;
}

/* Whether a packet may be a fragment: IPv6 has an extension header for it, behind others. */
inline_always int may_be_fragment(struct flow *flow)
{
	return flow->fragment || (flow->version == 6 &&
				  (flow->protocol == 44 || flow->protocol == 0 ||
				   flow->protocol == 43 || flow->protocol == 60));
}

/* Notes the ports of a packet that may be a first fragment. `offset` is that of the IP header. User
 * space notes those of its sessions, after it has checked whose they are. */
inline_always void note_if_fragment(struct xdp_md *ctx, __u32 offset, struct flow *flow,
				    struct rule *rule)
{
	if (likely(!may_be_fragment(flow)) || rule->flags & RULE_USER_SPACE)
		return;
	if (!flow->read)
		read_transport(ctx, offset, flow);
	flow->read = 1;
	note_fragment(flow, rule->incarnation);
}

/* Distance from an outer IPv6 header to UDP behind its extension headers; 0: no UDP, or a
 * fragment. */
global int udp_behind(struct xdp_md *ctx, __u32 offset)
{
	void *data = data_of(ctx), *end = end_of(ctx);
	struct ipv6hdr *ip = data + offset;
	if (offset > 64 || (void *)(ip + 1) > end)
		return 0;
	__u8 next = ip->nexthdr;
	__u32 at = sizeof(*ip);
	for (int i = 0; i < MAX_EXTENSIONS; i++) {
		if (next == IPPROTO_UDP)
			return at;
		if (next != 0 && next != 43 && next != 60)
			return 0;
		__u8 *header = data + offset + at;
		if ((void *)(header + 8) > end)
			return 0;
		next = header[0];
		at += (header[1] + 1) * 8;
		if (at > 511)
			return 0;
	}
	return 0;
}

/* Fast path for unfragmented TCP and UDP over IPv4; 0 for others. */
inline_always int read_ports4(struct xdp_md *ctx, __u32 offset, struct flow *flow)
{
	__u32 at = flow->transport;
	if (flow->version != 4 || flow->fragment ||
	    (flow->protocol != IPPROTO_TCP && flow->protocol != IPPROTO_UDP) || at > 60 ||
	    offset > 1024 || at + 4 > flow->length)
		return 0;
	__be16 *ports = data_of(ctx) + offset + at;
	if ((void *)(ports + 2) > end_of(ctx))
		return 0;
	flow->source_port = bpf_ntohs(ports[0]);
	flow->destination_port = bpf_ntohs(ports[1]);
	flow->has_ports = 1;
	return 1;
}
