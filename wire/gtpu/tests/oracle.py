#!/usr/bin/env python3
"""Reads lines `NAME HEX`, decodes each GTP-U message with pycrate, an independent implementation,
encodes it again, and prints `NAME HEX TYPE TEID`."""

import sys
from pycrate_mobile.TS29281_GTPU import parse_GTPU

for line in sys.stdin:
    name, octets = line.split()
    message, error = parse_GTPU(bytes.fromhex(octets))
    if error:
        print(name, "error", error)
        continue
    message.reautomate()
    header = message[0]
    print(name, message.to_bytes().hex(), header["Type"].get_val(), header["TEID"].get_val())
