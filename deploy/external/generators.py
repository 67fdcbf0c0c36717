#!/usr/bin/env python3
"""Compares martlet-lab with an independent generator of load, on the same cores in the same run.

    sudo deploy/external/generators.py --lab target/release/martlet-lab --programs DIR \\
        --start deploy/external/martlet.sh --start deploy/external/free5gc-functions.sh

DIR has the programs of the cores, and `free5gc-gnb`: a gNB and a UE of free5GC's codecs and Pion's
SCTP (`go build` in tests/interop/free5gc-gnb). Each script of --start starts a core in a network
namespace of its own, as for `martlet-lab control-plane --core external`. Then the generators take
turns, in passes of some rounds: one UE registers, establishes a session and deregisters. Both
define the times alike:

    latency   from the first uplink message, just before SCTP takes it, to the final downlink
              message, when SCTP has returned it (INITIAL CONTEXT SETUP REQUEST; PDU SESSION
              RESOURCE SETUP REQUEST)
    own       what the generator needs in it, from each downlink message to the uplink message that
              follows it
    core      the rest, which waits for the core
    wire      the core's part between the packets of the loopback interface, by the kernel's time
              stamps: without the SCTP stack and the runtime of the generator

The exit code is 1 if the generators differ by more than --limit in the compared time, which is the
core's part. The latency contains what each generator needs itself. A pair of passes in which the
core fails is repeated with a new core, which the report states.
"""
import argparse
import csv
import ctypes
import json
import os
import platform
import re
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from datetime import date
from pathlib import Path

AMF, GNB = "127.60.0.5", "127.60.0.103"
PLMN, TAC, DNN = "00101", "1", "internet"
IMSI = "001010000000001"
# The keys of martlet-lab's subscribers.
KEY, OPC = "46" * 16, "cd" * 16
PROCEDURES = {"registration": "registration", "pdu_session": "PDU session"}
LAB, OTHER = "martlet-lab", "free5gc-gnb"
# The times of a sample, in the order of its lists.
PARTS = ("latency", "core", "wire")
# How long a core may take to start, and a pass to end.
START_S, PASS_S = 180, 600
# How often a pair of passes is tried: a core can fail under load, and is then started again.
ATTEMPTS = 4


# NGAP procedure codes (TS 38.413, 9.4.7), and SCTP's payload protocol of NGAP.
INITIAL_UE_MESSAGE, UPLINK_NAS_TRANSPORT = 15, 46
INITIAL_CONTEXT_SETUP, SESSION_SETUP, NGAP = 14, 29, 60
# Linux: time stamps in nanoseconds, a receive buffer beyond the limit, a filter of packets.
SO_TIMESTAMPNS, SO_RCVBUFFORCE, SO_ATTACH_FILTER = 35, 33, 26


class PassFailed(Exception):
    """A generator ended without the result of each round."""


class Core:
    """A core that a script started. Use it as a context manager."""

    def __init__(self, script, args, folder):
        self.script, self.folder = Path(script).resolve(), folder
        self.slice, self.programs = args.slice, args.programs
        self.process = None

    def environment(self):
        """What a script of --start needs to know: see martlet.sh."""
        values = {
            "FOLDER": self.folder,
            "AMF": AMF,
            "PLMN": PLMN,
            "TAC": TAC,
            "SLICE": self.slice,
            "DNN": DNN,
            "FIRST_IMSI": IMSI,
            "SUBSCRIBERS": "2",
            "KEY": KEY,
            "OPC": OPC,
            "PROGRAMS": self.programs,
        }
        named = {f"MARTLET_LAB_{name}": str(value) for name, value in values.items() if value}
        return os.environ | named

    def __enter__(self):
        log = self.folder / "external.log"
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [self.script],
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        until = time.monotonic() + START_S
        while "ready" not in log.read_text(errors="replace").splitlines():
            if self.process.poll() is not None or time.monotonic() > until:
                self.__exit__()
                sys.exit(f"{self.script} did not start a core:\n{log.read_text(errors='replace')}")
            time.sleep(0.1)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def rows_of(lines):
    """Latency and core time of each procedure in milliseconds, from rows of CSV."""
    times = {name: [] for name in PROCEDURES}
    for row in csv.DictReader(lines):
        if row["procedure"] in times:
            latency, core = float(row["latency_us"]) / 1e3, float(row["core_us"]) / 1e3
            times[row["procedure"]].append((latency, core))
    return times


def run_lab(args, folder):
    """A pass of martlet-lab."""
    command = [args.lab, "control-plane", "--core", "external", "--amf", AMF, "--slice", args.slice]
    command += ["--procedures", "registration,pdu-session", "--ues", "1", "--many", "0"]
    command += ["--rounds", str(args.rounds), "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PASS_S, check=False)
    if done.returncode:
        raise PassFailed(f"martlet-lab failed:\n{done.stdout}{done.stderr}")
    return rows_of((folder / "raw.csv").read_text().splitlines())


def run_other(args, _folder):
    """A pass of the other generator."""
    command = [args.generator, "-local", GNB, "-amf", AMF, "-imsi", IMSI, "-key", KEY, "-opc", OPC]
    command += ["-dnn", DNN, "-slice", args.slice, "-measure", str(args.rounds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PASS_S, check=False)
    if done.returncode:
        raise PassFailed(f"{args.generator} failed:\n{done.stdout}{done.stderr}")
    return rows_of(done.stdout.splitlines())


GENERATORS = {LAB: run_lab, OTHER: run_other}


class Wire:
    """The SCTP packets on the loopback interface, with the kernel's time stamps. Use it as a
    context manager."""

    def __init__(self):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        # Classic BPF: the byte 9 of the IP header is the protocol, 132 is SCTP.
        code = [(0x30, 0, 0, 9), (0x15, 0, 1, 132), (0x06, 0, 0, 0xFFFF), (0x06, 0, 0, 0)]
        self.code = struct.pack("HBBI" * 4, *[field for line in code for field in line])
        self.buffer = ctypes.create_string_buffer(self.code)
        program = struct.pack("HL", len(code), ctypes.addressof(self.buffer))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self.socket.bind(("lo", 0x0800))
        self.socket.settimeout(0.2)
        self.packets, self.ended = [], threading.Event()
        self.thread = threading.Thread(target=self.receive)

    def receive(self):
        """Keeps what is received: on the loopback interface, each packet is also one sent."""
        while not self.ended.is_set():
            try:
                data, control, _, address = self.socket.recvmsg(65536, 128)
            except TimeoutError:
                continue
            if address[2] == socket.PACKET_HOST and control:
                seconds, nanoseconds = struct.unpack("ll", control[0][2][:16])
                self.packets.append((seconds * 1e3 + nanoseconds / 1e6, data))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.socket.close()

    def messages(self):
        """The NGAP messages: time in milliseconds, whether the AMF sent it, whether it begins a
        procedure, and the procedure code."""
        for at, packet in self.packets:
            is_down = socket.inet_ntoa(packet[12:16]) == AMF
            chunk = 4 * (packet[0] & 15) + 12
            while chunk + 4 <= len(packet):
                kind, flags, length = struct.unpack("!BBH", packet[chunk : chunk + 4])
                # DATA with the beginning of a message (RFC 9260, 3.3.1).
                if kind == 0 and flags & 2 and length > 18:
                    (protocol,) = struct.unpack("!I", packet[chunk + 12 : chunk + 16])
                    if protocol == NGAP:
                        yield at, is_down, packet[chunk + 16] == 0, packet[chunk + 17]
                chunk += max(4, (length + 3) & ~3)

    def times(self):
        """The core's part of each procedure in milliseconds."""
        times = {name: [] for name in PROCEDURES}
        # The last uplink message that no downlink message followed, and the last with a NAS
        # message: an AMF may send other messages between.
        asked, requested, waited = None, None, None
        for at, is_down, begins, code in self.messages():
            if not is_down:
                if begins and code == INITIAL_UE_MESSAGE:
                    waited = 0.0
                if begins and code == UPLINK_NAS_TRANSPORT:
                    requested = at
                asked = at
                continue
            if code == SESSION_SETUP and begins and requested is not None:
                times["pdu_session"].append(at - requested)
                requested = None
            elif waited is not None and begins:
                waited += 0.0 if asked is None else at - asked
                if code == INITIAL_CONTEXT_SETUP:
                    times["registration"].append(waited)
                    waited = None
            asked = None
        return times


def pair(number, args, folder):
    """A pass of each generator, by name."""
    names = list(GENERATORS)
    times = {}
    # Each generator is first as often as the other.
    for name in names if number % 2 == 0 else reversed(names):
        with Wire() as wire:
            measured = GENERATORS[name](args, folder / f"pass-{number}-{name}")
        short = [it for it, samples in measured.items() if len(samples) != args.rounds]
        if short:
            raise PassFailed(f"{name}: not each round completed: {', '.join(short)}")
        # Rounds that are not measured, such as the first ones, are few.
        on_wire = wire.times()
        if any(len(samples) < args.rounds for samples in on_wire.values()):
            counts = {procedure: len(samples) for procedure, samples in on_wire.items()}
            raise PassFailed(f"{name}: packets of the loopback interface were lost: {counts}")
        times[name] = {
            procedure: [*zip(*samples, strict=True), on_wire[procedure]]
            for procedure, samples in measured.items()
        }
    return times


def measure(script, args, folder):
    """All passes against one core: a list for each generator, in pairs. A pair that fails is
    repeated with a new core; the second value is the number of such repetitions."""
    passes, repeated, failed = {name: [] for name in GENERATORS}, 0, 0
    number = 0
    while number < args.passes:
        own = folder / f"core-{repeated}"
        own.mkdir(parents=True)
        with Core(script, args, own):
            try:
                while number < args.passes:
                    for name, times in pair(number, args, own).items():
                        passes[name].append(times)
                    number, failed = number + 1, 0
                    print(f"{Path(script).stem}: pass {number} of {args.passes}", file=sys.stderr)
            except PassFailed as error:
                repeated, failed = repeated + 1, failed + 1
                what = f"{Path(script).stem}: pass {number + 1}"
                if failed == ATTEMPTS:
                    sys.exit(f"{what} failed {failed} times: {error}")
                print(f"{what} is repeated with a new core, since {error}", file=sys.stderr)
    return passes, repeated


def median(passes, procedure, part):
    """The median of all samples of passes, of one of PARTS."""
    return statistics.median(sample for times in passes for sample in times[procedure][part])


def ratios(passes, procedure, part):
    """martlet-lab's median over the other generator's, for each pair of passes."""
    pairs = zip(passes[LAB], passes[OTHER], strict=True)
    return [median([a], procedure, part) / median([b], procedure, part) for a, b in pairs]


def figures(passes):
    """The figures of one core, by procedure."""
    result = {}
    for procedure in PROCEDURES:
        of = {}
        for name in GENERATORS:
            own = statistics.median(
                latency - core
                for times in passes[name]
                for latency, core in zip(*times[procedure][:2], strict=True)
            )
            medians = [median(passes[name], procedure, part) for part in range(len(PARTS))]
            of[name] = dict(zip(PARTS, medians, strict=True)) | {"own": own}
        for part, what in enumerate(PARTS):
            each = ratios(passes, procedure, part)
            of[f"{what}_ratio"] = {
                "median": statistics.median(each),
                "low": min(each),
                "high": max(each),
            }
        result[procedure] = of
    return result


def agrees(of, limit):
    """Whether the generators agree on one procedure."""
    return abs(of["core_ratio"]["median"] - 1) <= limit


def markdown(results, repeated, args):
    """The tables of the report."""
    machine = f"Linux {platform.release()}, {os.cpu_count()} CPUs"
    lines = [
        f"{date.today().isoformat()}, {machine}; {args.passes} passes of {args.rounds} rounds with "
        "each generator. Medians in ms:",
        "",
        "| core | procedure | generator | latency | core's part | on the wire | own |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for core, procedures in results.items():
        for procedure, of in procedures.items():
            for name in GENERATORS:
                times = " | ".join(f"{of[name][part]:.2f}" for part in (*PARTS, "own"))
                lines.append(f"| {core} | {PROCEDURES[procedure]} | {name} | {times} |")
    lines += [
        "",
        f"{LAB} over {OTHER}, median of the pairs of passes, and the smallest and largest pair:",
        "",
        f"| core | procedure | core's part | on the wire | latency | within {args.limit:.0%} |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for core, procedures in results.items():
        for procedure, of in procedures.items():
            each = [of[f"{part}_ratio"] for part in ("core", "wire", "latency")]
            cells = " | ".join(
                f"{r['median']:.2f} ({r['low']:.2f} to {r['high']:.2f})" for r in each
            )
            verdict = "yes" if agrees(of, args.limit) else "no"
            lines.append(f"| {core} | {PROCEDURES[procedure]} | {cells} | {verdict} |")
    for core, times in repeated.items():
        if times:
            lines += ["", f"{core} was started again {times} times, since a pass had no result."]
    return "\n".join(lines) + "\n"


def name_of(script, names):
    """The name of a core: that of its script, with a number if the name is taken."""
    stem = re.sub(r"[^\w-]", "-", Path(script).stem)
    return stem if stem not in names else f"{stem}-{len(names) + 1}"


def arguments():
    """The options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lab", required=True, help="the program martlet-lab")
    parser.add_argument("--programs", help="folder of the cores' programs")
    parser.add_argument("--generator", help=f"the other generator; default: {OTHER} of --programs")
    parser.add_argument("--start", action="append", required=True, help="script that starts a core")
    parser.add_argument("--slice", default="1-010203", help="slice of the cores: SST, or SST-SD")
    parser.add_argument("--rounds", type=int, default=50, help="rounds of a pass")
    parser.add_argument("--passes", type=int, default=6, help="passes of each generator")
    parser.add_argument("--limit", type=float, default=0.1, help="difference that is accepted")
    parser.add_argument("--folder", help="folder for files and logs, which stay there")
    parser.add_argument("--text", type=Path, help="file for the tables")
    parser.add_argument("--json", type=Path, help="file for all figures")
    args = parser.parse_args()
    if args.generator is None:
        if args.programs is None:
            parser.error("--generator or --programs is missing")
        args.generator = str(Path(args.programs) / OTHER)
    for path in (args.lab, args.generator, *args.start):
        if not os.access(path, os.X_OK):
            parser.error(f"no program {path}")
    if args.programs:
        args.programs = str(Path(args.programs).resolve())
    return args


def enter_namespace():
    """Runs this program again in a network namespace of its own, and sets its loopback up."""
    if os.environ.get("MARTLET_GENERATORS") != "inside":
        os.environ["MARTLET_GENERATORS"] = "inside"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def main():
    """Measures all cores, and prints the tables."""
    args = arguments()
    enter_namespace()
    results, repeated = {}, {}
    with tempfile.TemporaryDirectory(prefix="martlet-generators-") as temporary:
        folder = Path(args.folder or temporary).resolve()
        for script in args.start:
            name = name_of(script, results)
            passes, repeated[name] = measure(script, args, folder / name)
            results[name] = figures(passes)
    text = markdown(results, repeated, args)
    print(text)
    if args.text:
        args.text.write_text(text)
    if args.json:
        args.json.write_text(json.dumps(results, indent=1) + "\n")
    each = [of for procedures in results.values() for of in procedures.values()]
    return int(not all(agrees(of, args.limit) for of in each))


if __name__ == "__main__":
    sys.exit(main())
