#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# docs_test.sh CSZ PLUGIN_FOLDER PAGE.md...: runs the commands that pages of the documentation show, so that what they say
# keeps working.  A fenced block that begins with "```sh run" is run by `bash -eu` in a folder of the page's own, one block after the
# other, with csz in PATH and HDF5_PLUGIN_PATH set.  "```sh run needs=h5repack,ncgen" names commands without which a block is
# left out, and says so; needs=plugin and needs=hdf5 mean a build that has them.  Other blocks are not run.  Exits 1 if a block fails, 77 if all
# were left out.

[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@" # started by another shell
set -u
csz=$(realpath "${1:?usage: docs_test.sh CSZ PLUGIN_FOLDER PAGE.md...}") || exit 2
plugins=${2:?usage: docs_test.sh CSZ PLUGIN_FOLDER PAGE.md...}
shift 2
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_docs_test.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin"
ln -s "$csz" "$work/bin/csz"
export PATH="$work/bin:$PATH" LC_ALL=C
[[ $plugins == none ]] || export HDF5_PLUGIN_PATH=$plugins
n_run=0
n_failed=0
n_left_out=0

# missing NEEDS: the first of them that is not there.
missing() {
    local need
    for need in ${1//,/ }; do
        case $need in
        plugin) [[ $plugins != none ]] || { echo "the HDF5 plugin" && return; } ;;
        hdf5) csz --version | grep -q '^hdf5 yes' || { echo "HDF5 in csz" && return; } ;;
        *) command -v "$need" >/dev/null || { echo "$need" && return; } ;;
        esac
    done
}

for page in "$@"; do
    page=$(realpath "$page")
    folder=$work/$(basename "$page" .md)
    mkdir -p "$folder"
    # One file for each block: its first line is the fence, with the line it stands on.
    awk -v folder="$folder" '
        /^```sh run/ { n++; name = sprintf("%s/.block%03d", folder, n); print "# " FNR " " $0 >name; inside = 1; next }
        /^```/ { inside = 0 }
        inside { print >name }' "$page"
    for block in "$folder"/.block*; do
        [[ -e $block ]] || continue
        read -r _ line fence <"$block"
        lacks=$(missing "$(sed -n 's/.*needs=\([^ ]*\).*/\1/p' <<<"$fence")")
        where="$(basename "$page"):$line"
        if [[ -n $lacks ]]; then
            n_left_out=$((n_left_out + 1))
            printf 'left out  %s: %s is missing\n' "$where" "$lacks"
        elif (cd "$folder" && bash -eu "$block") >"$work/out.txt" 2>&1; then
            n_run=$((n_run + 1))
            printf 'ok        %s\n' "$where"
        else
            n_failed=$((n_failed + 1))
            printf 'FAIL      %s\n' "$where"
            sed 's/^/          /' "$block" "$work/out.txt" | head -n 60
        fi
    done
done
printf '%d blocks run, %d failed, %d left out\n' $((n_run + n_failed)) $n_failed $n_left_out
((n_failed == 0)) || exit 1
((n_run > 0)) || exit 77
