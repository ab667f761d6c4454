package sessions_test

import (
	"bytes"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/sessions"
	"github.com/adkreplay/adkreplay/replay/trace"
)

// FuzzVerify reads a journal of any lines with a valid footer, tells its story, and verifies it
// with the traces of a recorded session. A fault is an error of the file, or a divergence that can
// be printed.
func FuzzVerify(f *testing.F) {
	const folder = "sessions/upgrade-key/"
	turns := map[string][]byte{}
	files, err := fs.Glob(fixtures.Sessions, folder+"*.jsonl")
	require.NoError(f, err)
	for _, file := range files {
		data, err := fixtures.Sessions.ReadFile(file)
		require.NoError(f, err)
		if strings.HasSuffix(file, ".journal.jsonl") {
			lines := data[:bytes.LastIndex(data, []byte(`{"end":`))]
			f.Add(lines)
			f.Add(bytes.ReplaceAll(lines, []byte(`"keys":["`), []byte(`"keys":["`+strings.Repeat("k", 5000))))
			continue
		}
		recorded, err := trace.Read(bytes.NewReader(data))
		require.NoError(f, err)
		started := slices.IndexFunc(recorded.Lines(), func(l trace.Line) bool { return l.Name != "" })
		turns[recorded.Lines()[started].Name] = data
	}
	require.Contains(f, turns, "id-1")
	f.Fuzz(func(t *testing.T, lines []byte) {
		j, err := sessions.Read(bytes.NewReader(tracetest.Resealed(lines)), trace.Options{MaxLine: 1 << 20})
		if err != nil {
			require.ErrorAs(t, err, new(*sessions.FormatError))
		}
		if j == nil {
			return
		}
		var said bytes.Buffer
		require.NoError(t, sessions.WriteStory(&said, j, func(string) string { return "" }))
		report, err := sessions.Verify(t.Context(), j, sessions.Options{Replayed: sessions.AsRecorded, Open: func(turn string) (io.ReadCloser, error) {
			if turns[turn] == nil {
				return nil, nil
			}
			return io.NopCloser(bytes.NewReader(turns[turn])), nil
		}})
		require.NoError(t, err)
		for _, d := range report.Divergences {
			require.Less(t, len(d.String()), 2<<10, "it says what matters of a long name")
			said.WriteString(d.String())
		}
		said.WriteString(strings.Join(report.NotCompared, "\n"))
		tracetest.RequirePrintable(t, said.String())
	})
}
