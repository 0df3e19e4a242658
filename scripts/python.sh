#!/usr/bin/env bash
# Usage: scripts/python.sh test [PYTEST ARGUMENT...] | wheel
# test   builds the package into a virtual environment ($VENV, else .venv), then runs pytest and the type checker.
# wheel  builds the wheel for distribution in dist (built on Debian 12: glibc 2.35 and newer), adds completions and manual pages, prints
#        its requirements, and tries it in the bare file systems listed in ROOTS.
# Without Python 3.10 or the packages of the tests the step is skipped with exit code 0; with REQUIRED=1 that is an error.
set -euo pipefail
cd "$(dirname "$0")/.."

# The build backend is maturin behind packaging/python/backend.py.
export MATURIN_NO_MISSING_BUILD_BACKEND_WARNING=1
VENV=${VENV:-.venv}
REQUIRED=${REQUIRED:-0}
PYTHON=${PYTHON:-python3}

skip() {
    printf 'SKIPPED: %s\n' "$*" >&2
    [ "$REQUIRED" = 0 ] || exit 1
    exit 0
}

environment() {
    "$PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null ||
        skip "the Python package needs Python 3.10 or newer; $PYTHON is missing or older"
    if [ ! -x "$VENV/bin/python" ]; then
        "$PYTHON" -m venv "$VENV" 2>/dev/null || {
            rm -rf "$VENV"
            skip "a virtual environment cannot be made; on Debian and Ubuntu: apt-get install python3-venv"
        }
    fi
    # pyproject.toml lists the packages.
    "$VENV/bin/python" - <<'EOF' >"$VENV/wanted.txt"
import re
text = open("pyproject.toml").read()
build = re.search(r"requires = (\[.*?\])", text, re.S)[1]
lists = [re.search(rf"^{key} = (\[.*?\])", text, re.S | re.M)[1] for key in ("dependencies", "test")]
print("\n".join(re.findall(r'"([^"]+)"', " ".join([build, *lists]))))
EOF
    if ! cmp -s "$VENV/wanted.txt" "$VENV/installed.txt"; then
        "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check -r "$VENV/wanted.txt" >"$VENV/pip.log" 2>&1 || {
            tail -n 3 "$VENV/pip.log" >&2
            skip "the packages of the tests cannot be installed (pip, above)"
        }
        # The extra `pages` of pyproject.toml: pages are tested in a browser where it can be had.
        "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check "$(sed -n 's/^pages = \["\(.*\)"\]/\1/p' pyproject.toml)" \
            >>"$VENV/pip.log" 2>&1 || echo "SKIPPED: playwright cannot be installed; pages are not tested in a browser" >&2
        cp "$VENV/wanted.txt" "$VENV/installed.txt"
    fi
}

maturin() { PATH="$PWD/$VENV/bin:$PATH" VIRTUAL_ENV="$PWD/$VENV" "$VENV/bin/maturin" "$@"; }

test_package() {
    environment
    maturin develop --quiet
    "$VENV/bin/python" -m pytest "$@"
    "$VENV/bin/python" -m mypy
}

wheel() {
    local root
    for root in ${ROOTS:-}; do
        [ -x "$root/usr/bin/python3" ] || {
            echo "python: ROOTS: $root is no file system with python3" >&2
            exit 2
        }
    done
    environment
    rm -rf dist
    maturin build --release --locked --out dist --compatibility "${COMPATIBILITY:-manylinux_2_35}"
    "$VENV/bin/python" scripts/complete-wheel.py dist/*.whl
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check 'twine>=6'
    "$VENV/bin/python" -m twine check --strict dist/*.whl
    "$VENV/bin/python" scripts/try-wheel.py dist/*.whl ${ROOTS:-}
}

case "${1:-}" in
    test)
        shift
        test_package "$@"
        ;;
    wheel) wheel ;;
    *)
        echo "python: the command is ${1:-missing}; allowed are test and wheel" >&2
        exit 2
        ;;
esac
