#!/usr/bin/env python3
"""Checks SBOMs: the fields that CycloneDX 1.5 requires, and that all references lead somewhere.

    check_components.py FILE…
"""

import json
import re
import sys


def mistakes(bom):
    if (bom.get("bomFormat"), bom.get("specVersion")) != ("CycloneDX", "1.5"):
        yield "not CycloneDX 1.5"
    if not re.fullmatch(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", bom["serialNumber"]):
        yield f"serial number {bom['serialNumber']}"
    references = [bom["metadata"]["component"]["bom-ref"]]
    for one in bom["components"]:
        references.append(one["bom-ref"])
        for key in ("type", "name", "version", "purl", "scope"):
            if not one.get(key):
                yield f"{one['bom-ref']} has no {key}"
        if not one.get("licenses"):
            yield f"{one['bom-ref']} has no licence"
        is_of_registry = one.get("purl", "").startswith("pkg:cargo/")
        if is_of_registry and not one["name"].startswith("martlet") and not one.get("hashes"):
            yield f"{one['bom-ref']} has no checksum"
    if len(set(references)) != len(references):
        yield "two components have the same reference"
    for edge in bom["dependencies"]:
        for name in (edge["ref"], *edge["dependsOn"]):
            if name not in references:
                yield f"{name} is not listed"
    if len(bom["components"]) < 10:
        yield f"{len(bom['components'])} components"


def main():
    failed = False
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            for mistake in mistakes(json.load(file)):
                failed = True
                print(f"{path}: {mistake}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
