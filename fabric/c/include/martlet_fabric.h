/* Sockets between processes of one machine over Martlet's shared-memory fabric.
 *
 * Functions return 0 or more, or a negative errno; martlet_error() returns the text.
 * All functions are thread-safe, also while other threads wait in calls on the same object;
 * only *_free must be the last call on its object. Generated from the library's source. */

#ifndef MARTLET_FABRIC_H
#define MARTLET_FABRIC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// A connection that is being opened without blocking.
typedef struct martlet_dial martlet_dial;

// A queue of events. A call that would block registers a token, a number of the program's choice;
// the token becomes an event when the call should be tried again.
typedef struct martlet_events martlet_events;

// A process's membership in the fabric of its machine.
typedef struct martlet_fabric martlet_fabric;

// Accepts connections at an address.
typedef struct martlet_listener martlet_listener;

// A connection: a byte stream in both directions.
typedef struct martlet_stream martlet_stream;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// The text of the last error of this thread. It is valid until the next error of the thread, and
// empty if there was none. `-EAGAIN` sets no text.
const char *martlet_error(void);

// The version of the library, such as "0.2.0".
const char *martlet_fabric_version(void);

// Enables log output to standard error, from a level such as "debug" or "warn" on. Only the first
// call has an effect. By default the library logs nothing.
//
// Requirements:
// `level` is NUL-terminated.
int martlet_fabric_log(const char *level);

// Starts to take part in the fabric. `name` is a display name; `socket` is the path of the
// manager's socket, or NULL for the default. It is not an error if the manager is not running: the
// process joins as soon as it is, and again after a restart. Free it with `martlet_fabric_free`.
//
// Requirements:
// The texts are NUL-terminated; `fabric` is writable.
int martlet_fabric_start(const char *name, const char *socket, martlet_fabric **fabric);

// Waits up to `timeout_ms` (without limit if negative) until the process has joined. `-EACCES` if
// the manager refused it, `-ETIMEDOUT` after the timeout.
//
// Requirements:
// `fabric` was created by `martlet_fabric_start`.
int martlet_fabric_joined(const martlet_fabric *fabric, int64_t timeout_ms);

// Frees the handle. The process leaves the fabric when all its listeners and streams are freed
// too.
//
// Requirements:
// `fabric` is NULL, or was created by `martlet_fabric_start` and is not in use.
void martlet_fabric_free(martlet_fabric *fabric);

// Opens a listener at an address such as `127.0.0.1:80` or `[::1]:80`; port 0 selects a free port.
// `-EADDRINUSE` if another listener of the security domain has the address. Free it with
// `martlet_listener_free`.
//
// Requirements:
// `fabric` was created by `martlet_fabric_start`; `at` is NUL-terminated; `listener` is
// writable.
int martlet_fabric_listen(const martlet_fabric *fabric,
                          const char *at,
                          martlet_listener **listener);

// Opens a connection to an address, within `timeout_ms` (without limit if negative).
// `-ECONNREFUSED` if no process of the fabric listens there; TCP may reach the address then. Free
// it with `martlet_stream_free`.
//
// Requirements:
// `fabric` was created by `martlet_fabric_start`; `to` is NUL-terminated; `stream` is
// writable.
int martlet_fabric_connect(const martlet_fabric *fabric,
                           const char *to,
                           int64_t timeout_ms,
                           martlet_stream **stream);

// Starts to open a connection; `martlet_dial_try` continues it. Free it with `martlet_dial_free`,
// which cancels an unfinished connection.
//
// Requirements:
// `fabric` was created by `martlet_fabric_start`; `to` is NUL-terminated; `dial` is writable.
int martlet_fabric_dial(const martlet_fabric *fabric, const char *to, martlet_dial **dial);

// Continues to open a connection. `-EAGAIN` if it is not open yet: `events` reports `token` when
// to try again.
//
// Requirements:
// `dial` was created by `martlet_fabric_dial`, `events` by `martlet_events_new`; `stream` is
// writable.
int martlet_dial_try(const martlet_dial *dial,
                     const martlet_events *events,
                     uint64_t token,
                     martlet_stream **stream);

// Frees a connection that is being opened.
//
// Requirements:
// `dial` is NULL, or was created by `martlet_fabric_dial` and is not in use.
void martlet_dial_free(martlet_dial *dial);

// Writes the listener's address as NUL-terminated text into a buffer of `length` bytes; 64 are
// enough. Returns the length without the NUL.
//
// Requirements:
// `listener` was created by `martlet_fabric_listen`; `length` bytes are writable at `buffer`.
ptrdiff_t martlet_listener_address(const martlet_listener *listener, char *buffer, size_t length);

// Waits up to `timeout_ms` (without limit if negative) for the next connection. `-ENOTCONN` once
// the listener is closed. Free the connection with `martlet_stream_free`.
//
// Requirements:
// `listener` was created by `martlet_fabric_listen`; `stream` is writable.
int martlet_listener_accept(const martlet_listener *listener,
                            int64_t timeout_ms,
                            martlet_stream **stream);

// Accepts the next connection without blocking. `-EAGAIN` if there is none: `events` reports
// `token` when to try again.
//
// Requirements:
// `listener` was created by `martlet_fabric_listen`, `events` by `martlet_events_new`; `stream` is
// writable.
int martlet_listener_try_accept(const martlet_listener *listener,
                                const martlet_events *events,
                                uint64_t token,
                                martlet_stream **stream);

// Closes the listener. Waiting calls fail with `-ENOTCONN`.
//
// Requirements:
// `listener` was created by `martlet_fabric_listen`.
int martlet_listener_close(const martlet_listener *listener);

// Closes and frees a listener.
//
// Requirements:
// `listener` is NULL, or was created by `martlet_fabric_listen` and is not in use.
void martlet_listener_free(martlet_listener *listener);

// Reads up to `length` bytes. Waits for at least one, until the read deadline. Returns the number
// of bytes; 0 at the end of the stream.
//
// Requirements:
// `stream` was created by this library; `length` bytes are writable at `to`.
ptrdiff_t martlet_stream_read(const martlet_stream *stream, void *to, size_t length);

// Writes up to `length` bytes. Waits for room for at least one, until the write deadline. Returns
// the number of bytes.
//
// Requirements:
// `stream` was created by this library; `length` bytes are readable at `from`.
ptrdiff_t martlet_stream_write(const martlet_stream *stream, const void *from, size_t length);

// Reads without blocking. Returns the number of bytes; 0 at the end of the stream; `-EAGAIN` if
// there is no data: `events` reports `token` when to try again.
//
// Requirements:
// `stream` was created by this library, `events` by `martlet_events_new`; `length` bytes are
// writable at `to`.
ptrdiff_t martlet_stream_try_read(const martlet_stream *stream,
                                  void *to,
                                  size_t length,
                                  const martlet_events *events,
                                  uint64_t token);

// Writes without blocking. Returns the number of bytes; `-EAGAIN` if there is no room: `events`
// reports `token` when to try again.
//
// Requirements:
// `stream` was created by this library, `events` by `martlet_events_new`; `length` bytes are
// readable at `from`.
ptrdiff_t martlet_stream_try_write(const martlet_stream *stream,
                                   const void *from,
                                   size_t length,
                                   const martlet_events *events,
                                   uint64_t token);

// Sets the read deadline to `timeout_ms` from now; a negative value removes it. Reads, including
// waiting ones, then fail with `-ETIMEDOUT`.
//
// Requirements:
// `stream` was created by this library.
int martlet_stream_read_deadline(const martlet_stream *stream, int64_t timeout_ms);

// Sets the write deadline, like `martlet_stream_read_deadline`.
//
// Requirements:
// `stream` was created by this library.
int martlet_stream_write_deadline(const martlet_stream *stream, int64_t timeout_ms);

// Closes one or both directions; `how` is SHUT_RD, SHUT_WR or SHUT_RDWR. After SHUT_WR the peer
// reads the end of the stream; after SHUT_RD received data is discarded.
//
// Requirements:
// `stream` was created by this library.
int martlet_stream_shutdown(const martlet_stream *stream, int how);

// Writes this side's address as NUL-terminated text into a buffer of `length` bytes; 64 are
// enough. Returns the length without the NUL.
//
// Requirements:
// `stream` was created by this library; `length` bytes are writable at `to`.
ptrdiff_t martlet_stream_local_address(const martlet_stream *stream, char *to, size_t length);

// Writes the peer's address, like `martlet_stream_local_address`.
//
// Requirements:
// `stream` was created by this library; `length` bytes are writable at `to`.
ptrdiff_t martlet_stream_peer_address(const martlet_stream *stream, char *to, size_t length);

// Closes a connection. Written data still arrives; waiting calls fail.
//
// Requirements:
// `stream` was created by this library.
int martlet_stream_close(const martlet_stream *stream);

// Closes and frees a connection.
//
// Requirements:
// `stream` is NULL, or was created by this library and is not in use.
void martlet_stream_free(martlet_stream *stream);

// Creates an event queue. Free it with `martlet_events_free`.
//
// Requirements:
// `events` is writable.
int martlet_events_new(martlet_events **events);

// Waits up to `timeout_ms` (without limit if negative) for events, and writes up to `capacity`
// tokens. Returns their number; 0 after the timeout or an interrupt. Events may be spurious: try
// the call again.
//
// Requirements:
// `events` was created by `martlet_events_new`; `capacity` tokens are writable at `tokens`.
ptrdiff_t martlet_events_wait(const martlet_events *events,
                              uint64_t *tokens,
                              size_t capacity,
                              int64_t timeout_ms);

// Interrupts the current wait, or the next one.
//
// Requirements:
// `events` was created by `martlet_events_new`.
int martlet_events_interrupt(const martlet_events *events);

// Frees an event queue. Registered tokens have no effect afterwards.
//
// Requirements:
// `events` is NULL, or was created by `martlet_events_new` and is not in use.
void martlet_events_free(martlet_events *events);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MARTLET_FABRIC_H */
