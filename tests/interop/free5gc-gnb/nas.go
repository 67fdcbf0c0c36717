package main

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/free5gc/nas"
	"github.com/free5gc/nas/nasMessage"
	"github.com/free5gc/nas/nasType"
)

const (
	integrityHeader    = 1
	cipheredHeader     = 2
	newContextCiphered = 4
	sessionIdentity    = 5
	procedureIdentity  = 1
)

// What every plain message begins with.
type header interface {
	SetExtendedProtocolDiscriminator(uint8)
	SetMessageType(uint8)
}

// Encodes a message of mobility management, which has its place among those that there may be.
func mobility(kind uint8, of header, put func(*nas.GmmMessage)) []byte {
	of.SetExtendedProtocolDiscriminator(nasMessage.Epd5GSMobilityManagementMessage)
	of.SetMessageType(kind)
	message := nas.NewMessage()
	message.GmmMessage = nas.NewGmmMessage()
	message.GmmHeader.SetMessageType(kind)
	put(message.GmmMessage)
	octets, err := message.PlainNasEncode()
	must(err)
	return octets
}

// The digits of an IMSI of PLMN 001/01 in TBCD, from the sixth on.
func msin() []byte {
	digits := msinOf()[5:]
	octets := make([]byte, len(digits)/2)
	for i := range octets {
		octets[i] = digits[2*i] - '0' | (digits[2*i+1]-'0')<<4
	}
	return octets
}

// SUCI with the null scheme (TS 24.501, 9.11.3.4).
func suci() nasType.MobileIdentity5GS {
	identity := append([]byte{0x01, 0x00, 0xf1, 0x10, 0xf0, 0xff, 0x00, 0x00}, msin()...)
	return nasType.MobileIdentity5GS{Len: uint16(len(identity)), Buffer: identity}
}

// NEA0 to NEA2, NIA1 and NIA2.
var capability = []byte{0xe0, 0x60}

// The slice of -slice: SST, and SD if it has one.
func requestedSlice() (sst byte, sd []byte, given bool) {
	if *slice == "" {
		return
	}
	first, second, hasSd := strings.Cut(*slice, "-")
	number, err := strconv.ParseUint(first, 10, 8)
	must(err)
	if hasSd {
		sd, err = hex.DecodeString(second)
		must(err)
		if len(sd) != 3 {
			fail("the SD of %s is not six hexadecimal digits", *slice)
		}
	}
	return byte(number), sd, true
}

func requestedNssai() *nasType.RequestedNSSAI {
	sst, sd, given := requestedSlice()
	if !given {
		return nil
	}
	nssai := append([]byte{byte(1 + len(sd)), sst}, sd...)
	return &nasType.RequestedNSSAI{
		Iei:    nasMessage.RegistrationRequestRequestedNSSAIType,
		Len:    uint8(len(nssai)),
		Buffer: nssai,
	}
}

// REGISTRATION REQUEST: the elements in cleartext alone, or the complete message that SECURITY MODE
// COMPLETE has in it (TS 24.501, 4.4.6).
func registrationRequest(isComplete bool) []byte {
	request := nasMessage.NewRegistrationRequest(0)
	request.NgksiAndRegistrationType5GS.SetNasKeySetIdentifiler(7)
	request.NgksiAndRegistrationType5GS.SetFOR(1)
	request.SetRegistrationType5GS(nasMessage.RegistrationType5GSInitialRegistration)
	request.MobileIdentity5GS = suci()
	request.UESecurityCapability = &nasType.UESecurityCapability{
		Iei:    nasMessage.RegistrationRequestUESecurityCapabilityType,
		Len:    uint8(len(capability)),
		Buffer: capability,
	}
	if isComplete {
		// No capability of S1 mode, LPP or others.
		request.Capability5GMM = &nasType.Capability5GMM{
			Iei: nasMessage.RegistrationRequestCapability5GMMType, Len: 1,
		}
		request.RequestedNSSAI = requestedNssai()
	}
	return mobility(nas.MsgTypeRegistrationRequest, request,
		func(m *nas.GmmMessage) {
			m.RegistrationRequest = request
		})
}

func authenticationResponse(resStar []byte) []byte {
	response := nasMessage.NewAuthenticationResponse(0)
	parameter := nasType.NewAuthenticationResponseParameter(
		nasMessage.AuthenticationResponseAuthenticationResponseParameterType)
	parameter.SetLen(16)
	copy(parameter.Octet[:], resStar)
	response.AuthenticationResponseParameter = parameter
	return mobility(nas.MsgTypeAuthenticationResponse, response,
		func(m *nas.GmmMessage) {
			m.AuthenticationResponse = response
		})
}

// The IMEISV of the UE, 0000000000000001 (TS 24.501, 9.11.3.4).
var imeisv = [9]uint8{0x05, 0, 0, 0, 0, 0, 0, 0x10, 0xf0}

func securityModeComplete(registration []byte, withImeisv bool) []byte {
	complete := nasMessage.NewSecurityModeComplete(0)
	if withImeisv {
		complete.IMEISV = &nasType.IMEISV{
			Iei: nasMessage.SecurityModeCompleteIMEISVType, Len: uint16(len(imeisv)), Octet: imeisv,
		}
	}
	complete.NASMessageContainer = &nasType.NASMessageContainer{
		Iei:    nasMessage.SecurityModeCompleteNASMessageContainerType,
		Len:    uint16(len(registration)),
		Buffer: registration,
	}
	return mobility(nas.MsgTypeSecurityModeComplete, complete,
		func(m *nas.GmmMessage) {
			m.SecurityModeComplete = complete
		})
}

func registrationComplete() []byte {
	complete := nasMessage.NewRegistrationComplete(0)
	return mobility(nas.MsgTypeRegistrationComplete, complete,
		func(m *nas.GmmMessage) {
			m.RegistrationComplete = complete
		})
}

// PDU SESSION ESTABLISHMENT REQUEST for IPv4 in UL NAS TRANSPORT.
func sessionRequest(dnn string) []byte {
	inner := nas.NewMessage()
	inner.GsmMessage = nas.NewGsmMessage()
	inner.GsmHeader.SetMessageType(nas.MsgTypePDUSessionEstablishmentRequest)
	request := nasMessage.NewPDUSessionEstablishmentRequest(0)
	request.SetExtendedProtocolDiscriminator(nasMessage.Epd5GSSessionManagementMessage)
	request.SetPDUSessionID(sessionIdentity)
	request.SetPTI(procedureIdentity)
	request.SetMessageType(nas.MsgTypePDUSessionEstablishmentRequest)
	request.SetMaximumDataRatePerUEForUserPlaneIntegrityProtectionForUpLink(0xff)
	request.SetMaximumDataRatePerUEForUserPlaneIntegrityProtectionForDownLink(0xff)
	request.PDUSessionType = nasType.NewPDUSessionType(
		nasMessage.PDUSessionEstablishmentRequestPDUSessionTypeType)
	request.SetPDUSessionTypeValue(nasMessage.PDUSessionTypeIPv4)
	inner.PDUSessionEstablishmentRequest = request
	payload, err := inner.PlainNasEncode()
	must(err)
	transport := nasMessage.NewULNASTransport(0)
	transport.SetPayloadContainerType(nasMessage.PayloadContainerTypeN1SMInfo)
	transport.PayloadContainer = nasType.PayloadContainer{Len: uint16(len(payload)),
		Buffer: payload}
	transport.PduSessionID2Value = nasType.NewPduSessionID2Value(
		nasMessage.ULNASTransportPduSessionID2ValueType)
	transport.SetPduSessionID2Value(sessionIdentity)
	transport.RequestType = nasType.NewRequestType(nasMessage.ULNASTransportRequestTypeType)
	transport.SetRequestTypeValue(nasMessage.ULNASTransportRequestTypeInitialRequest)
	if sst, sd, given := requestedSlice(); given {
		transport.SNSSAI = nasType.NewSNSSAI(nasMessage.ULNASTransportSNSSAIType)
		transport.SNSSAI.SetLen(uint8(1 + len(sd)))
		transport.SNSSAI.SetSST(sst)
		if sd != nil {
			transport.SNSSAI.SetSD([3]uint8(sd))
		}
	}
	transport.DNN = nasType.NewDNN(nasMessage.ULNASTransportDNNType)
	transport.DNN.SetDNN(dnn)
	return mobility(nas.MsgTypeULNASTransport, transport,
		func(m *nas.GmmMessage) {
			m.ULNASTransport = transport
		})
}

func deregistrationRequest(guti nasType.MobileIdentity5GS) []byte {
	request := nasMessage.NewDeregistrationRequestUEOriginatingDeregistration(0)
	request.NgksiAndDeregistrationType.SetAccessType(1)
	request.MobileIdentity5GS = guti
	return mobility(nas.MsgTypeDeregistrationRequestUEOriginatingDeregistration, request,
		func(m *nas.GmmMessage) {
			m.DeregistrationRequestUEOriginatingDeregistration = request
		})
}

// Answers a page: nothing in it has to be ciphered.
func serviceRequest(guti nasType.MobileIdentity5GS) []byte {
	request := nasMessage.NewServiceRequest(0)
	request.SetServiceTypeValue(nasMessage.ServiceTypeMobileTerminatedServices)
	request.TMSI5GS.Len = 7
	request.TMSI5GS.Octet[0] = 0xf4
	copy(request.TMSI5GS.Octet[1:], guti.Buffer[5:])
	return mobility(nas.MsgTypeServiceRequest, request,
		func(m *nas.GmmMessage) {
			m.ServiceRequest = request
		})
}

func configurationUpdateComplete() []byte {
	complete := nasMessage.NewConfigurationUpdateComplete(0)
	return mobility(nas.MsgTypeConfigurationUpdateComplete, complete,
		func(m *nas.GmmMessage) {
			m.ConfigurationUpdateComplete = complete
		})
}

// What a plain message of mobility management is, and that it is one of the kind that is due.
func mobilityMessage(plain []byte, due uint8) *nas.GmmMessage {
	message := new(nas.Message)
	octets := append([]byte{}, plain...)
	if err := message.PlainNasDecode(&octets); err != nil {
		fail("a message of NAS that does not decode: %v: %s", err, hex.EncodeToString(plain))
	}
	if message.GmmMessage == nil || message.GmmHeader.GetMessageType() != due {
		fail("a message of NAS of type %#x is due: %s", due, hex.EncodeToString(plain))
	}
	return message.GmmMessage
}

// The address in PDU SESSION ESTABLISHMENT ACCEPT in DL NAS TRANSPORT.
func acceptedSession(plain []byte) []byte {
	transport := mobilityMessage(plain, nas.MsgTypeDLNASTransport).DLNASTransport
	inner := new(nas.Message)
	octets := append([]byte{}, transport.PayloadContainer.Buffer...)
	must(inner.PlainNasDecode(&octets))
	accept := inner.PDUSessionEstablishmentAccept
	if accept == nil || accept.GetPDUSessionID() != sessionIdentity || accept.PDUAddress == nil {
		fail("no session with an address: %s",
			hex.EncodeToString(transport.PayloadContainer.Buffer))
	}
	address := accept.GetPDUAddressInformation()
	return address[:4]
}

// The assigned 5G-GUTI, as a mobile identity.
func mobileIdentity(guti *nasType.GUTI5G) nasType.MobileIdentity5GS {
	return nasType.MobileIdentity5GS{Len: guti.Len, Buffer: guti.Octet[:guti.Len]}
}
