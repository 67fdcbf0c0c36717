// Package sctp has the part of the API of github.com/free5gc/sctp that free5GC's AMF uses, over
// Pion's SCTP stack and raw sockets. With it the AMF runs where the kernel lacks SCTP. It does not
// work beside the kernel's SCTP, which would abort the associations.
package sctp

import (
	"io"
	"math/bits"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pion/logging"
	pion "github.com/pion/sctp"
)

// Types of notifications, states of an association, and events, as linux/sctp.h has them.
const (
	SCTP_ASSOC_CHANGE      SCTPNotificationType = 0x8001
	SCTP_SHUTDOWN_EVENT    SCTPNotificationType = 0x8005
	SCTP_COMM_LOST         SCTPState            = 1
	SCTP_SHUTDOWN_COMP     SCTPState            = 3
	SCTP_EVENT_DATA_IO                          = 1 << 0
	SCTP_EVENT_ASSOCIATION                      = 1 << 1
	SCTP_EVENT_SHUTDOWN                         = 1 << 4
)

type (
	SCTPNotificationType int
	SCTPState            uint16

	// Notification is an event of an association. This package has none: the end of an association
	// is the end of what is read.
	Notification interface {
		Type() SCTPNotificationType
	}

	// SCTPAssocChangeEvent is never created here.
	SCTPAssocChangeEvent struct{ state SCTPState }

	// SndRcvInfo belongs to a message. The payload protocol identifier is in network byte order.
	SndRcvInfo struct {
		Stream uint16
		PPID   uint32
	}

	// InitMsg, RtoInfo and AssocInfo are accepted and not used: Pion has its own values.
	InitMsg struct{ NumOstreams, MaxInstreams, MaxAttempts, MaxInitTimeout uint16 }
	RtoInfo struct {
		SrtoAssocID                   int32
		SrtoInitial, SrtoMax, StroMin uint32
	}
	AssocInfo struct{ AsocMaxRxt uint16 }

	// SocketConfig makes listeners.
	SocketConfig struct {
		InitMsg   InitMsg
		RtoInfo   *RtoInfo
		AssocInfo *AssocInfo
	}

	// SCTPAddr is the addresses of an endpoint, and its port.
	SCTPAddr struct {
		IPAddrs []net.IPAddr
		Port    int
	}
)

func (*SCTPAssocChangeEvent) Type() SCTPNotificationType { return SCTP_ASSOC_CHANGE }
func (e *SCTPAssocChangeEvent) State() SCTPState         { return e.state }

func (*SCTPAddr) Network() string { return "sctp" }
func (a *SCTPAddr) String() string {
	if a == nil || len(a.IPAddrs) == 0 {
		return ""
	}
	return (&net.TCPAddr{IP: a.IPAddrs[0].IP, Port: a.Port}).String()
}

// SCTPListener accepts associations.
type SCTPListener struct {
	address  *SCTPAddr
	sockets  []*net.IPConn
	accepted chan *SCTPConn

	mutex sync.Mutex
	peers map[peer]*link
}

// Listen opens a raw socket for each address.
func (*SocketConfig) Listen(_ string, address *SCTPAddr) (*SCTPListener, error) {
	listener := &SCTPListener{
		address: address, accepted: make(chan *SCTPConn, 16), peers: map[peer]*link{},
	}
	for i := range address.IPAddrs {
		socket, err := net.ListenIP("ip4:132", &address.IPAddrs[i])
		if err != nil {
			_ = listener.Close()
			return nil, err
		}
		listener.sockets = append(listener.sockets, socket)
		go listener.receive(socket)
	}
	return listener, nil
}

func (l *SCTPListener) Addr() net.Addr { return l.address }

// AcceptSCTP waits for the next association, without a timeout.
func (l *SCTPListener) AcceptSCTP(int) (*SCTPConn, error) { return <-l.accepted, nil }

func (l *SCTPListener) Close() error {
	for _, socket := range l.sockets {
		_ = socket.Close()
	}
	return nil
}

// Serves a peer that has sent an INIT.
func (l *SCTPListener) serve(from *link) {
	association, err := pion.Server(pion.Config{
		NetConn: from, LoggerFactory: logging.NewDefaultLoggerFactory(),
	})
	if err != nil {
		_ = from.Close()
		return
	}
	conn := &SCTPConn{
		association: association, local: l.address, remote: from.remoteAddress(),
		incoming: make(chan message, 1024), writer: make(chan *pion.Stream, 1),
	}
	go conn.accept()
	l.accepted <- conn
}

// A message that an association received.
type message struct {
	bytes []byte
	info  SndRcvInfo
}

// SCTPConn is an association. It sends on stream 0, as the kernel does by default.
type SCTPConn struct {
	association   *pion.Association
	local, remote *SCTPAddr
	incoming      chan message
	timeout       atomic.Int64
	identifier    atomic.Uint32

	// The stream for what is sent. The peer may have opened it first.
	writer chan *pion.Stream
	mutex  sync.Mutex
	stream *pion.Stream
}

// Reads all streams until the association ends.
func (c *SCTPConn) accept() {
	var readers sync.WaitGroup
	read := func(stream *pion.Stream) {
		if stream.StreamIdentifier() == 0 {
			c.writer <- stream
		}
		readers.Add(1)
		go func() {
			defer readers.Done()
			c.read(stream)
		}()
	}
	if stream, err := c.association.OpenStream(0, 0); err == nil {
		read(stream)
	}
	for {
		stream, err := c.association.AcceptStream()
		if err != nil {
			break
		}
		read(stream)
	}
	readers.Wait()
	close(c.incoming)
}

func (c *SCTPConn) read(stream *pion.Stream) {
	buffer := make([]byte, 1<<18)
	for {
		n, identifier, err := stream.ReadSCTP(buffer)
		if err != nil {
			return
		}
		info := SndRcvInfo{stream.StreamIdentifier(), bits.ReverseBytes32(uint32(identifier))}
		c.incoming <- message{append([]byte{}, buffer[:n]...), info}
	}
}

// SCTPRead reads a message. It returns EAGAIN after the timeout of SetReadTimeout.
func (c *SCTPConn) SCTPRead(into []byte) (int, *SndRcvInfo, Notification, error) {
	var expired <-chan time.Time
	if timeout := c.timeout.Load(); timeout > 0 {
		timer := time.NewTimer(time.Duration(timeout))
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case received, more := <-c.incoming:
		if !more {
			return 0, nil, nil, io.EOF
		}
		return copy(into, received.bytes), &received.info, nil, nil
	case <-expired:
		return 0, nil, nil, syscall.EAGAIN
	}
}

func (c *SCTPConn) Read(into []byte) (int, error) {
	n, _, _, err := c.SCTPRead(into)
	return n, err
}

func (c *SCTPConn) Write(bytes []byte) (int, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.stream == nil {
		c.stream = <-c.writer
	}
	identifier := bits.ReverseBytes32(c.identifier.Load())
	return c.stream.WriteSCTP(bytes, pion.PayloadProtocolIdentifier(identifier))
}

func (c *SCTPConn) Close() error         { return c.association.Close() }
func (c *SCTPConn) LocalAddr() net.Addr  { return c.local }
func (c *SCTPConn) RemoteAddr() net.Addr { return c.remote }

func (c *SCTPConn) GetDefaultSentParam() (*SndRcvInfo, error) {
	return &SndRcvInfo{PPID: c.identifier.Load()}, nil
}

func (c *SCTPConn) SetDefaultSentParam(info *SndRcvInfo) error {
	c.identifier.Store(info.PPID)
	return nil
}

func (c *SCTPConn) SetReadTimeout(timeout syscall.Timeval) error {
	c.timeout.Store(timeout.Nano())
	return nil
}

// The rest of the API has no effect: there are no notifications, and Pion has buffers of its own.

func (*SCTPConn) SubscribeEvents(int) error        { return nil }
func (*SCTPConn) SetReadBuffer(int) error          { return nil }
func (*SCTPConn) SetDeadline(time.Time) error      { return nil }
func (*SCTPConn) SetReadDeadline(time.Time) error  { return nil }
func (*SCTPConn) SetWriteDeadline(time.Time) error { return nil }
