package killers_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/internal/mutant"
	"github.com/adkreplay/adkreplay/scenarios"
)

// The table says for each mutant which killers found it, which mutants only a single killer finds, and
// which mutants were left out and why.
func TestTable(t *testing.T) {
	verdicts := map[string]verdict{}
	for _, v := range []verdict{
		{mutant.Mutant{Name: "RUN-6", Says: "It ends twice."}, []seenState{
			{Killer: "invariants", Looked: 1, By: "turn-bounds", Seconds: 0.5}, {Killer: "model", Looked: 2000, Seconds: 2},
			{Killer: "generators", Looked: 2000}, {Killer: "exploration", Looked: 10}, {Killer: "fixtures", By: "crashes", Seconds: 0.25}}},
		{mutant.Mutant{Name: "RUN-9", Says: "It begins late."}, []seenState{
			{Killer: "invariants", Looked: 41}, {Killer: "model", Looked: 17, By: "disagrees", Seconds: 0.125},
			{Killer: "generators", Looked: 2000}, {Killer: "exploration", Looked: 10}, {Killer: "fixtures", Looked: 41}}},
		{mutant.Mutant{Name: "ABT-1", Says: "Nobody looks."}, []seenState{{Killer: "invariants", Looked: 41}}},
	} {
		verdicts[v.Name] = v
	}
	left := []mutant.Mutant{{Name: "ERR-3", Says: "A text is long.", Untold: "it is not in a trace."}}
	assert.Equal(t, `| mutant | what breaks | invariants (scenarios) | model (turns) | generators (turns) | exploration (schedules) | fixtures (traces) | first after |
| --- | --- | --- | --- | --- | --- | --- | --- |
| ABT-1 | Nobody looks. | · | **survives** |
| RUN-6 | It ends twice. | ✓ 1 turn-bounds | · | · | · | ✓ crashes | 0.250 s |
| RUN-9 | It begins late. | · | ✓ 17 disagrees | · | · | · | 0.125 s |
3 mutants, 2 killed; the budget of a killer is 2000 turns, or `+strconv.Itoa(len(scenarios.All()))+` scenarios, and the slowest took 2.0 s
seen by model alone: RUN-9

left out, as no trace shows them:
| ERR-3 | A text is long. | it is not in a trace. |
`, tableOf(verdicts, left))
}
