package replay

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/sebdah/goldie/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

func transcriptOf(t testing.TB, told []*adk.Crossing) string {
	t.Helper()
	var text bytes.Buffer
	transcript := NewTranscript(&text)
	for _, x := range told {
		require.NoError(t, transcript.Write(x))
	}
	require.NoError(t, transcript.Close())
	return text.String()
}

// The transcripts of the sample turns are files, so that a person can read
// them: each is an explanation of what the turn's name says.
func TestTranscripts(t *testing.T) {
	for _, turn := range sampleTurns {
		switch turn.name {
		case "weather", "collections", "strands", "nack", "gate", "trouble", "stash", "abort in the output", "flush refused", "late", "media":
			t.Run(turn.name, func(t *testing.T) {
				g := goldie.New(t, goldie.WithFixtureDir("testdata/transcripts"), goldie.WithNameSuffix(".txt"))
				g.Assert(t, strings.ReplaceAll(turn.name, " ", "-"), []byte(transcriptOf(t, turn.run(t))))
			})
		}
	}
}

// A transcript is the same on every run (DET-2, DET-3), every sight in it is
// right (DET-8), and nothing in it is left open.
func TestTranscriptsAreTheSame(t *testing.T) {
	for _, turn := range sampleTurns {
		first := transcriptOf(t, turn.run(t))
		assert.Equal(t, first, transcriptOf(t, turn.run(t)), turn.name)
		assert.NotContains(t, first, "no engine tells this", turn.name)
		assert.NotContains(t, first, "but the engine's digest", turn.name)
		assert.NotContains(t, first, "ends here", turn.name)
	}
}

// Nothing of a hostile text reaches the terminal (design: "a viewer treats
// every string as hostile").
func TestTranscriptIsSafe(t *testing.T) {
	hostile := "\x1b[2J\u202e\u2066\u200b\u0085\u2028\r\n\t\x7f\xff\u00ad"
	for _, turn := range sampleTurns {
		told := turn.run(t)
		for _, x := range told {
			poison(x, hostile)
			standing := newNamer(NewFold())
			requirePrintable(t, standing.line(x))
		}
		requirePrintable(t, transcriptOf(t, told))
	}
}

// poison puts a hostile text everywhere where a crossing may hold one.
func poison(x *adk.Crossing, hostile string) {
	x.Name, x.Key, x.Text, x.Status = x.Name+hostile, x.Key+hostile, x.Text+hostile, x.Status+hostile
	x.Outcome += adk.Outcome(hostile)
	x.Collection += adk.CollectionName(hostile)
	x.Seam.Name += hostile
	x.Seam.Label += hostile
	x.Value, x.Args = map[string]any{hostile: []any{hostile}}, map[string]any{hostile: hostile}
	x.Schema = []byte(`{"title":"` + hostile + `"}`)
	x.Err, x.Cause = errors.New(hostile), &adk.Error{Code: adk.Code(hostile), Message: hostile}
	for i := range x.Texts {
		x.Texts[i] += hostile
	}
	if x.Record != nil && x.Record.RecordKind() == adk.RecordMessage {
		x.Record = must(adk.NewMessage(adk.MessageInit{ID: "h", Role: adk.RoleUser, Content: strings.ToValidUTF8(hostile, ""),
			Identity: adk.IdentityOf(strings.ToValidUTF8(hostile, "")), CreatedAt: foldStart, UpdatedAt: foldStart}))
	}
}

// requirePrintable refuses a text that could act upon a terminal.
func requirePrintable(t *testing.T, text string) {
	t.Helper()
	require.True(t, utf8.ValidString(text))
	for line := range strings.Lines(text) {
		for _, r := range strings.TrimSuffix(line, "\n") {
			if !printable(r) {
				t.Fatalf("%U in %q", r, line)
			}
		}
	}
}

// An error whose own text panics does not end the telling (DET-4).
func TestTranscriptOfAPanickingError(t *testing.T) {
	words := newNamer(NewFold()).line(&adk.Crossing{Kind: adk.KindNack, Cause: nastyError{}})
	assert.Equal(t, "nack with error: replay.nastyError, whose text panics", words)
}

type nastyError struct{}

func (nastyError) Error() string { panic("no text for you") }

// A run that was cut short says where (design: "a crash leaves a readable
// prefix").
func TestTranscriptOfAPrefix(t *testing.T) {
	told := sampleTurns[0].run(t)
	for i := 1; i < len(told)-1; i++ {
		text := transcriptOf(t, told[:i])
		last := text[strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1:]
		require.True(t, strings.HasPrefix(last, "!! ends here, within run"), last)
	}
}

// A digest that does not fit is loud (DET-8).
func TestTranscriptOfAWrongSight(t *testing.T) {
	told := sampleTurns[0].run(t)
	find(told, adk.KindSight, adk.Whole).Digest[0]++
	assert.Equal(t, 1, strings.Count(transcriptOf(t, told), "!! but the engine's digest is of something else"))
}

// What nobody could have told is loud, and the transcript goes on.
func TestTranscriptOfAnImpossibleLine(t *testing.T) {
	told := sampleTurns[0].run(t)
	find(told, adk.KindNext, adk.Done).Op = 99
	text := transcriptOf(t, told)
	assert.Contains(t, text, "!! no engine tells this: crossing 10, next: operation 99 has not begun here")
	assert.Contains(t, text, "* turnEnd turn1")
}

// Lines make up what a divergence quotes: each says by itself what it is.
func TestLinesStandAlone(t *testing.T) {
	told := sampleTurns[0].run(t)
	n := newNamer(NewFold())
	var lines []string
	for _, x := range told {
		lines = append(lines, n.line(x))
		require.NoError(t, n.pass(x))
	}
	for _, want := range []string{
		`fetch messages`,
		`storage/messages.fetch returns → m1 user "What is the weather in Oslo?"`,
		`fetch done`,
		`add m1 user "What is the weather in Oslo?" to messages`,
		`turn-input/hydrate returns`,
		`* message m2 "in Oslo." complete: "It is 4 °C in Oslo."`,
		`* toolCall call1 #0666dc0b`,
		`! the time of the sleep is over`,
		`tool/weather returns → "4 °C"`,
		`sight: prompt, 1 instruction (i1), 1 message (m1), 1 tool (weather)`,
	} {
		assert.Contains(t, lines, want)
	}
}

func TestTimesAreSaidWhenTheyMove(t *testing.T) {
	call := func(id, in int, at time.Duration, kind adk.Kind) *adk.Crossing {
		return &adk.Crossing{Kind: kind, ID: id, Call: in, At: foldStart.Add(at), Seam: adk.Seam{Label: adk.LabelTurnInput, Name: "a"}, Outcome: adk.OutcomeOK}
	}
	text := transcriptOf(t, []*adk.Crossing{
		{Kind: adk.KindCall, ID: 1, At: foldStart, Seam: adk.Seam{Label: adk.LabelRun}, Text: "p"},
		call(2, 1, 400*time.Microsecond, adk.KindCall),
		call(2, 1, 800*time.Microsecond, adk.KindReturn),
		call(3, 1, 1600*time.Microsecond, adk.KindCall),
		call(3, 1, 90*time.Second, adk.KindReturn),
		call(1, 0, 90*time.Second, adk.KindReturn),
	})
	assert.Equal(t, "run \"p\"\n  turn-input/a\n  turn-input/a  +2ms  +1m29.998s\n", text)
}

func TestTextsAreCutInTheMiddle(t *testing.T) {
	assert.Equal(t, `"short"`, quoted("short"))
	long := quoted(strings.Repeat("ä", 500) + "end")
	assert.True(t, strings.HasPrefix(long, `"ääää`))
	assert.True(t, strings.HasSuffix(long, `äend" (1003 bytes)`), long)
	assert.NotContains(t, long, `\x`, "no rune is cut")
	assert.Less(t, len(quoted(strings.Repeat("\x00", 1<<20))), 1000)
}

func TestNamesArePlain(t *testing.T) {
	for name, want := range map[string]string{
		"cap-2":    "cap-2",
		"a b":      `"a b"`,
		"":         `""`,
		"\x1b":     `"\x1b"`,
		"größe":    `"größe"`,
		"a\u202eb": `"a\u202eb"`,
	} {
		assert.Equal(t, want, plainName(name))
	}
}

// printable reports whether a terminal prints a character and nothing happens.
func printable(r rune) bool { return r == ' ' || strconv.IsPrint(r) }
