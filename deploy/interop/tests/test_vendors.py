"""Each vendor's checks pass with the log of a success, and each of them can fail."""
import functools
import os
import re
import tempfile
import time
import unittest

import plan
import run
import testbed as harness
from cases import CASES
from tests import logs
from tests.replay import PART, Replay
from vendors import VENDORS
from vendors.free_ran_ue import GNB, FreeRanUe, ue
from vendors.oai import Oai
from vendors.ocudu import Ocudu
from vendors.packetrusher import PacketRusher, config
from vendors.ueransim import Ueransim

RADIO = {
    Ueransim: logs.UERANSIM,
    PacketRusher: logs.PACKETRUSHER,
    FreeRanUe: logs.FREE_RAN_UE,
    Ocudu: logs.OCUDU,
    Oai: logs.OAI,
}
CASE = {case.name: case for case in CASES}


def newest(vendor_type, testbed, lacking=()):
    """The vendor with programs that contain each text that is looked for, except some."""
    vendor = vendor_type(testbed, run.names_of(vendor_type))
    without = ("PDU session type [%s] is not supported", *lacking)
    vendor.has = lambda name, text: text not in without
    if isinstance(vendor, PacketRusher):
        vendor.is_list = True
    return vendor


def play(vendor_type, case, of_case, lacking=(), **arguments):
    """The verdict of a case with given logs."""
    testbed = Replay(of_case, **arguments)
    return testbed.play(newest(vendor_type, testbed, lacking), CASE[case])


def steps_of(vendor_type, case):
    """The steps of a case."""
    return newest(vendor_type, Replay({})).steps(case)


def all_cases():
    """Each case of each vendor of radio programs, with its logs."""
    for vendor_type, of_vendor in RADIO.items():
        for case, of_case in of_vendor.items():
            yield vendor_type, case, of_case


def without(text, pattern, first):
    """A log without the lines that match, except the first ones."""
    count, out = 0, []
    for line in text.splitlines(True):
        if re.search(pattern, line):
            count += 1
            if count > first:
                continue
        out.append(line)
    return "".join(out)


def for_each(check):
    """A test with a subtest for each case of each vendor."""

    @functools.wraps(check)
    def test(self):
        for vendor_type, case, of_case in all_cases():
            with self.subTest(f"{vendor_type.name}: {case}"):
                check(self, vendor_type, case, of_case)

    return test


class VendorChecks(unittest.TestCase):
    """Checks of all vendors of radio programs."""

    def test_each_case_has_logs_or_is_not_supported(self):
        for vendor_type, of_vendor in RADIO.items():
            for case in CASE:
                planned = steps_of(vendor_type, case)
                is_planned = not isinstance(planned, plan.NotSupported)
                self.assertEqual(is_planned, case in of_vendor, f"{vendor_type.name}: {case}")

    @for_each
    def test_a_success_passes(self, vendor_type, case, of_case):
        self.assertEqual(play(vendor_type, case, of_case), {"verdict": "passed"})

    @for_each
    def test_each_expectation_can_fail(self, vendor_type, case, of_case):
        for step in steps_of(vendor_type, case):
            if not isinstance(step, (plan.Expect, plan.Capture)):
                continue
            text = without(of_case[step.label], step.pattern, getattr(step, "count", 1) - 1)
            self.assertNotEqual(text, of_case[step.label], step)
            verdict = play(vendor_type, case, of_case | {step.label: text})["verdict"]
            self.assertNotEqual(verdict, "passed", step)

    @for_each
    def test_what_was_printed_before_a_command_is_no_evidence(self, vendor_type, case, of_case):
        early = {label: text.replace(PART, "") for label, text in of_case.items()}
        if early != of_case:
            self.assertEqual(play(vendor_type, case, early)["verdict"], "failed")

    @for_each
    def test_each_command_can_fail(self, vendor_type, case, of_case):
        number = 0
        for step in steps_of(vendor_type, case):
            number += isinstance(step, plan.COMMANDS)
            if isinstance(step, (plan.Run, plan.OnCore)):
                result = play(vendor_type, case, of_case, failing=number)
                self.assertEqual(result["verdict"], "failed", step)

    @for_each
    def test_what_must_not_happen_fails(self, vendor_type, case, of_case):
        for step in steps_of(vendor_type, case):
            if isinstance(step, plan.Never):
                others = RADIO[vendor_type]["registration-5g-aka"][step.label]
                bad = [it for it in others.splitlines(True) if re.search(step.pattern, it)]
                self.assertTrue(bad, step)
                worse = of_case | {step.label: of_case[step.label] + bad[0]}
                self.assertEqual(play(vendor_type, case, worse)["verdict"], "failed")

    @for_each
    def test_a_program_that_ends_passes_nothing(self, vendor_type, case, of_case):
        labels = {it.label for it in steps_of(vendor_type, case) if isinstance(it, plan.Start)}
        empty = {label: "cannot start\n" for label in labels}
        result = play(vendor_type, case, empty, ended=labels)
        self.assertEqual(result["verdict"], "failed")
        # No cause is shown, so Martlet may be at fault.
        self.assertNotIn("who", result)

    @for_each
    def test_labels_and_placeholders_are_known(self, vendor_type, case, _):
        started, captured = {plan.CORE}, set()
        for step in steps_of(vendor_type, case):
            if isinstance(step, (plan.Start, plan.StartOnCore)):
                started.add(step.label)
            elif isinstance(step, (plan.Expect, plan.Never, plan.Capture, plan.Stop)):
                self.assertIn(step.label, started)
            if isinstance(step, plan.Capture):
                captured.add(step.name)
            if isinstance(step, (plan.Run, plan.OnCore)):
                names = re.findall(r"\{(\w+)\}", " ".join(map(str, step.command)))
                self.assertLessEqual(set(names), captured)

    def test_counts_end_in_time(self):
        for vendor_type in (Ueransim, PacketRusher, FreeRanUe):
            of_case, counted = RADIO[vendor_type]["fifty-ues"], set()
            for step in steps_of(vendor_type, "fifty-ues"):
                if not isinstance(step, plan.Expect) or step.count == 1:
                    continue
                self.assertEqual(step.count, 50)
                counted.add(step.label)
                few = without(of_case[step.label], step.pattern, 49)
                few = without(few * 20, step.pattern, 49)
                began = time.monotonic()
                result = play(vendor_type, "fifty-ues", of_case | {step.label: few})
                self.assertEqual(result["verdict"], "failed")
                self.assertLess(time.monotonic() - began, 2, step)
            # What the UEs say, and what the core says.
            self.assertEqual(len(counted), 2)

    def test_data_is_sent_where_a_case_says_so(self):
        for vendor_type, case in ((it, case) for it in RADIO for case in RADIO[it]):
            steps = steps_of(vendor_type, case)
            pings = [it for it in steps if isinstance(it, (plan.Run, plan.OnCore))]
            pings = [type(it) for it in pings if "ping" in " ".join(map(str, it.command))]
            if case == "session-ipv4":
                self.assertIn(plan.Run, pings, vendor_type.name)
            if case == "idle-and-paging":
                self.assertIn(plan.OnCore, pings, vendor_type.name)


class Ueransims(unittest.TestCase):
    """What is special of UERANSIM."""

    def test_the_first_lines_of_the_ue_are_no_deregistration(self):
        case = logs.UERANSIM["deregistration"]
        began = case | {"ue": logs.U_SESSION + PART + logs.U_START}
        self.assertEqual(play(Ueransim, "deregistration", began)["verdict"], "failed")

    def test_eap_fails_for_the_cause_that_its_log_shows(self):
        case = "registration-eap-aka-prime"
        status = logs.ueransim(("nas", "warning", "Sending [SEMANTICALLY_INCORRECT_MESSAGE]"))
        of_case = {"gnb": logs.U_GNB, "ue": logs.U_START + status, "core": ""}
        self.assertEqual(play(Ueransim, case, of_case)["who"], "UE")
        # Without such a line, the core may be at fault.
        of_case["ue"] = logs.U_START
        self.assertNotIn("who", play(Ueransim, case, of_case))
        old = logs.ueransim(("nas", "error", "EAP AKA' not implemented yet. Use 5G AKA instead"))
        of_case["ue"] = logs.U_START + old
        self.assertEqual(play(Ueransim, case, of_case)["verdict"], "not supported")

    def test_versions_without_profile_b_are_not_at_fault(self):
        for text in (
            logs.ueransim(("nas", "error", "Protection Scheme 2 not implemented")),
            "ERROR: Field homeNetworkPublicKey has an invalid length\n",
        ):
            of_case = {"gnb": logs.U_GNB, "ue": text, "core": ""}
            self.assertEqual(play(Ueransim, "suci-b", of_case)["verdict"], "not supported")

    def test_stock_versions_have_no_handover(self):
        result = play(Ueransim, "n2-handover", {}, lacking=["Sending Handover Notify"])
        self.assertEqual(result["verdict"], "not supported")

    def test_the_core_takes_no_null_scheme_for_suci(self):
        self.assertIn("null_scheme: false", harness.core_config(Ueransim, "suci-a"))
        self.assertIn("null_scheme: true", harness.core_config(Ueransim, "ng-setup"))


class PacketRushers(unittest.TestCase):
    """What is special of PacketRusher."""

    # The keys of its configuration, which it decodes strictly.
    KEYS = set(
        "gnodeb controlif dataif ip port plmnlist mcc mnc tac gnbid slicesupportlist sst ue msin "
        "key opc amf sqn dnn routingindicator hplmn snssai integrity ciphering amfif logs level "
        "nia0 nia1 nia2 nia3 nea0 nea1 nea2 nea3".split()
    )
    SUCI = {"protectionScheme", "homeNetworkPublicKey", "homeNetworkPublicKeyID"}

    def keys(self, **values):
        """The keys of a configuration."""
        return set(re.findall(r"([A-Za-z]\w*):", config(**values)))

    def test_no_key_is_unknown(self):
        self.assertEqual(self.keys(), self.KEYS)
        self.assertEqual(self.keys(scheme=1), self.KEYS | self.SUCI)
        self.assertEqual(self.keys(kind="IPv6"), self.KEYS | {"pdusessiontype"})

    def test_the_amfs_are_a_list_in_current_versions(self):
        self.assertRegex(config(), r'amfif: \[\{ ip: "10\.77\.0\.1", port: 38412 \}\]')
        self.assertRegex(config(is_list=False), r'amfif: \{ ip: "10\.77\.0\.1", port: 38412 \}')

    def test_the_program_says_which_form_it_takes(self):
        for answer, expected in (("usage", True), ("Could not unmarshal yaml config", False)):
            with tempfile.TemporaryDirectory() as folder:
                program = os.path.join(folder, "packetrusher")
                with open(program, "w", encoding="utf-8") as file:
                    file.write(f"#!/bin/sh\necho '{answer}'\n")
                os.chmod(program, 0o755)
                vendor = PacketRusher(Replay({}), {"packetrusher": program})
                self.assertEqual(vendor.takes_list(), expected)

    def test_one_session_is_not_two(self):
        case = logs.PACKETRUSHER["several-sessions"] | {"packetrusher": logs.P_SESSION}
        self.assertEqual(play(PacketRusher, "several-sessions", case)["verdict"], "failed")
        unknown = logs.packetrusher(
            "[UE][NAS] Receiving PDU Session Establishment Accept about an unknown PDU Session, "
            "id: 2"
        )
        case["packetrusher"] += unknown
        self.assertEqual(play(PacketRusher, "several-sessions", case)["verdict"], "failed")

    def test_the_lines_of_the_newer_decoder_are_evidence(self):
        newer = (
            ("Receive Registration Accept", "Receive RegAccept"),
            ("Receive DL NAS Transport", "Receive DLNASTransport"),
            ("Receiving PDU Session Establishment Accept", "{session}"),
            ("[UE][NAS] PDU address received: 10.45.0.2", "[UE][NAS] PDU session DNN: internet"),
            ("[UE][NAS][MAC] Authenticity of the authentication request message: FAILED", ""),
            ("[UE][NAS] Send authentication failure with MAC failure", "[UE][NAS] Receive AuthRej"),
        )
        for case in ("registration-5g-aka", "session-ipv6", "several-sessions", "wrong-key"):
            of_case = logs.PACKETRUSHER[case]
            text = of_case["packetrusher"]
            for old, line in newer:
                text = text.replace(old, line)
            kind, address = "", "10.45.0.2"
            if case == "session-ipv6":
                kind, address = "IPv6 link-local ", "fe80::1"
            text = text.replace("{session}", f"PDU session 1 {kind}address: {address}")
            self.assertNotEqual(text, of_case["packetrusher"])
            result = play(PacketRusher, case, of_case | {"packetrusher": text})
            self.assertEqual(result["verdict"], "passed", case)

    def test_a_failed_handover_has_no_known_cause(self):
        for case in ("n2-handover", "xn-handover"):
            result = play(PacketRusher, case, logs.PACKETRUSHER["registration-5g-aka"])
            self.assertEqual(result["verdict"], "failed")
            self.assertNotIn("who", result)

    def test_older_versions_do_not_connect_again(self):
        case = logs.PACKETRUSHER["core-restart"] | {"packetrusher": logs.P_SESSION}
        lacking = ["re-establishing"]
        self.assertEqual(play(PacketRusher, "core-restart", case, lacking)["verdict"], "passed")

    def test_versions_without_tunnel_in_user_space_need_a_kernel_module(self):
        lacking = ["tunnel-backend"]
        result = play(PacketRusher, "session-ipv4", logs.PACKETRUSHER["session-ipv4"], lacking)
        has_module = os.path.exists("/sys/module/gtp5g")
        self.assertEqual(result["verdict"], "passed" if has_module else "not supported")

    def test_its_version_is_in_its_log(self):
        testbed = Replay(logs.PACKETRUSHER["registration-5g-aka"])
        vendor = newest(PacketRusher, testbed)
        testbed.play(vendor, CASE["registration-5g-aka"])
        self.assertEqual(vendor.version(), "v1.9.0")


class FreeRanUes(unittest.TestCase):
    """What is special of free-ran-ue."""

    def test_all_addresses_of_current_versions_are_written(self):
        wanted = "amfN2Ip ranN2Ip upfN3Ip ranN3Ip ranControlPlaneIp ranDataPlaneIp amfN2Port "
        wanted += "ranN2Port upfN3Port ranN3Port ranControlPlanePort ranDataPlanePort gnbId "
        wanted += "gnbName plmnId tai snssai api xnInterface"
        for key in wanted.split():
            self.assertIn(f"  {key}:", GNB)
        wanted = "ranControlPlaneIp ranDataPlaneIp ranControlPlanePort ranDataPlanePort plmnId "
        wanted += "msin accessType authenticationSubscription cipheringAlgorithm "
        wanted += "integrityAlgorithm pduSession nrdc ueTunnelDevice ignoreSetupTunnel"
        for key in wanted.split():
            self.assertIn(f"  {key}:", ue())
        # One algorithm of each kind.
        self.assertEqual(ue(nea=3, nia=1).count(": true"), 2)

    def test_the_core_has_its_network(self):
        self.assertIn('plmn: "20893"', harness.core_config(FreeRanUe, "ng-setup"))


class Functions(unittest.TestCase):
    """Functions in place of Martlet's."""

    def replacing(self):
        """The classes of the functions of others."""
        return [it for it in VENDORS if it.cases and it.name != "pfcpsim"]

    def ready(self, name):
        """What a function prints when it is ready."""
        return logs.READY.get(name) or logs.READY[name.split(" ")[0]]

    def test_a_function_that_is_ready_plays_its_cases(self):
        for vendor_type in self.replacing():
            label = "eupf" if vendor_type.name == "eUPF" else "function"
            for case in vendor_type.cases:
                with self.subTest(f"{vendor_type.name}: {case}"):
                    ready = {label: self.ready(vendor_type.name)}
                    self.assertEqual(play(vendor_type, case, ready), {"verdict": "passed"})
                    silent = {label: "starting\n"}
                    result = play(vendor_type, case, silent, registers=False)
                    self.assertEqual(result["verdict"], "failed")
                    self.assertNotIn("who", result)

    def beside(self, name, case, core, function=""):
        """The result of a case of a function, with the core's log while the UE is served."""
        vendor_type = next(it for it in VENDORS if it.name == name)
        served = sum(isinstance(it, plan.COMMANDS) for it in steps_of(vendor_type, case))
        logs_of_case = {plan.CORE: PART * served + core, "function": self.ready(name) + function}
        return play(vendor_type, case, logs_of_case)

    def test_a_core_that_does_without_a_function_fails(self):
        for name in ("free5GC PCF", "free5GC CHF", "free5GC NSSF", "Open5GS PCF", "Open5GS NSSF"):
            for line in logs.WITHOUT_A_FUNCTION:
                with self.subTest(name + line):
                    result = self.beside(name, "session-ipv4", line)
                    self.assertEqual(result["verdict"], "failed")
                    self.assertNotIn("who", result)
            result = self.beside(name, "session-ipv4", logs.RIGHTS)
            self.assertEqual(result, {"verdict": "passed"})

    def test_the_nssf_that_selects_for_sessions_alone_is_at_fault(self):
        not_used = logs.WITHOUT_A_FUNCTION[0]
        line = "11/29 12:00:09.000: [nssf] ERROR: Not implemented except PDU session\n"
        result = self.beside("Open5GS NSSF", "registration-5g-aka", not_used, line)
        self.assertEqual(result["who"], "NSSF")
        result = self.beside("Open5GS NSSF", "registration-5g-aka", "", line)
        self.assertEqual(result, {"verdict": "passed"})

    def test_a_function_is_used_in_each_of_its_cases(self):
        for vendor_type in self.replacing():
            function = vendor_type.name.split(" ")[-1]
            has_registration = "registration-5g-aka" in vendor_type.cases
            self.assertEqual(has_registration, function not in ("SMF", "UPF", "CHF", "eUPF"))
            for case in set(vendor_type.cases) - {"registration-5g-aka"}:
                scenario = [it for it in steps_of(vendor_type, case) if isinstance(it, plan.Write)]
                self.assertIn('"establish"', scenario[-1].text, f"{vendor_type.name}: {case}")

    def test_the_chf_that_denies_a_release_is_at_fault(self):
        for log, who in ((logs.CHF_RELEASES, "CHF"), (logs.CHF_RELEASES.split("\n")[0], None)):
            result = self.beside("free5GC CHF", "session-ipv4", logs.NOT_RELEASED, log)
            self.assertEqual((result["verdict"], result.get("who")), ("failed", who))

    def test_the_core_asks_the_functions_that_it_could_do_without(self):
        chf = next(it for it in VENDORS if it.name == "free5GC CHF")
        core = harness.core_config(newest(chf, Replay({})), "session-ipv4")
        self.assertIn("charging: { mode: offline, on_failure: refuse }", core)
        self.assertIn("\n  sdm_v1: true\n  empty_subscriptions: true\nsbi:", core)
        upf = next(it for it in VENDORS if it.name == "free5GC UPF")
        core = harness.core_config(newest(upf, Replay({})), "session-ipv4")
        self.assertIn("smf: { upfs: [{ n4: 127.0.0.8:8805, n3_address: 10.77.0.1 }] }", core)
        nssf = next(it for it in VENDORS if it.name == "free5GC NSSF")
        self.assertIn('tac: "000001"', newest(nssf, Replay({})).config())

    def test_the_version_of_free5gc_is_in_its_log(self):
        ausf = next(it for it in VENDORS if it.name == "free5GC AUSF")
        for text in (self.ready("free5GC AUSF"), r"AUSF version: \n\tfree5GC version: v4.1.0\n\tb"):
            testbed = Replay({"function": text})
            vendor = newest(ausf, testbed)
            testbed.play(vendor, CASE["registration-5g-aka"])
            self.assertEqual(vendor.version(), "v4.1.0")

    def test_the_core_leaves_each_function_out(self):
        for vendor_type in self.replacing():
            vendor = newest(vendor_type, Replay({}))
            function = vendor_type.name.split(" ")[-1].lower().replace("eupf", "upf")
            self.assertIn(f"external: [{function}]", vendor.core)

    def test_an_nrf_starts_before_the_core(self):
        for vendor_type in self.replacing():
            before = newest(vendor_type, Replay({})).before_core()
            self.assertEqual(bool(before), vendor_type.name.endswith(" NRF"), vendor_type.name)

    def test_the_version_of_the_configuration_is_that_of_the_installed_file(self):
        ausf = next(it for it in VENDORS if it.name == "free5GC AUSF")
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "ausfcfg.yaml")
            with open(file, "w", encoding="utf-8") as out:
                out.write("info:\n  version: 1.0.9\n  description: AUSF\n")
            vendor = ausf(Replay({}), {"ausf": "ausf", "config": file})
            self.assertIn("version: 1.0.9,", vendor.config())
        self.assertIn("version: 1.0.3,", ausf(Replay({}), {"ausf": "ausf"}).config())


if __name__ == "__main__":
    unittest.main()
