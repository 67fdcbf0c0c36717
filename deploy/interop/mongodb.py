#!/usr/bin/env python3
"""Adds documents to MongoDB, by OP_MSG and BSON alone: functions of others keep their data there.

    mongodb.py mongodb://HOST:PORT DATABASE COLLECTION JSON
    mongodb.py mongodb://HOST:PORT DATABASE                   drops the database
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


def message(request):
    """A command as OP_MSG."""
    body = struct.pack("<I", 0) + b"\0" + document(request)
    # Length, request, response, OP_MSG.
    return struct.pack("<iiii", len(body) + 16, 1, 0, 2013) + body


def send(uri, request):
    """Sends a command, and returns the answer."""
    at = urlsplit(uri)
    with socket.create_connection((at.hostname, at.port or 27017), 10) as connection:
        connection.sendall(message(request))
        with connection.makefile("rb") as stream:
            (length,) = struct.unpack("<i", stream.read(4))
            return stream.read(length - 4)


def insert(uri, database, collection, inserted):
    """Adds a document. Fails unless the database confirms it."""
    answer = send(uri, {"insert": collection, "documents": [inserted], "$db": database})
    if b"\x10n\0\x01\0\0\0" not in answer:
        raise SystemExit(f"not inserted: {answer.decode(errors='replace')}")


def drop(uri, database):
    """Drops a database. Fails unless the database server confirms it."""
    answer = send(uri, {"dropDatabase": 1, "$db": database})
    if b"\x01ok\0" + struct.pack("<d", 1) not in answer:
        raise SystemExit(f"not dropped: {answer.decode(errors='replace')}")


def drop_command(uri, database):
    """The command line that drops a database."""
    return [sys.executable, __file__, uri, database]


def command(uri, database, collection, inserted):
    """The command line that adds a document."""
    return [sys.executable, __file__, uri, database, collection, json.dumps(inserted)]


if __name__ == "__main__":
    if len(sys.argv) == 3:
        drop(*sys.argv[1:])
    else:
        insert(*sys.argv[1:4], json.loads(sys.argv[4]))
