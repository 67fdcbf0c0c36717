"""What a vendor's programs do in a case: steps that the testbed executes."""
from dataclasses import dataclass, field


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
    """Waits until the output of a program matches a regular expression."""

    label: str
    pattern: str
    seconds: float = 20


@dataclass
class Never:
    """The output of a program must not match for a time."""

    label: str
    pattern: str
    seconds: float = 5


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


@dataclass
class OnCore:
    """Runs a program in the namespace of the core."""

    command: list
    seconds: float = 30


@dataclass
class Stop:
    """Stops a program (SIGTERM), or kills it."""

    label: str
    kill: bool = False


@dataclass
class RestartCore:
    """Kills the core, and starts it again."""


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
    """Why a case fails, if it is known: who is wrong, by which clause, and what Martlet does."""

    who: str
    clause: str
    martlet: str


class Vendor:
    """A vendor's programs. Subclasses override what they can do."""

    name = ""
    # Programs below PROGRAMS that have to exist, by the names that `program` takes.
    programs = {}
    # Files below PROGRAMS that come with them, in the same way.
    files = {}
    # Commands in the core's namespace after each case. They may fail.
    cleanup = []
    # Whether they use the kernel's SCTP.
    kernel_sctp = True
    # Why cases without a method cannot be played.
    unsupported = "no such command"
    # Known causes of failures, by the name of the case.
    known = {}
    # More of the core's configuration, YAML.
    core = ""

    def __init__(self, testbed, found):
        self.testbed = testbed
        self.found = found

    def program(self, name):
        """The path of a program."""
        return self.found[name]

    def version(self):
        """The version that the programs print."""
        return "unknown"

    def steps(self, case):
        """The steps of a case, or NotSupported."""
        method = getattr(self, case.replace("-", "_"), None)
        return method() if method else NotSupported(self.unsupported)
