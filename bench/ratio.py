#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `make bench-ratio` runs: ratios and PSNR of csz beside SZ3, SPERR and zfp at the same bound, in one run.

Peers come from PyPI: pysz (SZ3), hdf5plugin (SPERR, zfp).  Every field of a list is compressed by every coder
at bounds relative to its range.  All restored values are compared with the bound, in double.  csz restores
missing values bit for bit; peers, which know none, get the value before them in order of index, and these
places do not count for their errors.  csz and SZ3 are timed on one thread, in memory: coders take turns, and
the best of several rounds counts, so that a slow moment of the machine falls on none alone.  csz's pyramid is
timed on two threads, too.  SPERR and zfp run inside HDF5 and are not timed.  Two of the fields are timed once
more, mirrored along their slowest dim to the size that users have.

Writes a report in Markdown and a picture of PSNR over bits a value, one panel a field.  With --exact: a
report of -m exact beside blosc2 (shuffle, zstd of level 5), both ways on one thread, alone.  With --pwr: a
report of -m pwr beside a plain quantization of logarithms.
"""
import argparse
import itertools
import json
import math
import pathlib
import platform
import shlex
import subprocess
import sys
import time

import h5py
import hdf5plugin
import numpy as np
import pysz

TABLE_BOUNDS = (1e-2, 1e-3, 1e-4)
PICTURE_BOUNDS = (3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5)
PREDICTORS = ("auto", "lorenzo", "pyramid")
PEERS = ("SZ3", "SPERR", "zfp")
CODERS = tuple(f"csz {p}" for p in PREDICTORS) + PEERS
TIMED = CODERS[:3] + ("SZ3",)
TWO_THREADS = "csz pyramid, two threads"
UNSIGNED = tuple(f"csz {p}, unsigned zeros" for p in PREDICTORS)
# Coders of the picture, with colour and dashes.
DRAWN = (("csz auto", "#c9171e", ""), ("csz lorenzo", "#c9171e", ' stroke-dasharray="2 2"'), ("SZ3", "#2f7d4f", ""),
         ("SPERR", "#5f7fb0", ""), ("zfp", "#999", ""))  # fmt: skip
LARGE = ("cloud_c768_p01", "rt_density")  # auto takes Lorenzo; a pyramid
LARGE_NBYTES = 128e6
# One field of each kind of csz-fields, where there is no folder of real ones.
GENERATED = ("hacc/vx", "cesm/CLDHGH", "cesm/TREFHT", "hurricane/U", "nyx/baryon_density", "rtm/snapshot2800",
             "miranda/density", "qmcpack/einspline")  # fmt: skip
TARGETS = (1.5, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 50, 70, 100, 150, 250, 500)


class Field:
    def __init__(self, path, dims, dtype, fill, name):
        self.path, self.dims, self.name, self.fill = path, dims, name, fill
        self.shape = tuple(map(int, dims.split("x")))
        self.values = np.fromfile(path, dtype="<" + dtype.replace("f32", "f4").replace("f64", "f8")).reshape(self.shape)
        self.nsigned = np.count_nonzero((self.values == 0) & np.signbit(self.values))
        self.missing = ~np.isfinite(self.values)
        if fill != "-":
            self.missing |= self.values == self.values.dtype.type(fill)
        flat = self.values.ravel().copy()
        where = np.where(self.missing.ravel(), 0, np.arange(flat.size))
        np.maximum.accumulate(where, out=where)
        if self.missing.flat[0]:  # there is none before
            flat[0] = self.values[~self.missing][0]
        self.plain = flat[where].reshape(self.shape)
        valid = self.values[~self.missing].astype("f8")
        self.range = valid.max() - valid.min()


def mirrored(field, args):
    """The field and its mirror image in turn, along the slowest dim."""
    values = np.concatenate([field.values[:: 1 - 2 * (i % 2)] for i in range(math.ceil(LARGE_NBYTES / field.values.nbytes))])
    path = pathlib.Path(args.picture).parent / f"{field.name}_mirrored"
    values.tofile(path)
    return Field(path, "x".join(map(str, values.shape)), f"f{8 * values.itemsize}", field.fill, f"{field.name}, mirrored to {values.nbytes / 1e6:.0f} MB")


class Result:
    """Bytes and errors of one coder; seconds of compressing and restoring where it was timed."""

    def __init__(self, nbytes, field, error, psnr, seconds=None):
        self.ratio, self.bits = field.values.nbytes / nbytes, 8 * nbytes / field.values.size
        self.error, self.psnr, self.seconds = error, psnr, seconds


def compared(field, restored, nbytes, seconds=None):
    difference = np.abs(restored.astype("f8") - field.plain.astype("f8"))[~field.missing]
    rmse = math.sqrt(np.mean(difference**2))
    return Result(nbytes, field, difference.max(), 20 * math.log10(field.range / rmse) if rmse else math.inf, seconds)


def run_csz(field, bound, predictor, args, threads=1, options=()):
    command = [args.csz, "bench", field.path, *options, "-t", f"f{8 * field.values.itemsize}", "-d", field.dims, "-m", "abs",
               "-e", repr(bound), "-p", predictor, "-b", "cpu", "-j", str(threads), "--repeat", "3", "--json"]  # fmt: skip
    if field.fill != "-":
        command += ["--fill", field.fill]
    told = json.loads(subprocess.check_output(command))  # fails unless every value keeps the bound
    psnr = math.inf if told["psnr"] is None else told["psnr"]
    seconds = told["compress"]["seconds"], told["decompress"]["seconds"]
    return Result(told["nbytes_out"], field, told["max_abs_error"], psnr, seconds)


def run_sz3(field, bound):
    config = pysz.szConfig(field.shape)
    config.errorBoundMode, config.absErrorBound = pysz.szErrorBoundMode.ABS, bound
    start = time.perf_counter()
    packed, _ = pysz.sz.compress(field.plain, config)
    middle = time.perf_counter()
    restored, _ = pysz.sz.decompress(packed, field.values.dtype.type, field.shape)
    seconds = middle - start, time.perf_counter() - middle
    return compared(field, restored, packed.nbytes, seconds)


def run_filter(field, options, most_dims=4):
    """A coder of hdf5plugin: the field is one chunk of a file in memory, of more dims than the coder takes
    the slowest as one."""
    values = field.plain if field.plain.ndim <= most_dims else field.plain.reshape(-1, *field.shape[1 - most_dims :])
    with h5py.File("memory.h5", "w", driver="core", backing_store=False, rdcc_nbytes=0) as file:  # no cache: what is read was restored
        dataset = file.create_dataset("field", data=values, chunks=values.shape, compression=options)
        file.flush()
        return compared(field, dataset[()].reshape(field.shape), dataset.id.get_storage_size())


def run(coder, field, bound, args):
    if coder == "SZ3":
        return run_sz3(field, bound)
    if coder == "SPERR":  # of two or three dims
        return run_filter(field, hdf5plugin.Sperr(absolute=bound, swap=True), 3) if len(field.shape) > 1 else None
    if coder == "zfp":
        return run_filter(field, hdf5plugin.Zfp(accuracy=bound))
    if coder == TWO_THREADS:
        return run_csz(field, bound, "pyramid", args, threads=2)
    if coder in UNSIGNED:
        return run_csz(field, bound, PREDICTORS[UNSIGNED.index(coder)], args, options=("--unsigned-zeros",))
    return run_csz(field, bound, coder.split()[1], args)


def run_rounds(field, relative, args, coders=CODERS):
    """Every coder's result, with the shortest times of several rounds in which the timed ones take turns."""
    bound = float(relative * field.range)
    found = {coder: run(coder, field, bound, args) for coder in coders}
    if relative not in TABLE_BOUNDS:
        return found
    found[TWO_THREADS] = run(TWO_THREADS, field, bound, args)
    for _ in range(args.rounds - 1):
        for coder in (*TIMED, TWO_THREADS):
            again = run(coder, field, bound, args)
            found[coder].seconds = tuple(map(min, found[coder].seconds, again.seconds))
    for coder, keeping in zip(UNSIGNED, coders if coders is CODERS else ()):
        found[coder] = run(coder, field, bound, args) if field.nsigned else found[keeping]
    return found


def read_fields(args):
    if args.data:
        rows = [line.split() for line in open(args.fields) if line.strip() and not line.startswith("#")]
        found = [(f"{args.data}/{name}", dims, dtype, fill, name.split(".")[0]) for name, dims, dtype, fill in rows]
        lacking = [row[0] for row in found if not pathlib.Path(row[0]).exists()]
        if lacking:
            sys.exit(f"ratio.py: {lacking[0]} is missing; give --data the folder with the fields of {args.fields}, or leave it out")
    else:
        listed = subprocess.check_output([args.generator, "list", "--scale", args.scale], text=True)
        dims = {line.split()[0]: line.split()[1] for line in listed.splitlines()}
        found = []
        for name in GENERATED:
            path = str(pathlib.Path(args.picture).parent / (name.replace("/", "_") + ".f32"))
            subprocess.run([args.generator, name, "-o", path, "--scale", args.scale], check=True, stderr=subprocess.DEVNULL)
            found.append((path, dims[name], "f32", "-", name))
    return [Field(*row) for row in found if not args.only or args.only in row[4]]


def run_exact(field, args):
    """(bytes, seconds of compressing, of restoring) of csz and of blosc2, the best of several rounds in which
    they take turns."""
    import blosc2

    command = [args.csz, "bench", field.path, "-t", f"f{8 * field.values.itemsize}", "-d", field.dims, "-m", "exact",
               "-b", "cpu", "-j", "1", "--repeat", "9", "--json"]  # fmt: skip
    best = {}
    for _ in range(args.rounds):
        told = json.loads(subprocess.check_output(command))  # fails unless every bit comes back
        start = time.perf_counter()
        packed = blosc2.compress2(field.values, codec=blosc2.Codec.ZSTD, clevel=5, filters=[blosc2.Filter.SHUFFLE], filters_meta=[0],
                                  typesize=field.values.itemsize, nthreads=1)  # fmt: skip
        compressed = time.perf_counter() - start
        restored = []
        for _ in range(9):
            start = time.perf_counter()
            back = blosc2.decompress2(packed, nthreads=1)
            restored.append(time.perf_counter() - start)
        assert back == field.values.tobytes()
        for coder, row in (("csz", (told["nbytes_out"], told["compress"]["seconds"], told["decompress"]["seconds"])),
                           ("blosc2", (len(packed), compressed, sorted(restored)[4]))):  # fmt: skip
            best[coder] = tuple(map(min, best.get(coder, row), row))
    return best


def report_exact(fields, args):
    import blosc2

    found = {field.name: run_exact(field, args) for field in fields}
    coders = ("csz", "blosc2")

    def cells(coder, i):
        return [f.values.nbytes / (found[f.name][coder][i] * (1e6 if i else 1)) for f in fields]

    columns = [cells(coder, i) for i in range(3) for coder in coders]
    rows = [[f.name, *[f"{column[k]:.3f}" if j < 2 else f"{column[k]:.0f}" for j, column in enumerate(columns)]] for k, f in enumerate(fields)]
    rows.append(["**geometric mean**", *[f"{mean(column):.3f}" if j < 2 else f"{mean(column):.0f}" for j, column in enumerate(columns)]])
    header = ["field", "ratio csz", "blosc2", "compress csz, MB/s", "blosc2", "decompress csz, MB/s", "blosc2"]
    return "\n".join([
        "# Exact, beside blosc2", "",
        f"{time.strftime('%Y-%m-%d')}, commit {commit_here()}, {cpu_here()}, blosc2 {blosc2.__version__} with shuffle and zstd of level 5. "
        "Made by `make bench-ratio ARGS=--exact`. One thread, in memory; every bit was compared.", "", *table(header, rows)])  # fmt: skip


def plain_logarithms(field, bound):
    """Bytes of what LC and PFPL do, here in NumPy: log2 of magnitudes in steps of the bound with the sign
    below, differences in negabinary, bit planes of 16 KiB, bytes of 0 left out by bitmaps that are packed
    again.  Zeros and missing values are one code."""
    v = field.values.ravel().astype("f8")
    there = ~field.missing.ravel() & (v != 0)
    size = field.values.itemsize
    unsigned = np.dtype(f"u{size}").type
    codes = np.full(v.size, -(2**20), dtype="i8")
    codes[there] = 2 * np.rint(np.log2(np.abs(v[there])) / (2 * math.log2(1 + bound))) + (v[there] < 0)
    mask = unsigned(0xAAAAAAAAAAAAAAAA & (256**size - 1))
    chunk, nbytes = 16384 // size, 0
    for at in range(0, codes.size, chunk):
        part = np.diff(codes[at : at + chunk], prepend=0)
        words = (part.astype(unsigned) + mask) ^ mask
        words = np.concatenate([words, np.zeros(-len(words) % (8 * size), unsigned)])
        bits = np.unpackbits(words.astype(words.dtype.newbyteorder(">")).view("u1").reshape(-1, size), axis=1)
        flags = np.packbits(bits.T.ravel()) != 0
        taken = flags.sum()
        for _ in range(3):
            bitmap = np.packbits(flags)
            flags = np.concatenate([[True], bitmap[1:] != bitmap[:-1]])
            taken += flags.sum()
        nbytes += min(int(taken) + len(np.packbits(flags)) + 4, size * len(part))
    return nbytes


def run_pwr(field, bound, predictor, args):
    """Bytes of csz; fails unless every value keeps the bound."""
    command = [args.csz, "compress", field.path, "-t", f"f{8 * field.values.itemsize}", "-d", field.dims, "-m", "pwr", "-e", repr(bound),
               "-p", predictor, "-b", "cpu", "--verify", "--json", "-f", "-o", "/dev/null",
               "--fill", "none" if field.fill == "-" else field.fill]  # fmt: skip
    return json.loads(subprocess.check_output(command))["nbytes_out"]


def report_pwr(fields, args):
    columns = []
    for bound in TABLE_BOUNDS:
        for predictor in ("lorenzo", "auto"):
            columns.append([f.values.nbytes / run_pwr(f, bound, predictor, args) for f in fields])
        columns.append([f.values.nbytes / plain_logarithms(f, bound) for f in fields])
    rows = [[f.name, *[f"{column[k]:.2f}" for column in columns]] for k, f in enumerate(fields)]
    rows.append(["**geometric mean**", *[f"{mean(column):.2f}" for column in columns]])
    header = ["field", *[f"{coder} {bound:g}" for bound in TABLE_BOUNDS for coder in ("lorenzo", "auto", "plain")]]
    return "\n".join([
        "# Pointwise relative bounds, beside plain quantization of logarithms", "",
        f"{time.strftime('%Y-%m-%d')}, commit {commit_here()}, {cpu_here()}. Made by `make bench-ratio ARGS=--pwr`. Ratios of "
        "`-m pwr`; every value was compared exactly, and zeros, signs, denormals and missing values come back as they are. *plain* is a "
        "stand-in for LC and PFPL, written in NumPy after their papers: it neither checks values nor stores missing ones, which "
        "favours it.", "", *table(header, rows)])  # fmt: skip


def run_target(field, mode, bound, predictor, args):
    """What csz compress tells, or None where a ratio is out of reach."""
    out = str(pathlib.Path(args.out).with_suffix(".csz"))
    command = [args.csz, "compress", field.path, "-t", f"f{8 * field.values.itemsize}", "-d", field.dims, "-m", mode, "-e", repr(bound),
               "-p", predictor, "-o", out, "-f", "--json"]  # fmt: skip
    if field.fill != "-":
        command += ["--fill", field.fill]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 1 and "cannot be brought to" in done.stderr:
        return None
    done.check_returncode()
    return json.loads(done.stdout)


def report_targets(fields, args):
    rows = []
    for predictor in ("lorenzo", "auto"):
        for field in fields:
            if predictor == "auto" and len(field.shape) == 1:
                continue  # Lorenzo's archives again
            found = [run_target(field, "ratio", ratio, predictor, args) for ratio in TARGETS]
            octaves = 24 if field.values.itemsize == 4 else 52  # down to the type's own resolution
            grid = [run_target(field, "abs", float(field.range) * 2 ** (-k / 8), predictor, args) for k in range(8 * octaves, -1, -1)]
            told = [one for one in found if one]
            exact = [one for one in told if one["bound_mode"] == "exact"]
            share = [one["nbytes_wanted"] / one["nbytes_out"] for one in told if one not in exact]
            assert all(s >= 1 for s in share)
            tightest = [(one["bound"], [g["bound"] for g in grid if g["nbytes_out"] <= one["nbytes_wanted"]]) for one in told]
            looser = [max(1, bound / reach[0]) for bound, reach in tightest if reach and bound]
            trials = [one["ntrials"] for one in told]
            rows.append([f"{field.name}, {predictor}", len(found), len(found) - len(told), len(exact), sum(s <= 1.03 for s in share),
                         f"{100 - 100 / max(share, default=1):.0f}", sum(x > 1.3 for x in looser), f"{max(looser, default=1):.2f}",
                         f"{sum(trials) / len(trials):.1f}", max(trials), sum(trials)])  # fmt: skip
    sums = [sum(row[i] for row in rows) for i in range(1, 5)]
    trials = sum(row.pop() for row in rows)
    rows.append(["**all**", *sums, max((row[5] for row in rows), key=int), sum(row[6] for row in rows), max((row[7] for row in rows), key=float),
                 f"{trials / (sums[0] - sums[1]):.1f}", max(row[9] for row in rows)])  # fmt: skip
    header = ["field", "targets", "out of reach", "exact", "within 3%", "smaller by at most, %", "looser by 1.3", "looser by at most", "archives, mean", "most"]
    return "\n".join(["# Targets", "", f"{time.strftime('%Y-%m-%d')}, commit {commit_here()}. Made by `make bench-ratio ARGS=--targets`: `csz compress -m ratio` "
                      f"at {', '.join(map(str, TARGETS))}. Looser: than the tightest of eight bounds an octave that reaches the target.", "", *table(header, rows)])  # fmt: skip


def commit_here():
    return subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip() or "unknown"


def cpu_here():
    return next((line.split(": ")[1] for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine()).strip()


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def table(header, rows):
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in [header, *rows]]
    return [lines[0], "|---|" + "---:|" * (len(header) - 1), *lines[1:], ""]


def signs_at_best(field):
    """Bytes that the signs of zeros take where zeros are known: each by how often its context, which of the 12
    nearest values before it are -0.0, has had either; the counts themselves cost nothing."""
    minus, zero = (field.values == 0) & np.signbit(field.values), field.values == 0
    steps = sorted(itertools.product(range(-2, 3), repeat=minus.ndim), key=lambda d: (sum(map(abs, d)), d))
    before = [d for d in steps if d < (0,) * minus.ndim][:12]
    padded, context = np.pad(minus, 2), np.zeros(minus.shape, np.int64)
    for step in before:
        inside = tuple(slice(2 + d, 2 + d + n) for d, n in zip(step, minus.shape))
        context = 2 * context + padded[inside]
    seen = np.bincount(context[zero], minlength=4096)
    bits = 0.0
    for count in (np.bincount(context[minus], minlength=4096), np.bincount(context[zero & ~minus], minlength=4096)):
        some = count > 0
        bits -= np.sum(count[some] * np.log2(count[some] / seen[some]))
    return bits / 8


def report(fields, large, results, args):
    commit, cpu = commit_here(), cpu_here()
    lines = ["# Ratios beside SZ3, SPERR and zfp", "",
             f"{time.strftime('%Y-%m-%d')}, commit {commit}, {cpu}, pysz {version('pysz')}, hdf5plugin {version('hdf5plugin')}. "
             f"Made by `make bench-ratio`: `{shlex.join(['bench/ratio.py', *sys.argv[1:]])}`.", "",
             "Bounds are relative to the value range and the same absolute number for all coders. Every restored value was compared "
             "with it. `*`: the largest error, over the bound, is above 1. Missing values: csz restores them bit for bit; for "
             "peers they are replaced by the value before them and do not count. csz also keeps the sign of -0.0, but for the column of unsigned zeros (`--unsigned-zeros`).", ""]  # fmt: skip
    for bound in TABLE_BOUNDS:
        columns = (CODERS[0], UNSIGNED[0], *CODERS[1:])
        at = {(f.name, c): results[f.name, bound, c] for f in fields for c in columns}
        rows = []
        for field in fields:
            row = [field.name]
            for coder in columns:
                one = at[field.name, coder]
                broken = one and one.error > field.range * bound
                row.append("-" if not one else f"{one.ratio:.2f}" + (f" * {one.error / (field.range * bound):.6g}" if broken else ""))
            best = max(at[field.name, peer].ratio for peer in PEERS if at[field.name, peer])
            row += [f"{at[field.name, 'csz auto'].psnr:.1f}", f"{at[field.name, 'SZ3'].psnr:.1f}",
                    f"{at[field.name, 'csz auto'].ratio / at[field.name, 'SZ3'].ratio:.2f}", f"{best:.2f}"]  # fmt: skip
            rows.append(row)
        means = [f"{mean([at[f.name, c].ratio for f in fields]):.2f}" if all(at[f.name, c] for f in fields) else "" for c in columns]
        best = mean([max(at[f.name, peer].ratio for peer in PEERS if at[f.name, peer]) for f in fields])
        over = mean([at[f.name, "csz auto"].ratio / at[f.name, "SZ3"].ratio for f in fields])
        rows.append(["**geometric mean**", *means, "", "", f"{over:.2f}", f"{best:.2f}"])
        header = ["field", *columns, "PSNR auto", "PSNR SZ3", "auto / SZ3", "best peer"]
        lines += [f"## Relative {bound:g}", ""] + table(header, rows)
    lines += ["## Unsigned zeros", "", "Fields with -0.0, with their signs and without. Peers restore some number within the bound.", ""]
    rows = [[f.name, f.nsigned, f"{b:g}", *[f"{results[f.name, b, c].ratio:.2f}" for pair in zip(CODERS, UNSIGNED) for c in pair]]
            for f in fields if f.nsigned for b in TABLE_BOUNDS]  # fmt: skip
    lines += table(["field", "values of -0.0", "bound", *[c for pair in zip(CODERS, UNSIGNED) for c in pair]], rows)
    best = {f.name: signs_at_best(f) if f.nsigned else 0 for f in fields}
    whole = [mean([f.values.nbytes / (f.values.nbytes / results[f.name, b, UNSIGNED[0]].ratio + best[f.name]) for f in fields])
             for b in TABLE_BOUNDS]  # fmt: skip
    for f in fields:
        if f.nsigned:
            lines.append(f"Signs of {f.name} take {best[f.name]:.0f} bytes where a coder knows all zeros and how often each sign follows "
                         "which of the 12 nearest values before it are -0.0.")  # fmt: skip
    lines += [f"With signs at that price csz auto would have geometric means of {' / '.join(f'{r:.2f}' for r in whole)}.", ""]
    lines += ["## Speed, one thread", "", f"MB of the field a second, in memory, geometric means, best of {args.rounds} rounds in which coders "
              "take turns. Two threads: of csz pyramid. The last column: of fields for which auto takes Lorenzo.", ""]  # fmt: skip
    groups = [("2-D and 3-D", [f for f in fields if len(f.shape) > 1]), ("1-D", [f for f in fields if len(f.shape) == 1]),
              *((f.name, [f]) for f in large)]  # fmt: skip
    rows = []
    for name, some in groups:
        for bound in TABLE_BOUNDS if some else ():
            for i, way in enumerate(("compress", "decompress")):
                speed = [mean([f.values.nbytes / 1e6 / results[f.name, bound, c].seconds[i] for f in some]) for c in (*TIMED, TWO_THREADS)]
                at = {(f.name, c): results[f.name, bound, c] for f in some for c in TIMED}
                stay = [at[f.name, "csz auto"].seconds[i] / at[f.name, "csz lorenzo"].seconds[i]
                        for f in some if at[f.name, "csz auto"].ratio != at[f.name, "csz pyramid"].ratio]  # fmt: skip
                rows.append([f"{name}, {way}, {bound:g}", *[f"{s:.0f}" for s in speed[:4]], f"{speed[2] / speed[3]:.2f}",
                             f"{speed[4] / speed[2]:.2f}", f"{mean(stay):.2f}" if stay else "-"])  # fmt: skip
    lines += table(["", *TIMED, "pyramid / SZ3", "two threads / one", "time of auto / lorenzo"], rows)
    return "\n".join(lines)


def version(package):
    from importlib.metadata import version as find

    return find(package)


def draw(fields, results, path):
    """PSNR over bits a value, one small panel a field, on the same axes, in lines that a diff can show."""
    left, top, wide, high, columns = 30, 44, 142, 118, 5
    least, most, ticks = 0.01, 32, (0.01, 0.1, 1, 10)  # bits
    low, up = 30, 120  # dB
    rows = -(-len(fields) // columns)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + wide * columns} {top + high * rows + 8}" font-family="Helvetica, Arial, sans-serif" font-size="10" fill="#333">',
           '<rect width="100%" height="100%" fill="#fff"/>',
           '<text x="30" y="16" font-size="13" font-weight="bold">PSNR in dB over bits a value</text>']  # fmt: skip
    for i, (coder, colour, dashes) in enumerate(DRAWN):
        out.append(f'<path d="M{250 + 95 * i} 12h18" stroke="{colour}" stroke-width="2"{dashes}/><text x="{272 + 95 * i}" y="16">{coder}</text>')
    for k, field in enumerate(fields):
        x0, y0, w, h = left + wide * (k % columns), top + high * (k // columns), wide - 12, high - 34

        def x_of(bits):
            return x0 + w * math.log(bits / least) / math.log(most / least)

        def y_of(psnr):
            return y0 + h * (up - psnr) / (up - low)

        levels = range(low, up + 1, 30)
        grid = "".join([*[f"M{x_of(bits):.0f} {y0}v{h}" for bits in ticks], *[f"M{x0} {y_of(psnr):.0f}h{w}" for psnr in levels]])
        out.append(f'<text x="{x0}" y="{y0 - 4}">{field.name}</text><path d="{grid}" stroke="#e2e2e2"/>')
        labels = [(x_of(bits), y0 + h + 11, "middle", bits) for bits in ticks]
        labels += [(x0 - 4, y_of(psnr) + 3, "end", psnr) for psnr in levels if k % columns == 0]
        out += [f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="#777" font-size="8">{label:g}</text>' for x, y, anchor, label in labels]
        for coder, colour, dashes in reversed(DRAWN):
            found = [results[field.name, bound, coder] for bound in PICTURE_BOUNDS]
            points = [f"{x_of(one.bits):.0f} {y_of(one.psnr):.0f}" for one in found if one and low <= one.psnr <= up and least <= one.bits <= most]
            if points:
                out.append(f'<path d="M{"L".join(points)}" fill="none" stroke="{colour}" stroke-width="1.5"{dashes}/>')
    pathlib.Path(path).write_text("\n".join([*out, "</svg>"]) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csz", default="build-cpu/csz")
    parser.add_argument("--generator", default="build-cpu/csz-fields", help="csz-fields, for generated fields")
    parser.add_argument("--data", help="folder with the fields of --fields; without it fields are generated")
    parser.add_argument("--fields", default="bench/fields.txt", help="names, dims, types and fill values")
    parser.add_argument("--scale", default="small", help="of generated fields: tiny, small or paper")
    parser.add_argument("--only", help="fields whose name has this in it")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of which the best times count")
    parser.add_argument("--exact", action="store_true", help="-m exact beside blosc2, and nothing else")
    parser.add_argument("--pwr", action="store_true", help="-m pwr beside plain quantization of logarithms, and nothing else")
    parser.add_argument("--targets", action="store_true", help="how near -m ratio comes, and by how many archives, and nothing else")
    parser.add_argument("--out", default="build-cpu/ratio.md")
    parser.add_argument("--picture", default="build-cpu/ratio.svg", help="an SVG file")
    args = parser.parse_args()
    fields, results = read_fields(args), {}
    if args.exact or args.pwr or args.targets:
        text = (report_exact if args.exact else report_pwr if args.pwr else report_targets)(fields, args)
        pathlib.Path(args.out).write_text(text)
        print(text)
        return
    for field in fields:
        for bound in sorted({*TABLE_BOUNDS, *PICTURE_BOUNDS}, reverse=True):
            for coder, result in run_rounds(field, bound, args).items():
                results[field.name, bound, coder] = result
            if bound in TABLE_BOUNDS:
                print(f"{field.name}, {bound:g}: " + ", ".join(
                    f"{c} {results[field.name, bound, c].ratio:.1f}" for c in CODERS if results[field.name, bound, c]), flush=True)  # fmt: skip
    large = [mirrored(field, args) for field in fields if field.name in LARGE]
    for field in large:
        for bound in TABLE_BOUNDS:
            for coder, result in run_rounds(field, bound, args, TIMED).items():
                results[field.name, bound, coder] = result
    pathlib.Path(args.out).write_text(report(fields, large, results, args))
    draw(fields, results, args.picture)
    print(f"{args.out} and {args.picture} are written")


if __name__ == "__main__":
    main()
