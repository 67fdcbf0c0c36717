// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* What the least costs: programs that look one key up, and take a tunnel header off or put one on. The lab compares with
 * them; they carry nobody's packets. */
#include "gtp.h"

struct bare {
	__be32 teid;
	__be32 peer;
	__u32 ifindex;
	__u8 to[6];
	__u8 from[6];
};

TABLE(bare_by_teid, BPF_MAP_TYPE_HASH, __be32, struct bare, 65536, 0);
TABLE(bare_by_ue, BPF_MAP_TYPE_HASH, __be32, struct bare, 65536, 0);

char LICENSE[] SEC("license") = "GPL";
