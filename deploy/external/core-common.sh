# Part of the scripts in this folder that start another core for `martlet-lab control-plane`; they
# source it. The variables that the lab gives them are in martlet.sh.
#
# shellcheck shell=sh
# Variables and functions of this file are used by those that source it.
# shellcheck disable=SC2034
set -eu
folder=$MARTLET_LAB_FOLDER
# Programs start in another folder.
if [ -n "${MARTLET_LAB_PROGRAMS:-}" ]; then
    MARTLET_LAB_PROGRAMS=$(cd "$MARTLET_LAB_PROGRAMS" && pwd)
fi
# The slice: its type, and its differentiator, which may be empty.
sst=${MARTLET_LAB_SLICE%%-*}
sd=${MARTLET_LAB_SLICE#"$sst"}
sd=${sd#-}
mnc=${MARTLET_LAB_PLMN#???}
mcc=${MARTLET_LAB_PLMN%"$mnc"}
# The tracking area code as six hexadecimal digits.
tac=$(printf %06x "$MARTLET_LAB_TAC")
running=

fail() {
    echo "$(basename "$0"): $*" >&2
    exit 1
}

# Prints the path of a program, by one of its names: in the folder of --programs or its folder bin,
# or on PATH. Fails without a message if there is none.
find_program() {
    for name in "$@"; do
        for path in "${MARTLET_LAB_PROGRAMS:-}/$name" "${MARTLET_LAB_PROGRAMS:-}/bin/$name"; do
            if [ -n "${MARTLET_LAB_PROGRAMS:-}" ] && [ -f "$path" ] && [ -x "$path" ]; then
                echo "$path"
                return
            fi
        done
        command -v "$name" && return
    done
    return 1
}
# The same, and ends the script if there is none.
program() {
    find_program "$@" || fail "no program $1: install it, or name its folder with --programs"
}

# Starts a program in the folder. What it writes is in NAME.log.
run() { # NAME PROGRAM ARGUMENT…
    # `program` has printed which one is missing.
    [ -n "$2" ] || exit 1
    log=$folder/$1.log
    shift
    (cd "$folder" && exec "$@") > "$log" 2>&1 &
    running="$! $running"
}

stop() {
    trap - EXIT TERM INT
    for process in $running; do kill -TERM "$process" 2> /dev/null || true; done
    for process in $running; do wait "$process" 2> /dev/null || true; done
}
trap 'status=$?; stop; exit $status' EXIT
trap 'exit 0' TERM INT

# Fails, with the logs, if a program has ended.
check() {
    for process in $running; do
        kill -0 "$process" 2> /dev/null && continue
        tail -n 20 "$folder"/*.log >&2
        fail "a program has ended"
    done
}

# Waits until a command succeeds, for a minute at most.
until_true() { # WHAT COMMAND…
    what=$1 tries=0
    shift
    until "$@" > /dev/null 2>&1; do
        check
        tries=$((tries + 1))
        if [ "$tries" -ge 600 ]; then
            tail -n 20 "$folder"/*.log >&2
            fail "not within a minute: $what"
        fi
        sleep 0.1
    done
}

until_listening() { # NAME ADDRESS PORT
    until_true "$1 listens at $2, port $3" sh -c "ss -Hltn 'src $2:$3' | grep -q ."
}

has_kernel_sctp() {
    [ -e /proc/net/sctp/eps ] || modprobe sctp 2> /dev/null || true
    [ -e /proc/net/sctp/eps ]
}

# Other cores have no SCTP stack of their own.
need_kernel_sctp() {
    has_kernel_sctp ||
        fail "the core needs the kernel's SCTP, which this kernel lacks; see deploy/guest/README.md"
}

until_sctp_listening() {
    if has_kernel_sctp; then
        until_true "the AMF listens at $MARTLET_LAB_AMF" \
            grep -Eq " 38412 .* $MARTLET_LAB_AMF( |\$)" /proc/net/sctp/eps
    else
        # SCTP in user space uses a raw socket.
        until_true "the AMF listens at $MARTLET_LAB_AMF" \
            sh -c "ss -Hawn | grep -q ' $MARTLET_LAB_AMF:132 '"
    fi
}

# Prints the n-th subscriber's IMSI, from 0.
imsi() {
    # In two parts: a number of 15 digits with leading zeros is octal in some shells.
    number=${MARTLET_LAB_FIRST_IMSI#"$MARTLET_LAB_PLMN"}
    digits=${#number}
    while [ "${number#0}" != "$number" ] && [ "${#number}" -gt 1 ]; do number=${number#0}; done
    printf "%s%0${digits}d\n" "$MARTLET_LAB_PLMN" "$((number + $1))"
}

# Waits for the end of the core.
serve() {
    echo ready
    while true; do
        check
        # A trap runs when the command in the foreground has ended.
        sleep 0.2
    done
}
