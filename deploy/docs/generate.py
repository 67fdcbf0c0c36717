#!/usr/bin/env python3
"""Writes the sources of the documentation site.

    generate.py PROGRAM FOLDER

Pages keep their paths in the repository, so that their links stay valid. Links to files that are no
pages of the site, such as sources, become links to the repository. The reference is generated:
keys, schema and commands by the program itself, metrics and log events from its sources.
"""
import json
import os
import re
import shutil
import subprocess
import sys

REPOSITORY = "https://github.com/martlet-core/martlet"
LINK = re.compile(r"(\[[^\]]*\]\()([^)\s]+)(\))")
# Crates whose code the program `martlet` does not run as a core.
NOT_THE_CORE = (
    "lab/", "tests/", "ran/", "fuzz/", "wire/testing/", "wire/oracles/", "upf/switch/p4c-swx/",
)


def git_files(*patterns):
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


FILES = set(git_files())


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


# Pages.


def summary_pages():
    """The paths of all pages in the summary, from the root of the repository."""
    links = [match[2] for match in LINK.finditer(read("docs/SUMMARY.md"))]
    return [os.path.normpath(os.path.join("docs", link)) for link in links]


def in_book(path):
    """The path of a page in the book: a folder's README is its index."""
    return re.sub(r"(^|/)README\.md$", r"\1index.md", path)


def rewritten(page, text, pages):
    """The text of a page with links to the repository where the site has no such file."""

    def link(match):
        target, _, anchor = match[2].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        path = os.path.normpath(os.path.join(os.path.dirname(page), target))
        anchor = f"#{anchor}" if anchor else ""
        if path in pages:
            return f"{match[1]}{in_book(target)}{anchor}{match[3]}"
        if path.startswith("docs/images/"):
            return match[0]
        kind = "blob" if path in FILES else "tree"
        return f"{match[1]}{REPOSITORY}/{kind}/main/{path}{anchor}{match[3]}"

    out, in_code = [], False
    for line in text.splitlines():
        if line.lstrip().startswith("```"):
            in_code = not in_code
        out.append(line if in_code else LINK.sub(link, line))
    return "\n".join(out) + "\n"


# Commands.


def help_of(program, words):
    return output_of(program, *words, "--help").rstrip()


def subcommands(text):
    """The names below `Commands:` in a help text."""
    names, inside = [], False
    for line in text.splitlines():
        if line == "Commands:":
            inside = True
        elif inside and not line.startswith(" "):
            break
        elif inside and (match := re.match(r"  (\w[\w-]*)(\s|$)", line)):
            names.append(match[1])
    return [name for name in names if name != "help"]


def commands(program):
    """A section for each command, as its `--help` prints it."""
    out = ["# Commands", "", "As `martlet COMMAND --help` prints them.", ""]

    def describe(words):
        text = help_of(program, words)
        heading = "#" * min(len(words) + 2, 4)
        out.extend([f"{heading} {' '.join(['martlet', *words])}", "", "```text", text, "```", ""])
        for name in subcommands(text):
            describe([*words, name])

    describe([])
    return "\n".join(out)


# Metrics and log events, from the sources.

STRING = r'"((?:[^"\\]|\\.)*)"'


def cell(text):
    """Text for a table."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def literal(text):
    """The value of a Rust string literal's inside: a backslash at the end of a line joins lines."""
    return re.sub(r"\\\n\s*", "", text).replace('\\"', '"')


def sources():
    """The core's sources without their unit tests, by path."""
    for path in sorted(git_files("*.rs")):
        tests = re.search(r"(^|/)(tests?|benches|examples)(/|\.rs$)|_tests?\.rs$|build\.rs$", path)
        if tests or path.startswith(NOT_THE_CORE):
            continue
        yield path, read(path).split("#[cfg(test)]")[0]


def metrics():
    """Name, kind, labels and description of each metric."""
    found = {}
    for path, text in sources():
        for match in re.finditer(r'"(martlet_[a-z0-9_]+)"', text):
            name = match[1]
            after = text[match.end() : match.end() + 400].split(";")[0]
            before = text[: match.start()]
            statement = before[max(before.rfind(";"), before.rfind("{")) :]
            help_text = None
            if inline := re.match(r"\s*,\s*" + STRING, after):
                help_text, after = literal(inline[1]), after[inline.end() :]
            elif re.match(r"\s*,\s*help\b", after):
                texts = re.findall(r"let help\s*=\s*" + STRING, before, re.S)
                help_text = literal(texts[-1])
            if not help_text or name in found:
                continue
            labels = re.match(r"[^\"]*?\[([^\]]*)\]", after)
            named = re.match(r"\s*,\s*&?(labels|LABELS)\b", after)
            if named:
                lists = re.findall(named[1] + r"\b[^=;]*=\s*&?\[([^\]]*)\]", before)
                labels = [None, lists[-1]] if lists else labels
            one = re.findall(r"^\s*,\s*" + STRING, after)
            labels = re.findall(STRING, labels[1]) if labels else one
            kind = "counter" if name.endswith("_total") else "gauge"
            if "istogram" in statement:
                kind = "histogram"
            found[name] = (kind, labels, help_text, path)
    out = [
        "# Metrics",
        "",
        "Prometheus metrics at `/metrics`, generated from the sources. A metric with labels",
        "appears with its first event.",
        "",
        "| metric | kind | labels | meaning |",
        "| --- | --- | --- | --- |",
    ]
    for name, (kind, labels, help_text, _) in sorted(found.items()):
        labels = ", ".join(f"`{label}`" for label in labels)
        out.append(f"| `{name}` | {kind} | {labels} | {cell(help_text)} |")
    assert len(found) > 60, f"only {len(found)} metrics were read"
    return "\n".join(out) + "\n"


def arguments(text, start):
    """The text between the parenthesis at `start` and its end; strings are skipped over."""
    depth, at = 0, start
    while at < len(text):
        if text[at] == '"':
            at = re.compile(STRING, re.S).match(text, at).end()
            continue
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
        if depth == 0:
            return text[start + 1 : at - 1]
    return ""


def log_events():
    """The log events of each part of the program, by level."""
    found = {}
    for path, text in sources():
        for match in re.finditer(r"\btracing::(error|warn|info)!\(", text):
            inside = arguments(text, match.end() - 1)
            strings = list(re.finditer(STRING, inside, re.S))
            if not strings:
                continue
            # The message is the first string that is no value of a field.
            for string in strings:
                is_value = re.search(r"(=|\()\s*$", inside[: string.start()])
                if not is_value and not re.fullmatch(r"\{[^}]*\}", string[1]):
                    part = "/".join(path.split("/src/")[0].split("/"))
                    found.setdefault(part, set()).add((literal(string[1]), match[1]))
                    break
    out = [
        "# Log events",
        "",
        "Events of level info and above, generated from the sources. Fields follow the event in",
        "the log. `martlet --log debug` has more.",
        "",
    ]
    for part, events in sorted(found.items()):
        out += [f"## {part}", "", "| event | level |", "| --- | --- |"]
        for event, level in sorted(events, key=lambda one: one[0].lower()):
            out.append(f"| {cell(event)} | {level} |")
        out.append("")
    assert sum(map(len, found.values())) > 150, "only few log events were read"
    return "\n".join(out)


# Causes: their numbers from the codec, their uses from the sources.

CAUSES = (
    ("GmmCause", "nf/amf/src", "5GMM causes of the AMF (TS 24.501, annex A and 9.11.3.2)"),
    ("GsmCause", "nf/smf/src", "5GSM causes of the SMF (TS 24.501, annex B and 9.11.4.2)"),
)


def cause_names(name):
    """Number and name in the specification of each variant of a cause, from the NAS codec."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    metadata = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    packages = json.loads(metadata)["packages"]
    manifest = next(one["manifest_path"] for one in packages if one["name"] == "oxirush-nas")
    text = read(os.path.join(os.path.dirname(manifest), "src/nas_5gs/ie.rs"))
    block = re.search(r"\npub enum " + name + r" \{(.*?)\n\}", text, re.S)[1]
    variants = re.finditer(r"/// #\d+ (.*?)\.?\n(?:\s*///.*\n)*\s+(\w+) = (\d+),", block)
    return {found[2]: (int(found[3]), found[1]) for found in variants}


def causes():
    """Which causes the functions send, and where."""
    out = [
        "# Causes",
        "",
        "The causes of rejections that the functions send, generated from the sources, with the",
        "files that send them. `martlet ue SUPI history` shows the cause of each procedure.",
        "",
    ]
    for name, folder, title in CAUSES:
        names, used = cause_names(name), {}
        for path, text in sources():
            if path.startswith(folder):
                for match in re.finditer(name + r"::([A-Z]\w+)", text):
                    used.setdefault(match[1], set()).add(path[len(folder) + 1 :])
        out += [f"## {title}", "", "| # | cause | where |", "| --- | --- | --- |"]
        for variant in sorted((one for one in used if one in names), key=names.get):
            files = ", ".join(f"[{path}](../../{folder}/{path})" for path in sorted(used[variant]))
            number, text = names[variant]
            out.append(f"| {number} | {cell(text)} | {files} |")
        out.append("")
        assert len(used) > 10, f"only {len(used)} causes of {name} were read"
    return "\n".join(out)


def output_of(program, *words):
    return subprocess.run([program, *words], check=True, capture_output=True, text=True).stdout


def schema(program):
    text = output_of(program, "reference", "schema")
    json.loads(text)
    return (
        "# JSON Schema of the configuration\n\n"
        "As `martlet reference schema` prints it: [martlet.schema.json](martlet.schema.json).\n"
        "Editors with the YAML language server check and complete a file that starts with\n"
        "`# yaml-language-server: $schema=martlet.schema.json`.\n"
    ), text


def keys(program):
    text = output_of(program, "reference", "keys")
    return text if text.startswith("# ") else f"# Configuration keys\n\n{text}"


def main():
    program, folder = sys.argv[1:]
    src = os.path.join(folder, "src")
    pages = summary_pages()
    schema_page, schema_text = schema(program)
    generated = {
        "docs/reference/keys.md": keys(program),
        "docs/reference/schema.md": schema_page,
        "docs/reference/commands.md": commands(program),
        "docs/reference/metrics.md": metrics(),
        "docs/reference/log-events.md": log_events(),
        "docs/reference/causes.md": rewritten("docs/reference/causes.md", causes(), pages),
        "docs/reference/martlet.schema.json": schema_text,
    }
    for page in pages:
        text = generated.pop(page, None) or rewritten(page, read(page), pages)
        path = os.path.join(src, in_book(page))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    for path, text in generated.items():
        with open(os.path.join(src, path), "w", encoding="utf-8") as file:
            file.write(text)
    shutil.copytree("docs/images", os.path.join(src, "docs/images"))
    summary = LINK.sub(
        lambda m: m[1] + in_book(os.path.normpath(os.path.join("docs", m[2]))) + m[3],
        read("docs/SUMMARY.md"),
    )
    with open(os.path.join(src, "SUMMARY.md"), "w", encoding="utf-8") as file:
        file.write(summary)
    shutil.copy("deploy/docs/book.toml", folder)


main()
