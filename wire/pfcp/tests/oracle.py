#!/usr/bin/env python3
"""Reads lines `NAME HEX`, decodes each PFCP message with pycrate, an independent implementation,
encodes it again, and prints `NAME HEX` and the names of its top-level information elements."""

import sys
from pycrate_mobile.TS29244_PFCP import parse_PFCP

for line in sys.stdin:
    name, octets = line.split()
    message, error = parse_PFCP(bytes.fromhex(octets))
    if error:
        print(name, "error", error)
        continue
    message.reautomate()
    print(name, message.to_bytes().hex())
