#!/usr/bin/env python3
"""Reports references in pages and comments that lead nowhere.

In Markdown: relative links, with their anchors, and paths in backticks. In sources:
`path/file.rs:123`.
A path counts as a reference where its first component is a folder of this repository.
"""

import os
import re
import subprocess
import sys

SOURCES = (".rs", ".c", ".h", ".p4", ".go", ".py", ".sh")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
QUOTED = re.compile(r"`([A-Za-z0-9_.{},/*-]+/[A-Za-z0-9_.{},/*-]*)(?::(\d+))?`")
FILE_LINE = re.compile(r"\b((?:[\w.-]+/)+[\w.-]+\.(?:rs|c|h|p4|go|py|md|yaml)):(\d+)\b")


def git_files():
    return subprocess.run(
        ["git", "ls-files"], check=True, capture_output=True, text=True
    ).stdout.splitlines()


FILES = set(git_files())
FOLDERS = set()
for _path in FILES:
    while "/" in _path:
        _path = _path.rsplit("/", 1)[0]
        FOLDERS.add(_path)
TOP = {folder for folder in FOLDERS if "/" not in folder}


def braces(text):
    """Expands `a/{b,c}.rs` as a shell does."""
    match = re.search(r"\{([^{}]*)\}", text)
    if not match:
        return [text]
    choices = match[1].split(",")
    return [
        result
        for choice in choices
        for result in braces(text[: match.start()] + choice + text[match.end() :])
    ]


def exists(path):
    path = os.path.normpath(path)
    if "*" in path:
        pattern = re.compile(re.escape(path).replace(r"\*", "[^/]*"))
        return any(pattern.fullmatch(name) for name in FILES | FOLDERS)
    return path in FILES or path in FOLDERS or path == "."


def line_exists(path, number):
    with open(path, encoding="utf-8", errors="replace") as file:
        return int(number) <= sum(1 for _ in file)


def anchors(path):
    """The anchors of a page's headings, as forges make them."""
    found = set()
    in_code = False
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("```"):
                in_code = not in_code
            if not in_code and (match := re.match(r"#+\s+(.*)", line)):
                text = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", match[1]).strip().lower()
                found.add(re.sub(r"[^\w\- ]", "", text).replace(" ", "-"))
    return found


def check_link(page, target):
    if re.match(r"[a-z]+:", target):
        return None
    path, _, anchor = target.partition("#")
    full = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    if not exists(full):
        return f"link to {target}: no such file"
    if anchor and full.endswith(".md") and anchor not in anchors(full):
        return f"link to {target}: no such heading"
    return None


def crate_of(folder):
    """The folder of the crate or module that holds a folder."""
    while folder and not FILES & {f"{folder}/Cargo.toml", f"{folder}/go.mod"}:
        folder = os.path.dirname(folder)
    return folder


def check_path(base, path, number):
    """Checks a path that starts at the repository's root, at the crate's, or beside the page."""
    for one in braces(path):
        one = one.rstrip("/")
        if re.search(r"(^|/)[A-Z]+(/|$)", one):
            continue  # A placeholder: `tests/NAME/go.mod`.
        starts = ["", crate_of(base), base]
        full = next(
            (p for p in (os.path.normpath(os.path.join(s, one)) for s in starts) if exists(p)), None
        )
        if full:
            pass
        elif one.split("/")[0] in TOP and "." in os.path.basename(one):
            return f"{one}: no such file"
        else:
            continue
        if number and full in FILES and not line_exists(full, number):
            return f"{one}:{number}: the file has fewer lines"
    return None


def problems(page):
    base = os.path.dirname(page)
    markdown = page.endswith(".md")
    in_code = False
    with open(page, encoding="utf-8", errors="replace") as file:
        for line_number, line in enumerate(file, 1):
            if markdown and line.lstrip().startswith("```"):
                in_code = not in_code
            found = []
            if markdown and not in_code:
                found += [check_link(page, match[1]) for match in LINK.finditer(line)]
            comment = re.match(r"\s*(//|#|\*)", line)
            if (markdown and not in_code) or comment:
                found += [check_path(base, m[1], m[2]) for m in QUOTED.finditer(line)]
                found += [check_path(base, m[1], m[2]) for m in FILE_LINE.finditer(line)]
            for problem in dict.fromkeys(filter(None, found)):
                yield f"{page}:{line_number}: {problem}"


def main():
    found = [
        problem
        for page in sorted(FILES)
        if page.endswith(SOURCES + (".md",)) and page != "CHANGELOG.md"
        for problem in problems(page)
    ]
    print("\n".join(found))
    if found:
        sys.exit(f"{len(found)} references lead nowhere: correct or remove them.")


main()
