#!/usr/bin/env python3
"""Runs `cargo test ...` and, where a few tests fail, those again by themselves.

Many tests have real time in them (timers of procedures, packets on their way, processes that die), and a machine that
stands still for a second can make one of 1,500 fail that has no fault. Such a test has to pass twice by itself; then
the run counts, and the test is named at its end as unsteady, so that somebody looks for the cause. A test that fails
again fails the run, as do a test program that dies, an error of the compiler, and more than LIMIT failures.

    deploy/test/steady.py cargo test --workspace --locked --no-fail-fast [-- ARGUMENTS]
"""
import re
import subprocess
import sys

LIMIT = 5
TIMES = 2


def run(command):
    """Runs it, shows what it prints as it comes, and gives that back by lines, with the exit code."""
    lines = []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for line in process.stdout:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        lines.append(line.decode(errors="replace").rstrip("\n"))
    return process.wait(), lines


def failures_before(lines, end):
    """The names in the last list of failures above a test program's result."""
    names = []
    for line in reversed(lines[:end]):
        if line.startswith("    ") and line.strip():
            names.append(line.strip().removesuffix(" - should panic"))
        elif line == "failures:":
            return names[::-1]
        elif names:
            return None  # Somebody else's words are among them.
    return None


def failed(lines):
    """What failed as pairs of target (`--test calls`) and test, or None where that cannot be told."""
    programs = [failures_before(lines, at) for at, line in enumerate(lines) if line.startswith("test result: FAILED")]
    targets = [match[1] for line in lines if (match := re.fullmatch(r"    `(?:-p \S+ )?(--(?:lib|test \S+|bin \S+))`", line))]
    told = [match[1] for line in lines if (match := re.match(r"error: (\d+) targets? failed:", line))]
    # A program that died, or a target of another kind, has no place in both lists.
    if None in programs or len(programs) != len(targets) or told != [str(len(targets))]:
        return None
    return [(target, name) for target, names in zip(targets, programs) for name in names]


def alone(command, target, name):
    """The command that runs one test by itself, of the same build."""
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
            print(f"\nOnce more by itself ({time + 1} of {TIMES}): {target} {name}", flush=True)
            code, lines = run(alone(command, target, name))
            ran = sum(int(match[1]) for line in lines if (match := re.match(r"test result: ok\. (\d+) passed", line)))
            if code != 0 or ran == 0:
                sys.exit(f"\n{name} ({target}) failed again by itself.")
    print("\nUNSTEADY: these failed once and passed by themselves. Their cause has to be found.")
    for target, name in again:
        print(f"    {target} {name}")


main()
