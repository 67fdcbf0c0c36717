/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The ioctl interface of martlet_lcs.ko, at /dev/martlet_lcs. src/lib.rs has the same definitions.
 */
#ifndef MARTLET_LCS_H
#define MARTLET_LCS_H

#include <linux/ioctl.h>
#include <linux/types.h>

struct martlet_lcs_exchange {
	__s32 socket;  /* A connected kernel TLS socket. */
	__u32 payload; /* ASK: bytes of each message's payload, 1 to 65535. */
	__u32 rounds; /* ASK: at most MARTLET_LCS_ROUNDS. ANSWER: messages answered (output). */
	__u32 session_length; /* Bytes of the LCS session identity, 1 to 255. */
	__u64 session;		  /* Pointer to the session identity. */
	__u64 times;		  /* ASK: pointer to the duration of each round, 8 bytes each, in ns. */
};

#define MARTLET_LCS_ROUNDS 100000
/* ASK returns the number of complete rounds. A signal between two messages ends ASK and ANSWER as
 * if there were no more. One within a message, or before its answer, ends them with ECONNABORTED:
 * the connection can then no longer be used. */
#define MARTLET_LCS_ASK _IOW('m', 0x41, struct martlet_lcs_exchange)
#define MARTLET_LCS_ANSWER _IOWR('m', 0x42, struct martlet_lcs_exchange)

#endif
