// Command chat is a conversation that lasts: what was said, what the agent should remember and what
// is still to be answered is kept in a SQLite file. Even kill -9 at any moment loses nothing and
// does nothing twice.
//
//	go run ./chat My tea is green
//	go run ./chat -pause 1s Book the dentist at noon     # and kill it while it speaks
//	go run ./chat What do you know of me?
//
// Without words it reads lines from the terminal. Without -url it uses a stand-in for a model,
// which understands a few sentences.
//
// Read the files in this order: agent.go is the agent, memory.go what it knows, tools.go what it
// can do, talk.go how lines are delivered, calendar.go the world that it changes, standin.go the
// stand-in, and record.go the journal and the traces.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/session"
	"github.com/adkreplay/adkreplay/adk/storage/sqlite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt kills the process
	t := terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		t.prompt = "> "
	}
	os.Exit(run(ctx, os.Args[1:], t, nil))
}

// The exit codes.
const (
	exitOK = iota
	exitFailed
	exitUsage
	exitInterrupted = 130
)

// terminal is where lines come from, and where answers and remarks are written.
type terminal struct {
	in       io.Reader
	out, err io.Writer
	prompt   string // printed before each line if a person types the lines
}

// run is the command. Tests use replace to exchange what is outside.
func run(ctx context.Context, args []string, t terminal, replace func(*outside)) int {
	s, err := parse(args, t.err)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return exitUsage
	}
	err = s.chat(ctx, t, replace)
	switch {
	case err == nil:
		return exitOK
	case ctx.Err() != nil:
		fmt.Fprintf(t.err, "\nchat: %s\n", err)
		return exitInterrupted
	}
	fmt.Fprintf(t.err, "chat: %s\n", err)
	return exitFailed
}

// settings are the values of the flags.
type settings struct {
	db, tenant, session, id string
	url, model, record      string
	lease, pause            time.Duration
	line                    string
}

// The environment variables.
const (
	urlVariable   = "CHAT_URL"
	modelVariable = "CHAT_MODEL"
	keyVariable   = "CHAT_KEY" // there is no flag, because other users of the machine can see flags
)

// parse reads the flags. If it returns an error, it has printed it.
func parse(args []string, told io.Writer) (s settings, err error) {
	flags := flag.NewFlagSet("chat", flag.ContinueOnError)
	flags.SetOutput(told)
	flags.Usage = func() {
		fmt.Fprintf(told, "Usage: chat [flags] [words to say]\nWithout words it reads lines. $%s is the secret for the model.\n", keyVariable)
		flags.PrintDefaults()
	}
	flags.StringVar(&s.db, "db", "chat.db", "the SQLite `file` that keeps everything; the calendar is a folder beside it")
	flags.StringVar(&s.tenant, "tenant", "me", "whose sessions they are: no tenant sees another's")
	flags.StringVar(&s.session, "session", "main", "the `name` of the conversation")
	flags.StringVar(&s.id, "id", "", "an `id` for what is said: said again under the same one, it counts once")
	flags.StringVar(&s.url, "url", os.Getenv(urlVariable), "where a model is that speaks Chat Completions, up to the version, such as https://api.openai.com/v1; empty is a stand-in (default $"+urlVariable+")")
	flags.StringVar(&s.model, "model", cmp.Or(os.Getenv(modelVariable), "small"), "the model's `name` ($"+modelVariable+")")
	flags.StringVar(&s.record, "record", "", "a `folder` for the journal and a trace of each turn, which hold what was said")
	flags.DurationVar(&s.lease, "lease", 5*time.Second, "how long others wait for a chat that was killed, a second at least")
	flags.DurationVar(&s.pause, "pause", 0, "how long the stand-in thinks about each word")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	s.line = strings.Join(flags.Args(), " ")
	switch {
	case s.id != "" && s.line == "":
		err = errors.New("-id is for words that stand behind the flags, and there are none")
	case s.tenant == "" || s.session == "":
		err = errors.New("-tenant and -session need a name")
	case s.pause < 0 || s.lease < time.Second:
		err = fmt.Errorf("-pause is %s, want 0s or more; -lease is %s, want 1s or more", s.pause, s.lease)
	}
	if err != nil {
		fmt.Fprintf(told, "chat: %s; chat -help lists the flags\n", err)
	}
	return s, err
}

// chat opens what the flags name, settles what was left over, and says the words or the lines.
func (s settings) chat(ctx context.Context, t terminal, replace func(*outside)) (err error) {
	db, err := sqlite.Open(ctx, s.db, storageConfig())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	shown := &screen{out: t.out, err: t.err, shown: map[string]bool{}}
	o := outside{
		StandIn: standIn{s.pause}, Calendar: calendarIn(s.db + ".calendar"), Storage: db.Storage(), Sessions: db.Sessions(), Spool: db.Spool(),
		Listen: shown.listen, Name: adk.UUIDs().NewID(), Lease: s.lease,
	}
	if s.record != "" {
		r, err := recordIn(s.record, o.Name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		o.Probe, o.Journal = r, r.Step
	}
	if replace != nil {
		replace(&o)
	}
	url, stop, err := s.modelAt(o.StandIn)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	o.Model = modelOptions(url, os.Getenv(keyVariable), s.model)
	config, err := hostConfig(o)
	if err != nil {
		return err
	}
	host, err := session.NewHost(config)
	if err != nil {
		return err
	}
	c := &conversation{host: host, db: db, id: session.SessionID{Tenant: s.tenant, Session: s.session}, screen: shown}
	if err := c.goOn(ctx); err != nil {
		return err
	}
	if s.line != "" {
		return c.say(ctx, cmp.Or(s.id, adk.UUIDs().NewID()), s.line)
	}
	return c.read(ctx, t)
}

// modelAt returns the address of the model: the URL in the flags, or that of a stand-in that it
// starts on this machine.
func (s settings) modelAt(standIn http.Handler) (url string, stop func() error, err error) {
	if s.url != "" {
		return s.url, func() error { return nil }, nil
	}
	return serve(standIn)
}
