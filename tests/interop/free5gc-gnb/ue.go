package main

import (
	"bytes"
	"net"
	"time"

	"github.com/free5gc/aper"
	"github.com/free5gc/nas"
	"github.com/free5gc/nas/nasType"
	"github.com/free5gc/ngap/ngapType"
)

// A UE, and what its gNB knows of it.
type ue struct {
	n2      *association
	n3      n3
	card    card
	keys    *context
	amfUe   ngapType.AMFUENGAPID
	guti    nasType.MobileIdentity5GS
	address []byte
}

// Registration with 5G-AKA (TS 23.502, 4.2.2.2).
func (p *ue) register() {
	ranUe++
	cause := ngapType.RRCEstablishmentCausePresentMoSignalling
	p.n2.deliver(initialUeMessage(cause, registrationRequest(false), nil))
	var octets []byte
	p.amfUe, octets = p.n2.downlink()
	challenge := mobilityMessage(octets, nas.MsgTypeAuthenticationRequest).AuthenticationRequest
	autn := challenge.AuthenticationParameterAUTN.Octet
	random := challenge.AuthenticationParameterRAND.Octet
	answer, keys := p.card.answer(random[:], autn[:], challenge.ABBA.Buffer)
	p.keys = keys
	p.n2.deliver(uplinkNas(p.amfUe, authenticationResponse(answer)))

	_, octets = p.n2.downlink()
	command := mobilityMessage(p.keys.open(octets),
		nas.MsgTypeSecurityModeCommand).SecurityModeCommand
	if !bytes.Equal(command.ReplayedUESecurityCapabilities.Buffer[:2], capability) {
		fail("other security capabilities are replayed: %x",
			command.ReplayedUESecurityCapabilities.Buffer)
	}
	kGnb := p.keys.kGnb(p.keys.uplink)
	withImeisv := command.IMEISVRequest != nil && command.IMEISVRequest.GetIMEISVRequestValue() == 1
	complete := securityModeComplete(registrationRequest(true), withImeisv)
	p.n2.deliver(uplinkNas(p.amfUe, p.keys.protect(newContextCiphered, complete)))
	if *rounds == 0 {
		step("NAS security")
	}

	plain, _ := p.contextSetup(kGnb)
	p.n2.clock.end()
	accept := mobilityMessage(plain, nas.MsgTypeRegistrationAccept).RegistrationAccept
	if accept.GUTI5G == nil {
		fail("a registration without a 5G-GUTI")
	}
	p.guti = mobileIdentity(accept.GUTI5G)
	p.n2.deliver(initialContextSetupResponse(p.amfUe, nil))
	p.n2.deliver(uplinkNas(p.amfUe, p.keys.protect(cipheredHeader, registrationComplete())))
}

// The next message of a procedure that is due. Some AMFs send a CONFIGURATION UPDATE COMMAND after
// a registration (TS 24.501, 5.4.4), which may come before it.
func (p *ue) next(procedure int64, isDue func(plain []byte) bool) (*ngapType.NGAPPDU, []byte) {
	for {
		octets := p.n2.receive(procedure)
		const transport = ngapType.ProcedureCodeDownlinkNASTransport
		if procedureOf(octets) != transport {
			return decoded(octets, procedure), nil
		}
		pdu := decoded(octets, transport)
		_, protected := nasOf(pdu)
		plain := p.keys.open(protected)
		if procedure == transport && isDue(plain) {
			return pdu, plain
		}
		update := mobilityMessage(plain, nas.MsgTypeConfigurationUpdateCommand)
		if update.ConfigurationUpdateIndication != nil &&
			update.ConfigurationUpdateIndication.GetACK() == 1 {
			complete := configurationUpdateComplete()
			p.n2.deliver(uplinkNas(p.amfUe, p.keys.protect(cipheredHeader, complete)))
		}
	}
}

// Receives INITIAL CONTEXT SETUP REQUEST with the expected K_gNB. Returns its NAS message and the
// transfer of the session.
func (p *ue) contextSetup(kGnb []byte) (plain []byte, transfer aper.OctetString) {
	pdu, _ := p.next(ngapType.ProcedureCodeInitialContextSetup, nil)
	setup := pdu.InitiatingMessage.Value.InitialContextSetupRequest
	for _, ie := range setup.ProtocolIEs.List {
		switch ie.Id.Value {
		case ngapType.ProtocolIEIDAMFUENGAPID:
			p.amfUe = *ie.Value.AMFUENGAPID
		case ngapType.ProtocolIEIDNASPDU:
			plain = p.keys.open(ie.Value.NASPDU.Value)
		case ngapType.ProtocolIEIDPDUSessionResourceSetupListCxtReq:
			session := ie.Value.PDUSessionResourceSetupListCxtReq.List[0]
			transfer = session.PDUSessionResourceSetupRequestTransfer
		case ngapType.ProtocolIEIDSecurityKey:
			if !bytes.Equal(ie.Value.SecurityKey.Value.Bytes, kGnb) {
				fail("K_gNB differs from that of the UE")
			}
		}
	}
	return
}

// A PDU session (TS 23.502, 4.3.2.2).
func (p *ue) establish() {
	p.n2.deliver(uplinkNas(p.amfUe, p.keys.protect(cipheredHeader, sessionRequest(*dnn))))
	pdu, _ := p.next(ngapType.ProcedureCodePDUSessionResourceSetup, nil)
	p.n2.clock.end()
	request := pdu.InitiatingMessage.Value.PDUSessionResourceSetupRequest
	for _, ie := range request.ProtocolIEs.List {
		if ie.Id.Value == ngapType.ProtocolIEIDPDUSessionResourceSetupListSUReq {
			item := ie.Value.PDUSessionResourceSetupListSUReq.List[0]
			p.address = acceptedSession(p.keys.open(item.PDUSessionNASPDU.Value))
			p.n3.there, p.n3.flow = askedFor(item.PDUSessionResourceSetupRequestTransfer)
		}
	}
	p.n2.deliver(sessionSetupResponse(p.amfUe, setUp(p.n3.here, p.n3.flow)))
}

func (p *ue) ping() {
	// The tunnel downlink is there when the SMF has told the UPF of it.
	time.Sleep(200 * time.Millisecond)
	const count = 5
	p.n3.ping(p.address, net.ParseIP(*host).To4(), count)
	step("%d packets there and back", count)
}

// The gNB gives the connection up (TS 23.502, 4.2.6).
func (p *ue) rest() {
	p.n2.deliver(contextReleaseRequest(p.amfUe))
	p.n2.next(ngapType.ProcedureCodeUEContextRelease)
	p.n2.deliver(contextReleaseComplete(p.amfUe))
	step("idle")
}

// Downlink data page the UE; it sends a service request and receives the buffered packet (TS
// 23.502, 4.2.3.3).
func (p *ue) wake() {
	paging := p.n2.next(ngapType.ProcedureCodePaging).InitiatingMessage.Value.Paging
	for _, ie := range paging.ProtocolIEs.List {
		if ie.Id.Value == ngapType.ProtocolIEIDUEPagingIdentity {
			got := ie.Value.UEPagingIdentity.FiveGSTMSI.FiveGTMSI.Value
			if !bytes.Equal(got, p.guti.Buffer[7:11]) {
				fail("another UE is paged: %x", got)
			}
		}
	}
	kGnb := p.keys.kGnb(p.keys.uplink)
	request := p.keys.protect(integrityHeader, serviceRequest(p.guti))
	cause := ngapType.RRCEstablishmentCausePresentMtAccess
	p.n2.deliver(initialUeMessage(cause, request, p.guti.Buffer))
	plain, transfer := p.contextSetup(kGnb)
	mobilityMessage(plain, nas.MsgTypeServiceAccept)
	p.n3.there, p.n3.flow = askedFor(transfer)
	p.n2.deliver(initialContextSetupResponse(p.amfUe, setUp(p.n3.here, p.n3.flow)))
	p.n3.pong(p.address)
	step("awake")
	// Who was paged gets another 5G-GUTI (TS 33.501, 6.12.3).
	_, octets := p.n2.downlink()
	message := mobilityMessage(p.keys.open(octets), nas.MsgTypeConfigurationUpdateCommand)
	update := message.ConfigurationUpdateCommand
	if update.GUTI5G == nil {
		fail("no new 5G-GUTI after a page")
	}
	p.guti = mobileIdentity(update.GUTI5G)
	p.n2.deliver(uplinkNas(p.amfUe, p.keys.protect(cipheredHeader, configurationUpdateComplete())))
}

// Deregistration by the UE (TS 23.502, 4.2.2.3.2).
func (p *ue) deregister() {
	p.n2.deliver(uplinkNas(p.amfUe, p.keys.protect(cipheredHeader, deregistrationRequest(p.guti))))
	const accept = nas.MsgTypeDeregistrationAcceptUEOriginatingDeregistration
	isAccept := func(plain []byte) bool { return plain[2] == accept }
	p.next(ngapType.ProcedureCodeDownlinkNASTransport, isAccept)
	p.n2.next(ngapType.ProcedureCodeUEContextRelease)
	p.n2.deliver(contextReleaseComplete(p.amfUe))
}
