// A gNB with a UE, for any 5G core: NGAP and NAS of free5GC's modules and Pion's SCTP, as
// published. It sets up N2, registers the UE, establishes a session, sends packets and
// deregisters. Each step that succeeds is a line of output. With -measure it measures the latency
// of registrations and sessions instead, see measure.go.
package main

import (
	"encoding/hex"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/free5gc/ngap/ngapType"
)

var (
	local = flag.String("local", "127.0.0.1", "address of N2 and N3 of the gNB")
	amf   = flag.String("amf", "127.0.0.5", "address of the AMF")
	host  = flag.String("host", "10.45.0.1",
		"address in the data network that answers echo requests")
	imsi  = flag.String("imsi", "001010000000001", "the IMSI of the UE, in PLMN 001/01")
	key   = flag.String("key", "", "K, hexadecimal")
	opc   = flag.String("opc", "", "OPc, hexadecimal")
	dnn   = flag.String("dnn", "internet", "data network")
	slice = flag.String("slice", "",
		"slice of the session, SST or SST-SD; default: 1, and none in the UE's requests")
	rounds = flag.Int("measure", 0, "rounds of registration, session and deregistration")
)

func msinOf() string { return *imsi }

func fail(format string, values ...any) {
	fmt.Printf("FAILED: "+format+"\n", values...)
	os.Exit(1)
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func step(format string, values ...any) { fmt.Printf(format+"\n", values...) }

// The next message of the AMF, while one of a procedure is due.
func (a *association) receive(procedure int64) []byte {
	select {
	case message := <-a.incoming:
		a.clock.received(message.at)
		return message.octets
	case <-time.After(10 * time.Second):
		fail("nothing came of procedure %d", procedure)
		return nil
	}
}

// The next message of the AMF, of a procedure that is due.
func (a *association) next(procedure int64) *ngapType.NGAPPDU {
	return decoded(a.receive(procedure), procedure)
}

func (a *association) deliver(octets []byte) {
	a.clock.sent(time.Now())
	_, err := a.ue.WriteSCTP(octets, ngapIdentifier)
	must(err)
}

// The NAS message of the next DOWNLINK NAS TRANSPORT, and what the AMF calls the UE.
func (a *association) downlink() (ngapType.AMFUENGAPID, []byte) {
	return nasOf(a.next(ngapType.ProcedureCodeDownlinkNASTransport))
}

// The same, of a message that was received.
func nasOf(pdu *ngapType.NGAPPDU) (ngapType.AMFUENGAPID, []byte) {
	var amfUe ngapType.AMFUENGAPID
	var octets []byte
	message := pdu.InitiatingMessage.Value.DownlinkNASTransport
	for _, ie := range message.ProtocolIEs.List {
		switch ie.Id.Value {
		case ngapType.ProtocolIEIDAMFUENGAPID:
			amfUe = *ie.Value.AMFUENGAPID
		case ngapType.ProtocolIEIDNASPDU:
			octets = ie.Value.NASPDU.Value
		}
	}
	return amfUe, octets
}

func main() {
	flag.Parse()
	k, err := hex.DecodeString(*key)
	must(err)
	operator, err := hex.DecodeString(*opc)
	must(err)
	address := net.ParseIP(*local).To4()
	socket, err := net.ListenUDP("udp4", &net.UDPAddr{IP: address, Port: 2152})
	must(err)
	n2, err := associate(*local, *amf)
	must(err)
	_, err = n2.nonUe.WriteSCTP(setupRequest(), ngapIdentifier)
	must(err)
	if n2.next(ngapType.ProcedureCodeNGSetup).Present != ngapType.NGAPPDUPresentSuccessfulOutcome {
		fail("NG setup is refused")
	}
	end := tunnel{address, []byte{0, 0, 0x90, 0x01}}
	p := ue{n2: n2, card: card{k, operator}, n3: n3{socket: socket, here: end}}
	if *rounds > 0 {
		p.measure(*rounds)
		must(n2.sctp.Close())
		return
	}
	step("NG setup")
	p.register()
	step("registered")
	p.establish()
	step("session %s", net.IP(p.address))
	p.ping()
	p.rest()
	p.wake()
	p.ping()
	p.deregister()
	step("deregistered")
	// Messages in flight arrive before the association ends.
	time.Sleep(200 * time.Millisecond)
	must(n2.sctp.Close())
}
