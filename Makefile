# What one can do here. `make` lists it; CI calls these targets and nothing else.

GO ?= go
FUZZTIME ?= 20s
# Runs of each test in make steady.
TIMES ?= 20
SOAKTIME ?= 10m
# Of releases and images; empty means the one in engine/info.go.
VERSION ?=
# Seeds of make difftest. CI keeps to these, so that a change fails by its own
# fault; SEEDS=fresh looks for what they do not find.
SEEDS ?= 1,2,3,4
# Commands of make difftest that replicas follow. REPLICATED=2000000 takes an hour.
REPLICATED ?= 14000

# What make packages QUICK=1 builds for.
PLATFORM = $(shell $(GO) env GOOS)/$(shell $(GO) env GOARCH)

.DEFAULT_GOAL := help

.PHONY: help build compile test race fed steady fuzz lint vulncheck bench bench-quick figures bench-doors \
	compat libraries difftest crash abuse browser sentinel cluster clusters soak record picture zones pgo \
	tidy image release dist packages packages-test publish-check

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build ./zlimit-server
	$(GO) build -o zlimit-server ./cmd/zlimit-server

# Without linking. go builds that run side by side compile the same packages twice.
compile: ## what the other targets would compile each for itself if they ran side by side
	$(GO) list -pgo=off -export ./... >/dev/null
	$(GO) list -C lab -pgo=off -export ./... >/dev/null

test: ## the tests: needs Go and nothing else
	$(GO) test -pgo=off ./server ./cmd/... ./... # the longest first
	$(GO) test -C lab -pgo=off ./...

# Without commands, whose handlers run one at a time in its own tests: those of engine run them side by side.
race: ## the tests of what shares memory between goroutines, under the race detector
	@packages=$$($(GO) list -f '{{.ImportPath}} {{.Imports}} {{.TestImports}} {{.XTestImports}}' ./... | \
		awk '$$1 !~ /\/commands$$/ && /[[ ](sync|sync\/atomic|testing\/synctest)[] ]/ {print $$1}'); \
	CGO_ENABLED=1 $(GO) test -race -pgo=off -vet=off -timeout 20m $$packages
	CGO_ENABLED=1 $(GO) test -C lab -race -pgo=off -vet=off -timeout 20m ./abuse

fed: ## the tests of server with goroutines that read and write every connection, as on other systems
	$(GO) test -pgo=off -count=1 ./server -fed

steady: ## the tests of server, cmd/zlimit-server and engine TIMES (20) times, beside a load on every core
	@for core in $$(seq $$(getconf _NPROCESSORS_ONLN)); do while kill -0 $$$$ 2>/dev/null; do :; done & done; \
	$(GO) test -pgo=off -count $(TIMES) -timeout 5h ./server ./cmd/zlimit-server ./engine

fuzz: ## search with every fuzz target for FUZZTIME (20s); make test replays the seeds and what was found
	@set -e; for module in . lab; do for pkg in $$($(GO) list -C $$module ./...); do \
		for target in $$($(GO) test -C $$module -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
			echo "== $$pkg $$target"; \
			$(GO) test -C $$module -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -pgo=off $$pkg; \
		done; \
	done; done

# Without the profile: with it, all that the server imports would be compiled once more.
lint: export GOFLAGS := $(GOFLAGS) -pgo=off
lint: ## formatting, and the linter, which vets too
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "gofmt: $$out"; exit 1; }
	$(GO) tool -modfile=tools/go.mod golangci-lint run ./...
	cd lab && $(GO) tool -modfile=../tools/go.mod golangci-lint run ./...

vulncheck: ## known vulnerabilities of the modules and of Go's library (needs the network)
	@GO="$(GO)" .ci/vulncheck

bench: ## speed against redis-server, as ratios (needs redis-server)
	$(GO) run ./bench

# Without the profile: the floors leave more room than it gains, and compiling with it takes two minutes.
bench-quick: export GOFLAGS := $(GOFLAGS) -pgo=off
bench-quick: ## the same in under a minute, with half the floors, without the profile
	$(GO) run ./bench --quick

figures: ## all rows of bench, half an hour; writes docs/performance.json, and the tables of README.md and docs/performance.md
	-$(GO) run ./bench --row '*' --rounds 3 --json docs/performance.new # fails if a target is missed
	mv docs/performance.new docs/performance.json
	$(GO) test -pgo=off ./bench -run TestPages -rewrite

bench-doors: ## processor time of a decision over gRPC and HTTP beside Envoy's rate limit service (needs redis-server)
	taskset -c 1 $(GO) test -C compat/envoy -count=1 -run TestDoorCost . -door-cost 50000 -v

compat: ## the documents' flows through real clients, here and on redis-server; tests of limiters in Go and Ruby; Redis' tools, Sentinel and redis_exporter; limiters moved from Redis; gateways over clusters; cluster clients
	$(GO) run -C compat/run .
	$(GO) run -C compat/run . --tls
	$(GO) run -C compat/run . --gateway
	$(GO) run -C compat/run . --cluster
	$(GO) run -C compat/run . --tests

libraries: ## limiter libraries in Python, Node, Go and Java, here and on redis-server
	$(GO) run -C compat/run . --libraries

browser: ## the page in a headless Chromium (needs Debian's package chromium)
	$(GO) test -C compat/browser ./...

difftest: ## 200,000 random commands, here and on redis-server, byte for byte
	$(GO) build -pgo=off -o lab/zlimit-server ./cmd/zlimit-server
	$(GO) run -C lab ./difftest -server ./zlimit-server -n 200000 -seed $(SEEDS)
	$(GO) run -C lab ./difftest -server ./zlimit-server -n 40000 -seed $(SEEDS) -quiet \
		-family observe,zset,hash,set,list,string,bits,keys,sort,tx,lua,conn
	$(GO) run -C lab ./difftest -server ./zlimit-server -n 40000 -seed $(SEEDS) -quiet -cluster
	$(GO) run -C lab ./difftest -server ./zlimit-server -n $(REPLICATED) -seed $(SEEDS) -quiet -replicas

crash: ## 240 kills by SIGKILL under load, in every appendfsync mode; what comes back is what was acknowledged
	$(GO) test ./cmd/zlimit-server -run 'Kill|Journal' -count 1 -timeout 30m -v -kills 240 -killseed $$(date +%s)

abuse: ## what other clients notice of abuse, here and on redis-server (needs redis-server)
	$(GO) run -C lab ./abuse/measure

sentinel: ## ten failovers of each kind by redis-sentinel, here and on redis-server (needs redis-sentinel); 35 minutes
	$(GO) run -C compat/run . --tests --only sentinel
	$(GO) test -C compat/sentinel -count=1 -timeout 90m -run 'TestFailovers' . -failovers 10 -between 1ms

cluster: build ## a cluster of redis-server with two gateways to try by hand; prints what to type
	$(GO) run -C compat/cluster ./try -server ../../zlimit-server

clusters: ## gateways over clusters: the libraries, and five of each fault as a table; 20 minutes
	$(GO) run -C compat/run . --gateway --libraries
	$(GO) run -C compat/run . --cluster --libraries
	$(GO) run -C compat/run . --tests --only cluster
	$(GO) test -C compat/cluster -count=1 -timeout 60m -v -run 'TestFaults' . -rounds 5 -between 5ms

soak: ## mixed load for SOAKTIME (10m); memory, goroutines and descriptors must end where they began
	$(GO) run -C lab ./soak -time $(SOAKTIME)

record: ## record the transcripts and scenes of redis-server anew (needs redis-server 7.0.15 and libfaketime)
	$(GO) test ./server -run 'TestTranscripts|TestReplicationScenes$$' -record

picture: ## draw docs/traffic.svg: what each algorithm admits of three loads
	$(GO) run -C lab ./picture >docs/traffic.svg

zones: ## write calendar/zones.bin: RELEASE=2026f of the zones in the directory ZONEINFO, such as that of Python's tzdata
	$(GO) run -C lab ./zones -dir "$(ZONEINFO)" -release "$(RELEASE)" >calendar/zones.new
	mv calendar/zones.new calendar/zones.bin

pgo: ## record the profile that the server is built with, from what limiters send over loopback
	$(GO) test ./server -run '^$$' -bench "Pipelined/(allow|evalsha|library)" -benchtime 3000000x -cpuprofile cmd/zlimit-server/default.pgo -o /dev/null

image: ## an OCI image for linux/amd64 and arm64 in dist/out/image, without a daemon; dist/out/image.tar for docker load
	$(GO) run -C dist ./release -only linux/amd64 -version "$(VERSION)" -out out/bin
	$(GO) run -C dist ./release -only linux/arm64 -version "$(VERSION)" -out out/bin
	$(GO) run -C dist ./image -version "$(or $(VERSION),dev)" -config image/zlimit.conf -layout out/image \
		-tarball out/image.tar amd64=out/bin/zlimit-server-linux-amd64 arm64=out/bin/zlimit-server-linux-arm64

release: ## static binaries for linux and darwin in dist/out, with checksums and bills of materials
	$(GO) run -C dist ./release -version "$(VERSION)" -out out

dist: ## the tests of images, releases, the dashboard and the alerts; COLD=1 compiles releases twice without the cache
	$(GO) test -C dist ./image ./check
	$(GO) test -C dist ./release $(if $(COLD),-timeout 30m -cold)

packages: ## Python, Node and Java packages of the server in dist/out/packages, and how to install them; QUICK=1 for this platform only, without the profile
	@echo "compiling what builds the packages"
	@$(GO) run -C dist ./release -version "$(VERSION)" -out out/bin $(if $(QUICK),-pgo=off -only $(PLATFORM))
	@$(GO) run -C dist ./packages -version "$(VERSION)" -bin out/bin -out out/packages $(if $(QUICK),-platform $(PLATFORM))

publish-check: packages ## the packages, and what keeps them from being published: docs/releasing.md; QUICK=1 as above, FINAL=1 fails on what is open
	@$(GO) run -C dist ./packages -check -version "$(VERSION)" -bin out/bin -out out/packages \
		$(if $(FINAL),-final) $(if $(QUICK),-platform $(PLATFORM))

packages-test: ## the tests of these packages, each installed into a fresh project; SERVERS=2000 starts so many in each language, NODES=22,24 tries these versions of Node too
	$(GO) run -C compat/run . --prepare java,libraries-node,libraries-python
	ZLIMIT_PREPARED=yes $(GO) test -C dist ./packages -timeout 20m $(if $(SERVERS),-servers $(SERVERS)) $(if $(NODES),-nodes $(NODES))

tidy: ## go mod tidy in every module
	@for mod in $$(git ls-files '*go.mod'); do (cd $$(dirname $$mod) && $(GO) mod tidy); done
