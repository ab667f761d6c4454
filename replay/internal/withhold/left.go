package withhold

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/redacting"
	"github.com/adkreplay/adkreplay/internal/wire"
	"github.com/adkreplay/adkreplay/replay/redact"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// Left is what the rules leave of a new run, and the writer that knows everything they have found;
// the writer is nil where there are no rules. Where live code has encoded placeholders of the
// recording, Left has the recorded encodings of what they stand for. Where live code has secrets of
// its own, it has the placeholders for which they stand.
func (w *Run) Left(run *trace.Trace, options trace.Options) (left *trace.Trace, by *redacting.Writer, err error) {
	left = withRequests(run, w.own.Requests())
	instead := map[string]string{}
	maps.Copy(instead, w.own.Instead())
	if w.rules != nil {
		if left, by, err = written(left, w.rules, instead, options); err != nil {
			return nil, nil, err
		}
		clear(instead)
	}
	if !w.marked {
		return left, by, nil
	}
	if err := w.eachNew(left, func(text string) {
		w.said.Instead(text, func(said, recorded string) { instead[said] = recorded })
	}); err != nil || len(instead) == 0 {
		return left, by, err
	}
	left, _, err = written(left, &redact.Rules{}, instead, options)
	return left, by, err
}

// withRequests is a run in which the requests of asks, by their numbers, are replaced.
func withRequests(run *trace.Trace, recorded map[int]json.RawMessage) *trace.Trace {
	if len(recorded) == 0 {
		return run
	}
	left := *run
	lines := slices.Clone(run.Lines())
	for i := range lines {
		if request, ok := recorded[lines[i].Crossing.Seq]; ok {
			lines[i].Crossing.JSON = request
		}
	}
	left.SetLines(lines)
	return &left
}

// eachNew calls give with each text and each stream of a new run.
func (w *Run) eachNew(run *trace.Trace, give func(text string)) error {
	w.got = nil
	for _, line := range run.All() {
		w.got = append(w.got, &line.Crossing)
		if err := w.texts(&line.Crossing, func(use adk.FieldUse, place, text string) { give(inBytes(use, place, text)) }); err != nil {
			return err
		}
	}
	if err := w.readNew(); err != nil {
		return err
	}
	for _, key := range w.order {
		give(w.streams[key][1].String())
	}
	return nil
}

// inBytes is a text as code has it: the format writes bytes in base64.
func inBytes(use adk.FieldUse, place, text string) string {
	of, name := path.Split(place)
	ofResult := name == wire.ResultBytes && (use.Field == adk.FieldResult || strings.HasSuffix(of, "/"+wire.EventResults+"/"))
	if name != "$bytes" && name != "$string" && !ofResult {
		return text
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return text
	}
	return string(data)
}

// Redacted is a run without what rules find, and the writer that knows everything they have found.
func Redacted(run *trace.Trace, rules *redact.Rules, options trace.Options) (*trace.Trace, *redacting.Writer, error) {
	return written(run, rules, nil, options)
}

func written(run *trace.Trace, rules *redact.Rules, instead map[string]string, options trace.Options) (*trace.Trace, *redacting.Writer, error) {
	compiled, err := redacting.Compile(rules)
	if err != nil {
		return nil, nil, err
	}
	var to bytes.Buffer
	out := redacting.NewWriter(&to, run.Header, compiled, options)
	out.Carry()
	for _, said := range slices.Sorted(maps.Keys(instead)) {
		out.Instead(said, instead[said])
	}
	for _, line := range run.All() {
		if err := out.Write(&line.Crossing); err != nil {
			return nil, nil, err
		}
	}
	if err := out.Close(); err != nil {
		return nil, nil, err
	}
	left, err := trace.Read(&to, options)
	return left, out, err
}
