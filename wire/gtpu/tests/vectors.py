#!/usr/bin/env python3
"""GTP-U packets encoded by pycrate (TS 29.281, TS 38.415): the vectors of
wire/gtpu/tests/vectors.rs.

    python3 wire/gtpu/tests/vectors.py > wire/gtpu/tests/vectors.tsv      (pycrate 0.8.1)

One line a packet: name, octets.
"""

from pycrate_mobile.TS29281_GTPU import (
    GPDU,
    GTPUEchoReq,
    GTPUEchoResp,
    GTPUEndMarker,
    GTPUErrorInd,
    GTPUSuppExtHdrNotif,
    parse_GTPU,
)
from pycrate_mobile.TS38415_PDUSess import DLPDUSessInfo, ULPDUSessInfo

PAYLOAD = bytes.fromhex("4500001c000100004001") + bytes(range(18))


def extension(direction: int, **fields) -> bytes:
    """A PDU session container as an extension header, the last of its chain."""
    info = (ULPDUSessInfo if direction else DLPDUSessInfo)(val=fields)
    # pycrate has the four bits of the PDU type in a field before the information.
    bits = direction << (info.get_bl()) | info.to_uint()
    content = bits.to_bytes((info.get_bl() + 4) // 8, "big")
    return bytes([(len(content) + 2) // 4]) + content + b"\0"


def gpdu(teid: int, chain: bytes = b"", first: int = 0, **header) -> bytes:
    """A G-PDU. The chain of extension headers is encoded here; pycrate encodes the rest, and then
    parses all of it."""
    flags = {
        "TEID": teid,
        "E": 1 if first else 0,
        "S": int("SeqNum" in header),
        "PN": int("NPDUNum" in header),
    }
    packet = GPDU(val={"GTPUHdr": flags, "TPDU": chain + PAYLOAD})
    if first or header:
        packet["GTPUHdr"]["GTPUHdrOpt"].set_val(
            {"SeqNum": 0, "NPDUNum": 0, "NextExt": first, **header}
        )
    if first:
        packet["GTPUHdr"]["GTPUHdrExtList"]._transauto = None
        packet["GTPUHdr"]["GTPUHdrExtList"].set_trans(True)
    octets = packet.to_bytes()
    parsed, error = parse_GTPU(octets)
    assert error == 0, (octets.hex(), error)
    assert parsed["TPDU"].get_val() == PAYLOAD, parsed.show()
    return octets


def main() -> None:
    sequence = {"S": 1, "GTPUHdrOpt": {"SeqNum": 0x1234}}
    lines = {
        "echo-request": GTPUEchoReq(val={"GTPUHdr": sequence}).to_bytes(),
        "echo-response": GTPUEchoResp(
            val={"GTPUHdr": sequence, "GTPUIERecovery": {"RestartCounter": 0}}
        ).to_bytes(),
        "end-marker": GTPUEndMarker(val={"GTPUHdr": {"TEID": 0x01020304}}).to_bytes(),
        "error-indication-v4": GTPUErrorInd(
            val={
                "GTPUHdr": {"S": 1, "GTPUHdrOpt": {"SeqNum": 0}},
                "GTPUIETEID": {"TEID": 0xDEADBEEF},
                "GTPUIEPeerAddr": {"IP": bytes([127, 0, 0, 8])},
            }
        ).to_bytes(),
        "error-indication-v6": GTPUErrorInd(
            val={
                "GTPUHdr": {"S": 1, "GTPUHdrOpt": {"SeqNum": 0}},
                "GTPUIETEID": {"TEID": 1},
                "GTPUIEPeerAddr": {"IP": bytes.fromhex("20010db8000000000000000000000008")},
            }
        ).to_bytes(),
        "supported-extension-headers": GTPUSuppExtHdrNotif(
            val={
                "GTPUHdr": {"S": 1, "GTPUHdrOpt": {"SeqNum": 0}},
                "GTPUIEExtHdrList": {"SupportedExtHdr": [0x85, 0x40]},
            }
        ).to_bytes(),
        "gpdu": gpdu(0x11223344),
        "gpdu-sequence": gpdu(0x11223344, SeqNum=0xABCD),
        "gpdu-npdu": gpdu(0x11223344, SeqNum=0xABCD, NPDUNum=0x42),
        "gpdu-downlink": gpdu(1, extension(0, QFI=9), 0x85),
        "gpdu-downlink-rqi": gpdu(1, extension(0, QFI=63, RQI=1), 0x85),
        "gpdu-downlink-ppi": gpdu(1, extension(0, QFI=1, PPP=1, PPI=5), 0x85),
        "gpdu-downlink-monitored": gpdu(
            1,
            extension(0, QFI=7, QMP=1, SNP=1, DLSndTS=0x0102030405060708, DLQFISeqNum=0x0A0B0C),
            0x85,
        ),
        "gpdu-uplink": gpdu(0xFFFFFFFF, extension(1, QFI=9), 0x85),
        "gpdu-uplink-monitored": gpdu(
            2,
            extension(
                1,
                QFI=3,
                QMP=1,
                DLDelayInd=1,
                ULDelayInd=1,
                SNP=1,
                N3N9DelayInd=1,
                DLSndTSRep=1,
                DLRcvTS=2,
                ULSndTS=3,
                DLDelayRes=4,
                ULDelayRes=5,
                ULQFISeqNum=6,
                N3N9DelayRes=7,
            ),
            0x85,
        ),
        "gpdu-two-extensions": gpdu(3, bytes([1, 0x08, 0x68, 0x85]) + extension(1, QFI=5), 0x40),
    }
    print("# By wire/gtpu/tests/vectors.py with pycrate 0.8.1.")
    for name, octets in lines.items():
        print(f"{name}\t{octets.hex()}")


if __name__ == "__main__":
    main()
