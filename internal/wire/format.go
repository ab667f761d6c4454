package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Member is a member of a header, a line or a footer that this package does not
// know: what a later version or another program wrote.
type Member struct {
	// Name is the member's name.
	Name string
	// Value is its JSON, verbatim. It must be one line.
	Value json.RawMessage
	// Before is the name of the known member before which it stands; empty, it
	// stands at the end.
	Before string
}

// The members of lines that are no fields of a kind, of the header and of the footer.
const (
	MemberFormat     = "adkreplay"
	MemberVersion    = "version"
	MemberContract   = "contract"
	MemberStart      = "start"
	MemberSeams      = "seams"
	MemberStandalone = "standalone"
	MemberBehind     = "writeBehind"
	memberKind       = "kind"
	memberPhase      = "phase"
	MemberAt         = "at"
	memberIn         = "in"
	MemberStrand     = "strand"
	memberOp         = "op"
	MemberEnd        = "end"
	MemberSHA256     = "sha256"
)

// The members of a footer that a redacted trace has.
const (
	MemberRedacted    = "redacted"
	MemberUnvalidated = "unvalidated"
)

// FormatName is the value of MemberFormat: what a file says that it is.
const FormatName = "trace"

// JournalName is what a journal of sessions says there, which is another kind of file.
const JournalName = "journal"

// RedactedNote is what a report says of a trace that was redacted: the members
// of its footer, which are good once it was read to its end.
func RedactedNote(footer []Member) (notes []string) {
	for _, m := range footer {
		n, err := IntOfJSON(m.Value)
		if err != nil || n == 0 {
			continue
		}
		switch m.Name {
		case MemberRedacted:
			notes = append(notes, noteOf(placeholdersNote, n))
		case MemberUnvalidated:
			notes = append(notes, noteOf(unvalidatedNote, n))
		}
	}
	return notes
}

// RandomIDs is the note of a report on the random ids that live code and the recording each made.
func RandomIDs(n int) string { return noteOf(idsNote, n) }

// The notes that count something, around that.
var (
	placeholdersNote = note{"what was redacted: ", "placeholder stands for it", "placeholders stand for it"}
	unvalidatedNote  = note{"whether redacted arguments fit their tool: those of ", "call were not validated again", "calls were not validated again"}
	idsNote          = note{"random ids that requests brought with them: ", "UUID", "UUIDs"}
)

type note struct{ before, one, many string }

func noteOf(of note, n int) string {
	if n == 1 {
		return of.before + "1 " + of.one
	}
	return fmt.Sprintf("%s%d %s", of.before, n, of.many)
}

// counted is what a note of this kind counts; is tells that it is one.
func (of note) counted(text string) (n int, ok bool) {
	rest, ok := strings.CutPrefix(text, of.before)
	figure, _, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(figure)
	return n, ok && err == nil && text == noteOf(of, n)
}

// JoinedNotes are what the reports of several traces say, each thing once: of those that count
// something there is one note, which counts for all of them.
func JoinedNotes(reports ...[]string) (joined []string) {
	at, sums := map[note]int{}, map[note]int{}
	for _, report := range reports {
	notes:
		for _, text := range report {
			for _, of := range []note{placeholdersNote, unvalidatedNote, idsNote} {
				if n, ok := of.counted(text); ok {
					if sums[of] += n; sums[of] == n {
						at[of], joined = len(joined), append(joined, text)
					}
					joined[at[of]] = noteOf(of, sums[of])
					continue notes
				}
			}
			if !slices.Contains(joined, text) {
				joined = append(joined, text)
			}
		}
	}
	return joined
}
