package main

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net"
	"time"

	"github.com/pion/logging"
	"github.com/pion/sctp"
)

// What NGAP is to SCTP (TS 38.412, 7).
const (
	ngapPort       = 38412
	ngapIdentifier = sctp.PayloadProtocolIdentifier(60)
)

// Pion's SCTP stack in place of the kernel's: its packets are the payload of IP. It supports one
// port only, which is replaced in each packet.
type rawSctp struct {
	*net.IPConn
	port uint16
}

const pionPort = 5000

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Puts ports into the common header, and the checksum that it has with them (RFC 9260, 3.1).
func reported(packet []byte, source, destination uint16) {
	binary.BigEndian.PutUint16(packet, source)
	binary.BigEndian.PutUint16(packet[2:], destination)
	copy(packet[8:12], []byte{0, 0, 0, 0})
	binary.LittleEndian.PutUint32(packet[8:], crc32.Checksum(packet, castagnoli))
}

func (c *rawSctp) Write(packet []byte) (int, error) {
	changed := append([]byte{}, packet...)
	reported(changed, c.port, ngapPort)
	return c.IPConn.Write(changed)
}

func (c *rawSctp) Read(packet []byte) (int, error) {
	for {
		// Unlike Read, this takes the header of IP away.
		n, _, err := c.IPConn.ReadFrom(packet)
		if err != nil {
			return n, err
		}
		if n < 12 || binary.BigEndian.Uint16(packet[2:]) != c.port {
			continue
		}
		sum := binary.LittleEndian.Uint32(packet[8:])
		copy(packet[8:12], []byte{0, 0, 0, 0})
		if got := crc32.Checksum(packet[:n], castagnoli); got != sum {
			return 0, fmt.Errorf("a packet of SCTP with the checksum %#x, and %#x is right", sum,
				got)
		}
		reported(packet[:n], pionPort, pionPort)
		return n, nil
	}
}

// An association with an AMF, and its streams for the interface and for UEs.
type association struct {
	sctp     *sctp.Association
	nonUe    *sctp.Stream
	ue       *sctp.Stream
	incoming chan message
	clock    clock
}

// A message, and when it was read.
type message struct {
	octets []byte
	at     time.Time
}

func associate(local, amf string) (*association, error) {
	address := func(of string) *net.IPAddr { return &net.IPAddr{IP: net.ParseIP(of)} }
	ip, err := net.DialIP("ip4:132", address(local), address(amf))
	if err != nil {
		return nil, err
	}
	client, err := sctp.Client(sctp.Config{
		NetConn:       &rawSctp{ip, 38413},
		LoggerFactory: logging.NewDefaultLoggerFactory(),
	})
	if err != nil {
		return nil, fmt.Errorf("no association with %s: %w", amf, err)
	}
	a := &association{sctp: client, incoming: make(chan message, 16)}
	if a.nonUe, err = client.OpenStream(0, ngapIdentifier); err != nil {
		return nil, err
	}
	if a.ue, err = client.OpenStream(1, ngapIdentifier); err != nil {
		return nil, err
	}
	go a.read(a.nonUe)
	go a.read(a.ue)
	go func() {
		for {
			stream, err := client.AcceptStream()
			if err != nil {
				return
			}
			go a.read(stream)
		}
	}()
	return a, nil
}

func (a *association) read(stream *sctp.Stream) {
	buffer := make([]byte, 1<<16)
	for {
		n, identifier, err := stream.ReadSCTP(buffer)
		at := time.Now()
		if err != nil {
			return
		}
		if identifier != ngapIdentifier {
			fail("a message with the payload protocol identifier %d", identifier)
		}
		a.incoming <- message{append([]byte{}, buffer[:n]...), at}
	}
}
