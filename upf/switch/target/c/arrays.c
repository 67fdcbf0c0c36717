/* Counters and meters. See switch.h. */
#include "internal.h"
#include <errno.h>
#include <stdio.h>
#include <rte_meter.h>

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
		.cir = meter->bytes_per_second,
		.pir = meter->bytes_per_second,
		.cbs = meter->burst,
		.pbs = meter->burst,
	};
	char profile[RTE_SWX_NAME_SIZE];
	int status;

	if (!meter->bytes_per_second)
		return rte_swx_ctl_meter_reset(m->p, name, index);
	snprintf(profile, sizeof(profile), "r%llu_b%llu", (unsigned long long)meter->bytes_per_second,
		(unsigned long long)meter->burst);
	status = rte_swx_ctl_meter_profile_add(m->p, profile, &params);
	if (status && status != -EEXIST)
		return status;
	return rte_swx_ctl_meter_set(m->p, name, index, profile);
}

int mswx_sink_packets(struct mswx *m, uint32_t port, uint64_t *packets, uint64_t *bytes)
{
	struct rte_swx_port_out_stats stats;
	int status = rte_swx_ctl_pipeline_port_out_stats_read(m->p, port, &stats);

	*packets = stats.n_pkts_drop;
	*bytes = stats.n_bytes_drop;
	return status;
}
