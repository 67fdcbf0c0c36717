"""The testbed: a core and a radio side in their own network namespaces, and a link between them."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import mongodb
import plan

CORE = "10.77.0.1"
# Addresses of gNBs, on the other side of the link.
GNBS = [f"10.77.0.{n}" for n in range(2, 12)]
# The gateway of UEs, which answers pings.
GATEWAY = "10.45.0.1"
K = "465b5ce8b199b49faa5f0a2ee238a6bc"
OPC = "e8ed289deba952e4283b54e88e6183ca"
# A key that no subscriber has.
WRONG_K = "0" * 31 + "1"
MCC, MNC = plan.Vendor.core_plmn
# The test keys of TS 33.501, annex C.4.
PROFILE_A = (
    "c53c22208b61860b06c62e5406a7b330c2b577aa5558981510d128247d38bd1d",
    "5a8d38864820197c3394b92613b20b91633cbd897119273bf8e4a6f4eec0a650",
)
PROFILE_B = (
    "f1ab1074477ebcc7f554ea1c5fc368b1616730155e0041ac447d6301975fecda",
    "0272da71976234ce833a6907425867b82e074d44ef907dfb4b3e21c1c2256ebcd1",
)
# The same public key of profile B as an uncompressed point.
PROFILE_B_UNCOMPRESSED = (
    "0472da71976234ce833a6907425867b82e074d44ef907dfb4b3e21c1c2256ebcd1"
    "5a7ded52fcbb097a4ed250e036c7b9c8c7004c4eedc4f068cd7bf8d3f900e3b4"
)
# Cases whose UE has to conceal its identity: the core does not accept the null scheme.
CONCEALED = ("suci-a", "suci-b")
# Colours and other control sequences of terminals.
CONTROL = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
POLL_S = 0.05
# What each time to wait is multiplied by, for slow machines.
TIMES = float(os.environ.get("MARTLET_INTEROP_TIMES", "1"))


def core_config(vendor=plan.Vendor, case=""):
    """The core's configuration for a case."""
    return f"""\
network:
  plmn: "{''.join(vendor.core_plmn)}"
  tacs: [1]
  slices: {vendor.core_slices}
amf:
  n2: {{ bind: [{CORE}] }}
  security: {{ integrity: [NIA2, NIA1, NIA3], ciphering: [NEA2, NEA1, NEA3, NEA0] }}
  # Some UEs wait for a CONFIGURATION UPDATE COMMAND after their registration, such as free-ran-ue.
  network_name: {{ full: Martlet }}
upf:
  n3: {{ address: "{CORE}:2152" }}
  # The core's SMF, and another one beside it.
  n4: {{ allow: [127.0.0.7, {CORE}] }}
  n6: {{ mode: routing, pools6: ["fd45::/48"] }}
udm:
  null_scheme: {str(case not in CONCEALED).lower()}
  home_network_keys:
    - {{ id: 1, scheme: A, private: "{PROFILE_A[0]}" }}
    - {{ id: 2, scheme: B, private: "{PROFILE_B[0]}" }}
{vendor.core_udm}{vendor.core}"""


def imsi(number, plmn=(MCC, MNC)):
    """The IMSI of a subscriber, counted from 1."""
    return f"{''.join(plmn)}{number:010}"


class Failure(Exception):
    """A step that did not succeed."""


@dataclass
class Program:
    """A program of the current case. It may have ended."""

    process: subprocess.Popen
    log: Path


class Testbed:
    """Namespaces and the core. Use it as a context manager."""

    def __init__(self, martlet, folder, mongodb_uri=""):
        self.martlet = str(Path(martlet).resolve())
        self.folder = Path(folder)
        self.core_ns = f"mi-core-{os.getpid()}"
        self.ran_ns = f"mi-ran-{os.getpid()}"
        self.core = None
        # A MongoDB that is reached from the namespace of the core, for functions that need one.
        self.mongodb_uri = mongodb_uri
        self.no_mongodb = "" if mongodb_uri else "mongod is not installed"
        self.database = None
        self.programs = {}
        self.marks = {}
        self.captured = {}
        # Where the core's log was when the case began.
        self.first = 0
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
        if self.database:
            self.database.terminate()
            self.database.wait()
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

    def configure(self, vendor=plan.Vendor, case=""):
        """Writes the core's configuration. A core with another one is stopped."""
        # Sockets of its own, so that another core of this machine is not disturbed.
        path = json.dumps(str(self.folder.resolve() / "fabric.sock"))
        config = f"{core_config(vendor, case)}fabric: {{ socket: {path} }}\n"
        file = self.folder / "core.yaml"
        if file.exists() and file.read_text() != config:
            self.stop_core()
        file.write_text(config)

    def provision(self):
        """Writes the configuration, and adds the subscribers."""
        self.configure()
        keys = self.folder / "keys"
        keys.write_text(f"key: {K}\nopc: {OPC}\n")

        def add(*arguments):
            command = [self.martlet, "subscriber", "add", "-c", "core.yaml"]
            command += ["--key-file", str(keys), *arguments]
            subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

        add(imsi(1), "--count", "60")
        add(imsi(101), "--method", "eap-aka-prime")
        both = ["--slice", "1", "--slice", "2-000002"]
        add(imsi(102), *both)
        # For functions of free5GC, whose slices have a differentiator.
        add(imsi(104), "--slice", "1-010203")
        # For UEs with a fixed network.
        add(imsi(1, ("208", "93")), "--count", "60", *both)
        ipv6 = self.folder / "ipv6.csv"
        subscription = f"{imsi(103)},{K},{OPC},internet,IPV4;IPV6;IPV4V6"
        ipv6.write_text(f"imsi,key,opc,dnn,types\n{subscription}\n")
        command = [self.martlet, "subscriber", "import", "-c", "core.yaml", str(ipv6)]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

    def start_core(self):
        """Starts the core and waits until it is ready."""
        log = open(self.folder / "core.log", "ab")
        command = ["ip", "netns", "exec", self.core_ns, self.martlet, "up", "-c", "core.yaml"]
        self.core = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)
        log_file = self.folder / "core.log"
        started = log_file.stat().st_size
        until = time.monotonic() + 30 * TIMES
        while time.monotonic() < until:
            text = log_file.read_text(errors="replace")[max(0, started - 1) :]
            if self.core.poll() is not None:
                raise Failure(f"the core ended: {log_file.read_text(errors='replace')[-2000:]}")
            # A function of another vendor starts later.
            config = (self.folder / "core.yaml").read_text()
            external = re.search(r"external: \[(\w+)\]", config)
            external = external.group(1) if external else ""
            awaited = [] if external == "amf" else ["listening for gNBs"]
            if external not in ("smf", "upf"):
                awaited.append("associat")
            if all(re.search(wanted, text) for wanted in [*awaited, "started|listening|ready"]):
                return
            time.sleep(0.05)
        raise Failure(f"the core is not ready: {log_file}")

    def is_registered(self, kind):
        """Whether the NRF of the core has a function of this type."""
        command = [self.martlet, "status", "-c", "core.yaml", "--json"]
        done = subprocess.run(command, cwd=self.folder, check=False, capture_output=True)
        if done.returncode:
            return False
        functions = json.loads(done.stdout)["nfs"]
        known = [it for nf in functions for it in nf["status"].get("registered", [])]
        return any(it["type"] == kind and it["status"] == "REGISTERED" for it in known)

    def is_ready(self):
        """Whether the core is ready by its `/readyz`."""
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(2)
            try:
                client.connect(str(self.folder.resolve() / "oam.sock"))
                client.sendall(b"GET /readyz HTTP/1.1\r\nhost: core\r\nconnection: close\r\n\r\n")
                return client.recv(64).startswith(b"HTTP/1.1 200")
            except OSError:
                return False

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

    def forget_functions(self):
        """Stops the core, which forgets what earlier cases left.

        Functions of others may not have deregistered at its NRF. UEs and sessions that the core
        would restore make requests at its start, while a function of another vendor is not ready.
        """
        self.stop_core()
        for function in ("nrf", "amf", "smf", "chf"):
            for file in self.folder.glob(f"martlet.{function}.db*"):
                file.unlink()

    def start_mongodb(self, mongod, address):
        """Starts MongoDB in the core's namespace, with an empty database."""
        data = self.folder / "mongodb"
        data.mkdir(exist_ok=True)
        command = [mongod, "--dbpath", str(data.resolve()), "--bind_ip", address]
        log = open(self.folder / "mongodb.log", "ab")
        inside = self.on_core(command)
        self.database = subprocess.Popen(inside, stdout=log, stderr=log)
        listens = self.on_core(["sh", "-c", f"ss -Hltn 'src {address}:27017' | grep -q ."])
        is_ready = lambda: subprocess.run(listens, check=False).returncode == 0
        if self.until(30, lambda: self.database.poll() is not None or is_ready()) and is_ready():
            self.mongodb_uri, self.no_mongodb = f"mongodb://{address}:27017", ""
        else:
            self.no_mongodb = "mongod does not listen; its log is mongodb.log"

    def has_kernel_sctp(self):
        """Whether the kernel has SCTP."""
        if shutil.which("modprobe"):
            subprocess.run(["modprobe", "-q", "sctp"], check=False, capture_output=True)
        return Path("/proc/net/sctp").exists()

    def stop_all(self):
        """Stops the programs of a case."""
        for label in list(self.programs):
            self.stop(label, kill=True)
        self.programs = {}

    def stop(self, label, kill=False):
        """Stops one program."""
        process = self.programs[label].process
        if process.poll() is not None:
            return
        process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def beside(self, command):
        """The command in the radio side's namespace."""
        return ["ip", "netns", "exec", self.ran_ns, *map(str, command)]

    def on_core(self, command):
        """The command in the core's namespace."""
        return ["ip", "netns", "exec", self.core_ns, *map(str, command)]

    def run(self, command, seconds, fails=False):
        """Runs a command to its end."""
        try:
            done = subprocess.run(
                command,
                cwd=self.case_folder,
                timeout=seconds * TIMES,
                check=False,
                capture_output=True,
            )
        except subprocess.TimeoutExpired as error:
            raise Failure(f"{' '.join(command[4:])}: no end within {seconds} s") from error
        if (done.returncode != 0) != fails:
            output = (done.stdout + done.stderr).decode(errors="replace").strip()
            name = " ".join(command[4:])
            raise Failure(f"{name}: exit code {done.returncode}\n{output[-600:]}")

    def spawn(self, label, command, environment):
        """Starts a program whose output goes to a log."""
        log = self.case_folder / f"{label}.log"
        with open(log, "ab") as output:
            process = subprocess.Popen(
                command,
                cwd=self.case_folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=os.environ | environment,
            )
        self.programs[label] = Program(process, log)

    def log_of(self, label):
        """The file with the output of a program."""
        return self.folder / "core.log" if label == plan.CORE else self.programs[label].log

    def raw(self, label):
        """What a program has printed, or nothing if it has not started."""
        if label != plan.CORE and label not in self.programs:
            return ""
        file = self.log_of(label)
        return file.read_text(errors="replace") if file.exists() else ""

    def output(self, label, since=0):
        """The same from an offset, without control sequences."""
        return CONTROL.sub("", self.raw(label)[since:])

    def mark(self):
        """A command begins: what the programs have printed is no evidence of its effect."""
        self.marks = {label: len(self.raw(label)) for label in [plan.CORE, *self.programs]}

    def begin(self):
        """A case begins, with an empty log of the core."""
        self.programs, self.captured = {}, {}
        self.first = len(self.raw(plan.CORE))
        self.mark()

    def ended(self, label):
        """The exit code of a program that has ended."""
        return None if label == plan.CORE else self.programs[label].process.poll()

    def sleep(self, seconds):
        """A pause."""
        time.sleep(seconds)

    def until(self, seconds, found):
        """Whether something is found in time."""
        until = time.monotonic() + seconds * TIMES
        while not found():
            if time.monotonic() > until:
                return False
            self.sleep(POLL_S)
        return True

    def filled(self, command):
        """A command with what was captured."""
        pattern = re.compile(r"\{(" + "|".join(map(re.escape, self.captured)) + r")\}")
        if not self.captured:
            return command
        return [pattern.sub(lambda name: self.captured[name.group(1)], str(it)) for it in command]

    def execute(self, step):
        """Executes one step."""
        if isinstance(step, plan.COMMANDS):
            self.mark()
        match step:
            case plan.Write(name, text):
                (self.case_folder / name).write_text(text)
            case plan.Start(label, command, environment):
                self.spawn(label, self.beside(self.filled(command)), environment)
            case plan.StartOnCore(label, command, environment):
                self.spawn(label, self.on_core(self.filled(command)), environment)
            case plan.Expect(label, pattern, seconds, count):
                self.expect(label, pattern, seconds, count)
            case plan.Never(label, pattern, seconds):
                self.never(label, pattern, seconds)
            case plan.Capture(name, label, pattern, seconds):
                self.captured[name] = self.last(label, pattern, seconds)
            case plan.Run(command, seconds, fails):
                self.run(self.beside(self.filled(command)), seconds, fails)
            case plan.OnCore(command, seconds):
                self.run(self.on_core(self.filled(command)), seconds)
            case plan.Registered(kind, seconds):
                if not self.until(seconds, lambda: self.is_registered(kind)):
                    raise Failure(f"no {kind} registered with the NRF within {seconds} s")
            case plan.CoreReady(seconds):
                if not self.until(seconds, self.is_ready):
                    raise Failure(f"the core is not ready within {seconds} s")
            case plan.Insert(database, collection, document):
                inserting = mongodb.command(self.mongodb_uri, database, collection, document)
                self.run(self.on_core(inserting), 20)
            case plan.Drop(database):
                self.run(self.on_core(mongodb.drop_command(self.mongodb_uri, database)), 20)
            case plan.Stop(label, kill):
                self.stop(label, kill)
            case plan.RestartCore():
                self.stop_core(kill=True)
                self.start_core()
            case plan.Wait(seconds):
                self.sleep(seconds)
            case other:
                raise TypeError(other)

    def expect(self, label, pattern, seconds, count):
        """Waits for a text in the output of a program, `count` times."""
        matches = lambda: len(re.findall(pattern, self.output(label, self.marks.get(label, 0))))
        is_ended = lambda: self.ended(label) is not None
        self.until(seconds, lambda: matches() >= count or is_ended())
        # What a program that has ended printed last counts.
        if (found := matches()) >= count:
            return
        times = "" if count == 1 else f", {found} of {count} times"
        if is_ended():
            last = self.output(label)[-600:]
            raise Failure(f"{label} ended with {self.ended(label)}: no {pattern!r}{times}: {last}")
        raise Failure(f"{label}: no {pattern!r}{times} within {seconds} s")

    def never(self, label, pattern, seconds):
        """The output must not match, also if the program ends."""
        since = self.marks.get(label, 0)
        lines = lambda: self.output(label, since).splitlines()
        seen = lambda: [line for line in lines() if re.search(pattern, line)]
        if self.until(seconds, seen):
            raise Failure(f"{label}: {seen()[0][:400]}")
        if self.ended(label) is not None:
            last = self.output(label)[-600:]
            raise Failure(f"{label} ended with {self.ended(label)}: {last}")

    def last(self, label, pattern, seconds):
        """The first group of the last match in the log of this case."""
        first = self.first if label == plan.CORE else 0
        matches = lambda: re.findall(pattern, self.output(label, first))
        if not self.until(seconds, matches):
            raise Failure(f"{label}: no {pattern!r} within {seconds} s")
        return matches()[-1]

    def play(self, vendor, case):
        """Plays a case. Returns a dictionary with its verdict."""
        steps = vendor.steps(case.name)
        if isinstance(steps, plan.NotSupported):
            return {"verdict": "not supported", "why": steps.why}
        self.case_folder = self.folder / vendor.name / case.name
        self.case_folder.mkdir(parents=True, exist_ok=True)
        self.configure(vendor, case.name)
        before = vendor.before_core()
        if vendor.cases:
            self.forget_functions()
        self.begin()
        try:
            for step in before:
                self.execute(step)
            if self.core is None or self.core.poll() is not None:
                self.start_core()
            for step in steps:
                self.execute(step)
        except Failure as failure:
            return self.verdict(vendor, case, failure)
        finally:
            self.version_of_logs(vendor)
            if before:
                # Its functions deregister at the NRF.
                self.stop_core()
            self.stop_all()
            for command in vendor.cleanup:
                subprocess.run(self.on_core(command), check=False, capture_output=True)
            if vendor.cases:
                self.forget_functions()
        return {"verdict": "passed"}

    def verdict(self, vendor, case, failure):
        """The verdict of a case that failed, with its cause if the logs show a known one."""
        first = lambda label: self.first if label == plan.CORE else 0
        output = lambda label: self.output(label, first(label))
        result = {"verdict": "failed", "why": str(failure)}
        for cause in vendor.known.get(case.name, ()):
            if cause.is_shown(output):
                named = {"who": cause.who, "clause": cause.clause, "martlet": cause.martlet}
                if cause.not_supported:
                    return {"verdict": "not supported", "why": cause.martlet}
                return result | named
        return result

    def version_of_logs(self, vendor):
        """Keeps the version that a program of this case has printed."""
        if vendor.version_pattern and "version" not in vendor.found:
            for label in self.programs:
                if found := re.search(vendor.version_pattern, self.output(label)):
                    vendor.found["version"] = found.group(1)


def dump(path, results):
    """Writes the results as JSON."""
    Path(path).write_text(json.dumps(results, indent=2) + "\n")
