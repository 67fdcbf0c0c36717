/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the text of a P4 program names (p4c-swx, src/ebpf): octets in the order of packets, tables,
 * counters and meters. */
#pragma once

#include <linux/bpf.h>
#include <stddef.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

/* What the pipeline gives, beside the actions of XDP. */
#define LEAVES 16
/* A header goes on behind the end of the packet. */
#define CUT_OFF 17
/* No room in front of the packet. */
#define NO_ROOM 18

/* A released flow's packet, before which others were given to user space. */
#define IN_TURN 19

#define PORTS 8

struct port {
	u32 ifindex;
	/* Where frames go that the pipeline must not see; PORTS is nowhere. */
	u32 bypass;
};

/* What user space says, in its memory, too: src/control.rs. */
struct control {
	/* Which copy of the tables packets meet. User space writes the other one. */
	u32 active;
	/* The next frame of ours. */
	u32 next;
	struct port ports[PORTS];
	/* What is done with frames that the kernel runs a program on for user space: of WORK_. */
	u32 work;
	u32 unused;
};
#define WORK_AGAIN 1
#define WORK_DRAIN 2
volatile struct control control SEC(".data.control");

/* The queue of packets that wait: src/hold.rs. */
struct queue {
	/* Twice the frames that were ever put into it, and one more while flows are handed over that
	 * have just been released: one word, so that nobody joins the queue of a flow whose packets
	 * pass from then on. */
	u64 joined;
	/* Frames that user space has done with, and the next one for `drain` (`programs.bpf.c`). */
	u64 head;
	u64 scan;
	/* They take the way without the pipeline. */
	u32 past;
	/* The hand-over ends with the last frame, though what `drain` has sent may not have left yet.
	 */
	u32 in_batch;
	/* Of MARKS, that of the hand-over: packets of others do not join its queue. */
	u32 mark;
	u32 unused;
};
volatile struct queue queue SEC(".data.queue");

/* Frames in it. */
#define QUEUE 4096

#define active control.active

/* Octets in the order of packets */

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

/* Of the sum of a header's 16-bit words, without the one that this goes into (RFC 1071). A header
 * that all is zero in has 0xffff, as with SWX. */
static __always_inline u16 internet_checksum(u64 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~sum & 0xffff;
	return sum ? sum : 0xffff;
}

/* Tables */

#define KEYS 4
/* The highest bits of an action's number: packets of this entry waited until now. One hand-over has
 * the one, the next the other, so that a program that has met an entry at the end of one does not
 * take it for one of the next. */
#define MARKS 0xc0000000

/* Whether a packet that meets an entry has to wait for others of its flow, which user space still
 * has. */
static __always_inline int waits_for_others(const u32 *found, int past_turn)
{
	return *found & queue.mark && !past_turn && queue.joined & 1;
}

/* An entry that is no longer there, but for packets that join others which it had wait. */
#define GONE_ENTRY 0x3fffffff

static __always_inline int is_gone(const u32 *found)
{
	return (*found & ~MARKS) == GONE_ENTRY;
}

/* Keys, and the slots of their entries: one line of the cache. Slot 0 is none. A key is in one of
 * two lines. */
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

/* The lines of a key, of so many; as src/exact.rs has it. */
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

/* Memory of each processor; user space makes the map as large as it takes. */
#define OF_PROCESSORS(name, of) \
	ARRAY(name, 1, of); \
	static __always_inline of *name##_here(void) \
	{ \
		u32 processor = bpf_get_smp_processor_id(); \
\
		return bpf_map_lookup_elem(&name, &processor); \
	}

#define LOOK_UP_TABLE(name, lines, slots, octets) \
	struct value_##name { \
		u64 words[(octets) / 8]; \
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

/* Keys of up to 64 bits, as they are. */
#define EXACT_TABLE(name, lines, slots, octets) \
	LOOK_UP_TABLE(name, lines, slots, octets) \
	static __always_inline const void *find_##name(u32 copy, u64 key) \
	{ \
		u32 slot = slot_of_##name(copy, key); \
\
		if (!slot) \
			return NULL; \
		slot += copy * ((slots) + 1); \
		return bpf_map_lookup_elem(&name##_slots, &slot); \
	}

/* Tables with masks */

/* Most entries of one list. A list has the entries with one value of the key's first field, or
 * those with a mask there, in the order of their priorities: src/masked.rs. */
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

#define MASKED_TABLE(name, lines, slots, octets) \
	LOOK_UP_TABLE(name, lines, slots, octets) \
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

#define MASKED_TABLE_1(name, lines, slots, octets) \
	MASKED_TABLE(name, lines, slots, octets) \
	static __always_inline const void *find_##name(u32 copy, u64 a) \
	{ \
		return find_in_##name(copy, a, 0, 0); \
	}

#define MASKED_TABLE_2(name, lines, slots, octets) \
	MASKED_TABLE(name, lines, slots, octets) \
	static __always_inline const void *find_##name(u32 copy, u64 a, u64 b) \
	{ \
		return find_in_##name(copy, a, b, 0); \
	}

#define MASKED_TABLE_3(name, lines, slots, octets) \
	MASKED_TABLE(name, lines, slots, octets) \
	static __always_inline const void *find_##name(u32 copy, u64 a, u64 b, u64 c) \
	{ \
		return find_in_##name(copy, a, b, c); \
	}

/* Counters and meters */

struct count {
	u64 packets;
	u64 octets;
};

/* Each processor has counters of its own, one array behind the other (user space makes the map as
 * large as that takes), and nobody comes between: programs run where nothing else gets the
 * processor. */
#define COUNTER(name, size, number) \
	ARRAY(name##_counter, size, struct count); \
	static __always_inline void count_##name(u32 index, u64 octets) \
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
		*(volatile u64 *)&count->octets += octets; \
	}

#define GREEN 0
#define RED 2

/* A bucket of tokens, as the time at which it will be full, in sixteenths of a nanosecond;
 * per_octet is in 65536ths of that. Without a rate, 0, everything passes. */
struct meter {
	u64 full_at;
	u64 per_octet;
	u64 burst;
	u64 unused;
};

/* Tries of a bucket that other processors empty at the same time. */
#define TRIES 4

static __always_inline u8 metered(struct meter *meter, u64 octets)
{
	u64 cost = octets * meter->per_octet >> 16, now, full_at;
	int i;

	if (!meter->per_octet)
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
	static __always_inline u8 meter_##name(u32 index, u64 octets) \
	{ \
		struct meter *meter = bpf_map_lookup_elem(&name##_meter, &index); \
\
		return meter ? metered(meter, octets) : GREEN; \
	}
