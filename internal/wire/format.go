package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Member is a member of a header, a line or a footer that this package does not know, because a
// later version or another program wrote it.
type Member struct {
	// Name is the member's name.
	Name string
	// Value is its JSON, verbatim. It must be one line.
	Value json.RawMessage
	// Before is the name of the known member that follows it. If Before is empty, the member is at
	// the end.
	Before string
}

// The names of the members of the header and the footer, and of those members of lines that are not
// fields of a kind.
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

// The members that only the footer of a redacted trace has.
const (
	MemberRedacted    = "redacted"
	MemberUnvalidated = "unvalidated"
)

// FormatName is the value of MemberFormat in a trace.
const FormatName = "trace"

// JournalName is the value of MemberFormat in a journal of sessions, which is another kind of file.
const JournalName = "journal"

// RedactedNote returns the notes of a report on a redacted trace, from the members of its footer.
// They are valid only after the trace was read to its end.
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

// RandomIDs returns the note of a report that n random ids differ between the recording and the
// live code.
func RandomIDs(n int) string { return noteOf(idsNote, n) }

// The notes that contain a number, without it.
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

// counted returns the number in text, and whether text is a note of this kind.
func (of note) counted(text string) (n int, ok bool) {
	rest, ok := strings.CutPrefix(text, of.before)
	figure, _, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(figure)
	return n, ok && err == nil && text == noteOf(of, n)
}

// JoinedNotes merges the notes of several reports, without duplicates. Notes of one kind that
// contain a number become one note with the sum.
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
