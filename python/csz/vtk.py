# SPDX-License-Identifier: BSD-3-Clause
"""A VTK reader of archives: the field as vtkImageData, for VTK's Python and, through paraview_plugin.py, for
ParaView.

    reader = csz.vtk.CszReader()
    reader.SetFileName("pressure.f32.csz")
    contour.SetInputConnection(reader.GetOutputPort())

Only what is asked for is decoded: a level of resolution, a region of interest, and of these the extent that
the pipeline requests.
"""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
from vtkmodules.util.numpy_support import numpy_to_vtk
from vtkmodules.util.vtkAlgorithm import VTKPythonAlgorithmBase
from vtkmodules.vtkCommonCore import vtkDataArray, vtkOutputWindow
from vtkmodules.vtkCommonDataModel import vtkDataObject, vtkImageData
from vtkmodules.vtkCommonExecutionModel import vtkAlgorithm, vtkStreamingDemandDrivenPipeline as Pipeline

from . import _api, _errors

__all__ = ["AUTO_POINTS", "CszReader"]

AUTO_POINTS = 1 << 24
"""The most points that the level -1 reads, where the archive has a level as coarse as that."""


class CszReader(VTKPythonAlgorithmBase):  # type: ignore[misc]
    """Reads an archive of up to three dims as an image, and one of four as an image for each index of the
    slowest, as time steps.

    Attributes ``spacing`` and ``origin`` of the archive, a number or one for each dim, slowest first, that of
    time may be left out, place it; without them, and where they hold something else, points are 1 apart, from
    0.  The array is called as the archive says, or as
    the file; ``units`` become its label.
    """

    def __init__(self) -> None:
        VTKPythonAlgorithmBase.__init__(self, nInputPorts=0, nOutputPorts=1, outputType="vtkImageData")  # type: ignore[no-untyped-call]
        self._file_name: str | None = None
        self._level, self._region, self._missing = -1, (0, -1, 0, -1, 0, -1), True

    # ---- Settings --------------------------------------------------------------------------------------------------------

    def SetFileName(self, file_name: str | None) -> None:
        self._set("_file_name", file_name)

    def SetLevel(self, level: int) -> None:
        """Every 2^level-th point; 0: all; -1, the default: the finest level of at most AUTO_POINTS points, or
        the coarsest there is."""
        self._set("_level", int(level))

    def SetRegion(self, x0: int, x1: int, y0: int, y1: int, z0: int, z1: int) -> None:
        """A box of points of the whole field, with both ends, as of vtkExtractVOI; 0, -1 along an axis: all
        of it."""
        self._set("_region", (x0, x1, y0, y1, z0, z1))

    def SetMissingAsNaN(self, missing: bool) -> None:
        """Whether the fill value of the archive is replaced by NaN, as by default, so that it counts for no
        range of colours."""
        self._set("_missing", bool(missing))

    def _set(self, name: str, value: Any) -> None:
        if getattr(self, name) != value:
            setattr(self, name, value)
            self.Modified()

    # ---- The pipeline ----------------------------------------------------------------------------------------------------

    def RequestInformation(self, request: Any, inputs: Any, outputs: Any) -> int:
        try:
            plan = _Plan(self._file_name, self._level, self._region)
        except (_errors.Error, OSError, ValueError) as error:
            return self._fail(error)
        told = outputs.GetInformationObject(0)
        told.Set(Pipeline.WHOLE_EXTENT(), plan.extent, 6)
        told.Set(vtkDataObject.SPACING(), plan.spacing, 3)
        told.Set(vtkDataObject.ORIGIN(), plan.origin, 3)
        told.Set(vtkAlgorithm.CAN_PRODUCE_SUB_EXTENT(), 1)
        told.Remove(Pipeline.TIME_STEPS())
        told.Remove(Pipeline.TIME_RANGE())
        if plan.nsteps is not None:
            told.Set(Pipeline.TIME_STEPS(), list(map(float, range(plan.nsteps))), plan.nsteps)
            told.Set(Pipeline.TIME_RANGE(), [0.0, plan.nsteps - 1.0], 2)
        return 1

    def RequestData(self, request: Any, inputs: Any, outputs: Any) -> int:
        told = outputs.GetInformationObject(0)
        image = vtkImageData.GetData(told)
        extent = told.Get(Pipeline.UPDATE_EXTENT())
        time = told.Get(Pipeline.UPDATE_TIME_STEP()) if told.Has(Pipeline.UPDATE_TIME_STEP()) else 0.0
        try:
            plan = _Plan(self._file_name, self._level, self._region)
            values = plan.read(extent, time)
        except (_errors.Error, OSError, ValueError, MemoryError) as error:
            return self._fail(error)
        fill = plan.info.fill
        if self._missing and fill is not None and not math.isnan(fill):
            values[values == values.dtype.type(fill)] = math.nan
        image.SetExtent(extent)
        image.SetSpacing(plan.spacing)
        image.SetOrigin(plan.origin)
        array = numpy_to_vtk(values.ravel())  # type: ignore[no-untyped-call]  # keeps the values, copies nothing
        array.SetName(plan.name)
        units = plan.info.attrs.get("units")
        if isinstance(units, str):
            array.GetInformation().Set(vtkDataArray.UNITS_LABEL(), units)
        image.GetPointData().SetScalars(array)
        if plan.nsteps is not None:
            image.GetInformation().Set(vtkDataObject.DATA_TIME_STEP(), time)
        return 1

    def _fail(self, error: Exception) -> int:
        vtkOutputWindow.GetInstance().DisplayErrorText(f"CszReader: {self._file_name}: {error}\n")
        return 0


class _Plan:
    """What a file and the settings come to: the extent in points of the level, where it lies in space, and
    how to read a part of it."""

    def __init__(self, file_name: str | None, level: int, region: tuple[int, ...]) -> None:
        if not file_name:
            raise _errors.ArgumentError("no file is named: call SetFileName")
        # an empty file cannot be mapped
        self.archive: Any = np.memmap(file_name, dtype=np.uint8, mode="r") if os.path.getsize(file_name) else b""
        self.info = _api.info(self.archive)
        self.name = self.info.name or os.path.basename(file_name).removesuffix(".csz")
        has_time = len(self.info.shape) == 4
        self.nsteps = self.info.shape[0] if has_time else None
        dims = self.info.shape[1:] if has_time else self.info.shape
        if not 0 < min(self.info.shape) <= max(self.info.shape) < 2**31:
            raise _errors.DimsError(f"VTK has no image of {self.info.shape}: dims lie between 1 and {2**31 - 1}")
        self.level = _level(level, 1 if has_time else self.info.levels, dims)
        self.ndim, step = len(dims), 1 << self.level
        self.extent: list[int] = []
        for axis, points, low, high in zip("xyz", (*reversed(dims), 1, 1), region[::2], region[1::2]):
            if (low, high) == (0, -1):
                high = points - 1
            if not 0 <= low <= high < points:
                raise _errors.RegionError(f"the region {low} to {high} along {axis} is empty or outside of 0 to {points - 1}")
            # the points of the level that hold the region between them
            self.extent += [low // step, min(-(-high // step), (points - 1) // step)]
        spacing, self.origin = self._placed("spacing", 1.0), self._placed("origin", 0.0)
        self.spacing = [distance * step for distance in spacing]

    def _placed(self, name: str, usual: float) -> list[float]:
        """The attribute spacing or origin, as x, y, z; what is no place in space has another meaning."""
        given = np.atleast_1d(self.info.attrs.get(name, usual))
        if given.size == len(self.info.shape):
            given = given[-self.ndim :]  # without time
        is_place = given.dtype.kind in "fiu" and given.size in (1, self.ndim) and np.isfinite(given).all()
        if not is_place or (name == "spacing" and given.min() <= 0):
            given = np.atleast_1d(usual)
        placed = [float(number) for number in np.broadcast_to(given, self.ndim)[::-1]]
        return placed + [usual] * (3 - self.ndim)

    def read(self, extent: Any, time: float) -> np.ndarray[Any, Any]:
        """The values of an extent, slowest first."""
        box: list[Any] = [(extent[2 * i], extent[2 * i + 1] + 1) for i in reversed(range(self.ndim))]
        if self.nsteps is not None:
            box.insert(0, min(max(round(time), 0), self.nsteps - 1))
        values: np.ndarray[Any, Any] = _api.decompress(self.archive, region=box, level=self.level)
        return values


def _level(level: int, nlevels: int, dims: tuple[int, ...]) -> int:
    if not -1 <= level < nlevels:
        others = f"levels 0 to {nlevels - 1}" if nlevels > 1 else "level 0 alone: previews are of up to three dims compressed with the pyramid"
        raise _errors.ArgumentError(f"level {level}: the archive has {others}")
    if level >= 0:
        return level
    return next((n for n in range(nlevels) if math.prod(-(-points >> n) for points in dims) <= AUTO_POINTS), nlevels - 1)
