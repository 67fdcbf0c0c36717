/* Creates and frees a pipeline and its ports. See switch.h. */
#include "internal.h"
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <rte_errno.h>
#include <rte_malloc.h>
#include <rte_swx_port_ring.h>
#include <rte_swx_port_source_sink.h>

/* Default maximum polling time before a sleep in nanoseconds. */
#define SPIN 100000

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
	m->in_flight = MSWX_IN_FLIGHT;
	m->spin = SPIN;
	m->wakeup_fd = -1;
	m->pool = rte_pktmbuf_pool_create(
		m->pool_name, buffers, 128, 0, RTE_PKTMBUF_HEADROOM + MSWX_FRAME, 0);
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
	struct rte_swx_field_params params[MSWX_STRUCT_FIELDS];
	uint32_t i;

	if (n > MSWX_STRUCT_FIELDS)
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

int mswx_action(
	struct mswx *m, const char *name, const char *arguments, const char **instructions, uint32_t n)
{
	return rte_swx_pipeline_action_config(m->p, name, arguments, instructions, n);
}

int mswx_table(struct mswx *m, const char *name, const struct mswx_key *keys, uint32_t n_keys,
	const struct mswx_table_action *actions, uint32_t n_actions, const char *by_default,
	int constant, uint32_t size)
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
		fields[i].match_type =
			keys[i].wildcard ? RTE_SWX_TABLE_MATCH_WILDCARD : RTE_SWX_TABLE_MATCH_EXACT;
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
		/* Producers are the pipeline and the bypass. */
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
		struct rte_swx_port_ring_reader_params in = {
			.name = m->ring_in_names[i], .burst_size = MSWX_BURST};
		struct rte_swx_port_ring_writer_params out = {
			.name = m->ring_out_names[i], .burst_size = MSWX_BURST};

		status = rte_swx_pipeline_port_in_config(m->p, i, "ring", &in);
		if (!status)
			status = rte_swx_pipeline_port_out_config(m->p, i, "ring", &out);
	}
	return status;
}

int mswx_memory_ports(struct mswx *m, const char *pcap, uint32_t packets)
{
	struct rte_swx_port_source_params in = {
		.pool = m->pool, .file_name = pcap, .n_loops = 0, .n_pkts_max = packets};
	struct rte_swx_port_sink_params out = {.file_name = NULL};
	int status = configured(m);
	uint32_t i;

	/* A single input port, so that no time is spent on empty ones. */
	if (!status)
		status = rte_swx_pipeline_port_in_config(m->p, 0, "source", &in);
	for (i = 0; i < MSWX_PORTS && !status; i++)
		status = rte_swx_pipeline_port_out_config(m->p, i, "sink", &out);
	return status;
}

/* Metadata of actions and tables, and a second copy of all tables to prepare changes in. */
static int read_metadata(struct mswx *m)
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
		if (!status && t->info.n_match_fields > MSWX_FIELDS)
			status = -EINVAL;
		/* Without a key it has its default action only. */
		if (!status && stub)
			memset(&t->ops, 0, sizeof(t->ops));
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
			memcpy(m->next[i].default_action_data, m->now[i].default_action_data,
				t->params.action_data_size);
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

	return status ? status : read_metadata(m);
}

/* Makes a pipeline of a library receive packets as rx.h does. */
static void take_rx(struct mswx *m, const char *library)
{
	/* DPDK keeps it loaded. */
	void *code = dlopen(library, RTLD_LAZY), *take, *idle;

	if (!code)
		return;
	take = dlsym(code, "mswx_take_rx");
	idle = dlsym(code, "mswx_idle_iterations");
	if (take && idle) {
		((void (*)(struct rte_swx_pipeline *))take)(m->p);
		m->idle_iterations = (uint32_t(*)(void))idle;
		m->in_flight = MSWX_IN_FLIGHT_COMPILED;
	}
	dlclose(code);
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
		fprintf(ports, "port in 0 source mempool %s file %s loop 0 packets %u\n", m->pool_name,
			pcap, packets);
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
		if (!status)
			take_rx(m, library);
	}
	free(text);
	return status ? status : read_metadata(m);
}

void mswx_free(struct mswx *m)
{
	uint32_t i;

	if (!m)
		return;
	for (i = 0; i < MSWX_PORTS; i++)
		mswx_close_lanes(m, i);
	if (m->p && m->next) {
		/* The pipeline frees the tables that it owns; the inactive copies are ours. */
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

static uint64_t cpu_time(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t mswx_measure(struct mswx *m, uint64_t nanoseconds)
{
	uint64_t from = cpu_time(), now = from;

	while (now - from < nanoseconds) {
		rte_swx_pipeline_run(m->p, 100000);
		now = cpu_time();
	}
	return now - from;
}
