# Every target can be run by a person; CI runs the same ones.
GO ?= go
FUZZTIME ?= 20s
SOAK ?= 10m
# The order of shuffled tests, the same on every run: SHUFFLE=on makes another.
SHUFFLE ?= 20250101
# All of a tree is vetted at once: make vet, and not a part of it with each package's tests.
TEST = $(GO) test -vet=off

.DEFAULT_GOAL := help

.PHONY: help
help: ## print this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

.PHONY: build
build: ## compile everything, and the command to bin/adkreplay
	$(GO) build ./...
	$(GO) build -o bin/adkreplay ./cmd/adkreplay

# Modules within, which have what tests alone need: each is tested by itself. Their tests mostly
# wait, for a browser, for processes and for clocks, and so run beside the others, those that
# wait longest first.
MODULES = internal/browser internal/realparts internal/sdks internal/collecting internal/sidebyside adk/storage/blob replay/otel adk/budget/sentencepiece

# What takes longest of all begins first, and is not what all else is over before.
LONGEST = ./property/explore ./replay ./replay/golden ./cmd/adkreplay

.PHONY: test
test: ## run the plain suite, which leaves out what takes long, and that of the modules within
	@$(MAKE) --no-print-directory -j 2 test-tree $(MODULES:%=test-%)

.PHONY: test-tree
test-tree:
	$(TEST) -p 4 $(LONGEST) ./... # some wait for what hangs, and leave their core to others

.PHONY: $(MODULES:%=test-%)
$(MODULES:%=test-%): test-%:
	cd $* && $(TEST) ./...

# The packages whose tests ask package thorough how much is to be done, or have a helper that does.
.PHONY: long
long: ## run the tests that make test leaves out since they take long, and the usual number of draws
	ADKREPLAY_THOROUGH=long $(TEST) -p 4 $(LONGEST) $$($(GO) list -f '$(WITH_IMPORTS)' ./... | grep -E ' $(ADKREPLAY)/internal/(thorough|draws|tracetest)( |$$)' | cut -d' ' -f1)
	cd internal/browser && ADKREPLAY_THOROUGH=long $(TEST) ./...

.PHONY: thorough
thorough: ## run the tests of the tree with all draws, samples and families that make test has a part of
	ADKREPLAY_THOROUGH=all $(TEST) -p 4 ./...
	cd internal/browser && ADKREPLAY_THOROUGH=all $(TEST) ./...

# What starts no goroutine and takes no lock is on one goroutine; so is the house, which reads
# files. What starts some without a lock imports the watchdog, or the trial of tools. A test of the
# house holds this to where goroutines start.
ADKREPLAY = github.com/adkreplay/adkreplay
WITH_IMPORTS = {{.ImportPath}}{{range .Imports}} {{.}}{{end}}{{range .TestImports}} {{.}}{{end}}{{range .XTestImports}} {{.}}{{end}}
MAY_RACE = (sync|sync/atomic|testing/synctest|$(ADKREPLAY)/(internal/watchdog|adk/tools/internal/trial))( |$$)

.PHONY: race
race: ## run all tests of what has goroutines under the race detector, shuffled, with a part of the draws: make thorough has all of them
	ADKREPLAY_THOROUGH=long $(TEST) -race -short -p 3 -shuffle=$(SHUFFLE) $(LONGEST) $$($(GO) list -f '$(WITH_IMPORTS)' ./... | grep -E ' $(MAY_RACE)' | cut -d' ' -f1 | grep -v /internal/house)

# Where an int has 32 bits, and where the system is another.
ELSEWHERE = linux/386 windows/amd64

.PHONY: vet
vet: ## run go vet over all packages, those of the modules within too, and for other systems than this one
	@find . -name go.mod | sort | while read -r mod; do (cd "$$(dirname "$$mod")" && $(GO) vet ./...) || exit 1; done
	@for platform in $(ELSEWHERE); do GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) vet ./... || exit 1; done

.PHONY: example
example: ## copy the example out of the tree, and build and test it there
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && cp -r example "$$dir/agent" && cd "$$dir/agent" && \
		$(GO) mod edit -replace github.com/adkreplay/adkreplay="$(CURDIR)" && \
		test -z "$$(gofmt -l .)" && $(GO) vet ./... && $(GO) test ./... && $(GO) tool adkreplay verify testdata/turns

.PHONY: tutorial
tutorial: ## follow the tutorial as a stranger does, and hold it to what it says
	$(GO) mod download # what its commands want is at hand
	ADKREPLAY_TUTORIAL=all $(GO) test -count=1 ./docs

.PHONY: mutants
mutants: killers ## break the engine, the harness and the example in every known way, edit every field and damage every line of every trace, and see who goes red
	ADKREPLAY_THOROUGH=all ADKREPLAY_MUTANTS=all $(GO) test -count=1 -v -timeout 60m -run '^TestMutation|^TestVerifyRefusesDamaged|^TestMisnumbered' ./replay
	ADKREPLAY_THOROUGH=all ADKREPLAY_MUTANTS=all $(GO) test -count=1 -timeout 60m -run '^TestChangesAreNamed|^TestRedactedTraces|^TestWhatIfEnds' ./replay/golden ./internal/redacting ./replay/whatif
	ADKREPLAY_THOROUGH=all ADKREPLAY_MUTANTS=all $(GO) test -count=1 -timeout 60m -run '^TestCommandsEnd' ./cmd/adkreplay
	cd adk && ADKREPLAY_THOROUGH=all ADKREPLAY_MUTANTS=all $(GO) test -count=1 -timeout 90m -run '^TestMutantsAreNoticed'
	cd internal/mutant && ADKREPLAY_THOROUGH=all ADKREPLAY_MUTANTS=all $(GO) test -count=1 -timeout 90m -run '^TestHarnessMutants'

# Mutants are built with a cache of their own, below the folder for temporary files, and
# nothing of them is left when the tests end.
.PHONY: killers
killers: ## break the engine in every way that a trace can show, and print who saw it: invariants, model, generators, exploration, fixtures
	cd property/killers && ADKREPLAY_THOROUGH=all ADKREPLAY_MUTANTS=all $(GO) test -count=1 -timeout 90m -run '^TestMutantsAreKilled'

.PHONY: explore
explore: ## break every scenario at every crossing in pairs, in every order of its strands
	$(GO) run ./cmd/adkreplay explore --all --bound 2

.PHONY: fleet
fleet: ## have four processes settle 5,000 deliveries on one Postgres, kill one of them every second, and print the figures
	cd internal/realparts && $(GO) test -count=1 -v -run '^TestFleet$$'

SESSIONS ?= 1000000
.PHONY: growth
growth: ## print what a delivery costs where Postgres has SESSIONS (1000000) sessions
	cd internal/realparts && ADKREPLAY_SESSIONS=$(SESSIONS) $(GO) test -count=1 -v -timeout 60m -run '^TestSessionsGrow$$'

.PHONY: zoo
zoo: ## hold exploration to finding every bug of the zoo, and its twins to all pairs of faults, and correct hosts of sessions to thousands of schedules
	ADKREPLAY_ZOO=all $(GO) test -count=1 -v -timeout 60m -run '^TestZoo$$' ./property/zoo
	ADKREPLAY_ZOO=all ADKREPLAY_SEED=$(SEED) $(GO) test -count=1 -v -timeout 60m -run '^TestCorrectHosts$$' ./property/sessions

.PHONY: bench
bench: ## run all benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...
	cd internal/sidebyside && $(GO) test -bench .

.PHONY: distil
distil: ## choose among ten thousand traces, and print the time and the memory that it takes
	$(GO) test -run '^$$' -bench TenThousand -benchtime 1x -benchmem ./cmd/adkreplay/internal/distil

.PHONY: large
large: ## print what every command costs for traces of a thousand to a million crossings, or of LARGE='1000 5000'
	$(GO) run ./internal/costs $(LARGE)

.PHONY: weigh
weigh: ## print what every command costs for traces of a hundred megabytes of any kind, or of WEIGHT='20 50'
	$(GO) run ./internal/costs heavy $(WEIGHT)

.PHONY: heavy
heavy: ## run the tests that need hundreds of megabytes
	ADKREPLAY_LARGE=all $(GO) test -count=1 -v -run '^TestALarge' ./replay
	ADKREPLAY_LARGE=all $(GO) test -count=1 -v -timeout 60m -run '^TestDenseDocuments$$' ./adk/artifact

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (20s)
	@$(GO) list -f '{{.Dir}}' ./... | while read -r dir; do \
		for target in $$(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$$dir"/*_test.go 2>/dev/null | sed 's/func //'); do \
			echo "$$dir $$target"; \
			(cd "$$dir" && $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x .) || exit 1; \
		done; \
	done

# Of all tools in sum, with arguments that SEED makes.
EXECUTIONS ?= 10000000
SEED ?= 1
.PHONY: executions
executions: ## execute the tools of the batteries EXECUTIONS times (10000000) with hostile arguments of SEED (1), and print how often
	ADKREPLAY_EXECUTIONS=$(EXECUTIONS) ADKREPLAY_SEED=$(SEED) $(GO) test -v -count=1 -timeout 0 -run '^TestExecutions$$' ./adk/tools

# Tests draw the same on every run; here is where they draw anew.
.PHONY: soak
soak: ## hold every random property for SOAK (10m), with seeds that nobody drew, and keep what breaks it
	@$(GO) run ./internal/soak $(SOAK)

# Only packages whose tests use goldie know the flag -update.
GOLDIE = github.com/sebdah/goldie/v2
HAS_GOLDEN = {{if .ForTest}}{{range .Deps}}{{if eq . "$(GOLDIE)"}}{{$$.ForTest}}{{end}}{{end}}{{end}}

# A variable that is given to make is in the environment of its commands.
.PHONY: golden
golden: ## make the fixtures and the golden files again, with REASON='why' where transcripts change; read the diff before you commit it
	$(GO) generate ./fixtures
	ADKREPLAY_REASON="$${REASON-$$ADKREPLAY_REASON}" $(GO) test $$($(GO) list -test -f '$(HAS_GOLDEN)' ./... | sort -u) -update
