// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* The LCS-UPP data path in the kernel (TS 24.572), on a connected kernel TLS socket. It answers UL
 * LCS-UP TRANSPORT messages with DL LCS-UP TRANSPORT, or sends requests and measures the round
 * trips. No user space code runs between two messages. */
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/socket.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <net/inet_connection_sock.h>
#include <net/sock.h>
#include <net/tls.h>

#include "martlet_lcs.h"

/* TS 24.572: a message is type, payload type, payload LV-E, session identity LV. */
#define UPLINK 0x41
#define DOWNLINK 0x42
#define PAYLOAD_TYPE_LPP 0x01
#define PAYLOAD_TYPE_MASK 0x0f
#define HEAD 4
#define LARGEST_PAYLOAD 65535
#define LARGEST_MESSAGE (HEAD + LARGEST_PAYLOAD + 1 + 255)

/* RFC 8446, B.1 to B.3. */
#define RECORD_ALERT 21
#define RECORD_HANDSHAKE 22
#define RECORD_DATA 23
#define ALERT_CLOSE_NOTIFY 0
#define HANDSHAKE_NEW_SESSION_TICKET 4

struct exchange {
	struct socket *socket;
	u8 session[255];
	u8 session_length;
	u8 *in;		 /* Space for the largest message and the data behind it. */
	u8 *out;	 /* Space for the largest message. */
	size_t have; /* Number of bytes in `in`. */
};

#define BUFFER_SIZE (2 * LARGEST_MESSAGE)

/* Whether this is a kernel TLS socket. */
static bool is_tls(struct socket *socket)
{
	struct sock *sk = socket->sk;
	const struct tcp_ulp_ops *ops;

	if (!sk || sk->sk_protocol != IPPROTO_TCP ||
		(sk->sk_family != AF_INET && sk->sk_family != AF_INET6))
		return false;
	ops = READ_ONCE(inet_csk(sk)->icsk_ulp_ops);
	return ops && !strcmp(ops->name, "tls");
}

/* Whether a signal has interrupted a wait. After -ERESTARTSYS the kernel repeats the call, with
 * empty buffers: it is returned only while nothing has been sent or received. */
static bool is_interrupted(long error)
{
	return error == -ERESTARTSYS || error == -EINTR;
}

/* Sends `length` bytes of `out`. -ECONNABORTED: a signal has interrupted the message. */
static int send_all(struct exchange *it, size_t length)
{
	size_t sent = 0;

	while (sent < length) {
		struct msghdr message = {.msg_flags = MSG_NOSIGNAL};
		struct kvec vector = {.iov_base = it->out + sent, .iov_len = length - sent};
		int count = kernel_sendmsg(it->socket, &message, &vector, 1, vector.iov_len);

		if (is_interrupted(count) && sent)
			return -ECONNABORTED;
		if (count <= 0)
			return count ? count : -EPIPE;
		sent += count;
	}
	return 0;
}

/* Receives more bytes. Returns their number, 0 after close_notify, or an error: -ECONNRESET if the
 * connection ended without it. */
static int receive(struct exchange *it)
{
	char control[CMSG_SPACE(sizeof(u8))];
	struct msghdr message = {.msg_control = control, .msg_controllen = sizeof(control)};
	struct kvec vector = {.iov_base = it->in + it->have, .iov_len = BUFFER_SIZE - it->have};
	struct cmsghdr *header = (struct cmsghdr *)control;
	int count;

	memset(control, 0, sizeof(control));
	count = kernel_recvmsg(it->socket, &message, &vector, 1, vector.iov_len, 0);
	if (count < 0)
		return count;
	if (header->cmsg_len >= CMSG_LEN(sizeof(u8)) && header->cmsg_type == TLS_GET_RECORD_TYPE) {
		u8 type = *(u8 *)CMSG_DATA(header);

		if (type == RECORD_ALERT)
			/* close_notify ends the connection; any other alert is an error. */
			return count == 2 && it->in[it->have + 1] == ALERT_CLOSE_NOTIFY ? 0 : -EPROTO;
		if (type == RECORD_HANDSHAKE)
			/* Session tickets are ignored; a key update is not supported. */
			return count > 0 && it->in[it->have] == HANDSHAKE_NEW_SESSION_TICKET ? -ENOMSG
																				 : -EPROTO;
		if (type != RECORD_DATA)
			return -EPROTO;
	}
	if (count == 0)
		return -ECONNRESET;
	it->have += count;
	return count;
}

/* Waits for a complete message of this type and validates message type, payload type, lengths and
 * session. Returns its length, 0 if the peer closed between two messages, or an error. */
static int next_message(struct exchange *it, u8 type)
{
	for (;;) {
		int count;

		if (it->have >= HEAD) {
			size_t payload = it->in[2] << 8 | it->in[3];
			size_t length = HEAD + payload + 1;

			if (it->in[0] != type || (it->in[1] & PAYLOAD_TYPE_MASK) != PAYLOAD_TYPE_LPP ||
				payload == 0)
				return -EBADMSG;
			if (it->have >= length) {
				u8 session = it->in[length - 1];

				if (session != it->session_length)
					return -EBADMSG;
				if (it->have >= length + session) {
					if (memcmp(it->in + length, it->session, session))
						return -EBADMSG;
					return length + session;
				}
			}
		}
		if (signal_pending(current))
			return -ERESTARTSYS;
		count = receive(it);
		if (count == -ENOMSG)
			continue;
		if (count == 0)
			return it->have ? -ECONNRESET : 0;
		if (count < 0)
			return count;
	}
}

static void consume(struct exchange *it, size_t length)
{
	it->have -= length;
	if (it->have)
		memmove(it->in, it->in + length, it->have);
}

static size_t write_message(struct exchange *it, u8 type, const u8 *payload, size_t length)
{
	it->out[0] = type;
	it->out[1] = PAYLOAD_TYPE_LPP;
	it->out[2] = length >> 8;
	it->out[3] = length;
	memcpy(it->out + HEAD, payload, length);
	it->out[HEAD + length] = it->session_length;
	memcpy(it->out + HEAD + length + 1, it->session, it->session_length);
	return HEAD + length + 1 + it->session_length;
}

static long answer(struct exchange *it, struct martlet_lcs_exchange *request)
{
	request->rounds = 0;
	for (;;) {
		int error, length = next_message(it, UPLINK);

		if (is_interrupted(length) && it->have)
			return -ECONNABORTED;
		if (is_interrupted(length) && request->rounds)
			return 0;
		if (length <= 0)
			return length;
		error = send_all(
			it, write_message(it, DOWNLINK, it->in + HEAD, length - HEAD - 1 - it->session_length));
		/* The message has been received, so that a repeated call would not answer it. */
		if (is_interrupted(error))
			return -ECONNABORTED;
		if (error)
			return error;
		consume(it, length);
		request->rounds++;
		cond_resched();
	}
}

static long ask(struct exchange *it, const struct martlet_lcs_exchange *request)
{
	u64 __user *times = u64_to_user_ptr(request->times);
	u8 *payload;
	long error = 0;
	u32 round, at;

	if (request->payload == 0 || request->payload > LARGEST_PAYLOAD ||
		request->rounds > MARTLET_LCS_ROUNDS)
		return -EINVAL;
	payload = kvmalloc(request->payload, GFP_KERNEL);
	if (!payload)
		return -ENOMEM;
	for (at = 0; at < request->payload; at++)
		payload[at] = at * 31 + 7;
	for (round = 0; round < request->rounds && !error; round++) {
		u64 took, end, start;
		int length;

		if (signal_pending(current)) {
			error = -ERESTARTSYS;
			break;
		}
		start = ktime_get_ns();
		error = send_all(it, write_message(it, UPLINK, payload, request->payload));
		if (error)
			break;
		length = next_message(it, DOWNLINK);
		end = ktime_get_ns();
		/* The clock of a paused virtual machine has been seen to go back. */
		took = end > start ? end - start : 0;
		if (length == 0)
			error = -ECONNRESET;
		else if (is_interrupted(length))
			error = -ECONNABORTED;
		else if (length < 0)
			error = length;
		else if (length != HEAD + request->payload + 1 + it->session_length ||
				 memcmp(it->in + HEAD, payload, request->payload))
			error = -EBADMSG;
		else if (put_user(took, times + round))
			error = -EFAULT;
		else
			consume(it, length);
	}
	kvfree(payload);
	if (is_interrupted(error) && round)
		error = 0;
	return error ? error : round;
}

static long on_ioctl(struct file *file, unsigned int command, unsigned long argument)
{
	struct martlet_lcs_exchange request;
	struct exchange *it;
	long result = -ENOMEM;
	int error;

	if (command != MARTLET_LCS_ASK && command != MARTLET_LCS_ANSWER)
		return -ENOTTY;
	if (copy_from_user(&request, (void __user *)argument, sizeof(request)))
		return -EFAULT;
	if (request.session_length == 0 || request.session_length > sizeof(it->session))
		return -EINVAL;
	it = kzalloc(sizeof(*it), GFP_KERNEL);
	if (!it)
		return -ENOMEM;
	it->session_length = request.session_length;
	it->in = kvmalloc(BUFFER_SIZE, GFP_KERNEL);
	it->out = kvmalloc(LARGEST_MESSAGE, GFP_KERNEL);
	if (!it->in || !it->out)
		goto out;
	result = -EFAULT;
	if (copy_from_user(it->session, u64_to_user_ptr(request.session), request.session_length))
		goto out;
	it->socket = sockfd_lookup(request.socket, &error);
	result = error;
	if (!it->socket)
		goto out;
	result = is_tls(it->socket) ? 0 : -ENOTCONN;
	if (!result)
		result = command == MARTLET_LCS_ASK ? ask(it, &request) : answer(it, &request);
	sockfd_put(it->socket);
	if (command == MARTLET_LCS_ANSWER &&
		copy_to_user((void __user *)argument, &request, sizeof(request)))
		result = -EFAULT;
out:
	kvfree(it->in);
	kvfree(it->out);
	kfree(it);
	return result;
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.unlocked_ioctl = on_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "martlet_lcs",
	.fops = &operations,
	.mode = 0600,
};

module_misc_device(device);

MODULE_LICENSE("Dual MIT/GPL");
MODULE_AUTHOR("The Martlet authors");
MODULE_DESCRIPTION("LCS-UPP (TS 24.572) over kernel TLS, without user space");
