/* Checks of frames before the pipeline, and their length after it. See internal.h. */
#include "internal.h"
#include <errno.h>
#include <string.h>

#define IPV4 20
#define IPV6 40
/* SWX extracts headers without a length check, so all bytes that the parser may read have to exist.
 * Ethernet, IPv6, UDP, GTP-U, container, IPv6 and ports are 122 bytes. */
#define PARSED 128
/* The header of packets of the controller: a port number. */
#define CONTROLLER_HEADER 4

static uint16_t be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

/* Whether the checksum of an IPv4 header of 20 bytes is correct. The sum does not depend on the
 * byte order (RFC 1071, 2). */
static int adds_up(const uint8_t *header)
{
	uint32_t words[IPV4 / 4];
	uint64_t sum = 0;
	size_t i;

	memcpy(words, header, IPV4);
	for (i = 0; i < IPV4 / 4; i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return ((sum & 0xffff) + (sum >> 16)) == 0xffff;
}

/* Whether the pipeline may process a frame. Removes the padding of short Ethernet frames and
 * zero-fills up to what the parser may read. Bytes behind the end of a packet are removed when it
 * leaves. */
int mswx_prepare(struct rte_mbuf *packet)
{
	uint8_t *frame = rte_pktmbuf_mtod(packet, uint8_t *);
	uint32_t length = packet->data_len;

	if (be16(frame + 12) == 0x0800) {
		uint32_t total;

		if (length < MSWX_ETHERNET + IPV4)
			return 0;
		total = be16(frame + MSWX_ETHERNET + 2);
		if (frame[MSWX_ETHERNET] >> 4 != 4 || total < IPV4 || total > length - MSWX_ETHERNET)
			return 0;
		if (frame[MSWX_ETHERNET] == 0x45 && !adds_up(frame + MSWX_ETHERNET))
			return 0;
		length = MSWX_ETHERNET + total;
	} else if (be16(frame + 12) == 0x86dd) {
		uint32_t total;

		if (length < MSWX_ETHERNET + IPV6)
			return 0;
		total = IPV6 + be16(frame + MSWX_ETHERNET + 4);
		if (frame[MSWX_ETHERNET] >> 4 != 6 || total > length - MSWX_ETHERNET)
			return 0;
		length = MSWX_ETHERNET + total;
	} else {
		/* Of other frames, the parser extracts the Ethernet header only. */
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

/* The length of a frame that leaves, at most `length`. */
static uint32_t length_of(const uint8_t *frame, uint32_t length)
{
	if (length >= MSWX_ETHERNET + IPV4 && be16(frame + 12) == 0x0800) {
		uint32_t total = MSWX_ETHERNET + be16(frame + MSWX_ETHERNET + 2);

		if (total >= MSWX_ETHERNET + IPV4 && total < length)
			return total;
	} else if (length >= MSWX_ETHERNET + IPV6 && be16(frame + 12) == 0x86dd) {
		uint32_t total = MSWX_ETHERNET + IPV6 + be16(frame + MSWX_ETHERNET + 4);

		if (total < length)
			return total;
	}
	return length;
}

uint32_t mswx_leaving(const struct rte_mbuf *packet)
{
	return length_of(rte_pktmbuf_mtod(packet, const uint8_t *), packet->data_len);
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
	m->counters[port].bytes_in += length;
	/* Packets of the controller begin with their egress port instead of Ethernet. The parser
	 * extracts nothing behind it, so they leave unchanged. */
	if (length < MSWX_ETHERNET + (port == MSWX_PORTS - 1 ? CONTROLLER_HEADER : 0)) {
		m->counters[port].runts++;
		rte_pktmbuf_free(packet);
		return 0;
	} else if (port < MSWX_PORTS - 1 && !mswx_prepare(packet)) {
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
	length = mswx_leaving(packet);
	if (port == MSWX_PORTS - 1 && packet->data_len > CONTROLLER_HEADER)
		length = CONTROLLER_HEADER +
				 length_of(rte_pktmbuf_mtod_offset(packet, const uint8_t *, CONTROLLER_HEADER),
					 packet->data_len - CONTROLLER_HEADER);
	m->counters[port].packets_out++;
	m->counters[port].bytes_out += length;
	if (length > size)
		length = size;
	memcpy(frame, rte_pktmbuf_mtod(packet, uint8_t *), length);
	rte_pktmbuf_free(packet);
	return (int)length;
}
