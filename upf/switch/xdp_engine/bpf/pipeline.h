/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Types, tables, counters and meters that the generated C code of a P4 program uses (p4c-swx,
 * src/ebpf). */
#pragma once

#include <linux/bpf.h>
#include <stddef.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

/* Verdicts of the pipeline in addition to those of XDP. */
#define FORWARD 16
/* The parser needs bytes behind the end of the packet. */
#define TRUNCATED 17
/* No headroom. */
#define NO_HEADROOM 18

/* The packet belongs to a flow that is being released, and earlier packets of it are still held. */
#define JOIN 19

#define PORTS 8

struct port {
	u32 ifindex;
	/* Egress port of frames that must not enter the pipeline; PORTS: none. */
	u32 bypass;
};

/* Control memory, shared with user space: src/control.rs. */
struct control {
	/* The copy of the tables that packets use. User space writes the other one. */
	u32 active;
	/* The next frame to inject. */
	u32 next;
	struct port ports[PORTS];
	/* How frames of BPF_PROG_TEST_RUN are treated: one of WORK_. */
	u32 work;
	u32 unused;
};
#define WORK_INJECT 1
#define WORK_DRAIN 2
volatile struct control control SEC(".data.control");

/* The queue of held packets: src/hold.rs. */
struct queue {
	/* Twice the number of frames so far, plus one during a release. A single word, so that no
	 * packet joins the queue of a flow after its release has ended. */
	u64 joined;
	/* Frames that user space has freed, and the next one for `drain` (`programs.bpf.c`). */
	u64 head;
	u64 scan;
	/* Held frames bypass the pipeline. */
	u32 bypass;
	/* The release ends with the last frame, even if frames that `drain` sent are still in
	 * flight. */
	u32 in_batch;
	/* The mark of this release, one of MARKS: packets with other marks do not join the queue.
	 */
	u32 mark;
	u32 unused;
};
volatile struct queue queue SEC(".data.queue");

/* Capacity of the queue in frames. */
#define QUEUE 4096

#define active control.active

/* Numbers in network byte order */

#define get8(p) (*(const u8 *)(p))
#define get16(p) bpf_ntohs(*(const u16 *)(p))
#define get32(p) bpf_ntohl(*(const u32 *)(p))
#define get64(p) bpf_be64_to_cpu(*(const u64 *)(p))
#define get24(p) ((u32)get8(p) << 16 | get16((p) + 1))
#define get40(p) ((u64)get8(p) << 32 | get32((p) + 1))
#define get48(p) ((u64)get32(p) << 16 | get16((p) + 4))
#define get56(p) ((u64)get24(p) << 32 | get32((p) + 3))

static __always_inline void put8(u8 *p, u8 value)
{
	*p = value;
}

static __always_inline void put16(u8 *p, u16 value)
{
	*(u16 *)p = bpf_htons(value);
}

static __always_inline void put32(u8 *p, u32 value)
{
	*(u32 *)p = bpf_htonl(value);
}

static __always_inline void put64(u8 *p, u64 value)
{
	*(u64 *)p = bpf_cpu_to_be64(value);
}

static __always_inline void put24(u8 *p, u32 value)
{
	put8(p, value >> 16);
	put16(p + 1, value);
}

static __always_inline void put40(u8 *p, u64 value)
{
	put8(p, value >> 32);
	put32(p + 1, value);
}

static __always_inline void put48(u8 *p, u64 value)
{
	put32(p, value >> 16);
	put16(p + 4, value);
}

static __always_inline void put56(u8 *p, u64 value)
{
	put24(p, value >> 32);
	put32(p + 3, value);
}

/* The checksum of a header from the sum of its other 16-bit words (RFC 1071). Zero is sent as
 * 0xffff, as with SWX. */
static __always_inline u16 internet_checksum(u64 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~sum & 0xffff;
	return sum ? sum : 0xffff;
}

/* Tables */

#define KEYS 4
/* The highest bits of an action number: packets of this entry were held until now. Consecutive
 * releases alternate between the two marks, so that a program that read an entry at the end of one
 * release does not assign it to the next. */
#define MARKS 0xc0000000

/* Whether a packet has to wait for earlier packets of its flow, which are still held. */
static __always_inline int has_to_wait(const u32 *found, int after_release)
{
	return *found & queue.mark && !after_release && queue.joined & 1;
}

/* A deleted entry that remains while its packets join held ones. */
#define DELETED_ENTRY 0x3fffffff

static __always_inline int is_deleted(const u32 *found)
{
	return (*found & ~MARKS) == DELETED_ENTRY;
}

/* Keys with the slots of their entries, in one cache line. Slot 0: none. A key is in one of two
 * lines. */
struct line {
	u64 keys[KEYS];
	u32 slots[KEYS];
	u32 unused[4];
};

static __always_inline u32 slot_in(const struct line *line, u64 key)
{
	if (line->keys[0] == key && line->slots[0])
		return line->slots[0];
	if (line->keys[1] == key && line->slots[1])
		return line->slots[1];
	if (line->keys[2] == key && line->slots[2])
		return line->slots[2];
	if (line->keys[3] == key && line->slots[3])
		return line->slots[3];
	return 0;
}

/* The hash of a key and its two lines; as in src/exact.rs. */
static __always_inline u64 mixed(u64 key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15ull;
	return key ^ key >> 29;
}

static __always_inline u32 first_line(u64 mixed, u32 lines)
{
	return (mixed >> 32) * lines >> 32;
}

static __always_inline u32 second_line(u64 mixed, u32 lines)
{
	return ((mixed * 0xbf58476d1ce4e5b9ull) >> 32) * lines >> 32;
}

#define ARRAY(name, entries, of) \
	struct { \
		__uint(type, BPF_MAP_TYPE_ARRAY); \
		__uint(map_flags, BPF_F_MMAPABLE); \
		__uint(max_entries, entries); \
		__type(key, u32); \
		__type(value, of); \
	} name SEC(".maps")

/* Per-CPU memory; user space sets the size of the map. */
#define PER_CPU(name, of) \
	ARRAY(name, 1, of); \
	static __always_inline of *name##_of_cpu(void) \
	{ \
		u32 cpu = bpf_get_smp_processor_id(); \
\
		return bpf_map_lookup_elem(&name, &cpu); \
	}

#define LOOK_UP_TABLE(name, lines, slots, bytes) \
	struct value_##name { \
		u64 words[(bytes) / 8]; \
	}; \
	ARRAY(name##_lines, 2 * (lines), struct line); \
	ARRAY(name##_slots, 2 * ((slots) + 1), struct value_##name); \
	static __always_inline u32 slot_of_##name(u32 copy, u64 key) \
	{ \
		u64 hash = mixed(key); \
		u32 at = copy * (lines) + first_line(hash, lines), slot; \
		const struct line *line = bpf_map_lookup_elem(&name##_lines, &at); \
\
		if (!line) \
			return 0; \
		slot = slot_in(line, key); \
		if (slot) \
			return slot; \
		at = copy * (lines) + second_line(hash, lines); \
		line = bpf_map_lookup_elem(&name##_lines, &at); \
		return line ? slot_in(line, key) : 0; \
	} \
	static __always_inline const void *default_of_##name(u32 copy) \
	{ \
		u32 at = copy * ((slots) + 1); \
\
		return bpf_map_lookup_elem(&name##_slots, &at); \
	}

/* Keys of up to 64 bits, stored directly. */
#define EXACT_TABLE(name, lines, slots, bytes) \
	LOOK_UP_TABLE(name, lines, slots, bytes) \
	static __always_inline const void *find_##name(u32 copy, u64 key) \
	{ \
		u32 slot = slot_of_##name(copy, key); \
\
		if (!slot) \
			return NULL; \
		slot += copy * ((slots) + 1); \
		return bpf_map_lookup_elem(&name##_slots, &slot); \
	}

/* Ternary tables */

/* Maximum entries of a list. A list contains the entries with one value of the key's first field,
 * or those that mask the field, by priority: src/table.rs. */
#define LONGEST_LIST 256
#define WORDS 3

struct listed {
	u64 values[WORDS];
	u64 masks[WORDS];
	u32 priority;
	u32 slot;
};

struct list {
	u32 first;
	u32 entries;
};

#define MASKED_TABLE(name, lines, slots, bytes) \
	LOOK_UP_TABLE(name, lines, slots, bytes) \
	ARRAY(name##_heads, 2 * ((slots) + 1), struct list); \
	ARRAY(name##_listed, 2 * ((slots) + 1), struct listed); \
	/* Slot and priority of the first entry of a list that matches. */ \
	__noinline u64 first_of_##name(u32 head, u32 base, u64 a, u64 b, u64 c) \
	{ \
		const struct list *list = bpf_map_lookup_elem(&name##_heads, &head); \
		u32 i, first, entries; \
\
		if (!list) \
			return ~0ull; \
		first = base + list->first; \
		entries = list->entries; \
		for (i = 0; i < LONGEST_LIST; i++) { \
			u32 at = first + i; \
			const struct listed *e; \
\
			if (i >= entries) \
				break; \
			e = bpf_map_lookup_elem(&name##_listed, &at); \
			if (!e) \
				break; \
			if ((a & e->masks[0]) == e->values[0] && (b & e->masks[1]) == e->values[1] && \
				(c & e->masks[2]) == e->values[2]) \
				return (u64)e->priority << 32 | e->slot; \
		} \
		return ~0ull; \
	} \
	static __always_inline const void *find_in_##name(u32 copy, u64 a, u64 b, u64 c) \
	{ \
		u32 base = copy * ((slots) + 1), slot = slot_of_##name(copy, a >> FIRST_SHIFT_##name); \
		u64 best = first_of_##name(base, base, a, b, c), other = ~0ull; \
\
		if (slot) \
			other = first_of_##name(base + slot, base, a, b, c); \
		if (other < best) \
			best = other; \
		if (best == ~0ull) \
			return NULL; \
		slot = base + (u32)best; \
		return bpf_map_lookup_elem(&name##_slots, &slot); \
	}

#define MASKED_TABLE_1(name, lines, slots, bytes) \
	MASKED_TABLE(name, lines, slots, bytes) \
	static __always_inline const void *find_##name(u32 copy, u64 a) \
	{ \
		return find_in_##name(copy, a, 0, 0); \
	}

#define MASKED_TABLE_2(name, lines, slots, bytes) \
	MASKED_TABLE(name, lines, slots, bytes) \
	static __always_inline const void *find_##name(u32 copy, u64 a, u64 b) \
	{ \
		return find_in_##name(copy, a, b, 0); \
	}

#define MASKED_TABLE_3(name, lines, slots, bytes) \
	MASKED_TABLE(name, lines, slots, bytes) \
	static __always_inline const void *find_##name(u32 copy, u64 a, u64 b, u64 c) \
	{ \
		return find_in_##name(copy, a, b, c); \
	}

/* Counters and meters */

struct count {
	u64 packets;
	u64 bytes;
};

/* Per-CPU counters, one array after the other; user space sets the size of the map. Updates need no
 * atomics, since programs run non-preemptibly. */
#define COUNTER(name, size, number) \
	ARRAY(name##_counter, size, struct count); \
	static __always_inline void count_##name(u32 index, u64 bytes) \
	{ \
		u32 at = bpf_get_smp_processor_id() * (size) + index; \
		struct count *count; \
\
		if (index >= (size)) \
			return; \
		count = bpf_map_lookup_elem(&name##_counter, &at); \
		if (!count) \
			return; \
		*(volatile u64 *)&count->packets += 1; \
		*(volatile u64 *)&count->bytes += bytes; \
	}

#define GREEN 0
#define RED 2

/* A token bucket, stored as the time at which it will be full in 1/16 ns; per_byte is in 1/65536 of
 * that. Rate 0: unlimited. */
struct meter {
	u64 full_at;
	u64 per_byte;
	u64 burst;
	u64 unused;
};

/* Retries of a contended bucket. */
#define TRIES 4

static __always_inline u8 metered(struct meter *meter, u64 bytes)
{
	u64 cost = bytes * meter->per_byte >> 16, now, full_at;
	int i;

	if (!meter->per_byte)
		return GREEN;
	now = bpf_ktime_get_ns() << 4;
	full_at = *(volatile u64 *)&meter->full_at;
#pragma unroll
	for (i = 0; i < TRIES; i++) {
		u64 from = full_at > now ? full_at : now, seen;

		if (from + cost - now > meter->burst)
			return RED;
		seen = __sync_val_compare_and_swap(&meter->full_at, full_at, from + cost);
		if (seen == full_at)
			return GREEN;
		full_at = seen;
	}
	__sync_fetch_and_add(&meter->full_at, cost);
	return GREEN;
}

#define METER(name, size) \
	ARRAY(name##_meter, size, struct meter); \
	static __always_inline u8 meter_##name(u32 index, u64 bytes) \
	{ \
		struct meter *meter = bpf_map_lookup_elem(&name##_meter, &index); \
\
		return meter ? metered(meter, bytes) : GREEN; \
	}
