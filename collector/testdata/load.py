"""Does a known number of client operations and says how many.

usage: load.py CONF POOL SECONDS THREADS FILL SIZE MIX
FILL objects are written where it is not 0 (and nothing else is done). SIZE is
that of each operation in bytes; MIX is "mixed" or "reads".
Prints {"read": n, "write": n, "rw": n}: operations that succeeded.
"""
import json
import sys
import threading
import time

import rados

conf, pool, seconds, threads, fill = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
size, mixed = int(sys.argv[6]), sys.argv[7] == "mixed"
cluster = rados.Rados(conffile=conf, name="client.admin")
cluster.connect()
io = cluster.open_ioctx(pool)
body = b"x" * size
done = {"read": 0, "write": 0, "rw": 0}
lock = threading.Lock()
end = time.time() + seconds


def work(me):
    mine = {"read": 0, "write": 0, "rw": 0}
    if fill:
        for i in range(me, fill, threads):
            io.write_full("object-%d" % i, body)
            mine["write"] += 1
    i = me
    while not fill and time.time() < end:
        name = "object-%d" % (i * 7919 % 500)
        io.read(name, size)
        mine["read"] += 1
        if mixed and i % 4 == 0:
            io.write_full("own-%d-%d" % (me, i), body)
            mine["write"] += 1
        if mixed and i % 40 == 0:
            # A class method that both reads and writes.
            io.lock_exclusive("lock-%d" % me, "l", str(i))
            io.unlock("lock-%d" % me, "l", str(i))
            mine["rw"] += 2
        i += 1
    with lock:
        for op, n in mine.items():
            done[op] += n


workers = [threading.Thread(target=work, args=(n,)) for n in range(threads)]
for w in workers:
    w.start()
for w in workers:
    w.join()
print(json.dumps(done))
