package property

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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// properties are what holds for every turn: each says what is wrong with one, or
// nothing. Those that are only for some turns take every other.
var properties = map[string]func(Turn) string{
	"flawless":        flawless,
	"as predicted":    asPredicted,
	"translated back": translatedBack,
	"recorded again":  recordedAgain,
}

// checkTurns draws turns and holds them to a property. Where draws are kept, so is a
// turn that breaks it, as small as it gets: it stays what it is whatever becomes of
// the generators, as the draws of rapid would not.
func checkTurns(t *testing.T, turns *rapid.Generator[Turn], holds func(Turn) string) {
	t.Helper()
	var broken *Turn
	if unkept := flag.Lookup("rapid.nofailfile").Value; unkept.String() == "false" {
		require.NoError(t, unkept.Set("true"))
		defer func() {
			require.NoError(t, unkept.Set("false"))
			if broken != nil {
				keep(t, *broken, holds)
			}
		}()
	}
	rapid.Check(t, func(t *rapid.T) {
		turn := turns.Draw(t, "turn")
		broken = &turn
		if text := holds(turn); text != "" {
			t.Fatalf("%s\n%#v", text, turn)
		}
		broken = nil
	})
}

// keptTurns is the folder of turns that once broke a property.
const keptTurns = "testdata/turns"

// keptTurn is one of them.
type keptTurn struct {
	// Why says what went wrong with it, and why.
	Why  string `json:"why"`
	Turn Turn   `json:"turn"`
}

// longestShrink is when shrinking takes no more.
const longestShrink = time.Minute

// keep shrinks a turn that breaks a property, and writes it down.
func keep(t *testing.T, turn Turn, holds func(Turn) string) {
	t.Helper()
	end := time.Now().Add(longestShrink)
	small, _ := Shrink(turn, func(t Turn) (breaks bool) {
		defer func() { breaks = breaks || recover() != nil }()
		return time.Now().Before(end) && holds(t) != ""
	})
	data, err := json.MarshalIndent(keptTurn{Turn: small}, "", "  ")
	require.NoError(t, err)
	name := filepath.Join(keptTurns, fmt.Sprintf("%s-%.4x.json", t.Name(), sha256.Sum256(data)))
	require.NoError(t, os.MkdirAll(keptTurns, 0o755))
	require.NoError(t, os.WriteFile(name, append(data, '\n'), 0o644))
	t.Logf("kept in property/%s: %#v", filepath.ToSlash(name), small)
}

// Turns that once broke a property hold to all of them.
func TestKeptTurns(t *testing.T) {
	files, err := filepath.Glob(keptTurns + "/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var kept keptTurn
			require.NoError(t, json.Unmarshal(data, &kept))
			assert.NotEmpty(t, kept.Why, "say what went wrong, and why")
			for name, holds := range properties {
				for range 20 { // where goroutines raced
					require.Empty(t, holds(kept.Turn), name)
				}
			}
		})
	}
}

// A turn that breaks a property is kept as small as it gets, and only where that was
// asked for.
func TestKeep(t *testing.T) {
	t.Chdir(t.TempDir())
	stores := func(turn Turn) string {
		if strings.Contains(turn.GoString(), `"op":"store"`) {
			return "it stores"
		}
		return ""
	}
	keep(t, everything(), stores)
	files, err := filepath.Glob(keptTurns + "/TestKeep-*.json")
	require.NoError(t, err)
	require.Len(t, files, 1)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	var kept keptTurn
	require.NoError(t, json.Unmarshal(data, &kept))
	assert.Equal(t, 1, kept.Turn.Operations(), "%s", data)
	assert.Empty(t, kept.Why, "that is for who mends it")
}

// flawless holds a turn to CheckTurn.
func flawless(turn Turn) string {
	var text strings.Builder
	for _, f := range CheckTurn(turn) {
		fmt.Fprintf(&text, "%s: %s\n", f.Name, f.Text)
	}
	return text.String()
}
