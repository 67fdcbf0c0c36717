#!/usr/bin/env python3
"""Reports calls that may panic in code that runs in a network function.

These are `.unwrap()`, `.expect(…)`, `panic!`, `unreachable!`, `todo!`, `unimplemented!` and
assertions, unless the compiler evaluates them. Tests, examples and build scripts are not checked.

`panics.txt` lists what is allowed: the message of an `.expect(…)` that states why it cannot fail,
the assertions of a file, or a whole file. A line of the list that allows nothing fails, too.
"""

import fnmatch
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALLOWED = pathlib.Path(__file__).with_name("panics.txt")
CALL = re.compile(
    # A method `expect` that returns a `Result` does not panic.
    r"""\.unwrap\(\)
      | \.expect\(\s*(?:"(?P<reason>[^"]*)"|(?P<name>[A-Z]\w+)),?\s*\)(?!\?)
      | \b(?:panic|unreachable|todo|unimplemented)!
      | (?<!debug_)\b(?P<assertion>assert(?:_eq|_ne)?)!""",
    re.X,
)
# What precedes an assertion that the compiler evaluates.
CONSTANT = re.compile(r"const (?:_: \(\) =|\{)\s*$")
TEST = re.compile(r"(^|/)(tests?|testing|benches|examples|fuzz)(/|\.rs$)|_tests?\.rs$|build\.rs$")
# Modules and functions of tests, up to the brace that ends them.
TEST_ITEM = re.compile(
    r"^(?P<indent> *)#\[(?:cfg\((?:all\(|any\()?test|test\]|tokio::test)[^\n]*\n.*?^(?P=indent)\}$",
    re.S | re.M,
)


def code(path):
    """The text of a file in which comments and tests are blank lines."""
    text = (ROOT / path).read_text(encoding="utf-8")
    text = re.sub(r"//[^\n]*", "", text)
    return TEST_ITEM.sub(lambda item: "\n" * item.group().count("\n"), text)


def main():
    rules = [
        line for line in ALLOWED.read_text().splitlines() if line and not line.startswith("#")
    ]
    files = subprocess.run(
        ["git", "ls-files", "*.rs"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    used, found = set(), []
    for path in files:
        if TEST.search(path) or not (ROOT / path).is_file():
            continue
        text = code(path)
        for match in CALL.finditer(text):
            if match["assertion"] and CONSTANT.search(text, 0, match.start()):
                continue
            reason = match["reason"] or match["name"]
            rule = next(
                (
                    rule
                    for rule in rules
                    if rule == f"expect {reason}"
                    or (match["assertion"] and rule == f"assert {path}")
                    or fnmatch.fnmatch(path, rule.removeprefix("file "))
                ),
                None,
            )
            if rule:
                used.add(rule)
                continue
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{path}:{line}: {match.group()}")
    found += [f"panics.txt: '{rule}' allows nothing" for rule in rules if rule not in used]
    print("\n".join(found))
    if found:
        sys.exit("Return an error instead, or state in panics.txt why it cannot panic.")


main()
