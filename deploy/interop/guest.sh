#!/usr/bin/env bash
# Runs the harness in a guest with Debian's kernel, which has SCTP, and writes the matrix of
# docs/interop.md. The guest is emulated and slow, so that all times to wait are longer.
#   guest.sh MARTLET PROGRAMS [OPTION OF run.py…]     MARTLET has martlet-ran beside it
set -euo pipefail
cd "$(dirname "$0")/../.."
PATH=$PATH:/usr/sbin:/sbin
martlet=$1 programs=$2
shift 2
[ -z "$programs" ] || programs=$(realpath "$programs")
MARTLET_INTEROP_TIMES=${MARTLET_INTEROP_TIMES:-5}
export MARTLET_INTEROP_TIMES
rm -f target/guest/results/interop.md
status=0
# Writes are discarded, except in $GUEST_RESULTS.
deploy/guest/run.sh --modules "sctp tun veth vrf" --timeout "${MARTLET_INTEROP_LIMIT_S:-14400}" \
    bash -c '
        martlet=$1 programs=$2
        shift 2
        deploy/interop/run.py --martlet "$martlet" ${programs:+--programs "$programs"} \
            --folder /tmp/interop --text "$GUEST_RESULTS/interop.md" \
            --json "$GUEST_RESULTS/interop.json" "$@"
        status=$?
        cp -r /tmp/interop "$GUEST_RESULTS/interop-logs"
        exit $status
    ' interop "$(realpath "$martlet")" "$programs" "$@" || status=$?
[ -e target/guest/results/interop.md ] || exit "$status"
deploy/interop/run.py --matrix target/guest/results/interop.md --write docs/interop.md
exit "$status"
