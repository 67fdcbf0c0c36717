package main

import (
	"bytes"
	"encoding/binary"
	"net"
	"time"
)

// An end of N3.
type tunnel struct{ address, teid []byte }

// A G-PDU uplink, with the QoS flow in the PDU session container (TS 29.281, 5.2.2.7; TS 38.415, 5.5.2.2).
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

// An ICMP echo request of 64 octets.
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

// Sends echo requests through the tunnel, and counts the answers that come back through the other.
func ping(local net.IP, here, there tunnel, flow byte, from, to []byte, count int) int {
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: local, Port: 2152})
	must(err)
	defer socket.Close()
	answers := 0
	for sequence := uint16(1); int(sequence) <= count; sequence++ {
		_, err := socket.WriteToUDP(gPdu(there.teid, flow, echoRequest(from, to, sequence)),
			&net.UDPAddr{IP: there.address, Port: 2152})
		must(err)
		must(socket.SetReadDeadline(time.Now().Add(5 * time.Second)))
		buffer := make([]byte, 2048)
		n, _, err := socket.ReadFromUDP(buffer)
		must(err)
		got := buffer[:n]
		// G-PDU to our end, whose packet is the answer with its number.
		if got[1] != 0xff || !bytes.Equal(got[4:8], here.teid) || !bytes.Contains(got, from) {
			fail("no answer through the tunnel: %x", got)
		}
		if icmp := got[n-44:]; icmp[0] != 0 || binary.BigEndian.Uint16(icmp[6:]) != sequence {
			fail("no answer to echo request %d: %x", sequence, got)
		}
		answers++
	}
	return answers
}
