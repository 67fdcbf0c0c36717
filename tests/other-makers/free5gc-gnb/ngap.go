package main

import (
	"encoding/hex"

	"github.com/free5gc/aper"
	"github.com/free5gc/ngap"
	"github.com/free5gc/ngap/ngapType"
)

// PLMN 001/01, its tracking area 1, and cell 1 of gNB 9.
var (
	plmn = ngapType.PLMNIdentity{Value: aper.OctetString{0x00, 0xf1, 0x10}}
	tac  = ngapType.TAC{Value: aper.OctetString{0, 0, 1}}
)

const ranUe = 77

var (
	reject = ngapType.Criticality{Value: ngapType.CriticalityPresentReject}
	ignore = ngapType.Criticality{Value: ngapType.CriticalityPresentIgnore}
)

func id(value int64) ngapType.ProtocolIEID { return ngapType.ProtocolIEID{Value: value} }

func encoded(pdu ngapType.NGAPPDU) []byte {
	octets, err := ngap.Encoder(pdu)
	must(err)
	return octets
}

func initiating(procedure int64, value ngapType.InitiatingMessageValue) []byte {
	return encoded(ngapType.NGAPPDU{
		Present: ngapType.NGAPPDUPresentInitiatingMessage,
		InitiatingMessage: &ngapType.InitiatingMessage{
			ProcedureCode: ngapType.ProcedureCode{Value: procedure}, Criticality: reject, Value: value,
		},
	})
}

func successful(procedure int64, value ngapType.SuccessfulOutcomeValue) []byte {
	return encoded(ngapType.NGAPPDU{
		Present: ngapType.NGAPPDUPresentSuccessfulOutcome,
		SuccessfulOutcome: &ngapType.SuccessfulOutcome{
			ProcedureCode: ngapType.ProcedureCode{Value: procedure}, Criticality: reject, Value: value,
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
	slice := ngapType.SliceSupportItem{SNSSAI: ngapType.SNSSAI{SST: ngapType.SST{Value: aper.OctetString{1}}}}
	areas := ngapType.SupportedTAList{List: []ngapType.SupportedTAItem{{
		TAC: tac,
		BroadcastPLMNList: ngapType.BroadcastPLMNList{List: []ngapType.BroadcastPLMNItem{{
			PLMNIdentity:        plmn,
			TAISliceSupportList: ngapType.SliceSupportList{List: []ngapType.SliceSupportItem{slice}},
		}}},
	}}}
	request := new(ngapType.NGSetupRequest)
	request.ProtocolIEs.List = []ngapType.NGSetupRequestIEs{{
		Id: id(ngapType.ProtocolIEIDGlobalRANNodeID), Criticality: reject,
		Value: ngapType.NGSetupRequestIEsValue{
			Present: ngapType.NGSetupRequestIEsPresentGlobalRANNodeID, GlobalRANNodeID: &number,
		},
	}, {
		Id: id(ngapType.ProtocolIEIDRANNodeName), Criticality: ignore,
		Value: ngapType.NGSetupRequestIEsValue{
			Present: ngapType.NGSetupRequestIEsPresentRANNodeName, RANNodeName: &ngapType.RANNodeName{Value: "of-others"},
		},
	}, {
		Id: id(ngapType.ProtocolIEIDSupportedTAList), Criticality: reject,
		Value: ngapType.NGSetupRequestIEsValue{
			Present: ngapType.NGSetupRequestIEsPresentSupportedTAList, SupportedTAList: &areas,
		},
	}, {
		Id: id(ngapType.ProtocolIEIDDefaultPagingDRX), Criticality: ignore,
		Value: ngapType.NGSetupRequestIEsValue{
			Present:          ngapType.NGSetupRequestIEsPresentDefaultPagingDRX,
			DefaultPagingDRX: &ngapType.PagingDRX{Value: ngapType.PagingDRXPresentV128},
		},
	}}
	return initiating(ngapType.ProcedureCodeNGSetup, ngapType.InitiatingMessageValue{
		Present: ngapType.InitiatingMessagePresentNGSetupRequest, NGSetupRequest: request,
	})
}

func location() *ngapType.UserLocationInformation {
	return &ngapType.UserLocationInformation{
		Present: ngapType.UserLocationInformationPresentUserLocationInformationNR,
		UserLocationInformationNR: &ngapType.UserLocationInformationNR{
			NRCGI: ngapType.NRCGI{
				PLMNIdentity:   plmn,
				NRCellIdentity: ngapType.NRCellIdentity{Value: aper.BitString{Bytes: []byte{0, 0, 9, 0, 0x10}, BitLength: 36}},
			},
			TAI: ngapType.TAI{PLMNIdentity: plmn, TAC: tac},
		},
	}
}

// A phone that has a 5G-GUTI is told of by its 5G-S-TMSI, which has its place in the message (TS 38.413, 9.2.5.1 and 10.3.6).
func initialUeMessage(cause aper.Enumerated, nasPdu []byte, guti []byte) []byte {
	message := new(ngapType.InitialUEMessage)
	message.ProtocolIEs.List = []ngapType.InitialUEMessageIEs{{
		Id: id(ngapType.ProtocolIEIDRANUENGAPID), Criticality: reject,
		Value: ngapType.InitialUEMessageIEsValue{
			Present: ngapType.InitialUEMessageIEsPresentRANUENGAPID, RANUENGAPID: &ngapType.RANUENGAPID{Value: ranUe},
		},
	}, {
		Id: id(ngapType.ProtocolIEIDNASPDU), Criticality: reject,
		Value: ngapType.InitialUEMessageIEsValue{
			Present: ngapType.InitialUEMessageIEsPresentNASPDU, NASPDU: &ngapType.NASPDU{Value: nasPdu},
		},
	}, {
		Id: id(ngapType.ProtocolIEIDUserLocationInformation), Criticality: reject,
		Value: ngapType.InitialUEMessageIEsValue{
			Present: ngapType.InitialUEMessageIEsPresentUserLocationInformation, UserLocationInformation: location(),
		},
	}, {
		Id: id(ngapType.ProtocolIEIDRRCEstablishmentCause), Criticality: ignore,
		Value: ngapType.InitialUEMessageIEsValue{
			Present:               ngapType.InitialUEMessageIEsPresentRRCEstablishmentCause,
			RRCEstablishmentCause: &ngapType.RRCEstablishmentCause{Value: cause},
		},
	}}
	if guti != nil {
		message.ProtocolIEs.List = append(message.ProtocolIEs.List, ngapType.InitialUEMessageIEs{
			Id: id(ngapType.ProtocolIEIDFiveGSTMSI), Criticality: reject,
			Value: ngapType.InitialUEMessageIEsValue{
				Present: ngapType.InitialUEMessageIEsPresentFiveGSTMSI, FiveGSTMSI: temporary(guti),
			},
		})
	}
	message.ProtocolIEs.List = append(message.ProtocolIEs.List, ngapType.InitialUEMessageIEs{
		Id: id(ngapType.ProtocolIEIDUEContextRequest), Criticality: ignore,
		Value: ngapType.InitialUEMessageIEsValue{
			Present:          ngapType.InitialUEMessageIEsPresentUEContextRequest,
			UEContextRequest: &ngapType.UEContextRequest{Value: ngapType.UEContextRequestPresentRequested},
		},
	})
	return initiating(ngapType.ProcedureCodeInitialUEMessage, ngapType.InitiatingMessageValue{
		Present: ngapType.InitiatingMessagePresentInitialUEMessage, InitialUEMessage: message,
	})
}

// The 5G-S-TMSI of a 5G-GUTI (TS 23.003, 2.11): AMF set, pointer, and 5G-TMSI.
func temporary(guti []byte) *ngapType.FiveGSTMSI {
	set := []byte{guti[5], guti[6] & 0xc0}
	return &ngapType.FiveGSTMSI{
		AMFSetID:   ngapType.AMFSetID{Value: aper.BitString{Bytes: set, BitLength: 10}},
		AMFPointer: ngapType.AMFPointer{Value: aper.BitString{Bytes: []byte{guti[6] << 2}, BitLength: 6}},
		FiveGTMSI:  ngapType.FiveGTMSI{Value: guti[7:11]},
	}
}

func contextReleaseRequest(amfUe ngapType.AMFUENGAPID) []byte {
	inactive := ngapType.CauseRadioNetwork{Value: ngapType.CauseRadioNetworkPresentUserInactivity}
	sessions := ngapType.PDUSessionResourceListCxtRelReq{List: []ngapType.PDUSessionResourceItemCxtRelReq{{
		PDUSessionID: ngapType.PDUSessionID{Value: sessionIdentity},
	}}}
	request := new(ngapType.UEContextReleaseRequest)
	request.ProtocolIEs.List = []ngapType.UEContextReleaseRequestIEs{{
		Id: id(ngapType.ProtocolIEIDAMFUENGAPID), Criticality: reject,
		Value: ngapType.UEContextReleaseRequestIEsValue{
			Present: ngapType.UEContextReleaseRequestIEsPresentAMFUENGAPID, AMFUENGAPID: &amfUe,
		},
	}, {
		Id: id(ngapType.ProtocolIEIDRANUENGAPID), Criticality: reject,
		Value: ngapType.UEContextReleaseRequestIEsValue{
			Present: ngapType.UEContextReleaseRequestIEsPresentRANUENGAPID, RANUENGAPID: &ngapType.RANUENGAPID{Value: ranUe},
		},
	}, {
		Id: id(ngapType.ProtocolIEIDPDUSessionResourceListCxtRelReq), Criticality: reject,
		Value: ngapType.UEContextReleaseRequestIEsValue{
			Present:                         ngapType.UEContextReleaseRequestIEsPresentPDUSessionResourceListCxtRelReq,
			PDUSessionResourceListCxtRelReq: &sessions,
		},
	}, {
		Id: id(ngapType.ProtocolIEIDCause), Criticality: ignore,
		Value: ngapType.UEContextReleaseRequestIEsValue{
			Present: ngapType.UEContextReleaseRequestIEsPresentCause,
			Cause:   &ngapType.Cause{Present: ngapType.CausePresentRadioNetwork, RadioNetwork: &inactive},
		},
	}}
	return initiating(ngapType.ProcedureCodeUEContextReleaseRequest, ngapType.InitiatingMessageValue{
		Present: ngapType.InitiatingMessagePresentUEContextReleaseRequest, UEContextReleaseRequest: request,
	})
}

func uplinkNas(amfUe ngapType.AMFUENGAPID, nasPdu []byte) []byte {
	message := new(ngapType.UplinkNASTransport)
	message.ProtocolIEs.List = []ngapType.UplinkNASTransportIEs{{
		Id: id(ngapType.ProtocolIEIDAMFUENGAPID), Criticality: reject,
		Value: ngapType.UplinkNASTransportIEsValue{
			Present: ngapType.UplinkNASTransportIEsPresentAMFUENGAPID, AMFUENGAPID: &amfUe,
		},
	}, {
		Id: id(ngapType.ProtocolIEIDRANUENGAPID), Criticality: reject,
		Value: ngapType.UplinkNASTransportIEsValue{
			Present: ngapType.UplinkNASTransportIEsPresentRANUENGAPID, RANUENGAPID: &ngapType.RANUENGAPID{Value: ranUe},
		},
	}, {
		Id: id(ngapType.ProtocolIEIDNASPDU), Criticality: reject,
		Value: ngapType.UplinkNASTransportIEsValue{
			Present: ngapType.UplinkNASTransportIEsPresentNASPDU, NASPDU: &ngapType.NASPDU{Value: nasPdu},
		},
	}, {
		Id: id(ngapType.ProtocolIEIDUserLocationInformation), Criticality: ignore,
		Value: ngapType.UplinkNASTransportIEsValue{
			Present: ngapType.UplinkNASTransportIEsPresentUserLocationInformation, UserLocationInformation: location(),
		},
	}}
	return initiating(ngapType.ProcedureCodeUplinkNASTransport, ngapType.InitiatingMessageValue{
		Present: ngapType.InitiatingMessagePresentUplinkNASTransport, UplinkNASTransport: message,
	})
}

// With the gNB's end of the session, if there is one.
func initialContextSetupResponse(amfUe ngapType.AMFUENGAPID, transfer aper.OctetString) []byte {
	response := new(ngapType.InitialContextSetupResponse)
	response.ProtocolIEs.List = []ngapType.InitialContextSetupResponseIEs{{
		Id: id(ngapType.ProtocolIEIDAMFUENGAPID), Criticality: ignore,
		Value: ngapType.InitialContextSetupResponseIEsValue{
			Present: ngapType.InitialContextSetupResponseIEsPresentAMFUENGAPID, AMFUENGAPID: &amfUe,
		},
	}, {
		Id: id(ngapType.ProtocolIEIDRANUENGAPID), Criticality: ignore,
		Value: ngapType.InitialContextSetupResponseIEsValue{
			Present:     ngapType.InitialContextSetupResponseIEsPresentRANUENGAPID,
			RANUENGAPID: &ngapType.RANUENGAPID{Value: ranUe},
		},
	}}
	if transfer != nil {
		list := ngapType.PDUSessionResourceSetupListCxtRes{List: []ngapType.PDUSessionResourceSetupItemCxtRes{{
			PDUSessionID:                            ngapType.PDUSessionID{Value: sessionIdentity},
			PDUSessionResourceSetupResponseTransfer: transfer,
		}}}
		response.ProtocolIEs.List = append(response.ProtocolIEs.List, ngapType.InitialContextSetupResponseIEs{
			Id: id(ngapType.ProtocolIEIDPDUSessionResourceSetupListCxtRes), Criticality: ignore,
			Value: ngapType.InitialContextSetupResponseIEsValue{
				Present:                           ngapType.InitialContextSetupResponseIEsPresentPDUSessionResourceSetupListCxtRes,
				PDUSessionResourceSetupListCxtRes: &list,
			},
		})
	}
	return successful(ngapType.ProcedureCodeInitialContextSetup, ngapType.SuccessfulOutcomeValue{
		Present: ngapType.SuccessfulOutcomePresentInitialContextSetupResponse, InitialContextSetupResponse: response,
	})
}

// PDU Session Resource Setup Response Transfer: the gNB's end, and the one flow.
func setUp(here tunnel, flow byte) aper.OctetString {
	transfer := ngapType.PDUSessionResourceSetupResponseTransfer{
		DLQosFlowPerTNLInformation: ngapType.QosFlowPerTNLInformation{
			UPTransportLayerInformation: ngapType.UPTransportLayerInformation{
				Present: ngapType.UPTransportLayerInformationPresentGTPTunnel,
				GTPTunnel: &ngapType.GTPTunnel{
					TransportLayerAddress: ngapType.TransportLayerAddress{Value: aper.BitString{Bytes: here.address, BitLength: 32}},
					GTPTEID:               ngapType.GTPTEID{Value: here.teid},
				},
			},
			AssociatedQosFlowList: ngapType.AssociatedQosFlowList{List: []ngapType.AssociatedQosFlowItem{{
				QosFlowIdentifier: ngapType.QosFlowIdentifier{Value: int64(flow)},
			}}},
		},
	}
	octets, err := aper.MarshalWithParams(transfer, "valueExt")
	must(err)
	return octets
}

// The UPF's end of the session, and its first flow, from a PDU Session Resource Setup Request Transfer.
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
	list := ngapType.PDUSessionResourceSetupListSURes{List: []ngapType.PDUSessionResourceSetupItemSURes{{
		PDUSessionID:                            ngapType.PDUSessionID{Value: sessionIdentity},
		PDUSessionResourceSetupResponseTransfer: transfer,
	}}}
	response := new(ngapType.PDUSessionResourceSetupResponse)
	response.ProtocolIEs.List = []ngapType.PDUSessionResourceSetupResponseIEs{{
		Id: id(ngapType.ProtocolIEIDAMFUENGAPID), Criticality: ignore,
		Value: ngapType.PDUSessionResourceSetupResponseIEsValue{
			Present: ngapType.PDUSessionResourceSetupResponseIEsPresentAMFUENGAPID, AMFUENGAPID: &amfUe,
		},
	}, {
		Id: id(ngapType.ProtocolIEIDRANUENGAPID), Criticality: ignore,
		Value: ngapType.PDUSessionResourceSetupResponseIEsValue{
			Present:     ngapType.PDUSessionResourceSetupResponseIEsPresentRANUENGAPID,
			RANUENGAPID: &ngapType.RANUENGAPID{Value: ranUe},
		},
	}, {
		Id: id(ngapType.ProtocolIEIDPDUSessionResourceSetupListSURes), Criticality: ignore,
		Value: ngapType.PDUSessionResourceSetupResponseIEsValue{
			Present:                          ngapType.PDUSessionResourceSetupResponseIEsPresentPDUSessionResourceSetupListSURes,
			PDUSessionResourceSetupListSURes: &list,
		},
	}}
	return successful(ngapType.ProcedureCodePDUSessionResourceSetup, ngapType.SuccessfulOutcomeValue{
		Present: ngapType.SuccessfulOutcomePresentPDUSessionResourceSetupResponse, PDUSessionResourceSetupResponse: response,
	})
}

func contextReleaseComplete(amfUe ngapType.AMFUENGAPID) []byte {
	complete := new(ngapType.UEContextReleaseComplete)
	complete.ProtocolIEs.List = []ngapType.UEContextReleaseCompleteIEs{{
		Id: id(ngapType.ProtocolIEIDAMFUENGAPID), Criticality: ignore,
		Value: ngapType.UEContextReleaseCompleteIEsValue{
			Present: ngapType.UEContextReleaseCompleteIEsPresentAMFUENGAPID, AMFUENGAPID: &amfUe,
		},
	}, {
		Id: id(ngapType.ProtocolIEIDRANUENGAPID), Criticality: ignore,
		Value: ngapType.UEContextReleaseCompleteIEsValue{
			Present: ngapType.UEContextReleaseCompleteIEsPresentRANUENGAPID, RANUENGAPID: &ngapType.RANUENGAPID{Value: ranUe},
		},
	}}
	return successful(ngapType.ProcedureCodeUEContextRelease, ngapType.SuccessfulOutcomeValue{
		Present: ngapType.SuccessfulOutcomePresentUEContextReleaseComplete, UEContextReleaseComplete: complete,
	})
}

// What came, of a procedure that is due.
func decoded(octets []byte, procedure int64) *ngapType.NGAPPDU {
	pdu, err := ngap.Decoder(octets)
	if err != nil {
		fail("a message of NGAP that does not decode: %v: %s", err, hex.EncodeToString(octets))
	}
	var got int64 = -1
	switch pdu.Present {
	case ngapType.NGAPPDUPresentInitiatingMessage:
		got = pdu.InitiatingMessage.ProcedureCode.Value
	case ngapType.NGAPPDUPresentSuccessfulOutcome:
		got = pdu.SuccessfulOutcome.ProcedureCode.Value
	}
	if got != procedure {
		fail("procedure %d is due, and %d came: %s", procedure, got, hex.EncodeToString(octets))
	}
	return pdu
}
