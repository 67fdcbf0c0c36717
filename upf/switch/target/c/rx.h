/* Included after widths.h when DPDK's generated C code of a pipeline is compiled: selects the port
 * of the next packet.
 *
 * DPDK polls the ports in turn and runs its whole dispatch for empty ones. With one busy port of
 * eight, that is seven of eight iterations and more than half of the pipeline's time. Here a busy
 * port is polled again, for a burst at most, and empty ports are skipped at once. */
#ifndef MARTLET_RX_H
#define MARTLET_RX_H
#include <stdint.h>

/* Maximum consecutive packets of one port. */
#define RX_ROW 32

static uint32_t rx_row, rx_rest, rx_idle;

static void rx_next(struct rte_swx_pipeline *p)
{
	struct thread *t = &p->threads[p->thread_id];
	uint32_t asked;

	/* All ports were empty: other threads of the pipeline finish first. */
	if (rx_rest) {
		rx_rest--;
		thread_yield(p);
		return;
	}
	for (asked = 0; asked < p->n_ports_in; asked++) {
		uint32_t port = p->port_id;

		if (__instr_rx_exec(p, t, t->ip)) {
			rx_idle = 0;
			if (++rx_row < RX_ROW)
				p->port_id = port;
			else
				rx_row = 0;
			thread_ip_inc_cond(t, 1);
			thread_yield(p);
			return;
		}
		rx_row = 0;
	}
	rx_rest = RTE_SWX_PIPELINE_THREADS_MAX - 1;
	rx_idle += RTE_SWX_PIPELINE_THREADS_MAX;
	thread_yield(p);
}

#define instr_rx_exec rx_next

/* The interpreter receives the very first packet; this does the same. */
void mswx_take_rx(struct rte_swx_pipeline *p);
void mswx_take_rx(struct rte_swx_pipeline *p)
{
	p->instruction_table[INSTR_RX] = rx_next;
}

/* Minimum iterations since the last packet was received. */
uint32_t mswx_idle_iterations(void);
uint32_t mswx_idle_iterations(void)
{
	return rx_idle;
}
#endif
