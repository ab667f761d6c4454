// Package align aligns two sequences: it finds what they have in common, in order, and
// which of a row of numbers rise.
package align
