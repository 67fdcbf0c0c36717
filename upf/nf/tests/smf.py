#!/usr/bin/env python3
"""An SMF and a gNB on the independent PFCP and GTP-U implementation pycrate (TS 29.244, TS 29.281).

Runs association, heartbeat, session establishment, the tunnel to the gNB, an uplink packet, idle
mode with its downlink data report, and deletion with a usage report against the UPF at 127.0.0.8,
from 127.0.0.7 (SMF) and 127.0.0.2 (gNB). Each line of output is `STEP VALUE …`;
tests/outside_smf.rs has the expected lines.
"""

import socket
import sys

from pycrate_mobile.TS29244_PFCP import *
from pycrate_mobile.TS29281_GTPU import GTPUEchoReq, parse_GTPU

UPF, SMF, GNB, UE, HOST = "127.0.0.8", "127.0.0.7", "127.0.0.2", "10.45.0.2", "10.99.0.1"
CP_SEID = 0x1122334455667788
T = PFCPIEType


def ip(text: str) -> bytes:
    return socket.inet_aton(text)


def ie(kind, value) -> dict:
    # Most numbers are one field among several.
    data = {"Val": value} if isinstance(value, int) and kind != T.Cause else value
    return {"Type": kind.value, "Data": data}


def udp(address: str, port: int) -> socket.socket:
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, port))
    s.settimeout(5)
    return s


def build(cls, header: dict, ies: list):
    message = cls(val={"Hdr": header})
    message[1].set_val(ies)
    return message


class Smf:
    def __init__(self) -> None:
        self.socket = udp(SMF, 8805)
        self.sequence = 0

    def ask(self, cls, ies: list, seid=None):
        """Sends a request and returns the response."""
        self.sequence += 1
        header = {"SeqNum": self.sequence, "S": 0 if seid is None else 1}
        if seid is not None:
            header["SEID"] = seid
        request = build(cls, header, ies)
        self.socket.sendto(request.to_bytes(), (UPF, 8805))
        return self.read(self.sequence)

    def read(self, sequence=None):
        data, _ = self.socket.recvfrom(65535)
        message, error = parse_PFCP(data)
        assert error == 0, (error, data.hex())
        message.reautomate()
        assert message.to_bytes() == data, "pycrate encodes the decoded message differently"
        if sequence is not None:
            assert message["Hdr"]["SeqNum"].get_val() == sequence
        return message


def value(ies, kind):
    """The value of the first IE of a type."""
    return next((e["Data"] for e in ies if e["Type"].get_val() == kind.value), None)


def checksum(data: bytes) -> bytes:
    total = sum(int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2))
    total = (total & 0xFFFF) + (total >> 16)
    return (~((total & 0xFFFF) + (total >> 16)) & 0xFFFF).to_bytes(2, "big")


def packet(payload: bytes) -> bytes:
    """A UDP packet from the UE to the host."""
    length = 28 + len(payload)
    head = (
        bytes([0x45, 0])
        + length.to_bytes(2, "big")
        + bytes([0, 0, 0x40, 0, 64, 17, 0, 0])
        + ip(UE)
        + ip(HOST)
    )
    head = head[:10] + checksum(head) + head[12:]
    ports = (9000).to_bytes(2, "big") + (7000).to_bytes(2, "big")
    return head + ports + (8 + len(payload)).to_bytes(2, "big") + b"\0\0" + payload


def say(step: str, *values) -> None:
    print(step, *values, flush=True)


def main() -> None:
    smf, gnb, host = Smf(), udp(GNB, 2152), udp(HOST, 7000)
    node = ie(T.NodeID, {"Type": 0, "Val": ip(SMF)})
    recovery = ie(T.RecoveryTimeStamp, 3900000000)

    refused = smf.ask(PFCPSessionEstablishmentReq, establishment(node), 0)
    say(
        "refused", value(refused[1], T.Cause).get_val(), refused["Hdr"]["SEID"].get_val() == CP_SEID
    )

    setup = smf.ask(PFCPAssociationSetupReq, [node, recovery])
    features = value(setup[1], T.UPFunctionFeatures)
    say(
        "association",
        value(setup[1], T.Cause).get_val(),
        features["Octet1"]["FTUP"].get_val(),
        features["Octet2"]["EMPU"].get_val(),
    )
    say(
        "heartbeat",
        value(smf.ask(PFCPHeartbeatReq, [recovery])[1], T.RecoveryTimeStamp) is not None,
    )

    made = smf.ask(PFCPSessionEstablishmentReq, establishment(node), 0)
    ies = made[1]
    up_seid = value(ies, T.FSEID)["SEID"].get_val()
    created = value(ies, T.CreatedPDR)
    fteid = value(created, T.FTEID)
    teid = fteid["TEID"].get_val()
    address = socket.inet_ntoa(fteid["IPv4Addr"].to_bytes())
    say("session", value(ies, T.Cause).get_val(), made["Hdr"]["SEID"].get_val() == CP_SEID, address)

    say(
        "modified",
        value(
            smf.ask(PFCPSessionModificationReq, far(2, forward(0xBEEF)), up_seid)[1], T.Cause
        ).get_val(),
    )

    gnb.sendto(
        GTPUEchoReq(val={"GTPUHdr": {"S": 1, "GTPUHdrOpt": {"SeqNum": 7}}}).to_bytes(), (UPF, 2152)
    )
    echo, error = parse_GTPU(gnb.recv(2048))
    say("echo", error, echo["GTPUHdr"]["Type"].get_val())

    # A G-PDU with a PDU session container: QFI 9, uplink.
    inner = packet(b"up")
    gnb.sendto(
        bytes([0x34, 255])
        + (8 + len(inner)).to_bytes(2, "big")
        + teid.to_bytes(4, "big")
        + bytes([0, 0, 0, 0x85, 1, 0x10, 9, 0])
        + inner,
        (UPF, 2152),
    )
    payload, sender = host.recvfrom(2048)
    say("uplink", payload.decode(), sender[0])
    host.sendto(b"down", (UE, 9000))
    data = gnb.recv(2048)
    parsed, error = parse_GTPU(data)
    say(
        "downlink",
        error,
        hex(parsed["GTPUHdr"]["TEID"].get_val()),
        data[12:16].hex(),
        data[-4:].decode(),
    )

    say(
        "idle",
        value(
            smf.ask(
                PFCPSessionModificationReq,
                far(2, [ie(T.ApplyAction, {"Octet1": {"NOCP": 1, "BUFF": 1}})]),
                up_seid,
            )[1],
            T.Cause,
        ).get_val(),
    )
    host.sendto(b"page", (UE, 9000))
    report = smf.read()
    pdr = value(value(report[1], T.DownlinkDataReport), T.PDRID)
    say(
        "report",
        report["Hdr"]["Type"].get_val(),
        value(report[1], T.ReportType)["DLDR"].get_val(),
        pdr[0].get_val(),
    )
    header = {"S": 1, "SEID": up_seid, "SeqNum": report["Hdr"]["SeqNum"].get_val()}
    answer = build(PFCPSessionReportResp, header, [ie(T.Cause, 1)])
    smf.socket.sendto(answer.to_bytes(), (UPF, 8805))
    smf.ask(PFCPSessionModificationReq, far(2, forward(0xCAFE)), up_seid)
    parsed, error = parse_GTPU(gnb.recv(2048))
    say(
        "paged",
        error,
        hex(parsed["GTPUHdr"]["TEID"].get_val()),
        parsed["TPDU"].get_val()[-4:].decode(),
    )

    wrong = smf.ask(PFCPSessionModificationReq, far(77, forward(1)), up_seid)
    say(
        "unknown-rule",
        value(wrong[1], T.Cause).get_val(),
        value(wrong[1], T.FailedRuleID) is not None,
    )
    gone = smf.ask(PFCPSessionDeletionReq, [], up_seid)
    usage = value(gone[1], T.UsageReportSessionDeletionResp)
    volume = value(usage, T.VolumeMeasurement)
    say("deleted", value(gone[1], T.Cause).get_val(), volume.to_bytes().hex()[:50])
    again = smf.ask(PFCPSessionDeletionReq, [], up_seid)
    say("deleted-again", value(again[1], T.Cause).get_val())


def pdi(interface: int, more: list) -> list:
    return [ie(T.SourceInterface, {"If": interface}), *more]


def establishment(node: dict) -> list:
    def ue(destination: int) -> dict:
        return ie(T.UEIPAddress, {"SD": destination, "V4": 1, "IPv4Addr": ip(UE)})

    def pdr(number: int, detection: list, more: list) -> dict:
        return ie(
            T.CreatePDR,
            [
                ie(T.PDRID, number),
                ie(T.Precedence, 255),
                ie(T.PDI, detection),
                *more,
                ie(T.FARID, number),
                ie(T.URRID, 1),
                ie(T.QERID, 1),
            ],
        )

    choose = ie(T.FTEID, {"CH": 1, "V4": 1})
    removal = ie(T.OuterHeaderRemoval, bytes([0]))
    return [
        node,
        ie(T.FSEID, {"V4": 1, "SEID": CP_SEID, "IPv4Addr": ip(SMF)}),
        pdr(1, pdi(0, [choose, ue(0)]), [removal]),
        pdr(2, pdi(1, [ue(1)]), []),
        ie(
            T.CreateFAR,
            [
                ie(T.FARID, 1),
                ie(T.ApplyAction, {"Octet1": {"FORW": 1}}),
                ie(T.ForwardingParameters, [ie(T.DestinationInterface, {"Val": 1})]),
            ],
        ),
        ie(T.CreateFAR, [ie(T.FARID, 2), ie(T.ApplyAction, {"Octet1": {"NOCP": 1, "BUFF": 1}})]),
        ie(
            T.CreateURR,
            [
                ie(T.URRID, 1),
                ie(T.MeasurementMethod, {"VOLUM": 1}),
                ie(T.ReportingTriggers, bytes(3)),
            ],
        ),
        ie(T.CreateQER, [ie(T.QERID, 1), ie(T.GateStatus, bytes([0])), ie(T.QFI, bytes([9]))]),
    ]


def forward(teid: int) -> list:
    return [
        ie(T.ApplyAction, {"Octet1": {"FORW": 1}}),
        ie(
            T.UpdateForwardingParameters,
            [
                ie(T.DestinationInterface, {"Val": 0}),
                ie(T.OuterHeaderCreation, bytes([1, 0]) + teid.to_bytes(4, "big") + ip(GNB)),
            ],
        ),
    ]


def far(number: int, what: list) -> list:
    return [ie(T.UpdateFAR, [ie(T.FARID, number), *what])]


if __name__ == "__main__":
    sys.exit(main())
