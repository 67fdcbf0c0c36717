"""Hooks of Schemathesis for the northbound API: half of the requests name what the core has, such
as its UE and gNB, so that they reach more than a 404.

    MARTLET_API     base URL of the API
    MARTLET_SUPI    the UE that is registered
    MARTLET_FOLDER  folder in which backups are made
"""

import itertools
import json
import os
import random
import threading
import time
import urllib.parse
import urllib.request

import schemathesis

API, SUPI = os.environ["MARTLET_API"], os.environ["MARTLET_SUPI"]
FOLDER = os.environ["MARTLET_FOLDER"]

# The list with the identities of a path's first segment, and their member.
LISTS = {
    "alarms": ("/alarms", "id"),
    "charging": ("/subscribers", "supi"),
    "gnbs": ("/gnbs", "id"),
    "jobs": ("/jobs", "id"),
    "lab-reports": ("/lab-reports", "name"),
    "location-requests": ("/location-requests", "id"),
    "subscribers": ("/subscribers", "supi"),
    "tokens": ("/tokens", "id"),
    "ues": ("/ues", "supi"),
    "user-plane": ("/user-plane", "seid"),
    "users": ("/users", "name"),
}
FUNCTIONS = ["amf", "smf", "udm", "udr", "ausf", "pcf", "nssf", "lmf", "chf", "nrf"]

# A procedure with a UE that does not answer: T3522 of the AMF expires five times (TS 24.501, 10.2),
# and paging is repeated. Others answer within Schemathesis's 10 s.
LONGEST_PROCEDURE = 65

choice = random.Random(1)
lock = threading.Lock()
read = {}
numbers = itertools.count()


def known(segment):
    """An identity of what is there now."""
    if segment == "functions":
        return choice.choice(FUNCTIONS)
    path, member = LISTS[segment]
    with lock:
        at, identities = read.get(segment, (0, []))
        if time.monotonic() - at > 1:
            try:
                with urllib.request.urlopen(API + path, timeout=5) as response:
                    found = json.load(response)
            except OSError:
                found = []
            if isinstance(found, dict):
                found = found.get("items", found.get("sessions", []))
            identities = [str(item[member]) for item in found if member in item]
            read[segment] = (time.monotonic(), identities)
    return choice.choice(identities) if identities else None


@schemathesis.hook
def before_call(context, case, kwargs):
    """Replaces identities, entity tags and folders of some requests."""
    path = case.operation.path
    segment = path.split("/")[1]
    if segment == "ues":
        kwargs["timeout"] = LONGEST_PROCEDURE
    if path == "/backups" and isinstance(case.body, dict):
        # Wherever it is, the folder of a backup is new: it belongs to the test here.
        folder = case.body.get("folder")
        if isinstance(folder, str) and folder.startswith("/"):
            case.body["folder"] = f"{FOLDER}/{next(numbers)}"
    if choice.random() < 0.5:
        return
    for name in case.path_parameters or {}:
        if (segment in LISTS or segment == "functions") and name != "plot":
            identity = known(segment)
            if identity:
                case.path_parameters[name] = urllib.parse.quote(identity, safe="")
    for name in case.headers or {}:
        if name.lower() == "if-match":
            case.headers[name] = "*"
    if isinstance(case.body, dict) and isinstance(case.body.get("supi"), str):
        case.body["supi"] = SUPI


def is_ue_silent(path, status, text):
    """Whether a response is the documented one for a UE that does not answer: other requests
    release its gNB and remove its subscription."""
    return path.startswith("/ues/{supi}/") and status == 504 and ":problem:no-answer" in text


@schemathesis.hook
def filter_failure(context, failure, case, response):
    return not is_ue_silent(case.operation.path, response.status_code, response.text)
