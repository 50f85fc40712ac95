#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# collector.sh [--find]: prints the path of an OpenTelemetry Collector of the version pinned here, built on the first call
# from its own modules (Go's proxy; minutes, progress on stderr) into the user's cache. It is the smallest that takes OTLP:
# otlpreceiver, debugexporter, and configuration from a file. What a call that was ended has built, the next one need not.
#   --find  build nothing; fail if it is not there
#   GO=     the go to build with, instead of that in the path
set -eu

fail() {
	echo "collector.sh: $*" >&2
	exit 1
}

find=''
[ "${1:-}" != --find ] || { find=1; shift; }
[ $# -eq 0 ] || { echo "usage: ${0##*/} [--find]" >&2; exit 2; }

version=0.150.0 stable=1.56.0 # the Collector numbers its settled modules on their own
dir=${XDG_CACHE_HOME:-$HOME/.cache}/gp-bpf/collector
stamp="$version $stable 2"
ready() { [ -x "$dir/collector" ] && [ "$(cat "$dir/stamp" 2>/dev/null)" = "$stamp" ]; }
if ready; then
	echo "$dir/collector"
	exit
fi
[ -z "$find" ] || fail "no collector in $dir; '${0##*/}' builds it"

go=${GO:-}
for each in go /usr/local/go/bin/go; do
	[ -n "$go" ] || ! command -v "$each" >/dev/null || go=$each
done
[ -n "$go" ] || fail "no go (1.25 or later; 1.21 fetches a later one itself): GO= names one"

write_sources() {
	cat >"$dir/go.mod" <<-END
		module gp-bpf/collector

		go 1.25.0

		require (
			go.opentelemetry.io/collector/component v$stable
			go.opentelemetry.io/collector/confmap v$stable
			go.opentelemetry.io/collector/confmap/provider/fileprovider v$stable
			go.opentelemetry.io/collector/exporter v$stable
			go.opentelemetry.io/collector/exporter/debugexporter v$version
			go.opentelemetry.io/collector/otelcol v$version
			go.opentelemetry.io/collector/receiver v$stable
			go.opentelemetry.io/collector/receiver/otlpreceiver v$version
			go.opentelemetry.io/collector/service v$version
		)
	END
	cat >"$dir/main.go" <<-END
		package main

		import (
			"log"

			"go.opentelemetry.io/collector/component"
			"go.opentelemetry.io/collector/confmap"
			"go.opentelemetry.io/collector/confmap/provider/fileprovider"
			"go.opentelemetry.io/collector/exporter"
			"go.opentelemetry.io/collector/exporter/debugexporter"
			"go.opentelemetry.io/collector/otelcol"
			"go.opentelemetry.io/collector/receiver"
			"go.opentelemetry.io/collector/receiver/otlpreceiver"
			"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
		)

		func factories() (f otelcol.Factories, err error) {
			f.Telemetry = otelconftelemetry.NewFactory()
			if f.Receivers, err = otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory()); err != nil {
				return
			}
			f.Exporters, err = otelcol.MakeFactoryMap[exporter.Factory](debugexporter.NewFactory())
			return
		}

		func main() {
			command := otelcol.NewCommand(otelcol.CollectorSettings{
				BuildInfo: component.BuildInfo{Command: "collector", Description: "OpenTelemetry Collector", Version: "$version"},
				Factories: factories,
				ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
					ProviderFactories: []confmap.ProviderFactory{fileprovider.NewFactory()},
					DefaultScheme:     "file",
				}},
			})
			if err := command.Execute(); err != nil {
				log.Fatal(err)
			}
		}
	END
}

mkdir -p "$dir"
exec 9>"$dir.lock"
flock -n 9 || {
	echo "collector.sh: waiting for another one that builds" >&2
	flock 9
}
if ! ready; then
	echo "collector.sh: building the OpenTelemetry Collector $version in $dir (once; minutes)" >&2
	write_sources
	(cd "$dir" && GOFLAGS=-mod=mod GOWORK=off GOTOOLCHAIN=auto nice -n 19 "$go" build -trimpath -ldflags='-s -w' -o collector.new .) >&2 9>&- ||
		fail "go could not build it"
	"$dir/collector.new" --version >&2 9>&- || fail "what was built does not run"
	mv "$dir/collector.new" "$dir/collector"
	echo "$stamp" >"$dir/stamp"
fi
echo "$dir/collector"
