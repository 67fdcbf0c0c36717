#!/usr/bin/env python3
"""Runs `cargo test ...`, repeats a few failed tests alone, and lists skipped and unsteady tests.

Many tests depend on real time (timers, packets in flight, processes that end). A machine that is
suspended for a second can make one of 1,500 fail. Such a test must then pass twice alone; the run
counts as passed, and the test is listed as unsteady. A program that ended without a result, after
all its tests had passed, is run once more. The run fails if a test fails again, if a test program
crashes otherwise, if the compiler fails, or if more than LIMIT tests fail.

The test harness captures the output of tests that pass, and so the lines `SKIPPED: reason` of tests
that this machine cannot run. The harness is therefore asked for that output, of which only these
lines are used. They are listed at the end, and appended to the file MARTLET_SKIPPED if it is set.
Tests that failed, with their errors, are appended to the file MARTLET_FAILED, and the unsteady ones
to MARTLET_UNSTEADY.

    deploy/test/steady.py cargo test --workspace --locked --no-fail-fast [-- ARGUMENTS]
"""
import os
import re
import subprocess
import sys
import tempfile
import time

LIMIT = 10
TIMES = 2
# Lines of a failed test's output that are reported: of each error, of its causes, and before it.
REPORTED = 12
# Lines of all errors of a test that are reported.
ERRORS = 40
# Where an error begins, of a panic or of a test that returns it, and its backtrace.
ERROR = re.compile(r"thread '.*' (\(\d+\) )?panicked at |Error: ")
BACKTRACE = re.compile(r"\s*stack backtrace:", re.IGNORECASE)
FRAME = re.compile(r"\s+\d+: |\s+at |\s*$")
# A failed target in the summary of cargo.
TARGET = re.compile(r"    `(?:-p \S+ )?(--(?:lib|test \S+|bin \S+))`")
ENDED = "A test program ended without a result"


class Output:
    """The lines of a run without the output of tests that passed, and the skipped tests."""

    def __init__(self):
        self.lines, self.skipped, self.captured, self.test = [], set(), False, ""
        self.hidden = []

    def take(self, line):
        """Takes a line, and returns whether it is to be shown."""
        if line == "successes:":
            self.captured = True
        elif line == "failures:" or line.startswith("test result:"):
            self.captured, self.hidden = False, []
        elif self.captured and re.match(r"error: |     Running | {3}Doc-tests ", line):
            # The program ended within its output: its last lines show the reason.
            self.captured = False
            self.lines += [f"{ENDED}. Its last lines:"]
            self.lines += self.hidden[-REPORTED:]
            print("\n".join(self.lines[-REPORTED - 1:]), flush=True)
            self.hidden = []
        if match := re.fullmatch(r"---- (\S+) stdout ----", line):
            self.test = match[1]
        if match := re.search(r"SKIPPED(?: (\S+))?: (.*)", line):
            test = match[1] or (self.test if self.captured else "")
            self.skipped.add(f"{test}: {match[2]}" if test else match[2])
        (self.hidden if self.captured else self.lines).append(line)
        return not self.captured


def run(command):
    """Runs a command and shows its output. Returns the exit code and the output."""
    output = Output()
    # Not a pipe: a program that inherits it and makes it non-blocking would let the test harness
    # fail with EAGAIN when it prints faster than this process reads.
    with tempfile.NamedTemporaryFile("ab", buffering=0) as written, \
            open(written.name, "rb") as file:
        process = subprocess.Popen(command, stdout=written, stderr=subprocess.STDOUT)
        rest = b""
        while True:
            has_ended = process.poll() is not None
            *lines, rest = (rest + file.read()).split(b"\n")
            if has_ended and rest:
                lines, rest = lines + [rest], b""
            for line in lines:
                if output.take(line.decode(errors="replace")):
                    sys.stdout.buffer.write(line + b"\n")
            sys.stdout.buffer.flush()
            if has_ended:
                break
            time.sleep(0.1)
    return process.wait(), output


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
    targets = [match[1] for line in lines if (match := TARGET.fullmatch(line))]
    summary = re.compile(r"error: (\d+) targets? failed:")
    counts = [match[1] for line in lines if (match := summary.match(line))]
    # A program that crashed, or a target of another kind, is not in both lists.
    if None in programs or len(programs) != len(targets) or counts != [str(len(targets))]:
        return None
    return [(target, name) for target, names in zip(targets, programs) for name in names]


def of_target(command, target, selection):
    """The command that runs a target of the same build with a selection of tests."""
    split = command.index("--") if "--" in command else len(command)
    options, arguments = command[:split], command[split + 1:]
    if "--test" in options:
        at = options.index("--test")
        options = options[:at] + options[at + 2:]
    options = [option for option in options if option != "--no-fail-fast"]
    return options + target.split() + ["--", *selection] + arguments


def alone(command, target, name):
    """The command that runs one test alone, of the same build."""
    return of_target(command, target, ["--exact", name])


def ended(lines):
    """The target whose program ended without a result after its tests, if no other failed."""
    targets = [match[1] for line in lines if (match := TARGET.fullmatch(line))]
    is_one = sum(line.startswith(ENDED) for line in lines) == 1 and len(targets) == 1
    has_failed = any(line.startswith("test result: FAILED") for line in lines)
    return targets[0] if is_one and not has_failed else None


def with_output_of_successes(command):
    """The command, by which the harness also prints the output of tests that passed."""
    return [*command, *([] if "--" in command else ["--"]), "--show-output"]


def report(variable, lines):
    """Appends lines to the file that an environment variable names."""
    if file := os.environ.get(variable):
        with open(file, "a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)


def without_backtraces(lines):
    """The lines without empty ones, notes, and the frames that follow `stack backtrace:`.

    A panic prints these words in lower case, an error of anyhow with a capital.
    """
    kept, in_backtrace = [], False
    for line in lines:
        if BACKTRACE.match(line):
            in_backtrace = True
        elif not in_backtrace or not FRAME.match(line):
            in_backtrace = False
            if line.strip() and not line.startswith("note: "):
                kept.append(line)
    return kept


def errors_of(lines):
    """Each error's first lines, and its causes: an error may have hundreds of lines of details."""
    begins = [at for at, line in enumerate(lines) if ERROR.match(line)]
    reported = []
    for begin, end in zip(begins, [*begins[1:], len(lines)]):
        error = lines[begin:end]
        cause = next((at for at, line in enumerate(error) if line.strip() == "Caused by:"), end)
        reported += error[:min(cause, REPORTED)] + error[cause:cause + REPORTED]
    return reported[:ERRORS]


def output_of(name, lines):
    """What a failed test printed: its errors with their causes, then the lines before the first."""
    heading = f"---- {name} stdout ----"
    if heading not in lines:
        return []
    rest = lines[lines.index(heading) + 1:]
    ends = re.compile(r"---- |failures:$")
    end = next((at for at, line in enumerate(rest) if ends.match(line)), None)
    printed = without_backtraces(rest[:end])
    first = next((at for at, line in enumerate(printed) if ERROR.match(line)), len(printed))
    before = printed[:first][-REPORTED:]
    errors = errors_of(printed)
    if errors and before:
        before = ["before that:", *before]
    return [f"        {line[:300]}" for line in errors + before]


def output_alone(name, lines):
    """What a test that ran alone printed, or the last lines of a run that has no result of it."""
    last = [f"        {line[:300]}" for line in lines if line.strip()][-REPORTED:]
    return output_of(name, lines) or last


def lines_at_ends(lines):
    """What programs printed that ended without a result, and why cargo says they did."""
    ends = [at for at, line in enumerate(lines) if line.startswith(ENDED)]
    return [line for at in ends for line in lines[at:at + REPORTED + 3]]


def report_failures(again, lines):
    """Reports the failed tests, or the errors of a run whose failures cannot be parsed."""
    if again is None:
        errors = [line for line in lines if re.match(r"error|.* panicked at|fatal", line)]
        errors += lines_at_ends(lines)
        report("MARTLET_FAILED", [line[:300] for line in errors[-3 * REPORTED:]])
        return
    for target, name in again[:LIMIT]:
        report("MARTLET_FAILED", [f"{target} {name}", *output_of(name, lines)])
    if len(again) > LIMIT:
        report("MARTLET_FAILED", [f"and {len(again) - LIMIT} others"])


def list_skipped(skipped):
    """Lists the tests that reported that this machine cannot run them."""
    if not skipped:
        return
    print(f"\n{len(skipped)} tests or checks were skipped on this machine:")
    for line in sorted(skipped):
        print(f"    {line}")
    report("MARTLET_SKIPPED", sorted(skipped))


def main():
    command = sys.argv[1:]
    if not command:
        sys.exit(__doc__)
    code, output = run(with_output_of_successes(command))
    list_skipped(output.skipped)
    if code == 0:
        return
    if target := ended(output.lines):
        print(f"\nOnce more: {target}", flush=True)
        report("MARTLET_UNSTEADY", [target, *lines_at_ends(output.lines)])
        code, output = run(with_output_of_successes(of_target(command, target, [])))
        if code == 0:
            return
    again = failed(output.lines)
    if not again or len(again) > LIMIT:
        report_failures(again or None, output.lines)
        sys.exit(code)
    first = output.lines
    for target, name in again:
        for time in range(TIMES):
            print(f"\nOnce more alone ({time + 1} of {TIMES}): {target} {name}", flush=True)
            code, output = run(alone(command, target, name))
            passed = re.compile(r"test result: ok\. (\d+) passed")
            ran = sum(int(match[1]) for line in output.lines if (match := passed.match(line)))
            if code != 0 or ran == 0:
                report_failures([(target, name)], first)
                attempt = f"    alone, attempt {time + 1} of {TIMES}:"
                report("MARTLET_FAILED", [attempt, *output_alone(name, output.lines)])
                sys.exit(f"\n{name} ({target}) failed again alone.")
    print("\nUNSTEADY: these tests failed once and passed alone. Find the cause.")
    for target, name in again:
        print(f"    {target} {name}")
        report("MARTLET_UNSTEADY", [f"{target} {name}", *output_of(name, first)])


if __name__ == "__main__":
    main()
