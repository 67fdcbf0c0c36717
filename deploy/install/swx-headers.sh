#!/usr/bin/env bash
# Installs two headers with which the switch compiles its pipeline to machine code, and the example
# pipelines that tests compare with, below /usr/local/share/martlet. Debian has them only in DPDK's
# source package, which apt downloads in the installed version and verifies. Without the headers,
# the switch interprets its pipeline, which is slower.
set -euo pipefail
version=$(dpkg-query -W -f='${Version}' libdpdk-dev)
upstream=${version%%-*}
target=/usr/local/share/martlet/swx/$upstream
examples=/usr/local/share/martlet/swx-examples/$upstream
files="rte_swx_pipeline_internal.h rte_swx_pipeline_spec.h"
if [ -f "$target/rte_swx_pipeline_internal.h" ] && [ -f "$target/rte_swx_pipeline_spec.h" ] &&
    [ -f "$examples/vxlan.spec" ]; then
    exit 0
fi
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}
echo "Martlet downloads two headers and some examples from the source package of dpdk $version."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/parts"
# The system's archives, as source archives.
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ -f "$list" ] && sed -n 's/^deb /deb-src /p' "$list" >>"$work/parts/system.list" || true
done
for list in /etc/apt/sources.list.d/*.sources; do
    [ -f "$list" ] &&
        sed 's/^Types:.*/Types: deb-src/' "$list" >"$work/parts/$(basename "$list")" || true
done
# Third-party archives may have no sources, so errors of the update are ignored.
options="-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts=$work/parts"
options="$options -o Dir::State::lists=$work/lists -o Dir::Cache=$work/cache"
options="$options -o APT::Sandbox::User=root"
apt-get $options update -qq >/dev/null 2>&1 || true
if ! (cd "$work" &&
    apt-get $options source --download-only -qq "dpdk=$version" >/dev/null 2>&1); then
    echo "The source package of dpdk $version is not available:" \
        "the switch interprets its pipeline." >&2
    exit 0
fi
mkdir "$work/tree"
tar -xf "$work"/dpdk_*.orig.tar.* -C "$work/tree" --wildcards --strip-components=3 \
    '*/lib/pipeline/rte_swx_pipeline_internal.h' '*/lib/pipeline/rte_swx_pipeline_spec.h' \
    '*/examples/pipeline/examples/*.spec'
as_root install -d "$target" "$examples"
# Existing files keep their time stamps, which the build depends on.
for file in $files; do
    [ -f "$target/$file" ] || as_root install -m 644 "$work/tree/$file" "$target/"
done
as_root install -m 644 "$work"/tree/examples/*.spec "$examples/"
echo "They are in $target and $examples."
