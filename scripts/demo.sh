#!/bin/bash
# A first fit: draws a table from a known Gaussian process, so that the answer can be judged, and learns it back.
set -eu
cd "$(dirname "$0")/.."
export PATH="$PWD/build/release:$PATH"
mkdir -p build/demo
cd build/demo

say() { printf '\n%s\n' "$*"; }
run() { printf '$ %s\n' "$1"; eval "$1"; }

say "1. Data: 1500 rows drawn from a Gaussian process we know; noise variance 0.01, so no rmse can be below 0.1."
run "anygp simulate --rows 1500 --inputs 2 --kernel 'matern52(variance=1,lengthscale=[0.2,0.6])' --noise 0.01 --seed 1 -o all.csv"
run "head -n 1001 all.csv > train.csv"
run "sed '2,1001d' all.csv > test.csv"

say "2. Fit: the last column is the target; length-scales and noise are learnt."
run "anygp fit train.csv -o model.agp"

say "3. What it found; compare the kernel and the noise with those of step 1."
run "anygp info model.agp"

say "4. Predict: mean, variance and 95 % interval for rows it has not seen."
run "anygp predict model.agp test.csv -o predictions.csv"
run "head -n 4 predictions.csv"

say "5. Score: do 95 % of the unseen values lie in their intervals?"
run "anygp eval model.agp test.csv"

cat <<'END'

Next, in build/demo with build/release on the PATH:
  anygp fit YOUR.csv -o your.agp --target COLUMN --valid 0.2    your own table, a fifth held out
  anygp fit train.csv -o m.agp --kernel 'rbf + linear'          another covariance; docs/kernels.md lists them
  anygp predict model.agp test.csv --samples 5                  joint draws of the function
  anygp fit --help                                              options; --help-all shows all
docs/first-model.md goes on from here; make check runs every test.
END
