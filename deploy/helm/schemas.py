#!/usr/bin/env python3
"""Writes JSON Schemas for kubeconform, which has no network here: one file for each kind.

    schemas.py OUT KUBERNETES [CRD.yaml…]

KUBERNETES is a folder of schemas of the package kubernetes-validate (PyPI), whose files refer to
one with all definitions. Here each kind has what it needs in its own file. A CRD.yaml is the
CustomResourceDefinition of an operator. Files are KIND-GROUP-VERSION.json, KIND-VERSION.json for
the group without a name.
"""

import json
import os
import re
import sys

import yaml

# A reference from another file, or from the file of the definitions itself.
REFERENCE = re.compile(r"(?:/api/_definitions\.json)?#/\$defs/(.+)")


def references(value):
    """All definitions that a schema refers to, which then are those of its own file."""
    if isinstance(value, list):
        for one in value:
            yield from references(one)
    elif isinstance(value, dict):
        target = value.get("$ref")
        if isinstance(target, str) and (match := REFERENCE.fullmatch(target)):
            value["$ref"] = f"#/definitions/{match[1]}"
            yield match[1]
        for one in value.values():
            yield from references(one)


def of_kubernetes(folder, out):
    with open(os.path.join(folder, "_definitions.json"), encoding="utf-8") as file:
        definitions = json.load(file)["$defs"]
    # The references in the definitions, once for all kinds.
    needs = {name: set(references(one)) for name, one in definitions.items()}
    count = 0
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            schema = json.load(file)
        if "x-kubernetes-group-version-kind" not in schema or not name.endswith(".json"):
            continue
        found, waiting = {}, set(references(schema))
        while waiting:
            definition = waiting.pop()
            found[definition] = definitions[definition]
            waiting |= needs[definition] - found.keys()
        schema["definitions"] = found
        # kubeconform reads draft 4 of JSON Schema, and finds a schema by its file's name alone.
        del schema["$id"], schema["$schema"]
        with open(os.path.join(out, name), "w", encoding="utf-8") as file:
            json.dump(schema, file)
        count += 1
    return count


def refuse_unknown(schema):
    """An operator's schema drops unknown fields; here they are mistakes."""
    if isinstance(schema, list):
        for one in schema:
            refuse_unknown(one)
    elif isinstance(schema, dict):
        is_open = schema.get("x-kubernetes-preserve-unknown-fields")
        if isinstance(schema.get("properties"), dict) and not is_open:
            schema.setdefault("additionalProperties", False)
        if schema.pop("x-kubernetes-int-or-string", False):
            schema.pop("type", None)
        for one in schema.values():
            refuse_unknown(one)


def of_operator(crd, out):
    with open(crd, encoding="utf-8") as file:
        spec = yaml.safe_load(file)["spec"]
    group, kind = spec["group"].split(".")[0], spec["names"]["kind"].lower()
    for version in spec["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        metadata = schema["properties"].pop("metadata")
        refuse_unknown(schema)
        schema["properties"]["metadata"] = metadata
        path = os.path.join(out, f"{kind}-{group}-{version['name']}.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(schema, file)


def main():
    out, kubernetes, *crds = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    count = of_kubernetes(kubernetes, out)
    if count < 50:
        sys.exit(f"schemas.py: {kubernetes} has schemas of {count} kinds")
    for crd in crds:
        of_operator(crd, out)


main()
