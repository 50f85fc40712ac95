# SPDX-License-Identifier: Apache-2.0
# make install DESTDIR= PREFIX=: one program, its probe files, its manual pages and its completions. gp-bpf finds the probe files
# relative to itself (../share/gp-bpf/probes), so the tree may be moved as a whole.
INSTALL ?= install
BINDIR   = $(DESTDIR)$(PREFIX)/bin
SHAREDIR = $(DESTDIR)$(PREFIX)/share/gp-bpf
MANDIR   = $(DESTDIR)$(PREFIX)/share/man
BASHDIR  = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSHDIR   = $(DESTDIR)$(PREFIX)/share/zsh/$(if $(filter /usr,$(PREFIX)),vendor-completions,site-functions)
FISHDIR  = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d

install: $(O)/gp-bpf
	$(Q)$(INSTALL) -d $(BINDIR) $(SHAREDIR)/probes $(foreach n,1 5 7 8,$(MANDIR)/man$(n)) $(BASHDIR) $(ZSHDIR) $(FISHDIR)
	$(Q)$(INSTALL) -m 755 $(O)/gp-bpf $(BINDIR)/gp-bpf
	$(Q)$(INSTALL) -m 644 $(wildcard probes/*.yaml) $(SHAREDIR)/probes
	$(Q)for n in 1 5 7 8; do $(INSTALL) -m 644 man/*.$$n $(MANDIR)/man$$n || exit; done
	$(Q)$(INSTALL) -m 644 userspace/shell/gp-bpf.bash $(BASHDIR)/gp-bpf
	$(Q)$(INSTALL) -m 644 userspace/shell/gp-bpf.zsh $(ZSHDIR)/_gp-bpf
	$(Q)$(INSTALL) -m 644 userspace/shell/gp-bpf.fish $(FISHDIR)/gp-bpf.fish
