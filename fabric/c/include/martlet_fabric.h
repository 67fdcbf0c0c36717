/* Sockets between processes of one machine over Martlet's shared-memory fabric.
 *
 * Functions give 0 or more, or a negative errno; martlet_error() says more. Every function may be
 * called from every thread, also while others wait in calls on the same object; only *_free has to
 * be the last call on its object. Made from the library's source, and checked against it. */

#ifndef MARTLET_FABRIC_H
#define MARTLET_FABRIC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

// A connection that is being made, for programs that do not want to block.
typedef struct martlet_dial martlet_dial;

// Where calls that could not be done leave a number of the program's choice, to be told when they are worth another try.
typedef struct martlet_events martlet_events;

// A process's part in the fabric of its machine.
typedef struct martlet_fabric martlet_fabric;

// Takes connections at an address.
typedef struct martlet_listener martlet_listener;

// A connection: octets in both directions.
typedef struct martlet_stream martlet_stream;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// What went wrong in the last call of this thread that failed, for people. It is valid until the thread's next call
// that fails; empty where none has.
const char *martlet_error(void);

// Version of the library, such as "0.1.0".
const char *martlet_fabric_version(void);

// Writes what the library has to say to standard error, from a level on such as "debug" or "warn"; only the first call
// does something. Without it the library is silent.
//
// The caller sees to it that:
// `level` ends with a zero octet.
int martlet_fabric_log(const char *level);

// Takes part in the fabric from now on. `name` is for people; `socket` is the manager's, or NULL for the usual one. It is
// no error if there is no manager yet: the process joins as soon as there is one, and again after that one ended. To be
// freed with `martlet_fabric_free`.
//
// The caller sees to it that:
// The texts end with a zero octet; `fabric` may be written.
int martlet_fabric_start(const char *name,
                         const char *socket,
                         martlet_fabric **fabric);

// Waits up to `timeout_ms` (for ever where that is negative) until the process has joined. `-EACCES` where the manager
// does not want it, `-ETIMEDOUT` where there is none in time.
//
// The caller sees to it that:
// `fabric` was made by `martlet_fabric_start`.
int martlet_fabric_joined(const martlet_fabric *fabric,
                          int64_t timeout_ms);

// Leaves the fabric when the last listener and stream that were made with it are freed as well.
//
// The caller sees to it that:
// `fabric` is null or was made by `martlet_fabric_start`, and nobody uses it any more.
void martlet_fabric_free(martlet_fabric *fabric);

// Listens at an address such as "127.0.0.1:80" or "[::1]:80"; port 0 becomes a free one. `-EADDRINUSE` where another
// process of the security domain does. To be freed with `martlet_listener_free`.
//
// The caller sees to it that:
// `fabric` was made by `martlet_fabric_start`; `at` ends with a zero octet; `listener` may be written.
int martlet_fabric_listen(const martlet_fabric *fabric,
                          const char *at,
                          martlet_listener **listener);

// Connects to who listens at an address, within `timeout_ms` (without a limit where that is negative). `-ECONNREFUSED`
// where nobody of the fabric does: perhaps somebody does over TCP. To be freed with `martlet_stream_free`.
//
// The caller sees to it that:
// `fabric` was made by `martlet_fabric_start`; `to` ends with a zero octet; `stream` may be written.
int martlet_fabric_connect(const martlet_fabric *fabric,
                           const char *to,
                           int64_t timeout_ms,
                           martlet_stream **stream);

// Begins to connect. Goes on with `martlet_dial_try`. To be freed with `martlet_dial_free`, which gives up what is not
// connected yet.
//
// The caller sees to it that:
// `fabric` was made by `martlet_fabric_start`; `to` ends with a zero octet; `dial` may be written.
int martlet_fabric_dial(const martlet_fabric *fabric,
                        const char *to,
                        martlet_dial **dial);

// Goes on with a connection that is being made. `-EAGAIN` where it is not there yet: `events` says when to try again.
//
// The caller sees to it that:
// `dial` was made by `martlet_fabric_dial`, `events` by `martlet_events_new`; `stream` may be written.
int martlet_dial_try(const martlet_dial *dial,
                     const martlet_events *events,
                     uint64_t token,
                     martlet_stream **stream);

// Frees a connection that was being made.
//
// The caller sees to it that:
// `dial` is null or was made by `martlet_fabric_dial`, and nobody uses it any more.
void martlet_dial_free(martlet_dial *dial);

// Writes the listener's address as text into `length` octets from `place` on, 64 are enough; gives how many it has without
// the zero octet at its end.
//
// The caller sees to it that:
// `listener` was made by `martlet_fabric_listen`; `length` octets may be written from `place` on.
ptrdiff_t martlet_listener_address(const martlet_listener *listener,
                                   char *place,
                                   size_t length);

// Waits up to `timeout_ms` (for ever where that is negative) for the next connection. `-ENOTCONN` once the listener is
// closed. To be freed with `martlet_stream_free`.
//
// The caller sees to it that:
// `listener` was made by `martlet_fabric_listen`; `stream` may be written.
int martlet_listener_accept(const martlet_listener *listener,
                            int64_t timeout_ms,
                            martlet_stream **stream);

// Takes the next connection if there is one. `-EAGAIN` where there is none: `events` says when to try again.
//
// The caller sees to it that:
// `listener` was made by `martlet_fabric_listen`, `events` by `martlet_events_new`; `stream` may be written.
int martlet_listener_try_accept(const martlet_listener *listener,
                                const martlet_events *events,
                                uint64_t token,
                                martlet_stream **stream);

// Takes no more connections; calls that wait for one end with `-ENOTCONN`.
//
// The caller sees to it that:
// `listener` was made by `martlet_fabric_listen`.
int martlet_listener_close(const martlet_listener *listener);

// Closes and frees a listener.
//
// The caller sees to it that:
// `listener` is null or was made by `martlet_fabric_listen`, and nobody uses it any more.
void martlet_listener_free(martlet_listener *listener);

// Reads up to `length` octets, and waits until there is one at least, or until the deadline for reading. Gives how many;
// 0 at the end of the stream.
//
// The caller sees to it that:
// `stream` was made by this library; `length` octets may be written from `to` on.
ptrdiff_t martlet_stream_read(const martlet_stream *stream,
                              void *to,
                              size_t length);

// Writes up to `length` octets, and waits until there is room for one at least, or until the deadline for writing. Gives
// how many.
//
// The caller sees to it that:
// `stream` was made by this library; `length` octets may be read from `from` on.
ptrdiff_t martlet_stream_write(const martlet_stream *stream,
                               const void *from,
                               size_t length);

// Reads what is there. `-EAGAIN` where there is nothing: `events` says when to try again. Gives how many octets; 0 at the
// end of the stream.
//
// The caller sees to it that:
// `stream` was made by this library, `events` by `martlet_events_new`; `length` octets may be written from `to` on.
ptrdiff_t martlet_stream_try_read(const martlet_stream *stream,
                                  void *to,
                                  size_t length,
                                  const martlet_events *events,
                                  uint64_t token);

// Writes what there is room for. `-EAGAIN` where there is none: `events` says when to try again. Gives how many octets.
//
// The caller sees to it that:
// `stream` was made by this library, `events` by `martlet_events_new`; `length` octets may be read from `from` on.
ptrdiff_t martlet_stream_try_write(const martlet_stream *stream,
                                   const void *from,
                                   size_t length,
                                   const martlet_events *events,
                                   uint64_t token);

// Lets calls that wait to read (`timeout_ms` from now; no limit where that is negative) give up with `-ETIMEDOUT`, those
// included that wait at the moment.
//
// The caller sees to it that:
// `stream` was made by this library.
int martlet_stream_read_deadline(const martlet_stream *stream,
                                 int64_t timeout_ms);

// The same for calls that wait to write.
//
// The caller sees to it that:
// `stream` was made by this library.
int martlet_stream_write_deadline(const martlet_stream *stream, int64_t timeout_ms);

// Ends a direction, `how` being SHUT_RD, SHUT_WR or SHUT_RDWR: the other side reads the end of the stream, this side
// lets go of what comes, or both.
//
// The caller sees to it that:
// `stream` was made by this library.
int martlet_stream_shutdown(const martlet_stream *stream,
                            int how);

// Writes this side's address as text into `length` octets from `to` on, 64 are enough; gives how many it has without the
// zero octet at its end.
//
// The caller sees to it that:
// `stream` was made by this library; `length` octets may be written from `to` on.
ptrdiff_t martlet_stream_local_address(const martlet_stream *stream,
                                       char *to,
                                       size_t length);

// The same for the other side's address.
//
// The caller sees to it that:
// `stream` was made by this library; `length` octets may be written from `to` on.
ptrdiff_t martlet_stream_peer_address(const martlet_stream *stream, char *to, size_t length);

// Lets go of a connection: what was written arrives, and calls that wait end with an error.
//
// The caller sees to it that:
// `stream` was made by this library.
int martlet_stream_close(const martlet_stream *stream);

// Closes and frees a connection.
//
// The caller sees to it that:
// `stream` is null or was made by this library, and nobody uses it any more.
void martlet_stream_free(martlet_stream *stream);

// Makes a place for events, to be freed with `martlet_events_free`.
//
// The caller sees to it that:
// `events` may be written.
int martlet_events_new(martlet_events **events);

// Waits up to `timeout_ms` (for ever where that is negative) until something is ready, and writes up to `most` numbers
// of what is. Gives how many: 0 where nothing is ready in time, or where the wait was interrupted. A number may come
// without reason: the call that it stands for is to be tried again.
//
// The caller sees to it that:
// `events` was made by `martlet_events_new`; `most` numbers may be written from `tokens` on.
ptrdiff_t martlet_events_wait(const martlet_events *events,
                              uint64_t *tokens,
                              size_t most,
                              int64_t timeout_ms);

// Ends a wait, or the next one if nobody waits.
//
// The caller sees to it that:
// `events` was made by `martlet_events_new`.
int martlet_events_interrupt(const martlet_events *events);

// Frees a place for events. What has left numbers there goes on without being heard.
//
// The caller sees to it that:
// `events` is null or was made by `martlet_events_new`, and nobody uses it any more.
void martlet_events_free(martlet_events *events);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* MARTLET_FABRIC_H */
