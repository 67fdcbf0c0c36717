/* What the switch asks of DPDK, in plain C types: pipeline, tables, packets. Every function that
 * can fail gives 0, or the negative number of an error. */
#ifndef MARTLET_SWITCH_H
#define MARTLET_SWITCH_H
#include <stddef.h>
#include <stdint.h>

#define MSWX_PORTS 8
#define MSWX_BURST 32
/* Where packets of flows wait that move from the native side. */
#define MSWX_HOLD 6
#define MSWX_KEY 64
#define MSWX_DATA 64

struct mswx;

/* One field of a struct, one of a key. */
struct mswx_field {
	const char *name;
	uint32_t bits;
};
struct mswx_key {
	const char *name;
	int32_t wildcard;
};
/* An action of a table, and where it may be used. */
struct mswx_table_action {
	const char *name;
	int32_t in_entries;
	int32_t by_default;
};
/* An entry, with one number for each field of the key and each argument of the action. */
struct mswx_entry {
	const uint64_t *values;
	const uint64_t *masks; /* NULL: exact */
	uint32_t priority;	   /* 0 is the first to match */
	uint32_t action;
	const uint64_t *arguments;
};
/* A change of one key of an exact table: from what is there to what shall be, either of which may
 * be NULL. */
struct mswx_change {
	uint32_t table;
	const struct mswx_entry *before;
	const struct mswx_entry *after;
};
/* All entries of a table with masks. */
struct mswx_rebuild {
	uint32_t table;
	const struct mswx_entry *entries;
	uint32_t count;
};
struct mswx_meter {
	uint64_t octets_per_second;
	uint64_t burst;
};
struct mswx_port_counters {
	uint64_t packets_in, octets_in, packets_out, octets_out;
	/* Frames that the pipeline never saw: too short, cut off, or with a wrong checksum. */
	uint64_t bypassed, runts;
	/* Frames that the kernel or the ring did not take. */
	uint64_t refused;
};

int mswx_start(int argc, const char *const *argv);
/* Gives the thread that calls a cache of packets of its own. */
void mswx_enlist(void);
void mswx_trust_huge_pages(void);
int mswx_new(struct mswx **out, const char *name, uint32_t buffers);
int mswx_struct(struct mswx *m, const char *name, const struct mswx_field *fields, uint32_t n);
int mswx_header(struct mswx *m, const char *name, const char *of);
int mswx_metadata(struct mswx *m, const char *of);
int mswx_registers(struct mswx *m, const char *name, uint32_t size);
int mswx_meters(struct mswx *m, const char *name, uint32_t size);
int mswx_action(
	struct mswx *m, const char *name, const char *arguments, const char **instructions, uint32_t n);
int mswx_table(struct mswx *m, const char *name, const struct mswx_key *keys, uint32_t n_keys,
	const struct mswx_table_action *actions, uint32_t n_actions, const char *by_default,
	int constant, uint32_t size);
int mswx_apply(struct mswx *m, const char **instructions, uint32_t n);
/* Ports are rings, which packets are put into and taken from; or, to measure, a file that is read
 * for ever, and nothing. */
int mswx_ring_ports(struct mswx *m);
int mswx_memory_ports(struct mswx *m, const char *pcap, uint32_t packets);
int mswx_build(struct mswx *m);
/* Instead of all from mswx_struct to mswx_build: the same pipeline as machine code, from a library.
 * `pcap` as above, or NULL. */
int mswx_load(struct mswx *m, const char *library, const char *pcap, uint32_t packets);
void mswx_free(struct mswx *m);

int mswx_table_number(struct mswx *m, const char *name);
int mswx_action_number(struct mswx *m, const char *name);
/* Makes all changes at once, between two packets, or none: then the number of the change that
 * failed is in `failed`. */
int mswx_commit(struct mswx *m, const struct mswx_change *changes, uint32_t n,
	const struct mswx_rebuild *rebuilds, uint32_t n_rebuilds, uint32_t *failed);
int mswx_default(struct mswx *m, uint32_t table, uint32_t action, const uint64_t *arguments);
int mswx_register_read(struct mswx *m, const char *name, uint32_t index, uint64_t *value);
int mswx_register_write(struct mswx *m, const char *name, uint32_t index, uint64_t value);
int mswx_meter_set(
	struct mswx *m, const char *name, uint32_t index, const struct mswx_meter *meter);

/* Packets by hand: in at a port, through the pipeline, out at a port. */
int mswx_inject(struct mswx *m, uint32_t port, const uint8_t *frame, uint32_t length);
/* Frames that wait at a port for the pipeline. */
uint32_t mswx_queued(struct mswx *m, uint32_t port);
int mswx_collect(struct mswx *m, uint32_t port, uint8_t *frame, uint32_t size);
void mswx_run(struct mswx *m, uint32_t instructions);
/* Packets by packet sockets. Bypass is the port that a frame goes to that the pipeline must not
 * see; -1 for none. */
void mswx_attach(struct mswx *m, uint32_t port, int fd, int bypass);
/* The same by AF_XDP, for one receive queue of an interface: gives the socket, which stays the
 * port's. */
int mswx_open_lane(struct mswx *m, uint32_t port, uint32_t ifindex, uint32_t queue, int bypass);
/* Has frames leave a port by an XDP program where many wait: program and memory, which stay the
 * caller's, are those of lanes.rs. */
int mswx_live(struct mswx *m, uint32_t port, int program, int area, const char *interface);
void mswx_close_lanes(struct mswx *m, uint32_t port);
/* Where the loop is to write, at least every 20 ms, the time at which it still lives; and 0 when it
 * ends. */
void mswx_alive(struct mswx *m, uint64_t *at);
/* Nanoseconds for which the loop looks for packets before it sleeps, always; without it, some 100
 * us where packets come that soon, and not at all where they do not. */
void mswx_spin(struct mswx *m, uint64_t nanoseconds);
/* A descriptor (eventfd) that is written to when packets have come for the controller. */
void mswx_bell(struct mswx *m, int fd);
/* Carries packets until told to end; `wake` is a descriptor that wakes it up, from an idle sleep.
 */
void mswx_loop(struct mswx *m, int wake);
void mswx_end(struct mswx *m);
/* Frames that wait at port MSWX_HOLD begin with the number of the port that they came in by, in
 * four octets. Pause has the loop take no more frames and finish those under way, and gives when it
 * has; wake it up before. Resume lets it go on, with the frames that wait before all others. Where
 * no loop runs, release does the latter alone. */
void mswx_pause(struct mswx *m);
void mswx_paused(struct mswx *m);
void mswx_resume(struct mswx *m);
void mswx_release(struct mswx *m);
/* Runs ports in memory for so many nanoseconds of the processor's time; gives how many it took. */
uint64_t mswx_measure(struct mswx *m, uint64_t nanoseconds);
void mswx_port_counters(struct mswx *m, uint32_t port, struct mswx_port_counters *counters);
/* How often the loop had no processor for so long that the kernel took over, and for how many
 * nanoseconds at the most. */
void mswx_absences(struct mswx *m, uint64_t *times, uint64_t *longest);
/* Of ports in memory. */
int mswx_sink_packets(struct mswx *m, uint32_t port, uint64_t *packets, uint64_t *octets);
const char *mswx_version(void);
/* A table of exact.c by itself, to test it: keys and what they stand for are numbers, `key_size`
 * octets of the former count. Give 0, or the negative number of an error; find gives 1 if it is
 * there. */
void *mswx_exact_new(uint32_t key_size, uint32_t size);
int mswx_exact_add(void *table, uint64_t key, uint64_t value);
int mswx_exact_del(void *table, uint64_t key);
int mswx_exact_find(void *table, uint64_t key, uint64_t *value);
void mswx_exact_free(void *table);
#endif
