package fabric

/*
#include <sys/socket.h>
#include <martlet_fabric.h>
*/
import "C"

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Conn is a connection over the fabric: a net.Conn that can be closed for writing alone.
type Conn struct {
	part          *Part
	stream        *C.martlet_stream
	local, remote net.Addr
	read, write   direction

	// What lies in C is freed when the connection is closed and nobody is inside any more.
	mutex  sync.Mutex
	inside int
	over   bool
	closed chan struct{}
}

// direction is what waiting to read or to write needs.
type direction struct {
	token C.uint64_t
	ready chan struct{}
	// turn lets one goroutine at a time in: a write is whole.
	turn sync.Mutex

	mutex    sync.Mutex
	deadline time.Time
	// changed is closed when there is another deadline.
	changed chan struct{}
}

func (d *direction) until() (time.Time, <-chan struct{}) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.deadline, d.changed
}

func (d *direction) setDeadline(deadline time.Time) {
	d.mutex.Lock()
	d.deadline = deadline
	close(d.changed)
	d.changed = make(chan struct{})
	d.mutex.Unlock()
}

func newConn(part *Part, stream *C.martlet_stream) *Conn {
	c := &Conn{part: part, stream: stream, closed: make(chan struct{})}
	for _, d := range []*direction{&c.read, &c.write} {
		d.token, d.ready = part.events.register()
		d.changed = make(chan struct{})
	}
	var text [64]C.char
	if C.martlet_stream_local_address(stream, &text[0], C.size_t(len(text))) > 0 {
		c.local = parse(C.GoString(&text[0]))
	}
	if C.martlet_stream_peer_address(stream, &text[0], C.size_t(len(text))) > 0 {
		c.remote = parse(C.GoString(&text[0]))
	}
	return c
}

func (c *Conn) enter() bool {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.over {
		return false
	}
	c.inside++
	return true
}

func (c *Conn) leave() {
	c.mutex.Lock()
	c.inside--
	last := c.over && c.inside == 0
	c.mutex.Unlock()
	if last {
		c.free()
	}
}

func (c *Conn) free() {
	C.martlet_stream_free(c.stream)
	c.part.events.forget(c.read.token)
	c.part.events.forget(c.write.token)
	c.part.done()
}

// try does something as soon as it can be done, within the deadline of its direction.
func (c *Conn) try(d *direction, work func(token C.uint64_t) C.ptrdiff_t) (int, error) {
	for {
		deadline, changed := d.until()
		if !deadline.IsZero() && !time.Now().Before(deadline) {
			return 0, os.ErrDeadlineExceeded
		}
		select {
		case <-c.closed:
			return 0, net.ErrClosed
		default:
		}
		n, err := count(func() C.ptrdiff_t { return work(d.token) })
		if err == nil {
			return n, nil
		}
		if err != errAgain {
			select {
			case <-c.closed:
				return 0, net.ErrClosed
			default:
				return 0, err
			}
		}
		late, stop := waitUntil(deadline)
		select {
		case <-d.ready:
		case <-late:
		case <-changed:
		case <-c.closed:
		}
		stop()
	}
}

func (c *Conn) failed(what string, err error) error {
	return failed(what, c.local, c.remote, err)
}

// Read reads what is there, and waits until there is something.
func (c *Conn) Read(octets []byte) (int, error) {
	if !c.enter() {
		return 0, c.failed("read", net.ErrClosed)
	}
	defer c.leave()
	c.read.turn.Lock()
	defer c.read.turn.Unlock()
	if len(octets) == 0 {
		return 0, nil
	}
	n, err := c.try(&c.read, func(token C.uint64_t) C.ptrdiff_t {
		// The address is taken within the call: so cgo looks for pointers in these octets alone.
		return C.martlet_stream_try_read(c.stream, unsafe.Pointer(&octets[0]), C.size_t(len(octets)),
			c.part.events.events, token)
	})
	if err != nil {
		return 0, c.failed("read", err)
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Write writes all of it, unless there is an error.
func (c *Conn) Write(octets []byte) (int, error) {
	if !c.enter() {
		return 0, c.failed("write", net.ErrClosed)
	}
	defer c.leave()
	c.write.turn.Lock()
	defer c.write.turn.Unlock()
	written := 0
	for written < len(octets) {
		n, err := c.try(&c.write, func(token C.uint64_t) C.ptrdiff_t {
			return C.martlet_stream_try_write(c.stream, unsafe.Pointer(&octets[written]),
				C.size_t(len(octets)-written), c.part.events.events, token)
		})
		if err != nil {
			return written, c.failed("write", err)
		}
		written += n
	}
	return written, nil
}

// CloseWrite says that nothing more will be written; the other side reads the end of the stream.
func (c *Conn) CloseWrite() error { return c.shutdown(C.SHUT_WR) }

// CloseRead lets go of what comes from now on.
func (c *Conn) CloseRead() error { return c.shutdown(C.SHUT_RD) }

func (c *Conn) shutdown(how C.int) error {
	if !c.enter() {
		return c.failed("shutdown", net.ErrClosed)
	}
	defer c.leave()
	if err := call(func() C.int { return C.martlet_stream_shutdown(c.stream, how) }); err != nil {
		return c.failed("shutdown", err)
	}
	return nil
}

// Close lets go of the connection: what was written arrives, and calls that wait end with net.ErrClosed.
func (c *Conn) Close() error {
	c.mutex.Lock()
	if c.over {
		c.mutex.Unlock()
		return c.failed("close", net.ErrClosed)
	}
	c.over = true
	last := c.inside == 0
	close(c.closed)
	C.martlet_stream_close(c.stream)
	c.mutex.Unlock()
	if last {
		c.free()
	}
	return nil
}

// LocalAddr gives this side's address.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr gives the other side's address.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *Conn) SetDeadline(deadline time.Time) error {
	if err := c.SetReadDeadline(deadline); err != nil {
		return err
	}
	return c.SetWriteDeadline(deadline)
}

// SetReadDeadline says when reads give up, those included that wait at the moment.
func (c *Conn) SetReadDeadline(deadline time.Time) error { return c.setDeadline(&c.read, deadline) }

// SetWriteDeadline says when writes give up, those included that wait at the moment.
func (c *Conn) SetWriteDeadline(deadline time.Time) error { return c.setDeadline(&c.write, deadline) }

func (c *Conn) setDeadline(d *direction, deadline time.Time) error {
	if !c.enter() {
		return c.failed("set", net.ErrClosed)
	}
	defer c.leave()
	d.setDeadline(deadline)
	return nil
}

// listener takes connections.
type listener struct {
	part     *Part
	listener *C.martlet_listener
	address  net.Addr
	token    C.uint64_t
	ready    chan struct{}
	turn     sync.Mutex

	mutex  sync.Mutex
	inside int
	over   bool
	closed chan struct{}
}

func newListener(part *Part, in *C.martlet_listener) *listener {
	l := &listener{part: part, listener: in, closed: make(chan struct{})}
	l.token, l.ready = part.events.register()
	var text [64]C.char
	if C.martlet_listener_address(in, &text[0], C.size_t(len(text))) > 0 {
		l.address = parse(C.GoString(&text[0]))
	}
	return l
}

func (l *listener) Accept() (net.Conn, error) {
	l.mutex.Lock()
	if l.over {
		l.mutex.Unlock()
		return nil, failed("accept", nil, l.address, net.ErrClosed)
	}
	l.inside++
	l.mutex.Unlock()
	defer l.leave()
	l.turn.Lock()
	defer l.turn.Unlock()
	for {
		select {
		case <-l.closed:
			return nil, failed("accept", nil, l.address, net.ErrClosed)
		default:
		}
		var stream *C.martlet_stream
		err := call(func() C.int {
			return C.martlet_listener_try_accept(l.listener, l.part.events.events, l.token, &stream)
		})
		if err == nil {
			l.part.keep()
			return newConn(l.part, stream), nil
		}
		if errors.Is(err, syscall.ENOTCONN) {
			return nil, failed("accept", nil, l.address, net.ErrClosed)
		}
		if err != errAgain {
			return nil, failed("accept", nil, l.address, err)
		}
		select {
		case <-l.ready:
		case <-l.closed:
		}
	}
}

func (l *listener) leave() {
	l.mutex.Lock()
	l.inside--
	last := l.over && l.inside == 0
	l.mutex.Unlock()
	if last {
		l.free()
	}
}

func (l *listener) free() {
	C.martlet_listener_free(l.listener)
	l.part.events.forget(l.token)
	l.part.done()
}

func (l *listener) Close() error {
	l.mutex.Lock()
	if l.over {
		l.mutex.Unlock()
		return failed("close", nil, l.address, net.ErrClosed)
	}
	l.over = true
	last := l.inside == 0
	close(l.closed)
	C.martlet_listener_close(l.listener)
	l.mutex.Unlock()
	if last {
		l.free()
	}
	return nil
}

func (l *listener) Addr() net.Addr { return l.address }
