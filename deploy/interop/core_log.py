"""Patterns of the log of Martlet's core: what the core saw of a case, whatever a program prints."""


def registered(imsi):
    """The UE is registered."""
    return rf': registered supi="imsi-{imsi}"'


def deregistered(imsi):
    """The UE deregistered."""
    return rf': deregistered supi="imsi-{imsi}"'


def session(imsi, number=r"\d+"):
    """The UE has a PDU session. The group is its address."""
    return rf"PDU session established supi=imsi-{imsi} session={number} dnn=\S+ address=(\S+)"


def handover(imsi):
    """An N2 handover of the UE is completed, with a session."""
    return rf'handover completed supi="imsi-{imsi}" .*sessions=[1-9]'


def path_switch(imsi):
    """An Xn handover of the UE is completed, with a session."""
    return rf'path switched supi="imsi-{imsi}" .*sessions=[1-9]'


# The UE was not authenticated.
NOT_AUTHENTIC = r': registration failed .*why="not_authentic"'
# A gNB completed the NG setup.
NG_SETUP = "NG setup completed gnb="
# A function of the core could not use another one, and went on without it.
SERVICE_FAILED = r" WARN .*(?: problem=|: policy association without a usable location)"
