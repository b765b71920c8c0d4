# A table keeps its numbers, and where it can its names, from format to format.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 300 --inputs 3 -o train.csv
printf 'size,"the, colour",y\n1,red,2.5\n,"a ""b""",3\n3.25,,4\n4,red,nan\n' >mixed.csv

there_and_back() { # PATH: to it and back to CSV gives the same bytes
    anygp convert train.csv "$1" && anygp convert "$1" back.csv && cmp back.csv train.csv
}

hdf5_keeps_numbers_and_names() { there_and_back t.h5; }
tsv_keeps_numbers_and_names() { there_and_back t.tsv && [ "$(head -n 1 t.tsv | tr '\t' ,)" = "$(head -n 1 train.csv)" ]; }
packed_tables_keep_numbers_and_names() { there_and_back t.csv.gz && gzip -t t.csv.gz && there_and_back t.tsv.gz; }
many_names_fit_into_hdf5() {
    awk 'BEGIN { for (r = 0; r < 3; r++) for (j = 1; j <= 6000; j++) printf "%s%s", r ? r * j : "column" j, j < 6000 ? "," : "\n" }' >wide.csv
    anygp convert wide.csv wide.h5 && anygp convert wide.h5 back.csv && cmp back.csv wide.csv
}
npy_keeps_numbers() { anygp convert train.csv t.npy && anygp convert t.npy back.csv && cmp back.csv <(sed 1d train.csv); }
chains_of_formats_keep_numbers() {
    anygp convert train.csv a.npy && anygp convert a.npy b.h5 && anygp convert b.h5 c.npy && cmp a.npy c.npy
}
standard_streams_work() { anygp convert - - <train.csv | cmp - train.csv && anygp convert - s.h5 <train.csv && anygp convert s.h5 - | cmp - train.csv; }
models_from_both_are_the_same() {
    anygp convert train.csv t.h5
    anygp fit train.csv -q --iters 3 -o a.agp >/dev/null && anygp fit t.h5 -q --iters 3 -o b.agp >/dev/null &&
        anygp predict a.agp train.csv >a.csv && anygp predict b.agp t.h5 >b.csv && cmp a.csv b.csv
}
missing_numbers_stay_missing() {
    printf '1,2\n,3\nNA,4\n' >gaps.csv
    anygp convert gaps.csv gaps.npy && anygp convert gaps.npy back.csv && cmp back.csv <(printf '1,2\nnan,3\nnan,4\n')
}
texts_go_from_text_to_text() {
    anygp convert mixed.csv m.tsv && anygp convert m.tsv back.csv &&
        cmp back.csv <(printf 'size,"the, colour",y\n1,red,2.5\nnan,"a ""b""",3\n3.25,nan,4\n4,red,nan\n')
}
long_texts_fit() {
    { printf 'text,y\n'; for i in $(seq 200); do printf '%0*d x,%d\n' $((i * 30)) 7 "$i"; done; } >long.csv
    anygp convert long.csv long.tsv && anygp convert long.tsv back.csv && cmp back.csv <(sed -E 's/^([^,]* x),/"\1",/' long.csv)
}
texts_to_arrays_are_refused() { refuses 'column 1 the, colour is text.*\.npy' convert mixed.csv m.npy && refuses 'is text' convert mixed.csv m.h5; }
header_option_applies() {
    printf '1,2\n3,4\n' >digits.csv
    anygp convert digits.csv d.h5 --header yes && anygp convert d.h5 back.csv && cmp back.csv digits.csv &&
        anygp convert d.h5 d.npy && anygp convert d.npy back.csv && cmp back.csv <(echo 3,4)
}
libsvm_becomes_a_dense_table() {
    printf '1 1:2 3:4\n-1 2:5\n' >t.libsvm
    anygp convert t.libsvm t.npy && anygp convert t.npy - | cmp - <(printf '2,0,4,1\n0,5,0,-1\n')
}
no_file_is_read_and_written() {
    cp train.csv same.csv && ln same.csv linked.csv
    refuses 'both read and written' convert same.csv same.csv && refuses 'both read and written' convert same.csv linked.csv
}
unknown_endings_are_refused() { refuses 'no format that can be written' convert train.csv t.npz && refuses 'no format' convert train.csv t.npy.gz; }
mistakes_leave_no_file() {
    printf '1,2\n3,x\n5,6\n' >bad.csv
    refuses "bad.csv.*'x' is not a number" convert bad.csv bad.h5 && refuses 'nothere.csv' convert nothere.csv t9.h5
    refuses 'directory is missing' convert train.csv none/t.h5
    refuses 'argument is missing' convert train.csv
}
memory_stays_flat() { # the large table is 38 MB of numbers
    [ -x /usr/bin/time ] || return 0
    anygp simulate --rows 1200000 --inputs 3 --features 10 -o large.csv && anygp convert train.csv small.h5 && anygp convert large.csv large.h5 || return 1
    local small large
    small=$(/usr/bin/time -f %M "$ANYGP" convert small.h5 small.npy 2>&1) && large=$(/usr/bin/time -f %M "$ANYGP" convert large.h5 large.npy 2>&1)
    echo "$small and $large kB"
    [ "$(stat -c %s large.npy)" = $((128 + 1200000 * 4 * 8)) ] && [ "$large" -lt $((small + 25000)) ]
}

check hdf5_keeps_numbers_and_names
check tsv_keeps_numbers_and_names
check packed_tables_keep_numbers_and_names
check many_names_fit_into_hdf5
check npy_keeps_numbers
check chains_of_formats_keep_numbers
check standard_streams_work
check models_from_both_are_the_same
check missing_numbers_stay_missing
check texts_go_from_text_to_text
check long_texts_fit
check texts_to_arrays_are_refused
check header_option_applies
check libsvm_becomes_a_dense_table
check no_file_is_read_and_written
check unknown_endings_are_refused
check mistakes_leave_no_file
check memory_stays_flat
finish
