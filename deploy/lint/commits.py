#!/usr/bin/env python3
"""Checks the subjects of commits: `component: imperative summary`, at most 72 columns.

    deploy/lint/commits.py [SINCE]     commits after SINCE; default: after the last one without form

A component is a folder (`upf/xdp`), several of them (`nf/{amf,smf}`), or `workspace`, `docs`, `ci`.
"""

import re
import subprocess
import sys

# The commits before this one, which formatted the workspace, had no form.
SINCE = "48b36b4"
COMPONENT = r"[a-z0-9_./{},*-]+"
SUBJECT = re.compile(rf"{COMPONENT}(, {COMPONENT})*: \S.*[^.]")


def main():
    since = sys.argv[1] if len(sys.argv) > 1 else SINCE
    known = (
        subprocess.run(
            ["git", "cat-file", "-e", f"{since}^{{commit}}"], capture_output=True
        ).returncode
        == 0
    )
    if not known:
        print(f"commits: {since} is not in this clone (a shallow one?): subjects are not checked")
        return
    log = subprocess.run(
        ["git", "log", "--no-merges", "--format=%h %s", f"{since}..HEAD"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    wrong = []
    for line in log:
        commit, subject = line.split(" ", 1)
        if len(subject) > 72:
            wrong.append(f"{commit}: {len(subject)} columns: {subject}")
        elif not SUBJECT.fullmatch(subject):
            wrong.append(f"{commit}: not `component: imperative summary`: {subject}")
    print("\n".join(wrong))
    if wrong:
        sys.exit(
            f"{len(wrong)} commit subjects do not have the form that CONTRIBUTING.md asks for."
        )


main()
