# make help lists the targets.
SHELL       := /bin/sh
BINARY      := ceph_risk_exporter
VERSION     ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS     := -s -w -X main.release=$(VERSION)
GOTOOL      := go tool -modfile=tools/go.mod
CACHE       ?= /var/cache/ceph_risk_exporter
TEST_FLAGS  ?=
FUZZ_TIME   ?= 5s
# Versions of packages begin with a number and have no hyphen.
PACKAGE_VERSION ?= $(shell scripts/package-version '$(VERSION)')
export CEPHRISK_CACHE := $(CACHE)
# Tools that are unpacked rather than installed (scripts/install-deps).
export PATH := $(PATH):$(CACHE)/tools/usr/bin

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 18

.PHONY: build
build: build-deps ## build the exporter and scrubplan into build/
	go build -trimpath -ldflags '$(LDFLAGS)' -o build/ ./cmd/...

.PHONY: build-static
build-static: ## build the static binary without librados (host role and msa)
	CGO_ENABLED=0 go build -trimpath -ldflags '$(LDFLAGS)' -o build/$(BINARY)-static ./cmd/$(BINARY)

.PHONY: packages
packages: build build-static ## build .deb and .rpm of both kinds into build/packages/
	scripts/packages '$(PACKAGE_VERSION)'

.PHONY: build-deps deps roots
build-deps:
	@scripts/install-deps build
deps: ## install what tests and the demo need
	@scripts/install-deps test
roots: deps ## make the roots with Ceph 16, 18 and 20 that live tests run in
	go run ./internal/cephtest/cmd/cephcluster roots

.PHONY: demo
demo: deps ## run the exporter beside a real Ceph cluster on loopback, until Ctrl-C
	go run ./internal/cephtest/cmd/demo

.PHONY: test
test: roots check static test-go test-schema fuzz ## everything in short form: what CI runs

.PHONY: check
check: deps ## formatting, vet, staticcheck
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go vet ./...
	$(GOTOOL) staticcheck ./...

.PHONY: static
static: ## the static binary builds, and says what it cannot do
	CGO_ENABLED=0 go vet ./...
	CGO_ENABLED=0 go build -o /dev/null ./cmd/...
	CGO_ENABLED=0 go test ./internal/rados

.PHONY: test-go
test-go: roots ## all Go tests, live ones included, with the race detector
	go test -race -timeout 60m -p 2 $(TEST_FLAGS) ./...; code=$$?; \
	go run ./internal/cephtest/cmd/cephcluster down --shared; exit $$code

.PHONY: test-schema
test-schema: ## Kubernetes and Rook manifests against the types that decode them
	cd deploy/schema && go vet ./... && go test ./...

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZ_TIME
	scripts/fuzz $(FUZZ_TIME)

.PHONY: test-long
test-long: roots ## hours: long live runs, soak, packages in clean roots, the README in a bare root
	scripts/new-user
	$(MAKE) secrets
	CEPHRISK_LONG=1 go test -race -timeout 12h -p 1 $(TEST_FLAGS) ./...
	$(MAKE) fuzz FUZZ_TIME=10m

.PHONY: faults
faults: roots ## what breaks, and what every series does then: the tests named in docs/reliability.md
	go test -timeout 60m -p 1 -v -run "^($$(grep -oE '`Test[A-Za-z0-9]+`' docs/reliability.md | tr -d '`' | sort -u | paste -sd '|'))$$" ./cmd/ceph_risk_exporter ./collector ./internal/...

.PHONY: backtest
backtest: roots ## an hour: forecasts against what three real clusters then did (docs/forecast.md)
	CEPHRISK_LONG=1 go test -timeout 3h -parallel 3 -run '^TestBacktest$$' -v ./cmd/scrubplan

.PHONY: drill
drill: roots ## a quarter of an hour: real faults, and the pages they bring (docs/fire-drill.md)
	CEPHRISK_LONG=1 go test -timeout 3h -run '^TestFireDrill$$' -v ./mixin/drill -update

.PHONY: bench
bench: deps ## figures, as recorded in docs/performance.md
	@mkdir -p build
	go test -run '^$$' -bench . -benchmem -timeout 2h ./... | tee build/bench.txt | grep -v '^?' >&2; \
	scripts/bench-table <build/bench.txt

.PHONY: vuln
vuln: ## known vulnerabilities in what the programs call (needs vuln.go.dev)
	scripts/vuln

.PHONY: secrets
secrets: ## gitleaks over the tree's whole history
	$(GOTOOL) gitleaks git --no-banner --redact --log-level warn .

.PHONY: fmt
fmt: ## format the sources
	gofmt -w .

.PHONY: update
update: ## rewrite goldens and generated documents
	go test ./collector ./internal/page ./cmd/... ./deploy -update
	go test ./internal/ceph -run Captured -update

.PHONY: mixin
mixin: ## render mixin/ into alerts/ and dashboards/
	rm -rf alerts dashboards && mkdir alerts dashboards
	$(GOTOOL) jsonnet -S -m . mixin/render.jsonnet

.PHONY: clean
clean: ## remove what was built
	rm -rf build
