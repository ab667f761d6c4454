package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/adkreplay/adkreplay/adk/session"
)

// childVariable has the test binary be the command: "alone", or with "pipes", on the first of
// which it says at each point of its life where it is, to go on when it reads a byte from the
// second.
const childVariable = "CHAT_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childVariable) {
	case "pipes":
		os.Exit(run(context.Background(), os.Args[1:], terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr}, announcing))
	case "alone":
		os.Exit(run(context.Background(), os.Args[1:], terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr}, nil))
	}
	os.Exit(m.Run())
}

// announcing has all that is outside say when it is reached.
func announcing(o *outside) {
	told, allowed := os.NewFile(3, "told"), os.NewFile(4, "allowed")
	var mu sync.Mutex
	at := func(point string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(told, point)
		if _, err := allowed.Read(make([]byte, 1)); err != nil {
			panic(err)
		}
	}
	journal, book, model := o.Journal, o.Calendar, o.StandIn
	o.Journal = func(s session.Step) {
		if journal != nil {
			journal(s)
		}
		at(string(s.Kind))
	}
	o.Calendar = func(ctx context.Context, b booking) (string, error) {
		at("booking")
		defer at("booked")
		return book(ctx, b)
	}
	o.StandIn = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at("asked")
		model.ServeHTTP(announcedPieces{w, at}, r)
	})
}

// announcedPieces says when a piece of an answer has gone out.
type announcedPieces struct {
	http.ResponseWriter
	at func(string)
}

func (p announcedPieces) Unwrap() http.ResponseWriter { return p.ResponseWriter }

func (p announcedPieces) FlushError() error {
	defer p.at("said")
	return http.NewResponseController(p.ResponseWriter).Flush()
}

// lived is what a chat of its own process has done.
type lived struct {
	points     []string
	out, notes string
	code       int
}

// live runs a chat in a folder, and kills it at its nth point; 0 lets it end.
func live(t *testing.T, folder, lines string, kill int, args ...string) lived {
	t.Helper()
	return watched(t, folder, lines, func(points []string, chat *os.Process) (goOn bool) {
		if len(points) != kill {
			return true
		}
		check(t, chat.Kill()) // SIGKILL
		return false
	}, args...)
}

// killedAt kills a chat at a point of a name.
func killedAt(t *testing.T, name string) func([]string, *os.Process) bool {
	return func(points []string, chat *os.Process) (goOn bool) {
		if points[len(points)-1] != name {
			return true
		}
		check(t, chat.Kill())
		return false
	}
}

// watched runs a chat in a folder, and asks at each of its points whether it goes on.
func watched(t *testing.T, folder, lines string, at func(points []string, chat *os.Process) (goOn bool), args ...string) (l lived) {
	t.Helper()
	told, tells, err := os.Pipe()
	check(t, err)
	allowed, allows, err := os.Pipe()
	check(t, err)
	command := start(t, folder, lines, []*os.File{tells, allowed}, args...)
	check(t, tells.Close())
	check(t, allowed.Close())
	for points := bufio.NewScanner(told); points.Scan(); {
		if l.points = append(l.points, points.Text()); !at(l.points, command.Process) {
			break
		}
		if _, err := allows.Write([]byte{0}); err != nil {
			t.Fatal(err)
		}
	}
	err = command.Wait()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	check(t, allows.Close())
	check(t, told.Close())
	l.out, l.notes, l.code = command.Stdout.(*bytes.Buffer).String(), command.Stderr.(*bytes.Buffer).String(), command.ProcessState.ExitCode()
	return l
}

// start starts a chat as a process of its own, which says where it is over pipes, if it has them.
func start(t *testing.T, folder, lines string, pipes []*os.File, args ...string) *exec.Cmd {
	t.Helper()
	child := "alone"
	if pipes != nil {
		child = "pipes"
	}
	self, err := os.Executable()
	check(t, err)
	command := exec.Command(self, append([]string{"-lease", "1s"}, args...)...)
	command.Dir, command.Env = folder, append(os.Environ(), childVariable+"="+child, urlVariable+"=", modelVariable+"=")
	command.ExtraFiles = pipes
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(lines), &bytes.Buffer{}, &bytes.Buffer{}
	check(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill() }) // one that is left where the test has failed
	return command
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// dentist are the words that are said again under one id after each crash.
var dentist = []string{"-id", "dentist", "Book the dentist at noon"}

// Wherever a chat is killed, the next one goes on with what it was at: each line counts once,
// with its answer, what was remembered is kept, and the appointment is one.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	before, whole := t.TempDir(), t.TempDir()
	if l := live(t, before, "", 0, "My tea is green"); l.code != exitOK {
		t.Fatalf("exit code %d: %s", l.code, l.notes)
	}
	check(t, os.CopyFS(whole, os.DirFS(before)))
	points := live(t, whole, "", 0, dentist...).points
	if !slices.Contains(points, "booked") || !slices.Contains(points, string(session.StepCommitted)) {
		t.Fatalf("the points are %q", points)
	}
	folders := make([]string, len(points))
	for n, point := range points { // all of them first: the lease of a chat that was killed has to end
		folders[n] = t.TempDir()
		check(t, os.CopyFS(folders[n], os.DirFS(before)))
		if killed := live(t, folders[n], "", n+1, dentist...); killed.code != -1 || !slices.Equal(killed.points, points[:n+1]) {
			t.Fatalf("it was not killed at %s: exit code %d after %q", point, killed.code, killed.points)
		}
	}
	for n, point := range points {
		t.Run(fmt.Sprintf("%02d %s", n+1, point), func(t *testing.T) {
			again := live(t, folders[n], "", 0, dentist...)
			if again.code != exitOK {
				t.Fatalf("exit code %d: %s", again.code, again.notes)
			}
			if !strings.Contains(again.out, "Done: booked, confirmation ") {
				t.Errorf("said %q", again.out)
			}
			last := live(t, folders[n], "What do you know of me?\n", 0)
			if want := "I know this:\ntea: green\n"; last.out != want {
				t.Errorf("said %q, want %q", last.out, want)
			}
			settledOnce(t, folders[n])
		})
	}
}

// A chat that is killed in every attempt does not keep the next line from being said; what its
// tool booked is one appointment, and nothing else is left of it.
func TestKilledAgainAndAgain(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for attempt := range 3 {
		if l := watched(t, folder, "", killedAt(t, "booked"), dentist...); l.code != -1 {
			t.Fatalf("attempt %d was not killed: exit code %d after %q", attempt+1, l.code, l.points)
		}
	}
	l := live(t, folder, "My tea is green\n", 0)
	if l.code != exitOK || l.out != "Done: kept.\n" || !strings.Contains(l.notes, `delivery "dentist" of session "main" of tenant "me" was given up after attempt 3, with E_SESSION_LEASE_LOST`) {
		t.Errorf("exit code %d, %q, %q", l.code, l.out, l.notes)
	}
	db := plainSQL(t, folder)
	for query, want := range map[string][]string{
		`select seq, state, attempts, pending from deliveries order by seq`: {"1 failed 3 0", "2 committed 1 0"},
		`select collection from records order by collection`:                {"messages", "messages", "toolCalls"},
		`select revision, unsettled from sessions`:                          {"1 0"},
	} {
		if got := rows(t, db, query); !slices.Equal(got, want) {
			t.Errorf("%s\ngives %q\nwant  %q", query, got, want)
		}
	}
	if booked, err := filepath.Glob(filepath.Join(folder, "chat.db.calendar", "*.json")); err != nil || len(booked) != 1 {
		t.Errorf("the calendar has %q, want one appointment: %v", booked, err)
	}
}

// A chat that stands still for longer than its lease is taken for gone. When it goes on, what it
// has done by then counts for nothing, and it has the answer that the other one was given.
func TestStoodStill(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if l := live(t, folder, "", 0, "My tea is green"); l.code != exitOK {
		t.Fatal(l.notes)
	}
	still := watched(t, folder, "", func(points []string, chat *os.Process) bool {
		if points[len(points)-1] != "booked" {
			return true
		}
		halt(t, folder, chat)
		other := live(t, folder, "What do you know of me?\n", 0)
		if !strings.HasPrefix(other.out, "Done: booked, confirmation ") || !strings.HasSuffix(other.out, "I know this:\ntea: green\n") {
			t.Errorf("the other said %q, %q", other.out, other.notes)
		}
		check(t, chat.Signal(syscall.SIGCONT))
		return true
	}, dentist...)
	if still.code != exitOK || strings.Count(still.out, "Done: booked, confirmation ") == 0 {
		t.Errorf("exit code %d, %q, %q", still.code, still.out, still.notes)
	}
	settledOnce(t, folder)
}

// halt has a chat stand still, between two transactions: within one, as where it renews its
// lease, it would keep the database from everybody.
func halt(t *testing.T, folder string, chat *os.Process) {
	t.Helper()
	db := plainSQL(t, folder)
	for {
		check(t, chat.Signal(syscall.SIGSTOP))
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(chat.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
			t.Fatalf("it does not stand still: %v, %v", status, err)
		}
		_, err := db.Exec("begin immediate; rollback")
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "SQLITE_BUSY") {
			t.Fatal(err)
		}
		check(t, chat.Signal(syscall.SIGCONT))
	}
}

// Chats of two processes on one database take turns in a session, and do not wait for those in
// another: each line counts once, with its answer behind it, and their journals agree.
func TestChatsBesideOneAnother(t *testing.T) {
	t.Parallel()
	folder, recordings := t.TempDir(), t.TempDir()
	const each = 6
	var chats []*exec.Cmd
	for n, of := range []string{"ours", "ours", "mine"} {
		lines := ""
		for i := range each {
			lines += fmt.Sprintf("line %d of chat %d\n", i, n)
		}
		chats = append(chats, start(t, folder, lines, nil, "-session", of, "-record", recordings, "-lease", "1m"))
	}
	for _, chat := range chats {
		if err := chat.Wait(); err != nil {
			t.Errorf("%s: %s", err, chat.Stderr)
		}
	}
	db := plainSQL(t, folder)
	for query, want := range map[string][]string{
		`select session, count(*), min(seq), max(seq), min(state), max(state), max(attempts) from deliveries group by session order by session`: {
			"mine 6 1 6 committed committed 1", "ours 12 1 12 committed committed 1"},
		`select id, revision, next_seq, unsettled from sessions order by id`:                                                        {"mine 6 7 0", "ours 12 13 0"},
		`select count(*), count(distinct body ->> 'content') from texts where collection = 'messages' and body ->> 'role' = 'user'`: {"18 18"},
		`select count(*) from (select session, body ->> 'content' as said, lead(body ->> 'content') over (partition by session order by pos) as answer
			from texts where collection = 'messages') where answer = 'You said: ' || said`: {"18"},
		`select count(*) from texts where collection = 'messages'`: {"36"},
	} {
		if got := rows(t, db, query); !slices.Equal(got, want) {
			t.Errorf("%s\ngives %q\nwant  %q", query, got, want)
		}
	}
	report := verify(t, recordings, today(t, func(*session.Config) {}))
	if report.Sessions != 2 || report.Commits != 3*each || len(report.Divergences) > 0 {
		t.Errorf("%d sessions, %d commits, %v", report.Sessions, report.Commits, report.Divergences)
	}
}

// settledOnce reads with plain SQL what three lines have left.
func settledOnce(t *testing.T, folder string) {
	t.Helper()
	booked, err := filepath.Glob(filepath.Join(folder, "chat.db.calendar", "*.json"))
	check(t, err)
	if len(booked) != 1 {
		t.Fatalf("the calendar has %d appointments, want one: %q", len(booked), booked)
	}
	confirmation := filepath.Base(booked[0])[:8]
	db := plainSQL(t, folder)
	for query, want := range map[string][]string{
		`select seq, state, revision, pending from deliveries where tenant = 'me' and session = 'main' order by seq`: {
			"1 committed 1 0", "2 committed 2 0", "3 committed 3 0"},
		`select count(*) from deliveries where id = 'dentist' and seq = 2`:     {"1"},
		`select revision, next_seq, unsettled, lease_owner = '' from sessions`: {"3 4 0 1"},
		`select key, version, cast(body as text) from session_context`:         {`chat.notes 1 {"tea":"green"}`},
		`select body ->> 'role', body ->> 'content' from texts where collection = 'messages' order by pos`: {
			"user My tea is green", "assistant Done: kept.",
			"user Book the dentist at noon", "assistant Done: booked, confirmation " + confirmation + ".",
			"user What do you know of me?", "assistant I know this:\ntea: green"},
		`select body ->> 'tool' from texts where collection = 'toolCalls' order by pos`:      {"remember", "book"},
		`select count(*) from records where turn_id not in (select turn_id from deliveries)`: {"0"},
	} {
		if got := rows(t, db, query); !slices.Equal(got, want) {
			t.Errorf("%s\ngives %q\nwant  %q", query, got, want)
		}
	}
}

// plainSQL is the database of a folder, for whoever reads its rows by hand.
func plainSQL(t *testing.T, folder string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(folder, "chat.db"))
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	return db
}

// rows are the rows of a query, each as one text. In it texts are the records with their bodies
// as texts.
func rows(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	query = "with texts as (select session, collection, pos, turn_id, cast(body as text) as body from records) " + query
	found, err := db.Query(query)
	check(t, err)
	columns, err := found.Columns()
	check(t, err)
	for found.Next() {
		texts, into := make([]string, len(columns)), make([]any, len(columns))
		for i := range texts {
			into[i] = &texts[i]
		}
		check(t, found.Scan(into...))
		all = append(all, strings.Join(texts, " "))
	}
	check(t, found.Err())
	return all
}
