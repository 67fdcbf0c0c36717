# name_in_list(SYMBOL): the symbol of a function without what differs between builds: the hashes of
# crates (`Cs…_` in Rust's mangling of version 0), the places of what is repeated (`B…_`), and the
# suffix of functions that link-time optimisation renames.
function name_in_list(symbol) {
    sub(/\.llvm\.[0-9]+$/, "", symbol)
    if (symbol ~ /^_R/) {
        gsub(/Cs[0-9A-Za-z]+_/, "C", symbol)
        gsub(/B[0-9A-Za-z]*_/, "B_", symbol)
    }
    return symbol
}
