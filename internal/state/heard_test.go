package state

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// A wrong tag in a payload would leave its field empty. So each tag names a field of a crossing that is in the
// event's own line, or in the line of every operation that causes the event.
func TestPayloadsSayWhereTheirFieldsStand(t *testing.T) {
	for _, event := range adk.Kinds() {
		if event.Payload() == nil {
			continue
		}
		lines := map[adk.Kind][]adk.FieldUse{}
		for _, k := range adk.Kinds() {
			for _, caused := range k.Causes() {
				if caused == event && !k.Emits() { // an operation that emits has the whole payload
					lines[k] = append(append(k.Fields(adk.Whole), k.Fields(adk.Begin)...), event.Fields(adk.Whole)...)
				}
			}
		}
		if len(lines) == 0 {
			lines[event] = event.Fields(adk.Whole)
		}
		for field := range reflect.TypeOf(event.Payload()).Fields() {
			from := field.Tag.Get(saidBy)
			for k, line := range lines {
				said := from == "" || from == "At"
				for _, use := range line {
					said = said || use.Field.String() == from
				}
				assert.True(t, said, "%s.%s: %s says no %s", event, field.Name, k, from)
			}
		}
	}
}

// If an event has more fields than the operation that caused it, its payload combines both lines, with the
// time of the event's own line.
func TestPayloadOfTwoLines(t *testing.T) {
	type heard struct {
		adk.Origin
		ID    string         `crossing:"Name"`
		Sum   string         `crossing:"Key"`
		Given []string       `crossing:"Texts"`
		Data  any            `crossing:"Value"`
		Error *adk.Error     `crossing:"Err"`
		Text  adk.Level      `crossing:"Text"`
		At    time.Time      `crossing:"At"`
		Lists map[string]any `crossing:"Args"`
	}
	h := heardOf(adk.KindToolCallEvent, reflect.TypeFor[heard]())
	require.NotNil(t, h)
	from, tree := adk.Origin{TurnID: "t", Iteration: 2}, map[string]any{"a": 1}
	op := &adk.Crossing{Name: "n", Key: "of the operation", Texts: []string{"x"}, Value: tree, Text: "info", Args: "{}",
		Err: errors.New("of no code"), At: time.Unix(1, 0)}
	said := h.ofOperation(from, op)
	tree["a"], op.Texts[0] = 2, "y" // it keeps nothing of the crossing's owner
	line := &adk.Crossing{Key: "own", Name: "of the event", At: time.Unix(2, 0)}
	want := heard{Origin: from, ID: "n", Sum: "own", Given: []string{"x"}, Data: map[string]any{"a": 1}, Text: "info", At: time.Unix(2, 0)}
	for range 2 { // reusing the memory leaves nothing behind
		assert.Equal(t, want, h.whole(said, adk.Origin{}, line))
	}
	assert.Equal(t, heard{Sum: "own", At: time.Unix(2, 0)}, h.whole(nil, adk.Origin{}, line), "no operation")
	assert.Nil(t, heardOf(adk.KindToolCallEvent, reflect.TypeFor[struct{ ID string }]()), "its field does not say where it stands")
}

// An operation that is refused causes no event.
func TestRefusedOperationsCauseNothing(t *testing.T) {
	for _, c := range []struct {
		err    error
		untold int
	}{{nil, 1}, {adk.E_CONTEXT_ENDED, 0}} {
		f := New()
		require.NoError(t, f.Apply(&adk.Crossing{Kind: adk.KindCall, ID: 1, Seam: adk.Seam{Label: adk.LabelRun}}))
		require.NoError(t, f.Apply(&adk.Crossing{Kind: adk.KindEmitMessage, Phase: adk.Begin, Call: 1, Op: 1, Payload: adk.MessageEvent{ID: "m"}}))
		assert.Equal(t, 1, f.Untold())
		require.NoError(t, f.Apply(&adk.Crossing{Kind: adk.KindEmitMessage, Phase: adk.Done, Call: 1, Op: 1, Err: c.err}))
		assert.Equal(t, c.untold, f.Untold(), c.err)
	}
}

// Untold returns the number of events that are still to come from operations that caused one.
// At the end of a run it is zero, unless user code ended its goroutine.
func (f *Fold) Untold() (n int) {
	for _, c := range f.Calls {
		n += len(c.causes)
	}
	return n
}
