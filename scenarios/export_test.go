package scenarios

import (
	"context"

	"github.com/adkreplay/adkreplay/adk"
	"github.com/adkreplay/adkreplay/fakes"
)

// RememberingTurns runs the given number of turns of one session, each observed by the probe of its number.
func RememberingTurns(turns int, probe func(turn int) adk.Probe) error {
	session := fakes.NewStorage()
	for turn := 1; turn <= turns; turn++ {
		runner, err := adk.NewRunner(fakes.Deterministic(remembering(session, turn), probe(turn)))
		if err != nil {
			return err
		}
		if err := runner.Run(context.Background(), adk.RawTurn{SystemPrompt: prompt}); err != nil {
			return err
		}
	}
	return nil
}
