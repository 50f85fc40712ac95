# SPDX-License-Identifier: Apache-2.0
# gp-bpf. Targets for people: all demo check quick check-symbols unit cases bench fuzz kernels torture soak install image deb arm64 clean deps format.
#   V=1 shows commands; SAN=address,undefined builds into its own directory; WERROR=1 as CI does.
#   CC=gcc or clang; PREFIX, DESTDIR as usual; PYTHON= the Python whose torch the tests use.

SAN     ?=
PREFIX  ?= /usr/local
CC      := $(if $(filter default,$(origin CC)),gcc,$(CC))
CLANG   ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
V       ?= 0
Q       := $(if $(filter 1,$(V)),,@)
msg      = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' '$(1)' '$(2)';)

comma   := ,
O       := build/$(or $(subst $(comma),-,$(SAN)),plain)$(if $(filter clang%,$(notdir $(CC))),-clang)
VERSION := 0.1.0

WARN    := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla \
           $(if $(WERROR),-Werror)
# With sanitizers -O1 compiles in half the time, and -g1 has the lines that they print. Fuzzing runs for longer than it compiles.
CFLAGS  ?= $(if $(filter-out fuzzer%,$(SAN)),-O1 -g1,-O2 -g)
override CFLAGS += -std=gnu17 $(WARN) -I. -I$(O) -D_GNU_SOURCE -DGP_VERSION='"$(VERSION)"' -pthread \
           -DGP_PREFIX='"$(PREFIX)"' $(DEFINES) -fno-omit-frame-pointer $(if $(SAN),-fsanitize=$(SAN) -DGP_LEDGER_ABORT)
override LDFLAGS += -pthread $(if $(SAN),-fsanitize=$(SAN))
USER_LIBS   = $(shell pkg-config --libs libmicrohttpd libcjson zlib yaml-0.1 sqlite3 libcurl libcrypto gnutls libcrypt libprotobuf-c libseccomp) -lm
LOADER_LIBS = $(shell pkg-config --libs libbpf libelf capstone yaml-0.1 zlib)

ARCH    := $(shell uname -m)
BPF_ARCH = $(if $(filter aarch64 arm64,$(1)),arm64,x86)
# Headers of the machine the object is for; bpf/ includes linux/types.h and linux/bpf.h only.
BPF_CFLAGS = -O2 -g -std=gnu11 -Wall -Wextra -Wno-unused-parameter -Werror -I. -target bpf -D__TARGET_ARCH_$(call BPF_ARCH,$(1)) \
           $(BPF_EXTRA) \
           -I/usr/include/$(1)-linux-gnu

BPF_SRC    := $(wildcard bpf/*.bpf.c)
BPF_SKEL   := $(patsubst bpf/%.bpf.c,$(O)/skel/%.skel.h,$(BPF_SRC))
LOADER_SRC := $(wildcard loader/*.c loader/*/*.c)
USER_SRC   := $(wildcard userspace/*/*.c userspace/*/*/*.c)
PROTO_SRC  := $(wildcard userspace/*/*.proto userspace/*/*/*.proto)
PROTO_C    := $(patsubst %.proto,$(O)/proto/%.pb-c.c,$(notdir $(PROTO_SRC)))
MAIN_SRC   := $(wildcard userspace/*.c)
UNIT_SRC   := $(wildcard tests/unit/*.c)
obj         = $(patsubst %.c,$(O)/%.o,$(1))

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all clean deps format check check-symbols demo bench install cases unit quick bpf-arm64 fuzz kernels why flops

all: $(O)/gp-bpf

# ---- kernel side: object, then skeleton; the linker strips nothing the kernel needs (BTF stays)
$(O)/%.bpf.o: %.bpf.c
	$(call msg,BPF,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(call BPF_CFLAGS,$(ARCH)) -MMD -MP -c $< -o $@
$(O)/skel/%.skel.h: $(O)/bpf/%.bpf.o
	$(call msg,SKEL,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@
$(O)/arm64/%.bpf.o: bpf/%.bpf.c
	$(call msg,BPF64,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(call BPF_CFLAGS,aarch64) -I/usr/aarch64-linux-gnu/include -MMD -MP -c $< -o $@
bpf-arm64: $(patsubst bpf/%.bpf.c,$(O)/arm64/%.bpf.o,$(BPF_SRC))

# ---- user side
$(O)/%.o: %.c
	$(call msg,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) -MMD -MP -c $< -o $@
$(call obj,$(LOADER_SRC)): | $(BPF_SKEL)
# ---- formats of others, from our own description of what is written of them
$(PROTO_C:.c=.h): %.h: %.c
	@:
vpath %.proto $(dir $(PROTO_SRC))
$(O)/proto/%.pb-c.c: %.proto
	$(call msg,PROTO,$@)
	$(Q)mkdir -p $(@D)
	$(Q)protoc-c --proto_path=$(<D) --c_out=$(@D) $(<F)
$(PROTO_C:.c=.o): %.o: %.c
	$(call msg,CC,$@)
	$(Q)$(CC) $(CFLAGS) -MMD -MP -c $< -o $@
$(call obj,$(USER_SRC)): | $(PROTO_C)
# ---- scripts for shells, as text in the program
SHELL_H := $(patsubst userspace/shell/%,$(O)/shell/%.h,$(wildcard userspace/shell/gp-bpf.*))
$(SHELL_H): $(O)/shell/%.h: userspace/shell/%
	$(Q)mkdir -p $(@D)
	$(Q)sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $< > $@
$(O)/userspace/command/completion_script.o: | $(SHELL_H)
$(O)/libgpuser.a: $(call obj,$(USER_SRC)) $(PROTO_C:.c=.o)
	$(call msg,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^
$(O)/libgploader.a: $(call obj,$(LOADER_SRC))
	$(call msg,AR,$@)
	$(Q)rm -f $@ && ar rcs $@ $^
$(O)/gp-bpf: $(call obj,$(MAIN_SRC)) $(O)/libgpuser.a $(O)/libgploader.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LOADER_LIBS) $(USER_LIBS)

# tests/unit/heap.h stands in for these.
HEAP_WRAP := $(addprefix -Wl$(comma)--wrap=,malloc calloc realloc strdup free)

# ---- unit tests: tests/unit/NAME_test.c, one program each
UNIT_BIN := $(patsubst tests/unit/%.c,$(O)/tests/unit/%,$(UNIT_SRC))
$(O)/tests/unit/%: $(O)/tests/unit/%.o $(O)/libgpuser.a $(O)/libgploader.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LOADER_LIBS) $(USER_LIBS) -lcmocka
# Sanitizers make long functions out of asserts, which take the optimizer ten seconds a file.
$(O)/tests/unit/%.o: override CFLAGS += $(if $(SAN),-O0)
$(O)/tests/unit/memory_test: override LDFLAGS += $(HEAP_WRAP)
unit: $(UNIT_BIN)

# The .case files and the unit tests that need no probe, process, socket or database, and no long simulation.
NOT_QUICK := helper handoff% carry_map change compare confine discover durable file_writer gcm_% google% goodput_stream hook% http% line_writer \
             live loader_% memory notify owed pods% process ras_ask save blocked_call store% successor tar tensorboard web% %worker
quick: $(filter-out $(NOT_QUICK:%=$(O)/tests/unit/%_test),$(UNIT_BIN))
	$(Q)tests/tools/quick.sh $^

deps:
	$(Q)tests/tools/deps.sh $(or $(WHAT),all)

# The same tests on other kernels, under QEMU: make kernels [KERNELS="6.1 7"]; they end with a table.
KERNELS ?=
kernels: all unit fakes
	$(Q)tests/kernels/kernels.sh $(KERNELS)

check:
	$(Q)+MAKE='$(MAKE)' ALL='$(ALL)' LIMIT='$(LIMIT)' PYTHON='$(PYTHON)' tests/check.sh

# Causes that are injected into real training runs, and what gp-bpf names: make why [ARGS="--only ROW"]. Takes half an hour, as root.
why: all fakes
	$(Q)python3 tests/why/why.py $(ARGS)

# Operations of a step of public models, measured and counted: make flops [ARGS="--only ROW"]. Takes half an hour, as root.
flops: all
	$(Q)python3 tests/flops/flops.py $(ARGS)

# Every row of probes/ in the real libraries, which are brought into the user's cache (8 GB, once).
check-symbols: all
	$(Q)tests/tools/symbols.py $(O)/gp-bpf

-include install.mk deploy/deploy.mk tests/bench/Makefile.inc tests/torture/Makefile.inc tests/demo/Makefile.inc tests/cases/Makefile.inc \
	tests/fake/Makefile.inc tests/fuzz/Makefile.inc tests/symbols/Makefile.inc

clean:
	$(Q)rm -rf build

format:
	$(Q)git ls-files '*.c' '*.h' | xargs clang-format -i

-include $(shell find $(O) -name '*.d' 2>/dev/null)
