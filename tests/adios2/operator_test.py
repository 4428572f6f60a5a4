# SPDX-License-Identifier: BSD-3-Clause
"""operator_test.py PAGE: the operator in ADIOS2, by its Python interface: the Python of PAGE, then types,
ranks, several blocks, bounds, fill values and what is refused.  Prints a line for each and exits 1 if one
fails."""

import contextlib
import glob
import io
import os
import re
import subprocess
import sys

import adios2
import numpy as np

os.environ["CUDA_VISIBLE_DEVICES"] = ""  # so that backend=cuda is refused everywhere
PLUGIN = {"PluginName": "csz", "PluginLibrary": "csz_adios2"}
failures = 0


def check(is_right, what):
    global failures
    failures += not is_right
    print("ok  " if is_right else "FAIL", what)


def write(path, array, engine="BP5", nblocks=1, config=None, **parameters):
    """The array as blocks of rows, through the operator of the parameters or of a configuration file."""
    adios = adios2.Adios(config) if config else adios2.Adios()
    group = adios.declare_io("write")
    group.set_engine(engine)
    rows = len(array) // nblocks
    variable = group.define_variable("v", array, array.shape, [0] * array.ndim, (rows, *array.shape[1:]))
    if parameters:
        variable.add_operation(adios.define_operator("csz", "plugin", {**PLUGIN, **parameters}))
    with adios2.Stream(group, path, "w") as stream:
        stream.begin_step()
        for i in range(nblocks):
            stream.write("v", np.ascontiguousarray(array[i * rows : (i + 1) * rows]), array.shape, [i * rows] + [0] * (array.ndim - 1), (rows, *array.shape[1:]))
        stream.end_step()


def read(path):
    with adios2.FileReader(path) as reader:
        return reader.read("v")


def size(path):
    return sum(os.path.getsize(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)


def run_page(path):
    page = open(path).read()
    with open("adios2.xml", "w") as file:
        file.write(re.search(r"(?ms)^<!-- file: adios2.xml -->\n```text\n(.*?)^```\n", page)[1])
    for code, shown in re.findall(r"(?ms)^```python\n(.*?)^```\n```text\n(.*?)^```\n", page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, {})
        check(printed.getvalue() == shown, f"the page prints {shown.strip()!r}")


def main():
    run_page(sys.argv[1])
    smooth = np.sin(np.arange(96 * 50 * 40) * 1e-3).reshape(96, 50, 40)
    for dtype in ("float32", "float64"):
        for shape in ((192000,), (96, 2000), (96, 50, 40), (12, 8, 50, 40), (4, 3, 8, 50, 40)):
            array = smooth.reshape(shape).astype(dtype)
            write("a.bp", array, abs="1e-3")
            check(np.abs(read("a.bp") - array).max() <= 1e-3 and size("a.bp") < array.nbytes / 5, f"{dtype} of {shape} within the bound, five times smaller")
    array = smooth.astype("float32")
    for engine, blocks in (("BP4", 1), ("BP5", 3)):
        write("b.bp", array, engine, blocks, abs="1e-3", predictor="auto", threads="2")
        check(np.abs(read("b.bp") - array).max() <= 1e-3, f"{engine}, blocks: {blocks}")
    write("x.bp", array, config="adios2.xml")
    error = np.abs(read("x.bp") - array).max()
    check(0 < error <= 1e-3, "the page's configuration file")
    array[:, 10:12] = np.nan
    write("n.bp", array, rel="1e-4")
    restored = read("n.bp")
    check(np.nanmax(np.abs(restored - array)) <= 2e-4 and np.array_equal(np.isnan(restored), np.isnan(array)), "NaN and a relative bound")
    for parameters in ({}, {"fill": "1e20"}):
        holed = np.where(np.isnan(array), np.float32(1e20), array)
        write("f.bp", holed, rel="1e-4", **parameters)
        restored = read("f.bp")
        sea = holed < 1e19
        check(np.abs(restored - holed)[sea].max() <= 2e-4 and (restored[~sea] == holed[~sea]).all(), f"1e20 does not widen the range, {parameters}")
    two = smooth.astype("float32")
    two.flat[::97], two.flat[5] = 1e20, -9999
    for parameters in ({"rel": "1e-3"}, {"psnr": "60", "predictor": "pyramid", "workflow": "huffman", "unsigned_zeros": "true"}):
        write("t.bp", two, **parameters)
        check(read("t.bp").tobytes() == two.tobytes(), f"two fill values that nobody named: bit for bit, {parameters}")
    noise = np.random.default_rng(1).integers(0, 2**32, 100000, dtype="u4").view("f4")
    write("r.bp", noise, abs="1e-30")
    check(np.array_equal(read("r.bp").view("u4"), noise.view("u4")), "random bits, which grow, come back")

    for parameters, line in (
        ({}, "give exactly one of the parameters abs, rel, psnr and pwr"),
        ({"abs": "1", "rel": "1"}, "give exactly one of the parameters abs, rel, psnr and pwr"),
        ({"abs": "much"}, "the parameter abs is a number, not 'much'"),
        ({"abs": "-1"}, "the parameter abs is a positive finite number, not '-1'"),
        ({"abs": "1", "unsigned_zeros": "1"}, "the parameter unsigned_zeros is one of false, true, not '1'"),
        ({"abs": "1", "predictor": "best"}, "the parameter predictor is one of lorenzo, pyramid, auto, not 'best'"),
        ({"abs": "1", "threads": "1.5"}, "the parameter threads is a whole number of 0 to 65536, not '1.5'"),
        ({"abs": "1", "colour": "red"}, "there is no parameter 'colour'"),
        ({"abs": "1", "zstd": "23"}, "the parameter zstd is a whole number of 0 to 22, not '23'"),
        ({"abs": "1", "floor": "1"}, "the parameter floor goes with pwr alone"),
        ({"pwr": "0.1", "unsigned_zeros": "true"}, "the parameter unsigned_zeros does not go with pwr"),
        ({"abs": "1", "backend": "cuda"}, "the parameter backend: the backend is not available in this build or on this machine"),
    ):
        try:
            adios2.Adios().define_operator("csz", "plugin", {**PLUGIN, **parameters})
            told = "nothing"
        except RuntimeError as error:
            told = str(error)
        check(f"csz operator: {line}" in told, f"{parameters} is refused")

    # A damaged block: an exception, in a process of its own, since ADIOS2 may not survive it.
    write("d.bp", smooth.astype("float32"), abs="1e-3")
    with open("d.bp/data.0", "r+b") as file:
        file.seek(size("d.bp/") // 4)
        file.write(b"\xff" * 64)
    code = "import adios2\ntry:\n    adios2.FileReader('d.bp').read('v')\nexcept RuntimeError as error:\n    print(error, flush=True)\n"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    check("csz operator: " in told.stdout, "a damaged block is refused")
    for path in glob.glob(f"/tmp/*.bp_{os.getpid():x}_profiling.json"):  # readers of BP5 leave one there for each file
        os.remove(path)
    return 1 if failures else 0


sys.exit(main())
