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

// Conn is a connection over the fabric. It is a net.Conn with CloseRead and CloseWrite.
type Conn struct {
	member        *Member
	stream        *C.martlet_stream
	local, remote net.Addr
	read, write   direction

	// The C object is freed when the connection is closed and no call is running.
	mutex    sync.Mutex
	running  int
	isClosed bool
	closed   chan struct{}
}

// direction is the state of reading or of writing.
type direction struct {
	token C.uint64_t
	ready chan struct{}
	// serial admits one goroutine at a time, so that writes do not interleave.
	serial sync.Mutex

	mutex    sync.Mutex
	deadline time.Time
	// changed is closed when the deadline changes.
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

func newConn(member *Member, stream *C.martlet_stream) *Conn {
	c := &Conn{member: member, stream: stream, closed: make(chan struct{})}
	for _, d := range []*direction{&c.read, &c.write} {
		d.token, d.ready = member.events.register()
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
	if c.isClosed {
		return false
	}
	c.running++
	return true
}

func (c *Conn) leave() {
	c.mutex.Lock()
	c.running--
	last := c.isClosed && c.running == 0
	c.mutex.Unlock()
	if last {
		c.free()
	}
}

func (c *Conn) free() {
	C.martlet_stream_free(c.stream)
	c.member.events.forget(c.read.token)
	c.member.events.forget(c.write.token)
	c.member.done()
}

// try repeats a call until it succeeds or the deadline of its direction passes.
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

// Read implements net.Conn.
func (c *Conn) Read(buffer []byte) (int, error) {
	if !c.enter() {
		return 0, c.failed("read", net.ErrClosed)
	}
	defer c.leave()
	c.read.serial.Lock()
	defer c.read.serial.Unlock()
	if len(buffer) == 0 {
		return 0, nil
	}
	n, err := c.try(&c.read, func(token C.uint64_t) C.ptrdiff_t {
		// Take the address within the call, so that cgo checks only this slice for pointers.
		return C.martlet_stream_try_read(c.stream, unsafe.Pointer(&buffer[0]),
			C.size_t(len(buffer)), c.member.events.events, token)
	})
	if err != nil {
		return 0, c.failed("read", err)
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Write implements net.Conn.
func (c *Conn) Write(buffer []byte) (int, error) {
	if !c.enter() {
		return 0, c.failed("write", net.ErrClosed)
	}
	defer c.leave()
	c.write.serial.Lock()
	defer c.write.serial.Unlock()
	written := 0
	for written < len(buffer) {
		n, err := c.try(&c.write, func(token C.uint64_t) C.ptrdiff_t {
			return C.martlet_stream_try_write(c.stream, unsafe.Pointer(&buffer[written]),
				C.size_t(len(buffer)-written), c.member.events.events, token)
		})
		if err != nil {
			return written, c.failed("write", err)
		}
		written += n
	}
	return written, nil
}

// CloseWrite closes the sending direction: the peer reads the end of the stream.
func (c *Conn) CloseWrite() error { return c.shutdown(C.SHUT_WR) }

// CloseRead closes the receiving direction: received data is discarded.
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

// Close closes the connection. Written data still arrives; waiting calls return net.ErrClosed.
func (c *Conn) Close() error {
	c.mutex.Lock()
	if c.isClosed {
		c.mutex.Unlock()
		return c.failed("close", net.ErrClosed)
	}
	c.isClosed = true
	last := c.running == 0
	close(c.closed)
	C.martlet_stream_close(c.stream)
	c.mutex.Unlock()
	if last {
		c.free()
	}
	return nil
}

// LocalAddr implements net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr implements net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline implements net.Conn.
func (c *Conn) SetDeadline(deadline time.Time) error {
	if err := c.SetReadDeadline(deadline); err != nil {
		return err
	}
	return c.SetWriteDeadline(deadline)
}

// SetReadDeadline implements net.Conn.
func (c *Conn) SetReadDeadline(deadline time.Time) error {
	return c.setDeadline(&c.read, deadline)
}

// SetWriteDeadline implements net.Conn.
func (c *Conn) SetWriteDeadline(deadline time.Time) error {
	return c.setDeadline(&c.write, deadline)
}

func (c *Conn) setDeadline(d *direction, deadline time.Time) error {
	if !c.enter() {
		return c.failed("set", net.ErrClosed)
	}
	defer c.leave()
	d.setDeadline(deadline)
	return nil
}

// listener implements net.Listener.
type listener struct {
	member   *Member
	listener *C.martlet_listener
	address  net.Addr
	token    C.uint64_t
	ready    chan struct{}
	serial   sync.Mutex

	mutex    sync.Mutex
	running  int
	isClosed bool
	closed   chan struct{}
}

func newListener(member *Member, in *C.martlet_listener) *listener {
	l := &listener{member: member, listener: in, closed: make(chan struct{})}
	l.token, l.ready = member.events.register()
	var text [64]C.char
	if C.martlet_listener_address(in, &text[0], C.size_t(len(text))) > 0 {
		l.address = parse(C.GoString(&text[0]))
	}
	return l
}

func (l *listener) Accept() (net.Conn, error) {
	l.mutex.Lock()
	if l.isClosed {
		l.mutex.Unlock()
		return nil, failed("accept", nil, l.address, net.ErrClosed)
	}
	l.running++
	l.mutex.Unlock()
	defer l.leave()
	l.serial.Lock()
	defer l.serial.Unlock()
	for {
		select {
		case <-l.closed:
			return nil, failed("accept", nil, l.address, net.ErrClosed)
		default:
		}
		var stream *C.martlet_stream
		err := call(func() C.int {
			events := l.member.events.events
			return C.martlet_listener_try_accept(l.listener, events, l.token, &stream)
		})
		if err == nil {
			l.member.keep()
			return newConn(l.member, stream), nil
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
	l.running--
	last := l.isClosed && l.running == 0
	l.mutex.Unlock()
	if last {
		l.free()
	}
}

func (l *listener) free() {
	C.martlet_listener_free(l.listener)
	l.member.events.forget(l.token)
	l.member.done()
}

func (l *listener) Close() error {
	l.mutex.Lock()
	if l.isClosed {
		l.mutex.Unlock()
		return failed("close", nil, l.address, net.ErrClosed)
	}
	l.isClosed = true
	last := l.running == 0
	close(l.closed)
	C.martlet_listener_close(l.listener)
	l.mutex.Unlock()
	if last {
		l.free()
	}
	return nil
}

func (l *listener) Addr() net.Addr { return l.address }
