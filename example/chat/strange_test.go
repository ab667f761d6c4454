package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// said is what a chat in this process has done.
type said struct {
	out, notes string
	code       int
}

// runHere runs a chat in this process, on a file in a folder.
func runHere(ctx context.Context, folder, lines string, args ...string) said {
	var out, notes bytes.Buffer
	args = append([]string{"-db", filepath.Join(folder, "chat.db"), "-lease", "1s", "-url", ""}, args...)
	code := run(ctx, args, terminal{in: strings.NewReader(lines), out: &out, err: &notes}, nil)
	return said{out.String(), notes.String(), code}
}

// What is wrong is said in words, with what would be right, and an exit code.
func TestStrangeFlags(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	check(t, os.WriteFile(filepath.Join(folder, "text"), bytes.Repeat([]byte("no database. "), 50), 0o600))
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"-nope"}, exitUsage, "-nope\nUsage: chat"},
		{[]string{"-help"}, exitOK, "Usage: chat"},
		{[]string{"-id", "a"}, exitUsage, "there are none"},
		{[]string{"-tenant", "", "hi"}, exitUsage, "-tenant and -session need a name"},
		{[]string{"-lease", "10ms", "hi"}, exitUsage, "-lease is 10ms, want 1s or more"},
		{[]string{"-pause", "-1s", "hi"}, exitUsage, "-pause is -1s, want 0s or more"},
		{[]string{"-id", strings.Repeat("x", 300), "hi"}, exitFailed, "E_INVALID_DELIVERY: ID has 300 bytes, want at most 255"},
		{[]string{"-session", "a\x00b", "hi"}, exitFailed, "E_INVALID_DELIVERY: Session is not UTF-8 without NUL"},
		{[]string{"-url", "nonsense", "hi"}, exitFailed, "want one like https://"},
		{[]string{"-db", filepath.Join(folder, "text"), "hi"}, exitFailed, "text: database: asking for the tables: file is not a database"},
		{[]string{"-db", folder, "hi"}, exitFailed, folder + ": is a directory"},
		{[]string{"-record", filepath.Join(folder, "text"), "hi"}, exitFailed, "recording: mkdir " + filepath.Join(folder, "text")},
		{[]string{"no \xff UTF-8"}, exitFailed, "is no UTF-8: it was not said"},
	} {
		t.Run(fmt.Sprintf("%.20q", c.args), func(t *testing.T) {
			s := runHere(t.Context(), folder, "", c.args...)
			if s.code != c.code || !strings.Contains(s.notes, c.says) {
				t.Errorf("exit code %d, want %d, and %q, want %q", s.code, c.code, s.notes, c.says)
			}
		})
	}
}

// A line that is too long is not said, and those before it are.
func TestLongLine(t *testing.T) {
	t.Parallel()
	s := runHere(t.Context(), t.TempDir(), "short\n"+strings.Repeat("x", 2<<20)+"\n")
	if s.code != exitFailed || s.out != "You said: short\n" || !strings.Contains(s.notes, "a line has more than 1048576 bytes") {
		t.Errorf("exit code %d, %q, %q", s.code, s.out, s.notes)
	}
}

// Any text is kept as it is: a note of 60 kB with NUL, emoji and the characters of patterns.
func TestAnyText(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	tea := strings.Repeat("🎈\x00%_'\\", 4000)
	if s := runHere(t.Context(), folder, "My tea is "+tea+"\n"); s.code != exitOK {
		t.Fatal(s.notes)
	}
	if s := runHere(t.Context(), folder, "What do you know of me?\n"); s.out != "I know this:\ntea: "+tea+"\n" {
		t.Errorf("%.100q", s.out)
	}
	more := runHere(t.Context(), folder, "My tea is "+tea+tea+"\n") // beyond what a key holds, which the model is told
	if more.code != exitOK || !strings.Contains(more.out, "E_SESSION_TOO_LARGE") {
		t.Errorf("%.300q", more.out)
	}
}

// Nobody sees what another tenant, or another session, was told, whatever their names are.
func TestTenants(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if s := runHere(t.Context(), folder, "", "-tenant", "a", "-session", "s", "My tea is green"); s.code != exitOK {
		t.Fatal(s.notes)
	}
	for _, name := range []string{"%", "_", "a%", "*", "A", "a ", "../a", "a/s", "a\x01s", "'; drop table records; --"} {
		for _, args := range [][]string{{"-tenant", name, "-session", "s"}, {"-tenant", "a", "-session", name}} {
			s := runHere(t.Context(), folder, "", append(args, "What do you know of me?")...)
			if s.code != exitOK || !strings.HasPrefix(s.out, "I know nothing of you") {
				t.Errorf("%q: exit code %d, %q, %q", args, s.code, s.out, s.notes)
			}
		}
	}
}

// The same id with other words is refused, and with the same ones gives the answer again.
func TestSameID(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	runHere(t.Context(), folder, "", "-id", "a", "one")
	if s := runHere(t.Context(), folder, "", "-id", "a", "two"); s.code != exitFailed || !strings.Contains(s.notes, "E_DELIVERY_CONFLICT") {
		t.Errorf("exit code %d, %q", s.code, s.notes)
	}
	if s := runHere(t.Context(), folder, "", "-id", "a", "one"); s.code != exitOK || s.out != "You said: one\n" {
		t.Errorf("exit code %d, %q", s.code, s.out)
	}
}

// Where nobody answers at the address of the model, that is said, and the line is given up
// after some attempts.
func TestUnreachableModel(t *testing.T) {
	t.Parallel()
	s := runHere(t.Context(), t.TempDir(), "one\n", "-url", "http://127.0.0.1:1/v1")
	if s.code != exitFailed || !strings.Contains(s.notes, "127.0.0.1:1: connect: connection refused") || !strings.Contains(s.notes, "was given up after attempt 3") {
		t.Errorf("exit code %d, %q", s.code, s.notes)
	}
}

// A model of one's own is asked at its address, by its name and with the secret of the
// environment.
func TestModelElsewhere(t *testing.T) {
	t.Setenv(keyVariable, "secret")
	var heads []string
	url, stop, err := serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		var request struct{ Model string }
		if err := json.Unmarshal(body, &request); err != nil {
			panic(err)
		}
		heads = append(heads, r.URL.Path+" "+r.Header.Get("Authorization")+" "+request.Model)
		r.Body = io.NopCloser(bytes.NewReader(body))
		standIn{}.ServeHTTP(w, r)
	}))
	check(t, err)
	s := runHere(t.Context(), t.TempDir(), "", "-url", url, "-model", "large", "Hello")
	check(t, stop())
	if want := []string{"/v1/chat/completions Bearer secret large"}; s.out != "You said: Hello\n" || !slices.Equal(heads, want) {
		t.Errorf("%q, %q, asked %q, want %q", s.out, s.notes, heads, want)
	}
}

// What was being answered when the user left is kept, and the next chat goes on with it.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	ctx, leave := context.WithCancelCause(t.Context())
	var out, notes bytes.Buffer
	code := run(ctx, []string{"-db", filepath.Join(folder, "chat.db"), "-url", "", "My tea is green"}, terminal{in: strings.NewReader(""), out: &out, err: &notes},
		func(o *outside) {
			model := o.StandIn
			o.StandIn = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				leave(errors.New("the user has left"))
				model.ServeHTTP(w, r)
			})
		})
	if code != exitInterrupted || !strings.Contains(notes.String(), `the user has left: {"text":"My tea is green"} is kept`) {
		t.Errorf("exit code %d, %q", code, notes.String())
	}
	if s := runHere(t.Context(), folder, "What do you know of me?\n"); s.out != "Done: kept.\nI know this:\ntea: green\n" {
		t.Errorf("%q, %q", s.out, s.notes)
	}
}

// A database of a release to come is refused, and stays as it is.
func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	runHere(t.Context(), folder, "", "one")
	db, err := sql.Open("sqlite", filepath.Join(folder, "chat.db"))
	check(t, err)
	_, err = db.Exec("update schema_compat set min_version = 99")
	check(t, errors.Join(err, db.Close()))
	if s := runHere(t.Context(), folder, "", "two"); s.code != exitFailed || !strings.Contains(s.notes, "E_STORAGE_SCHEMA: the tables need a release that knows version 99") {
		t.Errorf("exit code %d, %q", s.code, s.notes)
	}
}
