#!/usr/bin/env python3
"""Checks what each crate needs that can be published by itself.

    deploy/lint/packages.py            the checks, without a compiler
    deploy/lint/packages.py --list     the names of the crates, for `cargo package`

These are: a description, keywords and categories; a README with an example, and with sections on
errors, features and the licence; a crate page (`//!`) with errors, features and an example, which
is the README's, so that it runs as a test; an `examples` folder, whose programs the README names;
and dependencies that are published, too, with versions. The Go package has the same sections, and
an example that `go test` runs. Every crate of the workspace has a description.

The fabric is a library of its own: nothing in `fabric` names network functions or the SBI.
"""

import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
CRATES = [
    "fabric/core",
    "fabric/c",
    "wire/security",
    "wire/nas",
    "wire/ngap",
    "wire/pfcp",
    "wire/gtpu",
    "wire/eap",
    "wire/per",
    "wire/lpp",
    "wire/nrppa",
    "wire/lcsupp",
    "log_limit",
    "n2/sctp",
    "upf/switch/p4c-swx",
]
# Sections of a README.
SECTIONS = ["Example", "Errors", "Features", "Licence"]
MODULE = "github.com/martlet-core/martlet/fabric/go"
# Words of a 5G core, which the fabric does not have.
CORE = re.compile(r"\b(?:SBI|NRF|AMF|SMF|UPF|UDM|AUSF|SUPI|3GPP|TS \d\d\.\d+|free5GC)\b")


def manifest(folder):
    return tomllib.loads((ROOT / folder / "Cargo.toml").read_text())


def crate_page(folder, readme):
    """The text of the crate page."""
    source = (ROOT / folder / "src/lib.rs").read_text()
    if '#![doc = include_str!("../README.md")]' in source:
        return readme
    lines = [line for line in source.splitlines() if line.startswith("//!")]
    return "".join(line[3:].removeprefix(" ") + "\n" for line in lines)


def examples(text):
    """The code blocks of a page in Rust or C, without the lines that rustdoc hides."""
    found, block, language = [], None, ""
    for line in text.splitlines():
        if not line.startswith("```"):
            if block is not None and line != "#" and not line.startswith("# "):
                block.append(line)
        elif block is None:
            block, language = [], line[3:].split(",")[0]
        else:
            if language in ("", "rust", "c"):
                found.append("\n".join(block).strip())
            block = None
    return found


def faults(folder, workspace, published):
    """Yields what a crate lacks."""
    whole = manifest(folder)
    package = whole["package"]
    for field in ["description", "keywords", "categories", "repository", "license", "readme"]:
        if field not in package:
            yield f"no {field}"
    readme = package.get("readme")
    if not isinstance(readme, str) or not (ROOT / folder / readme).is_file():
        yield "no README"
        return
    text = (ROOT / folder / readme).read_text()
    for section in SECTIONS:
        if f"\n## {section}\n" not in text:
            yield f"{readme} has no section {section}"
    page = crate_page(folder, text)
    for section in ("errors", "features"):
        if not re.search(rf"^#+ .*{section}", page, re.MULTILINE | re.IGNORECASE):
            yield f"the crate page has no section on {section}"
    shown = examples(text)
    if not shown:
        yield f"no example in {readme}"
    elif shown[0] not in examples(page):
        yield f"the example of {readme} is not that of the crate page, which runs as a test"
    programs = list((ROOT / folder / "examples").glob("*"))
    if not programs:
        yield "no examples"
    for program in programs:
        if f"examples/{program.name}" not in text:
            yield f"{readme} does not name examples/{program.name}"
    tables = [whole.get("dependencies", {}), whole.get("build-dependencies", {})]
    for name, own in (pair for table in tables for pair in table.items()):
        shared = workspace.get(name, {}) if isinstance(own, dict) and own.get("workspace") else own
        if isinstance(shared, dict) and "path" in shared:
            if name not in published:
                yield f"depends on {name}, which is not published"
            if "version" not in shared:
                yield f"depends on {name} without a version"


def faults_of_go():
    """Yields what the Go package lacks."""
    folder = ROOT / "fabric/go"
    if not (folder / "go.mod").read_text().startswith(f"module {MODULE}\n"):
        yield f"the module is not {MODULE}"
    text = (folder / "README.md").read_text()
    for section in SECTIONS:
        if f"\n## {section}\n" not in text:
            yield f"README.md has no section {section}"
    # `go test` runs an example that has its output.
    example = folder / "example_test.go"
    if not example.is_file() or "// Output:" not in example.read_text():
        yield "no example that runs as a test"
    if "// Package " not in (folder / "doc.go").read_text():
        yield "no page of the package"


def faults_of_fabric():
    """Yields lines of the fabric that have words of a 5G core."""
    command = ["git", "ls-files", "fabric"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for path in listed.stdout.splitlines():
        if not (ROOT / path).is_file():
            continue
        lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            if word := CORE.search(line):
                yield f"{path}:{number}: {word.group()}"


def main():
    names = [manifest(folder)["package"]["name"] for folder in CRATES]
    if sys.argv[1:] == ["--list"]:
        return print("\n".join(names))
    whole = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
    workspace = whole["dependencies"]
    found = [
        f"{folder}: no description"
        for folder in whole["members"]
        if "description" not in manifest(folder)["package"]
    ]
    found += [
        f"{folder}: {fault}" for folder in CRATES for fault in faults(folder, workspace, names)
    ]
    found += [f"fabric/go: {fault}" for fault in faults_of_go()]
    found += faults_of_fabric()
    print("\n".join(found))
    if found:
        sys.exit("These crates cannot be published as they are.")


main()
