#!/usr/bin/env bash
# Builds the documentation site: the pages of the repository, and a reference that is generated from
# the program. Sources of the book go to target/book-src, the site to target/book.
#
#     deploy/docs/generate.sh PROGRAM      PROGRAM is the path of `martlet`, with martlet-ran
#                                          and martlet-lab beside it
set -euo pipefail
cd "$(dirname "$0")/../.."
martlet=$(realpath "${1:?name the path of martlet}")
mdbook=${MDBOOK:-target/lint/bin/mdbook}

rm -rf target/book-src target/book
python3 deploy/docs/generate.py "$martlet" target/book-src
"$mdbook" build target/book-src --dest-dir "$PWD/target/book"
python3 deploy/docs/check.py target/book
echo "The site is target/book/index.html."
