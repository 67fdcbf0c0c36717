/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a program asks of martlet_lcs.ko, through /dev/martlet_lcs. src/lib.rs has the same. */
#ifndef MARTLET_LCS_H
#define MARTLET_LCS_H

#include <linux/ioctl.h>
#include <linux/types.h>

struct martlet_lcs_exchange {
	__s32 socket;  /* A connected TCP socket whose TLS records the kernel makes. */
	__u32 payload; /* Asking: octets of each message's payload, 1 to 65535. */
	__u32 rounds; /* Asking: how many, at most MARTLET_LCS_ROUNDS. Answering: written, how many were
					 answered. */
	__u32 session_length; /* Octets of the LCS session identity, 1 to 255. */
	__u64 session;		  /* Where that is. */
	__u64 times;		  /* Asking: where the nanoseconds of each round go, 8 octets each. */
};

#define MARTLET_LCS_ROUNDS 100000
#define MARTLET_LCS_ASK _IOW('m', 0x41, struct martlet_lcs_exchange)
#define MARTLET_LCS_ANSWER _IOWR('m', 0x42, struct martlet_lcs_exchange)

#endif
