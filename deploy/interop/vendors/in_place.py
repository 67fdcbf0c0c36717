"""A function of another vendor in place of Martlet's, with `martlet ran` as gNB and UE."""
import core_log
import testbed
from plan import CORE, CoreReady, Never, NotSupported
from vendors.martlet import Martlet

# Functions that only sessions use.
OF_SESSIONS = ("smf", "upf", "chf")


def cases_of(function):
    """The cases that a function takes part in."""
    registration = () if function in OF_SESSIONS else ("registration-5g-aka",)
    return (*registration, "session-ipv4", "deregistration")


class InPlace(Martlet):
    """A function. Its cases are registration, a session and deregistration with a session."""

    function = ""
    kernel_sctp = False

    def start(self):
        """The steps that start the function, until it is ready."""
        raise NotImplementedError

    def before_core(self):
        return self.start() if self.function == "nrf" else []

    def session_ipv4(self):
        ping = {"ping": {"target": testbed.GATEWAY, "count": 3}}
        # Packets to the UE are dropped until the SMF has told the UPF of the gNB's tunnel.
        session = [{"register": {}}, {"establish": {}}, {"wait": "500ms"}]
        return self.play(*session, ping, {"deregister": {}})

    def deregistration(self):
        again = [{"register": {}}, {"switch_off": {}}]
        return self.play({"register": {}}, {"establish": {}}, {"deregister": {}}, *again)

    def steps(self, case):
        if case not in self.cases:
            return NotSupported("a function of the core alone")
        # The core does without some functions that fail, such as the PCF.
        steps = super().steps(case) + [Never(CORE, core_log.SERVICE_FAILED, 1)]
        return ([CoreReady()] if self.function == "nrf" else self.start()) + steps
