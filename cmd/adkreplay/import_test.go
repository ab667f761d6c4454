package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fakes"
)

const govcr = `version: 2
interactions:
  - request:
      method: POST
      url: https://api.example.com/v1/chat/completions
      headers: {Authorization: [Bearer sk-secret]}
      body: '{"model":"m"}'
    response:
      status: 200 OK
      code: 200
      headers: {Content-Type: [application/json]}
      body: '{"choices":[]}'
`

// WLD-7, CAS-1: a recording of another tool is written as a conversation that can be read again,
// without the headers that hold secrets, and with the permissions that it had.
func TestImport(t *testing.T) {
	folder := t.TempDir()
	recording, conversation := filepath.Join(folder, "weather.yaml"), filepath.Join(folder, "weather.json")
	require.NoError(t, os.WriteFile(recording, []byte(govcr), 0o600))
	o := adkreplay("import", recording, "-o", conversation)
	assert.Zero(t, o.code, o.err)
	assert.Equal(t, conversation+": 1 interaction of go-vcr, 1 secret left out", strings.Join(strings.Fields(o.out), " "))
	written, err := os.ReadFile(conversation)
	require.NoError(t, err)
	assert.NotContains(t, string(written), "sk-secret")
	read, err := fakes.ReadConversation(strings.NewReader(string(written)))
	require.NoError(t, err)
	require.Len(t, read.Interactions, 1)
	assert.Contains(t, read.Interactions[0].Response.Body, "choices")
	info, err := os.Stat(conversation)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	o = adkreplay("import", recording)
	assert.Equal(t, outcome{out: string(written)}, o, "the conversation is all that is written")
	o = adkreplay("import", conversation)
	assert.Equal(t, outcome{out: string(written)}, o, "its own form comes back")
}

// CAS-2: entries of a browser's archive that are no exchanges are left out and reported, and are
// not in the output.
func TestImportOfAnArchive(t *testing.T) {
	archive := put(t, "page.har", []byte(`{"log":{"entries":[
		{"request":{"method":"GET","url":"http://x/gone"},"response":{"status":0,"_error":"net::ERR_ABORTED"}},
		{"request":{"method":"GET","url":"http://x/there"},"response":{"status":200,"content":{"text":"a"}}}]}}`))
	o := adkreplay("import", archive)
	assert.Zero(t, o.code)
	assert.Equal(t, "adkreplay: "+archive+": left out: interaction 1: no answer came (net::ERR_ABORTED)\n", o.err)
	read, err := fakes.ReadConversation(strings.NewReader(o.out))
	require.NoError(t, err)
	assert.Len(t, read.Interactions, 1)
}

// The two files of a batch become one conversation.
func TestImportOfABatch(t *testing.T) {
	requests := put(t, "requests.jsonl", []byte(`{"custom_id":"a","method":"POST","url":"/v1/chat/completions","body":{"model":"m"}}`+"\n"))
	answers := put(t, "answers.jsonl", []byte(`{"custom_id":"a","response":{"status_code":200,"body":{"choices":[]}},"error":null}`+"\n"))
	o := adkreplay("import", requests, answers)
	assert.Zero(t, o.code, o.err)
	assert.Contains(t, o.out, "/v1/chat/completions")
}

// An input that is no recording, or no file, is
// reported with its place, and nothing is written.
func TestImportRefuses(t *testing.T) {
	folder := t.TempDir()
	there := filepath.Join(folder, "there.json")
	refuses(t, "import", there, []misuse{
		{nil, exitUsage, "and got 0 arguments"},
		{[]string{"a", "b", "c"}, exitUsage, "and got 3 arguments"},
		{[]string{""}, exitUsage, "argument 1 is empty"},
		{[]string{"-", "-"}, exitUsage, "standard input"},
		{[]string{put(t, "a.yaml", []byte(govcr)), "-o", ""}, exitUsage, "--output is empty: want --output file"},
		{[]string{put(t, "b.yaml", []byte("version: 2\ninteractions: []\n")), "-o", there}, exitUnreadable, "b.yaml"},
		{[]string{put(t, "c.txt", []byte("hello")), "-o", there}, exitUnreadable, "c.txt"},
		{[]string{filepath.Join(folder, "none.yaml"), "-o", there}, exitUnreadable, "none.yaml: no such file or directory"},
		{[]string{folder, "-o", there}, exitUnreadable, "folder"},
	})
}
