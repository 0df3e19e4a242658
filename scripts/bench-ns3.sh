#!/usr/bin/env bash
# Runs ns-3 and Airbound on the same scenario side by side, where ns-3 is installed. NS3=0 leaves it out.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${NS3:-1}" = 0 ]; then
    echo "ns-3: left out (NS3=0)"
elif [ ! -x studies/ns3/speed ]; then
    echo "ns-3: studies/ns3/speed is not part of this tree yet"
elif ! compgen -G '/usr/include/ns3*/ns3/core-module.h' >/dev/null; then
    echo "ns-3: not installed, so nothing to compare with; to get it: sudo apt-get install g++ libns3-dev"
else
    studies/ns3/speed
fi
