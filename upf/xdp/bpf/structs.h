/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the programs and user space share. User space has the same types from this object's BTF, through the skeleton:
 * they are defined here and nowhere else. No struct has padding that the compiler adds, so each is as many bytes there
 * as here and can be written as a whole. Fields of type __be16 and __be32 are in network byte order, all others in the
 * machine's own. */
#pragma once

#include <linux/types.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "a rule's key and flags are read at once, as a little-endian machine has them"
#endif

/* Token buckets of one rule: maximum bit rates of its QERs. */
#define RULE_BUCKETS 4
/* Volume limits of one rule: thresholds and quotas of its URRs. */
#define RULE_LIMITS 8
/* Slots of a limit or bucket that mean none begin at 1. */
#define NONE 0

/* What a rule asks for: bits of `struct rule.flags`. */
enum rule_flag {
	RULE_UPLINK = 1 << 0,	/* packets come from the access side */
	RULE_DROP = 1 << 1,	/* FAR: drop */
	RULE_BUFFER = 1 << 2,	/* FAR: buffer */
	RULE_NOTIFY = 1 << 3,	/* FAR: and notify the CP function */
	RULE_TUNNEL = 1 << 4,	/* FAR: into a tunnel */
	RULE_TUNNEL_UP = 1 << 5,	/* that leads away from the UE */
	RULE_HELD = 1 << 6,	/* packets wait that have to leave before this one */
	RULE_GATE = 1 << 7,	/* QER: a gate is closed */
	RULE_QUOTA = 1 << 8,	/* URR: a time quota is used up */
	RULE_MARK = 1 << 9,	/* QER: `qfi` is told in the tunnel */
	RULE_MATCH_UE = 1 << 10,	/* PDR: the UE's address is one of the two */
	RULE_MATCH_QFI = 1 << 11,	/* PDR: `qfis` */
	RULE_UE4 = 1 << 12,	/* the session's UE has one IPv4 address, `ue4` */
	RULE_UE6 = 1 << 13,	/* and an IPv6 prefix, `ue6` */
	RULE_UE_MANY = 1 << 14,	/* and others, found by the tables */
	RULE_DNS = 1 << 15,	/* packets may be answers of DNS that user space has to see */
	RULE_EXACT = 1 << 16,	/* limits are near, and counted */
	/* Bits 24 and 25: the class of the flow. */
	RULE_SHAPED = 1 << 26,	/* the thermal governor shapes its class */
	RULE_BY_TEID = 1 << 17,	/* `key` is a TEID; else the address of a UE */
	RULE_FRESH = 1 << 18,	/* no packet has come since user space took the time of the first one */
	RULE_SHARED = 1 << 19,	/* QER: rates that it shares with other rules */
	RULE_USER_SPACE = 1 << 21,	/* user space carries what comes in its tunnel, or to its address */
	RULE_TUNNEL6 = 1 << 20,	/* FAR: whose end has an IPv6 address, `peer6` */
	RULE_LIST = 1 << 22,	/* it is no rule: `key` leads to a list of candidates, whose first group is `rest` */
};

/* A PDR with its FAR and QERs, as far as common packets need it: one line of the cache. What is not counted does not change
 * while packets can find the rule, but for flags and the mark: user space writes another rule and has packets find that one.
 * Counters of both are added up by user space.
 *
 * Most rules lie where a hash of their TEID, or of the UE's address, says: one of two places beside each other (`cache_slot_of`).
 * A packet that finds its key there has found its rule. */
struct rule {
	__be32 key;		/* 0: packets do not find it here, but from `struct cells` or a list, if at all */
	__u32 flags;
	/* Written by packets. */
	__u64 bytes;
	__u64 packets;
	__u64 full_at;		/* see `struct bucket` */
	__u32 last;		/* the time of the last packet, in ticks; 0: there was none */
	/* Within. */
	__u32 mark;		/* from so many times 2^MARK_SHIFT bytes on, `struct rule_cold` says what is to be done */
	__u32 rest;		/* its place in `cold_rules` */
	__u32 incarnation;	/* of the session: no two of them have had the same */
	__u16 rate;		/* a rate that the rule shares with no other one, in `rates`; 0: there is none */
	__u8 qfi;		/* as the PDU session container has it, with the reflective QoS indicator; without a tunnel the exit */
	__u8 unused;
	__be32 ue4;		/* of what comes from the data network: see `nat_cache_lookup` */
	/* The other end of a tunnel. Without one: see `nat_cache_key`. */
	__be32 teid;
	__be32 peer4;
};
_Static_assert(sizeof(struct rule) == 64, "a rule is one line of the cache");
#define MARK_SHIFT 20

/* What common packets do not need of a rule. */
struct rule_cold {
	__u32 session;		/* index in `sessions` */
	__u32 pdr;
	__u64 first;		/* the time of the first packet since user space took it; in ticks */
	/* Limits that are far away are not counted: at the first mark user space is told, at the second packets stop. */
	__u64 check_at;
	__u64 stop_at;
	__be64 ue6;
	__u64 qfis;		/* bit n: QFI n */
	__u32 buckets[RULE_BUCKETS];	/* rates that it shares with other rules */
	__u32 limits;		/* where the session's limits begin, */
	__u8 limit[RULE_LIMITS];	/* and which of them are the rule's */
	__u8 bucket_count;
	__u8 limit_count;
	__u8 quotas;		/* which of the limits stop packets */
	__u8 unused;
	__be32 peer6[4];
};

/* What several rules have alike of a rate: see `struct bucket`. */
struct rate {
	__u64 burst;
	__u64 per_byte;
};
#define RATES 65536

/* Entrances by TEID, or by address of a UE: some of those with the same hash. */
#define CELLS 7
struct cells {
	__u64 cell[CELLS];	/* the entrance, and in the lower half the key; 0: none */
	__u64 more;		/* so many others are in another table */
};

/* A network behind a UE (TS 23.501, 5.6.14). */
struct route4 {
	__u32 length;
	__be32 network;
};
struct route6 {
	__u32 length;
	__be32 network[4];
};

/* Where a tunnel or an address leads: a rule, or with this bit a list of candidates, by its first group. */
#define TARGET_LIST 0x80000000u

/* In `struct candidate.rule`, beside the index: `filters` has more to compare, at the candidate's place; and the rule has
 * more to ask for. */
#define CANDIDATE_FILTER 0x40000000u
#define CANDIDATE_RULE_FIELDS 0x20000000u
#define CANDIDATE_RULE 0x0fffffffu

/* One filter of a PDR. All of it is compared, with few instructions and without branches: what matches any packet has a
 * mask of 0, or ports up to NO_PORT. */
#define NO_PORT 0x10000
#define PORT_GUARD 0x8000000080000000ull
struct candidate {
	__be32 remote;
	__be32 remote_mask;
	__u64 low;		/* ports of the remote side, and in the upper half of the UE's */
	__u64 high;		/* and PORT_GUARD */
	__u32 kind;		/* protocol, type of service, and in the upper half their masks */
	__u32 rule;
};

/* Candidates are looked at in groups; those of one list by precedence. A group says first which ports any of its
 * candidates takes: most groups are none of a packet's. */
#define GROUP 7
struct group {
	__u64 low;
	__u64 high;
	__u64 last;		/* of its list */
	__u64 unused;
	struct candidate candidate[GROUP];
};

enum filter_flag {
	FILTER_REMOTE4 = 1 << 7,
	FILTER_REMOTE6 = 1 << 0,
	FILTER_REMOTE_NOT = 1 << 1,
	FILTER_UE4 = 1 << 2,
	FILTER_UE6 = 1 << 3,
	FILTER_UE_NOT = 1 << 4,
	FILTER_SPI = 1 << 5,
	FILTER_LABEL = 1 << 6,
};

/* What few filters ask for. */
struct filter {
	__u64 remote[2];
	__u64 remote_mask[2];
	__u64 ue[2];
	__u64 ue_mask[2];
	__u32 flags;
	__u32 spi;
	__u32 label;
	__u32 unused;
};

/* A session's share in the buffer of user space, and in the table of translated flows. */
struct session {
	__u32 pending;		/* packets given to user space that have not left */
	__u32 limit;		/* most of them */
	__u32 flows;		/* that are translated */
	__u32 number;		/* of the next packet that is given to user space */
};

/* A socket of user space (AF_XDP) at a receive queue of an interface. A program gives a frame only where there is room: the
 * kernel then finds it, too. */
struct socket_key {
	__u32 ifindex;
	__u32 queue;
};
struct socket_queue {
	__u64 given;		/* frames; by programs */
	__u64 room;		/* for so many at a time */
	__u64 unused[6];
	__u64 taken;		/* by user space */
	__u64 unused_too[7];
};
#define SOCKETS 64
/* The longest frame that a chunk of a socket's memory takes, with the event before the packet. */
#define SOCKET_FRAME_MAX 1792

/* A maximum bit rate, by the generic cell rate algorithm: packets conform while the time at which the bucket would be
 * full again is not further away than the burst. Times are in sixteenths of a nanosecond. */
struct bucket {
	__u64 full_at;
	__u64 burst;
	__u64 per_byte;	/* times 2^16 */
	__u64 unused;
};

/* Why a packet is not forwarded; in the order of the reasons in user space. */
enum drop {
	DROP_MALFORMED,
	DROP_UNKNOWN_TUNNEL,
	DROP_UNKNOWN_UE,
	DROP_FOREIGN_SOURCE,
	DROP_NO_RULE,
	DROP_ACTION,
	DROP_GATE,
	DROP_RATE,
	DROP_QUOTA,
	DROP_BUFFER_FULL,
	DROP_BUFFER_DROPPED,
	DROP_UNKNOWN_EXTENSION,
	DROP_N3,
	DROP_N6,
	DROP_NAT,
	DROP_THERMAL,
	DROP_REASONS,
};

/* Of each processor. */
struct stats {
	__u64 drops[16];
	__u64 buffered;
	__u64 to_kernel;	/* forwarded by way of the kernel */
	__u64 passed;		/* not ours */
	__u64 lost_events;
	__u64 unused[4];
};

/* What user space is told, through the ring. */
enum event_kind {
	EVENT_PACKET = 1,	/* a packet to be buffered, which follows; of session 0 the copy of one that is forwarded */
	EVENT_LIMIT = 2,	/* a limit was reached: `argument` is its slot */
	EVENT_MARK = 3,		/* a rule has reached its first mark */
	EVENT_SEND = 4,		/* a tunnelled packet of IPv6 for the socket to send, which follows from its IP header on */
	EVENT_DATAGRAM = 5,	/* a packet of the data network for a session that user space carries, which follows */
};

struct event {
	__u32 kind;
	__u32 session;
	__u32 argument;		/* of a packet: its PDR ID, and 65536 where the CP function is to be notified */
	__u32 length;		/* bytes of the packet */
	__u32 number;		/* of a packet: packets of a session that wait leave in this order */
	__u32 unused;
};

/* In the argument of a packet: it is to be sent, or is for a session that user space carries. */
#define ARGUMENT_SEND 0x80000000u
#define ARGUMENT_DATAGRAM 0x40000000u

/* Longest packets that are buffered: common ones, and those of jumbo frames. Powers of two. */
#define BUFFERED_SHORT 2048
#define BUFFERED_LONG 16384

/* Where a packet goes next, by its destination; of each processor. Valid while `generation` is the current one. */
struct hop {
	__be32 destination[4];
	__u32 generation;
	__u32 ifindex;		/* 0: the kernel has to find the way */
	__u16 mtu;
	__u16 vlan;
	__u8 to[6];
	__u8 from[6];
	__u8 local;		/* the kernel takes or refuses it itself, or it is a UE's */
	__u8 unused[3];
};

/* What became of an injected packet, before its bytes. */
struct verdict {
	__u32 action;		/* enum xdp_action */
	__u32 ifindex;		/* with XDP_REDIRECT */
};

/* Public addresses. */
#define NAT_ADDRESSES 8

/* Bits of `struct nat_flow.state`, beside the protocol and the port that packets get instead of theirs. */
enum nat_state {
	/* What was seen of a flow, the same in both directions. */
	NAT_ANSWERED = 1 << 0,	/* a packet came from outside */
	NAT_CONFIRMED = 1 << 1,	/* TCP: and one left after it */
	NAT_FIN_OUT = 1 << 2,
	NAT_FIN_IN = 1 << 3,
	NAT_RESET = 1 << 4,
	NAT_INWARD = 1 << 5,
	NAT_USED = 1 << 6,	/* packets find it */
	NAT_TAKEN = 1 << 7,	/* nobody may take the place */
};
#define NAT_SEEN 0x1f
/* What of it is part of the key. */
#define NAT_KIND 0xff60
#define NAT_PROTOCOL_SHIFT 8
#define NAT_PORT_SHIFT 16

/* Two sides of a flow as packets have them, before their translation. */
struct nat_key {
	__be32 near;		/* the UE's address, or, of what comes from outside, the public one */
	__be32 far;
	__be16 near_port;	/* of ICMP the identifier */
	__be16 far_port;
	__u32 kind;		/* NAT_USED, NAT_INWARD and the protocol, as in `struct nat_flow.state` */
};

/* One direction of a flow that is translated, with all that its packets need: half a line of the cache. It lies at a place
 * that a hash of its key says, or beside it, if there is room (`nat_find`). */
struct nat_flow {
	/* The key. */
	__be32 near;
	__be32 far;
	__be16 near_port;
	__be16 far_port;
	__u32 state;		/* in the upper half the new port, as packets have it; 0: the place is free */
	__be32 other;		/* instead of `near` */
	__u32 session;		/* inward: the place of the other direction */
	__u32 incarnation;
	__u32 last;		/* the time of the last packet, in ticks, as far as that is known to 32 bits */
};
#define NAT_WAYS 2
struct nat_line {
	struct nat_flow flow[NAT_WAYS];
};
_Static_assert(sizeof(struct nat_line) == 64, "two directions of flows are one line of the cache");

/* An address and port, the UE's or the public one, and where it leads on the other side. A UE's port keeps its public one
 * whatever it talks to (RFC 4787, REQ-1). */
struct nat_end {
	__be32 address;
	__be16 port;
	__u8 protocol;
	__u8 unused;
};
struct nat_binding {
	__be32 address;
	__be16 port;
	__u16 unused;
	__u32 session;
	__u32 incarnation;
};

/* Packets that came in parts: whose the later ones are. */
struct nat_fragment {
	__be32 far;
	__be32 public4;
	__be16 id;
	__u8 protocol;
	__u8 unused;
};
struct nat_fragment_owner {
	__be32 ue;
	__u32 incarnation;
};

/* Translation of addresses. Times are in ticks. */
struct nat_settings {
	__u64 seed;
	__u32 addresses;	/* how many; 0: the kernel translates, or nobody */
	__be32 address[NAT_ADDRESSES];
	__u32 low;		/* their span, in the machine's byte order */
	__u32 high;
	__u32 lines;		/* how many there are for flows by their key; even */
	__u32 flows;
	__u32 flows_per_ue;
	__u32 first_port;
	__u32 ports;
	__u32 full_cone;
	__u32 tcp;
	__u32 tcp_transitory;
	__u32 udp;
	__u32 udp_unanswered;
	__u32 icmp;
	__u32 other;
	__u32 shortest;		/* of these times */
	__u32 epoch_shift;	/* of them, an epoch has two to the power of that many ticks */
	__u32 hints;		/* how many `struct nat_hints` there are */
};

/* Ways to data networks beside the common one, counted from 1. A rule without a tunnel has it in place of the QFI. */
#define INSTANCES 8

/* Settings, fixed before the programs are loaded. */
struct settings {
	__be32 n3_ip4;
	__u32 has_n6;		/* the kernel has a way to the data network */
	__u32 direct;		/* and packets may leave without it */
	__u32 outer_ifindex;	/* the kernel's end of the link between the kernel and the programs */
	__u32 inner_ifindex;	/* the programs' end */
	__u32 local_switching;
	__u32 n6_mtu;
	__u32 bounce;		/* packets to the kernel are first sent to our own end, for their checksums are not to be trusted */
	__u32 teid_cells;	/* how many there are of `struct cells` */
	__u32 ue4_cells;
	__u32 cache_slots;		/* how many places there are for rules by their TEID, and as many by address; even */
	__u32 has_ip6;		/* N3 has `n3_ip6` */
	__u32 tick;		/* nanoseconds */
	__u32 transmit;		/* frames may go back where they came from */
	/* Links with the kernel for what leaves by an exit of its own; the first is for none. */
	__u32 instance_outer[INSTANCES];
	__u32 instance_inner[INSTANCES];
	__be32 n3_ip6[4];
	struct nat_settings nat;
};

/* What changes while the programs run. */
struct globals {
	__u32 generation;	/* changed whenever next hops may have changed */
	/* The span of the IPv4 addresses of UEs, in the machine's byte order; for others no table has to be asked. */
	__u32 ue4_low;
	__u32 ue4_high;
	__u32 nat_flows;	/* that there are */
	__u32 nat_next;		/* of the places that no key says, those from here on have never been used */
	__u32 routes;		/* networks behind UEs */
	__u64 ticks;		/* as `martlet_clock` found it */
};
