package transcript_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/sebdah/goldie/v2"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/internal/describe"
	"github.com/adkreplay/adkreplay/internal/safetext"
	"github.com/adkreplay/adkreplay/internal/state"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/transcript"
)

func transcriptOf(t testing.TB, told []*adk.Crossing) string {
	t.Helper()
	var text bytes.Buffer
	printed := transcript.New(&text)
	for _, x := range told {
		require.NoError(t, printed.Write(x))
	}
	require.NoError(t, printed.Close())
	return text.String()
}

// The transcripts of the sample turns are golden files, so that a person can read them: each
// explains what the turn's name says.
func TestTranscripts(t *testing.T) {
	for _, turn := range tracetest.AllTurns {
		switch turn.Name {
		case "weather", "collections", "strands", "nack", "gate", "trouble", "stash", "abort in the output", "flush refused", "late", "media":
			t.Run(turn.Name, func(t *testing.T) {
				g := goldie.New(t, goldie.WithFixtureDir("testdata/transcripts"), goldie.WithNameSuffix(".txt"))
				g.Assert(t, strings.ReplaceAll(turn.Name, " ", "-"), []byte(transcriptOf(t, turn.Run(t))))
			})
		}
	}
}

// A transcript is the same in each run (DET-2, DET-3), every state in it is right (DET-8), and
// nothing in it is left open.
func TestTranscriptsAreTheSame(t *testing.T) {
	for _, turn := range tracetest.AllTurns {
		told := turn.Run(t)
		first := transcriptOf(t, told)
		assert.Equal(t, first, transcriptOf(t, told), turn.Name)
		if turn.Name != "asks" { // its strand runs concurrently with its caller
			assert.Equal(t, first, transcriptOf(t, turn.Run(t)), turn.Name)
		}
		assert.NotContains(t, first, "no engine tells this", turn.Name)
		assert.NotContains(t, first, "but the engine's digest", turn.Name)
		assert.NotContains(t, first, "ends here", turn.Name)
	}
}

// No control sequence of a hostile text reaches the terminal (design: "a viewer treats every
// string as hostile").
func TestTranscriptIsSafe(t *testing.T) {
	hostile := "\x1b[2J\u202e\u2066\u200b\u0085\u2028\r\n\t\x7f\xff\u00ad"
	for _, turn := range tracetest.AllTurns {
		told := turn.Run(t)
		for _, x := range told {
			tracetest.Poison(x, hostile)
			standing := describe.New(state.New())
			tracetest.RequirePrintable(t, standing.Line(x))
		}
		tracetest.RequirePrintable(t, transcriptOf(t, told))
	}
}

// An error whose own text panics does not end the transcript (DET-4).
func TestTranscriptOfAPanickingError(t *testing.T) {
	words := describe.New(state.New()).Line(&adk.Crossing{Kind: adk.KindNack, Cause: nastyError{}})
	assert.Equal(t, "nack with error: transcript_test.nastyError, whose text panics", words)
}

type nastyError struct{}

func (nastyError) Error() string { panic("no text for you") }

// The transcript of a run that was cut short says where it ends (design: "a crash leaves a
// readable prefix").
func TestTranscriptOfAPrefix(t *testing.T) {
	told := tracetest.AllTurns[0].Run(t)
	for i := 1; i < len(told)-1; i++ {
		text := transcriptOf(t, told[:i])
		last := text[strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1:]
		require.True(t, strings.HasPrefix(last, "!! ends here, within run"), last)
	}
}

// A wrong digest is marked (DET-8).
func TestTranscriptOfAWrongState(t *testing.T) {
	told := tracetest.AllTurns[0].Run(t)
	tracetest.Find(told, adk.KindState, adk.Whole).Digest[0]++
	assert.Equal(t, 1, strings.Count(transcriptOf(t, told), "!! but the engine's digest is of something else"))
}

// A line that no engine can have written is marked, and the transcript continues.
func TestTranscriptOfAnImpossibleLine(t *testing.T) {
	told := tracetest.AllTurns[0].Run(t)
	tracetest.Find(told, adk.KindNext, adk.Done).Op = 99
	text := transcriptOf(t, told)
	assert.Contains(t, text, "!! no engine tells this: crossing 10, next: operation 99 has not begun here")
	assert.Contains(t, text, "* turnEnd turn1")
}

// Lines returns the lines that a divergence quotes: each is understandable by itself.
func TestLinesStandAlone(t *testing.T) {
	told := tracetest.AllTurns[0].Run(t)
	n := describe.New(state.New())
	var lines []string
	for _, x := range told {
		lines = append(lines, n.Line(x))
		require.NoError(t, n.Pass(x))
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
		`state: prompt, 1 instruction (i1), 1 message (m1), 1 tool (weather)`,
	} {
		assert.Contains(t, lines, want)
	}
}

func TestTimesAreSaidWhenTheyMove(t *testing.T) {
	call := func(id, in int, at time.Duration, kind adk.Kind) *adk.Crossing {
		return &adk.Crossing{Kind: kind, ID: id, Call: in, At: tracetest.FoldStart.Add(at), Seam: adk.Seam{Label: adk.LabelTurnInput, Name: "a"}, Outcome: adk.OutcomeOK}
	}
	text := transcriptOf(t, []*adk.Crossing{
		{Kind: adk.KindCall, ID: 1, At: tracetest.FoldStart, Seam: adk.Seam{Label: adk.LabelRun}, Text: "p"},
		call(2, 1, 400*time.Microsecond, adk.KindCall),
		call(2, 1, 800*time.Microsecond, adk.KindReturn),
		call(3, 1, 1600*time.Microsecond, adk.KindCall),
		call(3, 1, 90*time.Second, adk.KindReturn),
		call(1, 0, 90*time.Second, adk.KindReturn),
	})
	assert.Equal(t, "run \"p\"\n  turn-input/a\n  turn-input/a  +2ms  +1m29.998s\n", text)
}

func TestTextsAreCutInTheMiddle(t *testing.T) {
	assert.Equal(t, `"short"`, safetext.Quoted("short"))
	long := safetext.Quoted(strings.Repeat("ä", 500) + "end")
	assert.True(t, strings.HasPrefix(long, `"ääää`))
	assert.True(t, strings.HasSuffix(long, `äend" (1003 bytes)`), long)
	assert.NotContains(t, long, `\x`, "no rune is cut")
	assert.Less(t, len(safetext.Quoted(strings.Repeat("\x00", 1<<20))), 1000)
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
		assert.Equal(t, want, safetext.PlainName(name))
	}
}
