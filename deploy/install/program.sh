#!/usr/bin/env bash
# Installs a program without its symbols; debuggers find these by its build ID.
#
#     deploy/install/program.sh PROGRAM FOLDER [DEBUG]
#
# FOLDER is the folder for the program, below DESTDIR. DEBUG is the folder for symbols, below
# DESTDIR (/usr/lib/debug, where gdb and perf look).
set -euo pipefail
program=${1:?usage: program.sh PROGRAM FOLDER [DEBUG]}
target=${DESTDIR:-}${2:?usage: program.sh PROGRAM FOLDER [DEBUG]}/$(basename "$program")
debug=${DESTDIR:-}${3:-/usr/lib/debug}
install -D -m 755 "$program" "$target"
strip --strip-unneeded --remove-section=.comment "$target"
id=$(readelf -n "$program" | awk '/Build ID/ {print $3}')
if [ -n "$id" ]; then
    file=$debug/.build-id/${id:0:2}/${id:2}.debug
    mkdir -p "$(dirname "$file")"
    objcopy --only-keep-debug --compress-debug-sections "$program" "$file"
    chmod 644 "$file"
fi
echo "$target: $(stat -c %s "$target") bytes"
