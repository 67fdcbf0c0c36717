/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The BPF maps. User space sets their sizes before they are created, and writes those with
 * BPF_F_MMAPABLE as memory. */
#pragma once

#include "structs.h"
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define TABLE(name, type_, key_type, value_type, entries, flags) \
	struct { \
		__uint(type, type_); \
		__uint(max_entries, entries); \
		__type(key, key_type); \
		__type(value, value_type); \
		__uint(map_flags, flags); \
	} name SEC(".maps")

/* Lookup tables by TEID, IPv4 address and IPv6 prefix of a UE. A key with a single rule is found in
 * the rule cache, if a slot is free. Other TEIDs and IPv4 addresses are in cells, which user space
 * writes; cells overflow into hash maps. */
TABLE(teid_cells, BPF_MAP_TYPE_ARRAY, __u32, struct cells, 1024, BPF_F_MMAPABLE);
TABLE(ue4_cells, BPF_MAP_TYPE_ARRAY, __u32, struct cells, 1024, BPF_F_MMAPABLE);
TABLE(by_teid, BPF_MAP_TYPE_HASH, __be32, __u32, 1024, BPF_F_NO_PREALLOC);
TABLE(by_ue4, BPF_MAP_TYPE_HASH, __be32, __u32, 1024, BPF_F_NO_PREALLOC);
TABLE(by_ue6, BPF_MAP_TYPE_HASH, __be64, __u32, 1024, BPF_F_NO_PREALLOC);

/* Framed routes. */
TABLE(routes4, BPF_MAP_TYPE_LPM_TRIE, struct route4, __u32, 1024, BPF_F_NO_PREALLOC);
TABLE(routes6, BPF_MAP_TYPE_LPM_TRIE, struct route6, __u32, 1024, BPF_F_NO_PREALLOC);

/* The perimeter: classes of destinations, services, and networks of peers on N3. */
#define PERIMETER 16384
/* IPv4 addresses are denied by several IPv6 addresses, too. */
#define PERIMETER6 (4 * PERIMETER)
TABLE(perimeter4, BPF_MAP_TYPE_LPM_TRIE, struct route4, __u32, PERIMETER, BPF_F_NO_PREALLOC);
TABLE(perimeter6, BPF_MAP_TYPE_LPM_TRIE, struct route6, __u32, PERIMETER6, BPF_F_NO_PREALLOC);
TABLE(sources4, BPF_MAP_TYPE_LPM_TRIE, struct route4, __u32, PERIMETER, BPF_F_NO_PREALLOC);
TABLE(sources6, BPF_MAP_TYPE_LPM_TRIE, struct route6, __u32, PERIMETER, BPF_F_NO_PREALLOC);
/* Ports of datagrams of which the first fragment was seen, by which later ones match the same
 * rules; the datagrams of each session, so that it displaces none of others; and keys that are
 * being made. */
TABLE(fragments, BPF_MAP_TYPE_LRU_HASH, struct fragment, __u32, 4096, 0);
TABLE(fragment_slots, BPF_MAP_TYPE_LRU_HASH, struct fragment_slot, struct fragment, 4096, 0);
TABLE(fragment_keys, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct fragment_keys, 1, 0);
TABLE(services, BPF_MAP_TYPE_HASH, struct service, __u32, 4096, BPF_F_NO_PREALLOC);

TABLE(rules, BPF_MAP_TYPE_ARRAY, __u32, struct rule, 1024, BPF_F_MMAPABLE);
TABLE(rates, BPF_MAP_TYPE_ARRAY, __u32, struct rate, RATES, BPF_F_MMAPABLE);
TABLE(cold_rules, BPF_MAP_TYPE_ARRAY, __u32, struct rule_cold, 1024, BPF_F_MMAPABLE);
TABLE(groups, BPF_MAP_TYPE_ARRAY, __u32, struct group, 1024, BPF_F_MMAPABLE);
/* By the index of their candidate. */
TABLE(filters, BPF_MAP_TYPE_ARRAY, __u32, struct filter, 1024, BPF_F_MMAPABLE);
TABLE(sessions, BPF_MAP_TYPE_ARRAY, __u32, struct session, 1024, BPF_F_MMAPABLE);
TABLE(buckets, BPF_MAP_TYPE_ARRAY, __u32, struct bucket, 1024, BPF_F_MMAPABLE);
/* Rates of packets that are answered, by `enum answer_bucket`: see `answer_in_user_space`. */
TABLE(answers, BPF_MAP_TYPE_ARRAY, __u32, struct bucket, ANSWER_BUCKETS, BPF_F_MMAPABLE);
/* By the TEID of a UE: when it may send SOLICITATIONS Router Solicitations again, in ns. */
TABLE(solicitations, BPF_MAP_TYPE_LRU_HASH, __be32, __u64, 4096, 0);
/* Bytes left of a volume threshold or quota. */
TABLE(limits, BPF_MAP_TYPE_ARRAY, __u32, __s64, 1024, BPF_F_MMAPABLE);

TABLE(stats, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct stats, 1, 0);
/* A direct-mapped cache of next hops. */
#define HOPS 1024
TABLE(hops, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct hop, HOPS, 0);
/* Interfaces that packets may be redirected to. */
TABLE(ports, BPF_MAP_TYPE_HASH, __u32, __u32, 64, 0);

/* NAT flow table. Lines 0 and 1 are unused. The keyed lines follow in pairs, then overflow entries,
 * which `nat_by_key` finds and `nat_free` recycles. */
TABLE(nat_lines, BPF_MAP_TYPE_ARRAY, __u32, struct nat_line, 4, BPF_F_MMAPABLE);
/* Entries in use for each block of lines, so that user space skips empty blocks. */
#define NAT_BLOCK 64
TABLE(nat_blocks, BPF_MAP_TYPE_ARRAY, __u32, __u32, 1, BPF_F_MMAPABLE);
TABLE(nat_by_key, BPF_MAP_TYPE_HASH, struct nat_key, __u32, 1, BPF_F_NO_PREALLOC);
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__uint(value_size, 4);
} nat_free SEC(".maps");
/* Flows that a CPU is creating. */
TABLE(nat_creating, BPF_MAP_TYPE_HASH, struct nat_key, __u32, 1024, 0);
/* Bindings by the UE's end and by the public end. */
TABLE(nat_of_ue, BPF_MAP_TYPE_HASH, struct nat_end, struct nat_binding, 1, BPF_F_NO_PREALLOC);
TABLE(nat_of_public, BPF_MAP_TYPE_HASH, struct nat_end, struct nat_binding, 1, BPF_F_NO_PREALLOC);
TABLE(nat_fragments, BPF_MAP_TYPE_LRU_HASH, struct nat_fragment, struct nat_fragment_owner, 4096,
      0);
/* The datagrams of each session, and what is being noted, as for `fragments`. */
TABLE(nat_fragment_slots, BPF_MAP_TYPE_LRU_HASH, struct fragment_slot, struct nat_fragment, 4096,
      0);
TABLE(nat_fragment_keys, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct nat_fragment_keys, 1, 0);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} events SEC(".maps");

/* AF_XDP sockets, their index by interface and queue, and their fill levels. Frames that find no
 * socket go into the ring. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, SOCKETS);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");
TABLE(socket_of, BPF_MAP_TYPE_HASH, struct socket_key, __u32, SOCKETS, 0);
TABLE(socket_queues, BPF_MAP_TYPE_ARRAY, __u32, struct socket_queue, SOCKETS, BPF_F_MMAPABLE);

/* RCU grace period: an update returns once all programs that ran before have ended. */
struct grace_inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} grace_slot SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct grace_inner);
} grace_period SEC(".maps") = { .values = { &grace_slot } };

const volatile struct settings settings;

/* A key of tables with one entry, which takes no stack. */
const volatile __u32 only_entry = 0;

volatile struct globals globals = { .generation = 1, .ue4_low = 0xffffffff };

/* Types that user space needs and no map or variable uses. */
struct shared_types {
	struct event event;
	struct verdict verdict;
	enum rule_flag rule_flag;
	enum filter_flag filter_flag;
	enum drop drop;
	enum nat_state nat_state;
	enum event_kind event_kind;
	enum packet_argument packet_argument;
};
struct shared_types shared_types SEC(".data.types");
