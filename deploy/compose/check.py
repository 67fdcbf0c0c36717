#!/usr/bin/env python3
"""Checks compose.yaml: its keys, and that its files, networks and volumes exist."""

import os
import sys

import yaml

FOLDER = os.path.dirname(os.path.realpath(__file__))
# Of the Compose specification, what this file uses.
SERVICE = {"image", "cap_drop", "cap_add", "devices", "sysctls", "volumes", "networks", "restart",
           "ports"}


def mistakes(compose):
    if extra := set(compose) - {"services", "networks", "volumes"}:
        yield f"unknown keys {extra}"
    for name, service in compose["services"].items():
        if extra := set(service) - SERVICE:
            yield f"{name}: unknown keys {extra}"
        if not service.get("image"):
            yield f"{name}: no image"
        for volume in service.get("volumes", []):
            source, target = volume.split(":")[:2]
            if source.startswith("."):
                if not os.path.exists(os.path.join(FOLDER, source)):
                    yield f"{name}: {source} does not exist"
            elif source not in compose["volumes"]:
                yield f"{name}: volume {source} is not declared"
            if not target.startswith("/"):
                yield f"{name}: {target} is not absolute"
        for network in service.get("networks", []):
            if network not in compose["networks"]:
                yield f"{name}: network {network} is not declared"


def main():
    files = {}
    for name in sorted(os.listdir(FOLDER)):
        if name.endswith(".yaml"):
            with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
                files[name] = yaml.safe_load(file)
    found = list(mistakes(files["compose.yaml"]))
    targets = files["prometheus.yaml"]["scrape_configs"][0]["static_configs"][0]["targets"]
    host, port = targets[0].split(":")
    oam = files["martlet.yaml"]["oam"]
    if host not in files["compose.yaml"]["services"] or host not in oam["hosts"]:
        found.append(f"Prometheus asks {host}, which is no service, or not in oam.hosts")
    if not oam["listen"].endswith(f":{port}"):
        found.append(f"Prometheus asks port {port}, and the core listens at {oam['listen']}")
    for mistake in found:
        print(f"deploy/compose: {mistake}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
