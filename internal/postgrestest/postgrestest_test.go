package postgrestest_test

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/postgrestest"
	"github.com/adkreplay/adkreplay/internal/thorough"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// doomed is the variable with which the tests run themselves in order to be killed.
const doomed = "ADKREPLAY_DOOMED"

// A server ends with the tests that started it, even if they are killed and cannot end anything.
func TestServerEndsWithKilledTests(t *testing.T) {
	thorough.Long(t)
	if os.Getenv(doomed) != "" {
		dsn := postgrestest.Database(t)
		postgrestest.Own(t)
		fmt.Printf("\n%s\n", dsn)
		self, err := os.FindProcess(os.Getpid())
		require.NoError(t, err)
		require.NoError(t, self.Kill())
		select {}
	}
	tests := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$", "-test.v")
	tests.Env = append(os.Environ(), doomed+"=yes")
	said, err := tests.CombinedOutput() // returns only when the server's keeper has ended too
	if err == nil {
		t.Skipf("%s", said)
	}
	_, dsn, found := strings.Cut(string(said), "\nhost=")
	require.True(t, found, "%s", said)
	dir, _, _ := strings.Cut(dsn, " ")
	assert.NoDirExists(t, dir)
}

// The tests also work if the server's user cannot read the folder for temporary files.
func TestAFolderThatIsNotTheServers(t *testing.T) {
	thorough.Long(t)
	dir := filepath.Join(t.TempDir(), "own")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for above := dir; len(above) > len(os.TempDir()); above = filepath.Dir(above) {
		require.NoError(t, os.Chmod(above, 0o755)) // the server has to reach its own folder
	}
	tests := exec.Command(os.Args[0], "-test.run", "^TestDatabase$", "-test.v")
	tests.Env = append(os.Environ(), "TMPDIR="+dir)
	said, err := tests.CombinedOutput()
	require.NoError(t, err, "%s", said)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// A new database exists and is empty.
func TestDatabase(t *testing.T) {
	db, err := sql.Open("pgx", postgrestest.Database(t))
	require.NoError(t, err)
	var tables int
	require.NoError(t, db.QueryRow("select count(*) from pg_tables where schemaname = 'public'").Scan(&tables))
	assert.Zero(t, tables)
	assert.NoError(t, db.Close())
}
