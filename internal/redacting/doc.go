// Package redacting takes out of crossings what the rules of package redact say, before
// they are written: a Writer is one of traces, of which Compile has checked the rules.
//
// A line goes through it in four steps: rules.go finds the secrets in it, by their paths and
// patterns and in whatever spelling; stream.go and piece.go hold it back while one may go on
// in the next delta or piece; line.go puts placeholders in their place; and writer.go reads
// it back and makes anew what the engine makes of its inputs, tool.go the tools whose
// schemas the placeholders would break.
package redacting
