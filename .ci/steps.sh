# Steps of continuous integration: sourced by .ci/run and .ci/long.
#
#   step NAME COMMAND...          runs a command; its output appears as it comes; ends the run if it fails
#   at-once 'NAME: COMMAND' ...   runs lanes side by side, each a list of steps one after another (separated by lines); output of a step
#                                 appears when it ends. All lanes end before a failure does.
#   table                         prints the steps with their seconds
#
# A step that is skipped says SKIPPED in its output, and the table repeats it.

# Where scripts/require.sh had to set one up.
export PATH=$PWD/.toolchain/bin:$PATH
export CARGO_TERM_COLOR=never
# Nothing is built twice here, and incremental builds write more.
export CARGO_INCREMENTAL=0
export LOCKED=--locked
# CI decides about a change, so properties see the same cases each time; `make explore` and each `make test` elsewhere draw new ones.
export PROPTEST_RNG_SEED=2611
export BOLERO_RANDOM_SEED=2611

STEPS=$(mktemp -d)
trap 'rm -rf "$STEPS"' EXIT

# Notes seconds, verdict and name of a step.
note() { printf '%5d s  %-6s  %s\n' "$1" "$2" "$3" >>"$STEPS/table"; }

verdict() {
    if [ "$1" != 0 ]; then echo FAILED; elif grep -qE '^(SKIPPED|UNFINISHED)' "$2" 2>/dev/null; then echo ok, -; else echo ok; fi
}

step() {
    local name=$1 began=$SECONDS result=0
    shift
    printf '\n== %s (after %d s)\n' "$name" "$SECONDS"
    "$@" 2>&1 | tee "$STEPS/now" || result=$?
    note $((SECONDS - began)) "$(verdict $result "$STEPS/now")" "$name"
    [ $result = 0 ] || { table; exit 1; }
}

lane() {
    # BASHPID is that of the lane here, and another in what it starts.
    local line name began result failed=0 out=$STEPS/$BASHPID
    while IFS= read -r line; do
        line=${line#"${line%%[![:space:]]*}"}
        [ -n "$line" ] || continue
        name=${line%%: *}
        began=$SECONDS result=0
        bash -euo pipefail -c "${line#*: }" >"$out" 2>&1 </dev/null || result=$?
        note $((SECONDS - began)) "$(verdict $result "$out")" "$name"
        printf '\n== %s (%d s)\n%s\n' "$name" $((SECONDS - began)) "$(cat "$out")"
        [ $result = 0 ] || failed=1
    done <<<"$1"
    return $failed
}

at-once() {
    local one pids=() failed=0
    printf '\n== side by side (after %d s)\n' "$SECONDS"
    for one in "$@"; do
        lane "$one" &
        pids+=($!)
    done
    for one in "${pids[@]}"; do wait "$one" || failed=1; done
    [ $failed = 0 ] || { table; exit 1; }
}

table() {
    printf '\n== steps (ok, -: a part was skipped, see above)\n'
    cat "$STEPS/table"
    printf '%5d s  all\n' "$SECONDS"
}
