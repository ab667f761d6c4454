package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/fixtures"
	"github.com/adkreplay/adkreplay/internal/tracetest"
	"github.com/adkreplay/adkreplay/replay/corpus"
	"github.com/adkreplay/adkreplay/replay/sessions"
)

// recordedSession is a folder with all files that the hosts of an embedded session wrote.
func recordedSession(t *testing.T, name string) (folder string) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Mkdir(folder, 0o755))
	entries, err := fixtures.Sessions.ReadDir("sessions/" + name)
	require.NoError(t, err)
	for _, entry := range entries {
		content, err := fixtures.Sessions.ReadFile("sessions/" + name + "/" + entry.Name())
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(folder, entry.Name()), content, 0o600))
	}
	return folder
}

// editJournal replaces a text in a
// journal, and recomputes the footer.
func editJournal(t *testing.T, file, old, instead string) {
	t.Helper()
	content, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(content), old)
	body := bytes.Replace(content[:bytes.LastIndex(content, []byte(`{"end":`))], []byte(old), []byte(instead), 1)
	footer := fmt.Sprintf("{\"end\":%d,\"sha256\":\"%x\"}\n", bytes.Count(body, []byte("\n"))-1, sha256.Sum256(body))
	require.NoError(t, os.WriteFile(file, append(body, footer...), 0o600))
}

// SES-34: a folder with journals is verified together with its traces, and a single journal with
// the traces in its folder.
func TestVerifySessions(t *testing.T) {
	folder := recordedSession(t, "two-hosts")
	line := "same sessions of " + folder + ": 2 journals, 1 session, 2 attempts, 2 commits\n"
	ending := "2 journals, 1 session, 2 attempts, 2 commits, 0 divergences\n" + noUserCode + "\n2 traces, 163 crossings, 0 divergences\n"
	got := adkreplay("verify", folder)
	assert.Equal(t, exitSame, got.code, got.err)
	assert.True(t, strings.HasSuffix(got.out, line+ending), got.out)
	assert.Equal(t, outcome{exitSame, ending, ""}, adkreplay("verify", "--quiet", folder))
	both := adkreplay("verify", filepath.Join(folder, "first.journal.jsonl"), filepath.Join(folder, "second.journal.jsonl"))
	assert.Equal(t, got, both, "the traces are those beside the journals")

	var document struct{ Sessions []corpus.SessionsReport }
	require.NoError(t, json.Unmarshal([]byte(adkreplay("verify", "--json", folder).out), &document))
	require.Len(t, document.Sessions, 1)
	assert.Equal(t, 2, document.Sessions[0].Commits)
	assert.Equal(t, []corpus.JournalReport{{Journal: filepath.Join(folder, "first.journal.jsonl"), Steps: 5}, {Journal: filepath.Join(folder, "second.journal.jsonl"), Steps: 5}}, document.Sessions[0].Journals)
	assert.Contains(t, adkreplay("verify", "--junit=-", folder).out, `<testcase classname="`+folder+`" name="sessions"></testcase>`)
}

// SES-34: a journal can be read from the standard input, which has no folder with traces.
func TestJournalsOnTheStandardInput(t *testing.T) {
	journal := filepath.Join(recordedSession(t, "notes-grow"), "host.journal.jsonl")
	got := piped(t, journal, "verify", "-")
	assert.Equal(t, outcome{exitSame, "same sessions of .: 1 journal, 1 session, 3 attempts, 3 commits\n" +
		"    not compared: turns id-1, id-3, id-5, which have no traces\n" +
		"1 journal, 1 session, 3 attempts, 3 commits, 0 divergences\n0 traces, 0 crossings, 0 divergences\n", ""}, got)
	got = piped(t, journal, "show", "-")
	assert.Equal(t, exitSame, got.code)
	assert.Contains(t, got.out, "  epoch 1 is host's\n    attempt 1 at monday, from revision 0, values 44136fa3\n      turn id-1 ack\n")
	got = piped(t, journal, "check", "-")
	assert.Equal(t, exitUnreadable, got.code)
	assert.Contains(t, got.out, "-:1: no trace: this is a journal of sessions")
}

// SES-34: a trace on the standard input belongs to no journal in the working folder: it can be
// read only once, and is verified or shown by itself.
func TestTracesOnTheStandardInput(t *testing.T) {
	folder := recordedSession(t, "notes-grow")
	t.Chdir(folder)
	journal, err := os.ReadFile("host.journal.jsonl")
	require.NoError(t, err)
	last := bytes.LastIndex(journal, []byte(`{"end":`))
	require.NoError(t, os.WriteFile("host.journal.jsonl", journal[:last], 0o600)) // as if its host was killed
	trace := put(t, "hello.jsonl", tracetest.FixtureNamed(t, "hello").Bytes)
	got := piped(t, trace, "verify", "host.journal.jsonl", "-")
	assert.Contains(t, got.out, "same -: ", got.err)
	assert.Contains(t, got.out, "same host-1.jsonl: ", "the turns of the journal are those beside it")
	got = piped(t, trace, "view", "host.journal.jsonl", "-", "-o", "page.html")
	assert.NotContains(t, got.err, "-:", "of what cannot be read")
}

// SES-34: a journal is recognized by its first line: a file with another name may be a journal,
// and a file named like a journal that is none is a trace that cannot be read.
func TestJournalsAreKnownByTheirFirstLines(t *testing.T) {
	folder := recordedSession(t, "notes-grow")
	require.NoError(t, os.Rename(filepath.Join(folder, "host.journal.jsonl"), filepath.Join(folder, "a.jsonl")))
	got := adkreplay("verify", folder)
	assert.Equal(t, exitSame, got.code, got.out)
	assert.Contains(t, got.out, "1 journal, 1 session, 3 attempts, 3 commits, 0 divergences\n")

	require.NoError(t, os.WriteFile(filepath.Join(folder, "b.journal.jsonl"), fixture(t, "hello"), 0o600))
	assert.Contains(t, adkreplay("verify", folder).out, "same "+filepath.Join(folder, "b.journal.jsonl")+": 31 crossings\n")
}

// SES-34: if a journal and its traces do not match, verify prints the class, the file and the
// line, and ends with the exit code that it has for a trace; so do the reports for programs.
func TestVerifyChangedSessions(t *testing.T) {
	for _, c := range []struct{ class, old, instead, says string }{
		{"commit", `"keys":["user.notes"]`, `"keys":["user.name"]`, `:6, delivery "monday" of session "ada" of tenant "acme", attempt 1: the keys "user.name" were committed, the turn has changed "user.notes"`},
		{"commit", `"records":["messages.store monday `, `"records":["messages.store sunday `, ":6, "},
		{"hydrate", `"payload":"`, `"payload":"0`, `:5, delivery "monday" of session "ada" of tenant "acme", attempt 1: the payload is another`},
		{"order", `"attempt":1`, `"attempt":2`, `:5, delivery "monday" of session "ada" of tenant "acme", attempt 1: this attempt was not begun just before`},
		{"order", `"revision":1`, `"revision":2`, `:6, `},
		{"order", `"seq":2`, `"seq":7`, `under another number`},
	} {
		folder := recordedSession(t, "notes-grow")
		journal := filepath.Join(folder, "host.journal.jsonl")
		editJournal(t, journal, c.old, c.instead)
		got := adkreplay("verify", folder)
		assert.Equal(t, exitDivergence, got.code, c)
		assert.Contains(t, got.out, "divergence sessions of "+folder+": "+c.class+" at "+journal)
		assert.Contains(t, got.out, c.says)
		assert.Contains(t, got.out, "1 session, ")
		assert.Contains(t, got.out, ", 1 divergence\n")
		assert.Contains(t, adkreplay("verify", "--junit=-", folder).out, `<failure type="`+c.class+`"`)
		assert.Contains(t, adkreplay("verify", "--github", folder).out, "::error file="+journal+",line=")
		assert.Contains(t, adkreplay("verify", "--json", folder).out, `"class": "`+c.class+`"`)
	}
}

// SES-34: a turn whose trace diverges is reported for the trace and for the session; the session's other turns are not.
func TestVerifyASessionWithAChangedTurn(t *testing.T) {
	folder := recordedSession(t, "notes-grow")
	path := filepath.Join(folder, "host-2.jsonl")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(strings.Replace(string(content), `"iterations":2`, `"iterations":1`, 1), "\n"), "\n")
	require.NoError(t, os.WriteFile(path, tracetest.Seal(lines[:len(lines)-1], ""), 0o600))
	got := adkreplay("verify", folder)
	assert.Equal(t, exitDivergence, got.code)
	assert.Contains(t, got.out, "divergence "+path+": changed output")
	assert.Contains(t, got.out, `delivery "tuesday" of session "ada" of tenant "acme", attempt 1: the turn does something else, in `+path+"\n")
	assert.Contains(t, got.out, "1 journal, 1 session, 2 attempts, 1 commit, 1 divergence\n")
}

// SES-32: verify and show report a fault of a journal with its file and line, and end with the
// exit code for an unreadable trace. What comes before the fault is examined.
func TestDamagedJournals(t *testing.T) {
	whole, err := fixtures.Sessions.ReadFile("sessions/notes-grow/host.journal.jsonl")
	require.NoError(t, err)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	join := func(lines ...[]byte) []byte { return bytes.Join(lines, nil) }
	for name, c := range map[string]struct {
		content []byte
		says    string
		shows   bool // what comes before the fault
	}{
		"cut short":     {join(lines[:6]...), `: truncated journal: it has no footer, and tells nothing of attempt 1 at delivery "tuesday" of session "ada" of tenant "acme", epoch 2, whose turn has the trace `, true},
		"cut in a line": {append(join(lines[:6]...), "{]"...), ":7: truncated journal: the line has no end", true},
		"a line less":   {join(lines[0], lines[2], lines[3]), ":2: miscounted journal: steps are missing: 2 of host \"host\" follows on 0", true},
		"changed":       {bytes.Replace(whole, []byte(`"seq":1`), []byte(`"seq":9`), 1), ": changed journal: the footer is that of another journal", true},
		"garbage":       {join(lines[0], []byte("\x00\x1b[2J\n")), ":2: malformed journal: this is no step: ", false},
		"next version":  {bytes.Replace(whole, []byte(`"version":1`), []byte(`"version":2`), 1), ":1: journal of another version: the journal's version is 2", false},
		"only a header": {lines[0], ": truncated journal: it has no footer, and tells nothing of attempt 1 ", false},
	} {
		folder := recordedSession(t, "notes-grow")
		journal := filepath.Join(folder, "host.journal.jsonl")
		require.NoError(t, os.WriteFile(journal, c.content, 0o600))
		got := adkreplay("verify", folder)
		assert.Equal(t, exitUnreadable, got.code, name)
		assert.Contains(t, got.out, "unreadable "+journal+":", name)
		assert.Contains(t, got.out, c.says, name)
		assert.Contains(t, got.out, "3 traces, 247 crossings, 0 divergences\n", "%s: the traces are looked at all the same", name)
		shown := adkreplay("show", journal)
		assert.Equal(t, exitUnreadable, shown.code, name)
		assert.Contains(t, shown.err, journal+":", name)
		assert.Contains(t, shown.err, c.says, name)
		assert.Equal(t, c.shows, strings.HasPrefix(shown.out, "session ada of tenant acme"), name)
		for _, text := range []string{got.out, shown.out, shown.err} {
			tracetest.RequirePrintable(t, strings.ReplaceAll(text, "\n", ""))
		}
	}
}

// SES-34: a host that was killed leaves a journal without a footer, and the trace of a turn that
// ends anywhere: verify and show say so, and it is no fault.
func TestJournalOfAKilledHost(t *testing.T) {
	folder := recordedSession(t, "notes-grow")
	journal, cut := filepath.Join(folder, "host.journal.jsonl"), filepath.Join(folder, "host-3.jsonl")
	whole, err := os.ReadFile(journal)
	require.NoError(t, err)
	at := bytes.LastIndex(whole, []byte(`{"step":"ran"`))
	require.NoError(t, os.WriteFile(journal, whole[:at+20], 0o600))
	require.NoError(t, os.Truncate(cut, 3000))
	got := adkreplay("verify", folder)
	assert.Equal(t, exitSame, got.code, got.out)
	assert.Contains(t, got.out, "same sessions of "+folder+": 1 journal (1 without a footer), 1 session, 2 attempts, 2 commits\n"+
		"    not compared: what came after the end of "+journal+", which has no footer: its host was killed, or is still at work\n"+
		"    not compared: trace "+cut+", which ends where its host was killed, or still is at work\n"+
		"1 journal (1 without a footer), 1 session, 2 attempts, 2 commits, 0 divergences\n")
	assert.Contains(t, got.out, "\n2 traces, ")
	shown := adkreplay("show", folder)
	assert.Equal(t, exitSame, shown.code)
	assert.Equal(t, "adkreplay: "+journal+" has no footer: its host was killed, or is still at work\n", shown.err)
	assert.Equal(t, exitUnreadable, adkreplay("verify", cut).code, "alone it is a trace that ends early")
	for _, command := range []string{"check", "lint", "stats", "distil", "accept"} {
		assert.Equal(t, exitSame, adkreplay(command, folder).code, command)
		assert.Equal(t, exitUnreadable, adkreplay(command, cut).code, command)
	}
	assert.Contains(t, adkreplay("distil", folder).err, "1 trace left out, cut where a host was killed: adkreplay show, check and lint read as far as it goes")
}

// SES-32: the flags that bound reading traces also bound reading a journal.
func TestJournalsWithinLimits(t *testing.T) {
	journal := filepath.Join(recordedSession(t, "notes-grow"), "host.journal.jsonl")
	for _, command := range []string{"verify", "show"} {
		got := adkreplay(command, "--limit", "line=300", journal)
		assert.Equal(t, exitUnreadable, got.code)
		assert.Contains(t, got.out+got.err, "journal too large: line: more than 300 bytes in the longest line; --limit line=N")
	}
}

// SES-34: a turn without a trace is not compared, and the report says so. A test of sessions fails
// for it, as the help says.
func TestVerifyASessionWithoutTraces(t *testing.T) {
	folder := recordedSession(t, "notes-grow")
	for n := 1; n <= 3; n++ {
		require.NoError(t, os.Remove(filepath.Join(folder, fmt.Sprintf("host-%d.jsonl", n))))
	}
	assert.Equal(t, outcome{exitSame, "same sessions of " + folder + ": 1 journal, 1 session, 3 attempts, 3 commits\n" +
		"    not compared: turns id-1, id-3, id-5, which have no traces\n" +
		"1 journal, 1 session, 3 attempts, 3 commits, 0 divergences\n0 traces, 0 crossings, 0 divergences\n", ""}, adkreplay("verify", folder))
	assert.Contains(t, strings.Join(strings.Fields(adkreplay("help", "verify").out), " "), "A turn without a trace is told and no difference, since hosts that sample leave such; golden.ReplaySessions, whose sessions are kept for a test, fails for it.")
}

// Merged reports of several machines include the sessions.
func TestMergeSessions(t *testing.T) {
	folder, out := filepath.Dir(recordedSession(t, "notes-grow")), t.TempDir()
	require.NoError(t, os.Rename(recordedSession(t, "two-hosts"), filepath.Join(folder, "two-hosts")))
	editJournal(t, filepath.Join(folder, "two-hosts", "second.journal.jsonl"), `"keys":["user.notes"]`, `"keys":[]`)
	reports := []string{"merge"}
	for n := 1; n <= 3; n++ {
		report := filepath.Join(out, fmt.Sprintf("%d.json", n))
		adkreplay("verify", fmt.Sprintf("--shard=%d/3", n), "--json="+report, folder)
		reports = append(reports, report)
	}
	got := adkreplay(reports...)
	assert.Equal(t, exitDivergence, got.code, got.err)
	assert.Contains(t, got.out, "3 journals, 2 sessions, 5 attempts, 5 commits, 1 divergence\n")
	assert.Contains(t, got.out, "5 traces, 410 crossings, 0 divergences\n")
	assert.Contains(t, adkreplay(append(reports, "--json")...).out, `"class": "commit"`)
}

// show prints the story of a journal; for a folder, that of all its journals.
func TestShowASession(t *testing.T) {
	folder := recordedSession(t, "two-hosts")
	got := adkreplay("show", folder)
	assert.Equal(t, outcome{exitSame, `session ada of tenant acme, from 2025-01-01 00:00:00 UTC
  accepted monday as 1, payload 9eea1bd3, by first
  accepted tuesday as 2, payload a1160192, by second
  epoch 1 is first's
    attempt 1 at monday, from revision 0, values 44136fa3
      turn id-1 ack, in ` + folder + `/first-1.jsonl
      committed revision 1, values d25592d0, changed user.notes, wrote messages.store monday, toolCalls.store monday-call, messages.store monday-reply
  epoch 2 is second's
    attempt 1 at tuesday, from revision 1, values d25592d0
      turn id-3 ack, in ` + folder + `/second-1.jsonl
      committed revision 2, values d8c0a1e2, changed user.notes, wrote messages.store tuesday, toolCalls.store tuesday-call, messages.store tuesday-reply
`, ""}, got)
	one := filepath.Join(folder, "second.journal.jsonl")
	assert.NotContains(t, adkreplay("show", one).out, "epoch 1")
	assert.Contains(t, adkreplay("show", one).out, "epoch 2 is second's\n")

	lines := strings.Split(strings.TrimSpace(adkreplay("show", "--json", folder).out), "\n")
	require.Len(t, lines, 10)
	var told sessions.ToldStep
	require.NoError(t, json.Unmarshal([]byte(lines[8]), &told))
	assert.Equal(t, []any{"second", "id-3", one, 5, folder + "/second-1.jsonl"}, []any{told.Host, told.Turn, told.Journal, told.Line, told.Trace})

	assert.Equal(t, outcome{exitSame, "     3  ada  epoch 1 is first's\n     3  ada  epoch 2 is second's\n", ""}, adkreplay("show", "--grep", "epoch", folder))
	none := adkreplay("show", "--grep", "sunday", folder)
	assert.Equal(t, outcome{exitFound, "", "adkreplay: " + folder + ": nothing in 10 steps matches sunday\n"}, none)
	for _, flags := range [][]string{{"--at", "3"}, {"--phases"}, {"--from", "2"}, {"--to", "2"}} {
		got := adkreplay(append([]string{"show", one}, flags...)...)
		assert.Equal(t, exitUsage, got.code, flags)
		assert.Contains(t, got.err, "second.journal.jsonl: this is a journal of sessions, with which --json and --grep go", flags)
	}
}

// Commands that only read traces skip the journals of a folder, and say so. If a journal is given
// to them by name, they say what it is, and which command reads it.
func TestCommandsThatReadNoJournals(t *testing.T) {
	folder := recordedSession(t, "notes-grow")
	journal := filepath.Join(folder, "host.journal.jsonl")
	note := "adkreplay: 1 journal of sessions in " + folder + " left out: adkreplay show, verify and view read journals\n"
	for _, command := range [][]string{{"check"}, {"lint"}, {"stats"}, {"distil"}, {"accept"}} {
		got := adkreplay(append(command, folder)...)
		assert.Equal(t, outcome{exitSame, got.out, note}, got, command)
		assert.NotContains(t, got.out, "journal", command)
	}
	for _, command := range []string{"check", "lint"} {
		assert.Empty(t, adkreplay(command, "--quiet", folder).err)
	}
	for _, command := range [][]string{{"check"}, {"lint"}, {"stats"}, {"accept"}, {"distil"}, {"diff", journal}, {"replay", "--set", "run.prompt=x"}, {"shrink"}} {
		got := adkreplay(append(command, journal)...)
		assert.Equal(t, exitUnreadable, got.code, command)
		assert.Contains(t, got.out+got.err, journal+":1: no trace: this is a journal of sessions: adkreplay show, verify and view read it, and golden.ReplaySessions in go test", command)
	}
}

// The pages of view and of verify have the journals of a folder, with the steps that show prints.
// For a journal that is given by name, they have the traces beside it.
func TestPagesOfSessions(t *testing.T) {
	folder, file := recordedSession(t, "two-hosts"), filepath.Join(t.TempDir(), "page.html")
	first := filepath.Join(folder, "first.journal.jsonl")
	steps := adkreplay("show", "--json", folder).out
	for _, args := range [][]string{{"view", folder, "-o", file}, {"view", first, filepath.Join(folder, "second.journal.jsonl"), "-o", file}, {"verify", folder, "--html", file}} {
		o := adkreplay(args...)
		assert.Equal(t, exitSame, o.code, o.err)
		assert.Contains(t, o.out, file+": 2 traces, 1 session, ")
		assert.Equal(t, steps, heldIn(t, file, "journal-0"))
		assert.Contains(t, heldIn(t, file, "contents"), `"sessions":[{"folder":"`+filepath.ToSlash(folder)+`","sessions":1,"steps":10,"held":true}]`)
	}
	report := filepath.Join(t.TempDir(), "report.json")
	require.Equal(t, exitSame, adkreplay("verify", "--shard", "1/1", "--json="+report, folder).code)
	o := adkreplay("merge", report, "--html", file)
	assert.Equal(t, exitSame, o.code, o.err)
	assert.Equal(t, steps, heldIn(t, file, "journal-0"), "merge finds what is at hand")

	content, err := os.ReadFile(first)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(first, content[:len(content)-20], 0o600)) // as a host leaves it that is killed
	o = adkreplay("view", folder, "-o", file)
	assert.Equal(t, exitSame, o.code, o.err)
	assert.Contains(t, o.err, first+" has no footer: its host was killed, or is still at work")
	assert.Contains(t, heldIn(t, file, "contents"), first+" has no footer")
	require.NoError(t, os.WriteFile(first, bytes.Replace(content, []byte(`"accepted"`), []byte(`"expected"`), 1), 0o600))
	o = adkreplay("view", folder, "-o", file)
	assert.Equal(t, exitUnreadable, o.code)
	assert.Contains(t, o.err, first+":")
	assert.Contains(t, o.out, "1 session", "what there is of it is shown")
}

// The names in a journal may contain anything: no control sequence in them reaches a terminal.
func TestHostileJournals(t *testing.T) {
	folder := recordedSession(t, "notes-grow")
	journal := filepath.Join(folder, "host.journal.jsonl")
	const hostile = `a\n::error::owned\r\u001b[2J\u202e`
	editJournal(t, journal, `"session":"ada","delivery":"monday"`, `"session":"`+hostile+`","delivery":"`+hostile+`"`)
	editJournal(t, journal, `"keys":["user.notes"]`, `"keys":["`+hostile+`"]`)
	editJournal(t, journal, `"host":"host"`, `"host":"`+hostile+`"`)
	for _, args := range [][]string{{"verify"}, {"verify", "--github"}, {"verify", "--json"}, {"verify", "--junit=-"}, {"show"}, {"show", "--json"}, {"show", "--grep", "a"}} {
		got := adkreplay(append(args, folder)...)
		for line := range strings.Lines(got.out + got.err) {
			assert.False(t, strings.HasPrefix(strings.TrimSpace(line), "::error::"), "%q: %q", args, line)
			tracetest.RequirePrintable(t, strings.TrimRight(line, "\n"))
		}
	}
}
