# SPDX-License-Identifier: Apache-2.0
# make install DESTDIR= PREFIX=: one program, its probe files and its page. gp-bpf finds the probe files
# relative to itself (../share/gp-bpf/probes), so the tree may be moved as a whole.
INSTALL ?= install
BINDIR   = $(DESTDIR)$(PREFIX)/bin
SHAREDIR = $(DESTDIR)$(PREFIX)/share/gp-bpf
MANDIR   = $(DESTDIR)$(PREFIX)/share/man/man8

install: $(O)/gp-bpf
	$(Q)$(INSTALL) -d $(BINDIR) $(SHAREDIR)/probes $(MANDIR)
	$(Q)$(INSTALL) -m 755 $(O)/gp-bpf $(BINDIR)/gp-bpf
	$(Q)$(INSTALL) -m 644 $(wildcard probes/*.yaml) $(SHAREDIR)/probes
	$(Q)$(INSTALL) -m 644 gp-bpf.8 $(MANDIR)/gp-bpf.8
