package fan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/adkreplay/adkreplay/adk/internal/fan"
)

// DET-4: only the observer that panics is dropped.
func TestOneThatPanicsIsDropped(t *testing.T) {
	var all fan.All[string]
	for _, name := range []string{"a", "b", "c"} {
		all.Add(name)
	}
	var told []string
	for range 2 {
		all.Each(func(name string) {
			told = append(told, name)
			if name == "b" {
				panic(name)
			}
		})
	}
	assert.Equal(t, []string{"a", "b", "c", "a", "c"}, told)
	all[0].Tell(func(name string) { told = append(told, "alone "+name) })
	assert.Equal(t, "alone a", told[len(told)-1])
}
