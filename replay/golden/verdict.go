package golden

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/shell"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/internal/varying"
)

// This file writes what a check says about accepting its results. A check only says that a result
// can be accepted if it has tried it.

// tried is the outcome of trying to accept one unit: a trace, or the sessions of a folder.
type tried struct {
	name    string
	taken   []string         // as in corpus.Accepted
	refused error            // nil if it can be accepted, or was accepted
	pending []corpus.Pending // its files, for a review
}

// why returns the name of the unit and the reason why it is refused.
func (t tried) why() string {
	return strings.Replace(t.name+": "+safetext.WithoutPackage(t.refused).Error(), t.name+": "+t.name, t.name, 1)
}

// whatKeeps returns the kind of the reason why the unit is refused. All unanswered requests are one
// kind, whatever they ask, and so are all results that vary between runs, and all conflicts.
func (t tried) whatKeeps() string {
	switch {
	case errors.Is(t.refused, replay.ErrUnanswered):
		return replay.ErrUnanswered.Error()
	case varying.Is(t.refused):
		return varying.Err.Error()
	case errors.Is(t.refused, corpus.ErrConflict):
		return corpus.ErrConflict.Error()
	}
	return strings.TrimPrefix(t.why(), t.name)
}

// mostRefused is how many kinds of reasons notAccepted prints.
const mostRefused = 3

// toAccept says how to accept the results that can be accepted; for the others it says why not and
// what to do instead. If nothing was tried, it only names the -update command.
func toAccept(t TB, all []tried) string {
	refused := refusals(all)
	can := len(all) - len(refused)
	command := shell.Broken(withReason(t), commandWidth)
	switch {
	case len(all) == 0:
		return "to accept what can be: " + command
	case len(refused) == 0:
		return "to accept this: " + command
	case can == 0:
		return "this cannot be accepted:\n" + strings.TrimSuffix(notAccepted(refused), "\n")
	}
	return fmt.Sprintf("to accept it in %d of %d: %s\nin the others it cannot be accepted:\n%s", can, len(all), command, notAccepted(refused))
}

// whatWas says what was accepted; for the rest it says why not and what to do instead.
func whatWas(all []tried) string {
	var b strings.Builder
	refused := refusals(all)
	if n := len(all) - len(refused); n > 0 {
		fmt.Fprintf(&b, "accepted in %d of %d:\n", n, len(all))
		for _, one := range all {
			if one.refused == nil {
				fmt.Fprintf(&b, "  %s\n", one.name)
				for _, line := range one.taken {
					fmt.Fprintf(&b, "    %s\n", line)
				}
			}
		}
	}
	if len(refused) > 0 {
		fmt.Fprintf(&b, "not accepted in %d of %d, which are left as they were:\n%s", len(refused), len(all), notAccepted(refused))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// notAccepted says why something is refused and what to do instead. It prints each kind of reason
// once, with the name of the first unit it applies to and the name or number of the others.
func notAccepted(refused []tried) string {
	var (
		b     strings.Builder
		kinds []string
		alike = map[string][]tried{}
	)
	for _, one := range refused {
		kind := one.whatKeeps()
		if alike[kind] = append(alike[kind], one); len(alike[kind]) == 1 {
			kinds = append(kinds, kind)
		}
	}
	for _, kind := range kinds[:min(len(kinds), mostRefused)] {
		all := alike[kind]
		fmt.Fprintf(&b, "  %s\n", all[0].why())
		switch others := len(all) - 1; others {
		case 0:
		case 1:
			fmt.Fprintf(&b, "  and so it is with %s\n", all[1].name)
		default:
			fmt.Fprintf(&b, "  and so it is with %d others\n", others)
		}
	}
	if more := len(kinds) - mostRefused; more > 0 {
		fmt.Fprintf(&b, "  and %s\n", safetext.Counted(more, "more reason"))
	}
	if slices.ContainsFunc(refused, func(one tried) bool { return varying.Is(one.refused) }) {
		b.WriteString(varying.Advice + "\n")
	}
	if !slices.ContainsFunc(refused, func(one tried) bool { return !isOfFiles(one.refused) && !varying.Is(one.refused) }) {
		return b.String()
	}
	anew := corpus.RecordAnew
	if strings.HasPrefix(refused[0].name, sessionsOf) {
		anew = "record its session anew, into that folder: run it with sessions.RecordHost, whose recorder is the agent's Probe and its Step the host's Journal"
	}
	return b.String() + "to have such a turn all the same, " + anew
}

// isOfFiles reports whether an error is about a file as it is now, and not about its turn: the file
// cannot be read or written, or has changed, or its reasons have conflict markers.
func isOfFiles(err error) bool {
	_, ok := errors.AsType[*fs.PathError](err)
	return ok || errors.Is(err, corpus.ErrChanged) || errors.Is(err, corpus.ErrConflict)
}

func refusals(all []tried) []tried {
	return slices.DeleteFunc(slices.Clone(all), func(one tried) bool { return one.refused == nil })
}

// The columns available to a line in the output of go test. It indents each line by eight columns;
// the first line also has the file and line of the test before it.
const (
	columns      = 80 - 8
	columnsPlace = 24
)

// folded folds a text for the output of go test on a screen of 80 columns.
func folded(text string) string {
	place := strings.Repeat("_", columnsPlace) + " "
	if behind, fits := strings.CutPrefix(safetext.Folded(place+text, columns), place); fits {
		return behind
	}
	return safetext.Folded(text, columns)
}
