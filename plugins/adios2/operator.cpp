// SPDX-License-Identifier: BSD-3-Clause
//
// operator.cpp: the ADIOS2 operator.  A block of a variable goes in and an archive comes out, which holds
// type and dims, so that nothing else is stored.  Blocks may lie in device memory where ADIOS2 and libcsz are
// both built for it: libcsz finds out by itself.
//
// ADIOS2 reports errors by exceptions, and so does this file; the library below it does not.  Wrong
// parameters are refused when the operator is created: after an exception out of a block ADIOS2 2.12 crashes
// when the file is closed.
#include "../unnamed_fill.h"

#include <csz.h>
#include <csz_cuda.h>
#include <csz_frames.h>

#include <adios2/plugin/PluginOperatorInterface.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

namespace {

[[noreturn]] void fail(const std::string &what) { throw std::runtime_error("csz operator: " + what); }

void check(csz_status status, const std::string &what) {
    if (status != CSZ_OK) fail(what + ": " + csz_status_string(status));
}

std::string lower(std::string text) {
    std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
}

double number(const std::string &name, const std::string &text) {
    size_t end = 0;
    double value = 0;
    try {
        value = std::stod(text, &end);
    } catch (const std::exception &) {
    }
    if (end == 0 || end != text.size()) fail("the parameter " + name + " is a number, not '" + text + "'");
    return value;
}

// The position of a word in a list of names, which is its number in csz.h.
template <size_t n>
int choice(const std::string &name, const std::string &text, const char *const (&names)[n]) {
    std::string all;
    for (size_t i = 0; i < n; i++) {
        if (text == names[i]) return static_cast<int>(i);
        all += std::string(i ? ", " : "") + names[i];
    }
    fail("the parameter " + name + " is one of " + all + ", not '" + text + "'");
}

// Of more than four dims the slowest are stored as one; without dims there is one value.
csz_field field_of(csz_type type, size_t ndim, const size_t *count) {
    csz_field field = {type, 1, {1}};
    if (ndim == 0) return field;
    const size_t extra = ndim > CSZ_MAX_NDIM ? ndim - CSZ_MAX_NDIM : 0;
    field.ndim = static_cast<int>(ndim - extra);
    uint64_t slowest = 1;
    for (size_t i = 0; i <= extra; i++) {
        if (__builtin_mul_overflow(slowest, static_cast<uint64_t>(count[i]), &slowest))
            fail("a block has too many elements");
    }
    field.dims[0] = slowest;
    for (size_t i = extra + 1; i < ndim; i++) field.dims[i - extra] = count[i];
    return field;
}

class Operator : public adios2::plugin::PluginOperatorInterface {
  public:
    explicit Operator(const adios2::Params &parameters) : PluginOperatorInterface(parameters) {
        csz_options_init(&m_options);
        m_options.threads = 1; // a rank for each core is the rule
        for (const auto &[name, value] : parameters) set(lower(name), value);
        if (parameters.empty()) return; // a reader's
        if (!m_has_bound) fail("give exactly one of the parameters abs, rel, psnr and pwr");
        check_options();
    }

    size_t Operate(const char *data, const adios2::Dims &, const adios2::Dims &count,
                   const adios2::DataType type, char *out) override {
        if (!m_has_bound) fail("give exactly one of the parameters abs, rel, psnr and pwr");
        const csz_field field =
            field_of(type == adios2::DataType::Float ? CSZ_F32 : CSZ_F64, count.size(), count.data());
        const size_t capacity = capacity_of(field);
        const csz_options options = options_for(data, field);
        size_t nbytes = 0;
        const std::lock_guard<std::mutex> lock(m_mutex);
        check(csz_compress(context(), out, capacity, &nbytes, data, &field, &options), "compressing a block");
        return nbytes;
    }

    size_t InverseOperate(const char *archive, const size_t nbytes, char *data) override {
        csz_info info;
        check(csz_inspect(&info, sizeof info, archive, nbytes), "reading a block");
        csz_decompress_options options;
        csz_decompress_options_init(&options);
        options.threads = m_options.threads;
        options.backend = m_options.backend;
        const std::lock_guard<std::mutex> lock(m_mutex);
        check(csz_decompress(context(), data, info.nbytes_field, archive, nbytes, &options),
              "restoring a block");
        return info.nbytes_field;
    }

    bool IsDataTypeValid(const adios2::DataType type) const override {
        return type == adios2::DataType::Float || type == adios2::DataType::Double;
    }

    size_t GetEstimatedSize(const size_t, const size_t element_nbytes, const size_t ndim,
                            const size_t *dims) const override {
        return capacity_of(field_of(element_nbytes == sizeof(float) ? CSZ_F32 : CSZ_F64, ndim, dims));
    }

  private:
    // A block may become exact, whose frames differ from those of a pyramid.
    size_t capacity_of(const csz_field &field) const {
        const csz_options exact = csz_unnamed_fill_exact(&m_options);
        size_t bounded = 0, kept = 0;
        check(csz_compress_bound(&bounded, &field, &m_options), "a block");
        check(csz_compress_bound(&kept, &field, &exact), "a block");
        return std::max(bounded, kept);
    }

    // Fill values are not looked for in device memory.
    csz_options options_for(const void *data, const csz_field &field) const {
        csz_options options = m_options;
        if (m_fill_said || csz_device_owns(data)) return options;
        uint64_t n = 1;
        for (int i = 0; i < field.ndim; i++) n *= field.dims[i]; // capacity_of refuses more than fits
        check(csz_unnamed_fill_name(&options, data, n, field.type, nullptr), "a block");
        return options;
    }

    void set(const std::string &name, const std::string &value) {
        static const char *const bounds[] = {"abs", "rel", "psnr", "pwr"},
                                 *const workflows[] = {"auto", "huffman", "rle", "rle+vle"},
                                 *const predictors[] = {"lorenzo", "pyramid", "auto"},
                                 *const backends[] = {"auto", "cpu", "cuda"};
        const auto bound = std::find(std::begin(bounds), std::end(bounds), name);
        if (bound != std::end(bounds)) {
            if (m_has_bound) fail("give exactly one of the parameters abs, rel, psnr and pwr");
            m_has_bound = true;
            m_options.bound_mode = static_cast<csz_bound_mode>(bound - bounds);
            m_options.bound = number(name, value);
            if (!(m_options.bound > 0 && std::isfinite(m_options.bound)))
                fail("the parameter " + name + " is a positive finite number, not '" + value + "'");
        } else if (name == "fill") {
            m_fill_said = true;
            m_options.has_fill = value != "none";
            m_options.fill = m_options.has_fill ? number(name, value) : 0;
        } else if (name == "floor") {
            m_options.floor = number(name, value);
        } else if (name == "unsigned_zeros") {
            static const char *const answers[] = {"false", "true"};
            m_options.unsigned_zeros = choice(name, value, answers);
        } else if (name == "workflow") {
            m_options.workflow = static_cast<csz_workflow>(choice(name, value, workflows));
        } else if (name == "predictor") {
            m_options.predictor = static_cast<csz_predictor>(choice(name, value, predictors));
        } else if (name == "backend") {
            m_options.backend = static_cast<csz_backend>(choice(name, value, backends));
        } else if (name == "threads" || name == "zstd") {
            const double whole = number(name, value);
            const int most = name == "zstd" ? 22 : 65536;
            if (!(whole >= 0 && whole <= most && whole == static_cast<int>(whole)))
                fail("the parameter " + name + " is a whole number of 0 to " + std::to_string(most) +
                     ", not '" + value + "'");
            (name == "zstd" ? m_options.zstd_level : m_options.threads) = static_cast<int>(whole);
        } else if (name.rfind("plugin", 0) != 0) { // ADIOS2's own: PluginName, PluginLibrary
            fail("there is no parameter '" + name +
                 "': abs, rel, psnr, pwr, floor, fill, unsigned_zeros, workflow, predictor, backend, "
                 "threads and zstd are known");
        }
    }

    // Refuses what csz_compress would refuse of any block.
    void check_options() const {
        const bool is_pointwise = m_options.bound_mode == CSZ_BOUND_PWR;
        if (m_options.floor != 0 && !is_pointwise) fail("the parameter floor goes with pwr alone");
        if (m_options.unsigned_zeros && is_pointwise)
            fail("the parameter unsigned_zeros does not go with pwr");
        const csz_field field = {CSZ_F32, 1, {1}};
        const csz_value_range range = {1, 0, 1};
        csz_plan *plan = nullptr;
        const csz_status status = csz_plan_create(&plan, &field, &m_options, &range);
        csz_plan_destroy(plan);
        check(status, status == CSZ_ERROR_BACKEND ? "the parameter backend"
                      : status == CSZ_ERROR_ZSTD  ? "the parameter zstd"
                                                  : "the parameters");
    }

    csz_context *context() {
        if (!m_context) {
            csz_context *made = nullptr;
            check(csz_context_create(&made), "starting");
            m_context.reset(made);
        }
        return m_context.get();
    }

    struct Destroy {
        void operator()(csz_context *context) const { csz_context_destroy(context); }
    };

    csz_options m_options;
    bool m_has_bound = false, m_fill_said = false;
    std::unique_ptr<csz_context, Destroy> m_context; // serves one call at a time
    std::mutex m_mutex;
};

} // namespace

extern "C" {
CSZ_API adios2::plugin::PluginOperatorInterface *OperatorCreate(const adios2::Params &parameters) {
    return new Operator(parameters);
}
CSZ_API void OperatorDestroy(adios2::plugin::PluginOperatorInterface *object) { delete object; }
}
