# SPDX-License-Identifier: BSD-3-Clause
#
# The everyday commands.  Each is a thin call of CMake, ctest or a script under tools/; `make demo` and
# `make test` install what a bare Debian or Ubuntu lacks first, and say what.  Variables: JOBS (compile jobs
# and tests at a time), BUILD (the build folder), ARGS (more arguments for the demo or the bench), CMAKE_ARGS
# (options of docs/install.md for `make`, such as -DCSZ_CUDA=OFF).  What leaves CUDA out is built in
# $(BUILD)-cpu: options stay in a build folder, and `make` and `make install` use $(BUILD).

MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
BUILD ?= build
CPU_BUILD = $(BUILD)-cpu
DATA ?= ../shared/data
CC_FILES = $(shell git ls-files -co --exclude-standard '*.c' '*.h' '*.cpp' '*.cu' '*.cuh')
# hdf5_writer.c is built against the installed copy alone, parallel_hdf5.c against an HDF5 of its own.
C_UNITS = $(filter-out examples/hdf5_writer.c mpi/tests/parallel_hdf5.c, \
	$(shell git ls-files -co --exclude-standard 'src/*.c' 'cli/*.c' 'bench/*.c' 'examples/*.c' 'plugins/*.c' 'mpi/*.c'))

.PHONY: all help demo test soak fuzz bench bench-ratio bench-mpi bench-isa share evaluation gpu-test gpu-bench format lint install uninstall deb wheel clean

all: configure
	cmake --build $(BUILD) -j $(JOBS)

help:
	@echo 'make demo       simulate a wave, compress it at several bounds, restore and verify it'
	@echo 'make test       build and run every test, plain and under ASan and UBSan; the same in every run'
	@echo 'make soak       the tests that take long, and every fuzz target for FUZZ_SECONDS (60)'
	@echo 'make fuzz       every fuzz target for FUZZ_SECONDS (60) under ASan and UBSan; needs clang'
	@echo 'make bench      ratio and speed beside zfp, zstd and memcpy, in one run'
	@echo 'make bench-ratio  ratio and PSNR beside SZ3, SPERR and zfp of PyPI, and a picture of PSNR over bits a value; ARGS=--exact: -m exact beside blosc2, --pwr: -m pwr beside plain logarithms, --targets: -m ratio'
	@echo 'make bench-mpi  csz-mpi with 1 and 2 ranks: the tables of docs/scaling.md (ARGS="--update docs/scaling.md" puts them there)'
	@echo 'make bench-isa  speed of the code that is chosen at run time beside a build with -march=native, field by field'
	@echo 'make share      time of an analysis over that of compressing, for each field: calls and commands, one and two threads, one and three bounds'
	@echo 'make evaluation every table of the paper for the data there is: docs/evaluation.md, pictures in $(BUILD)/evaluation; FULL=1: at the paper'"'"'s sizes, bench/results/paper-size.md'
	@echo 'make gpu-test   every test on the GPU too, and compute-sanitizer'
	@echo 'make gpu-bench  device to device, both ways, verified, then timed: kernels, batches, the fields of the paper'
	@echo 'make format     lay out every C and CUDA file by .clang-format'
	@echo 'make lint       check layout, cppcheck, clang-tidy'
	@echo 'make install    install headers, libraries, command and HDF5 plugin (PREFIX=/usr/local)'
	@echo 'make uninstall  remove what make install has placed'
	@echo 'make deb        build the Debian packages into $(BUILD)/deb'
	@echo 'make wheel      a wheel to give to others into dist: manylinux, with zstd and the HDF5 plugin inside'
	@echo 'make clean      remove the build folders'

.PHONY: configure
configure:
	cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release $(CMAKE_ARGS)

demo:
	@tools/setup demo
	@echo 'building in $(CPU_BUILD)/'
	@cmake -S . -B $(CPU_BUILD) -DCMAKE_BUILD_TYPE=Release -DCSZ_CUDA=OFF >/dev/null
	@cmake --build $(CPU_BUILD) -j $(JOBS) --target csz-demo >$(CPU_BUILD)/demo.log || { cat $(CPU_BUILD)/demo.log; exit 1; }
	@$(CPU_BUILD)/csz-demo $(ARGS)
	@if [ -x $(CPU_BUILD)/csz ]; then echo; echo '  Your own field: $(CPU_BUILD)/csz compress FILE -t f32 -d 512x512x512 -e 1e-3 -m rel --verify'; fi

test:
	@tools/setup test
	@JOBS=$(JOBS) BUILD=$(BUILD) tools/run_tests

soak:
	@tools/setup soak
	cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release -DCSZ_REQUIRE_TESTS=ON
	cmake --build $(BUILD) -j $(JOBS)
	cd $(BUILD) && ctest -L soak --output-on-failure --no-tests=error
	@if tools/fuzz --available; then BUILD=$(BUILD) JOBS=$(JOBS) FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz; \
		else echo 'fuzz targets: skipped, they need clang with libFuzzer'; fi

FUZZ_SECONDS ?= 60
fuzz:
	@tools/setup test
	@BUILD=$(BUILD) JOBS=$(JOBS) FUZZ_SECONDS=$(FUZZ_SECONDS) tools/fuzz

# OMP_WAIT_POLICY: zfp's idle threads must not spin while another coder is timed.
bench:
	@tools/setup bench
	cmake -S . -B $(CPU_BUILD) -DCMAKE_BUILD_TYPE=Release -DCSZ_CUDA=OFF
	cmake --build $(CPU_BUILD) -j $(JOBS) --target csz-bench
	@if [ -x $(DATA)/unpack ]; then $(DATA)/unpack $(CPU_BUILD)/data; fi
	OMP_WAIT_POLICY=passive $(CPU_BUILD)/csz-bench --out $(CPU_BUILD)/bench.md --fields bench/fields.txt --data $(CPU_BUILD)/data $(ARGS)

# The fields of DATA, a folder with `unpack`, or generated ones.  Peers are installed into a virtual
# environment of the build folder.
bench-ratio:
	@tools/setup bench-ratio
	cmake -S . -B $(CPU_BUILD) -DCMAKE_BUILD_TYPE=Release -DCSZ_CUDA=OFF >/dev/null
	cmake --build $(CPU_BUILD) -j $(JOBS) --target csz csz-fields >/dev/null
	@if [ -x $(DATA)/unpack ]; then $(DATA)/unpack $(CPU_BUILD)/data; fi
	@[ -x $(CPU_BUILD)/ratio-venv/bin/python ] || python3 -m venv $(CPU_BUILD)/ratio-venv
	$(CPU_BUILD)/ratio-venv/bin/pip install -q numpy h5py hdf5plugin pysz blosc2
	$(CPU_BUILD)/ratio-venv/bin/python bench/ratio.py --csz $(CPU_BUILD)/csz --generator $(CPU_BUILD)/csz-fields \
		--out $(CPU_BUILD)/ratio.md --picture $(CPU_BUILD)/ratio.svg $(if $(wildcard $(DATA)/unpack),--data $(CPU_BUILD)/data) $(ARGS)

bench-mpi:
	@tools/setup test
	cmake -S . -B $(CPU_BUILD) -DCMAKE_BUILD_TYPE=Release -DCSZ_CUDA=OFF >/dev/null
	cmake --build $(CPU_BUILD) -j $(JOBS) --target csz csz-mpi csz-generate >/dev/null
	tools/scaling_measure $(ARGS) $(CPU_BUILD)

bench-isa:
	@tools/setup bench
	cmake -S . -B $(CPU_BUILD) -DCMAKE_BUILD_TYPE=Release -DCSZ_CUDA=OFF >/dev/null
	cmake --build $(CPU_BUILD) -j $(JOBS) --target csz-isa-bench csz_shared >/dev/null
	cmake -S . -B $(BUILD)-native -DCMAKE_BUILD_TYPE=Release -DCSZ_CUDA=OFF -DBUILD_TESTING=OFF -DCMAKE_C_FLAGS=-march=native >/dev/null
	cmake --build $(BUILD)-native -j $(JOBS) --target csz_shared >/dev/null
	@if [ -x $(DATA)/unpack ]; then $(DATA)/unpack $(CPU_BUILD)/data; fi
	$(CPU_BUILD)/csz-isa-bench bench/fields.txt $(CPU_BUILD)/data $(BUILD)-native/libcsz.so $(CPU_BUILD)/libcsz.so

share:
	@tools/setup bench
	@BUILD=$(CPU_BUILD) JOBS=$(JOBS) DATA=$(DATA) tools/share

# FULL=1: fields at the sizes of the paper, one or two of a family (FULL=all: every one).  TABLES=1: the
# tables anew from the last measurements.  SDRBENCH=FOLDER: published files instead, where it has them.
evaluation:
	@tools/setup evaluation
	@BUILD=$(BUILD) JOBS=$(JOBS) DATA=$(DATA) FULL=$(FULL) TABLES=$(TABLES) SDRBENCH=$(SDRBENCH) tools/evaluation

gpu-test:
	@tools/setup test
	@BUILD=$(BUILD) JOBS=$(JOBS) tools/gpu_check

gpu-bench:
	@tools/gpu_status
	tools/gpu_bench_compress
	tools/gpu_bench_decompress
	cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release -DCSZ_CUDA=ON >/dev/null
	cmake --build $(BUILD) -j $(JOBS) --target csz_static
	BUILD=$(BUILD) tools/gpu_bench_api
	BUILD=$(BUILD) JOBS=$(JOBS) SDRBENCH=$(SDRBENCH) tools/gpu_bench_fields --sweep
	BUILD=$(BUILD) JOBS=$(JOBS) SDRBENCH=$(SDRBENCH) tools/gpu_bench_fields --predictor pyramid
	@if python3 -c "import cupy, zarr" 2>/dev/null; then cmake --build $(BUILD) -j $(JOBS) --target csz_shared && \
		PYTHONPATH=python CSZ_LIBRARY=$(BUILD)/libcsz.so python3 bench/zarr_gpu.py; else echo 'Zarr on the GPU: skipped, it needs zarr and CuPy'; fi

format:
	@tools/setup lint
	clang-format -i $(CC_FILES)

lint:
	@tools/setup lint
	cmake -S . -B $(BUILD) -DCMAKE_BUILD_TYPE=Release >/dev/null
	clang-format --dry-run -Werror $(CC_FILES)
	cppcheck --quiet --std=c11 --language=c --inline-suppr --error-exitcode=1 -j $(JOBS) \
		--enable=warning,performance --suppress=missingIncludeSystem \
		-D_GNU_SOURCE= -D__GNUC__ -I include -I src -I bench -I examples -I cli -I mpi -I plugins/hdf5 $(C_UNITS)
	printf '%s\n' $(C_UNITS) | xargs -P $(JOBS) -n 6 clang-tidy --quiet -p $(BUILD)

PREFIX ?= /usr/local
install: all
	cmake --install $(BUILD) --prefix "$(PREFIX)"
	while IFS= read -r file || [ -n "$$file" ]; do printf '%s\n' "$(DESTDIR)$$file"; done <$(BUILD)/install_manifest.txt >$(BUILD)/installed.txt

uninstall:
	DESTDIR= cmake -DMANIFEST=$(BUILD)/installed.txt -P cmake/uninstall.cmake

deb:
	@tools/setup deb
	packaging/build_deb $(BUILD)/deb

wheel:
	tools/setup wheel
	tools/wheel

clean:
	rm -rf $(BUILD) $(CPU_BUILD) $(BUILD)-native $(BUILD)-test $(BUILD)-asan $(BUILD)-fuzz $(BUILD)-fuzz-memory build-python build-wheel
