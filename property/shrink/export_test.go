package shrink

import "github.com/adkreplay/adkreplay/property/turn"

// WhatWasWrong is how a Go test begins that a turn is written as.
var WhatWasWrong = whatWasWrong

// The steps of shrinking.
var (
	CopyOf  = copyOf
	Pieces  = pieces
	Without = without
)

// WrittenAlone is what is written of a turn that is a dispatch called alone.
func WrittenAlone(t turn.Turn, name string) string {
	return (&goWriter{turn: t, name: name}).standalone()
}
