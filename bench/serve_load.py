"""Load for `anygp serve`: single-row requests over keep-alive connections from several processes.
   serve_load.py PORT INPUTS SECONDS PROCESSES PIPELINED [RATE]      prints requests per second, p50 and p99 in ms
PIPELINED requests are sent before their answers are read; RATE, per second over all, spaces them out."""
import json, multiprocessing, socket, sys, time

def client(port, inputs, seconds, deep, rate, out):
    body = json.dumps({"rows": [[0.5] * inputs], "only": "mean"}).encode()
    one = b"POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    s = socket.create_connection(("127.0.0.1", port))
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    times, done, began, rest = [], 0, time.perf_counter(), b""
    while time.perf_counter() - began < seconds:
        if rate:
            wait = began + done / rate - time.perf_counter()
            if wait > 0: time.sleep(wait)
        sent = time.perf_counter()
        s.sendall(one * deep)
        got = 0
        while got < deep:
            rest += s.recv(1 << 16)
            got += (n := rest.count(b"]]}\n"))
            if n: rest = rest[rest.rindex(b"]]}\n") + 4:]
        times.append(time.perf_counter() - sent)
        done += deep
    out.put((done, time.perf_counter() - began, times))

if __name__ == "__main__":
    port, inputs, seconds, processes, deep = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
    rate = float(sys.argv[6]) / processes if len(sys.argv) > 6 else 0
    out = multiprocessing.Queue()
    all = [multiprocessing.Process(target=client, args=(port, inputs, seconds, deep, rate, out)) for _ in range(processes)]
    for p in all: p.start()
    got = [out.get() for _ in all]
    for p in all: p.join()
    times = sorted(t for g in got for t in g[2])
    print("%.0f requests per second, p50 %.2f ms, p99 %.2f ms" % (sum(g[0] / g[1] for g in got), 1e3 * times[len(times) // 2], 1e3 * times[int(0.99 * len(times))]))
