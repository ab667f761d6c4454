// Package tokens says what a text is worth in tokens (PRM-1).
//
// [Estimate] counts exactly what tiktoken counts for the encodings whose ranks
// are public, and by the length of the text for all others. An exact count
// splits the text into pieces as the encoding's pattern does (split.go), and
// merges the bytes of each piece by the encoding's ranks (tokens.go). The ranks
// are embedded, and read when an encoding is first asked for (encodings.go).
// Tests hold splits and counts against tiktoken-go, which is not used itself, as
// its merge takes quadratic time.
//
// Package adk gives all this to its users.
package tokens
