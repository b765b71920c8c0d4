#!/bin/bash
# The include rule: a folder of src includes only from itself and from folders before it in this list.
# A library that only one folder may use is named below; cli and examples see the public header alone.
set -u
cd "$(dirname "$0")/.."
order=(base comm linalg tape data kernel inducing likelihood params gauss model run predict gp draw report io export api)
broken=0

complain() { # FILE:INCLUDE lines on standard input, the reason as argument
    while IFS= read -r line; do
        echo "${line%%:*}: ${line#*:} ($1)"
        broken=1
    done
}

includes() { # what is included, as FILE:NAME, from the files under $1 that match the pattern $2
    grep -rHoE --include='*.[ch]' "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]($2)" "$1" 2>/dev/null |
        sed -E 's/:[^<"]*[<"]/:/'
}

before="anygp"
for folder in "${order[@]}"; do
    before="$before|$folder"
    complain "$folder includes only from: ${before//|/ }" < <(
        includes "src/$folder" '[a-z_]+/' | grep -vE ":($before)/" | grep -E ":(anygp|$(IFS='|'; echo "${order[*]}"))/")
done
complain "headers are named by their folder" < <(includes src '\.\.?/')
for folder in src/*/; do
    [[ " ${order[*]} " == *" $(basename "$folder") "* ]] || complain "a folder without a place in the order" <<<"$folder:"
done

only() { # FOLDER HEADER: no other folder includes it
    complain "only src/$1 may use it" < <(
        for place in src include cli examples; do includes $place "$2"; done | grep -v "^src/$1/")
}
only linalg 'cblas.*\.h|lapacke?.*\.h'
only comm 'mpi\.h'
only data 'hdf5\.h|H5.*\.h'

for place in cli examples; do
    complain "the public header only" < <(includes $place '[a-z_]+/[a-z_0-9]+\.h' | grep -vE ':(anygp/anygp|(sys|arpa|netinet)/[a-z]+)\.h')
done
exit $broken
