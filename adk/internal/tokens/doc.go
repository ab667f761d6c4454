// Package tokens counts the tokens of a text (PRM-1).
//
// [Estimate] counts exactly what tiktoken counts for the encodings whose ranks are public, and
// estimates by the length of the text for all others. An exact count splits the text into pieces as
// the encoding's pattern does (split.go), and merges the bytes of each piece by the encoding's
// ranks (tokens.go). The ranks are embedded, and read when an encoding is first used
// (encodings.go). Tests compare splits and counts with those of tiktoken-go. The package does not
// use tiktoken-go itself, because its merge takes quadratic time.
//
// Package adk exports all this to its users.
package tokens
