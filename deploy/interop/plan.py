"""What a vendor's programs do in a case: steps that the testbed executes.

`Expect` and `Never` read the log of a program from where it was when the last command began
(`COMMANDS`). So what was printed before a command is no evidence of its effect. The label `core` is
the log of Martlet's core.
"""
import re
from dataclasses import dataclass, field
from pathlib import Path

CORE = "core"


@dataclass
class Write:
    """Writes a file in the folder of the case."""

    name: str
    text: str


@dataclass
class Start:
    """Starts a program beside the core. Its output goes to LABEL.log."""

    label: str
    command: list
    environment: dict = field(default_factory=dict)


@dataclass
class Expect:
    """Waits until a regular expression matches the output of a program, `count` times."""

    label: str
    pattern: str
    seconds: float = 20
    count: int = 1


@dataclass
class Never:
    """The output of a program must not match for a time, and the program must not end."""

    label: str
    pattern: str
    seconds: float = 5


@dataclass
class Capture:
    """Keeps the first group of the last match in a log. `{name}` in later commands is replaced."""

    name: str
    label: str
    pattern: str
    seconds: float = 20


@dataclass
class Run:
    """Runs a program beside the core; it has to succeed, unless `fails`."""

    command: list
    seconds: float = 30
    fails: bool = False


@dataclass
class StartOnCore:
    """Starts a program in the namespace of the core: a network function in place of Martlet's."""

    label: str
    command: list
    environment: dict = field(default_factory=dict)


@dataclass
class OnCore:
    """Runs a program in the namespace of the core."""

    command: list
    seconds: float = 30


@dataclass
class Registered:
    """Waits until a function in place of Martlet's is registered with Martlet's NRF."""

    kind: str
    seconds: float = 30


@dataclass
class CoreReady:
    """Waits until each function of the core has what it needs, with an NRF of another vendor."""

    seconds: float = 30


@dataclass
class Insert:
    """Adds a document to a collection of a MongoDB in the namespace of the core."""

    database: str
    collection: str
    document: dict


@dataclass
class Drop:
    """Drops a database of this MongoDB: an earlier case may have left its data."""

    database: str


@dataclass
class Stop:
    """Stops a program (SIGTERM), or kills it. Its output can still be read."""

    label: str
    kill: bool = False


@dataclass
class RestartCore:
    """Kills the core, and starts it again."""


# What is printed before one of these begins is no evidence of its effect.
COMMANDS = (Run, OnCore, Drop, Insert, Stop, RestartCore)


@dataclass
class Wait:
    """A pause."""

    seconds: float


@dataclass(frozen=True)
class NotSupported:
    """The programs cannot do it."""

    why: str


@dataclass(frozen=True)
class Cause:
    """A known cause of a failure: who is wrong, by which clause, and what Martlet does.

    A failed case has this cause only if each pattern matches the log of its label. With
    `not_supported`, the logs show that this version of the program cannot do it.
    """

    who: str
    clause: str
    martlet: str
    shown_by: tuple
    not_supported: bool = False

    def is_shown(self, output):
        """Whether the logs show it. `output` returns the log of a label."""
        return all(re.search(pattern, output(label)) for label, pattern in self.shown_by)


class Vendor:
    """A vendor's programs. Subclasses override what they can do."""

    name = ""
    # Programs below PROGRAMS that have to exist, by the names that `program` takes.
    programs = {}
    # Files below PROGRAMS that come with them, in the same way.
    files = {}
    # Programs and files that are used where they exist.
    optional = {}
    # Commands in the core's namespace after each case. They may fail.
    cleanup = []
    # Whether they use the kernel's SCTP.
    kernel_sctp = True
    # Programs in place of these where the kernel lacks SCTP: builds with SCTP in user space.
    user_space_sctp = {}
    # Kernel modules that they need: the folder of each in /sys/module.
    modules = ()
    # The cases of a function in place of Martlet's. Programs of gNB and UE have all.
    cases = ()
    # Why cases without a method cannot be played.
    unsupported = "no such command"
    # Known causes of failures: a tuple for the name of each case.
    known = {}
    # The core's PLMN and slices.
    core_plmn = ("001", "01")
    core_slices = '[{ sst: 1 }, { sst: 2, sd: "000002" }]'
    # More of the core's configuration, YAML, and more of its section of the UDM.
    core = ""
    core_udm = ""
    # What the programs print of their version, if no option prints it.
    version_pattern = ""

    def __init__(self, testbed, found):
        self.testbed = testbed
        self.found = found
        self._contents = {}

    def program(self, name):
        """The path of a program."""
        return self.found[name]

    def has(self, name, text):
        """Whether a program's file contains a text, such as a message of newer versions."""
        if name not in self._contents:
            path = Path(self.found[name])
            self._contents[name] = path.read_bytes() if path.is_file() else b""
        return text.encode() in self._contents[name]

    def version(self):
        """The version that the programs print."""
        return "unknown"

    def before_core(self):
        """Steps before the core starts: for an NRF in place of Martlet's."""
        return []

    def steps(self, case):
        """The steps of a case, or NotSupported."""
        method = getattr(self, case.replace("-", "_"), None)
        return method() if method else NotSupported(self.unsupported)
