/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* NAT of IPv4 addresses of UEs (RFC 4787, RFC 5382, RFC 5508). */
#pragma once

#include "nat_rule_cache.h"

/* Converts a packet from outside into the ICMP error that answers it. */
global int nat_icmp_reply(struct xdp_md *ctx, __u32 offset, __u32 kind, __u32 mtu)
{
	__u32 index = ANSWER_ICMP;
	struct bucket *bucket = bpf_map_lookup_elem(&answers, &index);
	if (!bucket || !take_tokens(&bucket->full_at, bucket->burst, bucket->per_byte,
				    bpf_ktime_get_ns() << 4))
		return NAT_LOST;
	struct ethhdr link;
	struct ethhdr *eth = data_of(ctx);
	if (offset != sizeof(*eth) || (void *)(eth + 1) > end_of(ctx))
		return NAT_LOST;
	__builtin_memcpy(&link, eth, sizeof(link));
	const __u32 headers = sizeof(struct iphdr) + sizeof(struct icmp),
		    quoted = sizeof(struct iphdr) + 8;
	if (bpf_xdp_adjust_head(ctx, -(int)headers))
		return NAT_LOST;
	__u32 length = end_of(ctx) - data_of(ctx);
	if (length < sizeof(*eth) + headers + quoted ||
	    bpf_xdp_adjust_tail(ctx, (int)(sizeof(*eth) + headers + quoted) - (int)length))
		return NAT_LOST;
	eth = data_of(ctx);
	struct iphdr *ip = (void *)(eth + 1);
	struct icmp *icmp = (void *)(ip + 1);
	struct iphdr *about = (void *)(icmp + 1);
	if ((void *)about + quoted > end_of(ctx) || about->ihl != 5)
		return NAT_LOST;
	__builtin_memcpy(eth->h_dest, link.h_source, 6);
	__builtin_memcpy(eth->h_source, link.h_dest, 6);
	eth->h_proto = bpf_htons(ETH_P_IP);
	*(__be32 *)ip = bpf_htonl(0x45000000 | (headers + quoted));
	*((__be32 *)ip + 1) = 0;
	*((__be32 *)ip + 2) = bpf_htonl(64 << 24 | IPPROTO_ICMP << 16);
	ip->saddr = about->daddr;
	ip->daddr = about->saddr;
	__u32 sum = 0;
	__u16 *words = (void *)ip;
#pragma unroll
	for (int i = 0; i < 10; i++)
		sum += words[i];
	ip->check = ~fold16(sum);
	*(__be32 *)icmp = bpf_htonl(kind << 16);
	*((__be32 *)icmp + 1) = bpf_htonl(mtu);
	words = (void *)icmp;
	sum = 0;
#pragma unroll
	for (int i = 0; i < 18; i++)
		sum += words[i];
	icmp->checksum = ~fold16(sum);
	return NAT_REPLIED;
}

/* Outward translation of later fragments, ICMP, and protocols without ports. */
global int nat_out_slow(struct xdp_md *ctx, __u32 offset, __u32 session, __u32 incarnation)
{
	void *data = data_of(ctx), *end = end_of(ctx);
	if (offset > 1024)
		return 0;
	struct iphdr *ip = data + offset;
	if ((void *)(ip + 1) > end)
		return 0;
	if (ip->frag_off & bpf_htons(IP_OFFSET)) {
		__be32 address = nat_address_of(ip->saddr);
		ip->check = changed(ip->check, fold16(change32(ip->saddr, address)));
		ip->saddr = address;
		return 1;
	}
	struct nat_key key = { .near = ip->saddr,
			       .far = ip->daddr,
			       .kind = nat_kind(ip->protocol, 0) };
	struct icmp *icmp = NULL;
	if (ip->protocol == IPPROTO_ICMP) {
		__u32 header = ip->ihl * 4;
		icmp = (void *)ip + header;
		if ((void *)(icmp + 1) > end)
			return 0;
		if (is_icmp_error(icmp))
			return nat_error(ctx, offset, 0) != NONE;
		if (icmp->type != ICMP_ECHO && icmp->type != ICMP_TIMESTAMP)
			return 0;
		key.near_port = icmp->id;
	}
	__u32 index = nat_find_slow(&key);
	if (!index)
		index = nat_create(&key, session, incarnation);
	struct nat_flow *flow = nat_flow_at(index);
	if (!index || !flow)
		return 0;
	__u32 ticks = bpf_jiffies64();
	if ((flow->incarnation != incarnation || nat_is_expired(flow, &key, ticks)) &&
	    !nat_restart(&key, session, incarnation))
		return 0;
	nat_seen(flow, &key, 0, ticks);
	ip->check = changed(ip->check, nat_address_change(flow));
	ip->saddr = flow->other;
	if (icmp) {
		icmp->checksum = changed(icmp->checksum, nat_transport_change(flow));
		icmp->id = nat_new_port(flow);
	}
	return 1;
}

inline_always int nat_is_common(struct flow *flow)
{
	return flow->fragment != 2 &&
	       (flow->protocol == IPPROTO_TCP || flow->protocol == IPPROTO_UDP);
}

/* Outward translation of TCP and UDP; `offset` is that of the IP header. 0: failed. */
global int nat_out(struct xdp_md *ctx, __u32 offset, struct rule *rule)
{
	if (!rule || offset > 1024)
		return 0;
	void *end = end_of(ctx);
	struct iphdr *ip = data_of(ctx) + offset;
	struct nat_l4 ports = {};
	if ((void *)(ip + 1) > end)
		return 0;
	if (unlikely(!nat_find_l4(ip, end, 0, &ports)))
		return 0;
	struct nat_key key = {
		.near = ip->saddr,
		.far = ip->daddr,
		.near_port = *ports.near,
		.far_port = *ports.far,
		.kind = nat_kind(ip->protocol, 0),
	};
	__u32 ticks = bpf_jiffies64();
	__u64 hash = nat_hash(&key), note = nat_cache_key(&key, hash, ticks),
	      noted = *nat_cached(rule);
	__be32 address;
	__be16 port;
	if (!((noted ^ note) & 0xffffffffffff) &&
	    likely(rule->ue4 == key.near && !nat_is_special(&ports))) {
		address = nat_address_of(key.near);
		port = noted >> 48;
		goto known;
	}
	struct nat_flow *flow = nat_find(&key, hash);
	if (unlikely(!flow)) {
		__u32 index = nat_create(&key, session_of(rule), rule->incarnation);
		flow = nat_flow_at(index);
		if (!index || !flow)
			return 0;
	} else if (unlikely(flow->incarnation != rule->incarnation ||
			    nat_is_expired(flow, &key, ticks) ||
			    (ports.flags & TCP_SYN &&
			     nat_lifetime(nat_state(flow)) == settings.nat.tcp_transitory &&
			     nat_state(flow) & (NAT_RESET | NAT_FIN_IN | NAT_FIN_OUT)))) {
		if (!nat_restart(&key, session_of(rule), rule->incarnation))
			return 0;
	}
	__u32 state = nat_state(flow);
	address = flow->other;
	port = state >> NAT_PORT_SHIFT;
	nat_seen(flow, &key, nat_bits(0, nat_protocol(state), ports.flags, state), ticks);
	if (nat_is_settled(state, nat_protocol(state), 0) && !nat_is_special(&ports) &&
	    !(rule->flags & RULE_TUNNEL))
		*nat_cached(rule) = note | (__u64)port << 48;
known:;
	__u32 change = change32(key.near, address);
	ip->check = changed(ip->check, fold16(change));
	ip->saddr = address;
	nat_correct(ports.checksum, fold16(change + change16(key.near_port, port)),
		    nat_protocol(key.kind));
	*ports.near = port;
	return 1;
}

inline_always int translate_out(struct xdp_md *ctx, __u32 offset, struct flow *flow,
				struct rule *rule)
{
	if (likely(nat_is_common(flow)))
		return nat_out(ctx, offset, rule);
	return nat_out_slow(ctx, offset, session_of(rule), rule->incarnation);
}

inline_always struct nat_fragment nat_fragment_key(struct iphdr *ip)
{
	struct nat_fragment part = {
		.far = ip->saddr, .public4 = ip->daddr, .id = ip->id, .protocol = ip->protocol
	};
	return part;
}

/* Notes the owner of the later fragments of a packet, which has its untranslated addresses. The
 * session forgets the datagram that had the slot before, so that it displaces none of others. */
inline_always int nat_note_fragment(struct iphdr *ip, __be32 ue, __u32 incarnation)
{
	struct nat_fragment_keys *keys =
		bpf_map_lookup_elem(&nat_fragment_keys, (void *)&only_entry);
	if (!keys)
		return 0;
	keys->part.far = ip->saddr;
	keys->part.public4 = ip->daddr;
	keys->part.id = ip->id;
	keys->part.protocol = ip->protocol;
	keys->part.unused = 0;
	keys->of.ue = ue;
	keys->of.incarnation = incarnation;
	keys->slot.incarnation = incarnation;
	keys->slot.slot = bpf_ntohs(ip->id) % SESSION_FRAGMENTED;
	struct nat_fragment *before = bpf_map_lookup_elem(&nat_fragment_slots, &keys->slot);
	if (before && (before->far != keys->part.far || before->public4 != keys->part.public4 ||
		       before->id != keys->part.id || before->protocol != keys->part.protocol)) {
		bpf_map_delete_elem(&nat_fragments, before);
		struct stats *own = bpf_map_lookup_elem(&stats, (void *)&only_entry);
		if (own)
			own->replaced_fragments++;
	}
	bpf_map_update_elem(&nat_fragment_slots, &keys->slot, &keys->part, BPF_ANY);
	return !bpf_map_update_elem(&nat_fragments, &keys->part, &keys->of, BPF_ANY);
}

/* Whether the kernel cannot forward a packet. It would answer a translated one with an ICMP error
 * that has the UE's address. */
inline_always int nat_is_refused(struct flow *packet)
{
	return packet->ttl <= 1 || (packet->dont_fragment && packet->length > settings.n6_mtu);
}

/* Inward translation of later fragments, ICMP, and protocols without ports. */
global int nat_in_slow(struct xdp_md *ctx, __u32 offset, struct flow *packet)
{
	void *data = data_of(ctx), *end = end_of(ctx);
	if (offset > 1024 || !packet)
		return NAT_LOST;
	struct iphdr *ip = data + offset;
	if ((void *)(ip + 1) > end)
		return NAT_LOST;
	if (ip->frag_off & bpf_htons(IP_OFFSET)) {
		struct nat_fragment part = nat_fragment_key(ip);
		struct nat_fragment_owner *of = bpf_map_lookup_elem(&nat_fragments, &part);
		if (!of)
			return NAT_NO_FLOW;
		/* No error answers a later fragment, nor another error (RFC 1812, 4.3.2.7). */
		if (unlikely(nat_is_refused(packet)))
			return NAT_LOST;
		packet->incarnation = of->incarnation;
		packet->destination4 = of->ue;
		ip->check = changed(ip->check, fold16(change32(ip->daddr, of->ue)));
		ip->daddr = of->ue;
		return NAT_DONE;
	}
	struct nat_key key = { .near = ip->daddr,
			       .far = ip->saddr,
			       .kind = nat_kind(ip->protocol, 1) };
	struct icmp *icmp = NULL;
	if (ip->protocol == IPPROTO_ICMP) {
		__u32 header = ip->ihl * 4;
		icmp = (void *)ip + header;
		if ((void *)(icmp + 1) > end)
			return NAT_NO_FLOW;
		if (is_icmp_error(icmp)) {
			__u32 about = nat_error(ctx, offset, 1);
			struct nat_flow *flow = nat_flow_at(about);
			if (!about || !flow)
				return NAT_NO_FLOW;
			if (unlikely(nat_is_refused(packet)))
				return NAT_LOST;
			packet->incarnation = flow->incarnation;
			packet->destination4 = flow->other;
			return NAT_DONE;
		}
		if (icmp->type != ICMP_ECHO_REPLY && icmp->type != ICMP_TIMESTAMP_REPLY)
			return NAT_NO_FLOW;
		key.near_port = icmp->id;
	}
	__u32 index = nat_find_slow(&key);
	struct nat_flow *flow = nat_flow_at(index);
	__u32 ticks = bpf_jiffies64();
	if (!index || !flow || nat_is_expired(flow, &key, ticks))
		return NAT_NO_FLOW;
	if (unlikely(packet->ttl <= 1))
		return nat_icmp_reply(ctx, offset, ICMP_EXCEEDED << 8, 0);
	if (unlikely(nat_is_refused(packet)))
		return nat_icmp_reply(ctx, offset, ICMP_UNREACHABLE << 8 | ICMP_TOO_LARGE,
				      settings.n6_mtu);
	nat_seen(flow, &key, NAT_ANSWERED, ticks);
	packet->incarnation = flow->incarnation;
	packet->destination4 = flow->other;
	if (packet->fragment) {
		/* Later fragments go to the same UE. */
		if (!nat_note_fragment(ip, flow->other, flow->incarnation))
			return NAT_LOST;
	}
	ip->check = changed(ip->check, nat_address_change(flow));
	ip->daddr = flow->other;
	if (icmp) {
		icmp->checksum = changed(icmp->checksum, nat_transport_change(flow));
		icmp->id = nat_new_port(flow);
	}
	return NAT_DONE;
}

/* Registers the owner of the later fragments of a packet. */
global int nat_expect_fragments(struct xdp_md *ctx, __u32 offset, __be32 ue, __u32 incarnation)
{
	struct iphdr *ip = data_of(ctx) + offset;
	if (offset > 1024 || (void *)(ip + 1) > end_of(ctx))
		return 0;
	return nat_note_fragment(ip, ue, incarnation);
}

/* Inward translation of TCP and UDP. */
global int nat_in(struct xdp_md *ctx, __u32 offset, struct flow *packet)
{
	if (!packet || offset > 1024)
		return NAT_LOST;
	void *end = end_of(ctx);
	struct iphdr *ip = data_of(ctx) + offset;
	struct nat_l4 ports = {};
	if ((void *)(ip + 1) > end)
		return NAT_LOST;
	if (unlikely(!nat_find_l4(ip, end, 1, &ports)))
		return NAT_NO_FLOW;
	struct nat_key key = {
		.near = ip->daddr,
		.far = ip->saddr,
		.near_port = *ports.near,
		.far_port = *ports.far,
		.kind = nat_kind(ip->protocol, 1),
	};
	__u32 ticks = bpf_jiffies64();
	__u64 hash = nat_hash(&key), hint = nat_hint(&key, hash);
	__be32 address;
	__be16 port;
	int plain = packet->ttl > 1 && !packet->fragment && packet->length <= settings.n6_mtu &&
		    !nat_is_special(&ports);
	packet->target = hint && likely(plain) ? nat_cache_lookup(hint, hash, ticks, &address) :
						 NONE;
	if (packet->target) {
		port = hint >> 48;
		goto known;
	}
	struct nat_flow *flow = nat_find(&key, hash);
	if (unlikely(!flow)) {
		__u32 index = settings.nat.full_cone ? nat_accept(&key) : NONE;
		flow = nat_flow_at(index);
		if (!index || !flow)
			return NAT_NO_FLOW;
	}
	if (unlikely(nat_is_expired(flow, &key, ticks)))
		return NAT_NO_FLOW;
	/* The kernel would answer with the UE's address. */
	if (unlikely(packet->ttl <= 1))
		return nat_icmp_reply(ctx, offset, ICMP_EXCEEDED << 8, 0);
	if (unlikely(packet->dont_fragment && packet->length > settings.n6_mtu))
		return nat_icmp_reply(ctx, offset, ICMP_UNREACHABLE << 8 | ICMP_TOO_LARGE,
				      settings.n6_mtu);
	__u32 state = nat_state(flow);
	address = flow->other;
	port = state >> NAT_PORT_SHIFT;
	packet->incarnation = flow->incarnation;
	nat_seen(flow, &key, nat_bits(1, nat_protocol(state), ports.flags, state), ticks);
	if (unlikely(packet->fragment))
		nat_expect_fragments(ctx, offset, address, packet->incarnation);
	if (plain && nat_is_settled(state, nat_protocol(state), 1)) {
		packet->nat_mark = nat_mark(hash, port, ticks);
		packet->nat_hash = hash;
		/* Preserve the rule index of a hint that is known to be right. */
		packet->nat_hint = nat_hint_key(&key) | (__u64)port << 48 |
				   (hint >> 48 == port ? hint & NAT_HINT_RULE : 0);
	}
known:
	packet->destination4 = address;
	__u32 change = change32(key.near, address);
	ip->check = changed(ip->check, fold16(change));
	ip->daddr = address;
	nat_correct(ports.checksum, fold16(change + change16(key.near_port, port)),
		    nat_protocol(key.kind));
	*ports.near = port;
	return NAT_DONE;
}

inline_always int translate_in(struct xdp_md *ctx, __u32 offset, struct flow *packet)
{
	if (likely(packet->fragment != 2 &&
		   (packet->protocol == IPPROTO_TCP || packet->protocol == IPPROTO_UDP)))
		return nat_in(ctx, offset, packet);
	return nat_in_slow(ctx, offset, packet);
}
