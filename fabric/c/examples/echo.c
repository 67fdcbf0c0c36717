/* An echo server, its client, and a single thread that handles several connections with events.
 * The tests of the library build and run this program. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <martlet_fabric.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define TOTAL 1000000

static void check(int holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "%s: %s\n", what, martlet_error());
        exit(1);
    }
}

static martlet_fabric *join(const char *name, const char *socket) {
    martlet_fabric *fabric;
    check(martlet_fabric_start(name, socket, &fabric) == 0, "start");
    check(martlet_fabric_joined(fabric, 10000) == 0, "join");
    return fabric;
}

static void write_all(martlet_stream *stream, const unsigned char *bytes, size_t length) {
    while (length > 0) {
        ptrdiff_t written = martlet_stream_write(stream, bytes, length);
        check(written > 0, "write");
        bytes += written;
        length -= (size_t)written;
    }
}

/* Echoes two connections, one after the other. */
static void serve(const char *socket) {
    martlet_fabric *fabric = join("c-server", socket);
    martlet_listener *listener;
    char address[64];
    check(martlet_fabric_listen(fabric, "127.0.0.1:0", &listener) == 0, "listen");
    check(martlet_listener_address(listener, address, sizeof address) > 0, "address");
    printf("%s\n", address);
    fflush(stdout);
    for (int connection = 0; connection < 2; connection++) {
        martlet_stream *stream;
        unsigned char bytes[10000];
        ptrdiff_t length;
        check(martlet_listener_accept(listener, 10000, &stream) == 0, "accept");
        while ((length = martlet_stream_read(stream, bytes, sizeof bytes)) > 0) {
            write_all(stream, bytes, (size_t)length);
        }
        check(length == 0, "read");
        check(martlet_stream_shutdown(stream, SHUT_WR) == 0, "shutdown");
        martlet_stream_free(stream);
    }
    martlet_listener_free(listener);
    martlet_fabric_free(fabric);
    printf("served\n");
}

static void run_client(const char *socket, const char *address) {
    martlet_fabric *fabric = join("c-client", socket);
    martlet_stream *stream;
    static unsigned char sent[TOTAL], got[TOTAL];
    char peer[64];
    size_t written = 0, read = 0;
    check(martlet_fabric_connect(fabric, address, 10000, &stream) == 0, "connect");
    check(martlet_stream_peer_address(stream, peer, sizeof peer) > 0, "peer address");
    check(strcmp(peer, address) == 0, "peer");
    for (size_t at = 0; at < TOTAL; at++) {
        sent[at] = (unsigned char)(at * 31 + at / 253);
    }
    while (read < TOTAL) {
        size_t piece = TOTAL - written < 5000 ? TOTAL - written : 5000;
        write_all(stream, sent + written, piece);
        written += piece;
        if (written == TOTAL) {
            check(martlet_stream_shutdown(stream, SHUT_WR) == 0, "shutdown");
        }
        while (read < written) {
            ptrdiff_t length = martlet_stream_read(stream, got + read, TOTAL - read);
            check(length > 0, "read");
            read += (size_t)length;
        }
    }
    check(martlet_stream_read(stream, got, 1) == 0, "end of the stream");
    check(memcmp(sent, got, TOTAL) == 0, "echoed data");
    printf("%zu bytes echoed\n", read);
    martlet_stream_free(stream);
    martlet_fabric_free(fabric);
}

static uint64_t next(martlet_events *events) {
    uint64_t token;
    check(martlet_events_wait(events, &token, 1, 10000) == 1, "an event");
    return token;
}

enum { ACCEPT = 1, DIAL, READ };

static void events(const char *socket) {
    martlet_fabric *server = join("c-server", socket), *client = join("c-client", socket);
    martlet_listener *listener;
    martlet_events *events;
    martlet_dial *dial;
    martlet_stream *near = NULL, *far = NULL, *refused;
    char address[64], bytes[64], too_short[3];
    check(martlet_events_new(&events) == 0, "events");
    check(martlet_fabric_listen(server, "[::1]:0", &listener) == 0, "listen");
    check(martlet_listener_address(listener, address, sizeof address) > 0, "address");
    check(martlet_listener_address(listener, too_short, sizeof too_short) == -EINVAL,
          "a short buffer");

    /* Both sides in one thread. */
    check(martlet_listener_try_accept(listener, events, ACCEPT, &far) == -EAGAIN, "no client yet");
    check(martlet_fabric_dial(client, address, &dial) == 0, "dial");
    check(martlet_dial_try(dial, events, DIAL, &near) == -EAGAIN, "not connected yet");
    while (near == NULL || far == NULL) {
        switch (next(events)) {
        case ACCEPT:
            if (far == NULL) {
                int outcome = martlet_listener_try_accept(listener, events, ACCEPT, &far);
                check(outcome == 0 || outcome == -EAGAIN, "accept");
            }
            break;
        case DIAL:
            if (near == NULL) {
                int outcome = martlet_dial_try(dial, events, DIAL, &near);
                check(outcome == 0 || outcome == -EAGAIN, "dial");
            }
            break;
        }
    }
    check(martlet_dial_try(dial, events, DIAL, &refused) == -EINVAL, "a finished dial");
    martlet_dial_free(dial);

    ptrdiff_t length = martlet_stream_try_read(near, bytes, sizeof bytes, events, READ);
    check(length == -EAGAIN, "nothing to read yet");
    write_all(far, (const unsigned char *)"hello", 5);
    while ((length = martlet_stream_try_read(near, bytes, sizeof bytes, events, READ))
           == -EAGAIN) {
        next(events);
    }
    check(length == 5 && memcmp(bytes, "hello", 5) == 0, "hello");

    /* A writer without a reader blocks, and continues when there is one. */
    size_t written = 0, read = 0;
    static unsigned char much[100000];
    while ((length = martlet_stream_try_write(near, much, sizeof much, events, READ)) > 0) {
        written += (size_t)length;
    }
    check(length == -EAGAIN && written > 0, "back-pressure");
    while (read < written) {
        length = martlet_stream_read(far, much, sizeof much);
        check(length > 0, "read");
        read += (size_t)length;
    }
    while ((length = martlet_stream_try_write(near, "x", 1, events, READ)) == -EAGAIN) {
        next(events);
    }
    check(length == 1 && martlet_stream_read(far, much, 1) == 1, "room again");

    /* Deadlines, errors, and the end of the stream. */
    check(martlet_stream_read_deadline(near, 20) == 0, "deadline");
    check(martlet_stream_read(near, bytes, sizeof bytes) == -ETIMEDOUT, "read deadline");
    check(martlet_listener_accept(listener, 0, &refused) == -ETIMEDOUT, "accept timeout");
    check(martlet_fabric_connect(client, "127.0.0.1:9", 1000, &refused) == -ECONNREFUSED,
          "no listener");
    check(strstr(martlet_error(), "127.0.0.1:9") != NULL, "the error names the address");
    check(martlet_fabric_connect(client, "nowhere", 1000, &refused) == -EINVAL,
          "an invalid address");
    check(martlet_fabric_connect(client, NULL, 1000, &refused) == -EINVAL, "no address");
    check(martlet_fabric_connect(NULL, "127.0.0.1:9", 1000, &refused) == -EINVAL, "no fabric");
    check(martlet_stream_read(NULL, bytes, 1) == -EINVAL, "no stream");
    check(martlet_stream_read(near, NULL, 1) == -EINVAL, "no buffer");
    check(martlet_fabric_listen(client, address, &listener) == -EADDRINUSE, "address in use");
    check(martlet_events_interrupt(events) == 0, "interrupt");
    uint64_t token;
    while (martlet_events_wait(events, &token, 1, 0) > 0) {
    }
    martlet_stream_free(far);
    check(martlet_stream_read_deadline(near, -1) == 0, "no deadline");
    check(martlet_stream_read(near, bytes, 1) == 0, "end");
    check(martlet_stream_close(near) == 0 && martlet_stream_write(near, "x", 1) < 0, "closed");
    martlet_stream_free(near);
    martlet_events_free(events);
    martlet_listener_free(listener);
    martlet_listener_free(NULL);
    martlet_fabric_free(client);
    martlet_fabric_free(server);
    check(strlen(martlet_fabric_version()) > 0, "version");
    printf("ok\n");
}

int main(int count, char **arguments) {
    if (count == 3 && strcmp(arguments[1], "serve") == 0) {
        serve(arguments[2]);
    } else if (count == 4 && strcmp(arguments[1], "client") == 0) {
        run_client(arguments[2], arguments[3]);
    } else if (count == 3 && strcmp(arguments[1], "events") == 0) {
        events(arguments[2]);
    } else {
        fprintf(stderr, "serve SOCKET | client SOCKET ADDRESS | events SOCKET\n");
        return 2;
    }
    return 0;
}
