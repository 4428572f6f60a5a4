#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# faults_test.sh CSZ SHIM: whatever system call or allocation fails, csz ends with a message and status 1, and
# leaves the old output or the whole new one, and no temporary; interrupted and short reads and writes change
# nothing.  SHIM is tests/command/fault_shim.c, preloaded.  Each call is made to fail the first time, the
# second time, and so on until a run gets by without meeting it.

[ -n "${BASH_VERSION:-}" ] || exec bash "$0" "$@"
set -u
csz=$(realpath "${1:?usage: faults_test.sh CSZ SHIM}") || exit 2
shim=$(realpath "${2:?usage: faults_test.sh CSZ SHIM}") || exit 2
if grep -q __asan_init "$csz" 2>/dev/null; then
    echo "a sanitized csz brings its own allocator and cannot be preloaded: skipped"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/csz_faults.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
export LC_ALL=C
n_faults=0
n_bad=0

bad() {
    n_bad=$((n_bad + 1))
    printf 'FAIL  %s\n' "$*"
    head -c 300 err.txt
}

python3 - <<'PY' || exit 2
import array, math
array.array("f", [math.sin(i * 0.01) + (i * 7919 % 97) / 500 for i in range(60000)]).tofile(open("in.f32", "wb"))
PY
"$csz" compress in.f32 -t f32 -d 300x200 -e 1e-3 -o good.csz >out.txt || exit 2
"$csz" decompress good.csz -o good.f32 >out.txt || exit 2

# What a job is: its command, and the output a success must give.
faulty() { LD_PRELOAD=$shim "$csz" "$@"; }
job() {
    case $1 in
    compress) faulty compress in.f32 -t f32 -d 300x200 -e 1e-3 -j2 -f -o result ;;
    verify) faulty compress in.f32 -t f32 -d 300x200 -e 1e-3 --verify -f -o result ;;
    decompress) faulty decompress good.csz -f -o result ;;
    new) faulty decompress good.csz -o result ;; # no old file, no -f
    named) CSZ_FAULT_NAMED=1 job decompress ;;   # a hidden file, renamed: no file without a name
    named-new) CSZ_FAULT_NAMED=1 job new ;;
    pipe) faulty compress - -t f32 -d 300x200 -e 1e-3 -f -o result <in.f32 ;;
    read) # shellcheck disable=SC2002 # a pipe is the point
        cat in.f32 | faulty compress - -t f32 -d 300x200 -e 1e-3 -f -o result ;;
    esac
}
printf 'the old file' >old
has_temporary() { compgen -G '.result*' >found.txt; }

# run JOB CALL N HOW: 0 if the fault struck.  Of a thousand runs: the shell's own means where they do.
run() {
    local job=$1 fault=$2:$3:$4 status wanted=good.csz said
    case $1 in decompress | new | named*) wanted=good.f32 ;; esac
    rm -f hit result
    [[ $job == *new ]] || printf 'the old file' >result
    export CSZ_FAULT=$fault CSZ_FAULT_HIT=$work/hit
    job "$job" >out.txt 2>err.txt
    status=$?
    unset CSZ_FAULT CSZ_FAULT_HIT
    [[ -e hit ]] || return 1
    n_faults=$((n_faults + 1))
    if ((status == 0)); then
        cmp -s result $wanted || bad "$job, $fault: status 0 and not the whole output"
    elif ((status != 1)); then
        bad "$job, $fault: status $status"
    else
        if [[ $4 == EINTR && $2 != close && $2 != open ]] || [[ $4 == short ]]; then bad "$job, $fault: an interruption is no failure"; fi
        mapfile said <err.txt
        if ((${#said[@]} != 1)) || [[ ${said[0]} != 'csz: '*$'\n' ]]; then bad "$job, $fault: not one line that says what is wrong"; fi
        if [[ $job == *new ]]; then
            [[ ! -e result ]] || cmp -s result $wanted || bad "$job, $fault: a part of the output is left"
        else
            cmp -s old result || cmp -s result $wanted ||
                bad "$job, $fault: the old file is gone"
        fi
    fi
    if has_temporary; then
        bad "$job, $fault: a temporary is left"
        rm -f .result*
    fi
    return 0
}

for job in compress verify decompress new named named-new pipe read; do
    before=$n_faults
    for fault in write:ENOSPC write:EIO write:EDQUOT write:EINTR write:short pwrite:ENOSPC pwrite:EINTR pwrite:short writev:ENOSPC \
        fsync:EIO fsync:ENOSPC fsync:EINTR fsync:EINVAL close:EIO close:ENOSPC close:EINTR rename:EIO rename:EACCES rename:ENOSPC \
        link:EIO linkat:EIO linkat:ENOSPC mkostemp:ENOSPC mkostemp:EROFS open:EMFILE open:EACCES fchmod:EIO ftruncate:EIO fstat:EIO mmap:ENOMEM read:EIO \
        read:EINTR read:short pread:EIO pread:EINTR pread:short malloc:ENOMEM pthread_create:EAGAIN; do
        for ((k = 1; k < 200; k++)); do
            run $job "${fault%%:*}" $k "${fault#*:}" || break
        done
        run $job "${fault%%:*}" 0 "${fault#*:}" # every second one
    done
    printf '%s: %d faults\n' $job $((n_faults - before))
done
export CSZ_FAULT_STDIO=1 # standard input and output themselves
for fault in read:EINTR read:short; do run "read" "${fault%%:*}" 0 "${fault#*:}" || bad "$fault never struck"; done
for how in EINTR short; do
    CSZ_FAULT=write:0:$how LD_PRELOAD=$shim "$csz" decompress good.csz -o - --json 2>err.txt | cmp -s - good.f32 || bad "standard output, $how"
    n_faults=$((n_faults + 1))
done
unset CSZ_FAULT_STDIO

CSZ_FAULT=pthread_create:1:EAGAIN LD_PRELOAD=$shim "$csz" test good.csz >out.txt 2>err.txt
if [[ $? -ne 1 ]] || ! grep -q 'cannot start a thread.*ulimit -u' err.txt; then bad "a thread that is refused: the message"; fi
CSZ_FAULT=pthread_create:1:EAGAIN LD_PRELOAD=$shim "$csz" test good.csz -j 1 >out.txt 2>err.txt
if [[ $? -ne 1 ]] || ! grep -q 'cannot start a thread.*ulimit -v)$' err.txt; then bad "the only thread that is refused: the message"; fi

# ---- Signals while a temporary has a name -----------------------------------------------------------------

mkfifo waits
for signal in INT TERM HUP; do
    printf 'the old file' >result
    CSZ_FAULT_NAMED=1 LD_PRELOAD=$shim env --default-signal=INT,TERM,HUP "$csz" compress - -t f32 -d 300x200 -e 1e-3 -f -o result <waits >out.txt 2>err.txt &
    exec 9>waits
    head -c 200000 in.f32 >&9 # the run waits for the rest
    until compgen -G '.result.*' >found.txt || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
    [[ -s found.txt ]] || bad "SIG$signal: no temporary came to be"
    kill -$signal $!
    wait $! 2>/dev/null && bad "SIG$signal: the run went on"
    exec 9>&-
    cmp -s old result || bad "SIG$signal: the old file is gone"
    has_temporary && bad "SIG$signal: a temporary is left"
    n_faults=$((n_faults + 1))
done

# ---- Folders that cannot be written, for those whom permissions bind -----------------------------------

mkdir closed
printf 'the old file' >closed/result
chmod 644 closed/result
chmod 555 closed
as_user=()
if [[ $(id -u) -eq 0 ]]; then
    cp "$csz" ./csz && chmod 755 . csz && chmod 644 in.f32
    as_user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
    csz=./csz
fi
if ((${#as_user[@]})) && ! command -v setpriv >/dev/null; then
    echo "folders that cannot be written: skipped, root has no setpriv"
else
    "${as_user[@]}" "$csz" compress in.f32 -t f32 -d 300x200 -e 1e-3 -f -o closed/result >out.txt 2>err.txt
    [[ $? -eq 1 && $(cat closed/result) == 'the old file' && $(ls -A closed) == result ]] || bad "a folder that cannot be written"
    n_faults=$((n_faults + 1))
fi
chmod 755 closed

printf '%d faults, %d without a clean end\n' $n_faults $n_bad
((n_bad == 0 && n_faults > 100))
