#!/usr/bin/env bash
# Runs the checks of `make lint` that need no compiler. Each one runs, whether others fail or not.
set -uo pipefail
cd "$(dirname "$0")/../.."
failed=()

check() {
    local name=$1
    shift
    echo "lint: $name"
    "$@" || failed+=("$name")
}

check "widths" python3 deploy/lint/width.py
check "words" python3 deploy/lint/words.py
check "references" python3 deploy/lint/references.py
check "tests that pages name" python3 deploy/lint/named_tests.py
check "module style" python3 deploy/lint/modules.py
check "import circles" python3 deploy/lint/circles.py
check "the check of import circles" python3 deploy/lint/circles_test.py
check "the report of failed tests" python3 deploy/test/steady_test.py
check "panics" python3 deploy/lint/panics.py
check "pipes into grep -q" python3 deploy/lint/pipes.py
check "publishable crates" python3 deploy/lint/packages.py
check "commit subjects" python3 deploy/lint/commits.py
check "spelling" typos --format brief
check "Markdown" rumdl check --quiet .
check "unused dependencies" cargo-machete --skip-target-dir
check "licences, sources, versions, banned crates" python3 deploy/lint/dependencies.py

if [ ${#failed[@]} -gt 0 ]; then
    printf 'lint failed: %s\n' "${failed[@]}" >&2
    exit 1
fi
