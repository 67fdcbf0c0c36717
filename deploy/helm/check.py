#!/usr/bin/env python3
"""Checks that what manifests refer to exists in them. kubeconform checks them by schemas.

    check.py FILE.yaml
"""
import sys

import yaml


def mistakes(manifests):
    config_maps = {
        one["metadata"]["name"]: one["data"] for one in manifests if one["kind"] == "ConfigMap"
    }
    services = {one["metadata"]["name"]: one for one in manifests if one["kind"] == "Service"}
    pods = [one for one in manifests if "template" in one.get("spec", {})]
    for one in pods:
        name = f"{one['kind']} {one['metadata']['name']}"
        spec = one["spec"]
        labels = spec["template"]["metadata"]["labels"]
        if not spec["selector"]["matchLabels"].items() <= labels.items():
            yield f"{name}: its selector does not select its pods"
        if "serviceName" in spec and spec["serviceName"] not in services:
            yield f"{name}: there is no Service {spec['serviceName']}"
        pod = spec["template"]["spec"]
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        claims = {claim["metadata"]["name"] for claim in spec.get("volumeClaimTemplates", [])}
        for volume in volumes.values():
            if "configMap" in volume and volume["configMap"]["name"] not in config_maps:
                yield f"{name}: there is no ConfigMap {volume['configMap']['name']}"
        for container in pod["containers"]:
            for mount in container["volumeMounts"]:
                if mount["name"] not in volumes.keys() | claims:
                    yield f"{name}: there is no volume {mount['name']}"
            ports = {port["name"] for port in container["ports"]}
            probed = container["readinessProbe"]["httpGet"]["port"]
            if probed not in ports:
                yield f"{name}: there is no port {probed}"
    for one in services.values():
        selector = one["spec"]["selector"].items()
        chosen = [
            pod for pod in pods if selector <= pod["spec"]["template"]["metadata"]["labels"].items()
        ]
        if len(chosen) != 1:
            yield f"Service {one['metadata']['name']}: it selects {len(chosen)} kinds of pods"
            continue
        containers = chosen[0]["spec"]["template"]["spec"]["containers"]
        ports = {port["name"] for container in containers for port in container["ports"]}
        for port in one["spec"]["ports"]:
            if port["targetPort"] not in ports:
                yield f"Service {one['metadata']['name']}: no port {port['targetPort']}"
    for one in manifests:
        name = f"{one['kind']} {one['metadata']['name']}"
        if one["kind"] == "PodDisruptionBudget":
            selector = one["spec"]["selector"]["matchLabels"].items()
            kinds = {
                pod["kind"]
                for pod in pods
                if selector <= pod["spec"]["template"]["metadata"]["labels"].items()
            }
            if kinds != {"StatefulSet"}:
                yield f"{name}: Kubernetes cannot count the pods of {kinds or 'nothing'}"
        if one["kind"] == "Cluster":
            # The API server has a rule for it, which kubeconform does not evaluate.
            synchronous = one["spec"].get("postgresql", {}).get("synchronous", {"number": 1})
            if synchronous["number"] < 1:
                yield f"{name}: no standby is synchronous: leave out `synchronous`"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        manifests = [one for one in yaml.safe_load_all(file) if one]
    wrong = list(mistakes(manifests))
    for mistake in wrong:
        print(f"helm: {mistake}", file=sys.stderr)
    print(f"helm: {len(manifests)} manifests, {len(wrong)} mistakes")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
