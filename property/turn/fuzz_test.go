package turn_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/property/turn"
)

// FuzzParseSchedule parses any text. A schedule that parses is written back as the same text.
func FuzzParseSchedule(f *testing.F) {
	for _, text := range []string{"", "cancel@7", "cancel@7,panic@12,order@3=2", "order@1=0", "storage-after@13", "flaky@13*3", "flaky@13*3-each", "ask-429@5*all", "down-one@4=body.id", "panic@0", "order@2=1,order@1=1", "nothing"} {
		f.Add(text)
	}
	f.Add(turn.Schedule{}.String())
	f.Fuzz(func(t *testing.T, text string) {
		schedule, err := turn.ParseSchedule(text)
		if err != nil {
			assert.Equal(t, turn.Schedule{}, schedule)
			return
		}
		again, err := turn.ParseSchedule(schedule.String())
		require.NoError(t, err)
		assert.Equal(t, schedule, again)
	})
}

// FuzzTurnJSON reads any JSON. A turn that can be read stays the same when it is written and read again.
func FuzzTurnJSON(f *testing.F) {
	kept, err := filepath.Glob("../gen/testdata/turns/*.json")
	require.NoError(f, err)
	require.NotEmpty(f, kept)
	for _, name := range kept {
		data, err := os.ReadFile(name)
		require.NoError(f, err)
		var in struct{ Turn json.RawMessage }
		require.NoError(f, json.Unmarshal(data, &in))
		require.NotEmpty(f, in.Turn, name)
		f.Add([]byte(in.Turn))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var one, again turn.Turn
		if json.Unmarshal(data, &one) != nil {
			return
		}
		written, err := json.Marshal(one)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(written, &again), "%s", written)
		rewritten, err := json.Marshal(again)
		require.NoError(t, err)
		assert.Equal(t, string(written), string(rewritten))
	})
}
