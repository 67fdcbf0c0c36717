#!/usr/bin/env python3
"""Decode messages with pycrate and encode them again.

Standard input has one line `kind<TAB>octets` for each message. Standard output has one line for
each, with the octets or the error. Kinds: nas, ngap, lpp, nrppa, pfcp, gtpu, or the name of an
NGAP transfer.

Exit code 77: pycrate is not installed.
"""

import contextlib
import io
import logging
import sys

# pycrate reports on import that it could handle ciphered NAS with another package, which is not
# needed.
with contextlib.redirect_stdout(io.StringIO()):
    try:
        from pycrate_asn1dir import NGAP
        from pycrate_mobile.NAS5G import parse_NAS5G
    except ImportError as error:
        print(f"pycrate 0.8.1 is not installed: {error}", file=sys.stderr)
        sys.exit(77)


class Complaints(logging.Handler):
    """Collects pycrate's warnings: it keeps the octets of a value that it cannot decode."""

    def __init__(self):
        super().__init__()
        self.heard = []

    def emit(self, record):
        self.heard.append(record.getMessage())


COMPLAINTS = Complaints()
logging.getLogger().addHandler(COMPLAINTS)
for name in ("pycrate_mobile.TS24007", "pycrate_mobile.TS24501_IE", "pycrate_mobile.NAS5G"):
    logging.getLogger(name).addHandler(COMPLAINTS)
    logging.getLogger(name).propagate = False


def nas(octets: bytes) -> bytes:
    return elements(*parse_NAS5G(octets, inner=True))


def elements(message, error) -> bytes:
    if error:
        raise ValueError(f"pycrate error {error}")
    # Forget the octets that were read: each element is encoded from its value.
    message.reautomate()
    return message.to_bytes()


def asn1(obj, octets: bytes) -> bytes:
    obj.from_aper(octets)
    return obj.to_aper()


def lpp(octets: bytes) -> bytes:
    from pycrate_asn1dir import LPP

    LPP.LPP_PDU_Definitions.LPP_Message.from_uper(octets)
    return LPP.LPP_PDU_Definitions.LPP_Message.to_uper()


def nrppa(octets: bytes) -> bytes:
    from pycrate_asn1dir import NRPPa

    return asn1(NRPPa.NRPPA_PDU_Descriptions.NRPPA_PDU, octets)


def pfcp(octets: bytes) -> bytes:
    from pycrate_mobile.TS29244_PFCP import parse_PFCP

    return elements(*parse_PFCP(octets))


def gtpu(octets: bytes) -> bytes:
    from pycrate_mobile.TS29281_GTPU import parse_GTPU

    return elements(*parse_GTPU(octets))


def recode(kind: str, octets: bytes) -> str:
    COMPLAINTS.heard.clear()
    try:
        if kind == "nas":
            again = nas(octets)
        elif kind == "lpp":
            again = lpp(octets)
        elif kind == "nrppa":
            again = nrppa(octets)
        elif kind == "pfcp":
            again = pfcp(octets)
        elif kind == "gtpu":
            again = gtpu(octets)
        elif kind == "ngap":
            again = asn1(NGAP.NGAP_PDU_Descriptions.NGAP_PDU, octets)
        else:
            again = asn1(getattr(NGAP.NGAP_IEs, kind), octets)
    except Exception as error:  # pycrate raises many kinds
        return f"{type(error).__name__}: {error}".replace("\n", " ")
    if COMPLAINTS.heard:
        return "; ".join(COMPLAINTS.heard).replace("\n", " ")
    return again.hex()


def main() -> None:
    for line in sys.stdin:
        kind, octets = line.rstrip("\n").split("\t")
        print(recode(kind, bytes.fromhex(octets)))


if __name__ == "__main__":
    main()
