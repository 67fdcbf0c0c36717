#!/usr/bin/env python3
"""Checks licences, sources and versions of all crates, and that banned ones are not used.

The rules are those of `deny.toml`, so that cargo-deny (`make audit`) reads the same. It takes
minutes to compile, since it also reads the database of advisories; this needs `cargo metadata` and
the parser of SPDX expressions alone.
"""
import collections
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


def shipped(metadata):
    """The identifiers of the packages that others than tests, examples and benchmarks need."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    found, left = set(), list(metadata["workspace_members"])
    while left:
        package = left.pop()
        if package not in found:
            found.add(package)
            for dependency in nodes[package]["deps"]:
                if any(kind["kind"] != "dev" for kind in dependency["dep_kinds"]):
                    left.append(dependency["pkg"])
    return found


def is_skipped(version, wanted):
    """Whether a version has the leading numbers that an entry of `skip` names."""
    return version.split(".")[: wanted.count(".") + 1] == wanted.split(".")


def duplicates(names_and_versions, skip):
    """What is wrong with crates of several versions, and with the entries of `skip`."""
    versions = collections.defaultdict(set)
    for name, version in names_and_versions:
        versions[name].add(version)
    skipped = collections.defaultdict(set)
    for rule in skip:
        name, _, wanted = rule["crate"].partition(":")
        matching = {version for version in versions[name] if is_skipped(version, wanted)}
        if not matching or len(versions[name]) < 2:
            yield f"deny.toml: skip has {rule['crate']}, which is no second version"
        skipped[name] |= matching
    for name, found in sorted(versions.items()):
        left = sorted(found - skipped[name])
        if len(found) > 1 and len(left) != 1:
            yield f"{name} has versions {', '.join(sorted(found))}: skip all but one in deny.toml"


def main():
    """Prints each error, and exits with 1 if there is one."""
    with open("deny.toml", "rb") as file:
        rules = tomllib.load(file)
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    for target in rules["graph"]["targets"]:
        command += ["--filter-platform", target]
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
    shipped_packages = [packages[package] for package in shipped(metadata)]
    versions = [(package["name"], package["version"]) for package in shipped_packages]
    errors += duplicates(versions, rules["bans"]["skip"])
    if len(packages) < 100 or not allowed:
        errors.append("nothing was checked: cargo metadata or deny.toml is empty")
    print("\n".join(errors), end="\n" if errors else "")
    sys.exit(bool(errors))


main()
