#!/usr/bin/env bash
# Fetches the two headers that the switch's pipeline as machine code is compiled with, and the examples of pipelines that tests
# compare ours with. Debian has them in DPDK's source package alone: it is taken, in the version installed, through apt, which
# checks its signature and checksums, and they are put below /usr/local/share/martlet. Without the headers Martlet builds too,
# and its switch interprets the pipeline, which is slower.
set -euo pipefail
version=$(dpkg-query -W -f='${Version}' libdpdk-dev)
upstream=${version%%-*}
target=/usr/local/share/martlet/swx/$upstream
examples=/usr/local/share/martlet/swx-examples/$upstream
files="rte_swx_pipeline_internal.h rte_swx_pipeline_spec.h"
if [ -f "$target/rte_swx_pipeline_internal.h" ] && [ -f "$target/rte_swx_pipeline_spec.h" ] && [ -f "$examples/vxlan.spec" ]; then
    exit 0
fi
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}
echo "Martlet fetches two headers and some examples from the source package of dpdk $version."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/parts"
# The system's own archives, with their sources instead of their binaries.
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -f "$list" ] && sed -n 's/^deb /deb-src /p' "$list" >>"$work/parts/system.list" || true
done
for list in /etc/apt/sources.list.d/*.sources; do
    [ -f "$list" ] && sed 's/^Types:.*/Types: deb-src/' "$list" >"$work/parts/$(basename "$list")" || true
done
# Archives of others may have no sources; what counts is whether the package comes.
options="-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$work/parts -o Dir::State::lists=$work/lists -o Dir::Cache=$work/cache -o APT::Sandbox::User=root"
apt-get $options update -qq >/dev/null 2>&1 || true
if ! (cd "$work" && apt-get $options source --download-only -qq "dpdk=$version" >/dev/null 2>&1); then
    echo "Martlet did not get the source package of dpdk $version: its switch will interpret the pipeline." >&2
    exit 0
fi
mkdir "$work/tree"
tar -xf "$work"/dpdk_*.orig.tar.* -C "$work/tree" --wildcards --strip-components=3 '*/lib/pipeline/rte_swx_pipeline_internal.h' '*/lib/pipeline/rte_swx_pipeline_spec.h' \
    '*/examples/pipeline/examples/*.spec'
as_root install -d "$target" "$examples"
# What is there already keeps its time, by which the build goes.
for file in $files; do [ -f "$target/$file" ] || as_root install -m 644 "$work/tree/$file" "$target/"; done
as_root install -m 644 "$work"/tree/examples/*.spec "$examples/"
echo "Martlet has put them into $target and $examples."
