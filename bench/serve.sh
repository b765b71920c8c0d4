#!/bin/bash
# anygp serve at M = 512 inducing inputs and 8 inputs: single-row requests per second over keep-alive connections, latencies at half that
# load, processor time per request of the server and of the client (bench/serve_load.c, on the same machine), memory before and after.
#   serve.sh [ANYGP] [SECONDS] [THREADS] [CONNECTIONS]     client threads, connections of each
set -eu
here=$(cd "$(dirname "$0")" && pwd)
anygp=$(realpath "${1:-$here/../build/release/anygp}") seconds=${2:-10} threads=${3:-1} connections=${4:-64}
work=$(mktemp -d)
cd "$work"
${CC:-cc} -O2 -o serve_load "$here/serve_load.c" -lpthread
"$anygp" simulate --rows 4000 --inputs 8 --kernel 'rbf(lengthscale=1)' -o train.npy
"$anygp" fit train.npy -q --model vfe --inducing 512 --kernel 'rbf(lengthscale=1)' --noise 0.01 --fix all --valid 0 -o model.agp >/dev/null
"$anygp" serve model.agp --port 0 >says &
server=$!
trap 'kill $server; wait $server; rm -rf "$work"' EXIT
until grep -q serving says; do sleep 0.1; done
port=$(sed -n 's/.*:\([0-9]*\)\/$/\1/p' says)
memory() { awk '/VmRSS/ { print $2 / 1024 " MB" }' /proc/$server/status; }
echo "memory at the start: $(memory)"
for what in "" --all; do
    echo "${what:-means}"
    full=$(./serve_load "$port" 8 "$seconds" "$threads" "$connections" 1 0 $server $what)
    echo "$full"
    echo "at half that load: $(./serve_load "$port" 8 "$seconds" "$threads" "$connections" 1 $((${full%% *} / 2)) $server $what)"
    echo "8 requests on the way for each connection: $(./serve_load "$port" 8 "$seconds" "$threads" "$connections" 8 0 $server $what)"
done
echo "memory at the end: $(memory)"
