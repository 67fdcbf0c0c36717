#!/usr/bin/env python3
"""Lists what a program of the workspace is made of: an SBOM, licences, a Debian copyright file.

    components.py --package martlet [--package …] --name martlet --version 0.2.0 --out FOLDER

writes FOLDER/NAME.cdx.json (CycloneDX 1.5), FOLDER/NAME.licences.txt and FOLDER/NAME.copyright.
Uses `cargo tree` (features of a build of these packages alone) and `cargo metadata`, both with
--locked. Crates that only run during the build have the scope `excluded`.
Fails if a crate has no licence, or one that deny.toml does not allow.

cargo-about makes lists of licences, but not what the packages need besides: an SBOM, the format of
Debian's copyright file, the libraries in C that crates carry along, and a list for each of several
programs of one workspace.
"""

import argparse
import glob
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import tomllib
import uuid

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
CARGO = os.environ.get("CARGO", "cargo")
LICENCE_FILES = re.compile(r"^(licen[cs]e|copying|copyright|notice|unlicense)", re.I)
COMMON = {
    "Apache-2.0": "/usr/share/common-licenses/Apache-2.0",
    "MPL-2.0": "/usr/share/common-licenses/MPL-2.0",
    "LGPL-2.1-only": "/usr/share/common-licenses/LGPL-2.1",
    "CC0-1.0": "/usr/share/common-licenses/CC0-1.0",
}
# Libraries in C that crates carry along or link statically: name, licence, copyright, and how the
# version is found: a file below the crate with a pattern, or a Debian package.
BUNDLED = {
    "libsqlite3-sys": (
        "sqlite", "blessing", "none: public domain",
        ("sqlite3/sqlite3.h", r'#define SQLITE_VERSION +"([^"]+)"')),
    "libbpf-sys": (
        "libbpf", "BSD-2-Clause", "The Libbpf authors",
        ("libbpf/src/libbpf.map", r"(?s).*LIBBPF_([\d.]+) \{")),
    "aws-lc-sys": (
        "aws-lc", "ISC AND (Apache-2.0 OR ISC) AND OpenSSL AND BSD-3-Clause AND MIT",
        "Amazon.com, Inc. or its affiliates; The OpenSSL Project; Google Inc.",
        ("aws-lc/include/openssl/base.h", r'#define AWSLC_VERSION_NUMBER_STRING "([^"]+)"')),
    "martlet-sctp": (
        "usrsctp", "BSD-3-Clause", "Randall Stewart, Michael Tuexen and others",
        "libusrsctp-dev"),
}
# For crates that come without the text of their licence.
STANDARD = "The text is that of https://spdx.org/licenses/{id}.html."
MIT = """Permission is hereby granted, free of charge, to any person obtaining a copy of this
software and associated documentation files (the "Software"), to deal in the Software without
restriction, including without limitation the rights to use, copy, modify, merge, publish,
distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or
substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT
NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND
NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM,
DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT
OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE."""


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True, cwd=ROOT).stdout


def tree(packages, edges, target):
    """Identifiers `NAME VERSION` of the crates in a dependency tree."""
    chosen = [word for package in packages for word in ("-p", package)]
    text = run(CARGO, "tree", "--locked", *chosen, "-e", edges, "--target", target,
               "--prefix", "none", "--format", "{p}")
    found = set()
    for line in text.splitlines():
        words = line.split()
        if len(words) > 1:
            found.add((words[0], words[1].lstrip("v")))
    return found


def checksums():
    with open(os.path.join(ROOT, "Cargo.lock"), "rb") as file:
        lock = tomllib.load(file)
    return {(one["name"], one["version"]): one.get("checksum") for one in lock["package"]}


def allowed():
    with open(os.path.join(ROOT, "deny.toml"), "rb") as file:
        return set(tomllib.load(file)["licenses"]["allow"])


def expression(crate):
    """The licence as an SPDX expression; older crates write `MIT/Apache-2.0`."""
    text = crate["license"] or ""
    return re.sub(r"\s*/\s*", " OR ", text)


def identifiers(text):
    return re.findall(r"[A-Za-z0-9.+-]+(?: WITH [A-Za-z0-9.-]+)?",
                      re.sub(r"\b(?:AND|OR)\b", "|", text))


def permitted(text, allow):
    """Whether some choice of the alternatives of an expression is allowed."""
    tokens = re.findall(r"\(|\)|[A-Za-z0-9.+-]+", text)

    def either():
        value = both()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            value = both() or value
        return value

    def both():
        value = single()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            value = single() and value
        return value

    def single():
        if tokens[0] == "(":
            tokens.pop(0)
            value = either()
            tokens.pop(0)
            return value
        name = tokens.pop(0)
        if tokens and tokens[0] == "WITH":
            tokens.pop(0)
            name = f"{name} WITH {tokens.pop(0)}"
        return name in allow

    return either()


def texts(folder):
    """Names and contents of the licence files of a crate."""
    names = sorted(name for name in os.listdir(folder) if LICENCE_FILES.match(name))
    for name in names:
        path = os.path.join(folder, name)
        paths = [path] if os.path.isfile(path) else sorted(glob.glob(f"{path}/*"))
        for one in filter(os.path.isfile, paths):
            with open(one, encoding="utf-8", errors="replace") as file:
                yield os.path.relpath(one, folder), file.read().strip()


def holders(crate, files):
    """Copyright lines of the licence files, else the authors."""
    lines = []
    for _, text in files:
        for line in text.splitlines():
            line = line.strip(" \t/*#").replace("\t", " ")
            if re.match(r"(?i)copyright (\(c\)|©|\d{4})", line) and "[yyyy]" not in line:
                if line not in lines:
                    lines.append(line)
    authors = [re.sub(r"\s*<[^>]*>", "", author) for author in crate["authors"]]
    return lines or authors or [f"the authors of {crate['name']}"]


def library(crate):
    """The library in C that a crate brings, with its version."""
    name, licence, copyright_, source = BUNDLED[crate["name"]]
    if isinstance(source, str):
        words = ("dpkg-query", "-W", "-f", "${Version}", source)
        found = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    else:
        path = os.path.join(os.path.dirname(crate["manifest_path"]), source[0])
        with open(path, encoding="utf-8", errors="replace") as file:
            match = re.search(source[1], file.read())
        found = match[1] if match else ""
    if not found:
        sys.exit(f"components.py: no version of {name}, which {crate['name']} brings: see BUNDLED")
    return {"name": name, "version": found, "license": licence, "copyright": copyright_,
            "of": crate["name"]}


def licence_entry(text):
    is_single = re.fullmatch(r"[A-Za-z0-9.+-]+", text)
    return [{"license": {"id": text}}] if is_single else [{"expression": text}]


def sbom(options, root, crates, excluded, libraries, when):
    sums = checksums()
    components = []
    for crate in crates:
        key = (crate["name"], crate["version"])
        purl = f"pkg:cargo/{key[0]}@{key[1]}"
        one = {
            "type": "library", "bom-ref": purl, "name": key[0], "version": key[1], "purl": purl,
            "scope": "excluded" if key in excluded else "required",
            "licenses": licence_entry(expression(crate)),
        }
        if sums.get(key):
            one["hashes"] = [{"alg": "SHA-256", "content": sums[key]}]
        if crate["repository"]:
            one["externalReferences"] = [{"type": "vcs", "url": crate["repository"]}]
        components.append(one)
    for one in libraries:
        reference = f"pkg:generic/{one['name']}@{one['version']}"
        components.append({
            "type": "library", "bom-ref": reference, "name": one["name"], "scope": "required",
            "version": one["version"], "purl": reference,
            "licenses": licence_entry(one["license"]),
            "description": f"statically linked by the crate {one['of']}",
        })
    main = f"pkg:generic/{options.name}@{options.version}"
    known = {(crate["name"], crate["version"]) for crate in crates}
    edges = []
    for crate in crates:
        targets = sorted(f"pkg:cargo/{name}@{version}" for name, version in crate["needs"]
                         if (name, version) in known)
        edges.append({"ref": f"pkg:cargo/{crate['name']}@{crate['version']}",
                      "dependsOn": targets})
    edges.append({"ref": main, "dependsOn": sorted(
        f"pkg:cargo/{name}@{version}" for name, version in root)})
    digest = hashlib.sha256(json.dumps(components, sort_keys=True).encode()).hexdigest()
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.UUID(digest[:32])}",
        "version": 1,
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when)),
            "component": {"type": "application", "bom-ref": main, "name": options.name,
                          "version": options.version, "purl": main,
                          "licenses": licence_entry("Apache-2.0")},
        },
        "components": components,
        "dependencies": edges,
    }


def licences(options, crates, libraries):
    """The licences of what is linked: each text once, with the crates that have it."""
    lines = [
        f"{options.name} {options.version} is licensed under Apache-2.0. The program contains the",
        "following third-party software.", "",
    ]
    by_text = {}
    for crate in crates:
        title = f"{crate['name']} {crate['version']}"
        lines.append(f"{title}: {expression(crate)}")
        for name, text in crate["texts"]:
            by_text.setdefault(text, []).append(f"{title} ({name})")
        if not crate["texts"]:
            choices = identifiers(expression(crate))
            text = MIT if "MIT" in choices else STANDARD.format(id=choices[0].split(" ")[0])
            people = "; ".join(holders(crate, []))
            by_text.setdefault(f"Copyright: {people}\n\n{text}", []).append(title)
    for one in libraries:
        lines.append(f"{one['name']} {one['version']} (in {one['of']}): {one['license']}")
        if one["name"] == "usrsctp":
            with open("/usr/share/doc/libusrsctp-dev/copyright", encoding="utf-8") as file:
                by_text.setdefault(file.read().strip(), []).append("usrsctp")
    for text, titles in sorted(by_text.items(), key=lambda item: item[1]):
        lines += ["", "=" * 80, *titles, "-" * 80, text]
    return "\n".join(lines) + "\n"


def debian_name(text):
    """An SPDX expression as the copyright format 1.0 writes it."""
    text = text.replace(" WITH ", " with ").replace("(", "").replace(")", "")
    text = re.sub(r"\bAND\b", "and", re.sub(r"\bOR\b", "or", text))
    return re.sub(r"with (\S+?)(-exception)?(?= |$)", r"with \1 exception", text)


def copyright_file(options, crates, libraries):
    paragraphs = [
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        "Upstream-Name: Martlet\n"
        "Source: https://github.com/martlet-core/martlet\n"
        "Comment:\n"
        " The paragraphs for vendor/ name the crates and libraries that the programs contain.\n"
        " Where a licence offers a choice, each of its alternatives is given.\n",
        "Files: *\nCopyright: the Martlet authors\nLicense: Apache-2.0\n",
    ]
    used = {"Apache-2.0"}
    entries = [(crate["name"], crate["version"], expression(crate),
                holders(crate, crate["texts"])) for crate in crates]
    entries += [(one["name"], one["version"], one["license"], [one["copyright"]])
                for one in libraries]
    for name, version, licence, people in entries:
        used.update(identifiers(licence))
        people = "\n           ".join(people)
        paragraphs.append(f"Files: vendor/{name}-{version}/*\n"
                          f"Copyright: {people}\nLicense: {debian_name(licence)}\n")
    for licence in sorted(used):
        common = COMMON.get(licence)
        text = (f" On Debian systems, the text of this licence is in\n {common}." if common else
                f" The text is in /usr/share/doc/{options.name}/third-party-licences.gz, and at\n"
                f" https://spdx.org/licenses/{licence.split(' ')[0]}.html.")
        paragraphs.append(f"License: {debian_name(licence)}\n{text}\n")
    return "\n".join(paragraphs)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--package", action="append", required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--target", default="x86_64-unknown-linux-gnu")
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    metadata = json.loads(run(CARGO, "metadata", "--locked", "--format-version", "1",
                              "--filter-platform", options.target))
    shipped = tree(options.package, "normal,no-proc-macro", options.target)
    whole = tree(options.package, "normal,build", options.target)
    keys = {one["id"]: (one["name"], one["version"]) for one in metadata["packages"]}
    needs = {keys[node["id"]]: {keys[other["pkg"]] for other in node["deps"] if any(
        kind["kind"] is None for kind in other["dep_kinds"])}
        for node in metadata["resolve"]["nodes"]}
    members = set(metadata["workspace_members"])
    crates, ours, refused = [], [], []
    allow = allowed()
    for crate in metadata["packages"]:
        key = (crate["name"], crate["version"])
        if key not in whole:
            continue
        crate["needs"] = needs[key]
        crate["texts"] = list(texts(os.path.dirname(crate["manifest_path"])))
        if crate["id"] in members:
            ours.append(crate)
            continue
        crates.append(crate)
        if not expression(crate) or not permitted(expression(crate), allow):
            refused.append(f"{key[0]} {key[1]}: {crate['license'] or 'no licence'}")
    if refused:
        sys.exit("components.py: not allowed by deny.toml: " + ", ".join(refused))
    crates.sort(key=lambda crate: (crate["name"], crate["version"]))
    linked = [crate for crate in crates if (crate["name"], crate["version"]) in shipped]
    everything = linked + [one for one in ours if (one["name"], one["version"]) in shipped]
    libraries = [library(crate) for crate in everything if crate["name"] in BUNDLED]
    roots = [(one["name"], one["version"]) for one in ours if one["name"] in options.package]
    every = sorted(ours + crates, key=lambda crate: (crate["name"], crate["version"]))
    when = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())

    os.makedirs(options.out, exist_ok=True)
    base = os.path.join(options.out, options.name)
    with open(f"{base}.cdx.json", "w", encoding="utf-8") as file:
        json.dump(sbom(options, roots, every, whole - shipped, libraries, when), file, indent=1)
        file.write("\n")
    with open(f"{base}.licences.txt", "w", encoding="utf-8") as file:
        file.write(licences(options, linked, libraries))
    with open(f"{base}.copyright", "w", encoding="utf-8") as file:
        file.write(copyright_file(options, linked, libraries))
    print(f"{options.name}: {len(linked)} crates and {len(libraries)} libraries in C")


if __name__ == "__main__":
    main()
