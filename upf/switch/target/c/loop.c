/* The loop that carries packets. See switch.h. */
#define _GNU_SOURCE
#include "internal.h"
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Milliseconds of a sleep where the loop has to say that it lives, and where it has not. */
#define NAP 10
#define LONG_NAP 100
/* Nanoseconds without a packet after which none comes any more, once the kernel has been told to
 * keep them. */
#define LAST_LOOK 2000000
#define LONGEST_LEAVE 50000000
/* Where fewer packets than this wait, the pipeline runs for a short while before one looks at what
 * came out; and in steps of that where many wait, so that no turn is taken in vain. */
#define FEW 8
#define SHORT_QUANTUM 256

void mswx_step(struct mswx *m, uint32_t instructions)
{
	rte_swx_pipeline_run(m->p, instructions);
	/* DPDK's ports send what they have the second time that they are told to without a packet in
	 * between. */
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

/* Says that the loop lives, so that the kernel leaves it frames. */
void mswx_say_alive(struct mswx *m)
{
	struct timespec now;
	uint64_t at;

	if (!m->alive)
		return;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	at = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (m->said && at - m->said >= MSWX_PATIENCE) {
		/* The kernel has given frames the way without a switch meanwhile. */
		m->away++;
		if (at - m->said > m->longest_away)
			m->longest_away = at - m->said;
	}
	m->said = at;
	if (__atomic_load_n(m->alive, __ATOMIC_RELAXED) != at)
		__atomic_store_n(m->alive, at, __ATOMIC_RELEASE);
}

/* Sleeps until there is something to do, or it is time to say that the loop lives. Gives whether it
 * was woken. */
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
	woken = poll(polled, n, m->alive ? NAP : LONG_NAP);
	__atomic_store_n(&m->parked, 0, __ATOMIC_SEQ_CST);
	if (woken > 0 && polled[n - 1].revents && read(wake, &count, sizeof(count)) < 0)
		return 1;
	return woken > 0;
}

/* Looking for packets before sleeping is worth it where they come soon. How long they were in
 * coming says for how long to look the next time: not at all, after some that took long. */
static void learn_patience(struct mswx *m, uint64_t came_after)
{
	if (m->keen)
		return;
	m->patience = came_after < m->spin ? m->spin : m->patience / 2;
}

static void advance(struct mswx *m, uint32_t instructions)
{
	mswx_step(m, instructions);
	m->since_last = m->idle_turns ? m->idle_turns() : m->since_last + instructions;
}

/* Takes, carries and sends what there is. A lone packet does not wait until the pipeline has looked
 * for others for long. */
static uint32_t round_of_all(struct mswx *m)
{
	uint32_t there, port;

	for (port = 0; port < MSWX_PORTS; port++)
		if (mswx_leads_out(m, port))
			mswx_receive(m, port);
	there = mswx_waiting(m);
	if (there)
		m->since_last = 0;
	if (m->since_last < m->under_way) {
		advance(m, there < FEW || there >= MSWX_LIVE_LEAST ? SHORT_QUANTUM : MSWX_QUANTUM);
		/* What came together leaves together: those that are still on their way, too. */
		while (there >= MSWX_LIVE_LEAST && (mswx_waiting(m) || m->since_last < m->under_way / 2))
			advance(m, SHORT_QUANTUM);
		return mswx_flush(m) + 1;
	}
	/* Nothing is in the pipeline: whoever waits for what was has waited long enough. */
	__atomic_fetch_add(&m->executed, MSWX_QUANTUM, __ATOMIC_SEQ_CST);
	return mswx_flush(m);
}

/* From here on the kernel has all frames that come; those that are here still leave by the rules.
 */
static void leave(struct mswx *m)
{
	uint64_t now = mswx_now(), end = now + LONGEST_LEAVE, until = now + LAST_LOOK;

	if (m->alive)
		__atomic_store_n(m->alive, 0, __ATOMIC_SEQ_CST);
	mswx_hand_back(m);
	for (; now < until && now < end; now = mswx_now())
		if (round_of_all(m))
			until = now + LAST_LOOK;
}

/* Has this thread come to run soon when it has something to do, and for a short time then; of this
 * thread alone, and not everybody may. */
static void go_first(void)
{
	/* struct sched_attr, as long as it was at first (sched_setattr(2)); kernels before 6.12 leave
	 * the time alone. */
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

	mswx_enlist();
	/* The kernel takes a switch for dead that waits for a processor for MSWX_PATIENCE, and what it
	 * had taken by then comes late: so it goes before others, unless it never sleeps. */
	if (!m->keen)
		go_first();
	m->patience = m->spin;
	__atomic_store_n(&m->running, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&m->ending, __ATOMIC_SEQ_CST)) {
		uint32_t busy;
		uint64_t now;

		mswx_say_alive(m);
		if (__atomic_load_n(&m->pausing, __ATOMIC_SEQ_CST))
			mswx_pause_until_resumed(m);
		busy = round_of_all(m);
		mswx_look_at_held(m);
		if (busy) {
			idle_since = 0;
			continue;
		}
		now = mswx_now();
		if (!idle_since)
			idle_since = now;
		/* Who has slept until it was time to say that he lives goes on sleeping. */
		if (now - idle_since >= m->patience && sleep_until_woken(m, wake)) {
			learn_patience(m, mswx_now() - idle_since);
			idle_since = 0;
		}
	}
	leave(m);
	__atomic_store_n(&m->running, 0, __ATOMIC_SEQ_CST);
}

void mswx_alive(struct mswx *m, uint64_t *at)
{
	m->alive = at;
}

void mswx_spin(struct mswx *m, uint64_t nanoseconds)
{
	m->spin = nanoseconds;
	m->keen = 1;
}

void mswx_bell(struct mswx *m, int fd)
{
	m->bell = fd;
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
	*times = m->away;
	*longest = m->longest_away;
}
