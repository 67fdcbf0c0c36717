#!/usr/bin/env python3
"""Checks the licences and the sources of all crates, and that banned crates are not used.

The rules are those of `deny.toml`, so that cargo-deny (`make audit`) reads the same. It takes
minutes to compile, since it also reads the database of advisories; this needs `cargo metadata` and
the parser of SPDX expressions alone.
"""
import json
import subprocess
import sys
import tomllib

import license_expression as spdx

CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


def is_allowed(expression, allowed):
    """Whether one choice of licences that an expression leaves is allowed."""
    if isinstance(expression, spdx.OR):
        return any(is_allowed(part, allowed) for part in expression.args)
    if isinstance(expression, spdx.AND):
        return all(is_allowed(part, allowed) for part in expression.args)
    return str(expression) in allowed


def licence_error(package, allowed):
    """What is wrong with the licence of a package, or None."""
    text = package["license"]
    if not text:
        return f"has no licence in its manifest ({package['license_file']})"
    try:
        # Old manifests have `MIT/Apache-2.0`.
        expression = spdx.Licensing().parse(text.replace("/", " OR "))
    except spdx.ExpressionError as error:
        return f"has a licence that cannot be read: {text}: {error}"
    return None if is_allowed(expression, allowed) else f"has a licence that is not allowed: {text}"


def main():
    """Prints each error, and exits with 1 if there is one."""
    with open("deny.toml", "rb") as file:
        rules = tomllib.load(file)
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    metadata = json.loads(subprocess.check_output(command))
    packages = {package["id"]: package for package in metadata["packages"]}
    allowed = set(rules["licenses"]["allow"])
    banned = {rule["crate"]: rule.get("wrappers", []) for rule in rules["bans"]["deny"]}
    errors = []
    for node in metadata["resolve"]["nodes"]:
        package = packages[node["id"]]
        name = f"{package['name']} {package['version']}"
        if error := licence_error(package, allowed):
            errors.append(f"{name} {error}")
        if package["source"] not in (None, CRATES_IO):
            errors.append(f"{name} comes from {package['source']}")
        for dependency in node["deps"]:
            banned_name = packages[dependency["pkg"]]["name"]
            if package["name"] not in banned.get(banned_name, [package["name"]]):
                errors.append(f"{name} uses {banned_name}, which deny.toml bans")
    if len(packages) < 100 or not allowed:
        errors.append("nothing was checked: cargo metadata or deny.toml is empty")
    print("\n".join(errors), end="\n" if errors else "")
    sys.exit(bool(errors))


main()
