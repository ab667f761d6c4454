// Package postgrestest gives tests a Postgres: the server that a variable names, or an installed
// one, which runs in a temporary folder as an ordinary user, on a socket and no port. On machines
// with neither, the tests are skipped with the reason.
package postgrestest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver that is called pgx
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/patience"
)

// Variable names a server: a DSN in keyword form, such as "host=db user=tests dbname=postgres", of
// a user that may create databases.
const Variable = "ADKREPLAY_POSTGRES"

// TB is the part of a test that this package uses.
type TB interface {
	require.TestingT
	Context() context.Context
	Cleanup(func())
	Helper()
	Skipf(format string, args ...any)
}

// server is the server of this process. It starts with the first test that needs it.
var server struct {
	once   sync.Once
	dsn    string
	reason string // why there is none
	err    error
	stop   func() error
}

var databases atomic.Int64

// Main runs the tests of a package, and stops the server if there is one.
func Main(m interface{ Run() int }) int {
	code := m.Run()
	if server.stop != nil {
		if err := server.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "postgrestest:", err)
			return max(code, 1)
		}
	}
	return code
}

// Database returns the DSN, in keyword form, of an empty database for the test. If there is no
// server, it skips the test with the reason.
func Database(t TB) string {
	t.Helper()
	server.once.Do(begin)
	require.NoError(t, server.err)
	if server.reason != "" {
		t.Skipf("no Postgres: %s", server.reason)
	}
	name := fmt.Sprintf("t%d_%d", os.Getpid(), databases.Add(1))
	command(t, "create database "+name)
	t.Cleanup(func() { command(t, "drop database if exists "+name+" with (force)") })
	return server.dsn + " dbname=" + name
}

// Own skips the test unless the server was started here, because only such a server may be stopped.
func Own(t TB) {
	t.Helper()
	if cluster.dir == "" {
		t.Skipf("the server in %s is not ours to stop", Variable)
	}
}

// Stop stops the server at once, as a crash does.
func Stop(t require.TestingT) { require.NoError(t, pgctl("stop", "-m", "immediate", "-s")) }

// Start starts the stopped server again with the data on its disk.
func Start(t require.TestingT) { require.NoError(t, pgctl(start...)) }

func command(t TB, statement string) {
	db, err := sql.Open("pgx", server.dsn)
	require.NoError(t, err)
	_, err = db.ExecContext(context.WithoutCancel(t.Context()), statement)
	require.NoError(t, errors.Join(err, db.Close()))
}

// binaries returns the folder of the newest installed server, or "".
func binaries() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}
	installed, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(installed) == 0 {
		return ""
	}
	return filepath.Dir(newest(installed))
}

// newest returns the server with the latest version, which is the name of its folder: 9.6, 16.
func newest(installed []string) string {
	version := func(path string) float64 {
		number, _ := strconv.ParseFloat(filepath.Base(filepath.Dir(filepath.Dir(path))), 64) // a folder that is no number counts as the oldest
		return number
	}
	return slices.MaxFunc(installed, func(a, b string) int { return cmp.Compare(version(a), version(b)) })
}

// cluster is the server that was started here.
var cluster struct{ bin, dir string }

// start are the arguments that start the server and wait until it answers.
var start = []string{"start", "-w", "-s"}

// begin finds a server, or starts one.
func begin() {
	if server.dsn = os.Getenv(Variable); server.dsn != "" {
		return
	}
	if cluster.bin = binaries(); cluster.bin == "" {
		server.reason = "install it (Debian: postgresql), or name a server in " + Variable
		return
	}
	if server.reason = unable(); server.reason != "" {
		return
	}
	cluster.dir, server.err = os.MkdirTemp("", "pg")
	if server.err != nil {
		return
	}
	if server.err = give(cluster.dir); server.err == nil {
		server.stop, server.err = tie()
	}
	if server.err != nil {
		server.err = errors.Join(server.err, os.RemoveAll(cluster.dir))
		return
	}
	server.err = errors.Join(
		run("initdb", "-D", cluster.dir+"/data", "-U", "agent", "--auth=trust", "-E", "UTF8", "--locale=C", "--no-sync"),
		appendConfig("listen_addresses = ''", "unix_socket_directories = '"+cluster.dir+"'", "fsync = off", "max_connections = 100"))
	if server.err == nil {
		server.err = pgctl(start...)
	}
	server.dsn = "host=" + cluster.dir + " user=agent dbname=postgres"
}

// seconds is how long pg_ctl waits.
var seconds = strconv.Itoa(int(patience.Long / time.Second))

// keeper waits until its input is closed, by the tests or because they are dead, and then stops the
// server and removes its folder. If the folder for temporary files does not permit that, it removes
// only the content of the server's folder.
const keeper = `read -r _; "$0" -D "$1/data" -t "$2" -m immediate -s stop; code=$?; cd /; rm -rf "$1"/* && { rmdir "$1" 2>/dev/null; exit $code; }`

// tie starts the server's keeper, and returns a function that lets the keeper do its work and waits
// for it. If the tests are killed, the keeper survives and stops the server.
func tie() (stop func() error, err error) {
	c := exec.Command("sh", "-c", keeper, filepath.Join(cluster.bin, "pg_ctl"), cluster.dir, seconds)
	c.Dir, c.Stderr = cluster.dir, os.Stderr
	asOwner(c)
	life, err := c.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, err
	}
	return func() error {
		return errors.Join(life.Close(), c.Wait(), os.RemoveAll(cluster.dir)) // the folder exists only if its owner could not remove it
	}, nil
}

func appendConfig(lines ...string) error {
	f, err := os.OpenFile(cluster.dir+"/data/postgresql.conf", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	return errors.Join(err, f.Close())
}

func pgctl(args ...string) error {
	return run("pg_ctl", append([]string{"-D", cluster.dir + "/data", "-l", cluster.dir + "/log", "-t", seconds}, args...)...)
}

// run runs a program of the server as the user that it belongs to.
func run(program string, args ...string) error {
	c := exec.Command(filepath.Join(cluster.bin, program), args...)
	c.Dir, c.Env = cluster.dir, append(os.Environ(), "LC_ALL=C")
	asOwner(c)
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return nil
}
