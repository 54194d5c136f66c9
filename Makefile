# Everything a contributor or a CI machine does. `make help` lists it.

SHELL := /bin/bash
.DEFAULT_GOAL := help

VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
REVISION ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo unknown)
LDFLAGS  := -s -w -X main.version=$(VERSION) -X main.revision=$(REVISION)
# The bundler of scripts works for a moment at the start: inlined it would be no
# quicker for anybody, and weigh 0.8 MB more.
GCFLAGS  := github.com/evanw/esbuild/...=-l
GOLANGCI ?= go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# How often the crash tests kill the daemon.
ROUNDS ?= 40
# The platforms' own machine-readable documents, where they lie beside the
# clone: what is sent to the fakes is held to them then.
export PARLEY_SPECS ?= $(realpath ../shared/specs)
# Extra flags for go test, such as -run or -v.
TESTFLAGS ?=

# Packages that own goroutines are tested under the race detector.
RACE := ./channels/... ./internal/app/... ./internal/audit/... ./internal/dispatch/... ./internal/egress/... \
	./internal/httpserver/... ./internal/inbox/... ./internal/llm/... ./internal/outbox/... ./internal/store/... \
	./internal/tool/... ./internal/turn/...

.PHONY: help
help: ## show this
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "%-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: run
run: ## start the daemon from the source
	go run ./cmd/parley serve

.PHONY: build
build: ## one static binary in bin/, with everything (distributed under the GPL 3.0, see NOTICE)
	CGO_ENABLED=0 go build -trimpath -gcflags "$(GCFLAGS)" -ldflags "$(LDFLAGS)" -o bin/parley ./cmd/parley

.PHONY: slim
slim: ## the same without WhatsApp Web: smaller, and Apache-2.0 as a whole
	CGO_ENABLED=0 go build -trimpath -tags slim -gcflags "$(GCFLAGS)" -ldflags "$(LDFLAGS)" -o bin/parley-slim ./cmd/parley

# The systems beside Linux that a release is built for.
CROSS := darwin/arm64 windows/amd64

.PHONY: cross
cross: ## compile for other systems, tests included
	@for os in $(CROSS); do echo "cross $$os"; \
		CGO_ENABLED=0 GOOS=$${os%/*} GOARCH=$${os#*/} go build -o /dev/null ./cmd/parley && \
		CGO_ENABLED=0 GOOS=$${os%/*} GOARCH=$${os#*/} go build -tags slim -o /dev/null ./cmd/parley && \
		CGO_ENABLED=0 GOOS=$${os%/*} GOARCH=$${os#*/} go vet ./... || exit 1; \
	done

.PHONY: setup
setup: ## install what the tests need (Debian, as root): PostgreSQL, Chromium, Node.js, gcc, promtool
	@.ci/setup

.PHONY: test
test: setup test-go test-e2e ## all tests

.PHONY: test-go
test-go: ## Go tests, with -race where goroutines are owned
	@race="$$(go list $(RACE) 2>/dev/null | grep -v /node_modules/)"; \
	rest="$$(go list ./... | grep -v /node_modules/ | grep -vxF "$$race")"; \
	failed=0; set -x; \
	go test -count=1 ./internal/layers_test || failed=1; \
	go test -race -timeout 10m $(TESTFLAGS) $$race || failed=1; \
	go test -tags slim -run Slim ./internal/app || failed=1; \
	go test -timeout 10m $(TESTFLAGS) $$rest ./channels/whatsappweb || failed=1; \
	exit $$failed

.PHONY: test-e2e
test-e2e: ## tests in a browser
	@if [ -f e2e/package.json ]; then cd e2e && npm test; else echo "no e2e/package.json: no browser tests"; fi

.PHONY: bench
bench: ## benchmarks
	go test -run '^$$' -bench . -benchmem $(TESTFLAGS) ./...

.PHONY: crash
crash: ## kill the daemon at every commit and ROUNDS times more, and count what was lost
	go test ./internal/store/sqlite -count=1 -run 'TestSQLite/parked_questions' -v $(TESTFLAGS)
	go test ./e2e/crash -count=1 -timeout 60m -v -rounds=$(ROUNDS) -scale $(TESTFLAGS) \
		| grep -vE '^( *--- PASS: .*/|=== )'; exit $${PIPESTATUS[0]}

.PHONY: fmt
fmt: ## format
	gofmt -w $$(git ls-files -co --exclude-standard '*.go')

.PHONY: fmt-check
fmt-check: ## fail on what isn't formatted
	@bad="$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go'))"; \
	if [ -n "$$bad" ]; then echo "not formatted (make fmt):"; echo "$$bad"; exit 1; fi

.PHONY: lint
lint: ## golangci-lint and go vet
	go vet ./...
	$(GOLANGCI) run ./...

.PHONY: tidy-check
tidy-check: ## fail on a go.mod that isn't tidy
	go mod tidy -diff
	go mod verify

.PHONY: generate-check
generate-check: ## fail on generated files that are out of date
	@before="$$(git diff HEAD | sha256sum; git ls-files -o --exclude-standard)"; \
	go generate ./... && \
	after="$$(git diff HEAD | sha256sum; git ls-files -o --exclude-standard)"; \
	if [ "$$before" != "$$after" ]; then echo "go generate changes files; run it and commit:"; git status --short; exit 1; fi

.PHONY: vuln
vuln: ## known vulnerabilities in what is linked, where vuln.go.dev can be reached
	@if curl -sfI --max-time 10 -o /dev/null https://vuln.go.dev/index/db.json 2>/dev/null; \
	then go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...; \
	else echo "vuln.go.dev can't be reached: not checked"; fi

.PHONY: check
check: fmt-check lint tidy-check generate-check ## all checks but the tests
