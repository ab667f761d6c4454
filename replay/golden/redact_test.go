package golden_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
	"github.com/adkreplay/adkreplay/internal/thorough"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay"
	"github.com/adkreplay/adkreplay/replay/golden"
	"github.com/adkreplay/adkreplay/replay/redact"
)

// Text that Options.Redact finds is in no file that a check writes, and in none of its messages.
func TestASecretIsInNoGoldenFile(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("ADKREPLAY_REASON", "Another key.")
	dir := t.TempDir()
	options := golden.Options{Dir: dir, Redact: &redact.Rules{Patterns: []redact.Pattern{{Kind: "key", Expr: `key-[0-9]+`}}}}
	check := func(update, says string) *fakeTB {
		setUpdate(t, update)
		tb := &fakeTB{name: "TestGreeting"}
		golden.Turn(tb, "greeting", greeting(says), options)
		return tb
	}
	said := []*fakeTB{
		check("true", "It is key-1234567."), check("false", "It is key-7654321."),
		check("false", "No, key-1234567."), check("true", "No, key-1234567."),
	}
	assert.Empty(t, said[1].failed, "another secret in the same place")
	assert.Len(t, said[2].failed, 1)
	for i, tb := range said {
		assert.NotRegexp(t, `key-[0-9]|234567`, strings.Join(append(tb.failed, tb.told...), "\n"), "check %d", i)
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, files, 2, "the golden file and its reason")
	for _, f := range files {
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		require.NoError(t, err)
		assert.NotRegexp(t, `key-[0-9]|234567`, string(content), f.Name())
		assert.Contains(t, string(content), "[redacted:key:1]", f.Name())
	}
}

// A secret that the rules know by a path alone, at which no live value stands, is in nothing that
// a check writes, in whatever words today's code says it.
func TestASecretKnownByAPathIsWrittenNowhere(t *testing.T) {
	thorough.Long(t)
	const secret = "correct-horse"
	byPath := &redact.Rules{Paths: []string{"password"}}
	type says func(h *adk.Helpers) error
	message := func(pieces ...string) says {
		return func(h *adk.Helpers) (err error) {
			for i, piece := range pieces {
				_, failed := h.ReportMessage("m", piece, i == len(pieces)-1)
				err = errors.Join(err, failed)
			}
			return err
		}
	}
	logs := func(text string, attrs map[string]any) says {
		return func(h *adk.Helpers) error { h.Log(adk.LevelInfo, "event", text, attrs); return nil }
	}
	agent := func(all ...says) adk.Config {
		return adk.Config{Storage: fakes.NoOpStorage(), Executor: adk.Executor{Name: "model", Run: func(_ context.Context, dc *adk.DispatchContext, h *adk.Helpers) (err error) {
			for _, says := range all {
				err = errors.Join(err, says(h))
			}
			return errors.Join(err, dc.Ack())
		}}}
	}
	raw := adk.RawTurn{SystemPrompt: "Help.", Stash: map[string]any{"password": secret}}
	for name, c := range map[string]struct {
		recorded, today adk.Config
		given           bool // found only if Live.Turn has it
	}{
		"the same words":  {recorded: agent(message("Your key is " + secret)), today: agent(message("Your key is " + secret))},
		"other words":     {recorded: agent(message("Your key is " + secret)), today: agent(message("Take " + secret + " as your key"))},
		"other pieces":    {recorded: agent(message("Your key is " + secret)), today: agent(message("Your key: "+secret[:5], secret[5:], " is it."))},
		"and once more":   {recorded: agent(message("Your key is " + secret)), today: agent(message("It is "+secret+" now"), logs("said "+secret, nil))},
		"another name":    {recorded: agent(logs("sent", map[string]any{"password": secret})), today: agent(logs("sent", map[string]any{"pass": secret}))},
		"another place":   {recorded: agent(message("Your key is " + secret)), today: agent(logs("Your key is "+secret, nil))},
		"where none was":  {recorded: agent(message("Hello.")), today: agent(message("Hello."), logs("it is "+secret, nil)), given: true},
		"in another form": {recorded: agent(message("Hello.")), today: agent(message("Y29ycmVjdC1ob3JzZQ==")), given: true},
	} {
		for _, rules := range []*redact.Rules{nil, byPath} {
			for _, turn := range []adk.RawTurn{raw, {}} {
				if c.given && turn.Stash == nil {
					continue
				}
				for _, update := range []string{"false", "true"} {
					written := t.TempDir()
					for variable, value := range map[string]string{"CI": "", "ADKREPLAY_REASON": "It has changed.", "GITHUB_ACTIONS": "true", "ADKREPLAY_JUNIT": "junit.xml",
						"ADKREPLAY_HTML": strings.ReplaceAll(t.Name()+name, " ", "-") + ".html", "ADKREPLAY_PENDING": "pending"} {
						if strings.HasPrefix(variable, "ADKREPLAY_") && variable != "ADKREPLAY_REASON" {
							value = filepath.Join(written, value)
						}
						t.Setenv(variable, value)
					}
					setUpdate(t, update)
					dir := filepath.Join(written, "turns")
					require.NoError(t, os.Mkdir(dir, 0o700))
					recordTurn(t, filepath.Join(dir, "a.jsonl"), c.recorded, raw, replay.RecordOptions{Redact: byPath})
					tb := &fakeTB{name: "TestReplay"}
					said := onStdout(t, func() {
						golden.Replay(tb, dir, func(string) replay.Live {
							return replay.Live{Config: c.today, Turn: turn, Seams: []string{replay.Executor}, Redact: rules}
						})
					})
					said += strings.Join(append(tb.failed, tb.told...), "\n")
					assert.NotEmpty(t, said)
					assert.NoError(t, filepath.WalkDir(written, func(path string, entry fs.DirEntry, err error) error {
						if err != nil || entry.IsDir() {
							return err
						}
						content, err := os.ReadFile(path)
						said += "\n" + path + "\n" + string(content)
						if err == nil && filepath.Ext(path) == ".html" {
							var contents string
							contents, err = tracetest.Unpacked(string(content), "contents")
							said += contents
						}
						return err
					}))
					assert.NotRegexp(t, "horse|Y29ycmV", said, "%s; rules %v, given %v, -update=%s", name, rules != nil, turn.Stash != nil, update)
				}
			}
		}
	}
}
