#!/usr/bin/env python3
"""Reports modules with children that are not `name/mod.rs`: the workspace has one module style."""

import subprocess
import sys
from pathlib import PurePosixPath


def main():
    listed = subprocess.run(
        ["git", "ls-files", "*.rs"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    files = [PurePosixPath(path) for path in listed]
    folders = {path.parent for path in files}
    found = [path for path in files if "src" in path.parts and path.with_suffix("") in folders]
    for path in found:
        print(f"{path}: move it to {path.with_suffix('')}/mod.rs")
    if found:
        sys.exit(f"{len(found)} modules are not `name/mod.rs`.")


main()
