/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The perimeter: destinations that UEs do not reach through N6, and senders on N3. */
#pragma once

#include "nat.h"

/* Senders that a CPU has seen last. */
#define SENDERS 64
TABLE(senders, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct sender, SENDERS, 0);

inline_always __u32 class_of4(__be32 destination)
{
	struct route4 key = { .length = 32, .network = destination };
	__u32 *class = bpf_map_lookup_elem(&perimeter4, &key);
	return class ? *class : 0;
}

/* What applies to the destination of a packet: bits of `enum perimeter_class`. */
global __u32 class_of(struct flow *flow)
{
	if (!flow)
		return 0;
	if (flow->version == 4)
		return class_of4(flow->destination4);
	__u64 upper = flow->destination6[0], lower = flow->destination6[1];
	struct route6 key = { .length = 128,
			      .network = { upper, upper >> 32, lower, lower >> 32 } };
	__u32 *class = bpf_map_lookup_elem(&perimeter6, &key);
	return class ? *class : 0;
}

/* Whether a packet to a denied destination may leave nevertheless: ICMP and DNS to the gateway,
 * or an allowed service. Later fragments have no ports, and are not reassembled without the
 * first. */
global int is_exception(struct xdp_md *ctx, __u32 offset, struct flow *flow, __u32 class)
{
	if (!flow || offset > 1024)
		return 0;
	/* A source route could continue to a denied address. */
	if (flow->version == 4 && flow->transport > sizeof(struct iphdr))
		return 0;
	if (!flow->read)
		read_transport(ctx, offset, flow);
	flow->read = 1;
	__u8 protocol = flow->protocol == IPPROTO_ICMPV6 ? IPPROTO_ICMP : flow->protocol;
	int later = flow->fragment == 2 && !flow->has_ports;
	if (class & CLASS_GATEWAY) {
		if (protocol == IPPROTO_ICMP)
			return 1;
		if ((protocol == IPPROTO_TCP || protocol == IPPROTO_UDP) &&
		    (later || (flow->has_ports && flow->destination_port == DNS_PORT)))
			return 1;
	}
	struct service service = { .protocol = protocol };
	if (flow->version == 4) {
		service.address[0] = flow->destination4;
	} else {
		__u64 upper = flow->destination6[0], lower = flow->destination6[1];
		service.address[0] = upper;
		service.address[1] = upper >> 32;
		service.address[2] = lower;
		service.address[3] = lower >> 32;
	}
	if (bpf_map_lookup_elem(&services, &service))
		return 1;
	service.later = later;
	if (!later) {
		if (!flow->has_ports)
			return 0;
		service.port = flow->destination_port;
	}
	return bpf_map_lookup_elem(&services, &service) != NULL;
}

/* The number of the peer that sent a tunnelled packet, looked up; 0: it is none. */
global __u32 find_sender(struct xdp_md *ctx, struct tunnelled *tunnel)
{
	__u32 *number;

	if (!tunnel)
		return 0;
	if (tunnel->from4) {
		struct route4 key = { .length = 32, .network = tunnel->from4 };
		number = bpf_map_lookup_elem(&sources4, &key);
		return number ? *number : 0;
	}
	struct ipv6hdr *ip = data_of(ctx) + (tunnel->outer & 63);
	if ((void *)(ip + 1) > end_of(ctx))
		return 0;
	struct route6 key = { .length = 128 };
	__builtin_memcpy(key.network, &ip->saddr, 16);
	number = bpf_map_lookup_elem(&sources6, &key);
	return number ? *number : 0;
}

/* The same from the cache, for IPv4. */
inline_always __u32 peer_number(struct xdp_md *ctx, struct tunnelled *tunnel)
{
	__be32 from = tunnel->from4;
	__u32 slot = (from ^ from >> 16 ^ from >> 24) & (SENDERS - 1);
	struct sender *sender = bpf_map_lookup_elem(&senders, &slot);
	if (!from || !sender)
		return find_sender(ctx, tunnel);
	__u32 now = globals.generation;
	if (likely(sender->address == from && sender->generation == now))
		return sender->number;
	sender->generation = 0;
	sender->address = from;
	sender->number = find_sender(ctx, tunnel);
	sender->generation = now;
	return sender->number;
}

/* Whether the sender of a packet without a session is no peer: it gets no Error Indication. */
inline_always int is_unknown_sender(struct xdp_md *ctx, struct tunnelled *tunnel)
{
	return globals.sources && !peer_number(ctx, tunnel);
}

/* The `enum answer_bucket` of a sender: others than peers do not use up the answers to those. */
global __u32 answer_bucket_of(struct xdp_md *ctx, struct tunnelled *tunnel)
{
	if (!tunnel)
		return ANSWER_UNKNOWN;
	return is_unknown_sender(ctx, tunnel) ? ANSWER_UNKNOWN : ANSWER_PEER;
}

/* Router Solicitations of a UE that are answered at once, and the interval of further ones in
 * ns. */
#define SOLICITATIONS 4
#define SOLICITATION_INTERVAL 1000000000ull

/* The `enum answer_bucket` of a Router Solicitation of a UE; ANSWER_BUCKETS, which is none: it is
 * dropped. A UE does not use up the answers to others. */
global __u32 solicitation_bucket_of(struct xdp_md *ctx, struct tunnelled *tunnel)
{
	if (!tunnel || is_unknown_sender(ctx, tunnel))
		return ANSWER_UNKNOWN;
	__be32 teid = tunnel->teid;
	__u64 now = bpf_ktime_get_ns(), first = now + SOLICITATION_INTERVAL;
	__u64 *full_at = bpf_map_lookup_elem(&solicitations, &teid);
	if (!full_at) {
		bpf_map_update_elem(&solicitations, &teid, &first, BPF_ANY);
		return ANSWER_PEER;
	}
	return take_tokens(full_at, SOLICITATIONS * SOLICITATION_INTERVAL, SOLICITATION_INTERVAL,
			   now) ?
		       ANSWER_PEER :
		       ANSWER_BUCKETS;
}

/* What a sender is to a session. */
enum sender_kind {
	SENDER_ACCEPTED,
	SENDER_PEER,		/* a peer, but not the session's gNB */
	SENDER_UNKNOWN,	/* it may be a new gNB */
	SENDER_FOREIGN,
};

/* The same where the rule does not have the sender's address. */
global int find_sender_kind(struct xdp_md *ctx, struct tunnelled *tunnel, struct rule *rule)
{
	if (!tunnel || !rule)
		return SENDER_FOREIGN;
	__u32 number = peer_number(ctx, tunnel);
	struct rule_cold *rest = cold_of(rule);
	/* Any peer is accepted. */
	if (!rest || !rest->gnb)
		return number ? SENDER_ACCEPTED : SENDER_FOREIGN;
	if (!number)
		return settings.names_peers ? SENDER_FOREIGN : SENDER_UNKNOWN;
	if (number == rest->gnb)
		return SENDER_ACCEPTED;
	__u32 now = bpf_ktime_get_ns() >> GNB_SHIFT;
	if (number == rest->other_gnb && (__s32)(rest->other_until - now) > 0)
		return SENDER_ACCEPTED;
	return SENDER_PEER;
}

/* The relation of the sender of a packet in a tunnel to its session. Before the session has a
 * tunnel to the access, its gNB may be unknown. */
inline_always int sender_kind(struct xdp_md *ctx, struct tunnelled *tunnel, struct rule *rule)
{
	if (likely(rule->flags & RULE_GNB4 && rule->peer4 == tunnel->from4))
		return SENDER_ACCEPTED;
	if (!globals.sources || !(rule->flags & RULE_HAS_TUNNEL || settings.names_peers))
		return SENDER_ACCEPTED;
	return find_sender_kind(ctx, tunnel, rule);
}
