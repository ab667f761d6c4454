package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/adk/tools"
)

// mostHeld is how much memory an execution may take beyond its arguments.
const mostHeld = 64 << 20

// inOneTurn is how many arguments are tried in one turn; it is bounded because a turn's storage grows.
const inOneTurn = 50

// patience is the time after which an execution counts as hanging.
const patience = 5 * time.Minute

// bodies are arguments of the maximum length that the schemas allow.
var bodies = []string{
	strings.Repeat("a", 1_000_000), strings.Repeat("é ", 500_000), strings.Repeat("x\n", 500_000), strings.Repeat("a,b\n", 250_000),
	"[" + strings.Repeat("1,", 99_999) + "1]", "[" + strings.Repeat(`{"a":1},`, 99_999) + `{"a":2}]`, strings.Repeat("- a: b\n", 140_000),
	strings.Repeat("(", 1_000_000), strings.Repeat("[", 1_000_000), strings.Repeat("k=v&", 250_000), strings.Repeat("&lt;", 250_000), strings.Repeat("<b>", 330_000),
}

// toll is the highest cost of the executions of one tool.
type toll struct {
	executions int
	allocated  uint64 // by an execution with short arguments and its repetition
	held       uint64 // by an execution with long arguments, beyond what was held before
}

// BAT-2, BAT-4: every execution returns an answer: none panics, fails, hangs, answers differently the
// second time, or takes more than 64 MiB. ADKREPLAY_EXECUTIONS is the total number for all tools, and
// ADKREPLAY_SEED the seed of their arguments. A plain run tries one long argument with each tool.
func TestExecutions(t *testing.T) {
	all := tools.All(tools.Options{})
	wanted, _ := strconv.Atoi(os.Getenv("ADKREPLAY_EXECUTIONS"))
	seed, _ := strconv.ParseUint(os.Getenv("ADKREPLAY_SEED"), 10, 64)
	sum := 0
	for which, tool := range all {
		long, measure := bodies, (*toll).holds
		if wanted == 0 {
			at := which % len(bodies)
			long, measure = bodies[at:at+1], func(_ *toll, run func()) { run() }
		}
		cost := executed(t, tool, rand.New(rand.NewPCG(seed, uint64(which))), wanted/len(all)+1, long, measure)
		sum += cost.executions
		if wanted > 0 {
			fmt.Printf("%-32s %9d executions, at most %5d KiB allocated by two, %5d KiB held with a long argument\n", tool.Name(), cost.executions, cost.allocated>>10, cost.held>>10)
		}
		assert.Less(t, cost.allocated, 2*uint64(mostHeld), tool.Name())
		assert.Less(t, cost.held, uint64(mostHeld), tool.Name())
	}
	if wanted > 0 {
		fmt.Printf("%d executions of %d tools in sum\n", sum, len(all))
	}
	assert.GreaterOrEqual(t, sum, wanted)
}

// executed executes a tool the wanted number of times, first with long arguments.
func executed(t *testing.T, tool *adk.Tool, r *rand.Rand, wanted int, bodies []string, measure func(cost *toll, run func())) (cost toll) {
	try := func(ctx context.Context, dc *adk.DispatchContext, args map[string]any) {
		given := func() string { text, _ := json.Marshal(args); return fmt.Sprintf("%s %.1000s", tool.Name(), text) }
		hang := time.AfterFunc(patience, func() { panic("hangs: " + given()) })
		defer hang.Stop()
		fault, n := mishap(ctx, dc, tool, args)
		if cost.executions += n; fault != "" {
			t.Fatalf("%s\n%.2000s", given(), fault)
		}
	}
	inOneDispatch(t, func(ctx context.Context, dc *adk.DispatchContext) {
		for _, body := range bodies {
			args := draw(r, tool.InputSchema())
			long := false
			for name, value := range args {
				if _, ok := value.(string); ok && !isEnum(tool, name) {
					args[name], long = body, true
				}
			}
			if long {
				measure(&cost, func() { try(ctx, dc, args) })
			}
		}
	})
	for cost.executions < wanted {
		inOneDispatch(t, func(ctx context.Context, dc *adk.DispatchContext) {
			for n := 0; n < inOneTurn && cost.executions < wanted; n++ {
				args, before := draw(r, tool.InputSchema()), metric(allocations)
				try(ctx, dc, args)
				cost.allocated = max(cost.allocated, metric(allocations)-before)
			}
		})
	}
	return cost
}

// isEnum reports whether an argument has to be one of a few words.
func isEnum(tool *adk.Tool, name string) bool {
	var object struct{ Properties map[string]property }
	return json.Unmarshal(tool.InputSchema(), &object) == nil && len(object.Properties[name].Enum) > 0
}

const (
	allocations = "/gc/heap/allocs:bytes"
	objects     = "/memory/classes/heap/objects:bytes"
)

func metric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// holds measures the peak growth of the heap while run runs. It samples the heap every millisecond,
// with a low GC percentage so that garbage is collected soon.
func (cost *toll) holds(run func()) {
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	debug.FreeOSMemory()
	before, most, over, seen := metric(objects), uint64(0), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(seen)
		for tick := time.NewTicker(time.Millisecond); ; {
			select {
			case <-over:
				return
			case <-tick.C:
				most = max(most, metric(objects))
			}
		}
	}()
	run()
	close(over)
	<-seen
	cost.held = max(cost.held, max(most, before)-before)
}
