# The state of a model with very many weights: on disk where the memory is too small.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 300 --inputs 2 -o train.csv
large=(--inducing 20000 --batch 50 --iters 6 --fix all --valid 0 --threads 1)

same_on_disk() { # MEMORY MODEL
    anygp fit train.csv -o memory.agp --model "$2" "${large[@]}" >/dev/null 2>memory.txt &&
        anygp fit train.csv -o disk.agp --model "$2" "${large[@]}" --memory "$1" >/dev/null 2>disk.txt || { cat disk.txt; return 1; }
    anygp predict memory.agp train.csv >memory.csv && anygp predict disk.agp train.csv | cmp - memory.csv || return 1
    grep -q 'on disk' memory.txt && return 1
    grep -c '^anygp: the state of qsgp.* GB, is on disk, in scratch files in /.*: --memory allows ' disk.txt | grep -qx 1 || { cat disk.txt; return 1; }
}
on_disk_it_is_the_same_model_to_the_bit() {
    same_on_disk 900k 'qsgp(batch=200)' && same_on_disk 900k 'qsgp(batch=200,steps=adagrad)' && same_on_disk 2600k 'qsgp(dense=1)' && same_on_disk 125k 'qsgp(basis=kernel)'
}
a_full_disk_is_a_sentence() { ( ulimit -f 100; refuses 'the weights: a scratch file of .* cannot be made in .*; name a directory on a larger disk in TMPDIR' fit train.csv -o x.agp --model 'qsgp(batch=200)' "${large[@]}" --memory 900k -q ) }
a_directory_that_is_not_there_is_a_sentence() { TMPDIR=$work/none refuses 'cannot be made in .*/none: No such file' fit train.csv -o x.agp --model 'qsgp(batch=200)' "${large[@]}" --memory 900k -q; }
what_a_step_itself_takes_is_refused_with_advice_for_this_model() {
    refuses 'the qsgp\(batch=10000\) model of 300 rows needs .* besides what can be on disk and --memory allows 0.0006 GB; give it more, or smaller samples: --batch, and batch in --model' fit train.csv -o x.agp --model 'qsgp(batch=10000)' "${large[@]}" --memory 600k
}

check on_disk_it_is_the_same_model_to_the_bit
check a_full_disk_is_a_sentence
check a_directory_that_is_not_there_is_a_sentence
check what_a_step_itself_takes_is_refused_with_advice_for_this_model
finish
