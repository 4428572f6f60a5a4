# SPDX-License-Identifier: BSD-3-Clause
"""report_test.py CSZ_REPORT: what csz-report keeps, what it takes from its input, and which way up it draws.
In the current folder."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import stat
import sys

import numpy as np

script = sys.argv[1]
loader = importlib.machinery.SourceFileLoader("csz_report", script)
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("csz_report", loader))
loader.exec_module(module)
module.load_libraries()
n_failed = 0


def holds(name, found, detail=""):
    global n_failed
    n_failed += not found
    print(f"{'ok   ' if found else 'FAIL '} {name}{'' if found else f': {detail}'}")


def report(*arguments):
    """As a call of the script, without its second to import matplotlib: exit status and what is printed."""
    sys.argv = [script, *arguments]
    status, said = 0, io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            module.main()
        except SystemExit as end:
            status = end.code
            if isinstance(status, str):
                print(status)
    return status, said.getvalue()


@contextlib.contextmanager
def blank_pictures():
    """Where other properties than the pictures are tried: to draw them takes nearly all of the time."""
    figure = module.plt.Figure
    drawn = figure.savefig
    figure.savefig = lambda self, target, **_: target.write(b"a picture")
    try:
        yield
    finally:
        figure.savefig = drawn


def works(name, *arguments):
    status, said = report(*arguments)
    holds(name, status == 0, said)


def refuses(name, text, *arguments):
    status, said = report(*arguments)
    holds(name, status != 0 and text in said and said.count("\n") == 1, said)


rng = np.random.default_rng(1)
field = np.cumsum(rng.normal(size=(6, 12, 20)), axis=2).astype("<f8")
field.tofile("a.raw")
(field + 1e-3).tofile("b.raw")
np.save("a.npy", field)
record = {"command": "compare", "input": "a.raw", "output": "b.raw", "type": "f64", "dims": [6, 12, 20], "error_histogram": [1, 2, 1], "histogram_limit": 0.1}
json.dump(record, open("compare.json", "w"))
other = {"command": "compress", "input": "c.raw", "type": "f32", "dims": [7], "ratio": 2, "bound": 1, "bits_per_value": 4}
json.dump(other, open("others.json", "w"))
json.dump({**record, "dims": [72, 4, 5, 1]}, open("folded.json", "w"))
both = ["--original", "a.raw", "--restored", "b.raw"]

# ---- Type and dims ----
works("type and dims are the JSON's", "-o", "report.html", *both, "compare.json")
with blank_pictures():
    works("or those given", "-o", "given.html", *both, "-t", "f64", "-d", "6x12x20")
    os.link("a.raw", "a.f64")
    works("a name in .f64 tells the type", "-o", "suffix.html", "--original", "a.f64", "--restored", "b.raw", "-d", "6x12x20")
    works(".npy tells its own", "-o", "npy.html", "--original", "a.npy", "--restored", "a.npy")
    open("two.json", "w").write(json.dumps(record) + "\n" + json.dumps(other) + "\n")
    works("of several records the one of the field", "-o", "two.html", *both, "two.json")
refuses("dims that the JSON contradicts", "a.raw is 6x12x20 of f64 by the JSON, unlike -t and -d; leave those out", "-o", "x.html", *both, "-d", "12x6x20", "compare.json")
refuses("with a type, too", "unlike -t and -d", "-o", "x.html", *both, "-t", "f64", "-d", "12x6x20", "compare.json")
refuses("and a type", "unlike -t and -d", "-o", "x.html", *both, "-t", "f32", "two.json")
with blank_pictures():
    works("dims that agree", "-o", "agree.html", *both, "-d", "6x12x20", "two.json")
    works("as an archive folds them", "-o", "folded.html", *both, "-d", "6x12x4x5x1", "-t", "f64", "folded.json")
    works("the JSON of other fields contradicts none", "-o", "others.html", *both, "-t", "f64", "-d", "12x6x20", "others.json")
refuses("without any the options are named", "give -t and -d", "-o", "x.html", *both)
refuses("wrong dims are told with both sizes", "has 11520 bytes, and 6x12x21 of f64 are 12096", "-o", "x.html", *both, "-t", "f64", "-d", "6x12x21")
refuses("fields of different dims", "give two fields of the same dims", "-o", "x.html", "--original", "a.npy", "--restored", "b.raw", "-t", "f64", "-d", "72x20")
json.dump({"command": "analyze", "analysis_mode": "exact", "dims": [7], "nbytes_in": 28, "bounds": [{"bound": 0}]}, open("exact.json", "w"))
refuses("an analysis of an exact archive", "give an analysis with a bound", "-o", "x.html", "exact.json")
holds("a refusal writes nothing", not os.path.exists("x.html"))

refuses("-t float64 is f64, as of csz", "6x12x21 of f64 are 12096", "-o", "x.html", *both, "-t", "float64", "-d", "6x12x21")
status, said = report("-o", "x.html", *both, "-t", "int8", "-d", "6x12x20")
holds("-t int8 is refused", status == 2 and "-t/--type: invalid type, f32 or f64, value: 'int8'" in said, said)

# ---- Fields with nothing to see ----
constant, missing = np.full((5, 7), 0.1), np.full((5, 7), np.nan)
one_infinite = constant.copy()
one_infinite[2, 3] = np.inf
fields = {
    "a constant": (np.ones((5, 7)), np.ones((5, 7))),
    "an infinity in a constant come back rough": (one_infinite, one_infinite + field[0, :5, :7]),
    "only NaN": (missing, missing),
    "one element": (np.ones(1, "f4"), np.ones(1, "f4")),
}
for name, arrays in fields.items():
    np.save("p.npy", arrays[0])
    np.save("q.npy", arrays[1])
    status, said = report("-f", "-o", "plain.html", "--original", "p.npy", "--restored", "q.npy")
    holds(f"{name} has a page", status == 0 and "plain.html: 2 pictures" in said and said.count("\n") == 1, said)
titles = [axis.get_title() for axis in module.draw_slices(missing, constant, None).axes[:3]]
holds("what has no value says so", titles == ["original: no finite values", "restored", "restored - original: no finite values"], titles)
legend = module.draw_slices(missing[0], missing[0], None).axes[0].get_legend_handles_labels()[1]
holds("in one dim, too", legend == ["original: no finite values", "restored: no finite values"], legend)
spectra = [module.draw_spectrum(x, x).axes[0].texts[0].get_text() for x in (constant, missing, np.ones(1))]
holds("and why there is no spectrum", spectra == ["no spectrum: all values are equal or missing"] * 2 + ["no spectrum: too few elements"], spectra)
np.save("p.npy", np.zeros((0, 4)))
refuses("no elements at all", "p.npy has no elements", "-o", "x.html", "--original", "p.npy", "--restored", "p.npy")
holds("have no page", not os.path.exists("x.html"))
module.plt.close("all")

# ---- What is there already ----
open("report.html", "w").write("old")
refuses("an existing report is kept", "report.html exists and is kept; give -f", *both, "compare.json")
holds("as it was", open("report.html").read() == "old")
works("-f replaces it", "-f", *both, "compare.json")
holds("whole", open("report.html").read().endswith("\n") and len(open("report.html").read()) > 1000)
with blank_pictures():
    os.umask(0o027)
    works("--png", "-o", "first.html", "--png", "pictures", *both, "compare.json")
    holds("the umask decides on permissions", stat.S_IMODE(os.stat("first.html").st_mode) == 0o640)
    refuses("an existing picture is kept", "exists and is kept", "-o", "second.html", "--png", "pictures", *both, "compare.json")
    holds("and no report is written then", not os.path.exists("second.html"))
    works("a device is written in place", "-o", "/dev/null", *both, "compare.json")
    holds("and stays one", stat.S_ISCHR(os.stat("/dev/null").st_mode))
    holds("no temporary is left", not [n for n in os.listdir() + os.listdir("pictures") if n.startswith(".")], os.listdir())

# ---- Names ----
holds("a dataset's groups tell it from others", module.name_of({"input": "data/run.nc:/flow/T"}) == "run.nc:flow/T")
holds("a file's folder does not", module.name_of({"input": "data/T.f32"}) == "T.f32")

# ---- Datasets ----
try:
    import h5py
except ImportError:
    print("left out: datasets; h5py is not here")
else:
    latitude = np.linspace(-80, 80, 12)
    with h5py.File("run.nc", "w") as file:
        for group, rows, units in (("south", latitude, "degrees_north"), ("north", latitude[::-1], "degrees_north"), ("level", latitude, "m")):
            dataset = file.create_dataset(f"{group}/T", data=np.where(field > 9, 1e20, field))
            dataset.attrs["_FillValue"] = np.array([1e20])
            scale = file.create_dataset(f"{group}/y", data=rows)
            scale.attrs["units"] = units
            scale.make_scale("y")
            dataset.dims[1].attach_scale(scale)
        file["whole"] = np.arange(4)
    names = {g: ["--original", f"run.nc:{g}/T", "--restored", f"run.nc:/{g}/T"] for g in ("south", "north", "level")}
    works("a dataset tells type and dims", "-o", "south.html", *names["south"])
    for group, wanted in (("south", False), ("north", True), ("level", None)):
        holds(f"rows from the {group}: {wanted}", module.read_field(f"run.nc:{group}/T", None).north_first is wanted)
    pictures = [module.draw_slices(field, field, None, n).axes[0].images[0].origin for n in (False, True, None)]
    holds("north is above, and without a latitude the first row", pictures == ["lower", "upper", "upper"], pictures)
    holds("its fill value is taken", module.read_field("run.nc:south/T", None).fill == 1e20)
    refuses("a dataset that is not there", "has no dataset", "-o", "x.html", "--original", "run.nc:nowhere", "--restored", "run.nc:south/T")
    refuses("integers", "give a dataset of 32- or 64-bit floats", "-o", "x.html", "--original", "run.nc:whole", "--restored", "run.nc:whole")
    refuses("an HDF5 file without a dataset's name", "run.nc:NAME", "-o", "x.html", "--original", "run.nc", "--restored", "run.nc")

sys.exit(n_failed > 0)
