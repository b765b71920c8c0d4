#!/bin/bash
# anygp serve at M = 512 inducing inputs and 8 inputs: requests per second, p99 at half that load, and memory before and after.
#   serve.sh [ANYGP] [SECONDS]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
anygp=${1:-$here/../build/release/anygp} seconds=${2:-10}
work=$(mktemp -d)
cd "$work"
"$anygp" simulate --rows 4000 --inputs 8 --kernel 'rbf(lengthscale=1)' -o train.npy
"$anygp" fit train.npy -q --model vfe --inducing 512 --kernel 'rbf(lengthscale=1)' --noise 0.01 --fix all --valid 0 -o model.agp >/dev/null
"$anygp" serve model.agp --port 0 >says &
server=$!
trap 'kill $server; wait $server; rm -rf "$work"' EXIT
until grep -q serving says; do sleep 0.1; done
port=$(sed -n 's/.*:\([0-9]*\)\/$/\1/p' says)
memory() { awk '/VmRSS/ { print $2 / 1024 " MB" }' /proc/$server/status; }
echo "memory at the start: $(memory)"
echo "32 requests on the way for each of 4 connections: $(python3 "$here/serve_load.py" "$port" 8 "$seconds" 4 32)"
full=$(python3 "$here/serve_load.py" "$port" 8 "$seconds" 4 8 | tee /dev/stderr | cut -d' ' -f1)
echo "at half that load: $(python3 "$here/serve_load.py" "$port" 8 "$seconds" 4 8 $((full / 2)))"
echo "memory at the end: $(memory)"
