# SPDX-License-Identifier: Apache-2.0
# make image [NAME=gp-bpf:TAG] [LOCAL=FILE]: see deploy/image.sh. make deb: build/deb/gp-bpf_*.deb, by deploy/deb.sh.
# make arm64: build/arm64/gp-bpf, on any Debian, against Debian's own arm64 packages in the user's cache; arm64-unit: its unit tests.
.PHONY: image deb arm64 arm64-unit
image: $(if $(LOCAL),all)
	$(Q)GP_BPF=$(O)/gp-bpf deploy/image.sh $(if $(LOCAL),--local $(LOCAL)) $(NAME)
deb:
	$(Q)deploy/deb.sh

arm64-unit: arm64
arm64 arm64-unit:
	$(Q)+root=$$(tests/tools/sysroot.sh) && lib=$$root/usr/lib/aarch64-linux-gnu && \
		PKG_CONFIG_SYSROOT_DIR=$$root PKG_CONFIG_LIBDIR=$$lib/pkgconfig:$$root/usr/share/pkgconfig \
		$(MAKE) --no-print-directory O=build/arm64 SAN= ARCH=aarch64 CC="aarch64-linux-gnu-gcc --sysroot=$$root" \
		BPF_EXTRA="-isystem $$root/usr/include/aarch64-linux-gnu" $(if $(filter %-unit,$@),unit build/arm64/tests/bench/tape,all)

# Pages of a cluster, for tests/deploy/nodes.py.
$(O)/tests/deploy/nodes: $(O)/tests/deploy/nodes.o $(O)/libgpuser.a
	$(call msg,LINK,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(USER_LIBS)
