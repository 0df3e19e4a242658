#!/usr/bin/env bash
# Usage: scripts/tests/units.sh
# Checks the units of systemd as packaging/check.sh does, and that it finds a copy of the keys in a folder of the unit's user. Takes a second.
set -euo pipefail
cd "$(dirname "$0")/../.."
packaging/check.sh packaging/systemd/*.service
[ "$(id -u)" = 0 ] || exit 0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed 's#%t/airbound-relay-keys#%L/airbound-relay#g' packaging/systemd/airbound-relay.service >"$work/airbound-relay.service"
if packaging/check.sh "$work/airbound-relay.service" 2>"$work/said" || ! grep -q 'writes through a link' "$work/said"; then
    echo "units: a unit whose root writes through a link of its user is not refused:"
    cat "$work/said"
    exit 1
fi
