package main

import (
	"bytes"
	"encoding/binary"
	"net"
	"time"
)

// An end of N3.
type tunnel struct{ address, teid []byte }

// An uplink G-PDU with the QoS flow in the PDU session container (TS 29.281, 5.2.2.7; TS 38.415,
// 5.5.2.2).
func gPdu(teid []byte, flow byte, packet []byte) []byte {
	header := []byte{0x34, 0xff, 0, 0}
	header = append(header, teid...)
	header = append(header, 0, 0, 0, 0x85, 1, 0x10, flow, 0)
	binary.BigEndian.PutUint16(header[2:], uint16(len(header)-8+len(packet)))
	return append(header, packet...)
}

func checksum(octets []byte) uint16 {
	sum := uint32(0)
	for i := 0; i+1 < len(octets); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(octets[i:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// An ICMP echo request of 64 bytes.
func echoRequest(from, to []byte, sequence uint16) []byte {
	packet := make([]byte, 64)
	copy(packet, []byte{0x45, 0, 0, 64, 0, 0, 0x40, 0, 64, 1})
	copy(packet[12:], from)
	copy(packet[16:], to)
	binary.BigEndian.PutUint16(packet[10:], checksum(packet[:20]))
	icmp := packet[20:]
	icmp[0] = 8
	binary.BigEndian.PutUint16(icmp[6:], sequence)
	binary.BigEndian.PutUint16(icmp[2:], checksum(icmp))
	return packet
}

// The end of N3 at the gNB, with the UPF's end of the session there.
type n3 struct {
	socket      *net.UDPConn
	here, there tunnel
	flow        byte
}

func (n *n3) send(packet []byte) {
	to := &net.UDPAddr{IP: n.there.address, Port: 2152}
	_, err := n.socket.WriteToUDP(gPdu(n.there.teid, n.flow, packet), to)
	must(err)
}

// The packet in the next G-PDU, which has to come through our tunnel.
func (n *n3) receive() []byte {
	must(n.socket.SetReadDeadline(time.Now().Add(10 * time.Second)))
	buffer := make([]byte, 2048)
	length, _, err := n.socket.ReadFromUDP(buffer)
	must(err)
	got := buffer[:length]
	if got[1] != 0xff || !bytes.Equal(got[4:8], n.here.teid) {
		fail("no packet through the tunnel: %x", got)
	}
	packet := got[8:]
	if got[0]&7 != 0 {
		next := got[11]
		packet = got[12:]
		for next != 0 {
			size := 4 * int(packet[0])
			next, packet = packet[size-1], packet[size:]
		}
	}
	return packet
}

// Sends echo requests to a host, each when the one before is answered.
func (n *n3) ping(from, to []byte, count int) {
	for sequence := uint16(1); int(sequence) <= count; sequence++ {
		n.send(echoRequest(from, to, sequence))
		got := n.receive()
		icmp := got[20:]
		if !bytes.Equal(got[16:20], from) || icmp[0] != 0 ||
			binary.BigEndian.Uint16(icmp[6:]) != sequence {
			fail("no answer to echo request %d: %x", sequence, got)
		}
	}
}

// Answers the next packet, which has to be an echo request to the UE.
func (n *n3) pong(address []byte) {
	got := n.receive()
	if !bytes.Equal(got[16:20], address) || got[9] != 1 || got[20] != 8 {
		fail("no echo request for the UE: %x", got)
	}
	answer := append([]byte{}, got...)
	copy(answer[12:16], got[16:20])
	copy(answer[16:20], got[12:16])
	answer[20] = 0
	copy(answer[22:24], []byte{0, 0})
	binary.BigEndian.PutUint16(answer[22:], checksum(answer[20:]))
	n.send(answer)
}
