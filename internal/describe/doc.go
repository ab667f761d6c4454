// Package describe describes crossings in words. Transcripts print this rendering, divergences
// quote it, and diffs align it.
//
// A Namer names the things of a run m1, call1, gate1 and so on, in the order in which they appear.
// It must therefore be given every crossing once, in order.
package describe
