#!/usr/bin/env python3
"""Datagrams at even intervals: send.py HOST RATE_KBPS SECONDS [--size 1200], from one port to port 5000; prints how many were sent.

Nobody has to listen there: a closed port answers with ICMP, which is switched off by a socket that takes everything: send.py take.
"""

import socket
import sys
import time

PORT = 5000


def take():
    udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    udp.bind(("::", PORT))
    while True:
        udp.recv(2000)


def send(host, kbps, seconds, size=1200):
    udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    udp.connect((host, PORT))
    packet, interval = bytes(size), 8 * size / kbps / 1000
    count = round(seconds / interval)
    begun = time.monotonic()
    for number in range(count):
        if (rest := begun + number * interval - time.monotonic()) > 0:
            time.sleep(rest)
        udp.send(packet)
    print(count)


if __name__ == "__main__":
    take() if sys.argv[1] == "take" else send(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))
