#!/usr/bin/env python3
"""Reports pipes into `grep -q` in shell scripts with `pipefail`.

`grep -q` ends at the first match. The producer may then fail with SIGPIPE, and with it the pipe: a
text that is found counts as missing. A script assigns the output to a variable, and searches it
with `grep -q … <<< "$output"`. The script of an `sh -c '…'` is exempt unless it sets `pipefail`.
"""

import os
import re
import subprocess
import sys

SHEBANG = re.compile(r"#!.*\b(?:ba)?sh\b")
COMMENT = re.compile(r"^[ \t]*#.*", re.M)
QUOTED = r"""'[^'\n]*'|"[^"\n]*\""""
INNER = re.compile(r"\b(?:ba)?sh -c '(?:(?!pipefail)[^'])*'")
PIPE = re.compile(
    r"(?<!\|)\|(?!\|)&?(?:\s|\\\n)*"  # a pipe, which may end a line
    r"(?:(?:\w+=\S*|sudo|command)\s+)*[efz]?grep\b"
    rf"(?P<arguments>(?:{QUOTED}|\\.|\\\n|[^|;&\n)'\"\\])*)"
)
QUIET = re.compile(r"-[A-Za-z]*q[A-Za-z]*|--quiet|--silent")


def blank(match):
    """The lines of a match without their text."""
    return "\n" * match[0].count("\n")


def pipes(text):
    """The numbers of the lines on which such pipes are."""
    text = INNER.sub(blank, COMMENT.sub("", text))
    if "pipefail" not in text:
        return
    for match in PIPE.finditer(text):
        arguments = re.sub(QUOTED, "", match["arguments"]).split()
        if any(QUIET.fullmatch(argument) for argument in arguments):
            yield text.count("\n", 0, match.start()) + 1


def main():
    paths = subprocess.run(
        ["git", "ls-files"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    found = 0
    for path in filter(os.path.isfile, paths):
        with open(path, encoding="utf-8", errors="replace") as file:
            first = file.readline(80)
            if not path.endswith(".sh") and not SHEBANG.match(first):
                continue
            text = first + file.read()
        for number in pipes(text):
            found += 1
            print(f"{path}:{number}: pipes into `grep -q`")
    if found:
        sys.exit(f"{found} pipes end early: search a variable with `grep -q … <<< \"$output\"`.")


main()
