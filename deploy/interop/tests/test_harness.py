"""What the harness writes: the page, the matrix, the database's messages, the programs it finds."""
import os
import pathlib
import tempfile
import unittest

import mongodb
import plan
import run
from cases import CASES
from plan import Cause
from tests.replay import Replay
from vendors import RADIO, VENDORS

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "interop.md"


def rows(text):
    """The rows of all tables, as lists of cells."""
    return [
        [cell.strip() for cell in line.strip("| ").split(" | ")]
        for line in text.splitlines()
        if line.startswith("| ")
    ]


class Pages(unittest.TestCase):
    """docs/interop.md is as new as the harness."""

    def setUp(self):
        _, rest = PAGE.read_text(encoding="utf-8").split(run.BEGIN, 1)
        self.matrix, _ = rest.split(run.END, 1)

    def test_the_matrix_has_all_cases_and_vendors(self):
        table = rows(self.matrix)
        head = table[0]
        self.assertEqual(head[:2], ["case", "clause"])
        for title, vendor in zip(head[2:], RADIO, strict=True):
            self.assertTrue(title.startswith(vendor.name), title)
        first = [(row[0], row[1]) for row in table[2 : 2 + len(CASES)]]
        self.assertEqual(first, [(case.title, case.clause) for case in CASES])

    def test_the_table_of_functions_has_all(self):
        names = [row[0] for row in rows(self.matrix.split("| function | version |")[1])]
        functions = [vendor.name for vendor in VENDORS if vendor.cases]
        self.assertEqual([it for it in names if it in functions][: len(functions)], functions)


class Matrices(unittest.TestCase):
    """The page that the command writes."""

    def test_the_core_knows_no_function_ue_or_session_of_an_earlier_case(self):
        smf = next(vendor for vendor in VENDORS if vendor.name == "free5GC SMF")
        testbed = Replay({})
        names = ("nrf.db-wal", "amf.db", "smf.db")
        old = [testbed.folder / f"martlet.{name}" for name in names]
        subscribers = testbed.folder / "martlet.db"
        for file in [*old, subscribers]:
            file.write_text("of an earlier case")
        testbed.play(smf(testbed, {"smf": "smf"}), CASES[0])
        self.assertTrue(all(file.exists() for file in old))
        deregistration = next(case for case in CASES if case.name == "deregistration")
        testbed.play(smf(testbed, {"smf": "smf"}), deregistration)
        self.assertFalse(any(file.exists() for file in old))
        self.assertTrue(subscribers.exists())

    def test_verdicts_and_causes_are_written(self):
        failed = {"verdict": "failed", "why": "ue: no 'x'", "who": "UE"}
        failed |= {"clause": "TS 24.501", "martlet": "#81"}
        results = {
            "UERANSIM": {
                "ng-setup": {"verdict": "passed"},
                "suci-b": {"verdict": "not supported", "why": "profile A alone"},
                "wrong-key": failed,
            },
            "eUPF": {"session-ipv4": {"verdict": "passed"}},
        }
        text = run.markdown(results, {"UERANSIM": "v3.3.0", "eUPF": "v0.7.1"}, "0.2.0")
        self.assertIn("| NG setup | TS 38.413, 8.7.1 | passed |", text)
        self.assertIn("| UERANSIM | SUCI, profile B | profile A alone |", text)
        self.assertIn("| UERANSIM | a UE with a wrong key is rejected | ue: no 'x' | UE |", text)
        self.assertIn("| eUPF | v0.7.1 | passed |", text)

    def test_only_failures_without_a_known_cause_fail_the_command(self):
        known = {"verdict": "failed", "who": "UE"}
        self.assertEqual(run.exit_code({"a": {"x": known, "y": {"verdict": "passed"}}}), 0)
        self.assertEqual(run.exit_code({"a": {"x": {"verdict": "failed"}}}), 1)


class Programs(unittest.TestCase):
    """The programs below a folder."""

    def test_alternatives_and_optional_files_are_found(self):
        amf = next(vendor for vendor in VENDORS if vendor.name == "free5GC AMF")
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run.programs_of(amf, folder), "amf")
            program = pathlib.Path(folder, "bin", "free5gc-amf")
            program.parent.mkdir()
            program.write_text("")
            # Not a program yet.
            self.assertEqual(run.programs_of(amf, folder), "amf")
            os.chmod(program, 0o755)
            self.assertEqual(run.programs_of(amf, folder), {"amf": str(program.resolve())})
            config = pathlib.Path(folder, "amfcfg.yaml")
            config.write_text("info: { version: 1.0.9 }\n")
            self.assertEqual(run.programs_of(amf, folder)["config"], str(config.resolve()))

    def test_an_amf_with_sctp_in_user_space_runs_where_the_kernel_lacks_it(self):
        amf = next(vendor for vendor in VENDORS if vendor.name == "free5GC AMF")
        testbed = Replay({})
        deregistration = [case for case in CASES if case.name == "deregistration"]
        with tempfile.TemporaryDirectory() as folder:
            for name in ("free5gc-amf", "free5gc-amf-user-space"):
                pathlib.Path(folder, name).write_text("")
            os.chmod(pathlib.Path(folder, "free5gc-amf"), 0o755)
            testbed.has_kernel_sctp = lambda: False
            _, results = run.play(amf, testbed, folder, deregistration, True)
            self.assertEqual(results["deregistration"]["why"], "needs the kernel's SCTP")
            for with_kernel, program in ((False, "free5gc-amf-user-space"), (True, "free5gc-amf")):
                os.chmod(pathlib.Path(folder, "free5gc-amf-user-space"), 0o755)
                testbed.has_kernel_sctp = lambda answer=with_kernel: answer
                started = []
                testbed.spawn = lambda label, command, _: started.append(command)
                run.play(amf, testbed, folder, deregistration, True)
                self.assertEqual(pathlib.Path(started[0][4]).name, program)

    def test_functions_with_a_database_are_not_run_without_one(self):
        udr = next(vendor for vendor in VENDORS if vendor.name == "Open5GS UDR")
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "open5gs-udrd")
            program.write_text("")
            os.chmod(program, 0o755)
            _, results = run.play(udr, Replay({}), folder, CASES[:1], True)
        self.assertEqual(results["ng-setup"]["why"], "needs MongoDB: mongod is not installed")


class Databases(unittest.TestCase):
    """Documents for MongoDB."""

    def test_a_message_is_as_the_protocol_describes_it(self):
        # BSON: {"a": 1, "b": ["x", true], "c": null}
        body = bytes.fromhex(
            "24000000" "106100" "01000000" "046200" "12000000" "023000" "0200000078" "00"
            "083100" "01" "00" "0a6300" "00"
        )
        self.assertEqual(mongodb.document({"a": 1, "b": ["x", True], "c": None}), body)
        insert = {"insert": "ues", "documents": [{"a": 1}], "$db": "db"}
        message = mongodb.message(insert)
        self.assertEqual(int.from_bytes(message[:4], "little"), len(message))
        self.assertEqual(int.from_bytes(message[12:16], "little"), 2013)
        self.assertIn(b"\x02insert\0\x04\0\0\0ues\0", message)
        self.assertIn(b"\x04documents\0", message)
        self.assertIn(b"\x02$db\0\x03\0\0\0db\0", message)


    def test_a_case_does_not_see_the_database_of_an_earlier_one(self):
        with_database = [vendor for vendor in VENDORS if getattr(vendor, "mongodb", False)]
        of_free5gc = [vendor for vendor in with_database if vendor.name.startswith("free5GC")]
        self.assertEqual(len(of_free5gc), 4)
        for vendor in of_free5gc:
            found = {vendor.function: "program"}
            steps = vendor(Replay({}), found).start()
            self.assertIsInstance(steps[0], plan.Drop, vendor.name)


class Causes(unittest.TestCase):
    """Known causes of failures."""

    def test_each_pattern_has_to_match(self):
        cause = Cause("UE", "", "", (("ue", "a+"), (plan.CORE, "b")))
        logs = {"ue": "aa", plan.CORE: "b"}
        self.assertTrue(cause.is_shown(logs.get))
        self.assertFalse(cause.is_shown((logs | {plan.CORE: ""}).get))
        self.assertFalse(cause.is_shown((logs | {"ue": ""}).get))

    def test_each_known_cause_is_bound_to_a_log(self):
        for vendor in VENDORS:
            for case, causes in vendor.known.items():
                self.assertIn(case, {it.name for it in CASES})
                for cause in causes:
                    self.assertTrue(cause.shown_by, vendor.name)
                    # An empty log shows nothing.
                    self.assertFalse(cause.is_shown(lambda label: ""), vendor.name)


if __name__ == "__main__":
    unittest.main()
