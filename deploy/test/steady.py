#!/usr/bin/env python3
"""Runs `cargo test ...` and repeats a few failed tests, each alone.

Many tests depend on real time (timers, packets in transit, crashing processes), and a machine that
stalls for a second can make one of 1,500 fail. A failed test has to pass twice alone; then the run
passes, and the test is reported as flaky at the end. A test that fails again fails the run, as do a
crashed test program, a compiler error, and more than LIMIT failures.

    deploy/test/steady.py cargo test --workspace --locked --no-fail-fast [-- ARGUMENTS]
"""
import re
import subprocess
import sys

LIMIT = 5
TIMES = 2


def run(command):
    """Runs a command and prints its output. Returns the exit code and the lines of the output."""
    lines = []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for line in process.stdout:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        lines.append(line.decode(errors="replace").rstrip("\n"))
    return process.wait(), lines


def failures_before(lines, end):
    """The names in the last list of failures before the result of a test program."""
    names = []
    for line in reversed(lines[:end]):
        if line.startswith("    ") and line.strip():
            names.append(line.strip().removesuffix(" - should panic"))
        elif line == "failures:":
            return names[::-1]
        elif names:
            return None  # Other output is in between.
    return None


def failed(lines):
    """The failed tests as pairs of target (`--test calls`) and name, or None if they are unknown."""
    ends = [at for at, line in enumerate(lines) if line.startswith("test result: FAILED")]
    programs = [failures_before(lines, at) for at in ends]
    target = re.compile(r"    `(?:-p \S+ )?(--(?:lib|test \S+|bin \S+))`")
    targets = [match[1] for line in lines if (match := target.fullmatch(line))]
    count = re.compile(r"error: (\d+) targets? failed:")
    counts = [match[1] for line in lines if (match := count.match(line))]
    # A crashed program, or a target of another kind, is not in both lists.
    if None in programs or len(programs) != len(targets) or counts != [str(len(targets))]:
        return None
    return [(target, name) for target, names in zip(targets, programs) for name in names]


def alone(command, target, name):
    """The command that runs one test alone, with the same build."""
    split = command.index("--") if "--" in command else len(command)
    options, arguments = command[:split], command[split + 1:]
    if "--test" in options:
        at = options.index("--test")
        options = options[:at] + options[at + 2:]
    options = [option for option in options if option != "--no-fail-fast"]
    return options + target.split() + ["--", "--exact", name] + arguments


def main():
    command = sys.argv[1:]
    if not command:
        sys.exit(__doc__)
    code, lines = run(command)
    if code == 0:
        return
    again = failed(lines)
    if not again or len(again) > LIMIT:
        sys.exit(code)
    for target, name in again:
        for time in range(TIMES):
            print(f"\nRepeating alone ({time + 1} of {TIMES}): {target} {name}", flush=True)
            code, lines = run(alone(command, target, name))
            passed = re.compile(r"test result: ok\. (\d+) passed")
            ran = sum(int(match[1]) for line in lines if (match := passed.match(line)))
            if code != 0 or ran == 0:
                sys.exit(f"\n{name} ({target}) failed again.")
    print("\nFLAKY: these tests failed once and passed alone. Find the cause.")
    for target, name in again:
        print(f"    {target} {name}")


main()
