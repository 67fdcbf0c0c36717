#!/usr/bin/env python3
"""Sums the coverage that libFuzzer prints with -print_coverage=1, by crate of Martlet.

    target -runs=0 -print_coverage=1 corpus/TARGET 2>&1 | coverage.py ROOT [--functions]

ROOT is the folder of the workspace. Of other crates, those of the codecs that it pins are counted.
With --functions, the functions that no input reaches are listed.
"""
import collections
import re
import sys

# COVERED_FUNC: hits: 1 edges: 2/3 name file:line, UNCOVERED_FUNC: hits: 0 edges: 0/3 name file:line
LINE = re.compile(r"(UN)?COVERED_FUNC: hits: \d+ edges: (\d+)/(\d+) (.*) (\S+):\d+$")
# A source file of a pinned codec.
CODEC = re.compile(r".*/registry/src/[^/]*/(oxirush-[^/]*/src/.*)")


def main():
    root = sys.argv[1].rstrip("/") + "/"
    crates = collections.defaultdict(lambda: [0, 0, 0, 0])
    missed = []
    for line in sys.stdin:
        match = LINE.search(line.rstrip())
        codec = CODEC.match(match[5]) if match else None
        if not match or not (codec or match[5].startswith(root)):
            continue
        file = codec[1] if codec else match[5].removeprefix(root)
        if file.startswith("fuzz/"):
            continue
        crate = file.split("/src/")[0]
        reached, edges = int(match[2]), int(match[3])
        sums = crates[crate]
        sums[0] += reached
        sums[1] += edges
        sums[2] += match[1] is None
        sums[3] += 1
        if match[1]:
            missed.append(f"{file}: {match[4]}")
    for crate, (reached, edges, functions, all_functions) in sorted(crates.items()):
        if reached:
            print(
                f"coverage of {crate}: {reached} of {edges} edges ({100 * reached // edges} %), "
                f"{functions} of {all_functions} functions"
            )
    if "--functions" in sys.argv:
        print("\n".join(sorted(set(missed))))


if __name__ == "__main__":
    main()
