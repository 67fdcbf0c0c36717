// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* Frames that the kernel lost after a program had redirected or returned them. A program is not
 * told, and most drivers do not count them; tracepoints report them.
 */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define WATCHED 1024
#define LOSSES 1024
#define NO_MAP 0x7fffffff

/* The fields of the kernel's types that are used; libbpf finds their offsets. */
struct net {
	__u64 net_cookie;
} __attribute__((preserve_access_index));

typedef struct {
	struct net *net;
} __attribute__((preserve_access_index)) possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
} __attribute__((preserve_access_index));

struct bpf_prog;

enum loss_stage {
	LOSS_REDIRECT,		/* the redirection failed */
	LOSS_TRANSMIT,		/* the interface did not take a redirected or returned frame */
	LOSS_EXCEPTION,		/* the program's verdict cannot be carried out */
	LOSS_QUEUE,		/* the queue of a CPU was full */
};

/* An interface, with the cookie of its network namespace: tracepoints fire for all of them. Or the
 * queues of CPUs, with the number of their map and the cookie 0, which no namespace has. */
struct port {
	__u64 netns;
	__u32 ifindex;
	__u32 zero;
};

struct loss {
	struct port port;
	__u32 stage;
	__s32 error;		/* negative errno; 0: the interface had no room */
};

/* The interfaces that are counted. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, WATCHED);
	__type(key, struct port);
	__type(value, __u8);
} watched SEC(".maps");

/* Lost frames. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, LOSSES);
	__type(key, struct loss);
	__type(value, __u64);
} losses SEC(".maps");

static __always_inline int add(struct loss *loss, int frames)
{
	__u64 none = 0, *lost;

	if (!bpf_map_lookup_elem(&watched, &loss->port))
		return 0;
	bpf_map_update_elem(&losses, loss, &none, BPF_NOEXIST);
	lost = bpf_map_lookup_elem(&losses, loss);
	if (lost)
		__sync_fetch_and_add(lost, frames);
	return 0;
}

static __always_inline int count(const struct net_device *dev, int ifindex, __u32 stage, int error,
				 int frames)
{
	struct loss loss = { .stage = stage, .error = error };

	if (!dev || frames <= 0)
		return 0;
	loss.port.netns = dev->nd_net.net->net_cookie;
	loss.port.ifindex = ifindex ?: dev->ifindex;
	return add(&loss, frames);
}

SEC("tp_btf/xdp_devmap_xmit")
int BPF_PROG(after_redirect, const struct net_device *from, const struct net_device *to, int sent,
	     int drops, int err)
{
	return count(to, 0, LOSS_TRANSMIT, err, drops);
}

SEC("tp_btf/xdp_bulk_tx")
int BPF_PROG(after_return, const struct net_device *dev, int sent, int drops, int err)
{
	return count(dev, 0, LOSS_TRANSMIT, err, drops);
}

SEC("tp_btf/xdp_redirect_err")
int BPF_PROG(redirect_failed, const struct net_device *dev, const struct bpf_prog *xdp,
	     const void *target, int err, int map_type, __u32 map, __u32 index)
{
	/* Without a map, the index is that of the interface to which the frame was to go. */
	return count(dev, map == NO_MAP ? index : 0, LOSS_REDIRECT, err, 1);
}

SEC("tp_btf/xdp_exception")
int BPF_PROG(verdict_failed, const struct net_device *dev, const struct bpf_prog *xdp, __u32 act)
{
	return count(dev, 0, LOSS_EXCEPTION, 0, 1);
}

SEC("tp_btf/xdp_cpumap_enqueue")
int BPF_PROG(queue_full, int map, unsigned int processed, unsigned int drops, int cpu)
{
	struct loss loss = { .port.ifindex = map, .stage = LOSS_QUEUE };

	return drops ? add(&loss, drops) : 0;
}

char LICENSE[] SEC("license") = "GPL";
