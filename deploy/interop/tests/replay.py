"""A testbed without namespaces and programs: logs are given, and commands do nothing."""
import tempfile

import plan
from testbed import Failure, Testbed

# A log has parts: each is printed after one more command (Run, OnCore, Stop, RestartCore) since the
# program started; the first one at once.
PART = "--\n"


class Running:
    """A process of which only the exit code matters."""

    def poll(self):
        """It runs."""
        return None


class Replay(Testbed):
    """Plays the steps of a case with given logs."""

    def __init__(self, logs, failing=None, ended=(), registers=True):
        # Removed with this object.
        self.removed = tempfile.TemporaryDirectory(prefix="martlet-replay-")
        super().__init__("martlet", self.removed.name)
        self.parts = {label: text.split(PART) for label, text in logs.items()}
        self.failing = failing
        self.has_ended = set(ended)
        self.registers = registers
        self.core = Running()
        self.done = []
        self.born = {plan.CORE: 0}

    def begin(self):
        self.programs, self.captured, self.done = {}, {}, []
        self.marks, self.first = {}, 0

    def raw(self, label):
        if label not in self.born:
            return ""
        parts = self.parts.get(label, [""])
        return "".join(parts[: len(self.done) - self.born[label] + 1])

    def mark(self):
        super().mark()
        self.done.append(None)

    def spawn(self, label, command, environment):
        self.programs[label] = command
        self.born[label] = len(self.done)

    def run(self, command, seconds, fails=False):
        self.done[-1] = command
        if self.failing == len(self.done):
            raise Failure("the command failed")

    def stop(self, label, kill=False):
        if kill:
            self.has_ended.add(label)

    def ended(self, label):
        return 1 if label in self.has_ended else None

    def until(self, seconds, found):
        return bool(found())

    def is_registered(self, kind):
        return self.registers

    def is_ready(self):
        return self.registers

    def sleep(self, seconds):
        pass

    def start_core(self):
        pass

    def stop_core(self, kill=False):
        pass
