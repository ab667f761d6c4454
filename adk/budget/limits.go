package budget

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/prompt"
	"github.com/adkreplay/adkreplay/internal/canonical"
)

// LogUsage is the kind of the log that Enforce writes.
const LogUsage = "context-window-usage"

// Limits say how many tokens a prompt may count. They are a plain value, and may differ from one
// iteration to the next.
type Limits struct {
	// Encoding is how tokens are counted; empty means that they are not.
	Encoding adk.Encoding
	// Window is the greatest number of tokens that the model takes; 0 means no bound.
	Window int
	// Counter is called before adk.EstimateTokens; nil means that there is none.
	Counter Counter
}

// Faults returns all that is wrong with the limits, or nil. The paths are the names of an
// executor's options. An encoding without a window is a fault.
func (l Limits) Faults() []adk.Fault {
	var faults []adk.Fault
	if l.Window < 0 {
		faults = append(faults, adk.Fault{Path: "contextWindow", Message: fmt.Sprintf("is %d, want at least 1, or 0 for none", l.Window)})
	}
	if l.Encoding != "" && l.Window == 0 {
		faults = append(faults, adk.Fault{Path: "contextWindow", Message: "is missing beside tokenEncoding: want both or neither"})
	}
	if known := Encodings(); l.Encoding != "" && l.Counter == nil && !slices.Contains(known, l.Encoding) {
		faults = append(faults, adk.Fault{Path: "tokenEncoding", Message: fmt.Sprintf("is %.40q, want one of %s, or a counter that knows it", l.Encoding, strings.Join(known, ", "))})
	}
	return faults
}

// Enforced reports whether the limits bound anything: both of them are set (BUD-1).
func (l Limits) Enforced() bool { return l.Encoding != "" && l.Window > 0 }

// Logger takes logs: *adk.Helpers is one.
type Logger interface {
	Log(level adk.Level, kind, message string, payload any)
}

// Enforce measures a prompt before it is sent, logs what it counts (BUD-5), and refuses a prompt
// that counts more than the window with E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW, whose cause is
// an *Overflow. Faulty limits are E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS. Limits that are not
// enforced measure and log nothing. A nil log means no log.
func (l Limits) Enforce(log Logger, view prompt.View, results map[string]prompt.Content) error {
	if err := prompt.OptionsError(l.Faults()); err != nil {
		return err
	}
	if !l.Enforced() {
		return nil
	}
	usage := Measure(view, results, l.Encoding, l.Counter)
	if log != nil {
		log.Log(adk.LevelDebug, LogUsage, fmt.Sprintf("the prompt counts %d of %d tokens", usage.Total(), l.Window), map[string]any{
			"total": usage.Total(), "limit": l.Window, "encoding": usage.Encoding, "exact": usage.Exact, "perBucket": usage.PerBucket(),
		})
	}
	if usage.Total() <= l.Window {
		return nil
	}
	return &adk.Error{
		Code: adk.E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW, Message: "the prompt does not fit the context window, and nothing was sent",
		Cause: &Overflow{Usage: usage, Window: l.Window},
	}
}

// Overflow says how far a prompt exceeds its window: the cause of
// E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW.
type Overflow struct {
	Usage
	Window int
}

// Error returns all figures as canonical JSON, because a trace keeps only the text of an error
// (BUD-7).
func (o *Overflow) Error() string {
	text, err := canonical.Marshal(map[string]any{
		"encoding": o.Encoding, "exact": o.Exact, "perBucket": o.PerBucket(), "total": o.Total(), "window": o.Window,
	})
	if err != nil {
		panic("budget: texts and numbers are JSON: " + err.Error())
	}
	return string(text)
}

// OverflowOf returns the figures of an overflow, from the error itself or from its text, as it
// comes out of a trace. found is false for any other error.
func OverflowOf(err error) (overflow *Overflow, found bool) {
	if err == nil {
		return nil, false
	}
	if errors.As(err, &overflow) {
		return overflow, true
	}
	_, text, isOverflow := strings.Cut(err.Error(), string(adk.E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW))
	for isOverflow {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			break
		}
		if overflow, found = overflowIn(text[at:]); found {
			return overflow, true
		}
		text = text[at+1:]
	}
	return nil, false
}

// overflowIn reads the overflow at the beginning of a text.
func overflowIn(text string) (*Overflow, bool) {
	var read struct {
		Encoding  adk.Encoding
		Exact     bool
		Window    int
		PerBucket struct{ SystemPrompt, StandingInstructions, Memories, Retrievables, Timeline int }
	}
	if json.NewDecoder(strings.NewReader(text)).Decode(&read) != nil {
		return nil, false
	}
	b := read.PerBucket
	overflow := &Overflow{Window: read.Window, Usage: Usage{
		Encoding: read.Encoding, Exact: read.Exact, SystemPrompt: b.SystemPrompt, StandingInstructions: b.StandingInstructions,
		Memories: b.Memories, Retrievables: b.Retrievables, Timeline: b.Timeline,
	}}
	return overflow, strings.HasPrefix(text, overflow.Error())
}
