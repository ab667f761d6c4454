package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/adkreplay/adkreplay/adk"
)

// Settable are all answers that say what a trace says already.
func Settable(t testing.TB, trace []byte) (answers []Answer) {
	t.Helper()
	w, err := newWhatIf(bytes.NewReader(trace), Live{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range w.edited.lines {
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
			answers = append(answers, Answer{fmt.Sprintf("%d.%s", x.Seq, use.Label), json.RawMessage(text)})
		}
	}
	return answers
}
