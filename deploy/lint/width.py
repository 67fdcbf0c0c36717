#!/usr/bin/env python3
"""Reports lines of over 100 columns in hand-written sources and pages.

Rust, C, P4, Go, Python, shell and Markdown are checked. Exempt are tables, in Markdown a link
target that is alone on its line, and in shell data that is one word.
"""

import re
import subprocess
import sys

WIDTH = 100
KINDS = (".rs", ".c", ".h", ".p4", ".go", ".py", ".sh", ".md")
GENERATED = re.compile(r"^wire/(lpp|nrppa)/src/generated|/generated/|\.generated\.")


def is_exempt(path, line):
    """Whether a long line is allowed."""
    if path.endswith(".md"):
        return line.lstrip().startswith("|") or re.fullmatch(r"(\[[^\]]+\]: )?https?://\S+", line)
    if path.endswith(".sh"):
        return max((len(word) for word in line.split()), default=0) > WIDTH - 30
    return re.match(r"\s*//[/!] \|", line)


def main():
    paths = subprocess.run(
        ["git", "ls-files"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    found = 0
    for path in paths:
        if not path.endswith(KINDS) or GENERATED.search(path):
            continue
        with open(path, encoding="utf-8", errors="replace") as file:
            for number, line in enumerate(file, 1):
                line = line.rstrip("\n")
                width = len(line.expandtabs(4))
                if width > WIDTH and not is_exempt(path, line):
                    found += 1
                    print(f"{path}:{number}: {width} columns")
    if found:
        sys.exit(f"{found} lines are longer than {WIDTH} columns: break them.")


main()
