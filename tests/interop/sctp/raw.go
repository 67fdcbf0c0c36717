package sctp

import (
	"encoding/binary"
	"hash/crc32"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Pion supports one port only, which is replaced in each packet.
const pionPort = 5000

// Type of the chunk INIT, and the shortest packet with one (RFC 9260, 3.3.2).
const (
	initChunk = 1
	initBytes = 32
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Puts ports into the common header, and the checksum that it has with them (RFC 9260, 3.1).
func setPorts(packet []byte, source, destination uint16) {
	binary.BigEndian.PutUint16(packet, source)
	binary.BigEndian.PutUint16(packet[2:], destination)
	setChecksum(packet, 0)
	setChecksum(packet, crc32.Checksum(packet, castagnoli))
}

func setChecksum(packet []byte, sum uint32) { binary.LittleEndian.PutUint32(packet[8:], sum) }

// Whether the checksum of a packet is right. It is 0 afterwards.
func isIntact(packet []byte) bool {
	sum := binary.LittleEndian.Uint32(packet[8:])
	setChecksum(packet, 0)
	return crc32.Checksum(packet, castagnoli) == sum
}

// The far end of an association.
type peer struct {
	address netip.Addr
	port    uint16
}

// The packets of one peer, as Pion's stack reads and writes them.
type link struct {
	socket   *net.IPConn
	listener *SCTPListener
	peer     peer
	// The initiate tag of the peer, which is another one if it starts again.
	tag    uint32
	inbox  chan []byte
	closed chan struct{}
	once   sync.Once
}

// Receives the packets of a socket until it is closed.
func (l *SCTPListener) receive(socket *net.IPConn) {
	buffer := make([]byte, 1<<16)
	for {
		n, from, err := socket.ReadFromIP(buffer)
		if err != nil {
			return
		}
		packet := append([]byte{}, buffer[:n]...)
		isOurs := n >= 16 && int(binary.BigEndian.Uint16(packet[2:])) == l.address.Port
		address, valid := netip.AddrFromSlice(from.IP)
		if !isOurs || !valid || !isIntact(packet) {
			continue
		}
		source := peer{address.Unmap(), binary.BigEndian.Uint16(packet)}
		setPorts(packet, pionPort, pionPort)
		if to := l.linkOf(socket, source, packet); to != nil {
			select {
			case to.inbox <- packet:
			default:
				// As a full socket buffer: the peer retransmits.
			}
		}
	}
}

// The link of a peer. An INIT with a new tag begins another association.
func (l *SCTPListener) linkOf(socket *net.IPConn, source peer, packet []byte) *link {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	known := l.peers[source]
	if len(packet) < initBytes || packet[12] != initChunk {
		return known
	}
	tag := binary.BigEndian.Uint32(packet[16:])
	if known != nil && known.tag == tag {
		return known
	}
	if known != nil {
		known.end()
	}
	begun := &link{
		socket: socket, listener: l, peer: source, tag: tag,
		inbox: make(chan []byte, 4096), closed: make(chan struct{}),
	}
	l.peers[source] = begun
	go l.serve(begun)
	return begun
}

func (l *link) end() { l.once.Do(func() { close(l.closed) }) }

func (l *link) Read(into []byte) (int, error) {
	select {
	case packet := <-l.inbox:
		return copy(into, packet), nil
	case <-l.closed:
		return 0, net.ErrClosed
	}
}

func (l *link) Write(packet []byte) (int, error) {
	changed := append([]byte{}, packet...)
	setPorts(changed, uint16(l.listener.address.Port), l.peer.port)
	return l.socket.WriteToIP(changed, &net.IPAddr{IP: l.peer.address.AsSlice()})
}

func (l *link) Close() error {
	l.end()
	l.listener.mutex.Lock()
	defer l.listener.mutex.Unlock()
	if l.listener.peers[l.peer] == l {
		delete(l.listener.peers, l.peer)
	}
	return nil
}

func (l *link) remoteAddress() *SCTPAddr {
	ips := []net.IPAddr{{IP: l.peer.address.AsSlice()}}
	return &SCTPAddr{IPAddrs: ips, Port: int(l.peer.port)}
}

func (l *link) LocalAddr() net.Addr            { return l.listener.address }
func (l *link) RemoteAddr() net.Addr           { return l.remoteAddress() }
func (*link) SetDeadline(time.Time) error      { return nil }
func (*link) SetReadDeadline(time.Time) error  { return nil }
func (*link) SetWriteDeadline(time.Time) error { return nil }
