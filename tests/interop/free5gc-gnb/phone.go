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

// A phone, and what its gNB knows of it.
type phone struct {
	n2      *association
	n3      n3
	keys    *context
	amfUe   ngapType.AMFUENGAPID
	guti    nasType.MobileIdentity5GS
	address []byte
}

// Registration with 5G-AKA (TS 23.502, 4.2.2.2).
func (p *phone) register(card card) {
	registration := registrationRequest()
	p.n2.tell(initialUeMessage(ngapType.RRCEstablishmentCausePresentMoSignalling, registration, nil))
	var octets []byte
	p.amfUe, octets = p.n2.downlink()
	challenge := mobilityMessage(octets, nas.MsgTypeAuthenticationRequest).AuthenticationRequest
	autn, random := challenge.AuthenticationParameterAUTN.Octet, challenge.AuthenticationParameterRAND.Octet
	answer, keys := card.answer(random[:], autn[:], challenge.ABBA.Buffer)
	p.keys = keys
	p.n2.tell(uplinkNas(p.amfUe, authenticationResponse(answer)))

	_, octets = p.n2.downlink()
	command := mobilityMessage(p.keys.open(octets), nas.MsgTypeSecurityModeCommand).SecurityModeCommand
	if !bytes.Equal(command.ReplayedUESecurityCapabilities.Buffer[:2], capability) {
		fail("other security capabilities are replayed: %x", command.ReplayedUESecurityCapabilities.Buffer)
	}
	kGnb := p.keys.kGnb(p.keys.uplink)
	p.n2.tell(uplinkNas(p.amfUe, p.keys.protect(newContextCiphered, securityModeComplete(registration))))
	step("NAS security")

	plain, _ := p.contextSetup(kGnb)
	accept := mobilityMessage(plain, nas.MsgTypeRegistrationAccept).RegistrationAccept
	if accept.GUTI5G == nil {
		fail("a registration without a 5G-GUTI")
	}
	p.guti = mobileIdentity(accept.GUTI5G)
	p.n2.tell(initialContextSetupResponse(p.amfUe, nil))
	p.n2.tell(uplinkNas(p.amfUe, p.keys.protect(cipheredHeader, registrationComplete())))
	step("registered")
}

// INITIAL CONTEXT SETUP REQUEST with the key that the phone has: its NAS message, and what it asks for of the session.
func (p *phone) contextSetup(kGnb []byte) (plain []byte, transfer aper.OctetString) {
	setup := p.n2.next(ngapType.ProcedureCodeInitialContextSetup).InitiatingMessage.Value.InitialContextSetupRequest
	for _, ie := range setup.ProtocolIEs.List {
		switch ie.Id.Value {
		case ngapType.ProtocolIEIDAMFUENGAPID:
			p.amfUe = *ie.Value.AMFUENGAPID
		case ngapType.ProtocolIEIDNASPDU:
			plain = p.keys.open(ie.Value.NASPDU.Value)
		case ngapType.ProtocolIEIDPDUSessionResourceSetupListCxtReq:
			transfer = ie.Value.PDUSessionResourceSetupListCxtReq.List[0].PDUSessionResourceSetupRequestTransfer
		case ngapType.ProtocolIEIDSecurityKey:
			if !bytes.Equal(ie.Value.SecurityKey.Value.Bytes, kGnb) {
				fail("another key for the gNB than the phone has")
			}
		}
	}
	return
}

// A PDU session (TS 23.502, 4.3.2.2).
func (p *phone) establish() {
	p.n2.tell(uplinkNas(p.amfUe, p.keys.protect(cipheredHeader, sessionRequest(*dnn))))
	request := p.n2.next(ngapType.ProcedureCodePDUSessionResourceSetup).InitiatingMessage.Value.PDUSessionResourceSetupRequest
	for _, ie := range request.ProtocolIEs.List {
		if ie.Id.Value == ngapType.ProtocolIEIDPDUSessionResourceSetupListSUReq {
			item := ie.Value.PDUSessionResourceSetupListSUReq.List[0]
			p.address = acceptedSession(p.keys.open(item.PDUSessionNASPDU.Value))
			p.n3.there, p.n3.flow = askedFor(item.PDUSessionResourceSetupRequestTransfer)
		}
	}
	p.n2.tell(sessionSetupResponse(p.amfUe, setUp(p.n3.here, p.n3.flow)))
	step("session %s", net.IP(p.address))
}

func (p *phone) ping() {
	// The tunnel downlink is there when the SMF has told the UPF of it.
	time.Sleep(200 * time.Millisecond)
	const count = 5
	p.n3.ping(p.address, net.ParseIP(*host).To4(), count)
	step("%d packets there and back", count)
}

// The gNB gives the connection up (TS 23.502, 4.2.6).
func (p *phone) rest() {
	p.n2.tell(contextReleaseRequest(p.amfUe))
	p.n2.next(ngapType.ProcedureCodeUEContextRelease)
	p.n2.tell(contextReleaseComplete(p.amfUe))
	step("idle")
}

// Downlink data has the phone paged; it comes back, and the packet that waited is the first (TS 23.502, 4.2.3.3).
func (p *phone) wake() {
	paging := p.n2.next(ngapType.ProcedureCodePaging).InitiatingMessage.Value.Paging
	for _, ie := range paging.ProtocolIEs.List {
		if ie.Id.Value == ngapType.ProtocolIEIDUEPagingIdentity {
			if got := ie.Value.UEPagingIdentity.FiveGSTMSI.FiveGTMSI.Value; !bytes.Equal(got, p.guti.Buffer[7:11]) {
				fail("somebody else is paged: %x", got)
			}
		}
	}
	kGnb := p.keys.kGnb(p.keys.uplink)
	request := p.keys.protect(integrityHeader, serviceRequest(p.guti))
	p.n2.tell(initialUeMessage(ngapType.RRCEstablishmentCausePresentMtAccess, request, p.guti.Buffer))
	plain, transfer := p.contextSetup(kGnb)
	mobilityMessage(plain, nas.MsgTypeServiceAccept)
	p.n3.there, p.n3.flow = askedFor(transfer)
	p.n2.tell(initialContextSetupResponse(p.amfUe, setUp(p.n3.here, p.n3.flow)))
	p.n3.pong(p.address)
	step("awake")
	// Who was paged gets another 5G-GUTI (TS 33.501, 6.12.3).
	_, octets := p.n2.downlink()
	update := mobilityMessage(p.keys.open(octets), nas.MsgTypeConfigurationUpdateCommand).ConfigurationUpdateCommand
	if update.GUTI5G == nil {
		fail("no new 5G-GUTI after a page")
	}
	p.guti = mobileIdentity(update.GUTI5G)
	p.n2.tell(uplinkNas(p.amfUe, p.keys.protect(cipheredHeader, configurationUpdateComplete())))
}

// Deregistration by the phone (TS 23.502, 4.2.2.3.2).
func (p *phone) deregister() {
	p.n2.tell(uplinkNas(p.amfUe, p.keys.protect(cipheredHeader, deregistrationRequest(p.guti))))
	_, octets := p.n2.downlink()
	mobilityMessage(p.keys.open(octets), nas.MsgTypeDeregistrationAcceptUEOriginatingDeregistration)
	p.n2.next(ngapType.ProcedureCodeUEContextRelease)
	p.n2.tell(contextReleaseComplete(p.amfUe))
	step("deregistered")
}
