#!/usr/bin/env python3
"""Encode every NAS-5GS message of the core and its UEs with pycrate, as vectors for wire/nas.

    python3 wire/oracles/nas_vectors.py > wire/nas/tests/vectors/pycrate.tsv

It needs pycrate 0.8.1. Each message has a vector with its mandatory elements ("least") and one with
the optional elements that the core uses ("most"). pycrate orders the elements, adds identifiers and
lengths, and decodes every message again: the script fails on an element that it cannot decode. One
line for each vector:
    name  variant  octets

The re-attempt indicator is missing: pycrate 0.8.1 does not write its identifier (1D).
"""

import contextlib
import io
import sys

with contextlib.redirect_stdout(io.StringIO()):
    from pycrate_mobile import TS24501_FGMM as mm, TS24501_FGSM as sm
    from pycrate_mobile.NAS5G import parse_NAS5G
    from pycrate_mobile.TS24501_IE import FGSIDDigit, FGSIDGUTI, FGSIDSTMSI

sys.path.insert(0, __file__.rsplit("/", 1)[0])
from recode import COMPLAINTS  # noqa: E402


def hexa(text: str) -> bytes:
    return bytes.fromhex(text)


PLMN = "20893"
GUTI = FGSIDGUTI(
    val={"PLMN": PLMN, "AMFRegionID": 0xCA, "AMFSetID": 0x3FE, "AMFPtr": 1, "5GTMSI": 0xDEADBEEF}
).to_bytes()
STMSI = FGSIDSTMSI(val={"AMFSetID": 0x3FE, "AMFPtr": 1, "5GTMSI": 0xDEADBEEF}).to_bytes()
SUCI = hexa("0102f839f0ff0000" + "0000000010")
SUCI_A = hexa(
    "0102f839f0ff011b"
    + "b2e92f836055a255837debf850b528997ce0201cb82adfe4be1f587d07d8457dcb02352410cddd9e730ef3fa87"
)
IMEISV = FGSIDDigit("5GSIDIMEISV", val={"Type": 5})
IMEISV.encode("3534900698733190")
IMEISV = IMEISV.to_bytes()

# S-NSSAI 1, and 1 with differentiator 0000ff. TAI list of type 0: two tracking areas of one PLMN.
SNSSAI = hexa("010000ff")
NSSAI = hexa("0101" + "04010000ff")
TAI_LIST = hexa("01" + "02f839" + "000001" + "000002")
CAPABILITY = hexa("e0e0e0e0")
# DNS servers 8.8.8.8 and 2001:4860:4860::8888, link MTU 1400.
PCO = hexa("80" + "000d0408080808" + "000310" + "20014860486000000000000000008888" + "0010020578")
PCO_REQUEST = hexa("80" + "000a00" + "000d00" + "000300" + "001000")
QOS_RULES = hexa("01000631310101ff01")
QOS_FLOWS = hexa("012041010109")
AMBR = hexa("0600c8060064")
EAP = hexa("03010004")
DNN = hexa("08696e7465726e6574")
SM = hexa("2e0501c1ffff91")
PLAIN_REGISTRATION = hexa("7e004179000d") + SUCI + hexa("2e02e0e0")

GMM = {
    "RegistrationRequest": (
        {"NAS_KSI": 7, "5GSRegType": {"FOR": 1, "Value": 1}, "5GSID": SUCI},
        {
            "NAS_KSI": 0,
            "5GSRegType": {"FOR": 0, "Value": 2},
            "5GSID": GUTI,
            "NonCurrentNativeNAS_KSI": 1,
            "5GMMCap": hexa("07"),
            "UESecCap": CAPABILITY,
            "NSSAI": NSSAI,
            "TAI": hexa("02f839000001"),
            "S1UENetCap": hexa("e0e0"),
            "ULDataStat": hexa("2000"),
            "PDUSessStat": hexa("2000"),
            "MICOInd": 0,
            "UEStatus": hexa("01"),
            "AddGUTI": GUTI,
            "AllowedPDUSessStat": hexa("0000"),
            "UEUsage": hexa("01"),
            "5GSDRXParam": hexa("02"),
            "5GSUpdateType": hexa("00"),
            "NASContainer": PLAIN_REGISTRATION,
            "EPSBearerCtxtStat": hexa("0000"),
            "T3324": hexa("21"),
            "T3512": hexa("06"),
        },
    ),
    "RegistrationAccept": (
        {"5GSRegResult": hexa("01")},
        {
            "5GSRegResult": hexa("01"),
            "GUTI": GUTI,
            "EquivPLMNList": hexa("02f83913f184"),
            "5GSTAIList": TAI_LIST,
            "AllowedNSSAI": NSSAI,
            "RejectedNSSAI": hexa("1102" + "410300aabb"),
            "ConfiguredNSSAI": NSSAI,
            "5GSNetFeat": hexa("0100"),
            "PDUSessStat": hexa("2000"),
            "PDUSessReactResult": hexa("0000"),
            "PDUSessReactResultErr": hexa("055a"),
            "MICOInd": 0,
            "NetSlicingInd": 1,
            "T3512": hexa("06"),
            "Non3GPPDeregTimer": hexa("2c"),
            "T3502": hexa("2c"),
            "5GSDRXParam": hexa("02"),
            "NSSAIInclMode": 0,
            "EPSBearerCtxtStat": hexa("0000"),
            "T3324": hexa("21"),
        },
    ),
    "RegistrationComplete": ({}, {}),
    "RegistrationReject": (
        {"5GMMCause": 22},
        {
            "5GMMCause": 62,
            "T3346": hexa("2a"),
            "T3502": hexa("2c"),
            "EAPMsg": EAP,
            "RejectedNSSAI": hexa("1102"),
        },
    ),
    "MODeregistrationRequest": (
        {"NAS_KSI": 0, "DeregistrationType": 1, "5GSID": GUTI},
        {"NAS_KSI": 7, "DeregistrationType": 9, "5GSID": SUCI_A},
    ),
    "MODeregistrationAccept": ({}, {}),
    "MTDeregistrationRequest": (
        {"DeregistrationType": 1},
        {
            "DeregistrationType": 5,
            "5GMMCause": 7,
            "T3346": hexa("2a"),
            "RejectedNSSAI": hexa("1102"),
        },
    ),
    "MTDeregistrationAccept": ({}, {}),
    "ServiceRequest": (
        {"NAS_KSI": 0, "ServiceType": 1, "5GSID": STMSI},
        {
            "NAS_KSI": 0,
            "ServiceType": 2,
            "5GSID": STMSI,
            "ULDataStat": hexa("2000"),
            "PDUSessStat": hexa("2000"),
            "AllowedPDUSessStat": hexa("0000"),
            "NASContainer": hexa("7e004c1000") + b"\x07" + STMSI,
        },
    ),
    "ServiceAccept": (
        {},
        {
            "PDUSessStat": hexa("2000"),
            "PDUSessReactResult": hexa("2000"),
            "PDUSessReactResultErr": hexa("055a"),
            "EAPMsg": EAP,
            "T3448": hexa("21"),
        },
    ),
    "ServiceReject": (
        {"5GMMCause": 9},
        {
            "5GMMCause": 22,
            "PDUSessStat": hexa("2000"),
            "T3346": hexa("2a"),
            "EAPMsg": EAP,
            "T3448": hexa("21"),
        },
    ),
    "ConfigurationUpdateCommand": (
        {},
        {
            "ConfigUpdateInd": 1,
            "GUTI": GUTI,
            "5GSTAIList": TAI_LIST,
            "AllowedNSSAI": NSSAI,
            "NetFullName": hexa("844d3a9d5e7603"),
            "NetShortName": hexa("834d7a0b"),
            "LocalTimeZone": hexa("40"),
            "UnivTimeAndTimeZone": hexa("42105251700040"),
            "DLSavingTime": hexa("01"),
            "MICOInd": 0,
            "NetSlicingInd": 1,
            "ConfiguredNSSAI": NSSAI,
            "RejectedNSSAI": hexa("1102"),
            "T3447": hexa("21"),
        },
    ),
    "ConfigurationUpdateComplete": ({}, {}),
    "AuthenticationRequest": (
        {"NAS_KSI": 0, "ABBA": hexa("0000")},
        {
            "NAS_KSI": 3,
            "ABBA": hexa("0000"),
            "RAND": hexa("23553cbe9637a89d218ae64dae47bf35"),
            "AUTN": hexa("55f328b43577b9b94a9ffac354dfafb3"),
            "EAPMsg": EAP,
        },
    ),
    "AuthenticationResponse": (
        {},
        {"RES": hexa("5cc9527f4d21c43bee83a15443acf1c4"), "EAPMsg": EAP},
    ),
    "AuthenticationReject": ({}, {"EAPMsg": EAP}),
    "AuthenticationFailure": (
        {"5GMMCause": 20},
        {"5GMMCause": 21, "AUTS": hexa("5ef40417ef4cb9ac9e76640b820d")},
    ),
    "AuthenticationResult": (
        {"NAS_KSI": 0, "EAPMsg": EAP},
        {"NAS_KSI": 1, "EAPMsg": EAP, "ABBA": hexa("0000")},
    ),
    "IdentityRequest": ({"5GSIDType": 1}, {"5GSIDType": 5}),
    "IdentityResponse": ({"5GSID": SUCI}, {"5GSID": IMEISV}),
    "SecurityModeCommand": (
        {"NASSecAlgo": {"CiphAlgo": 2, "IntegAlgo": 2}, "NAS_KSI": 0, "UESecCap": hexa("e0e0")},
        {
            "NASSecAlgo": {"CiphAlgo": 0, "IntegAlgo": 1},
            "NAS_KSI": 5,
            "UESecCap": CAPABILITY,
            "IMEISVReq": 1,
            "EPSNASSecAlgo": hexa("22"),
            "Add5GSecInfo": hexa("02"),
            "EAPMsg": EAP,
            "ABBA": hexa("0000"),
            "S1UESecCap": hexa("e0e0"),
        },
    ),
    "SecurityModeComplete": ({}, {"IMEISV": IMEISV, "NASContainer": PLAIN_REGISTRATION}),
    "SecurityModeReject": ({"5GMMCause": 23}, {"5GMMCause": 24}),
    "Status": ({"5GMMCause": 97}, {"5GMMCause": 101}),
    "Notification": ({"AccessType": 1}, {"AccessType": 2}),
    "NotificationResponse": ({}, {"PDUSessStat": hexa("2000")}),
    "ULNASTransport": (
        {"PayloadContainerType": 1, "PayloadContainer": SM},
        {
            "PayloadContainerType": 1,
            "PayloadContainer": SM,
            "PDUSessID": hexa("05"),
            "OldPDUSessID": hexa("04"),
            "RequestType": 1,
            "SNSSAI": SNSSAI,
            "DNN": DNN,
            "AddInfo": hexa("aabb"),
        },
    ),
    "DLNASTransport": (
        {"PayloadContainerType": 1, "PayloadContainer": SM},
        {
            "PayloadContainerType": 1,
            "PayloadContainer": SM,
            "PDUSessID": hexa("05"),
            "AddInfo": hexa("aabb"),
            "5GMMCause": hexa("5a"),
            "BackOffTimer": hexa("21"),
        },
    ),
}

GSM = {
    "PDUSessionEstabRequest": (
        {"IntegrityProtMaxDataRate": hexa("ffff")},
        {
            "IntegrityProtMaxDataRate": hexa("ffff"),
            "PDUSessType": 1,
            "SSCMode": 1,
            "5GSMCap": hexa("00"),
            "MaxPktFilters": hexa("0220"),
            "AlwaysOnPDUSess": 1,
            "SMPDUDNReqContainer": b"user@example.org",
            "ExtProtConfig": PCO_REQUEST,
        },
    ),
    "PDUSessionEstabAccept": (
        {"SSCMode": 1, "PDUSessType": 1, "QoSRules": QOS_RULES, "SessAMBR": AMBR},
        {
            "SSCMode": 1,
            "PDUSessType": 3,
            "QoSRules": QOS_RULES,
            "SessAMBR": AMBR,
            "5GSMCause": hexa("32"),
            "PDUAddress": hexa("010a3c0001"),
            "RQTimer": hexa("21"),
            "SNSSAI": SNSSAI,
            "AlwaysOnPDUSess": 0,
            "EAPMsg": EAP,
            "QoSFlowDesc": QOS_FLOWS,
            "ExtProtConfig": PCO,
            "DNN": DNN,
        },
    ),
    "PDUSessionEstabReject": (
        {"5GSMCause": 27},
        {
            "5GSMCause": 26,
            "BackOffTimer": hexa("21"),
            "AllowedSSCMode": 1,
            "EAPMsg": EAP,
            "ExtProtConfig": PCO,
            "CongestReattemptInd": hexa("01"),
        },
    ),
    "PDUSessionAuthentCommand": ({"EAPMsg": EAP}, {"EAPMsg": EAP, "ExtProtConfig": PCO}),
    "PDUSessionAuthentComplete": ({"EAPMsg": EAP}, {"EAPMsg": EAP, "ExtProtConfig": PCO_REQUEST}),
    "PDUSessionAuthentResult": ({}, {"EAPMsg": EAP, "ExtProtConfig": PCO}),
    "PDUSessionModifRequest": (
        {},
        {
            "5GSMCap": hexa("00"),
            "5GSMCause": hexa("2c"),
            "MaxPktFilters": hexa("0220"),
            "AlwaysOnPDUSess": 1,
            "IntegrityProtMaxDataRate": hexa("ffff"),
            "QoSRules": hexa("01000140"),
            "QoSFlowDesc": QOS_FLOWS,
            "ExtProtConfig": PCO_REQUEST,
        },
    ),
    "PDUSessionModifReject": (
        {"5GSMCause": 43},
        {
            "5GSMCause": 26,
            "BackOffTimer": hexa("21"),
            "ExtProtConfig": PCO,
            "CongestReattemptInd": hexa("01"),
        },
    ),
    "PDUSessionModifCommand": (
        {},
        {
            "5GSMCause": hexa("2e"),
            "SessAMBR": AMBR,
            "RQTimer": hexa("21"),
            "AlwaysOnPDUSess": 0,
            "QoSRules": QOS_RULES,
            "QoSFlowDesc": QOS_FLOWS,
            "ExtProtConfig": PCO,
        },
    ),
    "PDUSessionModifComplete": ({}, {"ExtProtConfig": PCO_REQUEST}),
    "PDUSessionModifCommandReject": (
        {"5GSMCause": 84},
        {"5GSMCause": 83, "ExtProtConfig": PCO_REQUEST},
    ),
    "PDUSessionReleaseRequest": ({}, {"5GSMCause": hexa("24"), "ExtProtConfig": PCO_REQUEST}),
    "PDUSessionReleaseReject": ({"5GSMCause": 43}, {"5GSMCause": 35, "ExtProtConfig": PCO}),
    "PDUSessionReleaseCommand": (
        {"5GSMCause": 36},
        {
            "5GSMCause": 39,
            "BackOffTimer": hexa("21"),
            "EAPMsg": EAP,
            "ExtProtConfig": PCO,
            "AccessType": 1,
        },
    ),
    "PDUSessionReleaseComplete": ({}, {"5GSMCause": hexa("24"), "ExtProtConfig": PCO_REQUEST}),
    "Status": ({"5GSMCause": 97}, {"5GSMCause": 81}),
}


def emit(label: str, build, values) -> None:
    for variant, value in zip(("least", "most"), values):
        message = build(value)
        octets = message.to_bytes()
        COMPLAINTS.heard.clear()
        again, error = parse_NAS5G(octets, inner=True)
        if error or COMPLAINTS.heard:
            sys.exit(f"{label} {variant}: error {error}, {COMPLAINTS.heard}\n{octets.hex()}")
        again.reautomate()
        if again.to_bytes() != octets:
            sys.exit(
                f"{label} {variant} does not come back:\n{octets.hex()}\n{again.to_bytes().hex()}"
            )
        print(label, variant, octets.hex(), sep="\t")


def main() -> None:
    print("# By wire/oracles/nas_vectors.py with pycrate 0.8.1.")
    for name, values in GMM.items():
        emit(f"5GMM {name}", lambda value, name=name: getattr(mm, f"FGMM{name}")(val=value), values)
    header = {"5GSMHeader": {"PDUSessID": 5, "PTI": 1}}
    for name, values in GSM.items():
        emit(
            f"5GSM {name}",
            lambda value, name=name: getattr(sm, f"FGSM{name}")(val={**header, **value}),
            values,
        )


if __name__ == "__main__":
    main()
