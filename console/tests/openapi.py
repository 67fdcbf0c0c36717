"""Checks the description of a running core's API: it is valid OpenAPI 3.1, a client that is
generated from it works, and random requests of Schemathesis get no 500.

    openapi.py URL TOKEN SECONDS
"""

import importlib
import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

base, token, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
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
         "--url", f"{base}/api/v1", "--header", f"Authorization: Bearer {token}",
         "--checks", "not_a_server_error", "--max-time", str(int(seconds)), "--seed", "1",
         "--exclude-path", "/events", "--exclude-path", "/traces/live", "--exclude-path", "/backups",
         "--exclude-path", "/configuration",
         "--exclude-path", "/session/password", "--workers", "2"],
        capture_output=True, text=True, cwd=folder)
    text = found.stdout + found.stderr
    print("\n".join(text.splitlines()[-120:]))
    if found.returncode != 0:
        sys.exit(f"schemathesis: {found.returncode}")
