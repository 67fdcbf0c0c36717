package fabric

/*
#cgo pkg-config: martlet-fabric
#include <stdlib.h>
#include <martlet_fabric.h>
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// Network is the name of the fabric's network in addresses and errors.
const Network = "fabric"

// Config says how a program takes part.
type Config struct {
	// Name is for people.
	Name string
	// Socket is the manager's; where it is empty, $MARTLET_FABRIC_SOCKET, else the usual place.
	Socket string
}

// Part is a program's part in the fabric of its machine.
type Part struct {
	fabric *C.martlet_fabric
	events *events

	mutex  sync.Mutex
	users  int
	closed bool
}

// Join takes part in the fabric, and waits until the manager has agreed or the context is done.
func Join(ctx context.Context, config Config) (*Part, error) {
	name := C.CString(config.Name)
	defer C.free(unsafe.Pointer(name))
	at := config.Socket
	if at == "" {
		at = os.Getenv("MARTLET_FABRIC_SOCKET")
	}
	var socket *C.char
	if at != "" {
		socket = C.CString(at)
		defer C.free(unsafe.Pointer(socket))
	}
	part := &Part{}
	if err := call(func() C.int { return C.martlet_fabric_start(name, socket, &part.fabric) }); err != nil {
		return nil, err
	}
	// In small steps, since a context cannot wake a thread that waits in C.
	const step = 50
	for {
		err := call(func() C.int { return C.martlet_fabric_joined(part.fabric, step) })
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.ETIMEDOUT) {
			C.martlet_fabric_free(part.fabric)
			return nil, err
		}
		if ctx.Err() != nil {
			C.martlet_fabric_free(part.fabric)
			return nil, fmt.Errorf("%w: %v", ctx.Err(), err)
		}
	}
	events, err := newEvents()
	if err != nil {
		C.martlet_fabric_free(part.fabric)
		return nil, err
	}
	part.events = events
	return part, nil
}

// Close leaves the fabric as soon as the listeners and connections that were made with it are closed as well.
func (p *Part) Close() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return net.ErrClosed
	}
	p.closed = true
	p.freeIfUnused()
	return nil
}

// use keeps what lies in C until done is called as often.
func (p *Part) use() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return net.ErrClosed
	}
	p.users++
	return nil
}

// keep is use for what is a user already, whether the part is closed or not.
func (p *Part) keep() {
	p.mutex.Lock()
	p.users++
	p.mutex.Unlock()
}

func (p *Part) done() {
	p.mutex.Lock()
	p.users--
	p.freeIfUnused()
	p.mutex.Unlock()
}

func (p *Part) freeIfUnused() {
	if p.closed && p.users == 0 && p.fabric != nil {
		p.events.end()
		C.martlet_fabric_free(p.fabric)
		p.fabric = nil
	}
}

// Listen takes connections at an address such as "127.0.0.30:8000"; port 0 becomes a free one.
func (p *Part) Listen(address string) (net.Listener, error) {
	if err := p.use(); err != nil {
		return nil, failed("listen", nil, nil, err)
	}
	at, err := resolve(context.Background(), address)
	if err != nil {
		p.done()
		return nil, failed("listen", nil, nil, err)
	}
	text := C.CString(at)
	defer C.free(unsafe.Pointer(text))
	var listener *C.martlet_listener
	if err := call(func() C.int { return C.martlet_fabric_listen(p.fabric, text, &listener) }); err != nil {
		p.done()
		return nil, failed("listen", nil, parse(at), err)
	}
	return newListener(p, listener), nil
}

// Dial is DialContext without a limit.
func (p *Part) Dial(network, address string) (net.Conn, error) {
	return p.DialContext(context.Background(), network, address)
}

// DialContext connects to who listens at an address of the fabric. The network is that of net.Dialer ("tcp", "tcp4",
// "tcp6") or Network, so that the function fits where a dialer's does. Where nobody of the fabric listens there, the error
// is ECONNREFUSED.
func (p *Part) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	switch network {
	case "tcp", "tcp4", "tcp6", Network:
	default:
		return nil, failed("dial", nil, nil, net.UnknownNetworkError(network))
	}
	if err := p.use(); err != nil {
		return nil, failed("dial", nil, nil, err)
	}
	to, err := resolve(ctx, address)
	if err != nil {
		p.done()
		return nil, failed("dial", nil, nil, err)
	}
	stream, err := p.connect(ctx, to)
	if err != nil {
		p.done()
		return nil, failed("dial", nil, parse(to), err)
	}
	return newConn(p, stream), nil
}

func (p *Part) connect(ctx context.Context, to string) (*C.martlet_stream, error) {
	text := C.CString(to)
	defer C.free(unsafe.Pointer(text))
	var dial *C.martlet_dial
	if err := call(func() C.int { return C.martlet_fabric_dial(p.fabric, text, &dial) }); err != nil {
		return nil, err
	}
	defer C.martlet_dial_free(dial)
	token, ready := p.events.register()
	defer p.events.forget(token)
	for {
		var stream *C.martlet_stream
		err := call(func() C.int { return C.martlet_dial_try(dial, p.events.events, token, &stream) })
		if err == nil {
			return stream, nil
		}
		if err != errAgain {
			return nil, err
		}
		select {
		case <-ready:
		case <-ctx.Done():
			return nil, contextError(ctx.Err())
		}
	}
}

// Dialer is what connects to those whom the fabric does not know; net.Dialer is one.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Or connects over the fabric where somebody of it listens at the address, else as the dialer does.
func (p *Part) Or(next Dialer) Dialer {
	return either{p, next}
}

type either struct {
	part *Part
	next Dialer
}

func (e either) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := e.part.DialContext(ctx, network, address)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return e.next.DialContext(ctx, network, address)
	}
	return conn, err
}

// resolve gives the address with a number for its host: the fabric has no names.
func resolve(ctx context.Context, address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	number, err := net.DefaultResolver.LookupPort(ctx, "tcp", port)
	if err != nil {
		return "", err
	}
	switch {
	case host == "":
		host = "0.0.0.0"
	case net.ParseIP(host) == nil:
		found, err := net.DefaultResolver.LookupIP(ctx, "ip", host)
		if err != nil {
			return "", err
		}
		host = found[0].String()
	}
	return net.JoinHostPort(host, fmt.Sprint(number)), nil
}

// parse gives an address as package net has it.
func parse(text string) net.Addr {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return nil
	}
	number, err := net.LookupPort("tcp", port)
	if err != nil {
		return nil
	}
	// Of the type that programs expect who look at the address of an HTTP connection.
	return &net.TCPAddr{IP: net.ParseIP(host), Port: number}
}

func failed(what string, source, to net.Addr, err error) error {
	return &net.OpError{Op: what, Net: Network, Source: source, Addr: to, Err: err}
}

var errAgain = errors.New("not ready")

// Error is what the library says of a failure. It unwraps to its syscall.Errno.
type Error struct {
	Errno syscall.Errno
	Text  string
}

func (e *Error) Error() string { return e.Text }

// Unwrap gives the error's number.
func (e *Error) Unwrap() error { return e.Errno }

// Timeout tells whether a deadline has passed.
func (e *Error) Timeout() bool { return e.Errno.Timeout() }

// Temporary is there for net.Error.
func (e *Error) Temporary() bool { return e.Errno.Temporary() }

// call calls into C and gives its error. The text of an error belongs to the thread.
func call(work func() C.int) error {
	_, err := count(func() C.ptrdiff_t { return C.ptrdiff_t(work()) })
	return err
}

func count(work func() C.ptrdiff_t) (int, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	outcome := work()
	if outcome >= 0 {
		return int(outcome), nil
	}
	number := syscall.Errno(-outcome)
	if number == syscall.EAGAIN {
		return 0, errAgain
	}
	return 0, &Error{Errno: number, Text: C.GoString(C.martlet_error())}
}

func contextError(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return os.ErrDeadlineExceeded
	}
	return err
}

// waitUntil gives a channel that is ready once the deadline has passed, and what stops it.
func waitUntil(deadline time.Time) (<-chan time.Time, func()) {
	if deadline.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(time.Until(deadline))
	return timer.C, func() { timer.Stop() }
}
