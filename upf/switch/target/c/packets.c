/* Packets: checked before the pipeline sees them, carried between packet sockets and its rings. See switch.h. */
#define _GNU_SOURCE
#include "internal.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define ETHERNET 14
#define IPV4 20
/* SWX takes headers out of a packet without a look at its length: whatever the parser may take has to be there. Ethernet,
 * IPv4, UDP, GTP-U, container, IPv4 and ports are 86 octets. */
#define PARSED 96
#define QUANTUM 2048
/* Nanoseconds after which what waits goes to the native side: whoever had it wait is gone. */
#define LONGEST_HOLD 250000000
/* Instructions in which all that is under way in the pipeline and its ports' caches comes out. */
#define DRAIN (64 * 1024)
/* Rounds without a packet before the loop sleeps. */
#define IDLE_ROUNDS 256

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

static void send_all(struct mswx *m, uint32_t port, struct rte_mbuf **packets, uint32_t n)
{
	struct mmsghdr messages[MSWX_BURST];
	struct iovec parts[MSWX_BURST];
	uint32_t i, sent = 0;

	memset(messages, 0, n * sizeof(*messages));
	for (i = 0; i < n; i++) {
		parts[i].iov_base = rte_pktmbuf_mtod(packets[i], void *);
		parts[i].iov_len = leaving(packets[i]);
		messages[i].msg_hdr.msg_iov = &parts[i];
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	while (sent < n) {
		int now = sendmmsg(m->fds[port], messages + sent, n - sent, MSG_DONTWAIT);

		if (now > 0) {
			for (i = sent; i < sent + (uint32_t)now; i++) {
				m->counters[port].packets_out++;
				m->counters[port].octets_out += parts[i].iov_len;
			}
			sent += (uint32_t)now;
		} else if (errno != EINTR) {
			/* A full queue refuses all the rest; anything else, such as a frame that is too long, this one. */
			uint32_t lost = errno == EAGAIN || errno == ENOBUFS || errno == ENETDOWN ? n - sent : 1;

			m->counters[port].refused += lost;
			sent += lost;
		}
	}
	for (i = 0; i < n; i++)
		rte_pktmbuf_free(packets[i]);
}

static uint32_t waiting(const struct mswx *m)
{
	uint32_t n = 0, port;

	for (port = 0; port < MSWX_PORTS; port++)
		n += rte_ring_count(m->in[port]);
	return n;
}

static uint32_t receive(struct mswx *m, uint32_t port)
{
	struct rte_mbuf *packets[MSWX_BURST];
	struct mmsghdr messages[MSWX_BURST];
	struct iovec parts[MSWX_BURST];
	int i, n;

	/* Left to itself, the kernel's queue holds what does not fit here. */
	if (rte_ring_count(m->out[MSWX_HOLD]) + waiting(m) + 2 * MSWX_BURST > MSWX_RING)
		return 0;
	if (rte_ring_free_count(m->in[port]) < MSWX_BURST || rte_pktmbuf_alloc_bulk(m->pool, packets, MSWX_BURST))
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
	for (i = 0; i < n; i++) {
		struct rte_mbuf *packet = packets[i];
		uint32_t length = messages[i].msg_len;

		m->counters[port].packets_in++;
		m->counters[port].octets_in += length;
		packet->data_len = (uint16_t)length;
		packet->pkt_len = length;
		if (length < ETHERNET || length > MSWX_FRAME) {
			m->counters[port].runts++;
			rte_pktmbuf_free(packet);
		} else if (!prepare(packet)) {
			int to = m->bypass[port];

			m->counters[port].bypassed++;
			if (to < 0 || m->fds[to] < 0)
				rte_pktmbuf_free(packet);
			else
				send_all(m, (uint32_t)to, &packet, 1);
		} else {
			rte_ring_enqueue(m->in[port], packet);
		}
	}
	if (n < MSWX_BURST)
		rte_pktmbuf_free_bulk(packets + n, (unsigned int)(MSWX_BURST - n));
	return (uint32_t)n;
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

/* Out of the rings to the sockets; without a socket they wait to be collected. */
static uint32_t flush(struct mswx *m)
{
	uint32_t busy = 0, port;

	for (port = 0; port < MSWX_PORTS; port++) {
		struct rte_mbuf *packets[MSWX_BURST];
		uint32_t n;

		while (m->fds[port] >= 0 && (n = rte_ring_dequeue_burst(m->out[port], (void **)packets, MSWX_BURST, NULL))) {
			send_all(m, port, packets, n);
			busy += n;
		}
	}
	return busy;
}

static void run(struct mswx *m)
{
	rte_swx_pipeline_run(m->p, QUANTUM);
	rte_swx_pipeline_flush(m->p);
	__atomic_fetch_add(&m->executed, QUANTUM, __ATOMIC_SEQ_CST);
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

/* Nobody has come for what waits: it goes on to the native side, and so does what follows. */
static void look_at_held(struct mswx *m)
{
	struct rte_mbuf *packet;

	if (!rte_ring_count(m->out[MSWX_HOLD]))
		return;
	if (!m->held_since)
		m->held_since = now_ns();
	if (now_ns() - m->held_since < LONGEST_HOLD)
		return;
	while (!rte_ring_dequeue(m->out[MSWX_HOLD], (void **)&packet)) {
		uint32_t port = came_by(packet);
		int to = m->bypass[port];

		m->counters[port].bypassed++;
		if (to < 0 || m->fds[to] < 0)
			rte_pktmbuf_free(packet);
		else
			send_all(m, (uint32_t)to, &packet, 1);
	}
}

void mswx_pause(struct mswx *m)
{
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
	while (__atomic_load_n(&m->pausing, __ATOMIC_SEQ_CST) && !__atomic_load_n(&m->ending, __ATOMIC_SEQ_CST))
		usleep(5);
	__atomic_store_n(&m->parked, 0, __ATOMIC_SEQ_CST);
	mswx_release(m);
	__atomic_store_n(&m->paused, 0, __ATOMIC_SEQ_CST);
}

void mswx_loop(struct mswx *m, int wake)
{
	struct pollfd polled[MSWX_PORTS + 1];
	uint32_t idle = 0, port;

	mswx_enlist();
	__atomic_store_n(&m->running, 1, __ATOMIC_SEQ_CST);
	while (!__atomic_load_n(&m->ending, __ATOMIC_SEQ_CST)) {
		uint32_t busy = 0;

		if (__atomic_load_n(&m->pausing, __ATOMIC_SEQ_CST))
			pause_until_resumed(m);
		for (port = 0; port < MSWX_PORTS; port++) {
			if (m->fds[port] >= 0)
				busy += receive(m, port);
			busy += rte_ring_count(m->in[port]);
		}
		run(m);
		busy += flush(m);
		look_at_held(m);
		idle = busy ? 0 : idle + 1;
		if (idle >= IDLE_ROUNDS) {
			nfds_t n = 0;
			uint64_t count;

			for (port = 0; port < MSWX_PORTS; port++)
				if (m->fds[port] >= 0)
					polled[n++] = (struct pollfd){ .fd = m->fds[port], .events = POLLIN };
			polled[n++] = (struct pollfd){ .fd = wake, .events = POLLIN };
			__atomic_store_n(&m->parked, 1, __ATOMIC_SEQ_CST);
			poll(polled, n, 100);
			__atomic_store_n(&m->parked, 0, __ATOMIC_SEQ_CST);
			if (polled[n - 1].revents && read(wake, &count, sizeof(count)) < 0)
				continue;
			idle = IDLE_ROUNDS / 2;
		}
	}
	__atomic_store_n(&m->running, 0, __ATOMIC_SEQ_CST);
}

void mswx_end(struct mswx *m)
{
	__atomic_store_n(&m->ending, 1, __ATOMIC_SEQ_CST);
}

void mswx_port_counters(struct mswx *m, uint32_t port, struct mswx_port_counters *counters)
{
	*counters = m->counters[port];
}
