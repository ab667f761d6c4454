package wire

import (
	"encoding/json"
	"fmt"
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
			notes = append(notes, fmt.Sprintf("what was redacted: %d placeholders stand for it", n))
		case MemberUnvalidated:
			notes = append(notes, fmt.Sprintf("whether redacted arguments fit their tool: those of %d calls were not validated again", n))
		}
	}
	return notes
}
