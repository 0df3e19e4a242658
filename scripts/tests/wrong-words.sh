#!/usr/bin/env bash
# Usage: scripts/tests/wrong-words.sh
# Wrong targets and parameters of make and of the scripts are answered with one sentence that says what is allowed, and exit code 2.
set -uo pipefail
cd "$(dirname "$0")/../.."
failed=0

# refused WORDS COMMAND...: the command exits with 2 within seconds, its last line (before make's) contains WORDS.
refused() {
    local words=$1 said code=0
    shift
    said=$(timeout 60 "$@" 2>&1 </dev/null) || code=$?
    said=$(grep -v '^make' <<<"$said" | tail -n 1)
    case $said in *"$words"*) [ $code = 2 ] && return ;; esac
    echo "wrong-words: $* exits with $code and says: $said"
    failed=1
}

refused "allowed are papers relay" .ci/long typo
refused "unknown tool typo" scripts/require.sh typo
refused "allowed are fmt purity" scripts/lint.sh typo
refused "allowed are test and wheel" scripts/python.sh typo
refused "there are agent-cost" scripts/results.py show typo
refused "No such file" scripts/results.py take typo /nonexistent
refused "has no command" scripts/results.py take typo README.md
refused "takes no name" scripts/results.py check typo
refused "there is no page typo.md" scripts/docs.py run typo.md
refused "allowed are ci, long, device" scripts/docs.py list typo
refused "not a valid object name" scripts/lines typo
refused "allowed are wqm" scripts/steady.py typo
refused "unrecognized arguments" scripts/instructions.py --typo
for lint in circles features shapes words surface; do refused "unknown argument typo; allowed are" scripts/lint/$lint.py typo; done
refused "allowed is more than 0" scripts/explore.py --minutes -1
refused "is no file system" env ROOTS=/nonexistent scripts/python.sh wheel
refused "allowed are demo, build" scripts/first-build.sh typo
if cargo --version >/dev/null 2>&1; then
    refused "with fuzz targets are airbound-agent" scripts/fuzz.py typo typo
    refused "it has trace_reading::trace_reading_never_panics" scripts/fuzz.py airbound-sim typo
    refused "allowed is 0" scripts/fuzz.py --seconds -1 airbound-sim typo
    refused "none of x86_64" make static PROCESSORS=typo
fi

# A reason is asked for where a figure rises: in a copy whose figures are 0.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/scripts"
cp -r scripts/lines scripts/lint "$work/scripts"
(cd "$work" && git init -q . && echo '{"code lines": 0, "words": 0}' >scripts/lint/growth.json && echo word >page.md)
refused "name a reason" "$work/scripts/lint/growth.py" --renew
refused "name a reason" "$work/scripts/lint/growth.py" --renew " "

[ $failed = 1 ] || echo "wrong-words: all are refused in one sentence"
exit $failed
