#!/bin/bash
# anygp serve at M = 512 inducing inputs and 8 inputs: single-row requests per second over keep-alive connections, latencies at half that
# load, processor time per request of the server and of the client (bench/serve_load.c, on the same machine), memory before and after.
#   serve.sh [--own] [--at RATE] [ANYGP] [SECONDS] [THREADS] [CONNECTIONS]     client threads, connections of each
# --own: below each line, the quantiles of the server's own histogram (GET /metrics) over the same requests, and how long its thread
# waited for a processor.  Its p99 beside the client's says on which side slow requests arise.
# --at RATE: means at this many requests per second alone.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
own= at=
while case ${1:-} in --own) own=1 ;; --at) at=$2 && shift ;; *) false ;; esac; do shift; done
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
metrics() { if [ "$own" ]; then curl -s "http://127.0.0.1:$port/metrics" >"$1"; fi; }

own_quantiles() { # of the requests between two answers of /metrics; linear within a bucket, as Prometheus does it
    awk -v seconds="$seconds" '
        /_bucket/ {
            match($0, /"[^"]*"/)
            le = substr($0, RSTART + 1, RLENGTH - 2)
            if (FILENAME == "before") before[le] = $2
            else { edge[++n] = le; count[n] = $2 - before[le] }
        }
        /^anygp_processor_wait_seconds_total/ { waited = $2 - waited }
        function quantile(p, k) {
            for (k = 1; count[k] < p * count[n]; k++);
            if (k == n) return "over " edge[n - 1] * 1e3
            return sprintf("%.2f", 1e3 * (edge[k - 1] + (edge[k] - edge[k - 1]) * (p * count[n] - count[k - 1]) / (count[k] - count[k - 1])))
        }
        END {
            printf "    the server by its own clock: p50 %s ms, p99 %s ms, p99.9 %s ms; its thread waited %.0f ms per second for a processor\n",
                quantile(0.5), quantile(0.99), quantile(0.999), 1e3 * waited / seconds
        }' before after
}

load() { # NAME DEPTH RATE WHAT...: a line, and the figure with which it begins in $full
    local said
    metrics before
    said=$(./serve_load "$port" 8 "$seconds" "$threads" "$connections" "$2" "$3" $server "${@:4}")
    metrics after
    echo "$1$said"
    if [ "$own" ]; then own_quantiles; fi
    full=${said%% *}
}

echo "memory at the start: $(memory)"
if [ "$at" ]; then load "" 1 "$at"; exit; fi
for what in "" --all; do
    echo "${what:-means}"
    load "" 1 0 $what
    load "at half that load: " 1 $((full / 2)) $what
    load "8 requests on the way for each connection: " 8 0 $what
done
echo "memory at the end: $(memory)"
