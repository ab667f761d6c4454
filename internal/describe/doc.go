// Package describe puts crossings into words: the one rendering that transcripts print,
// divergences quote and diffs align.
//
// A Namer gives the things of a run the names m1, call1, gate1 in the order in which
// they appear, and is therefore handed every crossing once, in order.
package describe
