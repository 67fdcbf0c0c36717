package main

import (
	"encoding/hex"
	"reflect"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap"
	"github.com/free5gc/ngap/ngapType"
)

// PLMN 001/01, its tracking area 1, and cell 1 of gNB 9.
var (
	plmn = ngapType.PLMNIdentity{Value: aper.OctetString{0x00, 0xf1, 0x10}}
	tac  = ngapType.TAC{Value: aper.OctetString{0, 0, 1}}
)

// RAN UE NGAP ID of the UE. Each registration has another one: an AMF may handle the release of the
// former connection later than the new one.
var ranUe int64 = 76

var (
	reject = ngapType.Criticality{Value: ngapType.CriticalityPresentReject}
	ignore = ngapType.Criticality{Value: ngapType.CriticalityPresentIgnore}
)

// An information element of a message: its identifier, its criticality, and its value.
type element struct {
	id          int64
	criticality ngapType.Criticality
	value       any
}

// Appends elements to a message. Each message has its own list type; the position of the value type
// among the alternatives of the list is also its discriminator.
func with[M any](message *M, elements ...element) *M {
	list := reflect.ValueOf(message).Elem().FieldByName("ProtocolIEs").FieldByName("List")
	for _, element := range elements {
		ie := reflect.New(list.Type().Elem()).Elem()
		ie.FieldByName("Id").Set(reflect.ValueOf(ngapType.ProtocolIEID{Value: element.id}))
		ie.FieldByName("Criticality").Set(reflect.ValueOf(element.criticality))
		choice, value := ie.FieldByName("Value"), reflect.ValueOf(element.value)
		for at := range choice.NumField() {
			if choice.Field(at).Type() == value.Type() {
				choice.Field(at).Set(value)
				choice.FieldByName("Present").SetInt(int64(at))
			}
		}
		if choice.FieldByName("Present").Int() == 0 {
			fail("%T has no %T", message, element.value)
		}
		list.Set(reflect.Append(list, ie))
	}
	return message
}

// Who a message is about.
func about(amfUe ngapType.AMFUENGAPID, criticality ngapType.Criticality) []element {
	return []element{
		{ngapType.ProtocolIEIDAMFUENGAPID, criticality, &amfUe},
		{ngapType.ProtocolIEIDRANUENGAPID, criticality, &ngapType.RANUENGAPID{Value: ranUe}},
	}
}

func encoded(pdu ngapType.NGAPPDU) []byte {
	octets, err := ngap.Encoder(pdu)
	must(err)
	return octets
}

func initiating(procedure int64, value ngapType.InitiatingMessageValue) []byte {
	return encoded(ngapType.NGAPPDU{
		Present: ngapType.NGAPPDUPresentInitiatingMessage,
		InitiatingMessage: &ngapType.InitiatingMessage{
			ProcedureCode: ngapType.ProcedureCode{Value: procedure}, Criticality: reject,
			Value: value,
		},
	})
}

func successful(procedure int64, value ngapType.SuccessfulOutcomeValue) []byte {
	return encoded(ngapType.NGAPPDU{
		Present: ngapType.NGAPPDUPresentSuccessfulOutcome,
		SuccessfulOutcome: &ngapType.SuccessfulOutcome{
			ProcedureCode: ngapType.ProcedureCode{Value: procedure}, Criticality: reject,
			Value: value,
		},
	})
}

func setupRequest() []byte {
	number := ngapType.GlobalRANNodeID{
		Present: ngapType.GlobalRANNodeIDPresentGlobalGNBID,
		GlobalGNBID: &ngapType.GlobalGNBID{
			PLMNIdentity: plmn,
			GNBID: ngapType.GNBID{
				Present: ngapType.GNBIDPresentGNBID,
				GNBID:   &aper.BitString{Bytes: []byte{0, 0, 9}, BitLength: 24},
			},
		},
	}
	served := ngapType.SNSSAI{SST: ngapType.SST{Value: aper.OctetString{1}}}
	if sst, sd, given := requestedSlice(); given {
		served.SST.Value = aper.OctetString{sst}
		if sd != nil {
			served.SD = &ngapType.SD{Value: sd}
		}
	}
	slice := ngapType.SliceSupportItem{SNSSAI: served}
	areas := ngapType.SupportedTAList{List: []ngapType.SupportedTAItem{{
		TAC: tac,
		BroadcastPLMNList: ngapType.BroadcastPLMNList{List: []ngapType.BroadcastPLMNItem{{
			PLMNIdentity: plmn,
			TAISliceSupportList: ngapType.SliceSupportList{
				List: []ngapType.SliceSupportItem{slice},
			},
		}}},
	}}}
	request := with(new(ngapType.NGSetupRequest),
		element{ngapType.ProtocolIEIDGlobalRANNodeID, reject, &number},
		element{ngapType.ProtocolIEIDRANNodeName, ignore,
			&ngapType.RANNodeName{Value: "of-others"}},
		element{ngapType.ProtocolIEIDSupportedTAList, reject, &areas},
		element{ngapType.ProtocolIEIDDefaultPagingDRX, ignore,
			&ngapType.PagingDRX{Value: ngapType.PagingDRXPresentV128}},
	)
	return initiating(ngapType.ProcedureCodeNGSetup, ngapType.InitiatingMessageValue{
		Present: ngapType.InitiatingMessagePresentNGSetupRequest, NGSetupRequest: request,
	})
}

func location() *ngapType.UserLocationInformation {
	return &ngapType.UserLocationInformation{
		Present: ngapType.UserLocationInformationPresentUserLocationInformationNR,
		UserLocationInformationNR: &ngapType.UserLocationInformationNR{
			NRCGI: ngapType.NRCGI{
				PLMNIdentity: plmn,
				NRCellIdentity: ngapType.NRCellIdentity{
					Value: aper.BitString{Bytes: []byte{0, 0, 9, 0, 0x10}, BitLength: 36},
				},
			},
			TAI: ngapType.TAI{PLMNIdentity: plmn, TAC: tac},
		},
	}
}

// The 5G-S-TMSI of a UE with a 5G-GUTI is an element of its own, in the order of the specification
// (TS 38.413, 9.2.5.1 and 10.3.6).
func initialUeMessage(cause aper.Enumerated, nasPdu []byte, guti []byte) []byte {
	message := with(new(ngapType.InitialUEMessage),
		element{ngapType.ProtocolIEIDRANUENGAPID, reject, &ngapType.RANUENGAPID{Value: ranUe}},
		element{ngapType.ProtocolIEIDNASPDU, reject, &ngapType.NASPDU{Value: nasPdu}},
		element{ngapType.ProtocolIEIDUserLocationInformation, reject, location()},
		element{ngapType.ProtocolIEIDRRCEstablishmentCause, ignore,
			&ngapType.RRCEstablishmentCause{Value: cause}},
	)
	if guti != nil {
		with(message, element{ngapType.ProtocolIEIDFiveGSTMSI, reject, temporary(guti)})
	}
	requested := ngapType.UEContextRequest{Value: ngapType.UEContextRequestPresentRequested}
	with(message, element{ngapType.ProtocolIEIDUEContextRequest, ignore, &requested})
	return initiating(ngapType.ProcedureCodeInitialUEMessage, ngapType.InitiatingMessageValue{
		Present: ngapType.InitiatingMessagePresentInitialUEMessage, InitialUEMessage: message,
	})
}

// The 5G-S-TMSI of a 5G-GUTI (TS 23.003, 2.11): AMF set, pointer, and 5G-TMSI.
func temporary(guti []byte) *ngapType.FiveGSTMSI {
	set := []byte{guti[5], guti[6] & 0xc0}
	return &ngapType.FiveGSTMSI{
		AMFSetID: ngapType.AMFSetID{Value: aper.BitString{Bytes: set, BitLength: 10}},
		AMFPointer: ngapType.AMFPointer{Value: aper.BitString{Bytes: []byte{guti[6] << 2},
			BitLength: 6}},
		FiveGTMSI: ngapType.FiveGTMSI{Value: guti[7:11]},
	}
}

func contextReleaseRequest(amfUe ngapType.AMFUENGAPID) []byte {
	inactive := ngapType.CauseRadioNetwork{Value: ngapType.CauseRadioNetworkPresentUserInactivity}
	items := []ngapType.PDUSessionResourceItemCxtRelReq{{
		PDUSessionID: ngapType.PDUSessionID{Value: sessionIdentity},
	}}
	sessions := ngapType.PDUSessionResourceListCxtRelReq{List: items}
	cause := ngapType.Cause{Present: ngapType.CausePresentRadioNetwork, RadioNetwork: &inactive}
	request := with(new(ngapType.UEContextReleaseRequest), about(amfUe, reject)...)
	with(request,
		element{ngapType.ProtocolIEIDPDUSessionResourceListCxtRelReq, reject, &sessions},
		element{ngapType.ProtocolIEIDCause, ignore, &cause},
	)
	return initiating(ngapType.ProcedureCodeUEContextReleaseRequest,
		ngapType.InitiatingMessageValue{
			Present:                 ngapType.InitiatingMessagePresentUEContextReleaseRequest,
			UEContextReleaseRequest: request,
		})
}

func uplinkNas(amfUe ngapType.AMFUENGAPID, nasPdu []byte) []byte {
	message := with(new(ngapType.UplinkNASTransport), about(amfUe, reject)...)
	with(message,
		element{ngapType.ProtocolIEIDNASPDU, reject, &ngapType.NASPDU{Value: nasPdu}},
		element{ngapType.ProtocolIEIDUserLocationInformation, ignore, location()},
	)
	return initiating(ngapType.ProcedureCodeUplinkNASTransport, ngapType.InitiatingMessageValue{
		Present: ngapType.InitiatingMessagePresentUplinkNASTransport, UplinkNASTransport: message,
	})
}

// With the gNB's end of the session, if there is one.
func initialContextSetupResponse(amfUe ngapType.AMFUENGAPID, transfer aper.OctetString) []byte {
	response := with(new(ngapType.InitialContextSetupResponse), about(amfUe, ignore)...)
	if transfer != nil {
		items := []ngapType.PDUSessionResourceSetupItemCxtRes{{
			PDUSessionID:                            ngapType.PDUSessionID{Value: sessionIdentity},
			PDUSessionResourceSetupResponseTransfer: transfer,
		}}
		list := ngapType.PDUSessionResourceSetupListCxtRes{List: items}
		with(response, element{ngapType.ProtocolIEIDPDUSessionResourceSetupListCxtRes, ignore,
			&list})
	}
	return successful(ngapType.ProcedureCodeInitialContextSetup, ngapType.SuccessfulOutcomeValue{
		Present:                     ngapType.SuccessfulOutcomePresentInitialContextSetupResponse,
		InitialContextSetupResponse: response,
	})
}

// PDU Session Resource Setup Response Transfer: the gNB's end, and the one flow.
func setUp(here tunnel, flow byte) aper.OctetString {
	transfer := ngapType.PDUSessionResourceSetupResponseTransfer{
		DLQosFlowPerTNLInformation: ngapType.QosFlowPerTNLInformation{
			UPTransportLayerInformation: ngapType.UPTransportLayerInformation{
				Present: ngapType.UPTransportLayerInformationPresentGTPTunnel,
				GTPTunnel: &ngapType.GTPTunnel{
					TransportLayerAddress: ngapType.TransportLayerAddress{
						Value: aper.BitString{Bytes: here.address, BitLength: 32},
					},
					GTPTEID: ngapType.GTPTEID{Value: here.teid},
				},
			},
			AssociatedQosFlowList: ngapType.AssociatedQosFlowList{
				List: []ngapType.AssociatedQosFlowItem{{
					QosFlowIdentifier: ngapType.QosFlowIdentifier{Value: int64(flow)},
				}},
			},
		},
	}
	octets, err := aper.MarshalWithParams(transfer, "valueExt")
	must(err)
	return octets
}

// The UPF's tunnel endpoint and the first flow in a PDU Session Resource Setup Request Transfer.
func askedFor(octets aper.OctetString) (there tunnel, flow byte) {
	var transfer ngapType.PDUSessionResourceSetupRequestTransfer
	must(aper.UnmarshalWithParams(octets, &transfer, "valueExt"))
	for _, ie := range transfer.ProtocolIEs.List {
		switch ie.Id.Value {
		case ngapType.ProtocolIEIDULNGUUPTNLInformation:
			end := ie.Value.ULNGUUPTNLInformation.GTPTunnel
			there = tunnel{end.TransportLayerAddress.Value.Bytes, end.GTPTEID.Value}
		case ngapType.ProtocolIEIDQosFlowSetupRequestList:
			flow = byte(ie.Value.QosFlowSetupRequestList.List[0].QosFlowIdentifier.Value)
		}
	}
	return
}

func sessionSetupResponse(amfUe ngapType.AMFUENGAPID, transfer aper.OctetString) []byte {
	items := []ngapType.PDUSessionResourceSetupItemSURes{{
		PDUSessionID:                            ngapType.PDUSessionID{Value: sessionIdentity},
		PDUSessionResourceSetupResponseTransfer: transfer,
	}}
	list := ngapType.PDUSessionResourceSetupListSURes{List: items}
	response := with(new(ngapType.PDUSessionResourceSetupResponse), about(amfUe, ignore)...)
	with(response, element{ngapType.ProtocolIEIDPDUSessionResourceSetupListSURes, ignore, &list})
	present := ngapType.SuccessfulOutcomePresentPDUSessionResourceSetupResponse
	return successful(ngapType.ProcedureCodePDUSessionResourceSetup,
		ngapType.SuccessfulOutcomeValue{
			Present:                         present,
			PDUSessionResourceSetupResponse: response,
		})
}

func contextReleaseComplete(amfUe ngapType.AMFUENGAPID) []byte {
	complete := with(new(ngapType.UEContextReleaseComplete), about(amfUe, ignore)...)
	return successful(ngapType.ProcedureCodeUEContextRelease, ngapType.SuccessfulOutcomeValue{
		Present:                  ngapType.SuccessfulOutcomePresentUEContextReleaseComplete,
		UEContextReleaseComplete: complete,
	})
}

// The procedure code of a message, which is its second byte (TS 38.413, 9.4.3, in aligned PER).
func procedureOf(octets []byte) int64 {
	if len(octets) < 2 {
		fail("a message of NGAP of %d bytes", len(octets))
	}
	return int64(octets[1])
}

// A message, which must belong to the given procedure.
func decoded(octets []byte, procedure int64) *ngapType.NGAPPDU {
	pdu, err := ngap.Decoder(octets)
	if err != nil {
		fail("a message of NGAP that does not decode: %v: %s", err, hex.EncodeToString(octets))
	}
	got := procedureOf(octets)
	if got != procedure {
		fail("procedure %d is due, and %d came: %s", procedure, got, hex.EncodeToString(octets))
	}
	return pdu
}
