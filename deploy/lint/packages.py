#!/usr/bin/env python3
"""Checks what each crate needs that can be published by itself.

    deploy/lint/packages.py            the checks, without a compiler
    deploy/lint/packages.py --list     the names of the crates, for `cargo package`

These are: a description, keywords, a README, a crate page (`//!`) with an example, an `examples`
folder, and dependencies that are published, too, with versions.
"""

import pathlib
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
MODULE = "github.com/martlet-core/martlet/fabric/go"


def manifest(folder):
    return tomllib.loads((ROOT / folder / "Cargo.toml").read_text())


def faults(folder, workspace, published):
    """Yields what a crate lacks."""
    whole = manifest(folder)
    package = whole["package"]
    for field in ["description", "keywords", "categories", "repository", "license", "readme"]:
        if field not in package:
            yield f"no {field}"
    readme = package.get("readme")
    if isinstance(readme, str) and not (ROOT / folder / readme).is_file():
        yield f"no file {readme}"
    page = (ROOT / folder / "src/lib.rs").read_text()
    if "```" not in "".join(line for line in page.splitlines(True) if line.startswith("//!")):
        included = (ROOT / folder / str(readme)).read_text() if "include_str!" in page else ""
        if "```" not in included:
            yield "no example in the crate page"
    if not any((ROOT / folder / "examples").glob("*")):
        yield "no examples"
    tables = [whole.get("dependencies", {}), whole.get("build-dependencies", {})]
    for name, own in (pair for table in tables for pair in table.items()):
        shared = workspace.get(name, {}) if isinstance(own, dict) and own.get("workspace") else own
        if isinstance(shared, dict) and "path" in shared:
            if name not in published:
                yield f"depends on {name}, which is not published"
            if "version" not in shared:
                yield f"depends on {name} without a version"


def main():
    names = [manifest(folder)["package"]["name"] for folder in CRATES]
    if sys.argv[1:] == ["--list"]:
        return print("\n".join(names))
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    found = [
        f"{folder}: {fault}" for folder in CRATES for fault in faults(folder, workspace, names)
    ]
    if not (ROOT / "fabric/go/go.mod").read_text().startswith(f"module {MODULE}\n"):
        found.append(f"fabric/go/go.mod: the module is not {MODULE}")
    print("\n".join(found))
    if found:
        sys.exit("These crates cannot be published as they are.")


main()
