package corpus

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/compare"
	"github.com/adkreplay/adkreplay/replay"
)

// Replacing the old pieces by the new ones turns one text into the other: nothing differs outside
// of the hunks, and they are in order.
func TestHunksMakeTheOtherText(t *testing.T) {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", ","}), 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		a, b := tokensOf(strings.Join(words.Draw(t, "a"), " ")), tokensOf(strings.Join(words.Draw(t, "b"), " "))
		hunks, common := hunksOf(a, b)
		var made []token
		at, kept := 0, []token{}
		for _, h := range hunks {
			require.GreaterOrEqual(t, h.fromA, at)
			require.Less(t, h.fromA+h.fromB, h.toA+h.toB, "an empty piece")
			kept = append(kept, a[at:h.fromA]...)
			made = append(append(made, a[at:h.fromA]...), b[h.fromB:h.toB]...)
			at = h.toA
		}
		kept = append(kept, a[at:]...)
		made = append(made, a[at:]...)
		require.Equal(t, textsOf(b), textsOf(made))
		require.Equal(t, countWords(kept), common)
	})
}

// Members that the elements of a list gained or lost are one change, whatever their values.
// Everywhere else the values are reported.
func TestMembersOfElements(t *testing.T) {
	assert.Equal(t, []Change{{Field: "f.messages[].call", Removed: maskData}, {Field: "f.messages[].call", Removed: maskData}},
		changesOf(`{"messages":[{"call":"a","n":1},{"call":"b","n":2}]}`, `{"messages":[{"n":1},{"n":2}]}`))
	assert.Equal(t, []Change{{Field: "f.messages[].name", Added: maskData}}, changesOf(`{"messages":[{"n":1}]}`, `{"messages":[{"n":1,"name":"ann"}]}`))
	assert.Equal(t, "f.stream: true → false", changesOf(`{"stream":true,"n":1}`, `{"stream":false,"n":1}`)[0].String())
	assert.Equal(t, []Change{{Field: "f.team", Removed: "platform"}}, changesOf(`{"team":"platform","n":1}`, `{"n":1}`))
	assert.Equal(t, "f.messages[].call: gone", Change{Field: "f.messages[].call", Removed: maskData}.String())
	assert.Equal(t, "f.messages[].call: new", Change{Field: "f.messages[].call", Added: maskData}.String())
}

// Words that only changed places are one change, whatever they are, alone or with the words around
// them. Words that now have other neighbours are reported.
func TestWordsInAnotherOrder(t *testing.T) {
	assert.Equal(t, []Change{{Field: "f[]"}}, changesOf(`"latency 2, errors 3"`, `"errors 3, latency 2"`))
	assert.Equal(t, "f: in another order", Change{Field: "f[]"}.String())
	assert.Equal(t, []Change{{Field: "f[]"}}, changesOf(`"05-01 cheap\n05-02 dear"`, `"05-02 dear\n05-01 cheap"`))
	assert.Equal(t, []Change{{Field: "f[]"}}, changesOf(`"ann and bob"`, `"bob and ann"`))
	for _, now := range []string{`"by car 3 km, by bus 2 km"`, `"by car 3 km\nby bus 2 km"`} {
		paired := Cause{Changes: changesOf(strings.NewReplacer("2", "3", "3", "2").Replace(now), now)}.shown()
		require.Len(t, paired, 1)
		assert.Equal(t, "f: 2 → 3, 3 → 2", paired[0].String())
	}
	assert.Equal(t, []Change{{Field: "f", Removed: "‹number›", Added: "‹number›", Left: "errors", As: "2 → 3"}}, changesOf(`"errors 2"`, `"errors 3"`))
	assert.Equal(t, []Change{{Field: "f", Added: "‹white space›", Removed: "‹white space›"}}, changesOf(`"a  b"`, `"a b"`))
	for _, c := range [][3]string{{`"a"`, `"a "`, `now ends with a space`}, {`"a\n"`, `"a"`, `ends without a line break`},
		{`"a "`, `"a\t"`, `ends with a space → a tab`}, {`"a  "`, `"a \n"`, `ends with 2 spaces → " \n"`}} {
		changes := changesOf(c[0], c[1])
		assert.Len(t, changes, 1)
		assert.Equal(t, "f: "+c[2], changes[0].String())
	}
	assert.NotContains(t, changesOf(`"a b"`, "\"a b \u001b[31m‹at the end›\"")[0].String(), "\x1b", "what somebody said is no mark of ours")
}

// changesOf compares two values of one field.
func changesOf(want, got string) []Change {
	return valueChanges(replay.FieldDiff{Field: "f", Want: want, Got: got})
}

// FuzzValueChanges compares any two values: the comparison ends, and reports something exactly if
// they differ.
func FuzzValueChanges(f *testing.F) {
	for _, seed := range [][2]string{
		{`"a b"`, `"a c"`}, {`{"a":[1,{"b":2}]}`, `{"a":[1,{"b":3}]}`}, {"", `{"code":"E_X"}`}, {`{"a":`, "[[[["}, {"\xff", "\x00"},
		{`"{\"city\":\"Oslo\"}"`, `"{\"city\":\"Bergen\"}"`}, {`[1,2]`, `[2,1]`}, {`" a"`, `"a "`}, {"1", "1.0"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, want, got string) {
		changes := changesOf(want, got)
		if want == got && len(changes) > 0 {
			t.Errorf("%q differs from itself: %v", want, changes)
		}
		if back := changesOf(got, want); len(back) > 0 != (len(changes) > 0) {
			t.Errorf("one way %v, the other %v", changes, back)
		}
		for _, c := range telling(changes) {
			if len(c.Removed) > 2*longestPiece || len(c.Added) > 2*longestPiece {
				t.Errorf("the piece is as long as the text: %v", c)
			}
			_ = c.String() + c.identity()
		}
	})
}

// Of long texts only the differing part and the words next to it are examined.
func TestWindow(t *testing.T) {
	long := strings.Repeat("many wörds ", 50_000)
	want, got := window(long+"Hello there, "+long, long+"Hi there, "+long)
	assert.Less(t, len(want), 1000)
	assert.Contains(t, want, "wörds Hello there, many")
	assert.Contains(t, got, "wörds Hi there, many")
	want, got = window(long, "short")
	assert.Len(t, want, longestWindow)
	assert.Equal(t, "short", got)
	want, got = window("short", "shirt")
	assert.Equal(t, []string{"short", "shirt"}, []string{want, got})
	assert.Equal(t, []Change{{Field: "f", Removed: "Hello", Added: "Hi", Left: "wörds", Right: "there"}},
		textChanges("f", long+"Hello there, "+long, long+"Hi there, "+long))
}

// Only what differs in every trace is masked.
func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"order 1234 of 2025-01-02T10:00:00Z":                    "order ‹number› of ‹time›",
		"at 10:30, 4.5 °C":                                      "at ‹time›, ‹number› °C",
		"6d9a1c1e-1111-4222-8333-123456789abc/deadbeefdeadbeef": "‹id›/‹id›",
		"gpt-4o, sha256, m2":                                    "gpt-4o, sha256, m2",
		"日本語 text":                                              "日本語 text",
		"":                                                      "",
	} {
		assert.Equal(t, want, piece(tokensOf(text)))
	}
	long := strings.Repeat("x ", 1000)
	assert.Less(t, len(piece(tokensOf(long))), longestPiece+20)
	assert.NotEqual(t, piece(tokensOf(long+"a")), piece(tokensOf(long+"b")), "two long pieces stay apart")
}

// Members that moved within a list are reported as moved, and a new member does not hide the
// changes after it.
func TestListChanges(t *testing.T) {
	assert.Equal(t, []Change{{Field: "f[]"}}, changesOf(`["a","b"]`, `["b","a"]`))
	assert.Equal(t, "f: in another order", Change{Field: "f[]"}.String())
	assert.Equal(t, []Change{{Field: "f[]", Added: "new"}}, changesOf(`["a","b"]`, `["new","a","b"]`))
	fields := func(changes []Change) (all []string) {
		for _, c := range changes {
			all = append(all, c.Field)
		}
		return slices.Compact(all)
	}
	assert.Equal(t, []string{"f[].a", "f[].b"}, fields(changesOf(`[{"a":1,"b":2}]`, `[{"a":2,"b":3}]`)))
}

// A call that ended early is described by how it ended, not by the operation that it did not
// reach, which is not at fault.
func TestCauseOfACallThatEnded(t *testing.T) {
	load := adk.Seam{Label: adk.LabelTurnInput, Name: "load"}
	d := &replay.Divergence{Class: replay.ChangedError, Seam: load.String(),
		Evidence: &replay.Evidence{
			Recorded: &adk.Crossing{Kind: adk.KindStash, Name: "a", Value: 1},
			Replayed: &adk.Crossing{Kind: adk.KindReturn, Seam: load, Outcome: adk.OutcomeError, Err: errors.New("down")},
		},
		Fields: []compare.FieldDiff{{Field: "err", Got: `{"text":"down"}`}}}
	assert.Equal(t, `error in turn-input/load: returns, error "down"`, newCause(d).String())
}
