// An SMF on the independent PFCP implementation go-pfcp. It exercises N4 with a UPF at 127.0.0.8,
// from 127.0.0.7 (SMF) and 127.0.0.2 (gNB), with a host at 10.99.0.1. Each line of output is `STEP
// VALUE …`; outside_go_smf.rs has the expected lines.
package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"github.com/wmnsk/go-pfcp/ie"
	"github.com/wmnsk/go-pfcp/message"
)

const (
	upfAddress, smfAddress, gnbAddress = "127.0.0.8", "127.0.0.7", "127.0.0.2"
	hostAddress                        = "10.99.0.1"
	crowd                              = 1000
	limit                           = 10 * time.Second
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func say(values ...any) { fmt.Println(values...) }

type smf struct {
	socket   *net.UDPConn
	sequence uint32
	started  time.Time
	// Requests of the UPF that were received while waiting for a response.
	requests []message.Message
	// Number of the UPF's heartbeats that were answered.
	beats int
	// The last load and overload reports.
	load, overload uint8
}

func (s *smf) send(m message.Message) {
	octets := make([]byte, m.MarshalLen())
	if err := m.MarshalTo(octets); err != nil {
		panic(err)
	}
	must(s.socket.Write(octets))
}

// read returns the next message, or nil after a timeout.
func (s *smf) read(timeout time.Duration) message.Message {
	octets := make([]byte, 65535)
	s.socket.SetReadDeadline(time.Now().Add(timeout))
	n, err := s.socket.Read(octets)
	if err != nil {
		return nil
	}
	return must(message.Parse(octets[:n]))
}

func (s *smf) next() uint32 {
	s.sequence = (s.sequence + 1) & 0xffffff
	return s.sequence
}

// answer waits for the response to a request. It queues requests of the UPF and answers heartbeats
// at once.
func (s *smf) answer() message.Message {
	for {
		m := s.read(limit)
		switch m := m.(type) {
		case nil:
			panic("no response from the UPF")
		case *message.HeartbeatRequest:
			s.beats++
			s.send(message.NewHeartbeatResponse(m.Sequence(), ie.NewRecoveryTimeStamp(s.started)))
		case *message.SessionReportRequest, *message.AssociationUpdateRequest:
			s.requests = append(s.requests, m)
		default:
			if r, ok := m.(*message.SessionEstablishmentResponse); ok {
				s.hear(r.LoadControlInformation, r.OverloadControlInformation)
			}
			return m
		}
	}
}

func (s *smf) hear(load, overload *ie.IE) {
	if load != nil {
		s.load = must(load.Metric())
	}
	if overload != nil {
		for _, i := range must(overload.OverloadControlInformation()) {
			if i.Type == ie.Metric {
				s.overload = must(i.Metric())
			}
		}
	}
}

func (s *smf) ask(m message.Message) message.Message {
	s.send(m)
	return s.answer()
}

// request returns the next request of the UPF that is not a heartbeat.
func (s *smf) request() message.Message {
	for len(s.requests) == 0 {
		m := s.read(limit)
		if m == nil {
			panic("no request from the UPF")
		}
		if beat, ok := m.(*message.HeartbeatRequest); ok {
			s.beats++
			s.send(message.NewHeartbeatResponse(beat.Sequence(),
				ie.NewRecoveryTimeStamp(s.started)))
			continue
		}
		s.requests = append(s.requests, m)
	}
	m := s.requests[0]
	s.requests = s.requests[1:]
	return m
}

// report waits for a session report of a type, answers it and returns it. It also answers others
// before it.
func (s *smf) report(upSeid uint64, kind func(*ie.IE) bool) *message.SessionReportRequest {
	for {
		r := s.request().(*message.SessionReportRequest)
		accepted := ie.NewCause(ie.CauseRequestAccepted)
		s.send(message.NewSessionReportResponse(0, 0, upSeid, r.Sequence(), 0, accepted))
		if kind(r.ReportType) {
			return r
		}
	}
}

func nodeID() *ie.IE { return ie.NewNodeID(smfAddress, "", "") }

// One PDR per direction, for UEs whose address the UPF allocates. The first session's uplink
// matches one application only, and is measured.
func establishment(sequence uint32, cpSeid uint64, application string) message.Message {
	uplink := []*ie.IE{
		ie.NewSourceInterface(ie.SrcInterfaceAccess),
		ie.NewFTEID(0x05, 0, nil, nil, 0),
		ie.NewNetworkInstance("internet"),
		ie.NewUEIPAddress(0x12, "", "", 0, 0),
	}
	if application != "" {
		uplink = append(uplink, ie.NewApplicationID(application))
	}
	downlink := ie.NewPDI(
		ie.NewSourceInterface(ie.SrcInterfaceCore),
		ie.NewNetworkInstance("internet"),
		ie.NewUEIPAddress(0x16, "", "", 0, 0),
	)
	return message.NewSessionEstablishmentRequest(0, 0, 0, sequence, 0,
		nodeID(),
		ie.NewFSEID(cpSeid, net.ParseIP(smfAddress), nil),
		ie.NewCreatePDR(ie.NewPDRID(1), ie.NewPrecedence(100), ie.NewPDI(uplink...),
			ie.NewOuterHeaderRemoval(0, 0),
			ie.NewFARID(1), ie.NewURRID(1), ie.NewQERID(1)),
		ie.NewCreatePDR(ie.NewPDRID(2), ie.NewPrecedence(100), downlink, ie.NewFARID(2),
			ie.NewURRID(1), ie.NewQERID(1)),
		ie.NewCreateFAR(ie.NewFARID(1), ie.NewApplyAction(0x02),
			ie.NewForwardingParameters(ie.NewDestinationInterface(ie.DstInterfaceCore))),
		ie.NewCreateFAR(ie.NewFARID(2), ie.NewApplyAction(0x0c)),
		ie.NewCreateURR(ie.NewURRID(1), ie.NewMeasurementMethod(0, 1, 0),
			ie.NewReportingTriggers(0x02, 0),
			ie.NewVolumeThreshold(0x01, 100, 0, 0)),
		ie.NewCreateQER(ie.NewQERID(1), ie.NewGateStatus(0, 0), ie.NewMBR(1000000, 1000000),
			ie.NewQFI(9)),
	)
}

func toGnb(sequence uint32, upSeid uint64, teid uint32) message.Message {
	return message.NewSessionModificationRequest(0, 0, upSeid, sequence, 0,
		ie.NewUpdateFAR(ie.NewFARID(2),
			ie.NewApplyAction(0x02), ie.NewUpdateForwardingParameters(
				ie.NewDestinationInterface(ie.DstInterfaceAccess),
				ie.NewOuterHeaderCreation(0x0100, teid, gnbAddress, "", 0, 0, 0))))
}

func udp(address string, port int) *net.UDPConn {
	return must(net.ListenUDP("udp4", &net.UDPAddr{IP: net.ParseIP(address), Port: port}))
}

func checksum(data []byte) uint16 {
	var sum uint32
	for i := 0; i < len(data); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(data[i:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}

// A G-PDU with a packet of the UE to the host.
func uplink(teid uint32, ue net.IP, port uint16, payload string) []byte {
	inner := make([]byte, 28, 28+len(payload))
	inner[0], inner[8], inner[9] = 0x45, 64, 17
	binary.BigEndian.PutUint16(inner[2:], uint16(28+len(payload)))
	copy(inner[12:], ue.To4())
	copy(inner[16:], net.ParseIP(hostAddress).To4())
	binary.BigEndian.PutUint16(inner[10:], checksum(inner[:20]))
	binary.BigEndian.PutUint16(inner[20:], 9000)
	binary.BigEndian.PutUint16(inner[22:], port)
	binary.BigEndian.PutUint16(inner[24:], uint16(8+len(payload)))
	inner = append(inner, payload...)
	packet := make([]byte, 8, 8+len(inner))
	packet[0], packet[1] = 0x30, 255
	binary.BigEndian.PutUint16(packet[2:], uint16(len(inner)))
	binary.BigEndian.PutUint32(packet[4:], teid)
	return append(packet, inner...)
}

func received(socket *net.UDPConn, timeout time.Duration) string {
	octets := make([]byte, 2048)
	socket.SetReadDeadline(time.Now().Add(timeout))
	n, err := socket.Read(octets)
	if err != nil {
		return "nothing"
	}
	return string(octets[:n])
}

func cause(i *ie.IE) uint8 { return must(i.Cause()) }

// The TEID and UE address that the UPF allocated.
func created(r *message.SessionEstablishmentResponse) (teid uint32, ues []net.IP) {
	for _, pdr := range r.CreatedPDR {
		for _, i := range must(pdr.CreatedPDR()) {
			switch i.Type {
			case ie.FTEID:
				teid = must(i.FTEID()).TEID
			case ie.UEIPAddress:
				ues = append(ues, must(i.UEIPAddress()).IPv4Address)
			}
		}
	}
	return
}

func main() {
	defer func() {
		if problem := recover(); problem != nil {
			say("failed", problem)
			os.Exit(1)
		}
	}()
	socket := must(net.DialUDP("udp4", &net.UDPAddr{IP: net.ParseIP(smfAddress), Port: 8805},
		&net.UDPAddr{IP: net.ParseIP(upfAddress), Port: 8805}))
	s := &smf{socket: socket, started: time.Now()}
	gnb, host := udp(gnbAddress, 2152), udp(hostAddress, 7000)
	n3 := &net.UDPAddr{IP: net.ParseIP(upfAddress), Port: 2152}
	toUpf := func(octets []byte) { must(gnb.WriteToUDP(octets, n3)) }

	setup := s.ask(message.NewAssociationSetupRequest(s.next(), nodeID(),
		ie.NewRecoveryTimeStamp(s.started),
		ie.NewCPFunctionFeatures(0x03))).(*message.AssociationSetupResponse)
	features := setup.UPFunctionFeatures
	say("association", cause(setup.Cause), features.HasFTUP(), features.HasPFDM(),
		features.HasUEIP())
	beat := s.ask(message.NewHeartbeatRequest(s.next(), ie.NewRecoveryTimeStamp(s.started), nil))
	theirs := beat.(*message.HeartbeatResponse).RecoveryTimeStamp
	atSetup := must(setup.RecoveryTimeStamp.RecoveryTimeStamp())
	say("heartbeat", must(theirs.RecoveryTimeStamp()).Equal(atSetup))

	pfd := func(flow, name string) message.Message {
		contents := ie.NewPFDContents(flow, "", name, "", "", nil, nil, nil)
		return message.NewPFDManagementRequest(s.next(),
			ie.NewApplicationIDsPFDs(ie.NewApplicationID("chat"), ie.NewPFDContext(contents)))
	}
	provisioned := s.ask(pfd("permit out 17 from any 7000 to assigned",
		"")).(*message.PFDManagementResponse)
	unseen := s.ask(pfd("", "example.com")).(*message.PFDManagementResponse)
	say("pfds", cause(provisioned.Cause), cause(unseen.Cause),
		must(unseen.OffendingIE.OffendingIE()))

	unknown := s.ask(establishment(s.next(), 1, "news")).(*message.SessionEstablishmentResponse)
	say("unknown-application", cause(unknown.Cause), must(unknown.FailedRuleID.FailedRuleID()))
	made := s.ask(establishment(s.next(), 1, "chat")).(*message.SessionEstablishmentResponse)
	teid, ues := created(made)
	upSeid := must(made.UPFSEID.FSEID()).SEID
	say("session", cause(made.Cause), made.SEID(), len(ues), ues[0].Equal(ues[1]), ues[0])

	// The packet of the application passes, the other one does not.
	toUpf(uplink(teid, ues[0], 7000, "one"))
	say("application", received(host, limit))
	other := udp(hostAddress, 7001)
	toUpf(uplink(teid, ues[0], 7001, "two"))
	say("no-application", received(other, 300*time.Millisecond))

	// The downlink packet is buffered and reported.
	must(host.WriteToUDP([]byte("page"), &net.UDPAddr{IP: ues[0], Port: 9000}))
	downlink := s.report(upSeid, (*ie.IE).HasDLDR)
	for _, i := range must(downlink.DownlinkDataReport.DownlinkDataReport()) {
		if i.Type == ie.PDRID {
			say("downlink-data", downlink.SEID(), must(i.PDRID()))
		}
	}
	modified := s.ask(toGnb(s.next(), upSeid, 0xbeef)).(*message.SessionModificationResponse)
	paged := received(gnb, limit)
	say("modified", cause(modified.Cause), paged[len(paged)-4:])

	// More than the threshold of 100 bytes.
	toUpf(uplink(teid, ues[0], 7000, strings.Repeat("0123456789", 7)))
	received(host, limit)
	usage := s.report(upSeid, (*ie.IE).HasUSAR)
	say("usage", must(usage.UsageReport[0].URRID()),
		must(usage.UsageReport[0].VolumeMeasurement()).TotalVolume)

	// The gNB does not know the tunnel (TS 29.281, 7.3.1).
	indication := []byte{0x32, 26, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0xbe, 0xef, 133, 0, 4,
		127, 0, 0, 2}
	toUpf(indication)
	failed := s.report(upSeid, (*ie.IE).HasERIR)
	say("error-indication", failed.SEID(),
		fmt.Sprintf("%#x", must(failed.ErrorIndicationReport.FTEID()).TEID))

	timer := ie.NewUserPlaneInactivityTimer(time.Second)
	timed := s.ask(message.NewSessionModificationRequest(0, 0, upSeid, s.next(), 0, timer))
	say("idle", cause(timed.(*message.SessionModificationResponse).Cause),
		s.report(upSeid, (*ie.IE).HasUPIR).SEID())
	s.ask(message.NewSessionModificationRequest(0, 0, upSeid, s.next(), 0,
		ie.NewUserPlaneInactivityTimer(0)))

	// Sessions up to the limit, several requests at a time; then one more.
	seids := make([]uint64, 0, crowd)
	addresses := map[string]bool{ues[0].String(): true}
	window := func(count int, send func(n int), take func(message.Message)) {
		sent := 0
		for done := 0; done < count; done++ {
			for sent < count && sent < done+32 {
				send(sent)
				sent++
			}
			take(s.answer())
		}
	}
	window(crowd, func(n int) { s.send(establishment(s.next(), uint64(n)+2, "")) },
		func(m message.Message) {
			r := m.(*message.SessionEstablishmentResponse)
			if cause(r.Cause) == ie.CauseRequestAccepted {
				seids = append(seids, must(r.UPFSEID.FSEID()).SEID)
				_, ues := created(r)
				addresses[ues[0].String()] = true
			}
		})
	refused := s.ask(establishment(s.next(), 9999, "")).(*message.SessionEstablishmentResponse)
	say("crowd", len(seids), len(addresses), cause(refused.Cause), s.load, s.overload)
	changed := 0
	window(crowd, func(n int) { s.send(toGnb(s.next(), seids[n], uint32(n)+1)) },
		func(m message.Message) {
			if cause(m.(*message.SessionModificationResponse).Cause) == ie.CauseRequestAccepted {
				changed++
			}
		})
	gone := 0
	window(crowd, func(n int) {
		s.send(message.NewSessionDeletionRequest(0, 0, seids[n], s.next(),
			0))
	},
		func(m message.Message) {
			if cause(m.(*message.SessionDeletionResponse).Cause) == ie.CauseRequestAccepted {
				gone++
			}
		})
	say("crowd-gone", changed, gone)

	// Invalid requests get their cause or no response, and the session continues.
	ghost := s.ask(message.NewSessionDeletionRequest(0, 0, seids[0], s.next(),
		0)).(*message.SessionDeletionResponse)
	short := s.ask(message.NewSessionModificationRequest(0, 0, upSeid, s.next(), 0,
		ie.NewUpdateFAR(ie.New(ie.FARID, []byte{0, 1})))).(*message.SessionModificationResponse)
	bare := s.ask(message.NewAssociationSetupRequest(s.next(),
		nodeID())).(*message.AssociationSetupResponse)
	say("wrong", cause(ghost.Cause), cause(short.Cause), must(short.OffendingIE.OffendingIE()),
		cause(bare.Cause))
	must(socket.Write([]byte{0x20, 1, 0, 40, 0, 0, 1, 0}))
	must(socket.Write([]byte{0x40, 1, 0, 4, 0, 0, 1, 0}))
	version := s.answer()
	toUpf(uplink(teid, ues[0], 7000, "still"))
	say("still", version.MessageTypeName(), received(host, limit), s.beats > 0)

	// The UPF prepares the association release: usage reports come first.
	prepared := s.ask(message.NewAssociationUpdateRequest(s.next(), nodeID(),
		ie.NewPFCPAUReqFlags(1)))
	last := s.report(upSeid, (*ie.IE).HasUSAR)
	all := s.request().(*message.AssociationUpdateRequest)
	accepted := ie.NewCause(ie.CauseRequestAccepted)
	s.send(message.NewAssociationUpdateResponse(all.Sequence(), nodeID(), accepted))
	trigger := must(last.UsageReport[0].UsageReportTrigger())
	say("prepared", cause(prepared.(*message.AssociationUpdateResponse).Cause), trigger[2],
		all.PFCPAssociationReleaseRequest.HasURSS())

	// The UPF is terminated, and requests the release first.
	say("ready")
	leave := s.request().(*message.AssociationUpdateRequest)
	s.send(message.NewAssociationUpdateResponse(leave.Sequence(), nodeID(), accepted))
	say("leaves", leave.PFCPAssociationReleaseRequest.HasSARR(),
		must(leave.GracefulReleasePeriod.GracefulReleasePeriod()))
	no := s.ask(establishment(s.next(), 77, "")).(*message.SessionEstablishmentResponse)
	deleted := s.ask(message.NewSessionDeletionRequest(0, 0, upSeid, s.next(),
		0)).(*message.SessionDeletionResponse)
	released := s.ask(message.NewAssociationReleaseRequest(s.next(),
		nodeID())).(*message.AssociationReleaseResponse)
	say("released", cause(no.Cause), cause(deleted.Cause), cause(released.Cause))
}
