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

// This file is what a check says of accepting what it found: what is told as acceptable can
// be accepted, since it was tried.

// tried is what is accepted as a whole, a trace or the sessions of a folder, and what came of
// trying.
type tried struct {
	name    string
	taken   []string         // as corpus.Accepted has it
	refused error            // nil where it can be accepted, or was
	pending []corpus.Pending // its files, for a review
}

// why names what is refused, and says the reason.
func (t tried) why() string {
	return strings.Replace(t.name+": "+safetext.WithoutPackage(t.refused).Error(), t.name+": "+t.name, t.name, 1)
}

// whatKeeps is the kind of that reason: what has no answer is one, whatever is asked, and what
// is another each time.
func (t tried) whatKeeps() string {
	switch {
	case errors.Is(t.refused, replay.ErrUnanswered):
		return replay.ErrUnanswered.Error()
	case varying.Is(t.refused):
		return varying.Err.Error()
	}
	return strings.TrimPrefix(t.why(), t.name)
}

// mostRefused is how many reasons are said, and how many things are named of each.
const mostRefused = 3

// toAccept says how what can be accepted is, and of the rest why not, and what to do; of what
// was not tried that -update says it.
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

// whatWas says what was accepted, and of the rest why not, and what to do.
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

// notAccepted says why something is refused and what to do, once of all that are for one
// reason, and names what is.
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

// isOfFiles reports whether an error says that a file cannot be read or written.
func isOfFiles(err error) bool {
	_, ok := errors.AsType[*fs.PathError](err)
	return ok
}

func refusals(all []tried) []tried {
	return slices.DeleteFunc(slices.Clone(all), func(one tried) bool { return one.refused == nil })
}

// The columns that a line has in what go test prints: all are indented by eight, but for the
// first, which has the file and the line of the test before it.
const (
	columns      = 80 - 8
	columnsPlace = 24
)

// folded is a text as go test prints it on a screen of 80 columns.
func folded(text string) string {
	place := strings.Repeat("_", columnsPlace) + " "
	if behind, fits := strings.CutPrefix(safetext.Folded(place+text, columns), place); fits {
		return behind
	}
	return safetext.Folded(text, columns)
}
