#!/usr/bin/env python3
"""Derive the keys of 5G-AKA for the MILENAGE test sets (TS 33.220, B.2; TS 33.501, A.2 to A.10).

    python3 wire/oracles/five_g_aka.py > wire/security/tests/vectors/5g-aka.tsv

It uses the HMAC of Python's standard library and shares no code with the crates. It reads
wire/security/tests/vectors/milenage.tsv. One line for each set:
    rand autn xres* kausf hxres* kseaf kamf knasenc(nea2) knasint(nia2) kgnb(count 0) nh
"""

import hashlib
import hmac
import pathlib

NETWORK = b"5G:mnc093.mcc208.3gppnetwork.org"
IMSI = b"208930000000001"
ABBA = bytes(2)


def kdf(key: bytes, code: int, *parameters: bytes) -> bytes:
    """HMAC-SHA-256 over the code, then each parameter and its length in two octets."""
    text = bytes([code]) + b"".join(p + len(p).to_bytes(2, "big") for p in parameters)
    return hmac.new(key, text, hashlib.sha256).digest()


def main() -> None:
    sets = pathlib.Path(__file__).parent.parent / "security/tests/vectors/milenage.tsv"
    print(
        f"# By wire/oracles/five_g_aka.py: network {NETWORK.decode()}, IMSI {IMSI.decode()}, "
        "ABBA 0000."
    )
    print("# rand\tautn\txres*\tkausf\thxres*\tkseaf\tkamf\tknasenc\tknasint\tkgnb\tnh")
    for line in sets.read_text().splitlines():
        if line.startswith("#"):
            continue
        _, rand, sqn, amf, _, _, f1, _, f2, f5, f3, f4, _ = (
            bytes.fromhex(field) for field in line.split("\t")
        )
        hidden = bytes(a ^ b for a, b in zip(sqn, f5))
        k_ausf = kdf(f3 + f4, 0x6A, NETWORK, hidden)
        xres = kdf(f3 + f4, 0x6B, NETWORK, rand, f2)[16:]
        hxres = hashlib.sha256(rand + xres).digest()[16:]
        k_seaf = kdf(k_ausf, 0x6C, NETWORK)
        k_amf = kdf(k_seaf, 0x6D, IMSI, ABBA)
        k_enc = kdf(k_amf, 0x69, b"\x01", b"\x02")[16:]
        k_int = kdf(k_amf, 0x69, b"\x02", b"\x02")[16:]
        k_gnb = kdf(k_amf, 0x6E, bytes(4), b"\x01")
        nh = kdf(k_amf, 0x6F, k_gnb)
        values = [
            rand,
            hidden + amf + f1,
            xres,
            k_ausf,
            hxres,
            k_seaf,
            k_amf,
            k_enc,
            k_int,
            k_gnb,
            nh,
        ]
        print("\t".join(value.hex() for value in values))


if __name__ == "__main__":
    main()
