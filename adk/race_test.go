//go:build race

package adk_test

// withRace says that the race detector is on, which has pools lose what they hold at
// random: allocations cannot be counted then.
const withRace = true
