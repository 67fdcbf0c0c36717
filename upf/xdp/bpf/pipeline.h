/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Packet pipeline: classify, enforce, count, forward or buffer (TS 29.244, 5.2.1). */
#pragma once

#include "forwarding.h"

/* Whether a packet must be buffered. */
inline_always int must_buffer(struct rule *rule, enum origin origin)
{
	if (rule->flags & RULE_BUFFER)
		return 1;
	if (origin == FROM_BUFFER)
		return 0;
	struct rule_cold *rest = cold_of(rule);
	if (!rest)
		return 1;
	__u32 index = rest->session;
	struct session *session = bpf_map_lookup_elem(&sessions, &index);
	return session && *(volatile __u32 *)&session->pending > 0;
}

/* Copies a DNS response to user space. */
global int copy_dns_response(struct xdp_md *ctx, __u32 offset, struct flow *flow)
{
	if (!flow || offset > 1024 || flow->protocol != IPPROTO_UDP || flow->fragment ||
	    !flow->length || flow->length > BUFFERED_SHORT)
		return 0;
	__u64 at = offset + (flow->transport & 127);
	struct udphdr *udp = data_of(ctx) + at;
	if ((void *)(udp + 1) > end_of(ctx) || udp->source != bpf_htons(DNS_PORT))
		return 0;
	return give_to_ring(ctx, offset, flow->length, NONE, 0);
}

/* A packet of a session that user space forwards. From its tunnel it arrives at the socket, from
 * the data network here. */
global int non_ip_session(struct xdp_md *ctx, __u32 offset, struct flow *flow, int up)
{
	if (!flow || offset > 1024)
		return XDP_DROP;
	if (up)
		return pass_to_kernel();
	if (!flow->length || flow->length > BUFFERED_LONG ||
	    !give_to_ring(ctx, offset, flow->length, NONE, ARGUMENT_DATAGRAM))
		return dropped(DROP_BUFFER_FULL);
	COUNT_PACKET(passed);
	return XDP_DROP;
}

/* How a packet is buffered: see `buffer`. One from a tunnel returns to it when it is sent. Sockets
 * take no frames from the queue of a CPU, which does not keep their receive queue. */
inline_always __u32 buffered_as(struct tunnelled *tunnel, enum origin origin)
{
	__u32 how = origin == FROM_SOCKET || origin == FROM_CPU ? 0 : BUFFER_LIVE;
	if (!tunnel)
		return how;
	how |= ARGUMENT_TUNNEL;
	return tunnel->has_qfi ?
		       how | ARGUMENT_HAS_QFI | (__u32)(tunnel->qfi & 63) << ARGUMENT_QFI_SHIFT :
		       how;
}

/* Admits a packet, from a tunnel or from the data network (NULL). Returns a negative value if the
 * packet passes and has yet to be counted, else its verdict. */
inline_always int admit(struct xdp_md *ctx, __u32 offset, struct flow *flow, struct rule *rule,
			struct tunnelled *tunnel, enum origin origin)
{
	__u32 flags = rule->flags;
	if (unlikely(flags & (RULE_DROP | RULE_BUFFER | RULE_HELD | RULE_USER_SPACE | RULE_DNS))) {
		/* Non-IP payload may look like an IP packet. */
		if (flags & RULE_USER_SPACE)
			return non_ip_session(ctx, offset, flow, flags & RULE_UPLINK);
		if (flags & RULE_DROP)
			return dropped_of(rule, DROP_ACTION);
		if (flags & (RULE_BUFFER | RULE_HELD) && must_buffer(rule, origin))
			return origin == FROM_BUFFER ? VERDICT_KEEP :
						       buffer(ctx, offset, flow->length, rule,
							      buffered_as(tunnel, origin));
		if (flags & RULE_DNS)
			copy_dns_response(ctx, offset, flow);
	}
	int reason = enforce(rule, flow->length, bpf_jiffies64());
	if (unlikely(reason >= 0))
		return dropped_of(rule, reason);
	if (unlikely(trace.wanted))
		trace_rule(rule);
	return -1;
}

inline_always int qfi_of(struct rule *rule, struct tunnelled *tunnel)
{
	int has_mark = tunnel && tunnel->has_qfi;

	if (rule->flags & RULE_TUNNEL_UP && has_mark)
		return tunnel->qfi;
	if (rule->flags & RULE_MARK)
		return rule->qfi;
	/* Forwarded handover data keep their QFI. */
	return has_mark ? tunnel->qfi : -1;
}

/* Downlink: the packet is at `offset`. */
inline_always int to_ue(struct xdp_md *ctx, __u32 offset, struct flow *flow, __u32 target,
			enum origin origin)
{
	struct tunnelled none = {};
	struct rule *rule = classify(ctx, offset, flow, &none, target, 0);
	if (unlikely(!rule))
		return dropped_of(any_rule_of(target), DROP_NO_RULE);
	/* The NAT flow belongs to a previous session of this address. */
	if (unlikely(flow->incarnation && flow->incarnation != rule->incarnation))
		return dropped_of(rule, DROP_NAT);
	if (flow->version == 4 && flow->nat_mark)
		nat_cache_store(rule, target, flow);
	note_if_fragment(ctx, offset, flow, rule);
	int verdict = admit(ctx, offset, flow, rule, NULL, origin);
	if (verdict >= 0)
		return verdict;
	if (likely(rule->flags & RULE_TUNNEL))
		verdict = into_tunnel(ctx, offset, flow->length, rule, qfi_of(rule, NULL), origin);
	else
		verdict = to_network(ctx, offset, flow, NULL, origin);
	if (unlikely(verdict >= VERDICT_LOST))
		return dropped_of(rule, verdict);
	count(rule, flow->length);
	return verdict;
}

/* Downlink processing of a packet from another UE. */
noinline int between_ues(struct xdp_md *ctx, __u32 offset, struct flow *flow, __u32 target,
			 int origin)
{
	if (!flow || offset > 1024)
		return XDP_DROP;
	return to_ue(ctx, offset, flow, target, origin);
}

/* Whether a UE's packet is for the public end of another UE: hairpinning (RFC 4787, REQ-9). */
global int is_hairpin(struct xdp_md *ctx, __u32 offset, struct flow *flow)
{
	if (!flow || offset > 1024)
		return 0;
	struct nat_l4 ports = {};
	struct iphdr *ip = data_of(ctx) + offset;
	if ((void *)(ip + 1) > end_of(ctx) || flow->fragment ||
	    !nat_find_l4(ip, end_of(ctx), 0, &ports))
		return 0;
	struct nat_end end = { .address = ip->daddr, .port = *ports.far, .protocol = ip->protocol };
	return bpf_map_lookup_elem(&nat_of_public, &end) != NULL;
}

#define SOLICITATION 133

/* Whether a packet is a Router Solicitation (RFC 4861, 4.1) to a multicast or link-local
 * address. */
global int is_solicitation(struct xdp_md *ctx, __u32 offset, struct flow *flow)
{
	if (!flow || offset > 1024 || flow->protocol != IPPROTO_ICMPV6)
		return 0;
	__u64 to = bpf_be64_to_cpu(flow->destination6[0]);
	__u8 *type = data_of(ctx) + offset + sizeof(struct ipv6hdr);
	return (to >> 56 == 0xff || to >> 54 == 0xfe8 >> 2) && (void *)(type + 2) <= end_of(ctx) &&
	       type[0] == SOLICITATION && !type[1];
}

/* Whether a UE's packet is GTP-U for our own address: dropped, so that a UE cannot inject into
 * tunnels of others or fake Error Indications. */
global int is_gtpu(struct xdp_md *ctx, __u32 offset, struct flow *flow)
{
	if (!flow || offset > 1024)
		return 0;
	if (!flow->read)
		read_transport(ctx, offset, flow);
	flow->read = 1;
	/* Without the first fragment the others are not reassembled. */
	return flow->protocol == IPPROTO_UDP && flow->has_ports &&
	       flow->destination_port == GTP_PORT;
}

inline_always int is_for_n3(struct flow *flow)
{
	if (likely(flow->version == 4))
		return flow->destination4 == settings.n3_ip4;
	return settings.has_ip6 && is_n3_ip6((__be32 *)flow->destination6);
}

/* What happens to packets from the UE of a rule to another one: bits of `enum ue_to_ue`. */
global int ue_to_ue_of(struct rule *rule, __u32 other)
{
	if (!rule || !(settings.local_switching & LOOK_FOR_UES))
		return 0;
	struct rule *to = any_rule_of(other);
	struct rule_cold *rest = cold_of(rule), *its = to ? cold_of(to) : NULL;
	return (rest ? rest->ue_to_ue : 0) | (its ? its->ue_to_ue : 0);
}

/* Forwards an admitted uplink packet. */
inline_always int from_ue(struct xdp_md *ctx, __u32 offset, struct tunnelled *tunnel,
			  struct flow *flow, struct rule *rule, enum origin origin)
{
	if (unlikely(rule->flags & RULE_TUNNEL))
		return into_tunnel(ctx, offset, flow->length, rule, qfi_of(rule, tunnel), origin);
	/* Another UE may buffer the packet, which then no longer waits for this one. */
	if (origin == FROM_BUFFER)
		origin = FROM_SOCKET;
	if (settings.local_switching) {
		__u32 other = lookup_ue(flow, 0);
		if (unlikely(other)) {
			__u32 ue_to_ue = ue_to_ue_of(rule, other);
			if (ue_to_ue & UE_DENY)
				return lost(DROP_UE_TO_UE);
			if (settings.local_switching & SWITCH_UES && !(ue_to_ue & UE_HAIRPIN)) {
				COUNT_PACKET(switched);
				return between_ues(ctx, offset, flow, other, origin);
			}
		}
	}
	if (settings.nat.addresses &&
	    unlikely(flow->version == 4 && is_public(flow->destination4))) {
		if (is_hairpin(ctx, offset, flow)) {
			flow->read = 0;
			/* The other UE's filters see the packet as it arrives there. */
			flow->source4 = nat_address_of(flow->source4);
			int done = nat_out(ctx, offset, rule) &&
				   nat_in(ctx, offset, flow) == NAT_DONE;
			__u32 other = done ? lookup_ue(flow, 0) : NONE;
			if (!other)
				return lost(DROP_NAT);
			if (settings.local_switching & LOOK_FOR_UES &&
			    ue_to_ue_of(rule, other) & UE_DENY)
				return lost(DROP_UE_TO_UE);
			COUNT_PACKET(switched);
			return between_ues(ctx, offset, flow, other, origin);
		}
	}
	return to_network(ctx, offset, flow, rule, origin);
}

/* Counts a packet without QFI that matched the default QoS flow. */
global int count_unmarked(struct xdp_md *ctx, struct tunnelled *tunnel)
{
	if (!tunnel)
		return 0;
	COUNT_PACKET(unmarked);
	struct unmarked_peer peer = { .address = { tunnel->from4 } };
	if (!tunnel->from4) {
		struct ipv6hdr *ip = data_of(ctx) + (tunnel->outer & 63);
		if ((void *)(ip + 1) > end_of(ctx))
			return 0;
		__builtin_memcpy(peer.address, &ip->saddr, 16);
	}
	__u64 *packets = bpf_map_lookup_elem(&unmarked_peers, &peer), one = 1;
	if (packets)
		__sync_fetch_and_add(packets, 1);
	else
		bpf_map_update_elem(&unmarked_peers, &peer, &one, BPF_ANY);
	return 0;
}

/* A G-PDU. Packets of unknown tunnels go to user space, within a rate limit, for Error
 * Indications. */
inline_always int from_tunnel(struct xdp_md *ctx, struct tunnelled *tunnel, struct flow *flow,
			      enum origin origin)
{
	void *data = data_of(ctx), *end = end_of(ctx);
	__u64 offset = tunnel->inner;
	/* Older verifiers need this bound. */
	barrier_var(offset);
	offset &= 2047;
	__u8 *first = data + offset;
	int whole = 0;
	if (offset == tunnel->inner && offset <= 1024 && (void *)(first + 1) <= end) {
		__be16 protocol = *first >> 4 == 6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP);
		whole = read_ip(data + offset, end, protocol, flow) &&
			offset + flow->length <= tunnel->end;
	}
	__u32 target = lookup_teid(tunnel->teid);
	if (unlikely(!target))
		return is_unknown_sender(ctx, tunnel) ?
			       dropped(DROP_UNKNOWN_TUNNEL) :
			       answer_in_user_space(DROP_UNKNOWN_TUNNEL, ANSWER_PEER);
	if (unlikely(!whole)) {
		struct rule *of_frames = any_rule_of(target);
		return of_frames && of_frames->flags & RULE_USER_SPACE ? pass_to_kernel() :
									 dropped(DROP_MALFORMED);
	}
	/* User space answers Router Solicitations within the same rate limit, and within one of
	 * each UE. Hop limit 255 proves that the packet is from the link. */
	if (unlikely(flow->version == 6 && flow->ttl == 255) && is_solicitation(ctx, offset, flow))
		return answer_in_user_space(DROP_RATE, solicitation_bucket_of(ctx, tunnel));
	struct rule *rule = classify(ctx, offset, flow, tunnel, target, 1);
	/* Check the session's UE address even if the PDR has none. */
	if (unlikely(!rule)) {
		rule = any_rule_of(target);
		return dropped_of(rule,
				  is_foreign(rule, flow) ? DROP_FOREIGN_SOURCE :
				  settings.require_qfi && !tunnel->has_qfi ? DROP_NO_QFI :
									    DROP_NO_RULE);
	}
	/* The sender of a buffered packet was accepted when it arrived. */
	switch (origin == FROM_BUFFER ? SENDER_ACCEPTED : sender_kind(ctx, tunnel, rule)) {
	case SENDER_ACCEPTED:
		break;
	/* User space keeps the packet for a path switch. */
	case SENDER_PEER:
		return origin == FROM_SOCKET ? dropped_of(rule, DROP_N3_SOURCE) : pass_to_kernel();
	case SENDER_UNKNOWN:
		return origin == FROM_SOCKET ?
			       dropped_of(rule, DROP_N3_SOURCE) :
			       answer_in_user_space(DROP_N3_SOURCE, ANSWER_UNKNOWN);
	default:
		return dropped_of(rule, DROP_N3_SOURCE);
	}
	if (likely(flow->version == 4 &&
		   (rule->flags & (RULE_UPLINK | RULE_UE4)) == (RULE_UPLINK | RULE_UE4) &&
		   rule->ue4 == flow->source4)) {
	} else if (rule->flags & RULE_UPLINK && is_foreign(rule, flow)) {
		return dropped_of(rule, DROP_FOREIGN_SOURCE);
	}
	if (unlikely(!tunnel->has_qfi) && rule->flags & RULE_DEFAULT_FLOW && origin != FROM_BUFFER)
		count_unmarked(ctx, tunnel);
	/* User space drops such packets of its sessions itself: it knows which payload is IP. */
	if (unlikely(is_for_n3(flow)) &&
	    (rule->flags & (RULE_UPLINK | RULE_USER_SPACE)) == RULE_UPLINK &&
	    is_gtpu(ctx, offset, flow))
		return dropped_of(rule, DROP_MALFORMED);
	note_if_fragment(ctx, offset, flow, rule);
	int verdict = admit(ctx, offset, flow, rule, tunnel, origin);
	if (verdict >= 0)
		return verdict;
	verdict = from_ue(ctx, offset, tunnel, flow, rule, origin);
	if (unlikely(verdict >= VERDICT_LOST))
		return dropped_of(rule, verdict);
	count(rule, flow->length);
	return verdict;
}
