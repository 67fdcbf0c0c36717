/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The tables. User space sets their sizes before they are made. Those with BPF_F_MMAPABLE it writes as its own memory. */
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

/* Entrances: TEID, IPv4 address and IPv6 prefix of a UE. Where the first two lead to one rule alone, that lies at the place
 * that the key itself says, if there is room. Others are looked up in cells, which user space writes; what has no room there
 * is in a table of the kernel. */
TABLE(teid_cells, BPF_MAP_TYPE_ARRAY, __u32, struct cells, 1024, BPF_F_MMAPABLE);
TABLE(ue4_cells, BPF_MAP_TYPE_ARRAY, __u32, struct cells, 1024, BPF_F_MMAPABLE);
TABLE(by_teid, BPF_MAP_TYPE_HASH, __be32, __u32, 1024, BPF_F_NO_PREALLOC);
TABLE(by_ue4, BPF_MAP_TYPE_HASH, __be32, __u32, 1024, BPF_F_NO_PREALLOC);
TABLE(by_ue6, BPF_MAP_TYPE_HASH, __be64, __u32, 1024, BPF_F_NO_PREALLOC);

/* The same for networks behind UEs. */
TABLE(routes4, BPF_MAP_TYPE_LPM_TRIE, struct route4, __u32, 1024, BPF_F_NO_PREALLOC);
TABLE(routes6, BPF_MAP_TYPE_LPM_TRIE, struct route6, __u32, 1024, BPF_F_NO_PREALLOC);

TABLE(rules, BPF_MAP_TYPE_ARRAY, __u32, struct rule, 1024, BPF_F_MMAPABLE);
TABLE(rates, BPF_MAP_TYPE_ARRAY, __u32, struct rate, RATES, BPF_F_MMAPABLE);
TABLE(cold_rules, BPF_MAP_TYPE_ARRAY, __u32, struct rule_cold, 1024, BPF_F_MMAPABLE);
TABLE(groups, BPF_MAP_TYPE_ARRAY, __u32, struct group, 1024, BPF_F_MMAPABLE);
/* By the place of their candidate. */
TABLE(filters, BPF_MAP_TYPE_ARRAY, __u32, struct filter, 1024, BPF_F_MMAPABLE);
TABLE(sessions, BPF_MAP_TYPE_ARRAY, __u32, struct session, 1024, BPF_F_MMAPABLE);
/* The first one is for packets that user space gets to see though nobody asked for them: see `answer_in_user_space`. */
TABLE(buckets, BPF_MAP_TYPE_ARRAY, __u32, struct bucket, 1024, BPF_F_MMAPABLE);
/* Bytes that are left of a volume threshold or quota. */
TABLE(limits, BPF_MAP_TYPE_ARRAY, __u32, __s64, 1024, BPF_F_MMAPABLE);

TABLE(stats, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct stats, 1, 0);
/* A direct-mapped cache of next hops. */
#define HOPS 1024
TABLE(hops, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct hop, HOPS, 0);
/* Interfaces to which packets may be redirected. */
TABLE(ports, BPF_MAP_TYPE_HASH, __u32, __u32, 64, 0);

/* Directions of translated flows. The first two lines are nobody's; then come those that keys say, in pairs, and then others,
 * which `nat_by_key` leads to; of those that are free again, `nat_free` has the places. */
TABLE(nat_lines, BPF_MAP_TYPE_ARRAY, __u32, struct nat_line, 4, BPF_F_MMAPABLE);
/* How many places are taken of so many lines that follow each other. */
#define NAT_BLOCK 64
TABLE(nat_blocks, BPF_MAP_TYPE_ARRAY, __u32, __u32, 1, BPF_F_MMAPABLE);
TABLE(nat_by_key, BPF_MAP_TYPE_HASH, struct nat_key, __u32, 1, BPF_F_NO_PREALLOC);
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 1);
	__uint(value_size, 4);
} nat_free SEC(".maps");
/* Flows that a processor is making. */
TABLE(nat_creating, BPF_MAP_TYPE_HASH, struct nat_key, __u32, 1024, 0);
/* Bindings by the UE's end, and by the public one. */
TABLE(nat_of_ue, BPF_MAP_TYPE_HASH, struct nat_end, struct nat_binding, 1, BPF_F_NO_PREALLOC);
TABLE(nat_of_public, BPF_MAP_TYPE_HASH, struct nat_end, struct nat_binding, 1, BPF_F_NO_PREALLOC);
TABLE(nat_fragments, BPF_MAP_TYPE_LRU_HASH, struct nat_fragment, struct nat_fragment_owner, 4096, 0);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 24);
} events SEC(".maps");

/* Sockets that take frames for user space, where they are, and what room is in them. What finds none goes into the ring. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, SOCKETS);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");
TABLE(socket_of, BPF_MAP_TYPE_HASH, struct socket_key, __u32, SOCKETS, 0);
TABLE(socket_queues, BPF_MAP_TYPE_ARRAY, __u32, struct socket_queue, SOCKETS, BPF_F_MMAPABLE);

/* An update of it returns once every program that ran before has ended. */
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

volatile struct globals globals = { .generation = 1, .ue4_low = 0xffffffff };

/* The types that user space needs, and that neither a table nor a variable has. */
struct shared_types {
	struct event event;
	struct verdict verdict;
	enum rule_flag rule_flag;
	enum filter_flag filter_flag;
	enum drop drop;
	enum nat_state nat_state;
	enum event_kind event_kind;
};
struct shared_types shared_types SEC(".data.types");
