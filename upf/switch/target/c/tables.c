/* Changes of tables while packets pass. See switch.h. */
#include "internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* After tables were swapped, no packet uses the old ones once this many instructions were executed:
 * at most 16 packets are in flight, and none takes 1,024 instructions. */
#define GRACE_INSTRUCTIONS (16 * 1024)

/* Writes the lowest `bits` of a number, in network byte order or host byte order. */
static void put(uint8_t *to, uint64_t value, uint32_t bits, int network)
{
	uint32_t bytes = bits / 8, i;

	for (i = 0; i < bytes; i++)
		to[network ? bytes - 1 - i : i] = (uint8_t)(value >> (8 * i));
}

/* Memory for an entry in the format of SWX. */
struct encoded {
	struct rte_swx_table_entry entry;
	uint8_t key[MSWX_KEY];
	uint8_t mask[MSWX_KEY];
	uint8_t data[MSWX_DATA];
};

static int encode_action(
	const struct mswx *m, uint32_t action, const uint64_t *arguments, uint8_t *data)
{
	const struct mswx_action *a = &m->actions[action];
	uint32_t i, at = 0;

	if (action >= m->info.n_actions)
		return -EINVAL;
	memset(data, 0, MSWX_DATA);
	for (i = 0; i < a->info.n_args; i++) {
		put(&data[at], arguments[i], a->arguments[i].n_bits, a->arguments[i].is_network_byte_order);
		at += a->arguments[i].n_bits / 8;
	}
	return 0;
}

static int encode(
	const struct mswx *m, uint32_t table, const struct mswx_entry *from, struct encoded *to)
{
	const struct mswx_a_table *t = &m->tables[table];
	uint32_t i;

	memset(to, 0, sizeof(*to));
	for (i = 0; i < t->info.n_match_fields; i++) {
		uint32_t at = (t->fields[i].offset - t->first) / 8;

		put(&to->key[at], from->values[i], t->fields[i].n_bits, t->fields[i].is_header);
		put(&to->mask[at], from->masks ? from->masks[i] : UINT64_MAX, t->fields[i].n_bits,
			t->fields[i].is_header);
	}
	to->entry.key = to->key;
	to->entry.key_mask = from->masks ? to->mask : NULL;
	to->entry.key_priority = from->priority;
	to->entry.action_id = from->action;
	to->entry.action_data = to->data;
	return encode_action(m, from->action, from->arguments, to->data);
}

/* Applies one change to one copy of the tables. */
static int change(
	struct mswx *m, struct rte_swx_table_state *state, const struct mswx_change *c, int back)
{
	const struct mswx_entry *after = back ? c->before : c->after,
							*before = back ? c->after : c->before;
	struct encoded e;
	int status;

	if (c->table >= m->info.n_tables || !m->tables[c->table].ops.add || (!after && !before))
		return -EINVAL;
	status = encode(m, c->table, after ? after : before, &e);
	if (status)
		return status;
	return after ? m->tables[c->table].ops.add(state[c->table].obj, &e.entry)
				 : m->tables[c->table].ops.del(state[c->table].obj, &e.entry);
}

static void *rebuilt(struct mswx *m, const struct mswx_rebuild *r)
{
	struct mswx_a_table *t = &m->tables[r->table];
	struct rte_swx_table_entry_list list;
	struct encoded *all = NULL;
	void *made = NULL;
	uint32_t i;

	TAILQ_INIT(&list);
	if (r->count) {
		all = calloc(r->count, sizeof(*all));
		if (!all)
			return NULL;
	}
	for (i = 0; i < r->count; i++) {
		if (encode(m, r->table, &r->entries[i], &all[i]))
			goto out;
		TAILQ_INSERT_TAIL(&list, &all[i].entry, node);
	}
	made = t->ops.create(&t->params, &list, t->info.args, 0);
out:
	free(all);
	return made;
}

/* Waits until no packet uses the previous tables. */
static void wait_for_packets(struct mswx *m)
{
	uint64_t from = __atomic_load_n(&m->executed, __ATOMIC_SEQ_CST);

	while (__atomic_load_n(&m->running, __ATOMIC_SEQ_CST) &&
		   !__atomic_load_n(&m->parked, __ATOMIC_SEQ_CST) &&
		   __atomic_load_n(&m->executed, __ATOMIC_SEQ_CST) - from < GRACE_INSTRUCTIONS)
		usleep(5);
}

int mswx_commit(struct mswx *m, const struct mswx_change *changes, uint32_t n,
	const struct mswx_rebuild *rebuilds, uint32_t n_rebuilds, uint32_t *failed)
{
	void *made[MSWX_TABLES] = {NULL};
	struct rte_swx_table_state *old;
	uint32_t i, r = 0;
	int status = 0;

	for (i = 0; i < n; i++) {
		status = change(m, m->next, &changes[i], 0);
		if (status) {
			*failed = i;
			goto back;
		}
	}
	for (; r < n_rebuilds; r++) {
		made[r] = rebuilt(m, &rebuilds[r]);
		if (!made[r] && rebuilds[r].count) {
			*failed = n + r;
			status = -ENOMEM;
			goto back;
		}
	}
	for (i = 0; i < n_rebuilds; i++)
		m->next[rebuilds[i].table].obj = made[i];
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	rte_swx_pipeline_table_state_set(m->p, m->next);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	wait_for_packets(m);
	old = m->now;
	m->now = m->next;
	m->next = old;
	/* A change that succeeded on one copy succeeds on the other. */
	for (i = 0; i < n; i++)
		change(m, m->next, &changes[i], 0);
	for (i = 0; i < n_rebuilds; i++) {
		uint32_t table = rebuilds[i].table;

		if (m->next[table].obj)
			m->tables[table].ops.free(m->next[table].obj);
		m->next[table].obj = m->now[table].obj;
	}
	return 0;
back:
	while (i-- > 0)
		change(m, m->next, &changes[i], 1);
	while (r-- > 0)
		if (made[r])
			m->tables[rebuilds[r].table].ops.free(made[r]);
	return status;
}

int mswx_default(struct mswx *m, uint32_t table, uint32_t action, const uint64_t *arguments)
{
	uint8_t data[MSWX_DATA];
	struct rte_swx_table_state *old;
	int round, status;

	if (table >= m->info.n_tables)
		return -EINVAL;
	status = encode_action(m, action, arguments, data);
	if (status)
		return status;
	for (round = 0; round < 2; round++) {
		m->next[table].default_action_id = action;
		if (m->next[table].default_action_data)
			memcpy(
				m->next[table].default_action_data, data, m->tables[table].params.action_data_size);
		if (round)
			break;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		rte_swx_pipeline_table_state_set(m->p, m->next);
		wait_for_packets(m);
		old = m->now;
		m->now = m->next;
		m->next = old;
	}
	return 0;
}
