// Package turntest is shared by the tests of turns: turns to test with, their transcripts, and
// properties of all turns. Turns that violate a property are kept as files.
package turntest

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/adkreplay/adkreplay/internal/draws" // the same values on every run
	"github.com/adkreplay/adkreplay/property/shrink"
	"github.com/adkreplay/adkreplay/property/turn"
)

// CheckTurns draws turns and checks a property of them. If rapid keeps failures, a turn that
// violates the property is shrunk and kept as a file. Unlike a failure file of rapid, it stays
// valid when the generators change.
func CheckTurns(t *testing.T, turns *rapid.Generator[turn.Turn], holds func(turn.Turn) string) {
	t.Helper()
	var broken *turn.Turn
	if unkept := flag.Lookup("rapid.nofailfile").Value; unkept.String() == "false" {
		require.NoError(t, unkept.Set("true"))
		defer func() {
			require.NoError(t, unkept.Set("false"))
			if broken != nil {
				Keep(t, *broken, holds)
			}
		}()
	}
	rapid.Check(t, func(t *rapid.T) {
		one := turns.Draw(t, "turn")
		broken = &one
		if text := holds(one); text != "" {
			t.Fatalf("%s\n%#v", text, one)
		}
		broken = nil
	})
}

// KeptTurns returns the folder of kept turns: that of the generators or, outside of the source
// tree, one below the working directory.
func KeptTurns() string {
	for root := ".."; ; root = filepath.Join(root, "..") {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return filepath.Join(root, "property", "gen", "testdata", "turns")
		}
		if at, err := filepath.Abs(root); err != nil || filepath.Dir(at) == at {
			return filepath.Join("testdata", "turns")
		}
	}
}

// KeptTurn is a kept turn.
type KeptTurn struct {
	// Why says what went wrong with it, and why.
	Why  string    `json:"why"`
	Turn turn.Turn `json:"turn"`
}

// longestShrink is the time limit for shrinking.
const longestShrink = time.Minute

// Keep shrinks a turn that violates a property, and writes it to a file.
func Keep(t *testing.T, one turn.Turn, holds func(turn.Turn) string) {
	t.Helper()
	end := time.Now().Add(longestShrink)
	small, _ := shrink.Shrink(one, func(t turn.Turn) (breaks bool) {
		defer func() { breaks = breaks || recover() != nil }()
		return time.Now().Before(end) && holds(t) != ""
	})
	data, err := json.MarshalIndent(KeptTurn{Turn: small}, "", "  ")
	require.NoError(t, err)
	name := filepath.Join(KeptTurns(), fmt.Sprintf("%s-%.4x.json", t.Name(), sha256.Sum256(data)))
	require.NoError(t, os.MkdirAll(KeptTurns(), 0o755))
	require.NoError(t, os.WriteFile(name, append(data, '\n'), 0o644))
	t.Logf("kept in %s: %#v", filepath.ToSlash(name), small)
}

// Flawless returns the violations that CheckTurn finds in a turn.
func Flawless(one turn.Turn) string {
	var text strings.Builder
	for _, f := range turn.CheckTurn(one) {
		fmt.Fprintf(&text, "%s: %s\n", f.Name, f.Text)
	}
	return text.String()
}
