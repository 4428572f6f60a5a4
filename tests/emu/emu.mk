# SPDX-License-Identifier: BSD-3-Clause
# The kernels of src/cuda on emulated threads, against the CPU backend:  make -f tests/emu/emu.mk && build/emu/test
CFLAGS=-std=c11 -O2 -g -ffp-contract=off -Iinclude -Isrc
CXXFLAGS=-std=c++17 -O1 -g -ffp-contract=off -U_FORTIFY_SOURCE -DCSZ_EMU -Iinclude -Isrc -Itests/emu -Wall -Wno-unknown-pragmas -Wno-unused-function -Wno-unused-variable
C=$(wildcard src/entropy/*.c src/format/*.c src/cpu/*.c src/api/*.c)
CU=$(wildcard src/cuda/*.cu)
OBJ=$(C:%.c=build/emu/%.o) $(CU:%.cu=build/emu/%.o) build/emu/tests/emu/test_cuda_compress.o
build/emu/test: $(OBJ)
	g++ $^ -o $@ -lpthread -lm
build/emu/%.o: %.c
	@mkdir -p $(dir $@)
	gcc $(CFLAGS) -MMD -c $< -o $@
build/emu/%.o: %.cu
	@mkdir -p $(dir $@)
	g++ $(CXXFLAGS) -MMD -x c++ -c $< -o $@
build/emu/%.o: %.cpp
	@mkdir -p $(dir $@)
	g++ $(CXXFLAGS) -MMD -c $< -o $@
-include $(OBJ:.o=.d)
