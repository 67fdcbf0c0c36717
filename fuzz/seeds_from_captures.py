#!/usr/bin/env python3
"""Makes seeds of fuzz targets in fuzz/seeds from captures of call flows.

    fuzz/capture.sh                                     runs the call flows, and this
    fuzz/seeds_from_captures.py CAPTURE.pcapng...

A capture is what `--pcap FILE --pcap-n1` writes: exported PDUs with the name of a dissector. Each
line of fuzz/seeds/TARGET.hex is one input in hexadecimal digits. Of inputs that begin alike and
have about the same length, one is kept, so that the result does not depend on random values much.
"""
import base64
import json
import pathlib
import re
import struct
import sys

FOLDER = pathlib.Path(__file__).parent / "seeds"
# The longest input, and inputs of a target.
LONGEST = 2048
MAX_CHOSEN = 160
# Types of fuzz/targets/bodies/mod.rs, by the service's path and method.
BODIES = [
    (0, r"PUT /nnrf-nfm/v1/nf-instances/"),
    (2, r"POST /nausf-auth/v1/ue-authentications "),
    (3, r"PUT /nudm-uecm/v1/[^ ]*/amf-3gpp-access"),
    (6, r"POST /nsmf-pdusession/v1/sm-contexts "),
    (7, r"POST /npcf-smpolicycontrol/v1/sm-policies "),
    (8, r"POST /namf-comm/v1/ue-contexts/[^ ]*/n1-n2-messages "),
]
# A body of the first kind that is an answer: the request's path and the type.
ANSWERS = [(1, "searchId"), (1, "nfInstances"), (4, "subscribedUeAmbr"), (5, "dnnConfigurations")]
# NAS messages are received as the payload of a message with a correct MAC, and as they are.
NAS_SCENARIOS = (10, 4, 0)


def packets(file):
    """Yields dissector and message of each exported PDU of a pcapng file."""
    data = file.read_bytes()
    at = 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if length < 12 or at + length > len(data):
            return
        if kind == 6:
            captured = struct.unpack_from("<I", data, at + 20)[0]
            yield pdu(data[at + 28 : at + 28 + captured])
        at += length


def pdu(data):
    at, dissector = 0, ""
    while at + 4 <= len(data):
        tag, length = struct.unpack_from(">HH", data, at)
        at += 4
        if tag == 0:
            break
        if tag == 12:
            dissector = data[at : at + length].rstrip(b"\0").decode()
        at += length
    return dissector, data[at:]


def http(message):
    """First line, media type and body of an HTTP message."""
    head, _, body = message.partition(b"\r\n\r\n")
    first, *lines = head.decode(errors="replace").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines if ": " in line)
    original = next((line[14:] for line in lines if line.lower().startswith("content-type: ")), "")
    return first, original or headers.get("content-type", ""), body


def parts(media, body):
    """Media type and content of each part of a multipart body."""
    boundary = re.search(r'boundary="?([^";]+)', media)
    if not boundary:
        return
    for part in body.split(b"--" + boundary[1].encode())[1:]:
        head, _, content = part.partition(b"\r\n\r\n")
        kind = re.search(rb"(?i)content-type: *([^\r\n]+)", head)
        if kind:
            yield kind[1].decode(), content.removesuffix(b"\r\n")


def strings(value):
    if isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, str):
                yield key, inner
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


class Seeds:
    def __init__(self):
        self.of = {}

    def add(self, target, data, alike=4):
        """Keeps an input if none of about its length begins with the same bytes."""
        if 0 < len(data) <= LONGEST:
            self.of.setdefault(target, {}).setdefault((data[:alike], len(data) // 8), data)

    def nas(self, message):
        self.add("nas_plain", message)
        for scenario in NAS_SCENARIOS:
            self.add("nas_secured", bytes([scenario]) + message, 5)

    def sbi(self, message):
        first, media, body = http(message)
        if not body:
            return
        self.add("sbi_body", media.encode() + b"\n" + body, 60)
        text = body
        for kind, content in parts(media, body):
            if "5gnas" in kind:
                self.nas(content)
            elif "ngap" in kind:
                self.add("ngap_transfer", content)
            elif "json" in kind:
                text = content
        try:
            value = json.loads(text)
        except ValueError:
            return
        if "json-patch" in media:
            document = b'{"sequenceNumber":{"sqn":"000000000000"},"nfStatus":"REGISTERED"}'
            self.add("json_patch", document + b"\n" + text, 120)
        for index, path in BODIES:
            if re.match(path, first + " "):
                self.add("sbi_json", bytes([index]) + text, 24)
        if first.startswith("HTTP/") and isinstance(value, dict):
            for index, key in ANSWERS:
                if key in value:
                    self.add("sbi_json", bytes([index]) + text, 24)
        for key, inner in strings(value):
            if inner.startswith("suci-"):
                self.add("suci", inner.encode(), 24)
            elif key == "eapPayload":
                try:
                    self.add("eap", base64.b64decode(inner), 8)
                except ValueError:
                    pass


def main():
    seeds = Seeds()
    for file in sys.argv[1:]:
        for dissector, message in packets(pathlib.Path(file)):
            if dissector == "ngap":
                seeds.add("ngap", message)
            elif dissector == "nas-5gs":
                seeds.nas(message)
            elif dissector == "pfcp":
                seeds.add("pfcp", message, 2)
            elif dissector == "http":
                seeds.sbi(message)
    FOLDER.mkdir(exist_ok=True)
    for target, found in sorted(seeds.of.items()):
        chosen = sorted(found.values(), key=lambda data: (len(data), data))
        step = max(1, -(-len(chosen) // MAX_CHOSEN))
        chosen = chosen[::step]
        lines = "".join(data.hex() + "\n" for data in chosen)
        (FOLDER / f"{target}.hex").write_text(lines)
        print(f"{target}: {len(chosen)} of {len(found)} inputs, {len(lines) // 2} bytes")


if __name__ == "__main__":
    main()
