/* The packet loop. See switch.h. */
#define _GNU_SOURCE
#include "internal.h"
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Milliseconds of a sleep with and without liveness updates. */
#define SLEEP_MS 10
#define LONG_SLEEP_MS 100
/* Nanoseconds without a packet after which no more arrive, once the kernel forwards frames itself.
 */
#define LAST_POLL 2000000
#define LONGEST_LEAVE 50000000
/* If fewer packets than this are queued, the pipeline runs for a short time before its output is
 * polled. Larger queues run in multiples of it, so that no iteration is wasted. */
#define FEW 8
#define SHORT_QUANTUM 256

void mswx_step(struct mswx *m, uint32_t instructions)
{
	rte_swx_pipeline_run(m->p, instructions);
	/* DPDK's ports flush at the second flush request without a packet in between. */
	rte_swx_pipeline_flush(m->p);
	rte_swx_pipeline_flush(m->p);
	__atomic_fetch_add(&m->executed, instructions, __ATOMIC_SEQ_CST);
}

void mswx_run(struct mswx *m, uint32_t instructions)
{
	mswx_step(m, instructions);
}

uint64_t mswx_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Updates the liveness timestamp, so that the kernel leaves frames to the switch. */
void mswx_update_liveness(struct mswx *m)
{
	struct timespec now;
	uint64_t at;

	if (!m->liveness)
		return;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	at = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (m->liveness_at && at - m->liveness_at >= MSWX_LIVENESS_TIMEOUT) {
		/* The kernel forwarded frames on the native path in the meantime. */
		m->takeovers++;
		if (at - m->liveness_at > m->longest_delay)
			m->longest_delay = at - m->liveness_at;
	}
	m->liveness_at = at;
	if (__atomic_load_n(m->liveness, __ATOMIC_RELAXED) != at)
		__atomic_store_n(m->liveness, at, __ATOMIC_RELEASE);
}

/* Sleeps until work is queued, or a liveness update is due. Returns whether it was woken. */
static int sleep_until_woken(struct mswx *m, int wake)
{
	struct pollfd polled[MSWX_PORTS * (MSWX_LANES + 1) + 1];
	uint32_t port, lane;
	uint64_t count;
	nfds_t n = 0;
	int woken;

	for (port = 0; port < MSWX_PORTS; port++) {
		if (m->fds[port] >= 0)
			polled[n++] = (struct pollfd){.fd = m->fds[port], .events = POLLIN};
		for (lane = 0; lane < m->n_lanes[port]; lane++)
			polled[n++] = (struct pollfd){.fd = mswx_lane_fd(m, port, lane), .events = POLLIN};
	}
	polled[n++] = (struct pollfd){.fd = wake, .events = POLLIN};
	__atomic_store_n(&m->parked, 1, __ATOMIC_SEQ_CST);
	woken = poll(polled, n, m->liveness ? SLEEP_MS : LONG_SLEEP_MS);
	__atomic_store_n(&m->parked, 0, __ATOMIC_SEQ_CST);
	if (woken > 0 && polled[n - 1].revents && read(wake, &count, sizeof(count)) < 0)
		return 1;
	return woken > 0;
}

/* Polling before a sleep pays off where packets arrive soon. The last inter-arrival times determine
 * the polling time; after long gaps it is zero. */
static void adapt_poll_time(struct mswx *m, uint64_t gap)
{
	if (m->fixed_spin)
		return;
	m->poll_time = gap < m->spin ? m->spin : m->poll_time / 2;
}

static void advance(struct mswx *m, uint32_t instructions)
{
	mswx_step(m, instructions);
	m->since_last = m->idle_iterations ? m->idle_iterations() : m->since_last + instructions;
}

/* Receives, processes and sends all available packets. A single packet does not wait while the
 * pipeline polls for others. */
static uint32_t round_of_all(struct mswx *m)
{
	uint32_t queued, port;

	for (port = 0; port < MSWX_PORTS; port++)
		if (mswx_leads_out(m, port))
			mswx_receive(m, port);
	queued = mswx_waiting(m);
	if (queued)
		m->since_last = 0;
	if (m->since_last < m->in_flight) {
		advance(m, queued < FEW || queued >= MSWX_LIVE_MIN ? SHORT_QUANTUM : MSWX_QUANTUM);
		/* Packets of one burst leave together, including those still in the pipeline. */
		while (queued >= MSWX_LIVE_MIN && (mswx_waiting(m) || m->since_last < m->in_flight / 2))
			advance(m, SHORT_QUANTUM);
		return mswx_flush(m) + 1;
	}
	/* The pipeline is empty: complete any pending wait. */
	__atomic_fetch_add(&m->executed, MSWX_QUANTUM, __ATOMIC_SEQ_CST);
	return mswx_flush(m);
}

/* From now on the kernel gets all new frames; those already received leave by the rules. */
static void leave(struct mswx *m)
{
	uint64_t now = mswx_now(), end = now + LONGEST_LEAVE, until = now + LAST_POLL;

	if (m->liveness)
		__atomic_store_n(m->liveness, 0, __ATOMIC_SEQ_CST);
	mswx_release_to_native(m);
	for (; now < until && now < end; now = mswx_now())
		if (round_of_all(m))
			until = now + LAST_POLL;
}

/* Requests a low scheduling latency with a short time slice for this thread. Fails without the
 * privilege. */
static void raise_priority(void)
{
	/* The first version of struct sched_attr (sched_setattr(2)); kernels before 6.12 ignore the
	 * time slice. */
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime, deadline, period;
	} attributes = {.size = sizeof(attributes),
		.policy = SCHED_OTHER,
		.nice = MSWX_NICE,
		.runtime = MSWX_SLICE};

	if (syscall(SYS_sched_setattr, 0, &attributes, 0))
		setpriority(PRIO_PROCESS, 0, MSWX_NICE);
}

void mswx_loop(struct mswx *m, int wake)
{
	uint64_t idle_since = 0;

	mswx_register_thread();
	/* The kernel considers a switch dead that waits for a CPU longer than
	 * MSWX_LIVENESS_TIMEOUT, and packets received before arrive late. So the loop has priority,
	 * unless it never sleeps. */
	if (!m->fixed_spin)
		raise_priority();
	m->poll_time = m->spin;
	__atomic_store_n(&m->running, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&m->ending, __ATOMIC_SEQ_CST)) {
		uint32_t busy;
		uint64_t now;

		mswx_update_liveness(m);
		if (__atomic_load_n(&m->pausing, __ATOMIC_SEQ_CST))
			mswx_pause_until_resumed(m);
		busy = round_of_all(m);
		mswx_check_held(m);
		if (busy) {
			idle_since = 0;
			continue;
		}
		now = mswx_now();
		if (!idle_since)
			idle_since = now;
		/* A sleep that ended only for a liveness update continues. */
		if (now - idle_since >= m->poll_time && sleep_until_woken(m, wake)) {
			adapt_poll_time(m, mswx_now() - idle_since);
			idle_since = 0;
		}
	}
	leave(m);
	__atomic_store_n(&m->running, 0, __ATOMIC_SEQ_CST);
}

void mswx_set_liveness(struct mswx *m, uint64_t *at)
{
	m->liveness = at;
}

void mswx_spin(struct mswx *m, uint64_t nanoseconds)
{
	m->spin = nanoseconds;
	m->fixed_spin = 1;
}

void mswx_set_wakeup(struct mswx *m, int fd)
{
	m->wakeup_fd = fd;
}

void mswx_end(struct mswx *m)
{
	__atomic_store_n(&m->ending, 1, __ATOMIC_SEQ_CST);
}

void mswx_port_counters(struct mswx *m, uint32_t port, struct mswx_port_counters *counters)
{
	*counters = m->counters[port];
}

void mswx_absences(struct mswx *m, uint64_t *times, uint64_t *longest)
{
	*times = m->takeovers;
	*longest = m->longest_delay;
}
