"""Checks the description of a running core's API: it is valid OpenAPI 3.1, a client that is
generated from it works, and random requests of Schemathesis get no 500.

    openapi.py URL TOKEN SECONDS SOCKET SUPI

SUPI is a UE with a session. The random requests go to the unix socket: they also remove users and
tokens, and would soon remove the user and the token that they come with.
"""

import collections
import importlib
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

base, token, seconds, api_socket = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]
supi = sys.argv[5]

# Operations that Schemathesis's own run leaves out, and why. `run_apart` calls them behind it.
APART = {
    "/events": "the response has no end, and Schemathesis reads it to its end",
    "/traces/live": "the response has no end, and Schemathesis reads it to its end",
    "/functions/{name}/draining": "other requests rightly get 504 while a function is drained",
}
# Requests to each of them, and to each operation on the UE.
REQUESTS = 40
# Seconds until a response: a procedure with a UE may wait for it.
LONGEST = 65


def copy(source, target):
    """Passes bytes on until one side ends."""
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(listener):
    """Connects each client of a TCP port with the unix socket."""
    while True:
        client, _ = listener.accept()
        core = socket.socket(socket.AF_UNIX)
        core.connect(api_socket)
        for ends in ((client, core), (core, client)):
            threading.Thread(target=copy, args=ends, daemon=True).start()


listener = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=serve, args=(listener,), daemon=True).start()
local = f"http://127.0.0.1:{listener.getsockname()[1]}/api/v1"
bin_folder = pathlib.Path(sys.executable).parent
with urllib.request.urlopen(f"{base}/api/v1/openapi.json") as response:
    document = json.load(response)

from openapi_spec_validator import validate  # noqa: E402

validate(document)
print(f"valid: OpenAPI {document['openapi']}, {len(document['paths'])} paths")


def generate_client(folder):
    """Generates a client, which lists subscribers."""
    path = pathlib.Path(folder)
    made = subprocess.run(
        [bin_folder / "openapi-python-client", "generate", "--path", path / "openapi.json",
         "--output-path", path / "client", "--meta", "none", "--overwrite"],
        capture_output=True, text=True, cwd=folder)
    if made.returncode != 0:
        sys.exit(f"the client was not generated: {made.stdout}{made.stderr}")
    sys.path.insert(0, folder)
    client = importlib.import_module("client")
    caller = client.AuthenticatedClient(base_url=f"{base}/api/v1", token=token)
    listed = importlib.import_module("client.api.subscribers.get_subscribers")
    page = listed.sync(client=caller, limit=10)
    if page is None or page.total < 2:
        sys.exit(f"the generated client read {page}")
    print(f"client: {page.total} subscribers")


def run(folder):
    """Runs Schemathesis with all operations but those of APART."""
    left_out = [word for path in APART for word in ("--exclude-path", path)]
    found = subprocess.run(
        [bin_folder / "schemathesis", "run", f"{folder}/openapi.json", "--url", local,
         "--checks", "not_a_server_error", "--max-time", str(int(seconds)), "--seed", "1",
         *left_out, "--workers", "2"],
        capture_output=True, text=True, cwd=folder)
    text = found.stdout + found.stderr
    print("\n".join(text.splitlines()[-120:]))
    if found.returncode != 0:
        sys.exit(f"schemathesis: {found.returncode}")
    if "Authentication failed" in text:
        sys.exit("schemathesis: the requests were not authorised, and reached no operation")


def run_apart(folder):
    """Sends random requests to the operations of APART and to those on the UE, one after the other,
    and reads the heads of the responses. Of each operation, one at least has to reach the core: a
    UE that is connected is not paged (409), and only four recordings run at once (429)."""
    import openapi_hooks as hooks
    import requests
    import schemathesis
    from hypothesis import HealthCheck, Phase, given, settings

    # Recordings and captures of the run before: only so many may run at once.
    for job in requests.get(f"{local}/jobs", timeout=10).json():
        requests.delete(f"{local}/jobs/{job['id']}", timeout=10)
    schema = schemathesis.openapi.from_path(f"{folder}/openapi.json")
    alone = settings(max_examples=REQUESTS, deadline=None, database=None, derandomize=True,
                     phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    of_ue = [path for path in document["paths"] if path.startswith("/ues/{supi}")]

    def wait_for_ue():
        """The last request may have deregistered the UE, which registers again after a while."""
        until = time.monotonic() + LONGEST
        while time.monotonic() < until:
            if requests.get(f"{local}/ues", timeout=10).json()["items"]:
                return
            time.sleep(0.2)
        sys.exit("the UE is not registered any more")

    for path in of_ue + list(APART):
        for method, operation in schema[path].items():
            statuses = collections.Counter()
            wait_for_ue()
            hooks.read.clear()

            @alone
            @given(case=operation.as_strategy())
            def call(case):
                hooks.before_call(None, case, {})
                sent = case.as_transport_kwargs(base_url=local)
                with requests.request(**sent, stream=True, timeout=LONGEST) as response:
                    statuses[response.status_code] += 1
                    status = response.status_code
                    if status >= 500 and not hooks.is_ue_silent(path, status, response.text):
                        sys.exit(f"{method} {path}: {status} {response.text}")

            call()
            print(f"{method} {path}: {dict(sorted(statuses.items()))}")
            if not statuses.keys() - {400, 404, 405}:
                sys.exit(f"{method} {path}: no request reached the core")
    for name in hooks.FUNCTIONS:
        requests.put(f"{local}/functions/{name}/draining", json={"draining": False}, timeout=10)


with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "openapi.json").write_text(json.dumps(document))
    generate_client(folder)
    os.environ |= {
        "MARTLET_API": local, "MARTLET_SUPI": supi, "MARTLET_FOLDER": folder,
        "PYTHONPATH": str(pathlib.Path(__file__).parent), "SCHEMATHESIS_HOOKS": "openapi_hooks",
    }
    run(folder)
    run_apart(folder)
