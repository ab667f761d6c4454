package explore_test

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// mostAtOnce is how many of the tests that may do so run beside one another: they wait for what
// hangs, and take no core meanwhile. A test that works does not run beside them: whoever might
// wait for it is given longer.
const mostAtOnce = 4

func TestMain(m *testing.M) {
	const parallel = "test.parallel"
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == parallel })
	if !given { // whoever says it by hand is obeyed
		if err := flag.Set(parallel, strconv.Itoa(mostAtOnce)); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
