# Reads the output of nm, and prints the place in the list and the symbol of each function that the
# list has.
BEGIN {
    while ((getline name < list) > 0)
        if (name !~ /^#/ && !(name in place))
            place[name] = ++places
}
NF == 3 && $2 ~ /^[tTwW]$/ {
    name = name_in_list($3)
    if (name in place && !($3 in printed)) {
        printed[$3] = 1
        print place[name], $3
    }
}
