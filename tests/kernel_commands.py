# SPDX-License-Identifier: BSD-2-Clause
"""kernel_commands.py COMMAND ...: what kernel_commands.sh needs besides a shell.

    send INTERFACE CAPTURE       sends the frames of a pcap file, in their order, from one processor
    send INTERFACE CAPTURE again ... and again those that the other end had no room for
    reports FILE [FIELD...]      the reports among records, without the fields that must differ and these
    get FILE PATH                a value of the last line of a file: machines.0.states.opening
    fields FILE NAME...          of each machine of a status or of each summary: these objects, without zeros
    now FILE                     every record has a time of the last minute
    marks PORT N                 receives N datagrams, and prints the mark of each
"""

import datetime
import errno
import json
import os
import socket
import struct
import sys
import time

DIFFER = {"timestamp", "in_iface", "pcap_filename", "pcap_cnt", "hook", "processor"}


def frames(capture):
    with open(capture, "rb") as file:
        file.read(24)
        while head := file.read(16):
            yield file.read(struct.unpack("<I", head[8:12])[0])


def send(interface, capture, again=""):
    """One processor keeps them in order; a queue that is full is waited for, at the other end only if it says `again`."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.bind((interface, 0))
    for n, frame in enumerate(frames(capture)):
        while not sends(link, frame) and again:
            time.sleep(0.001)
    print(n + 1)


def sends(link, frame):
    """False: dropped where it leaves, or the other end had no room for it."""
    try:
        return link.send(frame)
    except OSError as error:
        if error.errno != errno.ENOBUFS:
            raise
        return False


def records(name):
    with open(name, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def reports(name, *without):
    for record in records(name):
        if record["event_type"] == "report":
            print(json.dumps({k: v for k, v in record.items() if k not in DIFFER | set(without)}))


def get(name, path):
    value = records(name)[-1]
    for step in path.split("."):
        value = value[int(step) if isinstance(value, list) else step]
    print(value)


def fields(name, *names):
    """Statistics and summaries are one record a machine, a status has all of them."""
    for record in records(name):
        for machine in record.get("machines", [record] if record.get("event_type") != "report" else []):
            for field in names:
                value = machine.get(field)
                if isinstance(value, dict):
                    value = {k: v for k, v in sorted(value.items()) if v}
                print(machine["machine"], field, value)


def now(name):
    latest = datetime.datetime.now(datetime.timezone.utc)
    for record in records(name):
        time = datetime.datetime.fromisoformat(record["timestamp"][:26] + "+00:00")
        if abs((latest - time).total_seconds()) > 60:
            sys.exit(f"{record['timestamp']} is not now, {latest}")


def marks(port, n):
    RECEIVE_MARK = 75  # SO_RCVMARK, Linux 5.19
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, RECEIVE_MARK, 1)
    s.settimeout(10)
    s.bind(("", int(port)))
    print("ready", flush=True)
    for _ in range(int(n)):
        _, beside, _, _ = s.recvmsg(100, 100)
        print(*[struct.unpack("I", value)[0] for level, kind, value in beside if kind == socket.SO_MARK] or [0])


globals()[sys.argv[1]](*sys.argv[2:])
