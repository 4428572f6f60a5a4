# SPDX-License-Identifier: BSD-3-Clause
"""libcsz through ctypes: the structures and signatures of csz.h, csz_frames.h, csz_analyze.h and csz_cuda.h, and a context
for each thread.

ctypes releases the GIL for the length of every call, and one wheel serves every version of Python.  The
library is looked for in the environment variable CSZ_LIBRARY, then beside this file (where a wheel carries
it), then where the system keeps libraries.
"""

from __future__ import annotations

import ctypes as c
import os
import sys
import threading
from pathlib import Path
from typing import Any

from . import _errors

MAX_NDIM = 4
HEADER_MAX_NBYTES = 256
INTERFACE = (0, 1)  # CSZ_VERSION_MAJOR and MINOR that the structures below were written from

BOUND_MODES = ("abs", "rel", "psnr", "pwr")  # the position of a name is the number of csz.h
EXACT = 4
TARGETS = {"ratio": 64, "size": 65}  # for csz_compress alone; archives hold the absolute bound found
WORKFLOWS = ("auto", "huffman", "rle", "rle+vle")
PREDICTORS = ("lorenzo", "pyramid", "auto")
BACKENDS = ("auto", "cpu", "cuda")
DTYPES = ("float32", "float64")
CPU, CUDA = 1, 2


class Field(c.Structure):
    _fields_ = [("type", c.c_int), ("ndim", c.c_int), ("dims", c.c_uint64 * MAX_NDIM)]


class Options(c.Structure):
    _fields_ = [
        ("size", c.c_size_t),
        ("bound_mode", c.c_int),
        ("workflow", c.c_int),
        ("bound", c.c_double),
        ("predictor", c.c_int),
        ("backend", c.c_int),
        ("threads", c.c_int),
        ("zstd_level", c.c_int),
        ("has_fill", c.c_int),
        ("fill", c.c_double),
        ("metadata", c.c_void_p),
        ("metadata_nbytes", c.c_size_t),
        ("floor", c.c_double),
        ("unsigned_zeros", c.c_int64),
    ]


class DecompressOptions(c.Structure):
    _fields_ = [
        ("size", c.c_size_t),
        ("backend", c.c_int),
        ("threads", c.c_int),
        ("memory_limit", c.c_uint64),
    ]


class Info(c.Structure):
    _fields_ = [
        ("field", Field),
        ("bound_mode", c.c_int),
        ("workflow", c.c_int),
        ("bound", c.c_double),
        ("bound_abs", c.c_double),
        ("fill", c.c_double),
        ("has_fill", c.c_int),
        ("has_zstd", c.c_int),
        ("has_pyramids", c.c_int),
        ("nlevels", c.c_int),
        ("format_version", c.c_int),
        ("nelements", c.c_uint64),
        ("nbytes_field", c.c_uint64),
        ("nbytes_archive", c.c_uint64),
        ("nframes", c.c_uint64),
        ("ntiles", c.c_uint64),
        ("tile_dims", c.c_uint64 * 3),
        ("metadata_nbytes", c.c_uint64),
        ("floor", c.c_double),
    ]


LEVELS_MAX = 32


class TileCounts(c.Structure):
    _fields_ = [
        ("empty", c.c_uint64),
        ("constant", c.c_uint64),
        ("fill", c.c_uint64),
        ("mask8", c.c_uint64),
        ("quad", c.c_uint64),
        ("pair", c.c_uint64),
        ("single", c.c_uint64),
        ("rle", c.c_uint64),
        ("rle_vle", c.c_uint64),
        ("raw", c.c_uint64),
        ("sparse", c.c_uint64),
        ("masks", c.c_uint64),
        ("exceptions", c.c_uint64),
        ("nbytes_books", c.c_uint64),
        ("nbytes_index", c.c_uint64),
        ("nbytes_payload", c.c_uint64),
        ("npyramids", c.c_uint64),
        ("nbytes_level", c.c_uint64 * LEVELS_MAX),
        ("exact", c.c_uint64),
    ]


class Attribute(c.Structure):
    _fields_ = [("role", c.c_int), ("type", c.c_int), ("name", c.c_char_p), ("values", c.c_void_p), ("nbytes", c.c_uint64)]


class Metrics(c.Structure):
    _fields_ = [
        ("n", c.c_uint64),
        ("n_special", c.c_uint64),
        ("violations", c.c_uint64),
        ("special_violations", c.c_uint64),
        ("special_index", c.c_uint64),
        ("max_abs_index", c.c_uint64),
        ("max_abs_error", c.c_double),
        ("min", c.c_double),
        ("max", c.c_double),
        ("rmse", c.c_double),
        ("nrmse", c.c_double),
        ("psnr", c.c_double),
        ("max_pwr_error", c.c_double),
        ("max_pwr_index", c.c_uint64),
    ]


class Statistics(c.Structure):
    _fields_ = [
        ("p1", c.c_double),
        ("entropy", c.c_double),
        ("r_lower", c.c_double),
        ("r_upper", c.c_double),
        ("bits_lower", c.c_double),
        ("bits_upper", c.c_double),
        ("rle_advised", c.c_int),
    ]


class FillSuspect(c.Structure):
    _fields_ = [
        ("found", c.c_int),
        ("value", c.c_double),
        ("share", c.c_double),
        ("low", c.c_double),
        ("high", c.c_double),
        ("other", c.c_double),
        ("other_share", c.c_double),
        ("missing_share", c.c_double),
    ]


class FillOutlier(c.Structure):
    _fields_ = [("found", c.c_int), ("value", c.c_double), ("low", c.c_double), ("high", c.c_double), ("bound_abs", c.c_double)]


class FillCount(c.Structure):
    _fields_ = [("value", c.c_double), ("n", c.c_uint64)]


WATCH_NENDS, WATCH_NDISTINCT, WATCH_NFEW = 9, 26, 256


class FillWatch(c.Structure):
    _fields_ = [
        ("n", c.c_uint64),
        ("nmissing", c.c_uint64),
        ("low", FillCount * WATCH_NENDS),
        ("high", FillCount * WATCH_NENDS),
        ("distinct", c.c_double * WATCH_NDISTINCT),
        ("few", c.c_double * WATCH_NFEW),
        ("nlow", c.c_int),
        ("nhigh", c.c_int),
        ("ndistinct", c.c_int),
        ("nfew", c.c_int),
        ("is_exact", c.c_int),
        ("is_part", c.c_int),
        ("bound_mode", c.c_int),
        ("bound", c.c_double),
    ]


class ValueRange(c.Structure):
    _fields_ = [("has_values", c.c_int), ("min", c.c_double), ("max", c.c_double)]


class Target(c.Structure):
    _fields_ = [
        ("nbytes_wanted", c.c_uint64),
        ("bound", c.c_double),
        ("nbytes", c.c_uint64),
        ("ntrials", c.c_int),
        ("is_reached", c.c_int),
        ("is_close", c.c_int),
        ("is_done", c.c_int),
        ("min", c.c_double),
        ("max", c.c_double),
        ("has_low", c.c_int),
        ("has_high", c.c_int),
        ("nstays", c.c_int),
        ("stays_high", c.c_int),
        ("nprobes", c.c_int),
        ("exact", c.c_int),
        ("is_flat", c.c_int),
        ("is_last", c.c_int),
        ("ntried", c.c_int),
        ("low", c.c_int64),
        ("high", c.c_int64),
        ("least", c.c_int64),
        ("most", c.c_int64),
        ("next", c.c_int64),
        ("after_exact", c.c_int64),
        ("least_step", c.c_int64),
        ("nelements", c.c_uint64),
        ("nbytes_low", c.c_uint64),
        ("nbytes_high", c.c_uint64),
        ("slope", c.c_double),
        ("tried", c.c_int64 * 24),
        ("nbytes_tried", c.c_uint64 * 24),
    ]


class CudaResult(c.Structure):
    _fields_ = [("nbytes", c.c_uint64), ("status", c.c_uint32), ("faults", c.c_uint32)]


NCODES, NDISTANCES, REASON_NBYTES = 1024, 200, 768


class Madogram(c.Structure):
    _fields_ = [
        ("npairs", c.c_uint64 * NDISTANCES),
        ("absolute", c.c_double * NDISTANCES),
        ("binary", c.c_double * NDISTANCES),
        ("absolute_slope", c.c_double),
        ("absolute_intercept", c.c_double),
        ("binary_slope", c.c_double),
        ("binary_intercept", c.c_double),
        ("roughness", c.c_double),
        ("smoothness", c.c_double),
    ]


class WorkflowSize(c.Structure):
    _fields_ = [("nbytes_predicted", c.c_uint64), ("nbytes", c.c_uint64), ("error", c.c_double)]


class Analysis(c.Structure):
    _fields_ = [
        ("bound", c.c_double),
        ("bound_abs", c.c_double),
        ("min", c.c_double),
        ("max", c.c_double),
        ("nelements", c.c_uint64),
        ("nelements_counted", c.c_uint64),
        ("ntiles", c.c_uint64),
        ("ntiles_counted", c.c_uint64),
        ("nbytes_field", c.c_uint64),
        ("histogram", c.c_uint64 * NCODES),
        ("statistics", Statistics),
        ("p1_error", c.c_double),
        ("entropy_error", c.c_double),
        ("huffman_bits", c.c_double),
        ("rle_bits", c.c_double),
        ("rle_vle_bits", c.c_double),
        ("outlier_share", c.c_double),
        ("escape_share", c.c_double),
        ("exception_share", c.c_double),
        ("quanta", Madogram),
        ("codes", Madogram),
        ("workflow", WorkflowSize * 4),
        ("best_forced", c.c_int),
        ("best_is_undecided", c.c_int),
        ("rle_is_undecided", c.c_int),
        ("regret", c.c_double),
        ("is_exact", c.c_int),
        ("seconds", c.c_double),
        ("reason", c.c_char * REASON_NBYTES),
        ("predictor", WorkflowSize * 3),
        ("nframes", c.c_uint64),
        ("npyramids", c.c_uint64),
        ("has_pyramid", c.c_int),
        ("predictor_reason", c.c_char * REASON_NBYTES),
    ]


# Structures by their names in csz.h, csz_frames.h, csz_analyze.h and csz_cuda.h, for the test that compares their layout
# with the compiler's.
STRUCTURES: dict[str, type[c.Structure]] = {
    "csz_field": Field,
    "csz_options": Options,
    "csz_decompress_options": DecompressOptions,
    "csz_info": Info,
    "csz_tile_counts": TileCounts,
    "csz_metrics": Metrics,
    "csz_fill_suspect": FillSuspect,
    "csz_fill_outlier": FillOutlier,
    "csz_fill_count": FillCount,
    "csz_fill_watch": FillWatch,
    "csz_value_range": ValueRange,
    "csz_target": Target,
    "csz_attribute": Attribute,
    "csz_statistics": Statistics,
    "csz_madogram": Madogram,
    "csz_workflow_size": WorkflowSize,
    "csz_analysis": Analysis,
    "csz_cuda_result": CudaResult,
}

_u64s, _pointers, _sizes = c.POINTER(c.c_uint64), c.POINTER(c.c_void_p), c.POINTER(c.c_size_t)
_SIGNATURES: dict[str, tuple[Any, list[Any]]] = {
    "csz_context_create": (c.c_int, [c.POINTER(c.c_void_p)]),
    "csz_context_destroy": (None, [c.c_void_p]),
    "csz_context_backend": (c.c_int, [c.c_void_p]),
    "csz_context_fill_suspect": (None, [c.c_void_p, c.POINTER(FillSuspect)]),
    "csz_context_fill_outlier": (None, [c.c_void_p, c.POINTER(FillOutlier)]),
    "csz_context_target": (c.c_int, [c.c_void_p, c.POINTER(Target), c.c_size_t]),
    "csz_fill_watch_add": (
        c.c_int,
        [c.POINTER(FillWatch), c.c_void_p, c.c_uint64, c.c_uint64, c.c_int, c.c_uint64, c.POINTER(Options)],
    ),
    "csz_fill_watch_recount": (c.c_int, [c.POINTER(FillWatch), c.POINTER(ValueRange), c.c_int]),
    "csz_fill_watch_result": (None, [c.POINTER(FillSuspect), c.POINTER(FillWatch), c.c_int]),
    "csz_fill_watch_outlier": (None, [c.POINTER(FillOutlier), c.POINTER(FillWatch), c.POINTER(ValueRange), c.c_int]),
    "csz_status_string": (c.c_char_p, [c.c_int]),
    "csz_version_string": (c.c_char_p, []),
    "csz_options_init_sized": (None, [c.POINTER(Options), c.c_size_t]),
    "csz_decompress_options_init_sized": (None, [c.POINTER(DecompressOptions), c.c_size_t]),
    "csz_backend_built": (c.c_int, [c.c_int]),
    "csz_backend_available": (c.c_int, [c.c_int]),
    "csz_zstd_available": (c.c_int, []),
    "csz_cpu_isa": (c.c_char_p, []),
    "csz_compress_bound": (c.c_int, [c.POINTER(c.c_size_t), c.POINTER(Field), c.POINTER(Options)]),
    "csz_compress": (
        c.c_int,
        [c.c_void_p, c.c_void_p, c.c_size_t, c.POINTER(c.c_size_t), c.c_void_p, c.POINTER(Field), c.POINTER(Options)],
    ),
    "csz_metadata_write": (c.c_int, [c.c_void_p, c.c_size_t, c.POINTER(c.c_size_t), c.POINTER(Attribute), c.c_size_t]),
    "csz_metadata_check": (c.c_int, [c.c_char_p, c.c_size_t]),
    "csz_metadata_next": (c.c_int, [c.POINTER(Attribute), c.c_char_p, c.c_size_t, c.POINTER(c.c_size_t)]),
    "csz_inspect": (c.c_int, [c.POINTER(Info), c.c_size_t, c.c_void_p, c.c_size_t]),
    "csz_inspect_header": (c.c_int, [c.POINTER(Info), c.c_size_t, c.c_void_p, c.c_size_t]),
    "csz_decompress": (c.c_int, [c.c_void_p, c.c_void_p, c.c_size_t, c.c_void_p, c.c_size_t, c.POINTER(DecompressOptions)]),
    "csz_decompress_region": (
        c.c_int,
        [c.c_void_p, c.c_void_p, c.c_size_t, c.c_void_p, c.c_size_t, _u64s, _u64s, c.POINTER(DecompressOptions)],
    ),
    "csz_survey": (c.c_int, [c.c_void_p, c.POINTER(TileCounts), c.c_size_t, c.c_void_p, c.c_size_t]),
    "csz_level_field": (c.c_int, [c.POINTER(Field), c.POINTER(Info), c.c_int]),
    "csz_decompress_level": (
        c.c_int,
        [c.c_void_p, c.c_void_p, c.c_size_t, c.c_void_p, c.c_size_t, c.c_int, _u64s, _u64s, c.POINTER(DecompressOptions)],
    ),
    "csz_test": (c.c_int, [c.c_void_p, c.c_void_p, c.c_size_t, c.POINTER(DecompressOptions)]),
    "csz_compare": (
        c.c_int,
        [c.POINTER(Metrics), c.c_size_t, c.c_void_p, c.c_void_p, c.POINTER(Field), c.c_double, c.POINTER(Options)],
    ),
    "csz_cuda_compress_batch": (
        c.c_int,
        [
            c.c_void_p, c.c_size_t, _pointers, _sizes, c.c_void_p, _pointers,
            c.POINTER(Field), c.POINTER(Options), c.c_void_p, c.c_size_t, c.c_void_p,
        ],
    ),
    "csz_cuda_decompress_batch": (
        c.c_int,
        [
            c.c_void_p, c.c_size_t, _pointers, c.c_size_t, c.c_void_p, _pointers, _sizes, c.c_void_p,
            c.POINTER(Field), c.c_void_p, c.c_size_t, c.c_void_p,
        ],
    ),
    "csz_cuda_decompress_level_batch": (
        c.c_int,
        [
            c.c_void_p, c.c_size_t, _pointers, c.c_size_t, c.c_void_p, _pointers, _sizes, c.c_void_p,
            c.POINTER(Field), c.c_int, c.c_void_p, c.c_size_t, c.c_void_p,
        ],
    ),
    "csz_analyze": (
        c.c_int,
        [
            c.c_void_p, c.POINTER(Analysis), c.c_size_t, c.POINTER(c.c_double), c.c_size_t,
            c.c_void_p, c.POINTER(Field), c.POINTER(Options), c.c_int,
        ],
    ),
}  # fmt: skip


def _candidates() -> list[str]:
    given = os.environ.get("CSZ_LIBRARY")
    if given:
        return [given]
    name = "libcsz.dylib" if sys.platform == "darwin" else "libcsz.so"
    beside = Path(__file__).with_name(name)
    return [str(beside)] if beside.exists() else [f"{name}.0", name]


def _load() -> tuple[c.CDLL, str]:
    tried = []
    for name in _candidates():
        try:
            library = c.CDLL(name)
            break
        except OSError as error:
            tried.append(str(error))
    else:
        raise ImportError(
            "csz cannot load libcsz: " + "; ".join(tried) + ". Install the package with pip, which builds it, or name the file in CSZ_LIBRARY"
        )
    for symbol, (result, arguments) in _SIGNATURES.items():
        try:
            function = getattr(library, symbol)
        except AttributeError:
            raise ImportError(f"{name} has no {symbol}: it is not a libcsz that this package can use") from None
        function.restype = result
        function.argtypes = arguments
    version = library.csz_version_string().decode()
    if tuple(int(n) for n in version.split(".")[:2]) != INTERFACE:
        raise ImportError(f"{name} is libcsz {version}, and this package was written for {INTERFACE[0]}.{INTERFACE[1]}")
    return library, name


lib, path = _load()
version: str = lib.csz_version_string().decode()


def check(status: int, what: str = "") -> None:
    """Raises the exception of a status that is not 0; ``what`` says what was being done and what would
    help."""
    if status:
        message = lib.csz_status_string(status).decode()
        kind = _errors.BY_STATUS.get(status, _errors.Error)
        error = kind(f"{what}: {message}" if what else message)
        error.status = status
        raise error


class Context:
    """A csz_context.  Contexts of a parent process are left alone in a child: what CUDA made does not survive
    a fork."""

    def __init__(self) -> None:
        self.handle = c.c_void_p()
        self._pid = os.getpid()
        check(lib.csz_context_create(c.byref(self.handle)))

    def __del__(self, getpid: Any = os.getpid, destroy: Any = lib.csz_context_destroy) -> None:
        if getattr(self, "_pid", None) == getpid() and self.handle:
            destroy(self.handle)
            self.handle = c.c_void_p()


class _Local(threading.local):
    def __init__(self) -> None:
        self.contexts: dict[int | None, Context] = {}


_local = _Local()


def context(device: int | None = None) -> Context:
    """This thread's context: one for the CPU (None) and one for each CUDA device, whose scratch memory lies
    there."""
    if device not in _local.contexts:
        _local.contexts[device] = Context()
    return _local.contexts[device]


def free_scratch() -> None:
    """Gives back the scratch memory, on the host and on GPUs, that csz keeps for the calling thread between
    calls."""
    _local.contexts = {}


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=free_scratch)
