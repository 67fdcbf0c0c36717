/* What DPDK's C text of a pipeline is compiled with, behind widths.h: from which port the next
 * packet is taken.
 *
 * DPDK asks one port after the other, each time another, and goes through its whole machinery where
 * a port has nothing: with eight ports of which one has packets, that is seven times of eight, and
 * more than half of what the pipeline itself takes. Here a port that has packets is asked again,
 * for a burst at most, and those that have none are passed over at once. */
#ifndef MARTLET_RX_H
#define MARTLET_RX_H
#include <stdint.h>

/* Packets of one port in a row. */
#define RX_ROW 32

static uint32_t rx_row, rx_rest, rx_idle;

static void rx_next(struct rte_swx_pipeline *p)
{
	struct thread *t = &p->threads[p->thread_id];
	uint32_t asked;

	/* Nobody had a packet a moment ago: the other threads finish what they have first. */
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

/* The first packet of all is taken by the interpreter: this has it do so, too. */
void mswx_take_rx(struct rte_swx_pipeline *p);
void mswx_take_rx(struct rte_swx_pipeline *p)
{
	p->instruction_table[INSTR_RX] = rx_next;
}

/* Turns at the least since the last packet was taken. */
uint32_t mswx_idle_turns(void);
uint32_t mswx_idle_turns(void)
{
	return rx_idle;
}
#endif
