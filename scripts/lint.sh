#!/usr/bin/env bash
# Usage: scripts/lint.sh [CHECK...]
# Runs the given checks, all by default, and lists those that fail.
# Checks: fmt purity layers size circles words shapes surface results growth features tests scripts clippy doc licences
# INSTALL=1 installs cargo-deny if it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

CARGO=${CARGO:-cargo}
LOCKED=${LOCKED:-}
export CARGO
# Pure crates: no clock, I/O, threads or own randomness.
PURE="units random wifi air traffic senders control sim link"
LONGEST=600

failed=()

fmt() { "$CARGO" fmt --all --check; }

# Clippy refuses the types and functions listed in a pure crate's clippy.toml. This also covers the rest of their modules, and code that
# cfg excludes from clippy.
purity() {
    local crate bad=0 found
    local words='std::(fs|net|thread|process|env|io)\b|(Instant|SystemTime|Utc|Local)::now|\bHash(Map|Set)\b|thread_rng|from_os_rng|getrandom|\btokio\b'
    for crate in $PURE; do
        [ -d "crates/$crate" ] || continue
        if [ ! -f "crates/$crate/clippy.toml" ]; then
            echo "crates/$crate has no clippy.toml; pure crates require that of units"
            bad=1
        elif ! cmp -s "crates/$crate/clippy.toml" crates/units/clippy.toml; then
            echo "crates/$crate/clippy.toml differs from that of units; pure crates require the same"
            bad=1
        fi
        # Comments are exempt.
        found=$(grep -rnE --include='*.rs' "$words" "crates/$crate/src" | grep -vE '^[^:]+:[0-9]+: *//' || true)
        if [ -n "$found" ]; then
            echo "$found"
            echo "crates/$crate is pure: no clock, file, socket, thread, environment, hash map or own randomness"
            bad=1
        fi
    done
    # The protocol of the relay is pure, the rest of its crate is not. `core::net` has addresses.
    found=$(grep -rnE --include='*.rs' "$words" crates/relay/src/protocol | grep -vE '^[^:]+:[0-9]+: *//' || true)
    if [ -n "$found" ]; then
        echo "$found"
        echo "crates/relay/src/protocol is pure: no clock, file, socket, thread, environment, hash map or own randomness"
        bad=1
    fi
    return $bad
}

# The crates of the workspace that each crate may import. Rows of missing crates have no effect.
layers() {
    local bad=0 crate
    imports units "" || bad=1
    imports arguments "" || bad=1
    imports corpus "" || bad=1
    imports random "units" || bad=1
    imports wifi "units" || bad=1
    imports record "units" || bad=1
    imports report "units record" || bad=1
    imports linux "units wifi" || bad=1
    imports air "units random wifi" || bad=1
    imports traffic "units random" || bad=1
    imports formats "units air record" || bad=1
    imports senders "units" || bad=1
    imports capi "units senders" || bad=1
    imports relay "units senders linux arguments" || bad=1
    imports room "units senders arguments" || bad=1
    imports control "units wifi" || bad=1
    imports scenario "units wifi air traffic senders control" || bad=1
    imports sim "units random wifi record air traffic senders control scenario" || bad=1
    imports link "units scenario sim" || bad=1
    imports link-capi "link" || bad=1
    imports agent "units wifi control linux record report" || bad=1
    imports lab "units random wifi air traffic scenario record control" || bad=1
    # captures contain frames of 802.11 (wifi), with identities of control
    imports runs "units random wifi senders control scenario sim record report" || bad=1
    # the language of conditions is the agent's
    imports emulate "units wifi control scenario sim linux agent record runs" || bad=1
    imports console "runs arguments" || bad=1
    imports cli "units record report senders control scenario sim linux agent lab emulate runs console formats" || bad=1
    imports py "units random wifi record report air traffic senders control scenario sim link runs cli" || bad=1
    imports studies "units random wifi record report air traffic senders control scenario sim lab runs console" || bad=1
    # The product contains neither the studies nor their own dependencies.
    for crate in cli py; do
        if "$CARGO" tree --locked --package "airbound-$crate" --edges normal --prefix none | grep -E '^(airbound-studies|clarabel) '; then
            echo "$crate contains a part of the studies"
            bad=1
        fi
    done
    for crate in crates/* studies; do
        [ "$crate" != crates/random ] || continue
        if [ -f "$crate/Cargo.toml" ] && awk '/^\[/ { section = $0 } section ~ /dependencies/ && section !~ /dev-/' "$crate/Cargo.toml" |
            grep -E '^rand'; then
            echo "$crate depends on a random number generator; only crates/random may"
            bad=1
        fi
    done
    return $bad
}

# Whether a crate imports allowed crates only.
imports() {
    local crate=$1 allowed=$2 name manifest bad=0
    manifest=crates/$crate/Cargo.toml
    [ -f "$manifest" ] || manifest=$crate/Cargo.toml
    [ -f "$manifest" ] || return 0
    for name in $(awk '/^\[/ { section = $0 } section ~ /dependencies\]$/ && section !~ /dev-/' "$manifest" |
        sed -n 's/^airbound-\([a-z]*\).*/\1/p'); do
        # `features` has no code.
        case " $allowed features " in
            *" $name "*) ;;
            *)
                echo "${manifest%/*} imports $name; allowed are ${allowed:-none of the workspace}"
                bad=1
                ;;
        esac
    done
    return $bad
}

size() {
    local bad=0 lines file
    while read -r lines file; do
        if [ "$file" != total ] && [ "$lines" -gt "$LONGEST" ]; then
            echo "$file has $lines lines; allowed are $LONGEST"
            bad=1
        fi
    done < <(git ls-files -z --cached --others --exclude-standard -- '*.rs' '*.py' '*.sh' '*.cc' '*.html' |
        xargs -0 -r wc -l)
    return $bad
}

circles() { scripts/lint/circles.py; }

words() { scripts/lint/words.py; }

shapes() { scripts/lint/shapes.py; }

surface() { scripts/lint/surface.py; }

# Figures of README and pages against docs/results/results.json.
results() { scripts/results.py check; }

# Lines of code and words of Markdown against stored figures.
growth() { scripts/lint/growth.py; }

# Each library has the same features, whichever packages a command selects.
features() { scripts/lint/features.py; }

# Every file of a crate without `autotests` is a module of tests/main.rs or a program of its own.
tests() {
    local bad=0 manifest folder file name
    for manifest in $(grep -l '^autotests = false' crates/*/Cargo.toml studies/Cargo.toml); do
        folder=$(dirname "$manifest")/tests
        for file in "$folder"/*.rs; do
            name=$(basename "$file" .rs)
            [ "$name" = main ] && continue
            if ! grep -q "^mod $name;" "$folder/main.rs" && ! grep -q "^name = \"$name\"" "$manifest"; then
                echo "$file never runs: name it in $folder/main.rs"
                bad=1
            fi
        done
    done
    return $bad
}

# The scripts of the workshop: a machine without Rust, wrong words.
scripts() {
    local bad=0 test
    for test in scripts/tests/*.sh; do "$test" || bad=1; done
    return $bad
}

clippy() { "$CARGO" clippy $LOCKED --workspace --all-targets --keep-going -- -D warnings; }

doc() { RUSTDOCFLAGS="-D warnings" "$CARGO" doc $LOCKED --workspace --no-deps --keep-going --quiet; }

licences() {
    if ! "$CARGO" deny --version >/dev/null 2>&1; then
        if [ "${INSTALL:-0}" != 1 ]; then
            echo "SKIPPED: licences and advisories: cargo-deny is not installed (make lint INSTALL=1 installs it in some minutes)"
            return 0
        fi
        "$CARGO" install cargo-deny --locked
    fi
    "$CARGO" deny $LOCKED check --hide-inclusion-graph licenses bans sources || return 1
    # The database of RustSec is renewed where the network allows it, else the last copy is used.
    if ! timeout 120 "$CARGO" deny fetch db >/dev/null 2>&1; then
        if [ -z "$(ls -A "${CARGO_HOME:-$HOME/.cargo}/advisory-dbs" 2>/dev/null)" ]; then
            echo "SKIPPED: advisories: the database cannot be fetched (https://github.com/RustSec/advisory-db), and there is no copy of it"
            return 0
        fi
        echo "advisories: the database cannot be fetched; its last copy is used"
    fi
    "$CARGO" deny $LOCKED check --hide-inclusion-graph --disable-fetch advisories
}

run() {
    local name=$1 began=$SECONDS
    printf '== %s\n' "$name"
    if "$name"; then
        printf '   ok, %d s\n' $((SECONDS - began))
    else
        failed+=("$name")
    fi
}

checks=("$@")
[ $# -gt 0 ] || checks=(fmt purity layers size circles words shapes surface results growth features tests scripts clippy doc licences)
for check in "${checks[@]}"; do
    case $check in
        fmt) scripts/require.sh cargo rustfmt ;;
        clippy) scripts/require.sh cargo linker clippy crates openssl ;;
        doc) scripts/require.sh cargo linker crates openssl ;;
        circles | words | shapes | surface | results | growth | features)
            command -v python3 >/dev/null || {
                echo "lint: $check needs python3" >&2
                exit 2
            }
            ;;
        purity | layers | size | tests | scripts | licences) ;;
        *)
            echo "lint: unknown check $check; allowed are fmt purity layers size circles words shapes surface results growth features tests scripts clippy doc licences" >&2
            exit 2
            ;;
    esac
    run "$check"
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "lint failed: ${failed[*]}" >&2
    exit 1
fi
