/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Translation of the IPv4 addresses of UEs to public ones (RFC 4787, RFC 5382, RFC 5508): flows are found by what their
 * packets look like on either side, in one line of a cache of our own or else in a table of the kernel. User space takes
 * away those whose time is over; programs do not take them for alive any longer. */
#pragma once

#include "events.h"

/* Ports that are tried for a new binding. */
#define NAT_TRIES 64

/* What became of a packet from outside. */
enum nat_outcome {
	NAT_FOREIGN,	/* nobody's: the kernel may know it */
	NAT_DONE,
	NAT_ANSWERED_BACK, /* the frame is the answer to it now */
	NAT_LOST,
};

inline_always int is_public(__be32 address)
{
	__u32 value = bpf_ntohl(address);
	return settings.nat.addresses && value >= settings.nat.low && value <= settings.nat.high;
}

/* One's complement sums (RFC 1624): what a checksum changes by when a word does, and the checksum after it. */
inline_always __u32 change16(__u16 from, __u16 to)
{
	return (__u16)~from + to;
}

inline_always __u32 change32(__u32 from, __u32 to)
{
	return change16(from & 0xffff, to & 0xffff) + change16(from >> 16, to >> 16);
}

inline_always __u16 changed(__u16 checksum, __u16 change)
{
	return ~fold16((__u16)~checksum + change);
}

/* A UE has one public address, whatever it talks to (RFC 4787, REQ-2). */
inline_always __be32 nat_address_of(__be32 ue)
{
	__u32 n = settings.nat.addresses > 1 ? place_of(ue, settings.nat.addresses) : 0;
	return settings.nat.address[n & (NAT_ADDRESSES - 1)];
}

inline_always struct nat_flow *nat_flow_at(__u32 index)
{
	return bpf_map_lookup_elem(&nat_flows, &index);
}

inline_always __u64 nat_hash(struct nat_key *key)
{
	__u64 addresses = (__u64)key->near << 32 | key->far;
	__u64 rest = (__u64)key->near_port << 48 | (__u64)key->far_port << 32 | key->protocol << 8 | key->inward;
	__u64 x = (addresses ^ settings.nat.seed) * 0x9e3779b97f4a7c15ull;
	x ^= x >> 32;
	x = (x ^ rest) * 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	return x * 0xd6e8feb86659fd93ull;
}

inline_always int nat_is(struct nat_flow *flow, struct nat_key *key)
{
	__be32 near = key->inward ? flow->public4 : flow->ue;
	__be16 near_port = key->inward ? flow->public_port : flow->ue_port;
	return flow->used && near == key->near && flow->far == key->far && near_port == key->near_port &&
	       flow->far_port == key->far_port && flow->protocol == key->protocol;
}

inline_always struct nat_cells *nat_set_of(__u64 hash)
{
	__u32 set = ((hash >> 32) * settings.nat.sets) >> 32;
	return bpf_map_lookup_elem(&nat_cells, &set);
}

/* Has a flow be found at once. Others that were there are found all the same, in the kernel's table. */
inline_always void nat_remember(__u64 hash, __u32 index)
{
	struct nat_cells *cells = nat_set_of(hash);
	if (!cells)
		return;
	__u32 place = (__u32)(hash >> 16) & (NAT_WAYS - 1);
#pragma unroll
	for (int i = 0; i < NAT_WAYS; i++)
		if (!cells->cell[i])
			place = i;
	*(volatile __u64 *)&cells->cell[place & (NAT_WAYS - 1)] = (hash & 0xffffffff) << 32 | index;
}

/* The flow of a key in the kernel's table. */
global __u32 nat_find_slow(struct nat_key *key)
{
	if (!key)
		return NONE;
	__u32 *index = bpf_map_lookup_elem(&nat_by_key, key);
	if (!index)
		return NONE;
	struct nat_flow *flow = nat_flow_at(*index);
	if (!flow || !nat_is(flow, key))
		return NONE;
	nat_remember(nat_hash(key), *index);
	return *index;
}

inline_always struct nat_flow *nat_find(struct nat_key *key)
{
	__u64 hash = nat_hash(key);
	__u32 tag = hash, index = NONE;
	struct nat_cells *cells = nat_set_of(hash);
	if (!cells)
		return NULL;
#pragma unroll
	for (int i = 0; i < NAT_WAYS; i++) {
		__u64 cell = *(volatile __u64 *)&cells->cell[i];
		if ((__u32)(cell >> 32) == tag)
			index = cell;
	}
	struct nat_flow *flow = nat_flow_at(index);
	if (likely(index && flow && nat_is(flow, key)))
		return flow;
	index = nat_find_slow(key);
	return index ? nat_flow_at(index) : NULL;
}

/* Ticks after its last packet for which a flow lives. */
inline_always __u32 nat_lifetime(struct nat_flow *flow)
{
	__u32 seen = flow->seen;
	switch (flow->protocol) {
	case IPPROTO_UDP:
		return seen & NAT_ANSWERED ? settings.nat.udp : settings.nat.udp_unanswered;
	case IPPROTO_TCP:
		if (!(seen & NAT_CONFIRMED) || seen & NAT_RESET ||
		    (seen & (NAT_FIN_OUT | NAT_FIN_IN)) == (NAT_FIN_OUT | NAT_FIN_IN))
			return settings.nat.tcp_transitory;
		return settings.nat.tcp;
	case IPPROTO_ICMP:
		return settings.nat.icmp;
	default:
		return settings.nat.other;
	}
}

inline_always int nat_is_over(struct nat_flow *flow, __u64 ticks)
{
	__u64 last = *(volatile __u64 *)&flow->last;
	return last + nat_lifetime(flow) < ticks;
}

inline_always void nat_see(struct nat_flow *flow, __u32 bits, __u64 ticks)
{
	if (unlikely((flow->seen & bits) != bits))
		__sync_fetch_and_or(&flow->seen, bits);
	if (flow->last != ticks)
		*(volatile __u64 *)&flow->last = ticks;
}

inline_always int nat_has_ports(__u8 protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_ICMP;
}

struct nat_search {
	struct nat_end end;
	struct nat_binding binding;
	__u32 tried;
	__u32 found;
};

/* Tries a port: the UE's own first, then others at random, of which those of UDP are even or odd as the UE's (REQ-4). */
static long nat_try(__u32 i, struct nat_search *search)
{
	__u32 first = settings.nat.first_port, ports = settings.nat.ports, own = bpf_ntohs(search->binding.port);
	__u32 port = own;
	if (i || own < first || own >= first + ports) {
		port = first + (__u32)(((__u64)bpf_get_prandom_u32() * ports) >> 32);
		if (search->end.protocol == IPPROTO_UDP)
			port = (port & ~1u) | (own & 1);
		if (port < first || port >= first + ports)
			return 0;
	}
	search->end.port = bpf_htons(port);
	if (bpf_map_update_elem(&nat_of_public, &search->end, &search->binding, BPF_NOEXIST))
		return 0;
	search->found = 1;
	return 1;
}

/* The public end of a UE's port: the one that it has, or a new one. 0: there is none left. */
global int nat_bind(struct nat_key *key, struct nat_binding *bound, __u32 session, __u32 incarnation)
{
	if (!key || !bound)
		return 0;
	struct nat_end own = { .address = key->near, .port = key->near_port, .protocol = key->protocol };
	struct nat_binding *known = bpf_map_lookup_elem(&nat_of_ue, &own);
	if (known && known->incarnation == incarnation) {
		*bound = *known;
		return 1;
	}
	struct nat_search search = {
		.end = { .address = nat_address_of(key->near), .protocol = key->protocol },
		.binding = { .address = key->near, .port = key->near_port, .session = session, .incarnation = incarnation },
	};
	if (known) {
		/* Of a session that had this address before: its port goes on as this one's. */
		search.end.port = known->port;
		bpf_map_update_elem(&nat_of_public, &search.end, &search.binding, BPF_ANY);
	} else {
		bpf_loop(NAT_TRIES, nat_try, &search, 0);
		if (!search.found)
			return 0;
	}
	bound->address = search.end.address;
	bound->port = search.end.port;
	bound->unused = 0;
	bound->session = session;
	bound->incarnation = incarnation;
	bpf_map_update_elem(&nat_of_ue, &own, bound, BPF_ANY);
	return 1;
}

inline_always void nat_give_back(__u32 index)
{
	struct nat_flow *flow = nat_flow_at(index);
	if (flow)
		flow->used = 0;
	bpf_map_push_elem(&nat_free, &index, 0);
}

/* A place for a flow. */
inline_always __u32 nat_take(void)
{
	__u32 index = NONE;
	if (!bpf_map_pop_elem(&nat_free, &index))
		return index;
	if (globals.nat_next > settings.nat.flows)
		return NONE;
	index = __sync_fetch_and_add(&globals.nat_next, 1);
	return index <= settings.nat.flows ? index : NONE;
}

inline_always int nat_count(__u32 session)
{
	struct session *of = bpf_map_lookup_elem(&sessions, &session);
	if (!of)
		return 0;
	if (__sync_fetch_and_add(&of->flows, 1) < settings.nat.flows_per_ue)
		return 1;
	__sync_fetch_and_add(&of->flows, -1);
	return 0;
}

inline_always void nat_uncount(__u32 session)
{
	struct session *of = bpf_map_lookup_elem(&sessions, &session);
	if (of)
		__sync_fetch_and_add(&of->flows, -1);
}

/* Makes a flow, whose two ends are known. Gives its place. */
inline_always __u32 nat_enter(struct nat_key *out, struct nat_binding *bound, __u64 ticks)
{
	__u32 index = nat_take();
	struct nat_flow *flow = nat_flow_at(index);
	if (!index || !flow)
		return NONE;
	struct nat_key in = {
		.near = bound->address,
		.far = out->far,
		.near_port = bound->port,
		.far_port = out->far_port,
		.protocol = out->protocol,
		.inward = 1,
	};
	flow->ue = out->near;
	flow->far = out->far;
	flow->public4 = bound->address;
	flow->ue_port = out->near_port;
	flow->far_port = out->far_port;
	flow->public_port = bound->port;
	flow->protocol = out->protocol;
	flow->seen = 0;
	flow->session = bound->session;
	flow->incarnation = bound->incarnation;
	flow->last = ticks;
	__u32 address = change32(out->near, bound->address), port = change16(out->near_port, bound->port);
	flow->address_change = fold16(address);
	/* ICMP has no pseudo header. */
	flow->transport_change = fold16(out->protocol == IPPROTO_ICMP ? port : address + port);
	*(volatile __u8 *)&flow->used = 1;
	if (bpf_map_update_elem(&nat_by_key, &in, &index, BPF_NOEXIST)) {
		nat_give_back(index);
		return NONE;
	}
	if (bpf_map_update_elem(&nat_by_key, out, &index, BPF_NOEXIST)) {
		bpf_map_delete_elem(&nat_by_key, &in);
		nat_give_back(index);
		return NONE;
	}
	nat_remember(nat_hash(out), index);
	nat_remember(nat_hash(&in), index);
	return index;
}

/* A new flow of a UE. Another processor may make it at the same time: then it is that one. */
global __u32 nat_begin(struct nat_key *out, __u32 session, __u32 incarnation)
{
	if (!out || !nat_count(session))
		return NONE;
	struct nat_binding bound = {
		.address = nat_address_of(out->near),
		.port = out->near_port,
		.session = session,
		.incarnation = incarnation,
	};
	__u32 index = NONE;
	if (!nat_has_ports(out->protocol) || nat_bind(out, &bound, session, incarnation))
		index = nat_enter(out, &bound, bpf_jiffies64());
	if (!index) {
		nat_uncount(session);
		index = nat_find_slow(out);
	}
	return index;
}

/* A new flow from outside, which the binding of a UE's port takes whoever sends it. */
global __u32 nat_accept(struct nat_key *in)
{
	if (!in || !nat_has_ports(in->protocol) || in->protocol == IPPROTO_ICMP)
		return NONE;
	struct nat_end end = { .address = in->near, .port = in->near_port, .protocol = in->protocol };
	struct nat_binding *found = bpf_map_lookup_elem(&nat_of_public, &end);
	if (!found || !nat_count(found->session))
		return NONE;
	struct nat_key out = {
		.near = found->address,
		.far = in->far,
		.near_port = found->port,
		.far_port = in->far_port,
		.protocol = in->protocol,
	};
	struct nat_binding bound = {
		.address = in->near,
		.port = in->near_port,
		.session = found->session,
		.incarnation = found->incarnation,
	};
	__u32 index = nat_enter(&out, &bound, bpf_jiffies64());
	if (!index)
		nat_uncount(bound.session);
	return index;
}

/* A flow that is over, or was another session's, begins anew for its UE. */
global int nat_renew(__u32 index, __u32 session, __u32 incarnation)
{
	struct nat_flow *flow = nat_flow_at(index);
	if (!flow)
		return 0;
	__u32 was = flow->incarnation;
	if (was != incarnation) {
		if (!nat_count(session))
			return 0;
		if (__sync_val_compare_and_swap(&flow->incarnation, was, incarnation) != was)
			nat_uncount(session);
		else
			flow->session = session;
	}
	flow->seen = 0;
	flow->last = bpf_jiffies64();
	return 1;
}

/* Where the transport header's port of a side, and its checksum are. */
struct nat_place {
	__be16 *near;
	__be16 *far;
	__u16 *checksum;
	__u8 flags;		/* of TCP */
};

#define TCP_FIN 1
#define TCP_SYN 2
#define TCP_RST 4

/* Finds them in an IPv4 packet that is whole, or the first of several. 0: it has none. */
inline_always int nat_places(struct iphdr *ip, void *end, int inward, struct nat_place *place)
{
	__u32 header = ip->ihl * 4;
	__u8 *l4 = (void *)ip + header;
	if (header < sizeof(*ip))
		return 0;
	if (likely(ip->protocol == IPPROTO_TCP)) {
		if ((void *)(l4 + 18) > end)
			return 0;
		place->checksum = (void *)(l4 + 16);
		place->flags = l4[13];
	} else if (ip->protocol == IPPROTO_UDP) {
		if ((void *)(l4 + 8) > end)
			return 0;
		place->checksum = (void *)(l4 + 6);
	} else {
		return 0;
	}
	place->near = (void *)(l4 + (inward ? 2 : 0));
	place->far = (void *)(l4 + (inward ? 0 : 2));
	return 1;
}

inline_always int is_icmp_error(struct icmp *icmp)
{
	return icmp->type == ICMP_UNREACHABLE || icmp->type == ICMP_EXCEEDED || icmp->type == ICMP_PARAMETER;
}

inline_always void nat_correct(__u16 *checksum, __u16 change, __u8 protocol)
{
	__u16 value = *checksum;
	/* UDP may go without. */
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

/* An ICMP error, and the packet within it (RFC 5508, 4). `offset` is that of its IP header. Gives the flow that it is
 * about. */
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
	if ((void *)(inner + 1) > end || inner->version != 4 || inner->ihl < 5 || inner->frag_off & bpf_htons(IP_OFFSET))
		return NONE;
	__u32 header = inner->ihl * 4;
	__u8 *l4 = (void *)inner + header;
	if ((void *)(l4 + 8) > end)
		return NONE;
	__u8 protocol = inner->protocol;
	struct nat_key key = { .protocol = protocol, .inward = inward };
	/* It tells of a packet that went the other way: what it was sent from is near. */
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
	if (!index || !flow || nat_is_over(flow, bpf_jiffies64()))
		return NONE;
	__be32 address = inward ? flow->ue : flow->public4;
	__be16 new_port = inward ? flow->ue_port : flow->public_port;
	__u16 of_address = flow->address_change, of_transport = flow->transport_change;
	if (inward) {
		of_address = ~of_address;
		of_transport = ~of_transport;
	}
	/* What the message's own checksum covers: the sum over the inner IP header stays what it was. */
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

/* Makes a packet that came from outside the ICMP message that answers it. */
global int nat_answer(struct xdp_md *ctx, __u32 offset, __u32 kind, __u32 mtu)
{
	__u32 first = 0;
	struct bucket *bucket = bpf_map_lookup_elem(&buckets, &first);
	if (!bucket || !take_tokens(&bucket->full_at, bucket->burst, bucket->per_octet, bpf_ktime_get_ns() << 4))
		return NAT_LOST;
	struct ethhdr link;
	struct ethhdr *eth = data_of(ctx);
	if (offset != sizeof(*eth) || (void *)(eth + 1) > end_of(ctx))
		return NAT_LOST;
	__builtin_memcpy(&link, eth, sizeof(link));
	const __u32 headers = sizeof(struct iphdr) + sizeof(struct icmp), quoted = sizeof(struct iphdr) + 8;
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
	return NAT_ANSWERED_BACK;
}

/* Translates the parts of packets behind the first, and what has no ports of its own, on their way out. */
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
	struct nat_key key = { .near = ip->saddr, .far = ip->daddr, .protocol = ip->protocol };
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
		index = nat_begin(&key, session, incarnation);
	struct nat_flow *flow = nat_flow_at(index);
	if (!index || !flow)
		return 0;
	__u64 ticks = bpf_jiffies64();
	if ((flow->incarnation != incarnation || nat_is_over(flow, ticks)) && !nat_renew(index, session, incarnation))
		return 0;
	nat_see(flow, 0, ticks);
	ip->check = changed(ip->check, flow->address_change);
	ip->saddr = flow->public4;
	if (icmp) {
		icmp->checksum = changed(icmp->checksum, flow->transport_change);
		icmp->id = flow->public_port;
	}
	return 1;
}

/* Gives a packet of a UE, whose IP header lies at an offset, its public address. 0: there is none for it, or it has no
 * ports. */
global int nat_out(struct xdp_md *ctx, __u32 offset, struct rule *rule)
{
	if (!rule || offset > 1024)
		return 0;
	void *end = end_of(ctx);
	struct iphdr *ip = data_of(ctx) + offset;
	struct nat_place place = {};
	if ((void *)(ip + 1) > end)
		return 0;
	if (unlikely(!nat_places(ip, end, 0, &place)))
		return 0;
	struct nat_key key = {
		.near = ip->saddr,
		.far = ip->daddr,
		.near_port = *place.near,
		.far_port = *place.far,
		.protocol = ip->protocol,
	};
	__u64 ticks = bpf_jiffies64();
	struct nat_flow *flow = nat_find(&key);
	if (unlikely(!flow)) {
		__u32 index = nat_begin(&key, rule->session, rule->incarnation);
		flow = nat_flow_at(index);
		if (!index || !flow)
			return 0;
	} else if (unlikely(flow->incarnation != rule->incarnation || nat_is_over(flow, ticks) ||
			    (place.flags & TCP_SYN && nat_lifetime(flow) == settings.nat.tcp_transitory &&
			     flow->seen & (NAT_RESET | NAT_FIN_IN | NAT_FIN_OUT)))) {
		__u32 index = nat_find_slow(&key);
		if (!index || !nat_renew(index, rule->session, rule->incarnation))
			return 0;
	}
	nat_see(flow, nat_bits(0, key.protocol, place.flags, flow->seen), ticks);
	ip->check = changed(ip->check, flow->address_change);
	ip->saddr = flow->public4;
	nat_correct(place.checksum, flow->transport_change, key.protocol);
	*place.near = flow->public_port;
	return 1;
}

inline_always int translate_out(struct xdp_md *ctx, __u32 offset, struct flow *flow, struct rule *rule)
{
	if (likely(flow->fragment != 2 && (flow->protocol == IPPROTO_TCP || flow->protocol == IPPROTO_UDP)))
		return nat_out(ctx, offset, rule);
	return nat_out_slow(ctx, offset, rule->session, rule->incarnation);
}

inline_always struct nat_part nat_part_key(struct iphdr *ip)
{
	struct nat_part part = { .far = ip->saddr, .public4 = ip->daddr, .id = ip->id, .protocol = ip->protocol };
	return part;
}

/* The same as `nat_out_slow` for what comes from outside. */
global int nat_in_slow(struct xdp_md *ctx, __u32 offset, struct flow *packet)
{
	void *data = data_of(ctx), *end = end_of(ctx);
	if (offset > 1024 || !packet)
		return NAT_LOST;
	struct iphdr *ip = data + offset;
	if ((void *)(ip + 1) > end)
		return NAT_LOST;
	if (ip->frag_off & bpf_htons(IP_OFFSET)) {
		struct nat_part part = nat_part_key(ip);
		struct nat_part_of *of = bpf_map_lookup_elem(&nat_parts, &part);
		if (!of)
			return NAT_FOREIGN;
		packet->incarnation = of->incarnation;
		packet->destination4 = of->ue;
		ip->check = changed(ip->check, fold16(change32(ip->daddr, of->ue)));
		ip->daddr = of->ue;
		return NAT_DONE;
	}
	struct nat_key key = { .near = ip->daddr, .far = ip->saddr, .protocol = ip->protocol, .inward = 1 };
	struct icmp *icmp = NULL;
	if (ip->protocol == IPPROTO_ICMP) {
		__u32 header = ip->ihl * 4;
		icmp = (void *)ip + header;
		if ((void *)(icmp + 1) > end)
			return NAT_FOREIGN;
		if (is_icmp_error(icmp)) {
			__u32 about = nat_error(ctx, offset, 1);
			struct nat_flow *flow = nat_flow_at(about);
			if (!about || !flow)
				return NAT_FOREIGN;
			packet->incarnation = flow->incarnation;
			packet->destination4 = flow->ue;
			return NAT_DONE;
		}
		if (icmp->type != ICMP_ECHO_REPLY && icmp->type != ICMP_TIMESTAMP_REPLY)
			return NAT_FOREIGN;
		key.near_port = icmp->id;
	}
	__u32 index = nat_find_slow(&key);
	struct nat_flow *flow = nat_flow_at(index);
	__u64 ticks = bpf_jiffies64();
	if (!index || !flow || nat_is_over(flow, ticks))
		return NAT_FOREIGN;
	nat_see(flow, NAT_ANSWERED, ticks);
	packet->incarnation = flow->incarnation;
	packet->destination4 = flow->ue;
	ip->check = changed(ip->check, ~flow->address_change);
	ip->daddr = flow->ue;
	if (icmp) {
		icmp->checksum = changed(icmp->checksum, ~flow->transport_change);
		icmp->id = flow->ue_port;
	}
	return NAT_DONE;
}

/* The later parts of a packet are those of a UE, too. */
global int nat_expect_parts(struct xdp_md *ctx, __u32 offset, __be32 ue, __u32 incarnation)
{
	struct iphdr *ip = data_of(ctx) + offset;
	if (offset > 1024 || (void *)(ip + 1) > end_of(ctx))
		return 0;
	struct nat_part part = nat_part_key(ip);
	struct nat_part_of of = { .ue = ue, .incarnation = incarnation };
	return !bpf_map_update_elem(&nat_parts, &part, &of, BPF_ANY);
}

/* Gives a packet from outside, which has ports, the address of its UE. */
global int nat_in(struct xdp_md *ctx, __u32 offset, struct flow *packet)
{
	if (!packet || offset > 1024)
		return NAT_LOST;
	void *end = end_of(ctx);
	struct iphdr *ip = data_of(ctx) + offset;
	struct nat_place place = {};
	if ((void *)(ip + 1) > end)
		return NAT_LOST;
	if (unlikely(!nat_places(ip, end, 1, &place)))
		return NAT_FOREIGN;
	struct nat_key key = {
		.near = ip->daddr,
		.far = ip->saddr,
		.near_port = *place.near,
		.far_port = *place.far,
		.protocol = ip->protocol,
		.inward = 1,
	};
	__u64 ticks = bpf_jiffies64();
	struct nat_flow *flow = nat_find(&key);
	if (unlikely(!flow)) {
		__u32 index = settings.nat.full_cone ? nat_accept(&key) : NONE;
		flow = nat_flow_at(index);
		if (!index || !flow)
			return NAT_FOREIGN;
	}
	if (unlikely(nat_is_over(flow, ticks)))
		return NAT_FOREIGN;
	/* The kernel would answer what it got with the address of the UE. */
	if (unlikely(packet->ttl <= 1))
		return nat_answer(ctx, offset, ICMP_EXCEEDED << 8, 0);
	if (unlikely(packet->dont_fragment && packet->length > settings.n6_mtu))
		return nat_answer(ctx, offset, ICMP_UNREACHABLE << 8 | ICMP_TOO_LARGE, settings.n6_mtu);
	nat_see(flow, nat_bits(1, key.protocol, place.flags, flow->seen), ticks);
	packet->incarnation = flow->incarnation;
	packet->destination4 = flow->ue;
	if (unlikely(packet->fragment))
		nat_expect_parts(ctx, offset, flow->ue, flow->incarnation);
	ip->check = changed(ip->check, ~flow->address_change);
	ip->daddr = flow->ue;
	nat_correct(place.checksum, ~flow->transport_change, key.protocol);
	*place.near = flow->ue_port;
	return NAT_DONE;
}

inline_always int translate_in(struct xdp_md *ctx, __u32 offset, struct flow *packet)
{
	if (likely(packet->fragment != 2 && (packet->protocol == IPPROTO_TCP || packet->protocol == IPPROTO_UDP)))
		return nat_in(ctx, offset, packet);
	return nat_in_slow(ctx, offset, packet);
}
