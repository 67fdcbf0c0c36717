"""The cases of the interoperability matrix."""
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """A row of the matrix."""

    name: str
    title: str
    clause: str


CASES = [
    Case("ng-setup", "NG setup", "TS 38.413, 8.7.1"),
    Case("registration-5g-aka", "registration, 5G-AKA", "TS 33.501, 6.1.3.2"),
    Case("registration-eap-aka-prime", "registration, EAP-AKA'", "TS 33.501, 6.1.3.1"),
    Case("algorithms-1", "NEA1 and NIA1 (SNOW 3G)", "TS 33.501, D.3"),
    Case("algorithms-2", "NEA2 and NIA2 (AES)", "TS 33.501, D.3"),
    Case("algorithms-3", "NEA3 and NIA3 (ZUC)", "TS 33.501, D.3"),
    Case("suci-a", "SUCI, profile A", "TS 33.501, C.3.4.1"),
    Case("suci-b", "SUCI, profile B", "TS 33.501, C.3.4.2"),
    Case("session-ipv4", "session, IPv4, uplink and downlink data", "TS 23.502, 4.3.2"),
    Case("session-ipv6", "session, IPv6", "TS 23.501, 5.8.2.2"),
    Case("several-sessions", "two sessions of one UE", "TS 23.501, 5.6.1"),
    Case("idle-and-paging", "CM-IDLE, paging, downlink data", "TS 23.502, 4.2.3.3"),
    Case("n2-handover", "N2 handover", "TS 23.502, 4.9.1.3"),
    Case("xn-handover", "Xn handover", "TS 23.502, 4.9.1.2"),
    Case("gnb-restart", "the gNB starts again", "TS 38.413, 8.7.1"),
    Case("core-restart", "the core starts again", "TS 38.413, 8.7.1"),
    Case("deregistration", "deregistration", "TS 24.501, 5.5.2.2"),
    Case("fifty-ues", "50 UEs at a time", "TS 23.502, 4.2.2.2.2"),
    Case("slices", "two slices with a session each", "TS 23.501, 5.15"),
    Case("wrong-key", "a UE with a wrong key is rejected", "TS 24.501, 5.4.1.3.7"),
]
