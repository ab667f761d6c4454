package shrink

import "github.com/adkreplay/adkreplay/property/turn"

// WhatWasWrong returns the beginning of the Go test that a turn is written as.
var WhatWasWrong = whatWasWrong

// The steps of shrinking.
var (
	CopyOf  = copyOf
	Pieces  = pieces
	Without = without
)

// WrittenAlone returns the Go source that is written for a turn that is a dispatch called alone.
func WrittenAlone(t turn.Turn, name string) string {
	return (&goWriter{turn: t, name: name}).standalone()
}
