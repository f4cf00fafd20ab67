# Sends commands to mon and mgr for Cluster.MonCommand and MgrCommand.
# stdin: one JSON object a line: {"to": "mon" or "mgr", "command": "..."}.
# stdout: one JSON object a line: {"ret", "status", "size"}, then size bytes.
import json
import sys

import rados

cluster = rados.Rados(conffile=sys.argv[1], name=sys.argv[2], conf={"keyring": sys.argv[3]})
cluster.connect()
out = sys.stdout.buffer
for line in sys.stdin:
    question = json.loads(line)
    send = cluster.mgr_command if question["to"] == "mgr" else cluster.mon_command
    ret, answer, status = send(question["command"], b"")
    head = {"ret": ret, "status": status, "size": len(answer)}
    out.write(json.dumps(head).encode() + b"\n" + answer)
    out.flush()
