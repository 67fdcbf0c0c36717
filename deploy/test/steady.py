#!/usr/bin/env python3
"""Runs `cargo test ...`, repeats a few failed tests alone, and lists skipped and unsteady tests.

Many tests depend on real time (timers, packets in flight, processes that end). A machine that is
suspended for a second can make one of 1,500 fail. Such a test must then pass twice alone; the run
counts as passed, and the test is listed as unsteady. The run fails if a test fails again, if a test
program crashes, if the compiler fails, or if more than LIMIT tests fail.

    deploy/test/steady.py cargo test --workspace --locked --no-fail-fast [-- ARGUMENTS]
"""
import re
import subprocess
import sys

LIMIT = 5
TIMES = 2


def run(command):
    """Runs a command and shows its output. Returns the exit code and the lines."""
    lines = []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for line in process.stdout:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        lines.append(line.decode(errors="replace").rstrip("\n"))
    return process.wait(), lines


def failures_before(lines, end):
    """The names in the last list of failures above the result of a test program."""
    names = []
    for line in reversed(lines[:end]):
        if line.startswith("    ") and line.strip():
            names.append(line.strip().removesuffix(" - should panic"))
        elif line == "failures:":
            return names[::-1]
        elif names:
            return None  # Other output is mixed in.
    return None


def failed(lines):
    """Failed tests as pairs of target (`--test calls`) and name; None if they cannot be parsed."""
    results = enumerate(lines)
    programs = [
        failures_before(lines, at) for at, line in results if line.startswith("test result: FAILED")
    ]
    target = re.compile(r"    `(?:-p \S+ )?(--(?:lib|test \S+|bin \S+))`")
    targets = [match[1] for line in lines if (match := target.fullmatch(line))]
    summary = re.compile(r"error: (\d+) targets? failed:")
    counts = [match[1] for line in lines if (match := summary.match(line))]
    # A program that crashed, or a target of another kind, is not in both lists.
    if None in programs or len(programs) != len(targets) or counts != [str(len(targets))]:
        return None
    return [(target, name) for target, names in zip(targets, programs) for name in names]


def alone(command, target, name):
    """The command that runs one test alone, of the same build."""
    split = command.index("--") if "--" in command else len(command)
    options, arguments = command[:split], command[split + 1:]
    if "--test" in options:
        at = options.index("--test")
        options = options[:at] + options[at + 2:]
    options = [option for option in options if option != "--no-fail-fast"]
    return options + target.split() + ["--", "--exact", name] + arguments


def list_skipped(lines):
    """Lists the tests that reported that this machine cannot run them."""
    skipped = sorted({match[1] for line in lines if (match := re.search(r"SKIPPED:? (.*)", line))})
    if skipped:
        print(f"\n{len(skipped)} tests or checks were skipped on this machine:")
        for line in skipped:
            print(f"    {line}")


def main():
    command = sys.argv[1:]
    if not command:
        sys.exit(__doc__)
    code, lines = run(command)
    list_skipped(lines)
    if code == 0:
        return
    again = failed(lines)
    if not again or len(again) > LIMIT:
        sys.exit(code)
    for target, name in again:
        for time in range(TIMES):
            print(f"\nOnce more alone ({time + 1} of {TIMES}): {target} {name}", flush=True)
            code, lines = run(alone(command, target, name))
            passed = re.compile(r"test result: ok\. (\d+) passed")
            ran = sum(int(match[1]) for line in lines if (match := passed.match(line)))
            if code != 0 or ran == 0:
                sys.exit(f"\n{name} ({target}) failed again alone.")
    print("\nUNSTEADY: these tests failed once and passed alone. Find the cause.")
    for target, name in again:
        print(f"    {target} {name}")


main()
