#!/usr/bin/env python3
"""Send times (SO_TXTIME) of the edge with the laboratory's kernel and its fq: distances of packets, wake-ups, instructions.

  txtime.py [--mbps 20,50,100] [--airbound FILE] [--relay FILE] [--datagrams FILE] [--kernel 6.12] [--cache FOLDER]

On one host of the laboratory, over its loopback device: a source that offers more than the client's fixed rate, the edge, the client, a
sink. Port 5000 belongs to the scenario's own flow. First the edge is asked for send times without fq, which it refuses; then for each
rate without and with them.
"""

import argparse
import json
import pathlib
import tempfile

import guest

SCRIPT = """
ip link set lo up
{relay} edge --listen 127.0.0.1:7000 --to 127.0.0.1:9000 --keys keys --metrics off --txtime lo >refused.txt 2>&1
echo $? >refused-code.txt
insmod sch_fq.ko
{tc} qdisc replace dev lo root fq
for mbps in {rates}; do
  for txtime in "" "--txtime lo"; do
    name=$mbps-${{txtime:+times}}
    {datagrams} source 127.0.0.1:9000 $((mbps + mbps / 5)) 1172 7 >/dev/null &
    source=$!
    {relay} edge --listen 127.0.0.1:7000 --to 127.0.0.1:9000 --keys keys --metrics off --start "$mbps Mbit/s" --least "$mbps Mbit/s" \
      --most "$mbps Mbit/s" --journal edge-$name.jsonl $txtime &
    edge=$!
    {relay} client --edge 127.0.0.1:7000 --listen 127.0.0.1:5500 --keys keys --journal client.jsonl &
    client=$!
    {datagrams} sink 127.0.0.1:5500 6 2 >sink-$name.json &
    sink=$!
    sleep 3
    cat /proc/$edge/schedstat >ns-$name-0; cat /proc/$edge/status >status-$name-0
    sleep 2
    cat /proc/$edge/schedstat >ns-$name-1; cat /proc/$edge/status >status-$name-1
    wait $sink
    kill $client $edge; wait $client $edge $source
  done
done
{tc} -s qdisc show dev lo >end
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mbps", default="20,50,100")
    guest.options(parser)
    args = parser.parse_args()
    relay, datagrams = (str(pathlib.Path(program).resolve()) for program in (args.relay, args.datagrams))
    with tempfile.TemporaryDirectory() as name:
        tc = guest.tool("tc")
        script = SCRIPT.format(relay=relay, datagrams=datagrams, tc=tc, rates=args.mbps.replace(",", " "))
        files = guest.run(args, pathlib.Path(name), script, ["sch_fq"], [relay, datagrams, tc])
        print(json.dumps({"without_fq": (files / "refused.txt").read_text().strip(), "code": int((files / "refused-code.txt").read_text())}))
        for mbps in args.mbps.split(","):
            for times in ("", "times"):
                tag = f"{mbps}-{times}"
                sink = guest.figures(files / f"sink-{tag}.json")
                nanos = [int((files / f"ns-{tag}-{part}").read_text().split()[0]) for part in (0, 1)]
                text = [(files / f"status-{tag}-{part}").read_text() for part in (0, 1)]
                wakes = [int(one.split("\nvoluntary_ctxt_switches:")[1].split()[0]) for one in text]
                row = {"mbps": int(mbps), "txtime": bool(times), "delivered": sink["mbps"], "gap_us": sink["gap_us"]}
                row |= {"wakes_a_second": (wakes[1] - wakes[0]) / 2, "core": round((nanos[1] - nanos[0]) / 2e9, 3)}
                print(json.dumps(row), flush=True)
        print((files / "end").read_text())


if __name__ == "__main__":
    main()
