package livetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay/corpus"
)

// ExecutorFunc is a live executor.
type ExecutorFunc = func(context.Context, *adk.DispatchContext, *adk.Helpers) error

// Source returns a trace in memory.
func Source(name string, trace []byte) corpus.Source {
	return corpus.Source{Name: name, Size: int64(len(trace)), Open: func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(trace)), nil
	}}
}

// Agent is a program that changes between versions: each field is one change.
type Agent struct {
	Hello    string // another greeting
	Insert   func(city string) string
	Replaced func(city string) string // a different answer
	Unit     string                   // another argument of the tool
	Mood     bool                     // an additional stash entry
	Quiet    bool                     // no log line
	NoTool   bool                     // the tool is not called
	Fails    bool                     // it returns an error
	Log      string                   // another log line
}

// Of returns the executor of the agent for a turn about one city.
func (a Agent) Of(city string) ExecutorFunc {
	return func(ctx context.Context, dc *adk.DispatchContext, h *adk.Helpers) error {
		if !a.Quiet {
			h.Log(adk.LevelInfo, "progress", OrElse(a.Log, "looking up the weather"), nil)
		}
		if !a.NoTool {
			tool, _ := dc.Tools().Get("weather")
			if _, err := dc.Execute(ctx, tool, map[string]any{"city": city, "unit": OrElse(a.Unit, "celsius")}); err != nil {
				return err
			}
		}
		if a.Mood {
			if err := dc.Stash().Set("mood", "curious about "+city); err != nil {
				return err
			}
		}
		if a.Fails {
			return errors.New("no answer for " + city)
		}
		if _, err := h.ReportMessage("m1", a.answer(city), true); err != nil {
			return err
		}
		return dc.Ack()
	}
}

func (a Agent) answer(city string) string {
	if a.Replaced != nil {
		return a.Replaced(city)
	}
	inserted := ""
	if a.Insert != nil {
		inserted = a.Insert(city)
	}
	return fmt.Sprintf("%s to you%s in %s! It will rain for %d hours, take an umbrella.", OrElse(a.Hello, "Hello"), inserted, city, 3*len(city))
}

// OrElse returns text, or usual if text is empty.
func OrElse(text, usual string) string {
	if text == "" {
		return usual
	}
	return text
}

// Texts returns the causes of a report, each with its number of traces.
func Texts(r *corpus.Report) (all []string) {
	for _, c := range r.Causes {
		all = append(all, fmt.Sprintf("%d %s", len(c.Traces), c.Text))
	}
	return all
}
