/* Packets: checked before the pipeline sees them, carried between packet sockets and its rings. See switch.h. */
#define _GNU_SOURCE
#include "internal.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ETHERNET 14
#define IPV4 20
#define IPV6 40
/* SWX takes headers out of a packet without a look at its length: whatever the parser may take has to be there. Ethernet,
 * IPv6, UDP, GTP-U, container, IPv6 and ports are 122 octets. */
#define PARSED 128
#define QUANTUM 2048
/* Nanoseconds after which what waits goes to the native side: whoever had it wait is gone. */
#define LONGEST_HOLD 250000000
/* Instructions in which all that is under way in the pipeline and its ports' caches comes out. */
#define DRAIN (64 * 1024)
/* Milliseconds of a sleep where the loop has to say that it lives, and where it has not. */
#define NAP 10
#define LONG_NAP 100
/* Nanoseconds without a packet after which none comes any more, once the kernel has been told to keep them. */
#define LAST_LOOK 2000000
#define LONGEST_LEAVE 50000000
/* Instructions after which the packets that were under way in the pipeline are out of it: 16 at a time, of 1,024 each. */
#define UNDER_WAY (16 * 1024)
/* Bursts of frames that are taken from a port before the pipeline has them: what comes in large numbers leaves in such, too. */
#define BURSTS 8
/* Of the loop, among other threads of the machine: twice the share of one of them. With more (-10) the threads that bring its frames hardly
 * come to run where they share its processor, and it carries half as many. */
#define NICE -3
/* Where fewer packets than this wait, the pipeline runs for a short while before one looks at what came out. */
#define FEW 8
#define SHORT_QUANTUM 256
/* In which most of those come out that are in the pipeline and its ports' caches. */
#define LAST_QUANTUM 1024

static uint16_t be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

/* Whether an IPv4 header of 20 octets adds up. */
static int adds_up(const uint8_t *header)
{
	uint32_t sum = 0;
	int i;

	for (i = 0; i < IPV4; i += 2)
		sum += be16(header + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum == 0xffff;
}

/* Whether the pipeline may see a frame. Takes the padding of short Ethernet frames off, and fills up to what the parser may
 * read; what is behind the end of a packet is taken off when it leaves. */
static int prepare(struct rte_mbuf *packet)
{
	uint8_t *frame = rte_pktmbuf_mtod(packet, uint8_t *);
	uint32_t length = packet->data_len;

	if (be16(frame + 12) == 0x0800) {
		uint32_t total;

		if (length < ETHERNET + IPV4)
			return 0;
		total = be16(frame + ETHERNET + 2);
		if (frame[ETHERNET] >> 4 != 4 || total < IPV4 || total > length - ETHERNET)
			return 0;
		if (frame[ETHERNET] == 0x45 && !adds_up(frame + ETHERNET))
			return 0;
		length = ETHERNET + total;
	} else if (be16(frame + 12) == 0x86dd) {
		uint32_t total;

		if (length < ETHERNET + IPV6)
			return 0;
		total = IPV6 + be16(frame + ETHERNET + 4);
		if (frame[ETHERNET] >> 4 != 6 || total > length - ETHERNET)
			return 0;
		length = ETHERNET + total;
	} else {
		/* Of all else the parser takes the Ethernet header alone. */
		return 1;
	}
	if (length < PARSED) {
		memset(frame + length, 0, PARSED - length);
		length = PARSED;
	}
	packet->data_len = (uint16_t)length;
	packet->pkt_len = length;
	return 1;
}

/* The octets of a frame that leaves. */
static uint32_t leaving(const struct rte_mbuf *packet)
{
	const uint8_t *frame = rte_pktmbuf_mtod(packet, const uint8_t *);
	uint32_t length = packet->data_len;

	if (length >= ETHERNET + IPV4 && be16(frame + 12) == 0x0800) {
		uint32_t total = ETHERNET + be16(frame + ETHERNET + 2);

		if (total >= ETHERNET + IPV4 && total < length)
			return total;
	} else if (length >= ETHERNET + IPV6 && be16(frame + 12) == 0x86dd) {
		uint32_t total = ETHERNET + IPV6 + be16(frame + ETHERNET + 4);

		if (total < length)
			return total;
	}
	return length;
}

int mswx_inject(struct mswx *m, uint32_t port, const uint8_t *frame, uint32_t length)
{
	struct rte_mbuf *packet;

	if (port >= MSWX_PORTS || length > MSWX_FRAME)
		return -EINVAL;
	packet = rte_pktmbuf_alloc(m->pool);
	if (!packet)
		return -ENOBUFS;
	memcpy(rte_pktmbuf_mtod(packet, uint8_t *), frame, length);
	packet->data_len = (uint16_t)length;
	packet->pkt_len = length;
	m->counters[port].packets_in++;
	m->counters[port].octets_in += length;
	/* The controller's packets begin with the port that they leave by, not with Ethernet. */
	if (port == MSWX_PORTS - 1) {
		if (length < PARSED) {
			memset(rte_pktmbuf_mtod(packet, uint8_t *) + length, 0, PARSED - length);
			packet->data_len = packet->pkt_len = PARSED;
		}
	} else if (length < ETHERNET) {
		m->counters[port].runts++;
		rte_pktmbuf_free(packet);
		return 0;
	} else if (!prepare(packet)) {
		int to = m->bypass[port];

		m->counters[port].bypassed++;
		if (to < 0 || rte_ring_enqueue(m->out[to], packet))
			rte_pktmbuf_free(packet);
		return 0;
	}
	if (rte_ring_enqueue(m->in[port], packet)) {
		m->counters[port].refused++;
		rte_pktmbuf_free(packet);
		return -ENOBUFS;
	}
	return 0;
}

uint32_t mswx_queued(struct mswx *m, uint32_t port)
{
	return port < MSWX_PORTS ? rte_ring_count(m->in[port]) : 0;
}

int mswx_collect(struct mswx *m, uint32_t port, uint8_t *frame, uint32_t size)
{
	struct rte_mbuf *packet;
	uint32_t length;

	if (port >= MSWX_PORTS || rte_ring_dequeue(m->out[port], (void **)&packet))
		return 0;
	length = port == MSWX_PORTS - 1 ? packet->data_len : leaving(packet);
	m->counters[port].packets_out++;
	m->counters[port].octets_out += length;
	if (length > size)
		length = size;
	memcpy(frame, rte_pktmbuf_mtod(packet, uint8_t *), length);
	rte_pktmbuf_free(packet);
	return (int)length;
}

void mswx_run(struct mswx *m, uint32_t instructions)
{
	rte_swx_pipeline_run(m->p, instructions);
	rte_swx_pipeline_flush(m->p);
	__atomic_fetch_add(&m->executed, instructions, __ATOMIC_SEQ_CST);
}

void mswx_attach(struct mswx *m, uint32_t port, int fd, int bypass)
{
	m->fds[port] = fd;
	m->bypass[port] = bypass;
}

/* By a packet socket. */
static void send_by_socket(struct mswx *m, uint32_t port, struct rte_mbuf **packets, const uint32_t *lengths, uint32_t n)
{
	struct mmsghdr messages[MSWX_BURST];
	struct iovec parts[MSWX_BURST];
	uint32_t i, sent = 0;

	memset(messages, 0, n * sizeof(*messages));
	for (i = 0; i < n; i++) {
		parts[i].iov_base = rte_pktmbuf_mtod(packets[i], void *);
		parts[i].iov_len = lengths[i];
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	while (sent < n) {
		int now = sendmmsg(m->fds[port], messages + sent, n - sent, MSG_DONTWAIT);

		if (now > 0) {
			for (i = sent; i < sent + (uint32_t)now; i++) {
				m->counters[port].packets_out++;
				m->counters[port].octets_out += lengths[i];
			}
			sent += (uint32_t)now;
		} else if (errno != EINTR) {
			/* A full queue refuses all the rest; anything else, such as a frame that is too long, this one. */
			uint32_t lost = errno == EAGAIN || errno == ENOBUFS || errno == ENETDOWN ? n - sent : 1;

			m->counters[port].refused += lost;
			sent += lost;
		}
	}
}

/* Whether frames leave by a port, and are not left to be collected. */
static int leads_out(const struct mswx *m, uint32_t port)
{
	return m->fds[port] >= 0 || m->n_lanes[port];
}

static void send_all(struct mswx *m, uint32_t port, struct rte_mbuf **packets, uint32_t n)
{
	uint32_t lengths[MSWX_BURST], i;

	for (i = 0; i < n; i++)
		lengths[i] = leaving(packets[i]);
	if (m->n_lanes[port])
		mswx_lane_send(m, port, packets, lengths, n);
	else
		send_by_socket(m, port, packets, lengths, n);
	for (i = 0; i < n; i++)
		rte_pktmbuf_free(packets[i]);
}

/* By the pipeline, to the other end of the wire. */
static void bypass(struct mswx *m, uint32_t port, struct rte_mbuf *packet)
{
	int to = m->bypass[port];

	m->counters[port].bypassed++;
	if (to >= 0 && leads_out(m, (uint32_t)to))
		send_all(m, (uint32_t)to, &packet, 1);
	else if (to < 0 || rte_ring_enqueue(m->out[to], packet))
		rte_pktmbuf_free(packet);
}

static uint32_t waiting(const struct mswx *m)
{
	uint32_t n = 0, port;

	for (port = 0; port < MSWX_PORTS; port++)
		n += rte_ring_count(m->in[port]);
	return n;
}

/* Frames that have come, as long as said. */
static void take(struct mswx *m, uint32_t port, struct rte_mbuf **packets, const uint32_t *lengths, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		struct rte_mbuf *packet = packets[i];
		uint32_t length = lengths[i];

		m->counters[port].packets_in++;
		m->counters[port].octets_in += length;
		packet->data_len = (uint16_t)length;
		packet->pkt_len = length;
		if (length < ETHERNET || length > MSWX_FRAME) {
			m->counters[port].runts++;
			rte_pktmbuf_free(packet);
		} else if (!prepare(packet)) {
			bypass(m, port, packet);
		} else {
			rte_ring_enqueue(m->in[port], packet);
		}
	}
}

static uint32_t receive_by_lane(struct mswx *m, uint32_t port, uint32_t lane)
{
	struct rte_mbuf *packets[MSWX_BURST];
	uint32_t lengths[MSWX_BURST], i, n = mswx_lane_receive(m, port, lane, packets, MSWX_BURST);

	for (i = 0; i < n; i++)
		lengths[i] = packets[i]->data_len;
	take(m, port, packets, lengths, n);
	return n;
}

static uint32_t receive_by_socket(struct mswx *m, uint32_t port)
{
	struct rte_mbuf *packets[MSWX_BURST];
	struct mmsghdr messages[MSWX_BURST];
	struct iovec parts[MSWX_BURST];
	uint32_t lengths[MSWX_BURST];
	int i, n;

	if (rte_pktmbuf_alloc_bulk(m->pool, packets, MSWX_BURST))
		return 0;
	memset(messages, 0, sizeof(messages));
	for (i = 0; i < MSWX_BURST; i++) {
		parts[i].iov_base = rte_pktmbuf_mtod(packets[i], void *);
		parts[i].iov_len = MSWX_FRAME;
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	n = recvmmsg(m->fds[port], messages, MSWX_BURST, MSG_DONTWAIT | MSG_TRUNC, NULL);
	if (n < 0)
		n = 0;
	for (i = 0; i < n; i++)
		lengths[i] = messages[i].msg_len;
	take(m, port, packets, lengths, (uint32_t)n);
	if (n < MSWX_BURST)
		rte_pktmbuf_free_bulk(packets + n, (unsigned int)(MSWX_BURST - n));
	return (uint32_t)n;
}

static uint32_t receive(struct mswx *m, uint32_t port)
{
	uint32_t lane, n = 0;

	/* Left to itself, the kernel's queue holds what does not fit here. */
	if (rte_ring_count(m->out[MSWX_HOLD]) + waiting(m) + 2 * MSWX_BURST > MSWX_RING)
		return 0;
	if (m->fds[port] >= 0 && rte_ring_free_count(m->in[port]) >= MSWX_BURST)
		n += receive_by_socket(m, port);
	for (lane = 0; lane < m->n_lanes[port]; lane++) {
		uint32_t bursts;

		for (bursts = 0; bursts < BURSTS && rte_ring_free_count(m->in[port]) >= MSWX_BURST; bursts++) {
			uint32_t come = receive_by_lane(m, port, lane);

			n += come;
			if (come < MSWX_BURST)
				break;
		}
	}
	return n;
}

/* Says that the loop lives, so that the kernel leaves it frames. */
static void live(struct mswx *m)
{
	struct timespec now;
	uint64_t at;

	if (!m->alive)
		return;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	at = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (__atomic_load_n(m->alive, __ATOMIC_RELAXED) != at)
		__atomic_store_n(m->alive, at, __ATOMIC_RELEASE);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Takes the number of its port off a frame that waited. */
static uint32_t came_by(struct rte_mbuf *packet)
{
	const uint8_t *at = rte_pktmbuf_mtod(packet, const uint8_t *);
	uint32_t port = (uint32_t)be16(at + 2);

	rte_pktmbuf_adj(packet, 4);
	return port < MSWX_PORTS ? port : 0;
}

/* Tells who collects the controller's packets that there are more. */
static void ring(struct mswx *m)
{
	uint32_t come = m->out[MSWX_PORTS - 1]->prod.tail;
	const uint64_t one = 1;

	if (m->bell >= 0 && come != m->rung && write(m->bell, &one, sizeof(one)) > 0)
		m->rung = come;
}

/* What waits for a port, where it is much, by a program; the rest is left. */
static uint32_t send_live(struct mswx *m, uint32_t port)
{
	struct rte_mbuf *packets[MSWX_LIVE];
	uint32_t lengths[MSWX_LIVE], n, i, gone;

	/* Nothing overtakes what the socket still has. */
	if (rte_ring_count(m->out[port]) < MSWX_LIVE_LEAST || mswx_lane_kick(m, port) || !mswx_live_takes(m, port, now_ns()))
		return 0;
	n = rte_ring_dequeue_burst(m->out[port], (void **)packets, MSWX_LIVE, NULL);
	for (i = 0; i < n; i++)
		lengths[i] = leaving(packets[i]);
	gone = mswx_live_send(m, port, packets, lengths, n);
	for (i = 0; i < gone; i++)
		rte_pktmbuf_free(packets[i]);
	for (i = gone; i < n; i += MSWX_BURST)
		send_all(m, port, packets + i, n - i < MSWX_BURST ? n - i : MSWX_BURST);
	return n;
}

/* Out of the rings to the sockets; without a socket they wait to be collected. */
static uint32_t flush(struct mswx *m)
{
	uint32_t busy = 0, port;

	ring(m);
	for (port = 0; port < MSWX_PORTS; port++) {
		struct rte_mbuf *packets[MSWX_BURST];
		uint32_t n;

		while (m->live[port] && (n = send_live(m, port)))
			busy += n;
		while (leads_out(m, port) && (n = rte_ring_dequeue_burst(m->out[port], (void **)packets, MSWX_BURST, NULL))) {
			send_all(m, port, packets, n);
			busy += n;
		}
		if (m->n_lanes[port])
			busy += mswx_lane_kick(m, port);
	}
	return busy;
}

static void run_for(struct mswx *m, uint32_t instructions)
{
	rte_swx_pipeline_run(m->p, instructions);
	rte_swx_pipeline_flush(m->p);
	__atomic_fetch_add(&m->executed, instructions, __ATOMIC_SEQ_CST);
}

static void run(struct mswx *m)
{
	run_for(m, QUANTUM);
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
			run(m);
			flush(m);
		}
	}
}

/* What waits goes on to the native side. */
static void hand_back(struct mswx *m)
{
	struct rte_mbuf *packet;

	while (!rte_ring_dequeue(m->out[MSWX_HOLD], (void **)&packet)) {
		uint32_t port = came_by(packet);

		bypass(m, port, packet);
	}
}

/* Nobody has come for what waits: it goes on to the native side, and so does what follows. */
static void look_at_held(struct mswx *m)
{
	if (!rte_ring_count(m->out[MSWX_HOLD]))
		return;
	if (!m->held_since)
		m->held_since = now_ns();
	if (now_ns() - m->held_since >= LONGEST_HOLD)
		hand_back(m);
}

/* How nice the thread was that has the loop pause; nobody's packets pass meanwhile, so it goes before others, too. */
static __thread int nice_before;

void mswx_pause(struct mswx *m)
{
	nice_before = getpriority(PRIO_PROCESS, 0);
	if (nice_before > NICE)
		setpriority(PRIO_PROCESS, 0, NICE);
	__atomic_store_n(&m->pausing, 1, __ATOMIC_SEQ_CST);
}

void mswx_paused(struct mswx *m)
{
	while (__atomic_load_n(&m->running, __ATOMIC_SEQ_CST) && !__atomic_load_n(&m->paused, __ATOMIC_SEQ_CST))
		usleep(5);
}

void mswx_resume(struct mswx *m)
{
	__atomic_store_n(&m->pausing, 0, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&m->paused, __ATOMIC_SEQ_CST))
		usleep(5);
	setpriority(PRIO_PROCESS, 0, nice_before);
}

static void pause_until_resumed(struct mswx *m)
{
	uint32_t done = 0;

	while (done < DRAIN) {
		run(m);
		flush(m);
		done = waiting(m) ? 0 : done + QUANTUM;
	}
	__atomic_store_n(&m->parked, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&m->paused, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&m->pausing, __ATOMIC_SEQ_CST) && !__atomic_load_n(&m->ending, __ATOMIC_SEQ_CST)) {
		live(m);
		usleep(5);
	}
	__atomic_store_n(&m->parked, 0, __ATOMIC_SEQ_CST);
	mswx_release(m);
	__atomic_store_n(&m->paused, 0, __ATOMIC_SEQ_CST);
}

/* Sleeps until there is something to do, or it is time to say that the loop lives. Gives whether it was woken. */
static int sleep_until_woken(struct mswx *m, int wake)
{
	struct pollfd polled[MSWX_PORTS * (MSWX_LANES + 1) + 1];
	uint32_t port, lane;
	uint64_t count;
	nfds_t n = 0;
	int woken;

	for (port = 0; port < MSWX_PORTS; port++) {
		if (m->fds[port] >= 0)
			polled[n++] = (struct pollfd){ .fd = m->fds[port], .events = POLLIN };
		for (lane = 0; lane < m->n_lanes[port]; lane++)
			polled[n++] = (struct pollfd){ .fd = mswx_lane_fd(m, port, lane), .events = POLLIN };
	}
	polled[n++] = (struct pollfd){ .fd = wake, .events = POLLIN };
	__atomic_store_n(&m->parked, 1, __ATOMIC_SEQ_CST);
	woken = poll(polled, n, m->alive ? NAP : LONG_NAP);
	__atomic_store_n(&m->parked, 0, __ATOMIC_SEQ_CST);
	if (woken > 0 && polled[n - 1].revents && read(wake, &count, sizeof(count)) < 0)
		return 1;
	return woken > 0;
}

/* Looking for packets before sleeping is worth it where they come soon. How long they were in coming says for how long to
 * look the next time: not at all, after some that took long. */
static void learn_patience(struct mswx *m, uint64_t came_after)
{
	if (m->keen)
		return;
	m->patience = came_after < m->spin ? m->spin : m->patience / 2;
}

/* Takes, carries and sends what there is. A lone packet does not wait until the pipeline has looked for others for long. */
static uint32_t round_of_all(struct mswx *m)
{
	uint32_t there, port;

	for (port = 0; port < MSWX_PORTS; port++)
		if (leads_out(m, port))
			receive(m, port);
	there = waiting(m);
	if (there)
		m->since_last = 0;
	if (m->since_last < UNDER_WAY) {
		uint32_t instructions = there < FEW ? SHORT_QUANTUM : QUANTUM;

		run_for(m, instructions);
		m->since_last += instructions;
		/* What came together leaves together: those that are still on their way, too. */
		while (there >= MSWX_LIVE_LEAST && waiting(m)) {
			run_for(m, QUANTUM);
			m->since_last += QUANTUM;
		}
		if (there >= MSWX_LIVE_LEAST)
			run_for(m, LAST_QUANTUM);
		return flush(m) + 1;
	}
	/* Nothing is in the pipeline: whoever waits for what was has waited long enough. */
	__atomic_fetch_add(&m->executed, QUANTUM, __ATOMIC_SEQ_CST);
	return flush(m);
}

/* From here on the kernel has all frames that come; those that are here still leave by the rules. */
static void leave(struct mswx *m)
{
	uint64_t now = now_ns(), end = now + LONGEST_LEAVE, until = now + LAST_LOOK;

	if (m->alive)
		__atomic_store_n(m->alive, 0, __ATOMIC_SEQ_CST);
	hand_back(m);
	for (; now < until && now < end; now = now_ns())
		if (round_of_all(m))
			until = now + LAST_LOOK;
}

void mswx_loop(struct mswx *m, int wake)
{
	uint64_t idle_since = 0;

	mswx_enlist();
	/* The kernel takes a switch for dead that waits for a processor for 50 ms, and what it had taken by then comes late: so it
	 * goes before others, unless it never sleeps. Of this thread alone; not everybody may. */
	if (!m->keen)
		setpriority(PRIO_PROCESS, 0, NICE);
	m->patience = m->spin;
	__atomic_store_n(&m->running, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&m->ending, __ATOMIC_SEQ_CST)) {
		uint32_t busy;
		uint64_t now;

		live(m);
		if (__atomic_load_n(&m->pausing, __ATOMIC_SEQ_CST))
			pause_until_resumed(m);
		busy = round_of_all(m);
		look_at_held(m);
		if (busy) {
			idle_since = 0;
			continue;
		}
		now = now_ns();
		if (!idle_since)
			idle_since = now;
		/* Who has slept until it was time to say that he lives goes on sleeping. */
		if (now - idle_since >= m->patience && sleep_until_woken(m, wake)) {
			learn_patience(m, now_ns() - idle_since);
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
