#!/bin/sh
# Links the program with the functions of `functions.txt` first, in that order. gcc runs it in place
# of its linker:
#
#     gcc -wrapper link.sh,functions.txt,ORDER …     runs: link.sh functions.txt ORDER collect2 …
#
# The names in the list have no hashes of crates, which change with each version (see `names.awk`).
# So the script looks up the names of this build in what is linked, and writes them to ORDER. Where
# it cannot, the program is linked in the usual order.
list=$1 order=$2
shift 2
here=$(dirname "$0")
case " $* " in
*" -fuse-ld=lld "*) ;;
*) exec "$@" ;; # Other linkers do not know the option.
esac
# Prints the object files and archives, one in a line.
inputs() {
    for input; do
        case $input in
        -*) ;;
        *.o | *.rlib | *.a) printf '%s\n' "$input" ;;
        esac
    done
}
if inputs "$@" | tr '\n' '\0' | xargs -0 nm --defined-only 2> /dev/null |
    awk -v list="$list" -f "$here/names.awk" -f "$here/order.awk" |
    LC_ALL=C sort -n | cut -d ' ' -f 2- > "$order" && [ -s "$order" ]; then
    exec "$@" --symbol-ordering-file="$order" --no-warn-symbol-ordering
fi
exec "$@"
