/* Exact-match tables that replace DPDK's.
 *
 * A lookup of DPDK takes three steps with other packets in between, each of which costs an
 * instruction of the interpreter. It reads a bucket, a key and the action's data at three
 * addresses. Here a bucket contains its keys. A large table takes three short steps, so that memory
 * is fetched while other packets are processed; smaller tables take fewer. */
#include "internal.h"
#include <errno.h>
#include <string.h>
#include <rte_malloc.h>
#include <rte_prefetch.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#define crc32c(initial, value) _mm_crc32_u64(initial, value)
#elif defined(__aarch64__)
#include <arm_acle.h>
#define crc32c(initial, value) __crc32cd(initial, value)
#else
#error "the instruction for CRC32C is known for x86-64 and arm64 only"
#endif

#define KEYS 4
/* Tables up to this size are looked up in one step; up to the next size in two, without a step for
 * the action's data. */
#define TINY 64
#define SMALL 4096
/* Key size in bytes. */
#define LONGEST 8

/* Keys fill a chain of buckets from its start, without gaps. */
struct bucket {
	uint64_t keys[KEYS];
	uint32_t entries[KEYS]; /* 0: none */
	uint32_t next;			/* 0: none, else the index of an extension bucket plus one */
	uint32_t unused[3];
} __rte_cache_aligned;

struct exact {
	uint32_t key_offset, key_size, data_size, data_shift;
	uint32_t mask;
	/* Steps of a lookup. */
	uint32_t steps;
	struct bucket *buckets, *extensions;
	uint8_t *data;
	uint32_t *free_entries, *free_extensions;
	uint32_t n_free_entries, n_free_extensions;
};

/* The state of one packet's lookup. */
struct mailbox {
	struct bucket *bucket;
	uint64_t key;
	uint32_t entry;
	uint32_t step;
};

static uint64_t key_of(const uint8_t *at, uint32_t size)
{
	uint64_t key = 0;
	uint32_t word;

	switch (size) {
	case 4:
		memcpy(&word, at, 4);
		return word;
	case 8:
		memcpy(&key, at, 8);
		return key;
	default:
		while (size-- > 0)
			key = key << 8 | at[size];
		return key;
	}
}

static struct bucket *bucket_of(const struct exact *t, uint64_t key)
{
	return &t->buckets[crc32c(0, key) & t->mask];
}

static struct bucket *next_of(const struct exact *t, const struct bucket *b)
{
	return b->next ? &t->extensions[b->next - 1] : NULL;
}

static uint64_t *data_of(const struct exact *t, uint32_t entry)
{
	return (uint64_t *)(void *)&t->data[(uint64_t)(entry - 1) << t->data_shift];
}

/* The entry of a key in a chain of buckets; 0 if there is none. */
static inline uint32_t find(const struct exact *t, const struct bucket *b, uint64_t key)
{
	uint32_t i;

	for (; b; b = next_of(t, b))
		for (i = 0; i < KEYS; i++)
			if (b->keys[i] == key && b->entries[i])
				return b->entries[i];
	return 0;
}

static uint64_t lay_out(const struct rte_swx_table_params *params, struct exact *t)
{
	uint64_t buckets = rte_align64pow2((params->n_keys_max + 1) / 2),
			 extensions = params->n_keys_max / KEYS + 1, at = 0;
	uint64_t data = rte_align64pow2(params->action_data_size + 8);
	uint8_t *base = (uint8_t *)t;

#define ALLOCATE(field, bytes) \
	do { \
		if (t) \
			t->field = (void *)(base + at); \
		at += RTE_CACHE_LINE_ROUNDUP(bytes); \
	} while (0)
	at += RTE_CACHE_LINE_ROUNDUP(sizeof(struct exact));
	ALLOCATE(buckets, buckets * sizeof(struct bucket));
	ALLOCATE(extensions, extensions * sizeof(struct bucket));
	ALLOCATE(data, (uint64_t)params->n_keys_max * data);
	ALLOCATE(free_entries, (uint64_t)params->n_keys_max * 4);
	ALLOCATE(free_extensions, extensions * 4);
#undef ALLOCATE
	if (t) {
		t->mask = (uint32_t)buckets - 1;
		t->data_shift = (uint32_t)__builtin_ctzll(data);
		/* The lowest indexes are taken first. */
		while (t->n_free_entries < params->n_keys_max) {
			t->free_entries[t->n_free_entries] = params->n_keys_max - t->n_free_entries;
			t->n_free_entries++;
		}
		while (t->n_free_extensions < extensions) {
			t->free_extensions[t->n_free_extensions] = (uint32_t)extensions - t->n_free_extensions;
			t->n_free_extensions++;
		}
	}
	return at;
}

static int add(void *table, struct rte_swx_table_entry *entry)
{
	struct exact *t = table;
	uint64_t key = key_of(entry->key, t->key_size), *data;
	struct bucket *b = bucket_of(t, key), *last;
	uint32_t at = find(t, b, key), i;

	if (!at) {
		if (!t->n_free_entries)
			return -ENOSPC;
		for (last = b; last; last = next_of(t, last))
			b = last;
		for (i = 0; i < KEYS && b->entries[i]; i++)
			;
		if (i == KEYS) {
			/* One bucket per four keys: chains without gaps never need more. */
			b->next = t->free_extensions[--t->n_free_extensions];
			b = next_of(t, b);
			memset(b, 0, sizeof(*b));
			i = 0;
		}
		at = t->free_entries[--t->n_free_entries];
		b->keys[i] = key;
		b->entries[i] = at;
	}
	data = data_of(t, at);
	data[0] = entry->action_id;
	if (t->data_size && entry->action_data)
		memcpy(&data[1], entry->action_data, t->data_size);
	return 0;
}

static int del(void *table, struct rte_swx_table_entry *entry)
{
	struct exact *t = table;
	uint64_t key = key_of(entry->key, t->key_size);
	struct bucket *b = bucket_of(t, key), *last, *before = NULL;
	uint32_t i, end;

	for (; b; b = next_of(t, b))
		for (i = 0; i < KEYS; i++)
			if (b->keys[i] == key && b->entries[i])
				goto found;
	return 0;
found:
	t->free_entries[t->n_free_entries++] = b->entries[i];
	/* The last entry of the chain replaces it. */
	for (last = bucket_of(t, key); last->next; last = next_of(t, last))
		before = last;
	for (end = KEYS - 1; end > 0 && !last->entries[end]; end--)
		;
	b->keys[i] = last->keys[end];
	b->entries[i] = last->entries[end];
	last->entries[end] = 0;
	if (!end && before) {
		t->free_extensions[t->n_free_extensions++] = before->next;
		before->next = 0;
	}
	return 0;
}

static void free_table(void *table)
{
	rte_free(table);
}

static void *create(struct rte_swx_table_params *params, struct rte_swx_table_entry_list *entries,
	const char *args, int numa_node)
{
	struct rte_swx_table_entry *entry;
	struct exact *t;

	(void)args;
	if (params->match_type != RTE_SWX_TABLE_MATCH_EXACT || !params->key_size ||
		params->key_size > LONGEST || !params->n_keys_max)
		return NULL;
	t = rte_zmalloc_socket(NULL, lay_out(params, NULL), RTE_CACHE_LINE_SIZE, numa_node);
	if (!t)
		return NULL;
	lay_out(params, t);
	t->key_offset = params->key_offset;
	t->key_size = params->key_size;
	t->data_size = params->action_data_size;
	t->steps = params->n_keys_max <= TINY ? 1 : params->n_keys_max <= SMALL ? 2 : 3;
	if (entries)
		TAILQ_FOREACH(entry, entries, node)
	if (add(t, entry)) {
		free_table(t);
		return NULL;
	}
	return t;
}

static uint64_t footprint(
	struct rte_swx_table_params *params, struct rte_swx_table_entry_list *entries, const char *args)
{
	(void)entries;
	(void)args;
	return lay_out(params, NULL);
}

static uint64_t mailbox_size(void)
{
	return sizeof(struct mailbox);
}

static inline void give(const struct exact *t, uint32_t entry, uint64_t *action, uint8_t **data,
	size_t *entry_id, int *hit)
{
	uint64_t *at = data_of(t, entry);

	*action = at[0];
	*data = (uint8_t *)&at[1];
	*entry_id = entry - 1;
	*hit = 1;
}

static int look_up(void *table, void *mailbox, uint8_t **key, uint64_t *action, uint8_t **data,
	size_t *entry_id, int *hit)
{
	struct exact *t = table;
	struct mailbox *m = mailbox;

	if (m->step == 0) {
		uint64_t wanted = key_of(*key + t->key_offset, t->key_size);
		struct bucket *b = bucket_of(t, wanted);

		if (t->steps > 1) {
			rte_prefetch0(b);
			m->bucket = b;
			m->key = wanted;
			m->step = 1;
			return 0;
		}
		m->entry = find(t, b, wanted);
	} else if (m->step == 1) {
		m->entry = find(t, m->bucket, m->key);
		if (m->entry && t->steps > 2) {
			rte_prefetch0(data_of(t, m->entry));
			m->step = 2;
			return 0;
		}
	}
	m->step = 0;
	*hit = 0;
	if (m->entry)
		give(t, m->entry, action, data, entry_id, hit);
	return 1;
}

static const struct rte_swx_table_ops ops = {
	.footprint_get = footprint,
	.mailbox_size_get = mailbox_size,
	.create = create,
	.add = add,
	.del = del,
	.lkp = look_up,
	.free = free_table,
};

void mswx_take_exact_tables(void)
{
	rte_swx_table_exact_match_ops = ops;
}

void *mswx_exact_new(uint32_t key_size, uint32_t size)
{
	struct rte_swx_table_params params = {
		.match_type = RTE_SWX_TABLE_MATCH_EXACT,
		.key_size = key_size,
		.action_data_size = sizeof(uint64_t),
		.n_keys_max = size,
	};

	return create(&params, NULL, NULL, 0);
}

int mswx_exact_add(void *table, uint64_t key, uint64_t value)
{
	struct rte_swx_table_entry entry = {
		.key = (uint8_t *)&key, .action_id = 1, .action_data = (uint8_t *)&value};

	return add(table, &entry);
}

int mswx_exact_del(void *table, uint64_t key)
{
	struct rte_swx_table_entry entry = {.key = (uint8_t *)&key};

	return del(table, &entry);
}

int mswx_exact_find(void *table, uint64_t key, uint64_t *value)
{
	struct mailbox m = {.step = 0};
	uint8_t *at = (uint8_t *)&key, *data;
	uint64_t action;
	size_t entry;
	int hit;

	while (!look_up(table, &m, &at, &action, &data, &entry, &hit))
		;
	if (hit)
		memcpy(value, data, sizeof(*value));
	return hit;
}

void mswx_exact_free(void *table)
{
	free_table(table);
}
