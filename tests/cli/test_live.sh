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
    /usr/bin/python3 - "$url" "$said/browser" <<'END' || { kill $fit; wait $fit; return 1; }
import json, re, subprocess, sys, time, urllib.error, urllib.request
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
while len(status()["trace"]) < 20: time.sleep(0.02)
page = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir=" + sys.argv[2],
                       "--virtual-time-budget=2000", "--timeout=60000", "--dump-dom", url], capture_output=True, text=True).stdout
for key in "objective", "rmse", "mnlp", "coverage":
    curve = re.search('aria-label="%s against seconds">(.*?)</figure>' % key, page, re.S).group(1)
    points = [[float(x) for x in p.split(",")] for p in re.search('points="([^"]*)"', curve).group(1).split()]
    assert len(points) > 10 and [p[0] for p in points] == sorted(p[0] for p in points) and 0 <= points[0][0] and points[-1][0] <= 500.001, points
    inside = sorted(y for _, y in points if 0 <= y <= 114)
    # most points are within the frame, and they fill a good part of it: the first steps do not set the scale
    assert len(inside) >= 0.8 * len(points), (key, points)
    assert key != "objective" or inside[-1] - inside[0] > 30, (key, points)
assert get("stop", method="POST") == "stopping\n"
END
    wait $fit && grep -q 'stopped; wrote the best model so far' out && anygp info model.agp >/dev/null
}
a_port_that_is_none_is_refused() { refuses 'not a port' fit train.csv -o m.agp --live=x; }

check the_page_moves_and_stops_the_training
check a_port_that_is_none_is_refused
finish
