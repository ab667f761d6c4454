//go:build !race

package adk_test

const withRace = false
