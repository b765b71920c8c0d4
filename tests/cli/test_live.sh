# fit --live: the page moves, and its button ends the training with a model.
. "$(dirname "$0")/lib.sh"
if anygp serve none.agp 2>&1 | grep -q 'built without libmicrohttpd'; then
    echo "1..0 # skip: built without libmicrohttpd"
    exit 0
fi
anygp simulate --rows 300 --inputs 2 -o train.csv

the_page_moves_and_stops_the_training() {
    "$ANYGP" fit train.csv --model svgp --inducing 16 --iters 100000000 --valid 0.2 --live -o model.agp >out 2>err &
    fit=$!
    until grep -q 'can be watched at' err; do kill -0 $fit || return 1; sleep 0.02; done
    url=$(sed -n 's/.* at \(http:[^ ]*\)$/\1/p' err)
    /usr/bin/python3 - "$url" <<'END' || { kill $fit; wait $fit; return 1; }
import json, sys, time, urllib.error, urllib.request
url = sys.argv[1]
def get(path, **more): return urllib.request.urlopen(urllib.request.Request(url + path, **more), timeout=60).read().decode()
def status(): return json.loads(get("status"))
assert "fetch('/status')" in get("")
while status()["objective"] is None: time.sleep(0.02)
first = status()
while status()["iteration"] <= first["iteration"]: time.sleep(0.02)
while not status()["trace"] or status()["stage"] != "learning": time.sleep(0.02)
while status()["coverage"] is None: time.sleep(0.02)
now = status()
assert 0.5 < now["coverage"] <= 1 and now["mnlp"] is not None and now["trace"][-1]["coverage"] is not None, now
assert now["seconds_left"] > 0 and now["iterations"] == 100000000, now
for headers in {"Host": "evil.example"}, {"Origin": "http://evil.example"}:
    try: get("stop", method="POST", headers=headers)
    except urllib.error.HTTPError as e: assert e.code == 403
    else: raise SystemExit("another site can stop the training")
assert not status()["stopping"]
assert get("stop", method="POST") == "stopping\n"
END
    wait $fit && grep -q 'stopped; wrote the best model so far' out && anygp info model.agp >/dev/null
}
a_port_that_is_none_is_refused() { refuses 'not a port' fit train.csv -o m.agp --live=x; }

check the_page_moves_and_stops_the_training
check a_port_that_is_none_is_refused
finish
