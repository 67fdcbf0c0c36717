/* The switch on DPDK in plain C types: pipeline, tables, packets. Functions that can fail return 0
 * or a negative error number. */
#ifndef MARTLET_SWITCH_H
#define MARTLET_SWITCH_H
#include <stddef.h>
#include <stdint.h>

#define MSWX_PORTS 8
#define MSWX_BURST 32
/* The port at which packets of moving flows are held. */
#define MSWX_HOLD 6
#define MSWX_KEY 64
#define MSWX_DATA 64

struct mswx;

/* A field of a struct or of a key. */
struct mswx_field {
	const char *name;
	uint32_t bits;
};
struct mswx_key {
	const char *name;
	int32_t wildcard;
};
/* An action of a table, and its scope. */
struct mswx_table_action {
	const char *name;
	int32_t in_entries;
	int32_t by_default;
};
/* An entry: one number per key field and action argument. */
struct mswx_entry {
	const uint64_t *values;
	const uint64_t *masks; /* NULL: exact */
	uint32_t priority;	   /* 0 is the first to match */
	uint32_t action;
	const uint64_t *arguments;
};
/* A change of one key of an exact table: old entry, new entry; either may be NULL. */
struct mswx_change {
	uint32_t table;
	const struct mswx_entry *before;
	const struct mswx_entry *after;
};
/* All entries of a ternary table. */
struct mswx_rebuild {
	uint32_t table;
	const struct mswx_entry *entries;
	uint32_t count;
};
struct mswx_meter {
	uint64_t bytes_per_second;
	uint64_t burst;
};
struct mswx_port_counters {
	uint64_t packets_in, bytes_in, packets_out, bytes_out;
	/* Frames that bypassed the pipeline: too short, truncated, or with a wrong checksum. */
	uint64_t bypassed, runts;
	/* Frames that the kernel or the ring rejected. */
	uint64_t refused;
};

int mswx_start(int argc, const char *const *argv);
/* Gives the calling thread a packet cache. */
void mswx_register_thread(void);
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
/* Ports are rings; or, for benchmarks, an endless source from a pcap file and a sink. */
int mswx_ring_ports(struct mswx *m);
int mswx_memory_ports(struct mswx *m, const char *pcap, uint32_t packets);
int mswx_build(struct mswx *m);
/* Replaces mswx_struct to mswx_build: the same pipeline as machine code, from a library. `pcap` as
 * above, or NULL. */
int mswx_load(struct mswx *m, const char *library, const char *pcap, uint32_t packets);
void mswx_free(struct mswx *m);

int mswx_table_number(struct mswx *m, const char *name);
int mswx_action_number(struct mswx *m, const char *name);
/* Applies all changes atomically with respect to packets, or none; then `failed` is the index of
 * the failed change. */
int mswx_commit(struct mswx *m, const struct mswx_change *changes, uint32_t n,
	const struct mswx_rebuild *rebuilds, uint32_t n_rebuilds, uint32_t *failed);
int mswx_default(struct mswx *m, uint32_t table, uint32_t action, const uint64_t *arguments);
int mswx_register_read(struct mswx *m, const char *name, uint32_t index, uint64_t *value);
int mswx_register_write(struct mswx *m, const char *name, uint32_t index, uint64_t value);
int mswx_meter_set(
	struct mswx *m, const char *name, uint32_t index, const struct mswx_meter *meter);

/* Manual operation: inject at a port, run the pipeline, collect at a port. */
int mswx_inject(struct mswx *m, uint32_t port, const uint8_t *frame, uint32_t length);
/* Frames queued at a port for the pipeline. */
uint32_t mswx_queued(struct mswx *m, uint32_t port);
int mswx_collect(struct mswx *m, uint32_t port, uint8_t *frame, uint32_t size);
void mswx_run(struct mswx *m, uint32_t instructions);
/* Binds a port to a packet socket. `bypass` is the port for frames that must not enter the
 * pipeline; -1: none. */
void mswx_attach(struct mswx *m, uint32_t port, int fd, int bypass);
/* The same with AF_XDP, for one receive queue of an interface. Returns the socket, which the port
 * owns. */
int mswx_open_lane(struct mswx *m, uint32_t port, uint32_t ifindex, uint32_t queue, int bypass);
/* Sends large bursts of a port through an XDP program. Program and memory, which the caller owns,
 * are those of lanes.rs. */
int mswx_live(struct mswx *m, uint32_t port, int program, int area, const char *interface);
void mswx_close_lanes(struct mswx *m, uint32_t port);
/* Sets the address of the liveness timestamp, which the loop updates at least every 20 ms and
 * clears when it ends. */
void mswx_set_liveness(struct mswx *m, uint64_t *at);
/* Sets a fixed polling time before a sleep in nanoseconds. Without it, up to about 100 us where
 * packets arrive that soon, else none. */
void mswx_spin(struct mswx *m, uint64_t nanoseconds);
/* Sets an eventfd that is signalled when packets for the controller arrive. */
void mswx_set_wakeup(struct mswx *m, int fd);
/* Forwards packets until stopped; `wake` is a descriptor that ends an idle sleep. */
void mswx_loop(struct mswx *m, int wake);
void mswx_end(struct mswx *m);
/* Frames held at port MSWX_HOLD begin with their ingress port, in four bytes. mswx_pause stops
 * reception, finishes the frames in flight, and returns when done; wake the loop before.
 * mswx_resume continues, with the held frames first. Without a running loop, mswx_release processes
 * the held frames. */
void mswx_pause(struct mswx *m);
void mswx_paused(struct mswx *m);
void mswx_resume(struct mswx *m);
void mswx_release(struct mswx *m);
/* Runs memory ports for a CPU time in nanoseconds; returns the time used. */
uint64_t mswx_measure(struct mswx *m, uint64_t nanoseconds);
void mswx_port_counters(struct mswx *m, uint32_t port, struct mswx_port_counters *counters);
/* How often the loop was delayed for so long that the kernel took over, and the longest delay in
 * nanoseconds. */
void mswx_absences(struct mswx *m, uint64_t *times, uint64_t *longest);
/* Counters of memory ports. */
int mswx_sink_packets(struct mswx *m, uint32_t port, uint64_t *packets, uint64_t *bytes);
const char *mswx_version(void);
/* A table of exact.c for tests. Keys and values are numbers; the key has `key_size` bytes. Returns
 * 0 or a negative error number; find returns 1 if the key exists. */
void *mswx_exact_new(uint32_t key_size, uint32_t size);
int mswx_exact_add(void *table, uint64_t key, uint64_t value);
int mswx_exact_del(void *table, uint64_t key);
int mswx_exact_find(void *table, uint64_t key, uint64_t *value);
void mswx_exact_free(void *table);
#endif
