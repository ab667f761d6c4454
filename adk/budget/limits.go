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

// Limits are what a prompt may count. They are a value: an iteration can have others than
// the one before.
type Limits struct {
	// Encoding is how tokens are counted; empty for not at all.
	Encoding adk.Encoding
	// Window is how many tokens the model takes at most; 0 for no bound.
	Window int
	// Counter is asked before adk.EstimateTokens; nil for nobody.
	Counter Counter
}

// Faults are all that is wrong with the limits, by the names that options of an executor
// have; nil for nothing. A window without an encoding is no fault: it measures nothing.
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

// Enforce measures a prompt before it is sent, logs what it counts (BUD-5), and refuses
// one that counts more than the window with E_OPENAI_CHAT_COMPLETIONS_CONTEXT_OVERFLOW,
// whose cause is an *Overflow. Limits that are wrong are
// E_INVALID_OPENAI_CHAT_COMPLETIONS_OPTIONS; limits that bound nothing measure nothing and
// log nothing. A nil log is nobody's.
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

// Error is all of it as canonical JSON, as a trace keeps no more of an error than its text
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

// OverflowOf gives the figures of an overflow, of the error itself or of its text, as it
// comes out of a trace; found is false for any other error.
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

// overflowIn reads the overflow that a text begins with.
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
