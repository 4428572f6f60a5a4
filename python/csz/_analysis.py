# SPDX-License-Identifier: BSD-3-Clause
"""csz.analyze: how a field would compress under some bounds, and why."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from typing import Any, Sequence, TypeVar, overload

import numpy as np

from . import _arguments, _arrays, _cuda, _errors, _library


@dataclass(frozen=True)
class Statistics:
    """The paper's statistics of a histogram of codes; see csz_analyze.h."""

    p1: float
    entropy: float
    r_lower: float
    r_upper: float
    bits_lower: float
    bits_upper: float
    rle_advised: bool


@dataclass(frozen=True)
class Madogram:
    """How much two numbers differ that stand 1, 2, ... apart in a sequence."""

    npairs: np.ndarray[Any, Any]
    absolute: np.ndarray[Any, Any]
    binary: np.ndarray[Any, Any]
    absolute_slope: float
    absolute_intercept: float
    binary_slope: float
    binary_intercept: float
    roughness: float
    smoothness: float


@dataclass(frozen=True)
class Analysis:
    """What :func:`analyze` found for one bound.  Shares are of the values counted; sizes are bytes of a whole
    archive."""

    bound: float
    bound_abs: float
    min: float | None
    """Smallest value that is finite and not missing; None for an absolute bound, which needs no range and
    looks for none."""
    max: float | None
    size: int
    size_counted: int
    nbytes: int
    tiles: int
    tiles_counted: int
    histogram: np.ndarray[Any, Any]
    """Counts of the codes -512 to 511."""
    statistics: Statistics
    p1_error: float
    """Standard error of ``statistics.p1``, 0 where all tiles were counted; likewise of the entropy."""
    entropy_error: float
    huffman_bits: float
    rle_bits: float
    rle_vle_bits: float
    outlier_share: float
    escape_share: float
    exception_share: float
    quanta: Madogram
    codes: Madogram
    predicted: dict[str, int]
    """Size by workflow where Lorenzo predicts, from a sample of the tiles."""
    coded: dict[str, int] | None
    """Size by workflow as coded, where ``exact`` was asked for."""
    errors: dict[str, float]
    """Relative standard error of each predicted size."""
    best_forced: str
    best_undecided: bool
    """Another forced workflow may be the best one: the sample does not decide."""
    rle_undecided: bool
    """``statistics.rle_advised`` may be wrong: the sample does not decide."""
    regret: float
    seconds: float
    reason: str
    """What ``auto`` does and why, in a sentence."""
    predictors: dict[str, int]
    """Size by predictor, from a sample of the tiles; of Lorenzo alone for arrays on the GPU, unless ``exact``
    was asked for."""
    predictors_coded: dict[str, int] | None
    """Size by predictor as coded, where ``exact`` was asked for."""
    predictor_errors: dict[str, float]
    """Relative standard error of each predicted size."""
    frames: int
    pyramids: int
    """Frames that predictor ``auto`` makes pyramids."""
    predictor_reason: str
    """What predictor ``auto`` does and why, in a sentence."""

    @property
    def prediction_error(self) -> float:
        """Relative standard error of the size predicted for ``auto``."""
        return self.errors["auto"]

    @property
    def ratio(self) -> float:
        """Of the workflow ``auto``: as coded, else as predicted."""
        return self.nbytes / max(1, (self.coded or self.predicted)["auto"])


Kind = TypeVar("Kind")


def _plain(raw: c.Structure, kind: type[Kind]) -> Kind:
    values = {}
    for name, *_ in raw._fields_:
        value = getattr(raw, name)
        values[name] = np.array(value) if isinstance(value, c.Array) else value
    if "rle_advised" in values:
        values["rle_advised"] = bool(values["rle_advised"])
    return kind(**values)


def _analysis(raw: _library.Analysis, has_range: bool) -> Analysis:
    sizes = dict(zip(_library.WORKFLOWS, raw.workflow))
    predictors = {name: size for name, size in zip(_library.PREDICTORS, raw.predictor) if size.nbytes_predicted}
    return Analysis(
        bound=raw.bound,
        bound_abs=raw.bound_abs,
        min=raw.min if has_range else None,
        max=raw.max if has_range else None,
        size=raw.nelements,
        size_counted=raw.nelements_counted,
        nbytes=raw.nbytes_field,
        tiles=raw.ntiles,
        tiles_counted=raw.ntiles_counted,
        histogram=np.array(raw.histogram),
        statistics=_plain(raw.statistics, Statistics),
        p1_error=raw.p1_error,
        entropy_error=raw.entropy_error,
        huffman_bits=raw.huffman_bits,
        rle_bits=raw.rle_bits,
        rle_vle_bits=raw.rle_vle_bits,
        outlier_share=raw.outlier_share,
        escape_share=raw.escape_share,
        exception_share=raw.exception_share,
        quanta=_plain(raw.quanta, Madogram),
        codes=_plain(raw.codes, Madogram),
        predicted={name: size.nbytes_predicted for name, size in sizes.items()},
        coded={name: size.nbytes for name, size in sizes.items()} if raw.is_exact else None,
        errors={name: size.error for name, size in sizes.items()},
        best_forced=_library.WORKFLOWS[raw.best_forced],
        best_undecided=bool(raw.best_is_undecided),
        rle_undecided=bool(raw.rle_is_undecided),
        regret=raw.regret,
        seconds=raw.seconds,
        reason=raw.reason.decode(errors="replace"),
        predictors={name: size.nbytes_predicted for name, size in predictors.items()},
        predictors_coded={name: size.nbytes for name, size in predictors.items()} if raw.is_exact else None,
        predictor_errors={name: size.error for name, size in predictors.items()},
        frames=raw.nframes,
        pyramids=raw.npyramids,
        predictor_reason=raw.predictor_reason.decode(errors="replace"),
    )


@overload
def analyze(
    array: Any,
    *,
    abs: None = None,
    rel: None = None,
    psnr: None = None,
    pwr: None = None,
    floor: None = None,
    fill: _arguments.Fill = None,
    unsigned_zeros: bool = False,
    predictor: _arguments.Predictor = "auto",
    exact: bool = False,
    threads: int = 0,
) -> list[Analysis]: ...
@overload
def analyze(
    array: Any,
    *,
    abs: float | None = None,
    rel: float | None = None,
    psnr: float | None = None,
    pwr: float | None = None,
    floor: float | None = None,
    fill: _arguments.Fill = None,
    unsigned_zeros: bool = False,
    predictor: _arguments.Predictor = "auto",
    exact: bool = False,
    threads: int = 0,
) -> Analysis: ...
@overload
def analyze(
    array: Any,
    *,
    abs: Sequence[float] | None = None,
    rel: Sequence[float] | None = None,
    psnr: Sequence[float] | None = None,
    pwr: Sequence[float] | None = None,
    floor: float | None = None,
    fill: _arguments.Fill = None,
    unsigned_zeros: bool = False,
    predictor: _arguments.Predictor = "auto",
    exact: bool = False,
    threads: int = 0,
) -> list[Analysis]: ...
def analyze(
    array: Any,
    *,
    abs: float | Sequence[float] | None = None,
    rel: float | Sequence[float] | None = None,
    psnr: float | Sequence[float] | None = None,
    pwr: float | Sequence[float] | None = None,
    floor: float | None = None,
    fill: _arguments.Fill = None,
    unsigned_zeros: bool = False,
    predictor: _arguments.Predictor = "auto",
    exact: bool = False,
    threads: int = 0,
) -> Analysis | list[Analysis]:
    """Says how an array would compress under a bound, or under each of several, and why.

    Bounds are those of :func:`csz.compress`, one or a sequence of them; where none is given, ``rel=[1e-2,
    1e-3, 1e-4]``, as of the command.  By default sizes are predicted from sampled tiles in a fraction of the
    time that compressing takes; ``exact`` codes everything with every workflow and predictor.
    ``predictor="lorenzo"`` leaves other predictors out, which is faster.  Returns an :class:`Analysis`, or a
    list of them for a sequence.  Of an array on the GPU no more than the sampled tiles leave it; all of it
    with ``exact``.
    """
    if abs is None and rel is None and psnr is None and pwr is None:
        rel = [1e-2, 1e-3, 1e-4]
    given = {mode: value for mode, value in zip(_library.BOUND_MODES, (abs, rel, psnr, pwr)) if value is not None}
    several = any(np.ndim(value) > 0 for value in given.values())
    if len(given) != 1:
        raise _errors.BoundError("give at most one of abs=, rel=, psnr= and pwr=")
    ((mode, value),) = given.items()
    one_by_one: list[Any] = list(value) if several else [value]  # type: ignore[arg-type]
    bounds = [_arguments.bound_of(*(one if mode == name else None for name in _library.BOUND_MODES))[1] for one in one_by_one]
    if not bounds:
        return []
    named = _arguments.named_fill(fill)
    source = _arrays.view_field(array, named)
    options = _arguments.base_options("cpu" if source.device is None else "auto", threads, named)
    options.bound_mode = _library.BOUND_MODES.index(mode)
    options.floor = _arguments.floor_of(floor, mode)
    options.unsigned_zeros = _arguments.unsigned_zeros_of(unsigned_zeros, mode == "pwr")
    options.predictor = _arguments.choice_of("predictor", predictor, _library.PREDICTORS)
    _arguments.check_fill(named, source)
    field = _arguments.field_of(source)
    raw = (_library.Analysis * len(bounds))()
    status = _cuda.call(
        _library.lib.csz_analyze, source.device, (source.stream,),
        raw, c.sizeof(_library.Analysis), (c.c_double * len(bounds))(*bounds), len(bounds), source.pointer, c.byref(field), c.byref(options), int(bool(exact)),
    )  # fmt: skip
    _library.check(status, "analysing")
    results = [_analysis(one, mode in ("rel", "psnr")) for one in raw]
    return results if several else results[0]
