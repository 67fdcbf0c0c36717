#!/usr/bin/env python3
"""Reports words that are no technical terms, in comments, strings, identifiers and pages.

    deploy/lint/words.py [PATH…]     the files below these paths; default: the whole tree

The rules, with the uses that they allow, are in `deploy/lint/words.txt`.
"""

import fnmatch
import re
import subprocess
import sys
from pathlib import Path

RULES = Path(__file__).with_name("words.txt")
SLASHES = (".rs", ".c", ".h", ".p4", ".go")
HASHES = (".py", ".sh", ".toml", ".yaml", ".yml", "Makefile")
GENERATED = re.compile(r"^wire/(lpp|nrppa)/src/generated|/generated/|\.generated\.")
TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>\bb?r(?P<h>\#*)".*?"(?P=h)|"(?:\\.|[^"\\])*"|`[^`]*`)
      | (?P<char>'(?:\\[^\n]{1,8}|[^'\\\n])')
      | (?P<name>\b[A-Za-z_]\w*)""",
    re.S | re.X,
)
WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


class Rules:
    """What `words.txt` says."""

    def __init__(self):
        self.text, self.names, self.exempt, self.pending = [], {}, [], []
        for number, line in enumerate(RULES.read_text(encoding="utf-8").splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            kind, _, rest = line.partition(" ")
            parts = [part.strip() for part in rest.split(" | ")]
            if kind == "exempt":
                self.exempt.append(rest.strip())
            elif kind == "pending":
                self.pending.append(rest.strip())
            elif kind in ("text", "name") and len(parts) in (2, 3):
                allowed = parts[2].split() if len(parts) == 3 else []
                if kind == "text":
                    pattern = parts[0].replace(" ", r"\s+")
                    self.text.append((re.compile(rf"\b(?:{pattern})\b", re.I), parts[1], allowed))
                else:
                    for word in parts[0].split(","):
                        self.names[word.strip()] = (parts[1], allowed)
            else:
                sys.exit(f"{RULES}:{number}: not a rule: {line}")

    def covers(self, path):
        """Whether a file is checked."""
        return not any(fnmatch.fnmatch(path, pattern) for pattern in self.exempt) and not any(
            path.startswith(folder + "/") for folder in self.pending
        )


def is_allowed(allowed, path, text):
    """Whether a file or a text matches one of the allowed globs."""
    return any(fnmatch.fnmatchcase(it, pattern) for pattern in allowed for it in (path, text))


def comment_text(comment):
    """A comment without its marks, with its lines kept."""
    return re.sub(r"(?m)^\s*(//[/!]?|/\*+|\*+(?!/)|#+)|\*/", " ", comment)


def pieces(path, source):
    """Yields (kind, line, text): paragraphs of comments, strings, and names."""
    if path.endswith(".md"):
        yield "text", 1, source
        return
    if path.endswith(HASHES):
        # All of the file is read: comments, strings, commands and keys.
        yield "text", 1, re.sub(r"(?m)^\s*#", " ", source)
        if path.endswith(".py"):
            for match in re.finditer(r"\b(?:def|class) (\w+)|^\s*(\w+) =", source, re.M):
                yield "name", source.count("\n", 0, match.start()) + 1, match[1] or match[2]
        return
    # Comments of consecutive lines are one text, so that a phrase may be broken between them.
    start, end, block = 0, 0, ""
    for match in TOKEN.finditer(source):
        kind = match.lastgroup if match.lastgroup != "h" else "string"
        if match["comment"] is not None:
            between = source[end : match.start()]
            if block and not between.strip() and between.count("\n") <= 1:
                block += between + match[0]
            else:
                if block:
                    yield "text", source.count("\n", 0, start) + 1, comment_text(block)
                start, block = match.start(), match[0]
            end = match.end()
        elif match["string"] is not None:
            yield "text", source.count("\n", 0, match.start()) + 1, match[0]
        elif kind == "name":
            yield "name", source.count("\n", 0, match.start()) + 1, match[0]
    if block:
        yield "text", source.count("\n", 0, start) + 1, comment_text(block)


def problems(rules, path):
    """Yields the lines to print about a file, each name once."""
    source = Path(path).read_text(encoding="utf-8", errors="replace")
    seen = set()
    for kind, line, text in pieces(path, source):
        if kind == "name":
            if text in seen:
                continue
            seen.add(text)
            for word in WORD.findall(text):
                suggestion, allowed = rules.names.get(word.lower(), (None, ()))
                if suggestion and not is_allowed(allowed, path, text):
                    yield line, f"{path}:{line}: `{text}`: '{word}' -> {suggestion}"
            continue
        for pattern, suggestion, allowed in rules.text:
            for match in pattern.finditer(text):
                if not is_allowed(allowed, path, match[0]):
                    at = line + text.count("\n", 0, match.start())
                    yield at, f"{path}:{at}: '{' '.join(match[0].split())}' -> {suggestion}"


def main():
    rules = Rules()
    paths = subprocess.run(
        ["git", "ls-files", *sys.argv[1:]], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    found = []
    for path in paths:
        checked = path.endswith(SLASHES + HASHES + (".md",)) and not GENERATED.search(path)
        if checked and Path(path).is_file() and rules.covers(path):
            found += [text for _, text in sorted(problems(rules, path))]
    print("\n".join(found))
    if found:
        sys.exit(f"{len(found)} house words: use the suggestions, or allow a use in words.txt.")


main()
