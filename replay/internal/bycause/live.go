package bycause

import (
	"slices"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/storages"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// Live says which parts of a run are the user's code of today. It is a replay.Live in the form that
// a run needs.
type Live struct {
	Config adk.Config
	Turn   adk.RawTurn
	// Takes reports whether a seam is live, by its path without iteration. TakesAll reports whether
	// a whole pipeline is live, including which middlewares it has.
	Takes, TakesAll func(of string) bool
	// MayRun reports whether the handler of a tool that live code brought may run.
	MayRun func(tool adk.Record) bool
	// Outside reports whether a service may be asked for real, once the run has reached the
	// crossing OutsideFrom.
	Outside     func(of string) bool
	OutsideFrom int
	Redact      *redact.Rules
	// Late has the places of recorded answers that do not come where they were recorded, by the
	// number of the recorded crossing.
	Late map[int]int

	Any          bool // anything is live
	Prompt       bool // the prompt and the instructions are the user's
	Stash        bool // the stash that the run begins with is the user's
	Tools        bool // the tools are the user's, as the model sees them
	SettlesGates bool // a listener of the user settles gates
	Hides        bool // the new run may say in clear text what the recording's redaction hides
	Strict       bool // an ask or a write that differs from the recorded one gets no answer
	Rerecords    bool // the turn is recorded again: a gate that asks otherwise is settled, too
}

// takesNamed is Takes for a label and a name.
func (l Live) takesNamed(label, name string) bool { return l.Takes(label + "/" + name) }

// takesSeam is Takes for a seam.
func (l Live) takesSeam(seam adk.Seam) bool { return l.takesNamed(seam.Label, seam.Name) }

// apply replaces the scripted parts of a turn that are live.
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

// pipelineOf is a pipeline with its live entries. Where the whole pipeline is live, it is the
// user's list. Otherwise it is the recorded list with the user's middleware for each live name; a
// live middleware that was not recorded stands behind the nearest of its predecessors that was.
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

// storage is the scripted storage with the user's functions for the live obligations.
func (l Live) storage(scripted adk.Storage) adk.Storage {
	return storages.Mixed(l.Config.Storage, scripted, func(seam string) bool { return l.takesNamed(adk.LabelStorage, seam) })
}
