// Package turntest is shared by the tests of turns: it has turns to test with, their translations,
// properties that hold for all turns, and a store of turns that once broke a property.
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

	_ "github.com/adkreplay/adkreplay/internal/draws" // makes draws the same on every run
	"github.com/adkreplay/adkreplay/property/shrink"
	"github.com/adkreplay/adkreplay/property/turn"
)

// CheckTurns draws turns and checks a property of them. If rapid's failures are kept, it keeps a
// turn that breaks the property, shrunk, instead of rapid's draws: the turn stays the same when the
// generators change, while draws would then give another turn.
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

// KeptTurns returns the folder of turns that once broke a property: that of package gen, or,
// outside of the source tree, one below the working directory.
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

// KeptTurn is a file in that folder.
type KeptTurn struct {
	// Why says what went wrong with it, and why.
	Why  string    `json:"why"`
	Turn turn.Turn `json:"turn"`
}

// longestShrink limits the time of shrinking.
const longestShrink = time.Minute

// Keep shrinks a turn that breaks a property, and writes it to the folder.
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

// Flawless returns the findings of CheckTurn as text; empty if there are none.
func Flawless(one turn.Turn) string {
	var text strings.Builder
	for _, f := range turn.CheckTurn(one) {
		fmt.Fprintf(&text, "%s: %s\n", f.Name, f.Text)
	}
	return text.String()
}
