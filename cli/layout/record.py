#!/usr/bin/env python3
"""Records which functions of the program run, for the order of its code: functions.txt.

    sudo cli/layout/record.py --lab target/release/martlet-lab --martlet target/release/martlet

Needs perf (Debian: linux-perf), and a `martlet` of `make release`, whose names are not stripped.
The lab's procedures run over each binding, and an idle core; starts do not count. The list has each
function that was seen at least twice: what several network functions share, then what is of one
alone, so that its process needs few pages. In each part, the most frequent is first. Names are as
in names.awk, so that the list fits later builds. Record it again when much code has changed: `make
function-order`.
"""
import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Samples per second of CPU time. Most functions run for less than a microsecond for each UE.
FREQUENCY = 20_000
MIN_SAMPLES = 2
LOADS = [
    ["control-plane", "--sbi", "local,fabric,http", "--ues", "1,16", "--rounds", "10"],
    ["idle", "--quick", "--sbi", "local,fabric"],
]
# Crates of one network function alone, in a symbol.
FUNCTIONS = "amf|ausf|chf|lmf|nrf|nssf|oam|pcf|smf|udm|udr|upf"
CRATES = re.compile(rf"\dmartlet_({FUNCTIONS})(?:_[a-z0-9]+)*")
# Seconds from the first sample of a process that are its start.
START = 2.0
SAMPLE = re.compile(r"\s*(\d+) +([0-9.]+): +[0-9a-f]+ (\S+) \((.*)\)$")


def names_in_list(symbols):
    """The names of symbols in the list."""
    command = ["awk", "-f", HERE / "names.awk", "-f", HERE / "listed.awk"]
    text = "".join(symbol + "\n" for symbol in symbols)
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True)
    return dict(zip(symbols, done.stdout.splitlines()))


def samples(data, program):
    """The functions of a program in which samples were taken after the start of a process."""
    command = ["perf", "script", "-i", data, "-F", "pid,time,ip,sym,dso", "--no-demangle"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    started = {}
    with subprocess.Popen(command, text=True, **streams) as script:
        for line in script.stdout:
            found = SAMPLE.match(line)
            if not found or found[4] != program or found[3] == "[unknown]":
                continue
            process, now = found[1], float(found[2])
            if now - started.setdefault(process, now) >= START:
                yield found[3]


def part_of(name):
    """The network function whose code a symbol is, or nothing if several share it."""
    functions = set(CRATES.findall(name))
    return functions.pop() if len(functions) == 1 else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lab", required=True, help="the program martlet-lab")
    parser.add_argument("--martlet", required=True, help="the recorded program")
    parser.add_argument("--out", default=HERE / "functions.txt", help="the list")
    args = parser.parse_args()
    if not shutil.which("perf"):
        sys.exit("record.py: perf is missing: install Debian's linux-perf or Ubuntu's linux-tools")
    lab, martlet = (str(Path(path).resolve()) for path in (args.lab, args.martlet))
    seen = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number, load in enumerate(LOADS):
            data = os.path.join(folder, "perf.data")
            command = ["perf", "record", "-q", "-e", "cpu-clock", "-F", str(FREQUENCY), "-o", data]
            command += ["--", lab, "--log", "warn", *load, "--martlet", martlet]
            command += ["--out", os.path.join(folder, str(number))]
            print("runs:", " ".join(command), file=sys.stderr)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            seen.update(samples(data, martlet))
    listed = names_in_list(list(seen))
    counts = collections.Counter()
    for symbol, count in seen.items():
        counts[listed[symbol]] += count
    names = [name for name, count in counts.items() if count >= MIN_SAMPLES]
    if not any(name.startswith("_R") for name in names):
        sys.exit(f"record.py: {martlet} has no names of mangling version 0: use `make release`")
    names.sort(key=lambda name: (part_of(name), -counts[name], name))
    header = "# Functions in the order of the program's code. Made by record.py; do not edit.\n"
    Path(args.out).write_text(header + "".join(name + "\n" for name in names))
    print(f"{len(names)} functions, {sum(counts.values())} samples", file=sys.stderr)


if __name__ == "__main__":
    main()
