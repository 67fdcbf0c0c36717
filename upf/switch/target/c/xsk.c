/* Lanes: AF_XDP sockets (Linux, Documentation/networking/af_xdp.rst), one per receive queue of an
 * interface. A program on the interface redirects each frame to a lane, or leaves it to the kernel;
 * never both. See switch.h. */
#define _GNU_SOURCE
#include "internal.h"
#include <errno.h>
#include <linux/if_xdp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* Chunk size of the memory shared with the kernel, which reserves 256 bytes of each. */
#define CHUNK 2048
/* Frames in flight in each direction. */
#define TO_US 4096
#define FROM_US 1024
/* Maximum send calls: the kernel sends 32 frames per call. */
#define KICKS 64

struct ring {
	uint32_t *producer, *consumer, *flags;
	void *entries;
	uint32_t mask;
	void *map;
	size_t length;
};

struct mswx_lane {
	int fd;
	uint8_t *frames;
	struct ring fill, completion, rx, tx;
	/* Free chunks for transmission. */
	uint64_t spare[FROM_US];
	uint32_t spares;
};

#define FRAMES ((size_t)CHUNK * (TO_US + FROM_US))

static uint32_t load(const uint32_t *at)
{
	return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}

static void store(uint32_t *at, uint32_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELEASE);
}

static int map_ring(int fd, struct ring *ring, const struct xdp_ring_offset *at, uint64_t where,
	uint32_t entries, size_t bytes)
{
	uint8_t *map;

	ring->length = (size_t)at->desc + entries * bytes;
	map = mmap(
		NULL, ring->length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, (off_t)where);
	if (map == MAP_FAILED)
		return -errno;
	ring->map = map;
	ring->producer = (uint32_t *)(void *)(map + at->producer);
	ring->consumer = (uint32_t *)(void *)(map + at->consumer);
	ring->flags = (uint32_t *)(void *)(map + at->flags);
	ring->entries = map + at->desc;
	ring->mask = entries - 1;
	return 0;
}

static void close_lane(struct mswx_lane *lane)
{
	struct ring *rings[] = {&lane->fill, &lane->completion, &lane->rx, &lane->tx};
	size_t i;

	for (i = 0; i < sizeof(rings) / sizeof(*rings); i++)
		if (rings[i]->map)
			munmap(rings[i]->map, rings[i]->length);
	if (lane->fd >= 0)
		close(lane->fd);
	if (lane->frames)
		munmap(lane->frames, FRAMES);
	free(lane);
}

void mswx_close_lanes(struct mswx *m, uint32_t port)
{
	mswx_close_live(m, port);
	while (m->n_lanes[port])
		close_lane(m->lanes[port][--m->n_lanes[port]]);
}

static int set(int fd, int option, const void *value, socklen_t length)
{
	return setsockopt(fd, SOL_XDP, option, value, length) ? -errno : 0;
}

static int open_lane(struct mswx_lane *lane, uint32_t ifindex, uint32_t queue)
{
	struct sockaddr_xdp address = {.sxdp_family = AF_XDP,
		.sxdp_flags = XDP_USE_NEED_WAKEUP,
		.sxdp_ifindex = ifindex,
		.sxdp_queue_id = queue};
	const uint32_t to_us = TO_US, from_us = FROM_US;
	struct xdp_umem_reg memory = {.len = FRAMES, .chunk_size = CHUNK};
	struct xdp_mmap_offsets at;
	socklen_t length = sizeof(at);
	int status, size = 8 << 20;
	uint32_t i;

	lane->fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (lane->fd < 0)
		return -errno;
	lane->frames = mmap(NULL, FRAMES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (lane->frames == MAP_FAILED) {
		lane->frames = NULL;
		return -errno;
	}
	memory.addr = (uint64_t)(uintptr_t)lane->frames;
	status = set(lane->fd, XDP_UMEM_REG, &memory, sizeof(memory));
	if (!status)
		status = set(lane->fd, XDP_UMEM_FILL_RING, &to_us, sizeof(to_us));
	if (!status)
		status = set(lane->fd, XDP_UMEM_COMPLETION_RING, &from_us, sizeof(from_us));
	if (!status)
		status = set(lane->fd, XDP_RX_RING, &to_us, sizeof(to_us));
	if (!status)
		status = set(lane->fd, XDP_TX_RING, &from_us, sizeof(from_us));
	if (!status && getsockopt(lane->fd, SOL_XDP, XDP_MMAP_OFFSETS, &at, &length))
		status = -errno;
	if (!status)
		status = map_ring(
			lane->fd, &lane->rx, &at.rx, XDP_PGOFF_RX_RING, TO_US, sizeof(struct xdp_desc));
	if (!status)
		status = map_ring(
			lane->fd, &lane->tx, &at.tx, XDP_PGOFF_TX_RING, FROM_US, sizeof(struct xdp_desc));
	if (!status)
		status = map_ring(
			lane->fd, &lane->fill, &at.fr, XDP_UMEM_PGOFF_FILL_RING, TO_US, sizeof(uint64_t));
	if (!status)
		status = map_ring(lane->fd, &lane->completion, &at.cr, XDP_UMEM_PGOFF_COMPLETION_RING,
			FROM_US, sizeof(uint64_t));
	if (status)
		return status;
	setsockopt(lane->fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	for (i = 0; i < TO_US; i++)
		((uint64_t *)lane->fill.entries)[i] = (uint64_t)i * CHUNK;
	store(lane->fill.producer, TO_US);
	for (i = 0; i < FROM_US; i++)
		lane->spare[lane->spares++] = (uint64_t)(TO_US + i) * CHUNK;
	return bind(lane->fd, (const struct sockaddr *)&address, sizeof(address)) ? -errno : 0;
}

int mswx_open_lane(struct mswx *m, uint32_t port, uint32_t ifindex, uint32_t queue, int bypass)
{
	struct mswx_lane *lane;
	int status;

	if (port >= MSWX_PORTS || m->n_lanes[port] >= MSWX_LANES)
		return -E2BIG;
	lane = calloc(1, sizeof(*lane));
	if (!lane)
		return -ENOMEM;
	status = open_lane(lane, ifindex, queue);
	if (status) {
		close_lane(lane);
		return status;
	}
	m->lanes[port][m->n_lanes[port]++] = lane;
	m->bypass[port] = bypass;
	return lane->fd;
}

int mswx_lane_fd(const struct mswx *m, uint32_t port, uint32_t lane)
{
	return m->lanes[port][lane]->fd;
}

uint32_t mswx_lane_receive(
	struct mswx *m, uint32_t port, uint32_t of, struct rte_mbuf **packets, uint32_t n)
{
	struct mswx_lane *lane = m->lanes[port][of];
	uint32_t from = *lane->rx.consumer, to = *lane->fill.producer, i;
	uint32_t available = load(lane->rx.producer) - from;

	if (available < n)
		n = available;
	if (!n || rte_pktmbuf_alloc_bulk(m->pool, packets, n))
		return 0;
	for (i = 0; i < n; i++) {
		const struct xdp_desc *frame =
			&((const struct xdp_desc *)lane->rx.entries)[(from + i) & lane->rx.mask];
		uint32_t length = frame->len < MSWX_FRAME ? frame->len : MSWX_FRAME;

		memcpy(rte_pktmbuf_mtod(packets[i], void *), lane->frames + frame->addr, length);
		packets[i]->data_len = (uint16_t)length;
		packets[i]->pkt_len = length;
		((uint64_t *)lane->fill.entries)[(to + i) & lane->fill.mask] =
			frame->addr & ~(uint64_t)(CHUNK - 1);
	}
	store(lane->rx.consumer, from + n);
	store(lane->fill.producer, to + n);
	if (load(lane->fill.flags) & XDP_RING_NEED_WAKEUP)
		recvfrom(lane->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL);
	return n;
}

/* Chunks of sent frames. */
static void reap(struct mswx_lane *lane)
{
	uint32_t from = *lane->completion.consumer, to = load(lane->completion.producer);

	while (from != to && lane->spares < FROM_US)
		lane->spare[lane->spares++] =
			((const uint64_t *)lane->completion.entries)[from++ & lane->completion.mask];
	store(lane->completion.consumer, from);
}

uint32_t mswx_lane_kick(struct mswx *m, uint32_t port)
{
	struct mswx_lane *lane = m->lanes[port][0];
	uint32_t left = 0, i;

	for (i = 0; i < KICKS; i++) {
		left = *lane->tx.producer - load(lane->tx.consumer);
		if (!left || !(load(lane->tx.flags) & XDP_RING_NEED_WAKEUP))
			break;
		if (sendto(lane->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != EAGAIN &&
			errno != EINTR)
			break;
	}
	reap(lane);
	return left;
}

void mswx_lane_send(
	struct mswx *m, uint32_t port, struct rte_mbuf **packets, const uint32_t *lengths, uint32_t n)
{
	struct mswx_lane *lane = m->lanes[port][0];
	uint32_t to = *lane->tx.producer, i;

	if (lane->spares < n)
		mswx_lane_kick(m, port);
	for (i = 0; i < n; i++) {
		struct xdp_desc *frame = &((struct xdp_desc *)lane->tx.entries)[to & lane->tx.mask];

		if (!lane->spares || lengths[i] > CHUNK) {
			m->counters[port].refused++;
			continue;
		}
		frame->addr = lane->spare[--lane->spares];
		frame->len = lengths[i];
		frame->options = 0;
		memcpy(lane->frames + frame->addr, rte_pktmbuf_mtod(packets[i], const void *), lengths[i]);
		to++;
		m->counters[port].packets_out++;
		m->counters[port].bytes_out += lengths[i];
	}
	store(lane->tx.producer, to);
	mswx_lane_kick(m, port);
}
