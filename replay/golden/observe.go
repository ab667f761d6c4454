package golden

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/trace"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

// observed is the result of one run of a turn.
type observed struct {
	transcript string
	contained  []string // the failures that the engine contained
}

// observe records one run. It makes the transcript from the trace, so that a golden file holds no
// secret and nothing that a reader of the trace alone could not see.
func observe(run func(adk.Probe) error, rules *redact.Rules) (observed, error) {
	var trace bytes.Buffer
	recorder := replay.Record(&trace, replay.RecordOptions{Redact: rules})
	if err := errors.Join(run(recorder), recorder.Err()); err != nil {
		return observed{}, err
	}
	if trace.Len() == 0 {
		return observed{}, errors.New("no turn was observed: give the probe to the config")
	}
	return render(&trace)
}

// observeSessions records one run of hosts and their sessions.
func observeSessions(run func(func(string) *sessions.HostRecorder) error, rules *redact.Rules) (observed, error) {
	recorded := sessions.InMemory{Options: replay.RecordOptions{Redact: rules}}
	if err := errors.Join(run(recorded.Host), recorded.Close()); err != nil {
		return observed{}, err
	}
	recording := recorded.Recording(".")
	if len(recording.Journals) == 0 {
		return observed{}, errors.New("no session was observed: give the recorder of each host to its config")
	}
	var text strings.Builder
	if err := recording.WriteTranscript(&text, trace.Options{}); err != nil {
		return observed{}, err
	}
	all := observed{transcript: text.String()}
	for _, source := range recording.Traces {
		content, err := source.Open()
		if err != nil {
			return observed{}, err
		}
		turn, err := render(content)
		if err != nil {
			return observed{}, err
		}
		all.contained = append(all.contained, turn.contained...)
	}
	return all, nil
}

// render reads a trace and returns its transcript and its contained failures.
func render(recorded io.Reader) (observed, error) {
	reader, err := trace.NewReader(recorded)
	if err != nil {
		return observed{}, err
	}
	var o observed
	var text strings.Builder
	printed := transcript.New(&text)
	for {
		line, err := reader.Next()
		if err == io.EOF {
			err = printed.Close()
			o.transcript = text.String()
			return o, err
		}
		if err != nil {
			return observed{}, fmt.Errorf("the turn did not end as a turn does: %w", err)
		}
		if wire.IsContained(&line.Crossing) {
			o.contained = append(o.contained, line.Crossing.Name+": "+line.Crossing.Text)
		}
		if err := printed.Write(&line.Crossing); err != nil {
			return observed{}, err
		}
	}
}
