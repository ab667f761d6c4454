package gen_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/turntest"
	"github.com/adkreplay/adkreplay/property/turn"
)

// properties hold for every turn. Each returns what is wrong with a turn, or nothing. Properties that are only
// for some turns accept all others.
var properties = map[string]func(turn.Turn) string{
	"flawless":        turntest.Flawless,
	"as predicted":    turntest.AsPredicted,
	"translated back": turntest.TranslatedBack,
	"recorded again":  recordedAgain,
}

// Turns that once broke a property satisfy all properties now.
func TestKeptTurns(t *testing.T) {
	thorough.Long(t)
	files, err := filepath.Glob(turntest.KeptTurns() + "/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var kept turntest.KeptTurn
			require.NoError(t, json.Unmarshal(data, &kept))
			assert.NotEmpty(t, kept.Why, "say what went wrong, and why")
			for name, holds := range properties {
				for range 20 { // repeated because goroutines raced
					require.Empty(t, holds(kept.Turn), name)
				}
			}
		})
	}
}

// A turn that breaks a property is shrunk and kept, and only if the environment asks for
// that.
func TestKeep(t *testing.T) {
	t.Chdir(t.TempDir())
	stores := func(one turn.Turn) string {
		if strings.Contains(one.GoString(), `"op":"store"`) {
			return "it stores"
		}
		return ""
	}
	turntest.Keep(t, turntest.Everything(), stores)
	files, err := filepath.Glob(turntest.KeptTurns() + "/TestKeep-*.json")
	require.NoError(t, err)
	require.Len(t, files, 1)
	data, err := os.ReadFile(files[0])
	require.NoError(t, err)
	var kept turntest.KeptTurn
	require.NoError(t, json.Unmarshal(data, &kept))
	assert.Equal(t, 1, kept.Turn.Operations(), "%s", data)
	assert.Empty(t, kept.Why, "that is for who mends it")
}
