/* Packets of moving flows are held at port MSWX_HOLD, and the loop pauses while their rules change.
 * See switch.h. */
#include "internal.h"
#include <sys/resource.h>
#include <unistd.h>

/* Timeout in nanoseconds after which held packets go to the native side. */
#define LONGEST_HOLD 250000000
/* Instructions after which all packets in flight in the pipeline and its port caches have left. */
#define DRAIN (64 * 1024)

/* Removes the port number from a held frame. */
static uint32_t ingress_port_of(struct rte_mbuf *packet)
{
	const uint8_t *at = rte_pktmbuf_mtod(packet, const uint8_t *);
	uint32_t port = (uint32_t)at[2] << 8 | at[3];

	rte_pktmbuf_adj(packet, 4);
	return port < MSWX_PORTS ? port : 0;
}

/* Held packets are processed in order of arrival by the current rules. */
void mswx_release(struct mswx *m)
{
	uint32_t n = rte_ring_count(m->out[MSWX_HOLD]);
	struct rte_mbuf *packet;

	m->held_since = 0;
	while (n-- && !rte_ring_dequeue(m->out[MSWX_HOLD], (void **)&packet)) {
		uint32_t port = ingress_port_of(packet);

		while (rte_ring_enqueue(m->in[port], packet)) {
			mswx_step(m, MSWX_QUANTUM);
			mswx_flush(m);
		}
	}
}

/* Held packets go to the native side. */
void mswx_release_to_native(struct mswx *m)
{
	struct rte_mbuf *packet;

	while (!rte_ring_dequeue(m->out[MSWX_HOLD], (void **)&packet)) {
		uint32_t port = ingress_port_of(packet);

		mswx_bypass(m, port, packet);
	}
}

/* The timeout of held packets expired: they and later ones go to the native side. */
void mswx_check_held(struct mswx *m)
{
	if (!rte_ring_count(m->out[MSWX_HOLD]))
		return;
	if (!m->held_since)
		m->held_since = mswx_now();
	if (mswx_now() - m->held_since >= LONGEST_HOLD)
		mswx_release_to_native(m);
}

/* Nice value of the thread that paused the loop. No packets pass meanwhile, so it runs before other
 * threads. */
static __thread int nice_before;

void mswx_pause(struct mswx *m)
{
	nice_before = getpriority(PRIO_PROCESS, 0);
	if (nice_before > MSWX_NICE)
		setpriority(PRIO_PROCESS, 0, MSWX_NICE);
	__atomic_store_n(&m->pausing, 1, __ATOMIC_SEQ_CST);
}

void mswx_paused(struct mswx *m)
{
	while (__atomic_load_n(&m->running, __ATOMIC_SEQ_CST) &&
		   !__atomic_load_n(&m->paused, __ATOMIC_SEQ_CST))
		usleep(5);
}

void mswx_resume(struct mswx *m)
{
	__atomic_store_n(&m->pausing, 0, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&m->paused, __ATOMIC_SEQ_CST))
		usleep(5);
	setpriority(PRIO_PROCESS, 0, nice_before);
}

void mswx_pause_until_resumed(struct mswx *m)
{
	uint32_t done = 0;

	while (done < DRAIN) {
		mswx_step(m, MSWX_QUANTUM);
		mswx_flush(m);
		done = mswx_waiting(m) ? 0 : done + MSWX_QUANTUM;
	}
	__atomic_store_n(&m->parked, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&m->paused, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&m->pausing, __ATOMIC_SEQ_CST) &&
		   !__atomic_load_n(&m->ending, __ATOMIC_SEQ_CST)) {
		mswx_update_liveness(m);
		usleep(5);
	}
	__atomic_store_n(&m->parked, 0, __ATOMIC_SEQ_CST);
	mswx_release(m);
	__atomic_store_n(&m->paused, 0, __ATOMIC_SEQ_CST);
}
