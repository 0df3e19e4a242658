#!/usr/bin/env python3
"""Instructions a packet of the relay and of wireguard-go on the same work, user's and kernel's part, in the laboratory's machine.

  instructions.py [--mbps 50] [--seconds 6] [--airbound FILE] [--relay FILE] [--datagrams FILE] [--wireguard FILE] [--wg FILE]

Two network namespaces with a veth between them, in a machine whose processor takes a nanosecond for each instruction: the CPU time of a
process is its instructions, system calls included. A source in one sends datagrams of 1172 B to a sink in the other, through edge and
client, then through a tunnel between two wireguard-go. The relay authenticates, wireguard-go encrypts.
"""

import argparse
import json
import pathlib
import shutil
import tempfile

import guest

SCRIPT = """
insmod tun.ko
mkdir -p /dev/net /run/netns /var/run/wireguard; [ -e /dev/net/tun ] || mknod /dev/net/tun c 10 200
{ip} netns add a; {ip} netns add b
{ip} link add veth-a netns a type veth peer name veth-b netns b
in_a="{nsenter} --net=/run/netns/a" in_b="{nsenter} --net=/run/netns/b"
$in_a {ip} address add 10.98.0.1/24 dev veth-a; $in_a {ip} link set veth-a up; $in_a {ip} link set lo up
$in_b {ip} address add 10.98.0.2/24 dev veth-b; $in_b {ip} link set veth-b up; $in_b {ip} link set lo up
cpu() {{ cat /proc/$1/task/*/schedstat >$2; }}
carry() {{
  $in_b {datagrams} sink $3 {seconds} 2 >sink-$1.json &
  sink=$!
  sleep 2; cpu $4 $1-first-0; cpu $5 $1-second-0
  wait $sink
  cpu $4 $1-first-1; cpu $5 $1-second-1
}}
offer() {{ $in_a {datagrams} source 0.0.0.0:9000 {mbps} 1172 {longer} >/dev/null & }}

offer
$in_a {relay} edge --listen 10.98.0.1:7000 --to 127.0.0.1:9000 --keys keys --metrics off --start "100 Mbit/s" --least "100 Mbit/s" --journal edge.jsonl &
edge=$!
$in_b {relay} client --edge 10.98.0.1:7000 --listen 127.0.0.1:5500 --keys keys --journal client.jsonl &
client=$!
carry relay a 127.0.0.1:5500 $edge $client
kill $edge $client
wait

{wg} genkey >key-a; {wg} genkey >key-b; chmod 600 key-a key-b
$in_a {wireguard} -f wg-a >wireguard-a.txt 2>&1 &
first=$!
$in_b {wireguard} -f wg-b >wireguard-b.txt 2>&1 &
second=$!
sleep 2
$in_a {wg} set wg-a private-key key-a listen-port 51820 peer $({wg} pubkey <key-b) allowed-ips 10.99.0.0/24
$in_b {wg} set wg-b private-key key-b listen-port 51820 peer $({wg} pubkey <key-a) allowed-ips 10.99.0.0/24 endpoint 10.98.0.1:51820
$in_a {ip} address add 10.99.0.1/24 dev wg-a; $in_a {ip} link set wg-a mtu 1420 up
$in_b {ip} address add 10.99.0.2/24 dev wg-b; $in_b {ip} link set wg-b mtu 1420 up
offer
carry wireguard b 10.99.0.1:9000 $first $second
kill $first $second
echo done >end
"""


def instructions(files, tag):
    sums = [sum(int(line.split()[0]) for line in (files / f"{tag}-{part}").read_text().splitlines()) for part in (0, 1)]
    return sums[1] - sums[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mbps", type=int, default=50)
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--wireguard", default=shutil.which("wireguard-go"))
    parser.add_argument("--wg", default=shutil.which("wg"))
    guest.options(parser)
    args = parser.parse_args()
    if not args.wireguard or not args.wg:
        parser.error("wireguard-go or wg is missing; name them by --wireguard and --wg")
    programs = [str(pathlib.Path(program).resolve()) for program in (args.relay, args.datagrams, args.wireguard, args.wg)]
    relay, datagrams, wireguard, wg = programs
    ip, nsenter = guest.tool("ip"), guest.tool("nsenter")
    with tempfile.TemporaryDirectory() as name:
        fill = {"ip": ip, "nsenter": nsenter, "relay": relay, "datagrams": datagrams, "wireguard": wireguard, "wg": wg, "mbps": args.mbps, "seconds": args.seconds, "longer": args.seconds + 2}
        files = guest.run(args, pathlib.Path(name), SCRIPT.format(**fill), ["tun"], [*programs, ip, nsenter])
        for kind in ("relay", "wireguard"):
            sink = guest.figures(files / f"sink-{kind}.json")
            ends = {end: round(instructions(files, f"{kind}-{end}") / max(1, sink["packets"])) for end in ("first", "second")}
            print(json.dumps({"program": kind, "mbps": sink["mbps"], "lost": sink["lost"], "sender": ends["first"], "receiver": ends["second"], "both": sum(ends.values())}))


if __name__ == "__main__":
    main()
