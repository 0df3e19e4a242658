#!/usr/bin/env bash
# Compares ns-3 and Airbound on the same scenario if ns-3 is installed. NS3=0 skips it.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "${NS3:-1}" = 0 ]; then
    echo "ns-3: skipped (NS3=0)"
elif [ ! -x studies/ns3/speed ]; then
    echo "ns-3: studies/ns3/speed is not part of this tree yet"
elif ! compgen -G '/usr/include/ns3*/ns3/core-module.h' >/dev/null; then
    echo "ns-3: skipped, not installed; sudo apt-get install g++ libns3-dev"
else
    studies/ns3/speed
fi
