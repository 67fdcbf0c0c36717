#!/usr/bin/env python3
"""Adds documents to MongoDB, by OP_MSG and BSON alone: functions of others keep their data there.

    mongodb.py mongodb://HOST:PORT DATABASE COLLECTION JSON
"""
import json
import socket
import struct
import sys
from urllib.parse import urlsplit


def bson(value):
    """The type and the bytes of a value: texts, numbers, truth values, lists and documents."""
    match value:
        case bool():
            return 0x08, bytes([value])
        case int():
            return 0x10, struct.pack("<i", value)
        case str():
            text = value.encode() + b"\0"
            return 0x02, struct.pack("<i", len(text)) + text
        case list():
            return 0x04, document({str(n): element for n, element in enumerate(value)})
        case dict():
            return 0x03, document(value)
        case None:
            return 0x0A, b""
    raise TypeError(value)


def document(members):
    """A document in BSON."""
    body = b""
    for name, value in members.items():
        kind, encoded = bson(value)
        body += bytes([kind]) + name.encode() + b"\0" + encoded
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def message(database, collection, inserted):
    """The command `insert` as OP_MSG."""
    command = {"insert": collection, "documents": [inserted], "$db": database}
    body = struct.pack("<I", 0) + b"\0" + document(command)
    # Length, request, response, OP_MSG.
    return struct.pack("<iiii", len(body) + 16, 1, 0, 2013) + body


def insert(uri, database, collection, inserted):
    """Adds a document. Fails unless the database confirms it."""
    at = urlsplit(uri)
    with socket.create_connection((at.hostname, at.port or 27017), 10) as connection:
        connection.sendall(message(database, collection, inserted))
        with connection.makefile("rb") as stream:
            (length,) = struct.unpack("<i", stream.read(4))
            answer = stream.read(length - 4)
    if b"\x10n\0\x01\0\0\0" not in answer:
        raise SystemExit(f"not inserted: {answer.decode(errors='replace')}")


def command(uri, database, collection, inserted):
    """The command line that adds a document."""
    return [sys.executable, __file__, uri, database, collection, json.dumps(inserted)]


if __name__ == "__main__":
    insert(*sys.argv[1:4], json.loads(sys.argv[4]))
