# SPDX-License-Identifier: BSD-3-Clause
"""cuSZ+: error-bounded lossy compression of scientific fields.

    >>> import numpy as np, csz
    >>> field = np.sin(np.linspace(0, 9, 64**3, dtype=np.float32)).reshape(64, 64, 64)
    >>> archive = csz.compress(field, abs=1e-3)
    >>> restored = csz.decompress(archive)
    >>> bool(csz.compare(field, restored, bound=1e-3))
    True

Arrays of CuPy and PyTorch stay on the GPU.  For Zarr see :mod:`csz.zarr` (format 3) and :mod:`csz.numcodecs`
(format 2).
"""

from ._analysis import Analysis, Madogram, Statistics, analyze
from ._api import (
    Comparison,
    absolute_bound,
    check,
    compare,
    compress,
    decompress,
    features,
    info,
)
from ._errors import (
    ArchiveError,
    ArgumentError,
    BackendError,
    BoundError,
    CapacityError,
    CorruptError,
    DimsError,
    DtypeError,
    Error,
    FillWarning,
    InternalError,
    LevelError,
    LimitError,
    NotArchiveError,
    OutOfMemoryError,
    ReadError,
    RegionError,
    TargetError,
    TrailingError,
    TruncatedError,
    VersionError,
    ZstdError,
)
from ._info import Info
from ._library import free_scratch, version as __version__
from ._ranges import value_range

__all__ = [
    "Analysis",
    "ArchiveError",
    "ArgumentError",
    "BackendError",
    "BoundError",
    "CapacityError",
    "Comparison",
    "CorruptError",
    "DimsError",
    "DtypeError",
    "Error",
    "FillWarning",
    "Info",
    "InternalError",
    "LevelError",
    "LimitError",
    "Madogram",
    "NotArchiveError",
    "OutOfMemoryError",
    "ReadError",
    "RegionError",
    "Statistics",
    "TargetError",
    "TrailingError",
    "TruncatedError",
    "VersionError",
    "ZstdError",
    "__version__",
    "absolute_bound",
    "analyze",
    "check",
    "compare",
    "compress",
    "decompress",
    "features",
    "free_scratch",
    "info",
    "value_range",
]
