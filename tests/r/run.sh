#!/bin/bash
# The R package against the library of a build, installed afresh; all but the first print one line of TAP.
#   run.sh BUILD_DIRECTORY           the tests of the package, as TAP
#   run.sh BUILD_DIRECTORY check     R CMD check, with examples, tests and vignette: no errors, no warnings, no notes but those of the machine
#   run.sh BUILD_DIRECTORY page      the code of docs/r.md, and every call in its table of methods
set -eu
source=$(cd "$(dirname "$0")/../.." && pwd)
build=$source/${1:-build/release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >/dev/null
export PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig
cp -r "$source/r" "$work/anygp" # nothing is left in the source
cd "$work"
rm -f anygp/src/*.o anygp/src/*.so anygp/src/Makevars

one_test() { # NAME COMMAND...
    local name=$1
    shift
    echo 1..1
    if "$@" >said 2>&1; then echo "ok 1 - $name"; else echo "not ok 1 - $name"; tail -n 60 said | sed 's/^/#   /'; exit 1; fi
}

# What the check says beyond OK, by the line it belongs to.  Of the machine: packages that are suggested and not installed, and a clock
# that cannot be compared with the network's.
findings() {
    awk '/^Status/ { next } /^\* checking / { name = $0; sub(/ \.\.\..*/, "", name) } /(^|[ .])(NOTE|WARNING|ERROR)$/ { print $NF ": " name }' "$1" |
        grep -vE '^NOTE: \* checking (package dependencies|for future file timestamps)$'
}
checked() {
    export _R_CHECK_FORCE_SUGGESTS_=false LC_ALL=C.UTF-8 # one that R can check UTF-8 in
    R CMD build anygp && R CMD check --no-manual anygp_*.tar.gz || return 1
    grep -q '^\* DONE' anygp.Rcheck/00check.log && ! findings anygp.Rcheck/00check.log
}
if [ "${2:-}" = check ]; then
    one_test "R CMD check --no-manual" checked
    exit
fi

mkdir library
R CMD INSTALL --no-docs --no-test-load -l library anygp >log 2>&1 || { cat log; exit 1; }
export R_LIBS=$work/library
page() {
    sed -n '/^```r$/,/^```$/p' "$source/docs/r.md" | grep -v '^```' >page.R
    [ -s page.R ] || { echo "docs/r.md has no code"; return 1; }
    cat >>page.R <<'R'
# "# a, b" behind a call of predict names the columns of its result
code <- readLines("page.R")
for (line in grep("^predict\\(.*#", code, value = TRUE))
    stopifnot(identical(colnames(as.data.frame(eval(str2lang(sub(" *#.*", "", line))))), strsplit(sub(".*# *", "", line), ", ")[[1]]))
# The table of methods: of a fit of numbers, of classes where it is about them
set.seed(1)
new <- data.frame(x = c(1, 2), y = c(0, 1))
numbers <- agp(y ~ x, d, model = "vfe", inducing = 20)
classes <- agp(up ~ x, transform(d, up = y > 0), family = binomial(), inducing = 10, iters = 20)
nsim <- 2; seed <- 3
methods <- grep("^\\| `(predict|simulate|update|plot|summary|logLik|agp_save|coef)", code_of_page, value = TRUE)
calls <- unlist(lapply(strsplit(methods, "|", fixed = TRUE), function(cells) regmatches(cells[2], gregexpr("`[^`]+`", cells[2]))[[1]]))
calls <- sub("probs = ...", "probs = c(0.1, 0.9)", gsub("`", "", calls), fixed = TRUE)
stopifnot(length(calls) >= 13)
for (call in calls) {
    fit <- if (grepl('"prob"', call)) classes else if (grepl("logLik", call)) agp(y ~ x, d, model = "exact") else numbers
    cat(call, "\n")
    result <- eval(str2lang(call))
    stopifnot(!grepl("^(predict|simulate|coef|logLik)", call) || all(is.finite(unlist(result))))
}
R
    { echo 'options(warn = 2); pdf(NULL)'; echo "code_of_page <- readLines('$source/docs/r.md')"; cat page.R; } >whole.R
    Rscript --vanilla whole.R
}
if [ "${2:-}" = page ]; then
    one_test "code of docs/r.md" page
    exit
fi
cd anygp/tests
Rscript --vanilla -e 'library(testthat); library(anygp); test_dir("testthat", reporter = "tap", package = "anygp", load_package = "none", stop_on_failure = TRUE)'
