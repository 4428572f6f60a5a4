# SPDX-License-Identifier: BSD-3-Clause
# properties.sh: what the scripts share that test the command from outside; sourced by bash.  Each property is
# one line, "ok" or "FAIL"; finish prints how many there were and is the script's status.  Output and errors of
# the last command lie in out.txt and err.txt of the current folder.
# shellcheck shell=bash

n_passed=0
n_failed=0

passed() {
    n_passed=$((n_passed + 1))
    printf 'ok    %s\n' "$1"
}

failed() {
    n_failed=$((n_failed + 1))
    printf 'FAIL  %s\n' "$1"
    shift
    [[ $# -eq 0 ]] || printf '      %s\n' "$@"
}

# holds NAME COMMAND...: the command succeeds.
holds() {
    local name=$1 status
    shift
    "$@" >out.txt 2>err.txt
    status=$?
    if ((status == 0)); then
        passed "$name"
    else
        failed "$name" "status $status: $*" "$(head -c 700 err.txt out.txt)"
    fi
}

# fails NAME COMMAND...: a tool that is not ours fails.
fails() {
    local name=$1
    shift
    if "$@" >out.txt 2>err.txt; then failed "$name" "succeeded: $*"; else passed "$name"; fi
}

# refuses STATUS PATTERN NAME COMMAND...: csz exits with STATUS, and standard error is one line that starts
# with "csz: ", says what is wrong and what to do, and matches PATTERN.
refuses() {
    local wanted=$1 pattern=$2 name=$3 status
    shift 3
    "$@" >out.txt 2>err.txt
    status=$?
    if ((status != wanted)); then
        failed "$name" "status $status, not $wanted: $*" "$(head -c 500 err.txt)"
    elif [[ $(wc -l <err.txt) -ne 1 ]] || ! grep -q '^csz: .*; ' err.txt; then
        failed "$name" "not one line that says what is wrong and what to do:" "$(head -c 500 err.txt)"
    elif ! grep -qE -- "$pattern" err.txt; then
        failed "$name" "does not say /$pattern/: $(cat err.txt)"
    else
        passed "$name"
    fi
}

same_text() { # NAME WANTED FOUND
    if [[ $2 == "$3" ]]; then passed "$1"; else failed "$1" "wanted: $2" "found:  $3"; fi
}

says() { # NAME PATTERN FILE
    if grep -qE -- "$2" "$3"; then passed "$1"; else failed "$1" "no /$2/ in:" "$(head -c 500 "$3")"; fi
}

# skip WHY: ends a script where what it tests cannot run, for CTest to count as skipped.
skip() {
    echo "skipped: $1"
    exit 77
}

# finish [WHY]: the last line, with why parts were left out; true if all properties hold.
finish() {
    printf '%d properties hold, %d do not%s\n' $n_passed $n_failed "${1:+; $1}"
    ((n_failed == 0))
}
