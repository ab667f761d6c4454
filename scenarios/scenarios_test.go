package scenarios_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/scenarios"
)

// Every session ends as it says, in each run.
func TestSessionsEndAsTheyMust(t *testing.T) {
	for _, s := range scenarios.Sessions() {
		t.Run(s.Name, func(t *testing.T) {
			for range 3 {
				assert.NoError(t, s.Run(t.Context(), scenarios.Watch{}))
			}
		})
	}
}

// Every scenario ends as it says, in each run.
func TestScenariosEndAsTheyMust(t *testing.T) {
	for _, s := range scenarios.All() {
		t.Run(s.Name, func(t *testing.T) {
			for range 3 {
				assert.NoError(t, s.Run(context.Background()))
			}
		})
	}
}
