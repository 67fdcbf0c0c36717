/* Packets of flows that move wait at port MSWX_HOLD, and the loop pauses while rules change for
 * them. See switch.h. */
#include "internal.h"
#include <sys/resource.h>
#include <unistd.h>

/* Nanoseconds after which what waits goes to the native side: whoever had it wait is gone. */
#define LONGEST_HOLD 250000000
/* Instructions in which all that is under way in the pipeline and its ports' caches comes out. */
#define DRAIN (64 * 1024)

/* Takes the number of its port off a frame that waited. */
static uint32_t came_by(struct rte_mbuf *packet)
{
	const uint8_t *at = rte_pktmbuf_mtod(packet, const uint8_t *);
	uint32_t port = (uint32_t)at[2] << 8 | at[3];

	rte_pktmbuf_adj(packet, 4);
	return port < MSWX_PORTS ? port : 0;
}

/* What waited meets the rules as they are now, in the order in which it came. */
void mswx_release(struct mswx *m)
{
	uint32_t n = rte_ring_count(m->out[MSWX_HOLD]);
	struct rte_mbuf *packet;

	m->held_since = 0;
	while (n-- && !rte_ring_dequeue(m->out[MSWX_HOLD], (void **)&packet)) {
		uint32_t port = came_by(packet);

		while (rte_ring_enqueue(m->in[port], packet)) {
			mswx_step(m, MSWX_QUANTUM);
			mswx_flush(m);
		}
	}
}

/* What waits goes on to the native side. */
void mswx_hand_back(struct mswx *m)
{
	struct rte_mbuf *packet;

	while (!rte_ring_dequeue(m->out[MSWX_HOLD], (void **)&packet)) {
		uint32_t port = came_by(packet);

		mswx_bypass(m, port, packet);
	}
}

/* Nobody has come for what waits: it goes on to the native side, and so does what follows. */
void mswx_look_at_held(struct mswx *m)
{
	if (!rte_ring_count(m->out[MSWX_HOLD]))
		return;
	if (!m->held_since)
		m->held_since = mswx_now();
	if (mswx_now() - m->held_since >= LONGEST_HOLD)
		mswx_hand_back(m);
}

/* How nice the thread was that has the loop pause; nobody's packets pass meanwhile, so it goes
 * before others, too. */
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
		mswx_say_alive(m);
		usleep(5);
	}
	__atomic_store_n(&m->parked, 0, __ATOMIC_SEQ_CST);
	mswx_release(m);
	__atomic_store_n(&m->paused, 0, __ATOMIC_SEQ_CST);
}
