"""The testbed: a core and a radio side in their own network namespaces, and a link between them."""
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import plan

CORE = "10.77.0.1"
# Addresses of gNBs, on the other side of the link.
GNBS = [f"10.77.0.{n}" for n in range(2, 12)]
# The gateway of UEs, which answers pings.
GATEWAY = "10.45.0.1"
K = "465b5ce8b199b49faa5f0a2ee238a6bc"
OPC = "e8ed289deba952e4283b54e88e6183ca"
MCC, MNC = "001", "01"
# The test keys of TS 33.501, annex C.4.
PROFILE_A = (
    "c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d",
    "5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650",
)
PROFILE_B = (
    "f1ab1074477ebcc7f554ea1c5fc368b1616730155e0041ac447d6301975fecda",
    "0272da71976234ce833a6907425867b82e074d44ef907dfb4b3e21c1c2256ebcd1",
)

CORE_CONFIG = f"""\
network:
  plmn: "{MCC}{MNC}"
  tacs: [1]
  slices: [{{ sst: 1 }}, {{ sst: 2, sd: "000002" }}]
amf:
  n2: {{ bind: [{CORE}] }}
  security: {{ integrity: [NIA2, NIA1, NIA3], ciphering: [NEA2, NEA1, NEA3, NEA0] }}
upf:
  n3: {{ address: "{CORE}:2152" }}
  # The core's SMF, and another one beside it.
  n4: {{ allow: [127.0.0.7, {CORE}] }}
  n6: {{ mode: routing, pools6: ["fd45::/48"] }}
udm:
  home_network_keys:
    - {{ id: 1, scheme: A, private: "{PROFILE_A[0]}" }}
    - {{ id: 2, scheme: B, private: "{PROFILE_B[0]}" }}
"""


def imsi(number):
    """The IMSI of a subscriber, counted from 1."""
    return f"{MCC}{MNC}{number:010}"


class Failure(Exception):
    """A step that did not succeed."""


class Testbed:
    """Namespaces and the core. Use it as a context manager."""

    def __init__(self, martlet, folder):
        self.martlet = str(Path(martlet).resolve())
        self.folder = Path(folder)
        self.core_ns = f"mi-core-{os.getpid()}"
        self.ran_ns = f"mi-ran-{os.getpid()}"
        self.core = None
        self.programs = {}
        self.case_folder = self.folder

    def __enter__(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            self.connect()
            self.provision()
            self.start_core()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.stop_all()
        self.stop_core()
        for namespace in (self.core_ns, self.ran_ns):
            subprocess.run(["ip", "netns", "del", namespace], check=False, capture_output=True)

    def connect(self):
        """The namespaces and their link."""
        core, ran = self.core_ns, self.ran_ns
        commands = [f"netns add {core}", f"netns add {ran}"]
        commands += [f"-n {core} link add mi0 type veth peer name mi1 netns {ran}"]
        commands += [f"-n {core} addr add {CORE}/24 dev mi0"]
        commands += [f"-n {ran} addr add {address}/24 dev mi1" for address in GNBS]
        commands += [f"-n {core} link set mi0 up", f"-n {ran} link set mi1 up"]
        commands += [f"-n {namespace} link set lo up" for namespace in (core, ran)]
        for command in commands:
            subprocess.run(["ip", *command.split()], check=True)

    def configure(self, more):
        """Writes the core's configuration."""
        # Sockets of its own, so that another core of this machine is not disturbed.
        socket = json.dumps(str(self.folder.resolve() / "fabric.sock"))
        config = f"{CORE_CONFIG}fabric: {{ socket: {socket} }}\n{more}"
        file = self.folder / "core.yaml"
        if file.exists() and file.read_text() != config:
            # Another vendor's core.
            self.stop_core()
        file.write_text(config)

    def provision(self):
        """Writes the configuration, and adds the subscribers."""
        self.configure("")
        keys = self.folder / "keys"
        keys.write_text(f"key: {K}\nopc: {OPC}\n")

        def add(*arguments):
            command = [self.martlet, "subscriber", "add", "-c", "core.yaml"]
            command += ["--key-file", str(keys), *arguments]
            subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

        add(imsi(1), "--count", "60")
        add(imsi(101), "--method", "eap-aka-prime")
        add(imsi(102), "--slice", "1", "--slice", "2-000002")
        ipv6 = self.folder / "ipv6.csv"
        row = f"{imsi(103)},{K},{OPC},internet,IPV4;IPV6;IPV4V6"
        ipv6.write_text(f"imsi,key,opc,dnn,types\n{row}\n")
        command = [self.martlet, "subscriber", "import", "-c", "core.yaml", str(ipv6)]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

    def start_core(self):
        """Starts the core and waits until it is ready."""
        log = open(self.folder / "core.log", "ab")
        command = ["ip", "netns", "exec", self.core_ns, self.martlet, "up", "-c", "core.yaml"]
        self.core = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        log_file = self.folder / "core.log"
        started = log_file.stat().st_size
        until = time.monotonic() + 30
        while time.monotonic() < until:
            text = log_file.read_text(errors="replace")[max(0, started - 1) :]
            if self.core.poll() is not None:
                raise Failure(f"the core ended: {log_file.read_text(errors='replace')[-2000:]}")
            # A function of another vendor starts later.
            config = (self.folder / "core.yaml").read_text()
            awaited = [] if "external: [amf]" in config else ["listening for gNBs"]
            if "external: [smf]" not in config and "external: [upf]" not in config:
                awaited.append("associat")
            if all(re.search(wanted, text) for wanted in [*awaited, "started|listening|ready"]):
                return
            time.sleep(0.05)
        raise Failure(f"the core is not ready: {log_file}")

    def stop_core(self, kill=False):
        """Stops the core."""
        if self.core is None:
            return
        self.core.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        try:
            self.core.wait(20)
        except subprocess.TimeoutExpired:
            self.core.kill()
            self.core.wait()
        self.core = None

    def has_kernel_sctp(self):
        """Whether the kernel has SCTP."""
        subprocess.run(["modprobe", "-q", "sctp"], check=False, capture_output=True)
        return Path("/proc/net/sctp").exists()

    def stop_all(self):
        """Stops the programs of a case."""
        for label in list(self.programs):
            self.stop(label, kill=True)

    def stop(self, label, kill=False):
        """Stops one program."""
        program, _ = self.programs.pop(label, (None, None))
        if program is None:
            return
        program.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        try:
            program.wait(10)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()

    def beside(self, command):
        """The command in the radio side's namespace."""
        return ["ip", "netns", "exec", self.ran_ns, *map(str, command)]

    def run(self, command, seconds, fails=False):
        """Runs a command to its end."""
        try:
            done = subprocess.run(
                command, cwd=self.case_folder, timeout=seconds, check=False, capture_output=True
            )
        except subprocess.TimeoutExpired as error:
            raise Failure(f"{' '.join(command[4:])}: no end within {seconds} s") from error
        if (done.returncode != 0) != fails:
            output = (done.stdout + done.stderr).decode(errors="replace").strip()
            raise Failure(f"{' '.join(command[4:])}: exit code {done.returncode}: {output[-600:]}")

    def output(self, label):
        """What a program has printed."""
        _, log = self.programs[label]
        return log.read_text(errors="replace")

    def execute(self, step):
        """Executes one step."""
        match step:
            case plan.Write(name, text):
                (self.case_folder / name).write_text(text)
            case plan.Start(label, command, environment):
                log = self.case_folder / f"{label}.log"
                with open(log, "ab") as output:
                    program = subprocess.Popen(
                        self.beside(command),
                        cwd=self.case_folder,
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=output,
                        env=os.environ | environment,
                    )
                self.programs[label] = (program, log)
            case plan.Expect(label, pattern, seconds):
                self.expect(label, pattern, seconds)
            case plan.Never(label, pattern, seconds):
                time.sleep(seconds)
                if re.search(pattern, self.output(label)):
                    raise Failure(f"{label}: {pattern!r} in the output")
            case plan.Run(command, seconds, fails):
                self.run(self.beside(command), seconds, fails)
            case plan.StartOnCore(label, command):
                log = self.case_folder / f"{label}.log"
                inside = ["ip", "netns", "exec", self.core_ns, *map(str, command)]
                with open(log, "ab") as output:
                    program = subprocess.Popen(
                        inside,
                        cwd=self.case_folder,
                        stdin=subprocess.DEVNULL,
                        stdout=output,
                        stderr=output,
                    )
                self.programs[label] = (program, log)
            case plan.OnCore(command, seconds):
                self.run(["ip", "netns", "exec", self.core_ns, *map(str, command)], seconds)
            case plan.Stop(label, kill):
                self.stop(label, kill)
            case plan.RestartCore():
                self.stop_core(kill=True)
                self.start_core()
            case plan.Wait(seconds):
                time.sleep(seconds)
            case other:
                raise TypeError(other)

    def expect(self, label, pattern, seconds):
        """Waits for a text in the output of a program."""
        until = time.monotonic() + seconds
        while not re.search(pattern, self.output(label)):
            program, _ = self.programs[label]
            ended = program.poll()
            if ended is not None and not re.search(pattern, self.output(label)):
                raise Failure(f"{label} ended with {ended}: {self.output(label)[-600:]}")
            if time.monotonic() > until:
                raise Failure(f"{label}: no {pattern!r} within {seconds} s")
            time.sleep(0.05)

    def play(self, vendor, case):
        """Plays a case. Returns a dictionary with its verdict."""
        steps = vendor.steps(case.name)
        if isinstance(steps, plan.NotSupported):
            return {"verdict": "not supported", "why": steps.why}
        self.case_folder = self.folder / vendor.name / case.name
        self.case_folder.mkdir(parents=True, exist_ok=True)
        self.configure(vendor.core)
        if self.core is None or self.core.poll() is not None:
            self.start_core()
        try:
            for step in steps:
                self.execute(step)
        except Failure as failure:
            cause = vendor.known.get(case.name)
            verdict = {"verdict": "failed", "why": str(failure)}
            if cause:
                verdict |= {"who": cause.who, "clause": cause.clause, "martlet": cause.martlet}
            return verdict
        finally:
            self.stop_all()
            for command in vendor.cleanup:
                inside = ["ip", "netns", "exec", self.core_ns, *command]
                subprocess.run(inside, check=False, capture_output=True)
        return {"verdict": "passed"}


def dump(path, results):
    """Writes the results as JSON."""
    Path(path).write_text(json.dumps(results, indent=2) + "\n")
