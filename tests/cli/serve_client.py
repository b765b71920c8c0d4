"""Requests to a running `anygp serve`, for test_serve.sh.   serve_client.py PORT NAME [argument...]"""
import csv, ctypes, http.client, json, os, platform, select, socket, struct, sys, threading, time

port = int(sys.argv[1])

def ask(method, path, body=None, headers={}, c=None):
    own = c is None
    c = c or http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request(method, path, body, headers)
    a = c.getresponse()
    text = a.read().decode()
    if own: c.close()
    return a.status, text

def post(rows, **more):
    status, text = ask("POST", "/predict", json.dumps({"rows": rows, **more}))
    assert status == 200, (status, text)
    return json.loads(text)

def table(path):
    lines = open(path).read().split("\n")[1:-1]
    return [[float(x) for x in line.split(",")] for line in lines]

def alike(a, b):
    assert abs(a - b) <= 1e-12 * (1 + abs(b)), (a, b)

def json_numbers(rows, expected):
    rows, expected = table(rows), table(expected)
    a = post([r[:2] for r in rows])
    assert a["columns"] == ["mean", "variance", "lo95", "hi95"], a["columns"]
    for got, want in zip(a["rows"], expected, strict=True):
        for x, y in zip(got, want, strict=True): alike(x, y)
    b = post([{"x2": r[1], "x1": r[0]} for r in rows], only="mean")
    assert b["columns"] == ["mean"]
    for got, want in zip(b["rows"], expected, strict=True): alike(got[0], want[0])

def csv_numbers(rows, expected):
    body = open(rows).read()
    status, text = ask("POST", "/predict", body, {"Content-Type": "text/csv"})
    assert status == 200 and text == open(expected).read(), (status, text[:300])
    status, text = ask("POST", "/predict", "[[0.5, 0.5]]", {"Accept": "text/csv"})
    assert status == 200 and text.startswith("mean,variance,lo95,hi95\n"), text

def texts(rows, expected):
    """Dates and texts in JSON, which only the reader of tables understands, are answered in JSON, with the values of `anygp predict`."""
    want = list(csv.reader(open(expected)))
    labels = [k for k, name in enumerate(want[0]) if name.endswith("label")]
    cells = [[c if k in labels else None if c == "nan" else float(c) for k, c in enumerate(row)] for row in want[1:]]
    asked = list(csv.DictReader(open(rows)))
    inputs = ["day", "x"]
    a = post([{k: r[k] if k == "day" else float(r[k]) for k in inputs} for r in asked])
    assert a == {"columns": want[0], "rows": cells}, a
    b = post([[r["day"], float(r["x"])] for r in asked])
    assert b == a, b
    body = json.dumps([[r["day"], float(r["x"])] for r in asked])
    assert ask("POST", "/predict", body, {"Accept": "text/csv"}) == (200, open(expected).read())
    status, text = ask("POST", "/predict", open(rows).read(), {"Content-Type": "text/csv", "Accept": "application/json"})
    assert status == 200 and json.loads(text) == a, text
    one = json.dumps({"day": asked[0]["day"], "x": float(asked[0]["x"])})
    c = json.loads(ask("POST", "/predict", one)[1])
    for got, expect in zip(c["rows"][0], cells[0], strict=True): # one row goes another way through BLAS
        if isinstance(expect, float): alike(got, expect)
        else: assert got == expect, (c, cells[0])
    means = [k for k, name in enumerate(want[0]) if name.endswith("mean")]
    body = json.dumps({"rows": [[r["day"], float(r["x"])] for r in asked], "only": "mean"})
    status, text = ask("POST", "/predict", body)
    if labels:
        assert status == 400 and "class" in json.loads(text)["error"], text
        return
    assert json.loads(text) == {"columns": [want[0][k] for k in means], "rows": [[row[k] for k in means] for row in cells]}, text
    status, text = ask("POST", "/predict", body, {"Accept": "text/csv"})
    assert [row.split(",") for row in text.split("\n")[:-1]] == [[row[k] for k in means] for row in want], text

def one_row():
    """An object that is a row is a request."""
    whole = post([[0.3, 0.7]])
    for body in {"x1": 0.3, "x2": 0.7}, {"x2": 0.7, "x1": 0.3}:
        status, text = ask("POST", "/predict", json.dumps(body))
        assert status == 200 and json.loads(text) == whole, text

def malformed():
    for body, hint in [("{", "not JSON"), ("[]", "no rows"), ("{}", "should be a list"), ('{"x1":1}', "lacks"), ('{"x1":1,"x2":2,"only":"mean"}', "no input 'only'"), ('{"rows":{"x1":1,"x2":2}}', "should be a list"), ("[1]", "neither a list"),
                       ("[[1]]", "1 values"), ("[[1,2,3]]", "3 values"), ('[{"x1":1}]', "lacks"), ('[{"x1":1,"x2":2,"q":3}]', "no input 'q'"),
                       ("[[null,1]]", "missing"), ("[[[],1]]", "a number, a text"), ('{"rows":[[1,2]],"only":"sd"}', "only"),
                       ("[[1e999,1]]", "JSON"), ("[" * 5000, "JSON"), ("[" * 50000, "JSON"),
                       (json.dumps([[1, 2]] * 5000 + [[1]]), "row 5001 has 1 values"), ('[["red",1]]', ""), ("", "no body"), ("\x00\xff", "JSON")]:
        status, text = ask("POST", "/predict", body.encode("latin1"))
        assert status == 400 and hint in json.loads(text)["error"], (body[:40], status, text)
    for body, hint in [("x1,x2\n1\n", ""), ("a,b\n1,2\n", ""), ("\x00\x01\x02", ""), ("x1,x2\n", "")]:
        status, text = ask("POST", "/predict", body.encode("latin1"), {"Content-Type": "text/csv"})
        assert status == 400 and "/tmp" not in text and "anygp-serve" not in text, (body, status, text)
        json.loads(text)

def paths():
    for method, path, want in [("GET", "/health", 200), ("GET", "/info", 200), ("GET", "/metrics", 200), ("GET", "/", 200), ("GET", "/inputs", 200),
                               ("GET", "/../../etc/passwd", 404), ("GET", "/predict", 405), ("DELETE", "/predict", 405), ("POST", "/etc/passwd", 404),
                               ("POST", "/update", 403)]:
        status, text = ask(method, path, "x" if method == "POST" else None)
        assert status == want, (method, path, status, text)
    info = json.loads(ask("GET", "/info")[1])
    assert "vfe" in json.dumps(info)
    metrics = ask("GET", "/metrics")[1]
    assert 'anygp_request_seconds_bucket{le="+Inf"}' in metrics and "# TYPE anygp_rows_total counter" in metrics
    assert "fetch(path" in ask("GET", "/")[1]

def other_sites():
    for headers in [{"Host": "evil.example"}, {"Origin": "http://evil.example"}]:
        status, _ = ask("POST", "/predict", "[[0,0]]", headers)
        assert status == 403, (headers, status)
    assert ask("POST", "/predict", "[[0,0]]", {"Origin": "http://127.0.0.1:%d" % port})[0] == 200

def huge():
    status, text = ask("POST", "/predict", None, {"Content-Length": "99999999999"})
    assert status == 413, (status, text)
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
    answer = b""
    try:
        for _ in range(20): s.sendall(b"80000\r\n" + b"1" * 0x80000 + b"\r\n")
        s.sendall(b"0\r\n\r\n")
    except OSError: pass
    try: answer = s.recv(100)
    except OSError: pass
    assert b" 413 " in answer, answer
    status, text = ask("GET", "/health", None, {"X-Long": "a" * 100000})
    assert status in (400, 413, 431), status
    assert ask("GET", "/health")[0] == 200

def slow():
    s = socket.create_connection(("127.0.0.1", port))
    began = time.time()
    try:
        for c in b"POST /predict HTTP/1.1\r\nHost: localhost\r\n" * 20:
            s.sendall(bytes([c]))
            time.sleep(0.05)
        ended = False
    except OSError: ended = True
    if not ended: ended = s.recv(10) == b""
    assert ended and time.time() - began < 30
    assert ask("GET", "/health")[0] == 200

def reload_under_load(first, second, model, other, rows):
    """Every answer is that of one of the two models, and the new one comes."""
    row = table(rows)[0][:2]
    want = [table(first)[0][0], table(second)[0][0]]
    seen, wrong, stop = set(), [], threading.Event()
    def client():
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while not stop.is_set():
            status, text = ask("POST", "/predict", json.dumps([row]), c=c)
            if status != 200: wrong.append(text); return
            got = json.loads(text)["rows"][0][0]
            near = [abs(got - w) < 1e-9 for w in want]
            if sum(near) != 1: wrong.append(got)
            seen.add(near.index(True) if any(near) else -1)
    threads = [threading.Thread(target=client) for _ in range(4)]
    for t in threads: t.start()
    while 0 not in seen and not wrong: time.sleep(0.01)
    os.rename(other, model)
    began = time.time()
    while 1 not in seen and not wrong and time.time() - began < 60: time.sleep(0.01)
    stop.set()
    for t in threads: t.join()
    assert not wrong and 1 in seen, (wrong[:3], seen)

def broken_file_is_left_alone(model):
    before = post([[0.5, 0.5]])
    with open(model + ".new", "w") as f: f.write("not a model")
    os.rename(model + ".new", model)
    time.sleep(0.5)
    assert post([[0.5, 0.5]]) == before

def metrics():
    """Each metric by its name with its label."""
    lines = ask("GET", "/metrics")[1].split("\n")
    return {k: float(v) for k, v in (line.rsplit(" ", 1) for line in lines if line and line[0] != "#")}

def buckets(m):
    """(edge, requests up to it) in the order of the answer."""
    name = 'anygp_request_seconds_bucket{le="'
    return [(float(k[len(name):-2]), v) for k, v in m.items() if k.startswith(name)]

def slower(m, seconds):
    return m["anygp_request_seconds_count"] - dict(buckets(m))[seconds]

def histogram_is_one():
    began, before = time.time(), metrics()
    for _ in range(30): post([[0.5, 0.5]])
    after, took = metrics(), time.time() - began
    b, rise = buckets(after), {k: after[k] - before[k] for k in after}
    assert [e for e, _ in b] == sorted(e for e, _ in b) and b[-1][0] == float("inf") and len(b) > 10, b
    assert [c for _, c in b] == sorted(c for _, c in b) and b[-1][1] == after["anygp_request_seconds_count"] == after["anygp_requests_total"], b
    assert rise["anygp_request_seconds_count"] == 31, rise  # the first look at the metrics is one
    # The sum agrees with the buckets, and with the time that passed here: each request was answered before the next was sent.
    grown = [(e, c - d) for (e, c), (_, d) in zip(b, buckets(before))]
    each = [(e, c - (grown[i - 1][1] if i else 0)) for i, (e, c) in enumerate(grown)]
    least = sum(n * each[i - 1][0] for i, (_, n) in enumerate(each) if i)
    most = sum(n * min(e, took) for e, n in each if n)
    total = rise["anygp_request_seconds_sum"]
    assert least <= total + 1e-6 and total <= most + 1e-6 and 0 < total <= took, (least, total, most, took)
    assert rise["anygp_processor_wait_seconds_total"] >= 0

def time_begins_with_the_first_bytes():
    before = metrics()
    body = b"[[0.5, 0.5]]"
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body))
    time.sleep(0.3)
    s.sendall(body)
    assert b" 200 " in s.recv(1000)
    s.close()
    after = metrics()
    assert slower(after, 0.25) == slower(before, 0.25) + 1, (before, after)

SMALL = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\n[[0.5, 0.5]]"

def connect_and_ask():
    """A connection that the server has answered once."""
    s = socket.create_connection(("127.0.0.1", port))
    s.sendall(SMALL)
    assert b" 200 " in s.recv(1000)
    return s

def send_but_the_last(s, body):
    s.sendall(b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:-1])

def slow_ones_counted(body, count):
    """Of many requests that keep the loop busy, and one that comes meanwhile, how many are counted as slow; and how slow that one is here."""
    many = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
    b = connect_and_ask()
    for a in many: send_but_the_last(a, body)
    time.sleep(0.5)  # all but their last bytes are read
    before = metrics()
    for a in many: a.sendall(body[-1:])
    time.sleep(0.002)  # the loop is at work on them
    began = time.time()
    b.sendall(SMALL)
    assert b" 200 " in b.recv(1000)
    took = time.time() - began
    for a in many: assert b" 400 " in a.recv(1000)
    for a in many + [b]: a.close()
    time.sleep(0.1)
    return slower(metrics(), 0.025) - slower(before, 0.025), took

def time_has_the_wait_for_the_loop():
    """A request that comes while the loop is at work on others is not fast, however soon it is answered once it is read."""
    body = json.dumps([{"x1": 0.5, "x2": 0.5}] * 500 + [{"x1": 0.5}]).encode()  # nothing to predict
    assert len(body) < 16384
    seen = []
    while not seen or seen[-1][0] != 301:  # on a busy machine the last one may come too late
        assert len(seen) < 5, seen
        seen.append(slow_ones_counted(body, 300))

def answered_meanwhile(body, status):
    """Small requests, one after the other, until a large one is answered: how many of them are answered before it, and in how many parts it was predicted."""
    a, b = connect_and_ask(), connect_and_ask()
    before = metrics()["anygp_batches_total"]
    send_but_the_last(a, body)
    time.sleep(0.5)
    a.sendall(body[-1:])
    answered = 0
    while not select.select([a], [], [], 0)[0]:
        b.sendall(SMALL)
        assert b" 200 " in b.recv(1000)
        answered += 1
    assert status in a.recv(1 << 16)
    a.close()
    b.close()
    return answered, metrics()["anygp_batches_total"] - before - answered

def small_ones_pass(body, status, parts):
    """If the large request held the others up, one or two would be answered before it; on a busy machine that can be so by chance, not twelve times."""
    seen = []
    while not seen or seen[-1][0] < 4:
        assert len(seen) < 12, seen
        seen.append(answered_meanwhile(body, status))
    assert seen[-1][1] >= parts, seen

def long_bodies_hold_nobody_up():
    """All of the work is to read it: the last of its rows lacks an input, so that there is nothing to predict."""
    small_ones_pass(json.dumps([{"x1": 0.5, "x2": 0.5}] * 100000 + [{"x1": 0.5}]).encode(), b" 400 ", 0)

def many_rows_hold_nobody_up(): small_ones_pass(json.dumps([[0.5, 0.5]] * 100000).encode(), b" 200 ", 100000 // 8192)

def many_rows_have_their_own_answers():
    """Predicted in parts: each row is where it was asked for, and a row that cannot be is named by its number in the request."""
    rows = [[i / 20000, 1 - i / 20000] for i in range(20000)]
    got = post(rows)["rows"]
    assert len(got) == len(rows)
    for i in [0, 63, 64, 65, 191, 192, 1000, 8191, 8192, 19999]:
        for x, y in zip(got[i], post([rows[i]])["rows"][0], strict=True): assert abs(x - y) <= 1e-9 * (1 + abs(y)), (i, x, y)
    means = post(rows, only="mean")["rows"]
    for x, y in zip(means, got, strict=True): assert abs(x[0] - y[0]) <= 1e-9 * (1 + abs(y[0])), (x, y)
    status, text = ask("POST", "/predict", json.dumps({"rows": rows[:15000] + [[None, 0.5]] + rows[15000:]}))
    assert status == 400 and "15001" in text, (status, text)

def slices_are_short(pid):
    """That of the serving thread is half a millisecond, where the kernel has slices of a thread's own (it tells them then)."""
    number = {"x86_64": 315, "aarch64": 275}.get(platform.machine())
    seen = []
    for tid in os.listdir("/proc/%s/task" % pid) if number else []:
        a = ctypes.create_string_buffer(48)
        if ctypes.CDLL(None).syscall(number, int(tid), a, 48, 0) == 0:
            policy, runtime = struct.unpack_from("I", a, 4)[0], struct.unpack_from("Q", a, 24)[0]
            if policy == 0 and runtime: seen.append(runtime)
    assert not seen or seen.count(500000) == 1, seen

def updates():
    before = post([[0.5, 0.5]])["rows"][0]
    status, text = ask("POST", "/update", json.dumps({"rows": [{"x1": 0.5, "x2": 0.5, "y": before[0] + 5}] * 20}))
    assert status == 200, (status, text)
    after = post([[0.5, 0.5]])["rows"][0]
    assert after[0] > before[0] + 0.5, (before, after)
    status, text = ask("POST", "/update", json.dumps({"x1": 0.5, "x2": 0.5, "y": before[0] + 50}))
    assert status == 200 and post([[0.5, 0.5]])["rows"][0][0] > after[0], text
    after = post([[0.5, 0.5]])["rows"][0]
    status, text = ask("POST", "/update", "x1,x2,y\n0.1,0.1,oops\n", {"Content-Type": "text/csv"})
    assert status == 400, (status, text)
    assert post([[0.5, 0.5]])["rows"][0] == after
    status, text = ask("POST", "/update", "x1,x2,y\n0.5,0.5,9\n", {"Content-Type": "text/csv"})
    assert status == 200, (status, text)

def token(secret):
    assert ask("GET", "/health")[0] == 200
    assert ask("GET", "/info")[0] == 401
    assert ask("POST", "/predict", "[[0,0]]", {"Authorization": "Bearer wrong"})[0] == 401
    assert ask("POST", "/predict", "[[0,0]]", {"Authorization": "Bearer " + secret})[0] == 200

globals()[sys.argv[2]](*sys.argv[3:])
