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

// Live says which seams of a replay are the user's own code of today. The zero
// Live has none: every seam does what the trace says, and no user code runs.
//
// Whatever is not chosen is scripted, and nothing falls through: what a live
// seam asks of a scripted one is answered by its cause or not at all
// (ErrUnanswered). Three things are live with the seam that brings them, and
// never without: the on-ack handlers that it registers, the strands that it
// forks, and the dispatches that it calls.
type Live struct {
	// Config holds the user's own parts, of which Seams chooses. Its clock, ids
	// and probe are not used: a replay has the recorded ones.
	Config adk.Config
	// Turn is the user's own input of a run: its prompt, instructions, stash and
	// listener of gates, of which Seams chooses. Other listeners are not called.
	Turn adk.RawTurn
	// Seams are patterns of seam paths without iteration, as path.Match has them,
	// but that a name may have slashes, and is also taken by itself as it is:
	//
	//	run/prompt       the system prompt and the instructions of Turn
	//	run/stash        the stash of Turn
	//	run/tools        the tools of Config as a model is told of them
	//	run/gates        the listener of gates of Turn (TurnGateOpen), which settles them
	//	turn-input/NAME  a middleware; turn-output, dispatch-input, dispatch-output
	//	executor/NAME    the executor
	//	tool/NAME        the handler of a tool of Config, or of one that a live
	//	                 middleware registers
	//	storage/OF.VERB  an obligation, such as storage/messages.fetch
	//
	// A pattern that ends in /* and takes a whole pipeline takes its list of names
	// too: what is not in it any more is dropped, what is new is there. Prompt, Stash,
	// Tools, Middleware, Executor, Storage and Everything are patterns to use.
	Seams []string
	// Writes allows seams that write to be live: the obligations store, mutate
	// and delete, and tools that do not say that they only read. Without it
	// choosing one is an error.
	Writes bool
	// Outside are patterns of who may be asked for real (adk.Question.Of), as path.Match
	// has them; empty is nobody. It is apart from Writes: what a model is asked costs
	// money, and writes nothing of mine. What is not named here is answered from the
	// recording: an equal request by its own answer, a changed one by that of the request
	// which is most alike, over HTTP of those with its method and path, where at least half of
	// the words of the shorter one are in the other, and what a call asks more often than it
	// did, by ErrUnanswered. Who asks what only another seam call had asked hears what that one
	// does. The report then says what changed, and of several that are as much alike that this
	// is ambiguous; it is not as recorded, and Rerecord needs an answer for each.
	//
	// A random UUID (version 4 or 7) that live code makes for a request, and that nothing
	// had brought before, stands for the recorded one in its place, as all ids do that live
	// code makes. The report says how many.
	//
	// A request that package adkhttp makes with a context of its own, as a token source does
	// that was made when the program began, is of no call and in no recording. It is refused
	// too, as is every such request in the process while the replay runs, unless whom it
	// asks is named here.
	Outside []string
	// OutsideFrom is the number of the crossing from which those whom Outside names are
	// asked for real: once an ask was made whose recorded counterpart is that crossing or
	// a later one. Before it they are answered from the recording; 0 is from the
	// beginning. It goes on from there with the model of today.
	OutsideFrom int
	// Strict gives a changed request no answer (ErrUnanswered), nor one answer to two who ask
	// the same, and none to storage that
	// keeps something else than was recorded, which else says that it has kept it.
	Strict bool
	// Redact is what the recording was redacted by, where it was: what live code says is
	// redacted so too, before it is compared and before anything of it is printed. Without
	// it, what live code says where the recording has a placeholder is withheld from the
	// report, and what looks like one of UsualSecrets. What Turn has in the place of a
	// placeholder is a secret too, live or not; give it where code knows it from elsewhere. What code
	// asks with a secret of its own is answered all the same (redact.Rules).
	Redact *redact.Rules
	// unredacted tells that the recording says so itself.
	unredacted bool
	// rerecords is set where a turn is recorded again: gates that ask otherwise are settled
	// as those in their place were (takeCertain).
	rerecords bool
	// late has the places in which recorded answers come, where those are others than they were
	// recorded in.
	late map[int]int
	// Twice allows running live code a second time where the replay differs, to
	// tell code that never does the same from code that does something else. It
	// is done unasked where only middlewares, input and reading seams are live, and
	// for a tool that says that it reads, where that makes the difference. Where
	// anything that is live may write, the seam that makes the difference is run
	// again alone, unless it is that, and all else is played; twice, where other live code
	// ran in the first run, since nobody knows what that has left in memory. Where the difference is an
	// order, live code is run up to five times, and where there are strands up to twice more in their
	// recorded order: who waits at a lock has it when it had it then, having read the clock as it
	// began, or just before. Goroutines that ask at once are
	// run up to ten times more, for five seconds: twice as chance has it, and with answers that
	// came together the other way round. golden.Replay sets it.
	Twice bool
	// Again makes what Config and Turn hold anew for such a further run, and those of what it
	// gives are used; nil is the same again. An agent remembers, in a cache say, and would find
	// what its first run has left. Package corpus and golden.Replay call the function again
	// that they are given.
	Again func() Live
	// only is the one seam that is live of those that Seams chooses; empty for all of them.
	only string
}

// ErrUnanswered is what live code is given for what the recording has no answer to. Its
// code is adk.E_UNANSWERED, by which code that asks again knows that it need not.
var ErrUnanswered = stub.ErrUnanswered

// Patterns for Live.Seams.
const (
	Prompt     = "run/prompt" // my prompt and instructions
	Stash      = "run/stash"  // what my turn begins with in its stash
	Tools      = "run/tools"  // my tools as the model sees them; their handlers are recorded
	Gates      = "run/gates"  // my listeners settle the gates
	Middleware = "*put/*"     // my four pipelines
	Executor   = "executor/*" // my executor
	ToolCode   = "tool/*"     // my tools' handlers
	Storage    = "storage/*"  // my storage
	Everything = "everything" // all of it but the clock and the ids
)

// LiveExecutor is a Live whose executor runs, against recorded tools and storage.
func LiveExecutor(run func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error) Live {
	return Live{Config: adk.Config{Executor: adk.Executor{Run: run}}, Seams: []string{Executor}}
}

// Takes reports whether Seams choose a seam, by its path without iteration. The
// label alone stands for a seam without a name, as in Report.Live.
func (l Live) Takes(seam string) bool {
	return (l.only == "" || l.only == seam) && slices.ContainsFunc(l.Seams, func(pattern string) bool {
		if pattern == seam || pattern == Everything {
			return true
		}
		matched, _ := path.Match(oneSlash(pattern), oneSlash(seam))
		return matched
	})
}

// oneSlash is a seam path, or a pattern of one, with no slash but that before the
// name: the * of a pattern takes all of a name.
func oneSlash(seam string) string {
	label, name, named := strings.Cut(seam, "/")
	if named && !strings.Contains(name, "/") { // as nearly all are
		return seam
	}
	return label + "/" + strings.ReplaceAll(name, "/", "\x00")
}

// takesNamed is Takes for a label and a name.
func (l Live) takesNamed(label, name string) bool { return l.Takes(label + "/" + name) }

// takesAll reports whether a pipeline is live as a whole, its list of names too.
func (l Live) takesAll(label string) bool { return l.takesNamed(label, "\x00any\x00") }

// settlesGates reports whether a listener of the user's settles gates. Where Everything is chosen
// and none is given there is nobody to settle them, and they are settled as recorded.
func (l Live) settlesGates() bool { return l.Takes(Gates) && l.given(Gates) }

// any reports whether anything is live.
func (l Live) any() bool { return len(l.Seams) > 0 }

// takesSeam reports whether Seams choose a seam, as Takes does by its path.
func (l Live) takesSeam(seam adk.Seam) bool { return l.takesNamed(seam.Label, seam.Name) }

// chooses reports whether a call is of a seam that Seams choose.
func (l Live) chooses(c *calls.Call) bool { return c.IsOf(l.takesSeam) }

// isLive reports whether a call is of live code: of a seam that is chosen, or of what
// such a seam brings.
func (l Live) isLive(c *calls.Call) bool { return c.IsUnder(l.takesSeam) }

// choices are all that Seams can choose, by the config and beside it.
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

// obligations are those of the config's storage.
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

// Check says what is wrong with a Live, all at once, or that nothing is: what runs a
// turn with it asks that first.
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

// missingStorage are the collections that the config does not have although all of
// its storage is chosen: scripted ones in their place would hide that they are gone.
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

// writing are the live seams that can change something outside the turn, but
// for the executor, of which everybody knows that it asks a model.
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

// mayRun reports whether a tool that live code brought itself may run its handler.
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

// given reports whether the user gave a part of a run's input; all other choices
// are there because they were given.
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

// hears reports whether Turn has listeners beside the one that gates are settled by:
// they are no seam, and are not called.
func (l Live) hears() bool {
	seen := l.Turn.Observability
	seen.TurnGateOpen = nil
	return !reflect.ValueOf(seen).IsZero() || !reflect.ValueOf(l.Turn.Functional).IsZero()
}

// again is what may be run a second time after a difference in a call, and whether anything
// may: all of it where nothing writes, or else the seam that the call is of alone.
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

// anew is what is run in a further run.
func (l Live) anew() Live {
	if l.Again != nil {
		made := l.Again()
		l.Config, l.Turn = made.Config, made.Turn
	}
	return l
}

// onlyReads reports whether a seam says that it changes nothing outside the turn, but for the
// executor and middlewares, which do not say. Of a tool that live code brings itself nothing is
// known.
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

// mostSeams is how many live seams are named: of more it is told what is not live.
const mostSeams = 4

// unseen says what live seams can do that no crossing tells.
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

// names reports whether Outside names who is asked.
func (l Live) names(of string) bool {
	return slices.ContainsFunc(l.Outside, func(pattern string) bool {
		matched, _ := path.Match(pattern, of)
		return matched || pattern == of
	})
}

// inRun is what a run asks of a Live.
func (l Live) inRun() bycause.Live {
	return bycause.Live{
		Config: l.Config, Turn: l.Turn, Takes: l.Takes, TakesAll: l.takesAll, MayRun: l.mayRun,
		Outside: l.names, OutsideFrom: l.OutsideFrom, Redact: l.Redact, Late: l.late,
		Any: l.any(), Prompt: l.Takes(Prompt), Stash: l.Takes(Stash), Tools: l.Takes(Tools),
		SettlesGates: l.settlesGates(), Hides: l.hides(), Strict: l.Strict, Rerecords: l.rerecords,
	}
}
