// Package redacting removes from crossings what the rules of package redact say, before the
// crossings are written: a Writer writes a redacted trace by rules that Compile has checked.
//
// A line passes four steps. rules.go finds the secrets in it, by their paths and patterns and in
// every spelling. stream.go and piece.go hold the line back while a secret may continue in the next
// delta or piece. line.go replaces the secrets by placeholders. writer.go reads the line back and
// recomputes what the engine computes from its inputs; tool.go replaces tools whose schemas would
// no longer give the same verdict on placeholders.
package redacting
