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

// Config configures a Member.
type Config struct {
	// Name is the display name of the program.
	Name string
	// Socket is the path of the manager's socket. If it is empty, $MARTLET_FABRIC_SOCKET is used,
	// else the default path.
	Socket string
}

// Member is a program's membership in the fabric of its machine.
type Member struct {
	fabric *C.martlet_fabric
	events *events

	mutex  sync.Mutex
	users  int
	closed bool
}

// Join joins the fabric. It waits until the manager has admitted the program, or the context is
// done.
func Join(ctx context.Context, config Config) (*Member, error) {
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
	member := &Member{}
	err := call(func() C.int { return C.martlet_fabric_start(name, socket, &member.fabric) })
	if err != nil {
		return nil, err
	}
	// Wait in small steps, because a context cannot interrupt a thread that waits in C.
	const step = 50
	for {
		err := call(func() C.int { return C.martlet_fabric_joined(member.fabric, step) })
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.ETIMEDOUT) {
			C.martlet_fabric_free(member.fabric)
			return nil, err
		}
		if ctx.Err() != nil {
			C.martlet_fabric_free(member.fabric)
			return nil, fmt.Errorf("%w: %v", ctx.Err(), err)
		}
	}
	events, err := newEvents()
	if err != nil {
		C.martlet_fabric_free(member.fabric)
		return nil, err
	}
	member.events = events
	return member, nil
}

// Close leaves the fabric as soon as its listeners and connections are closed too.
func (p *Member) Close() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return net.ErrClosed
	}
	p.closed = true
	p.freeIfUnused()
	return nil
}

// use counts a user of the C objects; done releases it.
func (p *Member) use() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.closed {
		return net.ErrClosed
	}
	p.users++
	return nil
}

// keep is use for an existing user: it succeeds even after Close.
func (p *Member) keep() {
	p.mutex.Lock()
	p.users++
	p.mutex.Unlock()
}

func (p *Member) done() {
	p.mutex.Lock()
	p.users--
	p.freeIfUnused()
	p.mutex.Unlock()
}

func (p *Member) freeIfUnused() {
	if p.closed && p.users == 0 && p.fabric != nil {
		p.events.end()
		C.martlet_fabric_free(p.fabric)
		p.fabric = nil
	}
}

// Listen opens a listener at an address such as "127.0.0.30:8000". Port 0 selects a free port.
func (p *Member) Listen(address string) (net.Listener, error) {
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
	err = call(func() C.int { return C.martlet_fabric_listen(p.fabric, text, &listener) })
	if err != nil {
		p.done()
		return nil, failed("listen", nil, parse(at), err)
	}
	return newListener(p, listener), nil
}

// Dial is DialContext without a context.
func (p *Member) Dial(network, address string) (net.Conn, error) {
	return p.DialContext(context.Background(), network, address)
}

// DialContext opens a connection to an address of the fabric. The network is "tcp", "tcp4", "tcp6"
// or Network, so the method can replace that of a net.Dialer. The error is ECONNREFUSED if no
// process of the fabric listens at the address.
func (p *Member) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
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

func (p *Member) connect(ctx context.Context, to string) (*C.martlet_stream, error) {
	text := C.CString(to)
	defer C.free(unsafe.Pointer(text))
	var dial *C.martlet_dial
	err := call(func() C.int { return C.martlet_fabric_dial(p.fabric, text, &dial) })
	if err != nil {
		return nil, err
	}
	defer C.martlet_dial_free(dial)
	token, ready := p.events.register()
	defer p.events.forget(token)
	for {
		var stream *C.martlet_stream
		err := call(func() C.int {
			return C.martlet_dial_try(dial, p.events.events, token, &stream)
		})
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

// Dialer opens connections. *Member and *net.Dialer implement it.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// WithFallback returns a dialer that uses the fabric if one of its processes listens at the
// address, and next otherwise.
func (p *Member) WithFallback(next Dialer) Dialer {
	return fallbackDialer{p, next}
}

type fallbackDialer struct {
	member *Member
	next   Dialer
}

func (e fallbackDialer) DialContext(
	ctx context.Context, network, address string,
) (net.Conn, error) {
	conn, err := e.member.DialContext(ctx, network, address)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return e.next.DialContext(ctx, network, address)
	}
	return conn, err
}

// resolve converts a host name and a service name into numbers: the fabric has no names.
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

// parse converts an address into a *net.TCPAddr.
func parse(text string) net.Addr {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return nil
	}
	number, err := net.LookupPort("tcp", port)
	if err != nil {
		return nil
	}
	// Programs that inspect the address of an HTTP connection expect this type.
	return &net.TCPAddr{IP: net.ParseIP(host), Port: number}
}

func failed(what string, source, to net.Addr, err error) error {
	return &net.OpError{Op: what, Net: Network, Source: source, Addr: to, Err: err}
}

var errAgain = errors.New("not ready")

// Error is an error of the C library. It unwraps to its syscall.Errno.
type Error struct {
	Errno syscall.Errno
	Text  string
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns the error number.
func (e *Error) Unwrap() error { return e.Errno }

// Timeout reports whether a deadline has passed.
func (e *Error) Timeout() bool { return e.Errno.Timeout() }

// Temporary implements net.Error.
func (e *Error) Temporary() bool { return e.Errno.Temporary() }

// call calls a C function and returns its error. It locks the thread, because the text of an error
// belongs to the thread.
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

// waitUntil returns a channel that receives at the deadline, and a function that stops the timer.
func waitUntil(deadline time.Time) (<-chan time.Time, func()) {
	if deadline.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(time.Until(deadline))
	return timer.C, func() { timer.Stop() }
}
