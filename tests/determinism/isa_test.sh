#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# isa_test.sh CSZ SET OBJECTS... [SET OBJECTS...] --libraries FILE...: which instructions and names the
# library's objects hold.  SET is --set=NAME.  Objects compiled for a set define no name that another object
# may define too, so that the linker cannot take their code for an older processor's; and the baseline's hold
# no instruction of a set.  Then what the command says of its choice.
[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -u
csz=$(realpath "${1:?usage: isa_test.sh CSZ SET OBJECTS...}") || exit 2
shift
n_failed=0
holds() { # NAME FOUND: nothing was found that should not be there
    if [[ -z $2 ]]; then
        echo "ok    $1"
    else
        n_failed=$((n_failed + 1))
        echo "FAIL  $1:"
        head -n 5 <<<"$2" | sed 's/^/      /'
    fi
}

set_name=baseline
declare -A objects=()
for argument; do
    case $argument in
    --set=*) set_name=${argument#--set=} ;;
    --libraries) set_name=libraries ;;
    *) objects[$set_name]+="$argument"$'\n' ;;
    esac
done
scalar='shlx|shrx|sarx|rorx|mulx|pdep|pext|andn|bzhi|lzcnt|movbe|popcnt'
wide="%[yz]mm|\\{%k[0-7]\\}|[[:space:]](v[a-z0-9]+|$scalar)[[:space:]]"
for name in "${!objects[@]}"; do
    mapfile -t files <<<"${objects[$name]%$'\n'}"
    if [[ $name = libraries ]]; then
        for file in "${files[@]}"; do
            holds "${file##*/} has every set to choose from" "$(grep -q x86-64-v4 "$file" || echo "no x86-64-v4")"
        done
        continue
    fi
    if [[ $name = baseline ]]; then
        # tzcnt may be there: older processors read it as bsf, which is the same but for 0
        holds "the baseline's objects hold no instruction of a set" \
            "$(objdump -d --no-show-raw-insn "${files[@]}" | grep -E "$wide")"
        continue
    fi
    # letters of nm: capitals are global; W, V, u and C are those of which the linker keeps one
    holds "objects of $name define global names that end in its own alone" \
        "$(nm -P --defined-only "${files[@]}" |
            awk -v own="_$name\$" 'NF > 1 && $2 ~ /^[A-Z]$/ && $1 !~ own')"
    holds "objects of $name define no name of which the linker keeps one" \
        "$(nm -P --defined-only "${files[@]}" | awk 'NF > 1 && $2 ~ /^[WwVvuC]$/')"
    holds "objects of $name have no section of which the linker keeps one" \
        "$(readelf -gW "${files[@]}" | grep COMDAT)"
    own='%ymm'
    if [[ $name = x86_64_v4 ]]; then own='%zmm|%ymm(1[6-9]|2[0-9]|3[01])|\{%k[0-7]\}'; fi
    holds "objects of $name hold its instructions" \
        "$(objdump -d --no-show-raw-insn "${files[@]}" | grep -qE "$own" || echo none)"
done

best=$("$csz" --version | sed -n 's/^cpu //p')
holds "--version names the set" "$([[ $best =~ ^(x86-64(-v[34])?|aarch64|portable)$ ]] || echo "cpu $best")"
for name in x86-64 x86-64-v3 x86-64-v4 nonsense; do
    found=$(CSZ_CPU_ISA=$name "$csz" --version 2>note.txt | sed -n 's/^cpu //p')
    if [[ $found = "$name" ]]; then
        holds "$name is used when asked for, without a note" "$(cat note.txt)"
    else
        holds "$name is not there: the best is used instead" "$([[ $found = "$best" ]] || echo "$found")"
        holds "and one line says so" \
            "$([[ $(wc -l <note.txt) = 1 && $(<note.txt) = *"$name"*"$best"* ]] || cat note.txt)"
    fi
done
rm -f note.txt
[[ $n_failed -eq 0 ]]
