# One table in every format gives one model.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 60 --inputs 2 -o train.csv
fixed=(--kernel 'rbf(variance=1,lengthscale=0.7)' --noise 0.1 --fix all)
sed 1d train.csv >bare.csv
anygp fit bare.csv -q "${fixed[@]}" -o bare.agp >/dev/null
anygp predict bare.agp bare.csv >expected.csv

same_model() { # DATA OPTIONS...: fitting and predicting from it gives the predictions from the plain table
    anygp fit "$1" -q "${fixed[@]}" -o same.agp "${@:2}" >/dev/null && anygp predict same.agp "$1" "${@:2}" >got.csv && close got.csv expected.csv 1e-12
}

header_or_not_is_found_out() { same_model train.csv && same_model bare.csv; }
header_can_be_forced() {
    printf '1,2\n3,4\n5,7\n' >digits.csv
    anygp fit digits.csv -q --header yes -o h.agp --json | grep -q '"rows": 2' && anygp fit digits.csv -q --header no -o h.agp --json | grep -q '"rows": 3'
}
tabs_separate_too() { tr , '\t' <train.csv >train.tsv && same_model train.tsv; }
semicolons_separate_too() { tr , ';' <train.csv >semi.csv && same_model semi.csv; }
carriage_returns_are_dropped() { sed 's/$/\r/' train.csv >crlf.csv && same_model crlf.csv; }
last_line_may_lack_its_end() { head -c -1 train.csv >cut.csv && same_model cut.csv; }
gzip_is_read() { gzip -c train.csv >train.csv.gz && same_model train.csv.gz; }
cut_gzip_is_refused() {
    head -c 300 train.csv.gz >cut.csv.gz
    refuses 'cut.csv.gz' fit cut.csv.gz -o m.agp
}
standard_input_is_read() {
    anygp fit - -q "${fixed[@]}" -o same.agp <train.csv >/dev/null && anygp predict same.agp - <train.csv >got.csv && close got.csv expected.csv 1e-12
}
gzip_on_standard_input_is_read() { anygp fit - -q "${fixed[@]}" -o same.agp <train.csv.gz >/dev/null && anygp predict same.agp - <train.csv.gz >got.csv && close got.csv expected.csv 1e-12; }
standard_input_predicts_at_once() { head -n 2 train.csv | anygp predict same.agp - | close - <(head -n 2 expected.csv) 1e-12; }
npy_is_written_and_read() {
    anygp simulate --rows 60 --inputs 2 -o train.npy && same_model train.npy
}
npy_predictions_equal_text_ones() {
    anygp predict bare.agp train.npy -o p.npy && [ "$(head -c 6 p.npy | tail -c 5)" = NUMPY ] && [ "$(stat -c %s p.npy)" -ge $((60 * 4 * 8)) ]
}
cut_npy_is_refused() {
    head -c 500 train.npy >cut.npy
    refuses 'cut.npy' fit cut.npy -o m.agp
}
hdf5_that_is_none_is_refused() {
    cp train.csv fake.h5
    refuses 'fake.h5' fit fake.h5 -o m.agp
}
libsvm_is_read() {
    awk -F, '{ print $3 " 1:" $1 " 2:" $2 }' bare.csv >train.libsvm
    same_model train.libsvm
}
wrong_libsvm_is_refused() {
    printf '1 1:2 x:3\n' >wrong.libsvm
    refuses 'wrong.libsvm' fit wrong.libsvm -o m.agp
}
predictions_to_a_file_and_to_standard_output_agree() { anygp predict bare.agp bare.csv -o p.csv && cmp p.csv expected.csv; }
predictions_can_be_tab_separated() { anygp predict bare.agp bare.csv -o p.tsv && tr '\t' , <p.tsv | cmp - expected.csv; }

check header_or_not_is_found_out
check header_can_be_forced
check tabs_separate_too
check semicolons_separate_too
check carriage_returns_are_dropped
check last_line_may_lack_its_end
check gzip_is_read
check cut_gzip_is_refused
check standard_input_is_read
check gzip_on_standard_input_is_read
check standard_input_predicts_at_once
check npy_is_written_and_read
check npy_predictions_equal_text_ones
check cut_npy_is_refused
check hdf5_that_is_none_is_refused
check libsvm_is_read
check wrong_libsvm_is_refused
check predictions_to_a_file_and_to_standard_output_agree
check predictions_can_be_tab_separated
finish
