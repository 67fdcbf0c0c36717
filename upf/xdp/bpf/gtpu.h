/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* GTP-U (TS 29.281) with the PDU session container (TS 38.415). */
#pragma once

#include "headers.h"

#define GTP_PORT 2152
#define GTP_ECHO_REQUEST 1
#define GTP_G_PDU 255
#define GTP_CONTAINER 0x85
/* Version 1, protocol type GTP; and the three flags of optional fields. */
#define GTP_FLAGS 0x30
#define GTP_EXTENDED 0x04
#define GTP_SEQUENCE 0x02

struct gtp {
	__u8 flags;
	__u8 type;
	__be16 length;
	__be32 teid;
};

/* Present if any of the three flags is set. */
struct gtp_optional {
	__be16 sequence;
	__u8 n_pdu;
	__u8 next;
};

/* A PDU session container of the shortest length. */
struct gtp_container {
	__u8 length;
	__u8 type;
	__u8 qfi;
	__u8 next;
};

enum gtp_kind {
	GTP_PACKET,
	GTP_SIGNALLING,
	GTP_MALFORMED,
	GTP_UNKNOWN_EXTENSION,
};

struct tunnelled {
	__be32 teid;
	__u32 inner;		/* offset of the packet in the frame */
	__u32 end;		/* offset of its end */
	__be32 from4;		/* sender; 0: IPv6 */
	__u32 outer;		/* offset of the outer IP header */
	__u8 qfi;
	__u8 has_qfi;
};

/* Parses the extension headers from offset `at`. Returns the offset behind them, -1 for a malformed
 * header, -2 for an unknown header whose comprehension is required. */
global int extensions(struct xdp_md *ctx, __u32 at, __u8 next, struct tunnelled *found)
{
	if (!found)
		return -1;
	void *data = data_of(ctx), *end = end_of(ctx);
	if (at > 1024)
		return -1;
	for (int i = 0; i < MAX_EXTENSIONS && next; i++) {
		__u8 *header = data + at;
		if ((void *)(header + 4) > end)
			return -1;
		__u32 length = header[0] * 4;
		if (!length || at + length > found->end || data + at + length > end)
			return -1;
		if (next == GTP_CONTAINER) {
			/* Unknown types are ignored; a paging policy indicator makes the header
			 * longer. */
			__u8 type = header[1] >> 4;
			if (type == 1 || (type == 0 && (!(header[2] & 0x80) || length > 4))) {
				found->qfi = header[2] & 0x3f;
				found->has_qfi = 1;
			}
		} else if (next & 0x80) {
			return -2;
		}
		/* Prevents the compiler from reusing an offset that was not checked. */
		__u32 behind = at + length - 1;
		barrier_var(behind);
		if (behind > 0x3fff)
			return -1;
		__u8 *last = data + behind;
		if ((void *)(last + 1) > end)
			return -1;
		next = *last;
		at = behind + 1;
	}
	return next ? -1 : (int)at;
}

/* Parses a GTP-U message at offset `at`, behind its UDP header. */
inline_always enum gtp_kind read_gtp(struct xdp_md *ctx, __u32 at, struct tunnelled *found)
{
	void *data = data_of(ctx), *end = end_of(ctx);
	struct gtp *gtp = data + at;
	if ((void *)(gtp + 1) > end)
		return GTP_MALFORMED;
	if ((gtp->flags & 0xf0) != GTP_FLAGS)
		return GTP_MALFORMED;
	if (gtp->type != GTP_G_PDU)
		return GTP_SIGNALLING;
	found->teid = gtp->teid;
	found->qfi = found->has_qfi = 0;
	found->inner = at + sizeof(*gtp);
	found->end = found->inner + bpf_ntohs(gtp->length);
	if (found->end > end - data)
		return GTP_MALFORMED;
	if (!(gtp->flags & 7))
		return GTP_PACKET;
	struct gtp_optional *optional = (void *)(gtp + 1);
	struct gtp_container *container = (void *)(optional + 1);
	found->inner += sizeof(*optional);
	if (found->inner > found->end || (void *)(optional + 1) > end)
		return GTP_MALFORMED;
	if (!(gtp->flags & GTP_EXTENDED) || !optional->next)
		return GTP_PACKET;
	/* Fast path: one uplink container. */
	if (likely(optional->next == GTP_CONTAINER && (void *)(container + 1) <= end &&
		   container->length == 1 && container->type >> 4 == 1 && !container->next &&
		   found->inner + 4 <= found->end)) {
		found->qfi = container->qfi & 0x3f;
		found->has_qfi = 1;
		found->inner += sizeof(*container);
		return GTP_PACKET;
	}
	int behind = extensions(ctx, found->inner, optional->next, found);
	if (behind == -2)
		return GTP_UNKNOWN_EXTENSION;
	if (behind < 0 || behind > (int)found->end)
		return GTP_MALFORMED;
	found->inner = behind;
	return GTP_PACKET;
}
