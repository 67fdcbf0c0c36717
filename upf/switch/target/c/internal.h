/* Declarations shared by the C files. */
#ifndef MARTLET_SWITCH_INTERNAL_H
#define MARTLET_SWITCH_INTERNAL_H
#include "switch.h"
#include <rte_mbuf.h>
#include <rte_ring.h>
#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>
#include <rte_swx_table_em.h>

#define MSWX_TABLES 32
#define MSWX_ACTIONS 64
#define MSWX_ARGUMENTS 32
#define MSWX_FIELDS 8
/* Fields of a struct; DPDK takes up to 256. */
#define MSWX_STRUCT_FIELDS 128
#define MSWX_RING 4096
/* Maximum length of a received frame in bytes. */
#define MSWX_FRAME 2048
#define MSWX_NAME 32
/* Maximum receive queues per interface. */
#define MSWX_LANES 16

/* Maximum frames per program run, and the buffer size of each. */
#define MSWX_LIVE 512
#define MSWX_LIVE_SLOT 2048
/* Size of an Ethernet header in bytes. */
#define MSWX_ETHERNET 14
/* Instructions that the pipeline executes between two polls of its output. */
#define MSWX_QUANTUM 2048
/* Instructions after which all packets in flight have left the pipeline: 16 at a time, of 1,024
 * each. As machine code, iterations since the last packet was received; an iteration advances from
 * one table to the next, or by one lookup step. */
#define MSWX_IN_FLIGHT (16 * 1024)
#define MSWX_IN_FLIGHT_COMPILED (16 * 64)
/* Timeout in nanoseconds after which the kernel considers the switch dead; equal to lanes.rs. */
#define MSWX_LIVENESS_TIMEOUT 70000000
/* Nice value of the loop: twice the CPU share of a normal thread. With -10 it would starve the
 * threads that deliver its frames on a shared CPU, and forward half as many. */
#define MSWX_NICE -3
/* Time slice in nanoseconds (Linux 6.12): a shorter one gives a lower scheduling latency. */
#define MSWX_SLICE 500000
/* Frames queued for a port before they are sent by a program. */
#define MSWX_LIVE_MIN 64

struct mswx_lane;
struct mswx_live;

struct mswx_action {
	struct rte_swx_ctl_action_info info;
	struct rte_swx_ctl_action_arg_info arguments[MSWX_ARGUMENTS];
	uint32_t size;
};

struct mswx_a_table {
	struct rte_swx_ctl_table_info info;
	struct rte_swx_ctl_table_match_field_info fields[MSWX_FIELDS];
	struct rte_swx_table_ops ops;
	struct rte_swx_table_params params;
	uint8_t mask0[MSWX_KEY];
	uint32_t first;
};

struct mswx {
	char name[MSWX_NAME];
	char pool_name[MSWX_NAME + 8];
	char ring_in_names[MSWX_PORTS][MSWX_NAME];
	char ring_out_names[MSWX_PORTS][MSWX_NAME];
	struct rte_swx_pipeline *p;
	struct rte_mempool *pool;
	struct rte_ring *in[MSWX_PORTS], *out[MSWX_PORTS];

	struct rte_swx_ctl_pipeline_info info;
	struct mswx_action actions[MSWX_ACTIONS];
	struct mswx_a_table tables[MSWX_TABLES];
	/* The active tables and the inactive copy, which are swapped. */
	struct rte_swx_table_state *now, *next;

	int fds[MSWX_PORTS];
	struct mswx_lane *lanes[MSWX_PORTS][MSWX_LANES];
	uint32_t n_lanes[MSWX_PORTS];
	struct mswx_live *live[MSWX_PORTS];
	int bypass[MSWX_PORTS];
	struct mswx_port_counters counters[MSWX_PORTS];

	/* Executed instructions; whether the loop runs; whether it sleeps with no packet in flight.
	 */
	uint64_t executed;
	int running, parked, ending;
	/* Pause requested; paused. */
	int pausing, paused;
	/* Time at which the first frame was held in nanoseconds; 0: none. */
	uint64_t held_since;
	/* Liveness timestamp in nanoseconds of CLOCK_MONOTONIC_COARSE, or NULL. */
	uint64_t *liveness;
	/* Instructions since the last packet entered the pipeline, and the number after which it is
	 * empty. */
	uint64_t since_last, in_flight;
	/* Iterations since the pipeline received a packet, if it counts them; then its ports have
	 * further members. */
	uint32_t (*idle_iterations)(void);
	/* Time of the last liveness update; how often it was so late that the kernel took over; the
	 * longest delay. */
	uint64_t liveness_at, takeovers, longest_delay;
	/* Polling time before a sleep in nanoseconds: the maximum and, unless `fixed_spin`, the current
	 * value. */
	uint64_t spin, poll_time;
	int fixed_spin;
	/* An eventfd that is signalled when packets for the controller arrive, or -1; and the
	 * number signalled so far. */
	int wakeup_fd;
	uint32_t signalled;
};

/* Whether the pipeline may process a frame. Removes the padding of short Ethernet frames and
 * zero-fills up to what the parser may read. Bytes behind the end of a packet are removed when it
 * leaves. */
int mswx_prepare(struct rte_mbuf *packet);
/* The length of a frame that leaves. */
uint32_t mswx_leaving(const struct rte_mbuf *packet);
/* Whether frames leave through a port; else they are collected from its ring. */
int mswx_leads_out(const struct mswx *m, uint32_t port);
/* Receives frames of a port while its ring has space. Returns their number. */
uint32_t mswx_receive(struct mswx *m, uint32_t port);
/* Frames queued for the pipeline. */
uint32_t mswx_waiting(const struct mswx *m);
/* Forwards a frame to the other end of the wire, bypassing the pipeline. */
void mswx_bypass(struct mswx *m, uint32_t port, struct rte_mbuf *packet);
/* Sends frames from the rings to the sockets; without a socket they stay to be collected. Returns
 * the number of frames that were queued. */
uint32_t mswx_flush(struct mswx *m);
/* Runs the pipeline. */
void mswx_step(struct mswx *m, uint32_t instructions);
/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t mswx_now(void);
/* Updates the liveness timestamp, so that the kernel leaves frames to the switch. */
void mswx_update_liveness(struct mswx *m);
/* Held packets go to the native side: all of them, or after their timeout. */
void mswx_release_to_native(struct mswx *m);
void mswx_check_held(struct mswx *m);
/* Called by the loop: drains the pipeline and pauses. */
void mswx_pause_until_resumed(struct mswx *m);
/* Makes all pipelines use the tables of exact.c. */
void mswx_take_exact_tables(void);
/* Receives at most n frames from a lane. */
uint32_t mswx_lane_receive(
	struct mswx *m, uint32_t port, uint32_t lane, struct rte_mbuf **packets, uint32_t n);
/* Sends frames with the given lengths; those without space in the queue are counted as refused. The
 * caller still owns the packets. */
void mswx_lane_send(
	struct mswx *m, uint32_t port, struct rte_mbuf **packets, const uint32_t *lengths, uint32_t n);
/* Makes the kernel send queued frames; returns the number that remains. */
uint32_t mswx_lane_kick(struct mswx *m, uint32_t port);
/* Whether frames may currently be sent through a program. */
int mswx_live_accepts(struct mswx *m, uint32_t port, uint64_t now);
/* Sends frames through a program; returns the number sent, from the first one. The caller still
 * owns the packets. */
uint32_t mswx_live_send(
	struct mswx *m, uint32_t port, struct rte_mbuf **packets, const uint32_t *lengths, uint32_t n);
void mswx_close_live(struct mswx *m, uint32_t port);
int mswx_lane_fd(const struct mswx *m, uint32_t port, uint32_t lane);
#endif
