"""Logs in the format of each vendor's programs, for each case that they can play."""
import testbed
from tests.replay import PART

IMSI = testbed.imsi(1)


def lines(*texts):
    """Lines of a log."""
    return "".join(f"{text}\n" for text in texts)


# The core.


def core_registered(imsi=IMSI):
    """A registration."""
    return lines(
        "2026-11-29T12:00:00.000001Z  INFO martlet_amf::procedures::registration::"
        f'general_registration: registered supi="imsi-{imsi}" gnb="gnb-1"'
    )


def core_session(imsi=IMSI, number=1, address="10.45.0.2"):
    """A session."""
    return lines(
        "2026-11-29T12:00:00.000002Z  INFO martlet_smf::procedures::establishment::"
        f"pdu_session_establishment: PDU session established supi=imsi-{imsi} session={number} "
        f"dnn=internet address={address}"
    )


def core_deregistered(imsi=IMSI):
    """A deregistration, and the session that ends with it."""
    return lines(
        "2026-11-29T12:00:01.000001Z  INFO martlet_smf::procedures::release::pdu_session_release: "
        f"PDU session released supi=imsi-{imsi} session=1",
        "2026-11-29T12:00:01.000002Z  INFO martlet_amf::procedures::registration::deregistration: "
        f'deregistered supi="imsi-{imsi}" gnb="gnb-1" switch_off=false',
    )


def core_handover(event):
    """A handover."""
    return lines(
        "2026-11-29T12:00:01.000003Z  INFO martlet_amf::procedures::handover: "
        f'{event} supi="imsi-{IMSI}" from="gnb-1" gnb="gnb-2" sessions=1'
    )


CORE_NG_SETUP = lines(
    "2026-11-29T12:00:00.000000Z  INFO martlet_amf::procedures::n2::ng_setup: NG setup completed "
    'gnb="gnb-1" address=10.77.0.2:41000 areas="00101/1 [1]" suppressed=0'
)
CORE_NOT_AUTHENTIC = lines(
    "2026-11-29T12:00:00.000003Z  WARN martlet_amf::procedures::registration::authentication: "
    'authentication failed: challenge refused again supi="suci-0-001-01-0-0-0-0000000001" '
    'gnb="gnb-1" cause=20 suppressed=0',
    "2026-11-29T12:00:00.000004Z  WARN martlet_amf::procedures::registration::"
    'general_registration: registration failed supi="suci-0-001-01-0-0-0-0000000001" '
    'gnb="gnb-1" why="not_authentic" suppressed=0',
)

# UERANSIM.


def ueransim(*events):
    """Lines of nr-gnb or nr-ue: a module, a level, and a message."""
    return "".join(
        f"[2026-11-29 12:00:00.{n:03}] [{event[0]}] [{event[1]}] {event[2]}\n"
        for n, event in enumerate(events)
    )


U_GNB = "UERANSIM v3.3.0\n" + ueransim(
    ("sctp", "info", "Trying to establish SCTP connection... (10.77.0.1:38412)"),
    ("sctp", "info", "SCTP connection established (10.77.0.1:38412)"),
    ("ngap", "debug", "Sending NG Setup Request"),
    ("ngap", "debug", "NG Setup Response received"),
    ("ngap", "info", "NG Setup procedure is successful"),
)
U_START = "UERANSIM v3.3.0\n" + ueransim(
    ("nas", "info", "UE switches to state [MM-DEREGISTERED/PLMN-SEARCH]"),
    ("rrc", "debug", "New signal detected for cell[1], total [1] cells in coverage"),
    ("nas", "info", "Selected plmn[001/01]"),
    ("nas", "info", "UE switches to state [MM-DEREGISTERED/PS]"),
    ("nas", "info", "UE switches to state [MM-DEREGISTERED/NORMAL-SERVICE]"),
    ("nas", "debug", "Initial registration required due to [MM-DEREG-NORMAL-SERVICE]"),
    ("nas", "debug", "Sending Initial Registration"),
    ("nas", "info", "UE switches to state [MM-REGISTER-INITIATED]"),
    ("nas", "info", "UE switches to state [CM-CONNECTED]"),
    ("nas", "debug", "Authentication Request received"),
)
U_REGISTERED = U_START + ueransim(
    ("nas", "debug", "Security Mode Command received"),
    ("nas", "debug", "Registration accept received"),
    ("nas", "info", "UE switches to state [MM-REGISTERED/NORMAL-SERVICE]"),
    ("nas", "debug", "Sending Registration Complete"),
    ("nas", "info", "Initial Registration is successful"),
    ("nas", "debug", "Sending PDU Session Establishment Request"),
)


def u_session(number=1, address="10.45.0.2"):
    """A session of nr-ue."""
    return ueransim(
        ("nas", "debug", "PDU Session Establishment Accept received"),
        ("nas", "info", f"PDU Session establishment is successful PSI[{number}]"),
        (
            "app",
            "info",
            f"Connection setup for PDU session[{number}] is successful, "
            f"TUN interface[uesimtun{number - 1}, {address}] is up.",
        ),
    )


U_SESSION = U_REGISTERED + u_session()
U_TWO = U_SESSION + u_session(2, "10.45.0.3")
U_IDLE = ueransim(
    ("rrc", "debug", "RRC Release received"),
    ("nas", "info", "UE switches to state [CM-IDLE]"),
)
U_PAGED = ueransim(
    ("nas", "debug", "Responding to received Paging"),
    ("nas", "debug", "Sending Service Request due to [PAGING]"),
    ("nas", "info", "UE switches to state [CM-CONNECTED]"),
    ("nas", "info", "Service Accept received"),
)
U_DEREGISTERED = ueransim(
    ("nas", "debug", "Starting de-registration procedure due to [NORMAL]"),
    ("nas", "info", "UE switches to state [MM-DEREGISTER-INITIATED]"),
    ("nas", "debug", "De-registration accept received"),
    ("nas", "info", "UE switches to state [MM-DEREGISTERED/PS]"),
    ("nas", "info", "De-registration is successful"),
)
U_AGAIN = {"gnb": U_GNB, "ue": U_SESSION, "gnb-again": U_GNB, "ue-again": U_SESSION}
CORE_SESSION = core_registered() + core_session()


def u_session_case():
    """Logs of a case with one session, of UE 1."""
    return {"gnb": U_GNB, "ue": U_SESSION, "core": CORE_SESSION}


UERANSIM = {
    "ng-setup": {"gnb": U_GNB},
    "registration-5g-aka": {"gnb": U_GNB, "ue": U_REGISTERED, "core": core_registered()},
    "registration-eap-aka-prime": {
        "gnb": U_GNB,
        "ue": U_REGISTERED,
        "core": core_registered(testbed.imsi(101)),
    },
    "algorithms-1": u_session_case(),
    "algorithms-2": u_session_case(),
    "algorithms-3": u_session_case(),
    "suci-a": {"gnb": U_GNB, "ue": U_REGISTERED, "core": core_registered()},
    "suci-b": {"gnb": U_GNB, "ue": U_REGISTERED, "core": core_registered()},
    "session-ipv4": u_session_case(),
    "session-ipv6": {
        "gnb": U_GNB,
        "ue": U_SESSION,
        "core": core_registered(testbed.imsi(103)) + core_session(testbed.imsi(103), 1, "fd45::1"),
    },
    "several-sessions": {
        "gnb": U_GNB,
        "ue": U_TWO,
        "core": CORE_SESSION + core_session(number=2, address="10.45.0.3"),
    },
    "idle-and-paging": {
        "gnb": U_GNB,
        # After the first ping the UE is released, after the second command it is paged.
        "ue": PART.join([U_SESSION, "", U_IDLE, U_PAGED]),
        "core": CORE_SESSION,
    },
    "n2-handover": {
        "gnb": U_GNB,
        "gnb-2": U_GNB
        + PART
        + ueransim(
            ("ngap", "debug", "Handover request message received from AMF"),
            ("ngap", "debug", "Sending Handover Notify message to AMF"),
        ),
        "ue": U_SESSION,
        "core": PART.join([CORE_SESSION, core_handover("handover completed")]),
    },
    "gnb-restart": U_AGAIN | {"core": PART.join([CORE_SESSION, "", CORE_SESSION])},
    "core-restart": U_AGAIN
    | {
        "gnb": U_GNB
        + PART
        + ueransim(
            ("sctp", "debug", "SCTP association shutdown (clientId: 2)"),
            ("ngap", "error", "Association terminated for AMF[2]"),
            ("ngap", "debug", "Removing AMF context[2]"),
        ),
        "core": PART.join([CORE_SESSION, "", "", CORE_SESSION]),
    },
    "deregistration": {
        "gnb": U_GNB,
        "ue": U_SESSION + PART + U_DEREGISTERED,
        "core": CORE_SESSION + PART + core_deregistered(),
    },
    "fifty-ues": {
        "gnb": U_GNB,
        "ue": U_SESSION * 50,
        "core": "".join(core_registered(testbed.imsi(n)) for n in range(1, 51)),
    },
    "slices": {
        "gnb": U_GNB,
        "ue": U_TWO,
        "core": core_registered(testbed.imsi(102))
        + core_session(testbed.imsi(102))
        + core_session(testbed.imsi(102), 2, "10.45.0.3"),
    },
    "wrong-key": {
        "gnb": U_GNB,
        "ue": U_START
        + ueransim(
            ("nas", "error", "AUTN validation MAC mismatch. expected [0a1b] received [2c3d]"),
            ("nas", "debug", "Sending Authentication Failure with cause [MAC_FAILURE]"),
            ("nas", "error", "Authentication Reject received"),
        ),
        "core": CORE_NOT_AUTHENTIC,
    },
}

# PacketRusher.


def packetrusher(*messages):
    """Lines of PacketRusher, whose logger writes pairs of keys and values to a file."""
    return "".join(f'time="2026-11-29T12:00:00Z" level=info msg="{it}"\n' for it in messages)


P_GNB = packetrusher(
    "Loaded config at: config.yml",
    "PacketRusher version v1.9.0",
    "[GNB] SCTP/NGAP service is running",
    "[GNB] Initiating NG Setup Request",
    "[GNB][AMF] AMF Name: martlet-amf",
    "[GNB][AMF] State of AMF: Active",
)
P_START = P_GNB + packetrusher(
    "[TESTER] TESTING REGISTRATION USING IMSI 0000000001 UE",
    "[UE] Initiating Registration",
    "[UE] Switched from state 0 to state 1",
    "[UE][NAS] Receive Authentication Request",
)
P_REGISTERED = packetrusher(
    "[UE][NAS] Receive Security Mode Command",
    "[GNB][UE] UE Context was created with successful",
    "[GNB] Initiating Initial Context Setup Response",
    "[UE][NAS] Receive Registration Accept",
    "[UE][NAS] UE 5G GUTI: [1 2 3 4]",
    "[UE] Initiating New PDU Session",
)
P_ACCEPT = packetrusher(
    "[GNB][NGAP][UE] PDU Session was created with successful.",
    "[UE][NAS] Receive DL NAS Transport",
    "[UE][NAS] Receiving PDU Session Establishment Accept",
    "[UE][NAS] PDU address received: 10.45.0.2",
)
P_SESSION = P_START + P_REGISTERED + P_ACCEPT
P_CASE = {"packetrusher": P_SESSION, "core": CORE_SESSION}
P_AGAIN = P_CASE | {"again": P_SESSION}
PACKETRUSHER = {
    "ng-setup": {"packetrusher": P_GNB},
    "registration-5g-aka": P_CASE,
    "algorithms-1": P_CASE,
    "algorithms-2": P_CASE,
    "algorithms-3": P_CASE,
    "suci-a": P_CASE,
    "suci-b": P_CASE,
    "session-ipv4": P_CASE
    | {
        "packetrusher": P_SESSION
        + packetrusher(
            "[UE][GTP] Interface val0000000001 has successfully been configured for UE 10.45.0.2",
            "[UE][GTP] You can do traffic for this UE by binding to IP 10.45.0.2, eg:",
        )
    },
    "session-ipv6": {
        "packetrusher": P_SESSION,
        "core": core_registered(testbed.imsi(103)) + core_session(testbed.imsi(103), 1, "fd45::1"),
    },
    "several-sessions": {
        "packetrusher": P_SESSION + P_ACCEPT,
        "core": CORE_SESSION + core_session(number=2, address="10.45.0.3"),
    },
    "idle-and-paging": P_CASE
    | {
        "packetrusher": P_SESSION
        + packetrusher(
            "[UE] Switching to 5GMM-IDLE",
            "[GNB] Initiating UE Context Release Request",
            "[GNB][NGAP] Releasing UE Context for UE 1, cause: radioNetwork: User inactivity",
            "[GNB] Initiating UE Context Complete",
        )
        + PART
        + packetrusher(
            "[GNB][AMF] Paging UE",
            "[UE] Initiating Service Request",
            "[GNB] Initiating Initial Context Setup Response",
        )
    },
    "n2-handover": {
        "packetrusher": P_SESSION
        + packetrusher(
            "[GNB] Initiating NGAP UE Handover",
            "[GNB] Initiating Handover Request Acknowledge",
            "[UE] gNodeB is telling us to use another gNodeB",
            "[GNB] Initiating Handover Notify",
        ),
        "core": CORE_SESSION + core_handover("handover completed"),
    },
    "xn-handover": {
        "packetrusher": P_SESSION
        + packetrusher(
            "[GNB] Initiating Xn UE Handover",
            "[GNB] Initiating Path Switch Request",
            "[GNB] Handover completed successfully for UE 1",
        ),
        "core": CORE_SESSION + core_handover("path switched"),
    },
    "gnb-restart": P_AGAIN | {"core": PART.join([CORE_SESSION, CORE_SESSION])},
    "core-restart": P_AGAIN
    | {
        "packetrusher": P_SESSION
        + PART
        + packetrusher(
            "[GNB][SCTP] Association with AMF 10.77.0.1:38412 lost (EOF); released 1 UE contexts "
            "served through it, re-establishing",
        )
        + P_GNB,
        "core": PART.join([CORE_SESSION, "", CORE_SESSION]),
    },
    "deregistration": {
        "packetrusher": P_SESSION
        + packetrusher(
            "[UE] Terminating UE as requested",
            "[UE] Initiating Release of PDU Session 1",
            "[UE] Initiating Deregistration",
        ),
        "core": CORE_SESSION + core_deregistered(),
    },
    "fifty-ues": {
        "packetrusher": P_GNB + (P_REGISTERED + P_ACCEPT) * 50,
        "core": "".join(core_registered(testbed.imsi(n)) for n in range(1, 51)),
    },
    "wrong-key": {
        "packetrusher": P_START
        + packetrusher(
            "[UE][NAS][MAC] Authenticity of the authentication request message: FAILED",
            "[UE][NAS] Send authentication failure with MAC failure",
            "[UE][NAS] Authentication of UE 1 failed",
        ),
        "core": CORE_NOT_AUTHENTIC,
    },
}

# free-ran-ue.
F_IMSI = testbed.imsi(1, ("208", "93"))


def free_ran_ue(*events):
    """Lines of free-ran-ue, with colours: level, module, and message."""
    return "".join(
        f"2026-11-29 12:00:00 \x1b[36m[{level}]\x1b[0m \x1b[32m[{module}]\x1b[0m {text}\x1b[0m\n"
        for level, module, text in events
    )


F_GNB = free_ran_ue(
    ("INFO", "RAN", "Starting GNB"),
    ("INFO", "RAN", "Connected to AMF: 10.77.0.1:38412"),
    ("INFO", "RAN", "Setting up N2"),
    ("DEBUG", "NGAP", "Received NGAP setup response from AMF"),
    ("INFO", "RAN", "N2 setup complete"),
    ("INFO", "RAN", "GNB started"),
)
F_START = free_ran_ue(
    ("INFO", "UE", f"Starting UE: imsi-{F_IMSI}"),
    ("INFO", "RAN", "Processing UE Registration"),
    ("DEBUG", "NAS", "Receive NAS Authentication Request from RAN"),
)
F_REGISTERED = free_ran_ue(
    ("DEBUG", "NAS", "Receive NAS Registration Accept from RAN"),
    ("DEBUG", "NAS", "Receive NAS Configuration Update Command from RAN"),
    ("INFO", "RAN", "UE Registration finished"),
    ("INFO", "PDU", "Processing PDU session establishment"),
)
F_SESSION = free_ran_ue(
    ("INFO", "PDU", "PDU session UE IP: 10.45.0.2"),
    ("INFO", "PDU", f"UE {F_IMSI} PDU session establishment complete"),
    ("INFO", "TUN", "UE tunnel device setup as ueTun0"),
    ("INFO", "UE", "UE started"),
)
F_CASE = {"gnb": F_GNB, "ue": F_START + F_REGISTERED, "core": core_registered(F_IMSI)}
F_AGAIN = F_CASE | {"gnb-again": F_GNB, "ue-again": F_START + F_REGISTERED}
F_WITH = F_START + F_REGISTERED + F_SESSION
F_CORE = core_registered(F_IMSI) + core_session(F_IMSI)
FREE_RAN_UE = {
    "ng-setup": {"gnb": F_GNB},
    "registration-5g-aka": F_CASE,
    "algorithms-1": F_CASE,
    "algorithms-2": F_CASE,
    "algorithms-3": F_CASE,
    "session-ipv4": {"gnb": F_GNB, "ue": F_WITH, "core": F_CORE},
    "gnb-restart": F_AGAIN | {"core": PART.join([core_registered(F_IMSI), ""]) + PART
                              + core_registered(F_IMSI)},
    "core-restart": F_AGAIN | {"core": PART.join([core_registered(F_IMSI), "", ""]) + PART
                               + core_registered(F_IMSI)},
    "deregistration": {
        "gnb": F_GNB,
        "ue": F_WITH
        + PART
        + free_ran_ue(
            ("INFO", "RAN", "Processing UE deregistration"),
            ("INFO", "RAN", "UE deregistration complete"),
            ("INFO", "UE", "UE stopped"),
        ),
        "core": F_CORE + PART + core_deregistered(F_IMSI),
    },
    "fifty-ues": {
        "gnb": F_GNB,
        "ue": (F_START + F_REGISTERED) * 50,
        "core": "".join(core_registered(testbed.imsi(n, ("208", "93"))) for n in range(1, 51)),
    },
    "wrong-key": {
        "gnb": F_GNB,
        "ue": F_START
        + free_ran_ue(
            (
                "ERROR",
                "UE",
                "Error processing UE registration: error nas pdu message type: 88, expected "
                "security mode command",
            ),
        ),
        "core": CORE_NOT_AUTHENTIC,
    },
}

# OCUDU and OAI.
O_GNB = lines("N2: Connection to AMF on 10.77.0.1:38412 completed", "==== gNB started ===")
OCUDU = {
    "ng-setup": {"gnb": O_GNB, "core": CORE_NG_SETUP},
    "gnb-restart": {
        "gnb": O_GNB,
        "again": O_GNB,
        "core": CORE_NG_SETUP + PART + CORE_NG_SETUP,
    },
    "core-restart": {
        "gnb": O_GNB,
        "again": O_GNB,
        "core": PART.join([CORE_NG_SETUP, "", CORE_NG_SETUP]),
    },
}
A_GNB = lines("[NGAP]   Send NGSetupRequest to AMF", "[NGAP]   Received NGSetupResponse from AMF")
A_UE = lines(
    "[NAS]   Generate Initial NAS Message: Registration Request",
    "[NAS]   [UE 0] Received REGISTRATION ACCEPT message",
)
A_SESSION = lines("[OIP]   Interface oaitun_ue1 successfully configured, ip address 10.45.0.2")
OAI = {
    "ng-setup": {"gnb": A_GNB},
    "registration-5g-aka": {"gnb": A_GNB, "ue": A_UE, "core": core_registered()},
    "session-ipv4": {"gnb": A_GNB, "ue": A_UE + A_SESSION, "core": CORE_SESSION},
    "gnb-restart": {
        "gnb": A_GNB,
        "ue": A_UE,
        "gnb-2": A_GNB,
        "ue-2": A_UE + A_SESSION,
        "core": PART.join([core_registered(), "", CORE_SESSION]),
    },
    "core-restart": {
        "gnb": A_GNB,
        "ue": A_UE,
        "gnb-2": A_GNB,
        "ue-2": A_UE + A_SESSION,
        "core": PART.join([core_registered(), "", "", CORE_SESSION]),
    },
    "wrong-key": {"gnb": A_GNB, "ue": A_UE.splitlines(True)[0], "core": CORE_NOT_AUTHENTIC},
}

# Functions in place of Martlet's: what each prints when it is ready.


def free5gc(name):
    """The first lines of a function of free5GC."""
    version = "free5GC version: v4.1.0"
    return f"2026-11-29T12:00:00Z [INFO][{name}][Main] {name} version: \n\t{version}\n"


READY = {
    "Open5GS NRF": "11/29 12:00:00.000: [app] INFO: NRF initialize...done (../src/nrf/app.c:31)\n",
    "Open5GS UPF": "11/29 12:00:00.000: [app] INFO: UPF initialize...done (../src/upf/app.c:31)\n",
    "Open5GS": "11/29 12:00:00.000: [sbi] INFO: [1d5c] NF registered [Heartbeat:10s]\n",
    "free5GC NRF": free5gc("NRF"),
    "free5GC UPF": free5gc("UPF"),
    "free5GC": free5gc("AUSF"),
    "eUPF": "2026/11/29 12:00:00 INF Saving new association: &{ID:127.0.0.7}\n",
}

# What the core logs when it goes on without a function.
WITHOUT_A_FUNCTION = [
    "2026-11-29T12:00:10.000000Z  WARN martlet_amf::procedures::registration::slice_selection: "
    'NSSF request failed; slices selected by the subscription supi="imsi-001010000000001" '
    'gnb="gnb-1" problem=400\n',
    "2026-11-29T12:00:10.000000Z  WARN martlet_amf::procedures::registration::"
    'am_policy_association: policy association not created supi="imsi-001010000000001" '
    'gnb="gnb-1" problem=404 no PCF\n',
    "2026-11-29T12:00:10.000000Z  WARN martlet_amf::procedures::registration::"
    "am_policy_association: policy association without a usable location "
    'supi="imsi-001010000000001" location=""\n',
    "2026-11-29T12:00:10.000000Z  WARN martlet_smf::procedures::charging::charging_session: "
    "CHF failed, session continues without charging supi=imsi-001010000000001 session=1 "
    "problem=400\n",
]
# A warning of another kind.
RIGHTS = (
    "2026-11-29T12:00:10.000000Z  WARN martlet_sandbox: process keeps rights that it does not need "
    'process="core" user=0 kept="user root: there is no user martlet"\n'
)

# A CHF that closes the record of a session, and answers with an error.
CHF_RELEASES = (
    "2026-11-29T12:00:11.000000001Z\x1b[36m [INFO][CHF][ChargingPost] \x1b[0mClose CDR\n"
    "2026-11-29T12:00:11.000000002Z\x1b[36m [INFO][CHF][GIN] \x1b[0m| 400 |       127.0.0.1 | POST"
    "    | /nchf-convergedcharging/v3/chargingdata/imsi-001010000000104-0/release |\n"
)
NOT_RELEASED = (
    "2026-11-29T12:00:11.000000Z  WARN martlet_smf::procedures::charging::charging_session: "
    "release of charging session failed supi=imsi-001010000000104 session=1 "
    "problem=400 (no cause)\n"
)
