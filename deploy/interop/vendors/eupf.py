"""eUPF in place of Martlet's UPF, with `martlet ran` as gNB and UE."""
import subprocess

import testbed
from plan import Expect, NotSupported, OnCore, StartOnCore
from vendors.martlet import Martlet

N4 = "127.0.0.8"
# The two ends of N6: eUPF's, and that of the gateway of the UEs. Both are in the core's namespace.
UPF_END, GATEWAY_END = "eupf1", "eupf0"
MAC = "02:00:00:00:06:02"
# The address that stands for eUPF on the link.
NEXT_HOP = "10.6.0.2"

LINK = f"""\
ip link add {GATEWAY_END} type veth peer name {UPF_END} address {MAC} &&
ip addr add 10.6.0.1/24 dev {GATEWAY_END} && ip addr add {testbed.GATEWAY}/32 dev {GATEWAY_END} &&
ip link set {GATEWAY_END} up && ip link set {UPF_END} up &&
ip neigh add {NEXT_HOP} lladdr {MAC} dev {GATEWAY_END} nud permanent &&
ip route add 10.45.0.0/16 via {NEXT_HOP} && sysctl -qw net.ipv4.ip_forward=1 &&
ethtool -K {GATEWAY_END} tx off"""


class Eupf(Martlet):
    """It attaches its XDP programs to N3 and N6, and looks routes up in the kernel."""

    name = "eUPF"
    programs = {"eupf": "eupf"}
    kernel_sctp = False
    cases = ("session-ipv4", "several-sessions", "idle-and-paging")
    core = "sbi: { external: [upf] }\n"
    cleanup = [["ip", "link", "del", GATEWAY_END]]

    def version(self):
        done = subprocess.run(
            [self.program("eupf"), "--version"], check=False, capture_output=True, text=True
        )
        words = done.stdout.split()
        return words[-1] if done.returncode == 0 and words else "unknown"

    def steps(self, case):
        if case not in self.cases:
            return NotSupported("a user plane alone")
        options = f"--iface mi0 --iface {UPF_END} --attach generic --nodeid {N4} --paddr {N4}:8805"
        options += f" --n3addr {testbed.CORE} --aaddr {N4}:8080 --maddr {N4}:9090 --ftup"
        # `ip netns exec` mounts a new /sys; eUPF pins its maps in bpffs.
        command = f"mount -t bpf bpf /sys/fs/bpf && exec {self.program('eupf')} {options}"
        start = [
            OnCore(["sh", "-c", LINK]),
            StartOnCore("eupf", ["sh", "-c", command]),
            Expect("eupf", "(?i)association", 40),
        ]
        return start + super().steps(case)
