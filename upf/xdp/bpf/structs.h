/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Types shared by the programs and user space. User space gets them from the BTF of this object
 * through the skeleton. No struct has compiler padding, so sizes are equal on both sides and a
 * struct can be written as a whole. __be16 and __be32 fields are in network byte order, all others
 * in host byte order. */
#pragma once

#include <linux/types.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "a rule's key and flags are read at once, as a little-endian machine has them"
#endif

/* Token buckets of one rule: the maximum bit rates of its QERs. */
#define RULE_BUCKETS 4
/* Volume limits of one rule: the thresholds and quotas of its URRs. */
#define RULE_LIMITS 8
/* No rule, session, limit or bucket: slots count from 1. */
#define NONE 0

/* Bits of `struct rule.flags`. */
enum rule_flag {
	RULE_UPLINK = 1 << 0,	/* uplink: packets come from the access side */
	RULE_DROP = 1 << 1,	/* FAR: drop */
	RULE_BUFFER = 1 << 2,	/* FAR: buffer */
	RULE_NOTIFY = 1 << 3,	/* FAR: and notify the CP function */
	RULE_TUNNEL = 1 << 4,	/* FAR: into a tunnel */
	RULE_TUNNEL_UP = 1 << 5,	/* FAR: an uplink tunnel (N9) */
	RULE_HELD = 1 << 6,	/* older packets are still buffered and leave first */
	RULE_GATE = 1 << 7,	/* QER: a gate is closed */
	RULE_QUOTA = 1 << 8,	/* URR: a time quota is used up */
	RULE_MARK = 1 << 9,	/* QER: the tunnel header carries `qfi` */
	RULE_MATCH_UE = 1 << 10,	/* PDR: the UE's address is one of the two */
	RULE_MATCH_QFI = 1 << 11,	/* PDR: `qfis` */
	RULE_UE4 = 1 << 12,	/* the session's UE has one IPv4 address, `ue4` */
	RULE_UE6 = 1 << 13,	/* and an IPv6 prefix, `ue6` */
	RULE_UE_MANY = 1 << 14,	/* and further addresses, found in the lookup tables */
	RULE_DNS = 1 << 15,	/* user space needs a copy of DNS responses */
	RULE_EXACT = 1 << 16,	/* a limit is near: count every packet against it */
	/* Bits 24 and 25: the class of the flow. */
	RULE_DEFAULT_FLOW = 1 << 27, /* PDR: matches packets without QFI in spite of `qfis` */
	RULE_START = 1 << 29,	/* URR: the next packet is an event */
	RULE_SHAPED = 1 << 26,	/* the thermal governor shapes its class */
	RULE_BY_TEID = 1 << 17,	/* `key` is a TEID; else the address of a UE */
	RULE_FRESH = 1 << 18,	/* no packet since user space read the time of the first one */
	RULE_SHARED = 1 << 19,	/* QER: rates shared with other rules */
	RULE_USER_SPACE = 1 << 21,	/* user space forwards the session (non-IP) */
	RULE_TUNNEL6 = 1 << 20,	/* FAR: the tunnel's peer has an IPv6 address, `peer6` */
	RULE_HAS_TUNNEL = 1 << 23,	/* the session's gNB is known */
	RULE_GNB4 = 1 << 28,	/* uplink: the gNB of the session is `peer4` */
	/* no rule: `key` selects a candidate list, whose first group is `rest` */
	RULE_LIST = 1 << 22,
};

/* The hot part of a PDR with its FAR and QERs: one cache line. Fields that packets do not write
 * never change while programs can find the rule, except flags and the mark: user space writes
 * another rule and redirects the lookup to it. User space adds up the counters of both. Rules sit
 * in a two-way set-associative cache keyed by TEID or UE address (`cache_slot_of`); other rules are
 * found through hash cells or candidate lists. */
struct rule {
	__be32 key;		/* 0: not in the cache; found through `struct cells` or a list */
	__u32 flags;
	/* Written by programs. */
	__u64 bytes;
	__u64 packets;
	__u64 full_at;		/* see `struct bucket` */
	__u32 last;		/* time of the last packet in ticks; 0: none */
	/* Written by user space. */
	/* at mark * 2^MARK_SHIFT bytes, `struct rule_cold` defines the action */
	__u32 mark;
	__u32 rest;		/* index in `cold_rules` */
	__u32 incarnation;	/* unique number of the session's instance */
	__u16 rate;		/* index in `rates` of a rate of this rule alone; 0: none */
	/* as in the PDU session container, with the RQI bit; without a tunnel the network
	 * instance */
	__u8 qfi;
	__u8 unused;
	__be32 ue4;		/* for downlink see `nat_cache_lookup` */
	/* The tunnel's peer. Without a tunnel: see `nat_cache_key`, or with RULE_GNB4 the sender. */
	__be32 teid;
	__be32 peer4;
};
_Static_assert(sizeof(struct rule) == 64, "a rule is one line of the cache");
#define MARK_SHIFT 20

/* The cold part of a rule. */
struct rule_cold {
	__u32 session;		/* index in `sessions` */
	__u32 pdr;
	__u64 first; /* time of the first packet since user space read it, in ticks */
	/* Distant limits are not counted per packet: user space is notified at `check_at`, packets
	 * stop at `stop_at`. In bytes. */
	__u64 check_at;
	__u64 stop_at;
	__be64 ue6;
	__u64 qfis;		/* bit n: QFI n */
	__u32 buckets[RULE_BUCKETS];	/* indices of shared rates in `buckets` */
	__u32 limits;		/* first slot of the session's limits, */
	__u8 limit[RULE_LIMITS];	/* and the offsets of the rule's limits */
	__u8 bucket_count;
	__u8 limit_count;
	__u8 quotas;		/* bit n: limit n is a quota, which stops packets */
	__u8 ue_to_ue;		/* packets to and from other UEs: bits of `enum ue_to_ue` */
	__be32 peer6[4];
	/* Numbers of the gNB from which packets are accepted, and of another one; 0: any peer. */
	__u16 gnb;
	__u16 other_gnb;
	__u32 other_until;	/* in units of 2^GNB_SHIFT ns */
};
#define GNB_SHIFT 24

/* What happens to packets between UEs. */
enum ue_to_ue {
	UE_HAIRPIN = 1,		/* they leave to N6 */
	UE_DENY = 2,
};

/* Bits of `settings.local_switching`: the programs forward packets between UEs; some network does
 * not allow that. */
#define SWITCH_UES 1
#define LOOK_FOR_UES 2

/* Parameters of a rate, shared by rules with equal rates: see `struct bucket`. */
struct rate {
	__u64 burst;
	__u64 per_byte;
};
#define RATES 65536

/* A cell of the lookup hash table by TEID or UE address. */
#define CELLS 7
struct cells {
	__u64 cell[CELLS];	/* upper half: target, lower half: key; 0: free */
	__u64 more;		/* entries of this cell in the overflow table */
};

/* A framed route (TS 23.501, 5.6.14). */
struct route4 {
	__u32 length;
	__be32 network;
};
struct route6 {
	__u32 length;
	__be32 network[4];
};

/* What applies to packets of UEs to a destination, as user space has it in `perimeter`. */
enum perimeter_class {
	CLASS_DENIED = 1,
	CLASS_GATEWAY = 2,	/* but for ICMP and DNS */
	CLASS_LINK = 4,
};

/* What the fragments of a datagram have in common. */
struct fragment {
	__be32 source[4];	/* IPv4: the first word */
	__be32 destination[4];
	__u32 id;
	__u32 protocol;
};

/* Datagrams of one session at a time: one for each remainder of the identification. */
#define SESSION_FRAGMENTED 64
struct fragment_slot {
	__u32 incarnation;	/* of the session */
	__u32 slot;
};

/* Keys that are being made. */
struct fragment_keys {
	struct fragment datagram;
	struct fragment_slot slot;
};

/* A service that UEs may reach though its address is denied. */
struct service {
	__be32 address[4];	/* IPv4: the first one */
	__u16 port;		/* in host byte order; 0: all */
	__u8 protocol;
	__u8 later;		/* later fragments, which have no port */
};

/* A sender on N3, per CPU. Valid while `generation` is current. */
struct sender {
	__be32 address;
	__u32 generation;
	__u32 number;		/* of the peer; 0: it is none */
	__u32 unused;
};

/* The target of a lookup is a rule's index, or with this bit the first group of a candidate
 * list. */
#define TARGET_LIST 0x80000000u

/* Bits of `struct candidate.rule` above the index: `filters` holds a further filter at the
 * candidate's index; the rule matches further fields. */
#define CANDIDATE_FILTER 0x40000000u
#define CANDIDATE_RULE_FIELDS 0x20000000u
#define CANDIDATE_RULE 0x0fffffffu

/* One filter of a PDR, compared without branches. A field that matches any packet has a mask of 0,
 * or ports up to NO_PORT. */
#define NO_PORT 0x10000
#define PORT_GUARD 0x8000000080000000ull
struct candidate {
	__be32 remote;
	__be32 remote_mask;
	__u64 low;		/* lowest ports: remote side, upper half UE side */
	__u64 high;		/* highest ports, with PORT_GUARD */
	__u32 kind;		/* protocol and type of service, upper half their masks */
	__u32 rule;
};

/* Candidates of a list are compared in groups, by precedence. The group's port range covers all its
 * candidates, so that most groups are skipped at once. */
#define GROUP 7
struct group {
	__u64 low;
	__u64 high;
	__u64 last;		/* last group of its list */
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

/* Filter fields that few filters have. */
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

/* A session's share of the buffer in user space and of the NAT flow table. */
struct session {
	__u32 pending;		/* packets buffered in user space */
	__u32 limit;		/* maximum of `pending` */
	__u32 flows;		/* NAT flows */
	__u32 number;		/* sequence number of the next buffered packet */
};

/* An AF_XDP socket at a receive queue. Programs redirect a frame only while there is room, so that
 * the kernel does not drop it. */
struct socket_key {
	__u32 ifindex;
	__u32 queue;
};
struct socket_queue {
	__u64 given;		/* frames redirected; written by programs */
	__u64 room;		/* capacity in frames */
	__u64 unused[6];
	__u64 taken;		/* frames consumed; written by user space */
	__u64 unused_too[7];
};
#define SOCKETS 64
/* Longest frame that fits a chunk of socket memory, with the event header. */
#define SOCKET_FRAME_MAX 1792

/* A maximum bit rate by the generic cell rate algorithm. A packet conforms while the time at which
 * the bucket is full again is at most `burst` ahead. Times are in 1/16 ns. */
struct bucket {
	__u64 full_at;
	__u64 burst;
	__u64 per_byte;	/* times 2^16 */
	__u64 unused;
};

/* Buckets of what causes an answer, in `answers`. */
enum answer_bucket {
	ANSWER_PEER,		/* from peers of N3 and their UEs: user space answers */
	ANSWER_UNKNOWN,		/* from other senders on N3 */
	ANSWER_ICMP,		/* from the data network: ICMP errors */
	ANSWER_BUCKETS,
};

/* Drop reasons, in the order of the `DropReason` of user space. */
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
	DROP_N6_ISOLATION,
	DROP_N3_SOURCE,
	DROP_NO_QFI,
	DROP_UE_TO_UE,
	DROP_TOO_LONG,
	DROP_REASONS,
};

/* Per-CPU counters. */
struct stats {
	__u64 drops[32];
	__u64 buffered;
	__u64 to_kernel;	/* forwarded through the kernel's stack */
	__u64 passed;		/* left to the kernel */
	__u64 lost_events;
	__u64 replaced_fragments;
	__u64 unused[3];
};

/* Kinds of events in the ring. */
enum event_kind {
	/* a packet to buffer follows; session 0: a copy of a forwarded DNS response */
	EVENT_PACKET = 1,
	EVENT_LIMIT = 2, /* a limit is reached: `argument` is its slot */
	EVENT_MARK = 3,	 /* a rule reached `check_at` */
	/* a tunnelled IPv6 packet for the socket to send follows, from its IP header */
	EVENT_SEND = 4,
	EVENT_START = 6,	/* traffic of a rule started: `argument` is its PDR ID */
	EVENT_DATAGRAM = 5, /* a downlink packet of a session that user space forwards follows */
};

struct event {
	__u32 kind;
	__u32 session;
	__u32 argument;		/* of a packet: PDR ID, and the bits below */
	__u32 length;		/* length of the packet in bytes */
	__u32 number;		/* sequence number of a packet within its session */
	__u32 unused;
};

/* Bits of a buffered packet's `argument` above its PDR ID. One from a tunnel may have a QFI. */
enum packet_argument {
	ARGUMENT_NOTIFY = 1 << 16,	/* notify the CP function */
	ARGUMENT_TUNNEL = 1 << 17,
	ARGUMENT_HAS_QFI = 1 << 18,
	ARGUMENT_QFI_SHIFT = 24,	/* position of the QFI */
};
/* For `buffer`: the frame belongs to the kernel and can be redirected. */
#define BUFFER_LIVE 1u

/* Bits of a packet's `argument`: EVENT_SEND and EVENT_DATAGRAM. */
#define ARGUMENT_SEND 0x80000000u
#define ARGUMENT_DATAGRAM 0x40000000u

/* Record sizes for buffered packets: common ones and jumbo frames. Powers of two. */
#define BUFFERED_SHORT 2048
#define BUFFERED_LONG 16384

/* A next hop by destination, per CPU. Valid while `generation` is current. */
struct hop {
	__be32 destination[4];
	__u32 generation;
	__u32 ifindex;		/* 0: the kernel routes the packet */
	__u16 mtu;
	__u16 vlan;
	__u8 to[6];
	__u8 from[6];
	__u8 local;		/* the kernel delivers or rejects it, or it is for a UE */
	__u8 class;		/* of the destination: see `enum perimeter_class` */
	__u8 unused[2];
};

/* The verdict on an injected packet, in front of the frame. */
struct verdict {
	__u32 action;		/* enum xdp_action */
	__u32 ifindex;		/* with XDP_REDIRECT */
};

/* Public addresses. */
#define NAT_ADDRESSES 8

/* Bits of `struct nat_flow.state` below the protocol and the translated port. */
enum nat_state {
	/* Observed state, equal in both directions. */
	NAT_ANSWERED = 1 << 0,	/* a packet came from the data network */
	NAT_CONFIRMED = 1 << 1,	/* TCP: and one left after it: established */
	NAT_FIN_OUT = 1 << 2,
	NAT_FIN_IN = 1 << 3,
	NAT_RESET = 1 << 4,
	NAT_INWARD = 1 << 5,
	NAT_USED = 1 << 6,	/* the entry is valid */
	NAT_TAKEN = 1 << 7,	/* the entry is being written */
};
#define NAT_SEEN 0x1f
/* The bits that are part of the key. */
#define NAT_KIND 0xff60
#define NAT_PROTOCOL_SHIFT 8
#define NAT_PORT_SHIFT 16

/* Both ends of a flow as in packets before translation. */
struct nat_key {
	__be32 near;		/* the UE's address; inward: the public address */
	__be32 far;
	__be16 near_port;	/* ICMP: the identifier */
	__be16 far_port;
	/* NAT_USED, NAT_INWARD and protocol, as in `struct nat_flow.state` */
	__u32 kind;
};

/* One direction of a NAT flow: half a cache line. A hash of the key selects a line and its
 * neighbour (`nat_find`). */
struct nat_flow {
	/* The key. */
	__be32 near;
	__be32 far;
	__be16 near_port;
	__be16 far_port;
	__u32 state;		/* upper half: translated port in network byte order; 0: free */
	__be32 other;		/* replaces `near` */
	__u32 session;		/* outward: session; inward: index of the other direction */
	__u32 incarnation;
	__u32 last;		/* lower 32 bits of the time of the last packet in ticks */
};
#define NAT_WAYS 2
struct nat_line {
	struct nat_flow flow[NAT_WAYS];
};
_Static_assert(sizeof(struct nat_line) == 64, "two directions of flows are one line of the cache");

/* One end of a binding, the UE's or the public one. A UE's port keeps its public port towards all
 * destinations (RFC 4787, REQ-1). */
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

/* Owner of the later fragments of a packet. */
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

/* What is being noted. */
struct nat_fragment_keys {
	struct nat_fragment part;
	struct nat_fragment_owner of;
	struct fragment_slot slot;
};

/* NAT settings. Times are in ticks. */
struct nat_settings {
	__u64 seed;
	__u32 addresses;	/* number of public addresses; 0: programs do not translate */
	__be32 address[NAT_ADDRESSES];
	__u32 low;		/* lowest public address in host byte order */
	__u32 high;
	__u32 lines;		/* number of keyed lines; even */
	__u32 flows;
	__u32 flows_per_ue;
	__u32 first_port;
	__u32 ports;
	/* Each CPU has a slice of the ports; CPUs share slices where ports are few. */
	__u32 slices;
	__u32 slice_ports;	/* even, unless there is one slice */
	__u32 full_cone;
	__u32 tcp;
	__u32 tcp_transitory;
	__u32 udp;
	__u32 udp_unanswered;
	__u32 icmp;
	__u32 other;
	__u32 shortest;		/* shortest of these times */
	__u32 epoch_shift;	/* an epoch has 2^epoch_shift ticks */
	__u32 hints;		/* number of `struct nat_hints` */
};

/* Network instances of N6, counted from 1; 0 is the default route. A rule without a tunnel holds
 * its instance instead of the QFI. */
#define INSTANCES 8

/* CPUs that process G-PDUs at most; a power of two. */
#define UPLINK_CPUS 32

/* Settings, constant from the load of the programs on. */
struct settings {
	__be32 n3_ip4;
	__u32 has_n6;		/* the kernel routes to the data network */
	__u32 direct;		/* packets may leave without the kernel */
	__u32 outer_ifindex;	/* kernel end of the veth pair between kernel and programs */
	__u32 inner_ifindex;	/* program end of the veth pair */
	__u32 local_switching;
	__u32 n6_mtu;
	/* send packets to the kernel through our own end: their checksums are not trustworthy */
	__u32 bounce;
	__u32 teid_cells;	/* number of `struct cells` */
	__u32 ue4_cells;
	__u32 cache_slots;		/* cache slots by TEID, and as many by address; even */
	__u32 has_ip6;		/* N3 has `n3_ip6` */
	__u32 tick;		/* nanoseconds */
	__u32 transmit;		/* XDP_TX may be used */
	__u32 names_peers;	/* the configuration names the networks of all peers of N3 */
	__u32 require_qfi;	/* packets without QFI match no PDR with `qfis` */
	/* Veth pairs with the kernel for the network instances; index 0 is unused. */
	__u32 instance_outer[INSTANCES];
	__u32 instance_inner[INSTANCES];
	__be32 n3_ip6[4];
	/* CPUs that process G-PDUs, and how many; 0: the CPU that receives a packet. */
	__u32 uplink_cpu[UPLINK_CPUS];
	__u32 uplink_cpus;
	__u32 unused;
	struct nat_settings nat;
};

/* Variables that change while the programs run. */
struct globals {
	__u32 generation;	/* changes whenever next hops may have changed */
	/* Range of the UEs' IPv4 addresses in host byte order; others need no lookup. */
	__u32 ue4_low;
	__u32 ue4_high;
	__u32 nat_flows;	/* number of NAT flows */
	__u32 nat_next;		/* first overflow entry that was never used */
	__u32 routes;		/* number of framed routes */
	__u32 sources;		/* number of networks of peers on N3; 0: none is known */
	__u32 spread;		/* G-PDUs go to `settings.uplink_cpu` */
	__u64 ticks;		/* written by `martlet_clock` */
};
