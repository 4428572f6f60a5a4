#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Markdown tables from what csz-evaluate and csz-gpu-fields measured, beside the paper's numbers.  Standard
library alone.

    tables.py OUT.md JSONL...               docs/evaluation.md, and figures/ratios.svg beside it
    tables.py --paper-size OUT.md JSONL...  the same of fields at the paper's sizes, without what has one size
    tables.py --gpu JSONL...                the sections of a GPU, on standard output
    tables.py --share JSONL...              the time of an analysis over that of compressing, on standard output
"""
import json
import math
import os
import platform
import subprocess
import sys

import paper

BOUNDS = (1e-2, 1e-3, 1e-4)
NAMES = ("auto", "huffman", "rle", "rle+vle")
DATASETS = ("hacc", "cesm", "hurricane", "nyx", "rtm", "miranda", "qmcpack", "real")


def mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def number(x, digits=2):
    return "–" if x is None else f"{x:.{digits}f}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "|".join("---" if i == 0 else "---:" for i in range(len(head))) + "|"]
    lines += ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def ratio(record, nbytes):
    return record["nbytes"] / nbytes if nbytes else None


def bits(record, nbytes):
    return 8 * nbytes / record["n"]


def fit(xs, ys):
    """Least squares y = a + b x, and the correlation."""
    n, mx, my = len(xs), sum(xs) / len(xs), sum(ys) / len(ys)
    sxx, syy = sum((x - mx) ** 2 for x in xs), sum((y - my) ** 2 for y in ys)
    sxy = sum((x - mx) * (y - my) for x, y in zip(xs, ys))
    b = sxy / sxx
    return my - b * mx, b, sxy / math.sqrt(sxx * syy)


def key(r):
    return f"{r['dataset']}/{r['field']}"


def section_fields(fields):
    rows = [(key(r), r["source"], r["dims"], r["type"], f"{r['nbytes'] / 1e6:.1f}") for r in fields if r["bound"] == 1e-2]
    return "## Fields\n\n" + table(("field", "source", "dims", "type", "MB"), rows)


def section_commands():
    rows = (("a field's codes, entropy, Huffman length, runs, madograms; every workflow predicted, and why auto does what it does", "`csz analyze FILE -t f32 -d DIMS`; `--exact` for the truth, `--json` for all of it; csz_analyze"),
            ("what that takes against compressing, field by field", "`make share`"),
            ("the choice, the paper's two thresholds, reuse of books, every table of the paper", "`make evaluation`, this page; `FULL=1` for [the paper's sizes](../bench/results/paper-size.md); on a GPU `tools/gpu_evaluation` besides"),
            ("pyramids and `-p auto` beside Lorenzo, SZ3, SPERR and zfp: ratios, PSNR, speed; on a GPU; which levels previews have", "`make bench-ratio` ([results](../bench/results/2026-11-19-ratio.md), [picture](figures/psnr_over_bits.svg)); `make gpu-bench` ([results](../bench/results/2026-11-19-h200-compare.md)); `csz info ARCHIVE`"),
            ("the generated fields, and that they have the same bits everywhere", "`build/csz-fields list`; `build/csz-fields check bench/fields/checksums.txt`; published files instead: `SDRBENCH=FOLDER`"),
            ("pictures of one field and of all tables", "`csz-report`; of this run `build/evaluation/report.html`"),
            ("errors, PSNR, SSIM, autocorrelation and entropy of two fields", "`csz compare A B -t f32 -d DIMS`; csz_quality_measure"))
    return "## What shows it\n\n" + table(("what", "command"), rows)


def section_choice(fields):
    rows, worst, excess = [], -1.0, 0
    for r in fields:
        best = min(range(1, 4), key=lambda i: r["sizes"][i])
        regret = r["sizes"][0] / r["sizes"][best] - 1
        worst = max(worst, regret)
        excess += r["sizes"][0] > 1.01 * r["sizes"][best] + 256
        rows.append((key(r), f"{r['bound']:g}", *(number(ratio(r, s)) for s in r["sizes"]), NAMES[best], f"{100 * regret:+.2f}%"))
    text = "## The choice: auto against every forced workflow\n\n"
    text += (f"Ratios, every byte counted, and the size of `auto` over that of the best forced workflow (negative: smaller).  "
             f"{len(rows)} pairs of field and bound; `auto` exceeds the best by more than 1% + 256 bytes on **{excess}** of them, and by "
             f"{100 * worst:+.2f}% at the most.\n\n")
    return text + table(("field", "bound", *NAMES, "best forced", "auto over it"), rows)


def section_predictors(fields):
    """Fields of two dims and more: of one dim Lorenzo is the only predictor."""
    fields = [r for r in fields if "x" in r["dims"]]
    rows, worst = [], -1.0
    for r in fields:
        p = r["predictors"]
        over = p["sizes"][2] / min(p["sizes"][:2]) - 1
        worst = max(worst, over)
        said = f"{number(ratio(r, p['predicted'][2]))}, {100 * p['errors'][2]:.0f}%"
        rows.append((key(r), f"{r['bound']:g}", *(number(ratio(r, s)) for s in p["sizes"]), f"{100 * over:+.2f}%", said))
    means = [(f"**mean at {b:g}**", "", *(number(mean([ratio(r, r["predictors"]["sizes"][i]) for r in fields if r["bound"] == b])) for i in range(3)), "", "") for b in BOUNDS]
    text = "## Predictors: Lorenzo, the pyramid, and auto\n\n"
    text += (f"Ratios of `-p lorenzo` (the default), `-p pyramid` and `-p auto`, the size of `auto` over the smaller of both (at most {100 * worst:+.2f}%), and the ratio that an analysis predicts for it, with its standard error.  "
             "Every other table is of Lorenzo, the paper's predictor.\n\n")
    return text + table(("field", "bound", "lorenzo", "pyramid", "auto", "auto over the smaller", "predicted"), rows + means)


def section_rule(fields):
    """The paper's 1.09 on its own pipelines and on ours."""
    text = "## The paper's threshold of 1.09 bits\n\n"
    text += ("The rule: where the lower bound of the average Huffman length, H + R-, is at most 1.09, use run lengths.  For each pair of field and bound the sizes of the paper's own "
             "pipelines (its chunks, `bench/paper_huffman.c`) and of our forced workflows say which was smaller.  Cost: average excess in bits a value over the smaller of the two.\n\n")
    rows = []
    cases = (("the paper's, RLE", lambda r: (r["paper"]["qh"], r["paper"]["rle"])),
             ("the paper's, RLE+VLE", lambda r: (r["paper"]["qh"], r["paper"]["rle_vle"])),
             ("ours, rle", lambda r: (r["sizes"][1], r["sizes"][2])),
             ("ours, rle+vle", lambda r: (r["sizes"][1], r["sizes"][3])))
    for name, sizes in cases:
        data = [(r["bits_lower"], bits(r, sizes(r)[0]), bits(r, sizes(r)[1])) for r in fields if "paper" in r]

        def cost(t):
            return sum((s[2] if s[0] <= t else s[1]) - min(s[1:]) for s in data) / len(data)

        steps = [1 + 0.005 * i for i in range(0, 241)]
        best = min(steps, key=cost)
        flat = [t for t in steps if cost(t) <= cost(best) + 0.002]
        right = sum((s[0] <= 1.09) == (s[2] < s[1]) for s in data)
        rows.append((name, f"{sum(s[2] < s[1] for s in data)} of {len(data)}", f"{right} of {len(data)}", f"{cost(1.09):.4f}",
                     f"{best:.3f} ({min(flat):.3f} to {max(flat):.3f})", f"{cost(best):.4f}"))
    return text + table(("Huffman against", "runs are smaller", "1.09 decides right", "cost of 1.09", "best threshold (within 0.002 bits)", "its cost"), rows)


def section_smoothness(fields):
    text = "## Smoothness for a ratio of 32\n\n"
    text += ("The paper reads from its figure the smoothness (1 - mean binary variance of codes over distances 1 to 200) at which run lengths reach a ratio of 32, one bit a value of f32.  "
             "Regression over all pairs whose roughness is above 0: ln(bits a value) = a + b ln(roughness), where roughness = 1 - smoothness; and p1 against smoothness.\n\n")
    data = [r for r in fields if r["smoothness"] < 1 and r["p1"] > 0]
    rows = []
    for name, size in (("rle", lambda r: r["sizes"][2]), ("rle+vle", lambda r: r["sizes"][3]), ("auto", lambda r: r["sizes"][0]),
                       ("the paper's RLE", lambda r: r["paper"]["rle"]), ("the paper's RLE+VLE", lambda r: r["paper"]["rle_vle"])):
        use = [r for r in data if "paper" in r and bits(r, size(r)) > 0]
        a, b, c = fit([math.log(1 - r["smoothness"]) for r in use], [math.log(bits(r, size(r))) for r in use])
        rough = math.exp(-a / b)
        rows.append((name, len(use), f"{math.exp(a):.2f} · roughness^{b:.2f}", f"{c:.3f}", f"{1 - rough:.3f}"))
    text += table(("workflow", "pairs", "bits a value", "correlation", "smoothness for 1 bit (ratio 32)"), rows)
    a, b, c = fit([r["smoothness"] for r in data], [r["p1"] for r in data])
    text += f"\np1 = {a:.3f} + {b:.3f} · smoothness (correlation {c:.3f}, {len(data)} pairs).\n"
    return text


def section_qhg(fields):
    text = "## gzip on codes, Huffman, Huffman then gzip\n\n"
    text += "Geometric means of ratios per dataset; `q` codes of 16 bits, `h` Huffman, `g` gzip -6 through zlib; the paper's averages where the family is the same (its data, not ours).\n\n"
    rows = []
    for d in DATASETS:
        for b in BOUNDS:
            use = [r for r in fields if r["dataset"] == d and r["bound"] == b and "paper" in r]
            if not use:
                continue
            ours = [mean([ratio(r, r["paper"][k]) for r in use]) for k in ("qg", "qh", "qhg")]
            theirs = paper.QHG.get(d, {}).get(b, (None,) * 3)
            rows.append((d, f"{b:g}", *(number(x) for x in ours), number(mean([ratio(r, r["sizes"][0]) for r in use])), *(number(x) for x in theirs)))
    return text + table(("dataset", "bound", "qg", "qh", "qhg", "csz auto", "paper qg", "paper qh", "paper qhg"), rows)


def section_rle(fields):
    text = "## VLE, RLE and RLE+VLE per field at 1e-2\n\n"
    text += ("The paper's pipelines on our fields (runs of 16-bit codes and 16-bit counts; then both Huffman coded), gains over VLE, our forced workflows, and for CESM the paper's own ratios.\n\n")
    rows = []
    for r in fields:
        if r["bound"] != 1e-2 or "paper" not in r:
            continue
        p = r["paper"]
        vle, rle, both = (ratio(r, p[k]) for k in ("qh", "rle", "rle_vle"))
        theirs = paper.RLE.get(r["field"]) if r["dataset"] == "cesm" else None
        rows.append((key(r), number(ratio(r, p["qhg"])), number(vle), number(rle), f"{rle / vle:.2f}×", number(both), f"{both / vle:.2f}×",
                     *(number(ratio(r, s)) for s in r["sizes"]), " / ".join(map(str, theirs)) if theirs else "–"))
    return text + table(("field", "qhg", "VLE", "RLE", "gain", "RLE+VLE", "gain", "csz auto", "huffman", "rle", "rle+vle", "paper: qhg / VLE / RLE / RLE+VLE"), rows)


def section_speed(fields, machine, gpu):
    text = "## Throughput of both workflows\n\n"
    text += (f"On the CPU, {machine['threads']} threads ({platform.machine()}): GB/s of original data, best of three; stages are busy seconds summed over threads.  The machine was shared, so take these as lower bounds; "
             "`make bench` measures speed.\n\n")
    rows = []
    for d in DATASETS:
        for b in (1e-2, 1e-4):
            use = [r for r in fields if r["dataset"] == d and r["bound"] == b]
            if not use:
                continue
            row = [d, f"{b:g}"]
            for w in ("huffman", "rle_vle", "auto"):
                t = [r[f"time_{w}"] for r in use]
                row += [number(mean([r["nbytes"] / x[k] / 1e9 for r, x in zip(use, t)])) for k in ("compress", "decompress")]
            for w in ("huffman", "rle_vle"):
                row.append(number(mean([r["nbytes"] / max(1e-9, r[f"time_{w}"]["encode"]) / 1e9 for r in use])))
            rows.append(row)
    text += table(("dataset", "bound", "huffman compress", "decompress", "rle+vle compress", "decompress", "auto compress", "decompress",
                   "huffman encode stage", "rle+vle encode stage"), rows)
    return text + "\n" + gpu_speed(gpu)


def gpu_speed(records):
    """Throughput on a GPU, a table device to device beside the paper's and one host to host."""
    speed = [r for r in records if r["kind"] == "gpu_speed"]
    run = next((r for r in records if r["kind"] == "run"), None)
    workflows = (("huffman", "huffman"), ("rle_vle", "rle+vle"), ("auto", "auto"))
    of = {(r["dataset"], r["field"], r["bound"], r["workflow"]): r for r in speed}
    cases = [(r["dataset"], r["field"], r["bound"]) for r in speed if r["workflow"] == "auto"]
    if speed:
        text = (f"On {speed[0]['device']}{', recorded at commit ' + run['commit'] if run else ''}: GB/s of original data of one field at the paper's size, every value compared with the bound first.  All kernels of a call, device to device "
                "(CUDA events, median of 11, L2 emptied before each), which is what the paper calls overall; last, its own on an A100 with Huffman codes.\n\n")
        rows = []
        for case in cases:
            theirs = paper.OVERALL.get(case[0]) if case[2] == 1e-4 else None
            row = [f"{case[0]}/{case[1]}", f"{of[(*case, 'auto')]['nbytes'] / 1e6:.0f}", f"{case[2]:g}"]
            for w, _ in workflows:
                row += [number(of[(*case, w)]["ratio"], 1), number(of[(*case, w)]["compress"], 0), number(of[(*case, w)]["decompress"], 0)]
            rows.append((*row, f"{theirs[1]} / {theirs[3]}" if theirs else "–"))
        text += table(("field", "MB", "bound", *(h for _, w in workflows for h in (f"{w}: ratio", "compress", "decompress")), "paper: compress / decompress"), rows)
        text += "\nThe same calls host to host (pageable memory, best of three), compress / decompress: what the bus and the copies leave of it.\n\n"
        text += table(("field", "bound", *(w for _, w in workflows)),
                      [(f"{case[0]}/{case[1]}", f"{case[2]:g}", *(f"{of[(*case, w)]['host_compress']:.1f} / {of[(*case, w)]['host_decompress']:.1f}" for w, _ in workflows)) for case in cases])
    else:
        text = "On a GPU: `tools/gpu_evaluation` measures it, and `make evaluation` shows it here where there is one; what `make gpu-bench` measured on an H200 is in `bench/results`.\n"
    text += "\nThe paper's, overall at 1e-4 with Huffman codes:\n\n"
    text += table(("dataset", "V100 compress", "A100 compress", "V100 decompress", "A100 decompress"), [(d, *v) for d, v in paper.OVERALL.items()])
    text += "\nThe paper's RLE workflow (V100 kernel, overall; A100 kernel, overall; ratio):\n\n"
    return text + table(("field", "coder", "V100 kernel", "overall", "A100 kernel", "overall", "ratio"), [(n, *v) for n, pair in paper.RLE_SPEED.items() for v in pair])


def section_reconstruction(records, gpu):
    text = "## Reconstruction: naive against tuned\n\n"
    if records:
        text += ("On one CPU core: neighbour by neighbour, as in cuSZ, against partial sums along x, y, z, over sizes of chunk; GB/s of f32.  Paper: cuSZ / naive / tuned on V100, naive / tuned on A100.\n\n")
        rows = [(f"{r['rank']}-D", r["chunk"], number(r["nbytes"] / r["naive"] / 1e9), number(r["nbytes"] / r["tuned"] / 1e9), f"{r['naive'] / r['tuned']:.1f}×",
                 "{} / {} / {}, {} / {}".format(*paper.RECONSTRUCTION[r["rank"]])) for r in records]
        text += table(("rank", "chunk", "neighbours", "partial sums", "gain", "paper"), rows) + "\n"
    run = next((r for r in gpu if r["kind"] == "run"), None)
    gpu = [r for r in gpu if r["kind"] == "gpu_reconstruction"]
    if not gpu:
        return text + "The sweep over items a thread needs a GPU: `tools/gpu_evaluation` (nvcc) writes it, and `make evaluation` adds it here where there is one.\n"
    text += (f"On {gpu[0].get('device', 'the GPU')}{', recorded at commit ' + run['commit'] if run else ''}: chunk and items a thread (sequentiality) of the tuned kernel, GB/s of f32 written; "
             "naive is one item a thread through shared memory.  Codes are read as 16 bits, so a kernel may be faster than a copy of f32, which reads as much as it writes.\n\n")
    return text + table(("rank", "chunk", "kernel", "items a thread", "GB/s", "of a device copy"),
                        [(f"{r['rank']}-D", r["chunk"], r["how"], r["items"], f"{r['gbps']:.0f}", f"{100 * r['gbps'] / r['copy']:.0f}%") for r in gpu])


def section_quality(fields):
    text = "## Quality of `auto`\n\nPSNR in dB (20 log10(range / rmse)), least and mean per dataset; SSIM least; violations of the bound over all fields.\n\n"
    rows = []
    for d in DATASETS:
        for b in BOUNDS:
            use = [r for r in fields if r["dataset"] == d and r["bound"] == b and r.get("psnr") is not None]
            if use:
                psnr = [r["psnr"] for r in use]
                rows.append((d, f"{b:g}", f"{min(psnr):.1f}", f"{sum(psnr) / len(psnr):.1f}", f"{min(r['ssim'] for r in use):.6f}", sum(r["violations"] for r in use)))
    return text + table(("dataset", "bound", "PSNR least", "PSNR mean", "SSIM least", "violations"), rows)


def section_series(records):
    text = "## Reusing the previous snapshot's books\n\n"
    text += ("Four snapshots of one wave; payload coded with books of its own, of the first snapshot, and of the one before (every symbol given a code, so that any snapshot can be coded).  Last: the share of the "
             "CPU time of compressing that counting and building books take, which is what reuse saves.\n\n")
    rows = [(f"{r['bound']:g}", r["snapshot"], r["payload"], f"{100 * (r['payload_first'] / r['payload'] - 1):+.2f}%", f"{100 * (r['payload_before'] / r['payload'] - 1):+.2f}%",
             f"{100 * r['saved_share']:.0f}%") for r in records]
    return text + table(("bound", "snapshot", "payload, own books", "first's books", "books of the one before", "time saved"), rows)


def error_of(r, workflow):
    """Of the size predicted, relative to the true one."""
    return r["predicted"][workflow] / r["sizes"][workflow] - 1


def within(found, use):
    """How many lie within once and twice the error stated for them, by pairs of what is wrong and what is
    stated."""
    pairs = [found(r) for r in use]
    return [sum(abs(wrong) <= k * stated for wrong, stated in pairs) for k in (1, 2)]


def calibration(name, use, workflow=0):
    wrong = sorted(abs(error_of(r, workflow)) for r in use)
    stated = sorted(r["errors"][workflow] for r in use)
    # an error is stated as a share of what was predicted
    found = within(lambda r: (1 - r["sizes"][workflow] / r["predicted"][workflow], r["errors"][workflow]), use)
    return (name, len(use), f"{100 * wrong[len(wrong) // 2]:.1f}%", f"{100 * wrong[-1]:.0f}%", f"{100 * stated[len(stated) // 2]:.1f}%", *found)


def calibration_of_codes(name, use, key):
    wrong = sorted(abs(r[f"{key}_sampled"] - r[key]) for r in use)
    stated = sorted(r[f"{key}_error"] for r in use)
    found = within(lambda r: (r[f"{key}_sampled"] - r[key], r[f"{key}_error"]), use)
    return (name, len(use), f"{wrong[len(wrong) // 2]:.3f}", f"{wrong[-1]:.2f}", f"{stated[len(stated) // 2]:.3f}", *found)


def share(record, clock):
    return record[f"analyze{clock}"] / record[f"compress{clock}"]


QUARTER = 0.25  # of the time of compressing, what an analysis may take


def holds_from(shares):
    """The size from which on every field is under a quarter; None where the largest is not."""
    least = None
    for nbytes, x in sorted(shares, reverse=True):
        if x >= QUARTER:
            break
        least = nbytes
    return least


SHARES = (  # what is timed, threads, clock, and whether it has a column in the table of fields
    ("call of a warm context, one thread, CPU time", "warm", 1, "_cpu", "warm"), ("first call of a context, one thread, CPU time", "cold", 1, "_cpu", ""), ("call of a warm context, two threads, elapsed", "warm", 2, "", "two threads: warm"),
    ("first call, two threads, elapsed", "cold", 2, "", ""), ("command, one thread, elapsed", "command", 1, "", "command, elapsed"), ("command, one thread, CPU time", "command", 1, "_cpu", "command, CPU"),
    ("command, two threads, elapsed", "command", 2, "", ""))


def percent(x):
    return "–" if x is None else f"{100 * x:.1f}%"


def section_share(records):
    """Like with like: one bound, the largest of three for each field, and three bounds at once."""
    if not records:
        return ""
    found = {}
    for r in records:
        for name, what, threads, clock, _ in SHARES:
            if (r["what"], r["threads"]) == (what, threads):
                key_ = (r["field"], r["nbytes"], name, r["mode"], r["nbounds"])
                found[key_] = max(found.get(key_, 0), share(r, clock))
    fields = sorted({(n, f) for f, n, _, _, _ in found})
    text = ("Time of an analysis over that of compressing at the same bounds, as `make share` (`csz-evaluate --share`) measures it: library call against library call, and `csz analyze` against `csz compress`, which start a process, read a file, and write one "
            "and wait until it is on the disk.  Both take turns, medians of 15.  One bound: the largest share of 0.01, 0.001 and 0.0001.  Three: all of them in one analysis against three archives.  In brackets the size of the field from which on all here are under a quarter.  "
            "Where the machine was shared, what is elapsed tells less than CPU time.\n\n")
    rows = []
    for name, *_ in SHARES:
        for nbounds, say in ((1, ""), (3, ", three bounds")):
            row = [name + say]
            for mode in ("rel", "abs"):
                shares = [(n, found[f, n, name, mode, nbounds]) for n, f in fields if (f, n, name, mode, nbounds) in found]
                if not shares:
                    row += ["–", "–"]
                    continue
                least = holds_from(shares)
                row += [f"{100 * min(x for _, x in shares):.1f} to {100 * max(x for _, x in shares):.1f}%",
                        f"{sum(x < QUARTER for _, x in shares)} of {len(shares)} ({f'{least / 1e6:.1f} MB' if least else 'none'})"]
            rows.append(row)
    text += table(("what is timed", "relative bound", "under a quarter", "absolute bound", "under a quarter"), rows)
    columns = [(name, mode, f"{say}, {mode}" if mode == "rel" else mode) for name, _, _, _, say in SHARES if say for mode in ("rel", "abs")]
    rows = [(f, f"{n / 1e6:.1f}", *(percent(found.get((f, n, name, mode, 1))) for name, mode, _ in columns)) for n, f in fields]
    return text + "\n" + table(("field", "MB", *(say for _, _, say in columns)), rows) + "\n"


def section_share_once(fields):
    """What the evaluation itself measured, where the shares were not."""
    text = "Three bounds in one call, which share the pass for the range, against three archives of predictor auto: CPU time of one thread, a warm context, best of three.\n\n"
    once = [r for r in fields if r["bound"] == 1e-2]
    rows = []
    for low, high, name in ((0, 2.5e6, "below 2.5 MB"), (2.5e6, 4e6, "2.5 to 4 MB"), (4e6, 16e6, "4 to 16 MB"), (16e6, 1e30, "16 MB and more")):
        part = sorted(r["analyze_share"] for r in once if low <= r["nbytes"] < high)
        if part:
            rows.append((name, len(part), f"{100 * mean(part):.1f}%", f"{100 * part[-1]:.1f}%", f"{sum(x < QUARTER for x in part)} of {len(part)}"))
    return text + table(("fields", "number", "geometric mean", "most", "under a quarter"), rows) + "\n"


def section_analysis(fields, shares):
    text = "## The analysis itself\n\n" + section_share(shares)
    if not shares:
        text += section_share_once(fields)
    text += ("The size it predicts for `auto` against the true one, and the standard error it states: the errors' median and largest, the median stated, and how many truths lie within once and twice what is stated.  "
             "Then the same of the forced workflows, and of p1 and the entropy in bits.  How errors are found: [api.md](api.md#analysis).  `--exact` gives true sizes.\n\n")
    rows = [calibration(d, [r for r in fields if r["dataset"] == d]) for d in DATASETS if any(r["dataset"] == d for r in fields)]
    rows += [calibration(f"all at {b:g}", [r for r in fields if r["bound"] == b]) for b in BOUNDS]
    rows.append(calibration("all", fields))
    rows += [calibration(f"all, {name}", fields, i) for i, name in enumerate(("huffman", "rle", "rle+vle"), 1)]
    rows += [calibration_of_codes(f"all, {name}", fields, key_) for name, key_ in (("p1", "p1"), ("entropy", "entropy"))]
    text += table(("dataset", "pairs", "median error", "largest", "median stated", "within 1", "within 2"), rows)
    best = lambda r, sizes: min(range(1, 4), key=lambda i: r[sizes][i])
    wrong = [r for r in fields if best(r, "sizes") != best(r, "predicted")]
    advised = [r for r in fields if r["rle_advised_sampled"] != r["rle_advised"]]
    said = lambda use, what: f"{len(fields) - len(use)} of {len(fields)} pairs, and of the {len(use)} others the analysis says on {sum(r[what] for r in use)} that its sample does not decide (in all it says so on {sum(r[what] for r in fields)})"
    return (text + f"\nThe best forced workflow is predicted right on {said(wrong, 'best_undecided')}.  The paper's rule, H + R- <= 1.09, is answered right on {said(advised, 'rle_undecided')}.\n")


def draw_ratios(fields):
    """A picture of text: geometric-mean ratio at each bound, ours beside the paper's pipelines on the same
    fields."""
    series = (("the paper's Huffman (qh)", "#b9c3d0", lambda r: r["paper"]["qh"]), ("its RLE+VLE", "#8fa3bf", lambda r: r["paper"]["rle_vle"]),
              ("Huffman then gzip (qhg)", "#5f7fb0", lambda r: r["paper"]["qhg"]), ("csz auto", "#c9171e", lambda r: r["sizes"][0]))
    width, height, left, base, top = 720, 300, 46, 250, 44
    groups = []
    for b in BOUNDS:
        use = [r for r in fields if r["bound"] == b and "paper" in r]
        groups.append([mean([ratio(r, size(r)) for r in use]) or 0 for _, _, size in series])
    most = max(max(g) for g in groups) * 1.08
    y = lambda v: base - (base - top) * v / most
    count = len({key(r) for r in fields if "paper" in r})
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#333">',
           f'<rect width="{width}" height="{height}" fill="#fff"/>', f'<text x="{left}" y="18" font-size="14" font-weight="bold">Compression ratio, geometric mean over {count} fields</text>']
    step = 10 if most > 25 else 5
    for tick in range(0, int(most) + 1, step):
        out.append(f'<path d="M{left} {y(tick):.1f}H{width - 12}" stroke="#e2e2e2"/><text x="{left - 6}" y="{y(tick) + 4:.1f}" text-anchor="end" fill="#777">{tick}</text>')
    span = (width - 12 - left) / len(groups)
    bar = span * 0.8 / len(series)
    for i, (group, b) in enumerate(zip(groups, BOUNDS)):
        x = left + i * span + span * 0.1
        for k, value in enumerate(group):
            out.append(f'<rect x="{x + k * bar:.1f}" y="{y(value):.1f}" width="{bar - 3:.1f}" height="{base - y(value):.1f}" fill="{series[k][1]}"/>')
            out.append(f'<text x="{x + k * bar + (bar - 3) / 2:.1f}" y="{y(value) - 4:.1f}" text-anchor="middle" font-size="11">{value:.1f}</text>')
        out.append(f'<text x="{x + 2 * bar:.1f}" y="{base + 18}" text-anchor="middle">bound {b:g} of the range</text>')
    x = left
    for name, colour, _ in series:
        out.append(f'<rect x="{x}" y="{height - 22}" width="12" height="12" fill="{colour}"/><text x="{x + 17}" y="{height - 12}">{name}</text>')
        x += 42 + 6.6 * len(name)
    return "\n".join(out) + "\n</svg>\n"


def this_machine(machine, runs):
    """Commits and processor, as far as they can be told."""
    commit = ", ".join(dict.fromkeys(r["commit"] for r in runs if r["kind"] == "run")) or "unknown"
    name = platform.machine()
    try:
        listed = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
        model = next((line.split(":", 1)[1].strip() for line in listed.splitlines() if line.startswith("Model name")), "-")
        if model != "-":
            name += ", " + model
    except (OSError, subprocess.CalledProcessError):
        pass
    return f"commit {commit}; {name}, {machine['threads']} threads{', with a GPU' if machine.get('cuda') else ''}"


def read(paths):
    """All records; the GPU sweep's have no kind of their own, and a run's says what the rest of its file came
    from."""
    records = []
    for path in paths:
        try:
            lines = [json.loads(line) for line in open(path, encoding="utf-8") if line.startswith("{")]
        except OSError as error:
            sys.exit(f"tables.py: cannot read {path}: {error}")
        for r in lines:
            r.setdefault("kind", "gpu_reconstruction" if "rank" in r else "")
        records.append(lines)
    return records


def files_with(files, kind):
    """The records of the files that have some of a kind."""
    return [r for lines in files if any(r["kind"] == kind for r in lines) for r in lines]


def main():
    options = [a for a in sys.argv[1:] if a.startswith("--")]
    paths = [a for a in sys.argv[1:] if not a.startswith("--")]
    if options == ["--gpu"]:
        files = read(paths)
        print("# The evaluation's tables of a GPU\n\n## Throughput of both workflows\n\n" + gpu_speed(files_with(files, "gpu_speed")) + "\n" + section_reconstruction([], files_with(files, "gpu_reconstruction")))
        return
    if options == ["--share"]:
        print(section_share([r for lines in read(paths) for r in lines]), end="")
        return
    is_paper = options == ["--paper-size"]
    if len(paths) < 2 or (options and not is_paper):
        sys.exit(__doc__)
    files = read(paths[1:])
    of = lambda kind: [r for lines in files for r in lines if r["kind"] == kind]
    fields, machine = sorted(of("field"), key=lambda r: (*DATASETS, r["dataset"]).index(r["dataset"]) if is_paper else 0), of("machine")[0]
    stand_ins = "Bounds are relative to the value range.  Generated fields are stand-ins for the paper's datasets (`bench/fields`)"
    this = f"This run: {this_machine(machine, files_with(files, 'machine'))}; scale {machine['scale']}, {len(fields)} pairs of field and bound."
    if is_paper:
        parts = [f"# Evaluation at the paper's sizes\n\nMade by `make evaluation FULL=1` from what csz-evaluate measured: do not edit; what it means is in [design.md](../../docs/design.md), the same tables for more fields of a few MB in [evaluation.md](../../docs/evaluation.md).  {stand_ins}, "
                 f"all of CESM and one or two fields of each other family (`FULL=all`: every field); published ones are used where `SDRBENCH=FOLDER` is given.  gzip runs over all codes.  {this}\n",
                 section_choice(fields), section_predictors(fields), section_rule(fields), section_smoothness(fields), section_qhg(fields), section_rle(fields), section_speed(fields, machine, files_with(files, "gpu_speed")), section_quality(fields), section_analysis(fields, []), section_fields(fields)]
    else:
        parts = [f"# Evaluation\n\nMade by `make evaluation` from what csz-evaluate measured: do not edit; the text about what it means is in [design.md](design.md).  {stand_ins}, at reduced sizes: the tables at the paper's sizes, `FULL=1`, are in "
                 f"[bench/results](../bench/results/paper-size.md); real fields are those of `bench/fields.txt`; published ones are used where `SDRBENCH=FOLDER` is given.  {this}\n\n![ratios](figures/ratios.svg)\n",
                 section_commands(), section_choice(fields), section_predictors(fields), section_rule(fields), section_smoothness(fields), section_qhg(fields), section_rle(fields), section_speed(fields, machine, files_with(files, "gpu_speed")),
                 section_reconstruction(of("reconstruction"), files_with(files, "gpu_reconstruction")), section_quality(fields), section_series(of("series")), section_analysis(fields, of("share")), section_fields(fields)]
    with open(paths[0], "w", encoding="utf-8") as out:
        text = "\n".join(p for p in parts if p)
        out.write(text.replace("](design.md)", "](../../docs/design.md)").replace("](api.md", "](../../docs/api.md") if is_paper else text)
    if is_paper:
        return
    figures = os.path.join(os.path.dirname(paths[0]), "figures")
    os.makedirs(figures, exist_ok=True)
    with open(os.path.join(figures, "ratios.svg"), "w", encoding="utf-8") as out:
        out.write(draw_ratios(fields))


if __name__ == "__main__":
    main()
