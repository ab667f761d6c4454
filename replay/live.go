package replay

import (
	"context"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/storages"
	"github.com/adkreplay/adkreplay/internal/stub"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/internal/bycause"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// Live says which seams of a replay are the user's own code of today. The zero Live has none: every
// seam does what the trace says, and no user code runs.
//
// Whatever is not chosen is scripted. Nothing else ever becomes live: what a live seam asks of a
// scripted one is answered by its cause or not at all (ErrUnanswered). Three things are live
// exactly when the seam that brings them is live: the on-ack handlers that it registers, the
// strands that it forks, and the dispatches that it calls.
type Live struct {
	// Config holds the user's own parts, of which Seams chooses. Its clock, ids and probe are not
	// used: a replay has the recorded ones.
	Config adk.Config
	// Turn is the user's own input of a run: its prompt, instructions, stash and listener of gates,
	// of which Seams chooses. Other listeners are not called.
	Turn adk.RawTurn
	// Seams are patterns of seam paths without iteration, in the form of path.Match, except that a
	// name may contain slashes. A name also matches itself literally.
	//
	//	run/prompt       the system prompt and the instructions of Turn
	//	run/stash        the stash of Turn
	//	run/tools        the tools of Config, as a model sees them
	//	run/gates        the listener of gates of Turn (TurnGateOpen), which settles them
	//	turn-input/NAME  a middleware; turn-output, dispatch-input, dispatch-output
	//	executor/NAME    the executor
	//	tool/NAME        the handler of a tool of Config, or of one that a live
	//	                 middleware registers
	//	storage/OF.VERB  an obligation, such as storage/messages.fetch
	//
	// A pattern that ends in /* and matches a whole pipeline also takes its list of names: a
	// middleware that is not in Config any more is dropped, and a new one is added. Prompt, Stash,
	// Tools, Middleware, Executor, Storage and Everything are patterns to use.
	Seams []string
	// Writes allows seams that write to be live: the obligations store, mutate and delete, and
	// tools that do not say that they only read. Without it, choosing one is an error.
	Writes bool
	// Outside are patterns, in the form of path.Match, of services that may be asked for real
	// (adk.Question.Of); empty is none. It is independent of Writes: asking a model costs money,
	// but writes nothing of yours. All other requests are answered from the recording:
	//
	//   - An equal request gets its own answer.
	//   - A changed request gets the answer of the most similar one: at least half of the words of
	//     the shorter request must be in the other, and over HTTP both must have the same method and
	//     path.
	//   - A request that a call makes more often than it did gets ErrUnanswered.
	//   - A request that only another seam call made in the recording shares the answer of that call.
	//
	// The report then says what changed, and that the answer is ambiguous if several requests were
	// equally similar. A run with such answers is not as recorded, and Rerecord needs an answer for
	// each request.
	//
	// A random UUID (version 4 or 7) that live code makes for a request, and that nothing brought
	// before, stands for the recorded one in its place, as all ids do that live code makes. The
	// report says how many.
	//
	// A request that package adkhttp makes with a context of its own belongs to no call and is in
	// no recording; a token source that was made at the start of the program does so. It is
	// refused, too, as is every such request in the process while the replay runs, unless Outside
	// names its service.
	Outside []string
	// OutsideFrom is the number of the crossing from which the services that Outside names are
	// asked for real: from the first ask on whose recorded counterpart is that crossing or a later
	// one. Before, they are answered from the recording, so that a replay can go on from there with
	// the model of today. 0 is from the beginning.
	OutsideFrom int
	// Strict refuses answers that are not certain to fit. With it, a changed request gets
	// ErrUnanswered; two equal requests do not share one answer; and storage that is given
	// something else than was recorded does not answer that it has kept it.
	Strict bool
	// Redact is what the recording was redacted by, if it was. What live code says is then redacted
	// in the same way, before it is compared and before anything of it is printed. Without Redact,
	// the report withholds what live code says where the recording has a placeholder, and what
	// looks like one of UsualSecrets. What Turn has in the place of a placeholder counts as a
	// secret too, live or not; set it there if code knows the secret from elsewhere. Code that asks
	// with a secret of its own is still answered (redact.Rules).
	Redact *redact.Rules
	// unredacted is set if the recording itself says that nothing was redacted.
	unredacted bool
	// rerecords is set where a turn is recorded again: gates that ask otherwise are settled as the
	// recorded ones in their place (takeCertain).
	rerecords bool
	// late has the places of recorded answers that do not come where they were recorded, by the
	// number of the recorded crossing.
	late map[int]int
	// Twice allows live code to run again where the replay differs, to tell code that is
	// non-deterministic from code that has changed. Without Twice, code runs again only if nothing
	// but middlewares, input and reading seams is live, or if the difference is in a tool that says
	// that it only reads. Where other live code may write, only the seam of the difference runs
	// again, unless it may write itself, and everything else is scripted. It then runs twice more
	// if other live code ran in the first run, since that may have left something in memory.
	//
	// If the difference is an order, live code runs up to five times. With strands, it also runs up
	// to twice in the recorded order of their steps, so that a strand that waits at a lock gets it
	// when it got it then; the two orders differ in when the strand reads the clock: as it began,
	// or just before the lock. Goroutines that ask at the same time run up to ten times more, for
	// at most five seconds: twice in whatever order comes about, and then with answers that were
	// recorded close together the other way round. golden.Replay sets Twice.
	Twice bool
	// Again makes new values of what Config and Turn hold for each such further run; only those two
	// of its result are used. Nil uses the same values again. An agent may remember something, in a
	// cache for example, and would find what its first run has left there. Package corpus and
	// golden.Replay call the function again that they are given.
	Again func() Live
	// only is the one seam that is live, of those that Seams chooses; empty for all of them.
	only string
}

// ErrUnanswered is the error that live code gets where the recording has no answer. Its code is
// adk.E_UNANSWERED, from which code that retries can tell that it need not.
var ErrUnanswered = stub.ErrUnanswered

// Patterns for Live.Seams.
const (
	Prompt     = "run/prompt" // your prompt and instructions
	Stash      = "run/stash"  // what your turn begins with in its stash
	Tools      = "run/tools"  // your tools as the model sees them; their handlers are recorded
	Gates      = "run/gates"  // your listeners settle the gates
	Middleware = "*put/*"     // your four pipelines
	Executor   = "executor/*" // your executor
	ToolCode   = "tool/*"     // your tools' handlers
	Storage    = "storage/*"  // your storage
	Everything = "everything" // all of these; never the clock and the ids
)

// LiveExecutor is a Live whose only live seam is the executor run; tools and storage are recorded.
func LiveExecutor(run func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error) Live {
	return Live{Config: adk.Config{Executor: adk.Executor{Run: run}}, Seams: []string{Executor}}
}

// Takes reports whether Seams choose a seam, by its path without iteration. The label alone stands
// for a seam without a name, as in Report.Live.
func (l Live) Takes(seam string) bool {
	return (l.only == "" || l.only == seam) && slices.ContainsFunc(l.Seams, func(pattern string) bool {
		if pattern == seam || pattern == Everything {
			return true
		}
		matched, _ := path.Match(oneSlash(pattern), oneSlash(seam))
		return matched
	})
}

// oneSlash is a seam path, or a pattern of one, without the slashes within the name, so that the *
// of a pattern matches a whole name.
func oneSlash(seam string) string {
	label, name, named := strings.Cut(seam, "/")
	if named && !strings.Contains(name, "/") { // as nearly all are
		return seam
	}
	return label + "/" + strings.ReplaceAll(name, "/", "\x00")
}

// takesNamed is Takes for a label and a name.
func (l Live) takesNamed(label, name string) bool { return l.Takes(label + "/" + name) }

// takesAll reports whether a whole pipeline is live, including its list of names.
func (l Live) takesAll(label string) bool { return l.takesNamed(label, "\x00any\x00") }

// settlesGates reports whether a listener of the user settles gates. If Everything is chosen and
// Turn has no such listener, gates are settled as recorded.
func (l Live) settlesGates() bool { return l.Takes(Gates) && l.given(Gates) }

// any reports whether anything is live.
func (l Live) any() bool { return len(l.Seams) > 0 }

// takesSeam reports whether Seams choose a seam, as Takes does by its path.
func (l Live) takesSeam(seam adk.Seam) bool { return l.takesNamed(seam.Label, seam.Name) }

// chooses reports whether a call belongs to a seam that Seams choose.
func (l Live) chooses(c *calls.Call) bool { return c.IsOf(l.takesSeam) }

// isLive reports whether a call is made by live code: by a seam that is chosen, or by what such a
// seam brings.
func (l Live) isLive(c *calls.Call) bool { return c.IsUnder(l.takesSeam) }

// choices are all parts that Seams can choose, including those that are not in Config.
func (l Live) choices() (parts []string) {
	parts = append(parts, Prompt, Stash, Tools, Gates)
	for _, m := range l.Config.TurnInput {
		parts = append(parts, adk.LabelTurnInput+"/"+m.Name)
	}
	for _, m := range l.Config.DispatchInput {
		parts = append(parts, adk.LabelDispatchInput+"/"+m.Name)
	}
	if l.Config.Executor.Run != nil {
		parts = append(parts, adk.LabelExecutor+"/"+l.Config.Executor.Name)
	}
	for _, t := range l.Config.Tools {
		parts = append(parts, adk.LabelTool+"/"+t.Name())
	}
	for _, m := range l.Config.DispatchOutput {
		parts = append(parts, adk.LabelDispatchOutput+"/"+m.Name)
	}
	for _, m := range l.Config.TurnOutput {
		parts = append(parts, adk.LabelTurnOutput+"/"+m.Name)
	}
	return append(parts, l.obligations()...)
}

// obligations are those of Config.Storage.
func (l Live) obligations() (parts []string) {
	given := storages.Each(l.Config.Storage)
	for _, of := range adk.Collections() {
		for _, verb := range storages.Verbs(of) {
			if given[of] != nil {
				parts = append(parts, adk.LabelStorage+"/"+storages.Name(of, verb))
			}
		}
	}
	return parts
}

// Check returns an error that says everything that is wrong with a Live; nil if nothing is.
// Whatever runs a turn with a Live calls it first.
func (l Live) Check() error {
	var faults []string
	parts := l.choices()
	for _, pattern := range l.Seams {
		if pattern == Everything {
			continue
		}
		if _, err := path.Match(pattern, ""); err != nil {
			faults = append(faults, fmt.Sprintf("Seams: %q is no pattern: %v", pattern, err))
			continue
		}
		chosen := Live{Seams: []string{pattern}}
		if !slices.ContainsFunc(parts, chosen.Takes) && !slices.ContainsFunc(wire.PipelineLabels, chosen.takesAll) && !strings.HasPrefix(pattern, adk.LabelTool+"/") {
			faults = append(faults, fmt.Sprintf("Seams: %q chooses nothing of the config, which has %s", pattern, strings.Join(parts, ", ")))
		}
	}
	if l.Takes(Prompt) && l.Turn.SystemPrompt == "" {
		faults = append(faults, "Turn.SystemPrompt is empty, and the prompt is to be live")
	}
	if executor := l.Config.Executor; executor.Run == nil && (slices.Contains(l.Seams, Executor) || slices.Contains(l.Seams, Everything)) {
		faults = append(faults, "Config.Executor.Run is nil, and the executor is to be live")
	}
	if slices.Contains(l.Seams, Gates) && !l.given(Gates) {
		faults = append(faults, "Turn.Observability.TurnGateOpen is nil, and settles the gates that are to be live: without Gates they are settled as recorded")
	}
	if missing := l.missingStorage(); len(missing) > 0 {
		faults = append(faults, fmt.Sprintf("Config.Storage has no %s, and all of it is to be live", strings.Join(missing, ", ")))
	}
	if l.OutsideFrom != 0 && len(l.Outside) == 0 {
		faults = append(faults, fmt.Sprintf("OutsideFrom is %d, and Outside names nobody who may be asked for real", l.OutsideFrom))
	}
	if writing := l.writing(); len(writing) > 0 && !l.Writes {
		faults = append(faults, fmt.Sprintf("%s can write, and would really do so: set Writes to say that it is meant", strings.Join(writing, ", ")))
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("replay: Live: %s", strings.Join(faults, "; "))
}

// missingStorage are the collections that Config.Storage lacks although all storage is chosen:
// scripted ones in their place would hide that they are gone.
func (l Live) missingStorage() (missing []string) {
	if !slices.Contains(l.Seams, Everything) && !slices.Contains(l.Seams, Storage) {
		return nil
	}
	given := storages.Each(l.Config.Storage)
	for _, of := range adk.Collections() {
		if given[of] == nil {
			missing = append(missing, string(of))
		}
	}
	return missing
}

// writing are the live seams that can change something outside the turn. The executor is left out,
// because everybody knows that it asks a model.
func (l Live) writing() (parts []string) {
	for _, t := range l.Config.Tools {
		if part := adk.LabelTool + "/" + t.Name(); l.Takes(part) && t.Effect().MayWrite() {
			parts = append(parts, part)
		}
	}
	for _, part := range l.obligations() {
		seam, err := adk.ParseSeam(part)
		if l.Takes(part) && (err != nil || seam.Effect().MayWrite()) {
			parts = append(parts, part)
		}
	}
	return parts
}

// mayRun reports whether the handler of a tool that live code brought may run.
func (l Live) mayRun(tool adk.Record) bool {
	t, ok := tool.(*adk.Tool)
	return ok && l.takesNamed(adk.LabelTool, t.Name()) && (l.Writes || !t.Effect().MayWrite())
}

// parts are what is live, in the order in which a turn meets it.
func (l Live) parts() (live []string) {
	for _, part := range l.choices() {
		if l.Takes(part) {
			live = append(live, strings.TrimSuffix(part, "/")) // an executor may have no name of its own
		}
	}
	return live
}

// given reports whether the user gave a part of a run's input. All other parts are in choices only
// if the user gave them.
func (l Live) given(part string) bool {
	switch part {
	case Prompt:
		return l.Turn.SystemPrompt != ""
	case Stash:
		return l.Turn.Stash != nil
	case Tools:
		return len(l.Config.Tools) > 0
	case Gates:
		return l.Turn.Observability.TurnGateOpen != nil
	}
	return true
}

// hears reports whether Turn has listeners other than the one that settles gates. They are no seam,
// and are not called.
func (l Live) hears() bool {
	seen := l.Turn.Observability
	seen.TurnGateOpen = nil
	return !reflect.ValueOf(seen).IsZero() || !reflect.ValueOf(l.Turn.Functional).IsZero()
}

// again is what may be run again after a difference in a call, and whether anything may: all live
// code if it is harmless, and else the seam of the call alone.
func (l Live) again(in *calls.Call) (Live, bool) {
	if l.harmless() {
		return l, true
	}
	for c := in; c != nil; c = c.Parent {
		if seam := c.Begin.Seam; l.takesSeam(seam) && c.Begin.Seam.Label != adk.LabelStrand {
			l.only = seam.Label + "/" + seam.Name
			return l, l.onlyReads(seam) && (l.Twice || seam.Label == adk.LabelTool)
		}
	}
	return l, false
}

// anew is the Live for a further run (Live.Again).
func (l Live) anew() Live {
	if l.Again != nil {
		made := l.Again()
		l.Config, l.Turn = made.Config, made.Turn
	}
	return l
}

// onlyReads reports whether a seam changes nothing outside the turn, as far as it says so.
// Executors and middlewares do not say, and count as reading. A tool that is not in Config, because
// live code brings it, does not.
func (l Live) onlyReads(seam adk.Seam) bool {
	switch seam.Label {
	case adk.LabelTool:
		return slices.ContainsFunc(l.Config.Tools, func(t *adk.Tool) bool { return t.Name() == seam.Name && !t.Effect().MayWrite() })
	case adk.LabelStorage:
		return !seam.Effect().MayWrite()
	}
	return true
}

// harmless reports whether all live code may be run a second time.
func (l Live) harmless() bool {
	return !l.Writes && (l.Twice || !slices.ContainsFunc(l.parts(), func(part string) bool {
		return strings.HasPrefix(part, adk.LabelExecutor)
	}))
}

// mostSeams is up to how many live seams are listed by name; of more only their number is given.
const mostSeams = 4

// unseen says what live seams can do that no crossing shows.
func (l Live) unseen() (said []string) {
	var code []string
	for _, part := range l.parts() {
		switch label, _, _ := strings.Cut(part, "/"); {
		case label == adk.LabelRun:
		case label != adk.LabelStorage:
			code = append(code, part)
		case !slices.Contains(code, Storage): // its obligations share what they keep
			code = append(code, Storage)
		}
	}
	if len(code) > 0 {
		seams := safetext.Short(code, stub.Same[string])
		if len(code) > mostSeams {
			seams = safetext.Counted(len(code), "live seam")
		}
		said = append(said, "network, files and memory of "+seams)
	}
	return said
}

// names reports whether Outside names the service that is asked.
func (l Live) names(of string) bool {
	return slices.ContainsFunc(l.Outside, func(pattern string) bool {
		matched, _ := path.Match(pattern, of)
		return matched || pattern == of
	})
}

// inRun is the Live in the form that a run needs.
func (l Live) inRun() bycause.Live {
	return bycause.Live{
		Config: l.Config, Turn: l.Turn, Takes: l.Takes, TakesAll: l.takesAll, MayRun: l.mayRun,
		Outside: l.names, OutsideFrom: l.OutsideFrom, Redact: l.Redact, Late: l.late,
		Any: l.any(), Prompt: l.Takes(Prompt), Stash: l.Takes(Stash), Tools: l.Takes(Tools),
		SettlesGates: l.settlesGates(), Hides: l.hides(), Strict: l.Strict, Rerecords: l.rerecords,
	}
}
