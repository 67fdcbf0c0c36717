/* Transmission through an XDP program. A socket allocates a packet buffer in the kernel for each
 * frame. For large bursts, the kernel instead runs a program per frame (BPF_PROG_TEST_RUN with live
 * frames, Linux 5.18), which reads the frame from shared memory and redirects it. A call costs
 * about 15 us, a frame then a third of its cost through a socket.
 *
 * A veth peer receives redirected frames only if it has an XDP program or generic receive offload.
 * A probe frame tests that first, and interface statistics are monitored later. See switch.h. */
#define _GNU_SOURCE
#include "internal.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Frames that the kernel processes before other work; fewer than the queue of a veth. */
#define AT_ONCE 64
/* Interval of statistics checks in nanoseconds, and time until the peer is probed again. */
#define CHECK_INTERVAL 10000000
#define PROBE_AGAIN 1000000000

struct slot {
	uint32_t length, unused;
	uint8_t frame[MSWX_LIVE_SLOT - 8];
};

/* The memory layout of the program in lanes.rs. */
struct area {
	uint32_t next, unused[15];
	struct slot slots[MSWX_LIVE];
};

enum redirect { UNKNOWN, ACCEPTED, REFUSED };

struct mswx_live {
	int program;
	char interface[16];
	struct area *area;
	enum redirect redirect;
	/* Time of the last successful check, the interface's transmit counter at that time, and
	 * frames sent by the program since. */
	uint64_t at, sent, since;
};

int mswx_live(struct mswx *m, uint32_t port, int program, int area, const char *interface)
{
	struct mswx_live *live = calloc(1, sizeof(*live));

	if (!live)
		return -ENOMEM;
	live->area = mmap(NULL, sizeof(struct area), PROT_READ | PROT_WRITE, MAP_SHARED, area, 0);
	if (live->area == MAP_FAILED) {
		int status = -errno;

		free(live);
		return status;
	}
	live->program = program;
	snprintf(live->interface, sizeof(live->interface), "%s", interface);
	m->live[port] = live;
	return 0;
}

void mswx_close_live(struct mswx *m, uint32_t port)
{
	struct mswx_live *live = m->live[port];

	if (!live)
		return;
	m->live[port] = NULL;
	munmap(live->area, sizeof(struct area));
	free(live);
}

/* Packets that the interface has sent, from the statistics of this network namespace; 0 if
 * unavailable. The kernel returns them without taking the RTNL lock. */
static uint64_t sent_by(const char *interface)
{
	FILE *file = fopen("/proc/thread-self/net/dev", "re");
	unsigned long long sent = 0;
	size_t length = strlen(interface);
	char line[512];

	if (!file)
		return 0;
	while (fgets(line, sizeof(line), file)) {
		const char *at = line + strspn(line, " ");

		if (strncmp(at, interface, length) || at[length] != ':')
			continue;
		/* Eight receive counters, then transmitted bytes and packets. */
		if (sscanf(at + length + 1, "%*u %*u %*u %*u %*u %*u %*u %*u %*u %llu", &sent) != 1)
			sent = 0;
		break;
	}
	fclose(file);
	return sent;
}

/* Sends the frames of the first slots, none longer than `longest`. Returns the number that the
 * kernel accepted. */
static uint32_t run(struct mswx_live *live, uint32_t n, uint32_t longest)
{
	static const uint8_t nothing[MSWX_LIVE_SLOT];
	union bpf_attr attributes;
	long status;

	live->area->next = 0;
	do {
		memset(&attributes, 0, sizeof(attributes));
		attributes.test.prog_fd = (uint32_t)live->program;
		attributes.test.data_in = (uint64_t)(uintptr_t)nothing;
		attributes.test.data_size_in = longest;
		attributes.test.repeat = n - live->area->next;
		attributes.test.flags = BPF_F_TEST_XDP_LIVE_FRAMES;
		attributes.test.batch_size = AT_ONCE;
		status = syscall(SYS_bpf, BPF_PROG_TEST_RUN, &attributes, sizeof(attributes.test));
	} while (status < 0 && errno == EINTR && live->area->next < n);
	return live->area->next;
}

/* Probes whether the peer accepts redirected frames, with a frame of the EtherType for local
 * experiments. */
static enum redirect probe(struct mswx_live *live)
{
	static const uint8_t frame[60] = {
		0x01, 0x80, 0xc2, 0, 0, 0x0e, 0x02, 0, 0, 0, 0, 0, 0x88, 0xb5};
	uint64_t before = sent_by(live->interface);

	live->area->slots[0].length = sizeof(frame);
	memcpy(live->area->slots[0].frame, frame, sizeof(frame));
	if (run(live, 1, sizeof(frame)) != 1)
		return REFUSED;
	return sent_by(live->interface) > before ? ACCEPTED : REFUSED;
}

int mswx_live_accepts(struct mswx *m, uint32_t port, uint64_t now)
{
	struct mswx_live *live = m->live[port];
	struct mswx_port_counters *counters = &m->counters[port];
	uint64_t sent;

	if (!live)
		return 0;
	if (live->redirect == UNKNOWN || (live->redirect == REFUSED && now - live->at > PROBE_AGAIN)) {
		live->redirect = probe(live);
		live->sent = sent_by(live->interface);
		live->at = now;
		live->since = 0;
	} else if (live->redirect == ACCEPTED && live->since && now - live->at > CHECK_INTERVAL) {
		sent = sent_by(live->interface);
		/* Some may still be in flight, or were dropped by a full queue. */
		if (sent - live->sent < live->since / 2) {
			live->redirect = REFUSED;
			counters->refused += live->since;
		}
		live->sent = sent;
		live->at = now;
		live->since = 0;
	}
	return live->redirect == ACCEPTED;
}

uint32_t mswx_live_send(
	struct mswx *m, uint32_t port, struct rte_mbuf **packets, const uint32_t *lengths, uint32_t n)
{
	struct mswx_live *live = m->live[port];
	uint32_t longest = 60, i, sent;

	if (n > MSWX_LIVE)
		n = MSWX_LIVE;
	for (i = 0; i < n; i++) {
		struct slot *slot = &live->area->slots[i];

		if (lengths[i] > sizeof(slot->frame))
			break;
		slot->length = lengths[i];
		memcpy(slot->frame, rte_pktmbuf_mtod(packets[i], const void *), lengths[i]);
		if (lengths[i] > longest)
			longest = lengths[i];
	}
	sent = i ? run(live, i, longest) : 0;
	for (i = 0; i < sent; i++) {
		m->counters[port].packets_out++;
		m->counters[port].bytes_out += lengths[i];
	}
	live->since += sent;
	if (!sent)
		live->redirect = REFUSED;
	return sent;
}
