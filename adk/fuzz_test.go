package adk_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
)

// FuzzParseRecord parses any record: an accepted one is written as JSON that parses to the same JSON and digest.
func FuzzParseRecord(f *testing.F) {
	const times = `"createdAt":"2025-01-01T00:00:00Z","updatedAt":"2025-01-01T00:00:00Z"`
	for kind, data := range map[adk.RecordKind]string{
		adk.RecordMessage:     `{"id":"m1","role":"user","content":"hi",` + times + `}`,
		adk.RecordMemory:      `{"id":"m1","content":"hi",` + times + `}`,
		adk.RecordThought:     `{"id":"t1","content":"b","payload":{"$[]int8":[1]},"replayCompatibility":"c",` + times + `}`,
		adk.RecordToolCall:    `{"id":"a","tool":"b","args":{"a":1e3},"results":{"text":"x"},"completedAt":"2025-01-01T00:00:00Z",` + times + `}`,
		adk.RecordRetrievable: `{"id":"r1","content":"hi",` + times + `}`,
		adk.RecordInstruction: `"be brief"`,
		adk.RecordMedia:       `{"id":"a","kind":"image","mimeType":"image/png","filename":"a","trustTier":"first-party","modalityHazard":"inert"}`,
		adk.RecordTool:        `{"name":"a","description":"b","inputSchema":{"type":"object"}}`,
	} {
		f.Add(string(kind), []byte(data))
	}
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		record, err := adk.ParseRecord(adk.RecordKind(kind), data)
		if err != nil {
			assert.Nil(t, record)
			return
		}
		written, err := record.MarshalJSON()
		require.NoError(t, err)
		again, err := adk.ParseRecord(record.RecordKind(), written)
		require.NoError(t, err, "%s", written)
		rewritten, err := again.MarshalJSON()
		require.NoError(t, err)
		assert.True(t, bytes.Equal(written, rewritten), "%s\n%s", written, rewritten)
		assert.Equal(t, record.Digest(), again.Digest())
		assert.Equal(t, record.Key(), again.Key())
	})
}

// FuzzParseSeam parses any path: an accepted one is written the same.
func FuzzParseSeam(f *testing.F) {
	for _, path := range []string{"run", "dispatch/a", "executor/model#1", "dispatch-input/cap#2#3", "storage/messages.fetch", "tool/", "strand//", "turn-input/\xff"} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		seam, err := adk.ParseSeam(path)
		if err != nil {
			assert.Zero(t, seam)
			return
		}
		again, err := adk.ParseSeam(seam.String())
		require.NoError(t, err)
		assert.Equal(t, seam, again)
	})
}
