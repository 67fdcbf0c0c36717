// A gNB with a phone, for a core of any maker: NGAP and NAS of free5GC's modules, SCTP of Pion's, as their makers have
// published them. It sets up N2, registers the phone, gives it a session, sends packets, and takes leave; each step that
// went well is a line of its output.
package main

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/free5gc/aper"
	"github.com/free5gc/nas"
	"github.com/free5gc/ngap/ngapType"
)

var (
	local = flag.String("local", "127.0.0.1", "address of N2 and N3 of the gNB")
	amf   = flag.String("amf", "127.0.0.5", "address of the AMF")
	host  = flag.String("host", "10.45.0.1", "address in the data network that answers to echo requests")
	imsi  = flag.String("imsi", "001010000000001", "the phone's IMSI, of PLMN 001/01")
	key   = flag.String("key", "", "K, hexadecimal")
	opc   = flag.String("opc", "", "OPc, hexadecimal")
	dnn   = flag.String("dnn", "internet", "data network")
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

// The next message of the AMF, of a procedure that is due.
func (a *association) next(procedure int64) *ngapType.NGAPPDU {
	select {
	case octets := <-a.incoming:
		return decoded(octets, procedure)
	case <-time.After(10 * time.Second):
		fail("nothing came of procedure %d", procedure)
		return nil
	}
}

func (a *association) tell(octets []byte) {
	_, err := a.ue.WriteSCTP(octets, ngapIdentifier)
	must(err)
}

// The NAS message of the next DOWNLINK NAS TRANSPORT, and what the AMF calls the UE.
func (a *association) downlink() (ngapType.AMFUENGAPID, []byte) {
	var amfUe ngapType.AMFUENGAPID
	var octets []byte
	message := a.next(ngapType.ProcedureCodeDownlinkNASTransport).InitiatingMessage.Value.DownlinkNASTransport
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
	here := tunnel{net.ParseIP(*local).To4(), []byte{0, 0, 0x90, 0x01}}

	n2, err := associate(*local, *amf)
	must(err)
	_, err = n2.nonUe.WriteSCTP(setupRequest(), ngapIdentifier)
	must(err)
	if n2.next(ngapType.ProcedureCodeNGSetup).Present != ngapType.NGAPPDUPresentSuccessfulOutcome {
		fail("NG setup is refused")
	}
	step("NG setup")

	registration := registrationRequest()
	n2.tell(initialUeMessage(registration))
	amfUe, octets := n2.downlink()
	challenge := mobilityMessage(octets, nas.MsgTypeAuthenticationRequest).AuthenticationRequest
	autn, random := challenge.AuthenticationParameterAUTN.Octet, challenge.AuthenticationParameterRAND.Octet
	answer, keys := card{k, operator}.answer(random[:], autn[:], challenge.ABBA.Buffer)
	n2.tell(uplinkNas(amfUe, authenticationResponse(answer)))

	_, octets = n2.downlink()
	command := mobilityMessage(keys.open(octets), nas.MsgTypeSecurityModeCommand).SecurityModeCommand
	if !bytes.Equal(command.ReplayedUESecurityCapabilities.Buffer[:2], capability) {
		fail("other security capabilities are replayed: %x", command.ReplayedUESecurityCapabilities.Buffer)
	}
	kGnb := keys.kGnb(keys.uplink)
	n2.tell(uplinkNas(amfUe, keys.protect(newContextCiphered, securityModeComplete(registration))))
	step("NAS security")

	var accept []byte
	setup := n2.next(ngapType.ProcedureCodeInitialContextSetup).InitiatingMessage.Value.InitialContextSetupRequest
	for _, ie := range setup.ProtocolIEs.List {
		switch ie.Id.Value {
		case ngapType.ProtocolIEIDNASPDU:
			accept = ie.Value.NASPDU.Value
		case ngapType.ProtocolIEIDSecurityKey:
			if !bytes.Equal(ie.Value.SecurityKey.Value.Bytes, kGnb) {
				fail("another key for the gNB than the phone has")
			}
		}
	}
	guti := mobilityMessage(keys.open(accept), nas.MsgTypeRegistrationAccept).RegistrationAccept.GUTI5G
	if guti == nil {
		fail("a registration without a 5G-GUTI")
	}
	n2.tell(initialContextSetupResponse(amfUe))
	n2.tell(uplinkNas(amfUe, keys.protect(cipheredHeader, registrationComplete())))
	step("registered")
	establish(n2, amfUe, keys, here)

	identity := deregistrationRequest(mobileIdentity(guti))
	n2.tell(uplinkNas(amfUe, keys.protect(cipheredHeader, identity)))
	_, octets = n2.downlink()
	mobilityMessage(keys.open(octets), nas.MsgTypeDeregistrationAcceptUEOriginatingDeregistration)
	n2.next(ngapType.ProcedureCodeUEContextRelease)
	n2.tell(contextReleaseComplete(amfUe))
	step("deregistered")
	// What is on its way arrives before the association ends.
	time.Sleep(200 * time.Millisecond)
	must(n2.sctp.Close())
}

// Gives the phone a session, and sends packets through it.
func establish(n2 *association, amfUe ngapType.AMFUENGAPID, keys *context, here tunnel) {
	n2.tell(uplinkNas(amfUe, keys.protect(cipheredHeader, sessionRequest(*dnn))))
	var octets []byte
	pdu := n2.nextBut(ngapType.ProcedureCodePDUSessionResourceSetup, ngapType.ProcedureCodeDownlinkNASTransport, keys)
	request := pdu.InitiatingMessage.Value.PDUSessionResourceSetupRequest
	var item ngapType.PDUSessionResourceSetupItemSUReq
	for _, ie := range request.ProtocolIEs.List {
		switch ie.Id.Value {
		case ngapType.ProtocolIEIDPDUSessionResourceSetupListSUReq:
			item = ie.Value.PDUSessionResourceSetupListSUReq.List[0]
		case ngapType.ProtocolIEIDNASPDU:
			octets = ie.Value.NASPDU.Value
		}
	}
	if item.PDUSessionNASPDU != nil {
		octets = item.PDUSessionNASPDU.Value
	}
	address := acceptedSession(keys.open(octets))
	var transfer ngapType.PDUSessionResourceSetupRequestTransfer
	must(aper.UnmarshalWithParams(item.PDUSessionResourceSetupRequestTransfer, &transfer, "valueExt"))
	var there tunnel
	var flow int64
	for _, ie := range transfer.ProtocolIEs.List {
		switch ie.Id.Value {
		case ngapType.ProtocolIEIDULNGUUPTNLInformation:
			end := ie.Value.ULNGUUPTNLInformation.GTPTunnel
			there = tunnel{end.TransportLayerAddress.Value.Bytes, end.GTPTEID.Value}
		case ngapType.ProtocolIEIDQosFlowSetupRequestList:
			flow = ie.Value.QosFlowSetupRequestList.List[0].QosFlowIdentifier.Value
		}
	}
	n2.tell(sessionSetupResponse(amfUe, here, flow))
	step("session %s", net.IP(address))
	// The tunnel downlink is there when the SMF has told the UPF of it.
	time.Sleep(200 * time.Millisecond)
	answers := ping(net.IP(here.address), here, there, byte(flow), address, net.ParseIP(*host).To4(), 5)
	step("%d packets there and back", answers)
}

// The next message of a procedure; one of another, which may come before, is a NAS message that decodes.
func (a *association) nextBut(procedure, before int64, keys *context) *ngapType.NGAPPDU {
	for {
		octets := <-a.incoming
		if octets[1] != byte(before) {
			return decoded(octets, procedure)
		}
		for _, ie := range decoded(octets, before).InitiatingMessage.Value.DownlinkNASTransport.ProtocolIEs.List {
			if ie.Id.Value == ngapType.ProtocolIEIDNASPDU {
				keys.open(ie.Value.NASPDU.Value)
			}
		}
	}
}
