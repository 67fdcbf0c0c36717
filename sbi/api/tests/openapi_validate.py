#!/usr/bin/env python3
"""Checks messages of the service-based interface against 3GPP's OpenAPI files.

Reads one message per line from standard input, as a JSON object:

  service       API name, such as "nudm-sdm", or that of a callback service ("namf-callback")
  operation     name of the operation; for callbacks it selects the callback (callbacks.json)
  method, path  HTTP method and path template, such as "GET" and "/{supi}/am-data"; without them,
                `operation` is looked up as an operationId
  direction     "request", "response", or "declaration": the operation exists with this name and
                version
  version       API version, such as "v2", for declarations
  statuses      HTTP statuses with which the operation may answer, for declarations (optional)
  status        HTTP status, for responses
  body          the JSON body, or the JSON part of a multipart body; missing or null without one
  content_type  media type of the body (optional; checked against those that the file allows)
  parts         content ids of a multipart body's binary parts (optional; compared with those that
                the body names), as a list, or with their media types as an object (checked against
                those that the file allows)
  query         query parameters by name, as decoded text, for requests (optional: without it they
                are not checked)
  headers       headers by name in lower case, as text (optional: without it they are not checked)

Reports each violation on standard output, one a line, and a count on standard error. With --serve,
an empty line ends a batch of messages: the count is on standard output, too, and then a line with
a dot. Batches follow until standard input ends.

Exit code: 0 no violations, 1 violations, 2 wrong usage or input, 77 cannot run here (reason on
standard error).
"""

import argparse
import gc
import json
import marshal
import os
import re
import sys
from pathlib import Path

SKIPPED = 77
HERE = Path(__file__).resolve().parent
# Errors that the text of a specification defines, and its file lacks.
TEXT_ERRORS = {
    # UPSTREAM_SERVER_ERROR, NETWORK_FAILURE (TS 29.509, 6.1.7.3).
    "TS29509_Nausf_UEAuthentication.yaml": {504},
}
METHODS = ("get", "put", "post", "patch", "delete", "head", "options")

try:
    import yaml
    from jsonschema import FormatChecker
    from openapi_schema_validator import (
        OAS30ReadValidator,
        OAS30WriteValidator,
        oas30_format_checker,
    )
    from referencing import Registry
    from referencing.jsonschema import Specification
except ImportError as missing:
    print(f"SKIPPED: {missing} (pip install openapi-schema-validator pyyaml)", file=sys.stderr)
    sys.exit(SKIPPED)


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML as OpenAPI means it: `on` and `NO` are strings, and dates are too."""


Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern)
        for tag, pattern in resolvers
        if tag not in ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:bool")
    ]
    for first, resolvers in Loader.yaml_implicit_resolvers.items()
}
Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|false)$"), list("tf"))

formats = FormatChecker(())
formats.checkers = dict(oas30_format_checker.checkers)
DATE_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
formats.checks("date-time")(
    lambda value: not isinstance(value, str) or bool(DATE_TIME.fullmatch(value))
)
formats.checks("uuid")(lambda value: not isinstance(value, str) or bool(UUID.fullmatch(value)))


class Cache:
    """A cache of what was computed from files, beside the build, since reading YAML takes seconds.

    An entry holds for the file's length and time, this program and this Python."""

    def __init__(self, folder=HERE.parents[2] / "target" / "openapi"):
        self.folder = folder
        own = Path(__file__).stat()
        self.maker = f"{sys.version_info[:3]} {own.st_mtime_ns} {own.st_size}"

    def get(self, name, sources, make):
        """The entry of a name that was made of these files, or what `make` returns."""
        states = [(str(path.resolve()), path.stat()) for path in sources]
        states = [(path, status.st_mtime_ns, status.st_size) for path, status in states]
        key = f"{self.maker} {states}"
        file = self.folder / f"{name}.marshal"
        try:
            found = marshal.loads(file.read_bytes())
            if isinstance(found, dict) and found.get("key") == key:
                return found["value"]
        except (OSError, EOFError, ValueError, TypeError):
            pass
        value = make()
        # Another process may do the same at the same time. Without a cache it is only slower.
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            new = self.folder / f"{name}.{os.getpid()}"
            new.write_bytes(marshal.dumps({"key": key, "value": value}))
            new.replace(file)
        except (OSError, ValueError):
            pass
        return value


class Specifications:
    """The OpenAPI files of a folder; each is read once, when something refers to it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.cache = Cache()
        self.documents = {}
        self.services = None
        self.operations = {}
        self.validators = {}
        with open(HERE / "callbacks.json", encoding="utf-8") as file:
            self.callbacks = json.load(file)
        self.registry = Registry(
            retrieve=lambda uri: Specification.OPAQUE.create_resource(self.document(uri))
        )

    def document(self, name):
        if name not in self.documents:
            path = self.folder / name
            self.documents[name] = self.cache.get(name, [path], lambda: read(path))
        return self.documents[name]

    def file_of(self, service):
        if self.services is None:
            files = sorted(self.folder.glob("TS*.yaml"))
            self.services = self.cache.get("services", files, lambda: services_of(files))
        if service not in self.services:
            raise LookupError(f"no OpenAPI file describes the service {service!r}")
        return self.services[service]

    def follow(self, where, value):
        """Follows `$ref` of a path item, parameter, body or response: its place and content."""
        while isinstance(value, dict) and "$ref" in value:
            file, _, pointer = value["$ref"].partition("#")
            if file:
                where = (file, ())
            place = tuple(
                part.replace("%7B", "{").replace("%7D", "}").replace("~1", "/").replace("~0", "~")
                for part in pointer.split("/")[1:]
            )
            where = (where[0], place)
            value = self.document(where[0])
            for part in place:
                value = value[part]
        return where, value

    def child(self, where, value, *parts):
        """The content below a path, with `$ref` resolved."""
        where, value = self.follow(where, value)
        for part in parts:
            where, value = self.follow((where[0], where[1] + (part,)), value[part])
        return where, value

    def operation(self, message):
        key = tuple(message.get(name) for name in ("service", "operation", "method", "path"))
        if key not in self.operations:
            self.operations[key] = self.find_operation(*key)
        return self.operations[key]

    def find_operation(self, service, operation, method, path):
        callback = self.callbacks.get(f"{service} {operation}")
        if callback:
            file, path, method, name, uri = callback
            root = self.child((file, ()), self.document(file), "paths", path)
            where, value = self.child(*root, method, "callbacks", name, uri)
            return {"item": (where, value), "operation": self.child(where, value, "post")}
        if service == "oauth2":
            # Its API root has no name and version of a service (TS 29.510, 6.3.1).
            file, path = "TS29510_Nnrf_AccessToken.yaml", "/oauth2/token"
            item = self.child((file, ()), self.document(file), "paths", path)
            return {"item": item, "operation": self.child(*item, "post")}
        file, version = self.file_of(service)
        wanted = path and re.sub(r"\{\w+\}", "{}", path)
        for template in self.document(file)["paths"]:
            if wanted and re.sub(r"\{\w+\}", "{}", template) != wanted:
                continue
            item = self.child((file, ()), self.document(file), "paths", template)
            if wanted:
                if path != template:
                    raise LookupError(f"{file} spells the path {template}, not {path}")
                if method and method.lower() in item[1]:
                    return {
                        "item": item,
                        "operation": self.child(*item, method.lower()),
                        "version": version,
                    }
                raise LookupError(f"{file} has no {method} for {path}")
            for verb in METHODS:
                if verb in item[1] and item[1][verb].get("operationId") == operation:
                    return {"item": item, "operation": self.child(*item, verb), "version": version}
        raise LookupError(f"{file} has no {path or operation}")

    def errors(self, where, instance, reading):
        """Violations of the schema at a place."""
        key = (where, reading)
        if key not in self.validators:
            pointer = "/".join(
                str(part)
                .replace("~", "~0")
                .replace("/", "~1")
                .replace("%", "%25")
                .replace("{", "%7B")
                .replace("}", "%7D")
                for part in where[1]
            )
            kind = OAS30ReadValidator if reading else OAS30WriteValidator
            self.validators[key] = kind(
                {"$ref": f"{where[0]}#/{pointer}"}, registry=self.registry, format_checker=formats
            )
        for error in self.validators[key].iter_errors(instance):
            yield from leaves(error)


def services_of(files):
    """The file and the version of each service."""
    services = {}
    for path in files:
        for match in re.finditer(
            r"url:\s*['\"]?\{apiRoot\}/([\w-]+)/(v\d+)", path.read_text(encoding="utf-8")
        ):
            services.setdefault(match[1], (path.name, match[2]))
    return services


def read(path):
    """The content of an OpenAPI file."""
    # A tab in one of the published files is no YAML.
    return yaml.load(path.read_text(encoding="utf-8").replace("\t", "  "), Loader=Loader)


def leaves(error):
    """The most specific violations: of alternatives, those of the best match."""
    if error.context:
        branches = {}
        for inner in error.context:
            branches.setdefault(inner.schema_path[0] if inner.schema_path else 0, []).append(inner)
        best = min(
            branches.values(),
            key=lambda found: (len(found), -max(len(e.absolute_path) for e in found)),
        )
        for inner in best:
            yield from leaves(inner)
    else:
        at = "".join(f"/{part}" for part in error.absolute_path) or "/"
        yield f"{at}: {error.message[:300]}"


def check_body(specifications, container, message, reading):
    where, value = container
    content = value.get("content") or {}
    body = message.get("body")
    if body is None:
        due = (
            200 <= message.get("status", 0) < 300 and content if reading else value.get("required")
        )
        if due:
            yield "a body is due, and there is none"
        return
    if not content:
        yield "there is a body, and none is due"
        return
    media = (message.get("content_type") or "").split(";")[0].strip().lower()
    if media and media not in (name.lower() for name in content):
        yield f"the body is {media}; due is {' or '.join(content)}"
        return
    candidates = [name for name in content if name.lower() == media] or list(content)
    tried = []
    for name in candidates:
        place = specifications.child(where, value, "content", name, "schema")
        if name.startswith("multipart/"):
            parts = place[1].get("properties", {})
            root = "jsonData" if "jsonData" in parts else next(iter(parts))
            place = specifications.child(*place, "properties", root)
            yield from check_media_of_parts(
                specifications.child(where, value, "content", name)[1], root, message
            )
        found = list(specifications.errors(place[0], body, reading))
        if not found:
            break
        tried.append(found)
    else:
        yield from min(tried, key=len)
    if message.get("parts") is not None:
        named, present = set(content_ids(body)), set(message["parts"])
        if named != present:
            yield f"the body names the parts {sorted(named)}; there are {sorted(present)}"


def check_media_of_parts(content, root, message):
    allowed = {
        encoding.get("contentType")
        for part, encoding in (content.get("encoding") or {}).items()
        if part != root
    }
    parts = message.get("parts")
    if allowed and isinstance(parts, dict):
        for part, media in parts.items():
            if media not in allowed:
                yield f"the part {part} is {media}; due is {' or '.join(sorted(allowed))}"


def content_ids(value):
    if isinstance(value, dict):
        for name, inner in value.items():
            if name == "contentId" and isinstance(inner, str):
                yield inner
            else:
                yield from content_ids(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from content_ids(inner)


def parameters_in(specifications, found, location):
    """The places of an operation's parameters of a location (query, header) by name."""
    parameters = {}
    for where, value in (found["item"], found["operation"]):
        for number in range(len(value.get("parameters") or ())):
            place = specifications.child(where, value, "parameters", number)
            if place[1].get("in") == location:
                parameters[place[1]["name"]] = place
    return parameters


def check_query(specifications, found, query):
    parameters = parameters_in(specifications, found, "query")
    for name, (_, value) in parameters.items():
        if value.get("required") and name not in query:
            yield f"query parameter {name} is mandatory"
    for name, text in query.items():
        if name not in parameters:
            yield f"query parameter {name} is not defined"
            continue
        where, value = parameters[name]
        try:
            if "content" in value:
                instance = json.loads(text)
                place = specifications.child(where, value, "content", "application/json", "schema")
            else:
                place = specifications.child(where, value, "schema")
                instance = plain(specifications, place, text)
        except ValueError:
            yield f"query parameter {name}: {text!r} is no JSON"
            continue
        for error in specifications.errors(place[0], instance, reading=False):
            yield f"query parameter {name}: {error}"


def check_headers(specifications, defined, headers):
    """Violations of the headers that a file defines. Others are allowed, as in OpenAPI."""
    for name, (where, value) in defined.items():
        text = headers.get(name.lower())
        if text is None:
            if value.get("required"):
                yield f"header {name} is mandatory"
            continue
        place = specifications.child(where, value, "schema")
        instance = plain(specifications, place, text)
        for error in specifications.errors(place[0], instance, reading=False):
            yield f"header {name}: {error}"


def plain(specifications, place, text):
    """The value of a parameter that is not JSON, as its schema has it."""
    schema = specifications.follow(*place)[1]
    kind = schema.get("type")
    if kind == "array":
        items = specifications.child(*place, "items")
        return [plain(specifications, items, part) for part in text.split(",")]
    if kind == "integer" and re.fullmatch(r"-?\d+", text):
        return int(text)
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    return text


def response(specifications, where, operation, status):
    """The place of the response that holds for a status, or `None`."""
    # Some files have numbers for keys, some text.
    keys = {str(key): key for key in operation["responses"]}
    if str(status) in keys:
        return specifications.child(where, operation, "responses", keys[str(status)])
    # Some files list no errors at all.
    is_open = "default" in keys or not any(key[0] in "45" for key in keys)
    if status < 400 or not (is_open or status in TEXT_ERRORS.get(where[0], ())):
        return None
    # Errors of TS 29.500, 5.2.7.
    common = ("TS29571_CommonData.yaml", ())
    found = specifications.child(
        common, specifications.document(common[0]), "components", "responses"
    )
    if str(status) in found[1]:
        return specifications.child(*found, str(status))
    if "default" in keys:
        return specifications.child(where, operation, "responses", "default")
    return None


def undefined(operation, status):
    defined = ", ".join(str(key) for key in operation["responses"])
    return f"status {status} is not defined; defined are {defined}"


def check(specifications, message):
    found = specifications.operation(message)
    where, operation = found["operation"]
    direction = message.get("direction")
    if direction == "request":
        if message.get("query") is not None:
            yield from check_query(specifications, found, message["query"])
        if message.get("headers") is not None:
            defined = parameters_in(specifications, found, "header")
            yield from check_headers(specifications, defined, message["headers"])
        if "requestBody" in operation:
            container = specifications.child(where, operation, "requestBody")
            yield from check_body(specifications, container, message, reading=False)
        elif message.get("body") is not None:
            yield "there is a body, and none is due"
    elif direction == "response":
        status = message.get("status")
        if not isinstance(status, int):
            raise LookupError("a response needs its status")
        container = response(specifications, where, operation, status)
        if container:
            yield from check_body(specifications, container, message, reading=True)
            if message.get("headers") is not None:
                defined = {
                    name: specifications.child(*container, "headers", name)
                    for name in container[1].get("headers") or ()
                }
                yield from check_headers(specifications, defined, message["headers"])
        else:
            yield undefined(operation, status)
    elif direction == "declaration":
        if "version" in found and message.get("version") != found["version"]:
            yield f"{where[0]} has version {found['version']}"
        # Where a file gives no name, or one that is no identifier, the name is ours to choose.
        name = operation.get("operationId") or ""
        if re.fullmatch(r"\w+", name) and message["operation"] != name:
            yield f"{where[0]} names the operation {name}"
        for status in message.get("statuses", ()):
            if not response(specifications, where, operation, status):
                yield undefined(operation, status)
    else:
        raise LookupError(f"direction {direction!r} is none of request, response, declaration")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--specs",
        default=os.environ.get("MARTLET_3GPP_OPENAPI"),
        metavar="FOLDER",
        help="folder of the OpenAPI files (default: environment variable MARTLET_3GPP_OPENAPI)",
    )
    parser.add_argument("--serve", action="store_true", help="check batches until the input ends")
    arguments = parser.parse_args()
    # The process is short: garbage collection took a fifth of its time.
    gc.disable()
    if not arguments.specs or not Path(arguments.specs).is_dir():
        print(f"SKIPPED: there are no OpenAPI files at {arguments.specs}", file=sys.stderr)
        return SKIPPED
    specifications = Specifications(arguments.specs)
    if arguments.serve:
        batch = []
        for line in sys.stdin:
            if line.strip():
                batch.append(line)
            else:
                check_all(specifications, batch, sys.stdout)
                print(".", flush=True)
                batch = []
        return 0
    return check_all(specifications, sys.stdin, sys.stderr)


def check_all(specifications, lines, counted):
    """Reports the violations of messages, and their count to `counted`. Returns the exit code."""
    seen, messages, violations = set(), 0, 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            message = json.loads(line)
        except ValueError as error:
            print(f"line {number}: {error}", file=counted)
            return 2
        messages += 1
        name = f"{message.get('service')} {message.get('operation') or message.get('path')}"
        seen.add(name)
        about = f"{name} {message.get('direction')} {message.get('status') or ''}".strip()
        try:
            found = list(check(specifications, message))
        except LookupError as error:
            found = [str(error)]
        for violation in found:
            violations += 1
            print(f"line {number}: {about}: {violation}")
    count = f"{messages} messages of {len(seen)} operations: {violations} violations"
    print(count, file=counted)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
