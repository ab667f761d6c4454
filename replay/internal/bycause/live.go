package bycause

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/storages"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// Live is what a run has of the user's code of today: a replay.Live as a run asks it.
type Live struct {
	Config adk.Config
	Turn   adk.RawTurn
	// Takes reports whether a seam is live, by its path without iteration, and TakesAll whether a
	// pipeline is as a whole, its list of names too.
	Takes, TakesAll func(of string) bool
	// MayRun reports whether a tool that live code brought itself may run its handler.
	MayRun func(tool adk.Record) bool
	// Outside reports whether somebody may be asked for real, once the run has come to OutsideFrom.
	Outside     func(of string) bool
	OutsideFrom int
	Redact      *redact.Rules
	// Late has the places in which recorded answers come, where those are others than they were
	// recorded in.
	Late map[int]int

	Any          bool // anything is live
	Prompt       bool // the prompt and the instructions are the user's
	Stash        bool // what the run begins with in its stash is the user's
	Tools        bool // the tools are the user's, as the model sees them
	SettlesGates bool // a listener of the user's settles gates
	Hides        bool // something of the new run may be what the recording's redaction hides
	Strict       bool // nothing is answered that asks otherwise
	Rerecords    bool // the turn is recorded again: gates that ask otherwise are settled as those in their place were
}

// takesNamed is Takes for a label and a name.
func (l Live) takesNamed(label, name string) bool { return l.Takes(label + "/" + name) }

// takesSeam is Takes for a seam.
func (l Live) takesSeam(seam adk.Seam) bool { return l.takesNamed(seam.Label, seam.Name) }

// apply puts the live parts of a turn in the place of the scripted ones.
func (l Live) apply(config *adk.Config, raw *adk.RawTurn) {
	config.TurnInput = pipelineOf(l, adk.LabelTurnInput, config.TurnInput, l.Config.TurnInput, turnName)
	config.TurnOutput = pipelineOf(l, adk.LabelTurnOutput, config.TurnOutput, l.Config.TurnOutput, turnName)
	l.applyDispatch(&config.DispatchInput, &config.DispatchOutput, &config.Executor)
	config.Storage = l.storage(config.Storage)
	l.applyInput(&raw.SystemPrompt, &raw.Instructions, &raw.Stash)
}

// applyInput is apply for what a run is given.
func (l Live) applyInput(prompt *string, instructions *[]string, stash *map[string]any) {
	if l.Prompt {
		*prompt, *instructions = l.Turn.SystemPrompt, l.Turn.Instructions
	}
	if l.Stash {
		*stash = l.Turn.Stash
	}
}

// applyDispatch is apply for the parts of a dispatch.
func (l Live) applyDispatch(input, output *[]adk.DispatchMiddleware, executor *adk.Executor) {
	*input = pipelineOf(l, adk.LabelDispatchInput, *input, l.Config.DispatchInput, dispatchName)
	*output = pipelineOf(l, adk.LabelDispatchOutput, *output, l.Config.DispatchOutput, dispatchName)
	if mine := l.Config.Executor; mine.Run != nil && l.takesNamed(adk.LabelExecutor, mine.Name) {
		if mine.Name == "" {
			mine.Name = executor.Name
		}
		*executor = mine
	}
}

func turnName(m adk.TurnMiddleware) string         { return m.Name }
func dispatchName(m adk.DispatchMiddleware) string { return m.Name }

// pipelineOf is a pipeline with its live entries: the whole list of the user's
// where all of it is live; else the recorded list, in which the chosen ones are
// the user's, and chosen ones that were not recorded stand behind the nearest of
// their predecessors that was.
func pipelineOf[M any](l Live, label string, scripted, mine []M, name func(M) string) []M {
	if l.TakesAll(label) {
		return mine
	}
	list := slices.Clone(scripted)
	find := func(wanted string) int {
		return slices.IndexFunc(list, func(m M) bool { return name(m) == wanted })
	}
	behind := 0
	for _, m := range mine {
		at := find(name(m))
		switch {
		case at >= 0:
			behind = at + 1
			if l.takesNamed(label, name(m)) {
				list[at] = m
			}
		case l.takesNamed(label, name(m)):
			list = slices.Insert(list, behind, m)
			behind++
		}
	}
	return list
}

// storage is the scripted storage with the live obligations in their places.
func (l Live) storage(scripted adk.Storage) adk.Storage {
	return storages.Mixed(l.Config.Storage, scripted, func(seam string) bool { return l.takesNamed(adk.LabelStorage, seam) })
}
