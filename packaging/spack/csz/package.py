# SPDX-License-Identifier: BSD-3-Clause
#
# Spack recipe.  In a repository of your own (`spack repo create REPO`), copy this folder beside its other
# packages, as packages/csz; then `spack install csz +hdf5` from a checkout named by
# `spack develop --path CHECKOUT csz@main`.
from spack.package import *

try:  # Spack 1.0 and newer; older ones have both in spack.package
    from spack_repo.builtin.build_systems.cmake import CMakePackage
    from spack_repo.builtin.build_systems.cuda import CudaPackage
except ImportError:
    pass


class Csz(CMakePackage, CudaPackage):
    """cuSZ+: error-bounded lossy compression of scientific floating-point fields."""

    license("BSD-3-Clause")

    # With `spack develop` nothing is fetched; a published recipe adds `git = ...` here.
    version("main", branch="main")

    variant("zstd", default=True, description="Optional final pass with zstd")
    variant("hdf5", default=False, description="HDF5 filter plugin, and HDF5 files in the command")
    variant("mpi", default=False, description="One archive from many MPI ranks: library and command")
    variant("fortran", default=False, description="Fortran module")

    depends_on("c", type="build")
    depends_on("cxx", type="build", when="+cuda")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.18:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("zstd", when="+zstd")
    depends_on("hdf5@1.10:~mpi", when="+hdf5")
    depends_on("mpi", when="+mpi")

    def cmake_args(self):
        args = [
            self.define_from_variant("CSZ_ZSTD", "zstd"),
            self.define_from_variant("CSZ_HDF5", "hdf5"),
            self.define_from_variant("CSZ_MPI", "mpi"),
            self.define_from_variant("CSZ_FORTRAN", "fortran"),
            self.define_from_variant("CSZ_CUDA", "cuda"),
            self.define("BUILD_TESTING", self.run_tests),
        ]
        if self.spec.satisfies("+cuda"):
            archs = self.spec.variants["cuda_arch"].value
            if archs and archs[0] != "none":
                args.append(self.define("CSZ_CUDA_ARCHS", ";".join(archs)))
        return args

    def setup_run_environment(self, env):
        if self.spec.satisfies("+hdf5"):
            for folder in (self.prefix.lib, self.prefix.lib64):
                env.prepend_path("HDF5_PLUGIN_PATH", join_path(folder, "hdf5", "plugins"))
