package whatif

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/replay"
)

// Settable are all overrides that set what a trace already says.
func Settable(t testing.TB, trace []byte) (answers []Override) {
	t.Helper()
	w, err := newWhatIf(bytes.NewReader(trace), replay.Live{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range w.edited.Lines {
		for _, use := range x.Kind.Fields(x.Phase) {
			if w.unsettable(x, use) != "" {
				continue
			}
			tree, err := w.tree(use, x)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(tree)
			if err != nil {
				t.Fatal(err)
			}
			if use.Field == adk.FieldSchema && x.Schema != nil {
				text = x.Schema // as it was written
			}
			if use.Field == adk.FieldOutcome && tree == nil {
				text = []byte(`"ok"`)
			}
			answers = append(answers, Override{fmt.Sprintf("%d.%s", x.Seq, use.Label), json.RawMessage(text)})
		}
	}
	return answers
}

// Put applies an override to the crossing that its path names, and returns the changed crossing,
// without making a run.
func Put(t testing.TB, trace []byte, path string, value any) (adk.Crossing, error) {
	t.Helper()
	w, err := newWhatIf(bytes.NewReader(trace), replay.Live{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.answer(Override{path, value}); err != nil {
		return adk.Crossing{}, err
	}
	return *w.targets[0].x, nil
}
