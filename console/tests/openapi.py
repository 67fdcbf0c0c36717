"""Checks the description of a running core's API: it is valid OpenAPI 3.1, a client that is
generated from it works, and random requests of Schemathesis get no 500.

    openapi.py URL TOKEN SECONDS SOCKET

The random requests go to the unix socket: they also remove users and tokens, and would soon remove
the user and the token that they come with.
"""

import importlib
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request

base, token, seconds, api_socket = sys.argv[1], sys.argv[2], float(sys.argv[3]), sys.argv[4]


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
local = f"http://127.0.0.1:{listener.getsockname()[1]}"
bin_folder = pathlib.Path(sys.executable).parent
with urllib.request.urlopen(f"{base}/api/v1/openapi.json") as response:
    document = json.load(response)

from openapi_spec_validator import validate  # noqa: E402

validate(document)
print(f"valid: OpenAPI {document['openapi']}, {len(document['paths'])} paths")

with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder)
    (path / "openapi.json").write_text(json.dumps(document))
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

    found = subprocess.run(
        [bin_folder / "schemathesis", "run", path / "openapi.json",
         "--url", f"{local}/api/v1",
         "--checks", "not_a_server_error", "--max-time", str(int(seconds)), "--seed", "1",
         "--exclude-path", "/events", "--exclude-path", "/traces/live",
         # It takes functions out of service: 504 is then the right answer of others.
         "--exclude-path", "/functions/{name}/draining",
         "--exclude-path", "/backups", "--exclude-path", "/configuration",
         "--exclude-path", "/session/password", "--workers", "2"],
        capture_output=True, text=True, cwd=folder)
    text = found.stdout + found.stderr
    print("\n".join(text.splitlines()[-120:]))
    if found.returncode != 0:
        sys.exit(f"schemathesis: {found.returncode}")
    if "Authentication failed" in text:
        sys.exit("schemathesis: the requests were not authorised, and reached no operation")
