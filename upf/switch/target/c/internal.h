/* What the C files share. */
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
#define MSWX_RING 4096
/* The longest frame taken, in octets. */
#define MSWX_FRAME 2048
#define MSWX_NAME 32
/* Receive queues of one interface. */
#define MSWX_LANES 16

/* Frames that leave by a program at once, and octets of the memory of each. */
#define MSWX_LIVE 512
#define MSWX_LIVE_SLOT 2048
/* Octets of an Ethernet header. */
#define MSWX_ETHERNET 14
/* Instructions that the pipeline runs for before one looks at what came out. */
#define MSWX_QUANTUM 2048
/* Instructions after which the packets that were under way in the pipeline are out of it: 16 at a
 * time, of 1,024 each. As machine code, turns since it has taken the last packet: one turn goes
 * from one table to the next, or from one step of a look-up. */
#define MSWX_UNDER_WAY (16 * 1024)
#define MSWX_UNDER_WAY_COMPILED (16 * 64)
/* Nanoseconds after which the kernel takes a switch for dead that does not say that it lives: as
 * lanes.rs has it. */
#define MSWX_PATIENCE 70000000
/* Of the loop, among other threads of its session: twice the share of one of them. With more (-10)
 * the threads that bring its frames hardly come to run where they share its processor, and it
 * carries half as many. */
#define MSWX_NICE -3
/* Nanoseconds for which it runs at a time, where others want to run, too (Linux 6.12): the less,
 * the sooner it comes to run. */
#define MSWX_SLICE 500000
/* So many frames for one port have to wait before they leave by a program. */
#define MSWX_LIVE_LEAST 64

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
	/* The tables that packets meet, and those that are worked on; they change places. */
	struct rte_swx_table_state *now, *next;

	int fds[MSWX_PORTS];
	struct mswx_lane *lanes[MSWX_PORTS][MSWX_LANES];
	uint32_t n_lanes[MSWX_PORTS];
	struct mswx_live *live[MSWX_PORTS];
	int bypass[MSWX_PORTS];
	struct mswx_port_counters counters[MSWX_PORTS];

	/* Instructions executed; whether the loop runs, and sleeps with no packet under way. */
	uint64_t executed;
	int running, parked, ending;
	/* The loop is to pause; it does. */
	int pausing, paused;
	/* When the first frame began to wait, in nanoseconds; 0 while none does. */
	uint64_t held_since;
	/* Where the loop says that it lives, in nanoseconds of CLOCK_MONOTONIC_COARSE; or NULL. */
	uint64_t *alive;
	/* Instructions since the last packet entered the pipeline, and after which all packets are out
	 * of it. */
	uint64_t since_last, under_way;
	/* Turns since the pipeline has taken a packet, where it can tell: its ports have some that no
	 * ring has any more. */
	uint32_t (*idle_turns)(void);
	/* When the loop said last that it lives; how often it was away for so long that the kernel took
	 * over, and the longest time. */
	uint64_t said, away, longest_away;
	/* Nanoseconds for which the loop looks for packets before it sleeps: at most and, where it is
	 * not keen, lately. */
	uint64_t spin, patience;
	int keen;
	/* A descriptor that wakes who collects the controller's packets, or -1; and how many it has
	 * been told of. */
	int bell;
	uint32_t rung;
};

/* Whether the pipeline may see a frame. Takes the padding of short Ethernet frames off, and fills
 * up to what the parser may read; what is behind the end of a packet is taken off when it leaves.
 */
int mswx_prepare(struct rte_mbuf *packet);
/* The octets of a frame that leaves. */
uint32_t mswx_leaving(const struct rte_mbuf *packet);
/* Whether frames leave by a port, and are not left to be collected. */
int mswx_leads_out(const struct mswx *m, uint32_t port);
/* Takes the frames of a port that have come, as long as there is room for them; gives how many. */
uint32_t mswx_receive(struct mswx *m, uint32_t port);
/* Frames that wait for the pipeline. */
uint32_t mswx_waiting(const struct mswx *m);
/* By the pipeline, to the other end of the wire. */
void mswx_bypass(struct mswx *m, uint32_t port, struct rte_mbuf *packet);
/* Out of the rings to the sockets; without a socket they wait to be collected. Gives how many had
 * to. */
uint32_t mswx_flush(struct mswx *m);
/* Runs the pipeline. */
void mswx_step(struct mswx *m, uint32_t instructions);
/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t mswx_now(void);
/* Says that the loop lives, so that the kernel leaves it frames. */
void mswx_say_alive(struct mswx *m);
/* What waits goes on to the native side: all of it, or once nobody has come for it in time. */
void mswx_hand_back(struct mswx *m);
void mswx_look_at_held(struct mswx *m);
/* Of the loop: lets everything out of the pipeline, and stands still. */
void mswx_pause_until_resumed(struct mswx *m);
/* From now on, pipelines have the tables of exact.c. */
void mswx_take_exact_tables(void);
/* Frames of a lane, at most n. */
uint32_t mswx_lane_receive(
	struct mswx *m, uint32_t port, uint32_t lane, struct rte_mbuf **packets, uint32_t n);
/* Sends frames of so many octets each; what there is no room for is counted as refused. The packets
 * stay the caller's. */
void mswx_lane_send(
	struct mswx *m, uint32_t port, struct rte_mbuf **packets, const uint32_t *lengths, uint32_t n);
/* Has the kernel send what waits; gives how many frames still do. */
uint32_t mswx_lane_kick(struct mswx *m, uint32_t port);
/* Whether frames may leave a port by a program now. */
int mswx_live_takes(struct mswx *m, uint32_t port, uint64_t now);
/* Sends frames by a program; gives how many, from the first one on. The packets stay the caller's.
 */
uint32_t mswx_live_send(
	struct mswx *m, uint32_t port, struct rte_mbuf **packets, const uint32_t *lengths, uint32_t n);
void mswx_close_live(struct mswx *m, uint32_t port);
int mswx_lane_fd(const struct mswx *m, uint32_t port, uint32_t lane);
#endif
