#!/usr/bin/env python3
"""Unpacks the archive of an OCI image into a bundle for `crun` or `runc`.

    run.py ARCHIVE BUNDLE NETNS CAPABILITY…

Checks the digests. The process gets what Docker gives a process that is not root's: capabilities
in the bounding set alone, a read-only /proc/sys, and the device /dev/net/tun.
"""

import gzip
import hashlib
import io
import json
import os
import sys
import tarfile


def blob(archive, descriptor):
    algorithm, digest = descriptor["digest"].split(":")
    content = archive.extractfile(f"blobs/{algorithm}/{digest}").read()
    if hashlib.sha256(content).hexdigest() != digest or len(content) != descriptor["size"]:
        sys.exit(f"run.py: {digest} is not what its name says")
    return content


def unpack(tar, root):
    """Files with owners, modes and extended attributes, which tarfile leaves out."""
    with tarfile.open(fileobj=io.BytesIO(tar)) as layer:
        layer.extractall(root, numeric_owner=True)
    with tarfile.open(fileobj=io.BytesIO(tar), encoding="iso-8859-1") as layer:
        for info in layer:
            for key, value in info.pax_headers.items():
                if key.startswith("SCHILY.xattr."):
                    value = value.encode("utf-8", "surrogateescape")
                    os.setxattr(os.path.join(root, info.name), key[len("SCHILY.xattr."):], value)


def bundle(config, netns, capabilities):
    user, group = map(int, config["User"].split(":"))
    mount = [
        {"destination": "/proc", "type": "proc", "source": "proc"},
        {"destination": "/sys", "type": "sysfs", "source": "sysfs",
         "options": ["nosuid", "noexec", "nodev", "ro"]},
        {"destination": "/dev", "type": "tmpfs", "source": "tmpfs",
         "options": ["nosuid", "strictatime", "mode=755"]},
        {"destination": "/dev/shm", "type": "tmpfs", "source": "shm",
         "options": ["nosuid", "noexec", "nodev", "mode=1777"]},
    ]
    return {
        "ociVersion": "1.0.0",
        "process": {
            "terminal": False,
            "user": {"uid": user, "gid": group},
            "args": config["Entrypoint"] + config["Cmd"],
            "env": config["Env"],
            "cwd": config["WorkingDir"],
            "capabilities": {"bounding": capabilities},
        },
        "root": {"path": "rootfs", "readonly": False},
        "hostname": "martlet",
        "mounts": mount,
        "linux": {
            "namespaces": [{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"},
                           {"type": "network", "path": netns}],
            "devices": [{"path": "/dev/net/tun", "type": "c", "major": 10, "minor": 200,
                         "fileMode": 0o666}],
            "sysctl": {"net.ipv4.ip_forward": "1"},
            "readonlyPaths": ["/proc/sys"],
        },
    }


def main():
    path, folder, netns, *capabilities = sys.argv[1:]
    with tarfile.open(path) as archive:
        index = json.load(archive.extractfile("index.json"))
        manifest = json.loads(blob(archive, index["manifests"][0]))
        config = json.loads(blob(archive, manifest["config"]))
        root = os.path.join(folder, "rootfs")
        os.makedirs(root)
        for layer, digest in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
            tar = gzip.decompress(blob(archive, layer))
            if f"sha256:{hashlib.sha256(tar).hexdigest()}" != digest:
                sys.exit("run.py: the unpacked layer is not the one of the configuration")
            unpack(tar, root)
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(bundle(config["config"], netns, capabilities), file)


if __name__ == "__main__":
    main()
