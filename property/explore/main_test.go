package explore_test

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// mostAtOnce is the number of parallel tests that may run at the same time. These tests wait for runs that
// hang, and take no core meanwhile. A test that computes does not run in parallel with them, so that a
// test under load gets more time.
const mostAtOnce = 4

func TestMain(m *testing.M) {
	const parallel = "test.parallel"
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == parallel })
	if !given { // a -parallel flag that was given by hand wins
		if err := flag.Set(parallel, strconv.Itoa(mostAtOnce)); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
