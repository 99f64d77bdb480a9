.DEFAULT_GOAL := help
.PHONY: release test-install help setup run check test test-all test-short test-engine test-cluster test-rest test-programs test-plain build image lint lint-code prose bench soak chaos cluster-test generate module editor screenshots vulnerabilities

# What builds images: docker, podman or buildah.
ENGINE ?= docker

# Where make run keeps its data. Empty: where the command line looks, too.
DATA ?=

# What runs tests: in CI, what runs a failed one once more.
GOTEST ?= go test

STATICCHECK ?= go tool staticcheck

# A program with the race detector ends a second late, for reports that are just being
# written. Tests end hundreds of them.
export GORACE ?= atexit_sleep_ms=50

help: ## Show what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## Install a Chromium if there is none (Debian and Ubuntu), or say what to install
	@./.ci/setup

run: setup build ## Start the service on 127.0.0.1:8080; DATA=DIR for another data folder than the command line's
	@if [ -z "$(DATA)" ] && [ -d data/store ]; then echo "./data has the data of an earlier make run: use make run DATA=data, and --data data for commands."; fi
	@TROUPE_LOG_FORMAT=$${TROUPE_LOG_FORMAT:-console} exec ./bin/troupe serve $(if $(DATA),--data $(DATA))

check: ## Check formatting, vet, lint, and run the tests that need no browser, network or root (a minute)
	@$(MAKE) --no-print-directory -k -j2 lint test-short

# Those that wait longest begin first. What make lint vets is not vetted here again.
test-short:
	$(GOTEST) -short -vet=off -p=4 ./http ./cluster ./actors ./cmd/troupe/outside ./...

test: setup ## Run the tests, with real browsers; those that take long are left to test-all
	@./.ci/setup-tests
	@$(MAKE) --no-print-directory -k -j3 $(TESTS)

test-all: setup ## Run all tests, with races looked for: kills, full disks, three nodes, applications from npm
	@./.ci/setup-tests
	@TROUPE_TEST_ALL=1 $(MAKE) --no-print-directory -k -j2 $(TESTS) test-plain RACE=-race

# Two of them run at once, in this order, and three where the long ones are left out.
# Those whose browsers work, engine and programs, are beside those that mostly wait, and
# seldom beside each other. A machine may be several times slower than ours: go's own ten
# minutes for a package would be too few there. Programs and pages have their races in the
# other packages, and programs in RACED, too. What make lint vets is not vetted here again, and what only debuggers read
# is not linked (-w).
TESTS = test-engine test-cluster test-rest test-programs
# Where races are looked for, few tests of each keep the processors busy: more of them only make
# each other late.
FEW = -parallel=$(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
TESTED = $(GOTEST) -vet=off -ldflags=-w -p=1 -timeout=60m $(if $(RACE),$(FEW))

# Without the race detector, they are compiled as releases are. So nothing is compiled twice
# where both are made.
STATIC = CGO_ENABLED=0 GOFLAGS="$$GOFLAGS -trimpath"

test-engine:
	$(if $(RACE),,$(STATIC)) $(TESTED) $(RACE) ./engine/...

test-cluster:
	$(TESTED) -race ./cluster/...

test-rest:
	$(TESTED) -race $$(go list ./... | grep -vE "^$$(go list -m)/(engine|cluster|cmd)(/|$$)")
	$(if $(RACE),$(GOTEST) -vet=off -race $(FEW) -run=TestTransitions ./actors -args -chromium) # all tests: the same rows once more, in real browsers

test-programs: # most of their time they wait for processes
	$(STATIC) $(TESTED) -parallel=3 ./cmd/...
	$(if $(RACE),$(TESTED) -race -run='^($(RACED))$$' ./cmd/troupe/outside)

# The tests of whole programs in which most happens at once: the whole run has them with
# the race detector, too. Programs take two to three times the processor time with it.
empty =
RACED = $(subst $(empty) $(empty),|,$(strip \
	TestAgentOutlivesANode TestBatchRun TestChaos TestDrainAndResume TestKilledService TestKills \
	TestLoad TestQueueOfPagesThroughKills TestSharedBrowsers TestSoak TestStop TestThreeNodes))

# The tests that need.NoRace skips: they compute for long, or measure the heap, and shorter
# tests have the same code side by side.
PLAIN = actors/batch actors/notice actors/records actors/runs . actors cluster/link engine http http/mcp persistence

test-plain:
	$(STATIC) $(TESTED) -run="^($$(awk '/^func Test/ {sub(/\(.*/, "", $$2); name = $$2} /need\.NoRace\(t\)/ {printf "%s%s", sep, name; sep = "|"}' $(PLAIN:%=%/*_test.go)))$$" $(PLAIN:%=./%)

build: ## Build bin/troupe
	@./.ci/needs-go
	@go build -o bin/troupe ./cmd/troupe

release: ## Build what people install, for all systems, into dist/; TARGETS=linux/amd64 for some
	@./.ci/needs-go
	@go build -C .ci/release -o ../../bin/release .
	@bin/release $(if $(TARGETS),-targets $(TARGETS))

test-install: ## Try each way to install in a clean system: Debian as root; WAYS="archive npm deb" for some
	./.ci/test-install $(WAYS)

image: ## Build the container image "troupe"; ENGINE=buildah, BUILD="--build-arg …"
	./.ci/image $(ENGINE) troupe $(BUILD)

lint: lint-code ## Check formatting, go vet, staticcheck and the English of the documents
	@if command -v $$(go env CC) >/dev/null; then $(MAKE) --no-print-directory prose; \
	else echo "the English of the documents is not checked: Vale needs a C compiler"; fi

lint-code:
	@unformatted=$$(gofmt -l .); test -z "$$unformatted" || { echo "not formatted: $$unformatted"; exit 1; }
	go vet ./...
	$(STATICCHECK) ./...

# Vale is a module of its own: nothing of it is in the service. The first run builds it.
prose: ## Check the English of the documents by the rules of .ci/prose (needs a C compiler)
	CGO_ENABLED=1 go tool -modfile=.ci/vale.mod vale --no-global --no-wrap --config .ci/prose/vale.ini --output line README.md CHANGELOG.md CONTRIBUTING.md AGENTS.md SECURITY.md docs

vulnerabilities: ## Scan for known vulnerabilities; needs the Go vulnerability database (GOVULNDB=file:///copy)
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

bench: setup ## Measure beside the raw protocol, Puppeteer and Playwright; QUICK=1 for a short look
	@./.ci/setup-tests
	go run ./bench

soak: setup ## Play tasks of every kind for 15 minutes or 10,000 tasks; fails on growth. SOAK=1m TASKS=500 SEED=7
	go test ./cmd/troupe/outside -run '^TestSoak$$' -v -count=1 -timeout 2h -soak $(or $(SOAK),15m) -soak.tasks $(or $(TASKS),10000) -seed $(or $(SEED),1)
	go test ./engine -run '^TestRandomMarks$$' -v -count=1 -timeout 1h -isolation-tasks 2000

chaos: setup ## Let browsers, pages, servers, clients and disks fail under load; fails on a broken promise. CHAOS=10 SEED=7
	go test ./cmd/troupe/outside -run '^(TestChaos|TestKills|TestKilledService|TestFullDisk|TestDamagedStore|TestClockSteps)$$' -v -count=1 -timeout 2h -chaos $(or $(CHAOS),3) -chaos.conns 10000 -seed $(or $(SEED),1)
	go test ./cluster -run '^(TestHistory|TestPowerLoss|TestFullDiskOfANode)$$' -v -count=1 -faults $(or $(FAULTS),1m) -seed $(or $(SEED),1)
	go test ./http -run SurvivesKills -v -count=1 -queue-tasks 3000 -queue-kills 10
	go test ./engine ./persistence -run '^(TestHostilePages|TestACrashIsADefiniteAnswerAtOnce|TestACrashedPageEndsTheTask|TestAStoppedBrowserDoesNotAnswer|TestDamageIsRefused|TestFullDiskStopsWrites)$$' -v -count=1

module: ## Give the Go module a path of its own: TO=example.org/troupe
	@go run ./.ci/module "$(TO)"

editor: ## Bundle the web page's editor from the packages of http/pages/editor
	./http/pages/editor/build

screenshots: setup ## Let the service take the pictures of docs/images of its own page
	go test ./cmd/troupe/outside -run '^TestScreenshots$$' -count=1 -v -screenshots

cluster-test: setup ## Three nodes with browsers: frozen, killed, cut off, renewed; QUICK=1 for a minute of it, ROUNDS=3 for each thrice
	go test ./cmd/troupe/outside -run '^TestThreeNodes$$' -v -count=1 -timeout 1h -rows $(if $(QUICK),quick,whole) -rounds $(or $(ROUNDS),1)
	$(if $(QUICK),,go test -race ./cluster -count=1)

generate: ## Make the generated documents anew
	go generate ./...
