// SPDX-License-Identifier: BSD-3-Clause
//
// ranks.cpp: a field of two steps that the ranks of MPI write through the operator, a slab each, and as it
// is, into one file; then each rank reads a slab that lies across two of those and compares the two.  Usage:
// ranks FILE ENGINE BOUND.  Exits 1 with a line where a value is not within the bound, or no value has
// changed.
#include <adios2.h>
#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

static const size_t ROWS = 20, Y = 60, X = 70; // of a rank; of all

static float value_at(size_t step, size_t z, size_t y, size_t x) {
    return static_cast<float>(std::sin(0.05 * z + step) * std::cos(0.03 * y) + 0.2 * std::sin(0.11 * x));
}

static void write(adios2::ADIOS &adios, const std::string &file, const std::string &engine,
                  const std::string &bound, size_t rank, size_t nranks) {
    adios2::IO io = adios.DeclareIO("write");
    io.SetEngine(engine);
    const adios2::Dims shape = {nranks * ROWS, Y, X}, start = {rank * ROWS, 0, 0}, count = {ROWS, Y, X};
    auto packed = io.DefineVariable<float>("packed", shape, start, count);
    auto plain = io.DefineVariable<float>("plain", shape, start, count);
    packed.AddOperation(adios.DefineOperator(
        "csz", "plugin", {{"PluginName", "csz"}, {"PluginLibrary", "csz_adios2"}, {"abs", bound}}));
    adios2::Engine writer = io.Open(file, adios2::Mode::Write);
    std::vector<float> field(ROWS * Y * X);
    for (size_t step = 0; step < 2; step++) {
        for (size_t i = 0; i < field.size(); i++)
            field[i] = value_at(step, rank * ROWS + i / (Y * X), i / X % Y, i % X);
        writer.BeginStep();
        writer.Put(packed, field.data(), adios2::Mode::Sync);
        writer.Put(plain, field.data(), adios2::Mode::Sync);
        writer.EndStep();
    }
    writer.Close();
}

// The largest error of a slab that begins in the middle of this rank's and ends in the middle of the next's.
static double read(adios2::ADIOS &adios, const std::string &file, const std::string &engine, size_t rank,
                   size_t nranks) {
    adios2::IO io = adios.DeclareIO("read");
    io.SetEngine(engine);
    adios2::Engine reader = io.Open(file, adios2::Mode::ReadRandomAccess);
    const size_t begin = rank * ROWS + ROWS / 2, rows = rank + 1 < nranks ? ROWS : ROWS / 2;
    double largest = 0;
    for (const char *name : {"packed", "plain"}) {
        auto variable = io.InquireVariable<float>(name);
        variable.SetSelection({{begin, 0, 0}, {rows, Y, X}});
        for (size_t step = 0; step < 2; step++) {
            std::vector<float> values;
            variable.SetStepSelection({step, 1});
            reader.Get(variable, values, adios2::Mode::Sync);
            for (size_t i = 0; i < values.size(); i++) {
                const double error =
                    std::fabs(double(values[i]) - value_at(step, begin + i / (Y * X), i / X % Y, i % X));
                if (name[1] == 'l' && error != 0) return INFINITY;
                largest = std::max(largest, error);
            }
            if (values.size() != rows * Y * X) return INFINITY;
        }
    }
    reader.Close();
    return largest;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, nranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &nranks);
    double own = 0, largest = 0;
    if (argc == 4) {
        adios2::ADIOS adios(MPI_COMM_WORLD);
        write(adios, argv[1], argv[2], argv[3], rank, nranks);
        own = read(adios, argv[1], argv[2], rank, nranks);
    }
    MPI_Allreduce(&own, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    const bool is_right = argc == 4 && largest > 0 && largest <= std::strtod(argv[3], nullptr);
    if (rank == 0)
        std::printf("%s %s of %d ranks: the largest error is %g\n", is_right ? "ok  " : "FAIL",
                    argc == 4 ? argv[2] : "usage: ranks FILE ENGINE BOUND", nranks, largest);
    MPI_Finalize();
    return !is_right;
}
