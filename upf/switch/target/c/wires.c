/* Frames between port sockets and pipeline rings. See internal.h. */
#define _GNU_SOURCE
#include "internal.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Bursts received from a port per pipeline run: large batches in lead to large batches out. */
#define BURSTS 8

void mswx_attach(struct mswx *m, uint32_t port, int fd, int bypass)
{
	m->fds[port] = fd;
	m->bypass[port] = bypass;
}

/* Sends through a packet socket. */
static void send_by_socket(
	struct mswx *m, uint32_t port, struct rte_mbuf **packets, const uint32_t *lengths, uint32_t n)
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
				m->counters[port].bytes_out += lengths[i];
			}
			sent += (uint32_t)now;
		} else if (errno != EINTR) {
			/* A full queue rejects all remaining frames; other errors, such as a too
			 * long frame, only this one. */
			uint32_t lost = errno == EAGAIN || errno == ENOBUFS || errno == ENETDOWN ? n - sent : 1;

			m->counters[port].refused += lost;
			sent += lost;
		}
	}
}

/* Whether frames leave through a port; else they are collected from its ring. */
int mswx_leads_out(const struct mswx *m, uint32_t port)
{
	return m->fds[port] >= 0 || m->n_lanes[port];
}

static void send_all(struct mswx *m, uint32_t port, struct rte_mbuf **packets, uint32_t n)
{
	uint32_t lengths[MSWX_BURST], i;

	for (i = 0; i < n; i++)
		lengths[i] = mswx_leaving(packets[i]);
	if (m->n_lanes[port])
		mswx_lane_send(m, port, packets, lengths, n);
	else
		send_by_socket(m, port, packets, lengths, n);
	rte_pktmbuf_free_bulk(packets, n);
}

/* Forwards a frame to the other end of the wire, bypassing the pipeline. */
void mswx_bypass(struct mswx *m, uint32_t port, struct rte_mbuf *packet)
{
	int to = m->bypass[port];

	m->counters[port].bypassed++;
	if (to >= 0 && mswx_leads_out(m, (uint32_t)to))
		send_all(m, (uint32_t)to, &packet, 1);
	else if (to < 0 || rte_ring_enqueue(m->out[to], packet))
		rte_pktmbuf_free(packet);
}

uint32_t mswx_waiting(const struct mswx *m)
{
	uint32_t n = 0, port;

	for (port = 0; port < MSWX_PORTS; port++)
		n += rte_ring_count(m->in[port]);
	return n;
}

/* Received frames with their lengths; at most a burst. */
static void take(
	struct mswx *m, uint32_t port, struct rte_mbuf **packets, const uint32_t *lengths, uint32_t n)
{
	struct rte_mbuf *fit[MSWX_BURST];
	uint32_t i, fits = 0;

	for (i = 0; i < n; i++) {
		struct rte_mbuf *packet = packets[i];
		uint32_t length = lengths[i];

		m->counters[port].packets_in++;
		m->counters[port].bytes_in += length;
		packet->data_len = (uint16_t)length;
		packet->pkt_len = length;
		if (length < MSWX_ETHERNET || length > MSWX_FRAME) {
			m->counters[port].runts++;
			rte_pktmbuf_free(packet);
		} else if (!mswx_prepare(packet)) {
			mswx_bypass(m, port, packet);
		} else {
			fit[fits++] = packet;
		}
	}
	/* The caller checked for space. */
	rte_ring_enqueue_bulk(m->in[port], (void **)fit, fits, NULL);
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

uint32_t mswx_receive(struct mswx *m, uint32_t port)
{
	uint32_t lane, n = 0;

	/* The kernel's queue keeps what does not fit here. */
	if (rte_ring_count(m->out[MSWX_HOLD]) + mswx_waiting(m) + 2 * MSWX_BURST > MSWX_RING)
		return 0;
	if (m->fds[port] >= 0 && rte_ring_free_count(m->in[port]) >= MSWX_BURST)
		n += receive_by_socket(m, port);
	for (lane = 0; lane < m->n_lanes[port]; lane++) {
		uint32_t bursts;

		for (bursts = 0; bursts < BURSTS && rte_ring_free_count(m->in[port]) >= MSWX_BURST;
			 bursts++) {
			uint32_t received = receive_by_lane(m, port, lane);

			n += received;
			if (received < MSWX_BURST)
				break;
		}
	}
	return n;
}

/* Signals that there are more packets for the controller. */
static void signal_controller(struct mswx *m)
{
	uint32_t received = m->out[MSWX_PORTS - 1]->prod.tail;
	const uint64_t one = 1;

	if (m->wakeup_fd >= 0 && received != m->signalled && write(m->wakeup_fd, &one, sizeof(one)) > 0)
		m->signalled = received;
}

/* Sends a large queue of a port through a program; the rest stays. */
static uint32_t send_live(struct mswx *m, uint32_t port)
{
	struct rte_mbuf *packets[MSWX_LIVE];
	uint32_t lengths[MSWX_LIVE], n, i, sent;

	/* Frames that the socket still holds go first. */
	if (rte_ring_count(m->out[port]) < MSWX_LIVE_MIN || mswx_lane_kick(m, port) ||
		!mswx_live_accepts(m, port, mswx_now()))
		return 0;
	n = rte_ring_dequeue_burst(m->out[port], (void **)packets, MSWX_LIVE, NULL);
	for (i = 0; i < n; i++)
		lengths[i] = mswx_leaving(packets[i]);
	sent = mswx_live_send(m, port, packets, lengths, n);
	rte_pktmbuf_free_bulk(packets, sent);
	for (i = sent; i < n; i += MSWX_BURST)
		send_all(m, port, packets + i, n - i < MSWX_BURST ? n - i : MSWX_BURST);
	return n;
}

/* Sends frames from the rings to the sockets; without a socket they stay to be collected. */
uint32_t mswx_flush(struct mswx *m)
{
	uint32_t busy = 0, port;

	signal_controller(m);
	for (port = 0; port < MSWX_PORTS; port++) {
		struct rte_mbuf *packets[MSWX_BURST];
		uint32_t n;

		while (m->live[port] && (n = send_live(m, port)))
			busy += n;
		while (mswx_leads_out(m, port) &&
			   (n = rte_ring_dequeue_burst(m->out[port], (void **)packets, MSWX_BURST, NULL))) {
			send_all(m, port, packets, n);
			busy += n;
		}
		if (m->n_lanes[port])
			busy += mswx_lane_kick(m, port);
	}
	return busy;
}
