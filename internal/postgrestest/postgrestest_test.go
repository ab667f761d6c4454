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

// doomed is the variable by which the tests run themselves, to be killed.
const doomed = "ADKREPLAY_DOOMED"

// A server ends with the tests that began it, also where these are killed and can end nothing.
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
	said, err := tests.CombinedOutput() // all that is said until the server's keeper has ended too
	if err == nil {
		t.Skipf("%s", said)
	}
	_, dsn, found := strings.Cut(string(said), "\nhost=")
	require.True(t, found, "%s", said)
	dir, _, _ := strings.Cut(dsn, " ")
	assert.NoDirExists(t, dir)
}

// Tests pass also where the server's user can take nothing from the folder for temporary files.
func TestAFolderThatIsNotTheServers(t *testing.T) {
	thorough.Long(t)
	dir := filepath.Join(t.TempDir(), "own")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for above := dir; len(above) > len(os.TempDir()); above = filepath.Dir(above) {
		require.NoError(t, os.Chmod(above, 0o755)) // it is to reach its own folder
	}
	tests := exec.Command(os.Args[0], "-test.run", "^TestDatabase$", "-test.v")
	tests.Env = append(os.Environ(), "TMPDIR="+dir)
	said, err := tests.CombinedOutput()
	require.NoError(t, err, "%s", said)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// A database is empty, and there.
func TestDatabase(t *testing.T) {
	db, err := sql.Open("pgx", postgrestest.Database(t))
	require.NoError(t, err)
	var tables int
	require.NoError(t, db.QueryRow("select count(*) from pg_tables where schemaname = 'public'").Scan(&tables))
	assert.Zero(t, tables)
	assert.NoError(t, db.Close())
}
