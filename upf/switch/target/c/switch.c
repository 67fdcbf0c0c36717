/* The pipeline, its tables, and how they change while packets pass. See switch.h. */
#define _GNU_SOURCE
#include "internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_memory.h>
#include <rte_meter.h>
#include <rte_swx_port_ring.h>
#include <rte_swx_port_source_sink.h>
#include <rte_version.h>

/* After a change of tables, the packets that still look at the old ones have left when this many instructions have been
 * executed: at most 16 are under way at a time, none of which takes 1,024. */
#define GRACE_INSTRUCTIONS (16 * 1024)

/* Nanoseconds for which the loop looks for packets before it sleeps, unless told otherwise. */
#define SPIN 100000

const char *mswx_version(void)
{
	return rte_version();
}

int mswx_start(int argc, const char *const *argv)
{
	int status = rte_eal_init(argc, (char **)(uintptr_t)argv);

	mswx_take_exact_tables();
	return status < 0 ? -rte_errno : 0;
}

void mswx_enlist(void)
{
	if (rte_lcore_id() == LCORE_ID_ANY)
		rte_thread_register();
}

/* Without reserved huge pages, DPDK's memory is a file in memory, of which most systems make no large pages
 * (transparent_hugepage/shmem_enabled). Anonymous memory has them where they are asked for: it takes the file's place, with
 * what is there already. */
static int make_anonymous(const struct rte_memseg_list *list, void *unused)
{
	const struct rte_memseg *first = list->len ? rte_fbarray_get(&list->memseg_arr, 0) : NULL;
	int file = first ? rte_memseg_get_fd_thread_unsafe(first) : -1;
	uint8_t *base = list->base_va, *fresh;
	off_t at = 0, end;

	(void)unused;
	if (file >= 0) {
		fresh = mmap(NULL, list->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (fresh == MAP_FAILED)
			return 0;
		while ((at = lseek(file, at, SEEK_DATA)) >= 0 && (size_t)at < list->len) {
			end = lseek(file, at, SEEK_HOLE);
			if (end < at || (size_t)end > list->len)
				end = (off_t)list->len;
			memcpy(fresh + at, base + at, (size_t)(end - at));
			at = end;
		}
		if (mremap(fresh, list->len, list->len, MREMAP_MAYMOVE | MREMAP_FIXED, base) == MAP_FAILED)
			munmap(fresh, list->len);
	}
	if (base && list->len)
		madvise(base, list->len, MADV_HUGEPAGE);
	return 0;
}

/* Large pages without reserved ones, while nothing but DPDK itself has its memory. */
void mswx_trust_huge_pages(void)
{
	rte_memseg_list_walk(make_anonymous, NULL);
}

int mswx_new(struct mswx **out, const char *name, uint32_t buffers)
{
	struct mswx *m = calloc(1, sizeof(*m));
	uint32_t i;

	if (!m)
		return -ENOMEM;
	snprintf(m->name, sizeof(m->name), "%s", name);
	snprintf(m->pool_name, sizeof(m->pool_name), "%s_pool", name);
	for (i = 0; i < MSWX_PORTS; i++) {
		m->fds[i] = -1;
		m->bypass[i] = -1;
		snprintf(m->ring_in_names[i], sizeof(m->ring_in_names[i]), "%s_in%u", name, i);
		snprintf(m->ring_out_names[i], sizeof(m->ring_out_names[i]), "%s_out%u", name, i);
	}
	m->since_last = UINT64_MAX / 2;
	m->spin = SPIN;
	m->pool = rte_pktmbuf_pool_create(m->pool_name, buffers, 128, 0, RTE_PKTMBUF_HEADROOM + MSWX_FRAME, 0);
	if (!m->pool) {
		free(m);
		return -rte_errno;
	}
	*out = m;
	return 0;
}

static int configured(struct mswx *m)
{
	return m->p ? 0 : rte_swx_pipeline_config(&m->p, m->name, 0);
}

int mswx_struct(struct mswx *m, const char *name, const struct mswx_field *fields, uint32_t n)
{
	struct rte_swx_field_params params[64];
	uint32_t i;

	if (n > 64)
		return -E2BIG;
	for (i = 0; i < n; i++) {
		params[i].name = fields[i].name;
		params[i].n_bits = fields[i].bits;
	}
	return rte_swx_pipeline_struct_type_register(m->p, name, params, n, 0);
}

int mswx_header(struct mswx *m, const char *name, const char *of)
{
	return rte_swx_pipeline_packet_header_register(m->p, name, of);
}

int mswx_metadata(struct mswx *m, const char *of)
{
	return rte_swx_pipeline_packet_metadata_register(m->p, of);
}

int mswx_registers(struct mswx *m, const char *name, uint32_t size)
{
	return rte_swx_pipeline_regarray_config(m->p, name, size, 0);
}

int mswx_meters(struct mswx *m, const char *name, uint32_t size)
{
	return rte_swx_pipeline_metarray_config(m->p, name, size);
}

int mswx_action(struct mswx *m, const char *name, const char *arguments, const char **instructions, uint32_t n)
{
	return rte_swx_pipeline_action_config(m->p, name, arguments, instructions, n);
}

int mswx_table(struct mswx *m, const char *name, const struct mswx_key *keys, uint32_t n_keys, const struct mswx_table_action *actions,
	       uint32_t n_actions, const char *by_default, int constant, uint32_t size)
{
	struct rte_swx_match_field_params fields[16];
	const char *names[32];
	int in_entries[32], defaults[32];
	struct rte_swx_pipeline_table_params params = {
		.fields = fields,
		.n_fields = n_keys,
		.action_names = names,
		.action_is_for_table_entries = in_entries,
		.action_is_for_default_entry = defaults,
		.n_actions = n_actions,
		.default_action_name = by_default,
		.default_action_is_const = constant,
	};
	uint32_t i;

	if (n_keys > 16 || n_actions > 32)
		return -E2BIG;
	for (i = 0; i < n_keys; i++) {
		fields[i].name = keys[i].name;
		fields[i].match_type = keys[i].wildcard ? RTE_SWX_TABLE_MATCH_WILDCARD : RTE_SWX_TABLE_MATCH_EXACT;
	}
	for (i = 0; i < n_actions; i++) {
		names[i] = actions[i].name;
		in_entries[i] = actions[i].in_entries;
		defaults[i] = actions[i].by_default;
	}
	return rte_swx_pipeline_table_config(m->p, name, &params, NULL, NULL, size);
}

int mswx_apply(struct mswx *m, const char **instructions, uint32_t n)
{
	return rte_swx_pipeline_instructions_config(m->p, instructions, n);
}

static int make_rings(struct mswx *m)
{
	uint32_t i;

	for (i = 0; i < MSWX_PORTS; i++) {
		m->in[i] = rte_ring_create(m->ring_in_names[i], MSWX_RING, 0, RING_F_SC_DEQ);
		/* The pipeline puts frames in, and so does who takes what goes by it. */
		m->out[i] = rte_ring_create(m->ring_out_names[i], MSWX_RING, 0, 0);
		if (!m->in[i] || !m->out[i])
			return -rte_errno;
	}
	return 0;
}

int mswx_ring_ports(struct mswx *m)
{
	int status = make_rings(m);
	uint32_t i;

	if (!status)
		status = configured(m);
	for (i = 0; i < MSWX_PORTS && !status; i++) {
		struct rte_swx_port_ring_reader_params in = { .name = m->ring_in_names[i], .burst_size = MSWX_BURST };
		struct rte_swx_port_ring_writer_params out = { .name = m->ring_out_names[i], .burst_size = MSWX_BURST };

		status = rte_swx_pipeline_port_in_config(m->p, i, "ring", &in);
		if (!status)
			status = rte_swx_pipeline_port_out_config(m->p, i, "ring", &out);
	}
	return status;
}

int mswx_memory_ports(struct mswx *m, const char *pcap, uint32_t packets)
{
	struct rte_swx_port_source_params in = { .pool = m->pool, .file_name = pcap, .n_loops = 0, .n_pkts_max = packets };
	struct rte_swx_port_sink_params out = { .file_name = NULL };
	int status = configured(m);
	uint32_t i;

	/* One port that packets come from, so that no time goes into looking at empty ones. */
	if (!status)
		status = rte_swx_pipeline_port_in_config(m->p, 0, "source", &in);
	for (i = 0; i < MSWX_PORTS && !status; i++)
		status = rte_swx_pipeline_port_out_config(m->p, i, "sink", &out);
	return status;
}

/* What is known of actions and tables, and a second state of all tables to work on. */
static int learn(struct mswx *m)
{
	uint32_t i, j;
	int status;

	status = rte_swx_ctl_pipeline_info_get(m->p, &m->info);
	if (status)
		return status;
	if (m->info.n_actions > MSWX_ACTIONS || m->info.n_tables > MSWX_TABLES)
		return -E2BIG;
	for (i = 0; i < m->info.n_actions; i++) {
		struct mswx_action *a = &m->actions[i];

		status = rte_swx_ctl_action_info_get(m->p, i, &a->info);
		if (!status && a->info.n_args > MSWX_ARGUMENTS)
			status = -E2BIG;
		for (j = 0; j < a->info.n_args && !status; j++) {
			status = rte_swx_ctl_action_arg_info_get(m->p, i, j, &a->arguments[j]);
			a->size += a->arguments[j].n_bits / 8;
		}
		if (!status && a->size > MSWX_DATA)
			status = -E2BIG;
		if (status)
			return status;
	}
	status = rte_swx_pipeline_table_state_get(m->p, &m->now);
	if (status)
		return status;
	m->next = calloc(m->info.n_tables, sizeof(*m->next));
	if (!m->next)
		return -ENOMEM;
	for (i = 0; i < m->info.n_tables; i++) {
		struct mswx_a_table *t = &m->tables[i];
		int stub = 0, wildcard = 0;
		uint32_t first, end;

		status = rte_swx_ctl_table_info_get(m->p, i, &t->info);
		if (!status)
			status = rte_swx_ctl_table_ops_get(m->p, i, &t->ops, &stub);
		if (!status && (stub || t->info.n_match_fields > MSWX_FIELDS))
			status = -EINVAL;
		for (j = 0; j < t->info.n_match_fields && !status; j++)
			status = rte_swx_ctl_table_match_field_info_get(m->p, i, j, &t->fields[j]);
		if (status)
			return status;
		first = t->fields[0].offset;
		end = 0;
		for (j = 0; j < t->info.n_match_fields; j++) {
			if (t->fields[j].offset < first)
				first = t->fields[j].offset;
			if (t->fields[j].offset + t->fields[j].n_bits > end)
				end = t->fields[j].offset + t->fields[j].n_bits;
			wildcard |= t->fields[j].match_type != RTE_SWX_TABLE_MATCH_EXACT;
		}
		t->first = first;
		t->params.match_type = wildcard ? RTE_SWX_TABLE_MATCH_WILDCARD : RTE_SWX_TABLE_MATCH_EXACT;
		t->params.key_offset = first / 8;
		t->params.key_size = (end - first) / 8;
		t->params.hash_func = t->info.hash_func;
		t->params.n_keys_max = t->info.size;
		if (t->params.key_size > MSWX_KEY)
			return -E2BIG;
		t->params.key_mask0 = t->mask0;
		for (j = 0; j < t->info.n_match_fields; j++)
			memset(&t->mask0[(t->fields[j].offset - first) / 8], 0xff, t->fields[j].n_bits / 8);
		for (j = 0; j < t->info.n_actions; j++) {
			struct rte_swx_ctl_table_action_info action;

			status = rte_swx_ctl_table_action_info_get(m->p, i, j, &action);
			if (status)
				return status;
			if (m->actions[action.action_id].size > t->params.action_data_size)
				t->params.action_data_size = m->actions[action.action_id].size;
		}
		m->next[i] = m->now[i];
		if (t->params.action_data_size) {
			m->next[i].default_action_data = malloc(t->params.action_data_size);
			if (!m->next[i].default_action_data)
				return -ENOMEM;
			memcpy(m->next[i].default_action_data, m->now[i].default_action_data, t->params.action_data_size);
		}
		if (t->ops.add) {
			m->next[i].obj = t->ops.create(&t->params, NULL, t->info.args, 0);
			if (!m->next[i].obj)
				return -ENOMEM;
		}
	}
	return 0;
}

int mswx_build(struct mswx *m)
{
	int status = rte_swx_pipeline_build(m->p);

	return status ? status : learn(m);
}

int mswx_load(struct mswx *m, const char *library, const char *pcap, uint32_t packets)
{
	char *text = NULL;
	size_t length = 0;
	FILE *ports = open_memstream(&text, &length);
	int status = 0;
	uint32_t i;

	if (!ports)
		return -ENOMEM;
	if (pcap)
		fprintf(ports, "port in 0 source mempool %s file %s loop 0 packets %u\n", m->pool_name, pcap, packets);
	else
		status = make_rings(m);
	for (i = 0; i < MSWX_PORTS; i++) {
		if (pcap) {
			fprintf(ports, "port out %u sink file none\n", i);
		} else {
			fprintf(ports, "port in %u ring %s bsz %u\n", i, m->ring_in_names[i], MSWX_BURST);
			fprintf(ports, "port out %u ring %s bsz %u\n", i, m->ring_out_names[i], MSWX_BURST);
		}
	}
	fclose(ports);
	ports = status ? NULL : fmemopen(text, length, "r");
	if (ports) {
		status = rte_swx_pipeline_build_from_lib(&m->p, m->name, library, ports, 0);
		fclose(ports);
	}
	free(text);
	return status ? status : learn(m);
}

void mswx_free(struct mswx *m)
{
	uint32_t i;

	if (!m)
		return;
	for (i = 0; i < MSWX_PORTS; i++)
		mswx_close_lanes(m, i);
	if (m->p && m->next) {
		/* The pipeline frees the tables that it has; those beside them are ours. */
		for (i = 0; i < m->info.n_tables; i++) {
			if (m->next[i].obj && m->next[i].obj != m->now[i].obj)
				m->tables[i].ops.free(m->next[i].obj);
			free(m->next[i].default_action_data);
		}
		free(m->next);
	}
	if (m->p)
		rte_swx_pipeline_free(m->p);
	for (i = 0; i < MSWX_PORTS; i++) {
		struct rte_mbuf *packet;

		while (m->in[i] && !rte_ring_dequeue(m->in[i], (void **)&packet))
			rte_pktmbuf_free(packet);
		while (m->out[i] && !rte_ring_dequeue(m->out[i], (void **)&packet))
			rte_pktmbuf_free(packet);
		rte_ring_free(m->in[i]);
		rte_ring_free(m->out[i]);
	}
	rte_mempool_free(m->pool);
	free(m);
}

int mswx_table_number(struct mswx *m, const char *name)
{
	uint32_t i;

	for (i = 0; i < m->info.n_tables; i++)
		if (!strcmp(m->tables[i].info.name, name))
			return i;
	return -ENOENT;
}

int mswx_action_number(struct mswx *m, const char *name)
{
	uint32_t i;

	for (i = 0; i < m->info.n_actions; i++)
		if (!strcmp(m->actions[i].info.name, name))
			return i;
	return -ENOENT;
}

/* Writes the lowest `bits` of a number, most significant octet first or, as this machine keeps them, last. */
static void put(uint8_t *to, uint64_t value, uint32_t bits, int network)
{
	uint32_t octets = bits / 8, i;

	for (i = 0; i < octets; i++)
		to[network ? octets - 1 - i : i] = (uint8_t)(value >> (8 * i));
}

/* Room for an entry as SWX has it. */
struct encoded {
	struct rte_swx_table_entry entry;
	uint8_t key[MSWX_KEY];
	uint8_t mask[MSWX_KEY];
	uint8_t data[MSWX_DATA];
};

static int encode_action(const struct mswx *m, uint32_t action, const uint64_t *arguments, uint8_t *data)
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

static int encode(const struct mswx *m, uint32_t table, const struct mswx_entry *from, struct encoded *to)
{
	const struct mswx_a_table *t = &m->tables[table];
	uint32_t i;

	memset(to, 0, sizeof(*to));
	for (i = 0; i < t->info.n_match_fields; i++) {
		uint32_t at = (t->fields[i].offset - t->first) / 8;

		put(&to->key[at], from->values[i], t->fields[i].n_bits, t->fields[i].is_header);
		put(&to->mask[at], from->masks ? from->masks[i] : UINT64_MAX, t->fields[i].n_bits, t->fields[i].is_header);
	}
	to->entry.key = to->key;
	to->entry.key_mask = from->masks ? to->mask : NULL;
	to->entry.key_priority = from->priority;
	to->entry.action_id = from->action;
	to->entry.action_data = to->data;
	return encode_action(m, from->action, from->arguments, to->data);
}

/* Makes one change in one state of the tables. */
static int change(struct mswx *m, struct rte_swx_table_state *state, const struct mswx_change *c, int back)
{
	const struct mswx_entry *after = back ? c->before : c->after, *before = back ? c->after : c->before;
	struct encoded e;
	int status;

	if (c->table >= m->info.n_tables || !m->tables[c->table].ops.add || (!after && !before))
		return -EINVAL;
	status = encode(m, c->table, after ? after : before, &e);
	if (status)
		return status;
	return after ? m->tables[c->table].ops.add(state[c->table].obj, &e.entry) : m->tables[c->table].ops.del(state[c->table].obj, &e.entry);
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

/* Waits until no packet looks at the tables that were the pipeline's before. */
static void wait_for_packets(struct mswx *m)
{
	uint64_t from = __atomic_load_n(&m->executed, __ATOMIC_SEQ_CST);

	while (__atomic_load_n(&m->running, __ATOMIC_SEQ_CST) && !__atomic_load_n(&m->parked, __ATOMIC_SEQ_CST) &&
	       __atomic_load_n(&m->executed, __ATOMIC_SEQ_CST) - from < GRACE_INSTRUCTIONS)
		usleep(5);
}

int mswx_commit(struct mswx *m, const struct mswx_change *changes, uint32_t n, const struct mswx_rebuild *rebuilds, uint32_t n_rebuilds,
		uint32_t *failed)
{
	void *made[MSWX_TABLES] = { NULL };
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
	/* What went well on one state goes well on its equal. */
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
			memcpy(m->next[table].default_action_data, data, m->tables[table].params.action_data_size);
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

int mswx_register_read(struct mswx *m, const char *name, uint32_t index, uint64_t *value)
{
	return rte_swx_ctl_pipeline_regarray_read(m->p, name, index, value);
}

int mswx_register_write(struct mswx *m, const char *name, uint32_t index, uint64_t value)
{
	return rte_swx_ctl_pipeline_regarray_write(m->p, name, index, value);
}

int mswx_meter_set(struct mswx *m, const char *name, uint32_t index, const struct mswx_meter *meter)
{
	struct rte_meter_trtcm_params params = {
		.cir = meter->octets_per_second,
		.pir = meter->octets_per_second,
		.cbs = meter->burst,
		.pbs = meter->burst,
	};
	char profile[RTE_SWX_NAME_SIZE];
	int status;

	if (!meter->octets_per_second)
		return rte_swx_ctl_meter_reset(m->p, name, index);
	snprintf(profile, sizeof(profile), "r%llu_b%llu", (unsigned long long)meter->octets_per_second, (unsigned long long)meter->burst);
	status = rte_swx_ctl_meter_profile_add(m->p, profile, &params);
	if (status && status != -EEXIST)
		return status;
	return rte_swx_ctl_meter_set(m->p, name, index, profile);
}

int mswx_sink_packets(struct mswx *m, uint32_t port, uint64_t *packets, uint64_t *octets)
{
	struct rte_swx_port_out_stats stats;
	int status = rte_swx_ctl_pipeline_port_out_stats_read(m->p, port, &stats);

	*packets = stats.n_pkts_drop;
	*octets = stats.n_bytes_drop;
	return status;
}

int mswx_codegen(const char *spec, const char *code, uint32_t *line, const char **message)
{
	FILE *in = fopen(spec, "r"), *out = fopen(code, "w");
	int status = in && out ? rte_swx_pipeline_codegen(in, out, line, message) : -errno;

	if (in)
		fclose(in);
	if (out)
		fclose(out);
	return status;
}

static uint64_t processor_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t mswx_measure(struct mswx *m, uint64_t nanoseconds)
{
	uint64_t from = processor_time(), now = from;

	while (now - from < nanoseconds) {
		rte_swx_pipeline_run(m->p, 100000);
		now = processor_time();
	}
	return now - from;
}
