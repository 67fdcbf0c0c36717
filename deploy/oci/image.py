#!/usr/bin/env python3
"""Writes an OCI image of `martlet` as a tar archive of an OCI layout, without a container engine.

    image.py --program target/release/martlet --documents dist --version 0.2.0 --out FILE.oci.tar

The image holds the program, the libraries that `ldd` names, certificates of authorities, and the
licences. It runs as user 65532. The program has *file capabilities* (permitted, not effective):
a container engine gives none to a process that is not root's, except through these, and within
what `--cap-add` allows. `podman load`, `skopeo copy oci-archive:…` and `ctr image import` read the
archive.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import struct
import subprocess
import tarfile
import tempfile
import time

USER = 65532
# CAP_NET_ADMIN, CAP_NET_RAW, CAP_PERFMON, CAP_BPF: the last two for upf.datapath: xdp.
CAPABILITIES = (12, 13, 38, 39)
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def run(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def libraries(program):
    """The paths of a program's libraries and loader."""
    for line in run("ldd", program).splitlines():
        words = line.split()
        paths = [word for word in words if word.startswith("/")]
        if "not found" in line:
            raise SystemExit(f"image.py: {program} needs {words[0]}, which is not installed")
        if paths:
            yield paths[0]


def package_of(path):
    """The Debian package of a library, for its licence; ldd's paths are behind /lib -> /usr/lib."""
    for one in (path, os.path.realpath(path), path.replace("/usr/lib", "/lib", 1)):
        found = subprocess.run(("dpkg", "-S", one), capture_output=True, text=True, check=False)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    raise SystemExit(f"image.py: no package has {path}, so its licence is unknown")


def file_capabilities():
    """The attribute security.capability, revision 2, see capabilities(7)."""
    bits = sum(1 << one for one in CAPABILITIES)
    return struct.pack("<5I", 0x02000000, bits & 0xFFFFFFFF, 0, bits >> 32, 0)


class Layer:
    """A tar archive with fixed times and owners, so that equal inputs give equal digests."""

    def __init__(self, when):
        self.when = when
        self.bytes = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.bytes, mode="w", format=tarfile.PAX_FORMAT)
        self.folders = set()

    def folder(self, path, mode=0o755, owner=0):
        parent = os.path.dirname(path)
        if parent:
            self.folder(parent)
        if path in self.folders:
            return
        self.folders.add(path)
        info = self.entry(path, mode, owner)
        info.type = tarfile.DIRTYPE
        self.tar.addfile(info)

    def entry(self, path, mode, owner=0):
        info = tarfile.TarInfo(path)
        info.mode, info.uid, info.gid, info.mtime = mode, owner, owner, self.when
        return info

    def file(self, path, content, mode=0o644, capabilities=None):
        self.folder(os.path.dirname(path))
        if capabilities:
            record = b" SCHILY.xattr.security.capability=" + capabilities + b"\n"
            # The length counts its own digits.
            length = len(record) + len(str(len(record) + 2))
            header = self.entry(f"PaxHeaders/{os.path.basename(path)}", 0o644)
            header.type = tarfile.XHDTYPE
            header.size = length
            self.tar.addfile(header, io.BytesIO(str(length).encode() + record))
        info = self.entry(path, mode)
        info.size = len(content)
        self.tar.addfile(info, io.BytesIO(content))

    def done(self):
        self.tar.close()
        return self.bytes.getvalue()


def read(path):
    with open(path, "rb") as file:
        return file.read()


def stripped(program):
    with tempfile.NamedTemporaryFile() as copy:
        run("strip", "--strip-unneeded", "-o", copy.name, program)
        return read(copy.name)


def layer(options, when):
    here = os.path.dirname(os.path.realpath(__file__))
    one = Layer(when)
    one.file("usr/bin/martlet", stripped(options.program), 0o755, file_capabilities())
    packages = {"ca-certificates"}
    for path in libraries(options.program):
        one.file(path.lstrip("/"), read(path), 0o755)
        packages.add(package_of(path))
    one.file(CERTIFICATES.lstrip("/"), read(CERTIFICATES))
    one.file("etc/passwd", f"martlet:x:{USER}:{USER}::/var/lib/martlet:/nonexistent\n".encode())
    one.file("etc/group", f"martlet:x:{USER}:\n".encode())
    one.file("etc/nsswitch.conf", b"passwd: files\ngroup: files\nhosts: files dns\n")
    one.file("etc/martlet/martlet.yaml", read(os.path.join(here, "martlet.yaml")))
    for name in ("licences.txt", "cdx.json"):
        content = read(os.path.join(options.documents, f"martlet.{name}"))
        one.file(f"usr/share/doc/martlet/{name}.gz", gzip.compress(content, mtime=when))
    for package in sorted(packages):
        content = read(f"/usr/share/doc/{package}/copyright")
        one.file(f"usr/share/doc/{package}/copyright.gz", gzip.compress(content, mtime=when))
    one.folder("var/lib/martlet", 0o700, USER)
    one.folder("run/martlet", 0o755, USER)
    one.folder("tmp", 0o1777)
    for name in ("proc", "sys", "dev"):
        one.folder(name)
    return one.done()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--documents", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", required=True)
    options = parser.parse_args()
    when = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    architecture = ARCHITECTURES[os.uname().machine]
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when))
    blobs = {}

    def blob(content, kind):
        digest = hashlib.sha256(content).hexdigest()
        blobs[digest] = content
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}",
                "size": len(content)}

    tar = layer(options, when)
    packed = blob(gzip.compress(tar, 9, mtime=when), "layer.v1.tar+gzip")
    config = blob(json.dumps({
        "created": created,
        "architecture": architecture,
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "Entrypoint": ["/usr/bin/martlet"],
            "Cmd": ["up"],
            "Env": ["PATH=/usr/bin"],
            "WorkingDir": "/var/lib/martlet",
            "Volumes": {"/var/lib/martlet": {}},
            "ExposedPorts": {"38412/sctp": {}, "2152/udp": {}, "9090/tcp": {}},
            "StopSignal": "SIGTERM",
            "Labels": {
                "org.opencontainers.image.title": "martlet",
                "org.opencontainers.image.version": options.version,
                "org.opencontainers.image.licenses": "Apache-2.0",
                "org.opencontainers.image.source": "https://github.com/martlet-core/martlet",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(tar).hexdigest()}"]},
        "history": [{"created": created, "created_by": "deploy/oci/image.py"}],
    }).encode(), "config.v1+json")
    manifest = blob(json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": config, "layers": [packed],
    }).encode(), "manifest.v1+json")
    manifest["platform"] = {"architecture": architecture, "os": "linux"}
    manifest["annotations"] = {"org.opencontainers.image.ref.name": f"martlet:{options.version}"}

    archive = Layer(when)
    archive.file("oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
    archive.file("index.json", json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [manifest]}).encode())
    for digest, content in sorted(blobs.items()):
        archive.file(f"blobs/sha256/{digest}", content)
    with open(options.out, "wb") as file:
        file.write(archive.done())
    print(f"{options.out}: {packed['size'] >> 20} MB, {len(tar) >> 20} MB unpacked")


if __name__ == "__main__":
    main()
