#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""scaling_model.py: when compressing before writing saves time, from 1 node to 16,384, with a parallel file
system.

The rates under MEASURED come from measurements, which docs/scaling.md names; those under ASSUMED describe a
machine and are to be changed for another (every one is an option, --help).  Prints the tables of
docs/scaling.md in Markdown; --update FILE replaces what stands between its two marker lines.
"""
import argparse
import math
import sys

GB = 1e9
FRAME_NBYTES = 8192 * 4096 * 4  # of f32 values

MEASURED = {
    "core_rate": 0.77,  # GB/s of values that one core compresses, f32, relative 1e-3, reading and the range included, by an earlier version
    "pair_ns": 5.0,  # ns to intersect one rank's box with one frame, rounded up
}
ASSUMED = {
    "cores": 64,  # per node
    "gpu_rate": 50.0,  # GB/s of values from host memory through one GPU: its PCIe link, not its kernels, which are ten times as fast
    "node_gb": 16.0,  # GB of values per node and snapshot
    "node_write": 2.0,  # GB/s that one node gets into the file system
    "network": 10.0,  # GB/s that one node exchanges with others
    "exchanged": 0.5,  # share of the values that belong to another rank's frame: slabs 0, boxes of 2 x 2 x 2 about 7/8
    "alpha_us": 5.0,  # us for one hop of a collective
    "stripe_mb": 4.0,  # MB that the file system locks at once
    "lock_ms": 1.0,  # ms to hand such a lock over
    "open_ms": 20.0,  # ms to open one shared file, plus what follows for each doubling of nodes
}


def times(p, nodes, ratio, aggregate, gpu=False):
    """Seconds of each part of one snapshot; p holds the rates, aggregate the file system's GB/s."""
    values = p["node_gb"]  # GB per node
    bandwidth = min(p["node_write"], aggregate / nodes)  # GB/s that each node gets
    hops = math.ceil(math.log2(nodes)) if nodes > 1 else 0
    frames = max(1.0, values * GB / FRAME_NBYTES)  # per node
    metadata = (p["open_ms"] + hops) / 1e3
    # a piece's two ends share a stripe with its neighbours: two locks change hands
    locks = 2 * p["lock_ms"] / 1e3 if nodes > 1 else 0
    rate = p["gpu_rate"] if gpu else p["core_rate"] * p["cores"]
    part = {
        "raw": values / bandwidth + metadata + locks,
        "code": values / rate,
        "exchange": values * p["exchanged"] / p["network"] if nodes > 1 else 0,
        "write": values / ratio / bandwidth + metadata + locks,
        # range, box check, exclusive scan, agreement: a handful of collectives
        "collectives": 8 * hops * p["alpha_us"] / 1e6,
        # every rank looks at every rank's box for each of its frames, five times
        "boxes": 5 * nodes * frames * p["pair_ns"] / 1e9 if nodes > 1 else 0,
        # the frames' sizes go to one rank, which writes 8 bytes for each
        "footer": (nodes * 1e-6 + nodes * frames * 8 / GB / min(1.0, p["node_write"])) if nodes > 1 else 0,
        # what it would cost if every frame were placed and written by itself
        "by_frame": frames * (2 * hops * p["alpha_us"] / 1e6 + (2 * p["lock_ms"] / 1e3 if nodes > 1 else 0)),
    }
    part["total"] = sum(part[k] for k in ("code", "exchange", "write", "collectives", "boxes", "footer"))
    return part


def seconds(x):
    return "%.3g" % x


def tables(p):
    out = []
    emit = out.append
    systems = ((100, "100 GB/s"), (1000, "1 TB/s"), (5000, "5 TB/s"))
    emit("Seconds to write one snapshot of %g GB a node raw, and to compress and write it (ratio 10, %d cores a node; in brackets how many" % (p["node_gb"], p["cores"]))
    emit("times as fast), by the file system's aggregate bandwidth; a node writes at most %g GB/s:" % p["node_write"])
    emit("")
    emit("| nodes | " + " | ".join("raw, %s | compressed" % name for _, name in systems) + " |")
    emit("|---:|" + "---:|" * (2 * len(systems)))
    for nodes in (1, 2, 16, 128, 1024, 4096, 16384):
        row = ["%d" % nodes]
        for aggregate, _ in systems:
            t = times(p, nodes, 10, aggregate)
            row += [seconds(t["raw"]), "%s (%.2g)" % (seconds(t["total"]), t["raw"] / t["total"])]
        emit("| " + " | ".join(row) + " |")
    emit("")
    emit("How many times as fast, at 1024 nodes, by ratio and by the bandwidth that each node gets (aggregate / nodes):")
    emit("")
    shares = (0.05, 0.2, 1.0, 2.0)
    emit("| ratio | " + " | ".join("%g GB/s a node" % s for s in shares) + " | %g GB/s, GPU |" % shares[-1])
    emit("|---:|" + "---:|" * (len(shares) + 1))
    for ratio in (1.5, 3, 5, 10, 20, 50, 100):
        row = ["%g" % ratio]
        for share in shares:
            t = times(p, 1024, ratio, share * 1024)
            row.append("%.2g" % (t["raw"] / t["total"]))
        t = times(p, 1024, ratio, shares[-1] * 1024, gpu=True)
        row.append("%.2g" % (t["raw"] / t["total"]))
        emit("| " + " | ".join(row) + " |")
    emit("")
    emit("Where the time of a compressed snapshot goes (ratio 10, 1 TB/s), in seconds; the last column is what placing and writing each frame by itself")
    emit("would add, which the layout avoids:")
    emit("")
    keys = ("code", "exchange", "write", "collectives", "boxes", "footer", "by_frame")
    emit("| nodes | code | exchange | write | scan and reductions | box arithmetic | footer | frame by frame |")
    emit("|---:|" + "---:|" * len(keys))
    for nodes in (2, 128, 1024, 4096, 16384):
        t = times(p, nodes, 10, 1000)
        emit("| %d | " % nodes + " | ".join(seconds(t[k]) for k in keys) + " |")
    emit("")
    emit("A fixed field of 2 TB f32 (strong scaling, ratio 10, 1 TB/s): a frame is the smallest piece of work, so beyond its 14,902 frames more ranks")
    emit("have nothing to code, and what each writes comes near the size of a stripe (%g MB):" % p["stripe_mb"])
    emit("")
    emit("| nodes | frames a node | MB a node writes | raw | compressed |")
    emit("|---:|---:|---:|---:|---:|")
    for nodes in (16, 128, 1024, 4096, 16384):
        q = dict(p, node_gb=2000.0 / nodes)
        t = times(q, nodes, 10, 1000)
        frames = 2000 * GB / FRAME_NBYTES / nodes
        least = FRAME_NBYTES / GB / (p["core_rate"] * p["cores"])  # no node codes less than a frame
        total = t["total"] - t["code"] + max(t["code"], least)
        emit("| %d | %.1f | %.1f | %s | %s |" % (nodes, frames, 2e6 / nodes / 10, seconds(t["raw"]), seconds(total)))
    return "\n".join(out) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", metavar="FILE", help="replace the tables in FILE")
    for name, value in {**MEASURED, **ASSUMED}.items():
        parser.add_argument("--" + name.replace("_", "-"), type=float, default=value, help="default %g" % value)
    given = parser.parse_args()
    text = tables(vars(given))
    if not given.update:
        sys.stdout.write(text)
        return
    begin, end = "<!-- tables: tools/scaling_model.py -->\n", "<!-- end of tables -->\n"
    whole = open(given.update).read()
    before, rest = whole.split(begin)
    after = rest.split(end)[1]
    open(given.update, "w").write(before + begin + "\n" + text + "\n" + end + after)


main()
