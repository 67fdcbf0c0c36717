#!/usr/bin/env python3
"""Makes the lists of system calls in sandbox/filters from a profile run.

    cargo build --workspace
    sandbox/profile.py sandbox/filters cargo test -p martlet --test processes -- --test-threads 1

The tests start `martlet up --split` under strace(1), since MARTLET_TEST_STRACE names a folder for
its output. Each process is traced from the moment at which it installs its filter (mode `log`, so
that nothing is refused). What a function calls from then on, and sandbox/filters/base.txt does not
have, is added to its list. Lines that are there already stay: a run shows what is called, not what
may be called.

Functions inherit the filter of the supervisor. So what the supervisor calls, what functions call
before they install their own filter, and what programs call that they run meanwhile, is added to
sandbox/filters/supervisor.txt, unless the list of any function has it.
"""
import collections
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LINE = re.compile(r"^(\d+) +([\d.]+) (?:(\w+)\((.*)|<\.\.\. (\w+) resumed>(.*)|)")
RESULT = re.compile(r"= (-?\d+)")


def calls(trace):
    """Yields function and system call for all that functions call under their filter."""
    process, name, sealed, starting = {}, {}, set(), {}
    for line in trace:
        match = LINE.match(line)
        if not match:
            continue
        thread = match[1]
        call = match[3] or match[5]
        arguments = match[4] if match[3] else match[6]
        if not call:
            continue
        process.setdefault(thread, thread)
        if call in ("clone", "clone3", "vfork", "fork"):
            if match[3]:
                starting[thread] = "CLONE_THREAD" in arguments
            result = RESULT.search(arguments)
            if result and int(result[1]) > 0:
                is_thread = starting.get(thread, False) or "CLONE_THREAD" in arguments
                process[result[1]] = process[thread] if is_thread else result[1]
                if not is_thread:
                    name.setdefault(result[1], name.get(process[thread]))
        own = process[thread]
        if call == "execve" and match[3]:
            words = re.findall(r'"([^"]*)"', arguments)
            if "nf" in words:
                name[own] = words[words.index("nf") + 1]
                sealed.discard(own)
            elif "--split" in words:
                name[own] = "supervisor"
        if call == "seccomp" and "SECCOMP_SET_MODE_FILTER" in (arguments or ""):
            sealed.add(own)
        elif own in sealed and name.get(own):
            yield name[own], call
        elif name.get(own) not in (None, "supervisor"):
            yield "supervisor", call


def names(file):
    lines = (line.split("#")[0].split() for line in file.read_text().splitlines())
    return {words[0] for words in lines if words}


def main():
    folder, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    with tempfile.TemporaryDirectory() as traces:
        environment = os.environ | {"MARTLET_TEST_STRACE": traces}
        outcome = subprocess.run(command, env=environment).returncode
        found = collections.defaultdict(collections.Counter)
        for file in pathlib.Path(traces).iterdir():
            with file.open(errors="replace") as trace:
                for function, call in calls(trace):
                    found[function][call] += 1
    base = names(folder / "base.txt") | names(folder / "programs.txt")
    every = set().union(*(names(file) for file in folder.glob("*.txt")))
    for function, counts in sorted(found.items()):
        file = folder / f"{function}.txt"
        known = every if function == "supervisor" else base | names(file)
        added = sorted(set(counts) - known)
        print(f"{function}: {sum(counts.values())} calls of {len(counts)} kinds, new: {added}")
        if added:
            file.write_text(file.read_text() + "".join(f"{call}\n" for call in added))
    return outcome


if __name__ == "__main__":
    sys.exit(main())
