"""Hostile requests to `anygp serve`: bodies and heads made from fuzz/corpus/serve by the mutations that a fuzzer makes, connections
that break off or say nothing, for some seconds.  The server has to stay alive, answer every whole request with a status, predict the
same numbers as before, and keep its memory.  Only 127.0.0.1 is contacted.
   serve_hostile.py PORT PID CORPUS SECONDS [SEED]     prints requests, statuses and memory; exit status 1: something was wrong
For a server with the address sanitizer, start it with ASAN_OPTIONS=quarantine_size_mb=1: freed memory is kept back otherwise, and looks like growth."""
import glob, json, os, random, socket, sys, time

port, pid, corpus, seconds = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4])
random.seed(int(sys.argv[5]) if len(sys.argv) > 5 else 1)
WORDS = [b"1e999", b"-0", b"NaN", b"null", b"\\u0000", b"[[", b"]]", b'"rows"', b'"only"', b"{}", b"\x00", b"\xff\xfe", b"9" * 400,
         b"[" * 3000, b"Content-Length: 99999999999\r\n", b"Transfer-Encoding: chunked\r\n", b"\r\n\r\n", b"../../etc/passwd", b"%00"]
GROWTH_MOST = 8 << 20

# ------------------------------------------------------------------------------------------- mutations

def mutate(b, others):
    b = bytearray(b)
    for _ in range(random.choice((0, 1, 1, 2, 4, 8))):
        i, n = random.randrange(len(b) + 1), random.randrange(1, 33)
        how = random.randrange(8)
        if how == 0: del b[i:i + n]                                            # erase
        elif how == 1: b[i:i] = bytes(random.randrange(256) for _ in range(n)) # insert
        elif how == 2 and b: b[i % len(b)] ^= 1 << random.randrange(8)         # change a bit
        elif how == 3 and b: b[i % len(b)] = random.randrange(256)             # change a byte
        elif how == 4: b[i:i] = b[:n] * random.randrange(1, 20)                # repeat
        elif how == 5: b[i:i] = random.choice(WORDS)                           # a word of the trade
        elif how == 6: b[i:] = random.choice(others)[i:]                       # cross over
        elif how == 7: part = b[i:i + n]; random.shuffle(part); b[i:i + n] = part
    return bytes(b[:200000])

def head(path, size, more=b""): return b"POST %s HTTP/1.1\r\nHost: localhost\r\n%sContent-Length: %d\r\n\r\n" % (path, more, size)

def whole(bodies):                     # a request that is well formed as HTTP, with a body that may be anything
    body = mutate(random.choice(bodies), bodies)
    more = random.choice((b"", b"", b"Content-Type: text/csv\r\n", b"Accept: text/csv\r\n"))
    return head(random.choice((b"/predict", b"/predict", b"/update", b"/none")), len(body), more) + body

# ---------------------------------------------------------------------------------------------- clients

def connect():
    s = socket.create_connection(("127.0.0.1", port), timeout=60)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s

def answer(s):                         # its status, and its body; None: the connection was closed
    data = b""
    while b"\r\n\r\n" not in data:
        more = s.recv(65536)
        if not more: return None, b""
        data += more
    top, _, body = data.partition(b"\r\n\r\n")
    size = next((int(l[15:]) for l in top.split(b"\r\n") if l.lower().startswith(b"content-length:")), 0)
    while len(body) < size:
        more = s.recv(65536)
        if not more: return None, b""
        body += more
    return int(top.split(b" ")[1]), body

def memory(): return next(int(l.split()[1]) << 10 for l in open("/proc/%d/status" % pid) if l.startswith("VmRSS"))

def predict():
    s = connect()
    body = b"[[0.25, 0.5]]"
    s.sendall(head(b"/predict", len(body)) + body)
    status, text = answer(s)
    s.close()
    if status != 200: raise SystemExit("a plain request got %s" % status)
    return json.loads(text)["rows"]

bodies = [open(p, "rb").read()[1:] for p in sorted(glob.glob(corpus + "/*"))] + [b"[[0.25, 0.5]]", b'{"rows": [[1, 2], [3, 4]], "only": "mean"}', b"x1,x2\n1,2\n"]
before, began, count, statuses, at_first = predict(), time.time(), 0, {}, None
kept = connect()
while time.time() - began < seconds:
    how = random.random()
    if how < 0.7:                      # over one connection, as long as it lasts
        try:
            kept.sendall(whole(bodies))
            status, _ = answer(kept)
        except (ConnectionError, BrokenPipeError): status = None
        statuses[status] = statuses.get(status, 0) + 1
        if status is None or status in (413, 503): kept.close(); kept = connect()
    elif how < 0.85:                   # bytes that need not be HTTP, and no wait for an answer
        s = connect()
        try: s.sendall(mutate(whole(bodies), bodies))
        except (ConnectionError, BrokenPipeError): pass
        s.close()
    elif how < 0.97:                   # half a request, and gone
        s, request = connect(), whole(bodies)
        s.sendall(request[:random.randrange(len(request))])
        s.close()
    else:                              # a few requests at once
        s = connect()
        try: s.sendall(b"".join(whole(bodies) for _ in range(5)))
        except (ConnectionError, BrokenPipeError): pass
        s.close()
    count += 1
    if at_first is None and time.time() - began > min(60, seconds / 4): at_first = memory()
kept.close()
time.sleep(0.5)
grown = memory() - at_first
print("%d requests in %.0f s, answers %s; memory %.1f MB after a while, %.1f MB at the end" %
      (count, time.time() - began, {str(k): v for k, v in sorted(statuses.items(), key=str)}, at_first / 2 ** 20, (at_first + grown) / 2 ** 20))
wrong = [k for k in statuses if k is not None and not (k == 200 or 400 <= k < 500 or k == 503)]
if wrong: raise SystemExit("answers with status %s" % wrong)
if predict() != before: raise SystemExit("the predictions changed")
if grown > GROWTH_MOST: raise SystemExit("memory grew by %.1f MB" % (grown / 2 ** 20))
