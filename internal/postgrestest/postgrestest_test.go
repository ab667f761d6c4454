package postgrestest_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/adkreplay/adkreplay/internal/postgrestest"
)

func TestMain(m *testing.M) { os.Exit(postgrestest.Main(m)) }

// doomed is the variable by which the tests run themselves, to be killed.
const doomed = "ADKREPLAY_DOOMED"

// A server ends with the tests that began it, also where these are killed and can end nothing.
func TestServerEndsWithKilledTests(t *testing.T) {
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
