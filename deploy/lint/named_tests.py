#!/usr/bin/env python3
"""Checks that pages name existing tests: in Markdown, a link to a source file, followed by names in
backticks, as [file.rs](path/file.rs) `first`, `second`, means functions of that file.

In docs/security.md each row of a table with a column "test" names a test: a function with an
attribute `test`. A renamed test then fails here, not in the eyes of a reader. In CONFORMANCE.md
each source file in the columns "code" and "test" has a function, and those of "test" are tests.
Each file of a procedure of the AMF or SMF is in the column "code" of a row.
"""
import functools
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMED = re.compile(r"\]\(([^)#\s]+\.rs)\)((?:,? `[A-Za-z0-9_]+`)+)")
NAME = re.compile(r"`([A-Za-z0-9_]+)`")
FUNCTION = re.compile(
    r"((?:^[ \t]*(?:#\[[^\n]*\]|///?[^\n]*)\n)*)"
    r"^[ \t]*(?:pub(?:\([^)]*\))? )?(?:const )?(?:async )?(?:unsafe )?fn ([a-z0-9_]+)",
    re.MULTILINE,
)
TEST = re.compile(r"#\[(?:tokio::)?test\b|#\[test_case|#\[rstest")
MACRO = re.compile(r"\b([a-z0-9_]+)\b")
# What stands in place of a test in the last column.
INSTEAD = re.compile(r"^(?:the same\b|by design\b)")
SECURITY = "docs/security.md"
CONFORMANCE = "CONFORMANCE.md"
# Files of procedures; what several procedures share has no clause of its own.
PROCEDURES = ["nf/amf/src/procedures/*/**/*.rs", "nf/smf/src/procedures/*/**/*.rs"]
SOURCE = re.compile(r"\]\(([^)#\s]+\.rs)\)(?!,? `)")
# Functions that one test calls in turn.
CASES = re.compile(r"/\w+_cases/")


@functools.cache
def functions(path: Path) -> dict[str, bool]:
    """The functions of a file, and whether each is a test."""
    text = path.read_text(encoding="utf-8")
    found = {name: bool(TEST.search(before)) for before, name in FUNCTION.findall(text)}
    # Tests that a macro defines: any word of a file with such a macro.
    if "macro_rules!" in text:
        for name in MACRO.findall(text):
            found.setdefault(name, True)
    return found


def named(page: str, cell: str, tests: bool):
    """The faults of what a text names."""
    for link, names in NAMED.findall(cell):
        path = (ROOT / page).parent / link
        if not path.is_file():
            yield f"no file {link}"
            continue
        for name in NAME.findall(names):
            is_test = functions(path).get(name)
            if is_test is None:
                yield f"no function {name} in {link}"
            elif tests and not is_test:
                yield f"{name} in {link} is no test"


def rows(text: str):
    """Lines that are rows of a table, with their number and the title of their last column."""
    title = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            title = None
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if title is None:
            title = cells[-1]
        elif not line.startswith("| ---") and not line.startswith("|---"):
            yield number, title, cells


def conformance(text: str):
    """The faults of the columns "code" and "test", with their lines."""
    titles, linked = [], set()
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            titles = []
        elif not titles:
            titles = cells
        elif "code" in titles and len(cells) == len(titles):
            for column in ("code", "test"):
                cell = cells[titles.index(column)]
                for link in SOURCE.findall(cell):
                    yield number, f"no function of {link} is named"
                if column == "test" and not CASES.search(cell):
                    for fault in named(CONFORMANCE, cell, True):
                        yield number, fault
                if column == "code":
                    linked.update(link for link, _ in NAMED.findall(cell))
    for pattern in PROCEDURES:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            if path.name != "mod.rs" and name not in linked:
                yield 1, f"the procedure {name} is in no column \"code\""


def faults(page: str):
    text = (ROOT / page).read_text(encoding="utf-8")
    if page == CONFORMANCE:
        yield from conformance(text)
    if page != SECURITY:
        for number, line in enumerate(text.splitlines(), 1):
            for fault in named(page, line, False):
                yield number, fault
        return
    found = 0
    for number, title, cells in rows(text):
        if title not in ("test", "shown by"):
            continue
        found += 1
        cell = cells[-1]
        for fault in named(page, cell, True):
            yield number, fault
        is_open = title == "shown by" and cells[-2].startswith("open")
        if not NAMED.search(cell) and not INSTEAD.search(cell) and not is_open:
            yield number, "names no test"
    if found < 80:
        yield 1, f"only {found} rows with tests were found"


def main() -> int:
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    bad = 0
    for page in listed.stdout.splitlines():
        for number, fault in faults(page):
            bad += 1
            print(f"{page}:{number}: {fault}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
