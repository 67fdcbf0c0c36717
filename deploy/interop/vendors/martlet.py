"""Martlet's gNB and UE (`martlet ran`) by the same steps as the others: a test of the testbed."""
import json
import subprocess

import testbed
from plan import Expect, RestartCore, Run, Start, Vendor, Wait, Write


def scenario(steps, ue=None, gnb=None, count=1, first=1):
    """A scenario of one gNB and a group of UEs. JSON is YAML, too."""
    gnb = {
        "name": "gnb-1",
        "plmn": f"{testbed.MCC}-{testbed.MNC}",
        "gnb_id": 1,
        "slices": ["1", "2-000002"],
        "amf": testbed.CORE,
        "n2_local": testbed.GNBS[0],
        "n3": testbed.GNBS[0],
    } | (gnb or {})
    ue = {
        "name": "ue",
        "imsi": testbed.imsi(first),
        "count": count,
        "k": testbed.K,
        "opc": testbed.OPC,
        "sessions": [{"dnn": "internet"}],
    } | (ue or {})
    return json.dumps({"name": "interop", "gnbs": [gnb], "ues": [ue], "steps": steps}, indent=2)


class Martlet(Vendor):
    """Each case is a scenario, or a part of the conformance bench."""

    name = "martlet ran"
    programs = {"martlet": None}
    kernel_sctp = False

    def version(self):
        done = subprocess.run(
            [self.testbed.martlet, "--version"], check=False, capture_output=True, text=True
        )
        return done.stdout.strip().split(" ")[-1] or "unknown"

    def play(self, *steps, **arguments):
        """Plays a scenario to its end."""
        command = [self.testbed.martlet, "ran", "-q", "-c", "scenario.yaml"]
        return [Write("scenario.yaml", scenario(list(steps), **arguments)), Run(command, 60)]

    def ng_setup(self):
        return self.play({"wait": "100ms"})

    def registration_5g_aka(self):
        return self.play({"register": {}}, {"deregister": {}})

    def registration_eap_aka_prime(self):
        return self.play({"register": {}}, {"deregister": {}}, first=101)

    def algorithms(self, number):
        """A UE with one algorithm of each kind."""
        ue = {"nea": [number], "nia": [number]}
        return self.play({"register": {}}, {"establish": {}}, {"deregister": {}}, ue=ue)

    def algorithms_1(self):
        return self.algorithms(1)

    def algorithms_2(self):
        return self.algorithms(2)

    def algorithms_3(self):
        return self.algorithms(3)

    def suci(self, profile, key_id, key):
        """A UE that conceals its identity."""
        ue = {"suci": {"profile": profile, "key_id": key_id, "key": key}}
        return self.play({"register": {}}, {"deregister": {}}, ue=ue)

    def suci_a(self):
        return self.suci("A", 1, testbed.PROFILE_A[1])

    def suci_b(self):
        return self.suci("B", 2, testbed.PROFILE_B[1])

    def session_ipv4(self):
        ping = {"ping": {"target": testbed.GATEWAY, "count": 3}}
        return self.play({"register": {}}, {"establish": {}}, ping, {"release": {}})

    def session_ipv6(self):
        ue = {"sessions": [{"dnn": "internet", "type": "ipv6"}]}
        return self.play({"register": {}}, {"establish": {}}, {"release": {}}, ue=ue, first=103)

    def several_sessions(self):
        ue = {"sessions": [{"dnn": "internet"}, {"dnn": "internet"}]}
        ping = {"ping": {"target": testbed.GATEWAY, "session": 1}}
        both = [{"establish": {"session": 0}}, {"establish": {"session": 1}}]
        return self.play({"register": {}}, *both, ping, {"deregister": {}}, ue=ue)

    def conformance(self, case, *more):
        """Cases of the conformance bench, of which none may fail or be left out."""
        local = [it for address in testbed.GNBS[:2] for it in ("--local", address)]
        command = [self.testbed.martlet, "ran", "conformance", "--amf", testbed.CORE, *local]
        command += ["--k", testbed.K, "--opc", testbed.OPC, "--ping", testbed.GATEWAY]
        command += ["--case", case, *more]
        return command

    def idle_and_paging(self):
        host = ["ip", "netns", "exec", self.testbed.core_ns, "ping", "-c", "3", "{ip}"]
        return self.play(
            {"register": {}},
            {"establish": {}},
            {"release_to_idle": {}},
            {"host": {"command": host}},
            {"ping": {"target": testbed.GATEWAY}},
            {"deregister": {}},
            ue={"netns": "auto"},
        )

    def n2_handover(self):
        return [Run(self.conformance("n2-handover"), 60)]

    def xn_handover(self):
        return [Run(self.conformance("xn-handover"), 60)]

    def gnb_restart(self):
        again = [{"gnb_abort": "gnb-1"}, {"wait": "300ms"}, {"gnb_connects": "gnb-1"}]
        return self.play({"register": {}}, *again, {"register_by_suci": {}}, {"deregister": {}})

    def core_restart(self):
        steps = [{"register": {}}, {"establish": {}}, {"deregister": {}}]
        command = [self.testbed.martlet, "ran", "-q", "-c", "scenario.yaml"]
        held = scenario([{"register": {}}, {"wait": "30s"}])
        other = {"gnb_id": 2, "n2_local": testbed.GNBS[1], "n3": testbed.GNBS[1]}
        return [
            Write("held.yaml", held),
            Start("held", [self.testbed.martlet, "ran", "-c", "held.yaml"]),
            Expect("held", "NG setup"),
            # The AMF stores the association within its flush interval.
            Wait(0.5),
            RestartCore(),
            Expect("held", "N2 connection ended"),
            Write("scenario.yaml", scenario(steps, first=2, gnb=other)),
            Run(command, 60),
        ]

    def deregistration(self):
        return self.play({"register": {}}, {"deregister": {}}, {"register": {}}, {"switch_off": {}})

    def fifty_ues(self):
        at_once = {"parallel": 50}
        steps = [{"register": at_once}, {"establish": at_once}, {"deregister": at_once}]
        return self.play(*steps, count=50)

    def slices(self):
        sessions = [
            {"dnn": "internet", "slice": "1"},
            {"dnn": "internet", "slice": "2-000002"},
        ]
        ue = {"slices": ["1", "2-000002"], "sessions": sessions}
        both = [{"establish": {"session": 0}}, {"establish": {"session": 1}}]
        return self.play({"register": {}}, *both, {"deregister": {}}, ue=ue, first=102)

    def wrong_key(self):
        ue = {"k": "0" * 31 + "1", "timers": {"t3520": "1s"}}
        return self.play({"register": {"expect": "failed"}}, ue=ue)
