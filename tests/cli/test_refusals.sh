# Options, names and places that cannot be: one sentence, status 1, nothing left behind.
. "$(dirname "$0")/lib.sh"
anygp simulate --rows 60 --inputs 2 -o train.csv
anygp fit train.csv -q -o good.agp >/dev/null

unknown_option_gets_the_nearest_name() { refuses '--kernl; did you mean --kernel' fit train.csv -o m.agp --kernl rbf; }
unknown_short_option_is_refused() { refuses 'unknown option -z' fit train.csv -o m.agp -z; }
option_of_another_command_is_refused() { refuses '--rows' fit train.csv -o m.agp --rows 3; }
option_without_a_value_is_refused() { refuses '--kernel needs a value' fit train.csv -o m.agp --kernel; }
number_that_is_none_is_refused() { refuses 'iters' fit train.csv -o m.agp --iters many; }
number_out_of_bounds_is_refused() { refuses 'noise' fit train.csv -o m.agp --noise -1; }
choice_that_is_none_is_refused() { refuses 'standardize' fit train.csv -o m.agp --standardize maybe; }
unknown_fix_is_refused() { refuses "'kernle'" fit train.csv -o m.agp --fix kernle; }
help_is_offered_for_what_is_nearly_help() {
    for word in --hlep --hepl --halp; do refuses "unknown option $word; did you mean --help" fit train.csv $word || return 1; done
}
kernel_of() { anygp fit forty.csv -q --iters 1 -o k.agp --kernel "$1" >/dev/null && anygp info k.agp | grep -A1 '  kernel'; }
kernels_are_known_by_the_names_of_other_programs() { # each fit is that of the kernel's own name
    anygp simulate --rows 40 --inputs 2 -o forty.csv || return 1
    local own=(matern32 matern32 matern32 'rbf+white' 'matern12+rbf' 'matern52(variance=2)') i
    local other=(Matern32 'matern(nu=1.5)' 'Matern3/2' ' Gaussian + White' 'matern1/2 + RBF' 'matern(variance=2, nu=2.5)')
    for i in "${!own[@]}"; do
        kernel_of "${own[i]}" >want && kernel_of "${other[i]}" >got && cmp want got || { echo "${other[i]}"; return 1; }
    done
    refuses 'nu can be 0.5, 1.5 or 2.5 at character 11' fit forty.csv -o m.agp --kernel 'matern(nu=2)' && refuses "unknown option 'nu'" fit forty.csv -o m.agp --kernel 'matern32(nu=1.5)' &&
        refuses "unknown kernel 'matern7" fit forty.csv -o m.agp --kernel 'matern7/2'
}
targets_that_cannot_be_numbers_say_why() {
    awk 'BEGIN { print "x,when"; for (i = 0; i < 28; i++) print i ",2024-03-" (i < 9 ? "0" : "") i + 1 }' >when.csv
    awk 'BEGIN { print "x;y"; for (i = 0; i < 40; i++) print i ";" i % 9 + 1 ",1" i % 10 i % 7 }' >comma.csv
    refuses "target column 'when' holds dates or times .'2024-03-01'., which are inputs only; name the column to predict with --target" fit when.csv -o m.agp &&
        refuses "target column 'y' is text: the comma of '1,100' may be a decimal sign or a thousands separator; use --decimal" fit comma.csv -o m.agp
}
lines_before_a_table_are_suspected() {
    printf 'made by, hand\n1,2,3\n4,5,6\n' >preamble.csv
    refuses 'line 2 .*3 cells where 2 are expected.*use --skip or --comment' fit preamble.csv -o m.agp
}
reports_are_pages() {
    refuses 'a report is a page, not a .pdf file: .*a browser prints it to PDF' report good.agp train.csv -o r.pdf && refuses 'not a .PNG file|not a .png file' fit train.csv -o m.agp --report r.PNG
}
unknown_command_is_refused() { refuses "unknown command 'frobnicate'; the commands are" frobnicate && refuses "unknown command 'fitt'; did you mean fit" fitt; }
unknown_model_is_refused() { refuses "no model 'exakt'.*exact" fit train.csv -o m.agp --model exakt; }
kernel_typo_points_at_the_character() { refuses "'matren32' at character 7; did you mean matern32" fit train.csv -o m.agp --kernel 'rbf + matren32'; }
names_in_another_case_are_guessed() {
    refuses "did you mean matern32" fit train.csv -o m.agp --kernel MATTERN32 &&
        refuses "did you mean 'fitc'" fit train.csv -o m.agp --model FITC &&
        refuses "did you mean 'y'" fit train.csv -o m.agp --target Y
}
kernel_bracket_points_at_the_character() { refuses 'at character 5' fit train.csv -o m.agp --kernel 'rbf('; }
kernel_option_typo_points_at_the_character() { refuses 'at character 5' fit train.csv -o m.agp --kernel 'rbf(lenghtscale=1)'; }
kernel_column_that_is_not_there_is_refused() { refuses 'x9' fit train.csv -o m.agp --kernel 'rbf(dims=[x9])'; }
missing_argument_is_refused() { refuses 'argument is missing' predict good.agp; }
argument_too_many_is_refused() { refuses 'one argument too many' info good.agp train.csv; }
fit_without_output_is_refused() { refuses 'Add -o MODEL' fit train.csv; }
output_given_twice_is_refused() { refuses 'given twice' fit train.csv -o m.agp -o n.agp; }
target_that_is_not_there_lists_the_columns() { refuses "no column 'zz'.*x1, x2, y" fit train.csv -o m.agp --target zz; }
target_number_beyond_the_table_is_refused() { refuses 'no column 7' fit train.csv -o m.agp --target 7; }
target_named_twice_is_refused() { refuses 'twice' fit train.csv -o m.agp --target y --target 2; }
target_as_weights_is_refused() { refuses 'both target and weights' fit train.csv -o m.agp --target y --weights y; }
file_that_is_not_there_is_refused() { refuses 'nowhere.csv' fit nowhere.csv -o m.agp; }
directory_as_data_is_refused() { refuses 'is a directory' fit . -o m.agp; }
directory_as_output_is_refused() { refuses 'is a directory' fit train.csv -o .; }
missing_directory_is_refused() { refuses 'nowhere/m.agp cannot be written' fit train.csv -o nowhere/m.agp; }
validation_file_that_is_not_there_is_refused() { refuses 'nowhere.csv' fit train.csv -o m.agp --valid nowhere.csv; }
memory_that_does_not_suffice_names_what_would() { refuses 'needs .* GB .*--model sod --inducing' fit train.csv -o m.agp --model exact --memory 10k; }

two_outputs_to_one_file_are_refused() { refuses 'written twice' fit train.csv -o m.agp --trace m.agp; }
two_spellings_of_one_output_are_refused() { refuses 'written twice' fit train.csv -o m.agp --trace ./m.agp; }
output_onto_the_data_is_refused() { refuses 'both read and written' fit train.csv -o ./train.csv; }
predictions_onto_the_model_are_refused() { refuses 'both read and written' predict good.agp train.csv -o good.agp; }
predictions_onto_the_data_are_refused() { refuses 'both read and written' predict good.agp train.csv -o train.csv; }
a_link_to_the_data_is_the_data() {
    ln -s train.csv link.csv
    refuses 'both read and written' fit train.csv -o link.csv
}

full_disk_refuses_a_model() { refuses '/dev/full cannot be written: No space' fit train.csv -q -o /dev/full; }
full_disk_refuses_predictions() { refuses '/dev/full cannot be written: No space' predict good.agp train.csv -o /dev/full; }
full_disk_refuses_simulated_data() { refuses '/dev/full cannot be written: No space' simulate --rows 5000 -o /dev/full; }
full_disk_behind_standard_output_is_said() {
    anygp predict good.agp train.csv >/dev/full 2>"$said/err"
    [ $? = 1 ] && [ "$(wc -l <"$said/err")" = 1 ] && grep -q '^anygp: standard output cannot be written' "$said/err"
}
disk_that_fills_up_half_way_leaves_the_old_model() {
    cp good.agp old.agp
    (
        ulimit -f 1 # kilobytes in a file, where the model needs more
        trap '' XFSZ
        refuses 'old.agp cannot be written' fit train.csv -q -o old.agp && refuses 'p.csv cannot be written' predict good.agp train.csv -o p.csv
    ) && cmp good.agp old.agp
}
read_only_directory_is_refused() {
    mkdir -p locked && chmod a-w locked
    # Permissions do not bind root; /proc refuses everyone.
    local at=locked
    [ -w locked ] && at=/proc
    refuses "$at/m.agp cannot be written" fit train.csv -o $at/m.agp &&
        refuses "$at/p.csv cannot be written" predict good.agp train.csv -o $at/p.csv
    local status=$?
    chmod u+w locked
    return $status
}
closed_pipe_ends_quietly_or_with_a_sentence() {
    anygp predict good.agp train.csv 2>"$said/err" | head -n 1 >/dev/null
    [ "$(wc -l <"$said/err")" -le 1 ]
}

help_version_and_no_arguments_succeed() {
    anygp --help | grep -q 'anygp fit' && anygp | grep -q 'anygp fit' && anygp fit --help | grep -q -- --kernel &&
        anygp --version | grep -qE '^anygp [0-9.]+$'
}
every_setting_is_in_the_help_of_a_command() {
    local name all
    all=$(for c in fit predict eval simulate; do anygp $c --help-all; done)
    for name in model kernel noise mean prior fix target weights missing standardize jitter restarts iters time valid trace memory seed \
        threads latent samples rows inputs; do
        grep -q -- "--$name" <<<"$all" || { echo "missing: $name"; return 1; }
    done
}

check unknown_option_gets_the_nearest_name
check unknown_short_option_is_refused
check option_of_another_command_is_refused
check option_without_a_value_is_refused
check number_that_is_none_is_refused
check number_out_of_bounds_is_refused
check choice_that_is_none_is_refused
check unknown_fix_is_refused
check help_is_offered_for_what_is_nearly_help
check kernels_are_known_by_the_names_of_other_programs
check targets_that_cannot_be_numbers_say_why
check lines_before_a_table_are_suspected
check reports_are_pages
check unknown_command_is_refused
check unknown_model_is_refused
check kernel_typo_points_at_the_character
check names_in_another_case_are_guessed
check kernel_bracket_points_at_the_character
check kernel_option_typo_points_at_the_character
check kernel_column_that_is_not_there_is_refused
check missing_argument_is_refused
check argument_too_many_is_refused
check fit_without_output_is_refused
check output_given_twice_is_refused
check target_that_is_not_there_lists_the_columns
check target_number_beyond_the_table_is_refused
check target_named_twice_is_refused
check target_as_weights_is_refused
check file_that_is_not_there_is_refused
check directory_as_data_is_refused
check directory_as_output_is_refused
check missing_directory_is_refused
check validation_file_that_is_not_there_is_refused
check memory_that_does_not_suffice_names_what_would
check two_outputs_to_one_file_are_refused
check two_spellings_of_one_output_are_refused
check output_onto_the_data_is_refused
check predictions_onto_the_model_are_refused
check predictions_onto_the_data_are_refused
check a_link_to_the_data_is_the_data
check full_disk_refuses_a_model
check full_disk_refuses_predictions
check full_disk_refuses_simulated_data
check full_disk_behind_standard_output_is_said
check disk_that_fills_up_half_way_leaves_the_old_model
check read_only_directory_is_refused
check closed_pipe_ends_quietly_or_with_a_sentence
check help_version_and_no_arguments_succeed
check every_setting_is_in_the_help_of_a_command
finish
