package compare

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/calls"
	"github.com/adkreplay/adkreplay/internal/canonical"
	"github.com/adkreplay/adkreplay/internal/jsondiff"
	"github.com/adkreplay/adkreplay/internal/plain"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/wire"
)

// walkedFold is a fold that follows a run.
type walkedFold struct {
	fold *state.Fold
	at   int // the last crossing that was applied
}

// To returns the fold of the run just before the crossing seq. Going backwards starts anew.
func (w *walkedFold) To(run *calls.Tree, seq int) *state.Fold {
	if w.fold == nil || w.at >= seq {
		w.fold, w.at = state.New(), 0
	}
	for ; w.at < seq-1; w.at++ {
		_ = w.fold.Apply(run.Lines[w.at]) // whether an engine may record it there is checked elsewhere
	}
	return w.fold
}

// Views follows two runs, to find the differences between their states.
type Views struct{ Before, After walkedFold }

// Differ lists the parts in which two states differ. It returns digests, the difference of their
// digests, if it finds none.
func (v *Views) Differ(wantRun, gotRun *calls.Tree, want, got *adk.Crossing, digests []FieldDiff) []FieldDiff {
	before := v.Before.To(wantRun, want.Seq).Seen(want.Call)
	after := v.After.To(gotRun, got.Seq).Seen(got.Call)
	if before == nil || after == nil {
		return digests
	}
	if diffs := visibleDiff(before, after); len(diffs) > 0 {
		return diffs
	}
	return digests
}

// visibleDiff lists the parts in which two views differ: the prompt, the paths of the stash, and
// for each collection the records that were changed, removed, added or moved.
func visibleDiff(want, got *state.View) (diffs []FieldDiff) {
	if w, g := want.Prompt(), got.Prompt(); w != g {
		diffs = append(diffs, FieldDiff{Field: "prompt", Want: QuotedJSON(w), Got: QuotedJSON(g)})
	}
	was, is := want.StateDigest(), got.StateDigest()
	for _, of := range adk.Collections() {
		if !slices.Equal(*was.Of(of), *is.Of(of)) {
			diffs = append(diffs, recordsDiff(string(of), want.Records(of), got.Records(of))...)
		}
	}
	return append(diffs, treeDiff(jsondiff.At("stash"), anyTree(want.Stash()), anyTree(got.Stash()))...)
}

func anyTree(tree map[string]any) any {
	if tree == nil {
		return map[string]any{}
	}
	return tree
}

// recordsDiff lists the differences of two lists of records. The keys within each list are
// distinct.
func recordsDiff(label string, want, got []adk.Record) (diffs []FieldDiff) {
	index := func(list []adk.Record) map[string]adk.Record {
		byKey := map[string]adk.Record{}
		for _, r := range list {
			byKey[r.Key()] = r
		}
		return byKey
	}
	before, after := index(want), index(got)
	var kept, keptNow []string
	for _, w := range want {
		g := after[w.Key()]
		switch {
		case g == nil:
			diffs = append(diffs, FieldDiff{Field: label, Want: recordJSON(w)})
			continue
		case !wire.SameRecord(w, g):
			diffs = append(diffs, recordDiff(recordPlace(label, w), w, g)...)
		}
		kept = append(kept, w.Key())
	}
	for _, g := range got {
		if before[g.Key()] == nil {
			diffs = append(diffs, FieldDiff{Field: label, Got: recordJSON(g)})
			continue
		}
		keptNow = append(keptNow, g.Key())
	}
	if !slices.Equal(kept, keptNow) {
		diffs = append(diffs, FieldDiff{Field: label + " order", Want: quotedList(kept), Got: quotedList(keptNow)})
	}
	return diffs
}

// recordPlace returns the place of a record in a list. In other lists, a tool corresponds to the
// tool with its name, and another record to any record of its kind.
func recordPlace(label string, r adk.Record) jsondiff.Place {
	one := label + " " + safetext.PlainName(r.Key())
	if r.RecordKind() == adk.RecordTool {
		return jsondiff.At(one)
	}
	return jsondiff.Place{Path: one, Any: label}
}

// recordDiff lists the fields in which a record differs.
func recordDiff(at jsondiff.Place, want, got adk.Record) []FieldDiff {
	return jsonDiff(at, recordJSON(want), recordJSON(got))
}

func recordJSON(r adk.Record) string {
	data, err := json.Marshal(r)
	if err != nil {
		return QuotedJSON("unwritable: " + err.Error())
	}
	return string(data)
}

// JSONDiff lists the paths at which two JSON texts differ. Texts that are not JSON differ as a
// whole.
func JSONDiff(label, want, got string) []FieldDiff {
	return jsonDiff(jsondiff.At(label), want, got)
}

func jsonDiff(at jsondiff.Place, want, got string) []FieldDiff {
	w, wantJSON := decode(want)
	g, gotJSON := decode(got)
	if !wantJSON || !gotJSON {
		return []FieldDiff{{Field: at.Path, Want: want, Got: got, anywhere: at.Any}}
	}
	diffs := treeDiff(at, saying(at, w), saying(at, g))
	if len(diffs) == 0 { // they have the same meaning in different bytes
		diffs = treeDiff(at, w, g)
	}
	for i := range diffs {
		diffs[i].decoded = true
	}
	return diffs
}

// saying returns a request over HTTP with its body decoded, if the trace holds the body as raw
// bytes because those matter, such as JSON that ends with a newline or a form that contains a file.
// It returns any other tree unchanged.
func saying(at jsondiff.Place, tree any) any {
	request, ok := tree.(map[string]any)
	if !ok || at.Path != "request" || request["method"] == nil || request["path"] == nil {
		return tree
	}
	request = maps.Clone(request)
	if packed, ok := request["base64"].(string); ok {
		if data, err := base64.StdEncoding.DecodeString(packed); err == nil && isMostlyText(data) {
			delete(request, "base64")
			request["text"] = strings.ToValidUTF8(string(data), "\ufffd")
		}
	}
	if text, ok := request["text"].(string); ok && isContainer(text) {
		if body, isJSON := decode(text); isJSON {
			delete(request, "text")
			request["body"] = body
		}
	}
	return request
}

// isMostlyText reports whether at least three quarters of the bytes are valid UTF-8.
func isMostlyText(data []byte) bool {
	return 4*len(bytes.ToValidUTF8(data, nil)) >= 3*len(data)
}

// treeDiff lists the paths at which two trees of plain data differ.
func treeDiff(at jsondiff.Place, want, got any) (diffs []FieldDiff) {
	plainly := jsondiff.Rules{Same: func(a, b any) bool { return !isAbsent(a) && !isAbsent(b) && sameTree(a, b) }, Pairs: pairedMiddle}
	plainly.Walk(at, want, got, func(at jsondiff.Place, w, g any) {
		if inside := insideTexts(at, w, g); len(inside) > 0 {
			diffs = append(diffs, inside...)
			return
		}
		diffs = append(diffs, FieldDiff{Field: at.Path, Want: treeText(w), Got: treeText(g), anywhere: at.Any, want: w, got: g})
	})
	return diffs
}

// pairedMiddle pairs the elements of two lists by their index. If the lengths differ, it skips the
// common beginning and the common end, so that one missing element shows as one difference. Two
// lists with the same elements in different orders are not paired; they differ as a whole.
func pairedMiddle(a, b []any) (pairs []jsondiff.Pair, apart bool) {
	if _, moved := jsondiff.Order(a, b, treeText); moved {
		return nil, false
	}
	if len(a) == len(b) {
		return jsondiff.ByPlace(a, b)
	}
	same := func(i, j int) bool { return sameTree(a[i], b[j]) }
	head, tail, shorter := 0, 0, min(len(a), len(b))
	for head < shorter && same(head, head) {
		head++
	}
	for tail < shorter-head && same(len(a)-1-tail, len(b)-1-tail) {
		tail++
	}
	place := func(i, length int) int {
		if i < length-tail {
			return i
		}
		return -1
	}
	for i := head; i < max(len(a), len(b))-tail; i++ {
		pairs = append(pairs, jsondiff.Pair{A: place(i, len(a)), B: place(i, len(b))})
	}
	return pairs, true
}

// insideTexts lists the paths at which two texts that contain JSON differ. It returns none for
// other texts, and if the JSON is the same in another spelling.
func insideTexts(at jsondiff.Place, want, got any) []FieldDiff {
	w, wantText := want.(string)
	g, gotText := got.(string)
	if !wantText || !gotText || !isContainer(w) || !isContainer(g) {
		return nil
	}
	a, wantJSON := decode(w)
	b, gotJSON := decode(g)
	if !wantJSON || !gotJSON {
		return nil
	}
	return treeDiff(at, a, b)
}

// isContainer reports whether a text begins like a JSON object or list.
func isContainer(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n")
	return text != "" && (text[0] == '{' || text[0] == '[')
}

// treeText returns plain data as a trace writes it, and "" for an absent value.
func treeText(v any) string {
	if isAbsent(v) {
		return ""
	}
	return string(plain.AppendTree(nil, v))
}

// sameTree reports whether two trees of plain data, or of decoded JSON, are equal.
func sameTree(a, b any) bool {
	switch a := a.(type) {
	case string, json.Number, bool:
		return a == b
	}
	return treeText(a) == treeText(b)
}

func isAbsent(v any) bool { return v == jsondiff.Absent{} }

// QuotedJSON returns a text as a JSON string.
func QuotedJSON(text string) string { return string(canonical.AppendString(nil, text)) }
