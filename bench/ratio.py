#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What `make bench-ratio` runs: ratios and PSNR of csz beside SZ3, SPERR and zfp at the same absolute bound, in one run.

Peers come from PyPI: pysz (SZ3), hdf5plugin (SPERR, zfp).  Every field of a list is compressed by every coder at bounds
relative to its range.  All restored values are compared with the bound, in double.  csz restores missing values bit for bit;
peers, which know none, get the value before them in order of index, and these places do not count for their errors.
csz and SZ3 are timed on one thread, in memory, coders taking turns; SPERR and zfp run inside HDF5 and are not timed.

Writes a report in Markdown and a picture of bits a value over PSNR, one panel a field.
"""
import argparse
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
# One field of each kind of csz-fields, where there is no folder of real ones.
GENERATED = ("hacc/vx", "cesm/CLDHGH", "cesm/TREFHT", "hurricane/U", "nyx/baryon_density", "rtm/snapshot2800",
             "miranda/density", "qmcpack/einspline")  # fmt: skip


class Field:
    def __init__(self, path, dims, dtype, fill, name):
        self.path, self.dims, self.name, self.fill = path, dims, name, fill
        self.shape = tuple(map(int, dims.split("x")))
        self.values = np.fromfile(path, dtype="<" + dtype.replace("f32", "f4").replace("f64", "f8")).reshape(self.shape)
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


class Result:
    """Bytes and errors of one coder; seconds of compressing and restoring where it was timed."""

    def __init__(self, nbytes, field, error, psnr, seconds=None):
        self.ratio, self.bits = field.values.nbytes / nbytes, 8 * nbytes / field.values.size
        self.error, self.psnr, self.seconds = error, psnr, seconds


def compared(field, restored, nbytes, seconds=None):
    difference = np.abs(restored.astype("f8") - field.plain.astype("f8"))[~field.missing]
    rmse = math.sqrt(np.mean(difference**2))
    return Result(nbytes, field, difference.max(), 20 * math.log10(field.range / rmse) if rmse else math.inf, seconds)


def run_csz(field, bound, predictor, repeat, args):
    command = [args.csz, "bench", field.path, "-t", f"f{8 * field.values.itemsize}", "-d", field.dims, "-m", "abs", "-e", repr(bound),
               "-p", predictor, "-b", "cpu", "-j", "1", "--repeat", str(repeat), "--json"]  # fmt: skip
    if field.fill != "-":
        command += ["--fill", field.fill]
    told = json.loads(subprocess.check_output(command))  # fails unless every value keeps the bound
    psnr = math.inf if told["psnr"] is None else told["psnr"]
    seconds = told["compress"]["seconds"], told["decompress"]["seconds"]
    return Result(told["nbytes_out"], field, told["max_abs_error"], psnr, seconds)


def run_sz3(field, bound, repeat):
    times = []
    for _ in range(repeat):
        config = pysz.szConfig(field.shape)
        config.errorBoundMode, config.absErrorBound = pysz.szErrorBoundMode.ABS, bound
        start = time.perf_counter()
        packed, _ = pysz.sz.compress(field.plain, config)
        middle = time.perf_counter()
        restored, _ = pysz.sz.decompress(packed, field.values.dtype.type, field.shape)
        times.append((middle - start, time.perf_counter() - middle))
    seconds = tuple(sorted(t[i] for t in times)[len(times) // 2] for i in range(2))
    return compared(field, restored, packed.nbytes, seconds)


def run_filter(field, options, most_dims=4):
    """A coder of hdf5plugin: the field is one chunk of a file in memory, of more dims than the coder takes the slowest as one."""
    values = field.plain if field.plain.ndim <= most_dims else field.plain.reshape(-1, *field.shape[1 - most_dims :])
    with h5py.File("memory.h5", "w", driver="core", backing_store=False, rdcc_nbytes=0) as file:  # no cache: what is read was restored
        dataset = file.create_dataset("field", data=values, chunks=values.shape, compression=options)
        file.flush()
        return compared(field, dataset[()].reshape(field.shape), dataset.id.get_storage_size())


def run(coder, field, bound, repeat, args):
    if coder == "SZ3":
        return run_sz3(field, bound, repeat)
    if coder == "SPERR":  # of two or three dims
        return run_filter(field, hdf5plugin.Sperr(absolute=bound, swap=True), 3) if len(field.shape) > 1 else None
    if coder == "zfp":
        return run_filter(field, hdf5plugin.Zfp(accuracy=bound))
    return run_csz(field, bound, coder.split()[1], repeat, args)


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


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def table(header, rows):
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in [header, *rows]]
    return [lines[0], "|---|" + "---:|" * (len(header) - 1), *lines[1:], ""]


def report(fields, results, args):
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip() or "unknown"
    cpu = next((line.split(": ")[1] for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine()).strip()
    lines = ["# Ratios beside SZ3, SPERR and zfp", "",
             f"{time.strftime('%Y-%m-%d')}, commit {commit}, {cpu}, pysz {version('pysz')}, hdf5plugin {version('hdf5plugin')}. "
             f"Made by `make bench-ratio`: `{shlex.join(['bench/ratio.py', *sys.argv[1:]])}`.", "",
             "Bounds are relative to the value range and the same absolute number for all coders. Every restored value was compared "
             "with it. `*`: the largest error, over the bound, is above 1. Missing values: csz restores them bit for bit; for "
             "peers they are replaced by the value before them and do not count. csz also keeps the sign of -0.0.", ""]  # fmt: skip
    for bound in TABLE_BOUNDS:
        at = {(f.name, c): results[f.name, bound, c] for f in fields for c in CODERS}
        rows = []
        for field in fields:
            row = [field.name]
            for coder in CODERS:
                one = at[field.name, coder]
                broken = one and one.error > field.range * bound
                row.append("-" if not one else f"{one.ratio:.2f}" + (f" * {one.error / (field.range * bound):.6g}" if broken else ""))
            best = max(at[field.name, peer].ratio for peer in PEERS if at[field.name, peer])
            row += [f"{at[field.name, 'csz auto'].psnr:.1f}", f"{at[field.name, 'SZ3'].psnr:.1f}",
                    f"{at[field.name, 'csz auto'].ratio / at[field.name, 'SZ3'].ratio:.2f}", f"{best:.2f}"]  # fmt: skip
            rows.append(row)
        means = [f"{mean([at[f.name, c].ratio for f in fields]):.2f}" if all(at[f.name, c] for f in fields) else "" for c in CODERS]
        best = mean([max(at[f.name, peer].ratio for peer in PEERS if at[f.name, peer]) for f in fields])
        over = mean([at[f.name, "csz auto"].ratio / at[f.name, "SZ3"].ratio for f in fields])
        rows.append(["**geometric mean**", *means, "", "", f"{over:.2f}", f"{best:.2f}"])
        header = ["field", *CODERS, "PSNR auto", "PSNR SZ3", "auto / SZ3", "best peer"]
        lines += [f"## Relative {bound:g}", ""] + table(header, rows)
    lines += ["## Speed, one thread", "", f"MB of the field a second, in memory, geometric means over all fields, median of {args.repeat}.", ""]
    rows = []
    for bound in TABLE_BOUNDS:
        for i, way in enumerate(("compress", "decompress")):
            speed = [mean([f.values.nbytes / 1e6 / results[f.name, bound, c].seconds[i] for f in fields]) for c in TIMED]
            rows.append([f"{way}, {bound:g}", *[f"{s:.0f}" for s in speed], f"{speed[2] / speed[3]:.2f}"])
    lines += table(["", *TIMED, "pyramid / SZ3"], rows)
    return "\n".join(lines)


def version(package):
    from importlib.metadata import version as find

    return find(package)


def draw(fields, results, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(4, len(fields))
    figure, axes = pyplot.subplots(-(-len(fields) // columns), columns, figsize=(4 * columns, 3 * -(-len(fields) // columns)), squeeze=False)
    styles = dict(zip(CODERS, (("C3", "-"), ("C0", ":"), ("C1", ":"), ("C2", "-"), ("C4", "-"), ("C7", "-"))))
    for panel, field in zip(axes.flat, fields):
        for coder in CODERS:
            points = [results[field.name, bound, coder] for bound in PICTURE_BOUNDS]
            points = [p for p in points if p and math.isfinite(p.psnr)]
            colour, line = styles[coder]
            panel.plot([p.bits for p in points], [p.psnr for p in points], line, color=colour, marker=".", label=coder)
        panel.set(title=field.name, xscale="log", xlabel="bits a value", ylabel="PSNR, dB")
        panel.xaxis.set_major_formatter("{x:g}")
        panel.xaxis.set_minor_formatter("")
        panel.grid(alpha=0.3)
    for panel in list(axes.flat)[len(fields) :]:
        panel.axis("off")
    axes.flat[0].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csz", default="build-cpu/csz")
    parser.add_argument("--generator", default="build-cpu/csz-fields", help="csz-fields, for generated fields")
    parser.add_argument("--data", help="folder with the fields of --fields; without it fields are generated")
    parser.add_argument("--fields", default="bench/fields.txt", help="names, dims, types and fill values")
    parser.add_argument("--scale", default="small", help="of generated fields: tiny, small or paper")
    parser.add_argument("--only", help="fields whose name has this in it")
    parser.add_argument("--repeat", type=int, default=3, help="runs of which the median is timed")
    parser.add_argument("--out", default="build-cpu/ratio.md")
    parser.add_argument("--picture", default="build-cpu/ratio.svg", help=".svg or .png")
    args = parser.parse_args()
    fields, results = read_fields(args), {}
    for field in fields:
        for bound in sorted({*TABLE_BOUNDS, *PICTURE_BOUNDS}, reverse=True):
            repeat = args.repeat if bound in TABLE_BOUNDS else 1
            for coder in CODERS:
                results[field.name, bound, coder] = run(coder, field, float(bound * field.range), repeat, args)
            if bound in TABLE_BOUNDS:
                print(f"{field.name}, {bound:g}: " + ", ".join(
                    f"{c} {results[field.name, bound, c].ratio:.1f}" for c in CODERS if results[field.name, bound, c]), flush=True)  # fmt: skip
    pathlib.Path(args.out).write_text(report(fields, results, args))
    draw(fields, results, args.picture)
    print(f"{args.out} and {args.picture} are written")


if __name__ == "__main__":
    main()
