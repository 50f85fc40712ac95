#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The metrics server as a web config makes it: TLS, client certificates, basic auth, formats, compression.

# shellcheck disable=SC2016,SC2030,SC2031,SC2153,SC2154 # programs of jq and awk; tests are subshells; bats sets stderr
load lib

setup_file() {
	e2e_setup_file
	C=$BATS_FILE_TMPDIR/tls
	export C
	mkdir "$C"
	make_ca ca
	make_ca other-ca
	make_cert ca server
	make_cert ca client
	make_cert other-ca stranger
}
setup() {
	e2e_setup
	need_probes
	need_program curl
	need_program openssl
	# of the password "right", cost 5
	HASH=$(python3 -c 'import ctypes
c = ctypes.CDLL("libcrypt.so.1"); c.crypt.restype = ctypes.c_char_p
print(c.crypt(b"right", b"$2b$05$abcdefghijklmnopqrstuu").decode())')
}
teardown() { e2e_teardown; }

make_ca() { # name
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
		-keyout "$C/$1.key" -out "$C/$1.crt" 2>/dev/null
}
make_cert() { # ca name
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$2" -keyout "$C/$2.key" \
		-out "$C/$2.csr" 2>/dev/null
	openssl x509 -req -in "$C/$2.csr" -CA "$C/$1.crt" -CAkey "$C/$1.key" -CAcreateserial -days 2 -out "$C/$2.crt" \
		-extfile <(printf 'subjectAltName=DNS:localhost,DNS:%s,IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth\n' "$2") \
		2>/dev/null
}

TLS() { printf 'tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n'; }

# The text of a web config; a job that waits is watched then, and ADDRESS answers.
watched_with() { # text [option...]
	cp "$C"/server.* "$T"
	printf '%s\n' "$1" >"$T/web.yml"
	shift
	start_job "$TRAIN" load say=held pause steps=23 say=again pause steps=7
	job_line held
	start_watch --pid "$JOB" --quiet --listen 127.0.0.1:0 --web-config "$T/web.yml" --log-level info "$@"
	ADDRESS=$(sed -nE 's/.*metrics at ([0-9.:]+).*/\1/p' "$T/watch.err" | head -1)
	job_go
	job_line again
}
watched_end() {
	job_go
	job_end
	watch_end
}

code() { curl -sS -o /dev/null -w '%{http_code}' "$@"; }
https() { # path [option...]
	local path=$1
	shift
	curl -sS --cacert "$C/ca.crt" "https://$ADDRESS$path" "$@"
}

@test "TLS 1.2 and 1.3, and nothing without" {
	watched_with "$(TLS)"
	grep -q 'metrics at .* (TLS)' "$T/watch.err"
	https /metrics --tlsv1.2 --tls-max 1.2 | grep -q '^gpbpf_up 1$'
	https /metrics --tlsv1.3 | grep -q '^gpbpf_up 1$'
	run -35 https /metrics --tlsv1.0 --tls-max 1.1 --ciphers DEFAULT@SECLEVEL=0
	run ! curl -sS --fail "http://$ADDRESS/metrics"
	run -60 curl -sS --cacert "$C/other-ca.crt" "https://$ADDRESS/metrics"
	watched_end
}

@test "a client's certificate of the right authority, a wrong one, none" {
	cp "$C/ca.crt" "$T"
	watched_with "$(TLS)
  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.crt
  client_allowed_sans: [client]
  max_version: TLS12"
	run ! https /metrics
	run ! https /metrics --cert "$C/stranger.crt" --key "$C/stranger.key"
	run ! https /metrics --cert "$C/server.crt" --key "$C/server.key" # another name
	run -0 https /metrics --fail --cert "$C/client.crt" --key "$C/client.key"
	until_true https /readyz --fail --cert "$C/client.crt" --key "$C/client.key"
	run -0 https /debug/state --fail --cert "$C/client.crt" --key "$C/client.key"
	run ! https /metrics --tlsv1.3
	watched_end
}

@test "basic auth: right, wrong, none; it is asked for on every path" {
	watched_with "basic_auth_users:
  prom: $HASH"
	local url=http://$ADDRESS path
	for path in / /metrics /healthz /readyz /debug/state /other; do
		equal 401 "$(code "$url$path")" "$path without"
		equal 401 "$(code -u prom:wrong "$url$path")" "$path with a wrong password"
	done
	equal 401 "$(code -u nobody:right "$url/metrics")" "another user"
	equal 401 "$(code -u "prom:" "$url/metrics")" "an empty password"
	equal 401 "$(code -H 'Authorization: Bearer right' "$url/metrics")" "another scheme"
	equal 401 "$(code -H 'Authorization: Basic %%%' "$url/metrics")" garbage
	curl -sS -D - -o /dev/null "$url/metrics" | grep -qi '^WWW-Authenticate: Basic'
	until_true curl -sS --fail -u prom:right -o /dev/null "$url/readyz"
	for path in / /metrics /healthz /debug/state; do
		equal 200 "$(code -u prom:right "$url$path")" "$path with the right password"
	done
	equal 404 "$(code -u prom:right "$url/other")" "what is not there"
	run -1 grep -rl 'right' "$T/watch.err"
	watched_end
}

@test "formats by Accept, compressed by Accept-Encoding" {
	watched_with ''
	local url=http://$ADDRESS
	until_true curl -sS --fail "$url/readyz"
	run -0 curl -sS -o "$T/om" -w '%{content_type}' "$url/metrics" -H 'Accept: application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'
	[[ $output == "application/openmetrics-text; version=1.0.0"* ]]
	equal "# EOF" "$(tail -1 "$T/om")" "the end of OpenMetrics"
	/usr/bin/python3 - "$T/om" <<-'P'
		import sys
		from prometheus_client.openmetrics import parser
		assert len(list(parser.text_string_to_metric_families(open(sys.argv[1]).read()))) > 20
	P
	curl -sS --compressed -D "$T/head" "$url/metrics" | promtool check metrics
	grep -qi '^Content-Encoding: gzip' "$T/head"
	grep -qi '^Vary: Accept, Accept-Encoding' "$T/head"
	curl -sS -D "$T/head" -H 'Accept-Encoding: gzip;q=0' "$url/metrics" | grep -q '^gpbpf_up 1$'
	run ! grep -qi '^Content-Encoding' "$T/head"
	curl -sSI -H 'Accept-Encoding: gzip' "$url/metrics" | grep -qi '^Content-Encoding: gzip'
	curl -sS "$url/debug/state" | jq -e .ranks >/dev/null
	equal 403 "$(code -H 'Host: evil.example' "$url/debug/state")" "another site's name"
	watched_end
}

@test "an address shows no arguments of a job; the socket of its owner does" {
	start_job "$TRAIN" load say=held pause steps=23 say=S3CRET pause
	job_line held
	start_watch --pid "$JOB" --quiet --listen 127.0.0.1:0 --log-level info
	ADDRESS=$(sed -nE 's/.*metrics at ([0-9.:]+).*/\1/p' "$T/watch.err" | head -1)
	WATCH_NAME=second start_watch --pid "$JOB" --quiet --listen "unix:$T/socket"
	job_go
	job_line S3CRET
	until_true curl -sS --fail "http://$ADDRESS/readyz" -o /dev/null
	until_true curl -sS --fail --unix-socket "$T/socket" http://x/readyz -o /dev/null
	curl -sS "http://$ADDRESS/debug/state" >"$T/tcp"
	jq -e --arg c "$TRAIN ..." '.arguments_masked and .ranks[0].command == $c' "$T/tcp"
	run ! grep -q S3CRET "$T/tcp"
	curl -sS --unix-socket "$T/socket" http://x/debug/state |
		jq -e 'has("arguments_masked") == false and (.ranks[0].command | contains("S3CRET"))'
	job_end
}

@test "a certificate and a user are replaced while it runs; a wrong file changes nothing" {
	watched_with "$(TLS)
basic_auth_users: {prom: $HASH}"
	equal 200 "$(https /metrics -o /dev/null -w '%{http_code}' -u prom:right)" before
	make_cert other-ca server2
	cp "$C/server2.crt" "$T/server.crt"
	cp "$C/server2.key" "$T/server.key"
	until_true curl -sS --fail -u prom:right --cacert "$C/other-ca.crt" "https://$ADDRESS/metrics" -o /dev/null
	printf '%s\nbasic_auth_users: {other: %s}\n' "$(TLS)" "$HASH" >"$T/web.yml"
	until_true curl -sS --fail -u other:right --cacert "$C/other-ca.crt" "https://$ADDRESS/metrics" -o /dev/null
	equal 401 "$(code --cacert "$C/other-ca.crt" "https://$ADDRESS/metrics" -u prom:right)" "who was removed"
	printf 'basic_auth_users: {other: plain}\n' >"$T/web.yml"
	wrong_is_told() {
		code --cacert "$C/other-ca.crt" "https://$ADDRESS/metrics" >/dev/null
		grep -q 'the previous settings stay in use' "$T/watch.err"
	}
	until_true wrong_is_told
	equal 401 "$(code --cacert "$C/other-ca.crt" "https://$ADDRESS/metrics")" "without a password"
	watched_end
}

@test "Prometheus scrapes over TLS with basic auth" {
	need_program prometheus
	watched_with "$(TLS)
basic_auth_users: {prom: $HASH}"
	cat >"$T/prometheus.yml" <<-E
		scrape_configs:
		- job_name: gp-bpf
		  scrape_interval: 1s
		  scheme: https
		  basic_auth: {username: prom, password: right}
		  tls_config: {ca_file: $C/ca.crt}
		  static_configs: [{targets: ["$ADDRESS"]}]
	E
	local port
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	background /dev/null /dev/null "$T/prometheus.err" prometheus --config.file="$T/prometheus.yml" \
		--storage.tsdb.path="$T/tsdb" --web.listen-address="127.0.0.1:$port"
	steps_in_prometheus() {
		[ "$(curl -sS "http://127.0.0.1:$port/api/v1/query?query=gpbpf_steps_total" |
			jq -r '.data.result[0].value[1]')" = 23 ]
	}
	until_true steps_in_prometheus
	equal up "$(curl -sS "http://127.0.0.1:$port/api/v1/targets" | jq -r '.data.activeTargets[0].health')" target
	equal counter "$(curl -sS "http://127.0.0.1:$port/api/v1/metadata?metric=gpbpf_steps_total" |
		jq -r '.data[][0].type')$(curl -sS "http://127.0.0.1:$port/api/v1/metadata?metric=gpbpf_steps" |
		jq -r '.data[][0].type')" "type of gpbpf_steps_total"
	run ! grep -iE 'out of order|duplicate' "$T/prometheus.err"
	watched_end
}

@test "what cannot be served as it was asked for is an error, and nothing is started" {
	local text
	printf 'tls_server_config:\n  cert_file: none.crt\n  key_file: none.key\n' >"$T/web.yml"
	run -1 --separate-stderr "$GP_BPF" run --quiet --listen 127.0.0.1:0 --web-config "$T/web.yml" -- touch "$T/started"
	[[ $stderr == *"cert_file $T/none.crt: No such file"* ]]
	cp "$C/server.crt" "$T/none.crt"
	cp "$C/client.key" "$T/none.key"
	run -2 --separate-stderr "$GP_BPF" run --quiet --listen 127.0.0.1:0 --web-config "$T/web.yml" -- touch "$T/started"
	[[ $stderr == *"certificate $T/none.crt with key $T/none.key: "* ]]
	for text in 'rate_limit: {burst: 3}' 'basic_auth_users: {prom: plain}'; do
		echo "$text" >"$T/web.yml"
		run --separate-stderr "$GP_BPF" run --quiet --listen 127.0.0.1:0 --web-config "$T/web.yml" -- touch "$T/started"
		[ "$status" -eq 2 ]
		equal 1 "$(grep -c . <<<"$stderr")" lines
		[[ $stderr == *"web.yml:1: ${text%%: *}"* ]]
	done
	run --separate-stderr "$GP_BPF" run --quiet --web-config "$T/web.yml" -- touch "$T/started"
	[[ $stderr == *"--web-config"*"without --listen"* ]]
	[ ! -e "$T/started" ]
}
